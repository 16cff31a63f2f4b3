//! Jobs of a trace in the Standard Workload Format.
//!
//! The rules: the size is column 8, else column 5, else the job is submitted and denied as `no-size`; a limit of zero or below is
//! the queue's default, else unlimited; a job with a run time of zero or below ends at its start instant. With perfect
//! estimates the limit is the run time, at least one second. A job of a trace that runs to its end counts as completed, whatever the
//! trace says of its status: what fails in a replay is what the replay lets fail.

use super::{Jobs, QueueNames};
use crate::base::{Duration, FastMap, JobId, Timestamp};
use crate::formats::count::Count;
use crate::formats::swf::{Swf, SwfJob};
use crate::matcher::{Amount, Reason, Request, Shape};
use crate::replay::scenario::{LimitRule, QueueField, SwfUnit, SwfWork};
use crate::replay::workload::{Asked, DEFAULT_PRIORITY, Fate, TraceJob};
use std::sync::Arc;
use thiserror::Error;

/// Why a trace cannot be replayed as it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The map of queues has a key that cannot stand in the field.
    #[error("the map of queues names {found}: expected the number of a {field}, since that is what `by` says")]
    QueueNumber {
        /// The key.
        found: String,
        /// What the field is called.
        field: &'static str,
    },
}

/// The jobs of a trace, in file order.
///
/// # Errors
/// A map of queues that does not fit the field that decides.
pub fn trace(swf: &Swf, work: &SwfWork) -> Result<Jobs, TraceError> {
    let mut queues = QueueNames::default();
    let by = QueueRule::new(work, &mut queues)?;
    let rows = &swf.jobs[..work.first.unwrap_or(swf.jobs.len()).min(swf.jobs.len())];
    let shift = match work.start {
        Some(start) => {
            let first = rows.iter().map(|j| j.submit).min().unwrap_or(0);
            start.micros().saturating_sub(Timestamp::from_secs(first).micros())
        }
        None => 0,
    };
    let mut requests = Requests { unit: work.unit, by_size: FastMap::default() };
    let job = |row: &SwfJob| {
        let run = row.run_time();
        let limit = match work.limit {
            LimitRule::Requested => row.limit(),
            LimitRule::Runtime => Some(run.max(Duration::from_secs(1))),
        };
        let submit = Timestamp::from_secs(row.submit);
        TraceJob {
            id: JobId(row.id),
            submit: Timestamp::from_micros(submit.micros().saturating_add(shift)),
            run,
            limit,
            queue: by.queue(row),
            priority: DEFAULT_PRIORITY,
            userid: u32::try_from(row.user).unwrap_or(u32::MAX),
            size: row.size().map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            asked: requests.of(row),
            fate: Fate::Completes,
        }
    };
    Ok(Jobs { jobs: rows.iter().map(job).collect(), queues, instances: Vec::new() })
}

/// From what a row says to a queue's number.
struct QueueRule {
    field: QueueField,
    by_number: FastMap<i64, u16>,
    by_name: FastMap<String, u16>,
    others: Option<u16>,
}

impl QueueRule {
    fn new(work: &SwfWork, queues: &mut QueueNames) -> Result<Self, TraceError> {
        let (mut by_number, mut by_name) = (FastMap::default(), FastMap::default());
        for (key, name) in &work.map {
            let number = queues.number(name);
            let field = match work.by {
                QueueField::Name => {
                    by_name.insert(key.clone(), number);
                    continue;
                }
                QueueField::Queue => "queue",
                QueueField::Partition => "partition",
            };
            let key = key.parse().map_err(|_| TraceError::QueueNumber { found: key.clone(), field })?;
            by_number.insert(key, number);
        }
        let others = work.others.as_deref().map(|name| queues.number(name));
        Ok(Self { field: work.by, by_number, by_name, others })
    }

    #[inline]
    fn queue(&self, row: &SwfJob) -> Option<u16> {
        let named = match self.field {
            QueueField::Queue => self.by_number.get(&row.queue),
            QueueField::Partition => self.by_number.get(&row.partition),
            QueueField::Name => row.queue_name().and_then(|name| self.by_name.get(name)),
        };
        named.copied().or(self.others)
    }
}

/// One request per distinct size.
struct Requests {
    unit: SwfUnit,
    by_size: FastMap<u64, Arc<Request>>,
}

