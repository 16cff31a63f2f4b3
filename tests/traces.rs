//! Scenarios over public traces, which are not part of the project: skipped where the data is not there.

use serde_json::Value;
use sluice::replay::assembly::{Finished, RunOptions, assemble};
use sluice::replay::expect::judge;
use sluice::replay::scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};
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

/// One job as the log of a replay has it.
struct Runs {
    start: i64,
    nodes: u64,
    standby: bool,
    limit_end: i64,
}

/// How long a job of besteffort is protected, and how long it has after the signal, in microseconds.
const PROTECTED: i64 = 600_000_000;
const GRACE: i64 = 60_000_000;

/// Follows a replay by its log: who is first among those that are not besteffort, since when, and on what it waits.
#[derive(Default)]
struct Follower {
    now: i64,
    sizes: BTreeMap<u64, (u64, bool)>,
    pending: BTreeSet<(i64, u64)>,
    first: Option<(u64, i64)>,
    running: BTreeMap<u64, Runs>,
    /// When a job last ran past its limit.
    overrun: i64,
    preempted: u64,
    late: Vec<String>,
}

impl Follower {
    /// Nothing happens before `until`: the first job may have waited too long by then.
    fn go_to(&mut self, until: i64) {
        if until == self.now {
            return;
        }
        if let Some((job, since)) = self.first {
            if self.running.values().any(|r| r.limit_end < until) {
                self.overrun = until;
            }
            // What was to end by its limit within the grace, and did not, is signalled only then.
            let grace = if self.overrun >= since { 2 * GRACE } else { GRACE };
            let held: u64 = self.running.values().map(|r| r.nodes).sum();
            let due = |r: &&Runs| r.standby && since.max(r.start + PROTECTED) + grace < until;
            let had: u64 = self.running.values().filter(due).map(|r| r.nodes).sum();
            let (need, _) = self.sizes[&job];
            if had > 0 && 2004 - held + had >= need {
                self.late.push(format!("job {job}, first since {since}, waits at {until} for {need} nodes"));
            }
        }
        self.now = until;
    }

    fn line(&mut self, line: &Value) {
        let t = (line["t"].as_f64().expect("a time") * 1e6).round() as i64;
        let job = line["job"].as_u64();
        self.go_to(t);
        match (line["event"].as_str(), line["effect"].as_str(), job) {
            (Some("submit"), _, Some(job)) if !self.sizes[&job].1 => {
                self.pending.insert((t, job));
            }
            (Some("end"), _, Some(job)) => {
                self.running.remove(&job);
            }
            (_, Some("start"), Some(job)) => {
                self.pending.retain(|(_, other)| *other != job);
                let (nodes, standby) = self.sizes[&job];
                let limit = line["limit"].as_f64().map_or(i64::MAX / 2, |s| (s * 1e6) as i64);
                self.running.insert(job, Runs { start: t, nodes, standby, limit_end: t + limit });
            }
            (_, Some("preempt"), Some(job)) => {
                assert!(self.sizes[&job].1, "job {job} is not of besteffort");
                assert!(self.running[&job].start + PROTECTED <= t, "job {job} is protected");
                self.preempted += 1;
            }
            _ => return,
        }
        let first = self.pending.first().map(|(_, job)| *job);
        if self.first.map(|(job, _)| job) != first {
            self.first = first.map(|job| (job, t));
        }
    }
}

#[test]
fn who_is_first_does_not_wait_for_standby() {
    let Some(shared) = shared("standby on a trace") else { return };
    let path = root().join("graph-fixtures/traces/gaia-standby-preempted.toml");
    // The part of the trace in which the machine is full.
    let text = std::fs::read_to_string(&path).expect("the scenario").replace("map = {", "first = 15000, map = {");
    let text = text.split("[[expect]]").next().expect("what comes before").to_owned();
    let scenario = Scenario::parse(&text, &path).unwrap_or_else(|e| panic!("{e}"));
    let log = std::env::temp_dir().join(format!("sluice-standby-{}", std::process::id()));
    let options = RunOptions {
        shared,
        check: false,
        starts: None,
        jobs_csv: None,
        events: Some(log.clone()),
        ..RunOptions::default()
    };
    let finished = assemble(scenario, options).expect("it assembles").run().expect("it runs");
    let mut follower = Follower::default();
    for job in finished.workload.jobs() {
        let standby = finished.workload.queue_of(job) == Some("besteffort");
        follower.sizes.insert(job.id.0, (u64::from(job.size), standby));
    }
    let text = std::fs::read_to_string(&log).expect("the log");
    std::fs::remove_file(&log).expect("the log can be removed");
    for line in text.lines() {
        follower.line(&serde_json::from_str(line).expect("an object per line"));
    }
    assert!(
        follower.late.is_empty(),
        "{} of {}: {:?}",
        follower.late.len(),
        follower.preempted,
        &follower.late[..follower.late.len().min(3)]
    );
    assert!(follower.preempted > 50, "{} jobs gave way", follower.preempted);
}
