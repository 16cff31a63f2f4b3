//! What a replay does apart from scheduling: failures, housekeeping, odd jobs, the order of things, threads.

use sluice::base::{JobId, Timestamp};
use sluice::replay::assembly::{AssemblyError, Finished, RunOptions, assemble};
use sluice::replay::book::JobState;
use sluice::replay::expect::judge;
use sluice::replay::scenario::Scenario;
use std::path::Path;

fn options() -> RunOptions {
    RunOptions { check: true, ..RunOptions::default() }
}

fn try_replay(text: &str) -> Result<Finished, AssemblyError> {
    let scenario = Scenario::parse(text, Path::new("test.toml")).unwrap_or_else(|e| panic!("{e}"));
    Ok(assemble(scenario, options())?.run().unwrap_or_else(|e| panic!("{e}")))
}

/// Replays, and sees to it that no invariant is broken and the counts add up.
fn replay(text: &str) -> Finished {
    let finished = try_replay(text).unwrap_or_else(|e| panic!("{e}"));
    assert!(finished.outcome.broken.is_empty(), "{:?}", finished.outcome.broken);
    let jobs = finished.outcome.report.total.jobs;
    let ends = jobs.completed + jobs.failed + jobs.cancelled + jobs.denied;
    assert_eq!(jobs.submitted, ends + jobs.pending + jobs.held + jobs.running);
    assert!(finished.outcome.report.invariants.checked > 0);
    finished
}

fn times(finished: &Finished, job: u64) -> (f64, f64) {
    let slot = finished.workload.slot(JobId(job)).unwrap();
    (finished.outcome.book.start[slot].secs_f64(), finished.outcome.book.end[slot].secs_f64())
}

fn state(finished: &Finished, job: u64) -> JobState {
    finished.outcome.book.state[finished.workload.slot(JobId(job)).unwrap()]
}

const MACHINE: &str = "[graph]\nuniform = { nodes = 4, cores = 2 }\n[policy.scheduler]\nqueue-policy = 'easy'\n";

#[test]
fn a_failed_node_ends_requeues_or_spares_its_job() {
    let text = |rule: &str| {
        format!(
            "[site]\non-node-fail = '{rule}'\n{MACHINE}
            [[workload]]
            jobs = [{{ at = 0, nodes = 2, run = 100, limit = 200 }}, {{ at = 0, nodes = 2, run = 100, limit = 200 }}]
            [[action]]
            at = 40
            do = 'fail'
            nodes = 'node0'
            [[action]]
            at = 500
            do = 'return'
            nodes = 'node0'"
        )
    };
    let failed = replay(&text("fail"));
    assert_eq!((state(&failed, 1), times(&failed, 1)), (JobState::Failed, (0.0, 40.0)));
    assert_eq!((state(&failed, 2), times(&failed, 2)), (JobState::Completed, (0.0, 100.0)));
    let requeued = replay(&text("requeue"));
    // Nodes 1 to 3 are left, two of which are busy until 100.
    assert_eq!((state(&requeued, 1), times(&requeued, 1)), (JobState::Completed, (100.0, 200.0)));
    assert_eq!(requeued.outcome.report.total.jobs.requeued, 1);
    // 2 nodes of 2 cores: two full runs, and one that was lost after 40 s; the makespan is 200 s, 8 cores.
    let held = (2 * 100 + 40) as f64 * 4.0;
    assert_eq!(requeued.outcome.report.total.utilization, held / (200.0 * 8.0));
    let spared = replay(&text("continue"));
    assert_eq!((state(&spared, 1), times(&spared, 1)), (JobState::Completed, (0.0, 100.0)));
}

