//! Where and when a job gets nodes and shared pools together.
//!
//! Decides the start: the earliest instant at which nodes and pools are free for all of the job's time, in as many
//! *rooms* as it asks for. A room is a vertex that contains targets, as a rack, with the pools inside it; or the whole
//! cluster, where the job names no such vertex. Does not decide who comes first, nor what others use of the pools.
//!
//! Rules:
//! - One room: the one where it starts earliest, of those that are equal the first in depth-first order, together with
//!   what is asked for outside.
//! - Several rooms: of those that are free the first ones. What is asked for outside comes out of what they leave; how much
//!   that is does not depend on which they are.
//! - An exclusive room is one whose targets may all serve, all of them free, and with them everything in its pools. What
//!   is asked for outside comes from outside of all rooms.

use super::core::{Core, slot_of};
use super::jobs::Slot;
use super::plan::{Plan, PlanClaim};
use crate::base::{Timestamp, VertexId};
use crate::formats::count::Count;
use crate::matcher::{self, Amount, Placement, PoolNeed, Reason, Request, Shape, Shortage, Within, satisfiable};
use crate::planner::{Bits, PoolDemand, PoolId, PoolShare, SharedPools, TargetPlans};
use std::borrow::Cow;

/// The level of pools that may be anywhere.
const CLUSTER: &str = "cluster";

/// So much of a type of pool, of these pools.
#[derive(Clone)]
struct Want<'a> {
    kind: &'a str,
    level: &'a str,
    demand: PoolDemand,
}

/// Where a job, or its part in one of several vertices, may be.
struct Room<'a> {
    targets: Bits,
    shape: Cow<'a, Shape>,
    wants: Vec<Want<'a>>,
}

/// Where a job may be, and what it wants beside.
struct Rooms<'a> {
    rooms: Vec<Room<'a>>,
    /// How many of them it needs.
    count: usize,
    /// What it wants outside of rooms; nothing if it needs one room, which then has that too.
    outside: Vec<Want<'a>>,
    /// What has to be free of the pools of these types in all, in rooms and outside.
    together: Vec<PoolDemand>,
    /// The slots in each, where they do not follow from what it gets.
    slots: Option<u32>,
}

fn demands<'r, 'a: 'r>(wants: impl Iterator<Item = &'r Want<'a>>) -> Vec<PoolDemand> {
    wants.map(|want| want.demand.clone()).collect()
}

impl Room<'_> {
    fn demands(&self) -> Vec<PoolDemand> {
        demands(self.wants.iter())
    }
}

impl Rooms<'_> {
    /// Puts the parts in several rooms together.
    fn join(&self, parts: Vec<Placement>, start: Timestamp) -> Placement {
        let nslots = parts.iter().map(|part| self.slots.unwrap_or(part.nslots)).fold(0, u32::saturating_add);
        let parts = parts.into_iter().flat_map(|part| part.parts).collect();
        Placement { start, parts, nslots }
    }

    /// That too little is there of what is wanted outside.
    fn short_outside(&self, at: usize, available: impl Fn(&PoolDemand) -> u64) -> Shortage {
        let (want, demand) = (&self.outside[at], &self.together[at]);
        let (resource, level) = (want.kind.to_owned(), want.level.to_owned());
        Shortage { resource, level, asked: demand.amount, available: available(demand) }
    }

    /// All that is wanted when the job is in some of the rooms.
    fn demands(&self, chosen: &[usize]) -> Vec<PoolDemand> {
        let inside = chosen.iter().flat_map(|at| &self.rooms[*at].wants);
        demands(inside.chain(&self.outside))
    }
}

