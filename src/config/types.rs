//! What a configuration says, typed.

use super::{Calendar, Lending, People, PreemptionPolicy, Profiles, ResourceConfig, SchedulerSettings};
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
    /// Named settings of schedulers.
    #[serde(default)]
    pub profiles: Profiles,
    /// The profile of the anonymous queue, and of every queue that names none.
    #[serde(default)]
    pub sched: Option<String>,
    /// When queues are started by themselves.
    #[serde(default)]
    pub calendar: Calendar,
    /// Who is called what, and who is in which group.
    #[serde(default)]
    pub people: People,
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
    /// To whom it lends idle targets, and how it borrows; nothing when it is virtual.
    #[serde(default)]
    pub lending: Lending,
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
    /// What is added to the priority of each job (`policy.priority-boost`): within -1e9 to 1e9.
    #[serde(default)]
    pub priority_boost: i32,
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
    /// What the jobs of one user may have together.
    #[serde(default)]
    pub user: UserLimits,
}

/// What the jobs of one user in one queue may have together (`policy.limits.user`); `None` for no limit (also written -1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct UserLimits {
    /// So many run at a time.
    pub max_running_jobs: Option<u64>,
    /// They run on so many nodes at a time; a node counts for each job on it.
    pub max_running_nodes: Option<u64>,
    /// So many wait at a time.
    pub max_pending_jobs: Option<u64>,
}

impl UserLimits {
    /// Whether any limit bounds what runs.
    pub fn bounds_running(&self) -> bool {
        self.max_running_jobs.is_some() || self.max_running_nodes.is_some()
    }
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

impl Access {
    /// Whether a user may submit.
    pub fn admits(&self, people: &People, number: u32) -> bool {
        let open = self.allow_user.is_empty() && self.allow_group.is_empty();
        open || self.allow_user.iter().any(|user| people.number(user) == Some(number))
            || self.allow_group.iter().any(|group| people.is_in(group, number))
    }
}

impl QueueConfig {
    /// Whether this is a name in a parent's scheduler.
    pub fn is_virtual(&self) -> bool {
        self.parent.is_some()
    }
}
