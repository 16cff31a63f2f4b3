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
    pub fn lend(
        &mut self,
        now: Timestamp,
        target: TargetId,
        borrower: QueueId,
        until: Timestamp,
    ) -> Result<(), LoanError> {
        if self.common {
            return Err(LoanError::NoLender(target));
        }
        if !self.desirable().contains(target) {
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
        if let Some(void) = self.loans.remove(&target) {
            let why = self.loan_void(target, &void).unwrap_or(LoanEnd::LenderLost);
            self.report_loans(now, [(target, void, why)]);
        }
        self.loans.insert(target, Loan { lender, borrower, until });
        self.update_desired();
        Ok(())
    }

    /// Ends a loan before its time, because a job of the lender would start on the target now. False if there is none.
    pub fn end_loan(&mut self, now: Timestamp, target: TargetId) -> bool {
        let Some(loan) = self.loans.remove(&target) else { return false };
        self.report_loans(now, [(target, loan, LoanEnd::Ended)]);
        self.update_desired();
        true
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
