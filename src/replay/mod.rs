//! Replays: a virtual clock, traces and scenarios, metrics, reports.

pub mod scenario;
