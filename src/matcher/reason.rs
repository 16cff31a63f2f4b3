//! Why a job does not start: which resource, at which level, asked, available now, and when that changes.

use crate::base::{Duration, JobId, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a job does not start, or never will.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Reason {
    /// The members of the queue can never serve it.
    Unsatisfiable(Shortage),
    /// The request is not one that can be matched.
    Invalid {
        /// What is wrong with it.
        what: String,
    },
    /// It asks for nothing (a trace without a size).
    NoSize,
    /// Too little is free now; it has a planned start or waits behind others.
    Busy {
        /// What is short now.
        shortage: Shortage,
        /// When it is planned to start, if it is.
        start: Option<Timestamp>,
    },
    /// Enough is free, but the job would delay one that is planned.
    Reserved {
        /// The first job that it would delay.
        by: JobId,
        /// When that one is planned to start.
        at: Timestamp,
    },
    /// The policy lets nothing overtake the job before it.
    Behind {
        /// That job.
        job: JobId,
    },
    /// Members that it needs are down, owned by another queue, or held without a limit: nothing planned will let it fit.
    NoFiniteStart(Shortage),
    /// It is longer than every window in which the queue has the targets.
    ExceedsWindow {
        /// Its time limit.
        limit: Duration,
        /// The longest window.
        longest: Duration,
    },
    /// Other jobs give way to it, and what they free is held for it.
    Preempting {
        /// How many have yet to.
        jobs: u64,
        /// By when all is free.
        at: Timestamp,
    },
    /// It stands behind the queue-depth.
    BeyondDepth,
    /// Its user has as much as a limit allows: it is held back, outside the order.
    UserLimit {
        /// The key of the limit.
        limit: Box<str>,
        /// What it allows.
        allowed: u64,
    },
}

/// A resource of which there is too little.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shortage {
    /// Which resource: `node`, `core`, `gpu`, `slot`.
    pub resource: String,
    /// At which level it is counted: `queue` for all targets together, `node` for one target.
    pub level: String,
    /// How much was asked, at least.
    pub asked: u64,
    /// How much there is.
    pub available: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, level, asked, available } = self;
        write!(f, "{resource} per {level}: asked {asked}, available {available}")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unsatisfiable(shortage) => write!(f, "unsatisfiable: {shortage}"),
            Reason::Invalid { what } => write!(f, "invalid request: {what}"),
            Reason::NoSize => f.write_str("no-size: the job asks for no resources"),
            Reason::Busy { shortage, start: Some(start) } => write!(f, "busy: {shortage}; planned start {start}"),
            Reason::Busy { shortage, start: None } => write!(f, "busy: {shortage}"),
            Reason::Reserved { by, at } => write!(f, "reserved: would delay job {by}, planned to start at {at}"),
            Reason::Behind { job } => write!(f, "behind: job {job} is first"),
            Reason::NoFiniteStart(shortage) => write!(f, "no finite start: {shortage}"),
            Reason::ExceedsWindow { limit, longest } => {
                write!(f, "exceeds-window: limit {limit}, longest window {longest}")
            }
            Reason::Preempting { jobs, at } => {
                write!(
                    f,
                    "preempting: {jobs} {} for it, free by {at}",
                    if *jobs == 1 { "job gives way" } else { "jobs give way" }
                )
            }
            Reason::BeyondDepth => f.write_str("beyond-depth: the queue-depth ends before it"),
            Reason::UserLimit { limit, allowed } => write!(f, "user-limit: {limit} allows {allowed}"),
        }
    }
}
