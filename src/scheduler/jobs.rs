//! The jobs of one scheduler: a dense table of all, the waiting ones in order, the running ones by planned end.
//!
//! Decides the order (priority, then submit time, then id) and nothing else.

use super::filters::FilterId;
use super::holds::Hold;
use super::plan::Reserved;
use crate::base::{Duration, FastMap, JobId, Priority, QueueId, TargetId, TargetSet, Timestamp};
use crate::matcher::{Extent, Request, Selection, Shortage};
use crate::planner::Claim;
use std::cmp::Reverse;
use std::sync::Arc;

/// The place of a job in the table; reused after the job is gone.
pub(super) type Slot = u32;

/// No job.
pub(super) const NO_SLOT: Slot = Slot::MAX;

/// What was last said about a waiting job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Standing {
    /// It is in the reservation window or behind it.
    #[default]
    Waiting,
    /// Nothing planned will ever let it fit.
    NoFiniteStart,
    /// It is longer than every window.
    ExceedsWindow,
    /// It waits for jobs to give way on what is held for it.
    Held,
}

/// A job that waits or runs.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub id: JobId,
    pub class: QueueId,
    pub priority: Priority,
    pub submitted: Timestamp,
    pub limit: Duration,
    /// As it was asked for.
    pub asked: Arc<Request>,
    /// What it becomes under the match policy.
    pub request: Arc<Request>,
    pub filter: FilterId,
    /// The least number of whole targets; 1 where parts of targets are asked for.
    pub min: u32,
    /// Whether the number of whole targets may be larger than `min`.
    pub ranged: bool,
    /// The planned start that was last reported; never: none.
    pub planned: Timestamp,
    /// The pass that last planned it.
    pub stamp: u32,
    pub standing: Standing,
    pub reserved: Option<Reserved>,
    /// `None`: it waits.
    pub run: Option<Run>,
    /// What is held free for it. It waits, but is planned as if it ran from now on to its planned end: nobody else comes
    /// in between.
    pub hold: Option<Hold>,
    /// Whether it asks for, or holds, parts of targets, or asks for shared pools: it is planned by target.
    pub partial: bool,
    /// The shared pool that it waits for, as of the last pass.
    pub short: Option<Box<Shortage>>,
}

/// What only a running job has.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub selection: Arc<Selection>,
    pub started: Timestamp,
    pub planned_end: Timestamp,
    pub overruns: u32,
    /// It is being preempted: by then it is to be gone.
    pub cut: Option<Timestamp>,
    /// Its processes are gone.
    pub ended: bool,
    /// The targets that it has released already.
    pub freed: Option<Box<TargetSet>>,
    /// How many up targets of each class return when it ends; kept only while plans are made by counts.
    pub held: Claim,
    /// How many of each class it holds that are down: in time they may come back with their window.
    pub held_down: Claim,
}

impl Run {
    /// The targets that are still held.
    pub fn targets(&self) -> impl Iterator<Item = TargetId> + '_ {
        let freed = self.freed.as_deref();
        self.selection.targets().filter(move |t| freed.is_none_or(|f| !f.contains(*t)))
    }
}

impl Job {
    /// For how long it is planned: its limit, but some time even if that is none.
    #[inline]
    pub fn span(&self) -> Duration {
        self.limit.max(Duration::from_micros(1))
    }

    /// Whether it takes of shared pools.
    #[inline]
    pub fn pooled(&self) -> bool {
        !self.request.shared.is_empty()
    }

    fn key(&self) -> Key {
        (Reverse(self.priority), self.submitted, self.id)
    }
}

type Key = (Reverse<Priority>, Timestamp, JobId);

