//! Properties of a pass, checked by running it again on copies: progress (I10) and kept promises (I9).
//!
//! Decides nothing and changes nothing. Costs a copy of a scheduler and one or two passes per queue.

use super::state::Site;
use super::violation::{Invariant, Violation};
use crate::base::{JobId, Timestamp};
use crate::config::QueuePolicy;
use crate::matcher::Shape;
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
    /// where the reservations of later jobs are older than the pass and move in it. Also left out is a case in which only
    /// jobs behind ask for parts of targets: without them the scheduler plans by counts, in which a start that was
    /// planned by single targets may be earlier.
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
            if !kept_parts && behind.iter().any(|w| takes_parts(&w.job)) {
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
