//! JGF: a resource graph as JSON (RFC 4, RFC 40), as Fluxion writes and reads it.
//!
//! ```text
//! {"graph": {"nodes": [{"id": "0", "metadata": {"type": "cluster", "paths": {"containment": "/cluster0"}}}, …],
//!            "edges": [{"source": "0", "target": "1", "metadata": {"subsystem": "containment"}}, …]}}
//! ```
//!
//! The graph stands alone, or in the `scheduling` member of an R. `nodes` may be an object from id to node instead of
//! an array (version 2 of the JSON Graph Format). Unknown members are skipped.
//!
//! | member of `metadata` | when absent |
//! |---|---|
//! | `type`, `paths` | refused |
//! | `basename` | `type` |
//! | `uniq_id` | `id` of the node as a number, else its position in the file |
//! | `id` (a number, or a string of one) | for a `node` with a name that ends in digits that number, else `uniq_id` |
//! | `name` | `basename` followed by `id` |
//! | `rank` | -1: none |
//! | `size`, `unit`, `exclusive` | 1, empty, false |
//! | `status` | 0: up (1: down) |
//! | `properties` | none |
//! | `subsystem` (of an edge) | `containment` |
//!
//! Decides these defaults and that ids are unique. Does not decide whether the edges form a tree, or lead anywhere:
//! partial graphs, which Fluxion uses to update and cancel, need not.

mod stream;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// The subsystem that says what contains what.
pub const CONTAINMENT: &str = "containment";

/// A resource graph in JGF, with every default filled in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Jgf {
    /// The vertices, in the order of the file; ids are unique.
    pub nodes: Vec<JgfNode>,
    /// The edges, in the order of the file; they may name vertices that are not here.
    pub edges: Vec<JgfEdge>,
}

/// One vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JgfNode {
    /// What edges call the vertex.
    pub id: String,
    /// The resource type.
    pub kind: String,
    /// The name without its number.
    pub basename: String,
    /// The name in full; the host name of a node.
    pub name: String,
    /// The logical id, `metadata.id`.
    pub num: i64,
    /// Fluxion's number of the vertex.
    pub uniq_id: i64,
    /// The execution target, or -1.
    pub rank: i64,
    /// How many of [`JgfNode::unit`] the vertex holds; in an allocation, how many are needed.
    pub size: u64,
    /// The unit of the size, often empty.
    pub unit: String,
    /// Whether an allocation has the vertex for itself.
    pub exclusive: bool,
    /// Whether the vertex can take work.
    pub status: JgfStatus,
    /// Subsystem to path.
    pub paths: BTreeMap<String, String>,
    /// Free name and value pairs.
    pub properties: BTreeMap<String, String>,
}

/// Takes vertices and edges as they are read; see [`Jgf::stream`].
pub trait JgfSink {
    /// A vertex, in the order of the file.
    ///
    /// # Errors
    /// What is wrong with it.
    fn node(&mut self, node: JgfNode) -> Result<(), String>;

    /// An edge, in the order of the file; it may come before the vertices that it names.
    ///
    /// # Errors
    /// What is wrong with it.
    fn edge(&mut self, edge: JgfEdge) -> Result<(), String>;
}

/// Whether a vertex can take work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum JgfStatus {
    /// It can (0).
    #[default]
    Up,
    /// It cannot (1).
    Down,
}

/// One directed edge, from the container to the contained in the containment subsystem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JgfEdge {
    /// Id of the vertex where the edge starts.
    pub source: String,
    /// Id of the vertex where it ends.
    pub target: String,
    /// The subsystem, [`CONTAINMENT`] unless said otherwise.
    pub subsystem: String,
}

/// Why a text is not JGF.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JgfError {
    /// Not JSON, or not of the shape above.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1; 0 at the end of a line.
        column: usize,
        /// What was found and what was expected.
        message: String,
    },
    /// The text could not be read to its end.
    #[error("cannot read: {message}")]
    Io {
        /// What the reader said.
        message: String,
    },
    /// The object holds no graph.
    #[error("expected a member `graph`, alone or in `scheduling`, found neither")]
    NoGraph,
}

impl JgfError {
    fn of(error: serde_json::Error) -> Self {
        let message = error.to_string();
        let (line, column) = (error.line(), error.column());
        let message = message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message).to_owned();
        if error.is_io() { Self::Io { message } } else { Self::Syntax { line, column, message } }
    }
}

impl Jgf {
    /// Reads JGF from bytes, which need not be UTF-8 (then that is the error).
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, JgfError> {
        Self::of(serde_json::from_slice(text.as_ref()))
    }

