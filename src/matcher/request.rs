//! What a job asks for, in the terms of the matcher.
//!
//! A jobspec (RFC 14) is a tree of anything; this is what of it decides a match. [`Shape`] names the forms that have
//! algorithms of their own.

use crate::formats::constraint::Constraint;
use crate::formats::count::Count;
use serde::{Deserialize, Serialize};

pub use crate::planner::Capacity as Amount;

/// What one job asks for. Duration and queue stand beside it, since a match at one instant needs neither.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The resources.
    pub shape: Shape,
    /// Which targets may serve (RFC 31).
    pub constraint: Option<Constraint>,
    /// What it takes of shared pools beside.
    pub shared: PoolNeeds,
}

/// What a job takes of shared pools (vertices outside every target), for as long as it holds anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolNeeds {
    /// In the order of the jobspec.
    pub needs: Vec<PoolNeed>,
    /// Where the nodes have to be, and of the needs those that say so.
    pub within: Option<Within>,
}

/// Vertices that contain targets, as racks, inside of which a job has to be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Within {
    /// The type.
    pub kind: String,
    /// In how many of them the job is, at least 1; in each it has all that the rest of the request says.
    pub count: u64,
    /// Whether it has all that is inside of them, every target and every pool, whatever it asks for.
    pub exclusive: bool,
}

impl Within {
    /// Inside of one vertex of a type, beside others.
    pub fn one(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), count: 1, exclusive: false }
    }
}

impl PoolNeeds {
    /// Whether nothing is asked for, and the nodes may be anywhere.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty() && self.within.is_none()
    }

    /// In how many places the job is: racks, or the one cluster.
    pub fn places(&self) -> u64 {
        self.within.as_ref().map_or(1, |within| within.count)
    }
}

/// So much of a type of pool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PoolNeed {
    /// The type.
    pub kind: String,
    /// How much, at least 1, in the unit of the pools.
    pub amount: u64,
    /// Whether it has to be in each vertex that also contains the nodes ([`PoolNeeds::within`]), so much in each; else it
    /// is so much in all, of any pools of the type.
    pub within: bool,
}

/// The forms of request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Whole targets, exclusively: `node{x}`, or `node>slot>…` in a queue whose match policy is node-exclusive.
    Whole {
        /// How many targets.
        nodes: Count,
        /// What each must have at least.
        at_least: Amount,
        /// Task slots on each.
        slots_per_node: u32,
    },
    /// `node>slot>(core,gpu)`: a number of targets, on each a number of slots; the rest of the target stays free.
    Nodes {
        /// How many targets.
        nodes: Count,
        /// Slots on each target.
        slots: Count,
        /// What one slot holds.
        slot: Amount,
    },
    /// `slot>(core,gpu)`: slots anywhere, each within one target.
    Slots {
        /// How many slots in all.
        slots: Count,
        /// What one slot holds.
        slot: Amount,
    },
}

impl Shape {
    /// The same with each count at its least.
    pub fn least(&self) -> Shape {
        let fixed = |count: &Count| Count::fixed(count.min());
        match self {
            Shape::Whole { nodes, at_least, slots_per_node } => {
                Shape::Whole { nodes: fixed(nodes), at_least: *at_least, slots_per_node: *slots_per_node }
            }
            Shape::Nodes { nodes, slots, slot } => {
                Shape::Nodes { nodes: fixed(nodes), slots: fixed(slots), slot: *slot }
            }
            Shape::Slots { slots, slot } => Shape::Slots { slots: fixed(slots), slot: *slot },
        }
    }
}
