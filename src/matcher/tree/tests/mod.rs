//! Tests of the engine on small graphs in text form, with requests and answers in one line each.

mod choice;
mod counts;
mod fast;
mod faults;
mod parts;

use super::{Engine, MatchError, Matched, Operation, Options, Status};
use crate::base::{Duration, JobId, Timestamp, VertexId};
use crate::formats::count::Count;
use crate::formats::jobspec::{Jobspec, Resource};
use crate::graph::Graph;
use std::sync::Arc;

/// Two racks of two nodes with four cores each.
const MACHINE: &str = "cluster c\n  rack\n    node n[0-1] cores=4\n  rack\n    node n[2-3] cores=4\n";

/// Resources as `node*2! / slot / core*4 + gpu`: `/` goes one level down, `+` adds a neighbour, `!` asks for the
/// vertex alone.
fn spec(text: &str) -> Jobspec {
    let resources = levels(&text.split('/').map(str::trim).collect::<Vec<_>>());
    Jobspec::new(resources, "task")
}

fn levels(levels: &[&str]) -> Vec<Resource> {
    let Some((first, rest)) = levels.split_first() else { return Vec::new() };
    let mut resources: Vec<Resource> = first.split('+').map(|word| resource(word.trim())).collect();
    if let Some(last) = resources.last_mut() {
        last.with = self::levels(rest);
    }
    resources
}

fn resource(word: &str) -> Resource {
    let (word, alone) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
    let (kind, count) = word.split_once('*').unwrap_or((word, "1"));
    let count: Count = count.parse().unwrap();
    let label = (kind == "slot").then(|| "task".to_owned());
    Resource { exclusive: alone.then_some(true), label, ..Resource::new(kind, count) }
}

/// An engine with the next job's number, times in seconds.
struct World {
    engine: Engine,
    next: u64,
}

impl World {
    fn new(graph: &str, policy: &str) -> Self {
        Self::with(graph, Options { policy: policy.parse().unwrap(), ..Options::default() })
    }

    fn with(graph: &str, options: Options) -> Self {
        let (graph, properties) = Graph::from_text(graph).unwrap();
        let mut engine = Engine::new(Arc::new(graph), options).unwrap();
        engine.add_properties(&properties);
        Self { engine, next: 1 }
    }

    fn try_match(&mut self, operation: Operation, now: i64, spec: &Jobspec) -> Result<Matched, MatchError> {
        let job = JobId(self.next);
        self.next += 1;
        let before = self.engine.planned_vertices();
        let result = self.engine.match_job(operation, job, Timestamp::from_secs(now), spec);
        self.check();
        if result.is_err() || operation.is_question() {
            assert_eq!(self.engine.planned_vertices(), before, "nothing is planned");
            assert!(!self.engine.knows(job));
        }
        result.map_err(|failure| failure.error)
    }

    /// Matches for a time limit in seconds (0 for none) and gives start and vertices, leaves only.
    fn run(&mut self, operation: Operation, now: i64, limit: i64, text: &str) -> String {
        let spec = spec(text).with_duration(Duration::from_secs(limit));
        match self.try_match(operation, now, &spec) {
            Ok(matched) => {
                let names = self.leaves(&matched);
                format!("{} {}", matched.at, names.join(" "))
            }
            Err(MatchError::Busy) => "busy".to_owned(),
            Err(MatchError::Unsatisfiable { .. }) => "never".to_owned(),
            Err(MatchError::Invalid { reason }) => format!("invalid: {reason}"),
        }
    }

    fn allocate(&mut self, now: i64, limit: i64, text: &str) -> String {
        self.run(Operation::Allocate, now, limit, text)
    }

    fn reserve(&mut self, now: i64, limit: i64, text: &str) -> String {
        self.run(Operation::AllocateOrElseReserve, now, limit, text)
    }

