//! Match policies: which of several possible targets are taken, in which order, and from which end.
//!
//! Decides the order only; what fits is [`super::place`]'s part. The policies are those of Fluxion (flux-sched 0.54,
//! `dfu_match_policy_factory`), where they are well defined for the shapes matched here:
//!
//! | policy | order of targets | slots without a node level | cores and gpus of a target |
//! |---|---|---|---|
//! | `first` | graph order | fill one target after the other | lowest first |
//! | `high` | highest logical node id first | over all targets, highest core id first | highest first |
//! | `low` | lowest logical node id first | over all targets, lowest core id first | lowest first |
//! | `hinode` | highest logical node id first | fill one target after the other | highest first |
//! | `lonode` | lowest logical node id first | fill one target after the other | lowest first |
//! | `firstnodex`, `hinodex`, `lonodex` | as without the x | as without the x, but each target taken is taken whole | – |
//!
//! - Targets of equal logical id go by target number, in the direction of the policy. (Fluxion sorts candidates of
//!   equal score with an unstable sort, so there the order is undefined.)
//! - Core ids are those within their node. `high` and `low` have no factor for the node, so single slots spread: of
//!   four idle nodes of four cores, `low` gives the first four one-core slots core 0 of each. Plans know amounts, not
//!   positions; the next slot therefore goes where most is free (`high`) or least is used (`low`), which is the same
//!   as long as this policy alone filled the targets from its end. Equal ones go by the order of targets.
//! - `first` takes what comes first in the graph. Fluxion prefers vertices never used before, a by-product of the
//!   weights that it keeps; that is left to a compatibility mode.

use super::{Amount, Request, Shape};
use crate::base::TargetId;
use crate::config::MatchPolicy;
use crate::graph::Graph;
use crate::planner::Bits;

/// From which end the cores and gpus of a target are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The lowest positions.
    Low,
    /// The highest positions.
    High,
}

/// The order in which targets are taken, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetOrder {
    sequence: Sequence,
    end: End,
    spread: bool,
    exclusive: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Sequence {
    /// By target number.
    Up,
    /// By target number, downward.
    Down,
    /// Any other order.
    Listed(Vec<TargetId>),
}

impl TargetOrder {
    /// The order of a policy on a version of the graph; it holds for that version only.
    pub fn new(policy: MatchPolicy, graph: &Graph) -> Self {
        let ids = graph.targets_in_order().iter().filter_map(|t| {
            let target = graph.target(*t)?;
            Some((*t, graph.vertex(target.vertex).id()))
        });
        Self::of(policy, ids.collect())
    }

    /// The order of a policy on targets with logical node ids, given in graph order.
    fn of(policy: MatchPolicy, mut ids: Vec<(TargetId, i64)>) -> Self {
        use MatchPolicy as P;
        let end = match policy {
            P::First | P::Firstnodex | P::Low | P::Lonode | P::Lonodex => End::Low,
            P::High | P::Hinode | P::Hinodex => End::High,
        };
        match policy {
            P::First | P::Firstnodex => {}
            P::Low | P::Lonode | P::Lonodex => ids.sort_unstable_by_key(|(t, id)| (*id, *t)),
            P::High | P::Hinode | P::Hinodex => ids.sort_unstable_by_key(|(t, id)| std::cmp::Reverse((*id, *t))),
        }
        let sequence = if ids.is_sorted_by(|a, b| a.0 < b.0) {
            Sequence::Up
        } else if ids.is_sorted_by(|a, b| a.0 > b.0) {
            Sequence::Down
        } else {
            Sequence::Listed(ids.into_iter().map(|(t, _)| t).collect())
        };
        Self { sequence, end, spread: matches!(policy, P::High | P::Low), exclusive: is_exclusive(policy) }
    }

    /// The candidates in the order in which they are taken. Where the order is that of target numbers, this walks
    /// machine words; else it costs a step per target of the graph.
    pub fn iter<'a>(&'a self, candidates: &'a Bits) -> Box<dyn Iterator<Item = TargetId> + 'a> {
        match &self.sequence {
            Sequence::Up => Box::new(candidates.iter()),
            Sequence::Down => Box::new(candidates.iter_down()),
            Sequence::Listed(list) => Box::new(list.iter().copied().filter(|t| candidates.contains(*t))),
        }
    }

    /// Whether the order is that of target numbers, upward.
    pub fn is_ascending(&self) -> bool {
        self.sequence == Sequence::Up
    }

    /// From which end cores and gpus are taken.
    pub fn end(&self) -> End {
        self.end
    }

    /// Whether slots without a node level spread over the targets.
    pub fn spreads(&self) -> bool {
        self.spread
    }

    /// The same order, but one target is filled after the other.
    pub fn filling(&self) -> TargetOrder {
        TargetOrder { spread: false, ..self.clone() }
    }

    /// Whether every target taken is taken whole.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }
}

/// Whether a policy gives whole targets only.
pub fn is_exclusive(policy: MatchPolicy) -> bool {
    use MatchPolicy as P;
    match policy {
        P::Firstnodex | P::Hinodex | P::Lonodex => true,
        P::First | P::High | P::Low | P::Hinode | P::Lonode => false,
    }
}

/// What a request becomes under a policy: where the policy gives whole targets only, slots on nodes become whole
/// nodes. A range of slots per node counts with its least number.
///
/// Slots without a node level stay as they are: how many targets they need depends on which ones are taken. There
/// [`TargetOrder::is_exclusive`] makes the match take whole targets.
pub fn apply_policy(request: Request, policy: MatchPolicy) -> Request {
    let Request { shape, constraint, shared } = request;
    let shape = match shape {
        Shape::Nodes { nodes, slots, slot } if is_exclusive(policy) => whole_nodes(nodes, slots.min(), slot),
        shape @ (Shape::Nodes { .. } | Shape::Whole { .. } | Shape::Slots { .. }) => shape,
    };
    Request { shape, constraint, shared }
}

/// Whole nodes that each have room for so many slots.
pub(super) fn whole_nodes(nodes: crate::formats::count::Count, slots: u64, slot: Amount) -> Shape {
    let slots_per_node = u32::try_from(slots).unwrap_or(u32::MAX);
    Shape::Whole { nodes, at_least: slot.times(slots_per_node), slots_per_node }
}

#[cfg(test)]
mod tests;
