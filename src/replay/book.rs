//! What has become of each job: dense arrays by slot, filled by the engine.
//!
//! Decides nothing; holds what reports need. A job that was requeued has the times of its last run.

use super::metrics::JobCounts;
use crate::base::Timestamp;
use crate::matcher::Selection;
use std::sync::Arc;

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Its submit time has not come.
    Unsubmitted,
    /// It waits in a scheduler.
    Pending,
    /// It is kept outside the schedulers.
    Held,
    /// It runs.
    Running,
    /// It ran and ended by itself.
    Completed,
    /// It ran and failed.
    Failed,
    /// It was cancelled, while it waited or while it ran.
    Cancelled,
    /// It will never run.
    Denied,
}

/// The fate of every job of a workload.
#[derive(Clone, Debug)]
pub struct Book {
    /// Where it is.
    pub state: Vec<JobState>,
    /// When its last run started; [`Timestamp::NEVER`] if it never did.
    pub start: Vec<Timestamp>,
    /// When its last run ended; [`Timestamp::NEVER`] if it has not.
    pub end: Vec<Timestamp>,
    /// In which queue it was last: an index into [`Book::queues`]; [`NO_QUEUE`] before it is known.
    pub queue: Vec<u16>,
    /// How often it started.
    pub runs: Vec<u32>,
    /// What it was given, for running jobs; of ended ones only if `keep_selections`.
    pub selection: Vec<Option<Arc<Selection>>>,
    /// The names of queues, as they were first seen.
    pub queues: Vec<Arc<str>>,
    /// How often a job had to wait again because its node failed.
    pub requeued: Vec<u64>,
    /// Core-seconds that runs of jobs held without bringing them to an end (they were requeued), in core-microseconds, by queue.
    pub lost: Vec<i128>,
    counts: [u64; 8],
    keep_selections: bool,
}

/// No queue yet.
pub const NO_QUEUE: u16 = u16::MAX;

impl Book {
    /// A book for `jobs` jobs, all unsubmitted.
    pub fn new(jobs: usize, keep_selections: bool) -> Self {
        Self {
            state: vec![JobState::Unsubmitted; jobs],
            start: vec![Timestamp::NEVER; jobs],
            end: vec![Timestamp::NEVER; jobs],
            queue: vec![NO_QUEUE; jobs],
            runs: vec![0; jobs],
            selection: vec![None; jobs],
            queues: Vec::new(),
            requeued: Vec::new(),
            lost: Vec::new(),
            counts: [jobs as u64, 0, 0, 0, 0, 0, 0, 0],
            keep_selections,
        }
    }

    /// The number of a queue, which is new if it was never seen.
    pub fn queue_number(&mut self, name: &str) -> u16 {
        if let Some(at) = self.queues.iter().position(|q| **q == *name) {
            return at as u16;
        }
        self.queues.push(name.into());
        self.requeued.push(0);
        self.lost.push(0);
        (self.queues.len() - 1).min(usize::from(NO_QUEUE - 1)) as u16
    }

    /// A job changes its state.
    #[inline]
    pub fn set_state(&mut self, slot: usize, state: JobState) {
        let before = std::mem::replace(&mut self.state[slot], state);
        self.counts[before as usize] -= 1;
        self.counts[state as usize] += 1;
    }

    /// How many jobs are where.
    pub fn counts(&self) -> JobCounts {
        let of = |state: JobState| self.counts[state as usize];
        JobCounts {
            submitted: self.state.len() as u64 - of(JobState::Unsubmitted),
            completed: of(JobState::Completed),
            failed: of(JobState::Failed),
            cancelled: of(JobState::Cancelled),
            denied: of(JobState::Denied),
            pending: of(JobState::Pending),
            held: of(JobState::Held),
            running: of(JobState::Running),
            requeued: self.requeued.iter().sum(),
        }
    }

    /// A job starts.
    #[inline]
    pub fn started(&mut self, slot: usize, now: Timestamp, queue: u16, selection: Arc<Selection>) {
        self.set_state(slot, JobState::Running);
        self.start[slot] = now;
        self.end[slot] = Timestamp::NEVER;
        self.queue[slot] = queue;
        self.runs[slot] += 1;
        self.selection[slot] = Some(selection);
    }

    /// A running job ends.
    #[inline]
    pub fn ended(&mut self, slot: usize, now: Timestamp, state: JobState) {
        self.set_state(slot, state);
        self.end[slot] = now;
    }

    /// A running job has to wait again.
    pub fn requeued(&mut self, slot: usize, now: Timestamp, cores: u64) {
        let queue = usize::from(self.queue[slot]);
        if let (Some(count), Some(lost)) = (self.requeued.get_mut(queue), self.lost.get_mut(queue)) {
            *count += 1;
            *lost += i128::from(cores) * i128::from(now.since(self.start[slot]).micros());
        }
        self.set_state(slot, JobState::Pending);
        self.start[slot] = Timestamp::NEVER;
    }

    /// Nothing of the job is left on its targets: what it was given is forgotten unless a report wants it.
    #[inline]
    pub fn released(&mut self, slot: usize) {
        if !self.keep_selections {
            self.selection[slot] = None;
        }
    }
}
