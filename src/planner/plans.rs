//! When which target is free, wholly or in parts: one timeline of cores, gpus and whole holds per target, cut by the
//! ownership windows.
//!
//! Decides whether an amount (or a whole target) is free over an interval, and when that may next change. Does not
//! decide who gets it, and refuses nothing that is told to be occupied: a job past its limit, or one found at a
//! restart, may overlap others, and then nothing is free there.
//!
//! Rules:
//! - An interval includes its first instant and excludes its last; one that is empty stands for its first instant.
//! - A whole hold needs that nothing else is on the target during the interval; a partial one needs that no whole hold
//!   overlaps it and that cores and gpus suffice at every instant.
//! - A target with a timeline of windows serves only intervals with `start >= from` and `end + margin <= until` of one
//!   and the same window. Without a timeline it has no bound.
//! - A target that is not usable (down) serves only windows that begin after now: it arrives then. Without such a
//!   window it serves nothing.
//!
//! Invariant: the load at an instant is the sum of the spans around it; neighbouring steps differ. All operations cost
//! in the spans of one target (a dozen), none in the number of targets, [`TargetPlans::set_windows`] excepted.

use crate::base::{Duration, TargetId, Timestamp, Window, Windows};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An amount of cores and gpus: what a target has, or what is asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Capacity {
    /// Cores.
    pub cores: u32,
    /// Gpus.
    pub gpus: u32,
}

impl Capacity {
    /// Neither cores nor gpus.
    pub const NONE: Capacity = Capacity { cores: 0, gpus: 0 };

    /// Whether all of `other` is in this.
    #[inline]
    pub fn covers(self, other: Capacity) -> bool {
        self.cores >= other.cores && self.gpus >= other.gpus
    }

    /// How often `slot` is in this; never, if the slot holds nothing.
    #[inline]
    pub fn slots(self, slot: Capacity) -> u32 {
        let by_cores = self.cores.checked_div(slot.cores);
        let by_gpus = self.gpus.checked_div(slot.gpus);
        match (by_cores, by_gpus) {
            (Some(a), Some(b)) => a.min(b),
            (Some(n), None) | (None, Some(n)) => n,
            (None, None) => 0,
        }
    }

    /// `n` times this, saturating.
    pub fn times(self, n: u32) -> Capacity {
        Capacity { cores: self.cores.saturating_mul(n), gpus: self.gpus.saturating_mul(n) }
    }
}

/// What of a target is occupied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Take {
    /// All of it, exclusively.
    Whole,
    /// Some cores and gpus.
    Amount(Capacity),
}

/// Why a change of the plans was refused; they are then as before.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PlanError {
    /// A target without a plan.
    #[error("target {target}: expected a target below {bound}")]
    NoTarget {
        /// The target named.
        target: TargetId,
        /// One past the largest target that has a plan.
        bound: usize,
    },
    /// There is nothing like it to vacate.
    #[error("target {target}: expected {take:?} from {from} until {until}, found no such span")]
    NoSpan {
        /// The target.
        target: TargetId,
        /// Start of the span named.
        from: Timestamp,
        /// End of the span named.
        until: Timestamp,
        /// What it was to hold.
        take: Take,
    },
}

/// What is on a target at an instant. 64 bits, so that no number of spans overflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Load {
    cores: u64,
    gpus: u64,
    wholes: u32,
    parts: u32,
}

impl Load {
    fn change(&mut self, take: Take, add: bool) {
        let change64 = |to: &mut u64, by: u32| *to = if add { *to + u64::from(by) } else { *to - u64::from(by) };
        let change32 = |to: &mut u32| *to = if add { *to + 1 } else { *to - 1 };
        match take {
            Take::Whole => change32(&mut self.wholes),
            Take::Amount(amount) => {
                change32(&mut self.parts);
                change64(&mut self.cores, amount.cores);
                change64(&mut self.gpus, amount.gpus);
            }
        }
    }
}

/// From this instant on the load is this.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: Timestamp,
    load: Load,
}

/// A span: from, until, what.
type Occupied = (Timestamp, Timestamp, Take);

#[derive(Clone, Debug, Default)]
struct Plan {
    capacity: Capacity,
    usable: bool,
    /// Which timeline of windows, if any.
    timeline: Option<u32>,
    /// Ascending; before the first there is no load.
    steps: Vec<Step>,
    /// In no order.
    spans: Vec<Occupied>,
}

