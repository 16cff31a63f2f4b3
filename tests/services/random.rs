//! Random rules: plans against brute force, and what runs under random changes.

use proptest::prelude::*;
use sluice::services::{Change, ChangeError, Fragment, PlanError, Registry, Running, UnitId, Wanted};
use std::collections::BTreeSet;

/// How many services a registry has at most; brute force looks at all subsets of them.
const MOST: usize = 7;

#[derive(Clone, Debug)]
struct Made {
    provides: Vec<usize>,
    priority: i64,
    requires: Vec<usize>,
    needs: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    star: u8,
    disabled: bool,
}

/// Names 0 to 6 are services by themselves, 7 to 9 what several provide.
fn name(number: usize) -> String {
    if number < MOST { format!("m{number}") } else { format!("s{}", number - MOST) }
}

fn made() -> impl Strategy<Value = Made> {
    let names = |most| prop::collection::vec(0..MOST + 3, 0..most);
    let service = prop::collection::vec(MOST..MOST + 3, 0..=1);
    (service, 0..3i64, names(3), names(2), names(2), names(3), 0..24u8, prop::bool::weighted(0.1)).prop_map(
        |(provides, priority, requires, needs, before, after, star, disabled)| {
            let needs = if star % 3 == 0 { needs } else { vec![] };
            Made { provides, priority, requires, needs, before, after, star, disabled }
        },
    )
}

fn text(all: &[Made]) -> String {
    let quoted = |names: &[usize]| {
        // What nobody provides would be an error of its own.
        let known = |n: &&usize| **n < all.len() || all.iter().any(|m| m.provides.contains(n));
        names.iter().filter(known).map(|n| format!("\"{}\"", name(*n))).collect::<Vec<_>>().join(", ")
    };
    let mut text = String::new();
    for (number, made) in all.iter().enumerate() {
        let (before, after) = match made.star {
            0 => ("\"*\"".to_owned(), String::new()),
            1 => (String::new(), "\"*\"".to_owned()),
            // Mostly backwards, so that most have no loop.
            _ => (String::new(), quoted(&made.after.iter().map(|n| n % (number + 1)).collect::<Vec<_>>())),
        };
        let before = if made.star == 2 { quoted(&made.before) } else { before };
        text += &format!(
            "[[services]]\nname = \"{}\"\nprovides = [{}]\npriority = {}\nrequires = [{}]\nneeds = [{}]\nbefore = [{before}]\nafter = [{after}]\ndisabled = {}\n",
            name(number),
            quoted(&made.provides),
            made.priority,
            quoted(&made.requires),
            quoted(&made.needs),
            made.disabled,
        );
    }
    text
}

/// The slow and simple reading of the rules.
struct Brute<'r> {
    registry: &'r Registry,
    ids: Vec<UnitId>,
    fit: BTreeSet<usize>,
}

impl<'r> Brute<'r> {
    fn new(registry: &'r Registry) -> Self {
        let ids: Vec<UnitId> = registry.units().map(|(id, _)| id).collect();
        let mut brute = Self { registry, ids, fit: BTreeSet::new() };
        // All sets that can stand by themselves, together.
        for set in brute.subsets() {
            let can = |at: &usize| {
                let rule = &brute.rule(*at);
                let met = |need: &String| set.iter().any(|other| brute.rule(*other).serves(need));
                !rule.conditions.disabled && rule.needs.iter().all(met)
            };
            if set.iter().all(can) {
                brute.fit.extend(set);
            }
        }
        brute
    }

    fn rule(&self, at: usize) -> &sluice::services::Rule {
        &self.registry.unit(self.ids[at]).rule
    }

    fn subsets(&self) -> Vec<BTreeSet<usize>> {
        let n = self.ids.len();
        (0..1usize << n).map(|bits| (0..n).filter(|at| bits >> at & 1 == 1).collect()).collect()
    }

