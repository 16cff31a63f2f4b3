//! One scenario in four architectures: where they must agree, where they may differ, and that invariants hold in each.

use proptest::prelude::*;
use sluice::base::{JobId, Timestamp};
use sluice::replay::assembly::{Architecture, Finished, RunOptions, assemble_in};
use sluice::replay::scenario::Scenario;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Replays a scenario with all checks.
fn replay(architecture: Architecture, text: &str) -> Finished {
    let scenario = Scenario::parse(text, Path::new("scenario.toml")).expect("a scenario");
    let options = RunOptions { check: true, ..RunOptions::default() };
    let finished = assemble_in(architecture, scenario, options).expect("an assembly").run().expect("a run");
    assert_eq!(finished.outcome.broken, [], "{architecture}:\n{text}");
    finished
}

type Starts = BTreeMap<JobId, Timestamp>;

fn starts(architecture: Architecture, text: &str) -> Starts {
    let finished = replay(architecture, text);
    let (jobs, book) = (finished.workload.jobs(), &finished.outcome.book);
    (0..jobs.len()).map(|slot| (jobs[slot].id, book.start[slot])).collect()
}

/// One job: when it comes, its queue, its nodes, how long it runs, how much longer it asks for.
type Job = (u32, usize, u32, u32, u32);

/// Jobs that fit `nodes` nodes of `queues` queues.
fn jobs(queues: usize, nodes: u32) -> impl Strategy<Value = Vec<Job>> {
    let job = (0..400u32, 0..queues, 1..=nodes, 1..90u32, 0..60u32);
    prop::collection::vec(job, 1..40)
}

const POLICIES: [&str; 4] = ["fcfs", "easy", "hybrid", "conservative"];

fn scenario(policy: &str, nodes: u32, queues: &[(&str, String, i32)], jobs: &[Job], more: &str) -> String {
    let mut text = format!(
        "{more}\n[graph]\ntext = \"\"\"\ncluster c\n  node n[0-{}] cores=1\n\"\"\"\n[policy.scheduler]\nqueue-policy = \"{policy}\"\noverlap = \"take\"\n",
        nodes - 1
    );
    for (name, hosts, precedence) in queues {
        let scheduler = format!("{{ queue-policy = \"{policy}\", overlap = \"take\", precedence = {precedence} }}");
        let _ = writeln!(text, "[queues.{name}]\nhosts = \"{hosts}\"\npolicy.scheduler = {scheduler}");
    }
    let _ = writeln!(text, "[[workload]]\njobs = [");
    for (id, (at, queue, nodes, run, more)) in (1..).zip(jobs) {
        let (queue, limit) = (queues[*queue].0, run + more);
        let _ = writeln!(
            text,
            "  {{ id = {id}, at = {at}, queue = \"{queue}\", nodes = {nodes}, run = {run}, limit = {limit} }},"
        );
    }
    text + "]\n"
}

