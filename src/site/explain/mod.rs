//! Why things are as they are: jobs, targets, queues.
//!
//! Decides which of the reasons are told and how they are counted; the reasons themselves come from the schedulers, the
//! coordinator and the forecast. Nothing here changes the site.

mod job;
mod queue;
mod target;

pub use job::{JobReport, Place};
pub use queue::{LOOKED_AT, QueueReport};
pub use target::{Rule, TargetReport};

use super::forecast::Span;
use super::shares::HeldBack;
use crate::base::{JobId, TargetSet, Timestamp};
use crate::matcher::Reason;
use std::sync::Arc;

/// What stands in the way.
#[derive(Clone, PartialEq, Debug)]
pub enum Blocker {
    /// A job, or what is left of it, holds targets.
    Job {
        /// Which.
        job: JobId,
        /// `running`, `giving way`, `housekeeping` or `requeued`.
        what: &'static str,
        /// The targets in question that it holds.
        targets: TargetSet,
        /// When it should be gone.
        until: Span,
    },
    /// Targets are held for a job that others give way to.
    Hold {
        /// Which.
        job: JobId,
        /// The targets in question.
        targets: TargetSet,
        /// When it is planned to start; never if that is not known.
        at: Timestamp,
    },
    /// A job before it in the order, which nothing may overtake.
    Ahead(JobId),
    /// A job that is planned to start, and would start later.
    Reservation {
        /// Which.
        job: JobId,
        /// When it is to start.
        at: Timestamp,
    },
    /// Another queue has targets, and comes first for them.
    Queue {
        /// Which.
        queue: Arc<str>,
        /// The targets in question.
        targets: TargetSet,
    },
    /// Targets are on their way.
    Donation {
        /// Who gives.
        donor: Arc<str>,
        /// Who gets, if anybody does.
        recipient: Option<Arc<str>>,
        /// The targets in question.
        targets: TargetSet,
        /// When the first of them should be released.
        first: Span,
        /// When the last of them should be released.
        until: Span,
    },
    /// A switch is planned that takes targets away, or brings them.
    Switch {
        /// Its name.
        name: String,
        /// When.
        at: Timestamp,
    },
    /// Targets are drained, or will be.
    Drain {
        /// Which.
        targets: TargetSet,
        /// Why.
        reason: String,
        /// When, if it is to come.
        at: Option<Timestamp>,
    },
    /// Targets do not answer.
    Offline(TargetSet),
    /// Its queue does not schedule; why.
    Stopped(Arc<str>, String),
    /// Its start waits for all its targets at once, until then.
    Group(Arc<str>, Timestamp),
    /// A limit: which, asked, allowed.
    Limit(String, String, String),
    /// A limit of what its user may have at a time.
    UserLimit {
        /// Which, whose, and who counts.
        held: HeldBack,
        /// When the first of those that run should end.
        until: Span,
    },
}

/// The word under which a reason is counted.
pub fn kind(reason: &Reason) -> &'static str {
    match reason {
        Reason::Unsatisfiable(_) => "unsatisfiable",
        Reason::Invalid { .. } => "invalid",
        Reason::NoSize => "no-size",
        Reason::Busy { .. } => "busy",
        Reason::Reserved { .. } => "reserved",
        Reason::Behind { .. } => "behind",
        Reason::NoFiniteStart(_) => "no-finite-start",
        Reason::ExceedsWindow { .. } => "exceeds-window",
        Reason::Preempting { .. } => "preempting",
        Reason::BeyondDepth => "beyond-depth",
        Reason::UserLimit { .. } => "user-limit",
    }
}
