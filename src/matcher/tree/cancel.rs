//! Giving back: all of a job, some vertices, some ranks.

use super::engine::Engine;
use super::error::CancelError;
use super::find_vertex::Finder;
use super::outcome::{CancelPart, Cancelled, Visits};
use super::select::LEAD;
use super::types::{Needs, Ty};
use crate::base::{FastSet, JobId, VertexId};
use crate::formats::idset::Idset;
use crate::formats::jgf::Jgf;
use crate::planner::vertex::Part;
use std::collections::{BTreeMap, BTreeSet};

/// What was given back on one rank, for the filters above.
#[derive(Default)]
struct Freed {
    counts: Needs,
    /// The vertex with the shortest path.
    top: Option<(usize, VertexId)>,
}

impl Freed {
    fn note_top(&mut self, length: usize, v: VertexId) {
        if self.top.is_none_or(|(shortest, _)| length < shortest) {
            self.top = Some((length, v));
        }
    }
}

impl Engine {
    /// Gives back all that a job holds.
    ///
    /// # Errors
    /// [`CancelError::UnknownJob`].
    pub fn cancel(&mut self, job: JobId) -> Result<Cancelled, CancelError> {
        if !self.knows(job) {
            return Err(CancelError::UnknownJob(job));
        }
        if self.options.compat {
            return Ok(self.cancel_as_fluxion(job));
        }
        if let Some(fast) = &mut self.fast {
            let nodes = fast.give_back(job) as u64;
            if !self.jobs.contains_key(&job) {
                return Ok(Cancelled { full: true, visits: Visits { preorder: nodes, postorder: nodes } });
            }
        }
        let held = self.jobs.get(&job).map_or(0, |record| record.vertices.len() as u64);
        self.forget(job);
        Ok(Cancelled { full: true, visits: Visits { preorder: held, postorder: held } })
    }

    /// Fluxion's walk: down as far as there are tags. After partial cancels something may stay that it does not reach.
    fn cancel_as_fluxion(&mut self, job: JobId) -> Cancelled {
        let root = self.topology.roots[LEAD];
        let mut visits = Visits::default();
        if self.is_tagged(root, job) {
            self.cancel_below(root, job, &mut visits, &mut FastSet::default());
        } else {
            let held = self.jobs.get(&job).map(|record| record.vertices.clone()).unwrap_or_default();
            for v in held {
                self.plan_mut(v).free_pool(job);
                self.tidy(v, job);
            }
        }
        self.visits = visits;
        if let Some(record) = self.jobs.remove(&job) {
            self.ends.remove(&(record.end, job));
        }
        Cancelled { full: true, visits }
    }

    fn is_tagged(&self, v: VertexId, job: JobId) -> bool {
        self.plan(v).and_then(|plan| plan.holds.get(&job)).is_some_and(|hold| hold.tagged)
    }

    fn cancel_below(&mut self, v: VertexId, job: JobId, visits: &mut Visits, seen: &mut FastSet<VertexId>) {
        visits.preorder += 1;
        seen.insert(v);
        if !self.is_tagged(v, job) {
            return;
        }
        self.clear(v, job);
        let lead = self.topology.subsystems[LEAD];
        for child in self.topology.children(&self.graph, v, lead) {
            if self.topology.is_tree || !seen.contains(&child) {
                self.cancel_below(child, job, visits, seen);
            }
        }
        visits.postorder += 1;
    }

    /// Takes everything of a job away, wherever it is.
    fn forget(&mut self, job: JobId) {
        let Some(record) = self.jobs.remove(&job) else { return };
        self.ends.remove(&(record.end, job));
        for v in record.vertices {
            self.clear(v, job);
            if !self.options.compat {
                self.weigh_again(v, None);
            }
        }
    }

    /// Takes everything of a job away on one vertex; the pool's part is returned.
    pub(super) fn clear(&mut self, v: VertexId, job: JobId) -> Option<Part> {
        let below = self.plan(v).and_then(|plan| plan.holds.get(&job)?.below.as_ref());
        if let Some((from, until)) = below.map(|below| (below.from, below.until))
            && v == self.topology.roots[LEAD]
        {
            self.hear(from, until);
        }
        let plan = self.plans.get_mut(&v)?;
        let part = plan.free_pool(job);
        plan.uncount(job);
        plan.free_below(job);
        if let Some(hold) = plan.holds.get_mut(&job) {
            hold.tagged = false;
        }
        self.tidy(v, job);
        part
    }

