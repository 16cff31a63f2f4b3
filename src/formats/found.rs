//! How error messages name a JSON value that they found: with its content where that is short.

use super::error::quote;
use serde_json::Value;

/// A JSON value in words: `null`, `the number 4.5`, ``the string `bar` ``, `an array of 2`, `an object of 1`.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the string {}", quote(s)),
        Value::Array(a) => format!("an array of {}", a.len()),
        Value::Object(o) => format!("an object of {}", o.len()),
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
        assert_eq!(value(&json!("a\nb")), "the string `a\\nb`");
        assert_eq!(value(&json!([1, 2])), "an array of 2");
        assert_eq!(value(&json!({})), "an object of 0");
    }
}
