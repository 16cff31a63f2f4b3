//! Where something went wrong in a text, and what was expected there.
//!
//! Shared by all formats: each has its own error enum for what only it knows, and wraps [`ParseError`] for the rest.

use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// The longest piece of input that an error repeats, in characters.
const MAX_QUOTE: usize = 40;

/// A place in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Position {
    /// Bytes from the start of the text.
    pub byte: usize,
    /// Line, from 1; 0 where the text is a single expression and lines mean nothing.
    pub line: u32,
    /// Column in characters, from 1; 0 where `line` is.
    pub column: u32,
}

impl Position {
    /// A place in a text of one line.
    pub fn byte(byte: usize) -> Self {
        Self { byte, line: 0, column: 0 }
    }

    /// A place in a text of several lines. An offset past the end, or inside a character, counts as the nearest
    /// boundary before it.
    pub fn in_text(text: &str, byte: usize) -> Self {
        let before = &text.as_bytes()[..byte.min(text.len())];
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        // UTF-8 continuation bytes are not columns of their own.
        let column = 1 + before[line_start..].iter().filter(|&&b| b & 0xc0 != 0x80).count();
        Self {
            byte: before.len(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "byte {}", self.byte)
        } else {
            write!(f, "line {}, column {}", self.line, self.column)
        }
    }
}

/// Something other than what was expected stands in the text.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("expected {expected}, found {found} at {at}")]
pub struct ParseError {
    /// Where.
    pub at: Position,
    /// What would have been right, in words.
    pub expected: Cow<'static, str>,
    /// What stands there, quoted, or `end of input`.
    pub found: String,
}

impl ParseError {
    /// An error at `byte` of the one-line `text`: what is found is the character there.
    pub(crate) fn at_char(text: &str, byte: usize, expected: impl Into<Cow<'static, str>>) -> Self {
        let found = text.get(byte..).and_then(|rest| rest.chars().next());
        let found = found.map_or_else(|| "end of input".to_owned(), |c| quote(c.encode_utf8(&mut [0; 4])));
        Self { at: Position::byte(byte), expected: expected.into(), found }
    }

    /// An error about `found`, which begins at `byte`.
    pub(crate) fn at_piece(byte: usize, expected: impl Into<Cow<'static, str>>, found: &str) -> Self {
        let found = if found.is_empty() { "nothing".to_owned() } else { quote(found) };
        Self { at: Position::byte(byte), expected: expected.into(), found }
    }
}

/// A piece of input as errors show it: in backquotes, escaped, cut where it is long.
pub(crate) fn quote(piece: &str) -> String {
    let mut quoted = String::from("`");
    let mut chars = piece.chars();
    for c in chars.by_ref().take(MAX_QUOTE) {
        if c.is_control() { quoted.extend(c.escape_default()) } else { quoted.push(c) }
    }
    if chars.next().is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
}

/// What kind of JSON value this is, with its article.
pub(crate) fn json_kind(value: &serde_json::Value) -> &'static str {
    use serde_json::Value;
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let text = "ab\nƒcd\n";
        assert_eq!(Position::in_text(text, 0), Position { byte: 0, line: 1, column: 1 });
        assert_eq!(Position::in_text(text, 5), Position { byte: 5, line: 2, column: 2 });
        assert_eq!(Position::in_text(text, 99), Position { byte: 8, line: 3, column: 1 });
        assert_eq!(Position::in_text(text, 5).to_string(), "line 2, column 2");
        assert_eq!(Position::byte(5).to_string(), "byte 5");
    }

    #[test]
    fn quotes_are_short_and_printable() {
        assert_eq!(quote("a\tb"), "`a\\tb`");
        assert_eq!(quote(&"x".repeat(50)), format!("`{}…`", "x".repeat(40)));
    }
}
