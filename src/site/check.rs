//! Properties of a pass, checked by running it again on copies: progress (I10) and kept promises (I9).
//!
//! Decides nothing and changes nothing. Costs a copy of a scheduler and one or two passes per queue.

use super::state::Site;
use super::violation::{Invariant, Violation};
use crate::base::{JobId, Timestamp};
use crate::config::QueuePolicy;
use crate::formats::constraint::Constraint;
use crate::matcher::{Amount, Shape};
use crate::scheduler::{Input, JobRequest, Output, Scheduler, Waiting};

impl Site {
    /// I10: after a pass that is done, a pass over all jobs from the start, at the same time, starts nothing more.
    ///
    /// Left out are queues with a queue-depth, in which jobs that started let others come within the depth. Under
    /// conservative-compress the same pass is repeated instead: a sweep belongs to a release.
    pub fn check_progress(&self, now: Timestamp) -> Vec<Violation> {
        let mut found = Vec::new();
        for queue in self.queues.iter().filter(|q| q.started) {
            let Some(scheduler) = queue.scheduler.as_ref().filter(|s| !s.needs_pass(now)) else { continue };
            if scheduler.settings().queue_depth.is_some() {
                continue;
            }
            let mut copy = scheduler.clone();
            let mut answers = Vec::new();
            if scheduler.settings().queue_policy != QueuePolicy::ConservativeCompress {
                copy.handle(now, Input::Prioritize(Vec::new()), &mut answers);
            }
            copy.handle(now, Input::Pass { budget: usize::MAX }, &mut answers);
            let started: Vec<JobId> = answers.iter().filter_map(granted).collect();
            if !started.is_empty() {
                let text = format!("queue {} is done, but another pass starts jobs {started:?}", queue.name);
                found.push(Violation::new(Invariant::I10, text));
            }
        }
        found
    }

    /// I9: of each queue that is about to run a pass, the planned start of one job, with all jobs behind it and without.
    ///
    /// The job is picked by the time, so that the same input checks the same jobs. Left out is conservative-compress,
    /// where the reservations of later jobs are older than the pass and move in it. Also left out is a case in which a job
    /// behind brings in a distinction that nobody ahead makes: parts of targets, or under hybrid and conservative a
    /// constraint. Without it the scheduler plans by coarser counts, in which a start may be earlier.
    pub fn check_promise(&self, now: Timestamp) -> Vec<Violation> {
        let mut found = Vec::new();
        for queue in self.queues.iter().filter(|q| q.started) {
            let Some(scheduler) = queue.scheduler.as_ref().filter(|s| s.needs_pass(now)) else { continue };
            if scheduler.settings().queue_policy == QueuePolicy::ConservativeCompress {
                continue;
            }
            let mut planned = after_pass(scheduler.clone(), now);
            planned.retain(|(_, at)| *at > now);
            if planned.is_empty() {
                continue;
            }
            let pick = (now.micros() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            let (job, at) = planned[pick as usize % planned.len()];
            let waiting: Vec<Waiting> = scheduler.waiting().collect();
            let place = waiting.iter().position(|w| w.job.id == job).map_or(waiting.len(), |n| n + 1);
            let (kept, behind) = waiting.split_at(place);
            let kept_parts =
                kept.iter().any(|w| takes_parts(&w.job)) || scheduler.running().iter().any(|r| takes_parts(&r.job));
            let new_parts = !kept_parts && behind.iter().any(|w| takes_parts(&w.job));
            let made = |w: &&Waiting| !kept.iter().any(|k| distinction(&k.job) == distinction(&w.job));
            let new_filter = behind.iter().filter(|w| distinction(&w.job).is_some()).any(|w| made(&w));
            let many_plans = !matches!(scheduler.settings().queue_policy, QueuePolicy::Fcfs | QueuePolicy::Easy);
            if new_parts || many_plans && new_filter {
                continue;
            }
            let mut alone = scheduler.clone();
            let mut answers = Vec::new();
            for waiting in behind {
                alone.handle(now, Input::Cancel(waiting.job.id), &mut answers);
            }
            let again = after_pass(alone, now).into_iter().find(|(id, _)| *id == job).map(|(_, at)| at);
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

/// What sets some targets apart from others for a job: a constraint, a least size.
fn distinction(job: &JobRequest) -> Option<(Option<&Constraint>, Amount)> {
    let at_least = match &job.request.shape {
        Shape::Whole { at_least, .. } => *at_least,
        Shape::Nodes { slot, .. } | Shape::Slots { slot, .. } => *slot,
    };
    let constraint = job.request.constraint.as_ref();
    (constraint.is_some() || at_least != Amount::default()).then_some((constraint, at_least))
}

fn takes_parts(job: &JobRequest) -> bool {
    matches!(job.request.shape, Shape::Nodes { .. } | Shape::Slots { .. })
}

fn granted(answer: &Output) -> Option<JobId> {
    match answer {
        Output::Alloc { job, .. } => Some(*job),
        _ => None,
    }
}

/// The jobs that a pass starts, with the present, and those that it plans, with their starts.
fn after_pass(mut scheduler: Scheduler, now: Timestamp) -> Vec<(JobId, Timestamp)> {
    let mut answers = Vec::new();
    scheduler.handle(now, Input::Pass { budget: usize::MAX }, &mut answers);
    let started = answers.iter().filter_map(granted).map(|id| (id, now));
    started.chain(scheduler.waiting().filter_map(|w| w.planned.map(|at| (w.job.id, at)))).collect()
}
