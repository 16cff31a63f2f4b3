//! Sluice: a partitioned resource-graph scheduler for HPC clusters.
pub mod base;
pub mod formats;
pub mod matcher;
pub mod replay;