    /// Names of what is granted for itself and contains nothing else that is; of what is inside a node with its name.
    fn leaves(&self, matched: &Matched) -> Vec<String> {
        let graph = self.engine.graph();
        let granted = &matched.grant.vertices;
        let contains = |v: VertexId| granted.iter().any(|g| g.exclusive && g.vertex != v && graph.is_in(g.vertex, v));
        let mut names: Vec<String> = granted
            .iter()
            .filter(|g| g.exclusive && !contains(g.vertex))
            .map(|g| {
                let target = graph.target_of(g.vertex).and_then(|id| graph.target(id));
                let name = graph.vertex(g.vertex).name();
                match target.filter(|t| t.vertex != g.vertex) {
                    Some(node) => format!("{}.{name}", node.host),
                    None => name.into_owned(),
                }
            })
            .collect();
        names.sort();
        names
    }

    fn cancel(&mut self, job: u64) {
        self.engine.cancel(JobId(job)).unwrap();
        self.check();
    }

    fn down(&mut self, path: &str) {
        self.engine.set_status(path, Status::Down).unwrap();
    }

    fn up(&mut self, path: &str) {
        self.engine.set_status(path, Status::Up).unwrap();
    }

    /// The invariants of the module.
    fn check(&self) {
        check(&self.engine);
    }
}

/// Pools are never overbooked, filters count what is held below, and jobs know where they hold something.
fn check(engine: &Engine) {
    let graph = &engine.graph;
    for (&v, plan) in &engine.plans {
        assert!(!plan.holds.is_empty(), "an empty plan stays at {}", graph.path(v));
        let times: Vec<i64> = plan.pool.points_from(i64::MIN).chain(plan.jobs.points_from(i64::MIN)).collect();
        for &t in &times {
            let late = plan.holds.keys().any(|job| engine.jobs.get(job).is_some_and(|record| record.overruns > 0));
            assert!(late || plan.pool.at(t) <= graph.size(v) as i64, "{} is overbooked at {t}", graph.path(v));
            assert!(plan.pool.at(t) >= 0);
            for (position, _) in plan.below.iter().enumerate() {
                let free = engine.free_below(v, position, t, t);
                assert!(free >= 0, "the filter of {} says {free} at {t}", graph.path(v));
            }
        }
        for (job, hold) in &plan.holds {
            let record = engine.jobs.get(job).expect("a job that holds something is known");
            assert!(record.vertices.contains(&v), "job {job} does not know {}", graph.path(v));
            if hold.pool.is_none_or(|part| part.amount < graph.size(v) as i64) {
                continue;
            }
            // What is late may be in the way of what was promised, and the other way round.
            let is_late = |job: &JobId| engine.jobs.get(job).is_some_and(|record| record.overruns > 0);
            let others = plan.holds.iter().filter(|(other, _)| *other != job && !is_late(other) && !is_late(job));
            let part = hold.pool.unwrap();
            for (other, held) in others {
                let overlap = held.counted.is_some_and(|(from, until)| from < part.until && part.from < until);
                assert!(!overlap, "jobs {job} and {other} share {}", graph.path(v));
            }
        }
    }
    for (job, record) in &engine.jobs {
        for v in &record.vertices {
            assert!(engine.plans.get(v).is_some_and(|plan| plan.holds.contains_key(job)));
        }
        let used: i64 = record
            .vertices
            .iter()
            .filter_map(|v| {
                let hold = engine.plans.get(v)?.holds.get(job)?;
                let kind = graph.kind_id("core")?;
                let part = hold.pool?;
                let own = if graph.kind(*v) == kind { part.amount } else { 0 };
                Some(own + if hold.whole { graph.size_in(*v, kind) as i64 } else { 0 })
            })
            .sum();
        let root = engine.topology.roots[0];
        let counted = engine.filters.at(engine.ty(root)).iter().position(|&ty| engine.types.name(ty) == "core");
        if let (Some(position), Some(hold)) = (counted, engine.plan(root).and_then(|p| p.holds.get(job))) {
            let says = hold.below.as_ref().and_then(|below| below.amounts[position]).unwrap_or(0);
            assert_eq!(says, used, "cores of job {job} at the root");
        }
    }
}
