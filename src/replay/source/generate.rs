//! Jobs from a seed.
//!
//! Sizes, run times, limits, queues, constraints, users and distances of submissions are drawn from one stream each
//! ([`Stream`]), so that changing one leaves the others as they were. With `load`, the distances are scaled so
//! that the node-time of the jobs that were really drawn, over the time in which they come, is that share of what the
//! nodes have: the load is met by every seed, not only on average.

use super::{Jobs, QueueNames};
use crate::base::{Duration, FastMap, JobId, Timestamp};
use crate::formats::constraint::{Constraint, PropertyTerm};
use crate::formats::count::Count;
use crate::matcher::{Amount, Request, Shape};
use crate::replay::random::Stream;
use crate::replay::scenario::{Distribution, Generator, Interval};
use crate::replay::workload::{Asked, DEFAULT_PRIORITY, Fate, TraceJob};
use std::sync::Arc;
use thiserror::Error;

const DAY: f64 = 86_400.0;

/// Why jobs cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GenerateError {
    /// A property that no job may ask for.
    #[error("the constraint of generated jobs: {0}")]
    Property(String),
    /// More jobs than fit.
    #[error("{0} jobs are to be generated: expected at most {max}", max = u32::MAX)]
    TooMany(u64),
}

/// The jobs, numbered from `first_id`, in the order of their submission.
///
/// # Errors
/// A property with a character that constraints do not allow; more than 2³² jobs.
pub fn generate(g: &Generator, first_id: u64) -> Result<Jobs, GenerateError> {
    let count = u32::try_from(g.jobs).map_err(|_| GenerateError::TooMany(g.jobs))? as usize;
    let stream = |name| Stream::named(g.seed, name);
    let (mut sizes, mut runs, mut limits) = (stream("sizes"), stream("run"), stream("limit"));
    let (mut queue, mut user) = (stream("queue"), stream("user"));
    let mut requests = Requests::new(g, stream("constraint"))?;
    let mut queues = QueueNames::default();
    let numbers: Vec<u16> = g.queues.iter().map(|(name, _)| queues.number(name)).collect();
    let weights: Vec<f64> = g.queues.iter().map(|(_, weight)| *weight).collect();
    let mut jobs: Vec<TraceJob> = Vec::with_capacity(count);
    let mut node_secs = 0.0;
    for k in 0..count as u64 {
        let size = draw(&g.sizes, &mut sizes).round().clamp(1.0, f64::from(u32::MAX)) as u32;
        // Whole seconds, as in traces; a job of no length would not be one.
        let run = draw(&g.run, &mut runs).round().max(1.0);
        let limit = (run * draw(&g.limit, &mut limits) / 60.0).ceil().max(1.0) * 60.0;
        node_secs += f64::from(size) * run;
        jobs.push(TraceJob {
            id: JobId(first_id + k),
            submit: g.start,
            run: Duration::from_secs(run as i64),
            limit: Some(Duration::from_secs(limit as i64)),
            queue: numbers.get(queue.weighted(&weights)).copied(),
            priority: DEFAULT_PRIORITY,
            userid: 1 + user.below(u64::from(g.users)) as u32,
            size,
            asked: Asked::Request(requests.of(size)),
            fate: Fate::Completes,
        });
    }
    submit_times(g, node_secs, &mut stream("arrival"), &mut jobs);
    Ok(Jobs { jobs, queues, instances: Vec::new() })
}

/// Spreads the submissions: exponential distances, to the whole second, their rate following the daily wave.
fn submit_times(g: &Generator, node_secs: f64, stream: &mut Stream, jobs: &mut [TraceJob]) {
    let distances: Vec<f64> = jobs.iter().map(|_| stream.exponential()).collect();
    let scale = match g.interval {
        Interval::Mean(mean) => mean.secs_f64(),
        Interval::Load { load, nodes } => {
            let sum: f64 = distances.iter().sum();
            if sum > 0.0 { node_secs / (load * f64::from(nodes)) / sum } else { 0.0 }
        }
    };
    let mut even = 0.0;
    for (job, distance) in jobs.iter_mut().zip(distances) {
        even += distance * scale;
        let at = along_wave(even, g.daily).round();
        job.submit = Timestamp::from_micros(g.start.micros().saturating_add(Timestamp::from_secs(at as i64).micros()));
    }
}

/// The time by which as many jobs have come at the rate `1 + daily · sin(2πt / day)` as at rate 1 by time `even`.
fn along_wave(even: f64, daily: f64) -> f64 {
    if daily == 0.0 {
        return even;
    }
    let turn = std::f64::consts::TAU / DAY;
    let by = |t: f64| t + daily / turn * (1.0 - (turn * t).cos());
    // The wave adds between nothing and 2·daily/turn; `by` never falls since daily is at most 1.
    let (mut low, mut high) = ((even - 2.0 * daily / turn).max(0.0), even);
    while high - low > 0.25 {
        let middle = (low + high) / 2.0;
        if by(middle) < even { low = middle } else { high = middle }
    }
    high
}

/// One number of a distribution.
fn draw(distribution: &Distribution, stream: &mut Stream) -> f64 {
    match *distribution {
        Distribution::Uniform { min, max } => min + stream.unit() * (max - min),
        Distribution::LogUniform { min, max } => stream.log_uniform(min, max).clamp(min, max),
        Distribution::PowerOfTwo { min, max } => {
            let (low, high) = (min.max(1.0).log2().ceil() as u64, max.max(1.0).log2().floor() as u64);
            let exponent = low + stream.below(high.saturating_sub(low) + 1);
            2f64.powi(exponent.min(1023) as i32)
        }
        Distribution::LogNormal { min, max, median, sigma } => {
            // Box and Muller; the second number of the pair is not used, so that each draw is two words of the stream.
            let radius = (2.0 * stream.exponential()).sqrt();
            let normal = radius * (std::f64::consts::TAU * stream.unit()).cos();
            (median * (sigma * normal).exp()).clamp(min, max)
        }
    }
}

