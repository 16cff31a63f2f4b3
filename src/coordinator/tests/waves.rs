//! Starts that take a few targets at a time.

use super::*;
use std::num::NonZeroU32;

fn waves(most: u32) -> StartOptions {
    StartOptions { take: true, group: None, max_leaving: NonZeroU32::new(most) }
}

/// Queue a has four targets, jobs of it on 0 to 2 that end at 30, 10 and 20.
fn busy() -> World {
    let mut w = World::new("0-3", &["0-3", "0-3", "0-3"]);
    w.start(A, plain()).settle();
    w.jobs.0.extend([(A, TargetId(0), at(30)), (A, TargetId(1), at(10)), (A, TargetId(2), at(20))]);
    w
}

fn end(w: &mut World, target: u32) {
    w.jobs.0.retain(|job| job.1 != TargetId(target));
    w.settle();
}

#[test]
fn idle_targets_go_first_then_those_that_end_soonest() {
    let mut w = busy();
    w.start(B, waves(1)).settle();
    assert_eq!(w.c.owned(B), &set("3"), "what is idle moves at once, one after the other");
    assert_eq!(w.c.leaving(A), &set("1"), "the earliest end");
    assert_eq!(w.c.up(A), set("0,2"), "the donor goes on with the rest");
    assert_eq!(w.c.in_later_waves(B), set("0,2"));
    end(&mut w, 1);
    assert_eq!(w.c.owned(B), &set("1,3"));
    assert_eq!((w.c.leaving(A), w.c.up(A)), (&set("2"), set("0")));
    end(&mut w, 2);
    end(&mut w, 0);
    assert_eq!(w.c.owned(B), &set("0-3"));
    assert_eq!(w.c.in_later_waves(B), set(""));
}

#[test]
fn a_wave_is_as_large_as_it_may_be() {
    let mut w = busy();
    w.start(B, waves(2)).settle();
    assert_eq!((w.c.owned(B), w.c.leaving(A), w.c.up(A)), (&set("3"), &set("1-2"), set("0")));
}

#[test]
fn what_a_stopped_or_released_queue_has_does_not_wait() {
    let mut w = busy();
    w.c.stop(at(0), A, false);
    w.start(B, waves(1)).settle();
    assert_eq!((w.c.leaving(A), w.c.in_later_waves(B)), (&set("0-2"), set("")));

    let mut w = busy();
    w.start(B, waves(1)).settle();
    w.c.stop(at(0), A, false);
    w.settle();
    assert_eq!((w.c.leaving(A), w.c.in_later_waves(B)), (&set("0-2"), set("")), "nor once it stops");

    let mut w = busy();
    w.c.switch(at(0), &switch(&[A], &[(B, waves(1))])).expect("goes");
    w.settle();
    assert_eq!((w.c.leaving(A), w.c.in_later_waves(B)), (&set("0-2"), set("")));
}

#[test]
fn another_number_or_another_queue_changes_what_waits() {
    let mut w = busy();
    w.start(B, waves(1)).settle();
    assert_eq!(w.c.start(at(1), B, &waves(3)), Ok(Started::Resumed));
    w.settle();
    assert_eq!(w.c.leaving(A), &set("0-2"));

    let mut w = busy();
    w.start(B, waves(1)).settle();
    w.start(C, take()).settle();
    assert_eq!(w.c.leaving(A), &set("0-2"), "the queue that takes after it has no waves");
    assert_eq!(w.c.in_later_waves(B), set(""));
    w.c.stop(at(1), C, true);
    w.settle();
    assert_eq!(w.c.in_later_waves(B), set(""), "what is leaving already goes on");
}

#[test]
fn windows_leave_to_the_donor_what_waits_for_a_wave() {
    let mut w = busy();
    w.start(B, waves(1)).settle();
    assert!(
        w.c.windows(at(0), A).timelines.is_empty(),
        "jobs of the donor are not bounded: {:?}",
        w.c.windows(at(0), A)
    );
    let arriving: TargetSet = w.c.windows(at(0), B).timelines.iter().flat_map(|t| t.targets.iter()).collect();
    assert_eq!(arriving, set("1"), "the recipient counts on the wave alone");
}

#[test]
fn a_planned_switch_in_waves_bounds_nobody() {
    let mut w = busy();
    w.c.plan_switch(at(100), switch(&[], &[(B, waves(1))]));
    w.settle();
    assert!(w.c.windows(at(0), A).timelines.is_empty());
    assert!(w.c.windows(at(0), B).timelines.is_empty());
    w.c.plan_switch(at(200), switch(&[A], &[]));
    w.settle();
    let bound: Vec<_> = w.c.windows(at(0), A).timelines.iter().flat_map(|t| t.windows.clone()).collect();
    assert_eq!(bound, [Window { from: Timestamp::MIN, until: at(200) }], "but a release does");
}

#[test]
fn a_group_is_not_in_waves() {
    let mut w = busy();
    let options = StartOptions { max_leaving: NonZeroU32::new(1), ..group(10, None) };
    let error = w.c.start(at(0), B, &options).expect_err("both at once");
    assert_eq!(
        error.to_string(),
        "queue b cannot start as a group and in waves: `max-leaving` takes targets a few at a time"
    );
}
