//! The shared pools as the tests of one scheduler have them: what a site would lend, and checks of what is made of it.

use super::Ledger;
use sluice::base::{Duration, JobId, TargetSet, Timestamp, VertexId};
use sluice::graph::Graph;
use sluice::matcher::{PoolNeed, Selection};
use sluice::planner::{PoolId, PoolShare, PoolSpan, PoolTable, SharedPools};
use sluice::scheduler::{Input, Output, PassEnd, Scheduler};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nodes as those of [`super::graph`], the first of them in one rack with two pieces of flash, the others in another with a
/// larger one.
pub fn racks(nodes: &[(u32, u32)], first: usize) -> Arc<Graph> {
    let mut text = "cluster c\n  power size=4\n".to_owned();
    let (one, other) = nodes.split_at(first);
    let mut n = 0;
    for (nodes, flash) in [(one, "flash*2 size=2"), (other, "flash size=5")] {
        text += "  rack\n";
        for (cores, gpus) in nodes {
            text += &format!("    node node{n} cores={cores}{}\n", if *gpus > 0 { " gpus=1" } else { "" });
            n += 1;
        }
        text += &format!("    {flash}\n");
    }
    Arc::new(Graph::from_text(&text).unwrap_or_else(|e| panic!("{text}: {e}")).0)
}

/// The pools, and who has what of them beside the scheduler.
#[derive(Clone, Default)]
pub struct World {
    pub table: Arc<PoolTable>,
    /// What others have.
    pub others: Vec<PoolSpan>,
    /// What the scheduler has said that it reserves.
    pub reserved: Vec<PoolSpan>,
}

impl World {
    /// What is free for a scheduler: what it has reserved itself counts as free.
    pub fn lent(&self, scheduler: &Scheduler, now: Timestamp) -> Box<SharedPools> {
        let mut free = SharedPools::new(&self.table);
        for span in &self.others {
            assert!(free.force(span).is_some());
        }
        for run in scheduler.running() {
            let until = run.planned_end.max(now + Duration::from_micros(1));
            for share in &run.selection.pools {
                assert!(free.force(&PoolSpan { share: *share, from: run.started, until }).is_some());
            }
        }
        Box::new(free)
    }

    /// A pass without a bound, resumed with the pools.
    pub fn pass(&self, scheduler: &mut Scheduler, now: Timestamp) -> Vec<Output> {
        let mut out = Vec::new();
        scheduler.handle(now, Input::Pass { budget: usize::MAX }, &mut out);
        if let Some(Output::PassEnded { end: PassEnd::NeedsShared, .. }) = out.last() {
            let pools = self.lent(scheduler, now);
            scheduler.handle(now, Input::Resume { pools, budget: usize::MAX }, &mut out);
        }
        assert!(matches!(out.last(), Some(Output::PassEnded { end: PassEnd::Done, .. })), "a pass ends: {out:?}");
        out
    }

    /// I2: what the scheduler reserves is free then.
    pub fn reserved(&mut self, scheduler: &Scheduler, spans: &[PoolSpan], now: Timestamp) {
        let mut free = self.lent(scheduler, now);
        for span in spans {
            assert!(free.enter(span).is_some(), "I2: {span:?} is reserved, but not free");
        }
        assert!(spans.is_sorted());
        self.reserved = spans.to_vec();
    }

    /// Somebody else takes of a pool, as much as is wanted or as is left; whether anything was.
    pub fn take(&mut self, scheduler: &Scheduler, want: PoolSpan, now: Timestamp) -> bool {
        let mut free = self.lent(scheduler, now);
        self.reserved.iter().for_each(|span| assert!(free.force(span).is_some()));
        let amount = free.available(&[want.share.pool], want.from, want.until).min(want.share.amount);
        if amount > 0 {
            self.others.push(PoolSpan { share: PoolShare { amount, ..want.share }, ..want });
        }
        amount > 0
    }
}

impl Ledger {
    /// I2 for what a job takes of pools, and that it is what it asked for.
    pub(super) fn check_pools(&self, now: Timestamp, id: JobId, selection: &Selection) {
        let pools = &self.pools;
        let mut used: BTreeMap<PoolId, u64> = BTreeMap::new();
        let others = pools.others.iter().filter(|span| span.until > now).map(|span| span.share);
        let running = self.jobs.values().filter_map(|job| job.selection.as_ref());
        let running = running.flat_map(|selection| selection.pools.iter().copied());
        for share in others.chain(running).chain(selection.pools.iter().copied()) {
            *used.entry(share.pool).or_default() += share.amount;
        }
        for share in &selection.pools {
            let size = pools.table.get(share.pool).expect("a pool of the table").size;
            assert!(share.amount > 0 && used[&share.pool] <= size, "I2: job {id} makes pool {} too full", share.pool);
        }
        let asked = &self.jobs[&id].request.request.shared;
        let kind_of = |share: &PoolShare| pools.table.get(share.pool).expect("a pool of the table").kind.clone();
        if asked.within.as_ref().is_none_or(|within| !within.exclusive) {
            let mut got: BTreeMap<String, u64> = BTreeMap::new();
            selection.pools.iter().for_each(|share| *got.entry(kind_of(share)).or_default() += share.amount);
            let mut want: BTreeMap<String, u64> = BTreeMap::new();
            for need in &asked.needs {
                let times = if need.within { asked.places() } else { 1 };
                *want.entry(need.kind.clone()).or_default() += need.amount * times;
            }
            assert_eq!(got, want, "what job {id} has of pools");
        }
        let Some(within) = &asked.within else { return };
        let graph = &self.graph;
        let kind = graph.kind_id(&within.kind).expect("a type of the graph");
        let all: TargetSet = selection.targets().collect();
        let in_it = |v: VertexId| graph.targets_in(v).iter().copied().collect::<TargetSet>();
        let rooms: Vec<VertexId> =
            graph.of_kind(kind).iter().copied().filter(|v| !(&in_it(*v) & &all).is_empty()).collect();
        let there = rooms.iter().map(|v| (&in_it(*v) & &all).len()).sum::<usize>();
        assert_eq!((rooms.len() as u64, there), (within.count, all.len()), "job {id}: {within:?}, {selection:?}");
        for room in rooms {
            let path = graph.path(room);
            let inside = |share: &&PoolShare| pools.table.get(share.pool).expect("a pool").is_below(&path);
            for PoolNeed { kind: of, amount, .. } in asked.needs.iter().filter(|need| need.within) {
                let here = selection.pools.iter().filter(inside).filter(|share| kind_of(share) == *of);
                assert!(here.map(|share| share.amount).sum::<u64>() >= *amount, "job {id}: {of} of {path}");
            }
            if within.exclusive {
                assert!(in_it(room).is_subset(&all), "job {id}: all targets of {path}");
                let whole = pools.table.iter().filter(|(_, pool)| pool.is_below(&path));
                let here: u64 = selection.pools.iter().filter(inside).map(|share| share.amount).sum();
                assert_eq!(here, whole.map(|(_, pool)| pool.size).sum::<u64>(), "job {id}: all pools of {path}");
            }
        }
    }
}
