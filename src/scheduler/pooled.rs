//! The shared pools as one scheduler sees them: at hand only while the site lends them, with what it has reserved of them.
//!
//! Decides when a job gets nodes and pools together: at the earliest instant at which both are free for all of its time.
//! Who uses the pools beside is not known here; what is lent says how much is free when, without the reservations of
//! this scheduler, which it enters itself.
//!
//! A job that takes of pools is planned by target, as one that asks for parts of targets is.
//!
//! Invariants: without pools at hand no job that needs them is looked at, started or reserved; what is told to the site
//! at the end of a pass is all that is reserved of pools.

use super::core::{Core, slot_of};
use super::jobs::Slot;
use super::plan::{Plan, PlanClaim};
use crate::base::Timestamp;
use crate::matcher::{self, Placement, Reason, Request, Shortage, satisfiable};
use crate::planner::{
    Bits, Domain, PoolDemand, PoolId, PoolShare, PoolSpan, PoolTable, SharedPools, SpanId, TargetPlans,
};
use std::sync::Arc;

/// A reservation of pools.
#[derive(Clone, Debug)]
struct Entry {
    slot: Slot,
    spans: Vec<PoolSpan>,
    /// Where they stand in what is at hand.
    entered: Vec<(PoolId, SpanId)>,
}

/// The pools, and what is reserved of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    /// Which pools there are.
    pub table: Arc<PoolTable>,
    at_hand: Option<Box<SharedPools>>,
    entries: Vec<Entry>,
    /// What the site was told last.
    told: Vec<PoolSpan>,
    /// It is to be told in any case, since it lent the pools.
    owed: bool,
}

impl Pooled {
    /// Takes what is lent, and enters the reservations of earlier passes; `false` if they do not fit any more, so that
    /// they are gone.
    pub fn lend(&mut self, pools: Box<SharedPools>) -> bool {
        self.at_hand = Some(pools);
        self.owed = true;
        let entries = std::mem::take(&mut self.entries);
        let fits = entries.into_iter().all(|entry| self.enter(entry.slot, entry.spans));
        if !fits {
            self.clear();
        }
        fits
    }

    /// Gives up what was lent.
    pub fn give_back(&mut self) {
        self.at_hand = None;
        self.entries.iter_mut().for_each(|entry| entry.entered.clear());
    }

    /// Whether pools may be looked at.
    pub fn at_hand(&self) -> bool {
        self.at_hand.is_some()
    }

    /// Forgets all reservations.
    pub fn clear(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().for_each(|entry| self.withdraw(&entry));
    }

    fn withdraw(&mut self, entry: &Entry) {
        if let Some(pools) = &mut self.at_hand {
            let gone = entry.entered.iter().all(|(pool, span)| pools.leave(*pool, *span));
            debug_assert!(gone, "what was entered is there");
        }
    }

    /// Enters a reservation; `false` if it does not fit.
    fn enter(&mut self, slot: Slot, spans: Vec<PoolSpan>) -> bool {
        let mut entry = Entry { slot, spans, entered: Vec::new() };
        if let Some(pools) = &mut self.at_hand {
            for span in &entry.spans {
                match pools.enter(span) {
                    Some(id) => entry.entered.push((span.share.pool, id)),
                    None => {
                        self.withdraw(&entry);
                        return false;
                    }
                }
            }
        }
        self.entries.push(entry);
        true
    }

    /// Reserves for a job.
    pub fn reserve(&mut self, slot: Slot, from: Timestamp, until: Timestamp, shares: &[PoolShare]) {
        if !shares.is_empty() {
            let entered = self.enter(slot, spans(shares, from, until));
            debug_assert!(entered, "what is reserved was free");
        }
    }

    /// Takes the reservation of a job away.
    pub fn unreserve(&mut self, slot: Slot) {
        if let Some(at) = self.entries.iter().position(|entry| entry.slot == slot) {
            let entry = self.entries.remove(at);
            self.withdraw(&entry);
        }
    }

    /// A job that starts takes its shares.
    pub fn start(&mut self, from: Timestamp, until: Timestamp, shares: &[PoolShare]) {
        if let Some(pools) = &mut self.at_hand {
            for span in spans(shares, from, until) {
                let entered = pools.enter(&span);
                debug_assert!(entered.is_some(), "what is started on was free");
            }
        }
    }

