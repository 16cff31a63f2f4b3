//! A dense set of targets: one bit per target number, for the paths where a roaring bitmap's containers cost too much.
//!
//! Decides nothing. All sets that meet in an operation have the same bound (one past the largest target number).

use crate::base::{TargetId, TargetSet};

/// A set of targets as machine words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// The empty set for targets numbered below `bound`.
    pub fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)] }
    }

    /// The members of `set` that are numbered below `bound`.
    pub fn from_set(set: &TargetSet, bound: usize) -> Self {
        let mut bits = Self::new(bound);
        set.iter().filter(|t| t.index() < bound).for_each(|t| bits.insert(t));
        bits
    }

    /// Makes room for targets below `bound`; never shrinks.
    pub fn grow(&mut self, bound: usize) {
        let words = bound.div_ceil(64);
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    /// The words, least significant bit first.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Adds a target.
    #[inline]
    pub fn insert(&mut self, t: TargetId) {
        self.words[t.index() / 64] |= 1 << (t.0 % 64);
    }

    /// Takes a target out.
    #[inline]
    pub fn remove(&mut self, t: TargetId) {
        self.words[t.index() / 64] &= !(1 << (t.0 % 64));
    }

    /// Whether a target is in the set; false beyond the bound.
    #[inline]
    pub fn contains(&self, t: TargetId) -> bool {
        self.words.get(t.index() / 64).is_some_and(|w| w >> (t.0 % 64) & 1 == 1)
    }

    /// How many targets there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Keeps what is in `other` too.
    #[inline]
    pub fn and(&mut self, other: &Bits) {
        for (i, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(i).copied().unwrap_or(0);
        }
    }

    /// Adds all of `other`.
    #[inline]
    pub fn or(&mut self, other: &Bits) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, o) in self.words.iter_mut().zip(&other.words) {
            *word |= o;
        }
    }

    /// Takes all of `other` out.
    #[inline]
    pub fn and_not(&mut self, other: &Bits) {
        for (word, o) in self.words.iter_mut().zip(&other.words) {
            *word &= !o;
        }
    }

    /// How many targets are in both.
    #[inline]
    pub fn and_len(&self, other: &Bits) -> usize {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// The targets that are in both, ascending.
    #[inline]
    pub fn iter_and<'a>(&'a self, other: &'a Bits) -> impl Iterator<Item = TargetId> + 'a {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b);
        words.enumerate().flat_map(|(i, mut rest)| {
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    TargetId(i as u32 * 64 + bit)
                })
            })
        })
    }

    /// The targets, ascending.
    pub fn iter(&self) -> impl Iterator<Item = TargetId> + '_ {
        self.words.iter().enumerate().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    TargetId(i as u32 * 64 + bit)
                })
            })
        })
    }

    /// The targets, descending.
    pub fn iter_down(&self) -> impl Iterator<Item = TargetId> + '_ {
        self.words.iter().enumerate().rev().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = 63 - rest.leading_zeros();
                    rest &= !(1 << bit);
                    TargetId(i as u32 * 64 + bit)
                })
            })
        })
    }

    /// As a roaring set.
    pub fn to_set(&self) -> TargetSet {
        self.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_both_ways() {
        let ids = [0u32, 5, 63, 64, 130];
        let set: TargetSet = ids.map(TargetId).into_iter().collect();
        let bits = Bits::from_set(&set, 131);
        assert!(bits.iter().map(|t| t.0).eq(ids));
        assert!(bits.iter_down().map(|t| t.0).eq(ids.into_iter().rev()));
        assert_eq!((bits.len(), bits.to_set()), (5, set));
        assert!(!bits.contains(TargetId(4000)));
    }
}
