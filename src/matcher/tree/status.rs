//! Up and down.

use super::engine::Engine;
use super::error::EngineError;
use super::outcome::Status;
use super::select::LEAD;
use crate::base::{FastSet, VertexId};
use crate::formats::idset::Idset;
use crate::graph::KindId;

impl Engine {
    /// Marks the vertices with a path, and with them all inside, as taking new work or not.
    ///
    /// # Errors
    /// [`EngineError::UnknownPath`].
    pub fn set_status(&mut self, path: &str, status: Status) -> Result<(), EngineError> {
        let vertices = self.vertices_at(path);
        if vertices.is_empty() {
            return Err(EngineError::UnknownPath { path: path.to_owned() });
        }
        let mut changed = FastSet::default();
        for v in vertices {
            if self.mark(v, status) {
                self.tell_index_of_marks(v);
                if self.options.compat {
                    changed.insert(v);
                    self.collect_below(v, &mut changed);
                }
            }
        }
        let nodes = changed.into_iter().filter(|&v| self.graph.kind(v) == KindId::NODE);
        let sizes: i64 = nodes.map(|v| self.graph.size(v) as i64).sum();
        self.nodes_up += if status == Status::Up { sizes } else { -sizes };
        Ok(())
    }

    /// Marks ranks as taking new work or not; ranks that are not there are passed over.
    pub fn set_status_of_ranks(&mut self, ranks: &Idset, status: Status) {
        let target = |rank| self.graph.target_by_rank(rank).and_then(|id| self.graph.target(id));
        let vertices: Vec<VertexId> = ranks.iter().filter_map(target).map(|target| target.vertex).collect();
        for v in vertices {
            if self.mark(v, status) {
                self.tell_index_of_marks(v);
                self.nodes_up += if status == Status::Up { 1 } else { -1 };
            }
        }
    }

    /// Whether that changed the mark.
    fn mark(&mut self, v: VertexId, status: Status) -> bool {
        match status {
            Status::Up => self.down.remove(&v),
            Status::Down => self.down.insert(v),
        }
    }

    fn collect_below(&self, v: VertexId, found: &mut FastSet<VertexId>) {
        for child in self.topology.children(&self.graph, v, self.topology.subsystems[LEAD]) {
            if found.insert(child) {
                self.collect_below(child, found);
            }
        }
    }

    /// Whether a vertex takes new work: it is not marked as down, nor is what contains it.
    pub fn is_up(&self, v: VertexId) -> bool {
        !self.down.contains(&v) && self.graph.ancestors(v).all(|above| !self.down.contains(&above))
    }

    /// How many nodes take new work, counted from the marks.
    pub fn nodes_up(&self) -> u64 {
        let nodes = self.graph.of_kind(KindId::NODE);
        nodes.iter().filter(|&&v| self.is_up(v)).count() as u64
    }
}
