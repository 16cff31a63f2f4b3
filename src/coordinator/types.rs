//! What goes into the coordinator and what comes out: requests, orders, answers, errors.
//!
//! Decides the words of the interface; holds no state.

use super::policy::{Horizon, Overlap};
use crate::base::{Epoch, GroupId, QueueId, TargetId, TargetSet, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;

/// Who has a target. Every target of the inventory is in exactly one of these states (I5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ownership {
    /// The queue has it; it is up there exactly when it is online.
    Owned(QueueId),
    /// The queue (or its tombstone) gives it away: down, until nothing holds it.
    Leaving(QueueId),
    /// Nobody has it and nobody holds it.
    Free,
}

/// What the coordinator knows of a queue's configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct QueueSpec {
    /// The name, for texts and as the last word of the order of claims.
    pub name: String,
    /// Higher goes first.
    pub precedence: i32,
    /// Whether a start goes before claiming queues of equal precedence without being told so.
    pub overlap: Overlap,
    /// How planned switches bound the queue's jobs.
    pub horizon: Horizon,
    /// The targets that the configuration covers, online or not, in the inventory or not.
    pub members: TargetSet,
}

/// How a queue starts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StartOptions {
    /// Go before claiming queues of equal precedence that share targets (`take`).
    pub take: bool,
    /// Wait for the targets and get them all at once.
    pub group: Option<GroupRequest>,
    /// Take the targets in waves: this many at most leave other started queues for this one at a time, and the rest
    /// goes on being used there. Holds until the claim is given up or another number is given. What a stopped or
    /// released queue gives up does not wait.
    #[serde(default)]
    pub max_leaving: Option<NonZeroU32>,
}

/// A start that wants its targets all at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GroupRequest {
    /// How many targets are enough; `None`: all usable ones. Zero counts as one.
    pub min: Option<u32>,
    /// When to give the request up; mandatory, or a request could bound the donors for ever.
    pub give_up: Timestamp,
}

/// Releases, then starts, as one: if a start is refused, nothing changes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SwitchRequest {
    /// Queues that stop and give up their claim, their group and their loans.
    pub release: Vec<QueueId>,
    /// Queues that start, in this order.
    pub start: Vec<(QueueId, StartOptions)>,
}

/// A switch that was done, for [`Coordinator::undo`](super::Coordinator::undo); never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SwitchId(pub u32);

impl fmt::Display for SwitchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a switch could not be undone; nothing changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
pub enum UndoError {
    /// It was never done, was undone already, or lies behind the last [`MAX_UNDO`](super::MAX_UNDO).
    #[error("switch {0} is not among those that can be undone")]
    Unknown(SwitchId),
    /// A queue of it was removed since.
    #[error("switch {switch} cannot be undone: queue {name} was removed since")]
    Removed {
        /// Which switch.
        switch: SwitchId,
        /// The name of the queue.
        name: String,
    },
    /// A queue of it was started, stopped or switched since.
    #[error(
        "switch {switch} cannot be undone: queue {name} was started, stopped or switched since; say what is wanted \
         with a switch of its own"
    )]
    Superseded {
        /// Which switch.
        switch: SwitchId,
        /// The name of the queue.
        name: String,
    },
    /// A queue that started since is in the way of one that would claim again.
    #[error(
        "switch {switch} cannot be undone: queue {name} would claim again, and shares {} at equal precedence",
        list_conflicts(conflicts)
    )]
    Overlap {
        /// Which switch.
        switch: SwitchId,
        /// The name of the queue that would claim again.
        name: String,
        /// The queues in its way.
        conflicts: Vec<Conflict>,
    },
}

/// A planned switch; never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(pub u32);

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A switch that is to happen at an instant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// When.
    pub at: Timestamp,
    /// What.
    pub request: SwitchRequest,
    /// Whether it lies within the look-ahead of the windows.
    pub(super) in_view: bool,
    /// Nobody commands it, so that nobody could be told of a conflict: starts are not refused for one.
    #[serde(default)]
    pub(super) level: bool,
}

