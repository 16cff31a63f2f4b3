//! Text and JSON formats: parsing and printing, with positions in every error.
//!
//! Decides what is accepted and how it is written; knows nothing of graphs, time or queues. Where the Flux RFCs and
//! flux-core differ, flux-core is followed, and the module concerned says so. Every parser is total: any input gives
//! a value or an error, in memory bounded by a small multiple of what was accepted.

pub mod error;
mod found;
pub mod xml;
mod yaml;

pub mod count;
pub mod duration;
pub mod hostlist;
pub mod idset;
pub mod jobid;

pub mod constraint;
pub mod jgf;
pub mod r;

pub mod grug;
pub mod hwloc;

pub mod jobspec;

pub mod slurm;
pub mod swf;