    /// What the site does not know yet: all that is reserved now, if that has changed. In a pass that is not `done` and has
    /// not come to a reservation, what was told stands, so that nobody else takes it meanwhile (I9).
    pub fn news(&mut self, done: bool) -> Option<Vec<PoolSpan>> {
        if !done && self.entries.is_empty() {
            return None;
        }
        let mut now: Vec<PoolSpan> = self.entries.iter().flat_map(|entry| entry.spans.iter().copied()).collect();
        now.sort_unstable();
        let owed = std::mem::take(&mut self.owed);
        let changed = self.told != now;
        self.told.clone_from(&now);
        (owed || changed).then_some(now)
    }
}

fn spans(shares: &[PoolShare], from: Timestamp, until: Timestamp) -> Vec<PoolSpan> {
    shares.iter().map(|share| PoolSpan { share: *share, from, until }).collect()
}

/// Where a job may be as a whole.
struct Venue {
    targets: Bits,
    demands: Vec<PoolDemand>,
}

impl Core {
    /// The places where a job may be: everywhere, or one for each domain of the type that it asks for.
    fn venues(&self, request: &Request, targets: &Bits) -> Vec<Venue> {
        let table = &self.shared.table;
        let venue = |domain: Option<&Domain>| {
            let mut targets = targets.clone();
            if let Some(domain) = domain {
                targets.and(&Bits::from_set(&domain.targets, self.res.graph.target_bound()));
            }
            Venue { targets, demands: request.shared.demands(table, domain.map(|d| d.path.as_str())) }
        };
        match &request.shared.within {
            None => vec![venue(None)],
            Some(kind) => table.domains(kind).into_iter().map(|domain| venue(Some(domain))).collect(),
        }
    }

    /// The targets among which a reservation of a job may be moved: those of the domain in which it stands.
    pub fn beside(&self, slot: Slot, placement: &Placement) -> Bits {
        let job = self.jobs.get(slot);
        let targets = &self.filter(slot).targets;
        if job.request.shared.within.is_none() {
            return targets.clone();
        }
        let first = placement.parts.first().map(|(target, _)| *target);
        let venues = self.venues(&job.request, targets).into_iter();
        let mut here = venues.filter(|venue| first.is_some_and(|t| venue.targets.contains(t)));
        here.next().map_or_else(|| targets.clone(), |venue| venue.targets)
    }

    /// The earliest start of a waiting job that takes of pools, in a plan by target; of places that are equally early
    /// the first.
    pub fn earliest_pooled(&self, slot: Slot, plans: &TargetPlans, now: Timestamp) -> Option<(Timestamp, PlanClaim)> {
        let job = self.jobs.get(slot);
        let mut best: Option<(Timestamp, PlanClaim)> = None;
        for venue in self.venues(&job.request, &self.filter(slot).targets) {
            let Some((placement, shares)) = self.earliest_at(&venue, slot, plans, now) else { continue };
            if best.as_ref().is_none_or(|(start, _)| placement.start < *start) {
                let size = slot_of(&job.request.shape);
                best = Some((placement.start, PlanClaim::Targets { placement, slot: size, shares }));
            }
        }
        best
    }

    fn earliest_at(
        &self,
        venue: &Venue,
        slot: Slot,
        plans: &TargetPlans,
        now: Timestamp,
    ) -> Option<(Placement, Vec<PoolShare>)> {
        let job = self.jobs.get(slot);
        let pools = self.shared.at_hand.as_deref()?;
        let (shape, span) = (&job.request.shape, job.span());
        let mut from = now;
        // Nodes and pools take turns in putting the start off, until they agree.
        loop {
            let placement = matcher::earliest(plans, shape, &venue.targets, &self.order, span, from)?;
            let (at, shares) = pools.earliest(&venue.demands, span, placement.start)?;
            if at == placement.start {
                return Some((placement, shares));
            }
            from = at;
        }
    }

