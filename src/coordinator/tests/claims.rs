//! The order of claims, refusals, switches, plans.

use super::*;

#[test]
fn equal_precedence_is_refused_with_names_and_targets() {
    let mut w = World::new("0-9", &["0-4", "3-7", "7-9,1"]);
    w.start(A, plain());
    let error = w.c.start(at(0), B, &plain()).expect_err("shares 3-4");
    assert_eq!(
        error.to_string(),
        "queue b cannot start: at equal precedence it shares targets 3-4 with claiming queue a; release them first, or \
         start it with `take`"
    );
    assert!(!w.c.is_started(B));
    let error = w.c.start(at(0), C, &plain()).expect_err("shares 1").to_string();
    assert!(error.contains("target 1 with claiming queue a"), "{error}");
    w.stop(A, true).start(B, plain());
    let error = w.c.start(at(0), C, &plain()).expect_err("shares 7").to_string();
    assert!(error.contains("target 7 with claiming queue b"), "{error}");
}

#[test]
fn targets_out_of_the_inventory_are_no_conflict() {
    let mut w = World::new("0-1", &["0,5", "1,5"]);
    w.start(A, plain()).start(B, plain());
    assert_eq!((w.owns(0), w.owns(1)), (Ownership::Owned(A), Ownership::Owned(B)));
}

#[test]
fn a_take_goes_before_equals_and_never_before_higher_precedence() {
    let mut w = World::new("0", &["0", "0", "0"]);
    w.c.change_queue(C, QueueSpec { precedence: 5, ..spec("c", "0") });
    w.start(A, plain()).start(B, take());
    assert_eq!(w.owns(0), Ownership::Owned(B));
    w.start(C, plain());
    assert_eq!(w.owns(0), Ownership::Owned(C));
    w.stop(B, true).start(B, take());
    assert_eq!(w.owns(0), Ownership::Owned(C));
}

#[test]
fn overlap_take_is_as_good_as_the_option() {
    let mut w = World::new("0", &["0", "0"]);
    w.c.change_queue(B, QueueSpec { overlap: Overlap::Take, ..spec("b", "0") });
    w.start(A, plain()).start(B, plain());
    assert_eq!(w.owns(0), Ownership::Owned(B));
    assert_eq!(w.c.take(B), Some(TakeStamp { at: at(0), sequence: 0 }));
}

#[test]
fn takes_at_one_instant_go_in_the_order_of_the_commands() {
    for (first, second) in [(A, B), (B, A)] {
        let mut w = World::new("0", &["0", "0"]);
        w.c.start(at(0), first, &take()).expect("starts");
        w.c.start(at(0), second, &take()).expect("starts");
        assert_eq!(w.settle().owns(0), Ownership::Owned(second));
        assert_eq!(w.c.claims(), [second, first]);
    }
}

#[test]
fn a_pause_keeps_the_claim_and_resuming_renews_nothing() {
    let mut w = World::new("0", &["0", "0"]);
    w.start(A, take()).stop(A, false);
    assert!(w.c.is_claiming(A) && !w.c.is_started(A));
    assert_eq!(w.owns(0), Ownership::Owned(A));
    w.start(B, take());
    let stamp = w.c.take(A);
    assert_eq!(w.c.start(at(9), A, &take()), Ok(Started::Resumed), "not refused");
    assert_eq!(w.c.take(A), stamp);
    assert_eq!(w.settle().owns(0), Ownership::Owned(B));
    // Even where a fresh start would be refused.
    w.stop(A, false);
    assert_eq!(w.c.start(at(9), A, &plain()), Ok(Started::Resumed));
}

#[test]
fn names_decide_where_nothing_could_be_refused_and_the_loser_is_blocked() {
    let mut w = World::new("0-3", &["2-3", "0-1"]);
    w.start(A, plain()).start(B, plain());
    w.said();
    w.c.change_queue(B, spec("b", "0-2"));
    assert_eq!(w.settle().owns(2), Ownership::Owned(A));
    let blocked = Blocked { by: vec!["a".into()], targets: set("2") };
    assert_eq!(w.c.blocked(B), Some(blocked.clone()));
    assert_eq!(w.c.blocked(A), None);
    assert_eq!(w.said(), [Order::QueueBlocked { queue: B, blocked }]);
    w.stop(A, true);
    assert_eq!(w.owns(2), Ownership::Owned(B));
    assert!(w.said().contains(&Order::QueueUnblocked { queue: B }));
}

