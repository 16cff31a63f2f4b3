//! The rules of one scheduler, each as a short script, and its queue policies against slow textbook schedulers.

mod scheduler_kit;

use proptest::prelude::*;
use scheduler_kit::{Bench, Only, cases, cores, d, graph, nodes, set, started, t, whole};
use sluice::base::{Duration, JobId, Timeline, Timestamp, Window, Windows};
use sluice::config::{MatchPolicy, QueuePolicy, SchedulerSettings};
use sluice::formats::count::{Count, Step};
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Reason, Shape};
use sluice::scheduler::{Input, Output, PassEnd};
use std::collections::BTreeMap;
use std::sync::Arc;

const ALL: [QueuePolicy; 5] = [
    QueuePolicy::Fcfs,
    QueuePolicy::Easy,
    QueuePolicy::Hybrid,
    QueuePolicy::Conservative,
    QueuePolicy::ConservativeCompress,
];

fn settings(queue_policy: QueuePolicy) -> SchedulerSettings {
    SchedulerSettings { queue_policy, ..SchedulerSettings::default() }
}

fn bench(n: u32, policy: QueuePolicy) -> Bench {
    Bench::new(Arc::new(Graph::uniform(n, 4, 0).expect("a graph")), Properties::new(), settings(policy))
}

impl Bench {
    /// A job for all; it is told only.
    fn job(&mut self, id: u64, n: u64, secs: i64) -> &mut Self {
        self.submit(id, 16, d(secs), nodes(n), Only::All);
        self
    }

    fn starts(&mut self, ids: &[u64]) -> &mut Self {
        let began: Vec<u64> = self.pass().iter().map(|id| id.0).collect();
        assert_eq!(began, ids, "at {}", self.now);
        self
    }

    fn why(&self, id: u64) -> Reason {
        self.scheduler.explain(JobId(id), self.now).expect("it waits")
    }
}

/// Targets, and the windows (from, until) that they share; negative: open.
type Lists<'a> = (&'a [u32], &'a [(i64, i64)]);

fn windows(lists: &[Lists<'_>]) -> Windows {
    let window = |(from, until): &(i64, i64)| Window {
        from: if *from < 0 { Timestamp::MIN } else { t(*from) },
        until: if *until < 0 { Timestamp::NEVER } else { t(*until) },
    };
    let timeline = |(ids, list): &Lists<'_>| Timeline {
        targets: set(ids.iter().copied()),
        windows: list.iter().map(window).collect(),
    };
    Windows { timelines: lists.iter().map(timeline).collect() }
}

#[test]
fn each_policy_lets_overtake_whom_it_says() {
    // Four nodes, two taken for 10 s. 2 wants four, 3 wants one for long, 4 one for short, 5 two for short.
    let script = |policy| {
        let mut b = bench(4, policy);
        b.job(1, 2, 10).starts(&[1]);
        b.job(2, 3, 5).job(3, 2, 20).job(4, 1, 20).job(5, 1, 10);
        b.pass().iter().map(|id| id.0).collect::<Vec<_>>()
    };
    assert_eq!(script(QueuePolicy::Fcfs), [] as [u64; 0]);
    // The head starts at 10 on three of four: one is left over.
    assert_eq!(script(QueuePolicy::Easy), [4, 5]);
    // 3 is planned at 15, which 4 would not delay; conservative has that too.
    assert_eq!(script(QueuePolicy::Hybrid), [4, 5]);
    assert_eq!(script(QueuePolicy::Conservative), [4, 5]);
    assert_eq!(script(QueuePolicy::ConservativeCompress), [4, 5]);
}

#[test]
fn a_job_without_time_takes_its_place_all_the_same() {
    for policy in ALL {
        let mut b = bench(2, policy);
        b.submit(1, 16, Duration::ZERO, nodes(2), Only::All);
        b.submit(2, 16, Duration::ZERO, nodes(2), Only::All);
        b.starts(&[1]).starts(&[]);
        b.free(1);
        b.starts(&[2]);
    }
}

