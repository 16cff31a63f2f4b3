//! Progress (I10) and kept promises (I9), checked by running passes again on copies, and by counting.
//!
//! Decides nothing and changes nothing but its own notes. A pass that is run again shares its faults with the first;
//! what is counted here from holdings, limits and planned starts shares nothing with it. Costs a copy of a scheduler
//! and one or two passes per queue.

use super::queue::Queue;
use super::state::Site;
use super::violation::{Invariant, Violation};
use crate::base::{Duration, FastMap, JobId, QueueId, TargetId, Timestamp};
use crate::config::QueuePolicy;
use crate::matcher::{Extent, Reason, Shape};
use crate::scheduler::{Input, Output, Scheduler, Waiting};
use std::cmp::Reverse;

/// What a queue has promised: the planned starts that must not move later.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    starts: Vec<(JobId, Timestamp)>,
    /// Something has happened since that excuses a delay.
    pub excused: bool,
}

impl Site {
    /// I10: after a pass that is done, a pass over all jobs from the start, at the same time, starts nothing more, and
    /// plans the same (I9).
    ///
    /// Left out are queues with a queue-depth, in which jobs that started let others come within the depth. Under
    /// conservative-compress the same pass is repeated instead: a sweep belongs to a release.
    pub fn check_progress(&self, now: Timestamp) -> Vec<Violation> {
        let mut found = Vec::new();
        for queue in self.queues.iter().filter(|q| q.started) {
            let Some(scheduler) = queue.scheduler.as_ref().filter(|s| !s.needs_pass(now)) else { continue };
            if let Some(text) = self.head_that_could_start(queue, scheduler, now) {
                found.push(Violation::new(Invariant::I10, text));
            }
            if scheduler.settings().queue_depth.is_some() {
                continue;
            }
            let mut copy = scheduler.clone();
            if scheduler.settings().queue_policy != QueuePolicy::ConservativeCompress {
                copy.handle(now, Input::Prioritize(Vec::new()), &mut Vec::new());
            }
            let answers = self.pass_of_copy(queue, &mut copy, now);
            let started: Vec<JobId> = answers.iter().filter_map(granted).collect();
            if let Some(Output::Preempt { job, victims, .. }) =
                answers.iter().find(|answer| matches!(answer, Output::Preempt { .. }))
            {
                let text = format!("queue {} is done, but another pass preempts {victims:?} for {job}", queue.name);
                found.push(Violation::new(Invariant::I10, text));
                continue;
            }
            if !started.is_empty() {
                let text = format!("queue {} is done, but another pass starts jobs {started:?}", queue.name);
                found.push(Violation::new(Invariant::I10, text));
                continue;
            }
            let plans = |s: &Scheduler| s.waiting().map(|w| (w.job.id, w.planned)).collect::<Vec<_>>();
            if let Some((before, after)) = plans(scheduler).into_iter().zip(plans(&copy)).find(|(a, b)| a != b) {
                let says = |(job, at): (JobId, Option<Timestamp>)| match at {
                    Some(at) => format!("job {job} for {at}"),
                    None => format!("job {job} not at all"),
                };
                let (before, after, name) = (says(before), says(after), &queue.name);
                let text = format!("queue {name} plans {before}, but in another pass {after}; it is {now}");
                found.push(Violation::new(Invariant::I9, text));
            }
        }
        found
    }

    /// The first job that waits for whole targets, if so many are idle, by the ledger.
    ///
    /// Left out is conservative-compress, where a job with a higher priority does not move the reservations of others,
    /// and where windows bound what may start.
    fn head_that_could_start(&self, queue: &Queue, scheduler: &Scheduler, now: Timestamp) -> Option<String> {
        let compress = scheduler.settings().queue_policy == QueuePolicy::ConservativeCompress;
        if compress || !queue.windows.timelines.is_empty() {
            return None;
        }
        let aside = |w: &Waiting| {
            let why = scheduler.explain(w.job.id, now);
            matches!(why, Some(Reason::NoFiniteStart(_) | Reason::ExceedsWindow { .. }))
        };
        // Who waits for others to give way starts where they do.
        let first = scheduler.waiting().find(|w| !w.held && !aside(w))?;
        let Shape::Whole { nodes, at_least, .. } = &first.job.request.shape else { return None };
        if !first.job.request.shared.is_empty() {
            return None;
        }
        let allowed = match &first.job.request.constraint {
            Some(constraint) => Some(self.graph.resolve(&self.properties, constraint).ok()?),
            None => None,
        };
        let serves = |t: &TargetId| {
            let size = super::state::size_of(&self.graph, *t);
            queue.members.contains(*t)
                && self.ledger.is_up(*t, queue.id)
                && !self.ledger.is_held(*t)
                && !self.preemptions.holds.values().any(|held| held.contains(*t))
                && (size.cores >= at_least.cores && size.gpus >= at_least.gpus)
                && allowed.as_ref().is_none_or(|a| a.contains(*t))
        };
        let idle = self.coordinator.owned(queue.id).iter().filter(serves).count() as u64;
        let (id, name, least) = (first.job.id, &queue.name, nodes.min());
        (idle >= least)
            .then(|| format!("job {id} is the first of queue {name} and waits for {least} of {idle} idle targets"))
    }

