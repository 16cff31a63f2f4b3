//! How long graphs take to load: from the text of a recipe, or from JGF, to the graph.
//!
//! `SLUICE_BENCH_NODES=1048576` adds the machine of a million nodes. What memory it takes, one process for each figure:
//! `cargo run --release --example graph-memory nodes 16384`.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use sluice::formats::grug::Grug;
use sluice::graph::Graph;

#[path = "common/machine.rs"]
mod machine;

fn load(recipe: &str) -> Graph {
    Graph::from_grug(&Grug::parse(recipe).expect("a recipe")).expect("a graph").0
}

fn grug(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    group.sample_size(10);
    let more = std::env::var("SLUICE_BENCH_NODES").ok().and_then(|nodes| nodes.parse().ok());
    for nodes in [1024, 16384, 65536].into_iter().chain(more) {
        let recipe = machine::recipe(nodes);
        group.bench_function(format!("grug/{nodes}"), |b| {
            // Loading is measured, not dropping.
            b.iter_batched(|| recipe.as_str(), load, BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn lookups(c: &mut Criterion) {
    let graph = load(&machine::recipe(16384));
    let core = graph.kind_id("core").expect("cores");
    let nodes = graph.targets_in_order().iter().filter_map(|&id| graph.target(id)).map(|target| target.vertex);
    let nodes: Vec<_> = nodes.collect();
    let mut group = c.benchmark_group("graph");
    let mut at = 0;
    group.bench_function("count_in node", |b| {
        b.iter(|| {
            at = (at + 7919) % nodes.len();
            graph.count_in(nodes[at], core)
        });
    });
    group.bench_function("path and by_path of a core", |b| {
        b.iter(|| {
            at = (at + 7919) % nodes.len();
            graph.by_path(&graph.path(graph.of_kind_in(nodes[at], core)[17]))
        });
    });
    group.finish();
}

criterion_group!(benches, grug, lookups);
criterion_main!(benches);