    /// Reads JGF piece by piece, so that no more of the text is held than a buffer of some kilobytes.
    ///
    /// # Errors
    /// See [`JgfError`].
    pub fn read(source: impl std::io::Read) -> Result<Self, JgfError> {
        Self::of(serde_json::from_reader(std::io::BufReader::with_capacity(1 << 16, source)))
    }

    fn of(document: Result<Document, serde_json::Error>) -> Result<Self, JgfError> {
        let document = document.map_err(JgfError::of)?;
        let graph = document.graph.or(document.scheduling.and_then(|scheduling| scheduling.graph));
        let Graph { nodes: Nodes(nodes), edges } = graph.ok_or(JgfError::NoGraph)?;
        Ok(Self { nodes, edges })
    }

    /// Reads JGF and hands over each vertex and each edge as it comes, so that neither the text nor the whole graph is
    /// held. Ids are not compared.
    ///
    /// # Errors
    /// See [`JgfError`]; a second graph, and what the sink refuses, is an error of the place where it stands.
    pub fn stream(source: impl std::io::Read, sink: &mut dyn JgfSink) -> Result<(), JgfError> {
        let mut stream = stream::Stream { sink, graphs: 0 };
        let reader = std::io::BufReader::with_capacity(1 << 16, source);
        let mut deserializer = serde_json::Deserializer::from_reader(reader);
        let read = serde::de::DeserializeSeed::deserialize(stream::InDocument(&mut stream), &mut deserializer);
        read.and_then(|()| deserializer.end()).map_err(JgfError::of)?;
        if stream.graphs == 0 { Err(JgfError::NoGraph) } else { Ok(()) }
    }

    /// Writes `{"graph": …}`, leaving out what equals its default. Reading it again gives an equal graph.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&BTreeMap::from([("graph", self)])).expect("strings and numbers always serialize")
    }
}

impl JgfNode {
    /// A vertex with the defaults of the table above; `id` as a number becomes both `uniq_id` and the logical id.
    pub fn new(id: impl Into<String>, kind: impl Into<String>) -> Self {
        let (id, kind) = (id.into(), kind.into());
        let uniq_id = id.parse().unwrap_or(0);
        Self {
            basename: kind.clone(),
            name: format!("{kind}{uniq_id}"),
            num: uniq_id,
            id,
            kind,
            uniq_id,
            rank: -1,
            size: 1,
            unit: String::new(),
            exclusive: false,
            status: JgfStatus::Up,
            paths: BTreeMap::new(),
            properties: BTreeMap::new(),
        }
    }
}

#[derive(Deserialize)]
struct Document {
    graph: Option<Graph>,
    scheduling: Option<Scheduling>,
}

#[derive(Deserialize)]
struct Scheduling {
    graph: Option<Graph>,
}

#[derive(Deserialize)]
struct Graph {
    nodes: Nodes,
    #[serde(default)]
    edges: Vec<JgfEdge>,
}

struct Nodes(Vec<JgfNode>);

#[derive(Deserialize)]
struct RawNode {
    id: Option<String>,
    metadata: RawMetadata,
}

#[derive(Deserialize)]
struct RawMetadata {
    r#type: String,
    basename: Option<String>,
    name: Option<String>,
    #[serde(default, deserialize_with = "number_or_text")]
    id: Option<i64>,
    uniq_id: Option<i64>,
    rank: Option<i64>,
    size: Option<u64>,
    unit: Option<String>,
    exclusive: Option<bool>,
    status: Option<u8>,
    paths: BTreeMap<String, String>,
    properties: Option<BTreeMap<String, String>>,
}

