use super::*;
use crate::base::{TargetSet, Timestamp};
use crate::formats::count::Count;
use crate::matcher::{Taken, capacity, fits};
use crate::planner::TargetPlans;

/// Graph order 0, 2, 1, 3; logical ids 5, 7, 5, 1.
fn order(policy: MatchPolicy) -> TargetOrder {
    TargetOrder::of(policy, [(0, 5), (2, 7), (1, 5), (3, 1)].map(|(t, id)| (TargetId(t), id)).to_vec())
}

#[test]
fn orders_by_logical_id_then_number() {
    use MatchPolicy as P;
    let all = Bits::from_set(&TargetSet::from_range(0..4), 4);
    let cases = [
        (P::First, [0, 2, 1, 3]),
        (P::Firstnodex, [0, 2, 1, 3]),
        (P::High, [2, 1, 0, 3]),
        (P::Hinode, [2, 1, 0, 3]),
        (P::Hinodex, [2, 1, 0, 3]),
        (P::Low, [3, 0, 1, 2]),
        (P::Lonode, [3, 0, 1, 2]),
        (P::Lonodex, [3, 0, 1, 2]),
    ];
    for (policy, expect) in cases {
        assert_eq!(order(policy).iter(&all).map(|t| t.0).collect::<Vec<_>>(), expect, "{policy}");
    }
    let some: TargetSet = [1, 3].map(TargetId).into_iter().collect();
    assert!(order(P::Low).iter(&Bits::from_set(&some, 4)).eq([TargetId(3), TargetId(1)]));
}

#[test]
fn walks_words_where_numbers_are_the_order() {
    let graph = Graph::uniform(5, 1, 0).unwrap();
    for policy in [MatchPolicy::First, MatchPolicy::Low, MatchPolicy::Lonodex] {
        assert_eq!(TargetOrder::new(policy, &graph).sequence, Sequence::Up);
        assert!(TargetOrder::new(policy, &graph).is_ascending());
    }
    assert_eq!(TargetOrder::new(MatchPolicy::High, &graph).sequence, Sequence::Down);
}

/// What one-core slots get on three idle nodes of four cores.
#[test]
fn single_slots_spread_or_fill() {
    use MatchPolicy as P;
    let graph = Graph::uniform(3, 4, 0).unwrap();
    let all = Bits::from_set(graph.targets(), 3);
    let mut plans = TargetPlans::new(graph.targets().iter().map(|t| capacity(&graph, t)));
    graph.targets().iter().for_each(|t| plans.set_usable(t, true).unwrap());
    let shape = Shape::Slots { slots: Count::fixed(5), slot: Amount { cores: 1, gpus: 0 } };
    let cases: [(P, &[(u32, u32)]); 5] = [
        (P::Low, &[(0, 2), (1, 2), (2, 1)]),
        (P::High, &[(2, 2), (1, 2), (0, 1)]),
        (P::Lonode, &[(0, 4), (1, 1)]),
        (P::Hinode, &[(2, 4), (1, 1)]),
        (P::First, &[(0, 4), (1, 1)]),
    ];
    for (policy, expect) in cases {
        let order = TargetOrder::new(policy, &graph);
        let place = fits(&plans, &shape, &all, &order, Timestamp::ZERO, Timestamp::NEVER).unwrap();
        let expect: Vec<_> = expect.iter().map(|(t, n)| (TargetId(*t), Taken::Slots(*n))).collect();
        assert_eq!(place.parts, expect, "{policy}");
    }
    let order = TargetOrder::new(P::Hinodex, &graph);
    let place = fits(&plans, &shape, &all, &order, Timestamp::ZERO, Timestamp::NEVER).unwrap();
    assert_eq!(place.parts, [(TargetId(2), Taken::Whole), (TargetId(1), Taken::Whole)]);
    assert_eq!(place.nslots, 5);
}

#[test]
fn exclusive_policies_make_nodes_whole() {
    let (nodes, slot) = (Count::fixed(2), Amount { cores: 2, gpus: 1 });
    let shared = Shape::Nodes { nodes: nodes.clone(), slots: "3+".parse().unwrap(), slot };
    let whole = Shape::Whole { nodes: nodes.clone(), at_least: Amount { cores: 6, gpus: 3 }, slots_per_node: 3 };
    let slots = Shape::Slots { slots: nodes, slot };
    let apply = |shape: &Shape, policy| {
        apply_policy(Request { shape: shape.clone(), constraint: None, shared: Default::default() }, policy).shape
    };
    for policy in [MatchPolicy::Firstnodex, MatchPolicy::Hinodex, MatchPolicy::Lonodex] {
        assert_eq!((apply(&shared, policy), apply(&whole, policy)), (whole.clone(), whole.clone()));
        assert_eq!(apply(&slots, policy), slots);
    }
    for policy in [MatchPolicy::First, MatchPolicy::High, MatchPolicy::Low, MatchPolicy::Hinode, MatchPolicy::Lonode] {
        assert_eq!(apply(&shared, policy), shared);
    }
}
