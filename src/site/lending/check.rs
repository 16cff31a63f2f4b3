//! What must hold of loans after each step, from the records and the holdings alone.
//!
//! Decides nothing. A loan is a promise to its lender (I9): it has its target back by then, unless a job overruns.

use super::{Site, all};
use crate::base::Timestamp;
use crate::coordinator::Ownership;
use crate::site::job::Holding;
use crate::site::violation::{Invariant, Violation};

impl Site {
    /// Floors, caps, and that each loan is between two that may make it.
    pub(in crate::site) fn check_loans(&self, now: Timestamp) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut wrong = |text: String| found.push(Violation::new(Invariant::I9, text));
        if self.unsettled {
            return Vec::new();
        }
        for queue in &self.queues {
            let (lent, most) = (self.lent_now(queue.id), self.most_lent(queue));
            if lent > most {
                wrong(format!("queue {} has lent {lent} targets, of {most} that it may; it is {now}", queue.name));
            }
            let (has, cap) = (self.borrowed(queue.id).len(), queue.config.lending.borrow.cap);
            if cap.is_some_and(|cap| has > cap as usize) {
                wrong(format!("queue {} has borrowed {has} targets, above its cap; it is {now}", queue.name));
            }
        }
        for (target, loan) in self.coordinator.loans() {
            let (lender, borrower) = (&self.queue(loan.lender).name, &self.queue(loan.borrower).name);
            let loan_of = format!("the loan of target {target} from {lender} to {borrower}");
            if loan.until <= now {
                wrong(format!("{loan_of} was to end at {}; it is {now}", loan.until));
            }
            if self.coordinator.desired(target) != Some(loan.lender) {
                wrong(format!("{loan_of} is not of a target that its lender desires; it is {now}"));
            }
            if self.coordinator.ownership(target) == Some(Ownership::Owned(loan.lender)) {
                wrong(format!("{loan_of} is on record, and the lender has it; it is {now}"));
            }
            if self.lent.returning.contains(target) {
                wrong(format!("{loan_of} was made while the target was on its way home; it is {now}"));
            }
        }
        let live = self.on_loan();
        if all(&self.lent.made) != live {
            wrong(format!("loans of {live} are on record, made were {}; it is {now}", all(&self.lent.made)));
        }
        found
    }

    /// A job that starts on a borrowed target ends, by its limit, before the target goes home. Left out are loans during
    /// which a switch is planned: the target may be the borrower's own from then on.
    pub(in crate::site) fn check_start_on_loan(&self, now: Timestamp, holding: &Holding) -> Vec<Violation> {
        let over = |target| {
            let loan = self.coordinator.loan(target).filter(|loan| loan.borrower == holding.queue)?;
            if self.coordinator.plans().any(|(_, plan)| plan.at <= loan.until) {
                return None;
            }
            (now + holding.limit > loan.until).then(|| {
                let text =
                    format!("job {} starts on target {target}, lent until {}; it is {now}", holding.name, loan.until);
                Violation::new(Invariant::I9, text)
            })
        };
        holding.selection.targets().filter_map(over).collect()
    }
}
