//! What is free, when: spans over time, for one pool and for sets of targets, cut by ownership windows.

mod bits;
mod classes;
mod profile;

pub use bits::Bits;
pub use classes::{ClassId, Classes, NO_CLASS};
pub use profile::{Claim, Profile, Wanted, cut};