    /// I9: the planned starts of whole targets can all be kept, by the limits of what runs: at no planned start are more
    /// targets wanted than the queue has.
    ///
    /// Where windows bound what a queue has, its members are counted.
    pub fn check_plans(&self, now: Timestamp) -> Vec<Violation> {
        let mut found = Vec::new();
        for queue in self.queues.iter().filter(|q| q.started) {
            let Some(scheduler) = queue.scheduler.as_ref().filter(|s| !s.needs_pass(now)) else { continue };
            let mut changes: Vec<(Timestamp, i64)> = Vec::new();
            for waiting in scheduler.waiting() {
                let (Some(at), Shape::Whole { nodes, .. }) = (waiting.planned, &waiting.job.request.shape) else {
                    continue;
                };
                let n = nodes.min() as i64;
                changes.extend([(at, n), (at + waiting.job.limit.max(Duration::from_micros(1)), -n)]);
            }
            if changes.is_empty() {
                continue;
            }
            let bounded = !queue.windows.timelines.is_empty();
            let counts = |t: TargetId| bounded || self.ledger.is_up(t, queue.id);
            let mut wanted = 0;
            for run in scheduler.running() {
                let whole = run.selection.shares.iter().filter(|s| s.extent == Extent::Whole).map(|s| s.target);
                let n = whole.filter(|t| !run.freed.contains(*t) && queue.members.contains(*t) && counts(*t)).count();
                wanted += n as i64;
                changes.push((run.planned_end, -(n as i64)));
            }
            let has = queue.members.iter().filter(|t| counts(*t)).count() as i64;
            // What ends makes room for what starts at the same instant.
            changes.sort_unstable();
            for (at, change) in changes {
                wanted += change;
                if change > 0 && wanted > has {
                    let text = format!("queue {} plans for {wanted} of {has} targets at {at}; it is {now}", queue.name);
                    found.push(Violation::new(Invariant::I9, text));
                    break;
                }
            }
        }
        found
    }

    /// I9 across passes: the planned start of the first job under easy, and of every job under conservative-compress, is
    /// not later than it was, unless what excuses a delay has happened. Takes note of the starts that are planned now.
    pub fn check_kept(&mut self, now: Timestamp) {
        for index in 0..self.queues.len() {
            let queue = &self.queues[index];
            let scheduler = queue.scheduler.as_ref().filter(|s| queue.started && !s.needs_pass(now));
            let Some(scheduler) = scheduler else {
                self.queues[index].promises.excused = true;
                continue;
            };
            let planned = |w: Waiting| w.planned.map(|at| (w.job.id, at));
            let starts: Vec<(JobId, Timestamp)> = match scheduler.settings().queue_policy {
                QueuePolicy::Easy => scheduler.waiting().next().and_then(planned).into_iter().collect(),
                QueuePolicy::ConservativeCompress => scheduler.waiting().filter_map(planned).collect(),
                QueuePolicy::Fcfs | QueuePolicy::Hybrid | QueuePolicy::Conservative => Vec::new(),
            };
            let before = Promises { starts: starts.clone(), excused: false };
            let before = std::mem::replace(&mut self.queues[index].promises, before);
            if before.excused || before.starts.is_empty() {
                continue;
            }
            let starts: FastMap<JobId, Timestamp> = starts.into_iter().collect();
            let later = before.starts.iter().filter_map(|(job, was)| Some((job, was, starts.get(job)?)));
            if let Some((job, was, is)) = later.filter(|(_, was, is)| is > was).min() {
                let name = &self.queues[index].name;
                let text = format!("queue {name} had planned job {job} for {was}, plans it for {is}; it is {now}");
                self.violations.push(Violation::new(Invariant::I9, text));
            }
        }
    }

