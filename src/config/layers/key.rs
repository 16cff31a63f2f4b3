//! Keys as people write them: `queues.batch.policy.limits.duration`, with quotes where a name needs them.

/// Whether a name needs no quotes.
fn bare(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// A name as TOML wants it.
pub(super) fn quoted(name: &str) -> String {
    if bare(name) { name.to_owned() } else { toml::Value::String(name.to_owned()).to_string() }
}

/// The names as one key.
pub fn join<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| quoted(name.as_ref())).collect::<Vec<_>>().join(".")
}

/// The names of a key, and what follows it: all that is behind a `=` outside of quotes.
///
/// # Errors
/// What is wrong with it.
pub(super) fn split(text: &str) -> Result<(Vec<String>, Option<&str>), String> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let (name, after) = match rest.chars().next() {
            Some(mark @ ('"' | '\'')) => {
                let end = rest[1..].find(mark).ok_or_else(|| format!("expected {mark} at the end of {rest}"))?;
                (&rest[1..=end], &rest[end + 2..])
            }
            _ => {
                let end = rest.find(['.', '=']).unwrap_or(rest.len());
                (rest[..end].trim(), &rest[end..])
            }
        };
        // `requires+` and `requires-` may stand without quotes, and behind them.
        let (mark, after) = match after.trim_start() {
            after if after.starts_with(['+', '-']) => after.split_at(1),
            after => ("", after),
        };
        if name.is_empty() {
            return Err(format!("expected a key as a.b.c, found {text:?}"));
        }
        names.push(format!("{name}{mark}"));
        match after.trim_start() {
            "" => return Ok((names, None)),
            after if after.starts_with('.') => rest = after[1..].trim_start(),
            after if after.starts_with('=') => return Ok((names, Some(after[1..].trim()))),
            other => return Err(format!("expected a dot or = behind {name:?}, found {other:?}")),
        }
    }
}

/// The names of a key.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Vec<String>, String> {
    match split(text)? {
        (names, None) => Ok(names),
        (_, Some(_)) => Err(format!("expected a key as a.b.c, found a value behind it in {text:?}")),
    }
}

/// `a.b.c=value` as a line of TOML. What is no TOML value is taken for a string.
pub(super) fn assignment(text: &str) -> Result<String, String> {
    let (names, Some(value)) = split(text)? else { return Err(format!("expected a.b.c=value, found {text:?}")) };
    let is_toml = toml::de::DeValue::parse(value).is_ok() && !value.is_empty();
    let value = if is_toml { value.to_owned() } else { toml::Value::String(value.to_owned()).to_string() };
    Ok(format!("{} = {value}\n", join(&names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names() {
        for (text, names) in [
            ("a", vec!["a"]),
            ("a.b-c.d", vec!["a", "b-c", "d"]),
            ("a.\"b.c\".'d'", vec!["a", "b.c", "d"]),
            (" a . b ", vec!["a", "b"]),
            ("a.b+", vec!["a", "b+"]),
            ("a.\"b\"-", vec!["a", "b-"]),
        ] {
            assert_eq!(parse(text), Ok(names.iter().map(|name| (*name).to_owned()).collect()), "{text}");
        }
        for text in ["", ".", "a..b", "a.", "\"a", "\"a\"b", "a=1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn assignments_are_toml() {
        for (text, line) in [
            ("a.b=1", "a.b = 1"),
            ("a.b = 8h", "a.b = \"8h\""),
            ("a=\"8h\"", "a = \"8h\""),
            ("a=fcfs", "a = \"fcfs\""),
            ("a=node[1-3]", "a = \"node[1-3]\""),
            ("a.b+=['x=y']", "a.\"b+\" = ['x=y']"),
            ("a-=true", "a- = true"),
            ("\"a b\".c=", "\"a b\".c = \"\""),
        ] {
            assert_eq!(assignment(text), Ok(format!("{line}\n")), "{text}");
        }
        assert!(assignment("a.b").is_err());
    }
}
