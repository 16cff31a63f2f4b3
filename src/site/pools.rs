//! Shared pools: what no queue can own is lent to one scheduler after the other.
//!
//! Decides who has the pools when, and keeps for them what is held and what is reserved; what of them a job gets is decided
//! by its scheduler, whether that is sound by the ledger. After the parallel part of a step each pass that waits for the
//! pools is resumed with them, in queue order, to its end.
//!
//! What is reserved stands here until its scheduler says otherwise or is stopped, so that nobody else takes it, in this
//! step or a later one. When something of a pool becomes free, the schedulers with jobs that take of pools look at
//! them again (I10). A new plan never puts a job off, as long as nothing overruns: the old plan still fits beside what
//! others have reserved meanwhile. So planned starts only ever move earlier in an instant, and this comes to an end.
//!
//! Invariants: what is held here is what the holdings hold; what is lent to a scheduler is all of it, and all that is
//! reserved by others.

use super::event::Effect;
use super::queue::Queue;
use super::state::Site;
use super::step::Held;
use super::violation::{Invariant, Violation};
use crate::base::{Duration, QueueId, Timestamp};
use crate::matcher::Selection;
use crate::planner::{PoolId, PoolSpan, PoolTable, SharedPools, SpanId};
use crate::scheduler::{Input, Output, PassEnd, Scheduler};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Spans, and where they stand in the timelines.
#[derive(Clone, Debug, Default)]
struct Entry {
    spans: Vec<PoolSpan>,
    entered: Vec<(PoolId, SpanId)>,
}

/// The pools of a site.
#[derive(Clone, Debug, Default)]
pub(super) struct Pools {
    pub table: Arc<PoolTable>,
    free: SharedPools,
    /// By holding.
    held: BTreeMap<u32, Entry>,
    reserved: BTreeMap<QueueId, Entry>,
    /// Something has become free, by a queue's doing or by a release, that others have yet to look at.
    stirred: Vec<Option<QueueId>>,
}

impl Pools {
    pub fn new(table: PoolTable) -> Self {
        Self { free: SharedPools::new(&table), table: Arc::new(table), ..Self::default() }
    }

    /// Other pools, or other sizes; whether anything has changed.
    fn renew(&mut self, table: PoolTable) -> bool {
        let table = self.table.renewed(table);
        if table == *self.table {
            return false;
        }
        self.free.resize(&table);
        self.table = Arc::new(table);
        self.stirred.push(None);
        true
    }

    fn enter(&mut self, spans: Vec<PoolSpan>) -> Entry {
        // Where a job overruns, what others had reserved after it does not fit any more and stays for the time being.
        let id = |span: &PoolSpan| Some((span.share.pool, self.free.force(span)?));
        let entered = spans.iter().filter_map(id).collect();
        Entry { spans, entered }
    }

    fn leave(&mut self, entry: &Entry) {
        self.free.leave_all(&entry.entered);
    }

    /// A holding takes its shares until a planned end.
    pub fn hold(&mut self, holding: u32, selection: &Selection, from: Timestamp, until: Timestamp) {
        if !selection.pools.is_empty() {
            let until = until.max(from + Duration::from_micros(1));
            let span = |share: &crate::planner::PoolShare| PoolSpan { share: *share, from, until };
            let entry = self.enter(selection.pools.iter().map(span).collect());
            self.held.insert(holding, entry);
        }
    }

    /// A holding is released.
    pub fn release(&mut self, holding: u32) {
        if let Some(entry) = self.held.remove(&holding) {
            self.leave(&entry);
            self.stirred.push(None);
        }
    }

    /// A holding is planned to end at another time.
    fn set_end(&mut self, holding: u32, until: Timestamp) {
        let Some(mut entry) = self.held.remove(&holding) else { return };
        self.leave(&entry);
        // Earlier, and something is free; later, and what others have planned after it may not fit any more.
        self.stirred.push(None);
        for span in &mut entry.spans {
            span.until = until.max(span.from + Duration::from_micros(1));
        }
        let entry = self.enter(entry.spans);
        self.held.insert(holding, entry);
    }

