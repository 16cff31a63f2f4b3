//! Errors as people see them.

use super::exit::Exit;
use crate::config::ConfigErrors;
use crate::replay::assembly::AssemblyError;
use crate::replay::engine::ReplayError;
use crate::replay::scenario::{ScenarioError, ScenarioErrors};
use miette::Diagnostic;
use thiserror::Error;

/// Why a command did not do what it should.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
pub(super) struct Failure {
    pub exit: Exit,
    message: String,
    #[help]
    help: Option<String>,
}

impl Failure {
    /// An error, with what to do about it.
    pub fn new(message: impl Into<String>, help: Option<String>) -> Self {
        Self { exit: Exit::Error, message: message.into(), help }
    }

    /// The same with another exit code.
    pub fn with(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }
}

impl From<ScenarioErrors> for Failure {
    fn from(errors: ScenarioErrors) -> Self {
        let has = |what: fn(&ScenarioError) -> bool| errors.0.iter().any(what);
        let help = if has(|e| matches!(e, ScenarioError::Io { .. })) {
            "a scenario is a TOML file, or a directory with a scenario.toml in it; for a job trace: sluice replay --swf FILE"
        } else if has(|e| matches!(e, ScenarioError::Toml { .. })) {
            "a scenario is written in TOML (docs/scenario.md); for a job trace: sluice replay --swf FILE"
        } else if has(|e| matches!(e, ScenarioError::Config(_))) {
            "docs/config.md describes all keys of [queues.NAME], [policy] and [resource], docs/scenario.md those of a scenario"
        } else {
            "docs/scenario.md describes all keys of a scenario"
        };
        Failure::new(errors.to_string(), Some(help.into()))
    }
}

impl From<AssemblyError> for Failure {
    fn from(error: AssemblyError) -> Self {
        let help = match &error {
            AssemblyError::Config(ConfigErrors(errors)) if errors.len() == 1 => None,
            other => other.help(),
        };
        Failure::new(error.to_string(), help)
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        let help = match &error {
            ReplayError::Start { .. } => {
                Some("name queues that are not to start at time 0 in `stopped`, or give them a precedence".to_owned())
            }
            ReplayError::Refused { .. } | ReplayError::UnknownJob { .. } | ReplayError::Stuck { .. } => {
                Some("this is a fault of the program; please report it with the scenario".to_owned())
            }
            ReplayError::Write { .. } => None,
        };
        Failure::new(error.to_string(), help)
    }
}

impl From<std::io::Error> for Failure {
    /// A reader of standard output that has gone away is no error.
    fn from(error: std::io::Error) -> Self {
        let exit = if error.kind() == std::io::ErrorKind::BrokenPipe { Exit::Ok } else { Exit::Error };
        Failure::new(format!("cannot write: {error}"), None).with(exit)
    }
}
