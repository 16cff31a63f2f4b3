//! slurm.conf and the files beside it (gres.conf, topology.conf): lines of `Key=Value`, as Slurm's own reader takes them.
//!
//! Decides what stands where; what a key means is the business of whoever reads the result. Files are not read here: an
//! `Include` is handed back as it stands.
//!
//! - `#` begins a comment unless a backslash stands before it.
//! - A backslash at the end of a line, blanks behind it left out, continues it on the next.
//! - `Key=Value`, `Key = Value`, `Key="a value with blanks"`; `+=` as `=`. Case of keys does not matter. Several may stand on a line.
//! - `Include FILE`, in any case.
//! - Times are minutes, `minutes:seconds`, `hours:minutes:seconds`, `days-hours`, `days-hours:minutes`,
//!   `days-hours:minutes:seconds`, or `UNLIMITED`, `INFINITE`, -1 for no end.

use crate::base::Duration;
use thiserror::Error;

/// One key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The key, as written.
    pub key: String,
    /// The value, without quotes.
    pub value: String,
    /// The line on which the key stands, from 1.
    pub line: usize,
}

/// What one line says, with those that continue it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// Keys and values; at least one.
    Pairs(Vec<Pair>),
    /// Another file, read as if its lines stood here.
    Include {
        /// Its name, as written.
        file: String,
        /// The line on which that stands, from 1.
        line: usize,
    },
}

/// Something that Slurm would not read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: expected {expected}, found {found:?}")]
pub struct SlurmError {
    /// The line, from 1.
    pub line: usize,
    /// What could stand there.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

/// Reads a file. What is wrong with a line leaves the others as they are.
///
/// ```
/// use sluice::formats::slurm::{Statement, parse};
/// let (statements, errors) = parse("NodeName=n[1-4] \\\n  CPUs=8 # small\n");
/// assert!(errors.is_empty());
/// let Statement::Pairs(pairs) = &statements[0] else { unreachable!() };
/// assert_eq!((pairs[1].key.as_str(), pairs[1].value.as_str(), pairs[1].line), ("CPUs", "8", 2));
/// ```
pub fn parse(text: &str) -> (Vec<Statement>, Vec<SlurmError>) {
    let (mut statements, mut errors) = (Vec::new(), Vec::new());
    let mut pieces: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (plain, goes_on) = strip(line);
        pieces.push((index + 1, plain));
        if !goes_on {
            take(&pieces, &mut statements, &mut errors);
            pieces.clear();
        }
    }
    take(&pieces, &mut statements, &mut errors);
    (statements, errors)
}

/// A line without its comment, and whether it goes on in the next.
fn strip(line: &str) -> (String, bool) {
    let mut plain = String::with_capacity(line.len());
    let mut escaped = false;
    for c in line.chars() {
        match c {
            '#' if !escaped => break,
            '#' => {
                // The backslash that took its meaning from it.
                plain.pop();
                plain.push('#');
            }
            c => plain.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    let end = plain.trim_end();
    match end.strip_suffix('\\') {
        Some(before) => (before.to_owned(), true),
        None => (end.to_owned(), false),
    }
}

fn take(pieces: &[(usize, String)], statements: &mut Vec<Statement>, errors: &mut Vec<SlurmError>) {
    let text: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
    let line_of = |at: usize| {
        let mut begin = 0;
        for (line, piece) in pieces {
            begin += piece.len();
            if at < begin {
                return *line;
            }
        }
        pieces.last().map_or(1, |(line, _)| *line)
    };
    let begin = text.len() - text.trim_start().len();
    let mut words = text.split_whitespace();
    if words.next().is_some_and(|word| word.eq_ignore_ascii_case("include")) {
        let file = text[begin + "include".len()..].trim();
        let line = line_of(begin);
        if !file.starts_with('=') {
            match file {
                "" => errors.push(SlurmError { line, expected: "a file behind Include", found: String::new() }),
                file => statements.push(Statement::Include { file: file.to_owned(), line }),
            }
            return;
        }
    }
    let (mut at, mut pairs) = (begin, Vec::new());
    while at < text.len() {
        match pair(&text, at) {
            Ok((key, value, next)) => {
                pairs.push(Pair { key: key.to_owned(), value: value.to_owned(), line: line_of(at) });
                at = next + (text[next..].len() - text[next..].trim_start().len());
            }
            Err(expected) => {
                errors.push(SlurmError { line: line_of(at), expected, found: text[at..].trim().to_owned() });
                break;
            }
        }
    }
    if !pairs.is_empty() {
        statements.push(Statement::Pairs(pairs));
    }
}

/// The pair at `at`, which is no blank, and where it ends.
fn pair(text: &str, at: usize) -> Result<(&str, &str, usize), &'static str> {
    let rest = &text[at..];
    let key_end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
    let after = rest[key_end..].trim_start();
    let after = after.strip_prefix(['+', '-', '*', '/']).unwrap_or(after);
    let Some(value) = after.strip_prefix('=').filter(|_| key_end > 0) else { return Err("Key=Value") };
    let value = value.trim_start();
    let begin = text.len() - value.len();
    let (from, to, next) = match value.strip_prefix('"') {
        Some(quoted) => {
            let end = quoted.find('"').ok_or("a quote at the end of the value")?;
            (begin + 1, begin + 1 + end, begin + 2 + end)
        }
        None => {
            let end = value.find(char::is_whitespace).unwrap_or(value.len());
            if end == 0 {
                return Err("a value behind =");
            }
            (begin, begin + end, begin + end)
        }
    };
    Ok((&rest[..key_end], &text[from..to], next))
}

/// A time; `Some(None)` has no end, `None` is not a time.
pub fn time(text: &str) -> Option<Option<Duration>> {
    if ["unlimited", "infinite", "-1"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(None);
    }
    let number = |part: &str| -> Option<i64> {
        (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok()).flatten()
    };
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let parts = clock.split(':').map(number).collect::<Option<Vec<i64>>>()?;
    let (hours, minutes, seconds) = match (days, parts.as_slice()) {
        (None, [minutes]) => (0, *minutes, 0),
        (None, [minutes, seconds]) => (0, *minutes, *seconds),
        (Some(_), [hours]) => (*hours, 0, 0),
        (Some(_), [hours, minutes]) => (*hours, *minutes, 0),
        (_, [hours, minutes, seconds]) => (*hours, *minutes, *seconds),
        _ => return None,
    };
    let total = days.unwrap_or(0).checked_mul(86_400)?;
    let total = total.checked_add(hours.checked_mul(3_600)?)?.checked_add(minutes.checked_mul(60)?)?;
    let total = total.checked_add(seconds)?;
    // Slurm holds minutes in 32 bits.
    (total <= i64::from(u32::MAX) * 60).then(|| Some(Duration::from_secs(total)))
}

#[cfg(test)]
mod tests;