    /// The holdings that should have ended.
    fn overdue(&self, now: Timestamp) -> Vec<u32> {
        let over = |entry: &Entry| entry.spans.iter().any(|span| span.until <= now);
        self.held.iter().filter(|(_, entry)| over(entry)).map(|(holding, _)| *holding).collect()
    }

    /// The first planned end of a holding.
    fn first_end(&self) -> Option<Timestamp> {
        let ends = self.held.values().flat_map(|entry| entry.spans.iter().map(|span| span.until));
        ends.min().filter(|end| !end.is_never())
    }

    /// All that a queue has reserved from now on.
    pub fn plan(&mut self, queue: QueueId, spans: Vec<PoolSpan>) {
        let before = self.reserved.remove(&queue).unwrap_or_default();
        self.leave(&before);
        if before.spans.iter().any(|span| spans.binary_search(span).is_err()) {
            self.stirred.push(Some(queue));
        }
        if !spans.is_empty() {
            let entry = self.enter(spans);
            self.reserved.insert(queue, entry);
        }
    }

    /// What is free for a queue: without what it has reserved itself.
    fn lend(&self, queue: QueueId) -> Box<SharedPools> {
        let mut free = Box::new(self.free.clone());
        if let Some(entry) = self.reserved.get(&queue) {
            free.leave_all(&entry.entered);
        }
        free
    }

    /// What queues have reserved, for a snapshot.
    pub fn reservations(&self) -> Vec<(QueueId, Vec<PoolSpan>)> {
        self.reserved.iter().map(|(queue, entry)| (*queue, entry.spans.clone())).collect()
    }
}

impl Site {
    /// Lets a scheduler go on with its pass, with the pools.
    pub(super) fn resume(&mut self, now: Timestamp, index: usize, budget: usize) {
        let pools = self.pools.lend(self.queues[index].id);
        let queue = &mut self.queues[index];
        if let Some(scheduler) = &mut queue.scheduler {
            scheduler.handle(now, Input::Resume { pools, budget }, &mut queue.answers);
        }
    }

    /// A pass of a copy of a queue's scheduler, to its end.
    pub(super) fn pass_of_copy(&self, queue: &Queue, copy: &mut Scheduler, now: Timestamp) -> Vec<Output> {
        let mut answers = Vec::new();
        copy.handle(now, Input::Pass { budget: usize::MAX }, &mut answers);
        let waits = |answer: &Output| matches!(answer, Output::PassEnded { end: PassEnd::NeedsShared, .. });
        if answers.last().is_some_and(waits) {
            let pools = self.pools.lend(queue.id);
            copy.handle(now, Input::Resume { pools, budget: usize::MAX }, &mut answers);
        }
        answers
    }

    /// When a job that holds pools should have ended, if anybody waits for pools: if it has not, plans change.
    pub(super) fn pool_wakeup(&self) -> Option<Timestamp> {
        let waits = |queue: &Queue| queue.started && queue.own_scheduler().is_some_and(Scheduler::waits_for_pools);
        self.queues.iter().any(waits).then(|| self.pools.first_end()).flatten()
    }

    /// Jobs that should have ended hold their pools a little longer; who has planned with that plans anew.
    pub(super) fn put_off_pools(&mut self, now: Timestamp) {
        for holding in self.pools.overdue(now) {
            let held = Held { ledger: &self.ledger, jobs: &self.jobs, queues: &self.queues, now };
            let end = held.end_of(holding).max(now + Duration::from_micros(1));
            self.end_pools_at(holding, end);
        }
    }

    /// A holding of pools is planned to end at another time, which excuses a delay of whoever plans with it.
    pub(super) fn end_pools_at(&mut self, holding: u32, end: Timestamp) {
        if self.pools.held.contains_key(&holding) {
            self.pools.set_end(holding, end);
            self.queues.iter_mut().for_each(|queue| queue.promises.excused = true);
        }
    }

    /// A stopped queue keeps nothing reserved, and plans anew when it is started.
    pub(super) fn drop_pool_plans(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let stopped = |queue: &QueueId| !self.queues[queue.index()].started;
        let stopped: Vec<QueueId> = self.pools.reserved.keys().copied().filter(stopped).collect();
        for queue in stopped {
            self.pools.plan(queue, Vec::new());
            self.tell(now, queue, Input::Reconsider, effects);
        }
    }

