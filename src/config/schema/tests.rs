//! The table of keys against the reader, in both directions, and what is made of it against what is committed.

use super::Config;
use super::schema::{Kind, TABLES, built_in, find, json_schema, keys, near};
use std::collections::BTreeSet;
use std::path::Path;

/// What must stand beside a key for the whole to be right.
fn document(full: &str, value: &str) -> String {
    let full = full.replace('*', "one");
    let Some((table, name)) = full.rsplit_once('.') else { return format!("{full} = {value}\n") };
    if let Some((array, _)) = full.split_once("[]") {
        let needed = if array.ends_with("pool") { "type = 'disk'\nsize = 1\n" } else { "hosts = 'n1'\ncores = '0'\n" };
        let own = needed.lines().filter(|line| !line.starts_with(&format!("{name} ="))).collect::<Vec<_>>().join("\n");
        return format!("[[{array}]]\n{own}\n{name} = {value}\n");
    }
    if full.starts_with("calendar.") {
        let days = !matches!(name, "days" | "dates" | "rrule");
        let needed = [("queues", "'batch'"), ("zone", "'UTC'")].into_iter().chain(days.then_some(("days", "'daily'")));
        let own = needed.filter(|(key, _)| *key != name).map(|(key, value)| format!("{key} = {value}\n"));
        return format!("[queues.batch]\n[{table}]\n{}{name} = {value}\n", own.collect::<String>());
    }
    if table == "queues.one.lend" || table == "queues.one.borrow" {
        let needed = if table.ends_with("lend") && name != "to" { "to = ['batch']\n" } else { "" };
        let others = "[queues.batch]\nlend.to = ['one']\n[queues.standby]\n";
        return format!("[{table}]\n{needed}{name} = {value}\n{others}");
    }
    let beside = match name {
        "parent" => "[queues.batch]\n",
        "preempts" => "[queues.standby]\n",
        "queue" => "[queues.batch]\n",
        _ => "",
    };
    format!("[{table}]\n{name} = {value}\n{beside}")
}

#[test]
fn the_reader_takes_every_key() {
    for (full, key) in keys() {
        // Only the global policy names the one, only a queue the other.
        if ["queues.*.policy.jobspec.defaults.system.queue", "policy.scheduler.profile"].contains(&full.as_str()) {
            continue;
        }
        let text = document(&full, key.example);
        Config::parse(&text, "x").unwrap_or_else(|e| panic!("{full}: {e}\n{text}"));
        if !key.default.is_empty() {
            let text = document(&full, key.default);
            Config::parse(&text, "x").unwrap_or_else(|e| panic!("{full}: {e}\n{text}"));
        }
    }
}

#[test]
fn every_word_and_bound_is_taken() {
    for (full, key) in keys() {
        let values: Vec<String> = match key.kind {
            Kind::Flag => vec!["true".to_owned(), "false".to_owned()],
            Kind::Word(words) => words.iter().map(|word| format!("'{word}'")).collect(),
            Kind::Number(low, high) => vec![low.to_string(), high.to_string()],
            Kind::NumberOr(low, high, word) => vec![low.to_string(), high.to_string(), format!("'{word}'")],
            _ => continue,
        };
        for value in values {
            let text = document(&full, &value);
            // A least size above the largest contradicts only where both are set.
            Config::parse(&text, "x").unwrap_or_else(|e| panic!("{full}: {e}\n{text}"));
        }
        if let Kind::Number(low, high) = key.kind {
            for beyond in [low.checked_sub(1), high.checked_add(1)].into_iter().flatten() {
                assert!(Config::parse(&document(&full, &beyond.to_string()), "x").is_err(), "{full} = {beyond}");
            }
        }
    }
}

/// The keys that the reader says it knows in each table, found by a key that nobody knows.
#[test]
fn the_table_has_every_key_of_the_reader() {
    let mut places: BTreeSet<String> = BTreeSet::new();
    for (full, _) in keys() {
        let parts: Vec<&str> = full.split('.').collect();
        places.extend((1..parts.len()).map(|end| parts[..end].join(".")));
    }
    for place in places.iter().filter(|p| !matches!(&***p, "queues" | "calendar" | "profiles" | "users" | "groups")) {
        let text = if let Some(array) = place.strip_suffix("[]") {
            format!("[[{array}]]\nxyzzyxyzzyxyzzy = 1\n")
        } else {
            format!("[{}]\nxyzzyxyzzyxyzzy = 1\n", place.replace('*', "one"))
        };
        let errors = Config::parse(&text, "x").expect_err("a key that nobody knows");
        let unknown = errors.0.iter().find(|e| e.message.contains("unknown key")).expect("it is told");
        let help = unknown.help.as_deref().and_then(|help| help.strip_prefix("known are ")).expect("known keys");
        let known: BTreeSet<&str> = help.split(", ").collect();
        let prefix = format!("{place}.");
        let ours: BTreeSet<String> = keys()
            .filter_map(|(full, _)| Some(full.strip_prefix(&prefix)?.split(['.', '[']).next()?.to_owned()))
            .collect();
        assert_eq!(ours.iter().map(String::as_str).collect::<BTreeSet<_>>(), known, "{place}");
    }
}

#[test]
fn keys_are_found_and_near() {
    let names = |key: &str| super::layers::key::parse(key).expect("a key");
    assert_eq!(find(&names("queues.a.policy.limits.duration")).map(|key| key.name), Some("limits.duration"));
    assert!(find(&names("queues.a.policy.limits.durration")).is_none());
    let found = near(&names("queues.a.policy.limits.durration"));
    assert_eq!(found.as_deref(), Some("queues.a.policy.limits.duration"));
    assert!(!TABLES.is_empty() && built_in().contains("policy.scheduler.queue-policy = \"fcfs\"\n"));
}

/// Compares a committed file with what is made now; SLUICE_WRITE=1 writes it instead.
fn committed(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file);
    if std::env::var_os("SLUICE_WRITE").is_some() {
        std::fs::write(&path, text).expect("it can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let told = "the schema has changed: SLUICE_WRITE=1 cargo test --lib config::schema_tests writes the files";
    assert!(found == text, "docs/{file} is not what is made now; {told}");
}

#[test]
fn the_schema_is_committed() {
    let text = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    committed("configuration.schema.json", &text);
}

#[test]
fn the_reference_is_committed() {
    let text = super::reference::markdown();
    assert!(!text.contains("<!-- policy") && !text.contains("<!-- resource"));
    committed("configuration.md", &text);
}
