//! Every job that the site was told of, in one dense table, and what each holds.
//!
//! Decides where a job stands and keeps the sums; does not decide what becomes of it. A job and what it holds are two
//! things: a *holding* begins with a grant and ends with the last release, the job may long be pending again
//! (requeue) or ended (housekeeping). The ledger therefore knows holdings, not jobs.
//!
//! Invariants: a job has one state; submitted is the sum of the others (I6); a running job has exactly one holding
//! that is [`HoldingKind::Running`], any other job has none.

use super::event::{Denial, Outcome};
use super::history::History;
use crate::base::{Duration, FastMap, JobId, Priority, QueueId, TargetSet, Timestamp};
use crate::matcher::{Reason, Request, Selection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a job stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It waits in its queue's scheduler, or for its virtual queue to be started.
    Pending,
    /// It waits outside the schedulers, or is longer than every window of its queue.
    Held,
    /// It has resources and its processes may run.
    Running,
    /// It ran, and its processes are gone.
    Ended(Outcome),
    /// It never ran, and never will.
    Denied,
    /// It was cancelled before it ran.
    Cancelled,
}

impl JobState {
    /// Whether nothing more will become of the job (it may still hold resources).
    pub fn is_final(self) -> bool {
        matches!(self, JobState::Ended(_) | JobState::Denied | JobState::Cancelled)
    }

    /// In a word, for errors and tables.
    pub fn word(self) -> &'static str {
        match self {
            JobState::Pending => "pending",
            JobState::Held => "held",
            JobState::Running => "running",
            JobState::Ended(Outcome::Completed) => "completed",
            JobState::Ended(Outcome::Failed) => "failed",
            JobState::Ended(Outcome::Cancelled) | JobState::Cancelled => "cancelled",
            JobState::Denied => "denied",
        }
    }
}

/// How many jobs stand where. `submitted` is the sum of the seven that follow; `requeued` counts events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// All that were ever submitted, those with an id that was taken left out.
    pub submitted: u64,
    /// Ended by themselves.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Cancelled, before or while they ran.
    pub cancelled: u64,
    /// Denied.
    pub denied: u64,
    /// Waiting.
    pub pending: u64,
    /// Waiting outside the schedulers or longer than every window.
    pub held: u64,
    /// Running.
    pub running: u64,
    /// How often a job was put back.
    pub requeued: u64,
}

impl Counts {
    /// The sum that has to equal `submitted` (I6).
    pub fn sum(&self) -> u64 {
        self.completed + self.failed + self.cancelled + self.denied + self.pending + self.held + self.running
    }

    /// The counter of a state.
    pub(super) fn of(&mut self, state: JobState) -> &mut u64 {
        match state {
            JobState::Pending => &mut self.pending,
            JobState::Held => &mut self.held,
            JobState::Running => &mut self.running,
            JobState::Ended(Outcome::Completed) => &mut self.completed,
            JobState::Ended(Outcome::Failed) => &mut self.failed,
            JobState::Ended(Outcome::Cancelled) | JobState::Cancelled => &mut self.cancelled,
            JobState::Denied => &mut self.denied,
        }
    }
}

/// What there is to say about why a job stands where it stands.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Why {
    /// Nothing yet.
    #[default]
    Nothing,
    /// What its scheduler said last.
    Reason(Box<Reason>),
    /// Why it is held.
    Held(Box<str>),
    /// Why it was denied.
    Denied(Box<Denial>),
}

