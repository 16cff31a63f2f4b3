//! The workload: jobs with their submit times, run times and requests, in the order in which they are submitted.
//!
//! Decides the order (submit time, then id) and how a job is found by its id; does not decide where jobs come from (see
//! `trace` and `generate`) nor what becomes of them.
//!
//! Invariants: jobs ascend by (submit, id); no id stands twice; queue numbers index `queues`.

use super::nested::Nested;
use crate::base::{Duration, FastMap, JobId, Priority, Timestamp};
use crate::matcher::{Reason, Request};
use std::sync::Arc;
use thiserror::Error;

/// The priority of a job that says nothing about it (RFC 30).
pub const DEFAULT_PRIORITY: Priority = Priority(16);

/// What a job asks for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// These resources. Jobs that ask for the same share one request.
    Request(Arc<Request>),
    /// Nothing that could be understood: the job is submitted and denied for this reason.
    Refused(Box<Reason>),
}

/// How a job ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It completes.
    Completes,
    /// It fails.
    Fails,
}

/// One job of a workload.
#[derive(Clone, Debug)]
pub struct TraceJob {
    /// Its id.
    pub id: JobId,
    /// When it is submitted.
    pub submit: Timestamp,
    /// How long it runs once started; zero: it ends at its start instant, in a further step.
    pub run: Duration,
    /// Its time limit; `None`: the queue's default, else unlimited.
    pub limit: Option<Duration>,
    /// The number of its queue in [`Workload::queues`]; `None`: the default queue.
    pub queue: Option<u16>,
    /// Higher first.
    pub priority: Priority,
    /// Who submits it.
    pub userid: u32,
    /// How many units it asks for, as the trace counts them; for reports.
    pub size: u32,
    /// What it asks for.
    pub asked: Asked,
    /// How it ends.
    pub fate: Fate,
}

/// Why a workload cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// Two jobs have one id.
    #[error("job {id} stands in the workload twice, submitted at {first} and at {second}: ids must be unique")]
    DuplicateId {
        /// The id.
        id: JobId,
        /// Submit time of the first.
        first: Timestamp,
        /// Submit time of the second.
        second: Timestamp,
    },
    /// More jobs than can be numbered.
    #[error("the workload has {0} jobs: at most {max} can be replayed", max = u32::MAX)]
    TooMany(usize),
    /// More queues than can be numbered.
    #[error("the workload names {0} queues: at most {max} can be told apart", max = u16::MAX)]
    TooManyQueues(usize),
}

/// Jobs in the order of their submission.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    jobs: Vec<TraceJob>,
    queues: Vec<String>,
    slots: Slots,
    nested: FastMap<JobId, Arc<Nested>>,
}

impl Workload {
    /// Sorts the jobs and indexes them.
    ///
    /// # Errors
    /// An id that stands twice; more jobs or queues than fit.
    pub fn new(mut jobs: Vec<TraceJob>, queues: Vec<String>) -> Result<Self, WorkloadError> {
        if u32::try_from(jobs.len()).is_err() {
            return Err(WorkloadError::TooMany(jobs.len()));
        }
        if queues.len() > usize::from(u16::MAX) {
            return Err(WorkloadError::TooManyQueues(queues.len()));
        }
        if !jobs.is_sorted_by_key(|j| (j.submit, j.id)) {
            jobs.sort_unstable_by_key(|j| (j.submit, j.id));
        }
        let slots = Slots::new(&jobs)?;
        Ok(Self { jobs, queues, slots, nested: FastMap::default() })
    }

    /// With instances that some of the jobs run.
    #[must_use]
    pub fn with_nested(self, nested: FastMap<JobId, Arc<Nested>>) -> Self {
        Self { nested, ..self }
    }

    /// The instance that a job runs, if it does.
    pub fn nested(&self, id: JobId) -> Option<&Nested> {
        // Mostly there is none.
        if self.nested.is_empty() { None } else { self.nested.get(&id).map(|nested| &**nested) }
    }

    /// Whether any job runs an instance.
    pub fn has_nested(&self) -> bool {
        !self.nested.is_empty()
    }

