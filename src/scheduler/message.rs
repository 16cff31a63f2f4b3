//! What is said to a scheduler and what it answers, in the terms of RFC 27 and RFC 28.
//!
//! The same messages serve an instance in this process and one behind a pipe: nothing here refers to memory that the
//! two would have to share, except that the graph and the properties are handed over by `Arc`.

use super::preempt::PreemptRules;
use crate::base::{Duration, Epoch, JobId, Priority, QueueId, TargetId, TargetSet, Timestamp, Windows};
use crate::config::SchedulerSettings;
use crate::graph::{Graph, Properties};
use crate::matcher::{Freed, Reason, Request, Selection, Taken};
use crate::planner::{PoolShare, PoolSpan, PoolTable, SharedPools};
use std::sync::Arc;

/// A job that wants resources.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRequest {
    /// Its id; the last key of the order.
    pub id: JobId,
    /// By which of the [`PreemptRules`] it may be preempted, and preempt.
    pub class: QueueId,
    /// Higher first.
    pub priority: Priority,
    /// Second key of the order.
    pub submitted: Timestamp,
    /// Time limit; [`Duration::INFINITE`] where there is none.
    pub limit: Duration,
    /// What it asks for.
    pub request: Arc<Request>,
}

/// A job that holds resources already, told at hello.
#[derive(Clone, Debug, PartialEq)]
pub struct HelloJob {
    /// The job as it was requested.
    pub job: JobRequest,
    /// All that it was given.
    pub selection: Arc<Selection>,
    /// What of it has been freed since.
    pub freed: TargetSet,
    /// When it started.
    pub started: Timestamp,
    /// How often its planned end was put off because it overran its limit; zero if unknown.
    pub overruns: u32,
    /// It is being preempted, and is to be gone by then: its planned end before any overrun.
    pub cut: Option<Timestamp>,
    /// Its processes are gone; nothing is won by preempting it.
    pub ended: bool,
}

/// Something told to a scheduler.
#[derive(Clone, Debug)]
pub enum Input {
    /// The first message: the full graph, who is a member, who is up.
    Acquire {
        /// The resource graph, the same for all schedulers.
        graph: Arc<Graph>,
        /// The properties of its targets.
        properties: Arc<Properties>,
        /// The targets of the queue: what satisfiability is judged on.
        members: TargetSet,
        /// The members that may take work: what availability is judged on.
        up: TargetSet,
        /// Stamped on every grant until a later up or down.
        epoch: Epoch,
    },
    /// A job that holds resources; all of them are told between acquire and the first pass.
    Hello(Box<HelloJob>),
    /// A reservation that a predecessor had made (conservative-compress keeps them): the job must be pending.
    Planned {
        /// Which job.
        job: JobId,
        /// When it was to start.
        at: Timestamp,
        /// On what it was to start: the targets on which all reservations can be kept; none if that is unknown.
        place: Vec<(TargetId, Taken)>,
        /// What it was to take of shared pools.
        pools: Vec<PoolShare>,
    },
    /// Targets may take work.
    Up {
        /// Which.
        targets: TargetSet,
        /// Stamp.
        epoch: Epoch,
    },
    /// Targets may not take new work; what runs there runs on. Answered by [`Output::DownAck`].
    Down {
        /// Which.
        targets: TargetSet,
        /// Stamp, repeated in the answer.
        epoch: Epoch,
    },
    /// Targets have left the inventory for good.
    Shrink {
        /// Which.
        targets: TargetSet,
    },
    /// A new version of the graph; target ids mean the same as before.
    Graph(Arc<Graph>),
    /// Properties have changed.
    Properties(Arc<Properties>),
    /// The queue covers other targets than before.
    Members(TargetSet),
    /// When the queue will have which targets.
    Windows(Arc<Windows>),
    /// Other policies.
    Policy(SchedulerSettings),
    /// The time limit of a running or pending job has changed.
    Expiration {
        /// Which job.
        job: JobId,
        /// The whole limit, counted from its start.
        limit: Duration,
    },
    /// A predecessor had not yet looked at something that was released or came up: the next pass starts anew, and
    /// conservative-compress sweeps.
    Reconsider,
    /// A job wants resources. Answered in the end by one of alloc, deny, cancel.
    Alloc(JobRequest),
    /// A pending job does not want resources any more. Answered by [`Output::Cancelled`]; ignored for unknown jobs.
    Cancel(JobId),
    /// A job has released what it held, or part of it.
    Free {
        /// Which job.
        job: JobId,
        /// What it released.
        freed: Freed,
        /// Whether it holds nothing any more.
        last: bool,
    },
    /// Pending jobs have other priorities; unknown ones are ignored.
    Prioritize(Vec<(JobId, Priority)>),
    /// Schedule, examining at most so many jobs.
    Pass {
        /// How many jobs may be examined; `usize::MAX` for no bound.
        budget: usize,
    },
    /// Who may be preempted, and by whom; nobody before the first of these.
    Preemption(Arc<PreemptRules>),
    /// A running job is being preempted for a reason from outside, and is to be gone by `until`.
    Preempt {
        /// Which job.
        job: JobId,
        /// When.
        until: Timestamp,
    },
    /// A running job's processes are gone; what it holds is not released yet.
    Ended(JobId),
    /// What a job holds goes on under another name, since the job is to wait again. Its processes are gone.
    Rename {
        /// The job.
        job: JobId,
        /// The name from now on.
        name: JobId,
    },
    /// What a predecessor held free for a job after [`Output::Preempt`]: the job must be pending.
    Hold {
        /// Which job.
        job: JobId,
        /// What is held for it.
        targets: TargetSet,
        /// The planned start that was last told.
        planned: Timestamp,
    },
    /// Which shared pools there are; none before the first of these.
    Pools(Arc<PoolTable>),
    /// Go on with a pass that ended with [`PassEnd::NeedsShared`], to its end. All that is used of the pools is in
    /// `pools`, by whomever, but for what this scheduler has reserved ([`Output::PoolPlans`]). From here until the pass
    /// has ended nobody else takes anything of them.
    Resume {
        /// What is free of the pools, when.
        pools: Box<SharedPools>,
        /// How many jobs may be examined; `usize::MAX` for no bound.
        budget: usize,
    },
}

