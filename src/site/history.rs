//! What has been said about a job while it waited: a bounded record, written only when something changes.
//!
//! Decides what is kept: the first note, and the last ones. Nothing depends on it but who asks.

use super::job::Why;
use super::preempt::PreemptedFor;
use crate::base::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// So many notes are kept of a job.
pub const MOST_NOTES: usize = 16;

/// Something that was said about a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Note {
    /// Why it waits, or is held.
    Why(Why),
    /// It is planned to start then. Noted only where planned starts are told
    /// ([`SiteOptions::annotate`](super::SiteOptions::annotate)).
    Planned(Timestamp),
    /// There is no plan any more.
    Unplanned,
    /// It went from one queue to another.
    Moved {
        /// Where from.
        from: Arc<str>,
        /// Where to.
        to: Arc<str>,
    },
    /// It ran, and has to wait again.
    Requeued,
    /// It runs, and has to give way.
    Preempted {
        /// What for.
        by: PreemptedFor,
    },
}

/// All that was said about a job, oldest first. Copies share it, since a forecast copies all jobs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct History(Option<Arc<Vec<(Timestamp, Note)>>>);

impl History {
    /// The notes, oldest first.
    pub fn notes(&self) -> &[(Timestamp, Note)] {
        self.0.as_ref().map_or(&[], |notes| notes.as_slice())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Adds a note, unless it says what the last one says.
    pub(super) fn add(&mut self, at: Timestamp, note: Note) {
        let notes = Arc::make_mut(self.0.get_or_insert_default());
        if notes.last().is_some_and(|(_, last)| *last == note) {
            return;
        }
        if notes.len() == MOST_NOTES {
            notes.remove(1);
        }
        notes.push((at, note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_are_kept() {
        let mut history = History::default();
        assert!(history.is_empty());
        for n in 0..40 {
            let note = Note::Planned(Timestamp::from_secs(n / 2 * 2));
            history.add(Timestamp::from_secs(n), note);
        }
        let at: Vec<i64> = history.notes().iter().map(|(at, _)| at.micros() / 1_000_000).collect();
        assert_eq!(at.len(), MOST_NOTES);
        assert_eq!((at[0], at[1], at[15]), (0, 10, 38), "every other one said what was said before");
    }
}
