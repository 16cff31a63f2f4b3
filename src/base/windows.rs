//! Ownership windows: for a queue's targets, when it expects to have them.
//!
//! A timeline is a list of windows, ascending and disjoint; between them the target belongs to somebody else. Targets
//! that share a timeline stand together, so that a switch of a thousand nodes is one entry. A target that stands in
//! no entry has no bound: the queue keeps what it has, and nothing arrives.

use super::{Duration, TargetId, TargetSet, Timestamp};
use serde::{Deserialize, Serialize};

/// One stretch of ownership, from `from` (inclusive) to `until` (exclusive).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Window {
    /// When it begins; [`Timestamp::MIN`] for what is owned already.
    pub from: Timestamp,
    /// When it ends; [`Timestamp::NEVER`] where no end is in sight or jobs may run over it (horizon `soft`, `off`).
    pub until: Timestamp,
}

impl Window {
    /// Without beginning and end.
    pub const ALWAYS: Window = Window { from: Timestamp::MIN, until: Timestamp::NEVER };

    /// How long it is; infinite when open at either end.
    pub fn length(&self) -> Duration {
        if self.from == Timestamp::MIN { Duration::INFINITE } else { self.until.since(self.from) }
    }
}

/// Targets that share one timeline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timeline {
    /// Whose timeline it is.
    pub targets: TargetSet,
    /// Ascending and disjoint; empty: the queue will not have these targets.
    pub windows: Vec<Window>,
}

/// The ownership windows of one queue. The target sets of the timelines are disjoint.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Windows {
    /// The bounded targets, one entry per distinct timeline, ordered by first target.
    pub timelines: Vec<Timeline>,
}

impl Windows {
    /// The timeline of a target; `None` where it has no bound.
    pub fn of(&self, target: TargetId) -> Option<&[Window]> {
        self.timelines.iter().find(|t| t.targets.contains(target)).map(|t| t.windows.as_slice())
    }

    /// The next instant after `now` at which any window begins or ends.
    pub fn next_boundary(&self, now: Timestamp) -> Option<Timestamp> {
        let bounds = self.timelines.iter().flat_map(|t| t.windows.iter().flat_map(|w| [w.from, w.until]));
        bounds.filter(|t| *t > now && !t.is_never()).min()
    }
}