    /// Gives back a part of what a job holds; with the last part that has a rank goes what has none.
    ///
    /// # Errors
    /// See [`CancelError`].
    pub fn cancel_part(&mut self, job: JobId, part: CancelPart<'_>) -> Result<Cancelled, CancelError> {
        self.enter_all();
        let record = self.jobs.get(&job).ok_or(CancelError::UnknownJob(job))?;
        if record.reserved {
            return Err(CancelError::Reserved(job));
        }
        if self.options.compat {
            self.visits = Visits::default();
            let freed = match part {
                CancelPart::Vertices(jgf) => self.free_vertices(job, jgf)?,
                CancelPart::Ranks(ranks) => self.free_ranks(job, ranks)?,
            };
            return self.reduce_above(job, freed);
        }
        let chosen = match part {
            CancelPart::Vertices(jgf) => self.chosen_vertices(job, jgf)?,
            CancelPart::Ranks(ranks) => self.chosen_by_rank(job, ranks)?,
        };
        let visits = Visits { preorder: chosen.len() as u64, postorder: chosen.len() as u64 };
        let full = self.give_back(job, &chosen);
        self.tell_index(job);
        Ok(Cancelled { full, visits })
    }

    fn not_held(job: JobId, found: impl Into<String>) -> CancelError {
        CancelError::NotHeld { job, found: found.into() }
    }

    /// Frees the vertices of a graph, each of which must be held.
    fn free_vertices(&mut self, job: JobId, jgf: &Jgf) -> Result<BTreeMap<i64, Freed>, CancelError> {
        let mut finder = Finder::default();
        let mut freed: BTreeMap<i64, Freed> = BTreeMap::new();
        for node in &jgf.nodes {
            let v = finder.find(self, node).map_err(|found| Self::not_held(job, found))?;
            let hold = self.plan(v).and_then(|plan| plan.holds.get(&job));
            if !hold.is_some_and(|hold| hold.counted.is_some() && hold.pool.is_some()) {
                return Err(Self::not_held(job, &node.name));
            }
            let part = self.clear(v, job);
            let rank = freed.entry(self.graph.given_rank(v)).or_default();
            *rank.counts.entry(self.ty(v)).or_default() += part.map_or(0, |part| part.amount);
            rank.note_top(self.graph.path(v).len(), v);
        }
        Ok(freed)
    }

    /// Frees what is held on some ranks.
    fn free_ranks(&mut self, job: JobId, ranks: &Idset) -> Result<BTreeMap<i64, Freed>, CancelError> {
        let mut freed: BTreeMap<i64, Freed> = BTreeMap::new();
        for rank in ranks.iter() {
            let unknown = || Self::not_held(job, format!("rank {rank}"));
            let target = self.graph.target_by_rank(rank).and_then(|id| self.graph.target(id)).ok_or_else(unknown)?;
            let here = freed.entry(rank.into()).or_default();
            here.note_top(self.graph.path(target.vertex).len(), target.vertex);
            let held = self.jobs.get(&job).map(|record| record.vertices.clone()).unwrap_or_default();
            for v in held {
                if self.graph.given_rank(v) != i64::from(rank) {
                    continue;
                }
                if let Some(part) = self.clear(v, job) {
                    *here.counts.entry(self.ty(v)).or_default() += part.amount;
                }
            }
            if here.counts.is_empty() {
                return Err(unknown());
            }
        }
        if freed.is_empty() { Err(Self::not_held(job, "no ranks")) } else { Ok(freed) }
    }

