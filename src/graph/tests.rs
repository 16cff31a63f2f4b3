//! Tests over the whole module: fixtures as text, and random graphs against naive answers.

use super::build::{Builder, Draft, DraftTarget};
use super::*;
use crate::base::TargetSet;
use proptest::prelude::*;

mod evolve;
mod fixtures;
mod golden;
mod grug;
mod index;
mod jgf;
mod text;

/// A graph as lines that say everything but numbers given by interning: two graphs are equal if these are.
pub(super) fn describe(graph: &Graph, properties: &Properties) -> Vec<String> {
    let mut lines: Vec<String> = graph
        .vertices()
        .map(|v| {
            let vertex = graph.vertex(v);
            let subtree = graph.subtree(v);
            let target = graph.target_of(v).and_then(|id| graph.target(id)).filter(|target| target.vertex == v);
            let target = target.map(|t| {
                let has: Vec<&str> = properties.of(t.id).collect();
                format!("rank {} host {} cores {:?} gpus {:?} {has:?}", t.rank, t.host, t.core_ids(), t.gpu_ids())
            });
            let paths: Vec<_> = graph
                .subsystems()
                .filter_map(|s| Some((graph.subsystem_name(s).to_owned(), graph.path_in(v, s)?.into_owned())))
                .collect();
            let (kind, basename) = (graph.kind_name(vertex.kind()), vertex.basename());
            let (id, size, unit) = (vertex.id(), vertex.size(), vertex.unit());
            format!(
                "{subtree:?} {kind} {basename} {} {id} {size}{unit} {:?} {paths:?} {target:?}",
                vertex.name(),
                vertex.properties()
            )
        })
        .collect();
    let mut edges: Vec<String> =
        graph.edges().map(|(from, to, subsystem)| format!("{} {from} {to}", graph.subsystem_name(subsystem))).collect();
    edges.sort();
    lines.append(&mut edges);
    lines
}

/// One vertex of a random graph.
#[derive(Clone, Debug)]
struct Seed {
    parent: prop::sample::Index,
    kind: usize,
    id: i64,
    name: Option<String>,
    size: u64,
    unit: &'static str,
    pair: Option<(String, String)>,
    properties: Vec<&'static str>,
    is_target: bool,
    loose: bool,
    edge: Option<prop::sample::Index>,
}

const KINDS: [&str; 8] = ["core", "node", "rack", "gpu", "core", "node", "ssd", "odd kind"];

fn any_seed() -> impl Strategy<Value = Seed> {
    let text = prop_oneof![Just(String::new()), "[a-c]{1,2}[0-9]{0,2}", "[ -~]{0,6}", any::<String>()];
    (
        (any::<prop::sample::Index>(), 0..KINDS.len(), prop_oneof![8 => 0..5i64, 1 => any::<i64>()]),
        (prop::option::of(text.clone()), prop_oneof![Just(1u64), 0..9u64], prop::sample::select(vec!["", "GB", "9 x"])),
        (
            prop::option::weighted(0.1, (text.clone(), text)),
            prop::collection::vec(prop::sample::select(vec!["batch", "a,b", "+q", "gpu"]), 0..3),
        ),
        (any::<bool>(), prop::bool::weighted(0.05), prop::option::weighted(0.1, any::<prop::sample::Index>())),
    )
        .prop_map(|((parent, kind, id), (name, size, unit), (pair, properties), (is_target, loose, edge))| Seed {
            parent,
            kind,
            id,
            name,
            size,
            unit,
            pair,
            properties,
            is_target,
            loose,
            edge,
        })
}

/// What a random graph was made of, by draft; the naive answers come from here.
#[derive(Debug)]
struct Made {
    graph: Graph,
    properties: Properties,
    parents: Vec<Option<usize>>,
    kinds: Vec<&'static str>,
    places: Vec<VertexId>,
}

fn grow(seeds: &[Seed], first_rank: u32) -> Made {
    let mut builder = Builder::new();
    let mut parents: Vec<Option<usize>> = Vec::new();
    let mut in_target = Vec::new();
    let mut loose: Vec<bool> = Vec::new();
    let mut named = Vec::new();
    for (i, seed) in seeds.iter().enumerate() {
        let parent = (i > 0 && !seed.loose).then(|| seed.parent.index(i)).filter(|&parent| !loose[parent]);
        let is_loose = seed.loose && i > 0;
        let word = if i == 0 { "cluster" } else { KINDS[seed.kind] };
        let kind = builder.names.kind(word);
        let basename = builder.names.symbol(word);
        let mut draft = Draft::new(kind, basename, seed.id);
        draft.size = seed.size;
        draft.record.unit = builder.names.symbol(seed.unit);
        if let Some(name) = &seed.name {
            builder.set_name(&mut draft.record, name);
        }
        draft.record.properties = seed.pair.clone().map(|pair| std::sync::Arc::new([pair].into_iter().collect()));
        let number = builder.add_unlinked(draft).unwrap();
        if is_loose {
            builder.leave_loose(number);
        } else {
            builder.link(number, parent.map(|parent| parent as u32));
        }
        let inside = parent.is_some_and(|parent| in_target[parent]);
        let is_target = i > 0 && !inside && !is_loose && seed.is_target;
        if is_target {
            let host = builder.name_of(number).into();
            let rank = first_rank + builder.targets.len() as u32 * (1 + seed.size as u32 % 2) + i as u32;
            builder.targets.push(DraftTarget { draft: number, rank, host, id: None });
            named.extend(seed.properties.iter().map(|name| (i, *name)));
        }
        if let Some(other) = &seed.edge {
            let power = builder.names.subsystem("power");
            builder.edges.push((number, other.index(i + 1) as u32, power));
        }
        in_target.push(inside || is_target);
        loose.push(is_loose);
        parents.push(parent);
    }
    let mut ranks: Vec<u32> = builder.targets.iter().map(|t| t.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.len() < builder.targets.len() {
        for (i, target) in builder.targets.iter_mut().enumerate() {
            target.rank = first_rank + i as u32;
        }
    }
    let built = builder.finish().unwrap();
    let mut properties = Properties::new();
    for (draft, name) in named {
        properties.set(name, built.graph.target_of(built.places[draft]).unwrap());
    }
    let kinds = seeds.iter().enumerate().map(|(i, seed)| if i == 0 { "cluster" } else { KINDS[seed.kind] }).collect();
    Made { graph: built.graph, properties, parents, kinds, places: built.places }
}

fn any_graph(first_rank: u32) -> impl Strategy<Value = Made> {
    prop::collection::vec(any_seed(), 1..40).prop_map(move |seeds| grow(&seeds, first_rank))
}
