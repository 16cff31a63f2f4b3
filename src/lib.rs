//! Sluice: a partitioned resource-graph scheduler for HPC clusters.
pub mod base;
pub mod config;
pub mod formats;
pub mod graph;
