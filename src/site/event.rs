//! What is told to the site, and what the site answers.
//!
//! Events are facts and commands with a time; effects are what a driver has to carry out or may report. The sequence of
//! events decides everything (I7). Names stand here, not ids: events are journaled and written by people.

use super::preempt::PreemptedFor;
use crate::base::{Duration, Epoch, JobId, Priority, TargetSet, Timestamp};
use crate::config::{Config, Preempted, QueueConfig};
use crate::coordinator::LoanEnd;
use crate::matcher::{Freed, Reason, Request, Selection};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;

/// A job on its way in.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// Its id, new to the site.
    pub id: JobId,
    /// The queue it names; `None`: the default queue.
    pub queue: Option<String>,
    /// Higher first; 16 is the default of RFC 30.
    pub priority: Priority,
    /// Who submits.
    pub userid: u32,
    /// Time limit; `None`: the queue's default, else unlimited.
    pub limit: Option<Duration>,
    /// What it asks for; an error text is a request that cannot be understood: the job is denied with it.
    pub request: Result<Arc<Request>, Reason>,
}

/// How a job that ran has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It ended by itself.
    Completed,
    /// It failed, or what it ran on did.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// How the start of a queue is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct StartMode {
    /// Go before queues of the same precedence that claim the same targets.
    pub take: bool,
    /// Take all targets at once, or none.
    pub group: Option<GroupMode>,
    /// Take targets in waves: so many leave other started queues at a time, and these go on using the rest.
    pub max_leaving: Option<NonZeroU32>,
}

/// How targets are gathered for a start all at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GroupMode {
    /// So many are enough; `None`: all members that are online.
    pub min: Option<u32>,
    /// Give up when they are not together by then.
    pub give_up: Timestamp,
}

/// What becomes of the pending jobs of a queue that is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PendingFate {
    /// They go to another queue.
    Move(String),
    /// They are kept, in no queue, until they are cancelled or moved.
    Hold,
    /// They are cancelled.
    Cancel,
}

/// A whole new configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Configure {
    /// What is to hold. Its `[resource]` says nothing, or what holds already.
    pub config: Config,
    /// What becomes of the pending jobs of queues that it does not have.
    pub pending: Option<PendingFate>,
}