impl Core {
    /// Where a request may be among some targets.
    fn rooms<'a>(&'a self, request: &'a Request, targets: &Bits) -> Rooms<'a> {
        let (shared, shape) = (&request.shared, &request.shape);
        let of = |inside| {
            let needs = shared.needs.iter().filter(move |need| shared.within.is_none() || need.within == inside);
            needs.collect::<Vec<&PoolNeed>>()
        };
        let mut outside: Vec<Want<'a>> = of(false).into_iter().map(|need| self.want(need, None)).collect();
        let Some(within) = &shared.within else {
            let room = Room { targets: targets.clone(), shape: Cow::Borrowed(shape), wants: outside };
            return Rooms { rooms: vec![room], count: 1, outside: Vec::new(), together: Vec::new(), slots: None };
        };
        let graph = &self.res.graph;
        let kind = graph.kind_id(&within.kind);
        let around = kind.map_or(&[][..], |kind| graph.of_kind(kind)).iter().copied();
        let around = around.filter(|v| graph.target_of(*v).is_none() && !graph.targets_in(*v).is_empty());
        if within.exclusive {
            let paths: Vec<String> = around.clone().map(|v| graph.path(v)).collect();
            let inside = |pool: &PoolId| {
                let pool = self.shared.table.get(*pool);
                pool.is_some_and(|pool| paths.iter().any(|path| pool.is_below(path)))
            };
            outside.iter_mut().for_each(|want| want.demand.pools.retain(|pool| !inside(pool)));
        }
        let needs = of(true);
        let mut rooms: Vec<Room<'a>> = around.filter_map(|v| self.room(v, within, shape, &needs, targets)).collect();
        let count = usize::try_from(within.count).unwrap_or(usize::MAX);
        let slots = within.exclusive.then(|| slots_of(shape));
        if count > 1 {
            let together = together(&outside, &needs, within);
            return Rooms { rooms, count, outside, together, slots };
        }
        rooms.iter_mut().for_each(|room| room.wants.extend(outside.iter().cloned()));
        Rooms { rooms, count, outside: Vec::new(), together: Vec::new(), slots }
    }