    /// The jobs, ascending by submit time and id. A job's position is its slot.
    #[inline]
    pub fn jobs(&self) -> &[TraceJob] {
        &self.jobs
    }

    /// The names of the queues that jobs name.
    pub fn queues(&self) -> &[String] {
        &self.queues
    }

    /// The name of a job's queue.
    pub fn queue_of(&self, job: &TraceJob) -> Option<&str> {
        job.queue.map(|q| self.queues[usize::from(q)].as_str())
    }

    /// The slot of a job.
    #[inline]
    pub fn slot(&self, id: JobId) -> Option<usize> {
        self.slots.get(id)
    }
}

/// From id to slot: an array where ids are dense, else a hash map.
#[derive(Clone, Debug)]
enum Slots {
    Dense { low: u64, slots: Vec<u32> },
    Sparse(FastMap<JobId, u32>),
}

impl Default for Slots {
    fn default() -> Self {
        Slots::Dense { low: 0, slots: Vec::new() }
    }
}

const NO_SLOT: u32 = u32::MAX;

impl Slots {
    fn new(jobs: &[TraceJob]) -> Result<Self, WorkloadError> {
        let duplicate = |slot: u32, job: &TraceJob| {
            let first = jobs[slot as usize].submit;
            Err(WorkloadError::DuplicateId { id: job.id, first, second: job.submit })
        };
        let low = jobs.iter().map(|j| j.id.0).min().unwrap_or(0);
        let high = jobs.iter().map(|j| j.id.0).max().unwrap_or(0);
        if (high - low) / 4 <= jobs.len() as u64 {
            let mut slots = vec![NO_SLOT; (high - low) as usize + 1];
            for (slot, job) in jobs.iter().enumerate() {
                let old = std::mem::replace(&mut slots[(job.id.0 - low) as usize], slot as u32);
                if old != NO_SLOT {
                    return duplicate(old, job);
                }
            }
            return Ok(Slots::Dense { low, slots });
        }
        let mut slots = FastMap::with_capacity_and_hasher(jobs.len(), Default::default());
        for (slot, job) in jobs.iter().enumerate() {
            if let Some(old) = slots.insert(job.id, slot as u32) {
                return duplicate(old, job);
            }
        }
        Ok(Slots::Sparse(slots))
    }

    #[inline]
    fn get(&self, id: JobId) -> Option<usize> {
        match self {
            Slots::Dense { low, slots } => {
                let at = usize::try_from(id.0.checked_sub(*low)?).ok()?;
                slots.get(at).copied().filter(|s| *s != NO_SLOT).map(|s| s as usize)
            }
            Slots::Sparse(slots) => slots.get(&id).map(|s| *s as usize),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn job(id: u64, submit: i64) -> TraceJob {
        TraceJob {
            id: JobId(id),
            submit: Timestamp::from_secs(submit),
            run: Duration::from_secs(1),
            limit: None,
            queue: None,
            priority: DEFAULT_PRIORITY,
            userid: 0,
            size: 1,
            asked: Asked::Refused(Box::new(Reason::NoSize)),
            fate: Fate::Completes,
        }
    }

    fn ids(w: &Workload) -> Vec<u64> {
        w.jobs().iter().map(|j| j.id.0).collect()
    }

    #[test]
    fn sorts_what_goes_back_in_time_and_finds_by_id() {
        for stretch in [1, 1_000_000] {
            let jobs = [(3, 5), (1, 9), (2, 5)].map(|(id, submit)| job(id * stretch, submit));
            let w = Workload::new(jobs.to_vec(), vec![]).unwrap();
            assert_eq!(ids(&w), [2, 3, 1].map(|id| id * stretch));
            assert_eq!((w.slot(JobId(stretch)), w.slot(JobId(4 * stretch)), w.slot(JobId(0))), (Some(2), None, None));
        }
    }

    #[test]
    fn refuses_an_id_that_stands_twice() {
        for stretch in [1, 1_000_000] {
            let jobs = [(1, 5), (2, 6), (1, 9)].map(|(id, submit)| job(id * stretch, submit));
            let error = Workload::new(jobs.to_vec(), vec![]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("job {stretch} stands in the workload twice, submitted at 5 and at 9: ids must be unique")
            );
        }
    }
}
