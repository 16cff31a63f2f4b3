//! Ownership windows on both sides.

use super::*;
use crate::base::{Duration, Window};

const DAY: i64 = 24 * 3600;

/// The windows of a target, in seconds; `min` and `never` at the open ends.
fn of(w: &World, queue: QueueId, target: u32) -> String {
    let instant = |t: Timestamp| match t {
        Timestamp::MIN => "min".into(),
        t => t.to_string(),
    };
    let text = |w: &Window| format!("{}..{}", instant(w.from), instant(w.until));
    match w.c.windows(at(w.now), queue).of(TargetId(target)) {
        None => "unbounded".into(),
        Some(windows) => windows.iter().map(text).collect::<Vec<_>>().join(" "),
    }
}

fn day_night(horizon: Horizon) -> World {
    let mut w = World::new("0-2", &["0-1", "0-2"]);
    w.c.change_queue(A, QueueSpec { horizon, ..spec("a", "0-1") });
    w.start(A, plain());
    w.c.plan_switch(at(100), switch(&[A], &[(B, plain())]));
    w.c.plan_switch(at(200), switch(&[B], &[(A, plain())]));
    w.settle();
    w
}

#[test]
fn both_sides_see_planned_switches() {
    let w = day_night(Horizon::Strict);
    assert_eq!(of(&w, A, 0), "min..100 200..never");
    assert_eq!(of(&w, A, 2), "unbounded");
    assert_eq!(of(&w, B, 0), "100..200");
    assert_eq!(of(&w, B, 2), "100..200");
    assert_eq!(w.c.windows(at(0), B).timelines.len(), 1, "alike, so together");
}

#[test]
fn the_bounded_sides_horizon_decides() {
    let w = day_night(Horizon::Soft);
    assert_eq!(of(&w, A, 0), "unbounded", "its jobs may cross");
    assert_eq!(of(&w, B, 0), "100..200");
    let mut w = day_night(Horizon::Off);
    assert_eq!(of(&w, A, 0), "unbounded");
    w.go(100);
    assert_eq!(of(&w, A, 0), "unbounded", "it does not look at what is planned");
    let mut w = day_night(Horizon::Soft);
    w.go(100);
    assert_eq!(of(&w, A, 0), "200..never");
}

#[test]
fn a_switch_that_will_be_refused_bounds_nobody() {
    let mut w = World::new("0", &["0", "0"]);
    w.start(A, plain());
    w.c.plan_switch(at(100), switch(&[], &[(B, plain())]));
    assert_eq!((of(&w, A, 0), of(&w, B, 0)), ("unbounded".into(), "unbounded".into()));
    w.c.plan_switch(at(50), switch(&[A], &[]));
    assert_eq!((of(&w, A, 0), of(&w, B, 0)), ("min..50".into(), "100..never".into()));
}

#[test]
fn planned_takes_go_by_their_instants() {
    let mut w = World::new("0", &["0", "0", "0"]);
    w.start(A, plain());
    w.c.plan_switch(at(200), switch(&[], &[(C, take())]));
    w.c.plan_switch(at(100), switch(&[], &[(B, take())]));
    w.c.plan_switch(at(300), switch(&[C], &[]));
    assert_eq!(of(&w, A, 0), "min..100");
    assert_eq!(of(&w, B, 0), "100..200 300..never");
    assert_eq!(of(&w, C, 0), "200..300");
}

#[test]
fn what_will_happen_is_what_happens() {
    let mut w = day_night(Horizon::Strict);
    assert_eq!(w.owns(0), Ownership::Owned(A));
    assert_eq!(w.go(100).owns(0), Ownership::Owned(B));
    assert_eq!(of(&w, B, 0), "min..200");
    assert_eq!(of(&w, A, 0), "200..never");
    assert_eq!(w.go(200).owns(0), Ownership::Owned(A));
    assert_eq!(of(&w, A, 0), "unbounded");
}

#[test]
fn daily_switches_on_89_days_are_seen_30_days_ahead() {
    let mut w = World::new("0-9", &["0-9", "0-9"]);
    w.start(A, plain());
    for day in 0..89 {
        w.c.plan_switch(at(day * DAY + DAY / 2), switch(&[A], &[(B, plain())]));
        w.c.plan_switch(at((day + 1) * DAY), switch(&[B], &[(A, plain())]));
    }
    w.settle();
    for day in 0..89 {
        w.go(day * DAY);
        assert_eq!(w.c.owned(A), &set("0-9"), "day {day}");
        let version = w.c.windows_version();
        let windows = w.c.windows(at(w.now), A);
        let ahead = (89 - day).min(30) as usize;
        let timeline = &windows.timelines[0];
        assert_eq!(timeline.windows.len(), ahead + 1, "day {day}");
        assert_eq!(timeline.windows[0].until, at(w.now + DAY / 2));
        let arrivals = w.c.windows(at(w.now), B);
        assert_eq!(arrivals.timelines[0].windows.len(), ahead);
        assert!(arrivals.timelines[0].windows.iter().all(|w| w.length() == Duration::from_secs(DAY / 2)));
        // A switch comes into view: windows are new, and the wake-up says when.
        let next = w.c.next_wakeup(at(w.now)).expect("plans");
        assert_eq!(next, at(w.now + DAY / 2));
        w.go(day * DAY + DAY / 2);
        assert!(w.c.windows_version() > version);
        assert_eq!(w.c.owned(B), &set("0-9"));
    }
    assert_eq!(w.go(89 * DAY).c.windows(at(89 * DAY), A).timelines, []);
}