/// Something that happens to the site.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A job is submitted.
    Submit(Box<Submission>),
    /// A job is to be cancelled, wherever it is; a running one is killed ([`Effect::Kill`]).
    Cancel {
        /// Which job.
        job: JobId,
    },
    /// Jobs get other priorities.
    Prioritize {
        /// Which, and what.
        jobs: Vec<(JobId, Priority)>,
    },
    /// A job gets another time limit.
    Relimit {
        /// Which job.
        job: JobId,
        /// The whole limit, from its start.
        limit: Duration,
    },
    /// A pending or held job goes to another queue.
    MoveJob {
        /// Which job.
        job: JobId,
        /// Where to.
        queue: String,
    },
    /// A running job's processes are gone. It holds its resources until [`Event::Free`].
    End {
        /// Which job.
        job: JobId,
        /// How it ended.
        outcome: Outcome,
    },
    /// A running job is to wait again (its node failed): its processes are gone; it is pending in its queue as before,
    /// and what it held is released separately by [`Event::Free`].
    Requeue {
        /// Which job.
        job: JobId,
    },
    /// Resources are released: nothing of the job, its epilog or housekeeping is left on them.
    Free {
        /// Which job.
        job: JobId,
        /// What.
        freed: Freed,
    },
    /// A queue is created: enabled and stopped.
    QueueCreate {
        /// Its configuration.
        config: Box<QueueConfig>,
    },
    /// A queue gets other members or policies.
    QueueChange {
        /// Its new configuration, whole.
        config: Box<QueueConfig>,
    },
    /// A queue is removed (R7).
    QueueRemove {
        /// Which.
        queue: String,
        /// What becomes of its pending jobs; refused without one while there are any.
        pending: Option<PendingFate>,
    },
    /// The configuration is replaced: queues that are new in it are created, others changed, those that are missing removed.
    /// Refused whole or done whole.
    Configure(Box<Configure>),
    /// A queue takes submissions.
    QueueEnable {
        /// Which.
        queue: String,
    },
    /// A queue takes no submissions.
    QueueDisable {
        /// Which.
        queue: String,
        /// Shown to those who submit.
        reason: String,
    },
    /// A queue schedules and claims its members.
    QueueStart {
        /// Which.
        queue: String,
        /// How.
        mode: StartMode,
    },
    /// A queue does not schedule.
    QueueStop {
        /// Which.
        queue: String,
        /// Whether it gives up its claim.
        release: bool,
        /// Shown to users.
        reason: String,
    },
    /// Several queues at once: releases, then starts; refused whole or done whole.
    Switch(SwitchSpec),
    /// One of the three above, later. It bounds plans from now on.
    Planned {
        /// When.
        at: Timestamp,
        /// A name to cancel it by; a new one of the same name takes the place of an old one.
        name: String,
        /// What.
        switch: SwitchSpec,
    },
    /// A start, a stop with release, a switch or a planned one; preemptible jobs that hold what leaves for it give way.
    Preempting(Box<Event>),
    /// A planned switch is withdrawn.
    CancelPlanned {
        /// By its name.
        name: String,
    },
    /// A switch is taken back: a planned one is withdrawn, one that was done is undone, and all that it moved returns.
    Abort {
        /// The name under which it was planned; `None`: the latest that was done.
        plan: Option<String>,
    },
    /// Loans of targets end: they go home once nobody holds them, and stay there for a while.
    Recall {
        /// Which, those that are not lent left out.
        targets: TargetSet,
    },
    /// Targets do not answer.
    Offline {
        /// Which.
        targets: TargetSet,
    },
    /// Targets answer again.
    Online {
        /// Which.
        targets: TargetSet,
    },
    /// Targets take no new work until undrained.
    Drain {
        /// Which.
        targets: TargetSet,
        /// Why, shown to people.
        reason: String,
        /// Now if `None`; a later instant bounds plans from now on.
        at: Option<Timestamp>,
    },
    /// Targets take work again; also withdraws planned drains of them.
    Undrain {
        /// Which.
        targets: TargetSet,
    },
    /// Hosts join the inventory, offline at first unless `online`.
    AddTargets {
        /// As lines of the graph's text form, or R: see [`crate::graph::Graph::extend`].
        addition: Box<crate::formats::r::R>,
        /// Whether they answer already.
        online: bool,
    },
    /// Targets leave the inventory as soon as nothing holds them.
    RemoveTargets {
        /// Which.
        targets: TargetSet,
    },
    /// A job is found running: reported by what runs the jobs after a restart, or discovered later (R8).
    Hello(Box<Found>),
    /// After a restore: all running jobs have been reported. Ownership and scheduling go on.
    HelloDone,
}

/// A job that was found running.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its id.
    pub id: JobId,
    /// The name of its queue, which may have been removed.
    pub queue: String,
    /// Priority.
    pub priority: Priority,
    /// Who submitted it.
    pub userid: u32,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// When it started.
    pub started: Timestamp,
    /// Time limit, from its start.
    pub limit: Duration,
    /// What it asked for.
    pub request: Arc<Request>,
    /// All that it was given.
    pub selection: Arc<Selection>,
    /// The targets of it that have been released since.
    pub freed: TargetSet,
}

/// Several queues to stop and start as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SwitchSpec {
    /// Stopped, giving up their claims.
    pub release: Vec<String>,
    /// Started, in this order.
    pub start: Vec<(String, StartMode)>,
}

