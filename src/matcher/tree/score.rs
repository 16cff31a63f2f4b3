//! Candidates with their scores, and the choice of the best among them.

use super::sort;
use super::types::Ty;
use crate::base::VertexId;
use smallvec::{SmallVec, smallvec};

/// Scores above this are matches.
pub(super) const UNMET: i64 = 0;
/// The least score of a match.
pub(super) const MET: i64 = 1;

/// How candidates are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The greatest score first.
    Greatest,
    /// The least score first.
    Least,
}

/// A vertex as a candidate, by the edge that leads to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) from: VertexId,
    pub(super) to: VertexId,
    /// How much is free.
    pub(super) count: u64,
    pub(super) exclusive: bool,
}

/// Vertices that are chosen together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) score: i64,
    pub(super) count: u64,
    /// The root, which no edge leads to.
    pub(super) is_root: bool,
    pub(super) edges: SmallVec<[Edge; 1]>,
}

impl Group {
    pub(super) fn single(score: i64, edge: Edge) -> Self {
        Self { score, count: edge.count, is_root: false, edges: smallvec![edge] }
    }
}

/// The candidates of one type.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Candidates {
    pub(super) groups: Vec<Group>,
    /// How much the qualified ones have.
    pub(super) qualified: u64,
    /// How much all have.
    pub(super) total: u64,
    /// How much was chosen.
    pub(super) chosen: u64,
    /// The first so many groups have it.
    pub(super) chosen_groups: usize,
}

impl Candidates {
    fn add(&mut self, group: Group) {
        self.total += group.count;
        if group.score > UNMET {
            self.qualified += group.count;
        }
        self.groups.push(group);
    }

    fn merge(&mut self, other: Candidates) {
        self.qualified += other.qualified;
        self.total += other.total;
        self.groups.extend(other.groups);
    }

    /// Sorts by `key` and chooses the first that have `count`; false where that is 0 or too many. With `stable` equal
    /// ones stay in the order in which they were met, else they come as Fluxion has them.
    fn choose(&mut self, count: u64, ascending: bool, stable: bool, key: &dyn Fn(&Group) -> i64) -> bool {
        if count == 0 || count > self.qualified {
            return false;
        }
        if stable && ascending {
            self.groups.sort_by_cached_key(key);
        } else if stable {
            self.groups.sort_by_cached_key(|group| std::cmp::Reverse(key(group)));
        } else {
            self.sort_as_fluxion(ascending, key);
        }
        let mut left = count;
        self.chosen_groups = 0;
        for group in &self.groups {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(group.count);
            self.chosen_groups += 1;
        }
        self.chosen = count;
        true
    }

    fn sort_as_fluxion(&mut self, ascending: bool, key: &dyn Fn(&Group) -> i64) {
        let order = sort::order(self.groups.iter().map(key), ascending);
        let mut old: Vec<Option<Group>> = std::mem::take(&mut self.groups).into_iter().map(Some).collect();
        self.groups = order.into_iter().filter_map(|at| old[at as usize].take()).collect();
    }
}

/// What was found below a vertex, by subsystem and type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Scoring {
    by_type: SmallVec<[(usize, Ty, Candidates); 2]>,
    /// Whether something was chosen, so that it is settled here and not further up.
    pub(super) settled: bool,
    /// Of the child that was left last.
    pub(super) score: i64,
    /// Free on the child that was left last.
    pub(super) avail: u64,
}

impl Default for Scoring {
    fn default() -> Self {
        Self { by_type: SmallVec::new(), settled: false, score: -1, avail: 0 }
    }
}

impl Scoring {
    pub(super) fn get(&self, subsystem: usize, ty: Ty) -> Option<&Candidates> {
        self.by_type.iter().find(|(s, t, _)| (*s, *t) == (subsystem, ty)).map(|(.., found)| found)
    }

    /// The candidates of a type; there are some from now on, if only none.
    pub(super) fn of(&mut self, subsystem: usize, ty: Ty) -> &mut Candidates {
        let at = self.by_type.partition_point(|(s, t, _)| (*s, *t) < (subsystem, ty));
        if self.by_type.get(at).is_none_or(|(s, t, _)| (*s, *t) != (subsystem, ty)) {
            self.by_type.insert(at, (subsystem, ty, Candidates::default()));
        }
        &mut self.by_type[at].2
    }

    pub(super) fn add(&mut self, subsystem: usize, ty: Ty, group: Group) {
        self.of(subsystem, ty).add(group);
    }

    pub(super) fn merge(&mut self, other: Scoring) {
        for (subsystem, ty, found) in other.by_type {
            self.of(subsystem, ty).merge(found);
        }
    }

    pub(super) fn types(&self, subsystem: usize) -> impl Iterator<Item = (Ty, &Candidates)> {
        self.by_type.iter().filter(move |(s, ..)| *s == subsystem).map(|(_, ty, found)| (*ty, found))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Candidates> {
        self.by_type.iter().map(|(.., found)| found)
    }

    /// Chooses the best by score.
    pub(super) fn choose(&mut self, subsystem: usize, ty: Ty, count: u64, order: Order, stable: bool) {
        let chosen = self.of(subsystem, ty).choose(count, order == Order::Least, stable, &|group| group.score);
        self.settled |= chosen;
    }

    /// Chooses those with the greatest key.
    pub(super) fn choose_by(
        &mut self,
        subsystem: usize,
        ty: Ty,
        count: u64,
        stable: bool,
        key: &dyn Fn(&Group) -> i64,
    ) {
        let chosen = self.of(subsystem, ty).choose(count, false, stable, key);
        self.settled |= chosen;
    }

    /// Chooses all that qualify, of every type.
    pub(super) fn choose_all(&mut self, subsystem: usize, order: Order, stable: bool) {
        for (s, _, found) in &mut self.by_type {
            if *s == subsystem {
                let all = found.qualified;
                self.settled |= found.choose(all, order == Order::Least, stable, &|group| group.score);
            }
        }
    }
}

/// How many shares of `each` can be packed, in order, from bundles that are not divided. What is left of the last
/// bundle of a share is lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    pub(super) each: u64,
    pub(super) seen: u64,
    open: u64,
    pub(super) full: u64,
}

impl Shares {
    pub(super) fn of(each: u64) -> Self {
        Self { each, ..Self::default() }
    }

    pub(super) fn add(&mut self, count: u64) {
        self.open += count;
        if self.each > 0 && self.open >= self.each {
            self.full += 1;
            self.open = 0;
        }
    }

    pub(super) fn suffice(&self, shares: u64) -> bool {
        self.each == 0 || self.full >= shares
    }
}