impl Requests {
    #[inline]
    fn of(&mut self, row: &SwfJob) -> Asked {
        let Some(size) = row.size() else { return Asked::Refused(Box::new(Reason::NoSize)) };
        let unit = self.unit;
        let make = || Arc::new(Request { shape: shape(size, unit), constraint: None, shared: Default::default() });
        Asked::Request(self.by_size.entry(size).or_insert_with(make).clone())
    }
}

fn shape(procs: u64, unit: SwfUnit) -> Shape {
    match unit {
        SwfUnit::Node { procs_per_node } => Shape::Whole {
            nodes: Count::fixed(procs.div_ceil(u64::from(procs_per_node.max(1)))),
            at_least: Amount::default(),
            slots_per_node: 1,
        },
        SwfUnit::Core => Shape::Slots { slots: Count::fixed(procs), slot: Amount { cores: 1, gpus: 0 } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::scenario::FileRef;

    fn work() -> SwfWork {
        SwfWork {
            file: FileRef::Own("x".into()),
            by: QueueField::Queue,
            map: vec![],
            others: None,
            unit: SwfUnit::Node { procs_per_node: 1 },
            limit: LimitRule::Requested,
            start: None,
            first: None,
        }
    }

    fn row(id: u64, submit: i64) -> SwfJob {
        SwfJob { submit, run: 60, req_procs: 3, req_time: 100, ..SwfJob::unknown(id) }
    }

    fn swf(jobs: Vec<SwfJob>) -> Swf {
        Swf { jobs, ..Swf::default() }
    }

    fn nodes(job: &TraceJob) -> u64 {
        match &job.asked {
            Asked::Request(request) => match &request.shape {
                Shape::Whole { nodes, .. } => nodes.min(),
                Shape::Slots { slots, .. } | Shape::Nodes { slots, .. } => slots.min(),
            },
            Asked::Refused(_) => 0,
        }
    }

    #[test]
    fn size_limit_and_run_follow_the_rules() {
        let rows = vec![
            row(1, 0),
            SwfJob { req_procs: -1, procs: 5, req_time: -1, ..row(2, 1) },
            SwfJob { req_procs: 0, procs: 0, run: -1, ..row(3, 2) },
        ];
        let jobs = trace(&swf(rows.clone()), &work()).unwrap().jobs;
        assert_eq!(jobs.iter().map(nodes).collect::<Vec<_>>(), [3, 5, 0]);
        assert!(matches!(&jobs[2].asked, Asked::Refused(reason) if **reason == Reason::NoSize));
        assert_eq!((jobs[0].limit, jobs[1].limit), (Some(Duration::from_secs(100)), None));
        assert_eq!(jobs[2].run, Duration::ZERO);
        let clairvoyant = SwfWork { limit: LimitRule::Runtime, ..work() };
        let jobs = trace(&swf(rows), &clairvoyant).unwrap().jobs;
        assert_eq!((jobs[0].limit, jobs[2].limit), (Some(Duration::from_secs(60)), Some(Duration::from_secs(1))));
    }

    #[test]
    fn maps_queues_and_shifts_times() {
        let rows = vec![SwfJob { queue: 1, ..row(1, 500) }, SwfJob { queue: 7, ..row(2, 510) }, row(3, 400)];
        let map = vec![("1".to_owned(), "batch".to_owned())];
        let start = Some(Timestamp::from_secs(10));
        let w = SwfWork { map, others: Some("rest".into()), start, first: Some(2), ..work() };
        let jobs = trace(&swf(rows), &w).unwrap();
        let seen: Vec<_> = jobs.jobs.iter().map(|j| (j.submit, j.queue)).collect();
        assert_eq!(seen, [(Timestamp::from_secs(10), Some(0)), (Timestamp::from_secs(20), Some(1))]);
        assert_eq!(jobs.queues.into_names(), ["batch", "rest"]);
        let w = SwfWork { map: vec![("x".into(), "batch".into())], ..work() };
        assert_eq!(
            trace(&swf(vec![]), &w).unwrap_err().to_string(),
            "the map of queues names x: expected the number of a queue, since that is what `by` says"
        );
    }

    #[test]
    fn processors_round_up_to_nodes_or_stay_slots() {
        let of = |unit| nodes(&trace(&swf(vec![row(1, 0)]), &SwfWork { unit, ..work() }).unwrap().jobs[0]);
        assert_eq!((of(SwfUnit::Node { procs_per_node: 2 }), of(SwfUnit::Core)), (2, 3));
    }
}
