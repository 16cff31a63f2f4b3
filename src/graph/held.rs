//! From the JGF of an allocation, long or shorthand, to vertices of a graph.

use super::store::Graph;
use crate::base::{FastMap, VertexId};
use crate::formats::jgf::{CONTAINMENT, Jgf, JgfNode};
use std::collections::BTreeMap;

/// How much the JGF of an allocation says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Every vertex that is held.
    Full,
    /// What is below an exclusive vertex is held too and need not be said (Fluxion's `jgf_shorthand`).
    Shorthand,
}

/// A vertex that an allocation holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The vertex.
    pub vertex: VertexId,
    /// How much of it, in its unit.
    pub amount: u64,
    /// Whether nobody else may have a part of it.
    pub exclusive: bool,
}

/// Why an allocation is not one of a graph.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeldError {
    /// A vertex that the containment tree does not have.
    #[error("vertex \"{id}\": expected a containment path of this graph, found \"{path}\"")]
    UnknownPath {
        /// Id in the JGF.
        id: String,
        /// The path; empty if there is none.
        path: String,
    },
    /// A vertex that is not the one of the graph that has its path.
    #[error("vertex \"{id}\" at {path}: expected {what} {expected}, found {found}")]
    Differs {
        /// Id in the JGF.
        id: String,
        /// The path.
        path: String,
        /// What is different.
        what: &'static str,
        /// What the graph has.
        expected: String,
        /// What the JGF says.
        found: String,
    },
}

impl Graph {
    /// The vertices that the JGF of an allocation names, in depth-first order, each once. Type, name, id, and of
    /// targets the rank must be those of the graph, and sizes no larger. Of vertices that the shorthand leaves out
    /// everything is held. Edges are not looked at. Costs a step per vertex named, per sibling of those, and per
    /// vertex below exclusive ones.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn held_in(&self, jgf: &Jgf, detail: Detail) -> Result<Vec<Held>, HeldError> {
        let mut finder = Finder { graph: self, known: FastMap::default() };
        let mut held: BTreeMap<VertexId, Held> = BTreeMap::new();
        for node in &jgf.nodes {
            let vertex = finder.find(node)?;
            self.check_same(vertex, node)?;
            held.insert(vertex, Held { vertex, amount: node.size, exclusive: node.exclusive });
        }
        if detail == Detail::Shorthand {
            let whole: Vec<VertexId> = held.values().filter(|h| h.exclusive).map(|h| h.vertex).collect();
            let mut end = 0;
            for vertex in whole {
                let below = self.subtree(vertex);
                for v in (below.start.max(end)..below.end).map(VertexId) {
                    held.entry(v).or_insert(Held { vertex: v, amount: self.size(v), exclusive: true });
                }
                end = end.max(below.end);
            }
        }
        Ok(held.into_values().collect())
    }

    fn check_same(&self, v: VertexId, node: &JgfNode) -> Result<(), HeldError> {
        let vertex = self.vertex(v);
        let differs = |what, expected: String, found: String| {
            let path = node.paths.get(CONTAINMENT).cloned().unwrap_or_default();
            Err(HeldError::Differs { id: node.id.clone(), path, what, expected, found })
        };
        let kind = self.kind_name(vertex.kind());
        if kind != node.kind {
            return differs("type", kind.to_owned(), node.kind.clone());
        }
        if *vertex.name() != *node.name {
            return differs("name", vertex.name().into_owned(), node.name.clone());
        }
        if vertex.id() != node.num {
            return differs("id", vertex.id().to_string(), node.num.to_string());
        }
        if vertex.size() < node.size {
            return differs("a size up to", vertex.size().to_string(), node.size.to_string());
        }
        let target = self.target_of(v).and_then(|id| self.target(id)).filter(|target| target.vertex == v);
        match target {
            Some(target) if i64::from(target.rank) != node.rank => {
                differs("rank", target.rank.to_string(), node.rank.to_string())
            }
            _ => Ok(()),
        }
    }
}

/// Finds vertices by path, with what is below a vertex listed by name once it was asked for.
struct Finder<'g> {
    graph: &'g Graph,
    known: FastMap<Option<VertexId>, FastMap<String, VertexId>>,
}

impl Finder<'_> {
    fn find(&mut self, node: &JgfNode) -> Result<VertexId, HeldError> {
        let path = node.paths.get(CONTAINMENT).map_or("", String::as_str);
        let plain = self.walk(path).filter(|&v| self.graph.has_plain_path(v));
        let found = plain.or_else(|| self.graph.by_path(path));
        found.ok_or_else(|| HeldError::UnknownPath { id: node.id.clone(), path: path.to_owned() })
    }

    /// The vertex with these names from the top down.
    fn walk(&mut self, path: &str) -> Option<VertexId> {
        let mut at = None;
        for name in path.strip_prefix('/')?.split('/') {
            let graph = self.graph;
            let below = self.known.entry(at).or_insert_with(|| {
                let children: Vec<VertexId> = match at {
                    None => graph.roots().collect(),
                    Some(v) => graph.children(v).collect(),
                };
                // The first of a name is the one that counts.
                children.into_iter().rev().map(|v| (graph.vertex(v).name().into_owned(), v)).collect()
            });
            at = Some(*below.get(name)?);
        }
        at
    }
}
