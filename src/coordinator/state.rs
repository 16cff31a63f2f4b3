//! The state of the coordinator, and the few moves between its sets.
//!
//! Invariant: `free`, and `owned` and `leaving` of all queues, are a partition of `inventory` (I5). Only the three
//! functions at the end of this file and the inventory commands change these sets.

use super::donations::Batch;
use super::types::{Blocked, Group, Loan, Order, Plan, PlanId, QueueSpec, SwitchId, TakeStamp};
use super::undo::Done;
use crate::base::{Epoch, GroupId, QueueId, TargetId, TargetSet, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The owner of targets: see the module. All of it is on record before orders leave, so that a crash loses nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Coordinator {
    pub(super) inventory: TargetSet,
    /// In the inventory, but desired by nobody, and gone once free.
    pub(super) removing: TargetSet,
    /// Neither offline nor drained.
    pub(super) online: TargetSet,
    pub(super) free: TargetSet,
    /// The union of what is leaving, per queue.
    pub(super) leaving: TargetSet,
    /// `leaving` and the targets of gathering groups.
    pub(super) watched: TargetSet,
    /// Leaving targets of which something changed other than who holds them: to be asked for in the next step.
    pub(super) unasked: TargetSet,
    /// Live queues and tombstones.
    pub(super) queues: BTreeMap<QueueId, Queue>,
    pub(super) loans: BTreeMap<TargetId, Loan>,
    pub(super) groups: BTreeMap<GroupId, Group>,
    pub(super) plans: BTreeMap<PlanId, Plan>,
    pub(super) batches: Vec<Batch>,
    /// When leaving targets are expected to be released. May name targets that left this state since.
    pub(super) arrivals: BTreeMap<Timestamp, TargetSet>,
    /// The epoch of the latest message about each target, by number of the target.
    pub(super) epochs: Vec<Epoch>,
    pub(super) epoch: Epoch,
    pub(super) takes: u64,
    pub(super) next_group: u32,
    pub(super) next_plan: u32,
    /// The latest switches, with what there was before each.
    #[serde(default)]
    pub(super) done: BTreeMap<SwitchId, Done>,
    #[serde(default)]
    pub(super) next_switch: u32,
    pub(super) version: u64,
    /// Reports that wait for the next reconcile.
    pub(super) outbox: Vec<Order>,
    /// Claims, members or loans changed since the last reconcile.
    pub(super) changed: bool,
    pub(super) recovering: bool,
}

/// One queue or tombstone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Queue {
    pub(super) spec: QueueSpec,
    /// A tombstone: claims nothing, never again.
    pub(super) removed: bool,
    pub(super) started: bool,
    pub(super) claim: Option<Claim>,
    /// How many commands changed `started` or `claim`; tells an undo whether others came since.
    #[serde(default)]
    pub(super) commands: u64,
    pub(super) connected: bool,
    pub(super) owned: TargetSet,
    pub(super) leaving: TargetSet,
    /// Members for which this queue comes first. Follows from the claims; kept, because every step reads it.
    pub(super) desired: TargetSet,
    /// `desired`, less what is lent or waits for a later wave, and what is borrowed or left here until a later wave.
    pub(super) wanted: TargetSet,
    /// What its scheduler was told is up, or will be told at the end of this step.
    pub(super) told_up: TargetSet,
    /// What needs a down with a new epoch, to be acknowledged.
    pub(super) fresh_down: TargetSet,
    /// Downs not acknowledged yet. A target stands only with its latest.
    pub(super) awaiting: BTreeMap<Epoch, TargetSet>,
    /// Targets that left this queue for another on which a job was found (R8), while jobs of this one may hold them.
    pub(super) lingering: TargetSet,
    /// As last reported.
    pub(super) blocked: Option<Blocked>,
}

/// A queue's standing wish for its members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) take: Option<TakeStamp>,
    /// How many targets may leave other started queues for this one at a time; `None`: all.
    #[serde(default)]
    pub(super) max_leaving: Option<NonZeroU32>,
}

