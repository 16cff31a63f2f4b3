//! The terms of loans: who may lend what to whom, how much of it, and until when.
//!
//! Decides nothing about jobs but what is planned for them already: until a job of the lender is planned to use a
//! target, and no longer, others may.

use super::{ByTime, Site};
use crate::base::{QueueId, TargetId, TargetSet, Timestamp};
use crate::coordinator::Loan;
use crate::site::queue::Queue;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one queue may borrow: until when each target, and how many.
pub(super) struct Terms {
    /// Until when each target may be lent, at the latest.
    pub until: BTreeMap<TargetId, Timestamp>,
    /// Who lends them.
    pub lender: BTreeMap<TargetId, QueueId>,
    /// How many more of each lender.
    pub of_lender: BTreeMap<QueueId, usize>,
    /// How many more in all.
    pub in_all: usize,
}

impl Site {
    /// The queues that may borrow of a lender, as they come in the order of claims: a standby queue comes last.
    pub(super) fn borrowers_of(&self, lender: &Queue) -> Vec<QueueId> {
        let Some(lend) = lender.lend() else { return Vec::new() };
        let mut borrowers: Vec<&Queue> = lend
            .to
            .iter()
            .filter_map(|name| self.names.get(name.as_str()))
            .map(|id| self.queue(*id))
            .filter(|q| q.id != lender.id && q.parent.is_none() && q.started)
            .filter(|q| {
                q.config.lending.borrow.from.as_ref().is_none_or(|from| from.iter().any(|n| **n == *lender.name))
            })
            .collect();
        borrowers.sort_by_key(|q| place(q));
        borrowers.into_iter().map(|q| q.id).collect()
    }

    /// The queues that could borrow something now, the first first.
    pub(super) fn borrowers(&self) -> Vec<QueueId> {
        let mut all: Vec<QueueId> =
            self.queues.iter().filter(|q| q.started).flat_map(|q| self.borrowers_of(q)).collect();
        all.sort_by_key(|id| place(self.queue(*id)));
        all.dedup();
        all
    }

    /// The lenders of a queue, in the order in which they are asked.
    fn lenders_of(&self, borrower: &Queue) -> Vec<&Queue> {
        let lends = |q: &&Queue| q.started && self.borrowers_of(q).contains(&borrower.id);
        let mut lenders: Vec<&Queue> = self.queues.iter().filter(lends).collect();
        let from = borrower.config.lending.borrow.from.as_deref().unwrap_or_default();
        let asked = |q: &Queue| from.iter().position(|name| **name == *q.name);
        lenders.sort_by_key(|q| (asked(q), q.name.clone()));
        lenders
    }

    /// What a queue has borrowed.
    pub(super) fn borrowed(&self, borrower: QueueId) -> TargetSet {
        self.loans_if(|loan| loan.borrower == borrower)
    }

    /// What a queue has lent.
    pub(super) fn lent_by(&self, lender: QueueId) -> TargetSet {
        self.loans_if(|loan| loan.lender == lender)
    }

    /// What is on loan.
    pub(super) fn on_loan(&self) -> TargetSet {
        self.loans_if(|_| true)
    }

    fn loans_if(&self, of: impl Fn(&Loan) -> bool) -> TargetSet {
        self.coordinator.loans().filter(|(_, loan)| of(loan)).map(|(target, _)| target).collect()
    }

    /// How many targets that answer a lender may have lent at once.
    pub(super) fn most_lent(&self, lender: &Queue) -> usize {
        let floor = lender.lend().map_or(0, |lend| lend.floor as usize);
        let answer = self.coordinator.desired_by(lender.id).intersection_len(self.coordinator.online());
        answer.saturating_sub(floor)
    }

    /// How many targets that answer a lender has lent.
    pub(super) fn lent_now(&self, lender: QueueId) -> usize {
        self.lent_by(lender).intersection_len(self.coordinator.online())
    }

