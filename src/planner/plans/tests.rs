use super::*;
use crate::base::{TargetSet, Timeline};

const A: TargetId = TargetId(0);
const SLOT: Capacity = Capacity { cores: 1, gpus: 0 };

fn t(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn cores(cores: u32) -> Take {
    Take::Amount(Capacity { cores, gpus: 0 })
}

/// One usable target of four cores and two gpus.
fn one() -> TargetPlans {
    let mut plans = TargetPlans::new([Capacity { cores: 4, gpus: 2 }]);
    plans.set_usable(A, true).unwrap();
    plans
}

fn windows(list: &[(i64, i64)]) -> Windows {
    let windows = list.iter().map(|(from, until)| Window { from: t(*from), until: t(*until) }).collect();
    Windows { timelines: vec![Timeline { targets: TargetSet::single(A), windows }] }
}

#[test]
fn parts_add_up_and_exclude_the_whole() {
    let mut plans = one();
    plans.occupy(A, t(0), t(10), cores(1)).unwrap();
    plans.occupy(A, t(5), t(15), cores(2)).unwrap();
    let free = |plans: &TargetPlans, from, until| plans.free_during(A, t(from), t(until)).map(|c| c.cores);
    assert_eq!(free(&plans, 0, 5), Some(3));
    assert_eq!(free(&plans, 0, 6), Some(1));
    assert_eq!(free(&plans, 10, 15), Some(2));
    assert!(!plans.whole_during(A, t(14), t(15)));
    assert!(plans.whole_during(A, t(15), Timestamp::NEVER));
    plans.occupy(A, t(20), Timestamp::NEVER, Take::Whole).unwrap();
    assert_eq!((free(&plans, 15, 20), free(&plans, 15, 21)), (Some(4), None));
    plans.vacate(A, t(0), t(10), cores(1)).unwrap();
    plans.vacate(A, t(5), t(15), cores(2)).unwrap();
    plans.vacate(A, t(20), Timestamp::NEVER, Take::Whole).unwrap();
    assert!(plans.plans[0].steps.is_empty(), "{:?}", plans.plans[0].steps);
}

#[test]
fn vacates_only_what_is_there() {
    let mut plans = one();
    plans.occupy(A, t(0), t(10), cores(1)).unwrap();
    let text = plans.vacate(A, t(0), t(11), cores(1)).unwrap_err().to_string();
    assert_eq!(text, "target 0: expected Amount(Capacity { cores: 1, gpus: 0 }) from 0 until 11, found no such span");
    assert_eq!(plans.spans(A).count(), 1);
    let text = plans.occupy(TargetId(7), t(0), t(1), Take::Whole).unwrap_err().to_string();
    assert_eq!(text, "target 7: expected a target below 1");
}

#[test]
fn more_than_there_is_leaves_nothing() {
    let mut plans = one();
    plans.occupy(A, t(0), t(10), cores(3)).unwrap();
    plans.occupy(A, t(0), t(10), cores(3)).unwrap();
    assert_eq!(plans.free_during(A, t(0), t(1)), Some(Capacity { cores: 0, gpus: 2 }));
    assert_eq!(plans.slots_during(A, Capacity { cores: 0, gpus: 1 }, t(0), t(1)), 2);
}

#[test]
fn an_empty_interval_is_its_first_instant() {
    let mut plans = one();
    plans.occupy(A, t(5), t(5), Take::Whole).unwrap();
    assert!(!plans.whole_during(A, t(5), t(5)));
    assert!(plans.whole_during(A, t(5) + INSTANT, t(6)));
    assert!(plans.whole_during(A, t(4), t(5)));
    plans.vacate(A, t(5), t(5), Take::Whole).unwrap();
    assert!(plans.whole_during(A, t(5), t(5)));
}

#[test]
fn serves_within_one_window_less_the_margin() {
    let mut plans = one();
    plans.set_windows(&windows(&[(0, 10), (10, 20)]), Duration::from_secs(2));
    let served = |plans: &TargetPlans, from, until| plans.whole_during(A, t(from), t(until));
    let cases = [(0, 8, true), (0, 9, false), (-1, 3, false), (9, 11, false), (10, 18, true), (20, 21, false)];
    for (from, until, expect) in cases {
        assert_eq!(served(&plans, from, until), expect, "{from}..{until}");
        assert_eq!(plans.slots_during(A, SLOT, t(from), t(until)) > 0, expect, "{from}..{until}");
    }
    plans.set_windows(&windows(&[]), Duration::ZERO);
    assert!(!served(&plans, 0, 1));
    plans.set_windows(&Windows::default(), Duration::ZERO);
    assert!(served(&plans, 0, 1));
}

#[test]
fn a_target_that_is_down_serves_when_it_arrives() {
    let mut plans = one();
    plans.set_usable(A, false).unwrap();
    assert!(!plans.whole_during(A, t(100), t(101)));
    plans.set_windows(&windows(&[(0, 10), (20, 30)]), Duration::ZERO);
    plans.advance(t(5));
    assert!(!plans.whole_during(A, t(6), t(7)));
    assert!(plans.whole_during(A, t(20), t(30)));
    plans.advance(t(20));
    assert!(!plans.whole_during(A, t(20), t(30)));
}

#[test]
fn between_change_points_nothing_changes() {
    let mut plans = one();
    plans.set_windows(&windows(&[(0, 40)]), Duration::from_secs(1));
    plans.occupy(A, t(10), t(20), cores(2)).unwrap();
    plans.occupy(A, t(15), t(25), Take::Whole).unwrap();
    let duration = Duration::from_secs(3);
    let mut points = vec![t(-10)];
    while let Some(next) = plans.next_change(A, points[points.len() - 1], duration) {
        points.push(next);
    }
    let after = |s: i64| t(s) + INSTANT;
    let expect = [t(-10), t(0), after(7), t(10), after(12), t(15), after(17), t(20), after(22), t(25), after(36)];
    assert_eq!(points, expect);
}
