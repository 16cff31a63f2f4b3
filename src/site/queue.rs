//! One queue as the site keeps it: its states, its rules, its scheduler.
//!
//! Decides nothing by itself. A virtual queue has rules and states, but no scheduler and no claim: its jobs live in
//! the scheduler of its parent. A removed queue stays here as a tombstone until its last target and its last holding
//! are gone; its place in the table is never used again, so that an id means one queue for ever.

use super::check::Promises;
use super::remote::{Heir, Remote};
use super::rules::Rules;
use crate::base::{Epoch, QueueId, TargetSet, Windows};
use crate::config::QueueConfig;
use crate::scheduler::{Output, PassEnd, Scheduler};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How many jobs of a queue stand where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Places {
    /// Waiting.
    pub pending: u64,
    /// Waiting outside the schedulers, or longer than every window.
    pub held: u64,
    /// Running.
    pub running: u64,
}

/// A queue.
#[derive(Clone)]
pub(super) struct Queue {
    pub id: QueueId,
    pub name: Arc<str>,
    pub config: QueueConfig,
    pub rules: Rules,
    /// Set for a virtual queue.
    pub parent: Option<QueueId>,
    pub enabled: bool,
    pub disable_reason: String,
    pub started: bool,
    pub stop_reason: String,
    /// Removed; lives as a tombstone while it has a scheduler.
    pub removed: bool,
    /// The coordinator has nothing of it any more.
    pub gone: bool,
    /// What satisfiability is judged on.
    pub members: TargetSet,
    /// The newest up or down that its scheduler was told.
    pub epoch: Epoch,
    /// What its scheduler was told last.
    pub windows: Arc<Windows>,
    /// None for virtual queues and for removed ones that are gone.
    pub scheduler: Option<Scheduler>,
    /// The scheduler in another process that decides in its place, if there is one.
    pub remote: Option<Remote>,
    /// One that takes over once it is ready.
    pub heir: Option<Heir>,
    /// How many instances there were elsewhere; the number of the last.
    pub instances: u64,
    /// Counted by the name that jobs were submitted to.
    pub places: Places,
    /// Jobs that wait in the scheduler, those of virtual queues included.
    pub waiting: u32,
    /// Holdings that its scheduler granted.
    pub holdings: u32,
    /// What the scheduler answered and nobody has looked at yet.
    pub answers: Vec<Output>,
    /// How the last pass ended, while it is being looked at.
    pub pass: Option<(PassEnd, usize)>,
    /// Kept only while invariants are checked in each step.
    pub promises: Promises,
}

impl Queue {
    /// Whether it is a queue that users see.
    pub fn is_live(&self) -> bool {
        !self.removed
    }
}
