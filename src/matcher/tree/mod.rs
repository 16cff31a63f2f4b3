//! The general matching engine: any jobspec on any graph, as Fluxion's depth-first-and-up traverser decides.
//!
//! Decides which vertices a request gets, when, and keeps what is planned on every vertex. Does not decide the order
//! of jobs, and writes no output format: a [`Grant`] is a list of vertices in the order in which Fluxion's writers
//! meet them.
//!
//! With [`Options::compat`] every decision is Fluxion's, faults included (`docs/fluxion.md` lists them); without it
//! the engine does what is right.
//!
//! Invariants: at no instant do the spans on a vertex add up to more than its size; a vertex that a job holds
//! exclusively carries no other job at the same time; the filter of a vertex counts what is held below it; a failed
//! operation changes nothing.

mod engine;
mod error;
mod options;
mod outcome;

mod fast;
mod filters;
mod shape;
mod topology;
mod types;

mod score;
mod sort;

mod explore;
mod fit;
mod prune;
mod rank;
mod schedule;
mod select;
mod slots;
mod state;
mod variants;

mod commit;

mod cancel;
mod evolve;
mod find_vertex;
mod outside;
mod overrun;
mod status;

mod find;
mod search;
mod write;

#[cfg(test)]
mod tests;

pub use engine::Engine;
pub use error::{CancelError, EngineError, MatchError, MatchFailure, UpdateError};
pub use find::{ExpressionError, Find, Predicate, Step};
pub use options::{Options, Policy, PruneFilters, SUBSYSTEM_SETS, Traverser};
pub use outcome::{
    CancelPart, Cancelled, FilterCount, Grant, Granted, Matched, Mode, Operation, Source, Status, Visits,
};
pub use write::{Format, PropertiesOf, Written};