/// Something a scheduler answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A job gets resources, now.
    Alloc {
        /// Which job.
        job: JobId,
        /// What it gets.
        selection: Arc<Selection>,
        /// The newest up or down that this scheduler knew of.
        epoch: Epoch,
    },
    /// What there is to say about a job that waits. Sent when it changes.
    Annotate {
        /// Which job.
        job: JobId,
        /// Why it waits.
        reason: Reason,
    },
    /// A job can never be served by the members of this queue.
    Deny {
        /// Which job.
        job: JobId,
        /// What is missing.
        reason: Reason,
    },
    /// A pending job was withdrawn, as asked.
    Cancelled {
        /// Which job.
        job: JobId,
    },
    /// The instant at which a job is planned to start has changed; `None`: there is no plan any more.
    PlannedStart {
        /// Which job.
        job: JobId,
        /// When.
        at: Option<Timestamp>,
    },
    /// Running jobs have to give way to one that waits. What they free and what is idle of `targets` is held for it from
    /// now on: nobody else gets any of it before the job starts there or [`Output::HoldEnded`] comes.
    Preempt {
        /// The job that waits.
        job: JobId,
        /// On what it will start, once all of it is free.
        targets: TargetSet,
        /// The jobs, with the instants by which they are expected to be gone.
        victims: Vec<(JobId, Timestamp)>,
    },
    /// Nothing is held for a job any more, since a target was lost that it was to start on, or since it asks for another
    /// time limit. It waits as before.
    HoldEnded {
        /// Which job.
        job: JobId,
    },
    /// These targets take no new work here.
    DownAck {
        /// Which.
        targets: TargetSet,
        /// The stamp of the down.
        epoch: Epoch,
    },
    /// All that this scheduler has reserved of shared pools from now on, ascending; what it had reserved before and is not
    /// among it is free. Comes before the end of a pass. What started jobs take stands in their selections.
    PoolPlans {
        /// The reservations.
        spans: Vec<PoolSpan>,
    },
    /// A pass is over.
    PassEnded {
        /// How it ended.
        end: PassEnd,
        /// How many jobs it examined.
        examined: usize,
    },
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassEnd {
    /// Every job within the queue-depth was considered.
    Done,
    /// The next job touches a shared pool; [`Input::Resume`] goes on.
    NeedsShared,
    /// The budget is used up; another pass goes on where this one stopped.
    BudgetSpent,
}
