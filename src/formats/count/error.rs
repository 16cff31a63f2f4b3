//! Why a count is refused.

use thiserror::Error;

/// Why a count was refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CountError {
    /// Neither a number nor an object nor a string.
    #[error("expected a whole number, a range or a string, found {found}")]
    Type {
        /// What stood there.
        found: String,
    },
    /// A number of the range object (or the count itself) is not a whole number of 1 or more.
    #[error("{what}: expected a whole number of at least 1, found {found}")]
    Number {
        /// `count` or the key in the range object.
        what: &'static str,
        /// What stood there.
        found: String,
    },
    /// A key of the range object is missing.
    #[error("range: expected the key `{key}`{}, found none", .with.map(|w| format!(" beside `{w}`")).unwrap_or_default())]
    Missing {
        /// The key that is missing.
        key: &'static str,
        /// The key that asks for it, if it would not be needed otherwise.
        with: Option<&'static str>,
    },
    /// A key that a range object does not have.
    #[error("range: expected min, max, operator, operand, found the key {key}")]
    UnknownKey {
        /// The key, in quotes.
        key: String,
    },
    /// Not one of the three operators.
    #[error("operator: expected `+`, `*` or `^`, found {found}")]
    Operator {
        /// What stood there.
        found: String,
    },
    /// An operand that does not lead on from one number to the next.
    #[error("operand: expected at least {least} with `{operator}`, found {found}")]
    Operand {
        /// The operator.
        operator: char,
        /// The least operand that it takes.
        least: u64,
        /// The operand found.
        found: u64,
    },
    /// The powers of 1 do not lead on from 1.
    #[error("min: expected at least 2 with `^`, found 1")]
    PowerOfOne,
    /// The range ends before it begins.
    #[error("max: expected at least min = {min}, found {max}")]
    MaxBelowMin {
        /// Start of the range.
        min: u64,
        /// End of the range.
        max: u64,
    },
    /// A string that is none of the forms of the module's table.
    #[error("{text} at byte {byte}: expected {expected}, found {found}")]
    Text {
        /// The string, in quotes.
        text: String,
        /// Where in the string, from 0.
        byte: usize,
        /// What could stand there.
        expected: &'static str,
        /// What stood there.
        found: String,
    },
}