/// A job as the site knows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// Where it stands.
    pub state: JobState,
    /// The queue that it was submitted to, which may be virtual.
    pub queue: QueueId,
    /// The queue whose scheduler serves it: `queue`, or the parent of it.
    pub home: QueueId,
    /// Whether the scheduler of `home` knows it as pending.
    pub(super) in_scheduler: bool,
    /// Who submitted it.
    pub userid: u32,
    /// Higher first.
    pub priority: Priority,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// When it came into the order of its scheduler, if a limit of its user held it back before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) late: Option<Timestamp>,
    /// Time limit.
    pub limit: Duration,
    /// When it is planned to start; never: there is no plan.
    pub planned: Timestamp,
    /// When it started last; never: not yet.
    pub started: Timestamp,
    /// When it ended; never: not yet.
    pub ended: Timestamp,
    /// Why it stands where it stands.
    pub why: Why,
    /// What it asks for; gone once the job is final.
    #[serde(with = "super::record::optional_request")]
    pub request: Option<Arc<Request>>,
    /// What was said about it while it waited.
    #[serde(default, skip_serializing_if = "History::is_empty")]
    pub history: History,
    /// How often it was put back.
    pub requeues: u32,
    /// What it holds now, or still holds after its end; [`NO_HOLDING`] otherwise.
    pub(super) holding: u32,
}

impl Job {
    /// Since when it stands in the order of its scheduler: its submission, or when a limit of its user let it in.
    pub fn in_order_from(&self) -> Timestamp {
        self.late.unwrap_or(self.submitted)
    }
}

/// The index that stands for no holding.
pub(super) const NO_HOLDING: u32 = u32::MAX;

/// Ids from here up name former holdings inside schedulers; no submission may use them.
pub(super) const FIRST_RESERVED_ID: u64 = u64::MAX - u32::MAX as u64;

/// Why something is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum HoldingKind {
    /// Its job runs.
    Running,
    /// Its job ended; epilog or housekeeping is at work.
    Ended,
    /// Its job is pending again, or went on with another holding.
    Requeued,
}

/// What was granted once and is not released yet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Holding {
    /// Whose: a slot of the job table.
    pub slot: u32,
    /// In which scheduler it was granted.
    pub queue: QueueId,
    /// The id by which that scheduler knows it: the job's, or one of its own after a requeue.
    pub name: JobId,
    /// Why it is held.
    pub kind: HoldingKind,
    /// What was asked for: schedulers are told again after a restart, when the job may be final.
    #[serde(with = "super::record::request")]
    pub request: Arc<Request>,
    /// All that was granted.
    pub selection: Arc<Selection>,
    /// The targets of it that have been released.
    pub freed: TargetSet,
    /// How many shares are left.
    pub left: u32,
    /// When it was granted.
    pub started: Timestamp,
    /// Its time limit.
    pub limit: Duration,
    /// Found where it cannot be: in the ledger beside others, in no scheduler.
    pub quarantined: bool,
    /// Its job is being preempted, or was: by then it was to be gone, by its scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Timestamp>,
}

impl Holding {
    /// The end by the limit; never if there is none.
    pub fn planned_end(&self) -> Timestamp {
        self.cut.unwrap_or(self.started + self.limit)
    }
}

/// All jobs and holdings.
#[derive(Clone, Debug, Default)]
pub(super) struct JobTable {
    slots: Vec<Job>,
    index: FastMap<JobId, u32>,
    holdings: Vec<Option<Holding>>,
    vacant: Vec<u32>,
    /// Former holdings of jobs that were requeued, oldest first.
    requeued: BTreeMap<u32, Vec<u32>>,
    /// How many ids of former holdings were given out.
    pub names_used: u32,
    pub counts: Counts,
    /// The jobs before this slot are final and hold nothing: no audit has to look at them again.
    settled: u32,
    settled_counts: Counts,
}

impl JobTable {
    /// The slot of a job.
    #[inline]
    pub fn slot(&self, id: JobId) -> Option<u32> {
        self.index.get(&id).copied()
    }

    #[inline]
    pub fn job(&self, slot: u32) -> &Job {
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn job_mut(&mut self, slot: u32) -> &mut Job {
        &mut self.slots[slot as usize]
    }

    /// All jobs, in the order of their submission.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Job)> {
        self.slots.iter().enumerate().map(|(i, job)| (i as u32, job))
    }

