//! Switches taken back.

use super::*;

fn claims(w: &World) -> Vec<(QueueId, Option<TakeStamp>, bool)> {
    w.c.claims().into_iter().map(|q| (q, w.c.take(q), w.c.is_started(q))).collect()
}

#[test]
fn an_undo_brings_back_everything_with_the_old_takes() {
    let mut w = World::new("0-3", &["0-3", "0-1", "0-3"]);
    w.start(A, plain()).settle();
    w.now = 5;
    w.start(B, take()).settle();
    let before = claims(&w);
    w.jobs.0.push((B, TargetId(0), at(50)));
    w.now = 10;
    let done = w.c.switch(at(10), &switch(&[A, B], &[(C, plain())])).expect("goes");
    w.settle();
    assert_eq!((w.c.owned(C), w.c.leaving(B)), (&set("1-3"), &set("0")));
    w.now = 20;
    w.c.undo(at(20), done).expect("can be undone");
    w.settle();
    assert_eq!(claims(&w), before);
    assert_eq!((w.c.owned(A), w.c.owned(B), w.c.owned(C)), (&set("2-3"), &set("0-1"), &set("")));
    let kept = |o: &Order| matches!(o, Order::DonationEnded { targets, cancelled: true, .. } if *targets == set("0"));
    assert!(w.said().iter().any(kept), "what was still held never left");
    assert_eq!(w.c.undo(at(21), done), Err(UndoError::Unknown(done)), "once");
}

#[test]
fn an_undo_of_a_planned_switch_goes_by_the_order_that_told_of_it() {
    let mut w = World::new("0-1", &["0-1", "0-1"]);
    w.start(A, plain()).settle();
    let plan = w.c.plan_switch(at(10), switch(&[A], &[(B, plain())]));
    w.now = 10;
    w.settle();
    let done = w.said().iter().find_map(|o| match o {
        Order::PlanExecuted { plan: done, switch, .. } if *done == plan => Some(*switch),
        _ => None,
    });
    w.c.undo(at(11), done.expect("it was done")).expect("can be undone");
    w.settle();
    assert_eq!(w.c.owned(A), &set("0-1"));
}

#[test]
fn a_group_that_gathers_is_given_up() {
    let mut w = World::new("0-1", &["0-1", "0-1"]);
    w.start(A, plain()).settle();
    w.jobs.0.push((A, TargetId(0), at(50)));
    let done = w.c.switch(at(0), &switch(&[], &[(B, group(90, None))])).expect("goes");
    w.settle();
    assert_eq!(w.c.groups().count(), 1);
    w.c.undo(at(1), done).expect("can be undone");
    w.settle();
    assert_eq!((w.c.groups().count(), w.c.is_started(B), w.c.up(A)), (0, false, set("0-1")));
}

#[test]
fn later_wishes_are_not_overruled() {
    let switched = || {
        let mut w = World::new("0-1", &["0-1", "0-1", "0-1"]);
        w.start(A, plain()).settle();
        let done = w.c.switch(at(0), &switch(&[A], &[(B, plain())])).expect("goes");
        w.settle();
        (w, done)
    };
    let (mut w, done) = switched();
    w.c.stop(at(1), B, false);
    assert_eq!(
        w.c.undo(at(1), done).expect_err("a command came").to_string(),
        "switch 0 cannot be undone: queue b was started, stopped or switched since; say what is wanted with a switch of \
         its own"
    );

    let (mut w, done) = switched();
    w.c.remove_queue(at(1), A);
    let error = w.c.undo(at(1), done).expect_err("it is gone");
    assert_eq!(error.to_string(), "switch 0 cannot be undone: queue a was removed since");

    let (mut w, done) = switched();
    w.start(C, take()).settle();
    let before = w.c.clone();
    assert_eq!(
        w.c.undo(at(1), done).expect_err("c would be in the way").to_string(),
        "switch 0 cannot be undone: queue a would claim again, and shares targets 0-1 with claiming queue c at equal \
         precedence"
    );
    assert_eq!(w.c, before, "nothing changed");
}

#[test]
fn so_many_switches_are_kept() {
    let mut w = World::new("0", &["0"]);
    let ids: Vec<SwitchId> = (0..70).map(|n| w.c.switch(at(n), &switch(&[], &[(A, plain())])).expect("goes")).collect();
    assert_eq!(w.c.switches().count(), MAX_UNDO);
    assert_eq!(w.c.undo(at(70), ids[5]), Err(UndoError::Unknown(ids[5])));
}
