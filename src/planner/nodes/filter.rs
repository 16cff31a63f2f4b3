//! A set of positions as bits, with a bit for each word that is not empty.

/// Positions below a bound.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Positions {
    words: Vec<u64>,
    /// One bit for each word that is not 0.
    used: Vec<u64>,
    len: usize,
}

impl Positions {
    /// None of `bound` positions.
    pub fn new(bound: usize) -> Self {
        let words = bound.div_ceil(64);
        Self { words: vec![0; words], used: vec![0; words.div_ceil(64)], len: 0 }
    }

    /// All of `bound` positions.
    pub fn all(bound: usize) -> Self {
        Self::new(bound).inverted(bound)
    }

    /// Those of `bound` positions that are not there.
    #[must_use]
    pub fn inverted(mut self, bound: usize) -> Self {
        self.words.iter_mut().for_each(|word| *word = !*word);
        if let Some(last) = self.words.last_mut().filter(|_| !bound.is_multiple_of(64)) {
            *last &= (1 << (bound % 64)) - 1;
        }
        self.count();
        self
    }

    /// Takes out what is not in `other`, which has the same bound.
    pub fn keep(&mut self, other: &Positions) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
        self.count();
    }

    /// Adds what is in `other`, which has the same bound.
    pub fn add_all(&mut self, other: &Positions) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        self.count();
    }

    /// After the words have changed.
    fn count(&mut self) {
        self.used.fill(0);
        self.len = 0;
        for (at, word) in self.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            self.used[at / 64] |= 1 << (at % 64);
            self.len += word.count_ones() as usize;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a position; nothing happens if it is there.
    pub fn insert(&mut self, at: u32) {
        let (word, bit) = (at as usize / 64, 1 << (at % 64));
        self.len += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
        self.used[word / 64] |= 1 << (word % 64);
    }

    /// Takes a position out; nothing happens if it is not there.
    pub fn remove(&mut self, at: u32) {
        let (word, bit) = (at as usize / 64, 1 << (at % 64));
        self.len -= usize::from(self.words[word] & bit != 0);
        self.words[word] &= !bit;
        if self.words[word] == 0 {
            self.used[word / 64] &= !(1 << (word % 64));
        }
    }

    /// Whether a position is there.
    #[inline]
    pub fn contains(&self, at: u32) -> bool {
        self.words[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// How many are in both.
    pub fn and_len(&self, other: &Positions) -> usize {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// The words, and a bit for each that is not 0.
    pub(super) fn words(&self) -> (&[u64], &[u64]) {
        (&self.words, &self.used)
    }

    /// The positions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let groups = self.used.iter().enumerate();
        let words = groups.flat_map(|(group, &used)| bits(used).map(move |bit| group * 64 + bit as usize));
        words.flat_map(|word| bits(self.words[word]).map(move |bit| word as u32 * 64 + bit))
    }
}

impl FromIterator<u32> for Positions {
    fn from_iter<I: IntoIterator<Item = u32>>(all: I) -> Self {
        let all: Vec<u32> = all.into_iter().collect();
        let mut positions = Self::new(all.iter().max().map_or(0, |&most| most as usize + 1));
        all.into_iter().for_each(|at| positions.insert(at));
        positions
    }
}

fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_positions_in_order() {
        let some = [0u32, 63, 64, 4095, 4096, 9000];
        let mut set: Positions = some.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), some);
        set.insert(63);
        assert_eq!(set.len(), 6);
        [63, 63, 4096].into_iter().for_each(|at| set.remove(at));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 64, 4095, 9000]);
        assert_eq!((set.len(), set.contains(64), set.contains(63)), (4, true, false));
        let other: Positions = [64, 9000, 70].into_iter().collect();
        assert_eq!((set.and_len(&other), other.is_empty()), (2, false));
    }
}
