//! The engine: walks through time, tells the site what happens, and carries out what it answers.
//!
//! Decides the order of things at one instant and when schedulers run:
//!
//! - [`PassRule::Timestamp`]: at each distinct instant first what ends (jobs, then releases of housekeeping, each by job id),
//!   then submissions by id, then timed actions in their order, then one call of `schedule`. What becomes due at the same
//!   instant by that (a job without any run time, a kill) makes a further step of the same kind.
//! - [`PassRule::Event`] (rule P of the reference schedules): at each instant first, with no pass, the ends of jobs whose
//!   time limit ends then; next the submissions by id, then the remaining ends by job id, then timed actions, with one
//!   call of `schedule` after each; if none of these follows, one call.
//!
//! The site is also looked at when it asked for it (`next_wakeup`). Nothing here knows a policy.

mod effects;
mod instances;
mod jobs;
mod nodes;
mod restart;
mod run;
mod timed;

pub use nodes::NodeRules;
pub use timed::{Deed, Timed};
pub(crate) use timed::{targets_of_hosts, targets_of_ranks};

use super::audit::Audit;
use super::book::Book;
use super::clock::{Clock, Due};
use super::digest::Digest;
use super::donations::{DonationRow, Donations};
use super::loans::Loans;
use super::measure::Measure;
use super::metrics::{Capacity, Figures, Report};
use super::observer::Observer;
use super::preemptions::Preemptions;
use super::scenario::PassRule;
use super::workload::Workload;
use crate::base::{Duration, FastSet, TargetId, TargetSet, Timestamp};
use crate::site::{Effect, EventError, Invariant, Site};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use thiserror::Error;

/// How figures are made: of the workload, the book, the cores that the last run of each job held, and what the machine offered;
/// all jobs together, and each queue.
pub type Metrics = fn(&Workload, &Book, &[u32], Capacity) -> (Figures, IndexMap<String, Figures>);

/// A clock of the machine: nanoseconds from some beginning.
pub type Stopwatch = fn() -> u64;

/// How a replay goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// When schedulers run.
    pub pass: PassRule,
    /// How many jobs one call of `schedule` may examine.
    pub work_budget: usize,
    /// The replay stops then, with what waits and runs.
    pub until: Timestamp,
    /// What happens to jobs and targets apart from scheduling.
    pub nodes: NodeRules,
    /// The queue that jobs without one go to, for the figures by queue.
    pub default_queue: Option<String>,
    /// Queues that start at the beginning, in this order.
    pub start: Vec<String>,
    /// Whether all invariants are checked after every step; the first violation ends the replay.
    pub check: bool,
    /// Whether it is kept what each job was given.
    pub keep_selections: bool,
    /// How figures are made of what became of the jobs.
    pub metrics: Metrics,
    /// A clock that is asked before and after each call of the schedulers, in nanoseconds; `None`: none is.
    pub stopwatch: Option<Stopwatch>,
    /// About how often forecasts are made, to be compared with what comes; `None`: never.
    pub measure: Option<u32>,
    /// The site ends and goes on from its own record about so often, here and in all instances; `None`: never.
    pub restart_every: Option<Duration>,
}

/// Why a replay could not go on.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// A queue that was to be started at the beginning was refused.
    #[error("queue {queue} cannot start with the replay: {source}")]
    Start {
        /// Which.
        queue: String,
        /// Why not.
        source: EventError,
    },
    /// The site refused something that has happened.
    #[error("at {at} the site refused {what}: {source}")]
    Refused {
        /// When.
        at: Timestamp,
        /// What.
        what: String,
        /// Why.
        source: EventError,
    },
    /// The site answered about a job that the workload does not have.
    #[error("at {at} the site spoke of job {job}, which is not in the workload")]
    UnknownJob {
        /// When.
        at: Timestamp,
        /// Which.
        job: crate::base::JobId,
    },
    /// Time does not go on.
    #[error("at {at} the site asked to be looked at {rounds} times in a row without anything to do")]
    Stuck {
        /// When.
        at: Timestamp,
        /// How often.
        rounds: u32,
    },
    /// An instance that a job was to run cannot be made.
    #[error("job {job} cannot run the instance {instance}: {problem}")]
    Instance {
        /// The job.
        job: crate::base::JobId,
        /// Which.
        instance: String,
        /// Why not.
        problem: String,
    },
    /// The site cannot go on from its own record.
    #[error("at {at} the site cannot go on from its record: {problem}")]
    Restart {
        /// When.
        at: Timestamp,
        /// Why not.
        problem: String,
    },
    /// A report cannot be written.
    #[error("cannot write {what}: {source}")]
    Write {
        /// Which.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
}

