//! The matcher against brute force on small graphs: at most 7 targets, 4 cores, 2 gpus, times of a few ticks.
//!
//! The oracle walks every tick of an interval, tries every start and every subset of targets. It shares no code with
//! the matcher beyond the type of counts. `PROPTEST_CASES` sets the number of cases.

use proptest::prelude::*;
use sluice::base::{Duration, TargetId, TargetSet, Timeline, Timestamp, Window, Windows};
use sluice::config::MatchPolicy;
use sluice::formats::constraint::{Constraint, PropertyTerm};
use sluice::formats::count::Count;
use sluice::formats::jgf::{CONTAINMENT, Jgf, JgfEdge, JgfNode};
use sluice::graph::{Graph, Properties};
use sluice::matcher::{
    Amount, Extent, Holdings, Placement, Request, Selection, Shape, Share, Taken, TargetOrder, earliest, fits, realise,
    satisfiable, why_not,
};
use sluice::planner::{Bits, Take, TargetPlans};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// After this tick nothing changes.
const LAST: i64 = 45;
/// What the oracle takes for never.
const FAR: i64 = 1000;

const POLICIES: [MatchPolicy; 8] = [
    MatchPolicy::First,
    MatchPolicy::Firstnodex,
    MatchPolicy::High,
    MatchPolicy::Low,
    MatchPolicy::Hinode,
    MatchPolicy::Lonode,
    MatchPolicy::Hinodex,
    MatchPolicy::Lonodex,
];

/// One target of a small world. Times are ticks; `FAR` is never.
#[derive(Clone, Debug)]
struct Node {
    amount: Amount,
    logical: i64,
    special: bool,
    usable: bool,
    windows: Option<Vec<(i64, i64)>>,
    spans: Vec<(i64, i64, Option<Amount>)>,
}

#[derive(Clone, Debug)]
struct World {
    nodes: Vec<Node>,
    margin: i64,
    now: i64,
}

fn at(tick: i64) -> Timestamp {
    if tick >= FAR { Timestamp::NEVER } else { Timestamp::from_micros(tick) }
}

fn length(ticks: i64) -> Duration {
    if ticks >= FAR { Duration::INFINITE } else { Duration::from_micros(ticks) }
}

fn end_of(start: i64, duration: i64) -> i64 {
    if duration >= FAR { FAR } else { start + duration }
}

impl World {
    fn graph(&self) -> (Graph, Properties) {
        let mut nodes = vec![JgfNode::new("root", "cluster")];
        let mut edges = Vec::new();
        let mut add = |above: &str, id: String, kind: &str, num: i64, rank: i64, special: bool| {
            let mut node = JgfNode { num, rank, name: id.clone(), ..JgfNode::new(id.as_str(), kind) };
            if special {
                node.properties.insert("special".to_owned(), String::new());
            }
            nodes.push(node);
            edges.push(JgfEdge { source: above.to_owned(), target: id, subsystem: CONTAINMENT.to_owned() });
        };
        for (i, node) in self.nodes.iter().enumerate() {
            let name = format!("n{i}");
            add("root", name.clone(), "node", node.logical, i as i64, node.special);
            for core in 0..node.amount.cores {
                add(&name, format!("{name}c{core}"), "core", core.into(), i as i64, false);
            }
            for gpu in 0..node.amount.gpus {
                add(&name, format!("{name}g{gpu}"), "gpu", gpu.into(), i as i64, false);
            }
        }
        Graph::from_jgf(&Jgf { nodes, edges }).unwrap()
    }

