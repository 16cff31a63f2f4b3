//! Scenarios over public traces, which are not part of the project: skipped where the data is not there.

use sluice::replay::assembly::{Finished, RunOptions, assemble};
use sluice::replay::expect::judge;
use sluice::replay::scenario::Scenario;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The directory of shared data, or a word on what is skipped.
fn shared(what: &str) -> Option<PathBuf> {
    let path = std::env::var_os("SLUICE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    if path.join("data/traces").is_dir() {
        return Some(path);
    }
    eprintln!("skipped: {what}: no traces in {} (set SLUICE_SHARED)", path.display());
    None
}

fn replay(name: &str, shared: &Path, starts: Option<PathBuf>) -> Finished {
    let path = root().join("graph-fixtures/traces").join(format!("{name}.toml"));
    let scenario = Scenario::load(&path).unwrap_or_else(|e| panic!("{e}"));
    let options = RunOptions { shared: shared.to_owned(), check: false, starts, ..RunOptions::default() };
    let replay = assemble(scenario, options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let finished = replay.run().unwrap_or_else(|e| panic!("{name}: {e}"));
    let verdicts = judge(&finished);
    let failed: Vec<_> = verdicts.iter().filter(|v| v.failure.is_some()).collect();
    assert!(failed.is_empty(), "{name}: {failed:?}");
    assert!(finished.outcome.broken.is_empty(), "{name}: {:?}", finished.outcome.broken);
    finished
}

/// The lines of a starts file that are no comments, by job.
fn starts(name: &str, shared: &Path) -> Vec<(u64, String)> {
    let file = std::env::temp_dir().join(format!("sluice-traces-{name}-{}", std::process::id()));
    replay(name, shared, Some(file.clone()));
    let text = std::fs::read_to_string(&file).expect("the starts");
    std::fs::remove_file(&file).expect("the starts can be removed");
    let line = |line: &str| {
        let (job, start) = line.split_once(' ').expect("a job and its start");
        (job.parse().expect("a job's number"), start.to_owned())
    };
    let mut starts: Vec<_> = text.lines().filter(|l| !l.starts_with(';')).map(line).collect();
    starts.sort();
    starts
}

#[test]
fn disjoint_queues_do_not_feel_each_other() {
    let Some(shared) = shared("disjoint queues against independent replays") else { return };
    let together = starts("gaia-disjoint", &shared);
    assert_eq!(together.len(), 51_987);
    let mut alone: Vec<_> = ["interactive", "default", "besteffort"]
        .iter()
        .flat_map(|queue| starts(&format!("gaia-{queue}-alone"), &shared))
        .collect();
    alone.sort();
    let differ = together.iter().zip(&alone).filter(|(a, b)| a != b).count();
    assert_eq!((alone.len(), differ), (together.len(), 0));
}

#[test]
fn traces_come_out() {
    let Some(shared) = shared("scenarios over traces") else { return };
    for name in
        ["gaia-day-night-soft", "gaia-virtual", "wagap-queues", "atlas-partitions", "sdsc-queues", "theta", "thing2"]
    {
        replay(name, &shared, None);
    }
}

/// Slow by its nature: two thousand jobs look for a night that is long enough.
#[test]
fn a_job_longer_than_every_night_is_held() {
    let Some(shared) = shared("strict day and night on a trace") else { return };
    replay("gaia-day-night-strict", &shared, None);
}
