//! What is measured: machines, jobspecs and commands of each row.

use sluice::formats::grug::{Grug, IdRule, Method, Pool, Relation};
use std::io;
use std::path::{Path, PathBuf};

/// Nodes of a rack.
const RACK: u32 = 64;
/// Cores of a node.
const CORES: u32 = 48;
/// Random numbers of the mixed row come from here.
const SEED: u64 = 0x5eed;

/// A cluster of racks of nodes; nodes and racks are numbered through, cores in each node.
pub(crate) fn recipe(nodes: u32) -> Grug {
    let pools =
        vec![Pool { root: true, ..Pool::new("cluster") }, Pool::new("rack"), Pool::new("node"), Pool::new("core")];
    let through = |source, target, scale| Relation {
        method: Method::Multiply { scale, ids: IdRule { scope: 1, ..IdRule::default() } },
        ..Relation::multiply(source, target, scale)
    };
    let relations =
        vec![Relation::multiply(0, 1, nodes.div_ceil(RACK)), through(1, 2, RACK), Relation::multiply(2, 3, CORES)];
    Grug::new("cluster", pools, relations).expect("a chain of pools is a recipe")
}

/// One line of the table.
pub(crate) struct Row {
    pub(crate) letter: char,
    pub(crate) what: &'static str,
    policy: &'static str,
    format: &'static str,
    make: fn(&mut Case, u32, u32),
}

