//! The calendar: when queues are started by themselves.
//!
//! Decides when an entry is on. That is a function of the instant alone: an entry is a level, not an edge, so that
//! nothing is missed by who did not look. Days come from a recurrence rule ([`Rule`], the dates of RFC 5545), from
//! weekdays, or from a list; on each of them the entry is on from one time of the wall clock to another. A time that
//! the clock skips is so much later, one that it shows twice is the first of the two; lengths are those of the wall
//! clock.
//!
//! Does not decide what follows for targets: a queue that is on is started, and the rest is the order of claims. The
//! zones are those of the time zone database that is part of the program, never those of the machine.

pub mod check;
mod entry;
mod read;
mod rule;
#[cfg(test)]
mod tests;
mod zone;

pub use entry::{Days, End, Entry};
pub(super) use read::read;
pub use rule::{Frequency, Rule, RuleError, Until};
pub use zone::{UnknownZone, Zone};

use crate::base::{Timestamp, Window};
use serde::{Deserialize, Serialize};

/// All entries.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Calendar {
    /// Instant zero, in seconds since 1970-01-01T00:00:00 UTC: 0 where instants are those of the Unix epoch.
    pub origin: i64,
    /// In the order of the file.
    pub entries: Vec<Entry>,
}

/// One instant at which the calendar starts or stops queues.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Boundary {
    /// When.
    pub at: Timestamp,
    /// The queue.
    pub queue: String,
    /// Whether it is on from then, else it is off.
    pub on: bool,
    /// The entries that begin or end then, in the order of the file.
    pub entries: Vec<String>,
}

/// What is looked at beyond a range, so that what touches its end is seen as one with what follows.
const BEYOND: i64 = 1;

impl Calendar {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The queues that it decides about, each once, in the order of the file.
    pub fn queues(&self) -> Vec<&str> {
        let mut queues: Vec<&str> = Vec::new();
        for queue in self.entries.iter().flat_map(|e| &e.queues) {
            if !queues.contains(&queue.as_str()) {
                queues.push(queue);
            }
        }
        queues
    }

    /// Whether it decides about a queue.
    pub fn decides(&self, queue: &str) -> bool {
        self.entries.iter().any(|e| e.queues.iter().any(|q| q == queue))
    }

    /// Whether a queue is on at an instant.
    pub fn is_on(&self, queue: &str, at: Timestamp) -> bool {
        self.windows(queue, at, at).iter().any(|w| w.from <= at && at < w.until)
    }

    /// When a queue is on: all stretches that touch `from` to `until` (inclusive), whole, ascending and apart from each
    /// other. Touching and overlapping occurrences are one.
    pub fn windows(&self, queue: &str, from: Timestamp, until: Timestamp) -> Vec<Window> {
        let mut all: Vec<Window> = Vec::new();
        for entry in self.entries.iter().filter(|e| e.queues.iter().any(|q| q == queue)) {
            all.extend(self.occurrences(entry, from, until));
        }
        all.sort_unstable_by_key(|w| (w.from, w.until));
        let mut merged: Vec<Window> = Vec::new();
        for window in all {
            match merged.last_mut().filter(|last| window.from <= last.until) {
                Some(last) => last.until = last.until.max(window.until),
                None => merged.push(window),
            }
        }
        merged
    }

    /// The occurrences of one entry that touch a range, ascending.
    pub fn occurrences(&self, entry: &Entry, from: Timestamp, until: Timestamp) -> Vec<Window> {
        let seconds = |at: Timestamp| at.micros().div_euclid(1_000_000).saturating_add(self.origin);
        let at = |seconds: i64| Timestamp::from_secs(seconds.saturating_sub(self.origin));
        let found = entry.occurrences(seconds(from), seconds(until).saturating_add(BEYOND));
        found.into_iter().map(|(from, until)| Window { from: at(from), until: at(until) }).collect()
    }

    /// What begins or ends after `from` and up to `until` (inclusive), by time, then in the order of the file.
    pub fn boundaries(&self, from: Timestamp, until: Timestamp) -> Vec<Boundary> {
        let mut all: Vec<Boundary> =
            self.queues().into_iter().flat_map(|queue| self.boundaries_of(queue, from, until)).collect();
        all.sort_by_key(|b| b.at);
        all
    }

    /// The boundaries of one queue, by time.
    pub fn boundaries_of(&self, queue: &str, from: Timestamp, until: Timestamp) -> Vec<Boundary> {
        let mut all = Vec::new();
        for window in self.windows(queue, from, until) {
            for (at, on) in [(window.from, true), (window.until, false)] {
                if from < at && at <= until {
                    let entries = self.entries_at(queue, at, on);
                    all.push(Boundary { at, queue: queue.to_owned(), on, entries });
                }
            }
        }
        all
    }

    /// The entries of a queue that are on at an instant, in the order of the file.
    pub fn on_at(&self, queue: &str, at: Timestamp) -> Vec<String> {
        let entries = self.entries.iter().filter(|e| e.queues.iter().any(|q| q == queue));
        let is_on = |e: &&Entry| self.occurrences(e, at, at).iter().any(|w| w.from <= at && at < w.until);
        entries.filter(is_on).map(|e| e.name.clone()).collect()
    }

    fn entries_at(&self, queue: &str, at: Timestamp, on: bool) -> Vec<String> {
        let entries = self.entries.iter().filter(|e| e.queues.iter().any(|q| q == queue));
        let turns =
            |e: &&Entry| self.occurrences(e, at, at).iter().any(|w| if on { w.from == at } else { w.until == at });
        entries.filter(turns).map(|e| e.name.clone()).collect()
    }
}
