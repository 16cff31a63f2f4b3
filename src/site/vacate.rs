//! Preemptible jobs that give way on targets which are to leave: for a start, stop or switch that says so, or for whoever
//! asks for particular targets.
//!
//! Decides which jobs those are: all that run there and that the policy of their queue lets be preempted, each as soon as
//! its protection is over. Others run on, and the targets are released when they end (I4). A queue is marked by such a
//! command until the next about it; what leaves later for the same cause (in waves, for a group) is included.

use super::error::EventError;
use super::event::{Effect, Event};
use super::job::HoldingKind;
use super::preempt::PreemptedFor;
use super::state::Site;
use crate::base::{Duration, QueueId, TargetSet, Timestamp};
use crate::coordinator::Ownership;
use crate::scheduler::Input;
use std::collections::BTreeMap;

impl Site {
    /// A start, a stop with release or a switch, by which preemptible jobs give way on what leaves.
    pub(super) fn preempting(
        &mut self,
        now: Timestamp,
        event: Event,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let (mut to, mut from): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut plan = None;
        match &event {
            Event::QueueStart { queue, .. } => to.push(queue.clone()),
            Event::QueueStop { queue, release: true, .. } => from.push(queue.clone()),
            Event::Switch(switch) => {
                to.extend(switch.start.iter().map(|(queue, _)| queue.clone()));
                from.extend(switch.release.iter().cloned());
            }
            Event::Planned { name, .. } => plan = Some(name.clone()),
            _ => return Err(EventError::NothingLeaves),
        }
        self.apply(now, event, effects)?;
        self.preemptions.plans.extend(plan);
        let ids = |names: Vec<String>| names.iter().filter_map(|name| self.names.get(name.as_str()).copied()).collect();
        let (to, from): (Vec<QueueId>, Vec<QueueId>) = (ids(to), ids(from));
        self.mark(&to, &from);
        Ok(())
    }

    /// From now on preemptible jobs give way on what leaves for queues, or from them.
    pub(super) fn mark(&mut self, to: &[QueueId], from: &[QueueId]) {
        self.preemptions.to.extend(to);
        self.preemptions.from.extend(from);
        self.unsettled = true;
    }

    /// A queue was commanded anew.
    pub(super) fn unmark(&mut self, queue: QueueId) {
        self.preemptions.to.remove(&queue);
        self.preemptions.from.remove(&queue);
    }

    /// Lets preemptible jobs give way on what leaves for a marked queue, or from one. When the next loses its protection is
    /// noted.
    pub(super) fn vacate_leaving(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        self.preemptions.again = Timestamp::NEVER;
        if self.preemptions.to.is_empty() && self.preemptions.from.is_empty() {
            return;
        }
        let mut groups: BTreeMap<QueueId, TargetSet> = BTreeMap::new();
        for target in self.coordinator.leaving_targets().iter() {
            let Some(Ownership::Leaving(donor)) = self.coordinator.ownership(target) else { continue };
            let wanted = self.coordinator.wanted(target).filter(|queue| *queue != donor);
            let marked = wanted.is_some_and(|queue| self.preemptions.to.contains(&queue));
            if marked || self.preemptions.from.contains(&donor) {
                groups.entry(wanted.unwrap_or(donor)).or_default().insert(target);
            }
        }
        for (queue, targets) in groups {
            let by = PreemptedFor::Queue(self.queue(queue).name.clone());
            let again = self.preempt_holders(now, &targets, &by, effects);
            self.preemptions.again = self.preemptions.again.min(again);
        }
    }

    /// Lets the preemptible jobs that run on some targets give way, those that are not protected any more; when the next of
    /// them loses its protection, never if there is none. Others are left alone.
    pub(super) fn preempt_holders(
        &mut self,
        now: Timestamp,
        targets: &TargetSet,
        by: &PreemptedFor,
        effects: &mut Vec<Effect>,
    ) -> Timestamp {
        let mut indices: Vec<u32> = targets.iter().flat_map(|t| self.ledger.holders(t)).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut again = Timestamp::NEVER;
        for index in indices {
            let holding = self.jobs.holding(index);
            if holding.kind != HoldingKind::Running || holding.quarantined || holding.cut.is_some() {
                continue;
            }
            let (slot, queue, name) = (holding.slot, holding.queue, holding.name);
            let job = self.jobs.job(slot);
            let own = self.queue(job.queue);
            let policy = &own.config.policy.preemption;
            let from = job.started + policy.preemptible_after;
            // The policy of a queue that was removed holds no more.
            if !policy.preemptible || own.removed {
                continue;
            }
            if from > now {
                again = again.min(from);
                continue;
            }
            let until = self.held().end_of(index).min(now + policy.grace.max(Duration::from_micros(1)));
            let id = job.id;
            self.signal(now, id, until, by.clone(), effects);
            self.tell(now, queue, Input::Preempt { job: name, until }, effects);
        }
        again
    }
}
