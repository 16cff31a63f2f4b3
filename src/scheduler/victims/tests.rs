use super::{Candidate, Cost, best, choose, good, of_use, sum};
use crate::base::{Priority, Timestamp};
use proptest::prelude::*;

fn candidate() -> impl Strategy<Value = Candidate> {
    (0u32..6, 0i128..8, 0u32..3, 0i64..5).prop_map(|(frees, lost, priority, started)| Candidate {
        frees,
        lost,
        priority: Priority(priority.into()),
        started: Timestamp::from_secs(started),
    })
}

/// By every set there is.
fn brute(candidates: &[Candidate], need: u32) -> Option<(u32, Cost)> {
    let sets = (0u32..1 << candidates.len()).filter_map(|set| {
        let chosen = || (0..candidates.len()).filter(move |i| set >> i & 1 == 1).map(|i| &candidates[i]);
        let freed: u32 = chosen().map(|c| c.frees).sum();
        (freed >= need).then(|| (set.count_ones(), chosen().fold((0, 0, 0), |cost, c| sum(cost, c.cost()))))
    });
    sets.min()
}

fn judged(candidates: &[Candidate], chosen: &[usize]) -> (u32, Cost) {
    (chosen.len() as u32, chosen.iter().fold((0, 0, 0), |cost, i| sum(cost, candidates[*i].cost())))
}

proptest! {
    #[test]
    fn no_set_is_better(candidates in prop::collection::vec(candidate(), 0..11), need in 1u32..14) {
        let chosen = choose(&candidates, need);
        prop_assert_eq!(chosen.as_deref().map(|c| judged(&candidates, c)), brute(&candidates, need));
        if let Some(chosen) = chosen {
            prop_assert!(chosen.iter().map(|i| candidates[*i].frees).sum::<u32>() >= need);
            prop_assert!(chosen.windows(2).all(|w| w[0] < w[1]), "each once, ascending");
        }
    }

    #[test]
    fn where_there_is_much_to_look_at_it_is_as_few(candidates in prop::collection::vec(candidate(), 0..11), need in 1u32..14) {
        let Some(chosen) = choose(&candidates, need) else { return Ok(()) };
        let mut largest: Vec<usize> = (0..candidates.len()).filter(|i| candidates[*i].frees > 0).collect();
        largest.sort_by_key(|i| std::cmp::Reverse(candidates[*i].frees.min(need)));
        let quick = good(&candidates, &largest, need, chosen.len());
        prop_assert_eq!(quick.len(), chosen.len());
        prop_assert!(quick.iter().map(|i| candidates[*i].frees).sum::<u32>() >= need);
    }
}

#[test]
fn the_order_of_what_is_better() {
    let job = |frees, lost, priority: u32, started| Candidate {
        frees,
        lost,
        priority: Priority(priority.into()),
        started: Timestamp::from_secs(started),
    };
    let check = |candidates: &[Candidate], need, expected: &[usize]| {
        assert_eq!(choose(candidates, need).as_deref(), Some(expected), "{candidates:?}");
    };
    // One job rather than two with less work.
    check(&[job(1, 1, 16, 0), job(1, 1, 16, 0), job(2, 100, 16, 0)], 2, &[2]);
    // Less work rather than lower priority.
    check(&[job(1, 5, 8, 0), job(1, 4, 16, 0)], 1, &[1]);
    // Lower priority rather than younger.
    check(&[job(1, 4, 16, 9), job(1, 4, 8, 0)], 1, &[1]);
    check(&[job(1, 4, 16, 3), job(1, 4, 16, 9)], 1, &[1]);
    // A job that frees nothing of use is never taken.
    check(&[job(0, 0, 0, 9), job(3, 50, 16, 0)], 2, &[1]);
    assert_eq!(choose(&[job(1, 0, 0, 0), job(1, 0, 0, 0)], 3), None, "all together are too few");
}

#[test]
fn a_large_choice_is_cut_down_to_what_can_be_in_it() {
    let candidates: Vec<Candidate> = (0..3000)
        .map(|i| Candidate { frees: 1, lost: i128::from(3000 - i), priority: Priority(16), started: Timestamp::ZERO })
        .collect();
    let chosen = choose(&candidates, 700).expect("enough");
    assert_eq!(chosen, (2300..3000).collect::<Vec<_>>());
    let all: Vec<usize> = (0..3000).rev().collect();
    assert_eq!(of_use(&candidates, &all, 700, 700).len(), 700);
    assert_eq!(best(&candidates, &[5, 6], 2, 2).len(), 2);
}
