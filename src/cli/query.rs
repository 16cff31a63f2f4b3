//! What `forecast`, `explain`, `plan` and `apply` have in common: the state that is asked about, and how times, hosts and
//! numbers are written.

use super::diagnostic::Failure;
use super::exit::Exit;
pub(super) use super::summary::when;
use crate::base::{JobId, TargetSet, Timestamp};
use crate::formats::hostlist::Hostlist;
use crate::formats::jobid;
use crate::graph::Graph;
use crate::replay::engine::targets_of_hosts;
use crate::replay::scenario::{Scenario, parse_time};
use crate::replay::state::{State, StateError, state_at};
pub(super) use crate::replay::words::instant;
use crate::site::{Site, Span};
use clap::{Args, ValueHint};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// How many rows of each table are shown at most.
pub(super) const ROWS: usize = 40;

/// The state that is asked about.
#[derive(Debug, Args)]
pub(super) struct StateArgs {
    /// The scenario whose site is asked about: a TOML file, or a directory with a scenario.toml in it
    #[arg(long, value_name = "SCENARIO", value_hint = ValueHint::AnyPath)]
    pub scenario: PathBuf,

    /// The instant, in the words of a scenario: seconds, a duration after time 0, "Fri 18:00", a date and time
    #[arg(long, value_name = "TIME")]
    pub at: String,

    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

/// Where shared data is.
pub(super) fn shared() -> PathBuf {
    std::env::var_os("SLUICE_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from)
}

impl StateArgs {
    /// The scenario and the instant.
    pub fn open(&self) -> Result<(Scenario, Timestamp), Failure> {
        let scenario = Scenario::load(&self.scenario)?;
        let at = parse_time(&self.at, scenario.settings.epoch).map_err(|expected| {
            Failure::new(format!("--at {}: expected {expected}", self.at), None).with(Exit::Usage)
        })?;
        Ok((scenario, at))
    }

    /// The site at that instant.
    pub fn state(&self) -> Result<State, Failure> {
        let (scenario, at) = self.open()?;
        let state = state_at(scenario, &shared(), at)?;
        state.warnings.iter().for_each(|warning| super::output::complain(format_args!("warning: {warning}")));
        Ok(state)
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Assembly(error) => (*error).into(),
            StateError::Replay(error) => error.into(),
        }
    }
}

/// Writes an answer to standard output.
pub(super) fn say(text: &str) -> Result<(), Failure> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Writes an answer as JSON.
pub(super) fn say_json(value: &Value) -> Result<(), Failure> {
    say(&pretty(value)?)
}

/// JSON for people to read.
pub(super) fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|e| Failure::new(format!("cannot write the answer as JSON: {e}"), None))? + "\n")
}

/// Writes the answer to a question about a state, in the form that was asked for.
pub(super) fn answer(state: &State, as_json: bool, text: &str, json: &Value) -> Result<Exit, Failure> {
    if as_json {
        say_json(&json!({"at": json_time(state.at), "epoch": state.epoch, "answer": json}))?;
    } else {
        say(&format!("At {}\n{text}", instant(state.at, state.epoch)))?;
    }
    Ok(Exit::Ok)
}

/// A line that says how many of `all` are not shown.
pub(super) fn more(text: &mut String, indent: &str, all: usize, shown: usize) {
    if all > shown {
        *text += &format!("{indent}and {} more; --json has all of them\n", all - shown);
    }
}

/// Both times of a span, as one text.
pub(super) fn span(span: Span, epoch: Option<i64>) -> String {
    if span.likely == span.worst {
        return when(span.worst, epoch);
    }
    format!("likely {}, at worst {}", when(span.likely, epoch), when(span.worst, epoch))
}

/// An instant as JSON: seconds; null for never.
pub(super) fn json_time(at: Timestamp) -> Value {
    if at.is_never() { Value::Null } else { json!(at.secs_f64()) }
}

/// A span as JSON.
pub(super) fn json_span(span: Span) -> Value {
    json!({"likely": json_time(span.likely), "worst": json_time(span.worst)})
}

/// Targets as a hostlist.
pub(super) fn hosts(graph: &Graph, targets: &TargetSet) -> String {
    let mut list = Hostlist::new();
    for target in targets.iter() {
        match graph.target(target) {
            Some(target) => list.push(&target.host),
            None => list.push(&format!("target{target}")),
        }
    }
    list.to_string()
}

/// `5 nodes n[1-5]`, `1 node n1`.
pub(super) fn nodes(graph: &Graph, targets: &TargetSet) -> String {
    let noun = if targets.len() == 1 { "node" } else { "nodes" };
    format!("{} {noun} {}", targets.len(), hosts(graph, targets))
}

/// The targets of a hostlist.
pub(super) fn targets(site: &Site, list: &str) -> Result<TargetSet, Failure> {
    targets_of_hosts(site.graph(), list).map_err(|problem| Failure::new(format!("{list}: {problem}"), None))
}

/// A queue that must be there.
pub(super) fn check_queue(site: &Site, name: &str) -> Result<(), Failure> {
    if site.queue_view(name).is_some() {
        return Ok(());
    }
    let names: Vec<String> = site.queue_views().iter().map(|q| q.name.to_string()).collect();
    Err(Failure::new(format!("no queue {name} at that time; there are: {}", names.join(", ")), None))
}

/// The id of a job, in any of Flux's forms.
pub(super) fn job_id(text: &str) -> Result<JobId, Failure> {
    let id = text.parse::<u64>().ok().map(JobId).or_else(|| jobid::parse(text).ok());
    id.ok_or_else(|| Failure::new(format!("expected the id of a job, found {text}"), None).with(Exit::Usage))
}
