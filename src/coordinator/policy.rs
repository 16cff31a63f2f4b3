//! The two settings of a queue's scheduler policy that ownership depends on.

use serde::{Deserialize, Serialize};

/// What a start does that shares targets with a claiming queue of equal precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// It is refused unless told to take.
    #[default]
    Refuse,
    /// It takes.
    Take,
}

/// How planned switches bound a queue's jobs. Ends of loans and of groups are strict for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Horizon {
    /// A job starts only if it ends by the end of the window.
    #[default]
    Strict,
    /// A job may cross the end, the switch waits; arrivals are planned for.
    Soft,
    /// Planned switches are not looked at, neither ends nor arrivals.
    Off,
}