    /// Lets the schedulers with jobs that take of pools look at them again, if something has become free; whether any
    /// has to.
    pub(super) fn stir(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> bool {
        let by = std::mem::take(&mut self.pools.stirred);
        if by.is_empty() {
            return false;
        }
        let mut any = false;
        for index in 0..self.queues.len() {
            let queue = &self.queues[index];
            let id = queue.id;
            // Who has moved its own reservations has looked at the pools.
            let news = by.iter().any(|queue| *queue != Some(id));
            if news && queue.own_scheduler().is_some_and(Scheduler::waits_for_pools) {
                self.tell(now, id, Input::Reconsider, effects);
                any |= self.queues[index].started;
            }
        }
        any
    }

    /// The graph has changed: so may have the pools.
    pub(super) fn renew_pools(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if !self.pools.renew(PoolTable::new(&self.graph, &self.config.resource.pools)) {
            return;
        }
        self.ledger.set_pools(&self.pools.table);
        for index in 0..self.queues.len() {
            let id = self.queues[index].id;
            self.tell_pools(now, id, effects);
        }
    }

    /// Tells a scheduler which pools there are.
    pub(super) fn tell_pools(&mut self, now: Timestamp, queue: QueueId, effects: &mut Vec<Effect>) {
        if !self.pools.table.is_empty() {
            self.tell(now, queue, Input::Pools(self.pools.table.clone()), effects);
        }
    }

    /// Takes over which pools there were and what was reserved of them, from a snapshot.
    pub(super) fn restore_pools(&mut self, table: PoolTable) {
        let table = table.renewed(PoolTable::new(&self.graph, &self.config.resource.pools));
        self.ledger.set_pools(&table);
        self.pools = Pools::new(table);
    }

    /// I9: what all queues have reserved of pools can be kept, by the limits of what holds them: at no planned start is more
    /// wanted of a pool than there is. Counted from holdings and reservations, not from the timelines.
    ///
    /// Left out are instants at which a scheduler has yet to look at pools, and pools that have become too small.
    pub(super) fn check_pool_plans(&self, now: Timestamp) -> Vec<Violation> {
        let busy = |q: &Queue| q.own_scheduler().is_some_and(|s| s.waits_for_pools() && s.needs_pass(now));
        if self.pools.reserved.is_empty() || self.queues.iter().any(|q| q.started && busy(q)) {
            return Vec::new();
        }
        let mut changes: BTreeMap<PoolId, Vec<(Timestamp, i128)>> = BTreeMap::new();
        let mut used: BTreeMap<PoolId, i128> = BTreeMap::new();
        let held = Held { ledger: &self.ledger, jobs: &self.jobs, queues: &self.queues, now };
        for (index, holding) in self.jobs.holdings().filter(|(_, h)| !h.quarantined) {
            for share in &holding.selection.pools {
                let amount = i128::from(share.amount);
                *used.entry(share.pool).or_default() += amount;
                changes.entry(share.pool).or_default().push((held.end_of(index), -amount));
            }
        }
        for span in self.pools.reserved.values().flat_map(|entry| &entry.spans) {
            let amount = i128::from(span.share.amount);
            changes.entry(span.share.pool).or_default().extend([(span.from, amount), (span.until, -amount)]);
        }
        let mut found = Vec::new();
        for (id, mut changes) in changes {
            let size = i128::from(self.pools.table.get(id).map_or(0, |pool| pool.size));
            let mut wanted = used.get(&id).copied().unwrap_or(0);
            if wanted > size {
                continue;
            }
            // What ends makes room for what starts at the same instant.
            changes.sort_unstable();
            for (at, change) in changes {
                wanted += change;
                if change > 0 && wanted > size {
                    let text = format!("{wanted} of {size} are planned of pool {id} at {at}; it is {now}");
                    found.push(Violation::new(Invariant::I9, text));
                    break;
                }
            }
        }
        found
    }

    /// The shared pools, by number.
    pub fn pools(&self) -> &PoolTable {
        &self.pools.table
    }
}
