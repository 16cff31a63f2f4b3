//! The shared pools as one scheduler sees them: at hand only while the site lends them, with what it has reserved of them.
//!
//! Decides what the site is told of reservations. Where and when a job gets nodes and pools together is found in `rooms`.
//! Who uses the pools beside is not known here; what is lent says how much is free when, without the reservations of
//! this scheduler, which it enters itself.
//!
//! A job that takes of pools is planned by target, as one that asks for parts of targets is.
//!
//! Invariants: without pools at hand no job that needs them is looked at, started or reserved; what is told to the site
//! at the end of a pass is all that is reserved of pools.

use super::jobs::Slot;
use crate::base::Timestamp;
use crate::planner::{PoolId, PoolShare, PoolSpan, PoolTable, SharedPools, SpanId};
use std::sync::Arc;

/// A reservation of pools.
#[derive(Clone, Debug)]
struct Entry {
    slot: Slot,
    spans: Vec<PoolSpan>,
    /// Where they stand in what is at hand.
    entered: Vec<(PoolId, SpanId)>,
}

/// The pools, and what is reserved of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    /// Which pools there are.
    pub table: Arc<PoolTable>,
    at_hand: Option<Box<SharedPools>>,
    entries: Vec<Entry>,
    /// What the site was told last.
    told: Vec<PoolSpan>,
    /// It is to be told in any case: it lent the pools, or a predecessor of this scheduler may have reserved something.
    owed: bool,
}

impl Pooled {
    /// Sets which pools there are.
    pub fn set_table(&mut self, table: Arc<PoolTable>) {
        self.owed |= !table.is_empty();
        self.table = table;
    }

    /// Takes what is lent, and enters the reservations of earlier passes; `false` if they do not fit any more, so that
    /// they are gone.
    pub fn lend(&mut self, pools: Box<SharedPools>) -> bool {
        self.at_hand = Some(pools);
        self.owed = true;
        let entries = std::mem::take(&mut self.entries);
        let fits = entries.into_iter().all(|entry| self.enter(entry.slot, entry.spans));
        if !fits {
            self.clear();
        }
        fits
    }

    /// Gives up what was lent.
    pub fn give_back(&mut self) {
        self.at_hand = None;
        self.entries.iter_mut().for_each(|entry| entry.entered.clear());
    }

    /// What is free of the pools; `None`: they are not at hand.
    pub fn free(&self) -> Option<&SharedPools> {
        self.at_hand.as_deref()
    }

    /// Whether pools may be looked at.
    pub fn at_hand(&self) -> bool {
        self.at_hand.is_some()
    }

    /// Forgets all reservations.
    pub fn clear(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().for_each(|entry| self.withdraw(&entry));
    }

    fn withdraw(&mut self, entry: &Entry) {
        if let Some(pools) = &mut self.at_hand {
            let gone = pools.leave_all(&entry.entered);
            debug_assert!(gone, "what was entered is there");
        }
    }

    /// Enters a reservation; `false` if it does not fit.
    fn enter(&mut self, slot: Slot, spans: Vec<PoolSpan>) -> bool {
        let mut entry = Entry { slot, spans, entered: Vec::new() };
        if let Some(pools) = &mut self.at_hand {
            for span in &entry.spans {
                match pools.enter(span) {
                    Some(id) => entry.entered.push((span.share.pool, id)),
                    None => {
                        self.withdraw(&entry);
                        return false;
                    }
                }
            }
        }
        self.entries.push(entry);
        true
    }

    /// Reserves for a job.
    pub fn reserve(&mut self, slot: Slot, from: Timestamp, until: Timestamp, shares: &[PoolShare]) {
        if !shares.is_empty() {
            let entered = self.enter(slot, spans(shares, from, until));
            debug_assert!(entered, "what is reserved was free");
        }
    }

    /// Takes the reservation of a job away.
    pub fn unreserve(&mut self, slot: Slot) {
        if let Some(at) = self.entries.iter().position(|entry| entry.slot == slot) {
            let entry = self.entries.remove(at);
            self.withdraw(&entry);
        }
    }

    /// A job that starts takes its shares.
    pub fn start(&mut self, from: Timestamp, until: Timestamp, shares: &[PoolShare]) {
        if let Some(pools) = &mut self.at_hand {
            for span in spans(shares, from, until) {
                let entered = pools.enter(&span);
                debug_assert!(entered.is_some(), "what is started on was free");
            }
        }
    }

    /// What the site does not know yet: all that is reserved now, if that has changed. In a pass that is not `done` and has
    /// not come to a reservation, what was told stands, so that nobody else takes it meanwhile (I9).
    pub fn news(&mut self, done: bool) -> Option<Vec<PoolSpan>> {
        if !done && self.entries.is_empty() {
            return None;
        }
        let mut now: Vec<PoolSpan> = self.entries.iter().flat_map(|entry| entry.spans.iter().copied()).collect();
        now.sort_unstable();
        let owed = std::mem::take(&mut self.owed);
        let changed = self.told != now;
        self.told.clone_from(&now);
        (owed || changed).then_some(now)
    }
}

fn spans(shares: &[PoolShare], from: Timestamp, until: Timestamp) -> Vec<PoolSpan> {
    shares.iter().map(|share| PoolSpan { share: *share, from, until }).collect()
}
