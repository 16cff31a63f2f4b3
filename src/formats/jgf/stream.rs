//! JGF read piece by piece.

use super::{JgfEdge, JgfSink, RawNode};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Where vertices and edges go, and what was met so far.
pub(super) struct Stream<'s> {
    pub(super) sink: &'s mut dyn JgfSink,
    pub(super) graphs: usize,
}

/// The whole text, or what `scheduling` holds.
pub(super) struct InDocument<'a, 's>(pub(super) &'a mut Stream<'s>);

struct InGraph<'a, 's>(&'a mut Stream<'s>);

struct InNodes<'a, 's>(&'a mut Stream<'s>);

struct InEdges<'a, 's>(&'a mut Stream<'s>);

impl<'de> DeserializeSeed<'de> for InDocument<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for InDocument<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a graph")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(member) = map.next_key::<String>()? {
            match member.as_str() {
                "graph" => {
                    self.0.graphs += 1;
                    if self.0.graphs > 1 {
                        return Err(A::Error::custom("expected one graph, found a second"));
                    }
                    map.next_value_seed(InGraph(self.0))?;
                }
                "scheduling" => map.next_value_seed(InScheduling(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// `scheduling` may be null.
struct InScheduling<'a, 's>(&'a mut Stream<'s>);

impl<'de> DeserializeSeed<'de> for InScheduling<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for InScheduling<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a graph, or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        InDocument(self.0).deserialize(deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for InGraph<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for InGraph<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with nodes and edges")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut nodes, mut edges) = (false, false);
        while let Some(member) = map.next_key::<String>()? {
            match member.as_str() {
                "nodes" if std::mem::replace(&mut nodes, true) => return Err(A::Error::duplicate_field("nodes")),
                "edges" if std::mem::replace(&mut edges, true) => return Err(A::Error::duplicate_field("edges")),
                "nodes" => map.next_value_seed(InNodes(self.0))?,
                "edges" => map.next_value_seed(InEdges(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if nodes { Ok(()) } else { Err(A::Error::missing_field("nodes")) }
    }
}

impl<'de> DeserializeSeed<'de> for InNodes<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for InNodes<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of nodes, or an object from id to node")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut position = 0;
        while let Some(node) = seq.next_element::<RawNode>()? {
            let id = node.id.ok_or_else(|| A::Error::missing_field("id"))?;
            self.0.sink.node(node.metadata.complete(id, position)?).map_err(A::Error::custom)?;
            position += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut position = 0;
        while let Some((id, node)) = map.next_entry::<String, RawNode>()? {
            self.0.sink.node(node.metadata.complete(id, position)?).map_err(A::Error::custom)?;
            position += 1;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for InEdges<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for InEdges<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of edges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(edge) = seq.next_element::<JgfEdge>()? {
            self.0.sink.edge(edge).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
