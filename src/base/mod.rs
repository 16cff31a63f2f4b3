//! The words everything else is built from: identifiers, instants, durations, sets of targets.
//!
//! Decides how these are represented and compared; knows no format and no algorithm. Everything here is `Copy` or
//! cheap to clone, ordered, and hashes the same on every machine.

mod ids;
mod targets;
#[cfg(test)]
pub(crate) mod testing;
mod time;
mod windows;

pub use ids::{Epoch, GroupId, JobId, Priority, QueueId, TargetId, VertexId};
pub use targets::TargetSet;
pub use time::{Duration, Timestamp};
pub use windows::{Timeline, Window, Windows};

/// A hash map for look-ups only: nothing may iterate over it where the order could reach a decision or an output.
pub type FastMap<K, V> = rustc_hash::FxHashMap<K, V>;
/// The set beside [`FastMap`], with the same restriction.
pub type FastSet<K> = rustc_hash::FxHashSet<K>;
