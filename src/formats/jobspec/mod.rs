//! Jobspec: what a job asks for (RFC 14, the canonical resource tree; RFC 25, version 1), in JSON and YAML.
//!
//! Decides what a jobspec is and what it says. Does not decide whether and where it fits: a resource type is any
//! word, and shapes that no matcher knows are read all the same. Two levels of strictness:
//!
//! * reading takes the general tree of RFC 14, as Flux' tools do, plus the string counts of RFC 45
//!   ([`super::count`]), and versions 1 and 9999 (which marks drafts);
//! * [`Jobspec::validate_v1`] is RFC 25: one of four shapes, fixed counts, one task.
//!
//! Where the RFCs differ from Flux in use: `exclusive` is read on any resource (RFC 25 has it on the slot, Flux on the
//! node), keys that no RFC knows are kept and written back (Flux ignores them; only inside counts and beside `system`
//! and `user` they are errors), and a command is always an array.
//!
//! Jobspecs are untrusted. Every input gives a jobspec or an error with its place: nesting is bounded by
//! [`MAX_DEPTH`] resources, and text by what its reader takes (JSON: 128 levels, that is some 60 resources).
//!
//! Invariants: what [`Jobspec::to_json`] and [`Jobspec::to_yaml`] write reads back as the same jobspec.

mod build;
mod error;
mod read;
mod v1;
mod write;

#[cfg(test)]
mod tests;

pub use super::yaml::YamlError;
pub use error::JobspecError;

use super::constraint::Constraint;
use super::count::Count;
use crate::base::Duration;
use serde_json::{Map, Value};

/// The deepest nesting of resources.
pub const MAX_DEPTH: usize = 100;
/// The deepest nesting of anything in a value: of resources, and of what may stand beside and below them.
const MAX_NESTING: usize = 2 * MAX_DEPTH + 32;

/// A job's request.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobspec {
    /// 1, or 9999 for drafts.
    pub version: u64,
    /// What is asked for; at least one.
    pub resources: Vec<Resource>,
    /// What runs in the slots.
    pub tasks: Vec<Task>,
    /// Everything else.
    pub attributes: Attributes,
    /// Further keys.
    pub extra: Map<String, Value>,
}

/// A resource and what is asked for inside each of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// `type`: `node`, `slot`, `core`, `gpu`, or any other word.
    pub kind: String,
    /// How many, in each of the parent.
    pub count: Count,
    /// `unit`, as in `GB`.
    pub unit: Option<String>,
    /// Whether nobody else may use it. Absent, it is so for slots and what is in them.
    pub exclusive: Option<bool>,
    /// `label`; every slot has one.
    pub label: Option<String>,
    /// `id`: a name for this resource inside the jobspec.
    pub id: Option<String>,
    /// `with`: what each of it has to contain.
    pub with: Vec<Resource>,
    /// Further keys.
    pub extra: Map<String, Value>,
}

/// What to run, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The label of the slot that it runs in.
    pub slot: String,
    /// How many.
    pub count: TaskCount,
    /// Further keys.
    pub extra: Map<String, Value>,
}

/// How many tasks to run; every number is at least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskCount {
    /// So many in each slot.
    PerSlot(u64),
    /// So many in all.
    Total(u64),
    /// So many for each resource of a type.
    PerResource {
        /// The resource's type.
        kind: String,
        /// The number.
        count: u64,
    },
}

/// Attributes of the job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// What the system knows and acts on.
    pub system: System,
    /// The user's own; an object.
    pub user: Option<Map<String, Value>>,
}

/// `attributes.system`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    /// `duration`: the time limit; `None` if it is 0 or absent, which leaves it to the queue.
    pub duration: Option<Duration>,
    /// Whether `duration` stands there as 0. Version 1 asks for the key even so.
    pub zero_duration: bool,
    /// `queue`.
    pub queue: Option<String>,
    /// `constraints`.
    pub constraints: Option<Constraint>,
    /// `dependencies` (RFC 26).
    pub dependencies: Vec<Dependency>,
    /// `preemptible-after`: how long after its start the job may be preempted; never if absent.
    pub preemptible_after: Option<Duration>,
    /// `environment`.
    pub environment: Option<Map<String, Value>>,
    /// `cwd`: the working directory.
    pub cwd: Option<String>,
    /// `bank`: the account that pays.
    pub bank: Option<String>,
    /// `project`.
    pub project: Option<String>,
    /// `job.name`.
    pub job_name: Option<String>,
    /// Further keys; what else is under `job` stands in an object of that name.
    pub extra: Map<String, Value>,
}

/// A dependency of RFC 26.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependency {
    /// `scheme`, as in `afterok`.
    pub scheme: String,
    /// `value`, as in a job id.
    pub value: String,
    /// Further keys.
    pub extra: Map<String, Value>,
}

impl Resource {
    /// Whether this is a task slot.
    pub fn is_slot(&self) -> bool {
        self.kind == "slot"
    }
}
