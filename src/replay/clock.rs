//! The virtual clock: what is due, when.
//!
//! Decides the order of what is due at one instant: ends of jobs before releases of resources, and each by job id.
//! Does not decide what they mean. Submissions and timed actions do not stand here: they come from sorted lists that
//! are walked by index, which is cheaper than a heap.

use crate::base::{JobId, TargetId, Timestamp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a running job does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DueKind {
    /// Its processes end.
    End,
    /// Its housekeeping on one target is over.
    Release(TargetId),
}

/// One thing that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: DueKind,
    /// Of which job.
    pub job: JobId,
    /// Its position in the workload.
    pub slot: u32,
    /// Which run of the job: what belongs to an earlier run than the current one is void.
    pub run: u32,
}

/// All that is due, by time.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    heap: BinaryHeap<Reverse<Due>>,
}

impl Clock {
    /// The next instant at which something is due.
    #[inline]
    pub fn next(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// Adds something.
    #[inline]
    pub fn push(&mut self, due: Due) {
        self.heap.push(Reverse(due));
    }

    /// Takes out what is due at `now`, in order, and appends it to `into`.
    #[inline]
    pub fn take(&mut self, now: Timestamp, into: &mut Vec<Due>) {
        while let Some(Reverse(due)) = self.heap.peek().copied().filter(|Reverse(due)| due.at <= now) {
            self.heap.pop();
            into.push(due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_come_before_releases_and_both_by_job() {
        let mut clock = Clock::default();
        let at = Timestamp::from_secs(5);
        let due = |at, kind, job| Due { at, kind, job: JobId(job), slot: 0, run: 0 };
        clock.push(due(at, DueKind::Release(TargetId(1)), 1));
        clock.push(due(at, DueKind::End, 9));
        clock.push(due(at, DueKind::End, 2));
        clock.push(due(Timestamp::from_secs(6), DueKind::End, 1));
        let mut taken = Vec::new();
        clock.take(at, &mut taken);
        let order: Vec<(u64, bool)> = taken.iter().map(|d| (d.job.0, d.kind == DueKind::End)).collect();
        assert_eq!(order, [(2, true), (9, true), (1, false)]);
        assert_eq!(clock.next(), Some(Timestamp::from_secs(6)));
    }
}