#[test]
fn housekeeping_holds_targets_one_by_one_and_a_failure_frees_what_is_stuck() {
    let text = |housekeeping: &str, action: &str| {
        format!(
            "[site]\nhousekeeping = {housekeeping}\n{MACHINE}
            [[workload]]
            jobs = [{{ at = 0, nodes = 4, run = 100, limit = 100 }}, {{ at = 10, nodes = 4, run = 10, limit = 10 }}]
            {action}"
        )
    };
    let plain = replay(&text("{ duration = 30 }", ""));
    assert_eq!(times(&plain, 2), (130.0, 140.0));
    let (first, again) =
        (text("{ duration = 30, jitter = 60, seed = 3 }", ""), text("{ duration = 30, jitter = 60, seed = 4 }", ""));
    let (jitter, other) = (times(&replay(&first), 2).0, times(&replay(&again), 2).0);
    assert!((130.0..=190.0).contains(&jitter) && jitter != other, "{jitter} {other}");
    let hangs = replay(&text("{ duration = 30, stuck = 1.0, stuck-for = 1000 }", ""));
    assert_eq!(times(&hangs, 2), (1130.0, 1140.0));
    let for_ever = replay(&text("{ duration = 30, stuck = 1.0 }", ""));
    assert_eq!(state(&for_ever, 2), JobState::Pending);
    let reboot = "[[action]]\nat = 400\ndo = 'fail'\nnodes = 'node[0-3]'\n[[action]]\nat = 450\ndo = 'return'\nnodes = 'node[0-3]'";
    let rebooted = replay(&text("{ duration = 30, stuck = 1.0 }", reboot));
    assert_eq!(times(&rebooted, 2), (450.0, 460.0));
}

#[test]
fn odd_jobs_are_denied_or_end_where_they_start() {
    let finished = replay(&format!(
        "{MACHINE}
        [[workload]]
        jobs = [
          {{ at = 5, nodes = 4, run = 0, limit = 10 }},
          {{ at = 5, nodes = 4, run = 7, limit = 10 }},
          {{ at = 5, nodes = 5, run = 7, limit = 10 }},
          {{ at = 5, nodes = 1, run = 7, limit = 10, properties = ['gpu'] }},
          {{ at = 5, nodes = 1, run = 7, limit = 10, fails = true }},
        ]
        [[action]]
        at = 8
        do = 'cancel'
        job = 2"
    ));
    // The job without any run time makes way at once, in a further step at the same instant.
    assert_eq!((times(&finished, 1), times(&finished, 2)), ((5.0, 5.0), (5.0, 8.0)));
    assert_eq!(state(&finished, 2), JobState::Cancelled);
    assert_eq!((state(&finished, 3), state(&finished, 4)), (JobState::Denied, JobState::Denied));
    assert_eq!((state(&finished, 5), times(&finished, 5)), (JobState::Failed, (8.0, 15.0)));
}

#[test]
fn passes_after_each_event_see_one_thing_at_a_time() {
    // At 100 job 1 ends early and job 3 is submitted. With one pass for all, job 2 (the head) takes the nodes; after the
    // submission alone job 3 is backfilled on the node that is free.
    let text = |pass: &str| {
        format!(
            "[site]\npass = '{pass}'\n{MACHINE}
            [[workload]]
            jobs = [
              {{ at = 0, nodes = 3, run = 100, limit = 200 }},
              {{ at = 10, nodes = 4, run = 10, limit = 50 }},
              {{ at = 100, nodes = 1, run = 20, limit = 100 }},
            ]"
        )
    };
    let (at_once, one_by_one) = (replay(&text("timestamp")), replay(&text("event")));
    assert_eq!((times(&at_once, 2).0, times(&at_once, 3).0), (100.0, 110.0));
    assert_eq!((times(&one_by_one, 2).0, times(&one_by_one, 3).0), (120.0, 100.0));
}

/// Queues that overlap, switches, failures, housekeeping: a bit of everything.
fn busy() -> String {
    let mut text = "[site]\nstopped = ['night']\non-node-fail = 'requeue'\n\
                    housekeeping = { duration = 20, jitter = 40, stuck = 0.01, stuck-for = 600 }\n\
                    [graph]\nuniform = { nodes = 48, cores = 2, properties = { fast = 'node[0-23]' } }\n\
                    [policy.scheduler]\nqueue-policy = 'easy'\n\
                    [queues.day]\nhosts = 'node[0-39]'\n[queues.debug]\nhosts = 'node[40-47]'\n\
                    [queues.night]\nhosts = 'node[16-39]'\npolicy.scheduler = { queue-policy = 'easy', precedence = 5 }\n\
                    [[workload]]\n[workload.generate]\nseed = 5\njobs = 1500\nload = 0.9\nnodes = 48\n\
                    sizes = { dist = 'log-uniform', min = 1, max = 16 }\n\
                    run = { dist = 'log-uniform', min = 60, max = 14400 }\n\
                    limit = { dist = 'uniform', min = 1, max = 3 }\n\
                    queues = { day = 6, debug = 2, night = 2 }\nconstraint = { share = 0.1, properties = ['fast'] }\nusers = 9\n"
        .to_owned();
    text += "[[action]]\nname = 'night'\ntold = '6h'\nat = '12h'\ndo = 'queue-start'\nqueue = 'night'\nevery = '1d'\ntimes = 3\n\
             [[action]]\nname = 'day'\nat = '20h'\ndo = 'switch'\nrelease = ['night']\nevery = '1d'\ntimes = 3\n\
             [[action]]\nat = '13h'\ndo = 'fail'\nnodes = 'node[18-20]'\n\
             [[action]]\nat = '30h'\ndo = 'return'\nnodes = 'node[18-20]'\n\
             [[action]]\nat = '15h'\ndo = 'drain'\nnodes = 'node1'\nreason = 'fan'\n\
             [[action]]\nat = '25h'\ndo = 'undrain'\nnodes = 'node1'\n";
    text
}

