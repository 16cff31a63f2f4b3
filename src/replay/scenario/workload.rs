//! `[[workload]]` and `[[node-events]]`: what is submitted, and what happens to nodes by itself.

use super::machine::FileRef;
use crate::base::{Duration, Timestamp};
use std::path::PathBuf;

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
    /// `run`: how long it runs.
    pub run: Duration,
    /// `limit`: its time limit; `None`: what the jobspec or the queue says.
    pub limit: Option<Duration>,
    /// `user`: a number.
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
