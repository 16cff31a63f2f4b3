//! Hostlists (RFC 29): ordered lists of host names, with repeats, as `node[1-3,07],login`.
//!
//! Accepted is what flux-core accepts: names separated by commas, blanks and tabs; in a name one group of brackets
//! with numbers and ranges `low-high`, `low <= high`. Zero padding goes by each element's own width (`n[005,4]` is
//! `n005,n4`), a range's by its low end. Where a name has several groups every combination is meant, the last group
//! fastest. (flux-core expands the first group only and keeps the others as letters; its printed form, read again,
//! means the same as here.)
//!
//! Printed as flux-core prints: neighbours with the same prefix share brackets, consecutive numbers of compatible
//! width become ranges, order and repeats stay, names with something after the brackets are written out.
//!
//! Limits, so that a short text cannot take the machine: 2^20 hosts in a range and 10,240 ranges in a group, as in
//! flux-core; of ours, numbers of at most 18 digits, 2^16 names from groups that something follows, and 2^22
//! names in a list.
//!
//! Two lists are equal when they hold the same names in the same order, however they were written.

mod parse;

use super::error::ParseError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use thiserror::Error;

/// Most hosts in one range.
pub const MAX_RANGE: u64 = 1 << 20;
/// Most ranges in one bracket group.
pub const MAX_RANGES: usize = 10_240;
/// Most names that the groups of one list followed by something may stand for.
pub const MAX_SUFFIXED: usize = 1 << 16;
/// Most names in a list.
pub const MAX_HOSTS: usize = 1 << 22;
/// Most digits in the number of a host.
const MAX_DIGITS: usize = 18;

/// An ordered list of host names.
#[derive(Clone, Default)]
pub struct Hostlist {
    runs: Vec<Run>,
    len: usize,
}

/// Names that follow each other in a list.
#[derive(Clone, PartialEq, Eq)]
enum Run {
    /// One name that is kept as it is.
    Name(Box<str>),
    /// `prefix` followed by each number from `low` to `high`, padded with zeros to `width`.
    Numbers { prefix: Box<str>, low: u64, high: u64, width: usize },
}

/// Why a text is not a hostlist.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum HostlistError {
    /// Something else stands where a number, a comma or a bracket should be.
    #[error("invalid hostlist: {0}")]
    Syntax(#[from] ParseError),
    /// Brackets that do not match.
    #[error("invalid hostlist: unbalanced bracket at byte {byte}")]
    Bracket {
        /// Where the bracket stands.
        byte: usize,
    },
    /// A range goes down.
    #[error("invalid hostlist: range {range} at byte {byte} does not ascend")]
    Range {
        /// The range as written.
        range: String,
        /// Where it begins.
        byte: usize,
    },
    /// A number has too many digits.
    #[error("invalid hostlist: number at byte {byte} has more than {MAX_DIGITS} digits")]
    Digits {
        /// Where it begins.
        byte: usize,
    },
    /// More of something than a list may have.
    #[error("invalid hostlist: more than {limit} {what} at byte {byte}")]
    TooMany {
        /// The limit.
        limit: u64,
        /// Of what.
        what: &'static str,
        /// Where.
        byte: usize,
    },
}

impl Run {
    fn len(&self) -> usize {
        match self {
            Run::Name(_) => 1,
            Run::Numbers { low, high, .. } => (high - low) as usize + 1,
        }
    }

    /// The name at `offset`, which is less than the length.
    fn name(&self, offset: usize) -> String {
        match self {
            Run::Name(name) => name.to_string(),
            Run::Numbers { prefix, low, width, .. } => format!("{prefix}{:0width$}", low + offset as u64),
        }
    }

    /// The offset of `host` in this run.
    fn find(&self, host: &str) -> Option<usize> {
        match self {
            Run::Name(name) => (**name == *host).then_some(0),
            Run::Numbers { prefix, low, high, width } => {
                let digits = host.strip_prefix(&**prefix).filter(|digits| is_number(digits))?;
                let number: u64 = digits.parse().ok()?;
                let written = (*width).max(decimal_len(number));
                ((*low..=*high).contains(&number) && digits.len() == written).then(|| (number - low) as usize)
            }
        }
    }

    /// The run of one host.
    fn single(host: &str) -> Run {
        match split_number(host) {
            Some((prefix, number)) => {
                Run::Numbers { prefix: prefix.into(), low: number, high: number, width: host.len() - prefix.len() }
            }
            None => Run::Name(host.into()),
        }
    }
}

/// Whether there are digits, only digits, and not too many.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_DIGITS && text.bytes().all(|b| b.is_ascii_digit())
}

/// A name as what stands before its trailing digits, and these; `None` without digits or with too many.
fn split_number(host: &str) -> Option<(&str, u64)> {
    let prefix = host.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &host[prefix.len()..];
    if is_number(digits) { Some((prefix, digits.parse().ok()?)) } else { None }
}

