//! What is wrong in a configuration: all of it, with file, line and key.

use crate::formats::error::Position;
use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// One thing that is wrong in a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct ConfigError {
    /// The file, as it was named.
    pub file: String,
    /// Line, from 1; 0 where the configuration did not come from a text.
    pub line: u32,
    /// Column in characters, from 1; 0 where `line` is.
    pub column: u32,
    /// The key, as `queues.debug.policy.limits.duration`; empty for the whole.
    pub key: String,
    /// The bytes of the file that are meant.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it, where that is known.
    pub help: Option<String>,
}

/// All that is wrong in a configuration, in the order of the file; never empty.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl ConfigError {
    /// An error about settings that did not come from a text.
    pub(crate) fn unplaced(key: impl Into<String>, message: impl Into<String>) -> Self {
        let (key, message) = (key.into(), message.into());
        Self { file: String::new(), line: 0, column: 0, key, span: 0..0, message, help: None }
    }

    /// Sets the place.
    pub(crate) fn placed(mut self, file: &str, text: &str, span: Range<usize>) -> Self {
        let at = Position::in_text(text, span.start);
        (self.line, self.column, self.span) = (at.line, at.column, span);
        file.clone_into(&mut self.file);
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl fmt::Display for ConfigErrors {
    /// One line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in &self.0 {
            write!(f, "{separator}{error}")?;
            separator = "\n";
        }
        Ok(())
    }
}

/// The known word that was probably meant: the nearest one, if not more than a third of its letters, rounded up, differ.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.into_iter().map(|known| (distance(word, known), known));
    // The first of equals, so that the answer does not depend on anything else.
    let (distance, best) = near.min_by_key(|(distance, _)| *distance)?;
    let letters = best.chars().count();
    (distance <= letters.div_ceil(3) && distance < letters).then_some(best)
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_edits() {
        for (a, b, edits) in
            [("", "", 0), ("", "abc", 3), ("abc", "abc", 0), ("acb", "abc", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (edits, edits), "{a} {b}");
        }
    }

    #[test]
    fn finds_what_was_meant() {
        let known = ["hosts", "requires", "policy", "parent"];
        for (word, meant) in [
            ("host", Some("hosts")),
            ("require", Some("requires")),
            ("plociy", Some("policy")),
            ("started", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest("x", ["a", "bc"]), None);
    }
}
