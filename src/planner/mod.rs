//! What is free, when: spans over time, for one pool and for sets of targets, cut by ownership windows.

mod bits;
mod plans;
mod pool;

pub use bits::Bits;
pub use plans::{Capacity, PlanError, Take, TargetPlans};
pub use pool::{Pool, PoolError, Span, SpanId};
