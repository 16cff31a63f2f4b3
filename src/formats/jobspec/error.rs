//! Why a jobspec is refused, and where in it.

use super::{MAX_DEPTH, MAX_NESTING, YamlError};
use crate::formats::constraint::ConstraintError;
use crate::formats::count::CountError;
use std::fmt;
use thiserror::Error;

/// Why a jobspec is refused. Paths are as in `resources[0].with[1].count`; the whole is `jobspec`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum JobspecError {
    /// Not JSON, or nested too deeply for it.
    #[error("invalid JSON at line {line}, column {column}: {what}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong, in the reader's words.
        what: String,
    },
    /// Not YAML, or outside the bounds.
    #[error("invalid YAML at {0}")]
    Yaml(#[from] YamlError),
    /// Something else was expected.
    #[error("{path}: expected {expected}, found {found}")]
    Unexpected {
        /// Where.
        path: String,
        /// What could stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A key is missing.
    #[error("{path}: expected the key `{key}`, found none")]
    Missing {
        /// Where.
        path: String,
        /// The key.
        key: &'static str,
    },
    /// A bad count.
    #[error("{path}: {error}")]
    Count {
        /// Where.
        path: String,
        /// What is wrong with it.
        error: CountError,
    },
    /// A bad constraint.
    #[error("{path}: {error}")]
    Constraint {
        /// Where.
        path: String,
        /// What is wrong with it, and where in it.
        error: ConstraintError,
    },
    /// Resources inside resources without end.
    #[error("{path}: expected at most {MAX_DEPTH} resources inside each other, found more")]
    Depth {
        /// The first resource that is too deep.
        path: String,
    },
    /// A value that is nested without end.
    #[error("jobspec: expected at most {MAX_NESTING} levels of nesting, found more")]
    Nesting,
}

/// The way to a value, kept on the stack and printed only in errors.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    pub(super) fn key<'a>(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    pub(super) fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }

    pub(super) fn unexpected(&self, expected: &'static str, found: impl Into<String>) -> JobspecError {
        JobspecError::Unexpected { path: self.to_string(), expected, found: found.into() }
    }

    pub(super) fn missing(&self, key: &'static str) -> JobspecError {
        JobspecError::Missing { path: self.to_string(), key }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => f.write_str("jobspec"),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
