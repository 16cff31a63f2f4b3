//! Limits of what one user may have in a queue: what runs, on how many nodes, what waits.

mod site_kit;

use site_kit::{Bed, nodes};
use sluice::base::{Duration, JobId, Priority};
use sluice::formats::count::{Count, Step};
use sluice::matcher::{Amount, Reason, Request, Shape};
use sluice::site::{Blocker, Event, JobState, PendingFate, Submission, Usage, Why};
use std::sync::Arc;

fn submit_as(bed: &mut Bed, id: u64, queue: &str, user: u32, request: Arc<Request>, priority: i64) {
    bed.tell(Event::Submit(Box::new(Submission {
        id: JobId(id),
        queue: Some(queue.to_owned()),
        priority: Priority(priority),
        userid: user,
        limit: Some(Duration::from_secs(100)),
        request: Ok(request),
    })));
    bed.step();
}

/// A job of whole nodes.
fn submit(bed: &mut Bed, id: u64, queue: &str, user: u32, n: u64) {
    submit_as(bed, id, queue, user, nodes(n), 16);
}

fn running(bed: &Bed) -> Vec<u64> {
    bed.site.all_jobs().filter(|j| j.state == JobState::Running).map(|j| j.id.0).collect()
}

/// What the held-back job is told.
fn why(bed: &Bed, id: u64) -> String {
    match bed.site.explain(JobId(id)) {
        Some(Why::Reason(reason)) => reason.to_string(),
        Some(Why::Held(text)) => text.to_string(),
        Some(Why::Denied(denial)) => denial.to_string(),
        other => format!("{other:?}"),
    }
}

fn change(bed: &mut Bed, queue: &str, change: impl FnOnce(&mut sluice::config::UserLimits)) {
    let mut config = bed.site.queue_config(queue).expect("a queue").clone();
    change(&mut config.policy.limits.user);
    bed.tell(Event::QueueChange { config: Box::new(config) });
    bed.step();
}

fn two_jobs(policy: &str) -> String {
    format!(
        "[queues.batch]\npolicy.scheduler.queue-policy = '{policy}'\npolicy.limits.user.max-running-jobs = 2\n\
         [users]\nann = 1001\n"
    )
}

const POLICIES: [&str; 5] = ["fcfs", "easy", "hybrid", "conservative", "conservative-compress"];

#[test]
fn who_has_enough_is_held_back_and_in_nobodys_way() {
    for policy in POLICIES {
        let mut bed = Bed::of(4, &two_jobs(policy), &["batch"]);
        for id in 1..=4 {
            submit(&mut bed, id, "batch", 1001, 1);
        }
        submit(&mut bed, 5, "batch", 7, 2);
        assert_eq!(running(&bed), [1, 2, 5], "{policy}");
        assert_eq!(why(&bed, 3), "user-limit: queues.batch.policy.limits.user.max-running-jobs allows 2");
        assert_eq!(bed.view("batch").jobs.pending, 2, "held back is pending");
        // Its processes are gone; its nodes are still being cleaned.
        bed.finish(5);
        bed.end(2);
        assert_eq!(running(&bed), [1, 3], "{policy}: the end counts, not the release");
        bed.restart();
        bed.finish(1);
        assert_eq!(running(&bed), [3, 4], "{policy}");
    }
}

#[test]
fn explain_names_the_limit_who_counts_and_when_it_changes() {
    let mut bed = Bed::of(4, &two_jobs("easy"), &["batch"]);
    submit(&mut bed, 9, "batch", 7, 3);
    for (id, n) in [(1, 1), (2, 2), (3, 1)] {
        submit(&mut bed, id, "batch", 1001, n);
    }
    assert_eq!(running(&bed), [9, 1]);
    bed.to(10);
    let usage = Usage::of(&bed.site);
    let forecast = bed.site.forecast();
    let report = bed.site.explain_job(JobId(3), &forecast, &usage).expect("a report");
    let [Blocker::UserLimit { held, until }] = &report.blockers[..] else { panic!("{:?}", report.blockers) };
    assert_eq!(held.limit, "queues.batch.policy.limits.user.max-running-jobs");
    assert_eq!((held.allowed, &*held.user), (2, "ann (1001)"));
    let counted: Vec<_> = held.counted.iter().map(|c| (c.job.0, c.runs, c.nodes)).collect();
    assert_eq!(counted, [(1, true, 1), (2, false, 2)]);
    assert_eq!((until.worst, report.changes), (site_kit::at(100), site_kit::at(100)), "job 1 ends");
    // The copy that a forecast plays holds back as the site does.
    assert_eq!(report.start.expect("it waits").worst, site_kit::at(100));
    let why = |id| bed.site.explain_job(JobId(id), &forecast, &usage).expect("a report").why;
    assert!(matches!(why(2), Why::Reason(reason) if !matches!(*reason, Reason::UserLimit { .. })));
}

