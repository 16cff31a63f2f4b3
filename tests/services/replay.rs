//! A replay is made of what its scenario asks for, and of nothing else.

use sluice::replay::assembly::{COMPILED_IN, RunOptions, ServiceOptions, assemble};
use sluice::replay::scenario::Scenario;
use sluice::services::{BUILT_IN, Fragment};
use std::path::Path;

const TINY: &str = r#"
[graph]
uniform = { nodes = 2, cores = 1 }

[queues.batch]
hosts = "all"

[[workload]]
jobs = [{ at = 0, nodes = 1, run = 10 }]
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("tiny.toml")).unwrap_or_else(|e| panic!("{e}"))
}

fn made(text: &str, run: RunOptions) -> Vec<String> {
    assemble(scenario(text), run).unwrap_or_else(|e| panic!("{e}")).services.0
}

#[test]
fn only_what_is_asked_for_is_made() {
    let tiny = made(TINY, RunOptions::default());
    let expected = [
        "configuration-toml",
        "graph-uniform",
        "workload-jobs@1",
        "clock-timestamp",
        "job-metrics",
        "workloads",
        "sched-builtin@batch",
        "coordinator",
        "replay",
    ];
    assert_eq!(tiny, expected);
    let more = "[[action]]\nat = 5\ndo = \"queue-stop\"\nqueue = \"batch\"\n[site]\npass = \"event\"\n[queues.debug]\nhosts = \"all\"\npolicy.scheduler.precedence = 1\n";
    let more = made(&format!("{TINY}{more}"), RunOptions::default());
    let difference: Vec<&String> = more.iter().filter(|name| !tiny.contains(name)).collect();
    assert_eq!(difference, ["clock-event", "actions", "sched-builtin@debug"]);
}

#[test]
fn a_dropped_in_rule_changes_what_is_made() {
    let run = |text: &str| {
        let fragments = vec![Fragment::parse(text, "site/services.d/own.toml").expect("sound")];
        RunOptions { services: ServiceOptions { fragments, ..ServiceOptions::default() }, ..RunOptions::default() }
    };
    let error = |text: &str| assemble(scenario(TINY), run(text)).err().expect(text).to_string();
    let rule = "[[services]]\nname = \"figures\"\nprovides = [\"metrics\"]\n";
    assert_eq!(
        error(rule),
        "the services: site/services.d/own.toml:1: figures is not compiled in; a program of its own says `exec = true`"
    );
    let disabled = "clock.disabled = true\n\"clock-event\".disabled = true\n\"clock-timestamp\".disabled = true";
    assert_eq!(error(disabled), "the services: replay cannot run: it needs clock, which does not run");
    let alias = "[[services]]\nname = \"figures\"\nmodule = \"job-metrics\"\nprovides = [\"metrics\"]\n";
    assert!(made(TINY, run(alias)).contains(&"figures".to_owned()));
}

#[test]
fn every_rule_that_is_compiled_in_has_a_maker() {
    let fragment: toml::Table = BUILT_IN.parse().expect("TOML");
    let rules = fragment["services"].as_array().expect("an array");
    let mut names: Vec<&str> = rules.iter().filter_map(|rule| rule["name"].as_str()).collect();
    let mut makers: Vec<&str> = COMPILED_IN.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    makers.sort_unstable();
    assert_eq!(names, makers);
}
