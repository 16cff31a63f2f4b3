//! Shared pools: what is outside every target and no queue can own, and how much of it is in use when.
//!
//! Decides which pools there are, from the graph and from the configuration, and what of them is free over time. Does
//! not decide who gets it: it knows neither queues nor jobs.
//!
//! A vertex outside every target is a pool of its own, unless it is a root or contains others. It lies beside the targets
//! of each vertex that contains both, as a rack: a request may ask for nodes and pools in one rack, which the graph
//! tells by their paths. The pools of the configuration lie in none.
//!
//! Invariants: a [`PoolId`] names the same pool as long as the table is carried over ([`PoolTable::renewed`]); a pool
//! that is gone has size 0; no claim that is entered with [`SharedPools::enter`] makes a pool fuller than its size.

use super::{Pool, SpanId};
use crate::base::{Duration, Timestamp};
use crate::config::PoolConfig;
use crate::graph::Graph;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a shared pool: its place in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PoolId(pub u32);

impl PoolId {
    /// As an index into tables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// So much of a pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PoolShare {
    /// Of which.
    pub pool: PoolId,
    /// How much, in the unit of the pool; at least 1.
    pub amount: u64,
}

/// So much of a pool for some time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct PoolSpan {
    /// How much of which pool.
    pub share: PoolShare,
    /// First instant.
    pub from: Timestamp,
    /// First instant after it; never: no end.
    pub until: Timestamp,
}

/// A shared pool.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PoolSpec {
    /// The path of the vertex, or the name in the configuration, which does not begin as a path does; unique in a table.
    pub name: String,
    /// The type that a request names.
    pub kind: String,
    /// How much there is.
    pub size: u64,
}

impl PoolSpec {
    /// Whether it is inside of the vertex with this path.
    pub fn is_below(&self, path: &str) -> bool {
        self.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// All shared pools of a site, by number.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PoolTable(Vec<PoolSpec>);

impl PoolTable {
    /// The pools of a graph, in depth-first order, then those of a configuration.
    pub fn new(graph: &Graph, configured: &[PoolConfig]) -> Self {
        // What contains others is a place, also when all targets in it are gone.
        let place = |v| graph.children(v).next().is_some() || graph.is_contained(v) && graph.parent(v).is_none();
        let vertices = graph.outside().filter(|v| graph.size(*v) > 0 && !place(*v)).map(|v| PoolSpec {
            name: graph.path(v),
            kind: graph.kind_name(graph.kind(v)).to_owned(),
            size: graph.size(v),
        });
        let configured = configured.iter().map(|pool| PoolSpec {
            name: pool.name.clone(),
            kind: pool.kind.clone(),
            size: pool.size,
        });
        Self(vertices.chain(configured).collect())
    }

    /// This table as `new` has it: pools keep their numbers, what is gone has size 0, what is new comes at the end.
    #[must_use]
    pub fn renewed(&self, new: PoolTable) -> PoolTable {
        let mut pools = self.0.clone();
        pools.iter_mut().for_each(|pool| pool.size = 0);
        for spec in new.0 {
            match pools.iter_mut().find(|pool| pool.name == spec.name) {
                Some(pool) => *pool = spec,
                None => pools.push(spec),
            }
        }
        PoolTable(pools)
    }

    /// A pool by its number.
    pub fn get(&self, pool: PoolId) -> Option<&PoolSpec> {
        self.0.get(pool.index())
    }

    /// All pools with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (PoolId, &PoolSpec)> {
        (0..).map(PoolId).zip(&self.0)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pools of a type, anywhere, or inside of the vertex with a path.
    pub fn of_kind<'a>(&'a self, kind: &'a str, inside: Option<&'a str>) -> impl Iterator<Item = PoolId> + 'a {
        let here = move |pool: &PoolSpec| inside.is_none_or(|path| pool.is_below(path));
        self.iter().filter(move |(_, pool)| pool.kind == kind && here(pool)).map(|(id, _)| id)
    }
}

