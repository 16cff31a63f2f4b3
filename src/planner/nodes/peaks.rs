//! Numbers by position, with the greatest of every 64, of every 4,096, … beside, so that the first position with a
//! number large enough is found in as many looks as there are levels.

use super::Positions;

/// Numbers with the greatest of each block of 64, on as many levels as it takes.
#[derive(Clone, Debug)]
pub(super) struct Peaks<T> {
    /// The numbers themselves, then the peaks of blocks, each level 64 times shorter.
    levels: Vec<Vec<T>>,
}

const BLOCK: usize = 64;

impl<T: Copy + Ord> Peaks<T> {
    /// The first position from `from` on that is in a set and has at least `least`.
    pub(super) fn first_in(&self, set: &Positions, from: u32, least: T) -> Option<u32> {
        let (words, used) = set.words();
        let bit = |at: u32| !0u64 << (at % 64);
        let mut word = from as usize / 64;
        let mut mask = bit(from);
        loop {
            let group = word / 64;
            // The next word that has something and a number large enough.
            let open = self.peak(2, group).is_none_or(|peak| peak >= least);
            let rest = if open { used.get(group)? & bit(word as u32 % 64) } else { 0 };
            if rest == 0 {
                used.get(group + 1)?;
                word = (group + 1) * 64;
                mask = !0;
                continue;
            }
            let next = group * 64 + rest.trailing_zeros() as usize;
            if next != word {
                word = next;
                mask = !0;
            }
            if self.peak(1, word).is_none_or(|peak| peak >= least) {
                let mut bits = words[word] & mask;
                while bits != 0 {
                    let at = word as u32 * 64 + bits.trailing_zeros();
                    if self.get(at as usize) >= least {
                        return Some(at);
                    }
                    bits &= bits - 1;
                }
            }
            word += 1;
            mask = !0;
        }
    }

    /// All numbers equal to `value`.
    pub(super) fn new(len: usize, value: T) -> Self {
        let mut levels = vec![vec![value; len]];
        let mut len = len;
        while len > BLOCK {
            len = len.div_ceil(BLOCK);
            levels.push(vec![value; len]);
        }
        Self { levels }
    }

    pub(super) fn len(&self) -> usize {
        self.levels[0].len()
    }

    /// The greatest of all.
    pub(super) fn most(&self) -> Option<T> {
        self.levels.last()?.iter().copied().max()
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> T {
        self.levels[0][at]
    }

    /// The greatest of a block; none if there is no such level or block.
    #[inline]
    fn peak(&self, level: usize, block: usize) -> Option<T> {
        self.levels.get(level)?.get(block).copied()
    }

    pub(super) fn set(&mut self, at: usize, value: T) {
        let old = std::mem::replace(&mut self.levels[0][at], value);
        let (mut at, mut old, mut value) = (at, old, value);
        for level in 1..self.levels.len() {
            at /= BLOCK;
            let peak = self.levels[level][at];
            let new = if value >= peak {
                value
            } else if old == peak {
                let below = &self.levels[level - 1];
                let block = &below[at * BLOCK..below.len().min((at + 1) * BLOCK)];
                if block.contains(&peak) {
                    return;
                }
                block.iter().copied().max().unwrap_or(value)
            } else {
                return;
            };
            if new == peak {
                return;
            }
            self.levels[level][at] = new;
            (old, value) = (peak, new);
        }
    }

    /// The first position from `from` on with at least `least`.
    pub(super) fn first(&self, from: usize, least: T) -> Option<usize> {
        let mut at = from;
        let mut level = 0;
        loop {
            // To the end of the block; then up, to the block after it.
            let numbers = &self.levels[level];
            let end = numbers.len().min((at / BLOCK + 1) * BLOCK);
            if at < end
                && let Some(step) = numbers[at..end].iter().position(|&number| number >= least)
            {
                at += step;
                break;
            }
            if level + 1 == self.levels.len() {
                return None;
            }
            at = at / BLOCK + 1;
            level += 1;
        }
        while level > 0 {
            level -= 1;
            let numbers = &self.levels[level];
            let block = at * BLOCK..numbers.len().min((at + 1) * BLOCK);
            at = block.start + numbers[block].iter().position(|&number| number >= least)?;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::base::testing::config(64))]
        #[test]
        fn finds_what_a_list_has(
            len in prop_oneof![1..70usize, 4090..4200usize, 8000..9000usize],
            sets in prop::collection::vec((any::<prop::sample::Index>(), 0..5u16), 0..200),
            ask in (any::<prop::sample::Index>(), 0..6u16),
            rest in 2..9000u32,
        ) {
            let (mut peaks, mut plain) = (Peaks::new(len, 0u16), vec![0u16; len]);
            for (at, value) in sets {
                peaks.set(at.index(len), value);
                plain[at.index(len)] = value;
                let (from, least) = (ask.0.index(len + 1), ask.1);
                let expected = (from..len).find(|&i| plain[i] >= least);
                prop_assert_eq!(peaks.first(from, least), expected);
                let mut set = Positions::new(len);
                (0..len as u32).filter(|at| at % rest == 1 || at % 1000 < 3).for_each(|at| set.insert(at));
                let expected = (from..len).find(|&i| plain[i] >= least && set.contains(i as u32));
                prop_assert_eq!(peaks.first_in(&set, from as u32, least), expected.map(|at| at as u32));
            }
            for level in 1..peaks.levels.len() {
                for (block, numbers) in peaks.levels[level - 1].chunks(BLOCK).enumerate() {
                    prop_assert_eq!(peaks.peak(level, block), numbers.iter().copied().max());
                }
            }
        }
    }
}
