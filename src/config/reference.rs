//! The reference of all keys as people read it, docs/configuration.md: `reference.md` with the tables of the schema.

use super::schema::{BORROW, CALENDAR, GROUPS, Key, Kind, LEND, POLICY, PROFILE, QUEUE, RESOURCE, TOP, USERS};
use std::fmt::Write;

const TEXT: &str = include_str!("reference.md");

/// What a key takes, in a few words.
pub fn kind(key: &Key) -> String {
    match key.kind {
        Kind::Text => "string".to_owned(),
        Kind::Hosts => "hostlist".to_owned(),
        Kind::Ids => "idset".to_owned(),
        Kind::Length => "duration".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Word(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        Kind::Number(low, _) if low > i64::from(i32::MIN) => format!("whole number from {low}"),
        Kind::Number(..) => "whole number".to_owned(),
        Kind::NumberOr(low, _, word) => format!("whole number from {low}, or `\"{word}\"`"),
        Kind::Texts => "array of strings".to_owned(),
        Kind::TextOrTexts => "string, or array of strings".to_owned(),
        Kind::Tables => "array of tables".to_owned(),
    }
}

/// The page.
pub fn markdown() -> String {
    let below = |prefix: &str, keys: &[Key]| -> Vec<(String, Key)> {
        let rest = keys.iter().filter_map(|key| Some((key.name.strip_prefix(prefix)?.to_owned(), *key)));
        rest.filter(|(name, _)| !name.contains("[]")).collect()
    };
    let not_scheduler = below("", POLICY).into_iter().filter(|(name, _)| !name.starts_with("scheduler.")).collect();
    TEXT.replace("<!-- queue -->\n", &table(below("", QUEUE)))
        .replace("<!-- lend -->\n", &table(below("", LEND)))
        .replace("<!-- borrow -->\n", &table(below("", BORROW)))
        .replace("<!-- policy -->\n", &table(not_scheduler))
        .replace("<!-- scheduler -->\n", &table(below("scheduler.", POLICY)))
        .replace("<!-- top -->\n", &table(below("", TOP)))
        .replace("<!-- profile -->\n", &table(below("", PROFILE)))
        .replace("<!-- users -->\n", &table(below("", USERS)))
        .replace("<!-- groups -->\n", &table(below("", GROUPS)))
        .replace("<!-- calendar -->\n", &table(below("", CALENDAR)))
        .replace("<!-- resource -->\n", &table(below("", RESOURCE)))
        .replace("<!-- resource.config -->\n", &table(below("config[].", RESOURCE)))
        .replace("<!-- resource.pool -->\n", &table(below("pool[].", RESOURCE)))
}

fn table(keys: Vec<(String, Key)>) -> String {
    let mut text = "| key | type | meaning | default |\n|---|---|---|---|\n".to_owned();
    for (name, key) in keys {
        let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{name}` | {} | {} | {default} |", kind(&key), key.meaning);
    }
    text
}
