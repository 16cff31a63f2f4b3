//! What is odd about a calendar: queues in each other's way, targets that nobody has, switches that cannot be in time.
//!
//! Decides nothing for the site, which takes any calendar; this is told to who wrote it. The future is played on
//! classes of targets that the same queues cover, from boundary to boundary. Queues that the calendar does not decide
//! about count as started all the time if they are at the beginning.

use super::Calendar;
use crate::base::{Duration, TargetSet, Timestamp};
use crate::config::Horizon;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What has to be known of a queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Covers {
    /// Its name.
    pub name: String,
    /// What it covers.
    pub members: TargetSet,
    /// Higher goes first.
    pub precedence: i32,
    /// How switches bound its jobs.
    pub horizon: Horizon,
    /// The longest time limit of its jobs; infinite if there is none.
    pub limit: Duration,
    /// Whether it is started where the calendar does not decide.
    pub started: bool,
}

/// Something odd: the first time, and how often in the time that was looked at.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "finding", rename_all = "kebab-case")]
pub enum Finding {
    /// Queues of one precedence are on at once and cover the same targets; the first by name has them.
    Overlap {
        /// Who has them.
        winner: String,
        /// Who is blocked.
        loser: String,
        /// Which targets, as numbers.
        targets: TargetSet,
        /// From when.
        from: Timestamp,
        /// Until when.
        until: Timestamp,
        /// How often.
        times: usize,
    },
    /// Targets of queues of the calendar are nobody's.
    Gap {
        /// Which targets, as numbers.
        targets: TargetSet,
        /// From when.
        from: Timestamp,
        /// Until when.
        until: Timestamp,
        /// How often.
        times: usize,
    },
    /// Jobs may run over a switch: it may be late.
    Late {
        /// Whose jobs.
        donor: String,
        /// Who waits for the targets.
        recipient: String,
        /// The first switch.
        at: Timestamp,
        /// By how much at most, in microseconds; infinite if jobs have no limit.
        by: Duration,
        /// How often.
        times: usize,
    },
    /// Jobs may ask for more time than any window has: they never start.
    TooLong {
        /// Whose jobs.
        queue: String,
        /// What they may ask for, in microseconds; infinite if there is no limit.
        limit: Duration,
        /// The longest window, in microseconds.
        window: Duration,
    },
}

/// A stretch of time in which one queue, or nobody, has a class of targets.
struct Stretch {
    owner: Option<usize>,
    from: Timestamp,
    until: Timestamp,
}

/// What is odd between two instants.
pub fn check(calendar: &Calendar, queues: &[Covers], from: Timestamp, until: Timestamp) -> Vec<Finding> {
    let on: Vec<Vec<(Timestamp, Timestamp)>> = queues
        .iter()
        .map(|queue| match calendar.decides(&queue.name) {
            true => calendar.windows(&queue.name, from, until).iter().map(|w| (w.from, w.until)).collect(),
            false if queue.started => vec![(Timestamp::MIN, Timestamp::NEVER)],
            false => Vec::new(),
        })
        .collect();
    let mut found = overlaps(queues, &on, (from, until));
    let mut gaps: BTreeMap<(Timestamp, Timestamp), TargetSet> = BTreeMap::new();
    let mut late: BTreeMap<(usize, usize), BTreeSet<Timestamp>> = BTreeMap::new();
    let mut longest: BTreeMap<usize, Duration> = BTreeMap::new();
    for (members, targets) in classes(queues) {
        if !members.iter().any(|q| calendar.decides(&queues[*q].name)) {
            longest.extend(members.iter().map(|q| (*q, Duration::INFINITE)));
            continue;
        }
        let stretches = stretches(queues, &on, &members, (from, until));
        for stretch in &stretches {
            let ends = stretch.from > from && stretch.until < until;
            match stretch.owner {
                None => *gaps.entry((stretch.from, stretch.until)).or_default() |= &targets,
                Some(owner) => {
                    // What goes on beyond what was looked at may be as long as one likes.
                    let whole = stretches.len() == 1;
                    let length = if whole { Duration::INFINITE } else { stretch.until.since(stretch.from) };
                    let known = longest.entry(owner).or_insert(Duration::ZERO);
                    if ends || whole {
                        *known = length.max(*known);
                    }
                }
            }
        }
        for pair in stretches.windows(2) {
            if let (Some(donor), Some(recipient)) = (pair[0].owner, pair[1].owner)
                && queues[donor].horizon != Horizon::Strict
            {
                late.entry((donor, recipient)).or_default().insert(pair[1].from);
            }
        }
    }
    let mut by_targets: BTreeMap<String, (TargetSet, Vec<(Timestamp, Timestamp)>)> = BTreeMap::new();
    for (when, targets) in gaps {
        by_targets.entry(targets.to_string()).or_insert_with(|| (targets, Vec::new())).1.push(when);
    }
    for (targets, times) in by_targets.into_values() {
        let (from, until) = times[0];
        found.push(Finding::Gap { targets, from, until, times: times.len() });
    }
    for ((donor, recipient), times) in late {
        let Some(at) = times.first().copied() else { continue };
        let (donor, recipient) = (&queues[donor], queues[recipient].name.clone());
        found.push(Finding::Late { donor: donor.name.clone(), recipient, at, by: donor.limit, times: times.len() });
    }
    for (queue, window) in longest {
        let Covers { name, limit, horizon, .. } = &queues[queue];
        if *horizon == Horizon::Strict && *limit > window && window > Duration::ZERO {
            found.push(Finding::TooLong { queue: name.clone(), limit: *limit, window });
        }
    }
    found
}

