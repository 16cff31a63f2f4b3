//! What preemption cost: who had to give way, what became of them, and the work that was lost.
//!
//! Decides nothing; it is told signals and ends. *Work lost* is the time that a run of a preempted job had held its nodes
//! when it ended without completing, in node-seconds: of a job that is requeued it has to be done again, of one that is
//! cancelled it is in vain. A preempted job that completes before the kill has lost nothing. Counted for the queue that
//! the job was submitted to.

use super::metrics::{PreemptedFigures, PreemptionFigures};
use crate::base::Timestamp;
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What became of a run that was signalled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It completed in time.
    Completed,
    /// It waits again.
    Requeued,
    /// It is over.
    Cancelled,
}

/// Follows preempted jobs.
#[derive(Debug, Default)]
pub(crate) struct Preemptions {
    /// The runs that were signalled and have not ended: by slot, with their queue.
    open: BTreeMap<u32, Arc<str>>,
    queues: IndexMap<Arc<str>, PreemptedFigures>,
    /// In node-microseconds.
    lost: IndexMap<Arc<str>, i128>,
}

impl Preemptions {
    /// A running job is signalled.
    pub fn signalled(&mut self, slot: u32, queue: &Arc<str>) {
        if self.open.insert(slot, queue.clone()).is_none() {
            self.queues.entry(queue.clone()).or_default().jobs += 1;
        }
    }

    /// Whether a running job was signalled.
    pub fn is_open(&self, slot: u32) -> bool {
        self.open.contains_key(&slot)
    }

    /// A run has ended that may have been signalled; it had so many nodes since `start`.
    pub fn ended(&mut self, slot: u32, how: Ended, nodes: usize, start: Timestamp, now: Timestamp) {
        let Some(queue) = self.open.remove(&slot) else { return };
        let figures = self.queues.entry(queue.clone()).or_default();
        match how {
            Ended::Completed => figures.completed += 1,
            Ended::Requeued => figures.requeued += 1,
            Ended::Cancelled => figures.cancelled += 1,
        }
        if how != Ended::Completed {
            *self.lost.entry(queue).or_default() += nodes as i128 * i128::from(now.since(start).micros());
        }
    }

    /// All of it.
    pub fn figures(&self) -> PreemptionFigures {
        let lost = |queue: &Arc<str>| self.lost.get(queue).copied().unwrap_or(0) as f64 / 1e6;
        let figures = |(queue, figures): (&Arc<str>, &PreemptedFigures)| {
            (queue.to_string(), PreemptedFigures { lost_node_s: lost(queue), ..*figures })
        };
        let queues: IndexMap<String, PreemptedFigures> = self.queues.iter().map(figures).collect();
        let sum = |of: fn(&PreemptedFigures) -> u64| queues.values().map(of).sum();
        let total = PreemptedFigures {
            jobs: sum(|f| f.jobs),
            requeued: sum(|f| f.requeued),
            cancelled: sum(|f| f.cancelled),
            completed: sum(|f| f.completed),
            lost_node_s: self.lost.values().sum::<i128>() as f64 / 1e6,
        };
        PreemptionFigures { total, queues }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_what_was_held_without_completing() {
        let mut all = Preemptions::default();
        let (queue, at) = (Arc::from("standby"), Timestamp::from_secs);
        all.signalled(1, &queue);
        all.signalled(1, &queue);
        all.signalled(2, &queue);
        all.signalled(3, &queue);
        all.ended(1, Ended::Requeued, 4, at(10), at(40));
        all.ended(2, Ended::Completed, 4, at(10), at(40));
        all.ended(3, Ended::Cancelled, 1, at(10), at(15));
        all.ended(9, Ended::Cancelled, 1, at(10), at(15));
        let figures = all.figures();
        let expected = PreemptedFigures { jobs: 3, requeued: 1, cancelled: 1, completed: 1, lost_node_s: 125.0 };
        assert_eq!(figures.total, expected);
        assert_eq!(figures.queues["standby"], expected);
    }
}
