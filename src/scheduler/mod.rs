//! One queue's scheduler: pending jobs in order, what runs, what is reserved, by which queue policy.

mod message;

pub use message::{HelloJob, Input, JobRequest, Output, PassEnd};