#[test]
fn forecasts_respect_limits_under_each_policy() {
    for policy in POLICIES {
        let text = two_jobs(policy).replace("jobs = 2", "jobs = 1");
        let mut bed = Bed::of(4, &text, &["batch"]);
        for id in 1..=3 {
            submit(&mut bed, id, "batch", 1001, 1);
        }
        let starts: Vec<_> = bed.site.forecast().jobs.iter().map(|j| (j.job.0, j.start.worst)).collect();
        assert_eq!(starts, [(2, site_kit::at(100)), (3, site_kit::at(200))], "{policy}");
    }
}

#[test]
fn nodes_count_and_a_large_job_does_not_starve_behind_small_ones() {
    let text = "queues.batch.policy.limits.user.max-running-nodes = 4";
    let mut bed = Bed::of(8, text, &["batch"]);
    for (id, n) in [(1, 2), (2, 4), (3, 1), (4, 1)] {
        submit(&mut bed, id, "batch", 1, n);
    }
    assert_eq!(running(&bed), [1], "3 and 4 would fit, but 2 is before them");
    submit(&mut bed, 5, "batch", 1, 5);
    let said = "queues.batch.policy.limits.user.max-running-nodes: asked up to 5, allowed at most 4";
    assert_eq!(why(&bed, 5), said);
    bed.finish(1);
    assert_eq!(running(&bed), [2]);
    bed.finish(2);
    assert_eq!(running(&bed), [3, 4]);
}

#[test]
fn a_range_counts_by_its_end_until_it_runs_and_slots_by_a_node_each() {
    let text = "queues.batch.policy.limits.user.max-running-nodes = 4";
    let mut bed = Bed::of(2, text, &["batch"]);
    let range = |most| {
        let nodes = Count::range(1, most, Step::Add(1)).expect("a range");
        let shape = Shape::Whole { nodes, at_least: Amount::default(), slots_per_node: 1 };
        Arc::new(Request { shape, constraint: None, shared: Default::default() })
    };
    let slots = |n| {
        let shape = Shape::Slots { slots: Count::fixed(n), slot: Amount { cores: 1, gpus: 0 } };
        Arc::new(Request { shape, constraint: None, shared: Default::default() })
    };
    submit_as(&mut bed, 1, "batch", 1, range(None), 16);
    submit_as(&mut bed, 2, "batch", 1, slots(5), 16);
    assert!(why(&bed, 1).contains("asked any number"), "{}", why(&bed, 1));
    assert!(why(&bed, 2).contains("asked up to 5"), "{}", why(&bed, 2));
    submit_as(&mut bed, 3, "batch", 1, range(Some(4)), 16);
    // It got the two that there are: a third and a fourth are left for others.
    submit_as(&mut bed, 4, "batch", 1, slots(2), 16);
    submit_as(&mut bed, 5, "batch", 1, slots(1), 16);
    assert_eq!(running(&bed), [3]);
    assert!(!why(&bed, 4).contains("user-limit") && why(&bed, 5).contains("user-limit"), "{}", why(&bed, 5));
    bed.finish(3);
    assert_eq!(running(&bed), [4, 5], "two slots are on one node");
}

#[test]
fn what_a_started_job_does_not_take_is_there_for_the_next_at_once() {
    let text = "queues.batch.policy.limits.user.max-running-nodes = 4";
    let mut bed = Bed::of(4, text, &["batch"]);
    let submission = |id, request| {
        Event::Submit(Box::new(Submission {
            id: JobId(id),
            queue: None,
            priority: Priority(16),
            userid: 1,
            limit: None,
            request: Ok(request),
        }))
    };
    // Up to four nodes; it gets two.
    let shape = Shape::Slots { slots: Count::fixed(4), slot: Amount { cores: 1, gpus: 0 } };
    bed.tell(submission(1, Arc::new(Request { shape, constraint: None, shared: Default::default() })));
    bed.tell(submission(2, nodes(2)));
    let _ = bed.site.schedule(bed.now, usize::MAX, &mut bed.effects);
    assert_eq!((bed.held_by(1).len(), running(&bed)), (2, vec![1, 2]), "in one call");
}

#[test]
fn so_many_may_wait() {
    let text = "queues.batch.policy.limits.user = { max-pending-jobs = 2 }\nqueues.other.hosts = 'node1'";
    let mut bed = Bed::of(2, text, &["batch"]);
    for id in 1..=5 {
        submit(&mut bed, id, "batch", 1, 2);
    }
    assert_eq!(running(&bed), [1]);
    let said = "queues.batch.policy.limits.user.max-pending-jobs: asked 3, allowed at most 2";
    assert_eq!((why(&bed, 4), why(&bed, 5)), (said.to_owned(), said.to_owned()));
    submit(&mut bed, 6, "batch", 2, 2);
    assert!(bed.waits(6), "another user has a count of his own");
    submit(&mut bed, 7, "other", 1, 1);
    let error = bed.try_tell(Event::MoveJob { job: JobId(7), queue: "batch".to_owned() }).unwrap_err();
    assert!(error.to_string().contains("max-pending-jobs"), "{error}");
    bed.tell(Event::Cancel { job: JobId(2) });
    bed.tell(Event::MoveJob { job: JobId(7), queue: "batch".to_owned() });
    bed.step();
    assert!(bed.waits(7));
    // A job that has to wait again is let in whatever waits.
    bed.tell(Event::Requeue { job: JobId(1) });
    bed.step();
    assert!(bed.waits(1));
}