/// Who holds targets; asked by [`Coordinator::reconcile`](super::Coordinator::reconcile). Offline targets count as
/// held as long as a job is not known to be gone from them.
pub trait Holders {
    /// Whether any job or housekeeping of any queue holds the target.
    fn is_held(&self, target: TargetId) -> bool;
    /// Whether a job or housekeeping of a queue other than `queue` holds it.
    fn held_by_other(&self, target: TargetId, queue: QueueId) -> bool;
    /// The planned end of the last holder: [`Timestamp::NEVER`] if unlimited, now or earlier if there is none.
    fn planned_end(&self, target: TargetId) -> Timestamp;
}

/// What a start led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// The queue claims its members from now on.
    Now,
    /// It claimed them before: it schedules again, and its take is not renewed.
    Resumed,
    /// It waits for its targets as a group.
    Gathering(GroupId),
}

/// A claiming queue of equal precedence that shares targets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Conflict {
    /// The queue that claims.
    pub queue: QueueId,
    /// Its name.
    pub name: String,
    /// The targets that both want.
    pub targets: TargetSet,
}

/// Why a start or a switch was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
pub enum StartError {
    /// No such queue, or it was removed.
    #[error("queue id {0} does not exist")]
    UnknownQueue(QueueId),
    /// Claiming queues of equal precedence share targets, and the start was not told to take.
    #[error(
        "queue {name} cannot start: at equal precedence it shares {}; release them first, or start it with `take`",
        list_conflicts(conflicts)
    )]
    Overlap {
        /// The queue that was to start.
        queue: QueueId,
        /// Its name.
        name: String,
        /// The queues in its way, in the order of their ids.
        conflicts: Vec<Conflict>,
    },
    /// A group start found no usable target for which the queue would come first.
    #[error("queue {name} cannot start as a group: it comes first for none of its {members} members that are online")]
    NoTargets {
        /// The queue that was to start.
        queue: QueueId,
        /// Its name.
        name: String,
        /// How many members are online.
        members: usize,
    },
    /// A start asks for its targets all at once and in waves.
    #[error("queue {name} cannot start as a group and in waves: `max-leaving` takes targets a few at a time")]
    GroupInWaves {
        /// The queue that was to start.
        queue: QueueId,
        /// Its name.
        name: String,
    },
    /// The give-up time of a group has passed already.
    #[error("queue {name} cannot start as a group: the give-up time {give_up} is not later than now, {now}")]
    GiveUpPassed {
        /// The queue that was to start.
        queue: QueueId,
        /// Its name.
        name: String,
        /// When it was to give up.
        give_up: Timestamp,
        /// The time of the start.
        now: Timestamp,
    },
}

fn list_conflicts(conflicts: &[Conflict]) -> String {
    let one = |c: &Conflict| {
        let noun = if c.targets.len() == 1 { "target" } else { "targets" };
        format!("{noun} {} with claiming queue {}", c.targets, c.name)
    };
    conflicts.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// Why a loan was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoanError {
    /// The target is not in the inventory, or is about to leave it.
    #[error("target {0} is not in the inventory")]
    UnknownTarget(TargetId),
    /// No such queue, or it was removed.
    #[error("queue id {0} does not exist")]
    UnknownQueue(QueueId),
    /// No queue would own the target, so there is no lender.
    #[error("target {0} has no queue that could lend it: no claiming queue has it as a member")]
    NoLender(TargetId),
    /// The lender waits for its own targets.
    #[error("queue {lender} cannot lend target {target}: it still gathers its group")]
    LenderGathers {
        /// The target.
        target: TargetId,
        /// The name of the lender.
        lender: String,
    },
    /// The borrower would own the target anyway.
    #[error("queue {borrower} cannot borrow target {target}: it is its own")]
    OwnTarget {
        /// The target.
        target: TargetId,
        /// The name of the borrower.
        borrower: String,
    },
    /// The borrower does not claim, or does not have the target as a member.
    #[error("queue {borrower} cannot borrow target {target}: a borrower claims and has the target as a member")]
    NotBorrower {
        /// The target.
        target: TargetId,
        /// The name of the borrower.
        borrower: String,
    },
    /// Another loan of the target is live.
    #[error("target {target} is lent to queue {borrower} until {until}")]
    Lent {
        /// The target.
        target: TargetId,
        /// The name of its borrower.
        borrower: String,
        /// The end of that loan.
        until: Timestamp,
    },
    /// The end is not in the future.
    #[error("a loan of target {target} that ends at {until} is over by now, {now}")]
    Over {
        /// The target.
        target: TargetId,
        /// The end asked for.
        until: Timestamp,
        /// The time of the request.
        now: Timestamp,
    },
}