#[test]
fn a_switch_is_done_as_one_or_not_at_all() {
    let mut w = World::new("0-1", &["0", "1", "0-1"]);
    w.start(A, plain()).start(B, plain());
    let before = w.c.clone();
    let error = w.c.switch(at(1), &switch(&[A], &[(C, plain())])).expect_err("b is in the way");
    assert!(matches!(&error, StartError::Overlap { queue: C, conflicts, .. } if conflicts[0].queue == B));
    assert_eq!(w.c, before);
    assert_eq!(w.c.check_switch(at(1), &switch(&[A, B], &[(C, plain())])), Ok(()));
    assert_eq!(w.c, before);
    w.c.switch(at(1), &switch(&[A, B], &[(C, plain())])).expect("goes");
    w.settle();
    assert_eq!(w.c.owned(C), &set("0-1"));
    let error = w.c.switch(at(1), &switch(&[C], &[(A, plain()), (D, plain())]));
    assert_eq!(error, Err(StartError::UnknownQueue(D)));
    assert!(w.c.is_claiming(C), "nothing changed");
    let error = w.c.switch(at(1), &switch(&[D], &[])).expect_err("unknown");
    assert_eq!(error.to_string(), "queue id 3 does not exist");
}

#[test]
fn planned_switches_are_done_when_due_and_refusals_are_told() {
    let mut w = World::new("0", &["0", "0"]);
    w.start(A, plain());
    let night = w.c.plan_switch(at(100), switch(&[A], &[(B, plain())]));
    let refused = w.c.plan_switch(at(50), switch(&[], &[(B, plain())]));
    let cancelled = w.c.plan_switch(at(60), switch(&[A], &[]));
    assert!(w.c.cancel_plan(cancelled) && !w.c.cancel_plan(cancelled));
    w.settle();
    assert_eq!(w.c.next_wakeup(at(0)), Some(at(50)));
    w.said();
    w.go(50);
    let said = w.said();
    assert!(
        matches!(&said[..], [Order::PlanRefused { plan, error: StartError::Overlap { .. }, .. }] if *plan == refused)
    );
    assert_eq!(w.owns(0), Ownership::Owned(A));
    w.go(100);
    assert!(w.said().iter().any(|o| matches!(o, Order::PlanExecuted { plan, .. } if *plan == night)));
    assert_eq!(w.owns(0), Ownership::Owned(B));
    assert_eq!(w.c.next_wakeup(at(100)), None);
}

#[test]
fn plans_that_are_late_are_done_in_their_order_with_their_stamps() {
    let mut w = World::new("0", &["0", "0"]);
    w.c.plan_switch(at(20), switch(&[], &[(A, take())]));
    w.c.plan_switch(at(10), switch(&[], &[(B, take())]));
    w.go(500);
    assert_eq!(w.owns(0), Ownership::Owned(A));
    assert_eq!(w.c.take(B), Some(TakeStamp { at: at(10), sequence: 0 }));
}

#[test]
fn only_watched_releases_matter_and_they_are_cheap_to_tell() {
    let mut w = World::new("0-3", &["0-3", "0-1"]);
    w.start(A, plain());
    assert!(w.c.watched_targets().is_empty());
    w.job(A, 0, 10).job(A, 3, 10).start(B, take());
    assert_eq!((w.c.watched_targets(), w.c.leaving_targets()), (&set("0"), &set("0")));
    let questions = std::cell::Cell::new(0);
    struct Count<'a>(&'a Jobs, &'a std::cell::Cell<u32>);
    impl Holders for Count<'_> {
        fn is_held(&self, target: TargetId) -> bool {
            self.1.set(self.1.get() + 1);
            self.0.is_held(target)
        }
        fn held_by_other(&self, target: TargetId, queue: QueueId) -> bool {
            self.1.set(self.1.get() + 1);
            self.0.held_by_other(target, queue)
        }
        fn planned_end(&self, target: TargetId) -> Timestamp {
            self.0.planned_end(target)
        }
    }
    w.jobs.0.clear();
    assert!(!w.c.reconcile(at(1), &Count(&w.jobs, &questions)).is_empty());
    assert_eq!(questions.get(), 1, "only leaving targets are asked for");
}
