use super::*;
use crate::base::TargetSet;
use crate::config::MatchPolicy;
use crate::formats::count::Count;
use crate::planner::Take;

const fn amount(cores: u32, gpus: u32) -> Amount {
    Amount { cores, gpus }
}

fn count(text: &str) -> Count {
    text.parse().unwrap()
}

fn whole(nodes: &str, at_least: Amount) -> Shape {
    Shape::Whole { nodes: count(nodes), at_least, slots_per_node: 1 }
}

fn nodes(nodes: &str, slots: &str, slot: Amount) -> Shape {
    Shape::Nodes { nodes: count(nodes), slots: count(slots), slot }
}

fn slots(slots: &str, slot: Amount) -> Shape {
    Shape::Slots { slots: count(slots), slot }
}

fn t(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

#[test]
fn names_what_the_members_lack() {
    // 64 nodes of 8 cores and 2 gpus.
    let graph = Graph::uniform(64, 8, 2).unwrap();
    let members = Bits::from_set(graph.targets(), 64);
    let cases = [
        (whole("64+", Amount::NONE), None),
        (whole("100", Amount::NONE), Some("unsatisfiable: node per queue: asked 100, available 64")),
        (whole("1", amount(0, 4)), Some("unsatisfiable: gpu per node: asked 4, available 2")),
        (nodes("64", "1-9", amount(8, 2)), None),
        (nodes("1", "9", amount(1, 0)), Some("unsatisfiable: core per node: asked 9, available 8")),
        (nodes("1", "5", amount(2, 1)), Some("unsatisfiable: gpu per node: asked 5, available 2")),
        (nodes("65", "1", amount(1, 0)), Some("unsatisfiable: node per queue: asked 65, available 64")),
        (slots("512", amount(1, 0)), None),
        (slots("513", amount(1, 0)), Some("unsatisfiable: core per queue: asked 513, available 512")),
        (slots("200", amount(3, 1)), Some("unsatisfiable: gpu per queue: asked 200, available 128")),
        // 8 cores hold 1 slot of 5, though 512 cores would hold 102.
        (slots("65", amount(5, 0)), Some("unsatisfiable: slot per queue: asked 65, available 64")),
        (slots("1", amount(9, 0)), Some("unsatisfiable: core per node: asked 9, available 8")),
        (slots("4294967295", amount(u32::MAX, 0)), Some("unsatisfiable: core per node: asked 4294967295, available 8")),
    ];
    for (shape, expect) in cases {
        let request = Request { shape, constraint: None, shared: Default::default() };
        let result = satisfiable(&request, &graph, &members).err().map(|reason| reason.to_string());
        assert_eq!(result.as_deref(), expect, "{request:?}");
    }
}

#[test]
fn nobody_is_short_of_everything() {
    let graph = Graph::uniform(2, 4, 0).unwrap();
    let none = Bits::new(2);
    for (shape, expect) in [
        (whole("1", amount(9, 9)), "unsatisfiable: node per queue: asked 1, available 0"),
        (nodes("3", "1", amount(1, 0)), "unsatisfiable: node per queue: asked 3, available 0"),
        (slots("3", amount(2, 0)), "unsatisfiable: core per queue: asked 6, available 0"),
    ] {
        let reason =
            satisfiable(&Request { shape, constraint: None, shared: Default::default() }, &graph, &none).unwrap_err();
        assert_eq!(reason.to_string(), expect);
    }
}

#[test]
fn a_member_that_left_the_graph_is_not_there() {
    let graph = Graph::uniform(2, 4, 0).unwrap();
    let members = Bits::from_set(&TargetSet::from_range(0..4), 4);
    let request = Request { shape: whole("3", Amount::NONE), constraint: None, shared: Default::default() };
    let reason = satisfiable(&request, &graph, &members).unwrap_err();
    assert_eq!(reason.to_string(), "unsatisfiable: node per queue: asked 3, available 2");
}

#[test]
fn names_what_is_short_now() {
    let graph = Graph::uniform(3, 4, 1).unwrap();
    let all = Bits::from_set(graph.targets(), 3);
    let order = TargetOrder::new(MatchPolicy::First, &graph);
    let mut plans = TargetPlans::new(graph.targets().iter().map(|t| capacity(&graph, t)));
    for target in graph.targets().iter() {
        plans.set_usable(target, true).unwrap();
    }
    plans.occupy(TargetId(0), t(0), t(50), Take::Whole).unwrap();
    plans.occupy(TargetId(1), t(0), t(60), Take::Amount(amount(3, 1))).unwrap();
    let cases = [
        (whole("1", Amount::NONE), None),
        (whole("2", Amount::NONE), Some("busy: node per queue: asked 2, available 1; planned start 60")),
        (nodes("2", "1", amount(1, 0)), None),
        (nodes("2", "2", amount(1, 0)), Some("busy: node per queue: asked 2, available 1; planned start 60")),
        (slots("5", amount(1, 0)), None),
        (slots("6", amount(1, 0)), Some("busy: core per queue: asked 6, available 5; planned start 60")),
        (slots("2", amount(1, 1)), Some("busy: gpu per queue: asked 2, available 1; planned start 60")),
    ];
    for (shape, expect) in cases {
        let reason = why_not_now(&plans, &shape, &all, &order, (t(10), t(20)), Some(t(60)));
        assert_eq!(reason.map(|reason| reason.to_string()).as_deref(), expect, "{shape:?}");
    }
    plans.set_usable(TargetId(2), false).unwrap();
    let reason = why_not_now(&plans, &nodes("3", "1", amount(4, 0)), &all, &order, (t(10), t(20)), None).unwrap();
    assert_eq!(reason.to_string(), "no finite start: core per node: asked 4, available 1");
}
