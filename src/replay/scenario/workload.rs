//! `[[workload]]` and `[[node-events]]`: what is submitted, and what happens to nodes by itself.

use super::fields::{Fields, Item};
use super::machine::{FileRef, read_file};
use super::settings::finite;
use crate::base::{Duration, Timestamp};
use crate::matcher::Within;
use std::path::PathBuf;
use toml::de::DeValue;

/// One `[[workload]]`.
///
/// Job ids: those of a trace are the trace's; jobs of a list and of a generator that state none are numbered on from the
/// highest id of all workloads before them (from 1 where there is none).
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// `swf = { … }`
    Swf(SwfWork),
    /// `jobs = [ … ]`, with the queue that jobs without one go to.
    Jobs(Vec<Job>),
    /// `generate = { … }`
    Generate(Generator),
}

/// A trace in the Standard Workload Format.
#[derive(Clone, Debug, PartialEq)]
pub struct SwfWork {
    /// `file` or `shared`; gzip by its content.
    pub file: FileRef,
    /// `by`: the field that decides the queue.
    pub by: QueueField,
    /// `map`: from what stands in that field to a queue's name, in the order of the file.
    pub map: Vec<(String, String)>,
    /// `others`: the queue of jobs that the map does not name; `None`: they name no queue.
    pub others: Option<String>,
    /// `unit`: what one processor of the trace stands for.
    pub unit: SwfUnit,
    /// `limit`: which field is the time limit.
    pub limit: LimitRule,
    /// `start`: the instant of the trace's first submission; `None`: times are those of the trace.
    pub start: Option<Timestamp>,
    /// `first`: only so many jobs, in the order of the file.
    pub first: Option<usize>,
}

/// The field of a trace that decides the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueField {
    /// Field 15, a number.
    Queue,
    /// Field 16, a number.
    Partition,
    /// Column 20 of traces that have one, a name.
    Name,
}

/// What one processor of a trace stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwfUnit {
    /// `unit = "node"`: so many processors are one whole node (`procs-per-node`, 1 by default), rounded up.
    Node {
        /// At least 1.
        procs_per_node: u32,
    },
    /// `unit = "core"`: a slot of one core, anywhere.
    Core,
}

/// Which time is the limit of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitRule {
    /// What was requested.
    Requested,
    /// The run time: perfect estimates.
    Runtime,
}

/// One entry of `jobs`: one job or `count` equal ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// `id` of the first; the others follow. `None`: the next free number.
    pub id: Option<u64>,
    /// `at`: when the first is submitted.
    pub at: Timestamp,
    /// `count`: how many; at least 1.
    pub count: u32,
    /// `every`: so much between two of them.
    pub every: Duration,
    /// `queue`; `None`: the job names none.
    pub queue: Option<String>,
    /// What it asks for.
    pub work: JobWork,
    /// `properties`: all of them, `^name` for those that it must not have (RFC 31).
    pub properties: Vec<String>,
    /// `pools`: so much of each type of shared pool, in the order of the file; at least 1.
    pub pools: Vec<(String, u64)>,
    /// `within`: the vertices, as racks, that have to contain the nodes of the job and what it takes of pools; in each of
    /// several it has all that it asks for. `None`: they may be anywhere.
    pub within: Option<Within>,
    /// `run`: how long it runs; of one that runs an instance nothing.
    pub run: Duration,
    /// `instance`: one of `[instances]`, which it runs instead of a program.
    pub instance: Option<String>,
    /// `limit`: its time limit; `None`: what the jobspec or the queue says.
    pub limit: Option<Duration>,
    /// `user`: a number, or a name of `[users]`.
    pub user: u32,
    /// `priority`: higher first.
    pub priority: u32,
    /// `fails = true`: it ends as failed.
    pub fails: bool,
    /// The line where it stands (counted from 1).
    pub line: usize,
}

/// What a job of a list asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobWork {
    /// `nodes` alone: whole nodes, exclusively.
    Whole {
        /// How many.
        nodes: Size,
    },
    /// `nodes` with `cores` or `gpus`: a part of each of so many nodes.
    Parts {
        /// How many.
        nodes: Size,
        /// What it takes on each.
        each: PerNode,
    },
    /// `slots` with `cores` or `gpus`, without `nodes`: slots anywhere.
    Slots {
        /// How many.
        slots: Size,
        /// What one slot holds (`slots` in it is 1).
        each: PerNode,
    },
    /// `jobspec = "file"`: RFC 14, YAML or JSON, relative to the scenario's directory.
    JobspecFile(PathBuf),
    /// `jobspec-text = """…"""`: the same, inline.
    JobspecText(String),
}

