//! R1–R8, recovery, removed targets.

use super::*;

/// Two queues over targets 0 and 1; a has them, and a job of a holds 1.
fn two() -> World {
    let mut w = World::new("0-1", &["0-1", "0-1"]);
    w.start(A, plain()).job(A, 1, 100);
    w.said();
    w
}

#[test]
fn r1_leaves_and_sends_a_fresh_down() {
    let mut w = two();
    w.prompt = false;
    w.start(B, take());
    assert_eq!(w.owns(0), Ownership::Leaving(A));
    assert_eq!(w.owns(1), Ownership::Leaving(A));
    let said = w.said();
    let Some(Order::Down { queue: A, targets, epoch }) = said.first() else { panic!("no down first: {said:?}") };
    assert_eq!((*targets == set("0-1"), w.c.epoch(TargetId(0))), (true, *epoch));
    assert!(said.iter().any(|o| matches!(o, Order::DonationStarted { donor: A, recipient: Some(B), cause: Cause::Claimed, targets, .. } if *targets == set("0-1"))));
}

#[test]
fn r1_sends_the_down_for_an_offline_target_too() {
    let mut w = two();
    w.c.set_online(&set("0"), false);
    w.settle().said();
    w.prompt = false;
    w.start(B, take());
    assert!(matches!(&w.said()[0], Order::Down { queue: A, targets, .. } if *targets == set("0-1")));
    assert_eq!(w.owns(0), Ownership::Leaving(A), "waits for the fresh acknowledgement");
}

#[test]
fn r2_waits_for_the_last_holder() {
    let mut w = two();
    w.start(B, take());
    assert_eq!(w.owns(0), Ownership::Owned(B));
    assert_eq!(w.owns(1), Ownership::Leaving(A));
    assert_eq!(w.end(1).owns(1), Ownership::Owned(B));
}

#[test]
fn r2_counts_the_latest_acknowledgement_only() {
    let mut w = two();
    w.prompt = false;
    w.start(B, take());
    let first = w.downs.pop().expect("one down");
    // Back to a, and away again: the first down is history, its acknowledgement must not count.
    w.start(A, plain());
    w.c.stop(at(0), B, true);
    w.settle();
    assert_eq!(w.owns(0), Ownership::Owned(A));
    w.start(B, take());
    assert!(!w.c.acknowledge(A, &first.1, first.2), "an old acknowledgement counts");
    assert_eq!(w.settle().owns(0), Ownership::Leaving(A));
    w.acknowledge_all();
    assert_eq!(w.settle().owns(0), Ownership::Owned(B));
}

#[test]
fn r2_takes_a_lost_connection_for_an_acknowledgement() {
    let mut w = two();
    w.prompt = false;
    w.start(B, take());
    let before = w.c.epoch(TargetId(1));
    w.c.connection_closed(A);
    w.up[A.index()].clear();
    assert_eq!(w.settle().owns(0), Ownership::Owned(B));
    assert_eq!(w.owns(1), Ownership::Leaving(A), "its job runs on");
    assert!(w.c.epoch(TargetId(1)) > before, "its epochs are void");
    w.said();
    w.c.stop(at(0), B, true);
    w.settle();
    assert_eq!(w.owns(1), Ownership::Owned(A));
    assert!(!w.said().iter().any(|o| matches!(o, Order::Up { queue: A, .. })), "nobody is there to be told");
    w.c.connection_opened(A);
    w.acknowledge_all();
    w.settle();
    assert!(w.said().iter().any(|o| matches!(o, Order::Up { queue: A, targets, .. } if targets.contains(TargetId(1)))));
}

#[test]
fn r3_gives_offline_targets_too_and_only_online_ones_go_up() {
    let mut w = World::new("0-1", &["0-1"]);
    w.c.set_online(&set("1"), false);
    w.start(A, plain());
    assert_eq!(w.c.owned(A), &set("0-1"));
    assert_eq!(w.c.up(A), set("0"));
    assert_eq!(w.up[A.index()], set("0"));
    w.c.set_online(&set("1"), true);
    w.settle();
    assert_eq!(w.up[A.index()], set("0-1"));
}