    fn want<'a>(&self, need: &'a PoolNeed, inside: Option<(&'a str, &str)>) -> Want<'a> {
        let pools = self.shared.table.of_kind(&need.kind, inside.map(|(_, path)| path)).collect();
        let level = inside.map_or(CLUSTER, |(level, _)| level);
        Want { kind: &need.kind, level, demand: PoolDemand { pools, amount: need.amount } }
    }

    /// A vertex as a room for a shape; `None` if it cannot be one.
    fn room<'a>(
        &'a self,
        v: VertexId,
        within: &'a Within,
        shape: &'a Shape,
        needs: &[&'a PoolNeed],
        targets: &Bits,
    ) -> Option<Room<'a>> {
        let (graph, table) = (&self.res.graph, &self.shared.table);
        let path = graph.path(v);
        let mut here = Bits::new(graph.target_bound());
        graph.targets_in(v).iter().for_each(|t| here.insert(*t));
        let wants: Vec<Want<'a>> = needs.iter().map(|need| self.want(need, Some((&within.kind, &path)))).collect();
        if !within.exclusive {
            here.and(targets);
            return Some(Room { targets: here, shape: Cow::Borrowed(shape), wants });
        }
        let all = here.len();
        let inside = Request { shape: shape.clone(), constraint: None, shared: Default::default() };
        let is_there = |want: &Want<'_>| {
            let sizes = want.demand.pools.iter().filter_map(|pool| table.get(*pool)).map(|pool| pool.size);
            sizes.fold(0, u64::saturating_add) >= want.demand.amount
        };
        let serves = here.and_len(targets) == all && satisfiable(&inside, graph, &here).is_ok();
        if !serves || !wants.iter().all(is_there) {
            return None;
        }
        let everything = table.iter().filter(|(_, pool)| pool.size > 0 && pool.is_below(&path));
        let wants = everything.map(|(id, pool)| Want {
            kind: &pool.kind,
            level: &within.kind,
            demand: PoolDemand { pools: vec![id], amount: pool.size },
        });
        let shape = Shape::Whole { nodes: Count::fixed(all as u64), at_least: Amount::NONE, slots_per_node: 1 };
        Some(Room { targets: here, shape: Cow::Owned(shape), wants: wants.collect() })
    }

    /// Where a reservation that was found at `found` holds its place: as little as it needs, in the same rooms.
    pub fn least_pooled(
        &self,
        slot: Slot,
        plans: &TargetPlans,
        found: &Placement,
        start: Timestamp,
        end: Timestamp,
    ) -> Option<Placement> {
        let rooms = self.rooms(&self.jobs.get(slot).request, &self.filter(slot).targets);
        let used = |room: &&Room<'_>| found.parts.iter().any(|(t, _)| room.targets.contains(*t));
        let reserve = |room: &Room<'_>| matcher::reserve(plans, &room.shape, &room.targets, &self.order, start, end);
        let parts: Option<Vec<Placement>> = rooms.rooms.iter().filter(used).take(rooms.count).map(reserve).collect();
        Some(rooms.join(parts?, start))
    }

    /// The earliest start of a waiting job that takes of pools, in a plan by target.
    pub fn earliest_pooled(&self, slot: Slot, plans: &TargetPlans, now: Timestamp) -> Option<(Timestamp, PlanClaim)> {
        let job = self.jobs.get(slot);
        let pools = self.shared.free()?;
        let rooms = self.rooms(&job.request, &self.filter(slot).targets);
        let mut from = now;
        loop {
            let mut starts: Vec<(Timestamp, usize)> = Vec::new();
            for (at, room) in rooms.rooms.iter().enumerate() {
                starts.extend(self.earliest_in(room, slot, plans, pools, from).map(|start| (start, at)));
            }
            // From then on as many rooms as are needed have been free, if perhaps not all at once.
            starts.sort_unstable();
            let start = starts.get(rooms.count.checked_sub(1)?)?.0;
            let (at, _) = pools.earliest(&rooms.together, job.span(), start)?;
            if let Some(claim) = self.fits_in(&rooms, slot, plans, pools, at) {
                return Some((at, claim));
            }
            if at <= from {
                debug_assert!(false, "what is free in each room is free");
                return None;
            }
            from = at;
        }
    }

    /// When a room is free with its pools.
    fn earliest_in(
        &self,
        room: &Room<'_>,
        slot: Slot,
        plans: &TargetPlans,
        pools: &SharedPools,
        mut from: Timestamp,
    ) -> Option<Timestamp> {
        let (span, demands) = (self.jobs.get(slot).span(), room.demands());
        // Nodes and pools take turns in putting the start off, until they agree.
        loop {
            let placement = matcher::earliest(plans, &room.shape, &room.targets, &self.order, span, from)?;
            let (at, _) = pools.earliest(&demands, span, placement.start)?;
            if at == placement.start {
                return Some(at);
            }
            from = at;
        }
    }

    /// What is free for a waiting job that takes of pools from exactly `at` on, if enough.
    pub fn fits_pooled(&self, slot: Slot, plans: &TargetPlans, at: Timestamp) -> Option<PlanClaim> {
        let rooms = self.rooms(&self.jobs.get(slot).request, &self.filter(slot).targets);
        self.fits_in(&rooms, slot, plans, self.shared.free()?, at)
    }

    fn fits_in(
        &self,
        rooms: &Rooms<'_>,
        slot: Slot,
        plans: &TargetPlans,
        pools: &SharedPools,
        at: Timestamp,
    ) -> Option<PlanClaim> {
        let job = self.jobs.get(slot);
        let end = at + job.span();
        let (mut chosen, mut parts) = (Vec::new(), Vec::new());
        for (n, room) in rooms.rooms.iter().enumerate() {
            if chosen.len() == rooms.count {
                break;
            }
            let Some(part) = matcher::fits(plans, &room.shape, &room.targets, &self.order, at, end) else { continue };
            if pools.claim(&room.demands(), at, end).is_some() {
                chosen.push(n);
                parts.push(part);
            }
        }
        if chosen.len() < rooms.count {
            return None;
        }
        let shares = pools.claim(&rooms.demands(&chosen), at, end)?;
        let placement = rooms.join(parts, at);
        Some(PlanClaim::Targets { placement, slot: slot_of(&job.request.shape), shares })
    }

    /// Whether what a job had reserved of pools is free from `start` until `end`.
    pub fn has_pools(&self, slot: Slot, shares: &[PoolShare], start: Timestamp, end: Timestamp) -> bool {
        let shared = &self.jobs.get(slot).request.shared;
        if shared.is_empty() {
            return true;
        }
        let known = !shares.is_empty() || shared.needs.is_empty();
        known && self.shared.free().is_some_and(|pools| pools.has(shares, start, end))
    }

    /// Notes of which pool too little is free for a waiting job, where nodes would be free; nothing if it is not a pool
    /// that it waits for.
    pub fn note_limit(&mut self, slot: Slot, now: Timestamp) {
        let short = self.short_of_pool(slot, now).map(Box::new);
        self.jobs.get_mut(slot).short = short;
    }

    fn short_of_pool(&self, slot: Slot, now: Timestamp) -> Option<Shortage> {
        let (Plan::Targets(plans), Some(pools)) = (&self.plan, self.shared.free()) else { return None };
        let job = self.jobs.get(slot);
        let end = now + job.span();
        let rooms = self.rooms(&job.request, &self.filter(slot).targets);
        let available = |demand: &PoolDemand| pools.available(&demand.pools, now, end);
        let mut short: Option<Shortage> = None;
        let mut free = 0;
        for room in &rooms.rooms {
            if matcher::fits(plans, &room.shape, &room.targets, &self.order, now, end).is_none() {
                continue;
            }
            match shortage_of(&room.wants, available) {
                None => free += 1,
                // Of several places the one where most is free.
                Some(here) if short.as_ref().is_none_or(|known| known.available < here.available) => {
                    short = Some(here);
                }
                Some(_) => {}
            }
        }
        if free < rooms.count {
            let whole = job.request.shared.within.as_ref().filter(|within| within.count > 1 || within.exclusive);
            return short.or_else(|| whole.map(|within| rooms_short(within, free)));
        }
        let short = rooms.together.iter().position(|demand| available(demand) < demand.amount)?;
        Some(rooms.short_outside(short, available))
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
        let available = |demand: &PoolDemand| all.available(&demand.pools, Timestamp::MIN, Timestamp::NEVER);
        let rooms = self.rooms(request, targets);
        let (mut serving, mut fault) = (0, None);
        for room in &rooms.rooms {
            let here = match shape_in(room, request, graph) {
                Err(reason) => reason,
                Ok(()) => match shortage_of(&room.wants, available) {
                    Some(shortage) => Reason::Unsatisfiable(shortage),
                    None => {
                        serving += 1;
                        continue;
                    }
                },
            };
            // That a pool is too small says more than that one of several places is.
            if fault.is_none() || matches!(&here, Reason::Unsatisfiable(s) if s.resource != "node") {
                fault = Some(here);
            }
        }
        let within = request.shared.within.as_ref();
        if serving < rooms.count {
            let few = within.map(|within| Reason::Unsatisfiable(rooms_short(within, serving)));
            let said = fault.clone().filter(|_| within.is_none_or(|w| w.count == 1 && !w.exclusive));
            if let Some(reason) = said.or(few).or(fault) {
                return Err(reason);
            }
        }
        let short = rooms.together.iter().position(|demand| available(demand) < demand.amount);
        short.map_or(Ok(()), |at| Err(Reason::Unsatisfiable(rooms.short_outside(at, available))))
    }
}

