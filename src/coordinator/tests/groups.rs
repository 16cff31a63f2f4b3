//! Starts that want their targets all at once.

use super::*;
use crate::base::GroupId;

/// a has targets 0-3; its jobs hold 0 until 100 and 1 until 200.
fn busy() -> World {
    let mut w = World::new("0-3", &["0-3", "0-2", "2-3"]);
    w.start(A, plain()).job(A, 0, 100).job(A, 1, 200);
    w.said();
    w
}

fn phase(w: &World, queue: QueueId) -> Option<GroupPhase> {
    w.c.groups().find(|(_, g)| g.queue == queue).map(|(_, g)| g.phase)
}

#[test]
fn a_group_moves_nothing_before_its_time_and_then_all_at_once() {
    let mut w = busy();
    w.start(B, group(1000, None));
    assert_eq!(phase(&w, B), Some(GroupPhase::Gathering { expected: at(200) }));
    assert_eq!(w.c.owned(A), &set("0-3"), "a request is no claim");
    assert!(!w.c.is_claiming(B));
    assert_eq!(w.c.next_wakeup(at(0)), Some(at(200)));
    w.go(150).end(0);
    assert_eq!(w.c.owned(A), &set("0-3"));
    // The last job overruns: the claim comes at the expected time, the targets when the last is free.
    w.go(200);
    assert_eq!(phase(&w, B), Some(GroupPhase::Committed));
    assert_eq!(w.c.owned(A), &set("3"));
    assert_eq!(w.c.free(), &set("0,2"), "held back for the group");
    assert_eq!(w.c.donations().map(|d| d.targets.len()).sum::<usize>(), 3);
    w.said();
    w.go(210).end(1);
    assert_eq!(w.c.owned(B), &set("0-2"));
    let said = w.said();
    assert!(said.contains(&Order::GroupReady { group: GroupId(0), queue: B, targets: set("0-2") }), "{said:?}");
    assert_eq!(said.iter().filter(|o| matches!(o, Order::Up { queue: B, .. })).count(), 1, "in one step");
    assert_eq!(phase(&w, B), None);
    assert!(w.c.is_claiming(B));
}

#[test]
fn the_expected_time_may_move_earlier_never_later() {
    let mut w = busy();
    w.start(B, group(1000, None));
    w.jobs.0[1].2 = at(150);
    w.settle();
    assert_eq!(phase(&w, B), Some(GroupPhase::Gathering { expected: at(150) }));
    w.jobs.0[1].2 = at(900);
    w.settle();
    assert_eq!(phase(&w, B), Some(GroupPhase::Gathering { expected: at(150) }));
}

#[test]
fn a_group_commits_as_soon_as_all_are_idle() {
    let mut w = busy();
    w.start(B, group(1000, None));
    assert_eq!(w.c.watched_targets(), &set("0-2"));
    w.go(10).end(0).end(1);
    assert_eq!(w.c.owned(B), &set("0-2"));
}

#[test]
fn min_is_enough() {
    let mut w = busy();
    w.start(B, group(1000, Some(2)));
    assert_eq!(phase(&w, B), Some(GroupPhase::Gathering { expected: at(100) }), "2 is idle, 0 is next");
    w.go(50).end(0);
    assert_eq!(w.c.owned(B), &set("0,2"));
    assert_eq!(w.owns(1), Ownership::Leaving(A), "the rest follows");
    assert_eq!(w.end(1).owns(1), Ownership::Owned(B));
}

#[test]
fn giving_up_withdraws_request_claim_and_windows() {
    for moment in [150, 250] {
        let mut w = busy();
        w.start(B, group(260, None)).go(moment);
        w.said();
        assert_eq!(w.c.windows(at(moment), A).timelines.is_empty(), moment == 250, "committed: they are leaving");
        w.go(260);
        let gave_up = Order::GroupGaveUp { group: GroupId(0), queue: B, why: GroupFailure::GaveUp, at: at(260) };
        // Past 200 the group is committed; before, the holders' ends have come by now as well.
        assert!(w.said().contains(&gave_up));
        assert_eq!(w.c.owned(A), &set("0-3"));
        assert!(!w.c.is_claiming(B) && !w.c.is_started(B));
        assert!(w.c.windows(at(260), A).timelines.is_empty() && w.c.windows(at(260), B).timelines.is_empty());
    }
}

#[test]
fn stop_with_release_withdraws_too() {
    let mut w = busy();
    w.start(B, group(1000, None)).stop(B, false);
    assert!(phase(&w, B).is_some(), "a pause does not");
    w.stop(B, true);
    assert_eq!(phase(&w, B), None);
    assert!(w.said().iter().any(|o| matches!(o, Order::GroupGaveUp { why: GroupFailure::Withdrawn, .. })));
}

