//! A program is put together from parts, through one table.
//!
//! Decides which parts can be had by which names, whether what was asked for makes a whole, and in which order the parts are built.
//! Does not know any part: those who drive the core ([`crate::replay`], a daemon) put theirs into the table, and the
//! names that are wanted come from a scenario, a configuration or a command line. There is no second way to start.
//!
//! Invariants of an assembly: every name was known; every capability that somebody needs, or that the program demands, is
//! provided; a capability that must be unique is provided once; a part is built after all that it needs.

mod table;

pub use table::{Capability, Part, ServiceError, Table};