/// All jobs of a scheduler.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    slots: FastMap<JobId, Slot>,
    table: Vec<Option<Job>>,
    vacant: Vec<Slot>,
    /// The waiting jobs in order, with the least number of targets beside them for a fast scan.
    order: Vec<Slot>,
    keys: Vec<Key>,
    need: Vec<u32>,
    /// Waiting jobs that are longer than every window: out of the order until the windows change.
    parked: Vec<Slot>,
    /// The running jobs with a finite planned end, ascending by (end, id).
    ends: Vec<(Timestamp, JobId, Slot)>,
    running: usize,
    /// How many jobs, waiting or running, ask for parts of targets.
    partial: usize,
    /// How many of these run.
    partial_running: usize,
    /// The jobs for which something is held, in the order in which that began.
    holds: Vec<Slot>,
    /// How many waiting jobs have a reservation that is kept.
    reserved: usize,
    /// How many waiting jobs take of shared pools.
    pooled: usize,
}

impl Jobs {
    pub fn slot(&self, id: JobId) -> Option<Slot> {
        self.slots.get(&id).copied()
    }

    #[inline]
    pub fn get(&self, slot: Slot) -> &Job {
        self.table[slot as usize].as_ref().expect("a slot in use")
    }

    #[inline]
    pub fn get_mut(&mut self, slot: Slot) -> &mut Job {
        self.table[slot as usize].as_mut().expect("a slot in use")
    }

    /// The job in a slot, if it is in use.
    pub fn find_mut(&mut self, slot: Slot) -> Option<&mut Job> {
        self.table.get_mut(slot as usize)?.as_mut()
    }

