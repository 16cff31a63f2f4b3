//! Idsets (RFC 22): sets of small integers, as `0-3,7`.
//!
//! Accepted is what flux-core accepts: decimal numbers without leading zeros and ranges `low-high` with
//! `high > low`, strictly ascending, separated by commas; empty elements (`1,,2`) count for nothing; one pair of
//! brackets may stand around the whole; `` and `[]` are the empty set. No blanks. Ids go up to 2^31 - 1.
//!
//! Printed without brackets; two or more neighbours become a range, so that equal sets print alike.
//!
//! Kept as sorted ranges: a set takes memory for its ranges, not for its ids, so `0-2147483647` costs nothing until
//! somebody walks it. Invariant: ranges ascend and no two touch.

use super::error::{ParseError, quote};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::fmt;
use std::ops::{BitAnd, BitOr, RangeInclusive, Sub};
use std::str::FromStr;
use thiserror::Error;

/// The largest id that a text may hold.
pub const MAX_ID: u32 = i32::MAX as u32;

/// A set of ids, walked in ascending order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Idset {
    ranges: SmallVec<[(u32, u32); 2]>,
}

/// Why a text is not an idset.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum IdsetError {
    /// Something else stands where a number, a comma or the end should be.
    #[error("invalid idset: {0}")]
    Syntax(#[from] ParseError),
    /// A number has leading zeros.
    #[error("invalid idset: {number} at byte {byte} has leading zeros")]
    LeadingZero {
        /// The number as written.
        number: String,
        /// Where it begins.
        byte: usize,
    },
    /// A number is beyond [`MAX_ID`].
    #[error("invalid idset: {number} at byte {byte} is larger than {MAX_ID}")]
    TooLarge {
        /// The number as written.
        number: String,
        /// Where it begins.
        byte: usize,
    },
    /// A range does not go up.
    #[error("invalid idset: range {low}-{high} at byte {byte} does not ascend")]
    Range {
        /// Its first number.
        low: u32,
        /// Its second number.
        high: u32,
        /// Where it begins.
        byte: usize,
    },
    /// An id is not larger than the one before it.
    #[error("invalid idset: {id} at byte {byte} does not come after {previous}: ids ascend and occur once")]
    Order {
        /// The id.
        id: u32,
        /// The largest id before it.
        previous: u32,
        /// Where it begins.
        byte: usize,
    },
    /// Brackets that do not enclose the whole text, or nest.
    #[error("invalid idset: bracket at byte {byte} does not belong to one pair around the whole set")]
    Bracket {
        /// Where the bracket stands.
        byte: usize,
    },
}

impl Idset {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The ids of one range; empty when it is.
    pub fn from_range(range: RangeInclusive<u32>) -> Self {
        let mut set = Self::new();
        if !range.is_empty() {
            set.ranges.push(range.into_inner());
        }
        set
    }

    /// Reads a set.
    ///
    /// ```
    /// use sluice::formats::idset::Idset;
    /// assert_eq!(Idset::parse("[0-3,7]").unwrap().len(), 5);
    /// assert_eq!(Idset::parse("3,1").unwrap_err().to_string(),
    ///     "invalid idset: 1 at byte 2 does not come after 3: ids ascend and occur once");
    /// ```
    pub fn parse(text: &str) -> Result<Self, IdsetError> {
        let bracketed = text.len() >= 2 && text.starts_with('[') && text.ends_with(']');
        let (body, base) = if bracketed { (&text[1..text.len() - 1], 1) } else { (text, 0) };
        if let Some(at) = body.find(['[', ']']) {
            return Err(IdsetError::Bracket { byte: base + at });
        }
        let mut set = Self::new();
        let mut byte = base;
        for element in body.split(',') {
            if !element.is_empty() {
                set.push_element(text, element, byte)?;
            }
            byte += element.len() + 1;
        }
        Ok(set)
    }