    /// Takes what was freed out of the filters above. When the filter of the root has nothing left of the job, all of
    /// it is gone, as far as Fluxion knows.
    fn reduce_above(&mut self, job: JobId, freed: BTreeMap<i64, Freed>) -> Result<Cancelled, CancelError> {
        let mut above: BTreeMap<VertexId, Needs> = BTreeMap::new();
        for Freed { counts, top } in freed.into_values() {
            let Some((_, mut v)) = top else { continue };
            while let Some(parent) = self.topology.parent(&self.graph, v) {
                let sums = above.entry(parent).or_default();
                counts.iter().for_each(|(&ty, &amount)| *sums.entry(ty).or_default() += amount);
                v = parent;
            }
        }
        let root = self.topology.roots[LEAD];
        if !self.is_tagged(root, job) {
            self.forget(job);
            return Ok(Cancelled { full: false, visits: self.visits });
        }
        for (v, counts) in above {
            let counted: Vec<Ty> = self.filters.at(self.ty(v)).to_vec();
            let known = self.plan(v).and_then(|plan| plan.holds.get(&job));
            if !known.is_some_and(|hold| hold.tagged && hold.below.is_some()) {
                continue;
            }
            let amounts: Vec<i64> = counted.iter().map(|ty| counts.get(ty).copied().unwrap_or(0)).collect();
            let plan = self.plan_mut(v);
            let gone = plan.reduce_below(job, &amounts);
            plan.uncount(job);
            match gone {
                Ok(true) => {
                    plan.holds.entry(job).or_default().tagged = false;
                    self.tidy(v, job);
                }
                Ok(false) => {}
                Err(_) => return Err(Self::not_held(job, self.graph.path(v))),
            }
        }
        let full = !self.is_tagged(root, job);
        if full && self.jobs.get(&job).is_none_or(|record| record.vertices.is_empty()) {
            self.forget(job);
        }
        Ok(Cancelled { full, visits: self.visits })
    }

    fn chosen_vertices(&mut self, job: JobId, jgf: &Jgf) -> Result<BTreeSet<VertexId>, CancelError> {
        let mut finder = Finder::default();
        let mut chosen = BTreeSet::new();
        for node in &jgf.nodes {
            let v = finder.find(self, node).map_err(|found| Self::not_held(job, found))?;
            self.divide_above(job, v);
            // What only contains the rest, or went with another vertex of the list, is passed over.
            let held: Vec<VertexId> = self.pools_in(job, v).collect();
            chosen.extend(held);
        }
        if chosen.is_empty() { Err(Self::not_held(job, "none of the vertices")) } else { Ok(chosen) }
    }

    fn chosen_by_rank(&mut self, job: JobId, ranks: &Idset) -> Result<BTreeSet<VertexId>, CancelError> {
        let mut chosen = BTreeSet::new();
        let mut roots = Vec::new();
        for rank in ranks.iter() {
            let target = self.graph.target_by_rank(rank).and_then(|id| self.graph.target(id));
            roots.push(target.ok_or_else(|| Self::not_held(job, format!("rank {rank}")))?.vertex);
        }
        for v in roots {
            self.divide_above(job, v);
            chosen.extend(self.pools_in(job, v));
        }
        if chosen.is_empty() { Err(Self::not_held(job, format!("ranks {ranks}"))) } else { Ok(chosen) }
    }

    /// The vertices at and below `v` of which a job has a part.
    fn pools_in(&self, job: JobId, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        let range = self.graph.subtree(v);
        let held = self.jobs.get(&job).into_iter();
        let held = held.flat_map(move |r| r.vertices.range(VertexId(range.start)..VertexId(range.end)).copied());
        held.filter(move |&v| self.plan(v).and_then(|p| p.holds.get(&job)).is_some_and(|h| h.pool.is_some()))
    }

    /// Enters what a job holds together with something above `v` on each vertex by itself.
    pub(super) fn divide_above(&mut self, job: JobId, v: VertexId) {
        let above: Vec<VertexId> = self.graph.ancestors(v).collect();
        for top in above {
            let whole = self.plan(top).and_then(|plan| plan.holds.get(&job)).filter(|hold| hold.whole);
            let Some((part, reserved)) = whole.and_then(|hold| Some((hold.pool?, hold.reserved))) else { continue };
            if let Some(hold) = self.plan_mut(top).holds.get_mut(&job) {
                hold.whole = false;
            }
            for below in self.graph.subtree(top).skip(1).map(VertexId).collect::<Vec<_>>() {
                let amount = self.graph.size(below) as i64;
                self.plan_mut(below).take_pool(job, Part { amount, ..part }, reserved, false);
                if let Some(record) = self.jobs.get_mut(&job) {
                    record.vertices.insert(below);
                }
            }
            self.count_again(job);
        }
    }

