//! What a match costs on a cluster of racks of 64 nodes of 48 cores: match and commit, jobspecs parsed before, R not
//! written (but in the last row).
//!
//! ```text
//! cargo bench --bench matcher                                 all rows, 16,384 nodes
//! cargo bench --bench matcher -- f g                          some rows
//! SLUICE_BENCH_NODES=1048576 cargo bench --bench matcher      another machine
//! SLUICE_BENCH_WALK=1 cargo bench --bench matcher             also without the index of nodes
//! ```
//!
//! Each row mixes jobspecs: durations, and forms that ask for the same, change from match to match. The figure is the
//! mean of all matches of a row; a row is run nine times, and of each fortieth of it the shortest time counts.

use sluice::base::{Duration, JobId, Timestamp};
use sluice::formats::constraint::{Constraint, PropertyTerm};
use sluice::formats::count::Count;
use sluice::formats::grug::Grug;
use sluice::formats::jobspec::{Jobspec, Resource};
use sluice::graph::{Graph, KindId};
use sluice::matcher::tree::{Engine, Format, Mode, Operation, Options, Status};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

#[path = "common/machine.rs"]
mod machine;

const NOW: Timestamp = Timestamp::ZERO;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

fn resource(kind: &str, count: u64, with: Vec<Resource>) -> Resource {
    Resource { with, ..Resource::new(kind, Count::fixed(count)) }
}

fn spec(resource: Resource, seconds: u64) -> Jobspec {
    Jobspec::new(vec![resource], "task").with_duration(Duration::from_secs(seconds as i64))
}

/// A core, by itself or in a node.
fn one_core(form: u64, seconds: u64) -> Jobspec {
    let slot = Resource::slot("task", Count::fixed(1), vec![resource("core", 1, vec![])]);
    spec(if form == 0 { slot } else { resource("node", 1, vec![slot]) }, seconds)
}

/// Whole nodes, with or without saying what is in them.
fn whole_nodes(form: u64, nodes: u64, seconds: u64) -> Jobspec {
    let slot = Resource::slot("task", Count::fixed(1), vec![resource("core", 1, vec![])]);
    let with = if form == 0 { vec![slot] } else { vec![] };
    let mut node = resource("node", nodes, with);
    node.exclusive = Some(true);
    spec(node, seconds)
}

fn property(name: &str) -> Constraint {
    Constraint::Properties(vec![PropertyTerm { name: name.to_owned(), negated: false }])
}

/// Jobspecs that are used in turn.
fn mix(make: impl Fn(u64, u64) -> Jobspec) -> Vec<Jobspec> {
    let mut random = Random(7);
    (0..64).map(|i| make(i % 2, 60 + random.below(86_400))).collect()
}

struct Bench {
    graph: Arc<Graph>,
    rows: Vec<String>,
    walk: bool,
}

impl Bench {
    fn engine(&self, policy: &str) -> Engine {
        let options = Options { policy: policy.parse().expect("a policy"), ..Options::default() };
        Engine::new(self.graph.clone(), options).expect("a tree")
    }

