//! Random machines, jobspecs and command sequences, from a seed.

use resource_query::{Options, Outputs, Parsed, Session};
use sluice::formats::grug::{Grug, IdRule, Method, Pool, Relation};
use sluice::graph::{Graph, KindId, Properties, Share, VertexId};
use std::fmt::Write;

/// SplitMix64: small, and the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True in so many of a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.within(1, 100) <= percent
    }

    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.within(0, choices.len() as u64 - 1) as usize].clone()
    }
}

/// One sequence: a machine, jobspecs, and what is done.
pub struct Scenario {
    /// GraphML of a recipe, JGF, or R.
    pub graph: String,
    /// Options but `-L` and `-t`.
    pub options: Vec<String>,
    /// Jobspecs and sets of ranks, by name of the file.
    pub files: Vec<(String, String)>,
    pub commands: String,
    /// No two vertices of one type have one number, so that no policy meets a tie.
    pub unique_ids: bool,
}

/// What kinds the machine has below its nodes.
struct Machine {
    grug: Grug,
    /// Nodes with cores and GPUs, in a cluster: what R can say.
    flat: bool,
    sockets: bool,
    gpus: bool,
    memory: bool,
    unique_ids: bool,
}

const POLICIES: [&str; 9] =
    ["high", "low", "first", "hinode", "lonode", "hinodex", "lonodex", "firstnodex", "locality"];
const FORMATS: [&str; 4] = ["simple", "simple", "jgf", "rv1_nosched"];
const FIND: [&str; 10] = [
    "status=up",
    "status=down",
    "sched-now=allocated",
    "sched-now=free",
    "sched-future=reserved",
    "sched-now=allocated and sched-future=free",
    "names=node[0-2] or status=down",
    "property=fast",
    "jobid-alloc=1",
    "(jobid-tag=2 or jobid-reserved=3) and status=up",
];

pub fn scenario(seed: u64, directory: &str) -> Scenario {
    let mut random = Random::new(seed);
    let machine = machine(&mut random);
    let (mut graph, _) = Graph::from_grug(&machine.grug).unwrap();
    assert!(graph.len() <= 200, "the machine has {} vertices", graph.len());
    let mut options = options(&mut random, &machine);
    let count = random.within(2, 6);
    let jobspecs: Vec<_> =
        (0..count).map(|i| (format!("{directory}/job{i}.yaml"), jobspec(&mut random, &machine))).collect();
    let nodes = graph.of_kind(KindId::NODE).len() as u64;
    let freed: Vec<_> = (0..3).map(|i| (format!("{directory}/freed{i}.json"), ranks(&mut random, nodes))).collect();
    let mut text = machine.grug.to_graphml();
    if machine.flat {
        let r = graph.to_r(graph.targets().iter().map(Share::whole), &Properties::new()).unwrap();
        text = r.to_json().to_string();
        graph = Graph::from_r(&r).unwrap().0;
    }
    let commands = commands(&mut random, &graph, &jobspecs, if machine.flat { &freed } else { &[] });
    let files = jobspecs.into_iter().chain(freed).collect();
    let file = format!("{directory}/graph");
    std::fs::write(&file, &text).unwrap();
    let from_r = ["-f", "rv1exec"].map(str::to_owned);
    let format = if machine.flat { &from_r[..] } else { &[] };
    options.extend_from_slice(format);
    if random.percent(30) {
        text = jgf(&file, format);
        options.extend(["-f".to_owned(), "jgf".to_owned()]);
    }
    Scenario { graph: text, options, files, commands, unique_ids: machine.unique_ids }
}

