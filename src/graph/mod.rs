//! The resource graph: what there is and what contains what, immutable and shared by all schedulers behind one `Arc`.
//!
//! Decides how vertices are numbered, which of them are targets, what is below and above what, and which targets
//! satisfy a constraint. Does not hold who owns a target, what is up, or what is free: those are bitmaps and dense
//! arrays beside the graph, indexed by [`TargetId`] and [`VertexId`], so that changing them makes no new graph.
//!
//! The `containment` tree is held in arrays; petgraph holds the edges of the other subsystems, and those that make no tree:
//!
//! - a [`VertexId`] is the position of a vertex in depth-first order, so a subtree is a range of numbers;
//! - the vertices of one kind are a sorted list, so those of one kind in a subtree are a slice of it, found by binary
//!   search, and sums of their sizes come from prefix sums;
//! - every vertex knows its target, and every target its cores and GPUs.
//!
//! Invariants: `subtree(v).start == v`; `v` is in `subtree(parent(v))`; subtrees are nested or disjoint; targets are
//! never nested; a [`TargetId`] names the same target in every version of a graph and is never given twice; the
//! children of a vertex keep the order of the input.
//!
//! Adding and removing makes a new version ([`Graph::extend`], [`Graph::without`]) with a [`VertexMap`] from the old
//! numbers to the new.

mod beside;
mod build;
mod error;
mod evolve;
mod extract;
mod grug;
mod held;
mod hwloc;
mod install;
mod jgf;
mod multiply;
mod names;
mod numbers;
mod paths;
mod properties;
mod r;
mod ranks;
mod resolve;
mod store;
mod target;
pub mod text;
mod uniform;

pub use crate::base::{TargetId, VertexId};
pub use error::GraphError;
pub use evolve::{Extended, VertexMap};
pub use held::{Detail, Held, HeldError};
pub use jgf::{Loaded, ReadError};
pub use names::{KindId, SubsystemId};
pub use properties::Properties;
pub use r::{Ids, Share};
pub use resolve::ResolveError;
pub use store::{Graph, Vertex};
pub use target::Target;

#[cfg(test)]
mod tests;
