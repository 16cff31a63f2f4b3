//! Targets in common: every queue that claims has all its members up, whoever else has them up too.
//!
//! The other way to run queues over one machine, kept to be compared with: nothing is owned, so nothing is donated, lent or
//! gathered, no start is refused for what others claim, and no switch casts its shadow ahead (no windows). Decides what is up
//! where; that two queues do not grant the same target is the task of whoever tells the schedulers of each other's grants.
//!
//! Invariant after [`Coordinator::reconcile`]: what a queue owns is its members if it claims, else nothing; free is what no
//! queue owns.

use super::state::Coordinator;
use super::types::{Holders, Order};
use crate::base::{QueueId, TargetSet, Timestamp};

impl Coordinator {
    /// From now on targets are in common. To be said before anything is up.
    pub fn set_common(&mut self) {
        self.common = true;
        self.update_desired();
    }

    /// Whether targets are in common.
    pub fn is_common(&self) -> bool {
        self.common
    }

    pub(super) fn desire_in_common(&mut self) {
        let here = self.desirable();
        for queue in self.queues.values_mut() {
            queue.desired = if queue.claim.is_some() { &queue.spec.members & &here } else { TargetSet::new() };
            queue.wanted = queue.desired.clone();
        }
    }

    pub(super) fn reconcile_in_common(&mut self, now: Timestamp, holders: &dyn Holders) -> Vec<Order> {
        self.run_due_plans(now);
        self.view_plans(now);
        self.changed = false;
        let mut free = self.inventory.clone();
        for id in self.queue_ids() {
            self.have_wanted(id);
            free -= &self.queue_mut(id).owned;
        }
        self.free = free;
        self.drop_removed_unless(|target| holders.is_held(target));
        self.watched = self.removing.clone();
        self.send();
        self.drop_tombstones();
        std::mem::take(&mut self.outbox)
    }

    /// What is wanted comes up, the rest goes down.
    fn have_wanted(&mut self, id: QueueId) {
        let queue = self.queue_mut(id);
        if queue.owned == queue.wanted {
            return;
        }
        let (lost, gained) = (&queue.owned - &queue.wanted, &queue.wanted - &queue.owned);
        queue.owned = queue.wanted.clone();
        queue.fresh_down |= &lost;
        queue.drop_downs(&gained);
        self.bump();
    }
}