/// A number or a range of numbers, `min` ≤ `max`, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
}

/// A part of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerNode {
    /// Task slots on each node; at least 1.
    pub slots: u32,
    /// Cores in each slot; at least 1.
    pub cores: u32,
    /// Gpus in each slot.
    pub gpus: u32,
}

/// Jobs from a seed. Each job asks for whole nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// `seed`: equal seeds make equal jobs.
    pub seed: u64,
    /// `jobs`: how many.
    pub jobs: u64,
    /// `start`: submissions begin after this instant.
    pub start: Timestamp,
    /// `load` or `interval`: how fast jobs come (exponential distances).
    pub interval: Interval,
    /// `daily`: amplitude (0 to 1) of a daily wave of the rate of submissions, highest a quarter of a day after `start`.
    pub daily: f64,
    /// `sizes`: nodes, at least 1.
    pub sizes: Distribution,
    /// `run`: seconds.
    pub run: Distribution,
    /// `limit`: the time limit as a multiple of the run time, then rounded up to whole minutes.
    pub limit: Distribution,
    /// `queues`: names and weights (above 0), in the order of the file; not empty.
    pub queues: Vec<(String, f64)>,
    /// `constraint`: some jobs ask for a property.
    pub constraint: Option<GenerateConstraint>,
    /// `users`: how many, numbered from 1; at least 1.
    pub users: u32,
}

/// How fast generated jobs come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// `interval`: the mean distance of submissions.
    Mean(Duration),
    /// `load` and `nodes`: so that the jobs' expected node-time is this share of what so many nodes have.
    Load {
        /// Above 0; 1 is as much as the nodes have.
        load: f64,
        /// At least 1.
        nodes: u32,
    },
}

/// Some generated jobs ask for a property.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateConstraint {
    /// `share` of the jobs, 0 to 1.
    pub share: f64,
    /// `properties`: each of these jobs asks for one of them, by equal chances; not empty.
    pub properties: Vec<String>,
}

/// A distribution of numbers in `min..=max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// `dist = "uniform"`
    Uniform {
        /// At least.
        min: f64,
        /// At most.
        max: f64,
    },
    /// `dist = "log-uniform"`: the logarithm is uniform; `min` above 0.
    LogUniform {
        /// At least.
        min: f64,
        /// At most.
        max: f64,
    },
    /// `dist = "power-of-two"`: one of the powers of two in the range, by equal chances; `min` at least 1.
    PowerOfTwo {
        /// At least.
        min: f64,
        /// At most.
        max: f64,
    },
    /// `dist = "log-normal"`: `median`, and `sigma` of the logarithm; what falls outside is moved to the border.
    LogNormal {
        /// At least.
        min: f64,
        /// At most.
        max: f64,
        /// The middle; within the range.
        median: f64,
        /// Above 0.
        sigma: f64,
    },
}

/// `[[node-events]]`: a resource event log of Flux (`online`, `offline`, `drain`, `undrain`, `resource-init`). Ranks are execution targets.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeEvents {
    /// `file` or `shared`.
    pub file: FileRef,
    /// `start`: the instant of the log's first event; `None`: times are those of the log.
    pub start: Option<Timestamp>,
}

pub(super) fn read_workload(item: &Item<'_, '_>) -> Option<Workload> {
    let fields = item.fields("[[workload]]")?;
    let queue = fields.get("queue");
    let Some(source) = fields.one_of(&["swf", "jobs", "generate"]) else {
        fields.finish();
        return None;
    };
    if let (Some(queue), "swf" | "generate") = (&queue, source.key) {
        let instead = if source.key == "swf" { "`map` and `others` in `swf`" } else { "`queues` in `generate`" };
        fields.src.conflict(queue.line(), format!("`queue` goes with `jobs` only: here {instead} name the queues"));
    }
    let workload = match source.key {
        "swf" => read_swf(&source).map(Workload::Swf),
        "generate" => read_generator(&source).map(Workload::Generate),
        _ => {
            let queue = queue.and_then(|i| i.queue());
            let jobs = source.items().unwrap_or_default();
            Some(Workload::Jobs(jobs.iter().filter_map(|job| read_job(job, queue.as_deref())).collect()))
        }
    };
    fields.finish();
    workload
}