#[test]
fn r3_leaves_free_what_nobody_wants() {
    let mut w = World::new("0-2", &["0"]);
    w.start(A, plain());
    assert_eq!(w.c.free(), &set("1-2"));
    w.stop(A, true);
    assert_eq!(w.c.free(), &set("0-2"));
    let said = w.said();
    let ended =
        said.iter().any(|o| matches!(o, Order::DonationEnded { donor: A, recipient: None, cancelled: false, .. }));
    assert!(ended, "{said:?}");
}

#[test]
fn r4_keeps_what_is_wanted_back() {
    let mut w = two();
    w.start(B, take());
    w.said();
    w.stop(B, true);
    assert_eq!(w.owns(1), Ownership::Owned(A), "at once, with the job on it");
    assert_eq!(w.up[A.index()], set("0-1"));
    let said = w.said();
    let cancelled =
        said.iter().any(|o| matches!(o, Order::DonationEnded { targets, recipient: Some(A), cancelled: true, .. } if *targets == set("1")));
    assert!(cancelled, "{said:?}");
}

#[test]
fn r4_goes_by_identity_not_by_name() {
    let mut w = two();
    w.c.remove_queue(at(0), A);
    w.c.add_queue(C, spec("a", "0-1"));
    w.start(C, plain());
    assert_eq!(w.owns(0), Ownership::Owned(C));
    assert_eq!(
        w.owns(1),
        Ownership::Leaving(A),
        "the new queue does not get the old one's target while a job holds it"
    );
    assert_eq!(w.end(1).owns(1), Ownership::Owned(C));
}

#[test]
fn r4_waits_for_jobs_of_other_queues() {
    let mut w = two();
    // A job of b turns up on target 0, which a owns: b has it as a tombstone would. b wants it, and a's job is there.
    w.job(A, 0, 50);
    w.jobs.0.push((B, TargetId(0), at(60)));
    w.c.found(at(0), TargetId(0), B).expect("placed");
    w.settle();
    w.start(B, take());
    assert_eq!(w.owns(0), Ownership::Leaving(B));
    w.jobs.0.retain(|j| j.0 != A);
    assert_eq!(w.settle().owns(0), Ownership::Owned(B), "with its own job on it");
}

#[test]
fn r4_waits_for_the_acknowledgement_of_other_queues() {
    let mut w = two();
    w.prompt = false;
    w.jobs.0.push((B, TargetId(0), at(60)));
    w.c.found(at(0), TargetId(0), B).expect("placed");
    w.start(B, take());
    assert_eq!(w.owns(0), Ownership::Leaving(B), "a has it up until it says otherwise");
    w.acknowledge_all();
    assert_eq!(w.settle().owns(0), Ownership::Owned(B));
}

#[test]
fn r5_goes_to_whoever_is_wanted_at_release() {
    let mut w = World::new("0", &["0", "0", "0"]);
    w.start(A, plain()).job(A, 0, 100).start(B, take()).start(C, take());
    assert_eq!(w.owns(0), Ownership::Leaving(A));
    assert_eq!(w.c.arriving(C), set("0"));
    assert_eq!(w.c.donations().map(|d| d.recipient).collect::<Vec<_>>(), [Some(C)]);
    assert_eq!(w.end(0).owns(0), Ownership::Owned(C));
}

#[test]
fn r6_follows_online_in_the_owner_and_leaves_donations_alone() {
    let mut w = two();
    w.c.set_online(&set("0-1"), false);
    w.settle();
    assert_eq!(w.up[A.index()], set(""));
    assert!(w.c.awaiting(A).is_empty(), "nothing moves, nothing is waited for");
    w.c.set_online(&set("0-1"), true);
    w.settle();
    assert_eq!(w.up[A.index()], set("0-1"));
    w.start(B, take());
    w.c.set_online(&set("1"), false);
    w.settle();
    w.c.set_online(&set("1"), true);
    w.settle();
    assert_eq!(w.up[A.index()], set(""), "leaving stays down");
    assert_eq!(w.end(1).owns(1), Ownership::Owned(B), "the donation goes on");
}