#[test]
fn one_digest_for_one_input_whatever_the_threads() {
    let digest = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| replay(&busy()).outcome.report.digest)
    };
    let once = digest(1);
    assert_eq!([digest(1), digest(2), digest(8)], [once.clone(), once.clone(), once.clone()]);
    let other = busy().replace("seed = 5", "seed = 6");
    assert_ne!(replay(&other).outcome.report.digest, once);
}

#[test]
fn what_moved_is_told() {
    let finished = replay(&busy());
    let donations = &finished.outcome.report.donations;
    assert!(donations.moved > 0 && donations.max_s >= donations.mean_s, "{donations:?}");
    let told: u32 = finished.outcome.donations.iter().map(|row| row.moved).sum();
    assert_eq!(u64::from(told), donations.moved);
    assert!(
        finished.outcome.donations.iter().any(|row| &*row.donor == "day" && row.recipient.as_deref() == Some("night"))
    );
    assert_eq!(finished.outcome.report.queues.len(), 3);
    let by_queue: u64 = finished.outcome.report.queues.values().map(|q| q.jobs.submitted).sum();
    assert_eq!(by_queue, finished.outcome.report.total.jobs.submitted);
}

#[test]
fn a_failed_expectation_says_what_was_found() {
    let finished = replay(&format!(
        "{MACHINE}
        [[workload]]
        jobs = [{{ at = 0, nodes = 2, run = 100, limit = 200 }}]
        [[expect]]
        key = 'jobs.completed'
        eq = 1
        [[expect]]
        job = 1
        starts = [5, 9]
        on = 'node[2-3]'
        [[expect]]
        at = 50
        owner = {{ default = 'node[0-3]' }}"
    ));
    let verdicts = judge(&finished);
    let failures: Vec<Option<&str>> = verdicts.iter().map(|v| v.failure.as_deref()).collect();
    assert_eq!(failures, [None, Some("it starts at 0, expected 5 to 9; it got node0"), None]);
}

#[test]
fn a_replay_stops_when_it_is_told_to() {
    let finished = replay(&format!(
        "[site]\nuntil = 50\n{MACHINE}
        [[workload]]
        jobs = [{{ at = 0, nodes = 4, run = 100, limit = 200 }}, {{ at = 10, nodes = 1, run = 1, limit = 2 }},
                {{ at = 60, nodes = 1, run = 1, limit = 2 }}]"
    ));
    let jobs = finished.outcome.report.total.jobs;
    assert_eq!((jobs.submitted, jobs.running, jobs.pending), (2, 1, 1));
    assert_eq!(finished.outcome.end, Timestamp::from_secs(50));
}

#[test]
fn what_a_scenario_names_wrongly_is_refused_before_the_replay() {
    let cases = [
        (
            format!("[site]\nstopped = ['x']\n{MACHINE}"),
            "`stopped` names the queue x, which is not configured; there are: ",
        ),
        (
            "[graph]\nuniform = { nodes = 2, cores = 1, properties = { a = 'node7' } }".to_owned(),
            "property a: no host node7 in the graph",
        ),
        (
            format!(
                "{MACHINE}\n[[workload]]\njobs = [{{ id = 1, at = 0, nodes = 1, run = 1 }}, {{ id = 1, at = 3, nodes = 1, run = 1 }}]"
            ),
            "job 1 stands in the workload twice, submitted at 0 and at 3: ids must be unique",
        ),
    ];
    for (text, expected) in cases {
        match try_replay(&text) {
            Ok(_) => panic!("not refused: {expected}"),
            Err(error) => assert_eq!(error.to_string(), expected),
        }
    }
}