#[test]
fn of_overlapping_groups_the_first_gathers_and_the_later_yields() {
    let mut w = World::new("0-3", &["0-3", "0-2", "2-3"]);
    w.start(A, plain()).job(A, 1, 200).job(A, 3, 300);
    w.start(C, group(1000, None));
    assert_eq!(phase(&w, C), Some(GroupPhase::Gathering { expected: at(300) }));
    w.go(300);
    assert_eq!(phase(&w, C), Some(GroupPhase::Committed), "3 is late");
    assert_eq!(w.owns(2), Ownership::Free);
    // b takes later, so it comes first; c yields what it gathered.
    w.start(B, group(1000, None));
    assert_eq!(phase(&w, C), Some(GroupPhase::Waiting));
    assert!(matches!(phase(&w, B), Some(GroupPhase::Gathering { .. } | GroupPhase::Committed)));
    assert_eq!(w.owns(3), Ownership::Owned(A));
    w.end(1);
    assert_eq!(w.c.owned(B), &set("0-2"));
    assert_eq!(phase(&w, C), Some(GroupPhase::Committed), "for target 3 alone, whose time has come");
    assert_eq!(w.go(301).end(3).c.owned(C), &set("3"));
}

#[test]
fn the_set_is_looked_at_anew() {
    let mut w = busy();
    w.start(B, group(1000, None));
    w.c.set_online(&set("1"), false);
    w.go(1);
    assert_eq!(w.c.groups().next().map(|(_, g)| g.targets.clone()), Some(set("0,2")));
    assert_eq!(phase(&w, B), Some(GroupPhase::Gathering { expected: at(100) }));
    w.end(0);
    assert_eq!(phase(&w, B), None, "complete without the offline one");
    assert_eq!(w.c.owned(B), &set("0,2"));
    assert_eq!(w.owns(1), Ownership::Leaving(A));
}

#[test]
fn an_empty_set_fails_the_start() {
    let mut w = busy();
    w.c.set_online(&set("0-2"), false);
    let error = w.c.start(at(0), B, &group(1000, None)).expect_err("none online").to_string();
    assert_eq!(error, "queue b cannot start as a group: it comes first for none of its 0 members that are online");
    w.c.set_online(&set("0-2"), true);
    w.start(B, group(1000, None));
    w.c.remove_targets(&set("0-2"));
    w.settle();
    assert!(w.said().iter().any(|o| matches!(o, Order::GroupGaveUp { why: GroupFailure::NoTargets, .. })));
    let error = w.c.start(at(9), C, &group(9, None)).expect_err("no time").to_string();
    assert_eq!(error, "queue c cannot start as a group: the give-up time 9 is not later than now, 9");
}

#[test]
fn a_group_start_is_refused_like_any_other() {
    let mut w = busy();
    let options = StartOptions { group: Some(GroupRequest { min: None, give_up: at(10) }), ..StartOptions::default() };
    assert!(matches!(w.c.start(at(0), B, &options), Err(StartError::Overlap { .. })));
}

#[test]
fn started_again_without_a_group_it_claims_at_once() {
    let mut w = busy();
    w.start(B, group(1000, None));
    w.start(B, take());
    assert_eq!((phase(&w, B), w.owns(2), w.owns(0)), (None, Ownership::Owned(B), Ownership::Leaving(A)));
    assert!(w.said().iter().any(|o| matches!(o, Order::GroupGaveUp { why: GroupFailure::Replaced, .. })));
    // With another request it goes on waiting on the new terms.
    let mut w = busy();
    w.start(B, group(1000, None)).start(B, group(500, Some(1)));
    assert_eq!((phase(&w, B), w.c.owned(B)), (None, &set("2")));
}

#[test]
fn what_only_its_own_jobs_hold_counts_as_idle() {
    let mut w = World::new("0-1", &["0-1"]);
    w.start(A, plain()).job(A, 0, 500).stop(A, true);
    assert_eq!((w.owns(0), w.owns(1)), (Ownership::Leaving(A), Ownership::Free));
    w.start(A, group(100, None));
    assert_eq!(w.c.owned(A), &set("0-1"));
}

#[test]
fn unlimited_holders_bound_the_donors_until_the_give_up_time() {
    let mut w = busy();
    w.jobs.0[0].2 = Timestamp::NEVER;
    w.start(B, group(1000, None));
    assert_eq!(phase(&w, B), Some(GroupPhase::Gathering { expected: at(1000) }));
}
