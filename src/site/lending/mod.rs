//! Lending at work: idle targets of one queue serve the pending jobs of another for a while.
//!
//! Decides when a loan is made, prolonged and ended before its time; the coordinator moves the targets. Nothing is
//! decided by rules of thumb about jobs: copies of the schedulers are asked (`suppose`) what they would start if the
//! loan were made, or ended.
//!
//! - A loan is made for jobs that start with it, now, and of no more targets than they take; each ends with the last of
//!   its jobs, by their limits, and no later than the lender's longest loan and its earliest plan for the target.
//! - It is prolonged under the same conditions, from the instant at which it was made.
//! - It ends early when a job of the lender would start on the target now, when the target is not used, when floor or
//!   cap are overdrawn (a node went offline, the configuration changed), or by hand.
//! - A target that was lent stays at home for `min-home`, and must have been idle there for `idle-for`: no target
//!   changes hands twice within either.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | the state: who has been idle since when, who rests; when to look again |
//! | `terms` | who may lend what to whom, and until when |
//! | `suppose` | what a queue would start, asked of copies |
//! | `give` | loans that are made and prolonged |
//! | `back` | loans that end early |
//! | `check` | what must hold of loans, in each step |

mod back;
mod check;
mod give;
mod suppose;
mod terms;

use super::queue::Queue;
use super::state::Site;
use crate::base::{Duration, QueueId, TargetSet, Timestamp};
use crate::config::Lend;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Targets by an instant of theirs.
type ByTime = BTreeMap<Timestamp, TargetSet>;

/// What hysteresis needs to know.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Lent {
    /// Since when targets are idle, by who owns them: those of lenders, and those that are lent.
    idle: BTreeMap<QueueId, ByTime>,
    /// When the loans on record were made.
    made: ByTime,
    /// Targets whose loan is over and that are not home yet.
    returning: TargetSet,
    /// Targets that have come home, by when they did.
    home: ByTime,
}

impl Lent {
    /// When the loan of a target was made.
    pub fn made_at(&self, target: crate::base::TargetId) -> Option<Timestamp> {
        self.made.iter().find(|(_, targets)| targets.contains(target)).map(|(at, _)| *at)
    }

    /// The targets that have been idle in a queue's hands for so long.
    fn idle_for(&self, queue: QueueId, now: Timestamp, time: Duration) -> TargetSet {
        let since = self.idle.get(&queue).into_iter().flatten();
        since.filter(|(at, _)| **at + time <= now).fold(TargetSet::new(), |all, (_, targets)| &all | targets)
    }

    /// Targets that are on their way home, or came there less than `min_home` ago.
    fn at_rest(&self, now: Timestamp, min_home: Duration) -> TargetSet {
        let resting = self.home.iter().filter(|(at, _)| **at + min_home > now);
        resting.fold(self.returning.clone(), |all, (_, targets)| &all | targets)
    }

    /// Takes targets out of what is idle: it counts anew.
    fn restart(&mut self, targets: &TargetSet) {
        self.idle.values_mut().for_each(|since| remove(since, targets));
    }
}

/// Takes targets out, wherever they stand.
fn remove(times: &mut ByTime, targets: &TargetSet) {
    times.retain(|_, set| {
        *set -= targets;
        !set.is_empty()
    });
}

fn all(times: &ByTime) -> TargetSet {
    times.values().fold(TargetSet::new(), |all, targets| &all | targets)
}

impl Site {
    /// Whether any queue lends, or anything is lent.
    fn lends(&self) -> bool {
        self.coordinator.loans().next().is_some() || self.queues.iter().any(|q| q.lend().is_some())
    }

    /// Takes note of who is idle, whose loan is over and who has come home. To be called whenever loans are looked at,
    /// and at the end of a step.
    pub(super) fn look_at_loans(&mut self, now: Timestamp) {
        if !self.lends() && self.lent == Lent::default() {
            return;
        }
        let live = self.on_loan();
        let over = &all(&self.lent.made) - &live;
        remove(&mut self.lent.made, &over);
        self.lent.restart(&over);
        self.lent.returning |= &over;
        if let Some(longest) = self.queues.iter().filter_map(|q| q.lend().map(|lend| lend.min_home)).max() {
            self.lent.home.retain(|at, _| *at + longest > now);
        }
        for index in 0..self.queues.len() {
            let queue = &self.queues[index];
            let (id, owned) = (queue.id, self.coordinator.owned(queue.id));
            let home = &self.lent.returning & owned;
            if !home.is_empty() {
                self.lent.returning -= &home;
                *self.lent.home.entry(now).or_default() |= &home;
            }
            let watched = match queue.lend() {
                Some(_) => owned.clone(),
                None => owned & &live,
            };
            let idle = match &queue.scheduler {
                Some(scheduler) if !watched.is_empty() => &scheduler.idle().to_set() & &watched,
                Some(_) | None => TargetSet::new(),
            };
            let since = self.lent.idle.entry(id).or_default();
            let known = all(since);
            remove(since, &(&known - &idle));
            let new = &idle - &known;
            if !new.is_empty() {
                *since.entry(now).or_default() |= &new;
            }
        }
        self.lent.idle.retain(|_, since| !since.is_empty());
        // Who left the inventory comes home to nobody.
        self.lent.returning = &self.lent.returning & self.coordinator.inventory();
    }

    /// When time alone lets a loan be made or ended; never, if it does not.
    pub(super) fn loans_wakeup(&self, now: Timestamp) -> Timestamp {
        let mut next = Timestamp::NEVER;
        for lender in self.queues.iter().filter(|q| q.started) {
            let Some(lend) = lender.lend() else { continue };
            let asked = |borrower: &QueueId| self.queue(*borrower).waiting > 0;
            if self.borrowers_of(lender).iter().any(asked) {
                let ripe =
                    self.lent.idle.get(&lender.id).into_iter().flatten().map(|(since, _)| *since + lend.idle_for);
                let rested = self.lent.home.keys().map(|at| *at + lend.min_home);
                next = ripe.chain(rested).filter(|at| *at > now).min().unwrap_or(next).min(next);
            }
        }
        for (target, loan) in self.coordinator.loans() {
            let Some(lend) = self.queue(loan.lender).lend() else { continue };
            let since = self.lent.idle.get(&loan.borrower).into_iter().flatten();
            let unused = since.filter(|(_, set)| set.contains(target)).map(|(since, _)| *since + lend.idle_for);
            next = unused.filter(|at| *at > now).min().unwrap_or(next).min(next);
        }
        next
    }
}

impl Queue {
    /// How it lends, if it does.
    pub(super) fn lend(&self) -> Option<&Lend> {
        self.config.lending.lend.as_ref().filter(|_| self.is_live() && self.parent.is_none())
    }
}
