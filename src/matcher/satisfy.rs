//! Whether a request can be served at all, and what is short when it is not.
//!
//! Decides the resource, the level, the amount asked and the amount there is, for a denial and for a job that waits.
//! [`satisfiable`] looks at membership and size only: what is down, owned by another queue or held counts as there,
//! since it may come back. [`why_not`] looks at what is free over an interval.
//!
//! What is named, in this order:
//! - one target too small for what one target must give: the resource at level `node`, with the most that any target
//!   has of it;
//! - whole nodes and slots on nodes: `node` at level `queue`, with the number of targets that can give what is asked;
//! - slots anywhere: of cores and gpus the one of which all targets together have too little, the relatively shorter
//!   one if both; if neither (what there is lies in pieces too small for a slot), `slot`. Level `queue`.

use super::place::Interval;
use super::policy::TargetOrder;
use super::{Amount, Reason, Request, Shape, Shortage};
use crate::base::{TargetId, Timestamp};
use crate::graph::Graph;
use crate::planner::{Bits, TargetPlans};

/// What a target of this version of the graph has; nothing if it has no such target.
pub fn capacity(graph: &Graph, target: TargetId) -> Amount {
    graph.target(target).map_or(Amount::NONE, |t| Amount { cores: t.cores(), gpus: t.gpus() })
}

/// Whether the members of a queue (those that the constraint of the request admits) could serve it, all of them up
/// and idle.
///
/// # Errors
/// [`Reason::Unsatisfiable`] with what is short.
pub fn satisfiable(request: &Request, graph: &Graph, members: &Bits) -> Result<(), Reason> {
    let offers = members.iter().filter(|t| graph.target(*t).is_some()).map(|t| Some(capacity(graph, t)));
    match shortage(&request.shape, offers) {
        Some(shortage) => Err(Reason::Unsatisfiable(shortage)),
        None => Ok(()),
    }
}

/// What of a request is short from `from` until `until`; `None` if it fits then.
pub fn why_not(
    plans: &TargetPlans,
    shape: &Shape,
    candidates: &Bits,
    order: &TargetOrder,
    from: Timestamp,
    until: Timestamp,
) -> Option<Shortage> {
    let exclusive = order.is_exclusive() || matches!(shape, Shape::Whole { .. });
    let at = Interval { plans, from, until, exclusive };
    shortage(shape, candidates.iter().map(|t| at.free(t)))
}

/// Why a request does not start now though it fits later, at `start`, or never if that is `None`: of the candidates
/// too little is free from `from` until `until`. `None` if enough is free.
pub fn why_not_now(
    plans: &TargetPlans,
    shape: &Shape,
    candidates: &Bits,
    order: &TargetOrder,
    (from, until): (Timestamp, Timestamp),
    start: Option<Timestamp>,
) -> Option<Reason> {
    let shortage = why_not(plans, shape, candidates, order, from, until)?;
    Some(match start {
        Some(_) => Reason::Busy { shortage, start },
        None => Reason::NoFiniteStart(shortage),
    })
}

/// A count of needs of one resource against what there is.
fn short(resource: &str, level: &str, asked: u64, available: u64) -> Option<Shortage> {
    (available < asked).then(|| Shortage { resource: resource.to_owned(), level: level.to_owned(), asked, available })
}

/// The one of which less is there in relation to what is asked; the first if equal.
fn shorter(first: Option<Shortage>, second: Option<Shortage>) -> Option<Shortage> {
    let (Some(a), Some(b)) = (&first, &second) else { return first.or(second) };
    let product = |available: u64, asked: u64| u128::from(available) * u128::from(asked);
    if product(b.available, a.asked) < product(a.available, b.asked) { second } else { first }
}

/// What the shape lacks where each target offers so much; `None` for a target that offers nothing, not even itself.
fn shortage(shape: &Shape, offers: impl Iterator<Item = Option<Amount>>) -> Option<Shortage> {
    let (of_node, nodes) = match shape {
        Shape::Whole { nodes, at_least, .. } => (wide(*at_least, 1), nodes.min()),
        Shape::Nodes { nodes, slots, slot } => (wide(*slot, slots.min()), nodes.min()),
        Shape::Slots { slot, .. } => (wide(*slot, 1), 0),
    };
    let (mut able, mut serving) = (0u64, 0u64);
    let (mut most, mut sum, mut slots_there) = (Wide::default(), Wide::default(), 0u64);
    for offer in offers.flatten() {
        let here = wide(offer, 1);
        serving += 1;
        able += u64::from(match shape {
            Shape::Whole { at_least, .. } => offer.covers(*at_least),
            Shape::Nodes { slots, slot, .. } => u64::from(offer.slots(*slot)) >= slots.min(),
            Shape::Slots { .. } => false,
        });
        most = Wide { cores: most.cores.max(here.cores), gpus: most.gpus.max(here.gpus) };
        sum = Wide { cores: sum.cores + here.cores, gpus: sum.gpus + here.gpus };
        if let Shape::Slots { slot, .. } = shape {
            slots_there += u64::from(offer.slots(*slot));
        }
    }
    let on_one = || {
        let cores = short("core", "node", of_node.cores, most.cores);
        shorter(cores, short("gpu", "node", of_node.gpus, most.gpus))
    };
    match shape {
        // That no target is there at all says more than that none has enough cores.
        Shape::Whole { .. } | Shape::Nodes { .. } if serving == 0 => short("node", "queue", nodes, 0),
        Shape::Whole { .. } | Shape::Nodes { .. } => on_one().or_else(|| short("node", "queue", nodes, able)),
        Shape::Slots { slots, slot } => {
            let need = slots.min();
            let missing = short("slot", "queue", need, slots_there)?;
            let all = wide(*slot, need);
            let in_sum =
                shorter(short("core", "queue", all.cores, sum.cores), short("gpu", "queue", all.gpus, sum.gpus));
            let one = if serving > 0 { on_one() } else { None };
            one.or(in_sum).or(Some(missing))
        }
    }
}

/// An amount that does not overflow.
#[derive(Clone, Copy, Default)]
struct Wide {
    cores: u64,
    gpus: u64,
}

fn wide(amount: Amount, times: u64) -> Wide {
    Wide { cores: u64::from(amount.cores).saturating_mul(times), gpus: u64::from(amount.gpus).saturating_mul(times) }
}

#[cfg(test)]
mod tests;
