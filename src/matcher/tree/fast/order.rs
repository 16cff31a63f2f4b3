//! The orders in which policies prefer nodes and cores, where their numbers alone tell.

use crate::base::VertexId;
use crate::graph::{Graph, KindId};

/// The nodes in the order in which a policy prefers them; none if that is not by their numbers alone.
pub(super) fn nodes_in_order(graph: &Graph, root: VertexId, low: bool, stop_on_first: bool) -> Option<Vec<VertexId>> {
    if graph.roots().count() != 1 || graph.size(root) != 1 {
        return None;
    }
    let mut nodes: Vec<(i64, VertexId)> =
        graph.of_kind(KindId::NODE).iter().map(|&v| (graph.vertex(v).id(), v)).collect();
    if nodes.is_empty() || nodes.iter().any(|&(id, v)| id < -1 || graph.uniq_id(v) < 0 || v == root) {
        return None;
    }
    nodes.sort_unstable();
    if nodes.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return None;
    }
    if !low {
        nodes.reverse();
    }
    let nodes: Vec<VertexId> = nodes.into_iter().map(|(_, v)| v).collect();
    if !stop_on_first {
        return Some(nodes);
    }
    // The walk goes by another number; it must meet nodes in the same order.
    let mut met = nodes.iter();
    let mut open = vec![root];
    while let Some(v) = open.pop() {
        if graph.kind(v) == KindId::NODE {
            if low || met.next() != Some(&v) {
                return None;
            }
        } else if !graph.targets_in(v).is_empty() {
            let start = open.len();
            open.extend(graph.children(v));
            open[start..].sort_by_key(|&child| graph.uniq_id(child));
        }
    }
    met.next().is_none().then_some(nodes)
}

/// The places of the cores of a node in the order in which a policy prefers them; none if that is not by their numbers,
/// or if they are not all directly in the node.
pub(super) fn cores_in_order(
    graph: &Graph,
    cores: &[VertexId],
    node: VertexId,
    low: bool,
    first: bool,
) -> Option<Vec<u16>> {
    let number = |v: VertexId| if first { graph.uniq_id(v) } else { graph.vertex(v).id() };
    if cores.iter().any(|&core| graph.parent(core) != Some(node)) || u16::try_from(cores.len()).is_err() {
        return None;
    }
    let mut order: Vec<(i64, u16)> = cores.iter().enumerate().map(|(at, &core)| (number(core), at as u16)).collect();
    if !order.is_sorted() {
        order.sort_unstable();
    }
    if order.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return None;
    }
    if !low {
        order.reverse();
    }
    Some(order.into_iter().map(|(_, at)| at).collect())
}

/// Whether all nodes have cores of the same numbers in the same order.
pub(super) fn have_same_cores(graph: &Graph, nodes: &[VertexId]) -> bool {
    let ids = |v: &VertexId| graph.of_kind_in(*v, KindId::CORE).iter().map(|&core| graph.vertex(core).id());
    nodes.first().is_some_and(|first| nodes.iter().all(|v| ids(v).eq(ids(first))))
}

/// Whether the share of the node in the score of a core always counts for more than the number of the core.
pub(super) fn scores_tell_nodes_apart(graph: &Graph, nodes: &[VertexId]) -> bool {
    let score = |v: VertexId| {
        let tie = (graph.uniq_id(v) % 10_000 - 1).abs();
        graph.vertex(v).id().saturating_add(2).saturating_mul(10_000).saturating_add(tie)
    };
    let ids = || graph.of_kind(KindId::CORE).iter().map(|&v| graph.vertex(v).id());
    let spread = ids().max().unwrap_or(0).saturating_sub(ids().min().unwrap_or(0));
    let mut scores: Vec<i64> = nodes.iter().map(|&v| score(v)).collect();
    let descending = scores.is_sorted_by(|a, b| a > b);
    scores.sort_unstable();
    (descending || nodes.iter().map(|&v| score(v)).is_sorted())
        && scores.windows(2).all(|pair| pair[1] - pair[0] > spread)
}
