//! A set of targets: a roaring bitmap that only holds [`TargetId`]s.

use super::TargetId;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub, SubAssign};

/// A set of targets, iterated in ascending order.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TargetSet(RoaringBitmap);

impl Eq for TargetSet {}

impl TargetSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// All targets with numbers in `range`.
    pub fn from_range(range: std::ops::Range<u32>) -> Self {
        let mut bitmap = RoaringBitmap::new();
        bitmap.insert_range(range);
        Self(bitmap)
    }

    /// The set of one target.
    pub fn single(target: TargetId) -> Self {
        [target].into_iter().collect()
    }

    /// Adds a target; false if it was there.
    pub fn insert(&mut self, target: TargetId) -> bool {
        self.0.insert(target.0)
    }

    /// Takes a target out; false if it was not there.
    pub fn remove(&mut self, target: TargetId) -> bool {
        self.0.remove(target.0)
    }

    /// Whether the target is in the set.
    pub fn contains(&self, target: TargetId) -> bool {
        self.0.contains(target.0)
    }

    /// How many targets there are.
    pub fn len(&self) -> usize {
        self.0.len() as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The targets in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = TargetId> + '_ {
        self.0.iter().map(TargetId)
    }

    /// The smallest target.
    pub fn first(&self) -> Option<TargetId> {
        self.0.min().map(TargetId)
    }

    /// The largest target.
    pub fn last(&self) -> Option<TargetId> {
        self.0.max().map(TargetId)
    }

    /// Whether no target is in both.
    pub fn is_disjoint(&self, other: &TargetSet) -> bool {
        self.0.is_disjoint(&other.0)
    }

    /// Whether every target of this is in `other`.
    pub fn is_subset(&self, other: &TargetSet) -> bool {
        self.0.is_subset(&other.0)
    }

    /// How many targets are in both.
    pub fn intersection_len(&self, other: &TargetSet) -> usize {
        self.0.intersection_len(&other.0) as usize
    }

    /// The bitmap itself, for word operations.
    pub fn bitmap(&self) -> &RoaringBitmap {
        &self.0
    }
}

impl From<RoaringBitmap> for TargetSet {
    fn from(bitmap: RoaringBitmap) -> Self {
        Self(bitmap)
    }
}

impl FromIterator<TargetId> for TargetSet {
    fn from_iter<I: IntoIterator<Item = TargetId>>(iter: I) -> Self {
        Self(iter.into_iter().map(|t| t.0).collect())
    }
}

impl Extend<TargetId> for TargetSet {
    fn extend<I: IntoIterator<Item = TargetId>>(&mut self, iter: I) {
        self.0.extend(iter.into_iter().map(|t| t.0));
    }
}

impl BitAnd for &TargetSet {
    type Output = TargetSet;
    fn bitand(self, rhs: &TargetSet) -> TargetSet {
        TargetSet(&self.0 & &rhs.0)
    }
}

impl BitOr for &TargetSet {
    type Output = TargetSet;
    fn bitor(self, rhs: &TargetSet) -> TargetSet {
        TargetSet(&self.0 | &rhs.0)
    }
}

impl Sub for &TargetSet {
    type Output = TargetSet;
    fn sub(self, rhs: &TargetSet) -> TargetSet {
        TargetSet(&self.0 - &rhs.0)
    }
}

impl BitAndAssign<&TargetSet> for TargetSet {
    fn bitand_assign(&mut self, rhs: &TargetSet) {
        self.0 &= &rhs.0;
    }
}

impl BitOrAssign<&TargetSet> for TargetSet {
    fn bitor_assign(&mut self, rhs: &TargetSet) {
        self.0 |= &rhs.0;
    }
}

impl SubAssign<&TargetSet> for TargetSet {
    fn sub_assign(&mut self, rhs: &TargetSet) {
        self.0 -= &rhs.0;
    }
}

impl fmt::Display for TargetSet {
    /// As an idset: `0-3,7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = self.0.iter().peekable();
        let mut separator = "";
        while let Some(low) = ids.next() {
            let mut high = low;
            while ids.next_if_eq(&(high + 1)).is_some() {
                high += 1;
            }
            if high > low {
                write!(f, "{separator}{low}-{high}")?;
            } else {
                write!(f, "{separator}{low}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for TargetSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_an_idset() {
        let set: TargetSet = [0, 1, 2, 3, 7, 9, 10].map(TargetId).into_iter().collect();
        assert_eq!(set.to_string(), "0-3,7,9-10");
        assert_eq!(TargetSet::new().to_string(), "");
    }
}