/// Of the pools of each type that is wanted outside, what is wanted of them outside and in rooms.
fn together(outside: &[Want<'_>], inside: &[&PoolNeed], within: &Within) -> Vec<PoolDemand> {
    let all = |want: &Want<'_>| {
        let same = outside.iter().filter(|other| other.kind == want.kind).map(|other| other.demand.amount);
        let here = inside.iter().filter(|need| need.kind == want.kind && !within.exclusive);
        let here = here.map(|need| need.amount.saturating_mul(within.count));
        PoolDemand { pools: want.demand.pools.clone(), amount: same.chain(here).fold(0, u64::saturating_add) }
    };
    // Of wants of one type the first speaks for all.
    let repeated = |at: usize| outside[..at].iter().any(|other| other.kind == outside[at].kind);
    let one = |at: usize| if repeated(at) { PoolDemand { pools: vec![], amount: 0 } } else { all(&outside[at]) };
    (0..outside.len()).map(one).collect()
}

fn shape_in(room: &Room<'_>, request: &Request, graph: &crate::graph::Graph) -> Result<(), Reason> {
    match &room.shape {
        Cow::Borrowed(_) => satisfiable(request, graph, &room.targets),
        // Looked at when the room was made.
        Cow::Owned(_) => Ok(()),
    }
}

/// Too few rooms.
fn rooms_short(within: &Within, available: usize) -> Shortage {
    let (resource, level) = (within.kind.clone(), CLUSTER.to_owned());
    Shortage { resource, level, asked: within.count, available: available as u64 }
}

/// The least number of slots of a shape.
fn slots_of(shape: &Shape) -> u32 {
    let slots = match shape {
        Shape::Whole { nodes, slots_per_node, .. } => nodes.min().saturating_mul(u64::from(*slots_per_node)),
        Shape::Nodes { nodes, slots, .. } => nodes.min().saturating_mul(slots.min()),
        Shape::Slots { slots, .. } => slots.min(),
    };
    u32::try_from(slots).unwrap_or(u32::MAX)
}

/// The first want that is not met where each demand finds so much; wants of the same pools, or of some of them, add up.
fn shortage_of(wants: &[Want<'_>], available: impl Fn(&PoolDemand) -> u64) -> Option<Shortage> {
    wants.iter().find_map(|want| {
        let pools = &want.demand.pools;
        let among = |other: &&Want<'_>| {
            other.kind == want.kind && other.demand.pools.iter().all(|pool| pools.binary_search(pool).is_ok())
        };
        let same = wants.iter().filter(among);
        let asked = same.map(|other| other.demand.amount).fold(0, u64::saturating_add);
        let available = available(&want.demand);
        let (resource, level) = (want.kind.to_owned(), want.level.to_owned());
        (available < asked).then_some(Shortage { resource, level, asked, available })
    })
}
