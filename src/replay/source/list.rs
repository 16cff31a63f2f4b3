//! Jobs that a scenario lists one by one.

use super::{Jobs, QueueNames};
use crate::base::{Duration, JobId, Priority, Timestamp};
use crate::formats::constraint::{Constraint, PropertyTerm};
use crate::formats::count::{Count, CountError, Step};
use crate::matcher::{Amount, PoolNeed, PoolNeeds, Reason, Request, Shape};
use crate::replay::scenario::{Job, JobWork, PerNode, Size};
use crate::replay::workload::{Asked, Fate, TraceJob};
use std::sync::Arc;
use thiserror::Error;

/// Why a listed job cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListError {
    /// A count that no request can have.
    #[error("the job in line {line}: {source}")]
    Count {
        /// The line of the scenario.
        line: usize,
        /// Why not.
        source: CountError,
    },
    /// A property that no job may ask for.
    #[error("the job in line {line}: {problem}")]
    Property {
        /// The line of the scenario.
        line: usize,
        /// Why not.
        problem: String,
    },
    /// A jobspec that cannot be read.
    #[error("the job in line {line}: {problem}")]
    Jobspec {
        /// The line of the scenario.
        line: usize,
        /// Why not.
        problem: String,
    },
}

/// What a jobspec says.
#[derive(Clone, Debug)]
pub struct Spec {
    /// What it asks for.
    pub asked: Result<Request, Reason>,
    /// Its duration; `None`: it names none.
    pub limit: Option<Duration>,
    /// Its queue.
    pub queue: Option<String>,
}

/// The listed jobs; those without an id are numbered on from `next_id`. `jobspec` reads the jobspec of a job that names one.
///
/// # Errors
/// The first job that cannot be understood. A jobspec that asks for something that no scheduler serves is no error: its job
/// is submitted and denied.
pub fn list(
    jobs: &[Job],
    next_id: u64,
    jobspec: &mut dyn FnMut(&JobWork) -> Result<Spec, String>,
) -> Result<Jobs, ListError> {
    let mut queues = QueueNames::default();
    let mut next = next_id;
    let (mut all, mut instances) = (Vec::new(), Vec::new());
    for job in jobs {
        let spec = spec(job, jobspec)?;
        let asked = match spec.asked {
            Ok(request) => Asked::Request(Arc::new(request)),
            Err(reason) => Asked::Refused(Box::new(reason)),
        };
        let queue = job.queue.as_deref().or(spec.queue.as_deref()).map(|name| queues.number(name));
        let first = job.id.unwrap_or(next);
        for k in 0..u64::from(job.count) {
            let later = job.every.micros().saturating_mul(k as i64);
            let id = JobId(first.saturating_add(k));
            instances.extend(job.instance.iter().map(|name| (id, name.clone())));
            all.push(TraceJob {
                id,
                submit: Timestamp::from_micros(job.at.micros().saturating_add(later)),
                run: job.run,
                limit: job.limit.or(spec.limit),
                queue,
                priority: Priority(job.priority.into()),
                userid: job.user,
                size: size(job, &asked),
                asked: asked.clone(),
                fate: if job.fails { Fate::Fails } else { Fate::Completes },
            });
        }
        next = next.max(first.saturating_add(u64::from(job.count)));
    }
    Ok(Jobs { jobs: all, queues, instances })
}

fn spec(job: &Job, jobspec: &mut dyn FnMut(&JobWork) -> Result<Spec, String>) -> Result<Spec, ListError> {
    let count = |size: Size| count(size).map_err(|source| ListError::Count { line: job.line, source });
    let shape = match &job.work {
        JobWork::Whole { nodes } => {
            Shape::Whole { nodes: count(*nodes)?, at_least: Amount::default(), slots_per_node: 1 }
        }
        JobWork::Parts { nodes, each } => Shape::Nodes {
            nodes: count(*nodes)?,
            slots: count(Size { min: each.slots, max: each.slots })?,
            slot: amount(each),
        },
        JobWork::Slots { slots, each } => Shape::Slots { slots: count(*slots)?, slot: amount(each) },
        JobWork::JobspecFile(_) | JobWork::JobspecText(_) => {
            let mut spec = jobspec(&job.work).map_err(|problem| ListError::Jobspec { line: job.line, problem })?;
            if let (Some(more), Ok(request)) = (constraint(job)?, &mut spec.asked) {
                request.constraint = Some(match request.constraint.take() {
                    Some(own) => Constraint::And(vec![own, more]),
                    None => more,
                });
            }
            if let (false, Ok(request)) = (shared(job).is_empty(), &mut spec.asked) {
                let PoolNeeds { needs, within } = shared(job);
                request.shared.needs.extend(needs);
                request.shared.within = within.or(request.shared.within.take());
            }
            return Ok(spec);
        }
    };
    let request = Request { shape, constraint: constraint(job)?, shared: shared(job) };
    Ok(Spec { asked: Ok(request), limit: None, queue: None })
}

