//! What a configuration says, typed.

use super::{Calendar, PreemptionPolicy, ResourceConfig, SchedulerSettings};
use crate::base::Duration;
use crate::formats::hostlist::Hostlist;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A whole configuration.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Config {
    /// The queues, in the order of the file. None means one anonymous queue.
    pub queues: IndexMap<String, QueueConfig>,
    /// What holds where a queue says nothing else.
    pub policy: PolicyConfig,
    /// Which resources there are.
    pub resource: ResourceConfig,
    /// When queues are started by themselves.
    #[serde(default)]
    pub calendar: Calendar,
}

/// One queue.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct QueueConfig {
    /// Its name.
    pub name: String,
    /// Which targets it covers; those of the parent when it is virtual.
    pub members: Members,
    /// The queue in whose scheduler the jobs live; makes this queue virtual.
    pub parent: Option<String>,
    /// Its policy, complete: its own keys over the parent's over the global ones.
    pub policy: PolicyConfig,
}

/// Which targets a queue covers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Members {
    /// All there are.
    #[default]
    All,
    /// Those on these hosts; never empty.
    Hosts(Hostlist),
    /// Those that have all of these properties; never empty.
    Requires(Vec<String>),
}

/// What applies to the jobs of a queue, and how they are scheduled.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PolicyConfig {
    /// What a job gets that does not say.
    pub defaults: JobDefaults,
    /// What a job may ask for.
    pub limits: Limits,
    /// Who may submit.
    pub access: Access,
    /// How jobs are scheduled.
    pub scheduler: SchedulerSettings,
    /// Who is preempted, and how.
    #[serde(default)]
    pub preemption: PreemptionPolicy,
}

/// What a job gets that does not say (`policy.jobspec.defaults.system`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct JobDefaults {
    /// Its time limit; `None` for no limit (also written `"0"` or `"infinity"`).
    pub duration: Option<Duration>,
    /// Its queue; only in the global policy.
    pub queue: Option<String>,
}

/// What a job may ask for (`policy.limits`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Limits {
    /// The longest time limit; `None` for no limit (also written `"0"` or `"infinity"`).
    pub duration: Option<Duration>,
    /// The largest size.
    pub job_size_max: JobSize,
    /// The smallest size.
    pub job_size_min: JobSize,
}

/// A bound on the size of jobs; `None` for no bound (also written -1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct JobSize {
    /// Nodes.
    pub nnodes: Option<u64>,
    /// Cores.
    pub ncores: Option<u64>,
    /// GPUs.
    pub ngpus: Option<u64>,
}

/// Who may submit (`policy.access`). With both lists absent everybody may; else who is in either.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Access {
    /// Users.
    pub allow_user: Vec<String>,
    /// Groups.
    pub allow_group: Vec<String>,
}

impl Config {
    /// The queue of a job that names none: the configured default.
    pub fn default_queue(&self) -> Option<&QueueConfig> {
        self.queues.get(self.policy.defaults.queue.as_ref()?)
    }
}

impl QueueConfig {
    /// Whether this is a name in a parent's scheduler.
    pub fn is_virtual(&self) -> bool {
        self.parent.is_some()
    }
}
