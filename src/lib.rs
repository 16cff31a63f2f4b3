//! Sluice: a partitioned resource-graph scheduler for HPC clusters.
//!
//! Every queue has its own scheduler; every scheduler knows the full resource graph, but only the targets that its
//! queue owns are up in it. A coordinator moves targets between queues without a reload. `docs/architecture.md` has the
//! map.
pub mod base;
pub mod config;
pub mod coordinator;
pub mod formats;
pub mod graph;
pub mod matcher;
pub mod planner;
pub mod replay;
pub mod scheduler;
pub mod services;
pub mod site;

#[cfg(feature = "cli")]
pub mod cli;