pub(super) fn read_node_events(item: &Item<'_, '_>) -> Option<NodeEvents> {
    let fields = item.fields("[[node-events]]")?;
    let file = read_file(&fields);
    let start = optional(fields.get("start"), |i| i.time());
    fields.finish();
    Some(NodeEvents { file: file?, start: start? })
}

/// Absent: `Some(None)`; right: `Some(Some(value))`; wrong: `None`.
pub(super) fn optional<'s, 't, T>(
    item: Option<Item<'s, 't>>,
    read: impl FnOnce(&Item<'s, 't>) -> Option<T>,
) -> Option<Option<T>> {
    match item {
        Some(item) => read(&item).map(Some),
        None => Some(None),
    }
}

fn read_swf(item: &Item<'_, '_>) -> Option<SwfWork> {
    let fields = item.fields("swf")?;
    let file = read_file(&fields);
    let by = fields.get("by").map_or(Some(QueueField::Queue), |i| {
        i.word(&[("queue", QueueField::Queue), ("partition", QueueField::Partition), ("name", QueueField::Name)])
    });
    let map = fields.get("map").map_or(Some(Vec::new()), |i| i.queue_pairs());
    let others = optional(fields.get("others"), Item::queue);
    let per_node = fields.get("procs-per-node");
    let unit = fields.get("unit").map_or(Some("node"), |i| i.word(&[("node", "node"), ("core", "core")]));
    let unit = match (unit, per_node) {
        (Some("core"), Some(item)) => {
            fields.src.conflict(item.line(), "`procs-per-node` goes with `unit = \"node\"` only");
            None
        }
        (Some("core"), None) => Some(SwfUnit::Core),
        (unit, Some(item)) => item.small(1).filter(|_| unit.is_some()).map(|n| SwfUnit::Node { procs_per_node: n }),
        (unit, None) => unit.map(|_| SwfUnit::Node { procs_per_node: 1 }),
    };
    let limit = fields.get("limit").map_or(Some(LimitRule::Requested), |i| {
        i.word(&[("requested", LimitRule::Requested), ("runtime", LimitRule::Runtime)])
    });
    let start = optional(fields.get("start"), |i| i.time());
    let first = optional(fields.get("first"), |i| i.integer(1..1 << 32));
    fields.finish();
    Some(SwfWork {
        file: file?,
        by: by?,
        map: map?,
        others: others?,
        unit: unit?,
        limit: limit?,
        start: start?,
        first: first?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
    })
}

fn read_job(item: &Item<'_, '_>, default_queue: Option<&str>) -> Option<Job> {
    let fields = item.fields("a job")?;
    let id = optional(fields.get("id"), |i| i.integer(0..i64::MAX as u64));
    let at = fields.need("at").and_then(|i| i.time());
    let count = fields.get("count").map_or(Some(1), |i| i.small(1));
    let every = fields.get("every").map_or(Some(Duration::ZERO), |i| finite(&i));
    let queue = optional(fields.get("queue"), Item::queue);
    let work = read_work(&fields);
    let properties = fields.get("properties").map_or(Some(Vec::new()), |i| i.names());
    let pools = fields.get("pools").map_or(Some(Vec::new()), |i| read_pools(&i));
    let within = optional(fields.get("within"), read_within);
    let instance = optional(fields.get("instance"), |i| i.instance());
    let run = match (&instance, fields.get("run")) {
        (Some(None), None) => fields.missing("run` or `instance"),
        (_, None) => Some(Duration::ZERO),
        (Some(None), Some(run)) => finite(&run),
        (_, Some(_)) => {
            fields.conflict("a job with `instance` takes no `run`: it ends when the work of the instance is done")
        }
    };
    let limit = optional(fields.get("limit"), |i| i.duration());
    let user = fields.get("user").map_or(Some(1), |i| i.user());
    let priority = fields.get("priority").map_or(Some(16), |i| i.small(0));
    let fails = fields.get("fails").map_or(Some(false), |i| i.boolean());
    fields.finish();
    Some(Job {
        id: id?,
        at: at?,
        count: count?,
        every: every?,
        queue: queue?.or_else(|| default_queue.map(str::to_owned)),
        work: work?,
        properties: properties?,
        pools: pools?,
        within: within?,
        run: run?,
        instance: instance?,
        limit: limit?,
        user: user?,
        priority: priority?,
        fails: fails?,
        line: item.line(),
    })
}

