//! Whether the jobs of a queue may be preempted, how, and whom they may preempt: the keys of `policy.preemption`.
//!
//! Decides nothing about who is preempted: that is the scheduler's choice, see docs/preemption.md.

use crate::base::Duration;
use serde::{Deserialize, Serialize};

/// What becomes of a job that was preempted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preempted {
    /// It waits again, at the place of its first submission.
    #[default]
    Requeue,
    /// It is over.
    Cancel,
}

impl Preempted {
    /// All names.
    pub const NAMES: &'static [&'static str] = &["requeue", "cancel"];

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Preempted::Requeue => "requeue",
            Preempted::Cancel => "cancel",
        }
    }
}

impl std::str::FromStr for Preempted {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "requeue" => Ok(Preempted::Requeue),
            "cancel" => Ok(Preempted::Cancel),
            _ => Err(()),
        }
    }
}

/// The keys of `policy.preemption` of one queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PreemptionPolicy {
    /// Whether its jobs may be preempted.
    pub preemptible: bool,
    /// How long a job runs undisturbed first, from its start.
    pub preemptible_after: Duration,
    /// From the signal to the kill.
    pub grace: Duration,
    /// What becomes of a job that was preempted.
    pub then: Preempted,
    /// Whose jobs its jobs may preempt. `None`: those of every preemptible queue, unless it is preemptible itself.
    pub preempts: Option<Vec<String>>,
}

impl Default for PreemptionPolicy {
    fn default() -> Self {
        Self {
            preemptible: false,
            preemptible_after: Duration::ZERO,
            grace: Duration::from_secs(30),
            then: Preempted::default(),
            preempts: None,
        }
    }
}

impl PreemptionPolicy {
    /// Whether jobs of a queue `own` with this policy may preempt those of queue `other`, if that one is preemptible.
    pub fn covers(&self, own: &str, other: &str) -> bool {
        own != other && self.preempts.as_ref().map_or(!self.preemptible, |names| names.iter().any(|n| n == other))
    }
}
