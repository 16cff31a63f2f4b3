//! The whole pure core of Sluice: queues, schedulers, coordinator, ledger, jobs, calendar.
//!
//! Decides nothing that a part decides; it is the order in which the parts speak. It has no clock, no I/O, no threads
//! of its own making: it is told events with a time ([`Site::apply`]), and answers effects ([`Site::schedule`]).
//!
//! Invariants: I1–I10 of the design, see docs/architecture.md; a refused event changes nothing; time never goes back;
//! what is answered depends on the events alone.

mod error;
mod event;
mod job;
mod violation;

mod state;

mod hello;
mod jobs;
mod queues;

mod calendar;
mod nodes;
mod timetable;
mod undo;
mod vacate;

mod common;
mod confine;
mod lending;
mod pools;
mod preempt;
mod step;
mod view;

mod record;
mod snapshot;

mod explain;
mod forecast;
mod history;
mod plan;

mod audit;
mod check;
mod observer;

mod ledger;
mod queue;
mod rules;
mod shares;

pub use audit::audit;
pub use calendar::{PlannedDrain, PlannedSwitch};
pub use error::EventError;
pub use event::{
    Configure, Denial, Effect, Event, Found, GroupMode, Outcome, PendingFate, StartMode, Submission, SwitchSpec,
};
pub use explain::{Blocker, JobReport, LOOKED_AT, Place, QueueReport, Rule, TargetReport, kind};
pub use forecast::{Arrival, Basis, Forecast, FreeForecast, JobForecast, NextUse, Span, TargetForecast, Usage};
pub use history::{History, MOST_NOTES, Note};
pub use job::{Counts, Job, JobState, Why};
pub use nodes::Drained;
pub use observer::Observer;
pub use plan::{Drain, Move, Preview, StartChange};
pub use preempt::{PreemptedFor, Victim};
pub use queue::Places;
pub use shares::{Counted, HeldBack};
pub use snapshot::{RestoreError, SNAPSHOT_VERSION, Snapshot};
pub use state::{Site, SiteOptions};
pub use step::ScheduleEnd;
pub use timetable::Turn;
pub use undo::DoneSwitch;
pub use view::{DonationView, HolderView, QueueView, TargetView};
pub use violation::{Invariant, Violation};

#[cfg(test)]
mod tests;