/// One request per distinct size and property.
struct Requests {
    share: f64,
    constraints: Vec<Constraint>,
    stream: Stream,
    made: FastMap<(u32, usize), Arc<Request>>,
}

impl Requests {
    fn new(g: &Generator, stream: Stream) -> Result<Self, GenerateError> {
        let (share, properties) = g.constraint.as_ref().map_or((0.0, &[][..]), |c| (c.share, &c.properties));
        let term = |p: &String| match PropertyTerm::parse(p) {
            Ok(term) => Ok(Constraint::Properties(vec![term])),
            Err(e) => Err(GenerateError::Property(e.to_string())),
        };
        let constraints = properties.iter().map(term).collect::<Result<_, _>>()?;
        Ok(Self { share, constraints, stream, made: FastMap::default() })
    }

    fn of(&mut self, size: u32) -> Arc<Request> {
        let constrained = !self.constraints.is_empty() && self.stream.chance(self.share);
        // Zero: no constraint.
        let which = if constrained { 1 + self.stream.below(self.constraints.len() as u64) as usize } else { 0 };
        let constraints = &self.constraints;
        let make = || {
            let nodes = Count::fixed(u64::from(size));
            let shape = Shape::Whole { nodes, at_least: Amount::default(), slots_per_node: 1 };
            Arc::new(Request {
                shape,
                constraint: which.checked_sub(1).map(|i| constraints[i].clone()),
                shared: Default::default(),
            })
        };
        self.made.entry((size, which)).or_insert_with(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::scenario::GenerateConstraint;

    fn generator() -> Generator {
        Generator {
            seed: 1,
            jobs: 5_000,
            start: Timestamp::from_secs(100),
            interval: Interval::Load { load: 0.8, nodes: 64 },
            daily: 0.0,
            sizes: Distribution::LogUniform { min: 1.0, max: 32.0 },
            run: Distribution::LogUniform { min: 60.0, max: 36_000.0 },
            limit: Distribution::Uniform { min: 1.0, max: 4.0 },
            queues: vec![("a".into(), 3.0), ("b".into(), 1.0)],
            constraint: Some(GenerateConstraint { share: 0.2, properties: vec!["gpu".into(), "^old".into()] }),
            users: 7,
        }
    }

    fn shares(jobs: &Jobs, test: impl Fn(&TraceJob) -> bool) -> f64 {
        jobs.jobs.iter().filter(|j| test(j)).count() as f64 / jobs.jobs.len() as f64
    }

    #[test]
    fn meets_load_weights_and_shares() {
        let jobs = generate(&generator(), 11).unwrap();
        let work: f64 = jobs.jobs.iter().map(|j| f64::from(j.size) * j.run.secs_f64()).sum();
        let last = jobs.jobs.last().unwrap();
        let offered = work / (last.submit.since(Timestamp::from_secs(100)).secs_f64() * 64.0);
        assert!((offered - 0.8).abs() < 0.001, "{offered}");
        assert_eq!((jobs.jobs[0].id, last.id), (JobId(11), JobId(5_010)));
        assert!((shares(&jobs, |j| j.queue == Some(0)) - 0.75).abs() < 0.03);
        let constrained = |j: &TraceJob| matches!(&j.asked, Asked::Request(r) if r.constraint.is_some());
        assert!((shares(&jobs, constrained) - 0.2).abs() < 0.03);
        assert!(jobs.jobs.iter().all(|j| j.limit.unwrap() >= j.run && (1..=7).contains(&j.userid)));
        assert!(jobs.jobs.is_sorted_by_key(|j| j.submit));
    }

    #[test]
    fn one_setting_leaves_the_other_streams_alone() {
        let a = generate(&generator(), 1).unwrap().jobs;
        let b = generate(&Generator { sizes: Distribution::PowerOfTwo { min: 1.0, max: 32.0 }, ..generator() }, 1);
        let b = b.unwrap().jobs;
        assert!(a.iter().zip(&b).all(|(a, b)| (a.run, a.limit, a.queue) == (b.run, b.limit, b.queue)));
        assert!(b.iter().all(|j| j.size.is_power_of_two()));
        assert!(a.iter().zip(&b).any(|(a, b)| a.size != b.size));
    }

    #[test]
    fn the_daily_wave_moves_submissions_but_not_their_number() {
        let even = Generator { interval: Interval::Mean(Duration::from_secs(86)), ..generator() };
        let wave = Generator { daily: 0.9, ..even.clone() };
        let in_first_half = |g: &Generator| {
            let day = |j: &TraceJob| (j.submit.secs_f64() - 100.0).rem_euclid(DAY) < DAY / 2.0;
            shares(&generate(g, 1).unwrap(), day)
        };
        assert!((in_first_half(&even) - 0.5).abs() < 0.05);
        // 1/2 + daily/π of the jobs come while the wave is high.
        assert!((in_first_half(&wave) - (0.5 + 0.9 / std::f64::consts::PI)).abs() < 0.05);
    }

    #[test]
    fn refuses_a_property_that_cannot_be_asked_for() {
        let constraint = Some(GenerateConstraint { share: 1.0, properties: vec!["a|b".into()] });
        let error = generate(&Generator { constraint, ..generator() }, 1).unwrap_err();
        assert!(error.to_string().starts_with("the constraint of generated jobs: character"), "{error}");
    }
}
