//! What can be wrong with a scenario.

use crate::config::ConfigError;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{}: {message}", file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// What the system says.
        message: String,
    },
    /// The text is not TOML.
    #[error("{}:{line}: {message}", file.display())]
    Toml {
        /// Which file.
        file: PathBuf,
        /// Where, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A key that means nothing there.
    #[error("{}:{line}: unknown key `{key}` in {table} ({help})", file.display())]
    UnknownKey {
        /// Which file.
        file: PathBuf,
        /// Where, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The table it stands in, as it is written.
        table: String,
        /// The nearest known key, or all of them.
        help: String,
    },
    /// A key that must be there.
    #[error("{}:{line}: {table} needs the key `{key}`", file.display())]
    Missing {
        /// Which file.
        file: PathBuf,
        /// Where the table begins, from 1.
        line: usize,
        /// The table.
        table: String,
        /// The key; several that would do stand with "or" between them.
        key: String,
    },
    /// A value that is not what its key takes.
    #[error("{}:{line}: `{key}`: expected {expected}, found {found}", file.display())]
    Value {
        /// Which file.
        file: PathBuf,
        /// Where, from 1.
        line: usize,
        /// The key.
        key: String,
        /// What would have been right.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Values that are right by themselves and wrong together.
    #[error("{}:{line}: {message}", file.display())]
    Conflict {
        /// Which file.
        file: PathBuf,
        /// Where, from 1.
        line: usize,
        /// Why.
        message: String,
    },
}

impl ScenarioError {
    /// The line, where there is one.
    pub fn line(&self) -> Option<usize> {
        match self {
            ScenarioError::Io { .. } => None,
            ScenarioError::Config(error) => usize::try_from(error.line).ok(),
            ScenarioError::Toml { line, .. }
            | ScenarioError::UnknownKey { line, .. }
            | ScenarioError::Missing { line, .. }
            | ScenarioError::Value { line, .. }
            | ScenarioError::Conflict { line, .. } => Some(*line),
        }
    }
}

/// Everything that is wrong with a scenario, in the order of the lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}