    fn add(&mut self, job: Job) -> Slot {
        self.partial += usize::from(job.partial);
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.table.push(None);
            self.table.len() as Slot - 1
        });
        self.slots.insert(job.id, slot);
        self.table[slot as usize] = Some(job);
        slot
    }

    /// Adds a waiting job; its position in the order.
    pub fn add_waiting(&mut self, job: Job) -> usize {
        let (key, need) = (job.key(), job.min);
        self.pooled += usize::from(job.pooled());
        let slot = self.add(job);
        let at = match self.keys.last() {
            Some(last) if *last > key => self.keys.partition_point(|k| *k < key),
            _ => self.keys.len(),
        };
        self.keys.insert(at, key);
        self.order.insert(at, slot);
        self.need.insert(at, need);
        at
    }

    /// Adds a job that runs already.
    pub fn add_running(&mut self, job: Job) -> Slot {
        let end = job.run.as_ref().expect("a running job").planned_end;
        let id = job.id;
        self.partial_running += usize::from(job.partial);
        let slot = self.add(job);
        self.running += 1;
        self.insert_end(end, id, slot);
        slot
    }

    /// Takes a job out of the table for good; it must neither wait nor have an end any more.
    fn drop_slot(&mut self, slot: Slot) -> Job {
        let job = self.table[slot as usize].take().expect("a slot in use");
        self.partial -= usize::from(job.partial);
        self.reserved -= usize::from(job.reserved.is_some());
        self.slots.remove(&job.id);
        self.vacant.push(slot);
        job
    }

    fn position(&self, slot: Slot) -> Option<usize> {
        let key = self.get(slot).key();
        let at = self.keys.partition_point(|k| *k < key);
        (self.order.get(at) == Some(&slot)).then_some(at)
    }

    /// Removes a waiting job.
    pub fn remove_waiting(&mut self, slot: Slot) -> Job {
        match self.position(slot) {
            Some(at) => self.remove_at(at),
            None => self.parked.retain(|s| *s != slot),
        }
        self.pooled -= usize::from(self.get(slot).pooled());
        self.drop_slot(slot)
    }

    /// Takes the waiting job at a position out of the order, to come back with [`Jobs::unpark`].
    pub fn park(&mut self, at: usize) {
        self.parked.push(self.order[at]);
        self.remove_at(at);
    }

    /// Puts all parked jobs back in order.
    pub fn unpark(&mut self) {
        if self.parked.is_empty() {
            return;
        }
        self.order.append(&mut self.parked);
        let mut order = std::mem::take(&mut self.order);
        order.sort_by_cached_key(|slot| self.get(*slot).key());
        self.keys = order.iter().map(|slot| self.get(*slot).key()).collect();
        self.need = order.iter().map(|slot| self.get(*slot).min).collect();
        self.order = order;
    }

    /// All waiting jobs, parked ones included, in order.
    pub fn waiting(&self) -> Vec<Slot> {
        let mut all: Vec<Slot> = self.order.iter().chain(&self.parked).copied().collect();
        if !self.parked.is_empty() {
            all.sort_by_cached_key(|slot| self.get(*slot).key());
        }
        all
    }

    /// How many wait, parked ones included.
    pub fn waiting_len(&self) -> usize {
        self.order.len() + self.parked.len()
    }

    fn remove_at(&mut self, at: usize) {
        self.keys.remove(at);
        self.order.remove(at);
        self.need.remove(at);
    }

    /// Removes a running job.
    pub fn remove_running(&mut self, slot: Slot) -> Job {
        self.remove_end(slot);
        self.running -= 1;
        self.partial_running -= usize::from(self.get(slot).partial);
        self.drop_slot(slot)
    }

    /// Gives a waiting job another priority.
    pub fn reprioritize(&mut self, slot: Slot, priority: Priority) {
        let Some(at) = self.position(slot) else {
            self.get_mut(slot).priority = priority;
            return;
        };
        {
            self.remove_at(at);
            self.get_mut(slot).priority = priority;
            let key = self.get(slot).key();
            let at = self.keys.partition_point(|k| *k < key);
            self.keys.insert(at, key);
            self.order.insert(at, slot);
            self.need.insert(at, self.get(slot).min);
        }
    }

    /// The waiting jobs in order.
    #[inline]
    pub fn order(&self) -> &[Slot] {
        &self.order
    }

    /// The least numbers of targets, in order.
    #[inline]
    pub fn need(&self) -> &[u32] {
        &self.need
    }

    /// A waiting job starts. It stays in the order until [`Jobs::forget_started`].
    pub fn start(&mut self, slot: Slot, run: Run) {
        let end = run.planned_end;
        let job = self.get_mut(slot);
        let id = job.id;
        let whole = job.partial && !run.selection.shares.iter().any(|s| matches!(s.extent, Extent::Part(_)));
        job.partial &= !whole;
        job.run = Some(run);
        job.short = None;
        job.planned = Timestamp::NEVER;
        let (partial, pooled) = (job.partial, job.pooled());
        self.pooled -= usize::from(pooled);
        self.partial -= usize::from(whole);
        self.partial_running += usize::from(partial);
        self.set_reserved(slot, None);
        self.running += 1;
        self.insert_end(end, id, slot);
    }

    /// Takes the jobs that started out of the order; `positions` ascending.
    pub fn forget_started(&mut self, positions: &[usize]) {
        match positions {
            [] => {}
            [at] => self.remove_at(*at),
            [first, ..] => {
                let (mut write, mut next) = (*first, 0);
                for read in *first..self.order.len() {
                    if positions.get(next) == Some(&read) {
                        next += 1;
                        continue;
                    }
                    self.keys[write] = self.keys[read];
                    self.order[write] = self.order[read];
                    self.need[write] = self.need[read];
                    write += 1;
                }
                self.keys.truncate(write);
                self.order.truncate(write);
                self.need.truncate(write);
            }
        }
    }

    fn insert_end(&mut self, end: Timestamp, id: JobId, slot: Slot) {
        if !end.is_never() {
            let at = self.ends.partition_point(|(e, i, _)| (*e, *i) < (end, id));
            self.ends.insert(at, (end, id, slot));
        }
    }

    fn remove_end(&mut self, slot: Slot) {
        let job = self.get(slot);
        let end = job.run.as_ref().expect("a running job").planned_end;
        if !end.is_never() {
            let id = job.id;
            let at = self.ends.partition_point(|(e, i, _)| (*e, *i) < (end, id));
            self.ends.remove(at);
        }
    }

    /// Gives a running job another planned end.
    pub fn set_end(&mut self, slot: Slot, end: Timestamp) {
        self.remove_end(slot);
        let job = self.get_mut(slot);
        job.run.as_mut().expect("a running job").planned_end = end;
        let id = job.id;
        self.insert_end(end, id, slot);
    }

    /// The running jobs with a finite planned end, earliest first.
    #[inline]
    pub fn ends(&self) -> &[(Timestamp, JobId, Slot)] {
        &self.ends
    }

    /// Gives a waiting job a reservation, or takes it away; what it had.
    pub fn set_reserved(&mut self, slot: Slot, reserved: Option<Reserved>) -> Option<Reserved> {
        let new = usize::from(reserved.is_some());
        let old = std::mem::replace(&mut self.get_mut(slot).reserved, reserved);
        self.reserved = self.reserved + new - usize::from(old.is_some());
        old
    }

    /// Whether any waiting job has a reservation that is kept.
    pub fn any_reserved(&self) -> bool {
        self.reserved > 0
    }

    /// All running jobs, by slot.
    pub fn running(&self) -> impl Iterator<Item = (Slot, &Job)> {
        let jobs = self.table.iter().enumerate();
        jobs.filter_map(|(i, j)| j.as_ref().filter(|j| j.run.is_some()).map(|j| (i as Slot, j)))
    }

    /// How many run.
    pub fn running_len(&self) -> usize {
        self.running - self.holds.len()
    }

    /// The jobs for which something is held.
    pub fn holds(&self) -> &[Slot] {
        &self.holds
    }

    /// Holds something for a waiting job in the order: it leaves the order.
    pub fn hold(&mut self, slot: Slot, run: Run, hold: Hold) {
        let at = self.position(slot).expect("a job in the order");
        self.remove_at(at);
        self.set_reserved(slot, None);
        let end = run.planned_end;
        let job = self.get_mut(slot);
        (job.run, job.hold, job.short) = (Some(run), Some(hold), None);
        let id = job.id;
        self.running += 1;
        self.holds.push(slot);
        self.insert_end(end, id, slot);
    }

    /// The job starts on what was held for it.
    pub fn start_held(&mut self, slot: Slot, now: Timestamp, end: Timestamp) -> &Job {
        self.holds.retain(|s| *s != slot);
        self.set_end(slot, end);
        let job = self.get_mut(slot);
        job.hold = None;
        job.planned = Timestamp::NEVER;
        job.run.as_mut().expect("a job with a hold").started = now;
        job
    }

    /// Takes a job for which something is held out of the table.
    pub fn remove_held(&mut self, slot: Slot) -> Job {
        self.holds.retain(|s| *s != slot);
        self.remove_end(slot);
        self.running -= 1;
        self.drop_slot(slot)
    }

    /// Gives what a running job holds another name.
    pub fn rename(&mut self, slot: Slot, name: JobId) {
        self.remove_end(slot);
        let job = self.get_mut(slot);
        let before = std::mem::replace(&mut job.id, name);
        let run = job.run.as_mut().expect("a running job");
        run.ended = true;
        let end = run.planned_end;
        self.slots.remove(&before);
        self.slots.insert(name, slot);
        self.insert_end(end, name, slot);
    }

    /// The jobs that wait though they are planned as if they ran, and all others that wait, in order.
    pub fn waiting_and_held(&self) -> Vec<Slot> {
        let mut all = self.waiting();
        if !self.holds.is_empty() {
            all.extend(&self.holds);
            all.sort_by_cached_key(|slot| self.get(*slot).key());
        }
        all
    }

    /// Whether any job asks for parts of targets.
    #[inline]
    pub fn any_partial(&self) -> bool {
        self.partial > 0
    }

    /// Whether any waiting job takes of shared pools.
    #[inline]
    pub fn any_pooled(&self) -> bool {
        self.pooled > 0
    }

    /// Whether any job holds parts of targets.
    #[inline]
    pub fn any_partial_running(&self) -> bool {
        self.partial_running > 0
    }
}
