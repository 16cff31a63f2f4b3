//! What the containment tree does not hold: edges of other subsystems, further ones of containment, and the rare words
//! of single vertices. petgraph keeps the edges, of those vertices only that have some.

use super::names::SubsystemId;
use super::store::Graph;
use crate::base::{FastMap, VertexId};
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

/// Edges that are not in the tree.
#[derive(Clone, Default)]
pub(super) struct Beside {
    edges: DiGraph<VertexId, SubsystemId>,
    node_of: FastMap<VertexId, NodeIndex>,
}

impl Beside {
    /// Adds an edge after those that are there.
    pub(super) fn add(&mut self, from: VertexId, to: VertexId, subsystem: SubsystemId) {
        let (from, to) = (self.node(from), self.node(to));
        self.edges.add_edge(from, to, subsystem);
    }

    fn node(&mut self, v: VertexId) -> NodeIndex {
        *self.node_of.entry(v).or_insert_with(|| self.edges.add_node(v))
    }

    /// The other ends of the edges of a vertex, the newest edge first.
    fn neighbours(&self, v: VertexId, subsystem: SubsystemId, direction: Direction) -> Vec<VertexId> {
        let Some(&node) = self.node_of.get(&v) else { return Vec::new() };
        let edges = self.edges.edges_directed(node, direction).filter(|edge| *edge.weight() == subsystem);
        let other = |edge: petgraph::graph::EdgeReference<'_, SubsystemId>| match direction {
            Direction::Outgoing => self.edges[edge.target()],
            Direction::Incoming => self.edges[edge.source()],
        };
        let mut found: Vec<VertexId> = edges.map(other).collect();
        // petgraph lists the newest edge first.
        found.reverse();
        found
    }

    fn len(&self) -> usize {
        self.edges.edge_count()
    }

    /// All edges, in order of creation.
    pub(super) fn iter(&self) -> impl Iterator<Item = (VertexId, VertexId, SubsystemId)> + '_ {
        let of = |node| self.edges[node];
        self.edges.edge_references().map(move |edge| (of(edge.source()), of(edge.target()), *edge.weight()))
    }
}

/// Something that few vertices have, sorted by vertex.
#[derive(Clone, Debug)]
pub(super) struct Sparse<T> {
    entries: Vec<(u32, T)>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> Sparse<T> {
    /// Each vertex may come once.
    pub(super) fn of(mut entries: Vec<(u32, T)>) -> Self {
        if !entries.is_sorted_by_key(|&(v, _)| v) {
            entries.sort_unstable_by_key(|&(v, _)| v);
        }
        entries.shrink_to_fit();
        Self { entries }
    }

    #[inline]
    pub(super) fn get(&self, v: VertexId) -> Option<&T> {
        if self.entries.is_empty() {
            return None;
        }
        let at = self.entries.binary_search_by_key(&v.0, |&(v, _)| v).ok()?;
        Some(&self.entries[at].1)
    }
}

impl Graph {
    /// Where the edges of a subsystem lead from `v`, in the order of the input; those of the tree first.
    pub fn successors(&self, v: VertexId, subsystem: SubsystemId) -> impl Iterator<Item = VertexId> + '_ {
        let in_tree = (subsystem == SubsystemId::CONTAINMENT).then(|| self.children(v));
        in_tree.into_iter().flatten().chain(self.beside.neighbours(v, subsystem, Direction::Outgoing))
    }

    /// Where the edges of a subsystem come from that lead to `v`, in the order of the input; that of the tree first.
    pub fn predecessors(&self, v: VertexId, subsystem: SubsystemId) -> impl Iterator<Item = VertexId> + '_ {
        let in_tree = (subsystem == SubsystemId::CONTAINMENT).then(|| self.parent(v));
        in_tree.flatten().into_iter().chain(self.beside.neighbours(v, subsystem, Direction::Incoming))
    }

    /// How many edges of all subsystems there are.
    pub fn edge_count(&self) -> usize {
        self.contained as usize - self.roots().count() + self.beside.len()
    }

    /// All edges of all subsystems: those of the tree, then the others in order of creation.
    #[cfg(test)]
    pub(super) fn edges(&self) -> impl Iterator<Item = (VertexId, VertexId, SubsystemId)> + '_ {
        let in_tree = self.vertices().filter_map(|v| Some((self.parent(v)?, v, SubsystemId::CONTAINMENT)));
        in_tree.chain(self.beside.iter())
    }

    /// Edges of other subsystems, and further ones of containment where the input has two vertices contain a third.
    pub(super) fn edges_beside_tree(&self) -> impl Iterator<Item = (VertexId, VertexId, SubsystemId)> + '_ {
        let in_tree = |from, to| self.parent(to) == Some(from);
        let all = self.beside.iter();
        all.filter(move |&(from, to, subsystem)| subsystem != SubsystemId::CONTAINMENT || !in_tree(from, to))
    }
}