    /// Notes that jobs run past their planned ends, which excuses a delay.
    pub fn excuse_overruns(&mut self, now: Timestamp) {
        for queue in &mut self.queues {
            queue.promises.excused |= queue.scheduler.as_ref().is_some_and(|s| s.any_overdue(now));
        }
    }

    /// Notes what excuses a delay before a scheduler is told it.
    pub fn excuse(&mut self, queue: QueueId, input: &Input) {
        let excused = match input {
            Input::Alloc(job) => {
                let key = |priority, submitted, id| (Reverse(priority), submitted, id);
                let new = key(job.priority, job.submitted, job.id);
                let overtakes = |(id, _): &(JobId, Timestamp)| {
                    let known = self.jobs.slot(*id).map(|slot| self.jobs.job(slot));
                    known.is_some_and(|j| new < key(self.order_priority(j), j.in_order_from(), j.id))
                };
                self.queue(queue).promises.starts.iter().any(overtakes)
            }
            // Who leaves and comes back, as into another queue of the same scheduler, is planned anew.
            Input::Cancel(id) => {
                self.queue_mut(queue).promises.starts.retain(|(job, _)| job != id);
                false
            }
            Input::Up { .. }
            | Input::Free { .. }
            | Input::Planned { .. }
            | Input::Ended(_)
            | Input::Hold { .. }
            | Input::Reconsider
            | Input::Pass { .. }
            | Input::Resume { .. } => false,
            Input::Acquire { .. }
            | Input::Hello(_)
            | Input::Down { .. }
            | Input::Shrink { .. }
            | Input::Graph(_)
            | Input::Properties(_)
            | Input::Members(_)
            | Input::Windows(_)
            | Input::Pools(_)
            | Input::Policy(_)
            | Input::Preemption(_)
            | Input::Preempt { .. }
            | Input::Rename { .. }
            | Input::Expiration { .. }
            | Input::Prioritize(_) => true,
        };
        self.queue_mut(queue).promises.excused |= excused;
    }

    /// I9: of each queue that is about to run a pass, the planned start of one job, with all jobs behind it and without.
    ///
    /// The job is picked by the time, so that the same input checks the same jobs. Left out is conservative-compress,
    /// where the reservations of later jobs are older than the pass and move in it.
    pub fn check_promise(&self, now: Timestamp) -> Vec<Violation> {
        let mut found = Vec::new();
        for queue in self.queues.iter().filter(|q| q.started) {
            let Some(scheduler) = queue.scheduler.as_ref().filter(|s| s.needs_pass(now)) else { continue };
            if scheduler.settings().queue_policy == QueuePolicy::ConservativeCompress {
                continue;
            }
            let mut planned = self.after_pass(queue, scheduler.clone(), now);
            planned.retain(|(_, at)| *at > now);
            if planned.is_empty() {
                continue;
            }
            let pick = (now.micros() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            let (job, at) = planned[pick as usize % planned.len()];
            let waiting: Vec<Waiting> = scheduler.waiting().collect();
            let place = waiting.iter().position(|w| w.job.id == job).map_or(waiting.len(), |n| n + 1);
            let mut alone = scheduler.clone();
            let mut answers = Vec::new();
            for waiting in waiting[place..].iter().filter(|w| !w.held) {
                alone.handle(now, Input::Cancel(waiting.job.id), &mut answers);
            }
            let again = self.after_pass(queue, alone, now).into_iter().find(|(id, _)| *id == job).map(|(_, at)| at);
            if again != Some(at) {
                let again = again.map_or("never".to_owned(), |t| t.to_string());
                let text = format!(
                    "queue {} plans job {job} for {at}, but for {again} when the jobs behind it are taken away; it is {now}",
                    queue.name
                );
                found.push(Violation::new(Invariant::I9, text));
            }
        }
        found
    }
}

impl Site {
    /// The jobs that a pass starts, with the present, and those that it plans, with their starts.
    fn after_pass(&self, queue: &Queue, mut scheduler: Scheduler, now: Timestamp) -> Vec<(JobId, Timestamp)> {
        let answers = self.pass_of_copy(queue, &mut scheduler, now);
        let started = answers.iter().filter_map(granted).map(|id| (id, now));
        started.chain(scheduler.waiting().filter_map(|w| w.planned.map(|at| (w.job.id, at)))).collect()
    }
}

fn granted(answer: &Output) -> Option<JobId> {
    match answer {
        Output::Alloc { job, .. } => Some(*job),
        _ => None,
    }
}