/// `"rack"`, or `{ type = "rack", count = 2, exclusive = true }`.
fn read_within(item: &Item<'_, '_>) -> Option<Within> {
    if !item.is_table() {
        return item.name().map(Within::one);
    }
    let fields = item.fields("within")?;
    let kind = fields.need("type").and_then(|i| i.name());
    let count = fields.get("count").map_or(Some(1), |i| i.small(1));
    let exclusive = fields.get("exclusive").map_or(Some(false), |i| i.boolean());
    fields.finish();
    Some(Within { kind: kind?, count: u64::from(count?), exclusive: exclusive? })
}

/// `{ licence = 2 }`.
fn read_pools(item: &Item<'_, '_>) -> Option<Vec<(String, u64)>> {
    let amount = |(kind, item): (String, Item<'_, '_>)| Some((kind, item.integer(1..1 << 62)?));
    item.entries()?.into_iter().map(amount).collect()
}

fn read_work(fields: &Fields<'_, '_>) -> Option<JobWork> {
    let numbers = ["nodes", "slots", "cores", "gpus"];
    let (nodes, slots, cores, gpus) =
        (fields.get("nodes"), fields.get("slots"), fields.get("cores"), fields.get("gpus"));
    if ["jobspec", "jobspec-text"].iter().any(|key| fields.has(key)) {
        let spec = fields.one_of(&["jobspec", "jobspec-text"])?;
        if let Some(key) = numbers.iter().find(|key| fields.has(key)) {
            return fields.conflict(format!("a job with `{}` takes no `{key}`", spec.key));
        }
        let text = spec.name()?;
        return Some(if spec.key == "jobspec" {
            JobWork::JobspecFile(PathBuf::from(text))
        } else {
            JobWork::JobspecText(text)
        });
    }
    // A slot holds a core at least: this is what a job asks for that names gpus only.
    let per_slot = cores.is_some() || gpus.is_some();
    let cores = cores.map_or(Some(1), |i| i.small(1));
    let gpus = gpus.map_or(Some(0), |i| i.small(0));
    match (nodes, slots) {
        (Some(nodes), None) if !per_slot => Some(JobWork::Whole { nodes: read_size(&nodes)? }),
        (Some(nodes), slots) => {
            let slots = slots.map_or(Some(1), |i| i.small(1));
            let each = PerNode { slots: slots?, cores: cores?, gpus: gpus? };
            Some(JobWork::Parts { nodes: read_size(&nodes)?, each })
        }
        (None, Some(slots)) => {
            let each = PerNode { slots: 1, cores: cores?, gpus: gpus? };
            Some(JobWork::Slots { slots: read_size(&slots)?, each })
        }
        (None, None) => fields.missing("nodes` or `slots` or `jobspec"),
    }
}

/// `4` or `"2-8"`.
fn read_size(item: &Item<'_, '_>) -> Option<Size> {
    let DeValue::String(text) = item.value.get_ref() else {
        return item.small(1).map(|n| Size { min: n, max: n });
    };
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    match (min.parse(), max.parse()) {
        (Ok(min), Ok(max)) if 0 < min && min <= max => Some(Size { min, max }),
        _ => item.wrong("a number from 1 or a range like \"2-8\""),
    }
}

