//! Scenarios: a machine, queues, work, what is done to them and what must come out, in one TOML file.
//!
//! This module decides what a scenario *says*: it reads the text strictly (an unknown key is an error with its line and
//! the nearest known key; all errors are collected) and hands out types in which every time is an instant, every
//! length a duration and every default is filled in. It does not decide what a scenario *does*: the graph, the traces and
//! the jobspecs that it names are opened by those who replay it.
//!
//! The format is specified in `docs/scenario.md`.
//!
//! Invariants:
//! - the fields of a parsed scenario are echoes of its text and the documented defaults, of nothing else;
//! - a parsed scenario names no time before [`Timestamp::ZERO`](crate::base::Timestamp::ZERO), except in traces;
//! - its configuration, and that of every queue that an action makes, has passed the checks of `config`.

mod action;
mod error;
mod expect;
mod fields;
mod instance;
mod machine;
mod parse;
mod settings;
#[cfg(test)]
mod tests;
mod time;
mod workload;

pub use action::{Action, ActionKind, Addition, Group, JobPick, Occurrence, PendingJobs, Repeat, StartQueue, Told};
pub use error::{ScenarioError, ScenarioErrors};
pub use expect::{Check, Expectation, JobState, Owners, Test};
pub use instance::Instance;
pub use machine::{FileRef, GraphFormat, GraphSource, NodeSet, Uniform};
pub use settings::{Housekeeping, OnNodeFail, OnPreempt, PassRule, Settings};
#[cfg(feature = "cli")]
pub(crate) use time::parse_time;
pub use workload::{
    Distribution, GenerateConstraint, Generator, Interval, Job, JobWork, LimitRule, NodeEvents, PerNode, QueueField,
    Size, SwfUnit, SwfWork, Workload,
};

use crate::config::Config;
use std::path::PathBuf;

/// A scenario as it is written, checked and with its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// `name`, else the name of the directory or file.
    pub name: String,
    /// `title`: one line for people; empty when there is none.
    pub title: String,
    /// The file that it was read from.
    pub file: PathBuf,
    /// Where relative file names in it start.
    pub directory: PathBuf,
    /// `[graph]`; `None`: the machine is what the `[resource]` table of the configuration says.
    pub graph: Option<GraphSource>,
    /// `[queues.*]`, `[policy]`, `[resource]`, here or in the file that `config` names.
    pub config: Config,
    /// `[site]`.
    pub settings: Settings,
    /// `[[workload]]`, in order.
    pub workloads: Vec<Workload>,
    /// `[instances.*]`, in the order of the file.
    pub instances: Vec<Instance>,
    /// `[[node-events]]`, in order.
    pub node_events: Vec<NodeEvents>,
    /// `[[action]]`, in the order of the file; see [`Action::occurrences`] for their instants.
    pub actions: Vec<Action>,
    /// `[[expect]]`, in the order of the file.
    pub expectations: Vec<Expectation>,
}
