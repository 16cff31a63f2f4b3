//! Loans that end before their time.
//!
//! Decides before the queues run their passes, so that a job of the lender has a target before the borrower gives it to
//! the next of its own. A lender with work alone is no reason: a loan ends early only for a job that starts at once.

use super::Site;
use crate::base::{QueueId, TargetId, TargetSet, Timestamp};
use crate::coordinator::LoanEnd;
use crate::site::error::EventError;
use std::collections::BTreeMap;

impl Site {
    /// Ends the loans whose targets are wanted at home now, are not used, or are more than may be lent; whether there is
    /// any.
    pub(in crate::site) fn end_loans_early(&mut self, now: Timestamp) -> bool {
        self.look_at_loans(now);
        if self.coordinator.loans().next().is_none() {
            return false;
        }
        let mut any = self.take_back_unused(now);
        any |= self.keep_within_bounds(now);
        for index in 0..self.queues.len() {
            let wanted = self.wanted_back(now, index);
            any |= self.take_back(now, &wanted, LoanEnd::Ended);
        }
        self.unsettled |= any;
        any
    }

    /// The one place at which loans end before their time: new jobs of the borrower start there no more, and the targets
    /// go home once nobody holds them.
    fn take_back(&mut self, now: Timestamp, targets: &TargetSet, why: LoanEnd) -> bool {
        let any = self.coordinator.end_loans(now, targets, why);
        if any {
            self.look_at_loans(now);
        }
        any
    }

    /// Ends loans by hand.
    ///
    /// # Errors
    /// None of the targets is lent.
    pub(in crate::site) fn recall(&mut self, now: Timestamp, targets: &TargetSet) -> Result<(), EventError> {
        if self.coordinator.loans().all(|(target, _)| !targets.contains(target)) {
            return Err(EventError::NotLent(targets.clone()));
        }
        self.take_back(now, targets, LoanEnd::Recalled);
        self.unsettled = true;
        Ok(())
    }

    fn take_back_unused(&mut self, now: Timestamp) -> bool {
        let mut unused = TargetSet::new();
        for (target, loan) in self.coordinator.loans() {
            let Some(lend) = self.queue(loan.lender).lend() else { continue };
            let since = self.lent.idle.get(&loan.borrower).into_iter().flatten();
            let idle =
                since.filter(|(since, set)| **since < now && **since + lend.idle_for <= now && set.contains(target));
            if idle.count() > 0 {
                unused.insert(target);
            }
        }
        self.take_back(now, &unused, LoanEnd::Unused)
    }

    /// Floors and caps, after nodes went offline or the configuration changed: the youngest loans go first.
    fn keep_within_bounds(&mut self, now: Timestamp) -> bool {
        let mut beyond = TargetSet::new();
        let mut by_age: Vec<(Timestamp, TargetId, QueueId, QueueId)> = Vec::new();
        for (target, loan) in self.coordinator.loans() {
            if !self.borrowers_of(self.queue(loan.lender)).contains(&loan.borrower) && self.is_revoked(&loan) {
                beyond.insert(target);
            } else {
                let made = self.lent.made_at(target).unwrap_or(Timestamp::MIN);
                by_age.push((made, target, loan.lender, loan.borrower));
            }
        }
        by_age.sort_unstable();
        let mut lent: BTreeMap<QueueId, usize> = BTreeMap::new();
        let mut borrowed: BTreeMap<QueueId, usize> = BTreeMap::new();
        for (_, target, lender, borrower) in by_age {
            let answers = self.coordinator.online().contains(target);
            let (from, to) = (lent.entry(lender).or_default(), borrowed.entry(borrower).or_default());
            let cap = self.queue(borrower).config.lending.borrow.cap.map_or(usize::MAX, |cap| cap as usize);
            let floor = answers && *from >= self.most_lent(self.queue(lender));
            if floor || *to >= cap {
                beyond.insert(target);
            } else {
                (*from, *to) = (*from + usize::from(answers), *to + 1);
            }
        }
        self.take_back(now, &beyond, LoanEnd::Withdrawn)
    }

    /// Whether the configuration no longer has the two as lender and borrower, whoever of them is stopped.
    fn is_revoked(&self, loan: &crate::coordinator::Loan) -> bool {
        let (lender, borrower) = (self.queue(loan.lender), self.queue(loan.borrower));
        let lends = lender.lend().is_some_and(|lend| lend.to.iter().any(|name| **name == *borrower.name));
        let from = borrower.config.lending.borrow.from.as_ref();
        !(lends && from.is_none_or(|from| from.iter().any(|name| **name == *lender.name)))
    }

    /// What a lender has lent, nobody holds, and a job of it would start on now.
    fn wanted_back(&self, now: Timestamp, index: usize) -> TargetSet {
        let queue = &self.queues[index];
        let Some(scheduler) = queue.scheduler.as_ref().filter(|_| queue.started && queue.waiting > 0) else {
            return TargetSet::new();
        };
        let lent = &self.lent_by(queue.id) & self.coordinator.online();
        let mut back: TargetSet = lent.iter().filter(|t| !self.ledger.is_held(*t)).collect();
        if back.is_empty() || !self.could_start(queue.id, back.len()) {
            return TargetSet::new();
        }
        // What is used of all; then whether that is enough by itself.
        loop {
            let ended = back.clone();
            let supposed =
                self.suppose(now, queue, scheduler, &[], |copy| _ = copy.end_loans(now, &ended, LoanEnd::Ended));
            let offered: BTreeMap<TargetId, ()> = back.iter().map(|t| (t, ())).collect();
            let used: TargetSet = supposed.used(&offered).into_keys().collect();
            if used == back || used.is_empty() {
                return used;
            }
            back = used;
        }
    }
}
