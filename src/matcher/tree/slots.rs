//! Slots: bundles of whole vertices that are directly below one vertex.
//!
//! A slot takes vertices, not units: of a vertex that has more than is asked for nothing is left for the next slot.

use super::explore::Wanted;
use super::score::{Edge, Group, MET, Order, Scoring, Shares};
use super::select::{LEAD, Trace, Walk};
use super::types::{Spec, Ty};
use crate::base::{FastMap, VertexId};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// How much of each type is there.
type Stock = BTreeMap<Ty, u64>;

/// What is best with a stock: which slot to make, what is left then, and how many slots that gives in all.
#[derive(Clone)]
struct Plan {
    slot: usize,
    rest: Stock,
    slots: u64,
}

impl Walk<'_> {
    /// Makes slots of one kind of what is below `v`.
    pub(super) fn slots(&mut self, v: VertexId, shape: &[Spec], slots: u64, up: &mut Scoring) {
        let mut found = Scoring::default();
        let wanted = Wanted { specs: shape, pristine: false, alone: true, shares: slots };
        if !self.explore(v, LEAD, wanted, &mut found) {
            return;
        }
        self.choose_all(&mut found);
        let fit = |part: &Spec| {
            let candidates = found.get(LEAD, part.ty)?;
            let mut shares = Shares::of(part.choose(candidates.qualified));
            candidates.groups.iter().for_each(|group| shares.add(group.edges[0].count));
            Some(shares.full)
        };
        let made = shape.iter().map(|part| fit(part).unwrap_or(0)).min().unwrap_or(0);
        let mut next: FastMap<Ty, usize> = FastMap::default();
        let packed: Option<Vec<Group>> = (0..made).map(|_| pack(shape, &found, &mut next)).collect();
        match packed {
            Some(groups) => groups.into_iter().for_each(|group| up.add(LEAD, Ty::SLOT, group)),
            None => self.complaint.push_str("dom_slot: not enough slots.\n"),
        }
    }

    fn choose_all(&mut self, found: &mut Scoring) {
        if found.types(LEAD).any(|(_, candidates)| candidates.qualified == 0) {
            self.trace = Trace::Invalid;
        }
        found.choose_all(LEAD, self.slot_order(), !self.compat());
    }

    fn slot_order(&self) -> Order {
        match self.engine.options.policy {
            super::options::Policy::Id { low: true, .. } => Order::Least,
            super::options::Policy::Variation if !self.engine.options.compat => Order::Least,
            _ => Order::Greatest,
        }
    }

    /// Makes slots of several kinds of what is below `v`, so that there are as many as possible.
    pub(super) fn mixed_slots(&mut self, v: VertexId, kinds: &[Spec], slots: u64, up: &mut Scoring) {
        // One of each type, with the largest count that is asked for, else `first` would stop too soon.
        let mut union: BTreeMap<Ty, &Spec> = BTreeMap::new();
        for part in kinds.iter().flat_map(|kind| &kind.with) {
            let known = union.entry(part.ty).or_insert(part);
            if known.count.min() < part.count.min() {
                *known = part;
            }
        }
        let shape: Vec<Spec> = union.into_values().cloned().collect();
        let mut found = Scoring::default();
        let wanted = Wanted { specs: &shape, pristine: false, alone: true, shares: slots };
        if !self.explore(v, LEAD, wanted, &mut found) {
            return;
        }
        self.choose_all(&mut found);
        let stock: Stock = shape.iter().map(|part| (part.ty, found.of(LEAD, part.ty).qualified)).collect();
        let mut plans = FastMap::default();
        let mut plan = plan_slots(kinds, &stock, slots, &mut plans);
        let made = plan.slots;
        let mut next: FastMap<Ty, usize> = FastMap::default();
        let mut groups = Vec::new();
        for _ in 0..made {
            match pack(&kinds[plan.slot].with, &found, &mut next) {
                Some(group) => groups.push(group),
                None => {
                    self.complaint.push_str("dom_slot: not enough slots.\n");
                    return;
                }
            }
            if let Some(known) = plans.get(&plan.rest) {
                plan = known.clone();
            }
        }
        groups.into_iter().for_each(|group| up.add(LEAD, Ty::SLOT, group));
    }
}

/// One slot of the next vertices of each type; none if they do not suffice.
fn pack(shape: &[Spec], found: &Scoring, next: &mut FastMap<Ty, usize>) -> Option<Group> {
    let mut score = MET;
    let mut edges: SmallVec<[Edge; 1]> = SmallVec::new();
    for part in shape {
        let candidates = found.get(LEAD, part.ty)?;
        let count = part.choose(candidates.qualified);
        let mut has = 0;
        while has < count {
            let at = next.entry(part.ty).or_default();
            let group = candidates.groups.get(*at)?;
            *at += 1;
            let edge = Edge { exclusive: true, ..group.edges[0] };
            score += group.score;
            has += edge.count;
            edges.push(edge);
        }
    }
    Some(Group { score, count: 1, is_root: false, edges })
}

/// The best use of a stock, from the best uses of what is left after each kind of slot.
fn plan_slots(kinds: &[Spec], stock: &Stock, most: u64, known: &mut FastMap<Stock, Plan>) -> Plan {
    if let Some(plan) = known.get(stock) {
        return plan.clone();
    }
    let there = |part: &Spec, stock: &Stock| stock.get(&part.ty).copied().unwrap_or(0);
    let mut plan = Plan { slot: 0, rest: stock.clone(), slots: 0 };
    if let [only] = kinds {
        let fit = |part: &Spec| there(part, stock).checked_div(part.choose(there(part, stock))).unwrap_or(0);
        plan.slots = only.with.iter().map(fit).min().unwrap_or(most).min(most);
    } else {
        let mut best: Option<u64> = None;
        for (slot, kind) in kinds.iter().enumerate() {
            let mut rest = stock.clone();
            let fits = kind.with.iter().all(|part| {
                let count = part.choose(there(part, stock));
                let left = there(part, &rest).checked_sub(count).filter(|_| count > 0);
                left.map(|left| rest.insert(part.ty, left)).is_some()
            });
            if !fits || rest == *stock {
                continue;
            }
            let slots = plan_slots(kinds, &rest, most, known).slots;
            if best.is_none_or(|best| best < slots) {
                best = Some(slots);
                plan = Plan { slot, rest, slots: slots + 1 };
            }
        }
    }
    known.insert(stock.clone(), plan.clone());
    plan
}