/// A need of one type: so much, of these pools together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolDemand {
    /// The pools that may serve, in the order in which they are filled.
    pub pools: Vec<PoolId>,
    /// How much in all.
    pub amount: u64,
}

/// The timelines of all shared pools.
#[derive(Clone, Debug, Default)]
pub struct SharedPools {
    pools: Vec<Pool>,
}

impl SharedPools {
    /// All of the pools free at all times.
    pub fn new(table: &PoolTable) -> Self {
        let mut shared = Self::default();
        shared.resize(table);
        shared
    }

    /// Sizes as in another table; what is in use stays.
    pub fn resize(&mut self, table: &PoolTable) {
        for (id, spec) in table.iter() {
            let size = size_of(spec.size);
            match self.pools.get_mut(id.index()) {
                Some(pool) => pool.resize(size).expect("sizes are not negative"),
                None => self.pools.push(Pool::new(size).expect("sizes are not negative")),
            }
        }
    }

    /// How much of some pools is free throughout from `from` until `until`, in all.
    pub fn available(&self, pools: &[PoolId], from: Timestamp, until: Timestamp) -> u64 {
        pools.iter().map(|pool| self.free(*pool, from, until)).fold(0, u64::saturating_add)
    }

    fn free(&self, pool: PoolId, from: Timestamp, until: Timestamp) -> u64 {
        let pool = self.pools.get(pool.index());
        pool.map_or(0, |pool| u64::try_from(pool.available_during(from, until)).unwrap_or(0))
    }

    /// Whether all of some shares are free from `from` until `until`; no pool stands twice.
    pub fn has(&self, shares: &[PoolShare], from: Timestamp, until: Timestamp) -> bool {
        shares.iter().all(|share| self.free(share.pool, from, until) >= share.amount)
    }

    /// What is taken of which pool when all demands are met from `from` until `until`; `None` if they are not.
    pub fn claim(&self, demands: &[PoolDemand], from: Timestamp, until: Timestamp) -> Option<Vec<PoolShare>> {
        let mut shares: Vec<PoolShare> = Vec::new();
        for demand in demands {
            let mut left = demand.amount;
            for pool in &demand.pools {
                // Two demands may be for the same pool.
                let taken: u64 = shares.iter().filter(|s| s.pool == *pool).map(|s| s.amount).sum();
                let amount = self.free(*pool, from, until).saturating_sub(taken).min(left);
                if amount > 0 {
                    shares.push(PoolShare { pool: *pool, amount });
                    left -= amount;
                }
            }
            if left > 0 {
                return None;
            }
        }
        Some(shares)
    }

    /// The first instant from `not_before` on from which all demands are met for `duration`; `None` if there is none.
    ///
    /// More is free only from the end of some span on.
    pub fn earliest(
        &self,
        demands: &[PoolDemand],
        duration: Duration,
        not_before: Timestamp,
    ) -> Option<(Timestamp, Vec<PoolShare>)> {
        let concerned = demands.iter().flat_map(|d| &d.pools).filter_map(|pool| self.pools.get(pool.index()));
        let ends = concerned.flat_map(|pool| pool.spans().map(|(_, span)| span.until));
        let mut starts: Vec<Timestamp> = ends.filter(|at| *at > not_before && !at.is_never()).collect();
        starts.push(not_before);
        starts.sort_unstable();
        starts.dedup();
        starts.into_iter().find_map(|at| Some((at, self.claim(demands, at, at + duration)?)))
    }

    /// Puts a span in use, if so much is free.
    pub fn enter(&mut self, span: &PoolSpan) -> Option<SpanId> {
        let pool = self.pools.get_mut(span.share.pool.index())?;
        pool.add(span.from, span.until, size_of(span.share.amount)).ok()
    }

    /// Puts a span in use, whether so much is free or not: it is held already.
    pub fn force(&mut self, span: &PoolSpan) -> Option<SpanId> {
        let pool = self.pools.get_mut(span.share.pool.index())?;
        pool.force(span.from, span.until, size_of(span.share.amount)).ok()
    }

