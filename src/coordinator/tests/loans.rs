//! Loans: granted, ended, void.

use super::*;

/// a desires 0-1, b has 0-2 as members and claims.
fn lent() -> World {
    let mut w = World::new("0-2", &["0-1", "0-2"]);
    w.start(B, plain()).start(A, take());
    w.c.lend(at(0), TargetId(0), B, at(100)).expect("lends");
    w.settle();
    w.said();
    w
}

fn ends(w: &mut World) -> Vec<LoanEnd> {
    w.said().iter().filter_map(|o| if let Order::LoanEnded { why, .. } = o { Some(*why) } else { None }).collect()
}

#[test]
fn the_borrower_has_it_until_its_time() {
    let mut w = lent();
    assert_eq!((w.owns(0), w.owns(1)), (Ownership::Owned(B), Ownership::Owned(A)));
    assert_eq!((w.c.desired(TargetId(0)), w.c.wanted(TargetId(0))), (Some(A), Some(B)));
    assert_eq!(w.c.next_wakeup(at(0)), Some(at(100)));
    w.job(B, 0, 130).go(100);
    assert_eq!(ends(&mut w), [LoanEnd::Expired]);
    assert_eq!(w.owns(0), Ownership::Leaving(B), "no job is killed");
    assert_eq!(w.end(0).owns(0), Ownership::Owned(A));
}

#[test]
fn it_ends_earlier_when_told() {
    let mut w = lent();
    assert!(w.c.end_loan(at(5), TargetId(0), LoanEnd::Ended) && !w.c.end_loan(at(5), TargetId(0), LoanEnd::Ended));
    assert_eq!(w.settle().owns(0), Ownership::Owned(A));
    assert_eq!(ends(&mut w), [LoanEnd::Ended]);
}

#[test]
fn it_is_void_once_lender_or_borrower_lose() {
    let void = |change: &dyn Fn(&mut World)| {
        let mut w = lent();
        change(&mut w);
        w.settle();
        assert_eq!(w.c.loans().count(), 0);
        ends(&mut w)
    };
    assert_eq!(void(&|w| w.stop(A, true).now = 1), [LoanEnd::LenderLost]);
    assert_eq!(void(&|w| assert!(w.c.remove_queue(at(0), A))), [LoanEnd::LenderLost]);
    assert_eq!(void(&|w| w.c.remove_targets(&set("0"))), [LoanEnd::LenderLost]);
    assert_eq!(void(&|w| assert!(w.c.change_queue(A, spec("a", "1")))), [LoanEnd::LenderLost]);
    assert_eq!(void(&|w| w.stop(B, true).now = 1), [LoanEnd::BorrowerLost]);
    assert_eq!(void(&|w| assert!(w.c.remove_queue(at(0), B))), [LoanEnd::BorrowerLost]);
    assert_eq!(void(&|w| assert!(w.c.change_queue(B, spec("b", "1-2")))), [LoanEnd::BorrowerLost]);
}

#[test]
fn a_claim_given_up_and_taken_again_at_once_voids_it_all_the_same() {
    let mut w = lent();
    w.c.switch(at(1), &switch(&[B], &[(B, take())])).expect("goes");
    assert_eq!(w.c.loans().count(), 0);
}

#[test]
fn refusals_say_why() {
    let mut w = lent();
    w.c.add_queue(C, spec("c", "0"));
    let mut refused = |target, borrower, until| {
        w.c.lend(at(10), TargetId(target), borrower, at(until)).expect_err("refused").to_string()
    };
    assert_eq!(refused(9, B, 50), "target 9 is not in the inventory");
    assert_eq!(refused(1, D, 50), "queue id 3 does not exist");
    assert_eq!(refused(1, A, 50), "queue a cannot borrow target 1: it is its own");
    assert_eq!(refused(1, B, 10), "a loan of target 1 that ends at 10 is over by now, 10");
    assert_eq!(refused(0, B, 50), "target 0 is lent to queue b until 100");
    let text = "queue c cannot borrow target 1: a borrower claims and has the target as a member";
    assert_eq!(refused(1, C, 50), text);
    w.stop(A, true).stop(B, true);
    let none = w.c.lend(at(10), TargetId(0), B, at(50)).expect_err("nobody lends").to_string();
    assert_eq!(none, "target 0 has no queue that could lend it: no claiming queue has it as a member");
}

#[test]
fn a_committed_group_lends_nothing() {
    let mut w = World::new("0-1", &["0-1", "0-1"]);
    w.start(A, plain()).job(A, 0, 10).start(B, group(100, None)).go(20);
    let error = w.c.lend(at(20), TargetId(1), A, at(50)).expect_err("gathers").to_string();
    assert_eq!(error, "queue b cannot lend target 1: it still gathers its group");
}
