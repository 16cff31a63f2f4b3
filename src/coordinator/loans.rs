//! Loans: a queue has a target that another desires, until an instant.
//!
//! Records them, ends them, voids them. Does not decide when a loan is worth while, and does not watch the lender's
//! jobs: whoever does calls [`Coordinator::end_loan`]. Invariant after each reconcile: the lender desires the target,
//! and the borrower claims and has it as a member.

use super::state::Coordinator;
use super::types::{GroupPhase, Loan, LoanEnd, LoanError, Order};
use crate::base::{QueueId, TargetId, TargetSet, Timestamp};
use std::collections::BTreeMap;

impl Coordinator {
    /// Lends a target from the queue that desires it to `borrower`, which claims and has it as a member, until
    /// `until`.
    ///
    /// # Errors
    /// Whatever makes the loan impossible; nothing changes then.
    pub fn lend(
        &mut self,
        now: Timestamp,
        target: TargetId,
        borrower: QueueId,
        until: Timestamp,
    ) -> Result<(), LoanError> {
        let lender = self.lender_of(now, target, borrower, until)?;
        self.enter_loan(now, target, Loan { lender, borrower, until });
        self.update_desired();
        Ok(())
    }

    /// Lends several targets to one queue, each until its own time: those of which [`lend`](Self::lend) would refuse none.
    /// Answers which.
    pub fn lend_all(&mut self, now: Timestamp, borrower: QueueId, loans: &BTreeMap<TargetId, Timestamp>) -> TargetSet {
        let possible = |(target, until): (&TargetId, &Timestamp)| {
            let lender = self.lender_of(now, *target, borrower, *until).ok()?;
            Some((*target, Loan { lender, borrower, until: *until }))
        };
        let made: Vec<(TargetId, Loan)> = loans.iter().filter_map(possible).collect();
        for (target, loan) in &made {
            self.enter_loan(now, *target, *loan);
        }
        if !made.is_empty() {
            self.update_desired();
        }
        made.into_iter().map(|(target, _)| target).collect()
    }

    /// Who would lend a target to `borrower`.
    fn lender_of(
        &self,
        now: Timestamp,
        target: TargetId,
        borrower: QueueId,
        until: Timestamp,
    ) -> Result<QueueId, LoanError> {
        if self.common {
            return Err(LoanError::NoLender(target));
        }
        if !self.inventory().contains(target) || self.removing().contains(target) {
            return Err(LoanError::UnknownTarget(target));
        }
        let queue = self.live(borrower).ok_or(LoanError::UnknownQueue(borrower))?;
        let lender = self.desired(target).ok_or(LoanError::NoLender(target))?;
        let name = |id: QueueId| self.queues.get(&id).map_or_else(String::new, |q| q.spec.name.clone());
        if lender == borrower {
            return Err(LoanError::OwnTarget { target, borrower: name(borrower) });
        }
        let gathers = |id| self.groups.values().any(|g| g.queue == id && g.phase == GroupPhase::Committed);
        if gathers(lender) {
            return Err(LoanError::LenderGathers { target, lender: name(lender) });
        }
        if queue.claim.is_none() || gathers(borrower) || !queue.spec.members.contains(target) {
            return Err(LoanError::NotBorrower { target, borrower: name(borrower) });
        }
        if until <= now {
            return Err(LoanError::Over { target, until, now });
        }
        if let Some(live) = self.loans.get(&target).filter(|loan| self.loan_void(target, loan).is_none()) {
            return Err(LoanError::Lent { target, borrower: name(live.borrower), until: live.until });
        }
        Ok(lender)
    }

    /// A loan in the place of one that is void.
    fn enter_loan(&mut self, now: Timestamp, target: TargetId, loan: Loan) {
        if let Some(void) = self.loans.remove(&target) {
            let why = self.loan_void(target, &void).unwrap_or(LoanEnd::LenderLost);
            self.report_loans(now, [(target, void, why)]);
        }
        self.loans.insert(target, loan);
    }

    /// Puts off the ends of loans that are not over. Answers of which it did.
    pub fn prolong(&mut self, now: Timestamp, ends: &BTreeMap<TargetId, Timestamp>) -> TargetSet {
        let mut prolonged = TargetSet::new();
        for (target, until) in ends {
            if let Some(loan) = self.loans.get_mut(target).filter(|l| l.until > now && l.until < *until) {
                loan.until = *until;
                prolonged.insert(*target);
            }
        }
        if !prolonged.is_empty() {
            self.update_desired();
        }
        prolonged
    }

    /// Ends a loan before its time. False if there is none.
    pub fn end_loan(&mut self, now: Timestamp, target: TargetId, why: LoanEnd) -> bool {
        self.end_loans(now, &TargetSet::single(target), why)
    }

    /// Ends the loans of targets before their time; whether there is any.
    pub fn end_loans(&mut self, now: Timestamp, targets: &TargetSet, why: LoanEnd) -> bool {
        let over: Vec<_> = targets.iter().filter_map(|t| self.loans.get(&t).map(|loan| (t, *loan, why))).collect();
        let any = !over.is_empty();
        self.drop_loans(now, over);
        any
    }

    /// Ends the loans whose time has come and those that are void.
    pub(super) fn end_due_loans(&mut self, now: Timestamp) {
        let end = |target: TargetId, loan: &Loan| {
            if loan.until <= now { Some(LoanEnd::Expired) } else { self.loan_void(target, loan) }
        };
        let over: Vec<_> = self.loans.iter().filter_map(|(t, l)| end(*t, l).map(|why| (*t, *l, why))).collect();
        self.drop_loans(now, over);
    }

    /// Voids the loans of a queue that gives up its claim.
    pub(super) fn void_loans_of(&mut self, now: Timestamp, queue: QueueId) {
        let end = |loan: &Loan| match queue {
            q if q == loan.lender => Some(LoanEnd::LenderLost),
            q if q == loan.borrower => Some(LoanEnd::BorrowerLost),
            _ => None,
        };
        let over: Vec<_> = self.loans.iter().filter_map(|(t, l)| end(l).map(|why| (*t, *l, why))).collect();
        self.drop_loans(now, over);
    }

    fn drop_loans(&mut self, now: Timestamp, over: Vec<(TargetId, Loan, LoanEnd)>) {
        if over.is_empty() {
            return;
        }
        for (target, ..) in &over {
            self.loans.remove(target);
        }
        self.report_loans(now, over);
        self.update_desired();
    }

    /// One report for the loans that are alike.
    fn report_loans(&mut self, now: Timestamp, over: impl IntoIterator<Item = (TargetId, Loan, LoanEnd)>) {
        let mut alike: BTreeMap<(QueueId, QueueId, LoanEnd), TargetSet> = BTreeMap::new();
        for (target, loan, why) in over {
            alike.entry((loan.lender, loan.borrower, why)).or_default().insert(target);
        }
        for ((lender, borrower, why), targets) in alike {
            self.outbox.push(Order::LoanEnded { targets, lender, borrower, why, at: now });
        }
    }
}