#[test]
fn the_budget_bounds_what_is_examined_and_the_end_is_the_same() {
    for policy in ALL {
        let mut b = bench(4, policy);
        for id in 1..=9 {
            b.job(id, 1 + id % 3, 10);
        }
        let mut whole = b.clone();
        // fcfs is done with the second, which cannot start.
        let end = if policy == QueuePolicy::Fcfs { PassEnd::Done } else { PassEnd::BudgetSpent };
        let out = b.tell(Input::Pass { budget: 2 });
        assert_eq!(out.last(), Some(&Output::PassEnded { end, examined: 2 }));
        let out_none = b.tell(Input::Pass { budget: 0 });
        assert_eq!(out_none, [Output::PassEnded { end, examined: 0 }]);
        let mut began: Vec<JobId> = started(&out);
        began.extend(b.pass_by(1));
        assert_eq!(began, whole.pass(), "{policy}");
    }
}

#[test]
fn who_starts_counts_for_no_queue_depth() {
    for policy in ALL {
        let depth = SchedulerSettings { queue_depth: Some(2), ..settings(policy) };
        let mut b = Bench::new(graph(&[(4, 0); 4]), Properties::new(), depth);
        b.job(1, 1, 10).job(2, 1, 10).job(3, 1, 10).job(4, 4, 10).job(5, 4, 10).job(6, 1, 5);
        b.starts(&[1, 2, 3]);
        assert!(matches!(b.why(6), Reason::BeyondDepth | Reason::Behind { .. }), "{policy}: {:?}", b.why(6));
        b.job(7, 1, 1);
        b.starts(&[]);
    }
}

#[test]
fn what_is_down_waits_and_what_is_no_member_is_denied() {
    for policy in ALL {
        let all = set(0..8);
        let mut b = Bench::with(graph(&[(4, 0); 8]), Properties::new(), settings(policy), set(0..6), set(0..3));
        let denied = b.submit(1, 16, d(5), nodes(7), Only::All);
        assert!(
            matches!(&denied[..], [Output::Deny { reason: Reason::Unsatisfiable(s), .. }]
            if (s.asked, s.available) == (7, 6)),
            "{denied:?}"
        );
        b.job(2, 5, 5).job(3, 3, 5);
        b.starts(&[3]);
        assert!(matches!(b.why(2), Reason::NoFiniteStart(_)), "{policy}: {:?}", b.why(2));
        assert_eq!(b.planned(2), None);
        b.up(set(3..5));
        b.starts(&[]);
        let planned = (policy != QueuePolicy::Fcfs).then(|| t(5));
        assert_eq!(b.planned(2), planned, "{policy}: reconsidered when targets came up");
        b.at(4).free(3);
        b.starts(&[2]);
        b.members(all);
        assert!(b.submit(4, 16, d(5), nodes(7), Only::All).is_empty());
        let denied = b.tell(Input::Members(set(0..6)));
        assert!(matches!(&denied[..], [Output::Deny { job: JobId(4), .. }]), "{policy}: {denied:?}");
    }
}

#[test]
fn a_hopeless_job_blocks_nobody_and_counts_for_no_depth() {
    for policy in ALL {
        let depth = SchedulerSettings { queue_depth: Some(1), reservation_depth: 1, ..settings(policy) };
        let mut b = Bench::new(graph(&[(4, 0); 4]), Properties::new(), depth);
        b.down(set([3]));
        b.job(1, 4, 5).job(2, 4, 5).job(3, 3, 5).job(4, 1, 5);
        b.starts(&[3]);
        assert!(matches!(b.why(1), Reason::NoFiniteStart(_)));
        b.up(set([3]));
        b.free(3);
        b.starts(&[1]);
    }
}

#[test]
fn fcfs_waits_for_what_is_held_without_an_end() {
    let mut b = bench(4, QueuePolicy::Fcfs);
    b.submit(1, 16, Duration::INFINITE, nodes(2), Only::All);
    b.job(2, 3, 5).job(3, 1, 5);
    b.starts(&[1]).starts(&[]);
    b.at(100).free(1);
    b.starts(&[2, 3]);
}

