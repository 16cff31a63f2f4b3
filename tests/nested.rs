//! Instances in the jobs of others: what they inherit, how they end, and that nothing depends on threads or crashes.

use proptest::prelude::*;
use sluice::base::{Duration, JobId};
use sluice::replay::assembly::{Finished, RunOptions, assemble};
use sluice::replay::book::JobState;
use sluice::replay::nested::LevelFigures;
use sluice::replay::scenario::Scenario;
use std::fmt::Write as _;
use std::path::Path;

fn replay_with(text: &str, restart_every: Option<i64>) -> Finished {
    let scenario = Scenario::parse(text, Path::new("test.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let options = RunOptions { check: true, ..RunOptions::default() };
    let mut replay = assemble(scenario, options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    if let Some(seconds) = restart_every {
        replay.restart_every(Duration::from_secs(seconds));
    }
    let finished = replay.run().unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(finished.outcome.broken.is_empty(), "{:?}\n{text}", finished.outcome.broken);
    finished
}

fn replay(text: &str) -> Finished {
    replay_with(text, None)
}

fn levels(finished: &Finished) -> &[LevelFigures] {
    &finished.outcome.report.levels
}

fn state(finished: &Finished, job: u64) -> JobState {
    finished.outcome.book.state[finished.workload.slot(JobId(job)).unwrap()]
}

fn times(finished: &Finished, job: u64) -> (f64, f64) {
    let slot = finished.workload.slot(JobId(job)).unwrap();
    (finished.outcome.book.start[slot].secs_f64(), finished.outcome.book.end[slot].secs_f64())
}

const MACHINE: &str = "[graph]\nuniform = { nodes = 4, cores = 2, properties = { fast = \"node[2-3]\" } }\n[policy.scheduler]\nqueue-policy = 'conservative'\n";

/// Six jobs of one core and ten seconds.
const SIX: &str = "[instances.six]\n[[instances.six.workload]]\njobs = [{ at = 0, slots = 1, run = 10, count = 6 }]\n";

#[test]
fn a_job_ends_when_the_work_of_its_instance_is_done() {
    let done = replay(&format!("{MACHINE}[[workload]]\njobs = [{{ at = 5, nodes = 1, instance = 'six' }}]\n{SIX}"));
    assert_eq!((state(&done, 1), times(&done, 1)), (JobState::Completed, (5.0, 35.0)));
    let [top, inner] = levels(&done) else { panic!("{:?}", levels(&done)) };
    assert_eq!((top.jobs.completed, inner.jobs.completed, inner.instances, inner.done), (1, 6, 1, 1));
    assert_eq!((inner.core_s, inner.span_s, inner.wait_max_s, inner.most_pending), (60.0, 30.0, 20.0, 6));
}

#[test]
fn the_limit_of_the_job_ends_the_instance_and_its_jobs() {
    let cut = replay(&format!(
        "{MACHINE}[[workload]]\njobs = [{{ at = 0, nodes = 1, limit = 15, instance = 'six' }}]\n{SIX}"
    ));
    assert_eq!((state(&cut, 1), times(&cut, 1)), (JobState::Failed, (0.0, 15.0)));
    let inner = &levels(&cut)[1];
    assert_eq!((inner.limited, inner.jobs.completed, inner.jobs.cancelled, inner.jobs.submitted), (1, 2, 4, 6));
    assert_eq!(inner.core_s, 30.0);
}

#[test]
fn an_instance_ends_with_its_job() {
    for (deed, ended) in
        [("do = 'cancel'\njob = 1", JobState::Cancelled), ("do = 'fail'\nnodes = 'node0'", JobState::Failed)]
    {
        let text = format!(
            "{MACHINE}[[workload]]\njobs = [{{ at = 0, nodes = 1, instance = 'six' }}]\n{SIX}[[action]]\nat = 12\n{deed}\n"
        );
        let cut = replay(&text);
        assert_eq!((state(&cut, 1), times(&cut, 1)), (ended, (0.0, 12.0)), "{deed}");
        let inner = &levels(&cut)[1];
        assert_eq!((inner.cut, inner.jobs.completed, inner.jobs.cancelled, inner.core_s), (1, 2, 4, 24.0), "{deed}");
    }
}

#[test]
fn a_requeued_job_runs_its_instance_again() {
    let text = format!(
        "[site]\non-node-fail = 'requeue'\n{MACHINE}[[workload]]\njobs = [{{ at = 0, nodes = 1, instance = 'six' }}]\n{SIX}\
        [[action]]\nat = 12\ndo = 'fail'\nnodes = 'node0'\n"
    );
    let again = replay(&text);
    assert_eq!((state(&again, 1), times(&again, 1)), (JobState::Completed, (12.0, 42.0)));
    let inner = &levels(&again)[1];
    assert_eq!((inner.instances, inner.cut, inner.done), (2, 1, 1));
    assert_eq!((inner.jobs.completed, inner.jobs.cancelled, inner.jobs.submitted), (8, 4, 12));
}

#[test]
fn another_limit_moves_the_end() {
    let text = |limit: u32| {
        format!(
            "{MACHINE}[[workload]]\njobs = [{{ at = 0, nodes = 1, limit = 25, instance = 'six' }}]\n{SIX}\
            [[action]]\nat = 12\ndo = 'relimit'\njob = 1\nlimit = {limit}\n"
        )
    };
    let longer = replay(&text(100));
    assert_eq!((state(&longer, 1), times(&longer, 1), levels(&longer)[1].done), (JobState::Completed, (0.0, 30.0), 1));
    let shorter = replay(&text(14));
    assert_eq!((state(&shorter, 1), times(&shorter, 1)), (JobState::Failed, (0.0, 14.0)));
    let passed = replay(&text(5));
    assert_eq!((state(&passed, 1), times(&passed, 1)), (JobState::Failed, (0.0, 12.0)));
}

#[test]
fn the_end_of_the_replay_leaves_instances_as_they_are() {
    let text =
        format!("[site]\nuntil = 15\n{MACHINE}[[workload]]\njobs = [{{ at = 0, nodes = 1, instance = 'six' }}]\n{SIX}");
    let open = replay(&text);
    assert_eq!(state(&open, 1), JobState::Running);
    let inner = &levels(&open)[1];
    assert_eq!((inner.done, inner.jobs.completed, inner.jobs.running, inner.jobs.pending), (0, 2, 2, 2));
}

#[test]
fn instances_inherit_properties_parts_and_pools() {
    let text = "[graph]\nuniform = { nodes = 4, cores = 4, properties = { fast = \"node[2-3]\" } }\n\
        [[resource.pool]]\ntype = 'licence'\nsize = 5\n\
        [[workload]]\njobs = [{ at = 0, nodes = 2, cores = 2, properties = ['fast'], pools = { licence = 2 }, instance = 'part' }]\n\
        [instances.part]\nset = ['queues.f.requires=[\"fast\"]', 'policy.scheduler.queue-policy=\"easy\"']\n\
        [[instances.part.workload]]\njobs = [\n\
        { at = 0, queue = 'f', slots = 1, run = 10, count = 8 },\n\
        { at = 0, queue = 'f', slots = 5, run = 10 },\n\
        { at = 0, queue = 'f', slots = 1, run = 10, pools = { licence = 2 } },\n\
        { at = 0, queue = 'f', slots = 1, run = 10, pools = { licence = 3 } },\n\
        { at = 0, queue = 'f', slots = 1, run = 10, properties = ['^fast'] },\n]\n";
    let inner = levels(&replay(text))[1].clone();
    // Four cores and two licences: five slots, three licences and nodes that are not fast cannot be had.
    assert_eq!((inner.jobs.completed, inner.jobs.denied, inner.span_s), (9, 3, 30.0));
}

#[test]
fn a_configuration_that_does_not_fit_ends_the_replay() {
    let text = format!(
        "{MACHINE}[[workload]]\njobs = [{{ at = 0, nodes = 1, instance = 'odd' }}]\n\
        [instances.odd]\nset = ['queues.q.hosts=\"node3\"']\n[[instances.odd.workload]]\njobs = [{{ at = 0, slots = 1, run = 1 }}]"
    );
    let scenario = Scenario::parse(&text, Path::new("test.toml")).unwrap();
    let error = assemble(scenario, RunOptions::default()).unwrap().run().map(|_| ()).unwrap_err();
    insta::assert_snapshot!(error, @"job 1 cannot run the instance odd: queue q: host node3 is not in the inventory");
}

#[test]
fn slips_are_told() {
    let text = format!(
        "[site]\nepoch = 2026-01-01\n{MACHINE}[[workload]]\njobs = [\n{{ at = 0, nodes = 1, instance = 'sixx' }},\n\
        {{ at = 0, nodes = 1, instance = 'six', run = 4 }},\n{{ at = 0, nodes = 1 }},\n]\n{SIX}\
        [instances.loop]\n[[instances.loop.workload]]\njobs = [{{ at = 0, slots = 1, instance = 'back' }}]\n\
        [instances.back]\n[[instances.back.workload]]\njobs = [{{ at = 0, slots = 1, instance = 'loop' }}]\n\
        [instances.none]\nconfg = 'x'\n\
        [instances.wall]\n[[instances.wall.workload]]\njobs = [{{ at = '18:00', queue = 'nobody', slots = 1, run = 1 }}]\n\
        [instances.has]\nset = ['resource.path=\"R\"']\n[[instances.has.workload]]\njobs = []\n"
    );
    let errors = Scenario::parse(&text, Path::new("test.toml")).unwrap_err();
    insta::assert_snapshot!(errors, @r#"
    test.toml:9: `instance`: expected an instance of this scenario (there are six, loop, back, none, wall, has; did you mean `six`?), found "sixx"
    test.toml:10: a job with `instance` takes no `run`: it ends when the work of the instance is done
    test.toml:11: a job needs the key `run` or `instance`
    test.toml:16: [instances.loop] runs itself: back, loop
    test.toml:19: [instances.back] runs itself: loop, back
    test.toml:22: [instances.none] needs the key `workload`
    test.toml:23: unknown key `confg` in [instances.none] (did you mean `config`?)
    test.toml:26: `at`: expected a time that needs no epoch, or an `epoch` in [site]; `18:00` is on the wall clock, found "18:00"
    test.toml:26: `queue`: expected a queue of the instance wall (there are default), found "nobody"
    test.toml:27: [instances.has]: it has what its job holds: take [resource] out of its configuration
    "#);
}

/// An instance of a random workload.
#[derive(Clone, Debug)]
struct Tree {
    policy: &'static str,
    jobs: Vec<Job>,
}

/// Submit time, slots, run time, limit, what it runs.
type Job = (u32, u32, u32, Option<u32>, Option<Tree>);

fn tree(depth: u32) -> BoxedStrategy<Tree> {
    let policy = prop::sample::select(vec!["fcfs", "easy", "conservative", "hybrid"]);
    let inner = if depth == 0 {
        Just(None).boxed()
    } else {
        prop_oneof![2 => Just(None), 1 => tree(depth - 1).prop_map(Some)].boxed()
    };
    let job = (0..40u32, 1..6u32, 0..30u32, prop::option::of(1..60u32), inner);
    (policy, prop::collection::vec(job, 1..6)).prop_map(|(policy, jobs)| Tree { policy, jobs }).boxed()
}

impl Tree {
    /// The jobs as a scenario has them; instances that they run are added to `tables`.
    fn jobs(&self, tables: &mut String, names: &mut u32) -> String {
        let mut text = "jobs = [\n".to_owned();
        for (at, slots, run, limit, inner) in &self.jobs {
            let limit = limit.map_or(String::new(), |limit| format!(", limit = {limit}"));
            let what = match inner {
                None => format!("run = {run}"),
                Some(inner) => {
                    *names += 1;
                    let name = format!("i{names}");
                    let jobs = inner.jobs(tables, names);
                    let set = format!("policy.scheduler.queue-policy=\"{}\"", inner.policy);
                    let _ =
                        writeln!(tables, "[instances.{name}]\nset = ['{set}']\n[[instances.{name}.workload]]\n{jobs}");
                    format!("instance = '{name}'")
                }
            };
            let _ = writeln!(text, "{{ at = {at}, slots = {slots}, {what}{limit} }},");
        }
        text + "]\n"
    }

    fn scenario(&self, actions: &str) -> String {
        let mut tables = String::new();
        let jobs = self.jobs(&mut tables, &mut 0);
        format!(
            "[site]\non-node-fail = 'requeue'\n[graph]\nuniform = {{ nodes = 3, cores = 2 }}\n\
            [policy.scheduler]\nqueue-policy = '{}'\n[[workload]]\n{jobs}{tables}{actions}",
            self.policy
        )
    }
}

fn actions() -> impl Strategy<Value = String> {
    let action = prop_oneof![
        (1..6u32).prop_map(|job| format!("do = 'cancel'\njob = {job}\n")),
        (0..3u32).prop_map(|node| format!("do = 'fail'\nnodes = 'node{node}'\n")),
        (0..3u32).prop_map(|node| format!("do = 'return'\nnodes = 'node{node}'\n")),
        (1..6u32, 1..50u32).prop_map(|(job, limit)| format!("do = 'relimit'\njob = {job}\nlimit = {limit}\n")),
    ];
    let one = (0..80u32, action).prop_map(|(at, action)| format!("[[action]]\nat = {at}\n{action}"));
    prop::collection::vec(one, 0..4).prop_map(|all| all.concat())
}

fn in_threads(threads: usize, run: impl FnOnce() -> Finished + Send) -> String {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| run().outcome.report.digest)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Random trees of instances, with jobs cancelled, nodes that fail and limits that change: all invariants hold at every
    /// level, the sums add up, and neither threads nor crashes of the sites change what is decided.
    #[test]
    fn random_trees_keep_the_invariants(tree in tree(2), actions in actions(), every in 1..25i64) {
        let text = tree.scenario(&actions);
        let finished = replay(&text);
        for level in levels(&finished) {
            let jobs = &level.jobs;
            let ends = jobs.completed + jobs.failed + jobs.cancelled + jobs.denied;
            prop_assert_eq!(jobs.submitted, ends + jobs.pending + jobs.held + jobs.running, "{}", &text);
        }
        // What an instance's jobs held lies within what its job held.
        for pair in levels(&finished).windows(2) {
            prop_assert!(pair[1].core_s <= pair[0].core_s + 1e-6 || pair[0].jobs.running > 0, "{}", &text);
        }
        let digest = &finished.outcome.report.digest;
        for threads in [1, 2, 8] {
            prop_assert_eq!(&in_threads(threads, || replay(&text)), digest, "{} threads: {}", threads, &text);
        }
        let crashed = replay_with(&text, Some(every));
        prop_assert_eq!(&crashed.outcome.book.start, &finished.outcome.book.start, "{}", &text);
        prop_assert_eq!(&crashed.outcome.book.end, &finished.outcome.book.end, "{}", &text);
        let jobs = |finished: &Finished| levels(finished).iter().map(|l| (l.jobs, l.core_s)).collect::<Vec<_>>();
        prop_assert_eq!(jobs(&crashed), jobs(&finished), "{}", &text);
    }
}
