//! What a trace is refused for, and what is odd but kept.

use super::read::COLUMNS;
use std::fmt;
use thiserror::Error;

/// Why a trace was refused.
#[derive(Debug, Error)]
pub enum SwfError {
    /// The reader under the trace failed.
    #[error("cannot read the trace: {0}")]
    Io(#[source] std::io::Error),
    /// The bytes begin as gzip does, but do not unpack.
    #[error("expected gzip data as the first two bytes say, found: {0}")]
    Gzip(#[source] std::io::Error),
    /// Larger than this reader takes.
    #[error("expected at most {limit} bytes of text, found more")]
    TooLarge {
        /// The limit in bytes, after unpacking.
        limit: u64,
    },
    /// A line with too few columns: the file is cut off, or it is no SWF.
    #[error("line {line}: expected 18 columns, found {found}")]
    Columns {
        /// The line, from 1.
        line: u32,
        /// How many columns there are.
        found: usize,
    },
    /// A column that is no number.
    #[error("line {line}, column {column} ({}): expected {expected}, found {found}", COLUMNS[column - 1])]
    Number {
        /// The line, from 1.
        line: u32,
        /// The column, from 1.
        column: usize,
        /// What could stand there.
        expected: &'static str,
        /// What stood there.
        found: String,
    },
}

/// Something odd in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwfWarning {
    /// The line, from 1.
    pub line: u32,
    /// What is odd.
    pub what: Warning,
}

/// What is odd in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The job was submitted before the one above it.
    SubmitGoesBack,
    /// An earlier job has the same id.
    DuplicateId,
    /// A number below -1 in this column (from 1).
    Negative(usize),
    /// A fraction in this column (from 1) was rounded away.
    Rounded(usize),
    /// The 18th column is missing.
    MissingColumn,
    /// Columns after the 21st were left out.
    ExtraColumns,
    /// A header line is not in UTF-8; it was read as Latin-1.
    Encoding,
    /// The value of a header field that should be a number is not.
    HeaderValue,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::SubmitGoesBack => f.write_str("submit time is before that of the job above"),
            Warning::DuplicateId => f.write_str("an earlier job has the same id"),
            Warning::Negative(column) => write!(f, "column {column} ({}) is below -1", COLUMNS[column - 1]),
            Warning::Rounded(column) => write!(f, "column {column} ({}) has a fraction, rounded", COLUMNS[column - 1]),
            Warning::MissingColumn => f.write_str("expected 18 columns, found 17"),
            Warning::ExtraColumns => f.write_str("expected at most 21 columns, found more"),
            Warning::Encoding => f.write_str("header line is not in UTF-8, read as Latin-1"),
            Warning::HeaderValue => f.write_str("expected a number in this header field, found none"),
        }
    }
}

impl fmt::Display for SwfWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}