    fn best(&self, service: &str, out: &BTreeSet<usize>) -> Option<usize> {
        let all = self.fit.iter().copied().filter(|at| !out.contains(at) && self.rule(*at).serves(service));
        all.max_by_key(|at| (self.rule(*at).priority, *at))
    }

    /// The smallest set with the best of each root that has the best of all that is required in it.
    fn closure(&self, roots: &[String], out: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        let first: Option<BTreeSet<usize>> = roots.iter().map(|root| self.best(root, out)).collect();
        let first = first?;
        let closed = |set: &BTreeSet<usize>| {
            let whole = |at: &usize| {
                self.rule(*at).requires.iter().filter_map(|r| self.best(r, out)).all(|best| set.contains(&best))
            };
            set.is_superset(&first) && set.iter().all(whole)
        };
        let mut closed: Vec<BTreeSet<usize>> = self.subsets().into_iter().filter(closed).collect();
        closed.sort_by_key(BTreeSet::len);
        let smallest = closed.first().cloned()?;
        assert!(closed.iter().all(|set| set.is_superset(&smallest)), "the smallest is part of all others");
        Some(smallest)
    }

    fn plan(&self, roots: &[String]) -> Option<BTreeSet<usize>> {
        let mut out = BTreeSet::new();
        loop {
            let closure = self.closure(roots, &out)?;
            let met = |need: &String| closure.iter().any(|other| self.rule(*other).serves(need));
            let lacks = |at: &&usize| !self.rule(**at).needs.iter().all(met);
            let lacking: Vec<usize> = closure.iter().filter(lacks).copied().collect();
            if lacking.is_empty() {
                return Some(closure);
            }
            out.extend(lacking);
        }
    }

    fn comes_before(&self, first: usize, second: usize) -> bool {
        let (a, b) = (self.rule(first), self.rule(second));
        let star = |list: &[String]| list == ["*"];
        a.before.iter().any(|n| b.serves(n))
            || b.after.iter().any(|n| a.serves(n))
            || star(&a.before) && !star(&b.before)
            || star(&b.after) && !star(&a.after)
    }

    fn at(&self, id: UnitId) -> usize {
        self.ids.iter().position(|other| *other == id).expect("one of them")
    }

    fn number(&self, name: &str) -> usize {
        self.at(self.registry.find(name).expect("a service"))
    }
}

fn check(all: &[Made], roots: &[String]) {
    let registry = Registry::of(&[Fragment::parse(&text(all), "random.toml").expect("sound")]).expect("sound");
    let brute = Brute::new(&registry);
    let expected = brute.plan(roots);
    match registry.plan(&Wanted { names: roots.to_vec(), force: vec![] }, &[]) {
        Ok(plan) => {
            let order: Vec<usize> = plan.order().map(|id| brute.at(id)).collect();
            let set: BTreeSet<usize> = order.iter().copied().collect();
            assert_eq!((order.len(), Some(&set)), (set.len(), expected.as_ref()), "neither more nor less");
            for (at, first) in order.iter().enumerate() {
                let late = order[..at].iter().find(|earlier| brute.comes_before(*first, **earlier));
                assert_eq!(late, None, "{first} comes before it");
            }
            for (below, level) in plan.levels.iter().zip(&plan.levels[1.min(plan.levels.len())..]) {
                let waits = |id: &UnitId| below.iter().any(|b| brute.comes_before(brute.at(*b), brute.at(*id)));
                assert!(level.iter().all(waits), "each stands as low as it can");
            }
            let mut reverse: Vec<usize> = plan.stop_order().map(|id| brute.at(id)).collect();
            reverse.reverse();
            assert_eq!(reverse, order);
        }
        Err(PlanError::Unfit { service, .. }) => {
            assert!(expected.is_none() && roots.contains(&service));
        }
        Err(PlanError::Conflict { service, first, second }) => {
            let set = expected.expect("there is a closure");
            for one in [&first, &second] {
                let at = brute.number(one);
                assert!(set.contains(&at) && brute.rule(at).serves(&service));
            }
            assert_ne!(first, second);
        }
        Err(PlanError::Circle(named)) => {
            let set = expected.expect("there is a closure");
            let numbers: Vec<usize> = named.0.iter().map(|n| brute.number(n)).collect();
            let next = numbers.iter().cycle().skip(1);
            for (one, other) in numbers.iter().zip(next) {
                assert!(set.contains(one) && brute.comes_before(*other, *one), "{named}");
            }
        }
        Err(PlanError::Unknown { .. }) => panic!("every name is known"),
    }
}