fn read_generator(item: &Item<'_, '_>) -> Option<Generator> {
    let fields = item.fields("generate")?;
    let share = |i: Item<'_, '_>| i.number("a share from 0 to 1", |n| (0.0..=1.0).contains(&n));
    let seed = fields.need("seed").and_then(|i| i.integer(0..u64::MAX));
    let jobs = fields.need("jobs").and_then(|i| i.integer(1..1 << 40));
    let start = fields.get("start").map_or(Some(Timestamp::ZERO), |i| i.time());
    let nodes = fields.get("nodes");
    let interval = fields.one_of(&["load", "interval"]).and_then(|i| match i.key {
        "load" => {
            let load = i.number("a number above 0", |n| n > 0.0);
            let nodes = nodes.or_else(|| fields.missing("nodes")).and_then(|i| i.small(1));
            Some(Interval::Load { load: load?, nodes: nodes? })
        }
        _ => {
            if let Some(nodes) = &nodes {
                fields.src.conflict(nodes.line(), "`nodes` goes with `load` only");
            }
            finite(&i).filter(|d| *d > Duration::ZERO).map(Interval::Mean)
        }
    });
    let daily = fields.get("daily").map_or(Some(0.0), share);
    let sizes = fields.need("sizes").and_then(|i| read_distribution(&i, 1.0, false));
    let run = fields.need("run").and_then(|i| read_distribution(&i, 0.001, true));
    let limit = fields
        .get("limit")
        .map_or(Some(Distribution::Uniform { min: 1.0, max: 1.0 }), |i| read_distribution(&i, 1.0, false));
    let queues = fields.need("queues").and_then(|i| read_weights(&i));
    let constraint = optional(fields.get("constraint"), read_constraint);
    let users = fields.get("users").map_or(Some(1), |i| i.small(1));
    fields.finish();
    Some(Generator {
        seed: seed?,
        jobs: jobs?,
        start: start?,
        interval: interval?,
        daily: daily?,
        sizes: sizes?,
        run: run?,
        limit: limit?,
        queues: queues?,
        constraint: constraint?,
        users: users?,
    })
}

fn read_weights(item: &Item<'_, '_>) -> Option<Vec<(String, f64)>> {
    let entries = item.entries()?;
    if entries.is_empty() {
        return item.wrong("at least one queue and its weight");
    }
    let weight = |(name, i): (String, Item<'_, '_>)| {
        i.names_queue(&name);
        Some((name, i.number("a weight above 0", |n| n > 0.0)?))
    };
    entries.into_iter().map(weight).collect()
}

fn read_constraint(item: &Item<'_, '_>) -> Option<GenerateConstraint> {
    let fields = item.fields("constraint")?;
    let share = fields.need("share").and_then(|i| i.number("a share from 0 to 1", |n| (0.0..=1.0).contains(&n)));
    let properties = fields.need("properties").and_then(|i| {
        let names = i.names()?;
        if names.is_empty() { i.wrong("at least one property") } else { Some(names) }
    });
    fields.finish();
    Some(GenerateConstraint { share: share?, properties: properties? })
}

/// Reads `{ dist, min, max, … }`; `times`: the numbers are durations, in seconds.
fn read_distribution(item: &Item<'_, '_>, least: f64, times: bool) -> Option<Distribution> {
    let fields = item.fields(item.key)?;
    let read = |i: Item<'_, '_>| {
        let value = if times { finite(&i)?.secs_f64() } else { i.number("a number", |_| true)? };
        if value >= least { Some(value) } else { i.wrong(format!("at least {least}")) }
    };
    let words = [("uniform", 0), ("log-uniform", 1), ("power-of-two", 2), ("log-normal", 3)];
    let dist = fields.need("dist").and_then(|i| i.word(&words));
    let min = fields.need("min").and_then(read);
    let max = fields.need("max").and_then(read);
    let (median, sigma) = if dist == Some(3) {
        let sigma = fields.get("sigma").map_or(Some(1.0), |i| i.number("a number above 0", |n| n > 0.0));
        (fields.need("median").and_then(read), sigma)
    } else {
        (Some(least), Some(1.0))
    };
    fields.finish();
    let (min, max, median, sigma) = (min?, max?, median?, sigma?);
    if min > max {
        return item.src.conflict_at(item, "`min` is above `max`");
    }
    match dist? {
        0 => Some(Distribution::Uniform { min, max }),
        1 => Some(Distribution::LogUniform { min, max }),
        2 if power_of_two_within(min, max) => Some(Distribution::PowerOfTwo { min, max }),
        2 => item.src.conflict_at(item, "there is no power of two from `min` to `max`"),
        _ if (min..=max).contains(&median) => Some(Distribution::LogNormal { min, max, median, sigma }),
        _ => item.src.conflict_at(item, "`median` is not from `min` to `max`"),
    }
}

fn power_of_two_within(min: f64, max: f64) -> bool {
    min.log2().ceil() <= max.log2().floor()
}
