//! The index against the walk: one engine with it, one without, the same commands.

use crate::base::{Duration, JobId, Timestamp};
use crate::formats::constraint::{Constraint, PropertyTerm};
use crate::formats::count::Count;
use crate::formats::idset::Idset;
use crate::formats::jobspec::{Jobspec, Resource};
use crate::graph::Graph;
use crate::matcher::tree::*;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Op {
    Match(Operation, Request),
    Wait(i64),
    Cancel(prop::sample::Index),
    CancelRank(prop::sample::Index, u32),
    Status(&'static str, prop::sample::Index, Status),
    Property(prop::sample::Index, &'static str, bool),
    Find,
    Remove(prop::sample::Index),
}

#[derive(Clone, Debug)]
struct Request {
    form: u8,
    count: u64,
    cores: u64,
    exclusive: Option<bool>,
    seconds: Option<i64>,
    constraint: Option<(&'static str, bool)>,
}

impl Request {
    fn jobspec(&self) -> Jobspec {
        let of = |kind: &str, count: u64, exclusive: Option<bool>, with: Vec<Resource>| {
            let mut resource = Resource::new(kind, Count::fixed(count));
            resource.exclusive = exclusive;
            resource.with = with;
            resource
        };
        let core = || of("core", self.cores, None, vec![]);
        let slot = |count: u64, with| Resource::slot("task", Count::fixed(count), vec![with]);
        let gpu = || of("gpu", 1, None, vec![]);
        let resource = match self.form {
            0 => of("node", self.count, self.exclusive, vec![slot(1, core())]),
            1 => of("node", self.count, self.exclusive, vec![slot(self.cores, of("core", 1, None, vec![]))]),
            2 => of("node", self.count, Some(true), vec![]),
            3 => of("node", self.count, Some(true), vec![core()]),
            4 => slot(self.count, of("node", 1, self.exclusive, vec![])),
            5 => slot(self.count, of("node", 1, Some(true), vec![core()])),
            6 => slot(1, core()),
            7 => slot(self.count, core()),
            8 => of("rack", 1, self.exclusive, vec![slot(1, of("node", self.count, None, vec![]))]),
            9 => of("node", self.count, self.exclusive, vec![slot(1, gpu())]),
            _ => of("rack", 1, None, vec![of("node", 1, None, vec![slot(1, gpu())])]),
        };
        let mut spec = Jobspec::new(vec![resource], "task");
        if let Some(seconds) = self.seconds {
            spec = spec.with_duration(Duration::from_secs(seconds));
        }
        match self.constraint {
            None => spec,
            Some((name, negated)) => {
                let has = |name: &str| Constraint::Properties(vec![PropertyTerm { name: name.to_owned(), negated }]);
                let some = Idset::from_iter(0..self.cores as u32);
                spec.with_constraint(match name {
                    "ranks" => Constraint::Ranks(some),
                    "hosts" => Constraint::Hostlist("node[1-3,7]".parse().unwrap()),
                    "or" => Constraint::Or(vec![has("a"), Constraint::Ranks(some)]),
                    "not" => Constraint::Not(vec![has("a"), has("node1")]),
                    "and" => Constraint::And(vec![has("b"), Constraint::Not(vec![Constraint::Ranks(some)])]),
                    name => has(name),
                })
            }
        }
    }
}

fn any_request() -> impl Strategy<Value = Request> {
    let exclusive = prop_oneof![3 => Just(None), 2 => Just(Some(true)), 1 => Just(Some(false))];
    let constraint = prop::option::weighted(
        0.3,
        (
            prop::sample::select(vec!["a", "b", "c", "a", "b", "node2", "ranks", "hosts", "or", "not", "and"]),
            prop::bool::weighted(0.2),
        ),
    );
    let form = prop_oneof![12 => 0..8u8, 1 => 8..11u8];
    (form, 1..4u64, 1..4u64, exclusive, prop::option::weighted(0.9, 1..20i64), constraint).prop_map(
        |(form, count, cores, exclusive, seconds, constraint)| Request {
            form,
            count,
            cores,
            exclusive,
            seconds,
            constraint,
        },
    )
}

fn any_op() -> impl Strategy<Value = Op> {
    let operation = prop::sample::select(vec![
        Operation::Allocate,
        Operation::Allocate,
        Operation::AllocateOrElseReserve,
        Operation::AllocateOrElseReserve,
        Operation::AllocateWithSatisfiability,
        Operation::WithoutAllocating,
        Operation::WithoutAllocatingFuture,
        Operation::Satisfiability,
    ]);
    let status = || prop::sample::select(vec![Status::Up, Status::Up, Status::Down]);
    let index = any::<prop::sample::Index>;
    prop_oneof![
        20 => (operation, any_request()).prop_map(|(operation, request)| Op::Match(operation, request)),
        2 => (0..9i64).prop_map(Op::Wait),
        6 => index().prop_map(Op::Cancel),
        1 => (index(), 0..6u32).prop_map(|(job, rank)| Op::CancelRank(job, rank)),
        2 => (prop::sample::select(vec!["node", "node", "node", "rack", "core"]), index(), status())
            .prop_map(|(kind, which, status)| Op::Status(kind, which, status)),
        1 => (index(), prop::sample::select(vec!["a", "b"]), any::<bool>())
            .prop_map(|(node, name, set)| Op::Property(node, name, set)),
        1 => Just(Op::Find),
        1 => index().prop_map(Op::Remove),
    ]
}

const POLICIES: [&str; 8] = ["first", "firstnodex", "high", "low", "hinode", "lonode", "hinodex", "lonodex"];

fn run(policy: &str, racks: &[Vec<(u8, u8)>], stray: bool, ops: Vec<Op>) -> Result<usize, TestCaseError> {
    let mut text = String::from("cluster\n");
    let mut id = 0;
    for nodes in racks {
        text.push_str("  rack\n");
        for (cores, gpus) in nodes {
            text.push_str(&format!("    node[{id}] cores={cores} gpus={gpus}\n"));
            id += 1;
        }
    }
    if stray {
        text.push_str("    core\n");
    }
    let graph = Arc::new(Graph::from_text(&text).unwrap().0);
    let options = Options { policy: policy.parse().unwrap(), ..Options::default() };
    let mut engine = Engine::new(graph.clone(), options.clone()).unwrap();
    let mut walker = Engine::new(graph, options).unwrap().without_index();
    assert!(!walker.has_index());
    prop_assert!(engine.has_index());
    let mut now = Timestamp::ZERO;
    let mut jobs: Vec<JobId> = Vec::new();
    let mut short = 0;
    for (number, op) in ops.into_iter().enumerate() {
        let job = JobId(number as u64 + 1);
        let vertices = |kind: &str| engine.graph().of_kind(engine.graph().kind_id(kind).unwrap()).to_vec();
        match op {
            Op::Match(operation, request) => {
                let spec = request.jobspec();
                short += usize::from(
                    shape::Shape::of(&spec.resources, &engine.options().policy, shape::SlotsFrom::FirstNode).is_some(),
                );
                let ours = engine.match_job(operation, job, now, &spec);
                let theirs = walker.match_job(operation, job, now, &spec);
                match (ours, theirs) {
                    (Ok(ours), Ok(theirs)) => {
                        let say = |m: &Matched| (m.at, m.end, m.mode, m.grant.clone());
                        prop_assert_eq!(say(&ours), say(&theirs), "{:?} {:?}", operation, spec.resources);
                        jobs.extend((!operation.is_question()).then_some(job));
                    }
                    (ours, theirs) => prop_assert_eq!(
                        ours.map_err(|e| e.error),
                        theirs.map_err(|e| e.error),
                        "{:?} {:?}",
                        operation,
                        spec.resources
                    ),
                }
            }
            Op::Wait(seconds) => {
                now = now + Duration::from_secs(seconds);
            }
            Op::Cancel(which) if !jobs.is_empty() => {
                let job = jobs.swap_remove(which.index(jobs.len()));
                prop_assert_eq!(engine.cancel(job).map(|c| c.full), walker.cancel(job).map(|c| c.full));
            }
            Op::CancelRank(which, rank) if !jobs.is_empty() => {
                let (job, rank) = (jobs[which.index(jobs.len())], Idset::from_iter([rank]));
                let ours = engine.cancel_part(job, CancelPart::Ranks(&rank));
                prop_assert_eq!(ours, walker.cancel_part(job, CancelPart::Ranks(&rank)));
            }
            Op::Status(kind, which, status) => {
                let of_kind = vertices(kind);
                if !of_kind.is_empty() {
                    let path = engine.graph().path(of_kind[which.index(of_kind.len())]);
                    prop_assert_eq!(engine.set_status(&path, status), walker.set_status(&path, status));
                }
            }
            Op::Property(which, name, set) => {
                let nodes = vertices("node");
                if !nodes.is_empty() {
                    let v = nodes[which.index(nodes.len())];
                    for engine in [&mut engine, &mut walker] {
                        if set {
                            engine.set_property(v, name, "1");
                        } else {
                            engine.remove_property(v, name);
                        }
                    }
                }
            }
            Op::Find => {
                let find: Find = "sched-now=allocated or sched-future=reserved".parse().unwrap();
                prop_assert_eq!(engine.find(&find, now), walker.find(&find, now));
                prop_assert_eq!(engine.planned_vertices(), walker.planned_vertices());
            }
            Op::Remove(which) => {
                let nodes = vertices("node");
                if nodes.len() > 3 {
                    let path = engine.graph().path(nodes[which.index(nodes.len())]);
                    prop_assert_eq!(engine.remove(&path), walker.remove(&path));
                }
            }
            Op::Cancel(_) | Op::CancelRank(..) => {}
        }
        for &job in &jobs {
            prop_assert_eq!(engine.knows(job), walker.knows(job));
        }
    }
    Ok(short)
}

proptest! {
    #![proptest_config(crate::base::testing::config(192))]

    #[test]
    fn the_index_answers_as_the_walk(
        policy in prop::sample::select(POLICIES.to_vec()),
        racks in prop::collection::vec(prop::collection::vec((1..5u8, 0..2u8), 1..4), 1..4),
        stray in prop::bool::weighted(0.2),
        ops in prop::collection::vec(any_op(), 1..40),
    ) {
        run(policy, &racks, stray, ops)?;
    }
}

#[test]
fn a_match_costs_what_its_answer_costs() {
    let graph = Graph::from_text("cluster / rack*20 / node*50 cores=48").unwrap().0;
    let mut engine = Engine::new(Arc::new(graph), Options::default()).unwrap();
    let nodes = |count| {
        let mut node = Resource::new("node", Count::fixed(count));
        node.exclusive = Some(true);
        Jobspec::new(vec![node], "task")
    };
    let now = Timestamp::ZERO;
    let matched = engine.match_job(Operation::Allocate, JobId(1), now, &nodes(64)).unwrap();
    // Nodes, the racks around them, and the cluster; of nodes nothing that is inside.
    assert_eq!((matched.visits.preorder, matched.grant.vertices.len()), (64, 64 + 2 + 1));
    let matched = engine.match_job(Operation::Allocate, JobId(2), now, &nodes(936)).unwrap();
    assert_eq!(matched.visits.preorder, 936);
    let failed = engine.match_job(Operation::Allocate, JobId(3), now, &nodes(1)).unwrap_err();
    assert_eq!((failed.error, failed.visits.preorder), (MatchError::Busy, 1));
    // The walk, too, looks at the root only.
    let mut walker = engine.without_index();
    let failed = walker.match_job(Operation::Allocate, JobId(3), now, &nodes(1)).unwrap_err();
    assert_eq!(failed.error, MatchError::Busy);
    assert!(failed.visits.preorder <= 1, "{:?}", failed.visits);
}