/// All lines of the table.
pub(crate) const ROWS: [Row; 9] = [
    row('a', "first, 1 core", "first", |case, _, matches| case.repeat(&slots(1, 1), "allocate", matches)),
    row('b', "first, 1 exclusive node", "first", |case, _, matches| case.repeat(&nodes(1, ""), "allocate", matches)),
    row('c', "first, 64 exclusive nodes", "first", |case, _, matches| case.repeat(&nodes(64, ""), "allocate", matches)),
    row('d', "high, 1 core", "high", |case, _, matches| case.repeat(&slots(1, 1), "allocate", matches)),
    row('e', "lonodex, 1 node", "lonodex", |case, _, matches| case.repeat(&shared(1), "allocate", matches)),
    row('f', "full, reserve 64 nodes", "first", |case, all, matches| {
        case.before(&nodes(all, ""));
        case.repeat(&nodes(64, ""), "allocate_orelse_reserve", matches);
    }),
    row('g', "every node partly used, reserve 1 exclusive node", "first", |case, all, matches| {
        case.before(&shared(all));
        case.repeat(&nodes(1, ""), "allocate_orelse_reserve", matches);
    }),
    row('h', "first, 1 node with 1 of 3 properties, 10 down", "first", |case, all, matches| {
        for node in 0..all {
            case.commands.push(format!("set-property {} p{}=1", path(node), node % 3));
        }
        for node in 0..10 {
            case.commands.push(format!("set-status {} down", path(node * 7)));
        }
        case.repeat(&nodes(1, r#"{"properties": ["p1"]}"#), "allocate", matches);
    }),
    Row { format: "rv1_nosched", ..row('i', "mixed jobspecs, machine 60-95 % full, R written", "first", mixed) },
];

const fn row(letter: char, what: &'static str, policy: &'static str, make: fn(&mut Case, u32, u32)) -> Row {
    Row { letter, what, policy, format: "simple", make }
}

impl Row {
    /// The files and commands of the row; `nodes` rounded up to whole racks.
    pub(crate) fn case(&self, nodes: u32, matches: u32, directory: &Path) -> Case {
        let mut case = Case {
            policy: self.policy,
            format: self.format,
            jobspecs: Vec::new(),
            commands: Vec::new(),
            unmeasured: 0,
            directory: directory.join(self.letter.to_string()),
        };
        (self.make)(&mut case, nodes.div_ceil(RACK) * RACK, matches);
        case
    }
}

/// What both tools are given.
pub(crate) struct Case {
    pub(crate) policy: &'static str,
    pub(crate) format: &'static str,
    /// Files with their texts.
    pub(crate) jobspecs: Vec<(PathBuf, String)>,
    pub(crate) commands: Vec<String>,
    /// So many matches prepare the machine and are not measured.
    pub(crate) unmeasured: usize,
    directory: PathBuf,
}

impl Case {
    /// Whether R is part of the work that is measured.
    pub(crate) fn writes_r(&self) -> bool {
        self.format == "rv1_nosched"
    }

    /// Writes the jobspecs.
    pub(crate) fn write(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.directory)?;
        self.jobspecs.iter().try_for_each(|(file, text)| std::fs::write(file, text))
    }

    fn jobspec(&mut self, text: &str) -> String {
        let known = self.jobspecs.iter().find(|(_, known)| known == text);
        if let Some((file, _)) = known {
            return file.display().to_string();
        }
        let file = self.directory.join(format!("{}.yaml", self.jobspecs.len()));
        self.jobspecs.push((file.clone(), text.to_owned()));
        file.display().to_string()
    }

    fn before(&mut self, text: &str) {
        let file = self.jobspec(text);
        self.commands.push(format!("match allocate {file}"));
        self.unmeasured += 1;
    }

    fn repeat(&mut self, text: &str, operation: &str, matches: u32) {
        let file = self.jobspec(text);
        self.commands.extend((0..matches).map(|_| format!("match {operation} {file}")));
    }
}

fn path(node: u32) -> String {
    format!("/cluster0/rack{}/node{node}", node / RACK)
}

fn jobspec(resources: &str, constraint: &str) -> String {
    let constraint = if constraint.is_empty() { String::new() } else { format!(", constraints: {constraint}") };
    format!(
        "version: 9999\nresources: [{resources}]\nattributes: {{system: {{duration: 3600{constraint}}}}}\n\
         tasks: [{{command: [app], slot: default, count: {{per_slot: 1}}}}]\n"
    )
}

fn slot(count: u32, cores: u32) -> String {
    format!("{{type: slot, count: {count}, label: default, with: [{{type: core, count: {cores}}}]}}")
}

fn slots(count: u32, cores: u32) -> String {
    jobspec(&slot(count, cores), "")
}

/// Whole nodes.
fn nodes(count: u32, constraint: &str) -> String {
    let slot = slot(1, CORES);
    jobspec(&format!("{{type: node, count: {count}, exclusive: true, with: [{slot}]}}"), constraint)
}

/// A core on each node.
fn shared(count: u32) -> String {
    jobspec(&format!("{{type: node, count: {count}, with: [{}]}}", slot(1, 1)), "")
}

/// Random jobspecs, from a core to 512 nodes, a fifth with a constraint; jobs end at random so that the machine stays
/// between 60 and 95 % full.
fn mixed(case: &mut Case, all: u32, matches: u32) {
    let mut state = SEED;
    let mut random = |bound: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(bound.max(1))) as u32
    };
    for node in 0..all {
        case.commands.push(format!("set-property {} p{}=1", path(node), node % 3));
    }
    let mut running: Vec<(usize, u32)> = Vec::new();
    let (mut used, mut job) = (0, 0);
    let fill = all * 6 / 10;
    while used < fill {
        let count = (1 << random(8)).min(fill - used);
        case.before(&nodes(count, ""));
        job += 1;
        running.push((job, count));
        used += count;
    }
    for _ in 0..matches {
        let constraint = if random(5) == 0 { r#"{"properties": ["p1"]}"# } else { "" };
        let (text, count) = match random(3) {
            0 => (slots(1 + random(4), 1 + random(8)), 1),
            1 => (nodes(1 + random(4), constraint), 4),
            _ => {
                let count = 1 << random(10);
                (nodes(count, constraint), count)
            }
        };
        while used + count > all * 95 / 100 && !running.is_empty() {
            let (ended, freed) = running.swap_remove(random(running.len() as u32) as usize);
            case.commands.push(format!("cancel {ended}"));
            used -= freed;
        }
        let file = case.jobspec(&text);
        case.commands.push(format!("match allocate {file}"));
        job += 1;
        running.push((job, count));
        used += count;
    }
}
