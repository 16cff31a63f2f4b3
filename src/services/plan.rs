//! What is started for what is wanted, and in which order.
//!
//! Decides the closure: who provides what is wanted, who provides what those require, and so on; without those whose needs
//! are not among them, and without whom only those would have pulled in. Starts nothing.

use super::choice::{Choice, Unfit};
use super::order::{Loop, levels};
use super::registry::{Registry, UnitId};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Services, or what they provide.
    pub names: Vec<String>,
    /// Services that are to provide what they can, whatever stands against them.
    pub force: Vec<String>,
}

/// Something that is required, and left out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Left {
    /// What.
    pub service: String,
    /// Who requires it.
    pub by: String,
    /// Why it is left out.
    pub why: String,
}

/// What is to be started.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// One level after the other; those of one level may start at once.
    pub levels: Vec<Vec<UnitId>>,
    /// What is required and left out.
    pub left: Vec<Left>,
}

impl Plan {
    /// In the order of the start.
    pub fn order(&self) -> impl DoubleEndedIterator<Item = UnitId> {
        self.levels.iter().flatten().copied()
    }

    /// In the order of the stop: the reverse.
    pub fn stop_order(&self) -> impl Iterator<Item = UnitId> {
        self.order().rev()
    }

    /// Whether a service is started.
    pub fn contains(&self, unit: UnitId) -> bool {
        self.levels.iter().any(|level| level.contains(&unit))
    }
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PlanError {
    /// Nobody of that name, and nobody who provides it.
    #[error("{by}nothing is named {service} or provides it{near}")]
    Unknown {
        /// What was looked for.
        service: String,
        /// Who requires it, as the beginning of a sentence; empty where it was asked for.
        by: String,
        /// An offer.
        near: String,
    },
    /// What was asked for cannot run.
    #[error("{service} cannot run: {why}")]
    Unfit {
        /// What.
        service: String,
        /// Why.
        why: Unfit,
    },
    /// Two that provide the same.
    #[error("{first} and {second} both provide {service}: take one of them, or swap one for the other")]
    Conflict {
        /// What.
        service: String,
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// Services that wait for each other.
    #[error("services wait for each other: {0}")]
    Circle(Loop),
}

impl Registry {
    /// What has to be started for what is wanted, when `running` run already.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn plan(&self, wanted: &Wanted, running: &[UnitId]) -> Result<Plan, PlanError> {
        let forced = wanted.force.iter().map(|name| {
            self.find(name).ok_or_else(|| PlanError::Unknown {
                service: name.clone(),
                by: "to be forced: ".to_owned(),
                near: self.near(name),
            })
        });
        let choice = Choice::new(self, running, forced.collect::<Result<_, _>>()?);
        let mut out = BTreeSet::new();
        let (closure, left) = loop {
            let (closure, left) = choice.closure(&wanted.names, &out)?;
            let lacking = choice.lacking(&closure);
            if lacking.is_empty() {
                break (closure, left);
            }
            out.extend(lacking);
        };
        let chosen: BTreeSet<UnitId> = closure.union(&running.iter().copied().collect()).copied().collect();
        self.look_for_conflicts(&chosen)?;
        let new: Vec<UnitId> = closure.into_iter().filter(|id| !running.contains(id)).collect();
        let levels = levels(self, &new).map_err(PlanError::Circle)?;
        Ok(Plan { levels, left: left.into_iter().collect() })
    }

    /// Who would provide a service now, and all who could or could not, with the reason.
    pub fn standings(&self, service: &str, running: &[UnitId]) -> Vec<(UnitId, Option<Unfit>)> {
        let choice = Choice::new(self, running, BTreeSet::new());
        choice.providers(service).into_iter().map(|id| (id, choice.why_not(id).cloned())).collect()
    }

    pub(super) fn look_for_conflicts(&self, units: &BTreeSet<UnitId>) -> Result<(), PlanError> {
        let mut by: BTreeMap<&str, &str> = BTreeMap::new();
        for id in units {
            let unit = self.unit(*id);
            let names: BTreeSet<&String> = std::iter::once(&unit.rule.name).chain(&unit.rule.provides).collect();
            for service in names {
                if let Some(first) = by.insert(service, unit.name()) {
                    let (first, second) = (first.to_owned(), unit.name().to_owned());
                    return Err(PlanError::Conflict { service: service.clone(), first, second });
                }
            }
        }
        Ok(())
    }
}

impl Choice<'_> {
    /// Who provides what is wanted, and all that they require; and what is left out of that.
    fn closure(
        &self,
        names: &[String],
        out: &BTreeSet<UnitId>,
    ) -> Result<(BTreeSet<UnitId>, BTreeSet<Left>), PlanError> {
        let (mut closure, mut left) = (BTreeSet::new(), BTreeSet::new());
        let mut open: Vec<UnitId> = Vec::new();
        for name in names {
            let all = self.known(name, "")?;
            let best = self.best(name, out).ok_or_else(|| self.unfit(name, all));
            open.push(best?);
        }
        while let Some(id) = open.pop() {
            // What runs was given what it requires when it was started.
            if !closure.insert(id) || self.running().contains(&id) {
                continue;
            }
            let unit = self.registry.unit(id);
            for service in &unit.rule.requires {
                let all = self.known(service, unit.name())?;
                match self.best(service, out) {
                    Some(best) => open.push(best),
                    None => {
                        let why = self.reason(all).to_string();
                        left.insert(Left { service: service.clone(), by: unit.name().to_owned(), why });
                    }
                }
            }
        }
        Ok((closure, left))
    }

    /// The first of all who provide a service, whether it can run or not.
    fn known(&self, service: &str, by: &str) -> Result<UnitId, PlanError> {
        self.providers(service).first().copied().ok_or_else(|| PlanError::Unknown {
            service: service.to_owned(),
            by: if by.is_empty() { String::new() } else { format!("{by} requires {service}: ") },
            near: self.registry.near(service),
        })
    }

    fn unfit(&self, service: &str, first: UnitId) -> PlanError {
        PlanError::Unfit { service: service.to_owned(), why: self.reason(first) }
    }

    /// Why a service does not run; one that could needs what nobody started.
    fn reason(&self, id: UnitId) -> Unfit {
        let needs = || Unfit::Needs(self.registry.unit(id).rule.needs.join(" or "));
        self.why_not(id).cloned().unwrap_or_else(needs)
    }

    /// Those of a closure that need what is not in it.
    fn lacking(&self, closure: &BTreeSet<UnitId>) -> Vec<UnitId> {
        let there = |need: &String| {
            let all = closure.iter().chain(self.running());
            all.into_iter().any(|id| self.registry.unit(*id).rule.serves(need))
        };
        let lacks = |id: &&UnitId| {
            let forced = self.is_forced(**id) || self.running().contains(id);
            !forced && !self.registry.unit(**id).rule.needs.iter().all(there)
        };
        closure.iter().filter(lacks).copied().collect()
    }
}