    fn plans(&self) -> TargetPlans {
        let mut plans = TargetPlans::new(self.nodes.iter().map(|n| n.amount));
        let mut windows = Windows::default();
        for (t, node) in (0u32..).map(TargetId).zip(&self.nodes) {
            plans.set_usable(t, node.usable).unwrap();
            // Vacated again in between, so that vacating is tested as well.
            let passing = (at(3), at(9), Take::Whole);
            plans.occupy(t, passing.0, passing.1, passing.2).unwrap();
            for (from, until, amount) in &node.spans {
                plans.occupy(t, at(*from), at(*until), amount.map_or(Take::Whole, Take::Amount)).unwrap();
            }
            plans.vacate(t, passing.0, passing.1, passing.2).unwrap();
            if let Some(list) = &node.windows {
                let list = list.iter().map(|(from, until)| Window { from: at(*from), until: at(*until) }).collect();
                windows.timelines.push(Timeline { targets: TargetSet::single(t), windows: list });
            }
        }
        plans.set_windows(&windows, length(self.margin));
        plans.advance(at(self.now));
        plans
    }
}

impl Node {
    /// Whether the target serves in the interval.
    fn serves(&self, world: &World, from: i64, until: i64) -> bool {
        let Some(windows) = &self.windows else { return self.usable };
        let end = if until >= FAR { FAR } else { until.max(from + 1) + world.margin };
        windows.iter().any(|w| w.0 <= from && (w.1 >= FAR || end <= w.1) && (self.usable || w.0 > world.now))
    }

    /// What is there at each tick of the interval; `None` where somebody has all of it. Past `LAST` nothing changes.
    fn ticks(&self, from: i64, until: i64) -> impl Iterator<Item = Option<(i64, i64)>> + '_ {
        (from..until.max(from + 1).min(from.max(LAST) + 1)).map(|tick| {
            let (mut cores, mut gpus) = (i64::from(self.amount.cores), i64::from(self.amount.gpus));
            for (start, end, amount) in &self.spans {
                if *start <= tick && tick < (*end).max(*start + 1) {
                    let amount = (*amount)?;
                    cores -= i64::from(amount.cores);
                    gpus -= i64::from(amount.gpus);
                }
            }
            Some((cores, gpus))
        })
    }

    fn untouched(&self, world: &World, from: i64, until: i64) -> bool {
        let end = until.max(from + 1);
        let clear = |(start, stop): (i64, i64)| end <= start || stop.max(start + 1) <= from;
        self.serves(world, from, until) && self.spans.iter().all(|s| clear((s.0, s.1)))
    }

    /// Whether so many slots fit throughout.
    fn has(&self, world: &World, slots: u64, slot: Amount, exclusive: bool, from: i64, until: i64) -> bool {
        let (cores, gpus) = (slots as i64 * i64::from(slot.cores), slots as i64 * i64::from(slot.gpus));
        let room = |free: Option<(i64, i64)>| free.is_some_and(|(c, g)| c.max(0) >= cores && g.max(0) >= gpus);
        self.serves(world, from, until)
            && (!exclusive || self.untouched(world, from, until))
            && self.ticks(from, until).all(room)
    }

    fn most_slots(&self, world: &World, slot: Amount, exclusive: bool, from: i64, until: i64) -> u64 {
        (1..=4).take_while(|n| self.has(world, *n, slot, exclusive, from, until)).count() as u64
    }
}

/// The order of targets, worked out anew.
fn order_of(world: &World, policy: MatchPolicy) -> Vec<usize> {
    let mut order: Vec<usize> = (0..world.nodes.len()).collect();
    match policy.name().trim_end_matches('x').trim_end_matches("node") {
        "hi" | "high" => order.sort_by_key(|i| Reverse((world.nodes[*i].logical, *i))),
        "lo" | "low" => order.sort_by_key(|i| (world.nodes[*i].logical, *i)),
        "first" => {}
        other => panic!("a policy without an order: {other}"),
    }
    order
}

fn is_exclusive(policy: MatchPolicy) -> bool {
    policy.name().ends_with('x')
}

