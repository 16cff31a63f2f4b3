//! Whole replays on fixed seeds, and one pass over a long queue.
//!
//! The traces of KTH are read from the shared data; where that is absent, those benches are skipped with a word. The big replay has
//! 20,000 jobs; `SLUICE_BENCH_JOBS=1000000` makes it the million of the acceptance.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use sluice::base::{Duration, JobId, Priority, Timestamp};
use sluice::config::{Config, MatchPolicy, QueuePolicy};
use sluice::formats::count::Count;
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, Request, Shape};
use sluice::replay::assembly::{RunOptions, assemble};
use sluice::replay::quick::Quick;
use sluice::replay::scenario::{LimitRule, PassRule, Scenario, Workload};
use sluice::site::{Event, Site, SiteOptions, StartMode, Submission};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shared() -> PathBuf {
    std::env::var_os("SLUICE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
}

/// From the bytes of the trace to the figures.
fn kth(c: &mut Criterion) {
    let swf = shared().join("data/traces/KTH-SP2-1996-2-sc15filter.swf.gz");
    if !swf.is_file() {
        eprintln!("skipped: kth_easy and kth_conservative need {}", swf.display());
        return;
    }
    let mut group = c.benchmark_group("kth");
    group.sample_size(10);
    for (name, queue_policy) in [("easy", QueuePolicy::Easy), ("conservative", QueuePolicy::Conservative)] {
        let quick = Quick {
            swf: swf.clone(),
            machine: None,
            queue_policy,
            queue_depth: None,
            reservation_depth: None,
            match_policy: MatchPolicy::First,
            limit: LimitRule::Requested,
            pass: PassRule::Timestamp,
            work_budget: None,
            until: Timestamp::NEVER,
        };
        group.bench_function(name, |b| {
            b.iter(|| {
                let replay = assemble(quick.clone().scenario(), RunOptions::default()).expect("the trace reads");
                replay.run().expect("the replay runs").outcome.report.total.jobs.completed
            });
        });
    }
    group.finish();
}

/// Ten queues on ten thousand nodes, with switches.
fn million(c: &mut Criterion) {
    let jobs = std::env::var("SLUICE_BENCH_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let mut scenario = Scenario::load(&root().join("graph-fixtures/million")).expect("the fixture reads");
    for workload in &mut scenario.workloads {
        if let Workload::Generate(generator) = workload {
            generator.jobs = jobs;
        }
    }
    let mut group = c.benchmark_group("million");
    group.sample_size(10);
    group.bench_function(format!("{jobs} jobs"), |b| {
        b.iter(|| {
            let replay = assemble(scenario.clone(), RunOptions::default()).expect("the fixture is sound");
            replay.run().expect("the replay runs").outcome.report.total.jobs.completed
        });
    });
    group.finish();
}

/// One pass over 1,000 waiting jobs of which none can start.
fn pass(c: &mut Criterion) {
    let graph = Graph::uniform(1_000, 4, 0).expect("a small graph");
    let all = graph.targets().clone();
    let text = "[policy.scheduler]\nqueue-policy = 'easy'\n";
    let config = Config::parse(text, "bench").expect("a sound configuration");
    let site = Site::new(Arc::new(graph), Arc::new(Properties::new()), Arc::new(config), SiteOptions::default());
    let mut site = site.expect("a sound site");
    let mut effects = Vec::new();
    let mut tell = |site: &mut Site, event| site.apply(Timestamp::ZERO, event, &mut effects).expect("accepted");
    tell(&mut site, Event::Online { targets: all });
    tell(&mut site, Event::QueueStart { queue: "default".into(), mode: StartMode::default() });
    let submit = |id: u64, nodes: u64| {
        let shape = Shape::Whole { nodes: Count::fixed(nodes), at_least: Amount::default(), slots_per_node: 1 };
        Event::Submit(Box::new(Submission {
            id: JobId(id),
            queue: None,
            priority: Priority(16),
            userid: 1,
            limit: Some(Duration::from_secs(3_600)),
            request: Ok(Arc::new(Request { shape, constraint: None, shared: Default::default() })),
        }))
    };
    tell(&mut site, submit(1, 600));
    (2..=1_001).for_each(|id| tell(&mut site, submit(id, 500 + id % 400)));
    let mut first = Vec::new();
    let _ = site.schedule(Timestamp::ZERO, usize::MAX, &mut first);
    // A changed priority makes the next pass look at everything anew.
    let nudge = Event::Prioritize { jobs: vec![(JobId(1_001), Priority(15))] };
    c.bench_function("pass over 1000 jobs", |b| {
        b.iter_batched(
            || {
                let mut site = site.clone();
                site.apply(Timestamp::ZERO, nudge.clone(), &mut Vec::new()).expect("accepted");
                site
            },
            |mut site| {
                let mut effects = Vec::new();
                site.schedule(Timestamp::ZERO, usize::MAX, &mut effects).examined
            },
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(benches, kth, million, pass);
criterion_main!(benches);
