//! Loads a graph once and prints how long it took and how much memory the whole process had at its peak.
//!
//! ```text
//! graph-memory nodes 16384                a recipe of racks of 64 nodes of 48 cores
//! graph-memory grug FILE
//! graph-memory jgf FILE
//! graph-memory write-jgf 16384 FILE       the machine of the recipe as JGF, to be read by the line above
//! graph-memory schedulers 16384 10        what each further scheduler on a shared graph takes
//! graph-memory engines 16384 10           what each further matching engine on a shared graph takes
//! ```

use sluice::base::{Epoch, Timestamp};
use sluice::config::SchedulerSettings;
use sluice::formats::grug::Grug;
use sluice::graph::Graph;
use sluice::matcher::tree::{Engine, Options};
use sluice::scheduler::{Input, Scheduler};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

#[path = "../common/machine.rs"]
mod machine;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<u32>().expect("a number");
    let start = Instant::now();
    let graph = match words[..] {
        ["nodes", nodes] => machine_of(number(nodes)),
        ["grug", file] => {
            let recipe = std::fs::read(file).expect("a file");
            Graph::from_grug(&Grug::parse(recipe).expect("a recipe")).expect("a graph").0
        }
        ["jgf", file] => Graph::read_jgf(std::fs::File::open(file).expect("a file")).expect("a graph").graph,
        ["write-jgf", nodes, file] => {
            let file = std::fs::File::create(file).expect("a file");
            return write_jgf(&machine_of(number(nodes)), std::io::BufWriter::new(file)).expect("all written");
        }
        ["engines", nodes, count] => return engines(machine_of(number(nodes)), number(count)),
        ["schedulers", nodes, count] => return schedulers(machine_of(number(nodes)), number(count)),
        _ => {
            eprintln!(
                "usage: graph-memory nodes N | grug FILE | jgf FILE | write-jgf N FILE | schedulers N COUNT | engines N COUNT"
            );
            std::process::exit(2);
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let (vertices, targets, peak) = (graph.len(), graph.targets().len(), mib("VmHWM:"));
    println!("{vertices} vertices, {targets} targets: {seconds:.4} s, peak {peak:.1} MiB");
}

fn machine_of(nodes: u32) -> Graph {
    Graph::from_grug(&Grug::parse(machine::recipe(nodes)).expect("a recipe")).expect("a graph").0
}

/// A figure of the process's memory, as Linux tells it.
fn mib(figure: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(figure));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}

/// Adds schedulers one after the other to a shared graph, each with a pass done, and tells what they take.
fn schedulers(graph: Graph, count: u32) {
    let graph = Arc::new(graph);
    let before = mib("VmRSS:");
    let all: Vec<Scheduler> = (0..count)
        .map(|_| {
            let mut scheduler = Scheduler::new(SchedulerSettings::default());
            let targets = graph.targets().clone();
            let acquire = Input::Acquire {
                graph: graph.clone(),
                properties: Arc::default(),
                members: targets.clone(),
                up: targets,
                epoch: Epoch(1),
            };
            let mut out = Vec::new();
            scheduler.handle(Timestamp::ZERO, acquire, &mut out);
            scheduler.handle(Timestamp::ZERO, Input::Pass { budget: usize::MAX }, &mut out);
            scheduler
        })
        .collect();
    println!("{:.3} MiB for each of {count} schedulers", (mib("VmRSS:") - before) / f64::from(count));
    drop(all);
}

/// Adds matching engines one after the other to a shared graph, and tells what they take.
fn engines(graph: Graph, count: u32) {
    let graph = Arc::new(graph);
    let before = mib("VmRSS:");
    let all: Vec<Engine> =
        (0..count).map(|_| Engine::new(graph.clone(), Options::default()).expect("a tree")).collect();
    println!("{:.3} MiB for each of {count} engines", (mib("VmRSS:") - before) / f64::from(count));
    drop(all);
}

fn write_jgf(graph: &Graph, mut to: impl Write) -> std::io::Result<()> {
    write!(to, "{{\"graph\": {{\"nodes\": [")?;
    for v in graph.vertices() {
        let (vertex, comma) = (graph.vertex(v), if v.0 == 0 { "" } else { ", " });
        let (kind, name) = (graph.kind_name(vertex.kind()), vertex.name());
        let is_target = graph.target_of(v).and_then(|id| graph.target(id)).is_some_and(|target| target.vertex == v);
        let rank = if is_target { vertex.rank().map_or(-1, i64::from) } else { -1 };
        write!(
            to,
            "{comma}{{\"id\": \"{}\", \"metadata\": {{\"type\": \"{kind}\", \"basename\": \"{}\", \"name\": \"{name}\", \
             \"id\": {}, \"uniq_id\": {}, \"rank\": {rank}, \"exclusive\": false, \"unit\": \"\", \"size\": {}, \
             \"paths\": {{\"containment\": \"{}\"}}}}}}",
            graph.uniq_id(v),
            vertex.basename(),
            vertex.id(),
            graph.uniq_id(v),
            vertex.size(),
            vertex.path()
        )?;
    }
    write!(to, "], \"edges\": [")?;
    let edges = graph.vertices().filter_map(|v| Some((graph.parent(v)?, v)));
    for (at, (from, v)) in edges.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let (from, to_id) = (graph.uniq_id(from), graph.uniq_id(v));
        write!(
            to,
            "{comma}{{\"source\": \"{from}\", \"target\": \"{to_id}\", \"metadata\": {{\"subsystem\": \"containment\"}}}}"
        )?;
    }
    writeln!(to, "]}}}}")?;
    to.flush()
}