#[test]
fn r7_keeps_a_tombstone_until_the_last_release() {
    let mut w = two();
    assert!(w.c.remove_queue(at(0), A));
    assert!(!w.c.remove_queue(at(0), A), "gone is gone");
    w.settle();
    assert_eq!(w.c.tombstones().collect::<Vec<_>>(), [A]);
    assert_eq!(w.c.queues().collect::<Vec<_>>(), [B]);
    assert_eq!((w.owns(0), w.owns(1)), (Ownership::Free, Ownership::Leaving(A)));
    assert_eq!(w.c.start(at(0), A, &plain()), Err(StartError::UnknownQueue(A)));
    assert!(!w.c.change_queue(A, spec("a", "0-1")));
    assert_eq!(w.end(1).owns(1), Ownership::Free);
    assert_eq!(w.said().last(), Some(&Order::QueueGone { queue: A }));
    assert_eq!(w.c.tombstones().count(), 0);
}

#[test]
fn r7_waits_for_the_tombstones_answer() {
    let mut w = two();
    w.jobs.0.push((B, TargetId(0), at(60)));
    w.prompt = false;
    w.c.found(at(0), TargetId(0), B).expect("placed");
    w.settle();
    w.jobs.0.clear();
    w.c.remove_queue(at(0), A);
    w.settle();
    assert_eq!(w.c.tombstones().collect::<Vec<_>>(), [A], "it may still have target 0 up");
    w.acknowledge_all();
    w.settle();
    assert_eq!(w.c.tombstones().count(), 0);
}

#[test]
fn r8_takes_the_target_down_in_owner_and_jobs_queue() {
    let mut w = two();
    w.prompt = false;
    w.jobs.0.push((B, TargetId(0), at(60)));
    assert_eq!(w.c.found(at(0), TargetId(0), B), Ok(()));
    w.settle();
    assert_eq!(w.owns(0), Ownership::Leaving(B));
    let mut told: Vec<_> = w.downs.iter().map(|(q, t, _)| (*q, t.clone())).collect();
    told.sort_by_key(|(q, _)| *q);
    assert_eq!(told, [(A, set("0")), (B, set("0"))]);
    w.jobs.0.retain(|j| j.0 != B);
    for (queue, targets, epoch) in std::mem::take(&mut w.downs) {
        assert_eq!(w.settle().owns(0), Ownership::Leaving(B), "both acknowledgements count");
        w.c.acknowledge(queue, &targets, epoch);
    }
    assert_eq!(w.settle().owns(0), Ownership::Owned(A), "back to who wants it");
}

#[test]
fn r8_says_what_it_cannot_place() {
    let mut w = two();
    let unknown = w.c.found(at(0), TargetId(9), A).expect_err("no such target");
    assert_eq!(unknown.to_string(), "a job of queue id 0 was found on target 9, which is not in the inventory");
    let unknown = w.c.found(at(0), TargetId(0), D).expect_err("no such queue");
    assert_eq!(
        unknown.to_string(),
        "a job was found on target 0, of queue id 3, which neither exists nor has a tombstone"
    );
    assert!(w.c.add_tombstone(D, spec("old", "0-1")));
    w.jobs.0.push((D, TargetId(0), at(60)));
    assert_eq!(w.c.found(at(0), TargetId(0), D), Ok(()));
    w.settle();
    assert_eq!(w.owns(0), Ownership::Leaving(D));
    assert_eq!(w.end(0).owns(0), Ownership::Owned(A));
    assert_eq!(w.c.tombstones().count(), 0);
}

