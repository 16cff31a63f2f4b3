//! Where and when a request fits, on plans by target.
//!
//! Decides the start and how much is taken of which target; which cores and gpus these are is decided when the job
//! starts ([`super::realise`]). Knows no queue and no other job.
//!
//! Rules:
//! - A fixed count is met exactly. A range gets the most that is available at the start: its largest admitted number.
//!   Its start is the earliest at which its least number fits; it does not wait for more.
//! - Whole nodes: the first that fit, in the order of the policy.
//! - Slots on nodes: first as many nodes as admitted and available with the least number of slots, then as many slots
//!   on each as that many nodes have, then the first nodes that have them. All get the same number.
//! - Slots anywhere: each within one target, spread or filled as the policy says.
//!
//! The sweep for the earliest start visits, per candidate, the instants at which what it offers may change, merged
//! over all candidates by a heap; between them nothing is looked at.

use super::policy::{End, TargetOrder};
use super::{Amount, Shape};
use crate::base::{Duration, TargetId, Timestamp};
use crate::formats::count::Count;
use crate::planner::{Bits, TargetPlans};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is taken of one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Taken {
    /// All of it, exclusively.
    Whole,
    /// So many slots, at least one.
    Slots(u32),
}

/// A place in space and time.
#[must_use = "a placement holds nothing until it is occupied"]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// When the job starts.
    pub start: Timestamp,
    /// What it takes, in the order of the policy; no target twice.
    pub parts: Vec<(TargetId, Taken)>,
    /// The number of task slots in all.
    pub nslots: u32,
}

/// Where a request fits from `from` until `until`; `None` if it does not.
pub fn fits(
    plans: &TargetPlans,
    shape: &Shape,
    candidates: &Bits,
    order: &TargetOrder,
    from: Timestamp,
    until: Timestamp,
) -> Option<Placement> {
    let at = Interval { plans, from, until, exclusive: order.is_exclusive() };
    let (parts, nslots) = match shape {
        Shape::Whole { nodes, at_least, slots_per_node } => {
            let free = order.iter(candidates).filter(|t| at.is_free(*t, *at_least));
            let mut found: Vec<TargetId> = free.take(limit(nodes)).collect();
            found.truncate(nodes.largest_at_most(found.len() as u64)? as usize);
            let nslots = found.len() as u64 * u64::from(*slots_per_node);
            (found.into_iter().map(|t| (t, Taken::Whole)).collect(), nslots)
        }
        Shape::Nodes { nodes, slots, slot } => nodes_at(&at, nodes, slots, *slot, order.iter(candidates))?,
        Shape::Slots { slots, slot } => slots_at(&at, slots, *slot, order, candidates)?,
    };
    let nslots = u32::try_from(nslots).unwrap_or(u32::MAX);
    Some(Placement { start: from, parts, nslots })
}

/// Where a reservation of a request holds its place from `from` until `until`; `None` if it does not fit.
///
/// It takes the least that is asked for, and targets are filled one after the other whatever the policy: which are taken
/// when the job starts is decided then. So a reservation keeps its place when somebody else takes some of what it
/// leaves, which spreading would not.
pub fn reserve(
    plans: &TargetPlans,
    shape: &Shape,
    candidates: &Bits,
    order: &TargetOrder,
    from: Timestamp,
    until: Timestamp,
) -> Option<Placement> {
    fits(plans, &shape.least(), candidates, &order.filling(), from, until)
}

/// The earliest start from `now` on at which a request fits for `duration`, and where; `None` if nothing planned will
/// ever let it fit.
pub fn earliest(
    plans: &TargetPlans,
    shape: &Shape,
    candidates: &Bits,
    order: &TargetOrder,
    duration: Duration,
    now: Timestamp,
) -> Option<Placement> {
    let start = earliest_start(plans, shape, candidates, order.is_exclusive(), duration, now)?;
    fits(plans, shape, candidates, order, start, start + duration)
}

/// The start of [`earliest`] alone.
fn earliest_start(
    plans: &TargetPlans,
    shape: &Shape,
    candidates: &Bits,
    exclusive: bool,
    duration: Duration,
    now: Timestamp,
) -> Option<Timestamp> {
    let need = match shape {
        Shape::Whole { nodes, .. } | Shape::Nodes { nodes, .. } => nodes.min(),
        Shape::Slots { slots, .. } => slots.min(),
    };
    let offers = |t: TargetId, start: Timestamp| {
        let at = Interval { plans, from: start, until: start + duration, exclusive };
        match shape {
            Shape::Whole { at_least, .. } => u64::from(at.is_free(t, *at_least)),
            Shape::Nodes { slots, slot, .. } => u64::from(at.slots(t, *slot) >= slots.min()),
            Shape::Slots { slot, .. } => at.slots(t, *slot),
        }
    };
    if now.is_never() {
        return None;
    }
    // Targets that are too small even when idle need no events.
    let least = match shape {
        Shape::Whole { at_least, .. } => *at_least,
        Shape::Nodes { slots, slot, .. } => slot.times(u32::try_from(slots.min()).unwrap_or(u32::MAX)),
        Shape::Slots { slot, .. } => *slot,
    };
    let able: Vec<TargetId> = candidates.iter().filter(|t| plans.capacity(*t).covers(least)).collect();
    let mut offered: Vec<u64> = able.iter().map(|t| offers(*t, now)).collect();
    let mut total: u64 = offered.iter().sum();
    if total >= need {
        return Some(now);
    }
    let next = |i: usize, start| plans.next_change(able[i], start, duration).map(|at| Reverse((at, i)));
    let mut events: BinaryHeap<Reverse<(Timestamp, usize)>> = (0..able.len()).filter_map(|i| next(i, now)).collect();
    while let Some(Reverse((start, _))) = events.peek().copied() {
        while let Some(Reverse((_, i))) = pop_at(&mut events, start) {
            let new = offers(able[i], start);
            total = total - offered[i] + new;
            offered[i] = new;
            events.extend(next(i, start));
        }
        if total >= need {
            return Some(start);
        }
    }
    None
}