#[test]
fn longer_than_every_window_is_said_and_blocks_nobody() {
    for policy in ALL {
        let mut b = bench(2, policy);
        b.windows(windows(&[(&[0, 1], &[(-1, 20)])]));
        b.job(1, 1, 30).job(2, 2, 15).job(3, 1, 5);
        b.starts(&[2]);
        let Reason::ExceedsWindow { limit, longest } = b.why(1) else { panic!("{policy}: {:?}", b.why(1)) };
        assert_eq!((limit, longest), (d(30), d(20)));
        b.at(10).free(2);
        b.starts(&[3]);
        b.windows(Windows::default());
        b.starts(&[1]);
    }
}

#[test]
fn windows_that_never_meet_block_nobody() {
    for policy in ALL {
        let mut b = bench(4, policy);
        b.windows(windows(&[(&[0, 1], &[(-1, 20)]), (&[2, 3], &[(30, 60)])]));
        b.down(set([2, 3]));
        b.job(1, 3, 5).job(2, 1, 5);
        b.starts(&[2]);
        assert_eq!(b.planned(1), None, "{policy}");
    }
}

#[test]
fn what_arrives_is_planned_on_and_started_on_when_it_came() {
    for policy in ALL {
        let mut b = bench(4, policy);
        b.windows(windows(&[(&[2, 3], &[(50, 100)])]));
        b.down(set([2, 3]));
        b.job(1, 4, 20).job(2, 1, 40);
        if policy == QueuePolicy::Fcfs {
            b.starts(&[]);
        } else {
            b.starts(&[2]);
            assert_eq!(b.planned(1), Some(t(50)));
            b.at(40).free(2);
        }
        b.at(50).up(set([2, 3]));
        b.starts(&[1]);
    }
}

#[test]
fn the_margin_keeps_a_job_from_the_end_of_its_window() {
    for (margin, fits) in [(5, true), (6, false)] {
        let tight = SchedulerSettings { release_margin: d(margin), ..settings(QueuePolicy::Easy) };
        let mut b = Bench::new(graph(&[(4, 0)]), Properties::new(), tight);
        b.windows(windows(&[(&[0], &[(-1, 15)])]));
        b.job(1, 1, 10).starts(if fits { &[1] } else { &[] });
    }
}

#[test]
fn a_window_that_opens_is_a_reason_to_wake_up() {
    for policy in ALL {
        let mut b = bench(1, policy);
        b.windows(windows(&[(&[0], &[(10, -1)])]));
        b.job(1, 1, 5).starts(&[]);
        assert_eq!(b.scheduler.next_wakeup(), Some(t(10)), "{policy}");
        b.at(10);
        assert!(b.scheduler.needs_pass(t(10)));
        b.starts(&[1]);
    }
}

#[test]
fn a_held_target_arrives_no_earlier_than_its_holder_ends() {
    for policy in [QueuePolicy::Easy, QueuePolicy::Conservative, QueuePolicy::ConservativeCompress] {
        let mut b = bench(2, policy);
        b.job(1, 2, 100).starts(&[1]);
        b.down(set([1]));
        b.windows(windows(&[(&[1], &[(50, -1)])]));
        b.job(2, 1, 10).job(3, 2, 10).starts(&[]);
        assert_eq!((b.planned(2)), Some(t(100)), "{policy}: target 1 is held until 100");
        b.at(60).up(set([1]));
        b.starts(&[]);
        b.at(70).free(1);
        b.starts(&[2]);
    }
}

#[test]
fn an_overrun_puts_the_end_off_twice_as_far_each_time() {
    let slack = SchedulerSettings { overrun_slack: d(10), ..settings(QueuePolicy::Easy) };
    let mut b = Bench::new(graph(&[(4, 0); 2]), Properties::new(), slack);
    b.job(1, 2, 5).job(2, 1, 5).starts(&[1]);
    for (at, end) in [(5, 15), (15, 35), (35, 75), (100, 155)] {
        b.at(at).starts(&[]);
        assert_eq!(b.scheduler.planned_end(JobId(1)), Some(t(end)));
        assert_eq!(b.planned(2), Some(t(end)), "never counted free");
    }
    b.expiration(1, d(200));
    b.starts(&[]);
    assert_eq!(b.planned(2), Some(t(200)));
    b.free_part(1, set([0]));
    b.starts(&[2]);
    assert_eq!(b.targets(2), [0]);
}