/// What brute force finds at one start: how many slots of which target, in the order of the policy.
fn best_at(
    world: &World,
    shape: &Shape,
    allowed: &[usize],
    policy: MatchPolicy,
    from: i64,
    until: i64,
) -> Option<Vec<(usize, u64)>> {
    let exclusive = is_exclusive(policy);
    let order: Vec<usize> = order_of(world, policy).into_iter().filter(|i| allowed.contains(i)).collect();
    // (more is better, earlier in the order is better) over all subsets.
    let subsets = (1u32..1 << order.len()).map(|mask| (0..order.len()).filter(move |k| mask >> k & 1 == 1));
    let subset_with = |able: &dyn Fn(usize, u64) -> bool, nodes: &Count, each: &Count| {
        let mut best: Option<(usize, u64, Reverse<Vec<usize>>)> = None;
        for subset in subsets.clone() {
            let subset: Vec<usize> = subset.collect();
            if !nodes.contains(subset.len() as u64) {
                continue;
            }
            for n in (1..=4).filter(|n| each.contains(*n)) {
                if subset.iter().all(|k| able(order[*k], n)) {
                    best = best.max(Some((subset.len(), n, Reverse(subset.clone()))));
                }
            }
        }
        best.map(|(_, n, subset)| subset.0.iter().map(|k| (order[*k], n)).collect::<Vec<_>>())
    };
    match shape {
        Shape::Whole { nodes, at_least, .. } => {
            let able = |i: usize, _: u64| {
                let node = &world.nodes[i];
                let Amount { cores, gpus } = node.amount;
                cores >= at_least.cores && gpus >= at_least.gpus && node.untouched(world, from, until)
            };
            subset_with(&able, nodes, &Count::fixed(1))
        }
        Shape::Nodes { nodes, slots, slot } => {
            let able = |i: usize, n: u64| world.nodes[i].has(world, n, *slot, exclusive, from, until);
            subset_with(&able, nodes, slots)
        }
        Shape::Slots { slots, slot } => {
            let most: Vec<u64> =
                order.iter().map(|i| world.nodes[*i].most_slots(world, *slot, exclusive, from, until)).collect();
            let total = (1..=most.iter().sum()).rev().find(|n| slots.contains(*n))?;
            let mut given = vec![0; order.len()];
            for _ in 0..total {
                let open = (0..order.len()).filter(|k| given[*k] < most[*k]);
                let next = match policy {
                    MatchPolicy::High | MatchPolicy::Low => open
                        .max_by_key(|k| (level(world, order[*k], *slot, given[*k], policy, from, until), Reverse(*k))),
                    _ => open.min(),
                };
                given[next.unwrap()] += 1;
            }
            Some(order.into_iter().zip(given).filter(|(_, n)| *n > 0).collect())
        }
    }
}

/// How attractive a target is for the next slot where slots spread.
fn level(world: &World, i: usize, slot: Amount, given: u64, policy: MatchPolicy, from: i64, until: i64) -> i64 {
    let node = &world.nodes[i];
    let of = |(cores, gpus): (i64, i64)| if slot.cores > 0 { cores } else { gpus };
    let each = of((slot.cores.into(), slot.gpus.into()));
    let free = node.ticks(from, until).map(|free| of(free.unwrap())).min().unwrap() - given as i64 * each;
    if policy == MatchPolicy::High { free } else { free - of((node.amount.cores.into(), node.amount.gpus.into())) }
}

/// What the matcher found, in the words of the oracle.
fn found(placement: &Placement, shape: &Shape, world: &World, expect: &[(usize, u64)]) -> Vec<(usize, u64)> {
    let parts = placement.parts.iter().enumerate().map(|(k, (t, taken))| {
        let i = t.index();
        assert!(i < world.nodes.len());
        match taken {
            Taken::Slots(n) => (i, u64::from(*n)),
            // How many slots are meant on a whole target stands in the sum only.
            Taken::Whole => (i, expect.get(k).map_or(0, |e| e.1)),
        }
    });
    let parts: Vec<_> = parts.collect();
    let slots = match shape {
        Shape::Whole { slots_per_node, .. } => parts.len() as u64 * u64::from(*slots_per_node),
        Shape::Nodes { .. } | Shape::Slots { .. } => parts.iter().map(|p| p.1).sum(),
    };
    assert_eq!(u64::from(placement.nslots), slots);
    parts
}

