//! Nodes divided between queues for good, as where each part of a machine has a scheduler of its own.
//!
//! Decides which queue gets which node. The rule: the queues are those of the configuration and those that the scenario
//! creates later. A node that one of them covers alone is that queue's. Nodes that the same several queues cover are one
//! lot, divided in proportion to the work that the queues' jobs will really do (units times run time, what an
//! accounting of the same time would show; equal parts where nobody has any), by largest remainders. A queue gets as many
//! nodes at least as its largest job lacks, so that it can run; where a lot is too small for all, those that lack least come
//! first. Within a lot queues take nodes in the order of the graph, in the order of the queues.
//!
//! Knowing the work to come is more than an administrator knows: a division in practice is rather worse.

use super::Assembly;
use crate::base::{TargetId, TargetSet};
use crate::config::{Members, QueueConfig};
use crate::formats::r::{R, RankEntry};
use crate::graph::{Graph, Properties};
use crate::matcher::Shape;
use crate::replay::scenario::ActionKind;
use crate::replay::workload::{Asked, TraceJob};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// What a queue brings to the division.
#[derive(Clone, Debug)]
struct Party {
    members: Members,
    /// Units times seconds of all its jobs.
    work: u128,
    /// How many nodes its largest job needs.
    largest: u64,
}

/// Who has which node.
#[derive(Clone, Debug)]
pub(super) struct Division {
    parties: IndexMap<String, Party>,
    parts: BTreeMap<String, TargetSet>,
}

impl Division {
    pub fn new(assembly: &Assembly, graph: &Graph, properties: &Properties) -> Self {
        let parties = parties(assembly);
        let wants = |n: usize, target: &TargetId| {
            let host = graph.target(*target).map(|t| &*t.host);
            parties[n].covers(host, |name| properties.has(name, *target))
        };
        let mut parts: Vec<TargetSet> = vec![TargetSet::new(); parties.len()];
        // What one covers alone comes first: it lessens what the largest job lacks.
        let mut lots = lots(graph.targets_in_order().iter().copied(), parties.len(), wants);
        lots.sort_by_key(|(by, _)| by.len());
        for (by, targets) in lots {
            let lacks = |n: usize| parties[n].largest.saturating_sub(parts[n].len() as u64);
            let claims: Vec<Claim> = by.iter().map(|n| Claim { work: parties[*n].work, lacks: lacks(*n) }).collect();
            for (party, mine) in deal(&by, &targets, &claims) {
                parts[party].extend(mine.iter().copied());
            }
        }
        let parts = parties.keys().cloned().zip(parts).collect();
        Self { parties, parts }
    }

    /// The property that the nodes of a queue have.
    pub fn mark_of(queue: &str) -> String {
        format!("split:{queue}")
    }

    /// The properties, and those that mark the parts.
    pub fn mark(&self, properties: &Properties) -> Properties {
        let mut properties = properties.clone();
        for (queue, part) in &self.parts {
            properties.set_all(&Self::mark_of(queue), part);
        }
        properties
    }

    /// What a queue covers from now on.
    pub fn members_of(&self, queue: &QueueConfig) -> Members {
        let owner = queue.parent.as_ref().unwrap_or(&queue.name);
        Members::Requires(vec![Self::mark_of(owner)])
    }

    /// Who gets which of new nodes: a lot of their own, by the same rule, but that nobody's largest job counts.
    pub fn of_addition(&self, addition: &R) -> Vec<(String, Vec<u32>)> {
        let wants = |n: usize, entry: &&RankEntry| {
            let has = |name: &str| addition.properties.get(name).is_some_and(|ranks| ranks.contains(entry.rank));
            self.parties[n].covers(entry.host.as_deref(), has)
        };
        let mut given: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (by, entries) in lots(addition.ranks.iter(), self.parties.len(), wants) {
            let claims: Vec<Claim> = by.iter().map(|n| Claim { work: self.parties[*n].work, lacks: 0 }).collect();
            for (party, mine) in deal(&by, &entries, &claims) {
                given.entry(party).or_default().extend(mine.iter().map(|entry| entry.rank));
            }
        }
        let name = |n: usize| self.parties.get_index(n).map_or_else(String::new, |(name, _)| name.clone());
        given.into_iter().map(|(party, ranks)| (name(party), ranks)).collect()
    }
}

impl Party {
    /// Whether it covers a node: by its host, if it has one, and its properties.
    fn covers(&self, host: Option<&str>, has: impl Fn(&str) -> bool) -> bool {
        match &self.members {
            Members::All => true,
            Members::Hosts(hosts) => host.is_some_and(|host| hosts.contains(host)),
            Members::Requires(names) => names.iter().all(|name| has(name)),
        }
    }
}

/// Things by who wants them, in their order; what nobody wants is left out.
fn lots<T>(
    things: impl Iterator<Item = T>,
    parties: usize,
    wants: impl Fn(usize, &T) -> bool,
) -> Vec<(Vec<usize>, Vec<T>)> {
    let mut lots: BTreeMap<Vec<usize>, Vec<T>> = BTreeMap::new();
    for thing in things {
        let by = (0..parties).filter(|n| wants(*n, &thing)).collect();
        lots.entry(by).or_default().push(thing);
    }
    lots.into_iter().filter(|(by, _)| !by.is_empty()).collect()
}

/// A lot dealt out to those who want it, one after the other.
fn deal<'l, T>(by: &[usize], lot: &'l [T], claims: &[Claim]) -> Vec<(usize, &'l [T])> {
    let mut rest = lot;
    let part = |(party, n): (&usize, u64)| {
        let (mine, others) = rest.split_at(n as usize);
        rest = others;
        (*party, mine)
    };
    by.iter().zip(divide(lot.len() as u64, claims)).map(part).collect()
}

