//! Twelve reports from sites that run Flux, each as a test: the same situation, and what has to come of it here.
//!
//! The numbers are those of the public issues: `sched` of flux-framework/flux-sched, `core` of flux-framework/flux-core.

mod site_kit;

use site_kit::{Bed, at, config, nodes, queue, queue_with, set};
use sluice::base::JobId;
use sluice::config::{Members, QueuePolicy};
use sluice::formats::constraint::{Constraint, PropertyTerm};
use sluice::graph::Properties;
use sluice::matcher::{Reason, Request};
use sluice::site::{Configure, Denial, Effect, Event, EventError, JobState, PendingFate, StartMode, SwitchSpec, Why};
use std::sync::Arc;

/// Nodes went from one queue to another while jobs ran; in the end a job of full size in the receiving queue did not start
/// until somebody submitted another one. A release in the donor must wake the recipient.
#[test]
fn sched_1204_a_release_in_the_donor_wakes_the_recipient() {
    let mut bed = Bed::new(4, &[queue("batch", "0-3"), queue_with("debug", "0-3", 1, QueuePolicy::Fcfs)], &["batch"]);
    bed.submit(1, "batch", 2, 100);
    bed.submit(2, "batch", 2, 100);
    bed.start("debug");
    bed.step();
    bed.submit(3, "debug", 4, 100);
    bed.finish(1);
    assert!(bed.waits(3), "two of four nodes are there");
    assert_eq!(bed.view("debug").up, set("0-1"));
    // The last release is an event of the donor's alone, and nothing else happens.
    bed.finish(2);
    assert!(bed.runs(3), "the release of the last node starts it");
    assert_eq!(bed.held_by(3), set("0-3"));
}

/// Two queues over the same nodes: one took every node that came free, the other starved. A node has one owner at any
/// moment, and who that is follows from the order of claims, not from who looks first.
#[test]
fn sched_939_overlapping_queues_have_one_owner_and_an_order() {
    let queues = [queue("a", "0-3"), queue_with("b", "2-3", 1, QueuePolicy::Fcfs)];
    let mut bed = Bed::new(4, &queues, &["a", "b"]);
    for id in 1..=8 {
        bed.submit(id, "a", 1, 100);
        bed.submit(id + 100, "b", 1, 100);
    }
    let owned = |bed: &Bed| (bed.view("a").owned, bed.view("b").owned);
    for _ in 0..4 {
        assert_eq!(owned(&bed), (set("0-1"), set("2-3")));
        let running: Vec<(u64, JobId)> =
            bed.site.all_jobs().filter(|j| j.state == JobState::Running).map(|j| (j.id.0, j.id)).collect();
        let (in_a, in_b): (Vec<_>, Vec<_>) = running.into_iter().partition(|(id, _)| *id < 100);
        assert_eq!((in_a.len(), in_b.len()), (2, 2), "both go on at their own speed");
        for (id, _) in in_a.into_iter().chain(in_b) {
            bed.finish(id);
        }
    }
    assert!(bed.site.all_jobs().all(|j| j.state.is_final()), "neither starves");
}

/// Jobs bound to nodes that are down filled the queue-depth, and jobs below that could run were never looked at.
#[test]
fn sched_1210_jobs_that_cannot_run_do_not_fill_the_depth() {
    let mut easy = queue_with("batch", "0-3", 0, QueuePolicy::Easy);
    easy.policy.scheduler.queue_depth = Some(2);
    let mut properties = Properties::new();
    properties.set_all("big", &set("3"));
    let mut bed = Bed::with(4, &[easy], &["batch"], properties);
    bed.tell(Event::Offline { targets: set("3") });
    let big = || {
        let constraint = Constraint::Properties(vec![PropertyTerm::parse("big").expect("a property")]);
        Arc::new(Request { constraint: Some(constraint), ..Request::clone(&nodes(1)) })
    };
    for id in 1..=5 {
        bed.submit_as(id, "batch", big(), 100);
    }
    bed.submit(6, "batch", 1, 100);
    assert!((1..=5).all(|id| bed.waits(id)), "they wait: the node may come back");
    assert!(bed.runs(6), "five jobs that cannot run count for no depth");
    assert!(matches!(bed.site.explain(JobId(1)), Some(Why::Reason(r)) if matches!(*r, Reason::NoFiniteStart(_))));
    bed.tell(Event::Online { targets: set("3") });
    bed.step();
    assert!(bed.runs(1));
}

