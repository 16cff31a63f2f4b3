//! The protocol's documentation: every message that it shows is one, and every message is shown.

use sluice::scheduler::wire::{Said, Told};
use std::collections::BTreeSet;

/// The lines of the JSON blocks below a heading, up to the next.
fn shown(heading: &str) -> Vec<String> {
    let text = include_str!("../docs/external-scheduler.md");
    let section = text.split("\n## ").find(|section| section.starts_with(heading)).expect(heading);
    let blocks = section.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

fn kinds(lines: &[String]) -> BTreeSet<String> {
    let kind = |line: &String| {
        let value: serde_json::Value = serde_json::from_str(line).expect(line);
        value["type"].as_str().expect(line).to_owned()
    };
    lines.iter().map(kind).collect()
}

fn all(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_is_told_is_documented() {
    let lines = shown("Messages to the program");
    for line in &lines {
        let told: Told = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(serde_json::to_string(&told).expect("it writes"), *line);
    }
    let expected = all(&[
        "acquire",
        "running",
        "ready",
        "up",
        "down",
        "members",
        "windows",
        "alloc",
        "cancel",
        "free",
        "prioritize",
        "limit",
        "refused",
        "pass",
        "end",
    ]);
    assert_eq!(kinds(&lines), expected);
}

#[test]
fn what_is_said_is_documented() {
    let lines = shown("Answers");
    for line in &lines {
        let said: Said = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(serde_json::to_string(&said).expect("it writes"), *line);
    }
    assert_eq!(kinds(&lines), all(&["ready", "alloc", "deny", "annotate", "planned", "down-ack", "done"]));
}

#[test]
fn what_is_no_message_is_refused() {
    for line in
        ["", "{}", r#"{"type":"allot"}"#, r#"{"type":"alloc","job":1,"shares":[{"target":0,"core":"1"}],"epoch":1}"#]
    {
        assert!(serde_json::from_str::<Said>(line).is_err(), "{line}");
    }
}