impl Queue {
    pub(super) fn new(spec: QueueSpec) -> Self {
        Queue {
            spec,
            removed: false,
            started: false,
            claim: None,
            commands: 0,
            connected: true,
            owned: TargetSet::new(),
            leaving: TargetSet::new(),
            desired: TargetSet::new(),
            wanted: TargetSet::new(),
            told_up: TargetSet::new(),
            fresh_down: TargetSet::new(),
            awaiting: BTreeMap::new(),
            lingering: TargetSet::new(),
            blocked: None,
        }
    }

    /// Adds to `set` what this queue may still believe to be up.
    pub(super) fn add_unacknowledged(&self, set: &mut TargetSet) {
        *set |= &self.fresh_down;
        for waiting in self.awaiting.values() {
            *set |= waiting;
        }
    }

    /// Whether a tombstone can go: it has nothing, and nothing waits for its answer.
    pub(super) fn is_spent(&self) -> bool {
        self.removed
            && self.owned.is_empty()
            && self.leaving.is_empty()
            && self.lingering.is_empty()
            && self.fresh_down.is_empty()
            && self.awaiting.is_empty()
    }
}

impl Coordinator {
    /// Without targets and queues.
    pub fn new() -> Self {
        Self::default()
    }

    /// A queue that is not a tombstone.
    pub(super) fn live(&self, queue: QueueId) -> Option<&Queue> {
        self.queues.get(&queue).filter(|q| !q.removed)
    }

    pub(super) fn live_mut(&mut self, queue: QueueId) -> Option<&mut Queue> {
        self.queues.get_mut(&queue).filter(|q| !q.removed)
    }

    /// A queue that is named in the state itself, so that it is there.
    pub(super) fn queue_mut(&mut self, queue: QueueId) -> &mut Queue {
        self.queues.get_mut(&queue).expect("I5: every owner is a queue or a tombstone")
    }

    /// Windows may differ from now on.
    pub(super) fn bump(&mut self) {
        self.version += 1;
    }

    /// Owned(d) → Leaving(d), with a fresh down.
    pub(super) fn set_leaving(&mut self, donor: QueueId, targets: &TargetSet) {
        self.leaving |= targets;
        self.unasked |= targets;
        let queue = self.queue_mut(donor);
        queue.owned -= targets;
        queue.leaving |= targets;
        queue.fresh_down |= targets;
        self.bump();
    }

    /// Leaving(d) → Free.
    pub(super) fn set_free(&mut self, donor: QueueId, targets: &TargetSet) {
        self.leaving -= targets;
        self.free |= targets;
        self.queue_mut(donor).leaving -= targets;
        self.forget_lingering(targets);
        self.outbox.push(Order::Moved { targets: targets.clone(), from: Some(donor), to: None });
        self.bump();
    }

    /// Free or Leaving(owner) → Owned(owner).
    pub(super) fn set_owned(&mut self, owner: QueueId, targets: &TargetSet) {
        let came_back = targets & &self.queue_mut(owner).leaving;
        let arrived = targets & &self.free;
        self.free -= targets;
        self.leaving -= targets;
        let queue = self.queue_mut(owner);
        queue.owned |= targets;
        queue.leaving -= targets;
        queue.fresh_down -= targets;
        queue.awaiting.retain(|_, waiting| {
            *waiting -= targets;
            !waiting.is_empty()
        });
        self.forget_lingering(targets);
        for (targets, from) in [(came_back, Some(owner)), (arrived, None)] {
            if !targets.is_empty() {
                self.outbox.push(Order::Moved { targets, from, to: Some(owner) });
            }
        }
        self.bump();
    }

    /// Nobody but their owner can hold these targets now.
    fn forget_lingering(&mut self, targets: &TargetSet) {
        for queue in self.queues.values_mut().filter(|q| !q.lingering.is_empty()) {
            queue.lingering -= targets;
        }
    }
}