#[test]
fn a_range_gets_the_most_there_is_but_reserves_the_least() {
    let range = |min, max| whole(Count::range(min, Some(max), Step::Mul(2)).expect("a range"));
    for policy in ALL {
        let mut b = bench(7, policy);
        b.submit(1, 16, d(10), range(1, 16), Only::All);
        b.starts(&[1]);
        assert_eq!(b.targets(1), [0, 1, 2, 3]);
        if policy != QueuePolicy::Fcfs {
            b.submit(2, 16, d(10), range(4, 8), Only::All);
            b.job(3, 3, 10);
            b.starts(&[3]);
            assert_eq!(b.planned(2), Some(t(10)));
        }
    }
}

#[test]
fn promises_survive_whatever_changes_the_plan() {
    // Job 3 may only have node 0; job 2 stands there first unless it is remembered that it does not.
    let mut b = bench(2, QueuePolicy::ConservativeCompress);
    let mut properties = Properties::new();
    properties.set_all("x", &set([0]));
    b.properties(properties);
    b.submit(1, 16, d(10), nodes(2), Only::All);
    b.starts(&[1]);
    b.submit(3, 16, d(10), nodes(1), Only::With("x"));
    b.submit(2, 17, d(5), nodes(1), Only::With("x"));
    b.submit(4, 16, d(50), nodes(1), Only::All);
    b.starts(&[]);
    let promised: Vec<_> = [2, 3, 4].iter().map(|id| b.planned(*id)).collect();
    assert_eq!(promised, [Some(t(10)), Some(t(15)), Some(t(10))]);
    let check = |b: &Bench| {
        let now: Vec<_> = [2, 3, 4].iter().map(|id| b.planned(*id)).collect();
        assert_eq!(now, promised);
    };
    // To plans by target and back, with other classes, after an up, in another scheduler.
    b.submit(5, 1, d(1000), Shape::Slots { slots: Count::fixed(8), slot: cores(1) }, Only::All);
    b.starts(&[]);
    check(&b);
    b.cancel(5);
    b.starts(&[]);
    check(&b);
    b.submit(6, 1, d(1000), nodes(1), Only::Hosts(1, 1));
    b.starts(&[]);
    check(&b);
    b.up(set([0, 1]));
    b.heir = Some(b.rebuilt());
    b.starts(&[]);
    check(&b);
    b.at(10).free(1);
    b.starts(&[2, 4]);
    assert_eq!(b.targets(4), [1]);
}

#[test]
fn new_targets_serve_parts_too() {
    let slots = |n| Shape::Slots { slots: Count::fixed(n), slot: cores(1) };
    let mut b = bench(1, QueuePolicy::Easy);
    b.submit(1, 16, d(10), slots(3), Only::All);
    b.starts(&[1]);
    let larger = b.ledger.graph.extend(&graph(&[(4, 0), (4, 0)])).expect("an addition").graph;
    b.graph(Arc::new(larger));
    b.members(set(0..2));
    b.up(set([1]));
    b.submit(2, 16, d(10), slots(3), Only::All);
    b.starts(&[2]);
    assert_eq!(b.targets(2), [0, 1]);
}

#[test]
fn another_match_policy_is_that_of_what_waits() {
    let shape = || Shape::Nodes { nodes: Count::fixed(1), slots: Count::fixed(1), slot: cores(1) };
    let exclusive = SchedulerSettings { match_policy: MatchPolicy::Firstnodex, ..settings(QueuePolicy::Easy) };
    let mut b = Bench::new(graph(&[(4, 0)]), Properties::new(), exclusive);
    b.submit(1, 16, d(10), shape(), Only::All);
    b.submit(2, 16, d(10), shape(), Only::All);
    b.submit(3, 16, d(10), shape(), Only::All);
    b.starts(&[1]);
    b.policy(settings(QueuePolicy::Easy));
    b.heir = Some(b.rebuilt());
    b.starts(&[]);
    b.free(1);
    b.starts(&[2, 3]);
    assert_eq!(b.scheduler.running()[0].job.request.shape, shape(), "as it was asked for");
}

