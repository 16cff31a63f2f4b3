//! Errors as people see them.

use super::exit::Exit;
use crate::config::ConfigErrors;
use crate::config::layers::Sources;
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
    /// What is wrong in which text, with the text.
    #[related]
    at: Vec<Misplaced>,
}

/// Something wrong in a text, shown there.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
pub(super) struct Misplaced {
    message: String,
    #[help]
    help: Option<String>,
    #[source_code]
    text: miette::NamedSource<String>,
    #[label]
    span: miette::SourceSpan,
}

impl Failure {
    /// An error, with what to do about it.
    pub fn new(message: impl Into<String>, help: Option<String>) -> Self {
        Self { exit: Exit::Error, message: message.into(), help, at: Vec::new() }
    }

    /// What is wrong in a configuration that comes from `sources`, each error shown where it is.
    pub fn of_config(errors: &ConfigErrors, sources: &Sources) -> Self {
        let (mut at, mut elsewhere) = (Vec::new(), Vec::new());
        for error in &errors.0 {
            let key = if error.key.is_empty() { String::new() } else { format!("{}: ", error.key) };
            let message = format!("{key}{}", error.message);
            // A text that could not be read has no lines to show.
            let source = sources.iter().find(|source| error.line > 0 && source.file == error.file);
            match source {
                Some(source) => at.push(Misplaced {
                    message,
                    help: error.help.clone(),
                    text: miette::NamedSource::new(&source.file, source.text.clone()),
                    span: error.span.clone().into(),
                }),
                None => elsewhere.push(error.to_string()),
            }
        }
        let message = match (elsewhere.is_empty(), at.len()) {
            (false, _) => elsewhere.join("\n"),
            (true, 1) => "the configuration is wrong in one place".to_owned(),
            (true, count) => format!("the configuration is wrong in {count} places"),
        };
        Self { at, ..Failure::new(message, Some("docs/configuration.md describes all keys".to_owned())) }
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
            "docs/configuration.md describes all keys of [queues.NAME], [policy] and [resource], docs/scenario.md those of a scenario"
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
            ReplayError::Refused { .. }
            | ReplayError::UnknownJob { .. }
            | ReplayError::Stuck { .. }
            | ReplayError::Restart { .. } => {
                Some("this is a fault of the program; please report it with the scenario".to_owned())
            }
            ReplayError::Instance { .. } => Some(
                "an instance has what its job holds: its queues may name hosts and properties of that only".to_owned(),
            ),
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