    /// Moves the mark of what is over, and counts what it passes.
    pub fn advance_settled(&mut self) {
        while let Some(job) = self.slots.get(self.settled as usize) {
            if !job.state.is_final() || job.holding != NO_HOLDING {
                break;
            }
            *self.settled_counts.of(job.state) += 1;
            self.settled += 1;
        }
    }

    /// The sums of the jobs that are over, and all others.
    pub fn unsettled(&self) -> (Counts, impl Iterator<Item = (u32, &Job)>) {
        (self.settled_counts, self.iter().skip(self.settled as usize))
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a job whose id is new, and counts it.
    pub fn add(&mut self, job: Job) -> u32 {
        let slot = self.slots.len() as u32;
        self.index.insert(job.id, slot);
        self.counts.submitted += 1;
        *self.counts.of(job.state) += 1;
        self.slots.push(job);
        slot
    }

    #[inline]
    pub fn holding(&self, index: u32) -> &Holding {
        self.holdings[index as usize].as_ref().expect("a holding's index is used only while it is held")
    }

    #[inline]
    pub fn holding_mut(&mut self, index: u32) -> &mut Holding {
        self.holdings[index as usize].as_mut().expect("a holding's index is used only while it is held")
    }

    /// All holdings, by index.
    pub fn holdings(&self) -> impl Iterator<Item = (u32, &Holding)> {
        self.holdings.iter().enumerate().filter_map(|(i, h)| h.as_ref().map(|h| (i as u32, h)))
    }

    /// The index that the next holding will have.
    #[inline]
    pub fn next_holding(&self) -> u32 {
        self.vacant.last().copied().unwrap_or(self.holdings.len() as u32)
    }

    /// Adds a holding at [`JobTable::next_holding`].
    pub fn add_holding(&mut self, holding: Holding) -> u32 {
        match self.vacant.pop() {
            Some(index) => {
                self.holdings[index as usize] = Some(holding);
                index
            }
            None => {
                self.holdings.push(Some(holding));
                self.holdings.len() as u32 - 1
            }
        }
    }

    /// Adds a holding at [`JobTable::next_holding`], with the references to it.
    pub fn restore_holding(&mut self, holding: Holding) {
        let (slot, kind) = (holding.slot, holding.kind);
        let index = self.add_holding(holding);
        match kind {
            HoldingKind::Running | HoldingKind::Ended => self.slots[slot as usize].holding = index,
            HoldingKind::Requeued => self.requeued.entry(slot).or_default().push(index),
        }
    }

    /// Takes a holding out, after its last release.
    pub fn drop_holding(&mut self, index: u32) -> Option<Holding> {
        let holding = self.holdings[index as usize].take()?;
        self.vacant.push(index);
        match holding.kind {
            HoldingKind::Running | HoldingKind::Ended => self.slots[holding.slot as usize].holding = NO_HOLDING,
            HoldingKind::Requeued => {
                if let Some(list) = self.requeued.get_mut(&holding.slot) {
                    list.retain(|h| *h != index);
                    if list.is_empty() {
                        self.requeued.remove(&holding.slot);
                    }
                }
            }
        }
        Some(holding)
    }

    /// Parts a job from what it holds; the holding gets a name of its own.
    pub fn part(&mut self, slot: u32) -> u32 {
        let index = std::mem::replace(&mut self.slots[slot as usize].holding, NO_HOLDING);
        let name = JobId(u64::MAX - u64::from(self.names_used));
        self.names_used += 1;
        let holding = self.holding_mut(index);
        holding.kind = HoldingKind::Requeued;
        holding.name = name;
        self.requeued.entry(slot).or_default().push(index);
        index
    }

    /// The former holdings of a job, oldest first.
    pub fn former(&self, slot: u32) -> &[u32] {
        self.requeued.get(&slot).map_or(&[], Vec::as_slice)
    }
}
