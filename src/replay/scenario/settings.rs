//! `[site]`: how the site behaves during a replay.

use crate::base::{Duration, Timestamp};

/// `[site]`, with its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `stopped`: queues that are not started at time 0; all others are.
    pub stopped: Vec<String>,
    /// `on-node-fail`: what becomes of a job on a node that fails.
    pub on_node_fail: OnNodeFail,
    /// `housekeeping`: how long targets are held after a job.
    pub housekeeping: Housekeeping,
    /// `epoch`: the wall clock at time 0, in seconds since 1970-01-01T00:00:00 of the same wall clock (no time zone, no summer
    /// time). `None`: times have no dates.
    pub epoch: Option<i64>,
    /// `pass`: when schedulers run.
    pub pass: PassRule,
    /// `work-budget`: jobs examined in one call of `schedule`; `None`: no bound.
    pub work_budget: Option<usize>,
    /// `until`: the replay stops at this instant, with what is pending and running then; never: at the end of all work.
    pub until: Timestamp,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            stopped: Vec::new(),
            on_node_fail: OnNodeFail::Fail,
            housekeeping: Housekeeping::default(),
            epoch: None,
            pass: PassRule::Timestamp,
            work_budget: None,
            until: Timestamp::NEVER,
        }
    }
}

/// What becomes of a job when one of its nodes fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNodeFail {
    /// It fails at once.
    Fail,
    /// It waits again in its queue, with its old submit time.
    Requeue,
    /// It runs on.
    Continue,
}

/// How long targets are held after a job has ended. Each target is released by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Housekeeping {
    /// `duration`: at least this long.
    pub duration: Duration,
    /// `jitter`: and up to this much longer, uniformly, by target.
    pub jitter: Duration,
    /// `stuck`: the share (0 to 1) of targets whose housekeeping hangs.
    pub stuck: f64,
    /// `stuck-for`: how long it hangs, beyond `duration`; infinite: for ever.
    pub stuck_for: Duration,
    /// `seed` of jitter and stuck.
    pub seed: u64,
}

impl Default for Housekeeping {
    fn default() -> Self {
        Housekeeping {
            duration: Duration::ZERO,
            jitter: Duration::ZERO,
            stuck: 0.0,
            stuck_for: Duration::INFINITE,
            seed: 0,
        }
    }
}

/// When schedulers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassRule {
    /// Once for each distinct instant, after all its events.
    Timestamp,
    /// After every single event.
    Event,
}
