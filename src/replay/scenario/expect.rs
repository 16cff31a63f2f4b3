//! `[[expect]]`: what must come out.

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