/// How many digits `number` has.
fn decimal_len(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The width in which both numbers are written as they are in their own widths, if there is one.
fn common_width(a: (u64, usize), b: (u64, usize)) -> Option<usize> {
    let written = |number: u64, width: usize| width.max(decimal_len(number));
    if written(b.0, b.1) == written(b.0, a.1) {
        Some(a.1)
    } else if written(a.0, a.1) == written(a.0, b.1) {
        Some(b.1)
    } else {
        None
    }
}

impl Hostlist {
    /// The empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a list.
    ///
    /// ```
    /// use sluice::formats::hostlist::Hostlist;
    /// let hosts = Hostlist::parse("node[1-3,07],login").unwrap();
    /// assert_eq!(hosts.iter().collect::<Vec<_>>(), ["node1", "node2", "node3", "node07", "login"]);
    /// assert_eq!(Hostlist::parse("a[3-1]").unwrap_err().to_string(),
    ///     "invalid hostlist: range 3-1 at byte 2 does not ascend");
    /// ```
    pub fn parse(text: &str) -> Result<Self, HostlistError> {
        parse::parse(text)
    }

    /// How many names there are, repeats included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The names in order.
    pub fn iter(&self) -> impl Iterator<Item = String> + '_ {
        self.runs.iter().flat_map(|run| (0..run.len()).map(|offset| run.name(offset)))
    }

    /// Appends one host. The name is taken as it is: brackets and commas in it are letters.
    pub fn push(&mut self, host: &str) {
        self.push_run(Run::single(host));
    }

    /// Appends all hosts of `other`.
    pub fn append(&mut self, other: &Hostlist) {
        for run in &other.runs {
            self.push_run(run.clone());
        }
    }

    /// The name at `index`.
    pub fn nth(&self, index: usize) -> Option<String> {
        let mut offset = index;
        for run in &self.runs {
            if offset < run.len() {
                return Some(run.name(offset));
            }
            offset -= run.len();
        }
        None
    }

    /// Where `host` first occurs. Costs the ranges of the list, not its names.
    pub fn find(&self, host: &str) -> Option<usize> {
        let mut before = 0;
        for run in &self.runs {
            if let Some(offset) = run.find(host) {
                return Some(before + offset);
            }
            before += run.len();
        }
        None
    }

    /// Whether `host` occurs.
    pub fn contains(&self, host: &str) -> bool {
        self.find(host).is_some()
    }

    /// The same names ordered by prefix, then number, then text; repeats stay.
    pub fn sorted(&self) -> Hostlist {
        self.ordered().into_iter().collect()
    }

    /// The same names, sorted, each once.
    pub fn unique(&self) -> Hostlist {
        let mut names = self.ordered();
        names.dedup();
        names.into_iter().collect()
    }

    fn ordered(&self) -> Vec<String> {
        let mut names: Vec<String> = self.iter().collect();
        names.sort_by(|a, b| {
            let key = |name| split_number(name).map_or((name, None), |(prefix, number)| (prefix, Some(number)));
            key(a.as_str()).cmp(&key(b.as_str())).then_with(|| a.cmp(b))
        });
        names
    }

    fn push_run(&mut self, run: Run) {
        self.len += run.len();
        if let (
            Some(Run::Numbers { prefix, low, high, width }),
            Run::Numbers { prefix: next, low: next_low, high: next_high, width: next_width },
        ) = (self.runs.last_mut(), &run)
            && *prefix == *next
            && *high + 1 == *next_low
            && let Some(common) = common_width((*low, *width), (*next_low, *next_width))
        {
            *high = *next_high;
            *width = common;
        } else {
            self.runs.push(run);
        }
    }
}

impl FromStr for Hostlist {
    type Err = HostlistError;
    fn from_str(text: &str) -> Result<Self, HostlistError> {
        Self::parse(text)
    }
}

impl fmt::Display for Hostlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs = self.runs.iter().peekable();
        let mut separator = "";
        while let Some(run) = runs.next() {
            f.write_str(separator)?;
            separator = ",";
            let (prefix, low, high, width) = match run {
                Run::Name(name) => {
                    f.write_str(name)?;
                    continue;
                }
                Run::Numbers { prefix, low, high, width } => (prefix, *low, *high, *width),
            };
            let joins = |next: &&Run| matches!(next, Run::Numbers { prefix: other, .. } if other == prefix);
            if low == high && !runs.peek().is_some_and(joins) {
                write!(f, "{prefix}{low:0width$}")?;
                continue;
            }
            write!(f, "{prefix}[")?;
            write_span(f, low, high, width)?;
            while let Some(Run::Numbers { low, high, width, .. }) = runs.next_if(joins) {
                f.write_str(",")?;
                write_span(f, *low, *high, *width)?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

fn write_span(f: &mut fmt::Formatter<'_>, low: u64, high: u64, width: usize) -> fmt::Result {
    write!(f, "{low:0width$}")?;
    if high > low { write!(f, "-{high:0width$}") } else { Ok(()) }
}

impl fmt::Debug for Hostlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hostlist({self})")
    }
}

impl<S: AsRef<str>> FromIterator<S> for Hostlist {
    fn from_iter<I: IntoIterator<Item = S>>(hosts: I) -> Self {
        let mut list = Self::new();
        for host in hosts {
            list.push(host.as_ref());
        }
        list
    }
}

impl PartialEq for Hostlist {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && (self.runs == other.runs || self.iter().eq(other.iter()))
    }
}

impl Eq for Hostlist {}

impl Ord for Hostlist {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.runs == other.runs { Ordering::Equal } else { self.iter().cmp(other.iter()) }
    }
}

impl PartialOrd for Hostlist {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Hostlist {
    /// By what does not depend on how the list was written, and costs little.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        self.nth(0).hash(state);
        self.runs.last().map(|run| run.name(run.len() - 1)).hash(state);
    }
}

impl Serialize for Hostlist {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hostlist {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
