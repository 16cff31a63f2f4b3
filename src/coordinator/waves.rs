//! Waves: starts that take their targets a few at a time (`max-leaving`), so that the donors go on with the rest.
//!
//! A target that such a queue desires, and that another started and claiming queue owns, stays wanted by its owner until
//! a wave takes it. A wave is filled up whenever there is room, idle targets first, then those that should be free
//! soonest. What a stopped or released queue gives up does not wait: nobody could use it meanwhile.
//!
//! Invariant after each reconcile: of the targets that leave for a queue in waves, those taken by a wave are
//! `max-leaving` at most, or nothing waits; what waits is owned and wanted by one started queue.

use super::state::Coordinator;
use super::types::Holders;
use crate::base::{QueueId, TargetId, TargetSet, Timestamp};

impl Coordinator {
    /// Whether any claim is in waves.
    pub(super) fn takes_in_waves(&self) -> bool {
        self.queues.keys().any(|id| self.max_leaving(*id).is_some())
    }

    /// Leaves to their owners what claims in waves desire of them. The last word of
    /// [`update_desired`](Self::update_desired): what a wave took is leaving already, and stays taken.
    pub(super) fn leave_to_later_waves(&mut self) {
        if !self.takes_in_waves() {
            return;
        }
        for recipient in self.queue_ids() {
            for (donor, targets) in self.usable_until_taken(recipient) {
                self.queue_mut(recipient).wanted -= &targets;
                self.queue_mut(donor).wanted |= &targets;
            }
        }
    }

    /// What a queue in waves is wanted for, by the started and claiming member queues that own it.
    fn usable_until_taken(&self, recipient: QueueId) -> Vec<(QueueId, TargetSet)> {
        let Some(queue) = self.queues.get(&recipient).filter(|_| self.max_leaving(recipient).is_some()) else {
            return Vec::new();
        };
        let donors = self.queues.iter().filter(|(id, q)| **id != recipient && q.started && q.claim.is_some());
        donors
            .map(|(id, donor)| (*id, &(&queue.wanted & &donor.owned) & &donor.spec.members))
            .filter(|(_, targets)| !targets.is_empty())
            .collect()
    }

    /// The targets that a queue will have in a later wave, until which their owners use them.
    pub fn in_later_waves(&self, queue: QueueId) -> TargetSet {
        self.waiting(queue).into_iter().fold(TargetSet::new(), |all, (_, targets)| &all | &targets)
    }

    /// What a queue in waves desires and others still use, by owner.
    pub(super) fn waiting(&self, recipient: QueueId) -> Vec<(QueueId, TargetSet)> {
        let Some(queue) = self.queues.get(&recipient).filter(|_| self.max_leaving(recipient).is_some()) else {
            return Vec::new();
        };
        let lent: TargetSet = self.loans.keys().copied().collect();
        let late = &(&queue.desired - &queue.wanted) - &lent;
        let owners = self.queues.iter().filter(|(id, _)| **id != recipient);
        owners.map(|(id, q)| (*id, &late & &q.owned)).filter(|(_, targets)| !targets.is_empty()).collect()
    }

    /// Fills up the waves; true if a target is wanted elsewhere from now on.
    pub(super) fn next_waves(&mut self, now: Timestamp, holders: &dyn Holders) -> bool {
        if !self.takes_in_waves() {
            return false;
        }
        let mut taken = false;
        for recipient in self.queue_ids() {
            let Some(queue) = self.queues.get(&recipient) else { continue };
            let Some(most) = self.max_leaving(recipient) else { continue };
            // What is on its way fills the wave, whoever gave it up.
            let leaving = queue.wanted.intersection_len(&self.leaving);
            let room = (most.get() as usize).saturating_sub(leaving);
            let waiting = self.waiting(recipient);
            if room == 0 || waiting.is_empty() {
                continue;
            }
            let end = |t: TargetId| if holders.is_held(t) { holders.planned_end(t).max(now) } else { Timestamp::MIN };
            let mut first: Vec<(Timestamp, TargetId)> =
                waiting.iter().flat_map(|(_, targets)| targets.iter().map(|t| (end(t), t))).collect();
            first.sort_unstable();
            let wave: TargetSet = first.into_iter().take(room).map(|(_, t)| t).collect();
            for (donor, _) in &waiting {
                self.queue_mut(*donor).wanted -= &wave;
            }
            self.queue_mut(recipient).wanted |= &wave;
            self.bump();
            taken = true;
        }
        taken
    }
}
