//! Which of the jobs that may be preempted are: the least set that suffices.
//!
//! Decides by what it is told of each job and nothing else. The order of what is better, in which the first difference
//! decides: fewer jobs; less work lost (node-time that the jobs have run, all together); lower priority (the sum, which
//! among as many jobs is the mean); younger jobs (the sum of their starts, later is better). What is chosen is the best
//! of all sets that suffice, up to [`STEPS`] steps of search; where there is more to look at, the number of jobs is still
//! the least, and no exchange of one of them for another would be better. None is chosen where all together do not
//! suffice.

use crate::base::{Priority, Timestamp};

/// A job that may be preempted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    /// How many targets of use it frees.
    pub frees: u32,
    /// Node-microseconds that it has run.
    pub lost: i128,
    pub priority: Priority,
    pub started: Timestamp,
}

/// How many steps a search for the best set may take.
const STEPS: usize = 4_000_000;

/// What a set costs beside the number of its jobs; less is better.
type Cost = (i128, i64, i128);

impl Candidate {
    fn cost(&self) -> Cost {
        (self.lost, self.priority.0, -i128::from(self.started.micros()))
    }
}

fn sum(a: Cost, b: Cost) -> Cost {
    (a.0 + b.0, a.1 + b.1, a.2 + b.2)
}

/// The best set of candidates that frees at least `need` targets, by their places, ascending.
pub(super) fn choose(candidates: &[Candidate], need: u32) -> Option<Vec<usize>> {
    let mut largest: Vec<usize> = (0..candidates.len()).filter(|i| candidates[*i].frees > 0).collect();
    // Cheapest first among equals, so that a tie never depends on anything but what is told.
    largest.sort_by_key(|i| (std::cmp::Reverse(candidates[*i].frees.min(need)), candidates[*i].cost(), *i));
    let (mut freed, mut count) = (0u64, 0);
    while freed < u64::from(need) {
        freed += u64::from(candidates[*largest.get(count)?].frees);
        count += 1;
    }
    let items = of_use(candidates, &largest, need, count);
    let steps = items.len().saturating_mul(count).saturating_mul(need as usize + 1);
    let mut chosen =
        if steps <= STEPS { best(candidates, &items, need, count) } else { good(candidates, &items, need, count) };
    chosen.sort_unstable();
    Some(chosen)
}

/// The candidates that can be in a best set of `count`: of those that free as much, no more than are needed of them.
fn of_use(candidates: &[Candidate], largest: &[usize], need: u32, count: usize) -> Vec<usize> {
    let frees = |i: &usize| candidates[*i].frees.min(need);
    let alike = largest.chunk_by(|a, b| frees(a) == frees(b));
    alike
        .flat_map(|group| &group[..group.len().min(count).min(need.div_ceil(frees(&group[0])) as usize)])
        .copied()
        .collect()
}

/// The best set of exactly `count` items, over all that can be reached with so many items and so much freed.
fn best(candidates: &[Candidate], items: &[usize], need: u32, count: usize) -> Vec<usize> {
    let width = need as usize + 1;
    // For each number of items and of targets: the least cost, and the last item with the link to those before it.
    let mut table: Vec<Option<(Cost, usize)>> = vec![None; (count + 1) * width];
    let mut links: Vec<(usize, usize)> = vec![(usize::MAX, 0)];
    table[0] = Some(((0, 0, 0), 0));
    for item in items {
        let candidate = &candidates[*item];
        for have in (0..count).rev() {
            for freed in 0..width {
                let Some((cost, link)) = table[have * width + freed] else { continue };
                let to = (have + 1) * width + (freed + candidate.frees as usize).min(width - 1);
                let new = sum(cost, candidate.cost());
                if table[to].is_none_or(|(old, _)| new < old) {
                    links.push((*item, link));
                    table[to] = Some((new, links.len() - 1));
                }
            }
        }
    }
    let mut link = table[count * width + width - 1].map_or(0, |(_, link)| link);
    let mut chosen = Vec::with_capacity(count);
    while link != 0 {
        chosen.push(links[link].0);
        link = links[link].1;
    }
    chosen
}

/// The largest, improved by exchanges of one for one until none is better.
fn good(candidates: &[Candidate], items: &[usize], need: u32, count: usize) -> Vec<usize> {
    let frees = |i: &usize| u64::from(candidates[*i].frees);
    let mut chosen = items[..count.min(items.len())].to_vec();
    let mut freed: u64 = chosen.iter().map(frees).sum();
    let mut others: Vec<usize> = items[chosen.len()..].to_vec();
    loop {
        let pairs = (0..chosen.len()).flat_map(|a| (0..others.len()).map(move |b| (a, b)));
        let enough = |(a, b): &(usize, usize)| freed - frees(&chosen[*a]) + frees(&others[*b]) >= u64::from(need);
        let gain = |(a, b): (usize, usize)| {
            let (old, new) = (candidates[chosen[a]].cost(), candidates[others[b]].cost());
            (new < old).then_some(((new.0 - old.0, new.1 - old.1, new.2 - old.2), a, b))
        };
        let Some((_, a, b)) = pairs.filter(enough).filter_map(gain).min() else { return chosen };
        freed = freed - frees(&chosen[a]) + frees(&others[b]);
        std::mem::swap(&mut chosen[a], &mut others[b]);
    }
}

#[cfg(test)]
#[path = "victims/tests.rs"]
mod tests;
