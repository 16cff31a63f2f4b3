//! What is started before what: levels, each of services that may start at once.

use super::registry::{Registry, UnitId};
use std::fmt;

/// Services that wait for each other: each for the next, the last for the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop(pub Vec<String>);

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.0.first().map_or("", String::as_str);
        self.0.iter().try_for_each(|name| write!(f, "{name} after "))?;
        f.write_str(first)
    }
}

/// For each of `units`, the places of those that come before it.
pub(super) fn predecessors(registry: &Registry, units: &[UnitId]) -> Vec<Vec<usize>> {
    let rule = |at: usize| &registry.unit(units[at]).rule;
    let starred = |list: &[String]| list.first().is_some_and(|name| name == "*");
    let meant = |list: &[String], at: usize| list.iter().any(|name| registry.unit(units[at]).is_meant(name));
    let before = |first: usize, second: usize| {
        let (a, b) = (rule(first), rule(second));
        meant(&a.before, second)
            || meant(&b.after, first)
            || starred(&a.before) && !starred(&b.before)
            || starred(&b.after) && !starred(&a.after)
    };
    let of = |second| (0..units.len()).filter(|first| *first != second && before(*first, second)).collect();
    (0..units.len()).map(of).collect()
}

/// The units in levels: each stands one level above the highest of those before it; in a level by their rules.
pub(super) fn levels(registry: &Registry, units: &[UnitId]) -> Result<Vec<Vec<UnitId>>, Loop> {
    let before = predecessors(registry, units);
    let mut level: Vec<Option<usize>> = vec![None; units.len()];
    for current in 0..units.len() {
        let free = |at: &usize| level[*at].is_none() && before[*at].iter().all(|b| level[*b].is_some());
        let ready: Vec<usize> = (0..units.len()).filter(free).collect();
        if ready.is_empty() {
            break;
        }
        ready.into_iter().for_each(|at| level[at] = Some(current));
    }
    if let Some(stuck) = level.iter().position(Option::is_none) {
        return Err(find_loop(registry, units, &before, &level, stuck));
    }
    let mut levels = vec![Vec::new(); level.iter().flatten().max().map_or(0, |highest| highest + 1)];
    for (unit, level) in units.iter().zip(level) {
        levels[level.unwrap_or(0)].push(*unit);
    }
    levels.iter_mut().for_each(|level: &mut Vec<UnitId>| level.sort_unstable());
    Ok(levels)
}

/// A loop that can be reached from `stuck` by going to those before it: each stuck one has one of them.
fn find_loop(
    registry: &Registry,
    units: &[UnitId],
    before: &[Vec<usize>],
    level: &[Option<usize>],
    stuck: usize,
) -> Loop {
    let mut way = vec![stuck];
    loop {
        let last = way[way.len() - 1];
        let Some(next) = before[last].iter().copied().find(|b| level[*b].is_none()) else { break };
        if let Some(first) = way.iter().position(|at| *at == next) {
            way.drain(..first);
            break;
        }
        way.push(next);
    }
    Loop(way.into_iter().map(|at| registry.unit(units[at]).name().to_owned()).collect())
}
