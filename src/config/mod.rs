//! Configuration: TOML tables (RFC 33 and `[resource]`) to typed, validated settings.
//!
//! Decides what a configuration may say and what is meant where it says nothing. Strict: an unknown key, a wrong type
//! or unit, a contradiction between keys is an error; every error is reported, not only the first, each with file,
//! line and key. Does not read files, does not know which resources there are, and gives queues no state: whether a
//! queue starts is not configuration.
//!
//! Invariants of a [`Config`] that was parsed: the default queue and every parent exist; a parent is not virtual;
//! the policy of a queue is complete, merged key by key over its parent's and the global one.

mod types;

pub mod calendar;
pub mod import;
pub mod layers;
pub mod reference;
pub mod schema;

mod lending;
mod preemption;
mod resource;
mod scheduler;

mod error;
mod parse;
mod people;
mod policy;
mod profiles;
mod reader;

pub use calendar::Calendar;
pub(crate) use error::nearest;
pub use error::{ConfigError, ConfigErrors};

pub use lending::{Borrow, Lend, Lending};
pub(crate) use reader::{Item, Reader, Section};

pub use people::People;
pub use policy::SchedulerPatch;
pub use preemption::{Preempted, PreemptionPolicy};
pub use profiles::Profiles;
pub use resource::{PoolConfig, ResourceConfig, ResourceEntry};
pub use scheduler::{Horizon, MatchPolicy, Overlap, QueuePolicy, SchedulerSettings, UnknownName};
pub use types::{Access, Config, JobDefaults, JobSize, Limits, Members, PolicyConfig, QueueConfig, UserLimits};

#[cfg(test)]
#[path = "schema/tests.rs"]
mod schema_tests;
#[cfg(test)]
mod tests;
