//! How error messages name what they found: short, on one line, never the whole of a long input.

use serde_json::Value;

/// The most characters of a found text that a message repeats.
const SHOWN: usize = 40;

/// A JSON value in words: `null`, `the number 4.5`, `the string "bar"`, `an array of 2`, `an object of 1`.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the string {}", text(s)),
        Value::Array(a) => format!("an array of {}", a.len()),
        Value::Object(o) => format!("an object of {}", o.len()),
    }
}

/// A text in quotes with control characters escaped, cut with `…` where it is long.
pub(crate) fn text(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_what_it_found() {
        assert_eq!(value(&json!(null)), "null");
        assert_eq!(value(&json!(4.5)), "the number 4.5");
        assert_eq!(value(&json!("a\nb")), "the string \"a\\nb\"");
        assert_eq!(value(&json!([1, 2])), "an array of 2");
        assert_eq!(value(&json!({})), "an object of 0");
        assert_eq!(text(&"ä".repeat(41)), format!("\"{}\"…", "ä".repeat(40)));
    }
}
