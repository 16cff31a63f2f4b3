//! Loans that are made, and loans that are put off.
//!
//! Decides for each borrower, in the order of precedence, after every queue has run its pass: whatever could start
//! without a loan has started.

use super::Site;
use super::suppose::Supposed;
use super::terms::Terms;
use crate::base::{JobId, QueueId, TargetId, TargetSet, Timestamp};
use crate::scheduler::Scheduler;
use crate::site::event::Effect;
use crate::site::queue::Queue;
use std::collections::BTreeMap;

/// Targets that are to be lent, each until its instant.
type Offer = BTreeMap<TargetId, Timestamp>;

/// How often an offer is cut down to what is used of it before nothing is lent.
const MAX_CUTS: usize = 6;

impl Site {
    /// Makes the loans with which jobs start now; whether there is any.
    pub(in crate::site) fn give_loans(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> bool {
        if !self.queues.iter().any(|q| q.lend().is_some()) {
            return false;
        }
        self.look_at_loans(now);
        let mut any = false;
        for borrower in self.borrowers() {
            any |= self.prolong_loans(now, borrower, effects) || self.make_loans(now, borrower, effects);
        }
        self.unsettled |= any;
        any
    }

    /// Puts off the ends of loans with which jobs start on what is borrowed already.
    fn prolong_loans(&mut self, now: Timestamp, borrower: QueueId, effects: &mut Vec<Effect>) -> bool {
        let Some((queue, scheduler)) = self.asks(now, borrower) else { return false };
        let longer = self.longer_terms(now, queue);
        if longer.is_empty() || !self.could_start(borrower, 0) {
            return false;
        }
        let ask = |offer: &Offer| {
            let offer = offer.clone();
            self.suppose(now, queue, scheduler, &[], |copy| drop(copy.prolong(now, &offer)))
        };
        let offer = used_offer(&ask, ask(&longer).used(&longer));
        self.prolonged(now, offer, effects)
    }

    fn prolonged(&mut self, now: Timestamp, offer: Offer, effects: &mut Vec<Effect>) -> bool {
        let done = self.coordinator.prolong(now, &offer);
        self.tell_loans(&done, true, effects);
        !done.is_empty()
    }

    /// Lends to one queue what its jobs start with, as far as the terms allow.
    fn make_loans(&mut self, now: Timestamp, borrower: QueueId, effects: &mut Vec<Effect>) -> bool {
        let Some((queue, scheduler)) = self.asks(now, borrower) else { return false };
        let terms = self.new_terms(now, queue);
        if terms.until.is_empty() || !self.could_start(borrower, terms.until.len()) {
            return false;
        }
        let ask_without = |offer: &Offer, without: &[JobId]| {
            let offer = offer.clone();
            self.suppose(now, queue, scheduler, without, |copy| drop(copy.lend_all(now, borrower, &offer)))
        };
        let ask = |offer: &Offer| ask_without(offer, &[]);
        // A job that is too large for floors and cap would hide those behind it.
        let mut too_large = Vec::new();
        let mut offer = Offer::new();
        for _ in 0..MAX_CUTS {
            let before = too_large.len();
            offer = within(&terms, &ask_without(&terms.until, &too_large), &mut too_large);
            if too_large.len() == before {
                break;
            }
        }
        let offer = used_offer(&ask, offer);
        let offer = no_more_than_needed(&ask, offer);
        let made = self.coordinator.lend_all(now, borrower, &offer);
        self.lent.restart(&made);
        if !made.is_empty() {
            *self.lent.made.entry(now).or_default() |= &made;
        }
        self.tell_loans(&made, false, effects);
        !made.is_empty()
    }

    /// A queue that has waiting jobs and has started whatever it can by itself.
    fn asks(&self, now: Timestamp, borrower: QueueId) -> Option<(&Queue, &Scheduler)> {
        let queue = self.queue(borrower);
        let scheduler = queue.scheduler.as_ref().filter(|s| queue.waiting > 0 && !s.needs_pass(now))?;
        Some((queue, scheduler))
    }

    fn tell_loans(&self, targets: &TargetSet, prolonged: bool, effects: &mut Vec<Effect>) {
        let mut alike: BTreeMap<(QueueId, QueueId, Timestamp), TargetSet> = BTreeMap::new();
        for target in targets.iter() {
            if let Some(loan) = self.coordinator.loan(target) {
                alike.entry((loan.lender, loan.borrower, loan.until)).or_default().insert(target);
            }
        }
        for ((lender, borrower, until), targets) in alike {
            let (lender, borrower) = (self.queue(lender).name.clone(), self.queue(borrower).name.clone());
            effects.push(Effect::Lent { targets, lender, borrower, until, prolonged });
        }
    }
}

/// Of the jobs that would start with all that is offered, those for which floors and cap leave enough, in their order:
/// what they take. The others are added to those that are `too_large`.
fn within(terms: &Terms, all: &Supposed, too_large: &mut Vec<JobId>) -> Offer {
    let mut offer = Offer::new();
    let (mut in_all, mut of_lender) = (terms.in_all, terms.of_lender.clone());
    for (job, end, targets) in &all.starts {
        let offered: Vec<(TargetId, QueueId)> =
            targets.iter().filter_map(|t| terms.lender.get(&t).map(|lender| (t, *lender))).collect();
        let new: Vec<(TargetId, QueueId)> = offered.iter().copied().filter(|(t, _)| !offer.contains_key(t)).collect();
        let mut left = of_lender.clone();
        let enough = new.len() <= in_all
            && new.iter().all(|(_, lender)| left.get_mut(lender).filter(|n| **n > 0).map(|n| *n -= 1).is_some());
        if enough {
            (in_all, of_lender) = (in_all - new.len(), left);
            for (target, _) in offered {
                let until = offer.entry(target).or_insert(*end);
                *until = (*until).max(*end);
            }
        } else {
            too_large.push(*job);
        }
    }
    offer
}

/// An offer of which everything is used, and until just then; nothing if that cannot be found.
fn used_offer(ask: &dyn Fn(&Offer) -> Supposed, mut offer: Offer) -> Offer {
    for _ in 0..MAX_CUTS {
        if offer.is_empty() {
            return offer;
        }
        let used = ask(&offer).used(&offer);
        if used == offer {
            return offer;
        }
        offer = used;
    }
    Offer::new()
}

/// The least of an offer with which the same jobs start. More is offered than needed where a job takes lent targets
/// although its own queue has idle ones.
fn no_more_than_needed(ask: &dyn Fn(&Offer) -> Supposed, offer: Offer) -> Offer {
    if offer.is_empty() {
        return offer;
    }
    let whole = ask(&offer);
    let own = whole.idle.iter().filter(|t| !offer.contains_key(t)).count();
    let without = |n: usize| -> Offer { offer.iter().take(offer.len() - n).map(|(t, at)| (*t, *at)).collect() };
    // How many can be left out: so many, or one less at least.
    let (mut can, mut cannot) = (0, own.min(offer.len()) + 1);
    while cannot - can > 1 {
        let half = can + (cannot - can) / 2;
        if ask(&without(half)).same_starts(&whole) {
            can = half;
        } else {
            cannot = half;
        }
    }
    if can == 0 {
        return offer;
    }
    let least = without(can);
    let used = ask(&least).used(&least);
    used_offer(ask, used)
}
