//! `[[action]]`: what is done at given times.

use super::machine::NodeSet;
use crate::base::{Duration, Timestamp};

/// One `[[action]]`, possibly repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// `at`: when it is done, or, if announced, when it takes effect.
    pub at: Timestamp,
    /// `told`: when it is announced; `None`: it is not. Only switch, queue-start, queue-stop with release and drain can be; the
    /// site knows of it from then on and plans for it.
    pub told: Option<Timestamp>,
    /// `name`, to cancel an announced action by; else `action-N`, N counted from 1 in the order of the file.
    pub name: String,
    /// `every` and `times`.
    pub repeat: Option<Repeat>,
    /// `do` and its arguments.
    pub what: ActionKind,
    /// The line where it stands (counted from 1).
    pub line: usize,
}

/// Repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// So much between two; above zero.
    pub every: Duration,
    /// How often in all; at least 1.
    pub times: u32,
}

/// One time at which an action is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// When it is announced.
    pub told: Option<Timestamp>,
    /// When it is done or takes effect.
    pub at: Timestamp,
    /// The name; of a repeated action `NAME#K`, K from 1.
    pub name: String,
}

impl Action {
    /// All its occurrences, in order of time. `told` and `at` move on together.
    pub fn occurrences(&self) -> impl Iterator<Item = Occurrence> + '_ {
        let times = self.repeat.map_or(1, |r| r.times);
        (0..times).map(move |k| {
            let shift = match self.repeat {
                Some(r) => Duration::from_micros(r.every.micros().saturating_mul(i64::from(k))),
                None => Duration::ZERO,
            };
            let name = if self.repeat.is_some() { format!("{}#{}", self.name, k + 1) } else { self.name.clone() };
            Occurrence { told: self.told.map(|t| t + shift), at: self.at + shift, name }
        })
    }
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    /// `queue-create`: `queue`, `config = { … }` as in `[queues.NAME]`.
    QueueCreate {
        /// Its name.
        queue: String,
        /// The table.
        config: toml::Table,
    },
    /// `queue-change`: `queue`, `config = { … }`, the whole of it.
    QueueChange {
        /// Its name.
        queue: String,
        /// The table.
        config: toml::Table,
    },
    /// `queue-remove`: `queue`, `pending`.
    QueueRemove {
        /// Its name.
        queue: String,
        /// What becomes of its pending jobs; `None`: not said (refused while there are any).
        pending: Option<PendingJobs>,
    },
    /// `queue-enable`: `queue`.
    QueueEnable {
        /// Its name.
        queue: String,
    },
    /// `queue-disable`: `queue`, `reason`.
    QueueDisable {
        /// Its name.
        queue: String,
        /// For people.
        reason: String,
    },
    /// `queue-start`: `queue`, `take`, `group`.
    QueueStart(StartQueue),
    /// `queue-stop`: `queue`, `release`, `reason`.
    QueueStop {
        /// Its name.
        queue: String,
        /// Whether it gives up its claim.
        release: bool,
        /// For people.
        reason: String,
    },
    /// `switch`: `release = [ … ]`, `start = [ … ]`, as one.
    Switch {
        /// Queues that stop and give up their claim.
        release: Vec<String>,
        /// Queues that start, in this order.
        start: Vec<StartQueue>,
    },
    /// `cancel-planned`: `plan`, the name of an announced action.
    CancelPlanned {
        /// Its name.
        plan: String,
    },
    /// `drain`: `nodes` or `ranks`, `reason`.
    Drain {
        /// Which.
        nodes: NodeSet,
        /// For people.
        reason: String,
    },
    /// `undrain`: `nodes` or `ranks`.
    Undrain {
        /// Which.
        nodes: NodeSet,
    },
    /// `fail`: `nodes` or `ranks` go offline; what runs there is treated as `on-node-fail` says.
    Fail {
        /// Which.
        nodes: NodeSet,
    },
    /// `return`: `nodes` or `ranks` come back online.
    Return {
        /// Which.
        nodes: NodeSet,
    },
    /// `add`: nodes join the inventory.
    Add(Addition),
    /// `remove`: `nodes` or `ranks` leave the inventory once nothing holds them.
    Remove {
        /// Which.
        nodes: NodeSet,
    },
    /// `cancel`: `job`, `jobs` or `queue`.
    Cancel {
        /// Which jobs.
        jobs: JobPick,
    },
    /// `reprioritize`: `job`, `jobs` or `queue`, and `priority`.
    Reprioritize {
        /// Which jobs.
        jobs: JobPick,
        /// The new one.
        priority: u32,
    },
    /// `relimit`: `job`, `jobs` or `queue`, and `limit`.
    Relimit {
        /// Which jobs.
        jobs: JobPick,
        /// The whole limit, from the job's start.
        limit: Duration,
    },
    /// `move`: `job`, `jobs` or `queue`, and `to`.
    Move {
        /// Which jobs.
        jobs: JobPick,
        /// The queue they go to.
        to: String,
    },
}

/// The start of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartQueue {
    /// Its name.
    pub queue: String,
    /// `take = true`: it goes before its equals.
    pub take: bool,
    /// `group = { … }`: all its targets at once.
    pub group: Option<Group>,
}

/// How targets are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// `min`: so many are enough; `None`: all.
    pub min: Option<u32>,
    /// `give-up`: when they are not together so long after the start, it gives up.
    pub give_up: Duration,
}

/// What becomes of the pending jobs of a removed queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingJobs {
    /// `pending = "move=QUEUE"`
    Move(String),
    /// `pending = "hold"`
    Hold,
    /// `pending = "cancel"`
    Cancel,
}

/// Nodes that join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// `hosts`: a hostlist.
    pub hosts: String,
    /// `cores` on each; at least 1.
    pub cores: u32,
    /// `gpus` on each.
    pub gpus: u32,
    /// `properties` of all of them.
    pub properties: Vec<String>,
    /// `online`: whether they answer at once (default true).
    pub online: bool,
}

/// Jobs that an action is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPick {
    /// `job = 5` or `jobs = [5, 6]`
    Ids(Vec<u64>),
    /// `queue = "…"`: all jobs that are pending in the queue at that instant, in the order of their ids.
    PendingIn(String),
}