/// A graph as JGF, from a session that finds all of it.
fn jgf(file: &str, format: &[String]) -> String {
    let arguments = ["-L", file, "-F", "jgf"].map(str::to_owned).into_iter().chain(format.iter().cloned());
    let Ok(Parsed::Run { options, .. }) = Options::parse(arguments) else { panic!("options that are understood") };
    let (mut results, mut console, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut outputs = Outputs::new(Some(&mut results), &mut console, &mut errors);
    Session::new(*options).unwrap().lines("find status=up", &mut outputs).unwrap();
    String::from_utf8(results).unwrap().lines().next().unwrap().to_owned()
}

fn machine(random: &mut Random) -> Machine {
    let flat = random.percent(25);
    let (sockets, memory) = (!flat && random.percent(40), !flat && random.percent(40));
    let (gpus, unique_ids) = (random.percent(40), random.percent(60));
    let racks = random.within(1, 3);
    let nodes = random.within(1, 4);
    let per_node = if sockets { random.within(1, 2) } else { 1 };
    let room = (190 / (racks * nodes) - 2) / per_node;
    let (gpu_count, memory_count) = (random.within(1, 2), random.within(1, 2));
    let rest = u64::from(gpus) * gpu_count + u64::from(memory) * memory_count + 1;
    let cores = random.within(1, room.saturating_sub(rest).clamp(1, 6));
    let mut pools = vec![Pool { root: true, ..Pool::new("cluster") }];
    let mut relations = Vec::new();
    // How many levels up numbers are counted from: all of them where they are to be unique.
    let mut add = |pools: &mut Vec<Pool>, pool: Pool, source: usize, scale: u64, depth: i32| {
        let target = pools.len();
        pools.push(pool);
        let ids = IdRule { scope: if unique_ids { depth } else { 0 }, ..IdRule::default() };
        let method = Method::Multiply { scale: scale as u32, ids };
        relations.push(Relation { method, ..Relation::multiply(source, target, 1) });
        target
    };
    let rack = add(&mut pools, Pool::new("rack"), 0, racks, 0);
    let node = add(&mut pools, Pool::new("node"), rack, nodes, 1);
    let (holder, depth) =
        if sockets { (add(&mut pools, Pool::new("socket"), node, per_node, 2), 3) } else { (node, 2) };
    add(&mut pools, Pool::new("core"), holder, cores, depth);
    if gpus {
        add(&mut pools, Pool::new("gpu"), holder, gpu_count, depth);
    }
    if memory {
        let pool = Pool { size: random.within(1, 8), unit: "GB".into(), ..Pool::new("memory") };
        add(&mut pools, pool, holder, memory_count, depth);
    }
    Machine { grug: Grug::new("random", pools, relations).unwrap(), flat, sockets, gpus, memory, unique_ids }
}

fn options(random: &mut Random, machine: &Machine) -> Vec<String> {
    let (policy, format) = (random.pick(&POLICIES), random.pick(&FORMATS));
    let mut options = vec!["-P", policy, "-F", format];
    let filters = random.pick(&["ALL:core", "ALL:core,ALL:node", "cluster:core,rack:node", "node:core"]);
    let filters = if machine.gpus && random.percent(50) { format!("{filters},ALL:gpu") } else { filters.to_owned() };
    if random.percent(40) {
        options.extend(["-p", &filters]);
    }
    if random.percent(15) {
        options.extend(["-T", "flexible"]);
    }
    options.into_iter().map(str::to_owned).collect()
}

/// Lines of YAML for a resource, indented.
fn resource(text: &mut String, indent: usize, kind: &str, count: &str, further: &str, has_more: bool) {
    let pad = " ".repeat(indent);
    let _ = writeln!(text, "{pad}- type: {kind}\n{pad}  count: {count}");
    for line in further.lines() {
        let _ = writeln!(text, "{pad}  {line}");
    }
    if has_more {
        let _ = writeln!(text, "{pad}  with:");
    }
}

fn count(random: &mut Random, most: u64) -> String {
    let min = random.within(1, most);
    if random.percent(85) {
        return min.to_string();
    }
    let max = random.within(min, most + 2);
    let (operator, operand) = random.pick(&[('+', 1), ('+', 2), ('*', 2)]);
    format!("{{min: {min}, max: {max}, operator: \"{operator}\", operand: {operand}}}")
}

fn jobspec(random: &mut Random, machine: &Machine) -> String {
    let mut text = String::from("version: 9999\nresources:\n");
    let mut indent = 2;
    let mut open = |text: &mut String, kind: &str, count: &str, further: &str| {
        resource(text, indent, kind, count, further, true);
        indent += 4;
    };
    let slot = "label: default";
    let slot_count = count(random, 4);
    if random.percent(15) {
        open(&mut text, "cluster", "1", "");
    }
    if !machine.flat && random.percent(20) {
        open(&mut text, "rack", &random.within(1, 2).to_string(), "");
    }
    let nodes = random.within(1, 3).to_string();
    let exclusive = if random.percent(30) { "exclusive: true" } else { "" };
    match random.within(0, 3) {
        0 => open(&mut text, "slot", &slot_count, slot),
        1 => {
            open(&mut text, "slot", &slot_count, slot);
            open(&mut text, "node", "1", "");
        }
        _ => {
            open(&mut text, "node", &nodes, exclusive);
            open(&mut text, "slot", &random.within(1, 2).to_string(), slot);
        }
    }
    if machine.sockets && random.percent(60) {
        open(&mut text, "socket", "1", "");
    }
    resource(&mut text, indent, "core", &count(random, 4), "", false);
    if machine.gpus && random.percent(40) {
        resource(&mut text, indent, "gpu", &random.within(1, 2).to_string(), "", false);
    }
    if machine.memory && random.percent(40) {
        resource(&mut text, indent, "memory", &random.within(1, 10).to_string(), "", false);
    }
    let duration = random.pick(&["10", "60", "100", "3600", "0"]);
    let _ = writeln!(text, "attributes:\n  system:\n    duration: {duration}");
    if random.percent(20) {
        let constraint = random.pick(&[
            r#"{"properties": ["fast"]}"#,
            r#"{"properties": ["^fast"]}"#,
            r#"{"hostlist": ["node[0-1]"]}"#,
            r#"{"ranks": ["1-3"]}"#,
            r#"{"not": [{"hostlist": ["node0"]}]}"#,
            r#"{"or": [{"ranks": ["0"]}, {"properties": ["fast"]}]}"#,
        ]);
        let _ = writeln!(text, "    constraints: {constraint}");
    }
    text.push_str("tasks:\n  - command: [\"app\"]\n    slot: default\n    count:\n      per_slot: 1\n");
    text
}

/// R of one or two ranks, as a part of an allocation that is given back.
fn ranks(random: &mut Random, nodes: u64) -> String {
    let first = random.within(0, nodes - 1);
    let second = random.within(first, (first + 1).min(nodes - 1));
    let (ranks, hosts) = if first == second {
        (first.to_string(), format!("node{first}"))
    } else {
        (format!("{first}-{second}"), format!("node[{first}-{second}]"))
    };
    format!(
        r#"{{"version": 1, "execution": {{"R_lite": [{{"rank": "{ranks}", "children": {{"core": "0"}}}}],
        "nodelist": ["{hosts}"], "starttime": 0, "expiration": 0}}}}"#
    )
}

