//! A function of time with integer values that changes in steps, in blocks.
//!
//! Decides only how the steps are kept. Invariants: at least one block, no block is empty, the first step of the
//! first block begins at [`Timestamp::MIN`], times ascend strictly, neighbours differ in value, and `low` and `high`
//! of a block are the extremes of its steps, all without its `addend`.

use crate::base::{Duration, Timestamp};

/// A block is split when it has more steps than this, and joined with the next when both have less than a quarter.
/// Tests have small blocks, to have many.
const FULL: usize = if cfg!(test) { 8 } else { 256 };

#[derive(Clone, Copy, Debug)]
struct Step {
    at: Timestamp,
    value: i64,
}

#[derive(Clone, Debug)]
struct Block {
    steps: Vec<Step>,
    addend: i64,
    low: i64,
    high: i64,
}

impl Block {
    fn new(steps: Vec<Step>, addend: i64) -> Self {
        let mut block = Self { steps, addend, low: 0, high: 0 };
        block.measure();
        block
    }

    fn measure(&mut self) {
        self.low = self.steps.iter().map(|s| s.value).min().unwrap_or(0);
        self.high = self.steps.iter().map(|s| s.value).max().unwrap_or(0);
    }

    fn begin(&self) -> Timestamp {
        self.steps[0].at
    }
}

/// The steps.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    blocks: Vec<Block>,
}

impl Steps {
    /// Zero at all times.
    pub(super) fn new() -> Self {
        Self { blocks: vec![Block::new(vec![Step { at: Timestamp::MIN, value: 0 }], 0)] }
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.iter().map(|b| b.steps.len()).sum()
    }

    /// Block and position of the step that holds at `t`.
    fn find(&self, t: Timestamp) -> (usize, usize) {
        let block = self.blocks.partition_point(|b| b.begin() <= t) - 1;
        let step = self.blocks[block].steps.partition_point(|s| s.at <= t) - 1;
        (block, step)
    }

    pub(super) fn usage_at(&self, t: Timestamp) -> i64 {
        let (block, step) = self.find(t);
        let block = &self.blocks[block];
        block.steps[step].value + block.addend
    }

    /// The largest value from `from` until `until`; that at `from` if nothing is between them.
    pub(super) fn max_during(&self, from: Timestamp, until: Timestamp) -> i64 {
        let (first, step) = self.find(from);
        let mut most = i64::MIN;
        for (i, block) in self.blocks.iter().enumerate().skip(first) {
            if i > first && block.begin() >= until {
                break;
            }
            let begin = if i == first { step } else { 0 };
            let ends_here = self.blocks.get(i + 1).is_none_or(|next| next.begin() >= until);
            let here = if begin == 0 && !ends_here {
                block.high
            } else {
                let steps = &block.steps[begin..];
                let inside = steps.iter().enumerate().take_while(|(k, s)| *k == 0 || s.at < until);
                inside.map(|(_, s)| s.value).max().unwrap_or(i64::MIN)
            };
            most = most.max(here.saturating_add(block.addend));
        }
        most
    }

    /// The first instant from `from` on with a value above `bound`.
    pub(super) fn first_above(&self, from: Timestamp, bound: i64) -> Option<Timestamp> {
        self.first(from, |block| block.high + block.addend > bound, |value| value > bound)
    }

    /// The first instant from `from` on with a value of `bound` or less.
    pub(super) fn first_at_most(&self, from: Timestamp, bound: i64) -> Option<Timestamp> {
        self.first(from, |block| block.low + block.addend <= bound, |value| value <= bound)
    }

    fn first(&self, from: Timestamp, may: impl Fn(&Block) -> bool, hit: impl Fn(i64) -> bool) -> Option<Timestamp> {
        let (first, step) = self.find(from);
        for (i, block) in self.blocks.iter().enumerate().skip(first) {
            if !may(block) {
                continue;
            }
            let begin = if i == first { step } else { 0 };
            if let Some(s) = block.steps[begin..].iter().find(|s| hit(s.value + block.addend)) {
                return Some(s.at.max(from));
            }
        }
        None
    }

