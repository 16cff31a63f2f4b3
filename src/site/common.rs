//! Targets in common: several schedulers over one set of targets, to be compared with ownership.
//!
//! Decides the order in which passes run when members of queues overlap: one after the other, by higher precedence, then in
//! the order of the queues; so the first of them gets what became free. What one starts the others are told as a job that
//! runs already, with its limit, so that they plan with it; what one has merely reserved they do not know.
//!
//! Invariant: each scheduler knows every holding on targets that its queue covers (checked by the audit).

use super::event::Effect;
use super::job::HoldingKind;
use super::state::Site;
use super::step::ScheduleEnd;
use crate::base::{JobId, QueueId, Timestamp};
use crate::formats::count::Count;
use crate::matcher::{Amount, PoolNeeds, Request, Shape};
use crate::scheduler::{HelloJob, Input, JobRequest, PassEnd};
use std::cmp::Reverse;
use std::sync::Arc;

impl Site {
    /// Lets all queues that claim have all their members up, see [`Coordinator::set_common`](crate::coordinator::Coordinator::set_common). To be said before
    /// anything happens.
    #[must_use]
    pub fn with_targets_in_common(mut self) -> Self {
        self.coordinator.set_common();
        self.ledger.set_common();
        self
    }

    /// Whether queues that cover the same targets have them in common, so that their passes may not run side by side.
    pub(super) fn overlaps(&self) -> bool {
        if !self.coordinator.is_common() {
            return false;
        }
        let covering: Vec<_> = self.queues.iter().filter(|q| q.scheduler.is_some()).collect();
        let shares = |n: usize| covering[n + 1..].iter().any(|q| !q.members.is_disjoint(&covering[n].members));
        (0..covering.len()).any(shares)
    }

    /// Lets every queue with something to do run a pass, the first in the order of precedence first, each with the news of
    /// those before it.
    pub(super) fn run_in_turn(
        &mut self,
        now: Timestamp,
        budget: usize,
        end: &mut ScheduleEnd,
        effects: &mut Vec<Effect>,
    ) {
        let mut order: Vec<usize> = (0..self.queues.len()).collect();
        order.sort_by_key(|n| Reverse(self.queues[*n].config.policy.scheduler.precedence));
        for index in order {
            let queue = &mut self.queues[index];
            if !super::step::has_work(queue, now) {
                continue;
            }
            if let Some(scheduler) = &mut queue.scheduler {
                scheduler.handle(now, Input::Pass { budget }, &mut queue.answers);
                queue.pass = Some((PassEnd::Done, 0));
            }
            self.read_pass(now, index, budget, end, effects);
        }
    }

    /// Says something about a holding of one queue to the schedulers of all others, which ignore what they do not know.
    pub(super) fn tell_others(&mut self, now: Timestamp, queue: QueueId, input: &Input, effects: &mut Vec<Effect>) {
        if !self.coordinator.is_common() {
            return;
        }
        for index in (0..self.queues.len()).filter(|n| *n != queue.index()) {
            if self.queues[index].scheduler.is_some() {
                self.tell(now, QueueId(index as u32), input.clone(), effects);
            }
        }
    }

    /// Tells the schedulers of all other queues that cover some of its targets of a holding.
    pub(super) fn introduce(&mut self, now: Timestamp, holding: u32, overruns: u32, effects: &mut Vec<Effect>) {
        if !self.coordinator.is_common() {
            return;
        }
        let home = self.jobs.holding(holding).queue;
        for index in (0..self.queues.len()).filter(|n| *n != home.index()) {
            self.introduce_to(now, QueueId(index as u32), holding, overruns, effects);
        }
    }

    /// Tells the scheduler of a queue whose members are new of every holding on them; it ignores those that it knows.
    pub(super) fn meet_holdings(&mut self, now: Timestamp, queue: QueueId, effects: &mut Vec<Effect>) {
        if !self.coordinator.is_common() {
            return;
        }
        let others: Vec<u32> = self.jobs.holdings().filter(|(_, h)| h.queue != queue).map(|(n, _)| n).collect();
        for holding in others {
            let (home, name) = (self.jobs.holding(holding).queue, self.jobs.holding(holding).name);
            let overruns = self.overruns(home, name);
            self.introduce_to(now, queue, holding, overruns, effects);
        }
    }

    fn introduce_to(&mut self, now: Timestamp, queue: QueueId, index: u32, overruns: u32, effects: &mut Vec<Effect>) {
        let (holding, record) = (self.jobs.holding(index), self.queue(queue));
        let covers = holding.selection.targets().any(|t| !holding.freed.contains(t) && record.members.contains(t));
        if record.scheduler.is_none() || holding.quarantined || !covers {
            return;
        }
        let job = self.jobs.job(holding.slot);
        let hello = HelloJob {
            job: JobRequest {
                id: holding.name,
                // No rule of preemption speaks of jobs of another scheduler.
                class: job.queue,
                priority: job.priority,
                submitted: job.submitted,
                limit: holding.limit,
                request: Arc::new(anything()),
            },
            selection: holding.selection.clone(),
            freed: holding.freed.clone(),
            started: holding.started,
            overruns,
            cut: holding.cut,
            ended: holding.kind != HoldingKind::Running,
        };
        self.tell(now, queue, Input::Hello(Box::new(hello)), effects);
    }

    /// How often the end of a holding was put off.
    pub(super) fn overruns(&self, queue: QueueId, name: JobId) -> u32 {
        let mut running = self.queue(queue).scheduler.iter().flat_map(|s| s.running());
        running.find(|run| run.job.id == name).map_or(0, |run| run.overruns)
    }
}

/// What a job of another queue asked for does not matter: what it got does.
fn anything() -> Request {
    let shape = Shape::Whole { nodes: Count::fixed(1), at_least: Amount::NONE, slots_per_node: 1 };
    Request { shape, constraint: None, shared: PoolNeeds::default() }
}
