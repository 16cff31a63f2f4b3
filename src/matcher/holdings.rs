//! Which cores and gpus are held now, and from a placement to a selection of them.
//!
//! Decides which positions a job gets; what fits was decided by [`super::place`]. Knows no time: a job holds what it
//! holds until it is released, whatever its limit says.
//!
//! Invariants: a target is wholly free, or held whole, or held in parts, and then some of it is held; no position is
//! held twice (I2).

use super::place::{Placement, Taken};
use super::policy::{End, TargetOrder};
use super::{Amount, Extent, Part, Selection, Shape, Share, Units};
use crate::base::TargetId;
use crate::planner::Bits;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why something could not be held, released or chosen; nothing has changed then.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum HoldError {
    /// A target that is not there.
    #[error("target {target}: expected a target below {bound}")]
    NoTarget {
        /// The target named.
        target: TargetId,
        /// One past the largest target known.
        bound: usize,
    },
    /// Somebody holds it already (I2).
    #[error("target {target}: expected it to be free, found it held (I2)")]
    Held {
        /// The target.
        target: TargetId,
    },
    /// Nobody holds it.
    #[error("target {target}: expected it to be held, found it free")]
    NotHeld {
        /// The target.
        target: TargetId,
    },
    /// Positions that the target does not have.
    #[error("target {target}: expected {cores} cores and {gpus} gpus, found a position beyond")]
    NoUnit {
        /// The target.
        target: TargetId,
        /// Its cores.
        cores: u32,
        /// Its gpus.
        gpus: u32,
    },
    /// Too few positions are free.
    #[error("target {target}: expected {cores} cores and {gpus} gpus free, found fewer")]
    TooFew {
        /// The target.
        target: TargetId,
        /// Cores asked for.
        cores: u32,
        /// Gpus asked for.
        gpus: u32,
    },
}

/// Who holds what now, of one scheduler's targets.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    capacities: Vec<Amount>,
    free: Bits,
    /// What is free of the targets that are held in parts.
    parts: BTreeMap<TargetId, Part>,
}

impl Holdings {
    /// The targets 0, 1, … with these capacities, all free.
    pub fn new(capacities: impl IntoIterator<Item = Amount>) -> Self {
        let mut holdings = Self::default();
        for (i, capacity) in (0u32..).zip(capacities) {
            holdings.add_target(TargetId(i), capacity);
        }
        holdings
    }

    /// Makes a target known that is new; changes nothing for one that is known. Targets between are known with nothing.
    pub fn add_target(&mut self, target: TargetId, capacity: Amount) {
        while self.capacities.len() <= target.index() {
            let next = TargetId(self.capacities.len() as u32);
            self.capacities.push(if next == target { capacity } else { Amount::NONE });
            self.free.grow(self.capacities.len());
            self.free.insert(next);
        }
    }

    /// The targets that nobody holds anything of.
    pub fn free(&self) -> &Bits {
        &self.free
    }

    /// The positions that are free on a target.
    pub fn free_units(&self, target: TargetId) -> Part {
        match self.parts.get(&target) {
            Some(part) => part.clone(),
            None if self.free.contains(target) => self.all_units(target),
            None => Part::default(),
        }
    }