    /// Adds `amount` to the values from `from` until `until`; nothing if that is empty.
    pub(super) fn add(&mut self, from: Timestamp, until: Timestamp, amount: i64) {
        if until <= from {
            return;
        }
        self.cut(from);
        if !until.is_never() {
            self.cut(until);
        }
        let (first, begin) = self.find(from);
        // The last instant inside: all times are whole.
        let last_inside = if until.is_never() { until } else { until - Duration::from_micros(1) };
        let (last, end) = self.find(last_inside);
        for i in first..=last {
            let block = &mut self.blocks[i];
            let low = if i == first { begin } else { 0 };
            let high = if i == last { end + 1 } else { block.steps.len() };
            if low == 0 && high == block.steps.len() {
                block.addend += amount;
            } else {
                block.steps[low..high].iter_mut().for_each(|s| s.value += amount);
                block.measure();
            }
        }
        // From the back, since joining moves what is behind.
        if !until.is_never() {
            self.join(until);
        }
        self.join(from);
    }

    /// Makes a step begin at `t`.
    fn cut(&mut self, t: Timestamp) {
        let (i, step) = self.find(t);
        let block = &mut self.blocks[i];
        let before = block.steps[step];
        if before.at == t {
            return;
        }
        block.steps.insert(step + 1, Step { at: t, value: before.value });
        if block.steps.len() > FULL {
            let rest = block.steps.split_off(FULL / 2);
            let addend = block.addend;
            block.measure();
            self.blocks.insert(i + 1, Block::new(rest, addend));
        }
    }

    /// Takes the step that begins at `t` away if it is no step, and joins small blocks there.
    fn join(&mut self, t: Timestamp) {
        let (i, step) = self.find(t);
        let (block, before) = (&self.blocks[i], step.checked_sub(1));
        let value = block.steps[step].value + block.addend;
        let before = match (before, i.checked_sub(1)) {
            (Some(k), _) => block.steps[k].value + block.addend,
            (None, Some(j)) => {
                let other = &self.blocks[j];
                other.steps[other.steps.len() - 1].value + other.addend
            }
            (None, None) => return,
        };
        if block.steps[step].at != t || before != value {
            return;
        }
        let block = &mut self.blocks[i];
        block.steps.remove(step);
        if block.steps.is_empty() {
            self.blocks.remove(i);
            return;
        }
        block.measure();
        self.merge(i);
        if i > 0 {
            self.merge(i - 1);
        }
    }

    /// Joins a block with the next if both are small.
    fn merge(&mut self, i: usize) {
        let small = |block: &Block| block.steps.len() < FULL / 4;
        if !self.blocks[i..].iter().take(2).all(small) || i + 1 == self.blocks.len() {
            return;
        }
        let next = self.blocks.remove(i + 1);
        let block = &mut self.blocks[i];
        let shift = next.addend - block.addend;
        block.steps.extend(next.steps.iter().map(|s| Step { at: s.at, value: s.value + shift }));
        block.measure();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The invariants of the module.
    fn check(steps: &Steps) {
        let mut before: Option<(Timestamp, i64)> = None;
        for block in &steps.blocks {
            assert!(!block.steps.is_empty() && block.steps.len() <= FULL, "{} steps", block.steps.len());
            let values = || block.steps.iter().map(|s| s.value);
            assert_eq!((Some(block.low), Some(block.high)), (values().min(), values().max()));
            for step in &block.steps {
                let here = (step.at, step.value + block.addend);
                match before {
                    None => assert_eq!(step.at, Timestamp::MIN),
                    Some(before) => assert!(before.0 < here.0 && before.1 != here.1, "{before:?}, {here:?}"),
                }
                before = Some(here);
            }
        }
        // A block of one quarter or more is split or was joined; empty ones are gone.
        let small = |block: &Block| block.steps.len() < FULL / 4;
        assert!(!steps.blocks.windows(2).any(|pair| pair.iter().all(small)));
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        #[test]
        fn blocks_keep_their_invariants(ops in prop::collection::vec((0i64..80, 1i64..30, 1i64..4, any::<bool>()), 1..200)) {
            let mut steps = Steps::new();
            let mut spans = Vec::new();
            let at = Timestamp::from_micros;
            for (from, length, amount, undo) in ops {
                if undo && !spans.is_empty() {
                    let (from, until, amount): (Timestamp, Timestamp, i64) = spans.swap_remove(from as usize % spans.len());
                    steps.add(from, until, -amount);
                } else {
                    let until = if length == 29 { Timestamp::NEVER } else { at(from + length) };
                    steps.add(at(from), until, amount);
                    spans.push((at(from), until, amount));
                }
                check(&steps);
            }
            for (from, until, amount) in spans {
                steps.add(from, until, -amount);
                check(&steps);
            }
            prop_assert_eq!(steps.len(), 1);
        }
    }
}
