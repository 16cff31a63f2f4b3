//! `[[action]]`: what is done at given times.

use super::fields::{Fields, Item};
use super::machine::{NodeSet, read_nodes};
use super::settings::finite;
use super::workload::optional;
use crate::base::{Duration, Timestamp};
use crate::config::QueueConfig;
use std::num::NonZeroU32;
use toml::de::DeValue;

/// One `[[action]]`, possibly repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// `at`: when it is done, or, if announced, when it takes effect.
    pub at: Timestamp,
    /// `told` or `ahead`: when it is announced; `None`: it is not. Only switch, queue-start, queue-stop with release and drain
    /// can be; the site knows of it from then on and plans for it.
    pub told: Option<Told>,
    /// `name`, to cancel an announced action by; else `action-N`, N counted from 1 in the order of the file.
    pub name: String,
    /// `every` and `times`.
    pub repeat: Option<Repeat>,
    /// `do` and its arguments.
    pub what: ActionKind,
    /// `preempt = true`: preemptible jobs give way on what leaves for it. Only of switch, queue-start and queue-stop with
    /// release.
    pub preempt: bool,
    /// The line where it stands (counted from 1).
    pub line: usize,
}

/// When an action is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// `told`: at this instant; of a repeated action the first time, and so much before each other time.
    At(Timestamp),
    /// `ahead`: so long before it takes effect, but not before time 0.
    Ahead(Duration),
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
    /// All its occurrences, in order of time.
    pub fn occurrences(&self) -> impl Iterator<Item = Occurrence> + '_ {
        let times = self.repeat.map_or(1, |r| r.times);
        (0..times).map(move |k| {
            let shift = match self.repeat {
                Some(r) => Duration::from_micros(r.every.micros().saturating_mul(i64::from(k))),
                None => Duration::ZERO,
            };
            let name = if self.repeat.is_some() { format!("{}#{}", self.name, k + 1) } else { self.name.clone() };
            let at = self.at + shift;
            let told = self.told.map(|told| match told {
                Told::At(told) => told + shift,
                Told::Ahead(ahead) => (at - ahead).max(Timestamp::ZERO),
            });
            Occurrence { told, at, name }
        })
    }
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    /// `queue-create`: `queue`, `config = { … }` as in `[queues.NAME]`.
    QueueCreate(Box<QueueConfig>),
    /// `queue-change`: `queue`, `config = { … }`, the whole of it.
    QueueChange(Box<QueueConfig>),
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
    /// `abort`: `plan`, the name of an announced switch; without it the latest switch that was done.
    Abort {
        /// Its name.
        plan: Option<String>,
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
    /// `recall`: `nodes` or `ranks`, whose loans end.
    Recall {
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
    /// `max-leaving = N`: N targets at a time leave other started queues.
    pub max_leaving: Option<NonZeroU32>,
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

pub(super) fn read_action(item: &Item<'_, '_>, number: usize) -> Option<Action> {
    let fields = item.fields("[[action]]")?;
    let at = fields.need("at").and_then(|i| i.time());
    let told = read_told(&fields, at);
    let name = fields.get("name").map_or_else(|| Some(format!("action-{number}")), |i| i.name());
    let repeat = read_repeat(&fields);
    let verb = fields.need("do");
    let what = verb.as_ref().and_then(|verb| read_what(verb, &fields));
    let line = fields.line;
    let preempt = fields.get("preempt").map_or(Some(false), |i| i.boolean());
    if let (Some(true), Some(what)) = (preempt, &what)
        && !what.takes_targets()
    {
        let which = "switch, queue-start, queue-stop with release = true";
        fields.conflict::<()>(format!("jobs give way only for these: {which}"));
    }
    if let (Some(Some(_)), Some(what)) = (told, &what)
        && !what.can_be_announced()
    {
        let which = "switch, queue-start, queue-stop with release = true, drain";
        fields.conflict::<()>(format!("only these can be announced: {which}"));
    }
    // Which keys there are depends on the verb: without one, none can be called unknown.
    if verb.is_some_and(|verb| is_verb(&verb)) {
        fields.finish();
    }
    Some(Action { at: at?, told: told?, name: name?, repeat: repeat?, what: what?, preempt: preempt?, line })
}

/// `told` or `ahead` or neither.
fn read_told(fields: &Fields<'_, '_>, at: Option<Timestamp>) -> Option<Option<Told>> {
    match (fields.get("told"), fields.get("ahead")) {
        (None, None) => Some(None),
        (Some(_), Some(_)) => fields.conflict("[[action]] takes only one of `told` or `ahead`"),
        (None, Some(ahead)) => finite(&ahead).map(|ahead| Some(Told::Ahead(ahead))),
        (Some(told), None) => match (told.time()?, at) {
            (told, Some(at)) if told > at => fields.conflict(format!("told at {told}, after it takes effect at {at}")),
            (told, _) => Some(Some(Told::At(told))),
        },
    }
}

fn is_verb(item: &Item<'_, '_>) -> bool {
    matches!(item.value.get_ref(), DeValue::String(text) if VERBS.iter().any(|(verb, _)| verb == text))
}

impl ActionKind {
    /// Whether targets leave for it, so that preemptible jobs can give way on them.
    pub fn takes_targets(&self) -> bool {
        !matches!(self, ActionKind::Drain { .. }) && self.can_be_announced()
    }

    /// Whether it can be announced for a later time.
    pub fn can_be_announced(&self) -> bool {
        match self {
            ActionKind::Switch { .. } | ActionKind::QueueStart(_) | ActionKind::Drain { .. } => true,
            ActionKind::QueueStop { release, .. } => *release,
            ActionKind::QueueCreate(_)
            | ActionKind::QueueChange(_)
            | ActionKind::QueueRemove { .. }
            | ActionKind::QueueEnable { .. }
            | ActionKind::QueueDisable { .. }
            | ActionKind::CancelPlanned { .. }
            | ActionKind::Abort { .. }
            | ActionKind::Undrain { .. }
            | ActionKind::Recall { .. }
            | ActionKind::Fail { .. }
            | ActionKind::Return { .. }
            | ActionKind::Add(_)
            | ActionKind::Remove { .. }
            | ActionKind::Cancel { .. }
            | ActionKind::Reprioritize { .. }
            | ActionKind::Relimit { .. }
            | ActionKind::Move { .. } => false,
        }
    }
}

/// `every` and `times`: both or none.
fn read_repeat(fields: &Fields<'_, '_>) -> Option<Option<Repeat>> {
    match (fields.get("every"), fields.get("times")) {
        (None, None) => Some(None),
        (Some(every), Some(times)) => {
            let length = finite(&every);
            if length == Some(Duration::ZERO) {
                return every.wrong("a duration above 0");
            }
            let times = times.small(1);
            Some(Some(Repeat { every: length?, times: times? }))
        }
        (Some(_), None) => fields.missing("times"),
        (None, Some(_)) => fields.missing("every"),
    }
}

/// The verbs of `do`.
#[derive(Clone, Copy)]
enum Verb {
    QueueCreate,
    QueueChange,
    QueueRemove,
    QueueEnable,
    QueueDisable,
    QueueStart,
    QueueStop,
    Switch,
    CancelPlanned,
    Abort,
    Drain,
    Undrain,
    Recall,
    Fail,
    Return,
    Add,
    Remove,
    Cancel,
    Reprioritize,
    Relimit,
    Move,
}

const VERBS: [(&str, Verb); 21] = [
    ("queue-create", Verb::QueueCreate),
    ("queue-change", Verb::QueueChange),
    ("queue-remove", Verb::QueueRemove),
    ("queue-enable", Verb::QueueEnable),
    ("queue-disable", Verb::QueueDisable),
    ("queue-start", Verb::QueueStart),
    ("queue-stop", Verb::QueueStop),
    ("switch", Verb::Switch),
    ("cancel-planned", Verb::CancelPlanned),
    ("abort", Verb::Abort),
    ("drain", Verb::Drain),
    ("undrain", Verb::Undrain),
    ("recall", Verb::Recall),
    ("fail", Verb::Fail),
    ("return", Verb::Return),
    ("add", Verb::Add),
    ("remove", Verb::Remove),
    ("cancel", Verb::Cancel),
    ("reprioritize", Verb::Reprioritize),
    ("relimit", Verb::Relimit),
    ("move", Verb::Move),
];

fn read_what(verb: &Item<'_, '_>, fields: &Fields<'_, '_>) -> Option<ActionKind> {
    let queue = || fields.need("queue").and_then(|i| i.queue());
    let reason = || fields.get("reason").map_or(Some(String::new()), |i| i.text().map(str::to_owned));
    Some(match verb.word(&VERBS)? {
        Verb::QueueCreate => ActionKind::QueueCreate(read_config(fields)?),
        Verb::QueueChange => ActionKind::QueueChange(read_config(fields)?),
        Verb::QueueRemove => {
            let (queue, pending) = (queue(), optional(fields.get("pending"), read_pending));
            ActionKind::QueueRemove { queue: queue?, pending: pending? }
        }
        Verb::QueueEnable => ActionKind::QueueEnable { queue: queue()? },
        Verb::QueueDisable => {
            let (queue, reason) = (queue(), reason());
            ActionKind::QueueDisable { queue: queue?, reason: reason? }
        }
        Verb::QueueStart => ActionKind::QueueStart(read_start(fields)?),
        Verb::QueueStop => {
            let release = fields.get("release").map_or(Some(false), |i| i.boolean());
            let (queue, reason) = (queue(), reason());
            ActionKind::QueueStop { queue: queue?, release: release?, reason: reason? }
        }
        Verb::Switch => {
            let release = fields.get("release").map_or(Some(Vec::new()), |i| i.queues());
            let start = fields.get("start").map_or(Some(Vec::new()), |i| read_starts(&i));
            let (release, start) = (release?, start?);
            if release.is_empty() && start.is_empty() {
                return fields.missing("release` or `start");
            }
            ActionKind::Switch { release, start }
        }
        Verb::CancelPlanned => ActionKind::CancelPlanned { plan: fields.need("plan").and_then(|i| i.name())? },
        Verb::Abort => ActionKind::Abort { plan: optional(fields.get("plan"), |i| i.name())? },
        Verb::Drain => {
            let (nodes, reason) = (read_nodes(fields), reason());
            ActionKind::Drain { nodes: nodes?, reason: reason? }
        }
        Verb::Undrain => ActionKind::Undrain { nodes: read_nodes(fields)? },
        Verb::Recall => ActionKind::Recall { nodes: read_nodes(fields)? },
        Verb::Fail => ActionKind::Fail { nodes: read_nodes(fields)? },
        Verb::Return => ActionKind::Return { nodes: read_nodes(fields)? },
        Verb::Add => ActionKind::Add(read_addition(fields)?),
        Verb::Remove => ActionKind::Remove { nodes: read_nodes(fields)? },
        Verb::Cancel => ActionKind::Cancel { jobs: read_pick(fields)? },
        Verb::Reprioritize => {
            let (jobs, priority) = (read_pick(fields), fields.need("priority").and_then(|i| i.small(0)));
            ActionKind::Reprioritize { jobs: jobs?, priority: priority? }
        }
        Verb::Relimit => {
            let (jobs, limit) = (read_pick(fields), fields.need("limit").and_then(|i| i.duration()));
            ActionKind::Relimit { jobs: jobs?, limit: limit? }
        }
        Verb::Move => {
            let (jobs, to) = (read_pick(fields), fields.need("to").and_then(|i| i.queue()));
            ActionKind::Move { jobs: jobs?, to: to? }
        }
    })
}

/// `queue` and `config`: what would stand below `[queues.NAME]`.
fn read_config(fields: &Fields<'_, '_>) -> Option<Box<QueueConfig>> {
    let (queue, table) = (fields.need("queue").and_then(|i| i.name()), fields.need("config"));
    let (queue, table) = (queue?, table?);
    let src = fields.src;
    let read = src.config.borrow().read_queue(&queue, table.value, src.text, &src.file.to_string_lossy());
    match read {
        Ok(config) => Some(Box::new(config)),
        Err(errors) => {
            errors.0.into_iter().for_each(|error| src.push(error.into()));
            None
        }
    }
}

fn read_pending(item: &Item<'_, '_>) -> Option<PendingJobs> {
    let text = item.text()?;
    match (text, text.strip_prefix("move=")) {
        ("hold", _) => Some(PendingJobs::Hold),
        ("cancel", _) => Some(PendingJobs::Cancel),
        (_, Some(queue)) if !queue.is_empty() => Some(PendingJobs::Move(queue.to_owned())),
        _ => item.wrong("\"hold\", \"cancel\" or \"move=QUEUE\""),
    }
}

/// Names, or tables with `queue`, `take`, `group` and `max-leaving`.
fn read_starts(item: &Item<'_, '_>) -> Option<Vec<StartQueue>> {
    let start = |item: &Item<'_, '_>| match item.value.get_ref() {
        DeValue::String(_) => Some(StartQueue { queue: item.queue()?, take: false, group: None, max_leaving: None }),
        DeValue::Table(_) => {
            let fields = item.fields("start")?;
            let start = read_start(&fields);
            fields.finish();
            start
        }
        _ => item.wrong("the name of a queue, or a table with `queue`, `take`, `group`, `max-leaving`"),
    };
    item.items()?.iter().map(start).collect()
}

fn read_start(fields: &Fields<'_, '_>) -> Option<StartQueue> {
    let queue = fields.need("queue").and_then(|i| i.queue());
    let take = fields.get("take").map_or(Some(false), |i| i.boolean());
    let group = optional(fields.get("group"), |i| {
        let fields = i.fields("group")?;
        let min = optional(fields.get("min"), |i| i.small(1));
        let give_up = fields.need("give-up").and_then(|i| finite(&i));
        fields.finish();
        Some(Group { min: min?, give_up: give_up? })
    });
    let most = optional(fields.get("max-leaving"), |i| i.small(1).and_then(NonZeroU32::new));
    if group.as_ref().is_some_and(Option::is_some) && most.is_some_and(|most| most.is_some()) {
        return fields
            .conflict("a start takes its targets all at once (`group`) or in waves (`max-leaving`), not both");
    }
    Some(StartQueue { queue: queue?, take: take?, group: group?, max_leaving: most? })
}

fn read_addition(fields: &Fields<'_, '_>) -> Option<Addition> {
    let hosts = fields.need("hosts").and_then(|i| i.hosts());
    let cores = fields.need("cores").and_then(|i| i.small(1));
    let gpus = fields.get("gpus").map_or(Some(0), |i| i.small(0));
    let properties = fields.get("properties").map_or(Some(Vec::new()), |i| i.names());
    let online = fields.get("online").map_or(Some(true), |i| i.boolean());
    Some(Addition { hosts: hosts?, cores: cores?, gpus: gpus?, properties: properties?, online: online? })
}

fn read_pick(fields: &Fields<'_, '_>) -> Option<JobPick> {
    let item = fields.one_of(&["job", "jobs", "queue"])?;
    match item.key {
        "queue" => item.queue().map(JobPick::PendingIn),
        "job" => Some(JobPick::Ids(vec![item.integer(0..u64::MAX)?])),
        _ => item.items()?.iter().map(|i| i.integer(0..u64::MAX)).collect::<Option<_>>().map(JobPick::Ids),
    }
}