fn disjoint(policy: &str, jobs: &[Job]) -> String {
    let queues = [("a", "n[0-3]".into(), 0), ("b", "n[4-7]".into(), 1), ("c", "n[8-11]".into(), 0)];
    scenario(policy, 12, &queues, jobs, "")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn one_queue_is_the_same_everywhere(policy in prop::sample::select(&POLICIES[..]), jobs in jobs(1, 6)) {
        let text = scenario(policy, 6, &[("only", "n[0-5]".into(), 0)], &jobs, "");
        let ours = starts(Architecture::Donation, &text);
        for other in [Architecture::Shared, Architecture::Split, Architecture::Managers] {
            prop_assert_eq!(&starts(other, &text), &ours, "{}", other);
        }
    }

    #[test]
    fn queues_with_nodes_of_their_own_are_the_same_with_a_scheduler_each(
        policy in prop::sample::select(&POLICIES[..]),
        jobs in jobs(3, 4),
    ) {
        let text = disjoint(policy, &jobs);
        let ours = starts(Architecture::Donation, &text);
        for other in [Architecture::Split, Architecture::Managers] {
            prop_assert_eq!(&starts(other, &text), &ours, "{}", other);
        }
    }

    /// Where every job has a reservation, who stands before a job on other nodes does not matter. Under fcfs it is all that
    /// matters: nobody starts before one that stands earlier in the one order, and so nobody earlier than in a queue of
    /// its own.
    #[test]
    fn one_scheduler_differs_through_its_order_alone(jobs in jobs(3, 4)) {
        let text = disjoint("conservative", &jobs);
        prop_assert_eq!(starts(Architecture::Shared, &text), starts(Architecture::Donation, &text));
        let text = disjoint("fcfs", &jobs);
        let (shared, ours) = (starts(Architecture::Shared, &text), starts(Architecture::Donation, &text));
        let mut order: Vec<(u32, JobId)> = (1..).zip(&jobs).map(|(id, job)| (job.0, JobId(id))).collect();
        order.sort_unstable();
        for pair in order.windows(2) {
            prop_assert!(shared[&pair[0].1] <= shared[&pair[1].1], "{:?}", pair);
        }
        for (job, start) in &shared {
            prop_assert!(*start >= ours[job], "{}", job);
        }
    }

    /// Queues that overlap, start, stop and change: the invariants hold, and no job is lost.
    #[test]
    fn queues_that_overlap_keep_the_invariants(
        policy in prop::sample::select(&["fcfs", "easy", "hybrid", "conservative", "conservative-compress"][..]),
        jobs in jobs(3, 4),
        precedence in 0..3,
        turns in prop::collection::vec((1..500u32, 0..6usize), 0..8),
    ) {
        let queues = [("a", "n[0-5]".into(), 0), ("b", "n[2-9]".into(), precedence), ("c", "n[0-9]".into(), 1)];
        let mut turned = String::new();
        for (at, what) in &turns {
            let _ = match what {
                0 => writeln!(turned, "[[action]]\nat = {at}\ndo = \"switch\"\nrelease = [\"a\"]\nstart = [\"b\"]"),
                1 => writeln!(turned, "[[action]]\nat = {at}\ndo = \"switch\"\nrelease = [\"b\"]\nstart = [\"a\"]"),
                2 => writeln!(turned, "[[action]]\nat = {at}\ndo = \"queue-stop\"\nqueue = \"c\""),
                3 => writeln!(turned, "[[action]]\nat = {at}\ndo = \"queue-start\"\nqueue = \"c\""),
                4 => writeln!(turned, "[[action]]\nat = {at}\ndo = \"fail\"\nnodes = \"n[3-4]\"\n[[action]]\nat = {at}\ndo = \"return\"\nnodes = \"n[3-4]\""),
                _ => writeln!(turned, "[[action]]\nat = {at}\ndo = \"queue-remove\"\nqueue = \"b\"\npending = \"hold\"\n[[action]]\nat = {at}\ndo = \"queue-create\"\nqueue = \"late\"\nconfig = {{ hosts = \"n[4-8]\" }}\n[[action]]\nat = {at}\ndo = \"queue-start\"\nqueue = \"late\"\n[[action]]\nat = {at}\ndo = \"move\"\nqueue = \"a\"\nto = \"late\""),
            };
        }
        let text = scenario(policy, 10, &queues, &jobs, "") + &turned;
        for architecture in Architecture::ALL {
            let finished = replay(architecture, &text);
            prop_assert_eq!(finished.outcome.report.total.jobs.submitted, jobs.len() as u64);
            // The same again is the same.
            let again = replay(architecture, &text).outcome.report.digest;
            prop_assert_eq!(&finished.outcome.report.digest, &again);
        }
    }
}

const OVERLAP: &str = r#"
[graph]
text = """
cluster c
  node n[0-3] cores=1
"""
[queues.low]
hosts = "n[0-3]"
[queues.high]
hosts = "n[0-1]"
policy.scheduler.precedence = 5
[[workload]]
jobs = [
  { id = 1, at = 0, queue = "low", nodes = 4, run = 100, limit = 100 },
  { id = 2, at = 10, queue = "low", nodes = 4, run = 50, limit = 50 },
  { id = 3, at = 20, queue = "high", nodes = 1, run = 10, limit = 10 },
]
"#;

