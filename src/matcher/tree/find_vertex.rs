//! The vertices of a graph that comes from outside, in ours.

use super::engine::Engine;
use crate::base::{FastMap, VertexId};
use crate::formats::jgf::{CONTAINMENT, JgfNode};

/// Finds vertices by path. Remembers the children of vertices by name, so that many are found fast.
#[derive(Default)]
pub(super) struct Finder {
    children: FastMap<Option<VertexId>, FastMap<String, VertexId>>,
}

impl Finder {
    /// The vertex that a node names by its paths, its type, its id and, in containment, its rank.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(super) fn find(&mut self, engine: &Engine, node: &JgfNode) -> Result<VertexId, String> {
        let graph = &engine.graph;
        let mut found: Option<VertexId> = None;
        for (subsystem, path) in &node.paths {
            let v = if subsystem == CONTAINMENT { self.at(engine, path) } else { None };
            let fits = |v: &VertexId| graph.given_rank(*v) == node.rank;
            let v = v.filter(fits).or_else(|| engine.vertices_at(path).into_iter().find(fits));
            let v = v.ok_or_else(|| format!("nonexistent path ({path}) {}", node.id))?;
            if found.is_some_and(|found| found != v) {
                return Err(format!("inconsistent input vertex for {path} (id={})", node.id));
            }
            found = Some(v);
        }
        let v = found.ok_or_else(|| format!("no path of vertex {}", node.id))?;
        let vertex = graph.vertex(v);
        let same = graph.kind_name(vertex.kind()) == node.kind
            && vertex.basename() == node.basename
            && vertex.size() == node.size
            && vertex.id() == node.num
            && vertex.name() == node.name;
        if same { Ok(v) } else { Err(format!("inconsistent input vertex for {}", node.id)) }
    }

    /// The vertex at a path of containment that is the names of vertices.
    pub(super) fn at(&mut self, engine: &Engine, path: &str) -> Option<VertexId> {
        let mut at = None;
        for name in path.strip_prefix('/')?.split('/') {
            at = Some(self.child(engine, at, name)?);
        }
        at.filter(|&v| engine.graph.path(v) == path)
    }

    /// The child of a vertex, or the root, with a name.
    pub(super) fn child(&mut self, engine: &Engine, above: Option<VertexId>, name: &str) -> Option<VertexId> {
        let graph = &engine.graph;
        let children = self.children.entry(above).or_insert_with(|| {
            let named = |v: VertexId| (graph.vertex(v).name().into_owned(), v);
            match above {
                Some(v) => graph.children(v).map(named).collect(),
                None => graph.roots().map(named).collect(),
            }
        });
        children.get(name).copied()
    }
}