/// What the job takes of pools.
fn shared(job: &Job) -> PoolNeeds {
    let within = job.within.is_some();
    let need = |(kind, amount): &(String, u64)| PoolNeed { kind: kind.clone(), amount: *amount, within };
    PoolNeeds { needs: job.pools.iter().map(need).collect(), within: job.within.clone() }
}

fn count(size: Size) -> Result<Count, CountError> {
    if size.min == size.max && size.min > 0 {
        return Ok(Count::fixed(u64::from(size.min)));
    }
    Count::range(u64::from(size.min), Some(u64::from(size.max)), Step::Add(1))
}

fn amount(each: &PerNode) -> Amount {
    Amount { cores: each.cores, gpus: each.gpus }
}

fn constraint(job: &Job) -> Result<Option<Constraint>, ListError> {
    if job.properties.is_empty() {
        return Ok(None);
    }
    let terms = job.properties.iter().map(|p| PropertyTerm::parse(p)).collect::<Result<_, _>>();
    let terms = terms.map_err(|e| ListError::Property { line: job.line, problem: e.to_string() })?;
    Ok(Some(Constraint::Properties(terms)))
}

/// The number of units for reports: the least that the job takes.
fn size(job: &Job, asked: &Asked) -> u32 {
    match (&job.work, asked) {
        (JobWork::Whole { nodes: n } | JobWork::Parts { nodes: n, .. } | JobWork::Slots { slots: n, .. }, _) => {
            let places = job.within.as_ref().map_or(1, |within| within.count);
            n.min.saturating_mul(u32::try_from(places).unwrap_or(u32::MAX))
        }
        (_, Asked::Refused(_)) => 0,
        (_, Asked::Request(request)) => {
            let (Shape::Whole { nodes: n, .. } | Shape::Nodes { nodes: n, .. } | Shape::Slots { slots: n, .. }) =
                &request.shape;
            u32::try_from(n.min().saturating_mul(request.shared.places())).unwrap_or(u32::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: Option<u64>, count: u32) -> Job {
        Job {
            id,
            at: Timestamp::from_secs(5),
            count,
            every: Duration::from_secs(2),
            queue: Some("batch".into()),
            work: JobWork::Whole { nodes: Size { min: 2, max: 2 } },
            properties: vec![],
            pools: vec![],
            within: None,
            run: Duration::from_secs(60),
            instance: None,
            limit: None,
            user: 3,
            priority: 16,
            fails: false,
            line: 9,
        }
    }

    fn none(_: &JobWork) -> Result<Spec, String> {
        Err("no jobspec here".into())
    }

    #[test]
    fn numbers_go_on_and_repeats_are_spread() {
        let jobs = list(&[job(None, 2), job(Some(50), 2), job(None, 1)], 7, &mut none).unwrap().jobs;
        let seen: Vec<_> = jobs.iter().map(|j| (j.id.0, j.submit.micros() / 1_000_000)).collect();
        assert_eq!(seen, [(7, 5), (8, 7), (50, 5), (51, 7), (52, 5)]);
    }

    #[test]
    fn a_jobspec_gets_the_jobs_properties_too() {
        let text = JobWork::JobspecText("x".into());
        let with = Job { work: text, properties: vec!["gpu".into()], ..job(None, 1) };
        let own = Constraint::Properties(vec![PropertyTerm::parse("big").unwrap()]);
        let mut read = |_: &JobWork| {
            let shape = Shape::Slots { slots: Count::fixed(4), slot: Amount { cores: 1, gpus: 0 } };
            let request = Request { shape, constraint: Some(own.clone()), shared: Default::default() };
            Ok(Spec { asked: Ok(request), limit: Some(Duration::from_secs(9)), queue: None })
        };
        let jobs = list(std::slice::from_ref(&with), 1, &mut read).unwrap().jobs;
        let Asked::Request(request) = &jobs[0].asked else { panic!("refused") };
        assert!(matches!(&request.constraint, Some(Constraint::And(both)) if both.len() == 2));
        assert_eq!((jobs[0].limit, jobs[0].size), (Some(Duration::from_secs(9)), 4));
        let error = list(&[with], 1, &mut none).unwrap_err();
        assert_eq!(error.to_string(), "the job in line 9: no jobspec here");
    }

    #[test]
    fn refuses_what_no_request_can_have() {
        let bad = Job { properties: vec!["a|b".into()], ..job(None, 1) };
        assert!(matches!(list(&[bad], 1, &mut none), Err(ListError::Property { line: 9, .. })));
    }
}
