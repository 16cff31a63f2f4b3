//! The figures of one level of nesting: of all its instances together.

use crate::base::{Duration, Timestamp};
use crate::replay::metrics::JobCounts;
use serde::Serialize;

/// What the instances of one level did; level 0 is the replay itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LevelFigures {
    /// How many instances ran; one whose job was requeued counts for each run.
    pub instances: u64,
    /// Of these, how many did all their work.
    pub done: u64,
    /// How many were ended by the time limit of their job.
    pub limited: u64,
    /// How many were ended with their job, before.
    pub cut: u64,
    /// Their jobs.
    pub jobs: JobCounts,
    /// Jobs whose submit time did not come before their instance was over.
    pub unsubmitted: u64,
    /// Core-seconds that jobs held.
    pub core_s: f64,
    /// Mean wait of the jobs that started, in seconds.
    pub wait_mean_s: f64,
    /// Longest wait, in seconds.
    pub wait_max_s: f64,
    /// From the first submission to the last end of a job, in seconds.
    pub span_s: f64,
    /// Jobs that ended per second of that.
    pub throughput: f64,
    /// Scheduling passes.
    pub passes: u64,
    /// The most jobs that were pending in one instance at once.
    pub most_pending: u64,
}

/// The same while it is added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub instances: u64,
    pub done: u64,
    pub limited: u64,
    pub cut: u64,
    pub jobs: JobCounts,
    pub unsubmitted: u64,
    pub core_micros: i128,
    pub wait_micros: i128,
    pub started: u64,
    pub wait_max: Duration,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    pub passes: u64,
    pub most_pending: u64,
}

impl Level {
    /// Adds another, whose time 0 is at `start`.
    pub fn add(&mut self, other: &Level, start: Timestamp) {
        let shift = |at: Option<Timestamp>| at.map(|at| start + at.since(Timestamp::ZERO));
        self.instances += other.instances;
        self.done += other.done;
        self.limited += other.limited;
        self.cut += other.cut;
        self.jobs.add(&other.jobs);
        self.unsubmitted += other.unsubmitted;
        self.core_micros += other.core_micros;
        self.wait_micros += other.wait_micros;
        self.started += other.started;
        self.wait_max = self.wait_max.max(other.wait_max);
        self.first = [self.first, shift(other.first)].into_iter().flatten().min();
        self.last = self.last.max(shift(other.last));
        self.passes += other.passes;
        self.most_pending = self.most_pending.max(other.most_pending);
    }

    pub fn figures(&self) -> LevelFigures {
        let span_s = match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first).secs_f64(),
            _ => 0.0,
        };
        let ended = (self.jobs.completed + self.jobs.failed) as f64;
        LevelFigures {
            instances: self.instances,
            done: self.done,
            limited: self.limited,
            cut: self.cut,
            jobs: self.jobs,
            unsubmitted: self.unsubmitted,
            core_s: self.core_micros as f64 / 1e6,
            wait_mean_s: if self.started == 0 { 0.0 } else { self.wait_micros as f64 / 1e6 / self.started as f64 },
            wait_max_s: self.wait_max.secs_f64(),
            span_s,
            throughput: if span_s > 0.0 { ended / span_s } else { 0.0 },
            passes: self.passes,
            most_pending: self.most_pending,
        }
    }
}