#[test]
fn a_denied_job_leaves_no_trace_in_the_plans() {
    let mut b = bench(4, QueuePolicy::Conservative);
    b.submit(1, 16, d(10), nodes(3), Only::Hosts(0, 1));
    b.job(2, 2, 10).job(3, 2, 20).job(4, 3, 10).starts(&[2, 3]);
    b.heir = Some(b.rebuilt());
    b.job(5, 1, 5).starts(&[]);
}

/// A slow scheduler of identical processors, as in the textbooks: when each job starts, by submit order.
fn textbook(policy: QueuePolicy, size: i64, jobs: &[(i64, i64, i64, i64)]) -> Vec<i64> {
    let mut start: Vec<Option<i64>> = vec![None; jobs.len()];
    let mut now = 0;
    // How many are used at an instant, as is planned at `now`.
    let used = |start: &[Option<i64>], plan: &BTreeMap<usize, i64>, at: i64, now: i64| -> i64 {
        let one = |(i, (_, n, limit, run)): (usize, &(i64, i64, i64, i64))| match (start[i], plan.get(&i)) {
            (Some(s), _) if s + run > now && s <= at && at < s + limit => *n,
            (None, Some(s)) if *s <= at && at < s + limit => *n,
            _ => 0,
        };
        jobs.iter().enumerate().map(one).sum()
    };
    while start.iter().any(Option::is_none) {
        let mut plan: BTreeMap<usize, i64> = BTreeMap::new();
        for (i, (submit, n, limit, _)) in jobs.iter().enumerate() {
            if start[i].is_some() || *submit > now {
                continue;
            }
            let fits = |at: i64| (at..at + limit).all(|s| used(&start, &plan, s, now) + n <= size);
            let reserve = match policy {
                QueuePolicy::Fcfs | QueuePolicy::Easy => plan.is_empty(),
                _ => true,
            };
            if fits(now) {
                start[i] = Some(now);
            } else if policy == QueuePolicy::Fcfs {
                break;
            } else if reserve {
                let at = (now..).find(|at| fits(*at)).expect("it fits in the end");
                plan.insert(i, at);
            }
        }
        let ends = jobs.iter().zip(&start).filter_map(|(j, s)| Some((*s)? + j.3));
        now = ends.chain(jobs.iter().map(|j| j.0)).filter(|at| *at > now).min().unwrap_or(now + 1);
    }
    start.into_iter().flatten().collect()
}

/// Runs jobs (submit, nodes, limit, run, property) through a scheduler; when each starts.
fn simulate(bench: &mut Bench, jobs: &[(i64, i64, i64, i64, Only)]) -> Vec<i64> {
    let mut starts = vec![-1; jobs.len()];
    let mut now = 0;
    loop {
        bench.at(now);
        for id in bench.ledger.running() {
            let i = id.0 as usize;
            if starts[i] + jobs[i].3 == now {
                bench.free(id.0);
            }
        }
        for (i, (submit, n, limit, _, only)) in jobs.iter().enumerate() {
            if *submit == now {
                bench.submit(i as u64, 16, d(*limit), nodes(*n as u64), only.clone());
            }
        }
        for id in bench.pass() {
            starts[id.0 as usize] = now;
        }
        let ends = jobs.iter().zip(&starts).filter(|(_, s)| **s >= 0).map(|(j, s)| s + j.3);
        match ends.chain(jobs.iter().map(|j| j.0)).filter(|at| *at > now).min() {
            Some(next) => now = next,
            None => return starts,
        }
    }
}