#[test]
fn a_distant_switch_comes_into_view() {
    let mut w = World::new("0", &["0"]);
    w.start(A, plain());
    w.c.plan_switch(at(40 * DAY), switch(&[A], &[]));
    w.settle();
    assert_eq!(of(&w, A, 0), "unbounded");
    assert_eq!(w.c.next_wakeup(at(0)), Some(at(10 * DAY)));
    let version = w.c.windows_version();
    w.go(10 * DAY);
    assert_ne!(w.c.windows_version(), version);
    assert_eq!(of(&w, A, 0), "min..3456000");
    assert_eq!(w.c.next_wakeup(at(w.now)), Some(at(40 * DAY)));
}

#[test]
fn groups_are_strict_for_every_horizon() {
    for horizon in [Horizon::Strict, Horizon::Soft, Horizon::Off] {
        let mut w = World::new("0-1", &["0-1", "0"]);
        w.c.change_queue(A, QueueSpec { horizon, ..spec("a", "0-1") });
        w.c.change_queue(B, QueueSpec { horizon, ..spec("b", "0") });
        w.start(A, plain()).job(A, 0, 100).start(B, group(500, None));
        assert_eq!((of(&w, A, 0), of(&w, A, 1)), ("min..100".into(), "unbounded".into()));
        assert_eq!(of(&w, B, 0), "100..never");
        w.stop(B, true);
        assert_eq!((of(&w, A, 0), of(&w, B, 0)), ("unbounded".into(), "unbounded".into()));
    }
}

#[test]
fn ends_of_loans_are_strict_for_every_horizon() {
    for horizon in [Horizon::Strict, Horizon::Soft, Horizon::Off] {
        let mut w = World::new("0-1", &["0", "0-1"]);
        for (queue, name, members) in [(A, "a", "0"), (B, "b", "0-1")] {
            w.c.change_queue(queue, QueueSpec { horizon, ..spec(name, members) });
        }
        w.start(B, plain()).start(A, take());
        w.c.lend(at(0), TargetId(0), B, at(100)).expect("lends");
        w.settle();
        assert_eq!((of(&w, B, 0), of(&w, A, 0)), ("min..100".into(), "100..never".into()));
        assert_eq!(of(&w, B, 1), "unbounded");
        // A switch that takes the target from the lender ends the loan before its time.
        w.c.plan_switch(at(60), switch(&[A], &[]));
        assert_eq!(of(&w, A, 0), "unbounded", "nothing comes");
        assert_eq!(of(&w, B, 0), "unbounded", "it comes first then");
        w.c.plan_switch(at(40), switch(&[B], &[]));
        assert_eq!(of(&w, B, 0), "min..40");
        let back = if horizon == Horizon::Soft || horizon == Horizon::Off { "40..never" } else { "40..60" };
        assert_eq!(of(&w, A, 0), back);
    }
}

#[test]
fn what_is_on_its_way_arrives_when_its_holder_should_end() {
    let mut w = World::new("0-2", &["0-2", "0-2"]);
    w.start(A, plain()).job(A, 0, 100).job(A, 1, 200);
    w.jobs.0.push((A, TargetId(2), Timestamp::NEVER));
    w.start(B, take());
    assert_eq!(
        (of(&w, B, 0), of(&w, B, 1), of(&w, B, 2)),
        ("100..never".into(), "200..never".into(), "unbounded".into())
    );
    assert_eq!(of(&w, A, 0), "unbounded", "it is down there, nothing to bound");
    // It overruns: the new end is asked for.
    let version = w.c.windows_version();
    w.jobs.0[0].2 = at(160);
    w.go(100);
    assert_eq!(of(&w, B, 0), "160..never");
    assert_ne!(w.c.windows_version(), version);
    w.end(0);
    assert_eq!(of(&w, B, 0), "unbounded");
}

#[test]
fn a_committed_group_arrives_with_its_last_target() {
    let mut w = World::new("0-2", &["0-2", "0-2"]);
    w.start(A, plain()).job(A, 0, 100).job(A, 1, 100).start(B, group(500, None));
    (w.jobs.0[0].2, w.jobs.0[1].2) = (at(130), at(160));
    w.go(100);
    assert_eq!((of(&w, B, 0), of(&w, B, 2)), ("160..never".into(), "160..never".into()));
}
