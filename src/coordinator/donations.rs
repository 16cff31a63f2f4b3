//! What is on its way from one queue to another: for reports, and for the times at which it should arrive.
//!
//! Invariant: every leaving target, and every free one that waits for a group, stands in exactly one batch.

use super::state::Coordinator;
use super::types::{Cause, Donation, Holders, Order};
use crate::base::{QueueId, TargetId, TargetSet, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Targets that began to leave one queue at one instant for one cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    donor: QueueId,
    since: Timestamp,
    cause: Cause,
    total: usize,
    left: TargetSet,
}

impl Coordinator {
    /// The donations that go on, the oldest first, each split by who gets the targets as things stand.
    pub fn donations(&self) -> impl Iterator<Item = Donation> + '_ {
        self.batches.iter().flat_map(|batch| {
            self.by_recipient(&batch.left).into_iter().map(|(recipient, targets)| Donation {
                targets,
                donor: batch.donor,
                recipient,
                since: batch.since,
                cause: batch.cause,
                total: batch.total,
            })
        })
    }

    /// Splits targets by who is wanted for them; nobody first.
    fn by_recipient(&self, targets: &TargetSet) -> BTreeMap<Option<QueueId>, TargetSet> {
        let mut rest = targets.clone();
        let mut split = BTreeMap::new();
        for (id, queue) in &self.queues {
            if !queue.wanted.is_disjoint(&rest) {
                let part = &rest & &queue.wanted;
                rest -= &part;
                split.insert(Some(*id), part);
            }
        }
        if !rest.is_empty() {
            split.insert(None, rest);
        }
        split
    }

    /// Notes that targets are on their way from `donor`.
    pub(super) fn begin_donation(&mut self, donor: QueueId, targets: &TargetSet, cause: Cause, now: Timestamp) {
        for (recipient, targets) in self.by_recipient(targets) {
            self.outbox.push(Order::DonationStarted { targets, donor, recipient, cause, at: now });
        }
        let same = |b: &&mut Batch| b.donor == donor && b.since == now && b.cause == cause;
        match self.batches.iter_mut().find(same) {
            Some(batch) => {
                batch.total += targets.len();
                batch.left |= targets;
            }
            None => {
                let (total, left) = (targets.len(), targets.clone());
                self.batches.push(Batch { donor, since: now, cause, total, left });
            }
        }
    }

    /// Notes that targets are on their way no more.
    pub(super) fn end_donation(
        &mut self,
        targets: &TargetSet,
        recipient: Option<QueueId>,
        now: Timestamp,
        cancelled: bool,
    ) {
        for batch in &mut self.batches {
            if batch.left.is_disjoint(targets) {
                continue;
            }
            let targets = &batch.left & targets;
            batch.left -= &targets;
            self.outbox.push(Order::DonationEnded {
                targets,
                donor: batch.donor,
                recipient,
                started: batch.since,
                ended: now,
                cancelled: cancelled || recipient == Some(batch.donor),
            });
        }
        self.batches.retain(|batch| !batch.left.is_empty());
    }

    /// Notes when targets that leave should be released.
    pub(super) fn expect_release(&mut self, targets: &TargetSet, end: impl Fn(TargetId) -> Timestamp) {
        self.arrivals.retain(|_, waiting| {
            *waiting -= targets;
            !waiting.is_empty()
        });
        for target in targets.iter() {
            self.arrivals.entry(end(target)).or_default().insert(target);
        }
    }

    /// Asks again for the ends of what should have been released by now and was not.
    pub(super) fn renew_expectations(&mut self, now: Timestamp, holders: &dyn Holders) {
        let mut late = TargetSet::new();
        while let Some(entry) = self.arrivals.first_entry().filter(|e| *e.key() <= now) {
            late |= &entry.remove();
        }
        late &= &self.leaving;
        let mut later = false;
        for target in late.iter() {
            let end = holders.planned_end(target).max(now);
            later |= end > now;
            self.arrivals.entry(end).or_default().insert(target);
        }
        if later {
            self.bump();
        }
    }
}