    /// What is free for a waiting job that takes of pools from exactly `at` on, if enough.
    pub fn fits_pooled(&self, slot: Slot, plans: &TargetPlans, at: Timestamp) -> Option<PlanClaim> {
        let job = self.jobs.get(slot);
        let pools = self.shared.at_hand.as_deref()?;
        let (shape, end) = (&job.request.shape, at + job.span());
        self.venues(&job.request, &self.filter(slot).targets).into_iter().find_map(|venue| {
            let placement = matcher::fits(plans, shape, &venue.targets, &self.order, at, end)?;
            let shares = pools.claim(&venue.demands, at, end)?;
            Some(PlanClaim::Targets { placement, slot: slot_of(shape), shares })
        })
    }

    /// Whether what a job had reserved of pools is free from `start` until `end`.
    pub fn has_pools(&self, slot: Slot, shares: &[PoolShare], start: Timestamp, end: Timestamp) -> bool {
        if self.jobs.get(slot).request.shared.is_empty() {
            return true;
        }
        let pools = self.shared.at_hand.as_deref();
        !shares.is_empty() && pools.is_some_and(|pools| pools.has(shares, start, end))
    }

    /// Notes of which pool too little is free for a waiting job, where nodes would be free; nothing if it is not a pool
    /// that it waits for.
    pub fn note_limit(&mut self, slot: Slot, now: Timestamp) {
        let short = self.short_of_pool(slot, now).map(Box::new);
        self.jobs.get_mut(slot).short = short;
    }

    fn short_of_pool(&self, slot: Slot, now: Timestamp) -> Option<Shortage> {
        let (Plan::Targets(plans), Some(pools)) = (&self.plan, self.shared.at_hand.as_deref()) else { return None };
        let job = self.jobs.get(slot);
        let end = now + job.span();
        let mut short: Option<Shortage> = None;
        for venue in self.venues(&job.request, &self.filter(slot).targets) {
            if matcher::fits(plans, &job.request.shape, &venue.targets, &self.order, now, end).is_none() {
                continue;
            }
            let available = |demand: &PoolDemand| pools.available(&demand.pools, now, end);
            let here = shortage_of(&job.request, &venue.demands, available)?;
            // Of several places the one where most is free.
            if short.as_ref().is_none_or(|known| known.available < here.available) {
                short = Some(here);
            }
        }
        short
    }

    /// Whether these targets, and the pools, could serve a request if nothing ran.
    ///
    /// # Errors
    /// What is short.
    pub fn possible(&self, request: &Request, targets: &Bits) -> Result<(), Reason> {
        let graph = &self.res.graph;
        satisfiable(request, graph, targets)?;
        if request.shared.is_empty() {
            return Ok(());
        }
        let all = SharedPools::new(&self.shared.table);
        let mut fault = None;
        for venue in self.venues(request, targets) {
            let available = |demand: &PoolDemand| all.available(&demand.pools, Timestamp::MIN, Timestamp::NEVER);
            let here = match satisfiable(request, graph, &venue.targets) {
                Err(reason) => reason,
                Ok(()) => match shortage_of(request, &venue.demands, available) {
                    Some(shortage) => Reason::Unsatisfiable(shortage),
                    None => return Ok(()),
                },
            };
            // That a pool is too small says more than that one of several places is.
            if fault.is_none() || matches!(&here, Reason::Unsatisfiable(s) if s.resource != "node") {
                fault = Some(here);
            }
        }
        let kind = request.shared.within.clone().unwrap_or_default();
        let none = Shortage { resource: kind, level: CLUSTER.to_owned(), asked: 1, available: 0 };
        Err(fault.unwrap_or(Reason::Unsatisfiable(none)))
    }
}

/// The level of pools that may be anywhere.
const CLUSTER: &str = "cluster";

/// The first need that is not met where each demand finds so much; needs of the same pools add up.
fn shortage_of(request: &Request, demands: &[PoolDemand], available: impl Fn(&PoolDemand) -> u64) -> Option<Shortage> {
    let needs = request.shared.needs.iter().zip(demands);
    needs.clone().find_map(|(need, demand)| {
        let same = needs.clone().filter(|(_, other)| other.pools == demand.pools);
        let asked = same.map(|(_, other)| other.amount).fold(0, u64::saturating_add);
        let available = available(demand);
        let level = request.shared.within.as_deref().filter(|_| need.within).unwrap_or(CLUSTER);
        let shortage = || Shortage { resource: need.kind.clone(), level: level.to_owned(), asked, available };
        (available < asked).then(shortage)
    })
}