fn amount() -> impl Strategy<Value = Amount> {
    (0u32..=4, 0u32..=2).prop_map(|(cores, gpus)| Amount { cores, gpus })
}

fn slot() -> impl Strategy<Value = Amount> {
    const SLOTS: [(u32, u32); 7] = [(1, 0), (1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (0, 1)];
    prop::sample::select(&SLOTS[..]).prop_map(|(cores, gpus)| Amount { cores, gpus })
}

fn count() -> impl Strategy<Value = Count> {
    const TEXTS: [&str; 13] =
        ["1", "2", "3", "4", "5", "1-3", "2-7", "1+", "2+:2", "1-8:2:*", "2-16:2:^", "1,3-4", "3+"];
    prop::sample::select(&TEXTS[..]).prop_map(|text| text.parse().unwrap())
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (count(), prop_oneof![Just(Amount::NONE), amount()], 1u32..3)
            .prop_map(|(nodes, at_least, slots_per_node)| Shape::Whole { nodes, at_least, slots_per_node }),
        (count(), count(), slot()).prop_map(|(nodes, slots, slot)| Shape::Nodes { nodes, slots, slot }),
        (count(), slot()).prop_map(|(slots, slot)| Shape::Slots { slots, slot }),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    let end = prop_oneof![9 => 1i64..15, 1 => Just(FAR)];
    let span = (-3i64..25, end, prop::option::weighted(0.7, amount()))
        .prop_map(|(from, length, amount)| (from, end_of(from, length), amount));
    let windows = prop::collection::vec((-5i64..12, 1i64..16), 0..3).prop_map(|gaps| {
        let mut windows: Vec<(i64, i64)> = Vec::new();
        for (gap, length) in gaps {
            let from = windows.last().map_or(gap, |last| last.1 + gap.max(0));
            windows.push((from, from + length));
        }
        windows
    });
    // Some last windows are open.
    let windows = (windows, any::<bool>()).prop_map(|(mut windows, open)| {
        if let Some(last) = windows.last_mut().filter(|_| open) {
            last.1 = FAR;
        }
        windows
    });
    (
        amount(),
        0i64..6,
        any::<bool>(),
        prop::bool::weighted(0.85),
        prop::option::weighted(0.4, windows),
        prop::collection::vec(span, 0..4),
    )
        .prop_map(|(amount, logical, special, usable, windows, spans)| Node {
            amount,
            logical,
            special,
            usable,
            windows,
            spans,
        })
}

fn world() -> impl Strategy<Value = World> {
    (prop::collection::vec(node(), 1..=7), 0i64..3, 0i64..6).prop_map(|(nodes, margin, now)| World {
        nodes,
        margin,
        now,
    })
}

fn constraint() -> impl Strategy<Value = Option<Constraint>> {
    let special = |negated| Constraint::Properties(vec![PropertyTerm { name: "special".to_owned(), negated }]);
    prop_oneof![3 => Just(None), 1 => Just(Some(special(false))), 1 => Just(Some(special(true)))]
}

fn policy() -> impl Strategy<Value = MatchPolicy> {
    prop::sample::select(&POLICIES[..])
}

fn duration() -> impl Strategy<Value = i64> {
    prop_oneof![9 => 0i64..12, 1 => Just(FAR)]
}

/// The targets that a constraint admits, by the graph and by hand.
fn candidates(world: &World, constraint: &Option<Constraint>) -> (Bits, Vec<usize>) {
    let (graph, properties) = world.graph();
    let set = constraint.as_ref().map_or_else(|| graph.targets().clone(), |c| graph.resolve(&properties, c).unwrap());
    let wants = match constraint {
        Some(Constraint::Properties(terms)) => Some(!terms[0].negated),
        _ => None,
    };
    let by_hand = (0..world.nodes.len()).filter(|i| wants.is_none_or(|special| world.nodes[*i].special == special));
    (Bits::from_set(&set, graph.target_bound()), by_hand.collect())
}

fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2000), ..ProptestConfig::default() })]

    /// Feasibility, the earliest start, what is taken: exactly what brute force finds best.
    #[test]
    fn earliest_is_what_brute_force_finds(
        world in world(), shape in shape(), constraint in constraint(), policy in policy(), duration in duration(),
    ) {
        let (bits, allowed) = candidates(&world, &constraint);
        let (plans, order) = (world.plans(), TargetOrder::new(policy, &world.graph().0));
        let result = earliest(&plans, &shape, &bits, &order, length(duration), at(world.now));
        let best = |start: i64| best_at(&world, &shape, &allowed, policy, start, end_of(start, duration));
        let start = (world.now..=LAST + 1).find(|start| best(*start).is_some());
        prop_assert_eq!(result.as_ref().map(|p| p.start), start.map(at));
        if let (Some(placement), Some(start)) = (&result, start) {
            let expect = best(start).unwrap();
            prop_assert_eq!(found(placement, &shape, &world, &expect), expect);
            let whole = matches!(shape, Shape::Whole { .. }) || is_exclusive(policy);
            prop_assert!(placement.parts.iter().all(|p| (p.1 == Taken::Whole) == whole));
        }
    }

    /// The same at one fixed start; a shortage is named exactly when it does not fit.
    #[test]
    fn fits_is_what_brute_force_finds(
        world in world(), shape in shape(), constraint in constraint(), policy in policy(), duration in duration(),
        start in -5i64..LAST,
    ) {
        let (bits, allowed) = candidates(&world, &constraint);
        let (plans, order) = (world.plans(), TargetOrder::new(policy, &world.graph().0));
        let until = end_of(start, duration);
        let result = fits(&plans, &shape, &bits, &order, at(start), at(until));
        let expect = best_at(&world, &shape, &allowed, policy, start, until);
        let short = why_not(&plans, &shape, &bits, &order, at(start), at(until));
        prop_assert_eq!(short.is_some(), expect.is_none(), "{:?}", short);
        if let Some(short) = short {
            prop_assert!(short.available < short.asked, "{}", short);
        }
        let result = result.map(|p| found(&p, &shape, &world, expect.as_deref().unwrap_or(&[])));
        prop_assert_eq!(result, expect);
    }

    /// Satisfiability is what fits when all are up, idle, and without windows.
    #[test]
    fn satisfiable_is_what_fits_when_idle(
        mut world in world(), shape in shape(), constraint in constraint(), policy in policy(),
    ) {
        for node in &mut world.nodes {
            (node.usable, node.windows, node.spans) = (true, None, Vec::new());
        }
        let (bits, allowed) = candidates(&world, &constraint);
        let request = Request { shape: shape.clone(), constraint, shared: Default::default() };
        let result = satisfiable(&request, &world.graph().0, &bits);
        let expect = best_at(&world, &shape, &allowed, policy, 0, FAR);
        prop_assert_eq!(result.is_ok(), expect.is_some(), "{:?}", result);
    }

    /// Jobs come and go: every selection is disjoint from all others, has what was asked, from the right end.
    #[test]
    fn selections_are_valid(
        mut world in world(),
        jobs in prop::collection::vec((shape(), prop::option::weighted(0.3, any::<usize>())), 1..12),
        policy in policy(),
    ) {
        for node in &mut world.nodes {
            (node.usable, node.windows, node.spans) = (true, None, Vec::new());
        }
        let (bits, _) = candidates(&world, &None);
        let (mut plans, order) = (world.plans(), TargetOrder::new(policy, &world.graph().0));
        let mut holdings = Holdings::new(world.nodes.iter().map(|n| n.amount));
        let mut ledger: Vec<(Vec<(TargetId, Take)>, Selection)> = Vec::new();
        for (shape, release) in jobs {
            if let Some(k) = release.filter(|_| !ledger.is_empty()) {
                let (takes, selection) = ledger.swap_remove(release.unwrap() % ledger.len());
                for share in &selection.shares {
                    holdings.release(share).unwrap();
                    prop_assert!(holdings.release(share).is_err(), "released twice: {k}");
                }
                for (t, take) in takes {
                    plans.vacate(t, at(0), at(FAR), take).unwrap();
                }
            }
            let Some(placement) = fits(&plans, &shape, &bits, &order, at(5), at(9)) else { continue };
            let selection = realise(&placement, &shape, &holdings, &order).unwrap();
            let slot = match &shape {
                Shape::Nodes { slot, .. } | Shape::Slots { slot, .. } => *slot,
                Shape::Whole { at_least, .. } => *at_least,
            };
            check_selection(&world, &ledger, &placement, &selection, slot, policy);
            holdings.hold(&selection).unwrap();
            prop_assert!(holdings.hold(&selection).is_err(), "held twice");
            let takes: Vec<(TargetId, Take)> = placement.parts.iter().map(|(t, taken)| (*t, match taken {
                Taken::Whole => Take::Whole,
                Taken::Slots(n) => Take::Amount(slot.times(*n)),
            })).collect();
            for (t, take) in &takes {
                plans.occupy(*t, at(0), at(FAR), *take).unwrap();
            }
            ledger.push((takes, selection));
        }
    }
}

