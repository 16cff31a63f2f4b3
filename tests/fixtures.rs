//! The fixtures: they are what the generator writes, they are well-formed, and they come out as they say.

use sluice::replay::scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All scenarios: directories with a `scenario.toml`, and the files of `traces`.
fn scenarios() -> Vec<PathBuf> {
    let entries = |directory: &Path| -> Vec<PathBuf> {
        let read = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
        read.map(|entry| entry.expect("a directory entry").path()).collect()
    };
    let top = root().join("graph-fixtures");
    let (traces, own): (Vec<_>, Vec<_>) = entries(&top).into_iter().partition(|path| path.ends_with("traces"));
    let mut all: Vec<PathBuf> = own.into_iter().chain(traces.iter().flat_map(|path| entries(path))).collect();
    all.sort();
    all
}

#[test]
fn every_scenario_reads() {
    let all = scenarios();
    assert!(all.len() >= 18, "{all:?}");
    for path in all {
        let scenario = Scenario::load(&path).unwrap_or_else(|e| panic!("{e}"));
        assert!(!scenario.title.is_empty(), "{}: no title", path.display());
        assert!(!scenario.workloads.is_empty(), "{}: no work", path.display());
        assert!(!scenario.expectations.is_empty(), "{}: expects nothing", path.display());
    }
}

#[test]
fn the_documented_example_reads() {
    let text = std::fs::read_to_string(root().join("docs/scenario.md")).expect("docs/scenario.md");
    let examples: Vec<&str> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 1);
    let scenario = Scenario::parse(examples[0], Path::new("docs/scenario.md")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((scenario.config.queues.len(), scenario.actions.len(), scenario.expectations.len()), (2, 2, 1));
}

#[test]
fn fixtures_are_what_the_generator_writes() {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "fixture-gen", "--", "--check"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "\n{}", String::from_utf8_lossy(&output.stderr));
}