    /// Gives back parts of pools; with the last vertex that has a rank all. Whether nothing is left.
    pub(super) fn give_back(&mut self, job: JobId, chosen: &BTreeSet<VertexId>) -> bool {
        let has_rank = |engine: &Engine, v: VertexId| engine.graph.target_of(v).is_some();
        let had_rank = chosen.iter().any(|&v| has_rank(self, v));
        for &v in chosen {
            if let Some(plan) = self.plans.get_mut(&v) {
                plan.free_pool(job);
            }
            // What contains it is no longer held as one.
            for above in self.graph.ancestors(v).collect::<Vec<_>>() {
                if let Some(plan) = self.plans.get_mut(&above) {
                    plan.free_pool(job);
                }
            }
        }
        let root = self.topology.roots[LEAD];
        let left: Vec<VertexId> = self.pools_in(job, root).collect();
        if left.is_empty() || (had_rank && !left.iter().any(|&v| has_rank(self, v))) {
            self.forget(job);
            return true;
        }
        self.count_again(job);
        false
    }

    /// Counts a job anew on and above the vertices of which it has a part.
    fn count_again(&mut self, job: JobId) {
        let root = self.topology.roots[LEAD];
        let held: Vec<(VertexId, Part, bool)> = self
            .pools_in(job, root)
            .filter_map(|v| {
                let hold = self.plan(v)?.holds.get(&job)?;
                Some((v, hold.pool?, hold.whole))
            })
            .collect();
        let Some(&(_, Part { from, until, .. }, _)) = held.first() else { return };
        let mut below: BTreeMap<VertexId, Needs> = BTreeMap::new();
        for &(v, part, whole) in &held {
            below.entry(v).or_default();
            let mut sums = if whole { self.sums_below(v) } else { Needs::new() };
            if whole {
                below.insert(v, sums.clone());
            }
            *sums.entry(self.ty(v)).or_default() += part.amount;
            for above in self.graph.ancestors(v) {
                let here = below.entry(above).or_default();
                sums.iter().for_each(|(&ty, &amount)| *here.entry(ty).or_default() += amount);
            }
        }
        let before = self.jobs.get(&job).map(|record| record.vertices.clone()).unwrap_or_default();
        for &v in before.iter().filter(|v| !below.contains_key(v)) {
            self.clear(v, job);
            self.weigh_again(v, Some(from));
        }
        for (v, sums) in below {
            let ty = self.ty(v);
            let counted = self.has_filter(v) && sums.keys().any(|&ty| self.filters.is_counted(ty));
            let amounts: Vec<i64> = self.filters.at(ty).iter().map(|ty| sums.get(ty).copied().unwrap_or(0)).collect();
            let plan = self.plan_mut(v);
            plan.free_below(job);
            if counted {
                plan.take_below(job, from, until, &amounts);
            }
            plan.count(job, from, until);
            if let Some(record) = self.jobs.get_mut(&job) {
                record.vertices.insert(v);
            }
            self.weigh_again(v, Some(from));
        }
    }

    fn weigh_again(&mut self, v: VertexId, now: Option<i64>) {
        if let Some(parent) = self.topology.parent(&self.graph, v) {
            self.weigh(parent, v, now);
        }
    }

    /// How much there is below a vertex, by counted type.
    pub(super) fn sums_below(&self, v: VertexId) -> Needs {
        let counted = self.filters.all_counted().filter_map(|ty| {
            let kind = self.types.kind(ty)?;
            let own = if self.graph.kind(v) == kind { self.graph.size(v) } else { 0 };
            let amount = (self.graph.size_in(v, kind) - own) as i64;
            (amount > 0).then_some((ty, amount))
        });
        counted.collect()
    }
}
