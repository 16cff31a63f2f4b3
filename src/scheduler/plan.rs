//! The two kinds of plan behind one face, and what is entered in them.

use super::places::Place;
use crate::base::Timestamp;
use crate::matcher::{Placement, Taken};
use crate::planner::{Capacity, Claim, PoolShare, Profile, Take, TargetPlans};

/// What is free, when.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// By counts per class of equal targets: every job asks for whole targets.
    Counts(Profile),
    /// By target: some job asks for parts.
    Targets(Box<TargetPlans>),
}

/// What a job takes, or could take, in a plan.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum PlanClaim {
    /// So many of each class.
    Counts(Claim),
    /// These targets; a slot is so large.
    Targets {
        /// Where.
        placement: Placement,
        /// What [`Taken::Slots`] counts.
        slot: Capacity,
        /// What it takes of shared pools, beside the plan.
        shares: Vec<PoolShare>,
    },
}

/// A reservation.
#[derive(Clone, Debug)]
pub(super) struct Reserved {
    pub start: Timestamp,
    pub until: Timestamp,
    /// `None` while it is not entered in the plan (after a change, until the next pass).
    pub claim: Option<PlanClaim>,
    /// While it is not entered: where it was, so that it can be entered there again; empty if that is unknown.
    pub place: Place,
    /// What it takes of shared pools.
    pub shares: Vec<PoolShare>,
}

impl Plan {
    pub fn occupy(&mut self, claim: &PlanClaim, from: Timestamp, until: Timestamp) {
        match (self, claim) {
            (Plan::Counts(profile), PlanClaim::Counts(claim)) => profile.occupy(claim, from, until),
            (Plan::Targets(plans), PlanClaim::Targets { placement, slot, .. }) => {
                for (target, taken) in &placement.parts {
                    let entered = plans.occupy(*target, from, until, take_of(*taken, *slot));
                    debug_assert!(entered.is_ok(), "a placement names targets that have plans");
                }
            }
            _ => unreachable!("a claim is entered in the plan that it was made in"),
        }
    }

    pub fn vacate(&mut self, claim: &PlanClaim, from: Timestamp, until: Timestamp) {
        match (self, claim) {
            (Plan::Counts(profile), PlanClaim::Counts(claim)) => profile.vacate(claim, from, until),
            (Plan::Targets(plans), PlanClaim::Targets { placement, slot, .. }) => {
                for (target, taken) in &placement.parts {
                    let left = plans.vacate(*target, from, until, take_of(*taken, *slot));
                    debug_assert!(left.is_ok(), "what is vacated was occupied");
                }
            }
            _ => unreachable!("a claim is taken out of the plan that it was made in"),
        }
    }
}

/// What a placement takes of one target.
fn take_of(taken: Taken, slot: Capacity) -> Take {
    match taken {
        Taken::Whole => Take::Whole,
        Taken::Slots(n) => Take::Amount(slot.times(n)),
    }
}