impl RawMetadata {
    fn complete<E: serde::de::Error>(self, id: String, position: usize) -> Result<JgfNode, E> {
        let uniq_id = self.uniq_id.or_else(|| id.parse().ok()).unwrap_or(position as i64);
        let from_name = || self.name.as_deref().filter(|_| self.r#type == "node").and_then(trailing_number);
        let num = self.id.or_else(from_name).unwrap_or(uniq_id);
        let basename = self.basename.unwrap_or_else(|| self.r#type.clone());
        let status = match self.status.unwrap_or(0) {
            0 => JgfStatus::Up,
            1 => JgfStatus::Down,
            other => return Err(E::custom(format_args!("expected status 0 (up) or 1 (down), found {other}"))),
        };
        Ok(JgfNode {
            name: self.name.unwrap_or_else(|| format!("{basename}{num}")),
            id,
            kind: self.r#type,
            basename,
            num,
            uniq_id,
            rank: self.rank.unwrap_or(-1),
            size: self.size.unwrap_or(1),
            unit: self.unit.unwrap_or_default(),
            exclusive: self.exclusive.unwrap_or(false),
            status,
            paths: self.paths,
            properties: self.properties.unwrap_or_default(),
        })
    }
}

/// The number that `name` ends in, if it ends in digits and they fit.
pub(crate) fn trailing_number(name: &str) -> Option<i64> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok()
}

fn number_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a number, or a string of one")]
    enum Either {
        Number(i64),
        Text(String),
    }
    match Option::<Either>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Either::Number(number)) => Ok(Some(number)),
        Some(Either::Text(text)) => text
            .parse()
            .map(Some)
            .map_err(|_| D::Error::custom(format_args!("expected a number, or a string of one, found \"{text}\""))),
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NodesVisitor;

        impl<'de> Visitor<'de> for NodesVisitor {
            type Value = Nodes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of nodes, or an object from id to node")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Nodes, A::Error> {
                let mut collected = Collected::default();
                while let Some(node) = seq.next_element::<RawNode>()? {
                    let id = node.id.ok_or_else(|| A::Error::missing_field("id"))?;
                    collected.add(id, node.metadata)?;
                }
                Ok(Nodes(collected.nodes))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Nodes, A::Error> {
                let mut collected = Collected::default();
                while let Some((id, node)) = map.next_entry::<String, RawNode>()? {
                    collected.add(id, node.metadata)?;
                }
                Ok(Nodes(collected.nodes))
            }
        }

        deserializer.deserialize_any(NodesVisitor)
    }
}

#[derive(Default)]
struct Collected {
    nodes: Vec<JgfNode>,
    // Asked for membership only, never iterated.
    seen: HashSet<String>,
}

impl Collected {
    fn add<E: serde::de::Error>(&mut self, id: String, metadata: RawMetadata) -> Result<(), E> {
        if !self.seen.insert(id.clone()) {
            return Err(E::custom(format_args!("expected unique ids, found node \"{id}\" twice")));
        }
        let node = metadata.complete(id, self.nodes.len())?;
        self.nodes.push(node);
        Ok(())
    }
}

impl<'de> Deserialize<'de> for JgfEdge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct RawEdge {
            source: String,
            target: String,
            metadata: Option<EdgeMetadata>,
        }
        #[derive(Deserialize)]
        struct EdgeMetadata {
            subsystem: Option<String>,
        }
        let RawEdge { source, target, metadata } = RawEdge::deserialize(deserializer)?;
        let subsystem = metadata.and_then(|m| m.subsystem).unwrap_or_else(|| CONTAINMENT.to_owned());
        Ok(Self { source, target, subsystem })
    }
}

impl Serialize for Jgf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Numbered<'a>(&'a [JgfNode]);

        impl Serialize for Numbered<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.0.iter().enumerate().map(|(position, node)| Positioned { node, position }))
            }
        }

        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("nodes", &Numbered(&self.nodes))?;
        map.serialize_entry("edges", &self.edges)?;
        map.end()
    }
}

struct Positioned<'a> {
    node: &'a JgfNode,
    position: usize,
}

impl Serialize for Positioned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("id", &self.node.id)?;
        map.serialize_entry("metadata", &Metadata(self))?;
        map.end()
    }
}

struct Metadata<'a>(&'a Positioned<'a>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Positioned { node, position } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &node.kind)?;
        if node.basename != node.kind {
            map.serialize_entry("basename", &node.basename)?;
        }
        if node.name != format!("{}{}", node.basename, node.num) {
            map.serialize_entry("name", &node.name)?;
        }
        map.serialize_entry("id", &node.num)?;
        if node.uniq_id != node.id.parse().unwrap_or(*position as i64) {
            map.serialize_entry("uniq_id", &node.uniq_id)?;
        }
        map.serialize_entry("rank", &node.rank)?;
        if node.status == JgfStatus::Down {
            map.serialize_entry("status", &1)?;
        }
        if !node.properties.is_empty() {
            map.serialize_entry("properties", &node.properties)?;
        }
        if !node.unit.is_empty() {
            map.serialize_entry("unit", &node.unit)?;
        }
        if node.exclusive {
            map.serialize_entry("exclusive", &true)?;
        }
        if node.size != 1 {
            map.serialize_entry("size", &node.size)?;
        }
        map.serialize_entry("paths", &node.paths)?;
        map.end()
    }
}

impl Serialize for JgfEdge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry("target", &self.target)?;
        if self.subsystem != CONTAINMENT {
            map.serialize_entry("metadata", &BTreeMap::from([("subsystem", &self.subsystem)]))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