fn overlaps(
    queues: &[Covers],
    on: &[Vec<(Timestamp, Timestamp)>],
    (from, until): (Timestamp, Timestamp),
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (a, first) in queues.iter().enumerate() {
        for (b, second) in queues.iter().enumerate().skip(a + 1) {
            let targets = &first.members & &second.members;
            if first.precedence != second.precedence || targets.is_empty() {
                continue;
            }
            let both = |x: &(Timestamp, Timestamp)| {
                let cut = move |y: &(Timestamp, Timestamp)| (x.0.max(y.0).max(from), x.1.min(y.1).min(until));
                on[b].iter().map(cut).filter(|(from, until)| from < until).collect::<Vec<_>>()
            };
            let times: Vec<(Timestamp, Timestamp)> = on[a].iter().flat_map(both).collect();
            if let Some((from, until)) = times.first().copied() {
                let mut names = [first.name.clone(), second.name.clone()];
                names.sort_unstable();
                let [winner, loser] = names;
                found.push(Finding::Overlap { winner, loser, targets, from, until, times: times.len() });
            }
        }
    }
    found
}

/// Targets by which queues cover them; what nobody covers is left out.
fn classes(queues: &[Covers]) -> Vec<(Vec<usize>, TargetSet)> {
    let mut classes: Vec<(Vec<usize>, TargetSet)> = Vec::new();
    for (index, queue) in queues.iter().enumerate() {
        let mut rest = queue.members.clone();
        let mut split = Vec::new();
        for (members, targets) in &mut classes {
            let inside = &*targets & &queue.members;
            if inside.is_empty() {
                continue;
            }
            rest -= &inside;
            *targets -= &inside;
            let mut with = members.clone();
            with.push(index);
            split.push((with, inside));
        }
        classes.append(&mut split);
        classes.push((vec![index], rest));
        classes.retain(|(_, targets)| !targets.is_empty());
    }
    classes
}

/// Who has a class, from boundary to boundary.
fn stretches(
    queues: &[Covers],
    on: &[Vec<(Timestamp, Timestamp)>],
    members: &[usize],
    (from, until): (Timestamp, Timestamp),
) -> Vec<Stretch> {
    let ends = members.iter().flat_map(|q| &on[*q]).flat_map(|(from, until)| [*from, *until]);
    let mut cuts: BTreeSet<Timestamp> = ends.filter(|at| from < *at && *at < until).collect();
    cuts.insert(from);
    let mut stretches: Vec<Stretch> = Vec::new();
    for at in cuts {
        let is_on = |q: &&usize| on[**q].iter().any(|(from, until)| *from <= at && at < *until);
        let place = |q: &&usize| (Reverse(queues[**q].precedence), queues[**q].name.clone());
        let owner = members.iter().filter(is_on).min_by_key(place).copied();
        match stretches.last_mut() {
            Some(last) if last.owner == owner => {}
            Some(last) => {
                last.until = at;
                stretches.push(Stretch { owner, from: at, until });
            }
            None => stretches.push(Stretch { owner, from: at, until }),
        }
    }
    stretches
}
