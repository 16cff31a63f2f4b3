//! The reference schedules of KTH-SP2, start by start, through the whole program: trace, site, scheduler, metrics.

use sluice::base::Timestamp;
use sluice::config::{MatchPolicy, QueuePolicy};
use sluice::replay::assembly::{Finished, RunOptions, assemble};
use sluice::replay::quick::Quick;
use sluice::replay::scenario::{LimitRule, PassRule};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The directory of shared data, if it is there.
fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SLUICE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if path.join("data").is_dir() {
        return Some(path);
    }
    eprintln!("skipped: there is no shared data at {}", path.display());
    None
}

/// Id and start of each job, ascending by id.
fn reference(shared: &Path, name: &str) -> Vec<(u64, i64)> {
    let file = std::fs::File::open(shared.join(format!("data/reference/{name}.starts.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let lines = text.lines().filter(|l| !l.starts_with(';'));
    let mut starts: Vec<(u64, i64)> = lines
        .map(|line| {
            let (id, start) = line.split_once(' ').unwrap();
            (id.parse().unwrap(), start.parse().unwrap())
        })
        .collect();
    starts.sort_unstable();
    starts
}

fn starts(finished: &Finished) -> Vec<(u64, i64)> {
    let start = &finished.outcome.book.start;
    let mut starts: Vec<(u64, i64)> =
        finished.workload.jobs().iter().zip(start).map(|(job, start)| (job.id.0, start.micros() / 1_000_000)).collect();
    starts.sort_unstable();
    starts
}

fn replay(shared: &Path, queue_policy: QueuePolicy, limit: LimitRule, pass: PassRule, check: bool) -> Finished {
    let quick = Quick {
        swf: shared.join("data/traces/KTH-SP2-1996-2-sc15filter.swf.gz"),
        machine: None,
        queue_policy,
        queue_depth: None,
        reservation_depth: None,
        match_policy: MatchPolicy::First,
        limit,
        pass,
        work_budget: None,
        until: Timestamp::NEVER,
    };
    let options = RunOptions { shared: shared.to_owned(), check, ..RunOptions::default() };
    assemble(quick.scenario(), options).unwrap().run().unwrap()
}

/// Schedule; queue policy; limit; pass; mean wait, mean bounded slowdown and max wait as published.
type Row = (&'static str, QueuePolicy, LimitRule, PassRule, &'static str, &'static str, f64);

const ROWS: [Row; 7] = [
    (
        "kth-fcfs",
        QueuePolicy::Fcfs,
        LimitRule::Requested,
        PassRule::Timestamp,
        "353776.409150",
        "6814.97331018",
        946_685.0,
    ),
    (
        "kth-easy-onepass",
        QueuePolicy::Easy,
        LimitRule::Requested,
        PassRule::Timestamp,
        "6834.587269",
        "92.68765374",
        262_194.0,
    ),
    (
        "kth-easy-clairvoyant-onepass",
        QueuePolicy::Easy,
        LimitRule::Runtime,
        PassRule::Timestamp,
        "6327.681612",
        "71.72238511",
        258_803.0,
    ),
    (
        "kth-conservative-replan",
        QueuePolicy::Conservative,
        LimitRule::Requested,
        PassRule::Timestamp,
        "7936.171061",
        "101.82693416",
        249_742.0,
    ),
    (
        "kth-conservative-replan-clairvoyant",
        QueuePolicy::Conservative,
        LimitRule::Runtime,
        PassRule::Timestamp,
        "7027.191953",
        "67.12238493",
        266_779.0,
    ),
    (
        "kth-easy-perevent-sc15",
        QueuePolicy::Easy,
        LimitRule::Requested,
        PassRule::Event,
        "6836.872090",
        "92.57653973",
        262_194.0,
    ),
    (
        "kth-conservative-compress",
        QueuePolicy::ConservativeCompress,
        LimitRule::Requested,
        PassRule::Event,
        "7310.551174",
        "88.99727497",
        249_058.0,
    ),
];

#[test]
fn every_start_is_that_of_the_reference() {
    let Some(shared) = shared() else { return };
    for (name, policy, limit, pass, mean_wait, mean_slowdown, max_wait) in ROWS {
        let finished = replay(&shared, policy, limit, pass, false);
        let (ours, theirs) = (starts(&finished), reference(&shared, name));
        assert_eq!(theirs.len(), 28_481, "{name}");
        let differ = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
        assert_eq!((differ, ours.len()), (0, theirs.len()), "{name}");
        let total = &finished.outcome.report.total;
        assert_eq!(format!("{:.6}", total.wait_s.mean), mean_wait, "{name}");
        assert_eq!(format!("{:.8}", total.bounded_slowdown.mean), mean_slowdown, "{name}");
        assert_eq!(total.wait_s.max, max_wait, "{name}");
        let makespan = if policy == QueuePolicy::Fcfs { 29_379_608.0 } else { 29_363_626.0 };
        assert_eq!(total.makespan_s, makespan, "{name}");
        if policy == QueuePolicy::Easy {
            assert_eq!(format!("{:.6}", total.utilization), "0.685613", "{name}");
        }
        assert!(finished.outcome.broken.is_empty(), "{name}: {:?}", finished.outcome.broken);
    }
}

#[test]
fn the_raw_trace_runs_to_its_end_with_overrunning_jobs() {
    let Some(shared) = shared() else { return };
    let mut scenario = Quick {
        swf: shared.join("data/traces/KTH-SP2-1996-2.swf.gz"),
        machine: None,
        queue_policy: QueuePolicy::Easy,
        queue_depth: None,
        reservation_depth: None,
        match_policy: MatchPolicy::First,
        limit: LimitRule::Requested,
        pass: PassRule::Timestamp,
        work_budget: None,
        until: Timestamp::NEVER,
    }
    .scenario();
    scenario.name = "raw".into();
    let finished = assemble(scenario, RunOptions { shared, check: false, ..RunOptions::default() }).unwrap();
    let finished = finished.run().unwrap();
    let jobs = &finished.outcome.report.total.jobs;
    assert_eq!((jobs.submitted, jobs.completed), (28_489, 28_489));
    let zero = finished.workload.jobs().iter().zip(&finished.outcome.book.end).zip(&finished.outcome.book.start);
    assert_eq!(zero.filter(|((job, end), start)| job.run.micros() == 0 && end == start).count(), 8);
}