type Files = [(String, String)];

fn commands(random: &mut Random, graph: &Graph, jobspecs: &Files, freed: &Files) -> String {
    let mut text = String::new();
    let path = |random: &mut Random| {
        let v = VertexId(random.within(1, graph.len() as u64 - 1) as u32);
        graph.path(v)
    };
    let nodes = graph.of_kind(KindId::NODE);
    for _ in 0..random.within(0, 2) {
        let _ = writeln!(text, "set-property {} fast=1", graph.path(random.pick(nodes)));
    }
    let mut jobs = 0;
    for _ in 0..random.within(8, 30) {
        let _ = match random.within(0, 99) {
            0..65 => {
                jobs += 1;
                let operation = match random.within(0, 99) {
                    0..40 => "allocate",
                    40..75 => "allocate_orelse_reserve",
                    75..85 => "allocate_with_satisfiability",
                    85..90 => "satisfiability",
                    90..95 => "without_allocating",
                    _ => "without_allocating_future",
                };
                writeln!(text, "match {operation} {}", random.pick(jobspecs).0)
            }
            65..78 if freed.is_empty() => writeln!(text, "cancel {}", random.within(1, jobs.max(1))),
            65..74 => writeln!(text, "cancel {}", random.within(1, jobs.max(1))),
            74..78 if !freed.is_empty() => {
                let job = random.within(1, jobs.max(1));
                writeln!(text, "partial-cancel {job} rv1exec {} stats", random.pick(freed).0)
            }
            78..82 => {
                jobs += 2;
                writeln!(text, "multi-match allocate {} {}", random.pick(jobspecs).0, random.pick(jobspecs).0)
            }
            82..91 => writeln!(text, "set-status {} {}", path(random), random.pick(&["up", "down", "down"])),
            91..93 => writeln!(text, "get-status {}", path(random)),
            _ => writeln!(text, "find {}", random.pick(&FIND)),
        };
    }
    text.push_str("quit\n");
    text
}
