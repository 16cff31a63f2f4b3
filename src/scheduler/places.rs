//! Where the reservations of a plan stand, target by target, so that another plan can take them over as they are.
//!
//! A plan by counts says how many targets of each class a reservation takes. Before classes or the kind of plan
//! change, particular targets are named: in order of start each gets targets of its classes that nobody has by then.
//! There are always enough, since within a class jobs are intervals and the plan never promised more than there is.
//! Entered by these names, all reservations fit again, whatever the new classes are (I9), in whichever scheduler (I8).

use super::core::Core;
use super::jobs::{NO_SLOT, Slot};
use super::plan::{Plan, PlanClaim};
use super::resources::{SHARED, add_to};
use crate::base::{FastMap, TargetId, Timestamp};
use crate::matcher::{Placement, Shape, Taken};
use crate::planner::{Claim, ClassId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Targets of one reservation.
pub(super) type Place = Box<[(TargetId, Taken)]>;

/// The targets of a class by the instant at which they are had again, earliest first.
type Lanes = BinaryHeap<Reverse<(Timestamp, TargetId)>>;

impl Core {
    /// All reservations that are entered in the plan, with their places; without one where it is unknown.
    pub fn places(&self) -> Vec<(Slot, Place)> {
        let mut entered: Vec<(Timestamp, usize, Slot)> = Vec::new();
        for (at, slot) in self.jobs.order().iter().enumerate() {
            if let Some(reserved) = self.jobs.get(*slot).reserved.as_ref().filter(|r| r.claim.is_some()) {
                entered.push((reserved.start, at, *slot));
            }
        }
        entered.sort_unstable();
        let mut lanes: FastMap<ClassId, Lanes> = FastMap::default();
        let slots = entered.into_iter().map(|(_, _, slot)| slot);
        slots.map(|slot| (slot, self.place_of(slot, &mut lanes).unwrap_or_default())).collect()
    }

    fn place_of(&self, slot: Slot, lanes: &mut FastMap<ClassId, Lanes>) -> Option<Place> {
        let reserved = self.jobs.get(slot).reserved.as_ref()?;
        let claim = match reserved.claim.as_ref()? {
            PlanClaim::Counts(claim) => claim,
            PlanClaim::Targets { placement, .. } => return Some(placement.parts.as_slice().into()),
        };
        let mut place = Vec::new();
        for (class, n) in claim {
            let lanes = lanes.entry(*class).or_insert_with(|| self.lanes(*class));
            let first = place.len();
            for _ in 0..*n {
                let Reverse((had, target)) = lanes.pop()?;
                place.push((target, Taken::Whole));
                if had > reserved.start {
                    return None;
                }
            }
            lanes.extend(place[first..].iter().map(|(t, _)| Reverse((reserved.until, *t))));
        }
        Some(place.into())
    }

    /// When which target of a class is had: now, when its holder's time is over, when it arrives.
    fn lanes(&self, class: ClassId) -> Lanes {
        let arrival = self.res.classes.arrives(class, self.now);
        let lane = |t: TargetId| {
            let held = match self.res.holder(t) {
                NO_SLOT => Timestamp::MIN,
                SHARED => return None,
                slot => self.jobs.get(slot).run.as_ref()?.planned_end,
            };
            let here = if self.res.up.contains(t) { Timestamp::MIN } else { arrival? };
            Some(Reverse((held.max(here), t)))
        };
        self.res.classes.targets(class).iter().filter_map(lane).collect()
    }

    /// What a waiting job takes in the plan from `start` on at the place that its reservation had, if all of it is
    /// free.
    pub fn at_its_place(&self, slot: Slot, start: Timestamp) -> Option<PlanClaim> {
        let job = self.jobs.get(slot);
        let place = &job.reserved.as_ref()?.place;
        let targets = &self.filters.get(job.filter).targets;
        if place.is_empty() || place.iter().any(|(t, _)| !targets.contains(*t)) {
            return None;
        }
        let end = start + job.span();
        match &self.plan {
            Plan::Counts(profile) => {
                let mut claim = Claim::new();
                place.iter().for_each(|(t, _)| add_to(&mut claim, self.res.classes.of(*t), 1));
                let admitted = claim.iter().all(|(class, _)| self.admits(*class, start, end));
                (place.len() as u32 == job.min && admitted && profile.has(&claim, start, end))
                    .then_some(PlanClaim::Counts(claim))
            }
            Plan::Targets(plans) => {
                let size = super::core::slot_of(&job.request.shape);
                let whole = matches!(job.request.shape, Shape::Whole { .. });
                let fits = |(t, taken): &(TargetId, Taken)| match taken {
                    Taken::Whole => plans.whole_during(*t, start, end),
                    Taken::Slots(n) => !whole && plans.slots_during(*t, size, start, end) >= *n,
                };
                let shares = &job.reserved.as_ref()?.shares;
                let enough = place.iter().all(fits) && self.has_pools(slot, shares, start, end);
                let placement = Placement { start, parts: enough.then(|| place.to_vec())?, nslots: 1 };
                Some(PlanClaim::Targets { placement, slot: size, shares: shares.clone() })
            }
        }
    }
}