    /// What may be lent to a queue, by all its lenders.
    pub(super) fn new_terms(&self, now: Timestamp, borrower: &Queue) -> Terms {
        let cap = borrower.config.lending.borrow.cap.map_or(usize::MAX, |cap| cap as usize);
        let in_all = cap.saturating_sub(self.borrowed(borrower.id).len());
        let none = BTreeMap::new();
        let mut terms = Terms { until: none, lender: BTreeMap::new(), of_lender: BTreeMap::new(), in_all };
        if in_all == 0 {
            return terms;
        }
        let lent = self.on_loan();
        for lender in self.lenders_of(borrower) {
            let Some(lend) = lender.lend() else { continue };
            let busy = lender.scheduler.as_ref().is_none_or(|s| s.needs_pass(now));
            let owed: usize = self.borrowers_of(lender).iter().map(|q| self.owed(*q, borrower.id)).sum();
            let room = self.most_lent(lender).saturating_sub(self.lent_now(lender.id)).saturating_sub(owed);
            if busy || room == 0 {
                continue;
            }
            let home = self.coordinator.owned(lender.id) & &self.coordinator.desired_by(lender.id);
            let idle = &self.lent.idle_for(lender.id, now, lend.idle_for) & &home;
            let rest = self.lent.at_rest(now, lend.min_home);
            let idle = &(&(&idle & &borrower.members) - &lent) - &rest;
            let latest = now + lend.max_duration;
            for (until, targets) in self.until_planned(now, lender, idle, latest) {
                for target in targets.iter() {
                    // Who is asked first lends what two could.
                    terms.until.entry(target).or_insert(until);
                    terms.lender.entry(target).or_insert(lender.id);
                }
            }
            terms.of_lender.insert(lender.id, room);
        }
        terms
    }

    /// How many targets a lender keeps for another borrower than the one that asks.
    fn owed(&self, other: QueueId, asking: QueueId) -> usize {
        if other == asking {
            return 0;
        }
        (self.queue(other).config.lending.borrow.floor as usize).saturating_sub(self.borrowed(other).len())
    }

    /// Until when the loans of a queue's idle borrowed targets may be put off.
    pub(super) fn longer_terms(&self, now: Timestamp, borrower: &Queue) -> BTreeMap<TargetId, Timestamp> {
        let idle = self.lent.idle_for(borrower.id, now, crate::base::Duration::ZERO);
        let mut longer = BTreeMap::new();
        for lender in self.lenders_of(borrower) {
            let Some(lend) = lender.lend() else { continue };
            if lender.scheduler.as_ref().is_none_or(|s| s.needs_pass(now)) {
                continue;
            }
            let lent = &self.loans_if(|l| l.lender == lender.id && l.borrower == borrower.id) & &idle;
            for (until, targets) in self.until_planned(now, lender, lent, Timestamp::NEVER) {
                for target in targets.iter() {
                    let made = self.lent.made_at(target).unwrap_or(now);
                    let (until, before) = (until.min(made + lend.max_duration), self.coordinator.loan(target));
                    if before.is_some_and(|loan| loan.until < until) {
                        longer.insert(target, until);
                    }
                }
            }
        }
        longer
    }

    /// Divides targets of a lender by when its first plan for them begins, `latest` where there is none before that.
    fn until_planned(&self, now: Timestamp, lender: &Queue, targets: TargetSet, latest: Timestamp) -> ByTime {
        let mut divided = ByTime::new();
        let Some(scheduler) = &lender.scheduler else { return divided };
        let mut rest = targets;
        if rest.is_empty() {
            return divided;
        }
        for (at, serving) in scheduler.first_plans(now) {
            let part = &rest & &serving;
            rest -= &part;
            if at > now && !part.is_empty() {
                *divided.entry(at.min(latest)).or_default() |= &part;
            }
        }
        if !rest.is_empty() {
            divided.entry(latest).or_default().extend(rest.iter());
        }
        divided
    }
}

/// A queue's place among borrowers.
fn place(queue: &Queue) -> (Reverse<i32>, Arc<str>) {
    (Reverse(queue.config.policy.scheduler.precedence), queue.name.clone())
}
