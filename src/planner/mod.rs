//! What is free, when: spans over time, for one pool and for sets of targets, cut by ownership windows.
//!
//! Decides whether an amount is free over an interval and when it next is. Does not decide who gets it: it knows
//! neither queues nor jobs nor policies.

mod bits;
mod classes;
pub mod nodes;
mod plans;
mod pool;
mod profile;
mod shared;
pub mod vertex;

pub use bits::Bits;
pub use classes::{ClassId, Classes, NO_CLASS};
pub use plans::{Capacity, PlanError, Take, TargetPlans};
pub use pool::{Pool, PoolError, Span, SpanId};
pub use profile::{Claim, Profile, Wanted, cut};
pub use shared::{PoolDemand, PoolId, PoolShare, PoolSpan, PoolSpec, PoolTable, SharedPools};
