//! Why an event was refused. A refused event has changed nothing.

use crate::base::{JobId, TargetSet, Timestamp};
use crate::coordinator::{StartError, UndoError};

/// Why an event was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EventError {
    /// Time goes one way.
    #[error("the event is of {at}, but the site is at {now} already: events come in the order of their times")]
    TimeBack {
        /// The time of the event.
        at: Timestamp,
        /// The time of the site.
        now: Timestamp,
    },
    /// No job of that id.
    #[error("job {0} is unknown: it was never submitted here")]
    UnknownJob(JobId),
    /// The job does not stand where the event needs it.
    #[error("job {job} is {found}: expected a job that is {expected}")]
    JobState {
        /// Which job.
        job: JobId,
        /// Where it would have to stand.
        expected: &'static str,
        /// Where it stands.
        found: &'static str,
    },
    /// Something is released that the job does not hold.
    #[error("job {job} cannot release {asked}: it holds {held}")]
    NotHeld {
        /// Which job.
        job: JobId,
        /// What was to be released, as an idset of targets.
        asked: String,
        /// What it holds after its end or requeue, as an idset of targets, or `nothing`.
        held: String,
    },
    /// Loans are ended where there are none.
    #[error("none of the targets {0} is lent: `queue list` and `explain node` show which are")]
    NotLent(TargetSet),
    /// Several former runs of one job hold resources, and none was named.
    #[error("{runs} runs of job {job} hold resources: name the targets that are released")]
    AmbiguousFree {
        /// Which job.
        job: JobId,
        /// How many of its runs hold something.
        runs: usize,
    },
    /// The id is one of those that the site keeps for itself.
    #[error("job id {0} is reserved: ids up to 2^64 - 2^32 - 1 may be used")]
    ReservedId(JobId),
    /// No queue of that name.
    #[error("queue {name} does not exist; there are: {known}")]
    UnknownQueue {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A queue of that name exists.
    #[error("queue {0} exists already: change it, or remove it first")]
    QueueExists(String),
    /// A queue's configuration cannot be used.
    #[error("queue {queue}: {problem}")]
    BadQueue {
        /// Which queue.
        queue: String,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// A queue with pending jobs is removed without a word about them.
    #[error("queue {queue} has {jobs} pending jobs: say what becomes of them (move, hold or cancel)")]
    PendingJobs {
        /// Which queue.
        queue: String,
        /// How many jobs.
        jobs: u64,
    },
    /// A queue that others live in is removed.
    #[error("queue {queue} is the parent of {children}: remove those first")]
    HasChildren {
        /// Which queue.
        queue: String,
        /// The virtual queues in it.
        children: String,
    },
    /// A start as a group or in waves of a queue without targets of its own.
    #[error("queue {0} is virtual: it has no targets to gather, or to take in waves")]
    VirtualGroup(String),
    /// The queue does not take what the job asks.
    #[error("job {job} cannot go to queue {queue}: {problem}")]
    NotAdmitted {
        /// Which job.
        job: JobId,
        /// Which queue.
        queue: String,
        /// Why not.
        problem: String,
    },
    /// A start or a switch was refused.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A planned switch that is not in the future.
    #[error("the switch {name} is planned for {at}, which is not later than now, {now}")]
    PlanPassed {
        /// Its name.
        name: String,
        /// When it was to happen.
        at: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// A queue stands twice in a switch.
    #[error("queue {0} stands in the switch more than once")]
    RepeatedQueue(String),
    /// No planned switch of that name.
    #[error("no switch named {name} is planned; there are: {known}")]
    UnknownPlan {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// No switch of that name is planned or was done.
    #[error("no switch named {name} is planned or can be undone; there are: {known}")]
    UnknownSwitch {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// No switch was done.
    #[error("no switch was done that could be undone; planned, to be named, are: {known}")]
    NothingToAbort {
        /// The names of those that are planned.
        known: String,
    },
    /// A switch cannot be undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// Something by which no target leaves, so that no job can give way for it.
    #[error("jobs give way only for a start, a stop with release or a switch: by this nothing leaves")]
    NothingLeaves,
    /// Targets that are not in the inventory.
    #[error("targets {unknown} are not in the inventory, which has {known}")]
    UnknownTargets {
        /// Those.
        unknown: TargetSet,
        /// What there is.
        known: TargetSet,
    },
    /// A configuration with another machine in it.
    #[error(
        "its [resource] is not that of this site: nodes join and leave by `add` and `remove`, not by a configuration"
    )]
    OtherMachine,
    /// Hosts that cannot be added.
    #[error("the hosts cannot be added: {0}")]
    BadAddition(String),
}
