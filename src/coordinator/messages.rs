//! What schedulers are told, and what they answer: ups, downs, epochs, acknowledgements, lost connections, recovery.
//!
//! One counter numbers all messages; each target remembers the number of the latest message about it, which is its
//! epoch. Invariants: a target stands among a queue's unacknowledged downs at most once, with the latest; `told_up`
//! of two queues are disjoint.

use super::state::Coordinator;
use super::types::{Cause, FoundError, Order, Ownership};
use crate::base::{Epoch, QueueId, TargetId, TargetSet, Timestamp};

impl Coordinator {
    /// A scheduler took targets down as it was told with `epoch`. Only targets whose latest down this was count; true
    /// if there were any, so that reconciling again may move something.
    pub fn acknowledge(&mut self, queue: QueueId, targets: &TargetSet, epoch: Epoch) -> bool {
        let Some(known) = self.queues.get_mut(&queue) else { return false };
        let Some(waiting) = known.awaiting.get_mut(&epoch) else { return false };
        let counted = &*waiting & targets;
        *waiting -= targets;
        if waiting.is_empty() {
            known.awaiting.remove(&epoch);
        }
        self.unasked |= &counted;
        !counted.is_empty()
    }

    /// The scheduler of a queue is gone: that acknowledges every down, and what it still sends is void, since the
    /// epochs of its targets move on. It is told nothing until [`connection_opened`](Self::connection_opened).
    pub fn connection_closed(&mut self, queue: QueueId) {
        let Some(known) = self.queues.get_mut(&queue) else { return };
        known.connected = false;
        known.add_unacknowledged(&mut self.unasked);
        known.awaiting.clear();
        known.fresh_down.clear();
        known.told_up.clear();
        let void = &known.owned | &known.leaving;
        self.stamp(&void);
    }

    /// A scheduler of the queue is there (again); the next reconcile tells it what is up. Queues are connected when
    /// they are added.
    pub fn connection_opened(&mut self, queue: QueueId) {
        if let Some(known) = self.queues.get_mut(&queue) {
            known.connected = true;
        }
    }

    /// R8: a running job of `queue` holds a target that the queue does not own. The target goes down in its owner and
    /// in the job's queue, and is leaving the latter. Nothing happens when the queue owns or gives the target.
    pub fn found(&mut self, now: Timestamp, target: TargetId, queue: QueueId) -> Result<(), FoundError> {
        if self.common {
            return Ok(());
        }
        let unknown = || FoundError::UnknownTarget { target, queue };
        let ownership = self.ownership(target).ok_or_else(unknown)?;
        if !self.queues.contains_key(&queue) {
            return Err(FoundError::UnknownQueue { target, queue });
        }
        let targets = TargetSet::single(target);
        match ownership {
            Ownership::Owned(owner) | Ownership::Leaving(owner) if owner == queue => return Ok(()),
            Ownership::Owned(owner) => {
                self.set_leaving(owner, &targets);
                self.give_way(owner, &targets);
            }
            Ownership::Leaving(donor) => {
                self.end_donation(&targets, None, now, true);
                self.give_way(donor, &targets);
            }
            Ownership::Free => {
                self.end_donation(&targets, None, now, true);
                self.free -= &targets;
            }
        }
        self.set_leaving(queue, &targets);
        self.begin_donation(queue, &targets, Cause::Found, now);
        self.expect_release(&targets, |_| now);
        Ok(())
    }

    /// What leaves a queue leaves another from now on; jobs of the former may still be there.
    fn give_way(&mut self, donor: QueueId, targets: &TargetSet) {
        let queue = self.queue_mut(donor);
        queue.leaving -= targets;
        queue.lingering |= targets;
    }

    /// After a crash, on the state that was on record: tells every scheduler again what is down and what is up, with
    /// new epochs. From now on nothing moves until [`end_recovery`](Self::end_recovery); report the running jobs
    /// before it, those on targets that their queue does not own with [`found`](Self::found).
    #[must_use = "the schedulers know nothing until they get these orders"]
    pub fn begin_recovery(&mut self) -> Vec<Order> {
        self.recovering = true;
        for queue in self.queues.values_mut() {
            let mut down = queue.leaving.clone();
            queue.add_unacknowledged(&mut down);
            queue.fresh_down = down;
            // What is offline goes down again too, though nothing waits for that.
            queue.told_up = &queue.owned - &self.online;
        }
        let reports = std::mem::take(&mut self.outbox);
        self.send();
        std::mem::replace(&mut self.outbox, reports)
    }

    /// All running jobs are reported: reconcile works again.
    pub fn end_recovery(&mut self) {
        self.recovering = false;
        self.changed = true;
        self.unasked = self.leaving.clone();
    }

    /// Puts the messages of a step around the reports that wait: downs before, ups after.
    pub(super) fn send(&mut self) {
        let mut orders = Vec::new();
        let mut ups = Vec::new();
        for id in self.queues.keys().copied().collect::<Vec<_>>() {
            let Some(queue) = self.queues.get(&id) else { continue };
            if !queue.connected {
                self.queue_mut(id).fresh_down.clear();
                continue;
            }
            let up = &queue.owned & &self.online;
            if queue.fresh_down.is_empty() && queue.told_up == up {
                continue;
            }
            let down = &queue.fresh_down | &(&queue.told_up - &up);
            let new = &up - &queue.told_up;
            if !down.is_empty() {
                let epoch = self.stamp(&down);
                self.queue_mut(id).expect_acknowledgement(epoch);
                orders.push(Order::Down { queue: id, targets: down, epoch });
            }
            self.queue_mut(id).told_up = up;
            if !new.is_empty() {
                ups.push((id, new));
            }
        }
        orders.append(&mut self.outbox);
        for (queue, targets) in ups {
            let epoch = self.stamp(&targets);
            orders.push(Order::Up { queue, targets, epoch });
        }
        self.outbox = orders;
    }

    /// Gives targets the next epoch.
    fn stamp(&mut self, targets: &TargetSet) -> Epoch {
        self.epoch = Epoch(self.epoch.0 + 1);
        if let Some(last) = targets.last().filter(|t| t.index() >= self.epochs.len()) {
            self.epochs.resize(last.index() + 1, Epoch(0));
        }
        for target in targets.iter() {
            self.epochs[target.index()] = self.epoch;
        }
        self.epoch
    }
}

impl super::state::Queue {
    /// The fresh downs go out with `epoch`: only its acknowledgement counts for them from now on.
    fn expect_acknowledgement(&mut self, epoch: Epoch) {
        let fresh = std::mem::take(&mut self.fresh_down);
        if fresh.is_empty() {
            return;
        }
        self.awaiting.retain(|_, waiting| {
            *waiting -= &fresh;
            !waiting.is_empty()
        });
        self.awaiting.insert(epoch, fresh);
    }
}