impl Plan {
    /// The loads from `from` until `until`, that at `from` first.
    #[inline]
    fn loads(&self, from: Timestamp, until: Timestamp) -> impl Iterator<Item = Load> + '_ {
        let after = self.steps.partition_point(|s| s.at <= from);
        let first = after.checked_sub(1).map_or_else(Load::default, |i| self.steps[i].load);
        let rest = self.steps[after..].iter().take_while(move |s| s.at < until).map(|s| s.load);
        std::iter::once(first).chain(rest)
    }

    /// Makes a step begin at `t` and tells its position.
    fn cut(&mut self, t: Timestamp) -> usize {
        let after = self.steps.partition_point(|s| s.at < t);
        if self.steps.get(after).is_none_or(|s| s.at != t) {
            let load = after.checked_sub(1).map_or_else(Load::default, |i| self.steps[i].load);
            self.steps.insert(after, Step { at: t, load });
        }
        after
    }

    /// Takes the step at a position away if it changes nothing.
    fn join(&mut self, position: usize) {
        let before = position.checked_sub(1).map_or_else(Load::default, |i| self.steps[i].load);
        if self.steps[position].load == before {
            self.steps.remove(position);
        }
    }

    fn change(&mut self, (from, until, take): Occupied, add: bool) {
        let first = self.cut(from);
        let end = if until.is_never() { self.steps.len() } else { self.cut(until) };
        self.steps[first..end].iter_mut().for_each(|s| s.load.change(take, add));
        if !until.is_never() {
            self.join(end);
        }
        self.join(first);
    }
}

/// The plans of all targets of one scheduler, dense by target number.
///
/// ```
/// use sluice::base::{TargetId, Timestamp};
/// use sluice::planner::{Capacity, Take, TargetPlans};
/// let t = Timestamp::from_secs;
/// let mut plans = TargetPlans::new([Capacity { cores: 4, gpus: 1 }]);
/// plans.set_usable(TargetId(0), true).unwrap();
/// plans.occupy(TargetId(0), t(0), t(10), Take::Amount(Capacity { cores: 3, gpus: 0 })).unwrap();
/// let slot = Capacity { cores: 2, gpus: 0 };
/// assert_eq!(plans.slots_during(TargetId(0), slot, t(5), t(20)), 0);
/// assert_eq!(plans.slots_during(TargetId(0), slot, t(10), t(20)), 2);
/// assert!(!plans.whole_during(TargetId(0), t(9), t(20)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TargetPlans {
    now: Timestamp,
    plans: Vec<Plan>,
    timelines: Vec<Vec<Window>>,
    margin: Duration,
}

impl TargetPlans {
    /// Plans for the targets 0, 1, … with these capacities: free, not usable, without windows.
    pub fn new(capacities: impl IntoIterator<Item = Capacity>) -> Self {
        let plans = capacities.into_iter().map(|capacity| Plan { capacity, ..Plan::default() }).collect();
        Self { now: Timestamp::MIN, plans, timelines: Vec::new(), margin: Duration::ZERO }
    }

    /// One past the largest target that has a plan.
    pub fn bound(&self) -> usize {
        self.plans.len()
    }

    /// Sets what a target has, and makes room for it if it is new (free, not usable, without windows).
    pub fn set_capacity(&mut self, target: TargetId, capacity: Capacity) {
        if target.index() >= self.plans.len() {
            self.plans.resize_with(target.index() + 1, Plan::default);
        }
        self.plans[target.index()].capacity = capacity;
    }

    /// What a target has; nothing beyond the bound.
    #[inline]
    pub fn capacity(&self, target: TargetId) -> Capacity {
        self.plans.get(target.index()).map_or(Capacity::NONE, |p| p.capacity)
    }

    /// Tells the time: which windows of targets that are down are still to come.
    pub fn advance(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Says whether a target is up.
    ///
    /// # Errors
    /// [`PlanError::NoTarget`].
    pub fn set_usable(&mut self, target: TargetId, usable: bool) -> Result<(), PlanError> {
        self.plan_mut(target)?.usable = usable;
        Ok(())
    }

    /// Whether a target is up; false beyond the bound.
    pub fn is_usable(&self, target: TargetId) -> bool {
        self.plans.get(target.index()).is_some_and(|p| p.usable)
    }

    /// Replaces all windows. A job ends `margin` before the end of the window, so that its epilog is over by then.
    /// Targets beyond the bound are passed over.
    pub fn set_windows(&mut self, windows: &Windows, margin: Duration) {
        self.margin = margin;
        self.timelines.clear();
        self.plans.iter_mut().for_each(|p| p.timeline = None);
        for (number, timeline) in (0u32..).zip(&windows.timelines) {
            self.timelines.push(timeline.windows.clone());
            for target in timeline.targets.iter() {
                if let Some(plan) = self.plans.get_mut(target.index()) {
                    plan.timeline = Some(number);
                }
            }
        }
    }

    /// The windows of a target; `None` where it has no bound.
    pub fn windows(&self, target: TargetId) -> Option<&[Window]> {
        let timeline = self.plans.get(target.index())?.timeline?;
        Some(&self.timelines[timeline as usize])
    }

    /// Puts something on a target from `from` until `until` ([`Timestamp::NEVER`]: for ever).
    ///
    /// # Errors
    /// [`PlanError::NoTarget`].
    pub fn occupy(&mut self, target: TargetId, from: Timestamp, until: Timestamp, take: Take) -> Result<(), PlanError> {
        let span = (from, interval_end(from, until), take);
        let plan = self.plan_mut(target)?;
        plan.spans.push(span);
        plan.change(span, true);
        Ok(())
    }

    /// Takes away what [`TargetPlans::occupy`] put there with the same words.
    ///
    /// # Errors
    /// [`PlanError::NoTarget`], [`PlanError::NoSpan`].
    pub fn vacate(&mut self, target: TargetId, from: Timestamp, until: Timestamp, take: Take) -> Result<(), PlanError> {
        let span = (from, interval_end(from, until), take);
        let plan = self.plan_mut(target)?;
        let position = plan.spans.iter().rposition(|s| *s == span);
        let position = position.ok_or(PlanError::NoSpan { target, from, until, take })?;
        plan.spans.swap_remove(position);
        plan.change(span, false);
        Ok(())
    }

    /// What is put on a target, in no particular order.
    pub fn spans(&self, target: TargetId) -> impl Iterator<Item = (Timestamp, Timestamp, Take)> + '_ {
        self.plans.get(target.index()).into_iter().flat_map(|p| p.spans.iter().copied())
    }