/// An action that the site refused; the replay went on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When.
    pub at: Timestamp,
    /// The name of the action.
    pub name: String,
    /// Why.
    pub error: String,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// When it was found.
    pub at: Timestamp,
    /// Which.
    pub invariant: Invariant,
    /// What was found.
    pub text: String,
}

/// Who owned what at an instant for which an expectation asks.
#[derive(Clone)]
pub struct Snapshot {
    /// The instant.
    pub at: Timestamp,
    /// The site at that instant, after all that belongs to it.
    pub site: Box<Site>,
}

/// What somebody did in the middle of a replay.
pub struct Intervention {
    /// What the site answered, the step that followed included.
    pub effects: Vec<Effect>,
    /// Why it refused, if it did; what came before was done.
    pub refused: Option<EventError>,
    /// The site after that step.
    pub site: Box<Site>,
}

/// What a replay leaves behind.
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// What became of each job.
    pub book: Book,
    /// What moved.
    pub donations: Vec<DonationRow>,
    /// Actions that were refused.
    pub refusals: Vec<Refusal>,
    /// Planned switches that were due: when, the name, and why they were refused if they were.
    pub switches: Vec<(Timestamp, String, Option<String>)>,
    /// Starts of queues as a group: when each came to its end, the queue, and why it gave up if it did.
    pub groups: Vec<(Timestamp, String, Option<String>)>,
    /// Broken invariants.
    pub broken: Vec<Broken>,
    /// For expectations.
    pub snapshots: Vec<Snapshot>,
    /// The site at the end.
    pub site: Site,
    /// The time at the end.
    pub end: Timestamp,
}

/// A replay under way.
pub struct Engine<'a> {
    site: Site,
    workload: &'a Workload,
    timed: Vec<Timed>,
    probes: Vec<Timestamp>,
    options: Options,
    observers: Vec<Box<dyn Observer + 'a>>,

    now: Timestamp,
    next_job: usize,
    next_timed: usize,
    next_probe: usize,
    /// When something last happened but by the site's own wish.
    last_own: Timestamp,
    clock: Clock,
    book: Book,
    /// How many cores the last run of each job held.
    cores: Vec<u32>,
    /// Cores of each target.
    target_cores: Vec<u32>,
    donations: Donations,
    loans: Loans,
    /// Whether it is followed how many jobs hold each target.
    track_holders: bool,
    digest: Digest,
    measure: Option<Measure>,
    audit: Option<Audit>,
    /// The number in the book of each queue of the workload.
    queue_numbers: Vec<u16>,
    default_number: u16,
    /// Running jobs that are being killed.
    killed: FastSet<u32>,
    /// What the site answers now, it answers to somebody who cancels a job.
    cancelling: bool,
    preemptions: Preemptions,
    /// The job whose end was answered by its requeue.
    put_back: Option<crate::base::JobId>,
    /// Ended or requeued runs whose housekeeping holds a target: slot and run.
    hanging: BTreeMap<TargetId, Vec<(u32, u32)>>,
    /// Targets that do not answer.
    offline: TargetSet,
    node_log: nodes::LogState,
    instances: instances::Instances<'a>,
    next_restart: Timestamp,
    passes: u64,
    scheduling: run::Took,
    checks: u64,
    capacity: run::CapacityMeter,
    refusals: Vec<Refusal>,
    switches: Vec<(Timestamp, String, Option<String>)>,
    groups: Vec<(Timestamp, String, Option<String>)>,
    broken: Vec<Broken>,
    /// How many violations the site had told when it was last asked.
    broken_by_site: usize,
    snapshots: Vec<Snapshot>,
    /// Scratch space.
    effects: Vec<Effect>,
    due: Vec<Due>,
    failed: Option<ReplayError>,
}