    /// The targets that are held in parts, ascending.
    pub fn partly_held(&self) -> impl Iterator<Item = TargetId> + '_ {
        self.parts.keys().copied()
    }

    fn all_units(&self, target: TargetId) -> Part {
        let capacity = self.capacities.get(target.index()).copied().unwrap_or_default();
        Part { cores: Units::first_n(capacity.cores), gpus: Units::first_n(capacity.gpus) }
    }

    /// Whether a share can be held now.
    fn check_free(&self, share: &Share) -> Result<(), HoldError> {
        let target = share.target;
        self.check_known(share)?;
        match &share.extent {
            Extent::Whole if self.free.contains(target) => Ok(()),
            Extent::Part(part) => {
                let free = self.free_units(target);
                let all = contains(&free.cores, &part.cores) && contains(&free.gpus, &part.gpus);
                if all { Ok(()) } else { Err(HoldError::Held { target }) }
            }
            Extent::Whole => Err(HoldError::Held { target }),
        }
    }

    fn check_known(&self, share: &Share) -> Result<(), HoldError> {
        let target = share.target;
        let bound = self.capacities.len();
        let Amount { cores, gpus } =
            *self.capacities.get(target.index()).ok_or(HoldError::NoTarget { target, bound })?;
        if let Extent::Part(part) = &share.extent {
            let all = self.all_units(target);
            if !contains(&all.cores, &part.cores) || !contains(&all.gpus, &part.gpus) {
                return Err(HoldError::NoUnit { target, cores, gpus });
            }
        }
        Ok(())
    }

    /// Holds a selection, all or nothing.
    ///
    /// # Errors
    /// An unknown target or position, or one that is held already.
    pub fn hold(&mut self, selection: &Selection) -> Result<(), HoldError> {
        selection.shares.iter().try_for_each(|share| self.check_free(share))?;
        for Share { target, extent } in &selection.shares {
            match extent {
                Extent::Whole => self.free.remove(*target),
                Extent::Part(part) => {
                    let mut free = self.free_units(*target);
                    free.cores.remove_all(&part.cores);
                    free.gpus.remove_all(&part.gpus);
                    self.free.remove(*target);
                    self.parts.insert(*target, free);
                }
            }
        }
        Ok(())
    }

    /// Releases what one job held on one target.
    ///
    /// # Errors
    /// An unknown target or position, or one that is not held this way.
    pub fn release(&mut self, share: &Share) -> Result<(), HoldError> {
        self.check_known(share)?;
        let target = share.target;
        match &share.extent {
            Extent::Whole if self.free.contains(target) || self.parts.contains_key(&target) => {
                Err(HoldError::NotHeld { target })
            }
            Extent::Whole => {
                self.free.insert(target);
                Ok(())
            }
            Extent::Part(part) => {
                let all = self.all_units(target);
                let free = self.parts.get_mut(&target).ok_or(HoldError::NotHeld { target })?;
                if !free.cores.is_disjoint(&part.cores) || !free.gpus.is_disjoint(&part.gpus) {
                    return Err(HoldError::NotHeld { target });
                }
                free.cores.add_all(&part.cores);
                free.gpus.add_all(&part.gpus);
                if *free == all {
                    self.parts.remove(&target);
                    self.free.insert(target);
                }
                Ok(())
            }
        }
    }
}

/// Whether `units` has all of `some`.
fn contains(units: &Units, some: &Units) -> bool {
    let mut rest = some.clone();
    rest.remove_all(units);
    rest.is_empty()
}

/// Chooses concrete cores and gpus for a placement that starts now: from the end that the policy says, of what nobody
/// holds. It holds nothing itself.
///
/// # Errors
/// If more is held than the plans knew, as by a job past its limit.
pub fn realise(
    placement: &Placement,
    shape: &Shape,
    holdings: &Holdings,
    order: &TargetOrder,
) -> Result<Selection, HoldError> {
    let slot = match shape {
        Shape::Whole { at_least, .. } => *at_least,
        Shape::Nodes { slot, .. } | Shape::Slots { slot, .. } => *slot,
    };
    let mut shares = Vec::with_capacity(placement.parts.len());
    for (target, taken) in &placement.parts {
        let share = |extent| Share { target: *target, extent };
        let share = match taken {
            Taken::Whole => share(Extent::Whole),
            Taken::Slots(n) => {
                let Amount { cores, gpus } = slot.times(*n);
                let free = holdings.free_units(*target);
                let chosen = (choose(&free.cores, cores, order.end()), choose(&free.gpus, gpus, order.end()));
                let (Some(chosen_cores), Some(chosen_gpus)) = chosen else {
                    return Err(HoldError::TooFew { target: *target, cores, gpus });
                };
                share(Extent::Part(Box::new(Part { cores: chosen_cores, gpus: chosen_gpus })))
            }
        };
        holdings.check_free(&share)?;
        shares.push(share);
    }
    shares.sort_unstable_by_key(|s| s.target);
    Ok(Selection { shares, nslots: placement.nslots, pools: Vec::new() })
}

/// `n` of the units, from one end; `None` if there are fewer.
fn choose(units: &Units, n: u32, end: End) -> Option<Units> {
    let skip = units.len().checked_sub(n)?;
    Some(match end {
        End::Low => units.iter().take(n as usize).collect(),
        End::High => units.iter().skip(skip as usize).collect(),
    })
}

#[cfg(test)]
mod tests;
