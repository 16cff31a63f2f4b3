//! Preemption as a site does it, step by step, under each queue policy: who is signalled, who is killed and when, what
//! becomes of the job, and that what it frees is held.

mod site_kit;

use site_kit::{Bed, at, nodes, queue_with};
use sluice::base::{Duration, JobId, Priority};
use sluice::config::{Preempted, PreemptionPolicy, QueueConfig, QueuePolicy};
use sluice::matcher::{Freed, Reason};
use sluice::site::{Effect, Event, JobState, Outcome, StartMode, Submission, SwitchSpec, Why};

const POLICIES: [QueuePolicy; 5] = [
    QueuePolicy::Fcfs,
    QueuePolicy::Easy,
    QueuePolicy::Hybrid,
    QueuePolicy::Conservative,
    QueuePolicy::ConservativeCompress,
];

fn standby(after: i64, grace: i64, then: Preempted) -> QueueConfig {
    let mut config = queue_with("standby", "0", 0, QueuePolicy::Fcfs);
    config.parent = Some("batch".to_owned());
    config.policy.preemption = PreemptionPolicy {
        preemptible: true,
        preemptible_after: Duration::from_secs(after),
        grace: Duration::from_secs(grace),
        then,
        preempts: None,
    };
    config
}

/// Four nodes, batch over all of them, standby in it.
fn bed(policy: QueuePolicy, standby: QueueConfig) -> Bed {
    Bed::new(4, &[queue_with("batch", "0-3", 0, policy), standby], &["batch", "standby"])
}

/// A standby job below all others.
fn low(bed: &mut Bed, id: u64, n: u64, limit: i64) {
    bed.tell(Event::Submit(Box::new(Submission {
        id: JobId(id),
        queue: Some("standby".to_owned()),
        priority: Priority(4),
        userid: 1,
        limit: Some(Duration::from_secs(limit)),
        request: Ok(nodes(n)),
    })));
    bed.step();
}

fn signals(bed: &Bed) -> Vec<(u64, i64)> {
    let signal = |e: &Effect| match e {
        Effect::Preempt { job, kill_at, .. } => Some((job.0, kill_at.micros() / 1_000_000)),
        _ => None,
    };
    bed.effects.iter().filter_map(signal).collect()
}

fn kills(bed: &Bed) -> Vec<u64> {
    bed.effects.iter().filter_map(|e| if let Effect::Kill { job } = e { Some(job.0) } else { None }).collect()
}

/// The driver: its processes are gone, and all that it held.
fn gone(bed: &mut Bed, id: u64, outcome: Outcome) {
    let held = bed.held_by(id);
    bed.tell(Event::End { job: JobId(id), outcome });
    bed.step();
    bed.tell(Event::Free { job: JobId(id), freed: Freed::Targets(held) });
    bed.step();
}

#[test]
fn a_standby_job_gives_way_and_comes_back() {
    for policy in POLICIES {
        let mut bed = bed(policy, standby(100, 30, Preempted::Requeue));
        low(&mut bed, 1, 3, 1000);
        low(&mut bed, 2, 1, 1000);
        bed.to(50);
        bed.submit(3, "batch", 2, 500);
        assert_eq!(signals(&bed), vec![], "{policy}: both are protected");
        bed.to(99);
        assert_eq!(signals(&bed), vec![], "{policy}");
        bed.to(100);
        // One job suffices; the other would not.
        assert_eq!((signals(&bed), kills(&bed)), (vec![(1, 130)], vec![]), "{policy}");
        assert_eq!(bed.site.explain(JobId(3)), Some(why(1, 130)), "{policy}");
        bed.to(129);
        assert!(kills(&bed).is_empty(), "{policy}");
        bed.to(130);
        assert_eq!(kills(&bed), [1], "{policy}");
        bed.to(131);
        gone(&mut bed, 1, Outcome::Cancelled);
        assert!(bed.runs(3) && bed.runs(2) && bed.waits(1), "{policy}");
        let job = bed.site.job(JobId(1)).expect("it is known");
        assert_eq!((job.submitted, job.requeues), (at(0), 1), "{policy}");
        bed.to(200);
        bed.finish(3);
        assert!(bed.runs(1), "{policy}: it runs again");
        assert_eq!(signals(&bed).len(), 1, "{policy}");
        bed.finish(1);
        assert_eq!(bed.state(1), JobState::Ended(Outcome::Completed), "{policy}");
    }
}

fn why(jobs: u64, seconds: i64) -> Why {
    Why::Reason(Box::new(Reason::Preempting { jobs, at: at(seconds) }))
}