    /// Appends `element`, which begins at `byte` of `text`.
    fn push_element(&mut self, text: &str, element: &str, byte: usize) -> Result<(), IdsetError> {
        let (low, end) = number(text, byte)?;
        let stop = byte + element.len();
        let high = if end == stop {
            low
        } else if text.as_bytes()[end] == b'-' {
            let (high, end) = number(text, end + 1)?;
            if end != stop {
                return Err(ParseError::at_char(text, end, "a comma or the end").into());
            }
            if high <= low {
                return Err(IdsetError::Range { low, high, byte });
            }
            high
        } else {
            return Err(ParseError::at_char(text, end, "a comma, a dash or the end").into());
        };
        match self.last() {
            Some(previous) if low <= previous => Err(IdsetError::Order { id: low, previous, byte }),
            _ => {
                self.append(low, high);
                Ok(())
            }
        }
    }

    /// Adds a range that begins at or before one past the end of all, or later; `low` is not below the last start.
    fn append(&mut self, low: u32, high: u32) {
        match self.ranges.last_mut() {
            Some((_, end)) if low <= end.saturating_add(1) => *end = (*end).max(high),
            _ => self.ranges.push((low, high)),
        }
    }

    /// Adds an id; false if it was there.
    pub fn insert(&mut self, id: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, high)| high < id);
        if self.ranges.get(at).is_some_and(|&(low, _)| low <= id) {
            return false;
        }
        let joins_left = at > 0 && self.ranges[at - 1].1 + 1 == id;
        let joins_right = self.ranges.get(at).is_some_and(|&(low, _)| low - 1 == id);
        match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = id,
            (false, true) => self.ranges[at].0 = id,
            (false, false) => self.ranges.insert(at, (id, id)),
        }
        true
    }

    /// Takes an id out; false if it was not there.
    pub fn remove(&mut self, id: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, high)| high < id);
        let Some(&(low, high)) = self.ranges.get(at).filter(|range| range.0 <= id) else { return false };
        match (low == id, high == id) {
            (true, true) => {
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at].0 = id + 1,
            (false, true) => self.ranges[at].1 = id - 1,
            (false, false) => {
                self.ranges[at].1 = id - 1;
                self.ranges.insert(at + 1, (id + 1, high));
            }
        }
        true
    }

    /// Whether the id is in the set.
    pub fn contains(&self, id: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, high)| high < id);
        self.ranges.get(at).is_some_and(|&(low, _)| low <= id)
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|&(low, high)| (high - low) as usize + 1).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ids in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|&(low, high)| low..=high)
    }

    /// The smallest id.
    pub fn first(&self) -> Option<u32> {
        self.ranges.first().map(|range| range.0)
    }

    /// The largest id.
    pub fn last(&self) -> Option<u32> {
        self.ranges.last().map(|range| range.1)
    }

    /// The maximal runs of neighbours, ascending.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = RangeInclusive<u32>> + '_ {
        self.ranges.iter().map(|&(low, high)| low..=high)
    }

    /// Whether every id of this is in `other`.
    pub fn is_subset(&self, other: &Idset) -> bool {
        self.ranges.iter().all(|&(low, high)| {
            let at = other.ranges.partition_point(|&(_, end)| end < low);
            other.ranges.get(at).is_some_and(|&(start, end)| start <= low && high <= end)
        })
    }

    /// Whether no id is in both.
    pub fn is_disjoint(&self, other: &Idset) -> bool {
        self.overlaps(other).next().is_none()
    }

    /// The ids in either.
    pub fn union(&self, other: &Idset) -> Idset {
        let mut all = self.ranges.clone();
        all.extend(other.ranges.iter().copied());
        all.sort_unstable();
        let mut set = Idset::new();
        for (low, high) in all {
            set.append(low, high);
        }
        set
    }

    /// The ids in both.
    pub fn intersection(&self, other: &Idset) -> Idset {
        Idset { ranges: self.overlaps(other).collect() }
    }

    /// The ids in this and not in `other`.
    pub fn difference(&self, other: &Idset) -> Idset {
        let mut set = Idset::new();
        let mut cuts = other.ranges.iter().copied().peekable();
        for &(mut low, high) in &self.ranges {
            while cuts.next_if(|&(_, end)| end < low).is_some() {}
            loop {
                match cuts.peek() {
                    Some(&(start, end)) if start <= high => {
                        if start > low {
                            set.ranges.push((low, start - 1));
                        }
                        if end >= high {
                            // It may reach into the next range as well, so it stays.
                            break;
                        }
                        low = end + 1;
                        cuts.next();
                    }
                    _ => {
                        set.ranges.push((low, high));
                        break;
                    }
                }
            }
        }
        set
    }

    /// The ranges of ids in both, ascending.
    fn overlaps<'a>(&'a self, other: &'a Idset) -> impl Iterator<Item = (u32, u32)> + 'a {
        let (mut i, mut j) = (0, 0);
        std::iter::from_fn(move || {
            while let (Some(&(a, b)), Some(&(c, d))) = (self.ranges.get(i), other.ranges.get(j)) {
                if b <= d {
                    i += 1;
                } else {
                    j += 1;
                }
                if a.max(c) <= b.min(d) {
                    return Some((a.max(c), b.min(d)));
                }
            }
            None
        })
    }
}