/// Something the site has decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A job starts now on these resources.
    Start {
        /// Which job.
        job: JobId,
        /// In which queue.
        queue: Arc<str>,
        /// On what.
        selection: Arc<Selection>,
        /// Its time limit.
        limit: Duration,
    },
    /// A job will never run.
    Denied {
        /// Which job.
        job: JobId,
        /// Why.
        reason: Denial,
    },
    /// A job that did not run was cancelled.
    Cancelled {
        /// Which job.
        job: JobId,
    },
    /// A running job is preempted: it is to be told now (a signal), so that it can end by itself; [`Effect::Kill`] follows
    /// when its grace is over. [`Event::End`] and [`Event::Free`] follow from the driver.
    Preempt {
        /// Which job.
        job: JobId,
        /// What for.
        by: PreemptedFor,
        /// When it is killed if it is still there.
        kill_at: Timestamp,
        /// What becomes of it then.
        then: Preempted,
    },
    /// A preempted job that was told to have ended, other than completed, waits again.
    Requeued {
        /// Which job.
        job: JobId,
    },
    /// A running job must be killed; [`Event::End`] and [`Event::Free`] follow from the driver.
    Kill {
        /// Which job.
        job: JobId,
    },
    /// A pending job is kept outside the schedulers.
    Held {
        /// Which job.
        job: JobId,
        /// Why.
        reason: String,
    },
    /// A job was found running on what is not free or not in the inventory. It runs on and keeps its targets down; its
    /// scheduler does not know it.
    Quarantined {
        /// Which job.
        job: JobId,
        /// What stands against it.
        reason: String,
    },
    /// What there is to say about a waiting job has changed.
    Annotated {
        /// Which job.
        job: JobId,
        /// Why it waits.
        reason: Reason,
    },
    /// A job's planned start has changed.
    PlannedStart {
        /// Which job.
        job: JobId,
        /// When; `None`: no plan.
        at: Option<Timestamp>,
    },
    /// Targets take work in a queue.
    Up {
        /// Whose.
        queue: Arc<str>,
        /// Which.
        targets: TargetSet,
        /// Stamp.
        epoch: Epoch,
    },
    /// Targets take no new work in a queue.
    Down {
        /// Whose.
        queue: Arc<str>,
        /// Which.
        targets: TargetSet,
        /// Stamp.
        epoch: Epoch,
    },
    /// Targets begin to leave a queue.
    DonationStarted {
        /// Which.
        targets: TargetSet,
        /// From.
        donor: Arc<str>,
        /// To, as things stand.
        recipient: Option<Arc<str>>,
    },
    /// Targets have arrived, or have come back because the donation was cancelled.
    DonationEnded {
        /// Which.
        targets: TargetSet,
        /// From.
        donor: Arc<str>,
        /// To; the donor itself when cancelled; `None` when nobody wants them.
        recipient: Option<Arc<str>>,
        /// When it began.
        started: Timestamp,
        /// Whether the donor has them back.
        cancelled: bool,
    },
    /// Targets are lent, or lent for longer.
    Lent {
        /// Which.
        targets: TargetSet,
        /// By whom.
        lender: Arc<str>,
        /// To whom.
        borrower: Arc<str>,
        /// Until when, at the latest.
        until: Timestamp,
        /// Whether they were lent already.
        prolonged: bool,
    },
    /// A loan is over: the targets go home once nobody holds them.
    LoanEnded {
        /// Which.
        targets: TargetSet,
        /// Who lent them.
        lender: Arc<str>,
        /// Who had borrowed them.
        borrower: Arc<str>,
        /// Why.
        why: LoanEnd,
    },
    /// A queue's state has changed.
    QueueChanged {
        /// Which.
        queue: Arc<str>,
        /// What changed, in a word: `created`, `changed`, `removed`, `enabled`, `disabled`, `started`, `stopped`,
        /// `released`, `blocked`, `unblocked`, `gathering`, `gathered`, `gave-up`.
        what: &'static str,
        /// For people.
        detail: String,
    },
    /// A planned switch was due: done, or refused with the reason.
    PlanDue {
        /// Its name.
        name: String,
        /// `None`: done.
        refused: Option<String>,
    },
    /// Targets have joined or left the inventory.
    Inventory {
        /// Which.
        targets: TargetSet,
        /// Whether they joined.
        joined: bool,
    },
}

/// Why a job is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Denial {
    /// No queue of that name.
    UnknownQueue(String),
    /// No queue named and no default.
    NoQueue,
    /// The queue takes no submissions; its reason.
    Disabled(String),
    /// The user is not among those who may submit to the queue.
    Access {
        /// The queue.
        queue: String,
        /// The user: name and number, or the number.
        user: String,
        /// The key of the lists.
        key: String,
        /// Whom they name.
        allowed: String,
    },
    /// A limit of the queue's policy: which, asked, allowed.
    Limit {
        /// The key of the limit, in full.
        limit: String,
        /// What was asked.
        asked: String,
        /// What is allowed.
        allowed: String,
    },
    /// The id is taken.
    DuplicateId,
    /// The scheduler says never.
    Reason(Reason),
}
