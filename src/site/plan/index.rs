//! A number for a state: what was looked at is what is acted upon if it is the same.
//!
//! Covers everything that a decision may depend on: ownership and claims, queues, jobs that are not over, what is held,
//! what is planned, drained, offline. Not the time: while nothing happens, the number stays.

use crate::site::{JobState, Site};
use serde::Serialize;
use std::io::{self, Write};

/// FNV-1a over 64 bits.
struct Fnv(u64);

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Fnv {
    fn add(&mut self, value: &impl Serialize) {
        // Writing to a number cannot fail, and nothing here has keys that are no strings.
        let _ = serde_json::to_writer(self, value);
    }

    fn number(&mut self, n: u64) {
        let _ = self.write(&n.to_le_bytes());
    }
}

impl Site {
    /// The index of the state: equal states have equal ones, and it changes when anything happens that may matter.
    pub fn state_index(&self) -> u64 {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        hash.add(&self.coordinator);
        for queue in self.queues.iter().filter(|q| !q.gone) {
            hash.add(&(&queue.name, &queue.config, queue.enabled, queue.started, queue.removed, &queue.members));
        }
        hash.add(&(&self.drained, &self.planned_drains, &self.planned_switches, &self.answering));
        for (slot, job) in self.jobs.iter().filter(|(_, j)| !j.state.is_final()) {
            hash.number(job.id.0);
            hash.number(u64::from(job.queue.0));
            hash.number(job.priority.0 as u64);
            hash.number(job.in_order_from().micros() as u64);
            hash.number(job.limit.micros() as u64);
            hash.number(job.started.micros() as u64);
            hash.number(u64::from(slot) << 8 | state_number(job.state));
        }
        for (index, holding) in self.jobs.holdings() {
            hash.number(u64::from(index) << 32 | u64::from(holding.slot));
            hash.number(u64::from(holding.left) << 8 | holding.kind as u64);
        }
        hash.number(self.jobs.counts.submitted);
        hash.0
    }
}

fn state_number(state: JobState) -> u64 {
    match state {
        JobState::Pending => 0,
        JobState::Held => 1,
        JobState::Running => 2,
        JobState::Ended(_) | JobState::Denied | JobState::Cancelled => 3,
    }
}
