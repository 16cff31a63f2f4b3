//! What is free, when: spans over time, for one pool and for sets of targets, cut by ownership windows.

mod bits;

pub use bits::Bits;