fn trace() -> impl Strategy<Value = Vec<(i64, i64, i64, i64)>> {
    let job = (0i64..4, 1i64..7, 1i64..12, 0i64..12);
    prop::collection::vec(job, 1..22).prop_map(|jobs| {
        let mut submit = 0;
        let place = |(gap, n, limit, early): (i64, i64, i64, i64)| {
            submit += gap;
            (submit, n, limit, (limit - early).max(1))
        };
        jobs.into_iter().map(place).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn identical_nodes_give_the_textbook_schedules(size in 6i64..9, jobs in trace()) {
        let same: Vec<_> = jobs.iter().map(|j| (j.0, j.1, j.2, j.3, Only::All)).collect();
        for policy in [QueuePolicy::Fcfs, QueuePolicy::Easy, QueuePolicy::Conservative] {
            let starts = simulate(&mut bench(size as u32, policy), &same);
            prop_assert_eq!(starts, textbook(policy, size, &jobs), "{}", policy);
        }
        // With as many reservations as jobs, hybrid is conservative; with one it is easy.
        for (reservation_depth, like) in [(1, QueuePolicy::Easy), (64, QueuePolicy::Conservative)] {
            let hybrid = SchedulerSettings { reservation_depth, ..settings(QueuePolicy::Hybrid) };
            let mut bench = Bench::new(graph(&vec![(1, 0); size as usize]), Properties::new(), hybrid);
            prop_assert_eq!(simulate(&mut bench, &same), textbook(like, size, &jobs), "hybrid {}", reservation_depth);
        }
    }

    /// The same when every target has a plan of its own, since a job for parts waits for a target that is down. (easy
    /// and the others name the targets of a reservation then, so that they are not the textbook's.)
    #[test]
    fn fcfs_by_target_is_the_textbooks_too(size in 6i64..9, jobs in trace()) {
        let same: Vec<_> = jobs.iter().map(|j| (j.0, j.1, j.2, j.3, Only::All)).collect();
        let mut bench = bench(size as u32 + 1, QueuePolicy::Fcfs);
        let last = size as u32;
        bench.down(set([last]));
        let shape = Shape::Slots { slots: Count::fixed(1), slot: cores(1) };
        bench.submit(1_000_000, 20, d(1), shape, Only::Hosts(last, last));
        prop_assert_eq!(simulate(&mut bench, &same), textbook(QueuePolicy::Fcfs, size, &jobs));
    }

    /// Jobs of two halves that share nothing are scheduled as by two schedulers, where every job is reserved.
    #[test]
    fn halves_that_share_nothing_do_not_meet(jobs in trace(), sides in any::<u32>()) {
        let mut properties = Properties::new();
        properties.set_all("a", &set((0..12).filter(|i| i % 2 == 0)));
        let side = |i: usize| sides >> (i % 32) & 1 == 0;
        let both: Vec<_> = jobs.iter().enumerate().map(|(i, j)| {
            (j.0, j.1, j.2, j.3, if side(i) { Only::With("a") } else { Only::Without("a") })
        }).collect();
        let mut bench = Bench::new(graph(&[(1, 0); 12]), properties, settings(QueuePolicy::Conservative));
        let starts = simulate(&mut bench, &both);
        for half in [true, false] {
            let of = |i: &usize| side(*i) == half;
            let alone: Vec<_> = (0..jobs.len()).filter(of).map(|i| jobs[i]).collect();
            let together: Vec<_> = (0..jobs.len()).filter(of).map(|i| starts[i]).collect();
            prop_assert_eq!(together, textbook(QueuePolicy::Conservative, 6, &alone));
        }
    }
}

#[test]
fn kept_reservations_behind_the_depth_start_when_they_are_due() {
    let depth = SchedulerSettings { queue_depth: Some(1), ..settings(QueuePolicy::ConservativeCompress) };
    let mut b = Bench::new(graph(&[(4, 0); 8]), Properties::new(), depth);
    b.down(set([2, 7]));
    b.job(1, 8, 1).starts(&[]);
    b.job(2, 6, 1).starts(&[2]);
    b.job(3, 2, 1).job(4, 2, 1).starts(&[]);
    b.submit(5, 17, d(1), nodes(2), Only::All);
    b.starts(&[]);
    assert_eq!([3, 4, 5].map(|id| b.planned(id)), [Some(t(1)), None, Some(t(1))]);
    b.heir = Some(b.rebuilt());
    b.job(6, 2, 1).starts(&[]);
    b.at(1).free(2);
    b.starts(&[5, 3, 4]);
}