#[test]
fn what_is_freed_and_what_is_idle_is_held() {
    for policy in POLICIES {
        let mut bed = bed(policy, standby(0, 30, Preempted::Requeue));
        low(&mut bed, 1, 1, 1000);
        low(&mut bed, 2, 1, 1000);
        low(&mut bed, 3, 1, 1000);
        bed.to(10);
        bed.submit(4, "batch", 3, 500);
        let held = bed.site.holds().get(&JobId(4)).cloned().unwrap_or_default();
        assert_eq!((signals(&bed).len(), held.len()), (2, 3), "{policy}: one node is idle");
        // Short work would fit on the idle node until the kill, and on what is freed first.
        bed.submit(5, "batch", 1, 5);
        low(&mut bed, 6, 1, 5);
        let first = signals(&bed)[0].0;
        gone(&mut bed, first, Outcome::Failed);
        assert!(bed.waits(first) && bed.waits(4) && bed.waits(5) && bed.waits(6), "{policy}");
        bed.restart();
        assert_eq!(bed.site.holds().get(&JobId(4)), Some(&held), "{policy}: also after a restart");
        bed.submit(7, "batch", 1, 5);
        assert!(bed.waits(7), "{policy}");
        let second = signals(&bed)[1].0;
        gone(&mut bed, second, Outcome::Failed);
        assert!(bed.runs(4), "{policy}");
        assert_eq!(bed.held_by(4), held, "{policy}");
    }
}

#[test]
fn a_kill_comes_after_a_restart_too() {
    for policy in POLICIES {
        let mut bed = bed(policy, standby(0, 30, Preempted::Cancel));
        low(&mut bed, 1, 4, 1000);
        bed.submit(2, "batch", 1, 500);
        assert_eq!(signals(&bed), [(1, 30)], "{policy}");
        bed.to(20);
        bed.effects.clear();
        bed.restart();
        assert_eq!(signals(&bed), [(1, 30)], "{policy}: the signal is repeated, since it may have been lost");
        bed.to(29);
        assert!(kills(&bed).is_empty(), "{policy}");
        bed.to(30);
        assert_eq!(kills(&bed), [1], "{policy}");
        bed.restart();
        assert_eq!(kills(&bed), [1, 1], "{policy}: and so is the kill");
        gone(&mut bed, 1, Outcome::Cancelled);
        assert!(bed.runs(2), "{policy}");
        assert_eq!(bed.state(1), JobState::Ended(Outcome::Cancelled), "{policy}");
    }
}

#[test]
fn who_completes_in_time_is_over_and_who_was_cancelled_does_not_come_back() {
    let mut bed = bed(QueuePolicy::Easy, standby(0, 30, Preempted::Requeue));
    low(&mut bed, 1, 4, 1000);
    bed.submit(2, "batch", 1, 500);
    gone(&mut bed, 1, Outcome::Completed);
    assert_eq!(bed.state(1), JobState::Ended(Outcome::Completed));
    low(&mut bed, 3, 3, 1000);
    bed.submit(4, "batch", 1, 500);
    bed.tell(Event::Cancel { job: JobId(3) });
    gone(&mut bed, 3, Outcome::Cancelled);
    assert_eq!(bed.state(3), JobState::Ended(Outcome::Cancelled), "cancelled after the signal");
    low(&mut bed, 5, 2, 1000);
    bed.tell(Event::Cancel { job: JobId(5) });
    bed.submit(6, "batch", 1, 500);
    assert_eq!(signals(&bed).len(), 3);
    gone(&mut bed, 5, Outcome::Cancelled);
    assert_eq!(bed.state(5), JobState::Ended(Outcome::Cancelled), "cancelled before the signal");
}

#[test]
fn nobody_is_preempted_in_vain() {
    for policy in POLICIES {
        let mut bed = bed(policy, standby(0, 30, Preempted::Requeue));
        bed.submit(1, "batch", 2, 1000);
        low(&mut bed, 2, 1, 1000);
        low(&mut bed, 3, 1, 1000);
        bed.submit(4, "batch", 3, 500);
        assert_eq!(signals(&bed), vec![], "{policy}: two of three nodes are held by a job of batch");
        bed.finish(1);
        assert_eq!(signals(&bed).len(), 1, "{policy}: one of both suffices now");
    }
}

#[test]
fn nobody_is_preempted_where_it_would_not_be_sooner() {
    for policy in POLICIES {
        let mut bed = bed(policy, standby(0, 60, Preempted::Requeue));
        bed.submit(1, "batch", 1, 40);
        low(&mut bed, 2, 3, 1000);
        bed.submit(3, "batch", 1, 500);
        assert_eq!(signals(&bed), vec![], "{policy}: a node is had in 40 s, and by preemption in 60 s");
        bed.to(39);
        bed.finish(1);
        assert!(bed.runs(3), "{policy}");
    }
}

