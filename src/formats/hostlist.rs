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

use super::error::{ParseError, quote};
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
/// Names in a text are separated by any of these.
const SEPARATORS: [char; 3] = [',', ' ', '\t'];

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
        let mut parser = Parser { text, list: Hostlist::new(), suffixed: 0 };
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let name = rest.trim_start_matches(SEPARATORS);
            at += rest.len() - name.len();
            let end = at + name_len(name);
            if end > at {
                parser.name(at, end)?;
            }
            at = end;
        }
        Ok(parser.list)
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

/// The length of the name at the start of `text`: up to a separator outside brackets.
fn name_len(text: &str) -> usize {
    let mut level = 0i64;
    for (at, c) in text.char_indices() {
        match c {
            '[' => level += 1,
            ']' => level -= 1,
            _ if level == 0 && SEPARATORS.contains(&c) => return at,
            _ => {}
        }
    }
    text.len()
}

/// A number or range in brackets.
#[derive(Clone, Copy)]
struct Span {
    low: u64,
    high: u64,
    width: usize,
}

struct Parser<'a> {
    text: &'a str,
    list: Hostlist,
    /// Names so far that came from groups followed by something.
    suffixed: usize,
}

impl Parser<'_> {
    /// Appends what `text[start..end]` stands for.
    fn name(&mut self, start: usize, end: usize) -> Result<(), HostlistError> {
        let piece = &self.text[start..end];
        let Some(open) = piece.find('[') else {
            if let Some(at) = piece.find(']') {
                return Err(HostlistError::Bracket { byte: start + at });
            }
            self.reserve(1, start)?;
            self.list.push(piece);
            return Ok(());
        };
        if let Some(at) = piece[..open].find(']') {
            return Err(HostlistError::Bracket { byte: start + at });
        }
        let mut heads = vec![self.text[start..start + open].to_owned()];
        let mut at = start + open;
        loop {
            let (spans, after) = self.group(at, end)?;
            if after == end {
                return self.push_numbers(&heads, &spans, at);
            }
            heads = self.expand(&heads, &spans, at)?;
            let rest = &self.text[after..end];
            let literal = rest.find('[').unwrap_or(rest.len());
            if let Some(wrong) = rest[..literal].find(']') {
                return Err(HostlistError::Bracket { byte: after + wrong });
            }
            for head in &mut heads {
                head.push_str(&rest[..literal]);
            }
            at = after + literal;
            if at == end {
                self.suffixed += heads.len();
                self.reserve(heads.len(), start)?;
                for name in heads {
                    self.list.push_run(Run::Name(name.into()));
                }
                return Ok(());
            }
        }
    }

    /// Appends each head with each number: the group at `byte` ends the name.
    fn push_numbers(&mut self, heads: &[String], spans: &[Span], byte: usize) -> Result<(), HostlistError> {
        if heads.len() > 1 {
            self.suffixed += self.charge(heads.len() as u64 * spans.len() as u64, byte)?;
        }
        for head in heads {
            for &Span { low, high, width } in spans {
                self.reserve((high - low) as usize + 1, byte)?;
                self.list.push_run(Run::Numbers { prefix: head.as_str().into(), low, high, width });
            }
        }
        Ok(())
    }

    /// Each head with each number appended: the group at `byte` is followed by something.
    fn expand(&self, heads: &[String], spans: &[Span], byte: usize) -> Result<Vec<String>, HostlistError> {
        let numbers: u64 = spans.iter().map(|span| span.high - span.low + 1).sum();
        let total = self.charge(numbers.saturating_mul(heads.len() as u64), byte)?;
        let mut all = Vec::with_capacity(total);
        for head in heads {
            for &Span { low, high, width } in spans {
                all.extend((low..=high).map(|number| format!("{head}{number:0width$}")));
            }
        }
        Ok(all)
    }

    /// Checks that the list may have `more` names or ranges from groups that something follows.
    fn charge(&self, more: u64, byte: usize) -> Result<usize, HostlistError> {
        if more > (MAX_SUFFIXED - self.suffixed) as u64 {
            let what = "names from brackets followed by something";
            return Err(HostlistError::TooMany { limit: MAX_SUFFIXED as u64, what, byte });
        }
        Ok(more as usize)
    }

    /// Checks that `more` names still fit the list.
    fn reserve(&self, more: usize, byte: usize) -> Result<(), HostlistError> {
        if self.list.len + more > MAX_HOSTS {
            return Err(HostlistError::TooMany { limit: MAX_HOSTS as u64, what: "hosts in a list", byte });
        }
        Ok(())
    }

    /// The ranges of the bracket group that opens at `open`, and the byte after its end.
    fn group(&self, open: usize, end: usize) -> Result<(Vec<Span>, usize), HostlistError> {
        let inside = open + 1;
        let Some(len) = self.text[inside..end].find(']') else {
            return Err(HostlistError::Bracket { byte: open });
        };
        let mut spans = Vec::new();
        let mut at = inside;
        for element in self.text[inside..inside + len].split(',') {
            if spans.len() == MAX_RANGES {
                let limit = MAX_RANGES as u64;
                return Err(HostlistError::TooMany { limit, what: "ranges in brackets", byte: at });
            }
            spans.push(self.span(at, element)?);
            at += element.len() + 1;
        }
        Ok((spans, inside + len + 1))
    }

    /// The range `element`, which begins at `byte`. Blanks before it are passed over, as flux-core does.
    fn span(&self, byte: usize, element: &str) -> Result<Span, HostlistError> {
        let trimmed = element.trim_start_matches([' ', '\t']);
        let start = byte + element.len() - trimmed.len();
        let stop = byte + element.len();
        let (low, dash) = self.number(start)?;
        let width = dash - start;
        if dash == stop {
            return Ok(Span { low, high: low, width });
        }
        if self.text.as_bytes()[dash] != b'-' {
            return Err(ParseError::at_char(self.text, dash, "a comma, a dash or a bracket").into());
        }
        let (high, after) = self.number(dash + 1)?;
        if after != stop {
            return Err(ParseError::at_char(self.text, after, "a comma or a bracket").into());
        }
        if high < low {
            return Err(HostlistError::Range { range: quote(trimmed).replace('`', ""), byte: start });
        }
        if high - low >= MAX_RANGE {
            return Err(HostlistError::TooMany { limit: MAX_RANGE, what: "hosts in a range", byte: start });
        }
        Ok(Span { low, high, width })
    }

    /// The number at `byte`, and where it ends.
    fn number(&self, byte: usize) -> Result<(u64, usize), HostlistError> {
        let digits = self.text[byte..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(ParseError::at_char(self.text, byte, "a number").into());
        }
        match self.text[byte..byte + digits].parse() {
            Ok(number) if digits <= MAX_DIGITS => Ok((number, byte + digits)),
            _ => Err(HostlistError::Digits { byte }),
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepts_and_prints_as_flux_core_does() {
        for (text, printed, count) in [
            ("", "", 0),
            (",", "", 0),
            ("foo-1a-2,foo-1a-3", "foo-1a-[2-3]", 2),
            ("foo1,foo2,foo3,fooi", "foo[1-3],fooi", 4),
            ("foo1,fooi,foo2,foo3", "foo1,fooi,foo[2-3]", 4),
            ("fooi,foo1,foo2,foo3,foo5,foo7,foo8", "fooi,foo[1-3,5,7-8]", 7),
            (",1,2,3,4,5,9,", "[1-5,9]", 6),
            ("foo[1,3]-bar", "foo1-bar,foo3-bar", 2),
            ("[00-03]p", "00p,01p,02p,03p", 4),
            ("p[00-3]p", "p00p,p01p,p02p,p03p", 4),
            ("14636", "14636", 1),
            ("foo[005,4,11-13]", "foo[005,4,11-13]", 5),
            ("foo[1,1-2,1]", "foo[1,1-2,1]", 4),
            ("a[01,2]", "a[01,2]", 2),
            ("a[9-10]", "a[9-10]", 2),
            ("a9,a10,a11", "a[9-11]", 3),
            ("a09,a10", "a[09-10]", 2),
            ("a09,a9", "a[09,9]", 2),
            ("a099,a0100", "a[099,0100]", 2),
            ("f00[1-2]", "f00[1-2]", 2),
            ("a\tb c,d", "a,b,c,d", 4),
            ("a[1, 3]", "a[1,3]", 2),
            ("a[1]b3,a[1]b4", "a1b3,a1b4", 2),
            ("a[1-2]b[3-4]", "a1b[3-4],a2b[3-4]", 4),
            ("node[0-1048575]", "node[0-1048575]", 1_048_576),
        ] {
            let list = Hostlist::parse(text).unwrap();
            assert_eq!((list.to_string().as_str(), list.len()), (printed, count), "{text:?}");
        }
    }

    #[test]
    fn refuses() {
        let refused = [
            ("[]", "invalid hostlist: expected a number, found `]` at byte 1"),
            ("foo[", "invalid hostlist: unbalanced bracket at byte 3"),
            ("foo[1,3", "invalid hostlist: unbalanced bracket at byte 3"),
            ("foo]", "invalid hostlist: unbalanced bracket at byte 3"),
            ("foo]1[2]", "invalid hostlist: unbalanced bracket at byte 3"),
            ("foo[1]]", "invalid hostlist: unbalanced bracket at byte 6"),
            ("foo[[1,3]", "invalid hostlist: expected a number, found `[` at byte 4"),
            ("foo[x-y]", "invalid hostlist: expected a number, found `x` at byte 4"),
            ("foo[0-1,2--5]", "invalid hostlist: expected a number, found `-` at byte 10"),
            ("foo[1-]", "invalid hostlist: expected a number, found `]` at byte 6"),
            ("foo[1-2-3]", "invalid hostlist: expected a comma or a bracket, found `-` at byte 7"),
            ("foo[1 ]", "invalid hostlist: expected a comma, a dash or a bracket, found ` ` at byte 5"),
            ("foo[1,,2]", "invalid hostlist: expected a number, found `,` at byte 6"),
            ("foo[3-1]", "invalid hostlist: range 3-1 at byte 4 does not ascend"),
            ("foo[0-1048576]", "invalid hostlist: more than 1048576 hosts in a range at byte 4"),
            ("a[0-99999999]", "invalid hostlist: more than 1048576 hosts in a range at byte 2"),
            ("a[1234567890123456789]", "invalid hostlist: number at byte 2 has more than 18 digits"),
            ("a[0-65536]s", "invalid hostlist: more than 65536 names from brackets followed by something at byte 1"),
            (
                "a[0-65535]s,a[1]s",
                "invalid hostlist: more than 65536 names from brackets followed by something at byte 13",
            ),
            (
                "a[0-999]b[0-999]c",
                "invalid hostlist: more than 65536 names from brackets followed by something at byte 9",
            ),
            (
                "a[0-65535]b[0,2]",
                "invalid hostlist: more than 65536 names from brackets followed by something at byte 11",
            ),
            (
                "a[0-1048575,0-1048575,0-1048575,0-1048575,0]",
                "invalid hostlist: more than 4194304 hosts in a list at byte 1",
            ),
        ];
        for (text, message) in refused {
            assert_eq!(Hostlist::parse(text).unwrap_err().to_string(), message, "{text:?}");
        }
        let many = format!("a[{}]", vec!["1"; MAX_RANGES + 1].join(","));
        assert_eq!(
            Hostlist::parse(&many).unwrap_err().to_string(),
            "invalid hostlist: more than 10240 ranges in brackets at byte 20482"
        );
    }

    #[test]
    fn finds_and_orders() {
        let list = Hostlist::parse("n[08-11],login,m1,n8,f00[1-2]").unwrap();
        assert_eq!(list.find("n10"), Some(2));
        assert_eq!(list.find("n8"), Some(6));
        assert_eq!(list.find("n010"), None);
        assert_eq!(list.find("f002"), Some(8));
        assert_eq!(list.find("n"), None);
        assert_eq!(list.nth(4).as_deref(), Some("login"));
        assert_eq!(list.nth(9), None);
        assert_eq!(
            Hostlist::parse("b2,a10,a9,b2,a9").unwrap().sorted().to_string(),
            "a[9-9,9-10],b[2,2]".replace("9-9", "9")
        );
        assert_eq!(Hostlist::parse("b2,a10,a9,b2,a9").unwrap().unique().to_string(), "a[9-10],b2");
    }

    #[test]
    fn equality_is_by_names() {
        let written = |text: &str| Hostlist::parse(text).unwrap();
        assert_eq!(written("f00[1-2]"), written("f[001-002]"));
        assert_eq!(written("a[1-2]b3"), written("a1b3,a2b3"));
        assert_ne!(written("a1,a2"), written("a2,a1"));
        assert_ne!(written("a01"), written("a1"));
    }

    fn names() -> impl Strategy<Value = Vec<String>> {
        let name = prop_oneof!["[ab]{0,1}[0-9]{1,3}", "[ab][0-9]{0,2}[ab-]", "n0{0,2}[0-9]{1,20}"];
        proptest::collection::vec(name, 0..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn round_trips(names in names()) {
            let list: Hostlist = names.iter().collect();
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), names.clone());
            let again = Hostlist::parse(&list.to_string()).unwrap();
            prop_assert_eq!(again.iter().collect::<Vec<_>>(), names.clone());
            prop_assert_eq!(again.to_string(), list.to_string());
            for (index, name) in names.iter().enumerate() {
                prop_assert_eq!(list.nth(index).unwrap(), name.as_str());
                prop_assert_eq!(list.find(name), names.iter().position(|other| other == name));
            }
            let mut ordered = names.clone();
            ordered.sort();
            let mut sorted: Vec<_> = list.sorted().iter().collect();
            sorted.sort();
            prop_assert_eq!(sorted, ordered);
        }

        #[test]
        fn never_panics(text in ".*", near in "[ab0-9,\\[\\]\\- ]{0,16}") {
            let _ = Hostlist::parse(&text);
            if let Ok(list) = Hostlist::parse(&near) {
                prop_assert_eq!(Hostlist::parse(&list.to_string()).unwrap(), list);
            }
        }
    }
}
