//! Which vertices of a finished tree are targets: their numbers, and the tables that find them.

use super::GraphError;
use super::build::DraftTarget;
use super::names::KindId;
use super::store::Graph;
use super::target::Target;
use crate::base::{FastMap, TargetId, VertexId};
use crate::formats::idset::MAX_ID;
use std::ops::Range;
use std::sync::Arc;

/// Gives numbers to new targets in depth-first order, and fills the tables.
pub(super) fn install_targets(
    graph: &mut Graph,
    mut drafts: Vec<DraftTarget>,
    place: impl Fn(u32) -> VertexId,
) -> Result<(), GraphError> {
    drafts.sort_by_key(|target| place(target.draft));
    graph.targets.reserve(drafts.len());
    let (mut cores, mut gpus) = (Parts::new(KindId::CORE), Parts::new(KindId::GPU));
    for DraftTarget { draft, rank, host, id } in drafts {
        let vertex = place(draft);
        if let Some(other) = graph.target_of(vertex).and_then(|id| graph.target(id)) {
            return Err(GraphError::NestedTarget { inner: graph.path(vertex), outer: graph.path(other.vertex) });
        }
        if let Some(other) = graph.target_by_rank(rank).and_then(|id| graph.target(id)) {
            let (first, second) = (graph.path(other.vertex), graph.path(vertex));
            return Err(GraphError::DuplicateRank { rank, first, second });
        }
        let id = id.unwrap_or_else(|| {
            graph.target_bound += 1;
            TargetId(graph.target_bound - 1)
        });
        let subtree = graph.subtree(vertex);
        let (core_range, core_ids) = cores.of(graph, subtree.clone());
        let (gpu_range, gpu_ids) = gpus.of(graph, subtree.clone());
        graph.targets.add(Target { id, vertex, rank, host, core_ids, gpu_ids, core_range, gpu_range });
        graph.target_at[subtree.start as usize..subtree.end as usize].fill(id.0);
    }
    Ok(())
}

/// Finds the vertices of one kind in targets that come in depth-first order. Lists of logical ids are kept once each:
/// most nodes are alike.
struct Parts {
    kind: KindId,
    /// Where in the list of the kind the last target ended.
    next: usize,
    last: Arc<[u32]>,
    known: FastMap<Arc<[u32]>, ()>,
    scratch: Vec<u32>,
}

impl Parts {
    fn new(kind: KindId) -> Self {
        Self { kind, next: 0, last: Arc::default(), known: FastMap::default(), scratch: Vec::new() }
    }

    fn of(&mut self, graph: &Graph, subtree: Range<u32>) -> (Range<u32>, Arc<[u32]>) {
        let all = graph.of_kind(self.kind);
        let start = self.next + all[self.next..].iter().take_while(|v| v.0 < subtree.start).count();
        let end = start + all[start..].iter().take_while(|v| v.0 < subtree.end).count();
        self.next = end;
        let range = start as u32..end as u32;
        let ids = || all[start..end].iter().map(|v| graph.id_at.get(v.index()));
        if ids().eq(self.last.iter().map(|&id| i64::from(id))) {
            return (range, self.last.clone());
        }
        self.scratch.clear();
        self.scratch.extend(ids().map_while(|id| u32::try_from(id).ok().filter(|&id| id <= MAX_ID)));
        let logical = self.scratch.len() == end - start && all_different(&self.scratch);
        if !logical {
            self.scratch.clear();
            self.scratch.extend(0..(end - start) as u32);
        }
        let ids = match self.known.get_key_value(self.scratch.as_slice()) {
            Some((ids, ())) => ids.clone(),
            None => {
                let ids: Arc<[u32]> = self.scratch.as_slice().into();
                self.known.insert(ids.clone(), ());
                ids
            }
        };
        self.last = ids.clone();
        (range, ids)
    }
}

fn all_different(ids: &[u32]) -> bool {
    if ids.is_sorted_by(|a, b| a < b) {
        return true;
    }
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.is_sorted_by(|a, b| a < b)
}