/// Why a job found on a target could not be placed (R8); the caller quarantines it and lets it run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FoundError {
    /// The target is not in the inventory.
    #[error("a job of queue id {queue} was found on target {target}, which is not in the inventory")]
    UnknownTarget {
        /// The target.
        target: TargetId,
        /// The job's queue.
        queue: QueueId,
    },
    /// The queue neither exists nor has a tombstone; see [`Coordinator::add_tombstone`](super::Coordinator::add_tombstone).
    #[error("a job was found on target {target}, of queue id {queue}, which neither exists nor has a tombstone")]
    UnknownQueue {
        /// The target.
        target: TargetId,
        /// The job's queue.
        queue: QueueId,
    },
}

/// A target lent by the queue that should own it to another, until an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Loan {
    /// The queue that desires the target.
    pub lender: QueueId,
    /// The queue that has it meanwhile.
    pub borrower: QueueId,
    /// When it goes back; a strict end of the borrower's window.
    pub until: Timestamp,
}

/// Why a loan ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum LoanEnd {
    /// Its time came.
    Expired,
    /// It was ended by [`Coordinator::end_loan`](super::Coordinator::end_loan): a job of the lender would start.
    Ended,
    /// The lender no longer desires the target.
    LenderLost,
    /// The borrower was removed, gave up its claim or lost the target as a member.
    BorrowerLost,
}

/// Why a target leaves its owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Cause {
    /// Another claiming queue comes first.
    Claimed,
    /// The owner gave up its claim.
    Released,
    /// The target is no member of the owner any more.
    Membership,
    /// The owner was removed (R7).
    QueueRemoved,
    /// The target is to leave the inventory.
    TargetRemoved,
    /// It was lent.
    Lent,
    /// A job was found on it (R8).
    Found,
}

/// Targets on their way from one donor, begun at one instant for one cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Donation {
    /// The targets still on the way that share a recipient: `Leaving(donor)`, or `Free` and waiting for a group.
    pub targets: TargetSet,
    /// Who gives.
    pub donor: QueueId,
    /// Who gets them as things stand; nobody: they become free.
    pub recipient: Option<QueueId>,
    /// When it began.
    pub since: Timestamp,
    /// Why.
    pub cause: Cause,
    /// How many targets the donation began with, those included that went to other recipients since.
    pub total: usize,
}

/// How far a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum GroupPhase {
    /// Behind an overlapping group, or without enough usable targets.
    Waiting,
    /// Bounds the donors; changes no desired owner before the expected time.
    Gathering {
        /// When the last holder should be gone; fixed when gathering began, may move earlier, never later.
        expected: Timestamp,
    },
    /// Claims; gets its targets in one step, when all are free.
    Committed,
}

/// A start that waits for its targets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Who waits.
    pub queue: QueueId,
    /// What it asked for.
    pub request: GroupRequest,
    /// How far it is.
    pub phase: GroupPhase,
    /// The targets it would get: members for which the queue is first, that are online. Looked at anew in each step.
    pub targets: TargetSet,
    pub(super) take: Option<TakeStamp>,
}

impl Group {
    /// When it took, with the start that asked for it; `None` if it did not take.
    pub fn take(&self) -> Option<TakeStamp> {
        self.take
    }
}

/// Why a group was withdrawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum GroupFailure {
    /// The give-up time came.
    GaveUp,
    /// No usable target is left for which the queue comes first.
    NoTargets,
    /// The queue was stopped with release, or removed.
    Withdrawn,
    /// The queue was started without a group meanwhile: it is not stopped, and claims without waiting.
    Replaced,
}

impl std::fmt::Display for GroupFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            GroupFailure::GaveUp => "its targets were not together in time",
            GroupFailure::NoTargets => "no usable target is left that it could have",
            GroupFailure::Withdrawn => "it was stopped or removed meanwhile",
            GroupFailure::Replaced => "it was started without a group meanwhile",
        })
    }
}