    /// One row: prepares, then times so many matches, some times over.
    fn row(
        &self,
        row: &str,
        what: &str,
        engine: impl Fn() -> Engine,
        matches: usize,
        mut run: impl FnMut(&mut Engine, usize),
    ) {
        if !self.rows.is_empty() && !self.rows.iter().any(|r| r == row) {
            return;
        }
        let prepared = engine();
        // The same work every time: of each piece the time in which nothing else was in the way.
        let piece = matches.div_ceil(40);
        let mut best = vec![f64::MAX; matches.div_ceil(piece)];
        for _ in 0..9 {
            let mut engine = prepared.clone();
            for (at, best) in best.iter_mut().enumerate() {
                let start = Instant::now();
                (at * piece..matches.min((at + 1) * piece)).for_each(|i| run(&mut engine, i));
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let micros = best.iter().sum::<f64>() * 1e6 / matches as f64;
        print!("({row}) {what:<60} {micros:>10.3} µs");
        if self.walk {
            let few = matches.min(20);
            let mut engine = prepared.without_index();
            let start = Instant::now();
            (0..few).for_each(|i| run(&mut engine, i));
            print!("   walk {:>12.1} µs", start.elapsed().as_secs_f64() * 1e6 / few as f64);
        }
        println!();
    }

    fn nodes(&self) -> u64 {
        self.graph.of_kind(KindId::NODE).len() as u64
    }

    /// Rows in which every match is to succeed.
    fn matches(&self, row: &str, what: &str, policy: &str, matches: usize, specs: &[Jobspec]) {
        self.row(
            row,
            what,
            || self.engine(policy),
            matches,
            |engine, i| {
                allocate(engine, i, &specs[i % specs.len()]);
            },
        );
    }

    /// Fills the machine with jobs of so many nodes each.
    fn full(&self, nodes_each: u64) -> Engine {
        let mut engine = self.engine("first");
        let mut random = Random(3);
        for job in 0..self.nodes() / nodes_each {
            let spec = whole_nodes(job % 2, nodes_each, 600 + random.below(86_400));
            engine.match_job(Operation::Allocate, JobId((1 << 40) + job), NOW, &spec).expect("room");
        }
        engine
    }

    /// Gives every node some jobs of some cores.
    fn partly_used(&self) -> Engine {
        let mut engine = self.engine("hinode");
        let mut random = Random(5);
        for job in 0..self.nodes() {
            let slot = Resource::slot("task", Count::fixed(1), vec![resource("core", 25 + random.below(20), vec![])]);
            let spec = spec(resource("node", 1, vec![slot]), 600 + random.below(86_400));
            engine.match_job(Operation::Allocate, JobId((1 << 40) + job), NOW, &spec).expect("room");
        }
        engine
    }

    /// A third of the nodes with each property, ten nodes down. Each constraint was asked for once, as a scheduler that
    /// has been up for a while has them.
    fn with_properties(&self) -> Engine {
        let mut engine = self.engine("first");
        for (i, &v) in self.graph.of_kind(KindId::NODE).iter().enumerate() {
            engine.set_property(v, ["red", "green", "blue"][i % 3], "");
            if i % (self.nodes() as usize / 10) == 3 {
                engine.set_status(&self.graph.path(v), Status::Down).expect("a path");
            }
        }
        for name in ["red", "green", "blue"] {
            let spec = whole_nodes(0, 1, 1).with_constraint(property(name));
            engine.match_job(Operation::WithoutAllocating, JobId(0), NOW, &spec).expect("room");
        }
        engine
    }

    fn mixed(&self) {
        let mut random = Random(11);
        let specs: Vec<Jobspec> = (0..10_000)
            .map(|i| {
                let seconds = 60 + random.below(86_400);
                let spec = match random.below(3) {
                    0 => one_core(i % 2, seconds),
                    1 => whole_nodes(i % 2, 1 + random.below(8), seconds),
                    _ => whole_nodes(i % 2, 1 << random.below(10), seconds),
                };
                if random.below(5) > 0 {
                    return spec;
                }
                spec.with_constraint(property(["red", "green", "blue"][random.below(3) as usize]))
            })
            .collect();
        let wanted =
            |spec: &Jobspec| if spec.resources[0].exclusive == Some(true) { spec.resources[0].count.min() } else { 0 };
        let total = self.nodes();
        let (mut used, mut held, mut written) = (0u64, std::collections::VecDeque::new(), 0);
        let engine = || self.with_properties();
        self.row("i", "mixed: 10,000 jobspecs, frees, R written, 60–95 % full", engine, specs.len(), |engine, i| {
            if i == 0 {
                used = 0;
                held.clear();
            }
            let spec = &specs[i];
            while used + wanted(spec) > total * 95 / 100 {
                let Some((job, nodes)) = held.pop_front() else { break };
                engine.cancel(JobId(job)).expect("it is there");
                used -= nodes;
                if used < total * 60 / 100 {
                    break;
                }
            }
            let Ok(matched) = engine.match_job(Operation::Allocate, JobId(i as u64), NOW, spec) else { return };
            used += wanted(spec);
            held.push_back((i as u64, wanted(spec)));
            written += engine.written(Format::Rv1Nosched, &matched, None).len();
        });
        black_box(written);
    }
}

fn allocate(engine: &mut Engine, i: usize, spec: &Jobspec) {
    let matched = engine.match_job(Operation::Allocate, JobId(i as u64), NOW, spec).expect("a match");
    assert_eq!(matched.mode, Mode::Allocated);
    black_box(matched);
}

fn reserve(engine: &mut Engine, i: usize, spec: &Jobspec) {
    let matched = engine.match_job(Operation::AllocateOrElseReserve, JobId(i as u64), NOW, spec).expect("a match");
    assert_eq!(matched.mode, Mode::Reserved);
    black_box(matched);
}

fn main() {
    let nodes = std::env::var("SLUICE_BENCH_NODES").ok().and_then(|nodes| nodes.parse().ok()).unwrap_or(16_384);
    let recipe = Grug::parse(machine::recipe(nodes)).expect("a recipe");
    let graph = Arc::new(Graph::from_grug(&recipe).expect("a graph").0);
    let rows = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let bench = Bench { graph, rows, walk: std::env::var_os("SLUICE_BENCH_WALK").is_some() };
    println!("{nodes} nodes, per match");
    bench.matches("a", "first, 1 core", "first", 20_000, &mix(one_core));
    bench.matches("b", "first, 1 exclusive node", "first", 10_000, &mix(|form, s| whole_nodes(form, 1, s)));
    bench.matches("c", "first, 64 exclusive nodes", "first", 200, &mix(|form, s| whole_nodes(form, 64, s)));
    bench.matches("d", "high, 1 core", "high", 20_000, &mix(one_core));
    bench.matches("e", "lonodex, 1 node", "lonodex", 10_000, &mix(|form, s| whole_nodes(form, 1, s)));
    let specs = mix(|form, s| whole_nodes(form, 64, s));
    bench.row(
        "f",
        "full of jobs of 64 nodes, reserve 1,000 × 64 nodes",
        || bench.full(64),
        1000,
        |engine, i| {
            reserve(engine, i, &specs[i % specs.len()]);
        },
    );
    bench.row(
        "f",
        "full of jobs of 1 node, reserve 1,000 × 64 nodes",
        || bench.full(1),
        1000,
        |engine, i| {
            reserve(engine, i, &specs[i % specs.len()]);
        },
    );
    let specs = mix(|form, s| whole_nodes(form, 1, s));
    bench.row(
        "g",
        "every node partly used, reserve 1,000 × 1 node",
        || bench.partly_used(),
        1000,
        |engine, i| {
            reserve(engine, i, &specs[i % specs.len()]);
        },
    );
    let colours = ["red", "green", "blue"];
    let specs: Vec<Jobspec> = mix(|form, s| whole_nodes(form, 1, s))
        .into_iter()
        .enumerate()
        .map(|(i, spec)| spec.with_constraint(property(colours[i % 3])))
        .collect();
    bench.row(
        "h",
        "first, 1 node with 1 of 3 properties, 10 nodes down",
        || bench.with_properties(),
        5000,
        |engine, i| {
            allocate(engine, i, &specs[i % specs.len()]);
        },
    );
    bench.mixed();
}
