use super::*;
use crate::base::Timestamp;
use crate::config::MatchPolicy;
use crate::formats::count::Count;
use crate::graph::Graph;

const A: TargetId = TargetId(0);

fn part(target: u32, cores: &[u32], gpus: &[u32]) -> Share {
    let part = Part { cores: cores.iter().copied().collect(), gpus: gpus.iter().copied().collect() };
    Share { target: TargetId(target), extent: Extent::Part(Box::new(part)) }
}

fn whole(target: u32) -> Share {
    Share { target: TargetId(target), extent: Extent::Whole }
}

fn selection(shares: &[Share]) -> Selection {
    Selection { shares: shares.to_vec(), nslots: 1, pools: Vec::new() }
}

/// Two targets of four cores and two gpus.
fn two() -> Holdings {
    Holdings::new([Amount { cores: 4, gpus: 2 }; 2])
}

#[test]
fn refuses_what_is_held_and_changes_nothing() {
    let mut holdings = two();
    holdings.hold(&selection(&[part(0, &[0, 1], &[0])])).unwrap();
    let before = format!("{holdings:?}");
    let cases = [
        (selection(&[whole(0)]), "target 0: expected it to be free, found it held (I2)"),
        (selection(&[whole(1), whole(0)]), "target 0: expected it to be free, found it held (I2)"),
        (selection(&[part(0, &[1], &[])]), "target 0: expected it to be free, found it held (I2)"),
        (selection(&[part(0, &[], &[0])]), "target 0: expected it to be free, found it held (I2)"),
        (selection(&[part(1, &[4], &[])]), "target 1: expected 4 cores and 2 gpus, found a position beyond"),
        (selection(&[whole(2)]), "target 2: expected a target below 2"),
    ];
    for (selection, text) in cases {
        assert_eq!(holdings.hold(&selection).unwrap_err().to_string(), text);
        assert_eq!(format!("{holdings:?}"), before);
    }
    let not_held = [whole(0), whole(1), part(0, &[1, 2], &[]), part(1, &[0], &[])];
    for share in not_held {
        let text = format!("target {}: expected it to be held, found it free", share.target);
        assert_eq!(holdings.release(&share).unwrap_err().to_string(), text);
        assert_eq!(format!("{holdings:?}"), before);
    }
}

#[test]
fn the_last_release_frees_the_whole() {
    let mut holdings = two();
    let (first, second) = (part(0, &[0, 1], &[]), part(0, &[2, 3], &[1]));
    holdings.hold(&selection(std::slice::from_ref(&first))).unwrap();
    holdings.hold(&selection(&[second.clone(), whole(1)])).unwrap();
    assert!(holdings.free().is_empty());
    assert_eq!(holdings.partly_held().collect::<Vec<_>>(), [A]);
    assert_eq!(holdings.free_units(A), Part { cores: Units::new(), gpus: [0].into_iter().collect() });
    assert_eq!(holdings.free_units(TargetId(1)), Part::default());
    holdings.release(&first).unwrap();
    assert!(!holdings.free().contains(A));
    holdings.release(&second).unwrap();
    holdings.release(&whole(1)).unwrap();
    assert_eq!((holdings.free().len(), holdings.partly_held().count()), (2, 0));
}

#[test]
fn a_new_target_is_free_and_an_old_one_stays() {
    let mut holdings = two();
    holdings.hold(&selection(&[whole(1)])).unwrap();
    for target in [1, 3] {
        holdings.add_target(TargetId(target), Amount { cores: 1, gpus: 0 });
    }
    assert_eq!(holdings.free().iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(holdings.free_units(TargetId(3)).cores.len(), 1);
}

#[test]
fn a_placement_that_the_holdings_belie_is_refused() {
    let graph = Graph::uniform(2, 4, 2).unwrap();
    let order = TargetOrder::new(MatchPolicy::High, &graph);
    let mut holdings = two();
    holdings.hold(&selection(&[part(0, &[0, 2], &[])])).unwrap();
    let slot = Amount { cores: 1, gpus: 1 };
    let shape = Shape::Slots { slots: Count::fixed(2), slot };
    let place = |taken| Placement { start: Timestamp::ZERO, parts: vec![(A, taken)], nslots: 2 };
    let chosen = realise(&place(Taken::Slots(1)), &shape, &holdings, &order).unwrap();
    assert_eq!(chosen, Selection { shares: vec![part(0, &[3], &[1])], nslots: 2, pools: Vec::new() });
    let text = realise(&place(Taken::Slots(3)), &shape, &holdings, &order).unwrap_err().to_string();
    assert_eq!(text, "target 0: expected 3 cores and 3 gpus free, found fewer");
    let text = realise(&place(Taken::Whole), &shape, &holdings, &order).unwrap_err().to_string();
    assert_eq!(text, "target 0: expected it to be free, found it held (I2)");
}