/// The units of a share: kind and position.
fn units(world: &World, share: &Share) -> BTreeSet<(u32, char, u32)> {
    let t = share.target;
    let Amount { cores, gpus } = world.nodes[t.index()].amount;
    match &share.extent {
        Extent::Whole => (0..cores).map(|p| (t.0, 'c', p)).chain((0..gpus).map(|p| (t.0, 'g', p))).collect(),
        Extent::Part(part) => {
            part.cores.iter().map(|p| (t.0, 'c', p)).chain(part.gpus.iter().map(|p| (t.0, 'g', p))).collect()
        }
    }
}

fn check_selection(
    world: &World,
    ledger: &[(Vec<(TargetId, Take)>, Selection)],
    placement: &Placement,
    selection: &Selection,
    slot: Amount,
    policy: MatchPolicy,
) {
    assert!(selection.shares.is_sorted_by(|a, b| a.target < b.target));
    assert_eq!(selection.nslots, placement.nslots);
    assert_eq!(selection.shares.len(), placement.parts.len());
    let all_shares = || ledger.iter().flat_map(|(_, other)| &other.shares);
    for share in &selection.shares {
        let others: Vec<&Share> = all_shares().filter(|other| other.target == share.target).collect();
        let mine = units(world, share);
        let taken = placement.parts.iter().find(|p| p.0 == share.target).unwrap().1;
        let Taken::Slots(n) = taken else {
            assert!(share.extent == Extent::Whole && others.is_empty());
            continue;
        };
        assert!(matches!(share.extent, Extent::Part(_)) && others.iter().all(|o| o.extent != Extent::Whole));
        let held: BTreeSet<_> = others.iter().flat_map(|o| units(world, o)).collect();
        let whole = units(world, &Share { target: share.target, extent: Extent::Whole });
        for (kind, each) in [('c', slot.cores), ('g', slot.gpus)] {
            let free: Vec<_> = whole.difference(&held).filter(|u| u.1 == kind).copied().collect();
            let asked = (each * n) as usize;
            let expect: BTreeSet<_> = match policy.name() {
                "high" | "hinode" => free[free.len() - asked..].iter().copied().collect(),
                _ => free[..asked].iter().copied().collect(),
            };
            assert_eq!(mine.iter().filter(|u| u.1 == kind).copied().collect::<BTreeSet<_>>(), expect);
        }
    }
}
