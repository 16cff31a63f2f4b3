//! `[[expect]]`: what must come out.

use super::fields::{Fields, Item, plain};
use super::workload::optional;
use crate::base::Timestamp;

/// One `[[expect]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// `why`: what it stands for, printed when it fails; may be empty.
    pub why: String,
    /// What is checked.
    pub check: Check,
    /// The line where it stands (counted from 1).
    pub line: usize,
}

/// What is checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// `key = "donations.moved"` and one of `eq`, `ne`, `ge`, `le`, `between`: a value of the JSON result, by its path.
    Key {
        /// Names with dots between them.
        path: String,
        /// What must hold of the value.
        test: Test,
    },
    /// `at`, and any of `owner`, `leaving`, `free`: where nodes are once all that belongs to that instant has been done.
    Owners(Owners),
    /// `job`, and any of `state`, `queue`, `starts`, `ends`, `on`, `reason`.
    Job {
        /// Its id.
        job: u64,
        /// `state` at the end of the replay.
        state: Option<JobState>,
        /// `queue` it ran in, or waited in last.
        queue: Option<String>,
        /// `starts = [from, to]`: its (last) start lies there, both ends included.
        starts: Option<(Timestamp, Timestamp)>,
        /// `ends = [from, to]`: its end.
        ends: Option<(Timestamp, Timestamp)>,
        /// `on`: all nodes that it got are in this hostlist.
        on: Option<String>,
        /// `reason`: what is said of it (when denied, held or waiting) contains this text.
        reason: Option<String>,
    },
    /// `order = [3, 5, 9]`: all these jobs start, none before one that stands earlier in the list.
    Order(Vec<u64>),
}

/// What must hold of a value. Numbers are compared as numbers; only `eq` and `ne` take texts and truth values.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `eq`
    Equal(serde_json::Value),
    /// `ne`
    NotEqual(serde_json::Value),
    /// `ge`
    AtLeast(f64),
    /// `le`
    AtMost(f64),
    /// `between = [low, high]`, both included.
    Between(f64, f64),
}

/// Where nodes are at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    /// `at`: when.
    pub at: Timestamp,
    /// `owner = { QUEUE = "hostlist" }`: these are owned by the queue.
    pub owner: Vec<(String, String)>,
    /// `leaving = { QUEUE = "hostlist" }`: these are leaving the queue.
    pub leaving: Vec<(String, String)>,
    /// `free`: these belong to nobody.
    pub free: Option<String>,
}

/// Where a job is at the end of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It ran and ended well.
    Completed,
    /// It ran and failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It was refused, or will never run.
    Denied,
    /// It waits in a queue.
    Pending,
    /// It is kept outside the schedulers.
    Held,
    /// It runs.
    Running,
}

pub(super) fn read_expectation(item: &Item<'_, '_>) -> Option<Expectation> {
    let fields = item.fields("[[expect]]")?;
    let why = fields.get("why").map_or(Some(String::new()), |i| i.text().map(str::to_owned));
    let subject = fields.one_of(&["key", "at", "job", "order"])?;
    let check = match subject.key {
        "key" => {
            let (path, test) = (subject.name(), read_test(&fields));
            path.zip(test).map(|(path, test)| Check::Key { path, test })
        }
        "at" => read_owners(&subject, &fields).map(Check::Owners),
        "job" => read_job(&subject, &fields),
        _ => {
            let ids = subject.items().and_then(|items| items.iter().map(|i| i.integer(0..u64::MAX)).collect());
            ids.map(Check::Order)
        }
    };
    let line = fields.line;
    fields.finish();
    Some(Expectation { why: why?, check: check?, line })
}

fn read_test(fields: &Fields<'_, '_>) -> Option<Test> {
    let item = fields.one_of(&["eq", "ne", "ge", "le", "between"])?;
    let number = |i: &Item<'_, '_>| i.number("a number", |_| true);
    match item.key {
        "eq" => read_value(&item).map(Test::Equal),
        "ne" => read_value(&item).map(Test::NotEqual),
        "ge" => number(&item).map(Test::AtLeast),
        "le" => number(&item).map(Test::AtMost),
        _ => match item.items()?.as_slice() {
            [low, high] => match (number(low)?, number(high)?) {
                (low, high) if low <= high => Some(Test::Between(low, high)),
                _ => item.wrong("the lower number first"),
            },
            _ => item.wrong("two numbers, [low, high]"),
        },
    }
}

fn read_value(item: &Item<'_, '_>) -> Option<serde_json::Value> {
    plain(item.value.get_ref()).or_else(|| item.wrong("a number, a text, or true or false"))
}

fn read_owners(at: &Item<'_, '_>, fields: &Fields<'_, '_>) -> Option<Owners> {
    let pairs = |key| fields.get(key).map_or(Some(Vec::new()), |i| i.host_pairs());
    let (owner, leaving) = (pairs("owner"), pairs("leaving"));
    let free = optional(fields.get("free"), Item::hosts);
    let owners = Owners { at: at.time()?, owner: owner?, leaving: leaving?, free: free? };
    if owners.owner.is_empty() && owners.leaving.is_empty() && owners.free.is_none() {
        return fields.missing("owner` or `leaving` or `free");
    }
    Some(owners)
}

fn read_job(job: &Item<'_, '_>, fields: &Fields<'_, '_>) -> Option<Check> {
    let states = [
        ("completed", JobState::Completed),
        ("failed", JobState::Failed),
        ("cancelled", JobState::Cancelled),
        ("denied", JobState::Denied),
        ("pending", JobState::Pending),
        ("held", JobState::Held),
        ("running", JobState::Running),
    ];
    let state = optional(fields.get("state"), |i| i.word(&states));
    let queue = optional(fields.get("queue"), Item::name);
    let starts = optional(fields.get("starts"), |i| i.times());
    let ends = optional(fields.get("ends"), |i| i.times());
    let on = optional(fields.get("on"), Item::hosts);
    let reason = optional(fields.get("reason"), Item::name);
    if !["state", "queue", "starts", "ends", "on", "reason"].iter().any(|key| fields.has(key)) {
        return fields.missing("state` or `queue` or `starts` or `ends` or `on` or `reason");
    }
    Some(Check::Job {
        job: job.integer(0..u64::MAX)?,
        state: state?,
        queue: queue?,
        starts: starts?,
        ends: ends?,
        on: on?,
        reason: reason?,
    })
}