    /// Takes a span away; `false` if it is not there.
    pub fn leave(&mut self, pool: PoolId, span: SpanId) -> bool {
        self.pools.get_mut(pool.index()).is_some_and(|pool| pool.remove(span).is_ok())
    }
}

/// A size as the planner counts.
fn size_of(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    fn graph(text: &str) -> Graph {
        Graph::from_text(text).unwrap_or_else(|e| panic!("{text}: {e}")).0
    }

    const RACKS: &str = "cluster c\n  rack\n    node a[0-1] cores=2\n    ssd*2 size=100\n  rack\n    node a[2-3] cores=2\n    ssd size=50\n  power size=9\n";

    fn pools() -> PoolTable {
        let licences = PoolConfig { name: "matlab".to_owned(), kind: "licence".to_owned(), size: 3 };
        PoolTable::new(&graph(RACKS), &[licences])
    }

    #[test]
    fn pools_are_the_vertices_outside_targets_and_what_is_configured() {
        let table = pools();
        let seen: Vec<(&str, u64, &str)> =
            table.iter().map(|(_, p)| (p.kind.as_str(), p.size, p.name.as_str())).collect();
        let expect = [
            ("ssd", 100, "/c/rack0/ssd0"),
            ("ssd", 100, "/c/rack0/ssd1"),
            ("ssd", 50, "/c/rack1/ssd2"),
            ("power", 9, "/c/power0"),
            ("licence", 3, "matlab"),
        ];
        assert_eq!(seen, expect);
        assert_eq!(table.of_kind("ssd", None).count(), 3);
        assert_eq!(table.of_kind("ssd", Some("/c/rack1")).collect::<Vec<_>>(), [PoolId(2)]);
    }

    #[test]
    fn numbers_stay_when_the_graph_changes() {
        let table = pools();
        let new =
            PoolTable::new(&graph("cluster c\n  rack\n    node a0 cores=2\n  power size=12\n  gate size=1\n"), &[]);
        let sizes: Vec<(String, u64)> = table.renewed(new).iter().map(|(_, p)| (p.kind.clone(), p.size)).collect();
        let expect = [("ssd", 0), ("ssd", 0), ("ssd", 0), ("power", 12), ("licence", 0), ("gate", 1)];
        assert_eq!(sizes, expect.map(|(kind, size)| (kind.to_owned(), size)));
    }

    #[test]
    fn demands_are_met_over_several_pools_at_the_earliest() {
        let mut shared = SharedPools::new(&pools());
        let share = |pool, amount| PoolShare { pool: PoolId(pool), amount };
        let demand = |pools: &[u32], amount| PoolDemand { pools: pools.iter().map(|p| PoolId(*p)).collect(), amount };
        let span = |pool, amount, from, until| PoolSpan { share: share(pool, amount), from: t(from), until: t(until) };
        assert!(shared.enter(&span(0, 90, 0, 10)).is_some());
        let held = shared.enter(&span(1, 100, 5, 20)).unwrap();
        assert!(shared.enter(&span(1, 1, 0, 6)).is_none());
        let find = |shared: &SharedPools, demands: &[PoolDemand], from| {
            shared.earliest(demands, Duration::from_secs(5), t(from))
        };
        let both = [demand(&[0, 1], 110)];
        assert_eq!(find(&shared, &both, 0), Some((t(0), vec![share(0, 10), share(1, 100)])));
        assert_eq!(find(&shared, &both, 1), Some((t(20), vec![share(0, 100), share(1, 10)])));
        // Two demands do not get the same.
        assert_eq!(find(&shared, &[demand(&[2], 30), demand(&[2], 30)], 0), None);
        assert_eq!(find(&shared, &[demand(&[2], 51)], 0), None);
        assert!(shared.leave(PoolId(1), held) && !shared.leave(PoolId(1), held));
        assert_eq!(find(&shared, &both, 1), Some((t(1), vec![share(0, 10), share(1, 100)])));
        assert!(shared.force(&span(2, 60, 0, 9)).is_some());
        assert_eq!(shared.available(&[PoolId(2)], t(0), t(1)), 0);
    }
}
