//! The step: from who has what toward who should have it.
//!
//! Order within a step: planned switches that are due, ends of loans, groups, then R1 (leave), R4 (keep), R2
//! (release), R3 (arrive), the next waves. Nothing that a rule does lets an earlier one fire again, except a group that
//! is complete and a wave that begins: then the groups and rules are looked at once more.

use super::state::Coordinator;
use super::types::{Cause, Holders, Order};
use super::windows::LOOK_AHEAD;
use crate::base::{QueueId, TargetSet, Timestamp};
use std::collections::BTreeSet;

impl Coordinator {
    /// Moves targets as far as they may move at `now`, and says what schedulers are to be told and what happened:
    /// downs first, then reports, then ups. To be called after events, and again after schedulers acknowledged, until
    /// it returns nothing. Nothing moves during recovery.
    ///
    /// Cost: some bitmap operations per queue, plus a question to `holders` for each leaving target and each target
    /// of a gathering group. A release of a target outside [`watched_targets`](Self::watched_targets) needs no call.
    #[must_use = "the schedulers must be told"]
    pub fn reconcile(&mut self, now: Timestamp, holders: &dyn Holders) -> Vec<Order> {
        self.unasked |= &self.leaving;
        self.reconcile_released(now, &TargetSet::new(), holders)
    }

    /// [`reconcile`](Self::reconcile) where nothing changed in `holders` since the last call but that `released` are
    /// held by fewer: asks for those leaving targets alone, so that one release costs the same however many targets
    /// are on their way.
    #[must_use = "the schedulers must be told"]
    pub fn reconcile_released(&mut self, now: Timestamp, released: &TargetSet, holders: &dyn Holders) -> Vec<Order> {
        if self.recovering {
            return Vec::new();
        }
        self.unasked |= released;
        self.run_due_plans(now);
        self.view_plans(now);
        self.end_due_loans(now);
        let mut changed = false;
        loop {
            self.step_groups(now, holders);
            if std::mem::take(&mut self.changed) {
                changed = true;
                self.end_due_loans(now);
                self.leave(now, holders);
            }
            let held_back = self.held_back();
            self.keep(now, &held_back, holders);
            self.release(now, holders);
            let completed = self.complete_groups(holders);
            if completed {
                self.keep(now, &self.held_back(), holders);
            }
            self.arrive(now);
            let wave = self.next_waves(now, holders);
            if wave {
                self.leave(now, holders);
            }
            if !completed && !wave && !self.changed {
                break;
            }
        }
        self.drop_removed();
        self.renew_expectations(now, holders);
        self.update_watched();
        if changed {
            self.report_blocked();
        }
        self.send();
        self.drop_tombstones();
        std::mem::take(&mut self.outbox)
    }

    /// R1: what is owned and wanted elsewhere, or nowhere, leaves.
    fn leave(&mut self, now: Timestamp, holders: &dyn Holders) {
        for id in self.queue_ids() {
            let Some(queue) = self.queues.get(&id) else { continue };
            let leaving = &queue.owned - &queue.wanted;
            if leaving.is_empty() {
                continue;
            }
            let parts = self.split_by_cause(id, &leaving);
            self.set_leaving(id, &leaving);
            for (cause, part) in parts {
                self.begin_donation(id, &part, cause, now);
            }
            self.expect_release(&leaving, |t| if holders.is_held(t) { holders.planned_end(t) } else { now });
        }
    }

    fn split_by_cause(&self, donor: QueueId, targets: &TargetSet) -> Vec<(Cause, TargetSet)> {
        let Some(queue) = self.queues.get(&donor) else { return Vec::new() };
        let lent: TargetSet = self.loans.iter().filter(|(_, l)| l.lender == donor).map(|(t, _)| *t).collect();
        let all_if = |condition: bool| if condition { targets.clone() } else { TargetSet::new() };
        // The first cause that applies is the one that is told.
        let causes = [
            (Cause::TargetRemoved, self.removing.clone()),
            (Cause::QueueRemoved, all_if(queue.removed)),
            (Cause::Lent, &lent & &queue.desired),
            (Cause::Released, all_if(queue.claim.is_none())),
            (Cause::Membership, targets - &queue.spec.members),
            (Cause::Claimed, all_if(true)),
        ];
        let mut rest = targets.clone();
        let mut parts = Vec::new();
        for (cause, set) in causes {
            let part = &rest & &set;
            rest -= &part;
            if !part.is_empty() {
                parts.push((cause, part));
            }
        }
        parts
    }

