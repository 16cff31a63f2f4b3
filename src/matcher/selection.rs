//! What a job was given: the targets, and of each either the whole or single cores and gpus.
//!
//! Decides only the representation. Cores and gpus of a target are numbered here by their position among the target's
//! cores (gpus) in depth-first order; `graph` knows their logical ids, which stand in R.

use crate::base::{TargetId, TargetSet};
use crate::planner::PoolShare;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A set of positions below a target (its cores, or its gpus).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Units(SmallVec<[u64; 2]>);

impl Units {
    /// No unit.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first `n` units.
    pub fn first_n(n: u32) -> Self {
        (0..n).collect()
    }

    /// Adds a position.
    pub fn insert(&mut self, position: u32) {
        let word = position as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (position % 64);
    }

    /// Whether a position is in the set.
    pub fn contains(&self, position: u32) -> bool {
        self.0.get(position as usize / 64).is_some_and(|w| w >> (position % 64) & 1 == 1)
    }

    /// How many positions there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }

    /// Whether no position is in both.
    pub fn is_disjoint(&self, other: &Units) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & b == 0)
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Units) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
        self.trim();
    }

    /// Takes all of `other` out.
    pub fn remove_all(&mut self, other: &Units) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= !b;
        }
        self.trim();
    }

    /// The positions in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.0.len() as u32 * 64).filter(|p| self.contains(*p))
    }

    /// Equal sets have equal words.
    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl FromIterator<u32> for Units {
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut units = Units::new();
        iter.into_iter().for_each(|p| units.insert(p));
        units
    }
}

/// What of a target was given.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Extent {
    /// The target with all that is below it, exclusively.
    Whole,
    /// Single cores and gpus; the target may serve other jobs with the rest.
    Part(Box<Part>),
}

/// Single cores and gpus of one target.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Part {
    /// Positions among the target's cores.
    pub cores: Units,
    /// Positions among the target's gpus.
    pub gpus: Units,
}

/// One target's part of a selection.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Share {
    /// Which target.
    pub target: TargetId,
    /// How much of it.
    pub extent: Extent,
}

/// What a job was given: one share per target, ascending by target.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Selection {
    /// Ascending by target, no target twice, no empty share.
    pub shares: Vec<Share>,
    /// The number of task slots (RFC 20 `nslots`), at least one.
    pub nslots: u32,
    /// What it takes of shared pools; released with the last target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolShare>,
}

impl Selection {
    /// Whole targets, in any order, without repeats.
    pub fn whole(targets: impl IntoIterator<Item = TargetId>, nslots: u32) -> Self {
        let mut shares: Vec<Share> =
            targets.into_iter().map(|target| Share { target, extent: Extent::Whole }).collect();
        shares.sort_unstable_by_key(|s| s.target);
        Self { shares, nslots, pools: Vec::new() }
    }

    /// The targets, ascending.
    pub fn targets(&self) -> impl DoubleEndedIterator<Item = TargetId> + ExactSizeIterator + '_ {
        self.shares.iter().map(|s| s.target)
    }

    /// The targets as a set.
    pub fn target_set(&self) -> TargetSet {
        self.targets().collect()
    }
}

/// What of an allocation is released.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Freed {
    /// All that the job still holds.
    Rest,
    /// The shares on these targets.
    Targets(TargetSet),
}