/// The number that begins at `byte`, and where it ends.
fn number(text: &str, byte: usize) -> Result<(u32, usize), IdsetError> {
    let digits = text[byte..].bytes().take_while(u8::is_ascii_digit).count();
    let end = byte + digits;
    let number = &text[byte..end];
    if digits == 0 {
        return Err(ParseError::at_char(text, byte, "a number").into());
    }
    if digits > 1 && number.starts_with('0') {
        return Err(IdsetError::LeadingZero { number: quote(number), byte });
    }
    match number.parse::<u32>() {
        Ok(id) if id <= MAX_ID => Ok((id, end)),
        _ => Err(IdsetError::TooLarge { number: quote(number), byte }),
    }
}

impl FromStr for Idset {
    type Err = IdsetError;
    fn from_str(text: &str) -> Result<Self, IdsetError> {
        Self::parse(text)
    }
}

impl fmt::Display for Idset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for &(low, high) in &self.ranges {
            if low == high {
                write!(f, "{separator}{low}")?;
            } else {
                write!(f, "{separator}{low}-{high}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for Idset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl FromIterator<u32> for Idset {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut set = Self::new();
        set.extend(ids);
        set
    }
}

impl Extend<u32> for Idset {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, ids: I) {
        for id in ids {
            match self.last() {
                Some(last) if id <= last => {
                    self.insert(id);
                }
                _ => self.append(id, id),
            }
        }
    }
}

impl BitOr for &Idset {
    type Output = Idset;
    fn bitor(self, rhs: &Idset) -> Idset {
        self.union(rhs)
    }
}

impl BitAnd for &Idset {
    type Output = Idset;
    fn bitand(self, rhs: &Idset) -> Idset {
        self.intersection(rhs)
    }
}

impl Sub for &Idset {
    type Output = Idset;
    fn sub(self, rhs: &Idset) -> Idset {
        self.difference(rhs)
    }
}

