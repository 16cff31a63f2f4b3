//! A stable 64-bit digest of a replay: equal digests mean equal decisions at equal times.
//!
//! Words are folded in with FNV-1a's constants, but 64 bits at a time and with a rotation, so that high bits reach low
//! ones; texts by their length and their bytes, eight to a word, little-endian. Part of the digest is what changes the
//! fate of a job or a target: starts with all that was granted, denials, cancellations, kills, holds, ups and downs,
//! donations, changes of queues, planned switches that came due, changes of the inventory, and the ends of jobs.
//! Annotations and planned starts are not: they say what may come, and how much of it is said is a setting.

use crate::base::{TargetSet, Timestamp};

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A digest under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Digest {
    /// The digest of nothing.
    pub fn new() -> Self {
        Self(BASIS)
    }

    /// Folds in one word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(PRIME).rotate_left(29);
    }

    /// Folds in an instant and the kind of what follows.
    #[inline]
    pub fn entry(&mut self, at: Timestamp, kind: u8) {
        self.word(at.micros() as u64);
        self.word(u64::from(kind));
    }

    /// Folds in a text.
    pub fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// Folds in a set of targets.
    pub fn targets(&mut self, targets: &TargetSet) {
        self.word(targets.len() as u64);
        targets.iter().for_each(|t| self.word(u64::from(t.0)));
    }

    /// The digest so far.
    pub fn value(&self) -> u64 {
        // A last scramble, so that the words folded in last reach all bits.
        let x = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ (x >> 29)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_borders_matter() {
        let of = |words: &[u64]| {
            let mut d = Digest::new();
            words.iter().for_each(|w| d.word(*w));
            d.value()
        };
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[0]), of(&[0, 0]));
        let texts = |a: &str, b: &str| {
            let mut d = Digest::new();
            d.text(a);
            d.text(b);
            d.value()
        };
        assert_ne!(texts("ab", "c"), texts("a", "bc"));
    }

    #[test]
    fn is_the_same_everywhere() {
        let mut d = Digest::new();
        d.entry(Timestamp::from_secs(1), 3);
        d.text("batch");
        d.targets(&TargetSet::from_range(2..5));
        assert_eq!(format!("{:016x}", d.value()), "dded4d8d7be8113b");
    }
}