#[test]
fn recovery_sends_everything_again_and_moves_nothing() {
    let mut w = two();
    w.start(B, take());
    w.c.set_online(&set("0"), false);
    w.settle();
    let epoch = w.c.epoch(TargetId(1));
    let orders = w.c.begin_recovery();
    assert!(
        matches!(&orders[..], [Order::Down { queue: A, targets, .. }, Order::Down { queue: B, targets: offline, .. }]
        if *targets == set("1") && *offline == set("0")),
        "{orders:?}"
    );
    assert!(w.c.epoch(TargetId(1)) > epoch);
    w.jobs.0.clear();
    w.c.stop(at(0), B, true);
    assert_eq!(w.c.reconcile(at(0), &w.jobs), [], "jobs are not reported yet");
    w.c.end_recovery();
    w.deliver(orders);
    w.settle();
    assert_eq!(w.c.owned(A), &set("0-1"));
    let again = w.c.begin_recovery();
    assert!(
        matches!(&again[..], [Order::Down { queue: A, targets: offline, .. }, Order::Up { queue: A, targets, .. }]
        if *targets == set("1") && *offline == set("0")),
        "{again:?}"
    );
}

#[test]
fn recovery_goes_on_from_what_was_on_record() {
    let mut w = two();
    w.prompt = false;
    // The step is on record, its orders are lost.
    w.c.start(at(0), B, &take()).expect("starts");
    let _lost = w.c.reconcile(at(0), &w.jobs);
    let text = serde_json::to_string(&w.c).expect("writes");
    let mut back: Coordinator = serde_json::from_str(&text).expect("reads");
    assert_eq!(back, w.c);
    let orders = back.begin_recovery();
    assert!(matches!(&orders[..], [Order::Down { queue: A, targets, .. }] if *targets == set("0-1")));
}

#[test]
fn a_removed_target_leaves_from_free() {
    let mut w = two();
    w.c.remove_targets(&set("0-1"));
    w.settle();
    assert_eq!(w.c.inventory(), &set("1"));
    assert_eq!(w.owns(1), Ownership::Leaving(A));
    assert_eq!(w.c.desired(TargetId(1)), None);
    let causes: Vec<_> = w.c.donations().map(|d| d.cause).collect();
    assert_eq!(causes, [Cause::TargetRemoved]);
    w.end(1);
    assert!(w.c.inventory().is_empty());
    let removed: Vec<_> = w.said().into_iter().filter(|o| matches!(o, Order::Removed { .. })).collect();
    assert_eq!(removed, [Order::Removed { targets: set("0") }, Order::Removed { targets: set("1") }]);
}

#[test]
fn a_target_that_is_added_again_stays() {
    let mut w = two();
    w.c.remove_targets(&set("1"));
    w.settle();
    w.c.add_targets(&set("1"));
    assert_eq!(w.settle().owns(1), Ownership::Owned(A));
}

#[test]
fn the_cause_of_a_donation_is_told() {
    let cause = |change: &dyn Fn(&mut World)| {
        let mut w = two();
        change(&mut w);
        w.settle();
        let donations: Vec<_> = w.c.donations().collect();
        assert_eq!(donations.len(), 1);
        assert_eq!((donations[0].total >= 1, &donations[0].targets), (true, &set("1")));
        donations[0].cause
    };
    assert_eq!(cause(&|w| w.start(B, take()).prompt = true), Cause::Claimed);
    assert_eq!(cause(&|w| w.stop(A, true).prompt = true), Cause::Released);
    assert_eq!(cause(&|w| assert!(w.c.change_queue(A, spec("a", "0")))), Cause::Membership);
    assert_eq!(cause(&|w| assert!(w.c.remove_queue(at(0), A))), Cause::QueueRemoved);
}

#[test]
fn r7_waits_for_jobs_on_targets_that_a_found_job_took_over() {
    let mut w = two();
    w.jobs.0.push((B, TargetId(1), at(60)));
    w.c.found(at(0), TargetId(1), B).expect("placed");
    w.c.remove_queue(at(0), A);
    w.settle();
    assert_eq!(w.c.tombstones().collect::<Vec<_>>(), [A], "its job on target 1 runs on");
    w.end(1);
    assert_eq!(w.c.tombstones().count(), 0);
}
