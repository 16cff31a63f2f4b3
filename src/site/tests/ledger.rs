//! The ledger alone: what is sound, what is refused and why.

use crate::base::{Epoch, QueueId, TargetId, TargetSet};
use crate::matcher::{Extent, Part, Selection, Share};
use crate::site::ledger::{Ledger, Size};

const A: QueueId = QueueId(0);
const B: QueueId = QueueId(1);

/// Three targets with two cores, up in queue `A` since epoch 1.
fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    (0..3).for_each(|t| ledger.add(TargetId(t), Size { cores: 2, gpus: 0 }));
    ledger.up(&TargetSet::from_range(0..3), A, Epoch(1)).expect("they are up nowhere");
    ledger
}

fn whole(ids: &[u32]) -> Selection {
    Selection {
        shares: ids.iter().map(|t| Share { target: TargetId(*t), extent: Extent::Whole }).collect(),
        nslots: 1,
        pools: Vec::new(),
    }
}

fn cores(target: u32, cores: &[u32]) -> Selection {
    let part = Part { cores: cores.iter().copied().collect(), ..Part::default() };
    Selection {
        shares: vec![Share { target: TargetId(target), extent: Extent::Part(Box::new(part)) }],
        nslots: 1,
        pools: Vec::new(),
    }
}

#[track_caller]
fn refused(ledger: &mut Ledger, queue: QueueId, epoch: u64, what: &Selection, why: &str) {
    let before: Vec<bool> = (0..3).map(|t| ledger.is_held(TargetId(t))).collect();
    let violation = ledger.grant(9, queue, Epoch(epoch), what).expect_err("the grant is not sound");
    assert_eq!(violation.to_string(), why);
    assert_eq!(before, (0..3).map(|t| ledger.is_held(TargetId(t))).collect::<Vec<_>>(), "nothing is entered");
}

#[test]
fn what_is_held_is_not_granted_again() {
    let mut ledger = ledger();
    assert_eq!(ledger.grant(0, A, Epoch(1), &whole(&[1])), Ok(()));
    let held = "I2: target 1 is granted whole, but is held already, or has not so much";
    refused(&mut ledger, A, 1, &whole(&[0, 1, 2]), held);
    refused(&mut ledger, A, 1, &cores(1, &[0]), &held.replace("whole", "in part"));
    assert!(!ledger.release(7, TargetId(1)));
    assert!(ledger.release(0, TargetId(1)));
    assert_eq!(ledger.grant(1, A, Epoch(1), &whole(&[0, 1, 2])), Ok(()));
}

#[test]
fn parts_do_not_overlap_and_are_there() {
    let mut ledger = ledger();
    assert_eq!(ledger.grant(0, A, Epoch(1), &cores(0, &[0])), Ok(()));
    let held = "I2: target 0 is granted in part, but is held already, or has not so much";
    refused(&mut ledger, A, 1, &cores(0, &[0, 1]), held);
    refused(&mut ledger, A, 1, &cores(0, &[2]), held);
    refused(&mut ledger, A, 1, &cores(0, &[]), held);
    refused(&mut ledger, A, 1, &whole(&[0]), &held.replace("in part", "whole"));
    assert_eq!(ledger.grant(1, A, Epoch(1), &cores(0, &[1])), Ok(()));
    assert!(ledger.release(0, TargetId(0)) && ledger.is_held(TargetId(0)));
    assert!(ledger.release(1, TargetId(0)) && !ledger.is_held(TargetId(0)));
}

#[test]
fn work_starts_only_where_the_target_is_up_and_the_news_is_known() {
    let mut ledger = ledger();
    refused(&mut ledger, B, 1, &whole(&[0]), "I1: target 0 is granted in queue id 1, where it is not up");
    refused(&mut ledger, A, 1, &whole(&[5]), "I2: target 5 is granted, but not in the inventory");
    refused(&mut ledger, A, 1, &whole(&[1, 0]), "I2: target 0 stands out of order in a grant");
    let zero = TargetSet::single(TargetId(0));
    ledger.down(&zero, A, Epoch(2));
    refused(&mut ledger, A, 2, &whole(&[0]), "I1: target 0 is granted in queue id 0, where it is not up");
    ledger.up(&zero, A, Epoch(3)).expect("it is up nowhere");
    refused(&mut ledger, A, 2, &whole(&[0]), "I1: target 0 is granted with epoch 2, but its newest is 3");
    let violation = ledger.up(&zero, B, Epoch(4)).expect_err("it is up in A");
    assert_eq!(violation.to_string(), "I1: target 0 goes up in queue id 1 while up in queue id 0");
}

#[test]
fn a_release_is_noticed_where_somebody_waits_for_it() {
    let mut ledger = ledger();
    ledger.watch(&TargetSet::single(TargetId(1)));
    assert_eq!(ledger.grant(0, A, Epoch(1), &whole(&[0, 1])), Ok(()));
    assert!(ledger.release(0, TargetId(0)));
    assert!(!std::mem::take(&mut ledger.watched_release));
    assert!(ledger.release(0, TargetId(1)));
    assert!(std::mem::take(&mut ledger.watched_release));
}

#[test]
fn quarantine_keeps_others_out_until_it_ends() {
    let mut ledger = ledger();
    assert_eq!(ledger.grant(0, A, Epoch(1), &whole(&[0])), Ok(()));
    ledger.quarantine(1, [TargetId(0), TargetId(1)].into_iter());
    assert_eq!(ledger.holders(TargetId(0)).as_slice(), [0, 1]);
    let held = "I2: target 1 is granted whole, but is held already, or has not so much";
    refused(&mut ledger, A, 1, &whole(&[1]), held);
    assert!(ledger.release(0, TargetId(0)) && ledger.is_held(TargetId(0)));
    assert!(ledger.release(1, TargetId(0)) && !ledger.is_held(TargetId(0)));
    assert!(ledger.release(1, TargetId(1)));
    assert_eq!(ledger.grant(2, A, Epoch(1), &whole(&[0, 1])), Ok(()));
}