    /// What is free on a target throughout the interval; `None` if it does not serve in it (down, outside its windows)
    /// or somebody has all of it for some of the time.
    pub fn free_during(&self, target: TargetId, from: Timestamp, until: Timestamp) -> Option<Capacity> {
        let until = interval_end(from, until);
        let plan = self.plans.get(target.index()).filter(|p| self.serves(p, from, until))?;
        let (mut cores, mut gpus) = (0, 0);
        for load in plan.loads(from, until) {
            if load.wholes > 0 {
                return None;
            }
            cores = load.cores.max(cores);
            gpus = load.gpus.max(gpus);
        }
        let left = |has: u32, used: u64| u64::from(has).saturating_sub(used) as u32;
        Some(Capacity { cores: left(plan.capacity.cores, cores), gpus: left(plan.capacity.gpus, gpus) })
    }

    /// How many slots a target has room for throughout the interval.
    #[inline]
    pub fn slots_during(&self, target: TargetId, slot: Capacity, from: Timestamp, until: Timestamp) -> u32 {
        self.free_during(target, from, until).map_or(0, |free| free.slots(slot))
    }

    /// Whether a target serves and nothing at all is on it throughout the interval.
    #[inline]
    pub fn whole_during(&self, target: TargetId, from: Timestamp, until: Timestamp) -> bool {
        let until = interval_end(from, until);
        let plan = self.plans.get(target.index()).filter(|p| self.serves(p, from, until));
        plan.is_some_and(|p| p.loads(from, until).all(|load| load.wholes == 0 && load.parts == 0))
    }

    /// The next start after `start` at which the answers about `duration` from there on may differ from those at
    /// `start`. Between two change points they do not differ.
    pub fn next_change(&self, target: TargetId, start: Timestamp, duration: Duration) -> Option<Timestamp> {
        let duration = duration.max(INSTANT);
        let plan = self.plans.get(target.index())?;
        let end = start + duration;
        // A step is left behind at its own time; it comes into view as soon as the interval ends after it.
        let left = plan.steps.get(plan.steps.partition_point(|s| s.at <= start)).map(|s| s.at);
        let seen = plan.steps.get(plan.steps.partition_point(|s| s.at < end)).map(|s| (s.at - duration) + INSTANT);
        let windows = plan.timeline.map_or(&[][..], |t| &self.timelines[t as usize]);
        let bounds = windows.iter().flat_map(|w| {
            let too_late = (w.until - self.margin - duration) + INSTANT;
            [w.from, too_late]
        });
        let bound = bounds.filter(|t| *t > start).min();
        [left, seen, bound].into_iter().flatten().filter(|t| !t.is_never()).min()
    }

    /// Whether a target may serve in the interval at all.
    #[inline]
    fn serves(&self, plan: &Plan, from: Timestamp, until: Timestamp) -> bool {
        let Some(timeline) = plan.timeline else { return plan.usable };
        let end = until + self.margin;
        let windows = &self.timelines[timeline as usize];
        windows.iter().any(|w| w.from <= from && end <= w.until && (plan.usable || w.from > self.now))
    }

    fn plan_mut(&mut self, target: TargetId) -> Result<&mut Plan, PlanError> {
        let bound = self.plans.len();
        self.plans.get_mut(target.index()).ok_or(PlanError::NoTarget { target, bound })
    }
}

/// The shortest time there is.
const INSTANT: Duration = Duration::from_micros(1);

/// The end of an interval that has at least one instant.
#[inline]
fn interval_end(from: Timestamp, until: Timestamp) -> Timestamp {
    until.max(from + INSTANT)
}

#[cfg(test)]
mod tests;
