//! What is reported when an invariant does not hold: its id, and what was found.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The invariants of the design.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Invariant {
    /// One owner: a target is up in at most one scheduler.
    I1,
    /// No double booking.
    I2,
    /// Free before up.
    I3,
    /// Running jobs are not disturbed.
    I4,
    /// Every target is in exactly one ownership state.
    I5,
    /// No job is forgotten, and none is granted twice.
    I6,
    /// Same input, same output.
    I7,
    /// Recovery.
    I8,
    /// A promise is kept.
    I9,
    /// Progress.
    I10,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An invariant that did not hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// What was found.
    pub text: String,
}

impl Violation {
    pub(super) fn new(invariant: Invariant, text: impl Into<String>) -> Self {
        Self { invariant, text: text.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.text)
    }
}
