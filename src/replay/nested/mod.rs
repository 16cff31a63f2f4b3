//! Instances that jobs run: each a whole site of its own over what its job holds, with its own configuration and work.
//!
//! Decides what an instance inherits, how long it goes on, and how its figures reach the level above. Does not decide
//! when a job that runs one starts, nor what becomes of it: that is the site above, to which such a job is like any other
//! whose run time shows only when it is over.
//!
//! An instance depends on nothing but what its job was given and on how long it may go on. So it is run to its end when
//! its job starts, on a clock that begins there; those that start at one instant are run side by side. If the job is
//! ended before (cancelled, its node failed), the instance is run again up to that moment, to the same decisions, and what
//! is not over then is cancelled.
//!
//! Invariants: an instance grants only what its job holds (`check`); its jobs are all over when it is, as completed,
//! failed, denied or cancelled (I6 at each level); the order and number of threads change nothing (I7).

mod check;
mod level;
mod run;

pub(crate) use check::Holding;
pub(crate) use level::Level;
pub use level::LevelFigures;
pub(crate) use run::{Ended, Order, Ran, run};

use super::workload::Workload;
use crate::config::Config;
use std::sync::Arc;

/// What a job runs instead of a program.
#[derive(Debug)]
pub struct Nested {
    /// What the scenario calls it.
    pub name: String,
    /// How it is configured. Its resources are what its job holds.
    pub config: Arc<Config>,
    /// Its jobs; time 0 is the start of the job that runs it.
    pub workload: Workload,
    /// The queues that start with it, in this order.
    pub start: Vec<String>,
    /// The queue of jobs that name none.
    pub default_queue: Option<String>,
}