#[test]
fn a_hold_ends_with_its_job_or_its_nodes() {
    for policy in POLICIES {
        let mut bed = bed(policy, standby(0, 30, Preempted::Requeue));
        low(&mut bed, 1, 2, 1000);
        low(&mut bed, 2, 1, 1000);
        bed.to(5);
        bed.submit(3, "batch", 2, 500);
        assert_eq!(signals(&bed), [(2, 35)], "{policy}: one node is idle, and the smaller job frees the other");
        bed.tell(Event::Cancel { job: JobId(3) });
        bed.step();
        assert!(bed.site.holds().is_empty(), "{policy}");
        bed.submit(4, "batch", 1, 500);
        assert!(bed.runs(4), "{policy}: the idle node is anybody's");
        bed.submit(5, "batch", 2, 500);
        // What the dying job frees is used first; the other job has to free one more.
        assert_eq!(signals(&bed), [(2, 35), (1, 35)], "{policy}");
        let lost = bed.held_by(1).first().expect("it runs");
        bed.tell(Event::Offline { targets: [lost].into_iter().collect() });
        bed.step();
        gone(&mut bed, 1, Outcome::Failed);
        gone(&mut bed, 2, Outcome::Failed);
        assert!(bed.runs(5), "{policy}: on what is left");
        assert_eq!(signals(&bed).len(), 2, "{policy}");
        assert!(bed.held_by(5).is_disjoint(&[lost].into_iter().collect()), "{policy}");
    }
}

#[test]
fn a_list_says_whom() {
    let mut expedite = standby(0, 10, Preempted::Requeue);
    expedite.name = "expedite".to_owned();
    expedite.policy.preemption = PreemptionPolicy { preempts: Some(vec!["none".to_owned()]), ..Default::default() };
    let queues = [queue_with("batch", "0-3", 0, QueuePolicy::Easy), standby(0, 10, Preempted::Requeue), expedite];
    let mut bed = Bed::new(4, &queues, &["batch", "standby", "expedite"]);
    low(&mut bed, 1, 4, 1000);
    bed.submit(2, "expedite", 1, 100);
    assert_eq!(signals(&bed), vec![], "expedite may not preempt standby");
    let mut expedite = queues[2].clone();
    expedite.policy.preemption.preempts = Some(vec!["standby".to_owned()]);
    bed.tell(Event::QueueChange { config: Box::new(expedite) });
    bed.step();
    assert_eq!(signals(&bed), [(1, 10)], "now it may");
}

/// batch over four nodes with standby in it, and debug over the first two; a standby job on one of them, one of batch on the
/// other.
fn before_debug(protected: i64) -> Bed {
    let queues = [
        queue_with("batch", "0-3", 0, QueuePolicy::Easy),
        standby(protected, 30, Preempted::Requeue),
        queue_with("debug", "0-1", 1, QueuePolicy::Easy),
    ];
    let mut bed = Bed::new(4, &queues, &["batch", "standby"]);
    low(&mut bed, 1, 1, 1000);
    bed.submit(2, "batch", 1, 1000);
    low(&mut bed, 3, 1, 1000);
    bed
}

fn preempting(event: Event) -> Event {
    Event::Preempting(Box::new(event))
}

fn start(queue: &str) -> Event {
    Event::QueueStart { queue: queue.to_owned(), mode: StartMode::default() }
}

#[test]
fn preemptible_jobs_give_way_on_what_leaves_and_others_run_on() {
    let mut bed = before_debug(50);
    bed.to(10);
    bed.tell(preempting(start("debug")));
    bed.step();
    assert_eq!(signals(&bed), vec![], "job 1 is protected");
    bed.restart();
    bed.to(50);
    assert_eq!(signals(&bed), [(1, 80)], "job 2 is not preemptible, job 3 holds nothing that leaves");
    bed.to(80);
    assert_eq!(kills(&bed), [1]);
    gone(&mut bed, 1, Outcome::Cancelled);
    assert_eq!(bed.view("debug").owned.len(), 1, "what it held has arrived");
    assert!(bed.runs(1), "and it goes on, on the last node of batch");
    assert!(bed.runs(2) && bed.runs(3));
    bed.finish(2);
    assert_eq!(bed.view("debug").owned.len(), 2);
}

#[test]
fn without_being_asked_nobody_gives_way_on_what_leaves() {
    let mut bed = before_debug(0);
    bed.to(10);
    bed.tell(start("debug"));
    bed.to(500);
    assert_eq!(signals(&bed), vec![]);
    bed.tell(preempting(Event::QueueStop { queue: "batch".to_owned(), release: true, reason: String::new() }));
    bed.step();
    assert_eq!(signals(&bed), [(3, 530), (1, 530)], "all of batch leaves now: to debug, to nobody");
}

#[test]
fn a_planned_switch_preempts_when_it_is_due() {
    let mut bed = before_debug(0);
    let switch = SwitchSpec { release: vec![], start: vec![("debug".to_owned(), StartMode::default())] };
    bed.tell(preempting(Event::Planned { at: at(100), name: "day".to_owned(), switch }));
    bed.to(99);
    bed.restart();
    assert_eq!(signals(&bed), vec![]);
    bed.to(100);
    assert_eq!(signals(&bed), [(1, 130)]);
}

#[test]
fn only_what_leaves_can_be_preempted_for() {
    let mut bed = before_debug(0);
    let stop = |release| Event::QueueStop { queue: "batch".to_owned(), release, reason: String::new() };
    for event in [stop(false), Event::QueueEnable { queue: "batch".to_owned() }, start("no-such")] {
        let before = bed.site.snapshot();
        assert!(bed.try_tell(preempting(event)).is_err());
        assert_eq!(bed.site.snapshot(), before, "a refusal changes nothing");
    }
}