/// When a queue took: the instant, then the number of the take among all takes. The later goes first; the number
/// makes two takes at one instant go in the order of their commands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TakeStamp {
    /// The instant of the command, or of the planned switch.
    pub at: Timestamp,
    /// Counts the takes of this coordinator.
    pub sequence: u64,
}

/// A claiming queue does not come first for some of its members.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// The names of those that do, in the order of claims.
    pub by: Vec<String>,
    /// The members in question.
    pub targets: TargetSet,
}

/// What reconciling led to. `Down` and `Up` are messages to schedulers; the others are for reports, metrics, logs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Take the targets down in the scheduler of a queue (or tombstone). It acknowledges with the epoch.
    Down {
        /// Whose scheduler.
        queue: QueueId,
        /// Which targets.
        targets: TargetSet,
        /// To be given back to [`Coordinator::acknowledge`](super::Coordinator::acknowledge).
        epoch: Epoch,
    },
    /// The targets may take work in the scheduler of a queue.
    Up {
        /// Whose scheduler.
        queue: QueueId,
        /// Which targets.
        targets: TargetSet,
        /// A grant on one of them is valid from this epoch on.
        epoch: Epoch,
    },
    /// Ownership moved: `to` nobody is free, `from` nobody was free.
    Moved {
        /// Which targets.
        targets: TargetSet,
        /// Who had them.
        from: Option<QueueId>,
        /// Who has them.
        to: Option<QueueId>,
    },
    /// Targets began to leave (R1, R8).
    DonationStarted {
        /// Which targets.
        targets: TargetSet,
        /// Who gives.
        donor: QueueId,
        /// Who gets them as things stand.
        recipient: Option<QueueId>,
        /// Why.
        cause: Cause,
        /// When.
        at: Timestamp,
    },
    /// Targets arrived, became free with nobody wanting them, or stayed with the donor (cancelled).
    DonationEnded {
        /// Which targets.
        targets: TargetSet,
        /// Who gave.
        donor: QueueId,
        /// Who got them.
        recipient: Option<QueueId>,
        /// When it began.
        started: Timestamp,
        /// When it ended.
        ended: Timestamp,
        /// Whether the donor kept them (R4), or a found job changed the donor (R8).
        cancelled: bool,
    },
    /// A group got its targets.
    GroupReady {
        /// Which group.
        group: GroupId,
        /// Whose.
        queue: QueueId,
        /// The targets that it got at once.
        targets: TargetSet,
    },
    /// A group was withdrawn, with its claim and its windows; unless replaced, the queue is stopped.
    GroupGaveUp {
        /// Which group.
        group: GroupId,
        /// Whose.
        queue: QueueId,
        /// Why.
        why: GroupFailure,
        /// When.
        at: Timestamp,
    },
    /// A planned switch was done.
    PlanExecuted {
        /// Which plan.
        plan: PlanId,
        /// What it was.
        request: SwitchRequest,
        /// By which it can be undone.
        switch: SwitchId,
    },
    /// A planned switch was due and refused; nothing changed.
    PlanRefused {
        /// Which plan.
        plan: PlanId,
        /// What it was.
        request: SwitchRequest,
        /// Why.
        error: StartError,
    },
    /// Targets left the inventory.
    Removed {
        /// Which targets.
        targets: TargetSet,
    },
    /// A claiming queue does not come first for some of its members, or others than before are in its way.
    QueueBlocked {
        /// Which queue.
        queue: QueueId,
        /// By whom and where.
        blocked: Blocked,
    },
    /// Nothing is in its way any more.
    QueueUnblocked {
        /// Which queue.
        queue: QueueId,
    },
    /// A loan is over.
    LoanEnded {
        /// Which targets.
        targets: TargetSet,
        /// Who lent.
        lender: QueueId,
        /// Who borrowed.
        borrower: QueueId,
        /// Why.
        why: LoanEnd,
        /// When.
        at: Timestamp,
    },
    /// A removed queue has neither owned nor leaving targets any more: its scheduler can go (R7).
    QueueGone {
        /// The former queue.
        queue: QueueId,
    },
}