impl Serialize for Idset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Idset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn check(text: &str, printed: &str) {
        assert_eq!(Idset::parse(text).map(|set| set.to_string()), Ok(printed.to_owned()), "{text:?}");
    }

    #[test]
    fn accepts_what_flux_core_accepts() {
        for (text, printed) in [
            ("", ""),
            ("[]", ""),
            ("0", "0"),
            ("[0-3]", "0-3"),
            ("1,,2", "1-2"),
            (",1", "1"),
            ("1,", "1"),
            ("0-1,2,3-4,6", "0-4,6"),
            ("2147483647", "2147483647"),
            ("0-2147483647", "0-2147483647"),
        ] {
            check(text, printed);
        }
    }

    #[test]
    fn refuses() {
        let refused = [
            ("1-1", "invalid idset: range 1-1 at byte 0 does not ascend"),
            ("3-1", "invalid idset: range 3-1 at byte 0 does not ascend"),
            ("3,1", "invalid idset: 1 at byte 2 does not come after 3: ids ascend and occur once"),
            ("1,1", "invalid idset: 1 at byte 2 does not come after 1: ids ascend and occur once"),
            ("1-3,3-4", "invalid idset: 3 at byte 4 does not come after 3: ids ascend and occur once"),
            ("01", "invalid idset: `01` at byte 0 has leading zeros"),
            ("1-02", "invalid idset: `02` at byte 2 has leading zeros"),
            ("2147483648", "invalid idset: `2147483648` at byte 0 is larger than 2147483647"),
            ("99999999999999999999999", "invalid idset: `99999999999999999999999` at byte 0 is larger than 2147483647"),
            (" 1", "invalid idset: expected a number, found ` ` at byte 0"),
            ("1 ", "invalid idset: expected a comma, a dash or the end, found ` ` at byte 1"),
            ("1, 2", "invalid idset: expected a number, found ` ` at byte 2"),
            ("1-", "invalid idset: expected a number, found end of input at byte 2"),
            ("[1-]", "invalid idset: expected a number, found `]` at byte 3"),
            ("-1", "invalid idset: expected a number, found `-` at byte 0"),
            ("1-2-3", "invalid idset: expected a comma or the end, found `-` at byte 3"),
            ("foo", "invalid idset: expected a number, found `f` at byte 0"),
            ("ƒ", "invalid idset: expected a number, found `ƒ` at byte 0"),
            ("[1-2", "invalid idset: bracket at byte 0 does not belong to one pair around the whole set"),
            ("1]", "invalid idset: bracket at byte 1 does not belong to one pair around the whole set"),
            ("[[1]]", "invalid idset: bracket at byte 1 does not belong to one pair around the whole set"),
            ("[1][2]", "invalid idset: bracket at byte 2 does not belong to one pair around the whole set"),
        ];
        for (text, message) in refused {
            assert_eq!(Idset::parse(text).unwrap_err().to_string(), message, "{text:?}");
        }
    }

    fn sets() -> impl Strategy<Value = BTreeSet<u32>> {
        prop_oneof![
            proptest::collection::btree_set(0..40u32, 0..30),
            proptest::collection::btree_set(prop_oneof![0..=MAX_ID, MAX_ID - 3..=MAX_ID], 0..6),
        ]
    }

    fn ids(set: &Idset) -> BTreeSet<u32> {
        set.iter().collect()
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        #[test]
        fn round_trips(oracle in sets()) {
            let set: Idset = oracle.iter().copied().collect();
            let printed = set.to_string();
            prop_assert_eq!(Idset::parse(&printed).unwrap(), set.clone());
            prop_assert_eq!(Idset::parse(&format!("[{printed}]")).unwrap(), set.clone());
            let json = serde_json::to_string(&set).unwrap();
            prop_assert_eq!(serde_json::from_str::<Idset>(&json).unwrap(), set);
        }

        #[test]
        fn behaves_as_a_set(a in sets(), b in sets(), order in any::<u64>()) {
            let mut shuffled: Vec<u32> = a.iter().copied().collect();
            shuffled.sort_by_key(|&id| u64::from(id).wrapping_mul(order | 1));
            let (x, y): (Idset, Idset) = (shuffled.into_iter().collect(), b.iter().copied().collect());
            prop_assert_eq!(ids(&x), a.clone());
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!((x.first(), x.last()), (a.first().copied(), a.last().copied()));
            prop_assert_eq!(ids(&(&x | &y)), &a | &b);
            prop_assert_eq!(ids(&(&x & &y)), &a & &b);
            prop_assert_eq!(ids(&(&x - &y)), &a - &b);
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.is_disjoint(&y), a.is_disjoint(&b));
            let mut removed = x.clone();
            for &id in &b {
                prop_assert_eq!(x.contains(id), a.contains(&id));
                prop_assert_eq!(removed.remove(id), a.contains(&id));
            }
            prop_assert_eq!(removed, &x - &y);
            // One form per set: what arises by operations prints and compares like what was built at once.
            prop_assert_eq!(&(&x - &y) | &(&x & &y), x);
        }

        #[test]
        fn never_panics(text in ".*", near in "[0-9,\\[\\]\\- ]{0,12}") {
            let _ = Idset::parse(&text);
            if let Ok(set) = Idset::parse(&near) {
                prop_assert_eq!(Idset::parse(&set.to_string()).unwrap(), set);
            }
        }
    }
}