/// What must hold of what runs.
fn check_running(running: &Running) {
    let registry = running.registry();
    for (at, id) in running.loaded().iter().enumerate() {
        let unit = registry.unit(*id);
        let names = std::iter::once(&unit.rule.name).chain(&unit.rule.provides);
        for name in names {
            let others = running.loaded()[at + 1..].iter().filter(|o| registry.unit(**o).rule.serves(name)).count();
            assert_eq!(others, 0, "{name} is provided twice");
        }
        for required in unit.rule.requires.iter().chain(&unit.rule.needs) {
            let could = registry.standings(required, &[]).iter().any(|(_, unfit)| unfit.is_none());
            let needed = unit.rule.needs.contains(required);
            assert!(
                running.provider(required).is_some() || !could || !needed,
                "{} runs without {required}",
                unit.name()
            );
        }
    }
}

fn changes(all: &[Made], steps: &[(u8, usize, usize)]) {
    let registry = Registry::of(&[Fragment::parse(&text(all), "random.toml").expect("sound")]).expect("sound");
    let mut running = Running::new(registry);
    for (what, one, other) in steps {
        let (one, other) = (name(*one % (all.len() + 3)), name(*other % all.len()));
        let one = if one.starts_with('m') || all.iter().any(|m| m.provides.iter().any(|p| name(*p) == one)) {
            one
        } else {
            other.clone()
        };
        let before = running.loaded().to_vec();
        let wanted = Wanted { names: vec![one.clone()], force: vec![] };
        let change: Result<Change, ChangeError> = match what % 3 {
            0 => running.load(&wanted),
            1 => running.unload(&one),
            _ => running.swap(&one, &other),
        };
        let Ok(change) = change else { continue };
        let places: Vec<usize> =
            change.stop.iter().map(|id| before.iter().position(|b| b == id).expect("it ran")).collect();
        assert!(places.is_sorted_by(|a, b| a > b), "stopped in the reverse of the start");
        assert!(change.start.iter().flatten().all(|id| !before.contains(id)), "what runs is not started");
        running.enter(&change);
        check_running(&running);
        match what % 3 {
            0 => assert!(running.load(&wanted).expect("it runs").is_empty(), "twice is as once"),
            1 => assert!(running.provider(&one).is_none() && running.unload(&one).expect("gone").is_empty()),
            _ => {
                let new = running.registry().find(&other);
                assert_eq!(running.provider(&one), new);
                assert!(running.swap(&one, &other).expect("done").is_empty());
            }
        }
    }
}

proptest! {
    /// `PROPTEST_CASES=10000` looks at ten thousand registries.
    #[test]
    fn plans_are_what_brute_force_says(
        all in prop::collection::vec(made(), 1..=MOST),
        roots in prop::collection::vec(0..MOST, 1..3),
    ) {
        let roots: Vec<String> = roots.iter().map(|n| name(n % all.len())).collect();
        check(&all, &roots);
    }

    #[test]
    fn what_runs_stays_sound(
        all in prop::collection::vec(made(), 1..=MOST),
        steps in prop::collection::vec((any::<u8>(), 0..MOST + 3, 0..MOST), 1..12),
    ) {
        changes(&all, &steps);
    }
}
