//! The order of claims, and what follows from it: desired and wanted owners, conflicts, who is blocked.
//!
//! The order is: higher precedence, later take, name; ids last, so that a queue and another created under its name
//! never tie. Invariant: `desired` of all queues are disjoint, and so are `wanted`; neither names a tombstone or a
//! target that is being removed.

use super::state::{Coordinator, Queue};
use super::types::{Blocked, Conflict, Loan, LoanEnd, TakeStamp};
use crate::base::{QueueId, TargetId, TargetSet};
use std::cmp::Reverse;

/// Sorts claims: the smallest comes first.
pub(super) type Rank<'a> = (Reverse<i32>, Reverse<Option<TakeStamp>>, &'a str, QueueId);

/// The place of a claim among claims.
pub(super) fn rank(id: QueueId, queue: &Queue, take: Option<TakeStamp>) -> Rank<'_> {
    (Reverse(queue.spec.precedence), Reverse(take), queue.spec.name.as_str(), id)
}

impl Coordinator {
    /// Claiming queues, the first first.
    pub(super) fn claim_order(&self) -> Vec<QueueId> {
        let mut ranks: Vec<_> =
            self.queues.iter().filter_map(|(id, q)| q.claim.map(|claim| rank(*id, q, claim.take))).collect();
        ranks.sort_unstable();
        ranks.into_iter().map(|r| r.3).collect()
    }

    /// Computes desired and wanted anew. To be called at the end of whatever changes claims, members or loans.
    pub(super) fn update_desired(&mut self) {
        self.changed = true;
        self.bump();
        let mut rest = &self.inventory - &self.removing;
        for queue in self.queues.values_mut() {
            queue.desired.clear();
        }
        for id in self.claim_order() {
            let queue = self.queue_mut(id);
            queue.desired = &queue.spec.members & &rest;
            rest -= &queue.desired;
        }
        for queue in self.queues.values_mut() {
            queue.wanted = queue.desired.clone();
        }
        let live: Vec<_> = self.loans.iter().filter(|(t, loan)| self.loan_void(**t, loan).is_none()).collect();
        let live: Vec<(TargetId, Loan)> = live.into_iter().map(|(t, loan)| (*t, *loan)).collect();
        for (target, loan) in live {
            self.queue_mut(loan.lender).wanted.remove(target);
            self.queue_mut(loan.borrower).wanted.insert(target);
        }
        self.leave_to_later_waves();
    }

    /// Why a loan is void; `None` while it is good.
    pub(super) fn loan_void(&self, target: TargetId, loan: &Loan) -> Option<LoanEnd> {
        let lends = self.queues.get(&loan.lender).is_some_and(|q| q.desired.contains(target));
        let borrows =
            self.queues.get(&loan.borrower).is_some_and(|q| q.claim.is_some() && q.spec.members.contains(target));
        match (lends, borrows) {
            (false, _) => Some(LoanEnd::LenderLost),
            (true, false) => Some(LoanEnd::BorrowerLost),
            (true, true) => None,
        }
    }

    /// Claiming queues of the same precedence that share targets of the inventory with `queue`.
    pub(super) fn conflicts(&self, id: QueueId, queue: &Queue) -> Vec<Conflict> {
        let mine = &(&queue.spec.members & &self.inventory) - &self.removing;
        let others = self
            .queues
            .iter()
            .filter(|(other, q)| **other != id && q.claim.is_some() && q.spec.precedence == queue.spec.precedence);
        others
            .map(|(other, q)| Conflict { queue: *other, name: q.spec.name.clone(), targets: &mine & &q.spec.members })
            .filter(|conflict| !conflict.targets.is_empty())
            .collect()
    }

    /// The members of a claiming queue for which others come first, and their names.
    pub(super) fn compute_blocked(&self, id: QueueId, order: &[QueueId]) -> Option<Blocked> {
        let queue = self.queues.get(&id)?;
        queue.claim?;
        let lost = &(&(&queue.spec.members & &self.inventory) - &self.removing) - &queue.desired;
        let winner = |other: &QueueId| self.queues.get(other).filter(|q| !q.desired.is_disjoint(&lost));
        let by: Vec<String> = order.iter().filter_map(winner).map(|q| q.spec.name.clone()).collect();
        (!lost.is_empty()).then_some(Blocked { by, targets: lost })
    }

    /// The targets that may be desired.
    pub(super) fn desirable(&self) -> TargetSet {
        &self.inventory - &self.removing
    }
}
