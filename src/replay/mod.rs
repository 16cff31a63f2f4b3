//! Replays: a virtual clock, traces and scenarios, metrics, reports.
//!
//! Decides in which order things happen at one instant, when schedulers run, what a job does once it runs, and how the
//! result is counted. Decides nothing about who gets what: that is the site's.

pub mod library;
pub mod scenario;

pub mod source;
pub mod workload;

mod clock;
pub mod engine;
pub mod nested;
pub mod observer;

mod audit;
pub mod book;
pub mod digest;
pub mod donations;
mod loans;
pub mod measure;
pub mod metrics;
mod preemptions;
pub mod random;

pub mod events;
pub mod export;
pub mod words;

pub mod assembly;
pub mod change;
pub mod compare;
pub mod expect;
pub mod quick;
pub mod state;
