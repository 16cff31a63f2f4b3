//! Scenarios: a machine, queues, work, what is done to them and what must come out, in one TOML file.
//!
//! This module decides what a scenario *says*: it reads the text strictly (an unknown key is an error with its line and
//! the nearest known key; all errors are collected) and hands out types in which every time is an instant, every
//! length a duration and every default is filled in. It does not decide what a scenario *does*: the graph, the
//! configuration, the traces and the jobspecs that it names are opened by those who replay it.
//!
//! The format is specified in `docs/scenario.md`.
//!
//! Invariants:
//! - the fields of a parsed scenario are echoes of its text and the documented defaults, of nothing else;
//! - a parsed scenario names no time before [`Timestamp::ZERO`](crate::base::Timestamp::ZERO), except in traces;
//! - configuration text keeps its line numbers, so that an error found later still points at the right line.

mod action;
mod error;
mod expect;
mod fields;
mod machine;
mod parse;
mod settings;
#[cfg(test)]
mod tests;
mod time;
mod workload;

pub use action::{Action, ActionKind, Addition, Group, JobPick, Occurrence, PendingJobs, Repeat, StartQueue};
pub use error::{ScenarioError, ScenarioErrors};
pub use expect::{Check, Expectation, JobState, Owners, Test};
pub use machine::{FileRef, GraphFormat, GraphSource, NodeSet, Uniform};
pub use settings::{Housekeeping, OnNodeFail, PassRule, Settings};
pub use workload::{
    Distribution, GenerateConstraint, Generator, Interval, Job, JobWork, LimitRule, NodeEvents, PerNode, QueueField,
    Size, SwfUnit, SwfWork, Workload,
};

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
    /// The configuration, in layers: files named by `config = [...]`, then the tables in the scenario itself.
    pub config: Vec<ConfigText>,
    /// `[site]`.
    pub settings: Settings,
    /// `[[workload]]`, in order.
    pub workloads: Vec<Workload>,
    /// `[[node-events]]`, in order.
    pub node_events: Vec<NodeEvents>,
    /// `[[action]]`, in the order of the file; see [`Action::occurrences`] for their instants.
    pub actions: Vec<Action>,
    /// `[[expect]]`, in the order of the file.
    pub expectations: Vec<Expectation>,
}

/// One layer of configuration, to be parsed by `config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigText {
    /// Where it stands.
    pub file: PathBuf,
    /// TOML. Taken out of a scenario, all that is not configuration is blank, so that line numbers are those of the file.
    pub text: String,
}
