//! Which edges are walked: the subsystem that leads, the others, their roots, and children in the right order.

use super::error::EngineError;
use super::options::Options;
use crate::base::VertexId;
use crate::graph::{Graph, KindId, SubsystemId};
use smallvec::SmallVec;

/// Children of one vertex.
pub(super) type Children = SmallVec<[VertexId; 16]>;

/// How the subsystems of an engine lie in its graph.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    /// The subsystem that is walked down first, then those that are walked up.
    pub(super) subsystems: Vec<SubsystemId>,
    /// The root of each.
    pub(super) roots: Vec<VertexId>,
    /// Whether the graph has no edge but those of the containment tree, and that leads.
    pub(super) plain: bool,
    /// Whether the containment tree leads and no vertex is in two others.
    pub(super) is_tree: bool,
    /// For a parent's and a child's kind, whether there is such an edge.
    child_kinds: Vec<bool>,
    kinds: usize,
}

impl Topology {
    pub(super) fn new(graph: &Graph, options: &Options) -> Result<Self, EngineError> {
        let mut subsystems = Vec::new();
        let mut roots = Vec::new();
        for name in &options.subsystems {
            let no_root = || EngineError::NoRoot { subsystem: name.clone() };
            let subsystem = graph.subsystem_id(name).ok_or_else(no_root)?;
            roots.push(root_in(graph, subsystem).ok_or_else(no_root)?);
            subsystems.push(subsystem);
        }
        let leads = subsystems.first().copied().ok_or_else(|| EngineError::NoRoot { subsystem: String::new() })?;
        let in_tree = graph.vertices().filter(|&v| graph.is_contained(v)).count() - graph.roots().count();
        let no_more = graph.edge_count() == in_tree;
        let is_tree = leads == SubsystemId::CONTAINMENT && (no_more || only_tree_edges(graph));
        let kinds = graph.kind_bound();
        let mut child_kinds = vec![false; kinds * kinds];
        let mut note = |parent: KindId, child: KindId| child_kinds[parent.index() * kinds + child.index()] = true;
        for v in graph.vertices() {
            if let Some(parent) = graph.parent(v) {
                note(graph.kind(parent), graph.kind(v));
            }
            if !no_more {
                for subsystem in graph.subsystems() {
                    graph.successors(v, subsystem).for_each(|child| note(graph.kind(v), graph.kind(child)));
                }
            }
        }
        Ok(Self { plain: is_tree && no_more, is_tree, subsystems, roots, child_kinds, kinds })
    }

    /// Where the edges of a subsystem lead, in their order.
    pub(super) fn children(&self, graph: &Graph, v: VertexId, subsystem: SubsystemId) -> Children {
        if subsystem == SubsystemId::CONTAINMENT && self.is_tree {
            graph.children(v).collect()
        } else {
            graph.successors(v, subsystem).collect()
        }
    }

    /// Where the edge of the leading subsystem comes from that leads to `v`.
    pub(super) fn parent(&self, graph: &Graph, v: VertexId) -> Option<VertexId> {
        if self.is_tree { graph.parent(v) } else { graph.predecessors(v, self.subsystems[0]).next() }
    }

    /// Whether an edge of any subsystem starts at `v`.
    pub(super) fn is_leaf(&self, graph: &Graph, v: VertexId) -> bool {
        graph.subtree(v).len() == 1
            && (self.plain || graph.subsystems().all(|s| graph.successors(v, s).next().is_none()))
    }

    /// Whether an edge of any subsystem leads from `v` to a vertex of a kind.
    pub(super) fn has_child(&self, graph: &Graph, v: VertexId, kind: KindId) -> bool {
        if !self.child_kinds[graph.kind(v).index() * self.kinds + kind.index()] {
            return false;
        }
        graph.children(v).any(|child| graph.kind(child) == kind)
            || (!self.plain
                && graph.subsystems().any(|s| graph.successors(v, s).any(|child| graph.kind(child) == kind)))
    }

    /// Whether vertices of `kind` are children of vertices of the kind `parent` only.
    pub(super) fn only_below(&self, kind: KindId, parent: KindId) -> bool {
        (0..self.kinds).all(|above| self.child_kinds[above * self.kinds + kind.index()] == (above == parent.index()))
    }

    pub(super) fn vertices_at(&self, graph: &Graph, path: &str) -> Vec<VertexId> {
        let mut found: Vec<VertexId> = graph.all_by_path(path);
        if graph.subsystems().count() > 1 {
            let others: Vec<SubsystemId> = graph.subsystems().filter(|&s| s != SubsystemId::CONTAINMENT).collect();
            let here = |v: &VertexId| others.iter().any(|&s| graph.path_in(*v, s).is_some_and(|p| p == path));
            found.extend(graph.vertices().filter(here));
            found.sort_unstable();
            found.dedup();
        }
        found
    }
}

/// The root of a subsystem: of containment the first, of others the first whose path is a name alone.
pub(super) fn root_in(graph: &Graph, subsystem: SubsystemId) -> Option<VertexId> {
    if subsystem == SubsystemId::CONTAINMENT {
        return graph.roots().next();
    }
    let is_root = |v: &VertexId| {
        graph.path_in(*v, subsystem).is_some_and(|path| path.starts_with('/') && path.matches('/').count() == 1)
    };
    graph.vertices().filter(is_root).min_by_key(|&v| graph.uniq_id(v))
}

fn only_tree_edges(graph: &Graph) -> bool {
    graph.vertices().all(|v| graph.successors(v, SubsystemId::CONTAINMENT).eq(graph.children(v)))
}
