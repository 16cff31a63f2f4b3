//! The fixtures: they are what the generator writes, they are well-formed, and they come out as they say.

use sluice::replay::assembly::{Finished, RunOptions, assemble};
use sluice::replay::expect::judge;
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

/// Replays a scenario with all checks.
fn replay(path: &Path) -> Finished {
    let scenario = Scenario::load(path).unwrap_or_else(|e| panic!("{e}"));
    let shared = std::env::var_os("SLUICE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let options = RunOptions { shared, check: true, ..RunOptions::default() };
    let replay = assemble(scenario, options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    replay.run().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Replays a fixture; no invariant and no expectation may fail, and no job may be lost.
fn comes_out(name: &str) {
    let finished = replay(&root().join("graph-fixtures").join(name));
    let broken = &finished.outcome.broken;
    assert!(broken.is_empty(), "{name}: {broken:?}");
    let report = &finished.outcome.report;
    assert!(report.invariants.checked > 0, "{name}: nothing was checked");
    let jobs = &report.total.jobs;
    let places = jobs.completed + jobs.failed + jobs.cancelled + jobs.denied + jobs.pending + jobs.held + jobs.running;
    assert_eq!(jobs.submitted, places, "{name}: I6: {jobs:?}");
    let verdicts = judge(&finished);
    assert_eq!(verdicts.len(), finished.scenario.expectations.len());
    let failed: Vec<String> = verdicts
        .iter()
        .filter_map(|v| v.failure.as_ref().map(|f| format!("{name}, line {}: {} ({}): {f}", v.line, v.what, v.why)))
        .collect();
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n"));
}

#[test]
fn weekend_dat_comes_out() {
    comes_out("weekend-dat");
}

#[test]
fn day_night_comes_out() {
    comes_out("day-night");
}

#[test]
fn debug_batch_comes_out() {
    comes_out("debug-batch");
}

#[test]
fn rolling_maintenance_comes_out() {
    comes_out("rolling-maintenance");
}

#[test]
fn runtime_queue_comes_out() {
    comes_out("runtime-queue");
}

#[test]
fn gpu_and_cpu_nodes_comes_out() {
    comes_out("gpu-and-cpu-nodes");
}

#[test]
fn rabbit_storage_comes_out() {
    comes_out("rabbit-storage");
}

#[test]
fn dat_on_friday_comes_out() {
    comes_out("dat-on-friday");
    comes_out("dat-on-friday-drain");
}

#[test]
fn calendar_dst_comes_out() {
    comes_out("calendar-dst");
}

#[test]
fn power_cap_comes_out() {
    comes_out("power-cap");
}

/// I7: the digest is that of the input, whatever the number of threads.
#[test]
fn one_input_has_one_digest() {
    let path = root().join("graph-fixtures/weekend-dat");
    let digest = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        pool.install(|| replay(&path).outcome.report.digest)
    };
    let first = digest(1);
    assert_eq!([digest(1), digest(2), digest(8)], [first.clone(), first.clone(), first]);
}

/// The expectations can fail: a scenario whose switch is taken out does not come out.
#[test]
fn an_expectation_that_is_broken_is_seen() {
    let path = root().join("graph-fixtures/debug-batch/scenario.toml");
    let mut scenario = Scenario::load(&path).unwrap_or_else(|e| panic!("{e}"));
    scenario.actions.clear();
    let options = RunOptions { shared: PathBuf::new(), check: true, ..RunOptions::default() };
    let finished = assemble(scenario, options).map(|r| r.run()).expect("assembles").expect("runs");
    let failed: Vec<usize> = judge(&finished).iter().filter(|v| v.failure.is_some()).map(|v| v.line).collect();
    assert!(failed.len() >= 8, "failed only at lines {failed:?}");
}