/// A vertex was set up again, and the job that waited for it was not looked at.
#[test]
fn sched_1180_an_up_reconsiders_who_waits() {
    for policy in [QueuePolicy::Fcfs, QueuePolicy::Easy, QueuePolicy::Hybrid, QueuePolicy::Conservative] {
        let mut bed = Bed::new(2, &[queue_with("batch", "0-1", 0, policy)], &["batch"]);
        bed.tell(Event::Offline { targets: set("1") });
        bed.step();
        bed.submit(1, "batch", 2, 100);
        assert!(bed.waits(1), "{policy}");
        bed.to(50);
        bed.tell(Event::Online { targets: set("1") });
        bed.step();
        assert!(bed.runs(1), "{policy}: nothing but the up happened");
        // The same with a drain.
        bed.finish(1);
        bed.tell(Event::Drain { targets: set("0"), reason: "repair".into(), at: None });
        bed.step();
        bed.submit(2, "batch", 2, 100);
        assert!(bed.waits(2), "{policy}");
        bed.tell(Event::Undrain { targets: set("0") });
        bed.step();
        assert!(bed.runs(2), "{policy}");
    }
}

/// Nodes were lost for good: jobs of the old size must become unsatisfiable, and say so, instead of waiting for ever.
#[test]
fn sched_1344_jobs_of_the_old_size_become_unsatisfiable() {
    let mut bed = Bed::new(4, &[queue("batch", "0-3")], &["batch"]);
    bed.submit(1, "batch", 1, 100);
    bed.submit(2, "batch", 4, 100);
    bed.submit(3, "batch", 3, 100);
    bed.tell(Event::Offline { targets: set("3") });
    bed.step();
    assert!(bed.waits(2), "a node that does not answer may come back");
    bed.tell(Event::RemoveTargets { targets: set("3") });
    bed.step();
    let why = |bed: &Bed, id| bed.site.job(JobId(id)).map(|j| j.why.clone());
    match why(&bed, 2) {
        Some(Why::Denied(denial)) => match *denial {
            Denial::Reason(Reason::Unsatisfiable(short)) => {
                assert_eq!((short.resource.as_str(), short.asked, short.available), ("node", 4, 3));
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
    assert!(bed.waits(3), "three nodes are still enough for it");
    bed.finish(1);
    assert!(bed.runs(3));
    bed.tell(Event::Submit(Box::new(sluice::site::Submission {
        id: JobId(4),
        queue: Some("batch".into()),
        priority: sluice::base::Priority(16),
        userid: 1,
        limit: None,
        request: Ok(nodes(4)),
    })));
    bed.step();
    assert_eq!(bed.state(4), JobState::Denied);
}

/// With queues configured, reloading the scheduler killed running jobs. A restart knows each job in its queue again.
#[test]
fn sched_1035_a_restart_with_queues_kills_nobody() {
    let mut bed = Bed::new(4, &[queue("batch", "0-1"), queue("debug", "2-3")], &["batch", "debug"]);
    bed.submit(1, "batch", 2, 100);
    bed.submit(2, "debug", 1, 100);
    bed.submit(3, "batch", 1, 100);
    // One of them in a queue that is removed meanwhile.
    bed.tell(Event::QueueRemove { queue: "debug".into(), pending: None });
    bed.step();
    bed.effects.clear();
    bed.restart();
    assert!(bed.nobody_harmed());
    assert!(bed.runs(1) && bed.runs(2) && bed.waits(3));
    assert_eq!((bed.held_by(1), bed.held_by(2)), (set("0-1"), set("2")));
    bed.restart();
    bed.finish(2);
    bed.finish(1);
    assert!(bed.runs(3) && bed.nobody_harmed());
}

/// Removing a queue that overlapped another cancelled all jobs that ran in it.
#[test]
fn sched_1319_removing_an_overlapping_queue_leaves_its_jobs_alone() {
    let queues = [queue("batch", "0-3"), queue_with("dat", "2-3", 1, QueuePolicy::Fcfs)];
    let mut bed = Bed::new(4, &queues, &["batch", "dat"]);
    bed.submit(1, "dat", 2, 100);
    bed.submit(2, "batch", 2, 100);
    bed.submit(3, "dat", 1, 100);
    bed.submit(4, "batch", 4, 100);
    let refused = bed.try_tell(Event::QueueRemove { queue: "dat".into(), pending: None });
    assert_eq!(refused, Err(EventError::PendingJobs { queue: "dat".into(), jobs: 1 }));
    bed.effects.clear();
    bed.configure(&queues[..1], Some(PendingFate::Move("batch".into())));
    assert!(bed.nobody_harmed());
    assert!(bed.runs(1) && bed.runs(2), "both run on, one under a tombstone");
    assert_eq!(bed.held_by(1), set("2-3"));
    assert_eq!(bed.view("batch").owned, set("0-1"), "what is held is not given away");
    assert_eq!(bed.view("batch").arriving, set("2-3"));
    let moved = bed.site.job(JobId(3)).map(|j| j.queue);
    assert_eq!(moved, Some(bed.view("batch").id), "the pending job goes where it was told to");
    bed.finish(1);
    assert_eq!(bed.view("batch").owned, set("0-3"));
    bed.finish(2);
    assert!(bed.runs(3) || bed.runs(4));
    assert!(bed.nobody_harmed());
}

/// Adding a queue for dedicated time over nodes in use killed the jobs that ran there.
#[test]
fn sched_1513_adding_a_dat_queue_kills_nobody() {
    let batch = queue("batch", "0-3");
    let dat = queue_with("dat", "1-3", 1, QueuePolicy::Fcfs);
    let mut bed = Bed::new(4, std::slice::from_ref(&batch), &["batch"]);
    bed.submit(1, "batch", 2, 100);
    bed.effects.clear();
    bed.configure(&[batch, dat], None);
    assert!(!bed.view("dat").started, "a new queue is stopped: nothing has happened yet");
    assert_eq!(bed.view("batch").up, set("0-3"));
    bed.start("dat");
    bed.step();
    assert!(bed.runs(1) && bed.nobody_harmed());
    assert_eq!((bed.view("dat").owned, bed.view("dat").arriving), (set("2-3"), set("1")));
    bed.submit(2, "dat", 3, 50);
    assert!(bed.waits(2));
    bed.finish(1);
    assert!(bed.runs(2) && bed.nobody_harmed());
    assert_eq!(bed.held_by(2), set("1-3"));
}

/// A new queue was made of the nodes of another; the configuration showed it, but it had no resources. Changing members is
/// one command, whose result is seen at once, or an error.
#[test]
fn core_6689_new_members_are_seen_at_once_or_refused() {
    let mut bed = Bed::new(4, &[queue("pdebug", "0-3")], &["pdebug"]);
    bed.configure(&[queue("pdebug", "0-1"), queue("pdat", "2-3")], None);
    assert_eq!((bed.view("pdat").members, bed.view("pdebug").members), (set("2-3"), set("0-1")));
    bed.start("pdat");
    bed.step();
    assert_eq!((bed.view("pdat").up, bed.view("pdebug").up), (set("2-3"), set("0-1")));
    bed.submit(1, "pdat", 2, 10);
    assert!(bed.runs(1));
    // What cannot be is an error, and nothing of it is done.
    let before = bed.site.snapshot();
    let wrong = config(&[queue("pdebug", "0"), queue("pdat", "1-3"), queue("pall", "7")]);
    let refused = bed.try_tell(Event::Configure(Box::new(Configure { config: wrong, pending: None })));
    assert_eq!(refused.expect_err("no such host").to_string(), "queue pall: host node7 is not in the inventory");
    assert_eq!(bed.site.snapshot(), before);
}

/// Two started queues over the same nodes "sort of work, then subtly misbehave". Starting such a queue is refused with the
/// names, or the nodes go over; they never take work in both.
#[test]
fn core_4884_an_overlapping_start_is_refused_or_takes() {
    let mut bed = Bed::new(4, &[queue("a", "0-2"), queue("b", "2-3")], &["a"]);
    let start = |take| Event::QueueStart { queue: "b".into(), mode: StartMode { take, ..StartMode::default() } };
    let refused = bed.try_tell(start(false)).expect_err("an overlap").to_string();
    assert!(refused.contains("queue b") && refused.contains("queue a") && refused.contains("target 2"), "{refused}");
    assert!(!bed.view("b").started && bed.view("a").up == set("0-2"));
    bed.tell(start(true));
    bed.step();
    assert_eq!((bed.view("a").up, bed.view("b").up), (set("0-1"), set("2-3")));
    assert_eq!(bed.view("a").blocked.map(|b| (b.by, b.targets)), Some((vec!["b".to_owned()], set("2"))));
    let spec = SwitchSpec { release: vec!["b".into()], start: vec![] };
    bed.tell(Event::Switch(spec));
    bed.step();
    assert_eq!(bed.view("a").up, set("0-2"));
}

/// Queues by lists of hosts froze their members into pending jobs, which then waited for the wrong nodes. Members are looked
/// up when a job is matched.
#[test]
fn core_5741_members_are_those_of_now() {
    let mut bed = Bed::new(4, &[queue("batch", "0-1"), queue("debug", "2-3")], &["batch", "debug"]);
    bed.submit(1, "batch", 2, 100);
    bed.submit(2, "batch", 2, 100);
    assert!(bed.waits(2));
    bed.configure(&[queue("batch", "2-3"), queue("debug", "0-1")], None);
    assert!(bed.runs(2), "submitted when the queue had other nodes");
    assert_eq!(bed.held_by(2), set("2-3"));
    assert_eq!(bed.held_by(1), set("0-1"), "what runs is not moved");
    // By property it is the same: who has it now counts.
    let mut properties = Properties::new();
    properties.set_all("fast", &set("0"));
    let mut fast = queue("fast", "0");
    fast.members = Members::Requires(vec!["fast".into()]);
    let bed = Bed::with(2, &[fast], &["fast"], properties);
    assert_eq!(bed.view("fast").members, set("0"));
}

/// After queues were changed by a reload, the scheduler counted 2,540 requests for 25 jobs, and nothing was scheduled.
/// Counts are those of the jobs, after every transition.
#[test]
fn core_5990_counts_are_those_of_the_jobs() {
    let queues = [queue("a", "0-1"), queue("b", "2-3")];
    let mut bed = Bed::new(4, &queues, &["a", "b"]);
    for id in 1..=25 {
        bed.submit(id, if id % 2 == 0 { "a" } else { "b" }, 1 + id % 2, 1000);
    }
    let agree = |bed: &Bed, step: &str| {
        let counts = bed.site.counts();
        assert_eq!((counts.submitted, counts.sum()), (25, 25), "{step}");
        let count = |state| bed.site.all_jobs().filter(|j| j.state == state).count() as u64;
        assert_eq!((counts.pending, counts.running), (count(JobState::Pending), count(JobState::Running)), "{step}");
        let views = bed.site.queue_views();
        assert_eq!(views.iter().map(|q| q.jobs.pending).sum::<u64>(), counts.pending, "{step}");
    };
    for round in 0..20 {
        let swap = [queue("a", "2-3"), queue("b", "0-1")];
        bed.configure(if round % 2 == 0 { &swap } else { &queues }, None);
        agree(&bed, "configured");
        if round % 3 == 0 {
            bed.restart();
            agree(&bed, "restarted");
        }
        let done = bed.site.all_jobs().find(|j| j.state == JobState::Running).map(|j| j.id.0);
        done.into_iter().for_each(|id| bed.finish(id));
        agree(&bed, "one ended");
    }
    for _ in 0..25 {
        let running: Vec<u64> = bed.site.all_jobs().filter(|j| j.state == JobState::Running).map(|j| j.id.0).collect();
        running.into_iter().for_each(|id| bed.finish(id));
    }
    assert_eq!(bed.site.counts().completed, 25, "everything is scheduled");
    let starts = bed.effects.iter().filter(|e| matches!(e, Effect::Start { .. })).count();
    assert_eq!(starts, 25, "each once");
    assert!(bed.now >= at(0));
}
