//! Forecasts: when jobs start, when targets are free, when what a queue waits for arrives.
//!
//! Two answers each time: the *worst* case by time limits, and the *likely* one by how users have used their limits so
//! far ([`Usage`]). Both say what comes if nobody submits or commands anything more. Nothing here changes the site: what
//! is played on is a copy.
//!
//! Where a queue plans every job (`conservative`, `conservative-compress`), its plan is the worst case; elsewhere the
//! worst case is played. A job is never forecast to start likely later than at worst.

mod play;
mod targets;
mod usage;

pub use play::{Arrival, NextUse};
pub(super) use play::{Played, Until, play};
pub use targets::{FreeForecast, TargetForecast};
pub use usage::{Basis, Usage};

use super::job::{Job, JobState};
use super::state::Site;
use crate::base::{FastMap, JobId, QueueId, TargetId, Timestamp};
use crate::config::QueuePolicy;
use std::cmp::Reverse;

/// A time, at worst and likely; never: nothing that is known lets it come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// If every job runs to its limit.
    pub worst: Timestamp,
    /// If every job runs as its user's jobs usually do.
    pub likely: Timestamp,
}

impl Span {
    /// Neither is known.
    pub const NEVER: Span = Span { worst: Timestamp::NEVER, likely: Timestamp::NEVER };

    /// The same time for both.
    pub fn at(at: Timestamp) -> Span {
        Span { worst: at, likely: at }
    }

    /// The earlier of each.
    #[must_use]
    pub fn earlier(self, other: Span) -> Span {
        Span { worst: self.worst.min(other.worst), likely: self.likely.min(other.likely) }
    }

    /// The later of each.
    #[must_use]
    pub fn later(self, other: Span) -> Span {
        Span { worst: self.worst.max(other.worst), likely: self.likely.max(other.likely) }
    }
}

/// When a waiting job starts.
#[derive(Clone, PartialEq, Debug)]
pub struct JobForecast {
    /// Which.
    pub job: JobId,
    /// The queue that it was submitted to.
    pub queue: QueueId,
    /// When.
    pub start: Span,
}

/// What is to come, by both bases.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// As of when.
    pub at: Timestamp,
    /// Every waiting job, by queue and in its order.
    pub jobs: Vec<JobForecast>,
    pub(super) worst: Option<Played>,
    pub(super) likely: Played,
}

impl Forecast {
    /// When a job starts; `None` if it does not wait.
    pub fn job(&self, id: JobId) -> Option<Span> {
        self.jobs.iter().find(|j| j.job == id).map(|j| j.start)
    }

    /// What arrives where, likely, in order of time.
    pub fn likely_arrivals(&self) -> &[Arrival] {
        &self.likely.arrivals
    }

    /// What arrives where, at worst, in order of time; empty where nothing is to move.
    pub fn worst_arrivals(&self) -> &[Arrival] {
        self.worst.as_ref().map_or(&[], |p| &p.arrivals)
    }

    /// Who likely gets the target that was watched next.
    pub fn next_use(&self) -> Option<&NextUse> {
        self.likely.next.as_ref()
    }
}

impl Site {
    /// When every waiting job starts.
    pub fn forecast(&self) -> Forecast {
        self.forecast_by(&Usage::of(self), None)
    }

    /// The same, by what is known of the users; `watched`: a target of which it is wanted who gets it next.
    pub fn forecast_by(&self, usage: &Usage, watched: Option<TargetId>) -> Forecast {
        let moves = self.coordinator.donations().next().is_some();
        // What is planned starts jobs of which no queue has a plan yet.
        let planned = self.planned_switches().next().is_some() || self.coordinator.groups().next().is_some();
        let unplanned = |job: &Job| waits(job) && !self.is_promised(job) && self.queue(job.home).started;
        let until = if planned || self.all_jobs().any(unplanned) { Until::Empty } else { Until::Moved };
        let needed = moves || until == Until::Empty;
        let (worst, likely) = rayon::join(
            || needed.then(|| play(self, Basis::Limits, until, None)),
            || play(self, Basis::Use(usage), Until::Empty, watched),
        );
        let jobs = self.merge(worst.as_ref(), &likely);
        Forecast { at: self.now, jobs, worst, likely }
    }

    fn merge(&self, worst: Option<&Played>, likely: &Played) -> Vec<JobForecast> {
        let first = |played: &Played| -> FastMap<JobId, Timestamp> {
            // Of one that starts twice (it was requeued meanwhile) the first counts.
            played.starts.iter().rev().copied().collect()
        };
        let (likely, by_limits) = (first(likely), worst.map(first).unwrap_or_default());
        let mut waiting: Vec<&Job> = self.all_jobs().filter(|j| waits(j)).collect();
        waiting.sort_by_key(|j| (j.queue, Reverse(j.priority), j.in_order_from(), j.id));
        let start = |job: &Job| {
            let played = by_limits.get(&job.id).copied().unwrap_or(Timestamp::NEVER);
            let worst = if self.is_promised(job) { job.planned.max(self.now) } else { played };
            let likely = likely.get(&job.id).copied().unwrap_or(worst).min(worst);
            Span { worst, likely }
        };
        waiting.into_iter().map(|j| JobForecast { job: j.id, queue: j.queue, start: start(j) }).collect()
    }

    /// Whether the plan of its queue says when a job starts at the latest.
    fn is_promised(&self, job: &Job) -> bool {
        let settings = &self.queue(job.home).config.policy.scheduler;
        let plans = matches!(settings.queue_policy, QueuePolicy::Conservative | QueuePolicy::ConservativeCompress);
        plans && job.in_scheduler && !job.planned.is_never() && self.queue(job.home).started
    }
}

/// Whether a job waits.
fn waits(job: &Job) -> bool {
    matches!(job.state, JobState::Pending | JobState::Held)
}
