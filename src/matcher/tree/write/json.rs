//! JSON as Jansson dumps it.

use std::fmt::{self, Write};

/// A string in quotes. Only quotes, backslashes and control characters are escaped.
pub(super) fn string(f: &mut impl Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| *byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        f.write_str(&text[plain..at])?;
        plain = at + 1;
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", byte as char)?,
            b'\n' => f.write_str("\\n")?,
            b'\r' => f.write_str("\\r")?,
            b'\t' => f.write_str("\\t")?,
            0x08 => f.write_str("\\b")?,
            0x0c => f.write_str("\\f")?,
            other => write!(f, "\\u{other:04X}")?,
        }
    }
    f.write_str(&text[plain..])?;
    f.write_char('"')
}

/// An object whose values are strings.
pub(super) fn strings<K: AsRef<str>, V: AsRef<str>>(
    f: &mut impl Write,
    members: impl IntoIterator<Item = (K, V)>,
) -> fmt::Result {
    f.write_char('{')?;
    for (i, (key, value)) in members.into_iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        string(f, key.as_ref())?;
        f.write_str(": ")?;
        string(f, value.as_ref())?;
    }
    f.write_char('}')
}
