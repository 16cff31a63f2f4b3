//! Cores of one node as bits.

/// The most cores that a node may have.
pub const MAX_CORES: usize = 256;

/// Some of the cores of a node, by position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cores([u64; MAX_CORES / 64]);

impl Cores {
    /// None.
    pub const NONE: Cores = Cores([0; MAX_CORES / 64]);

    /// The first `count`.
    pub fn first(count: usize) -> Self {
        let mut words = [0; MAX_CORES / 64];
        for (at, word) in words.iter_mut().enumerate() {
            let here = count.saturating_sub(at * 64).min(64);
            *word = if here == 64 { u64::MAX } else { (1 << here) - 1 };
        }
        Self(words)
    }

    /// Adds a core below [`MAX_CORES`].
    pub fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; MAX_CORES / 64]
    }

    /// Those that are in this and in `other`.
    #[inline]
    pub fn and(&self, other: &Cores) -> Cores {
        let mut both = *self;
        both.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
        both
    }

    /// Those that are not in `other`.
    #[inline]
    pub fn without(&self, other: &Cores) -> Cores {
        let mut rest = *self;
        rest.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= !other);
        rest
    }

    /// Those that are in this or in `other`.
    #[inline]
    pub fn with(&self, other: &Cores) -> Cores {
        let mut all = *self;
        all.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
        all
    }

    /// The first `count` of them.
    pub fn lowest(&self, count: usize) -> Cores {
        let mut some = Self::NONE;
        self.iter().take(count).for_each(|at| some.insert(at));
        some
    }

    /// The positions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let words = self.0;
        words.into_iter().enumerate().flat_map(|(at, mut word)| {
            std::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros() as usize;
                    word &= word - 1;
                    at * 64 + bit
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_cores() {
        for count in [0, 1, 63, 64, 65, 128, 255, 256] {
            let all = Cores::first(count);
            assert_eq!((all.len(), all.is_empty()), (count, count == 0));
            assert!(all.iter().eq(0..count));
            assert_eq!(all.lowest(3).len(), count.min(3));
            assert_eq!(all.without(&Cores::first(10)).iter().next(), (count > 10).then_some(10));
            assert_eq!(all.and(&Cores::first(64)).with(&Cores::first(2)).len(), count.clamp(2, 64));
        }
    }
}