    /// R4: what leaves a queue that is wanted for it again stays there, unless a job of another queue holds it.
    fn keep(&mut self, now: Timestamp, held_back: &[QueueId], holders: &dyn Holders) {
        for id in self.queue_ids() {
            let Some(queue) = self.queues.get(&id) else { continue };
            if held_back.contains(&id) || queue.leaving.is_disjoint(&queue.wanted) {
                continue;
            }
            let kept = self.keepable(id, &(&queue.leaving & &queue.wanted), holders);
            if !kept.is_empty() {
                self.set_owned(id, &kept);
                self.end_donation(&kept, Some(id), now, true);
            }
        }
    }

    /// Which of `targets`, all leaving `donor`, may stay with it. After R8 another scheduler may still have one up,
    /// until it acknowledged the down.
    pub(super) fn keepable(&self, donor: QueueId, targets: &TargetSet, holders: &dyn Holders) -> TargetSet {
        let mut others = TargetSet::new();
        for (_, queue) in self.queues.iter().filter(|(id, _)| **id != donor) {
            queue.add_unacknowledged(&mut others);
        }
        (targets - &others).iter().filter(|t| !holders.held_by_other(*t, donor)).collect()
    }

    /// R2: what nobody holds and everybody acknowledged is free. R5 needs nothing: who gets it is asked only then.
    fn release(&mut self, now: Timestamp, holders: &dyn Holders) {
        let mut asked = std::mem::take(&mut self.unasked);
        asked &= &self.leaving;
        if asked.is_empty() {
            return;
        }
        for queue in self.queues.values() {
            // What is not acknowledged is asked for when it is.
            let mut unacknowledged = TargetSet::new();
            queue.add_unacknowledged(&mut unacknowledged);
            asked -= &unacknowledged;
        }
        let released: TargetSet = asked.iter().filter(|t| !holders.is_held(*t)).collect();
        if released.is_empty() {
            return;
        }
        for id in self.queue_ids() {
            let Some(queue) = self.queues.get(&id) else { continue };
            let free = &queue.leaving & &released;
            if !free.is_empty() {
                self.set_free(id, &free);
            }
        }
        self.end_unwanted(now);
    }

    /// R3: what is free goes to who is wanted for it, unless that queue waits for the rest of its group.
    fn arrive(&mut self, now: Timestamp) {
        if self.free.is_empty() {
            return;
        }
        let held_back = self.held_back();
        for id in self.queue_ids() {
            let Some(queue) = self.queues.get(&id).filter(|_| !held_back.contains(&id)) else { continue };
            if self.free.is_disjoint(&queue.wanted) {
                continue;
            }
            let arriving = &self.free & &queue.wanted;
            self.set_owned(id, &arriving);
            self.end_donation(&arriving, Some(id), now, false);
        }
        self.end_unwanted(now);
    }

    /// Ends the donations of what is free and wanted by nobody.
    fn end_unwanted(&mut self, now: Timestamp) {
        if self.batches.is_empty() {
            return;
        }
        let mut unwanted = self.free.clone();
        for queue in self.queues.values() {
            unwanted -= &queue.wanted;
        }
        self.end_donation(&unwanted, None, now, false);
    }

    /// Targets that are removed leave the inventory from free.
    fn drop_removed(&mut self) {
        let targets = &self.removing & &self.free;
        if targets.is_empty() {
            return;
        }
        for set in [&mut self.inventory, &mut self.removing, &mut self.online, &mut self.free] {
            *set -= &targets;
        }
        self.outbox.push(Order::Removed { targets });
    }

    /// R7: a tombstone goes after its last release.
    fn drop_tombstones(&mut self) {
        let spent: BTreeSet<_> = self.queues.iter().filter(|(_, q)| q.is_spent()).map(|(id, _)| *id).collect();
        for queue in spent {
            self.queues.remove(&queue);
            self.outbox.push(Order::QueueGone { queue });
        }
    }

    fn report_blocked(&mut self) {
        let order = self.claim_order();
        for id in self.queue_ids() {
            let blocked = self.compute_blocked(id, &order);
            let queue = self.queue_mut(id);
            if queue.blocked == blocked {
                continue;
            }
            queue.blocked.clone_from(&blocked);
            self.outbox.push(match blocked {
                Some(blocked) => Order::QueueBlocked { queue: id, blocked },
                None => Order::QueueUnblocked { queue: id },
            });
        }
    }

    /// Planned switches come into view as time passes, and change windows then.
    fn view_plans(&mut self, now: Timestamp) {
        let mut seen = false;
        for plan in self.plans.values_mut().filter(|p| !p.in_view && p.at <= now + LOOK_AHEAD) {
            plan.in_view = true;
            seen = true;
        }
        if seen {
            self.bump();
        }
    }

    pub(super) fn queue_ids(&self) -> Vec<QueueId> {
        self.queues.keys().copied().collect()
    }
}