/// The next event if it is at `at`.
fn pop_at<T>(events: &mut BinaryHeap<Reverse<(Timestamp, T)>>, at: Timestamp) -> Option<Reverse<(Timestamp, T)>>
where
    T: Ord + Copy,
{
    events.peek().filter(|event| event.0.0 == at)?;
    events.pop()
}

/// What targets offer over one interval.
pub(super) struct Interval<'a> {
    pub(super) plans: &'a TargetPlans,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// Whether a target offers slots only if all of it is free.
    pub(super) exclusive: bool,
}

impl Interval<'_> {
    /// Whether a target is wholly free and has this much.
    pub(super) fn is_free(&self, t: TargetId, at_least: Amount) -> bool {
        self.plans.capacity(t).covers(at_least) && self.plans.whole_during(t, self.from, self.until)
    }

    /// What is free on a target; `None` if somebody has all of it (exclusive: any of it) or it does not serve.
    pub(super) fn free(&self, t: TargetId) -> Option<Amount> {
        if self.exclusive {
            self.plans.whole_during(t, self.from, self.until).then(|| self.plans.capacity(t))
        } else {
            self.plans.free_during(t, self.from, self.until)
        }
    }

    /// How many slots a target offers.
    pub(super) fn slots(&self, t: TargetId, slot: Amount) -> u64 {
        self.free(t).map_or(0, |free| u64::from(free.slots(slot)))
    }

    fn taken(&self, slots: u64) -> Taken {
        // What a target offers fits 32 bits.
        if self.exclusive { Taken::Whole } else { Taken::Slots(slots as u32) }
    }
}

type Parts = (Vec<(TargetId, Taken)>, u64);

/// The most that a count admits, as a length.
fn limit(count: &Count) -> usize {
    count.max().map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX))
}

fn nodes_at(
    at: &Interval<'_>,
    nodes: &Count,
    slots: &Count,
    slot: Amount,
    targets: impl Iterator<Item = TargetId>,
) -> Option<Parts> {
    let offers = targets.map(|t| (t, at.slots(t, slot))).filter(|(_, n)| *n >= slots.min());
    // With a range of slots all targets must be seen: a later one may have more.
    let enough = if slots.is_fixed() { limit(nodes) } else { usize::MAX };
    let found: Vec<(TargetId, u64)> = offers.take(enough).collect();
    let number = nodes.largest_at_most(found.len() as u64)?;
    let each = if slots.is_fixed() {
        slots.min()
    } else {
        let mut most: Vec<u64> = found.iter().map(|(_, n)| *n).collect();
        most.sort_unstable_by_key(|n| Reverse(*n));
        slots.largest_at_most(most[number as usize - 1])?
    };
    let chosen = found.into_iter().filter(|(_, n)| *n >= each).take(number as usize);
    Some((chosen.map(|(t, _)| (t, at.taken(each))).collect(), number.saturating_mul(each)))
}

fn slots_at(at: &Interval<'_>, slots: &Count, slot: Amount, order: &TargetOrder, candidates: &Bits) -> Option<Parts> {
    let most = slots.max().unwrap_or(u64::MAX);
    let spread = order.spreads() && !at.exclusive;
    let mut found: Vec<(TargetId, u64)> = Vec::new();
    let mut total = 0u64;
    for t in order.iter(candidates) {
        let offered = at.slots(t, slot);
        if offered > 0 {
            found.push((t, offered));
            total = total.saturating_add(offered);
        }
        if total >= most && !spread {
            break;
        }
    }
    let number = slots.largest_at_most(total)?;
    if spread {
        spread_over(at, number, slot, order.end(), &mut found);
    } else {
        let mut rest = number;
        found.retain_mut(|(_, n)| {
            *n = rest.min(*n);
            rest -= *n;
            *n > 0
        });
    }
    Some((found.into_iter().map(|(t, n)| (t, at.taken(n))).collect(), number))
}

/// Gives one slot after the other to the target where most is free (`high`) or least is used (`low`), the earlier one
/// in `found` if equal; leaves in `found` what each gets.
fn spread_over(at: &Interval<'_>, number: u64, slot: Amount, end: End, found: &mut Vec<(TargetId, u64)>) {
    let by_cores = slot.cores > 0;
    let of = |amount: Amount| i64::from(if by_cores { amount.cores } else { amount.gpus });
    // The level falls with every slot; the highest is next.
    let level = |t: TargetId| {
        let free = of(at.free(t).unwrap_or(Amount::NONE));
        match end {
            End::High => free,
            End::Low => free - of(at.plans.capacity(t)),
        }
    };
    let mut next: BinaryHeap<(i64, Reverse<usize>)> =
        found.iter().enumerate().map(|(i, (t, _))| (level(*t), Reverse(i))).collect();
    let mut given = vec![0u64; found.len()];
    for _ in 0..number {
        let Some((level, Reverse(i))) = next.pop() else { break };
        given[i] += 1;
        if given[i] < found[i].1 {
            next.push((level - of(slot), Reverse(i)));
        }
    }
    let mut given = given.into_iter();
    found.retain_mut(|(_, n)| {
        *n = given.next().unwrap_or(0);
        *n > 0
    });
}
