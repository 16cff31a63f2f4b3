//! What a queue would start if loans were made, prolonged or ended: asked of copies, which are then thrown away.
//!
//! Decides nothing. The copy of the coordinator settles as the site does, so that windows and ups are those that the
//! copy of the scheduler would really be told.

use super::Site;
use crate::base::{Duration, JobId, QueueId, TargetId, TargetSet, Timestamp};
use crate::coordinator::{Coordinator, Order};
use crate::scheduler::{Input, Output, Scheduler};
use crate::site::queue::Queue;
use crate::site::step::Held;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What came of it.
pub(super) struct Supposed {
    /// The jobs that start, with the instant by which each ends and its margin is over, and its targets, in the order in
    /// which they start.
    pub starts: Vec<(JobId, Timestamp, TargetSet)>,
    /// What is idle then.
    pub idle: TargetSet,
}

impl Supposed {
    /// Until when each of `offered` is used by the jobs that start.
    pub fn used<V>(&self, offered: &BTreeMap<TargetId, V>) -> BTreeMap<TargetId, Timestamp> {
        let mut used: BTreeMap<TargetId, Timestamp> = BTreeMap::new();
        for (_, end, targets) in &self.starts {
            for target in targets.iter().filter(|t| offered.contains_key(t)) {
                let until = used.entry(target).or_insert(*end);
                *until = (*until).max(*end);
            }
        }
        used
    }

    /// Whether the same jobs start in both.
    pub fn same_starts(&self, other: &Supposed) -> bool {
        self.starts.len() == other.starts.len()
            && self.starts.iter().all(|(job, ..)| other.starts.iter().any(|(id, ..)| id == job))
    }
}

impl Site {
    /// What a queue starts after `change`, beyond what it starts anyway, if the jobs of `without` were not there.
    pub(super) fn suppose(
        &self,
        now: Timestamp,
        queue: &Queue,
        scheduler: &Scheduler,
        without: &[JobId],
        change: impl FnOnce(&mut Coordinator),
    ) -> Supposed {
        let mut copy = scheduler.clone();
        let mut answers = Vec::new();
        for job in without {
            copy.handle(now, Input::Cancel(*job), &mut answers);
        }
        if copy.needs_pass(now) {
            // What starts anyway has its targets first.
            drop(self.pass_of_copy(queue, &mut copy, now));
        }
        let coordinator = self.settled(now, change);
        let up = &coordinator.up(queue.id) - &self.coordinator.up(queue.id);
        let windows = Arc::new(self.cut_by_drains(queue, coordinator.windows(now, queue.id)));
        copy.handle(now, Input::Up { targets: up, epoch: queue.epoch }, &mut answers);
        copy.handle(now, Input::Windows(windows), &mut answers);
        let margin = queue.config.policy.scheduler.release_margin;
        let start = |answer: Output| match answer {
            Output::Alloc { job, selection, .. } => {
                let limit = self.jobs.slot(job).map(|slot| self.jobs.job(slot).limit)?;
                let end = now + limit.max(Duration::from_micros(1)) + margin;
                Some((job, end, selection.target_set()))
            }
            _ => None,
        };
        let starts = self.pass_of_copy(queue, &mut copy, now).into_iter().filter_map(start).collect();
        Supposed { starts, idle: copy.idle().to_set() }
    }

    /// A copy of the coordinator after a change, settled.
    fn settled(&self, now: Timestamp, change: impl FnOnce(&mut Coordinator)) -> Coordinator {
        let mut copy = self.coordinator.clone();
        change(&mut copy);
        let holders = Held { ledger: &self.ledger, jobs: &self.jobs, queues: &self.queues, now };
        loop {
            let orders = copy.reconcile(now, &holders);
            if orders.is_empty() {
                return copy;
            }
            for order in orders {
                if let Order::Down { queue, targets, epoch } = order {
                    copy.acknowledge(queue, &targets, epoch);
                }
            }
        }
    }

    /// Whether a queue could start anything with so many more targets: whether its smallest job fits into what is idle.
    pub(super) fn could_start(&self, queue: QueueId, more: usize) -> bool {
        let scheduler = self.queue(queue).scheduler.as_ref();
        scheduler.is_some_and(|s| s.smallest_need().is_some_and(|need| need as usize <= s.idle().len() + more))
    }
}