fn at(architecture: Architecture, text: &str, job: u64) -> i64 {
    starts(architecture, text)[&JobId(job)].micros() / 1_000_000
}

/// By hand. Job 1 of low has all four nodes until 100, where it may, and job 2 of low waits before job 3 of high.
#[test]
fn each_architecture_gives_a_freed_node_by_its_own_rule() {
    // High owns n[0-1], so that jobs of low with four nodes wait until it gives them up.
    assert_eq!(at(Architecture::Donation, OVERLAP, 3), 20);
    let split = replay(Architecture::Split, OVERLAP);
    assert_eq!(split.outcome.report.total.jobs.denied, 2, "low has no four nodes of its own");
    // One order, fcfs: job 2 comes before job 3.
    assert_eq!((at(Architecture::Shared, OVERLAP, 2), at(Architecture::Shared, OVERLAP, 3)), (100, 150));
    // Managers: at 100 high comes first by its precedence, and job 2 has to wait for its node.
    assert_eq!((at(Architecture::Managers, OVERLAP, 3), at(Architecture::Managers, OVERLAP, 2)), (100, 110));
    // Without precedence the queue that stands first in the file comes first.
    let equal = OVERLAP.replace("policy.scheduler.precedence = 5", "policy.scheduler.overlap = \"take\"");
    assert_eq!((at(Architecture::Managers, &equal, 2), at(Architecture::Managers, &equal, 3)), (100, 150));
}

/// Starts and stops of queues stay; nothing is donated, and no start waits for its nodes or is refused.
#[test]
fn switches_are_starts_and_stops_elsewhere() {
    let text = OVERLAP.replace("policy.scheduler.precedence = 5", "")
        + "[[action]]\nat = 30\ndo = \"switch\"\nrelease = [\"low\"]\nstart = [\"high\"]\n\
           [[action]]\nat = 200\ndo = \"switch\"\nrelease = [\"high\"]\nstart = [\"low\"]\n";
    let text = format!("[site]\nstopped = [\"high\"]\n{text}");
    for architecture in [Architecture::Shared, Architecture::Managers] {
        let finished = replay(architecture, &text);
        assert_eq!(finished.outcome.refusals, [], "{architecture}");
        assert_eq!(finished.outcome.report.donations.moved, 0, "{architecture}");
        // High may start while job 1 runs to its end, as soon as a node is free; low waits until it is started again.
        assert_eq!((at(architecture, &text, 3), at(architecture, &text, 2)), (100, 200), "{architecture}");
    }
    assert_eq!(at(Architecture::Donation, &text, 3), 100, "n[0-1] arrive when job 1 ends");
}

/// Who is moved to another queue, or whose queue changes its nodes, is confined to those.
#[test]
fn one_scheduler_confines_each_job_to_the_nodes_of_its_queue() {
    let text = r#"
[graph]
text = """
cluster c
  node n[0-3] cores=1
"""
[queues.left]
hosts = "n[0-1]"
[queues.right]
hosts = "n[2-3]"
[[workload]]
jobs = [
  { id = 1, at = 0, queue = "left", nodes = 2, run = 100, limit = 100 },
  { id = 2, at = 0, queue = "left", nodes = 2, run = 100, limit = 100 },
  { id = 3, at = 0, queue = "left", nodes = 2, run = 100, limit = 100 },
  { id = 4, at = 0, queue = "left", nodes = 2, run = 100, limit = 100 },
]
[[action]]
at = 10
do = "move"
jobs = [2]
to = "right"
[[action]]
at = 150
do = "queue-change"
queue = "left"
config = { hosts = "n[1-2]" }
[[expect]]
job = 1
on = "n[0-3]"
"#;
    let finished = replay(Architecture::Shared, text);
    let on = |job: u64| {
        let slot = finished.workload.slot(JobId(job)).expect("a job");
        let selection = finished.outcome.book.selection[slot].clone().expect("it ran");
        selection.target_set().to_string()
    };
    assert_eq!([1, 2, 3, 4].map(on), ["0-1", "2-3", "0-1", "1-2"]);
    assert_eq!([1, 2, 3, 4].map(|job| at(Architecture::Shared, text, job)), [0, 10, 100, 200]);
}