#[test]
fn each_queue_counts_its_own_and_a_virtual_one_may_lift_the_limit() {
    let text = r#"
        [queues.batch]
        policy.limits.user.max-running-jobs = 1
        [queues.short]
        parent = "batch"
        [queues.exempt]
        parent = "batch"
        policy.limits.user.max-running-jobs = -1
    "#;
    let mut bed = Bed::of(8, text, &["batch", "short", "exempt"]);
    for (n, queue) in ["batch", "short", "exempt"].iter().enumerate() {
        submit(&mut bed, 2 * n as u64, queue, 1, 1);
        submit(&mut bed, 2 * n as u64 + 1, queue, 1, 1);
    }
    assert_eq!(running(&bed), [0, 2, 4, 5]);
    bed.tell(Event::MoveJob { job: JobId(3), queue: "exempt".to_owned() });
    bed.step();
    assert_eq!(running(&bed), [0, 2, 3, 4, 5]);
    bed.tell(Event::QueueStop { queue: "short".to_owned(), release: true, reason: String::new() });
    bed.finish(2);
    submit(&mut bed, 6, "short", 1, 1);
    submit(&mut bed, 7, "short", 1, 1);
    assert_eq!(why(&bed, 6), "queue short is stopped");
    assert_eq!(running(&bed), [0, 3, 4, 5]);
    bed.start("short");
    bed.step();
    assert!(bed.runs(6) && why(&bed, 7).starts_with("user-limit"), "{}", why(&bed, 7));
}

#[test]
fn who_is_let_in_late_goes_behind_those_who_were_in_the_order() {
    for policy in ["easy", "conservative-compress"] {
        let text = two_jobs(policy).replace("jobs = 2", "jobs = 1");
        let mut bed = Bed::of(2, &text, &["batch"]);
        submit(&mut bed, 1, "batch", 1, 1);
        submit(&mut bed, 2, "batch", 1, 2);
        bed.to(5);
        submit(&mut bed, 3, "batch", 7, 2);
        let planned = |bed: &Bed, id| bed.site.job(JobId(id)).expect("a job").planned;
        assert_eq!(planned(&bed, 3), site_kit::at(100), "{policy}");
        bed.to(50);
        bed.end(1);
        bed.restart();
        assert!(planned(&bed, 3) <= site_kit::at(100), "{policy}: a promise is kept");
        bed.tell(Event::Free { job: JobId(1), freed: sluice::matcher::Freed::Rest });
        bed.step();
        assert_eq!(running(&bed), [3], "{policy}: 2 was submitted before, but was held back");
        bed.finish(3);
        assert_eq!(running(&bed), [2], "{policy}");
    }
}

#[test]
fn other_limits_and_other_priorities_count_at_once() {
    let mut bed = Bed::of(4, &two_jobs("easy"), &["batch"]);
    submit(&mut bed, 9, "batch", 7, 4);
    for id in 1..=4 {
        submit(&mut bed, id, "batch", 1, 1);
    }
    let held = |bed: &Bed| (1..=4).filter(|id| why(bed, *id).starts_with("user-limit")).collect::<Vec<u64>>();
    assert_eq!(held(&bed), [3, 4]);
    bed.tell(Event::Prioritize { jobs: vec![(JobId(4), Priority(20))] });
    bed.step();
    assert_eq!(held(&bed), [2, 3], "the own order of the user decides");
    change(&mut bed, "batch", |user| user.max_running_jobs = Some(1));
    assert_eq!(held(&bed), [1, 2, 3]);
    bed.restart();
    change(&mut bed, "batch", |user| user.max_running_jobs = Some(3));
    assert_eq!(held(&bed), [3]);
    change(&mut bed, "batch", |user| *user = Default::default());
    assert!(held(&bed).is_empty());
    change(&mut bed, "batch", |user| user.max_running_nodes = Some(1));
    assert_eq!(held(&bed), [1, 2, 3]);
    bed.tell(Event::Cancel { job: JobId(4) });
    bed.step();
    assert_eq!(held(&bed), [2, 3]);
    let pending = Some(PendingFate::Hold);
    bed.tell(Event::QueueRemove { queue: "batch".to_owned(), pending });
    bed.step();
    assert!(held(&bed).is_empty() && bed.state(2) == JobState::Held);
}