/// All queues with nodes that there are or will be, with their work.
fn parties(assembly: &Assembly) -> IndexMap<String, Party> {
    let created = assembly.scenario.actions.iter().filter_map(|action| match &action.what {
        ActionKind::QueueCreate(config) => Some(&**config),
        _ => None,
    });
    let all: Vec<&QueueConfig> = assembly.config.queues.values().chain(created).collect();
    let mut parties: IndexMap<String, Party> = IndexMap::new();
    for queue in all.iter().filter(|q| !q.is_virtual()) {
        let party = Party { members: queue.members.clone(), work: 0, largest: 0 };
        parties.entry(queue.name.clone()).or_insert(party);
    }
    let home: BTreeMap<&str, &str> =
        all.iter().map(|q| (q.name.as_str(), q.parent.as_deref().unwrap_or(&q.name))).collect();
    let default = assembly.config.default_queue().map(|q| q.name.as_str());
    let default = default.or_else(|| (all.len() == 1).then(|| all[0].name.as_str()));
    let names = assembly.queues.names();
    for job in &assembly.jobs {
        let queue = job.queue.map(|n| names[usize::from(n)].as_str()).or(default);
        let Some(party) = queue.and_then(|q| home.get(q)).and_then(|home| parties.get_mut(*home)) else { continue };
        let seconds = if job.run.is_infinite() { 0 } else { job.run.micros().unsigned_abs() / 1_000_000 };
        party.work += u128::from(job.size) * u128::from(seconds);
        party.largest = party.largest.max(nodes_of(job));
    }
    parties
}

/// How many nodes a job needs at least.
fn nodes_of(job: &TraceJob) -> u64 {
    let Asked::Request(request) = &job.asked else { return 0 };
    match &request.shape {
        Shape::Whole { nodes, .. } | Shape::Nodes { nodes, .. } => nodes.min(),
        Shape::Slots { .. } => 1,
    }
}

/// What a queue wants of a lot.
#[derive(Clone, Copy, Debug)]
struct Claim {
    work: u128,
    lacks: u64,
}

/// Divides `n` in proportion to work, but so that as many as possible have what they lack.
fn divide(n: u64, claims: &[Claim]) -> Vec<u64> {
    let mut least = vec![0; claims.len()];
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by_key(|i| claims[*i].lacks);
    let mut left = n;
    for i in order {
        let Some(rest) = left.checked_sub(claims[i].lacks) else { break };
        (least[i], left) = (claims[i].lacks, rest);
    }
    // Who would get less than it lacks gets that; the others share the rest, until nobody lacks anything.
    let mut fixed = vec![false; claims.len()];
    loop {
        let rest = n - (0..claims.len()).filter(|i| fixed[*i]).map(|i| least[i]).sum::<u64>();
        let work = |i: usize| if fixed[i] { 0 } else { claims[i].work };
        let open: Vec<usize> = (0..claims.len()).filter(|i| !fixed[*i]).collect();
        let shares = proportion(rest, &open.iter().map(|i| work(*i)).collect::<Vec<_>>());
        let mut all = least.clone();
        open.iter().zip(&shares).for_each(|(i, share)| all[*i] = *share);
        let short: Vec<usize> = open.iter().copied().filter(|i| all[*i] < least[*i]).collect();
        if short.is_empty() {
            if open.is_empty() {
                // Nobody is left to take what remains: the first does.
                all[0] += rest;
            }
            return all;
        }
        short.iter().for_each(|i| fixed[*i] = true);
    }
}

/// Divides `n` in proportion to weights, by largest remainders, the earlier first where they are equal.
fn proportion(n: u64, weights: &[u128]) -> Vec<u64> {
    let equal = vec![1u128; weights.len()];
    let weights = if weights.iter().all(|w| *w == 0) { &equal } else { weights };
    let sum: u128 = weights.iter().sum();
    let share = |w: &u128| ((u128::from(n) * w) / sum.max(1)) as u64;
    let mut shares: Vec<u64> = weights.iter().map(share).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse((u128::from(n) * weights[*i]) % sum.max(1)));
    let left = n - shares.iter().sum::<u64>();
    order.into_iter().take(left as usize).for_each(|i| shares[i] += 1);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_are_divided_by_work_and_by_the_largest_job() {
        let check = |n: u64, claims: &[(u128, u64)], expected: &[u64]| {
            let claims: Vec<Claim> = claims.iter().map(|(work, lacks)| Claim { work: *work, lacks: *lacks }).collect();
            let parts = divide(n, &claims);
            assert_eq!(parts, expected, "{n} by {claims:?}");
            assert_eq!(parts.iter().sum::<u64>(), n);
        };
        check(10, &[(3, 0), (1, 0)], &[8, 2]);
        check(10, &[(1, 0), (1, 0), (1, 0)], &[4, 3, 3]);
        check(10, &[(0, 0), (0, 0)], &[5, 5]);
        check(10, &[(7, 0), (0, 0)], &[10, 0]);
        // The second needs 4 for its largest job; the others share what is left in proportion.
        check(10, &[(8, 0), (1, 4), (1, 0)], &[5, 4, 1]);
        // Together they lack more than there is: who lacks least comes first.
        check(10, &[(3, 8), (1, 8)], &[8, 2]);
        check(2, &[(600, 2), (10, 1)], &[1, 1]);
        check(10, &[(1, 5), (1, 5)], &[5, 5]);
        check(0, &[(1, 0), (2, 0)], &[0, 0]);
        check(3, &[(9, 0)], &[3]);
    }
}
