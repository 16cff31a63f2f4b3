//! What runs, and what may be started, stopped and swapped beside it.
//!
//! Decides whether a change may be: what is in use is not stopped, what runs is not started again. Each question answers a
//! [`Change`], which does nothing until it is entered with [`Running::enter`].
//!
//! Invariants: what a running service requires and could run, runs; two running services never provide the same.

use super::choice::Unfit;
use super::plan::{Left, PlanError, Wanted};
use super::registry::{Registry, UnitId};
use std::collections::BTreeSet;
use thiserror::Error;

/// What runs, in the order in which it was started.
#[derive(Clone, Debug, Default)]
pub struct Running {
    registry: Registry,
    loaded: Vec<UnitId>,
    /// Those that were asked for; others run because something requires them.
    asked: BTreeSet<UnitId>,
}

/// What is to be started, then stopped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use = "a change does nothing until it is entered"]
pub struct Change {
    /// One level after the other.
    pub start: Vec<Vec<UnitId>>,
    /// In this order.
    pub stop: Vec<UnitId>,
    /// What is required and left out.
    pub left: Vec<Left>,
    /// Those of it that were asked for.
    asked: Vec<UnitId>,
}

impl Change {
    /// Whether everything is as it should be.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty() && self.stop.is_empty()
    }
}

/// Why a change may not be.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ChangeError {
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Something that runs requires it.
    #[error("{service} is in use by {}: stop that first, or swap another in", by.join(", "))]
    InUse {
        /// What was to be stopped.
        service: String,
        /// Who requires it.
        by: Vec<String>,
    },
    /// The new one does not do what the old one does.
    #[error("{name} does not provide {service}")]
    Other {
        /// The new one.
        name: String,
        /// What it should provide.
        service: String,
    },
    /// The new one cannot run.
    #[error("{name} cannot run: {why}")]
    Unfit {
        /// The new one.
        name: String,
        /// Why.
        why: Unfit,
    },
}

impl Running {
    /// Nothing runs yet.
    pub fn new(registry: Registry) -> Self {
        Self { registry, loaded: Vec::new(), asked: BTreeSet::new() }
    }

    /// The rules.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What runs, in the order in which it was started.
    pub fn loaded(&self) -> &[UnitId] {
        &self.loaded
    }

    /// The service that runs and provides this.
    pub fn provider(&self, service: &str) -> Option<UnitId> {
        self.loaded.iter().copied().find(|id| self.registry.unit(*id).rule.serves(service))
    }

    /// What has to be started for what is wanted.
    ///
    /// # Errors
    /// There is no such plan.
    pub fn load(&self, wanted: &Wanted) -> Result<Change, ChangeError> {
        let plan = self.registry.plan(wanted, &self.loaded)?;
        let chosen = |name: &String| {
            let first = |unit: &UnitId| self.registry.unit(*unit).rule.serves(name);
            plan.order().chain(self.loaded.iter().copied()).find(first)
        };
        let asked = wanted.names.iter().filter_map(chosen).collect();
        Ok(Change { start: plan.levels, stop: Vec::new(), left: plan.left, asked })
    }

    /// What has to be stopped so that a service does not run: it, and what only it requires.
    ///
    /// # Errors
    /// Something that runs requires it.
    pub fn unload(&self, service: &str) -> Result<Change, ChangeError> {
        let Some(unit) = self.provider(service) else { return Ok(Change::default()) };
        let by = self.users(unit, &self.loaded, &[]);
        if !by.is_empty() {
            return Err(ChangeError::InUse { service: self.registry.unit(unit).name().to_owned(), by });
        }
        Ok(Change { stop: self.stop_order(&BTreeSet::from([unit]), &self.loaded), ..Change::default() })
    }

    /// What has to be started, then stopped, so that `name` provides `service`.
    ///
    /// # Errors
    /// It does not provide that or cannot run, or the old one is in use for something that it does not provide.
    pub fn swap(&self, service: &str, name: &str) -> Result<Change, ChangeError> {
        let unknown =
            || PlanError::Unknown { service: name.to_owned(), by: String::new(), near: self.registry.near(name) };
        let new = self.registry.find(name).ok_or_else(unknown)?;
        if !self.registry.unit(new).rule.serves(service) {
            return Err(ChangeError::Other { name: name.to_owned(), service: service.to_owned() });
        }
        let old = self.provider(service);
        if old == Some(new) {
            return Ok(Change::default());
        }
        let others: Vec<UnitId> = self.loaded.iter().copied().filter(|id| Some(*id) != old).collect();
        let wanted = Wanted { names: vec![name.to_owned()], force: Vec::new() };
        let plan = self.registry.plan(&wanted, &others)?;
        if !plan.contains(new) {
            let why = Unfit::Here("another provides it".to_owned());
            return Err(ChangeError::Unfit { name: name.to_owned(), why });
        }
        let (mut stop, mut asked) = (Vec::new(), Vec::new());
        if let Some(old) = old {
            let started: Vec<UnitId> = plan.order().collect();
            let by = self.users(old, &others, &started);
            if !by.is_empty() {
                return Err(ChangeError::InUse { service: self.registry.unit(old).name().to_owned(), by });
            }
            let after: Vec<UnitId> = self.loaded.iter().copied().chain(started).collect();
            stop = self.stop_order(&BTreeSet::from([old]), &after);
            asked.extend(self.asked.contains(&old).then_some(new));
        } else {
            asked.push(new);
        }
        Ok(Change { start: plan.levels, stop, left: plan.left, asked })
    }

    /// Who of `running` requires what `unit` provides, and `others` do not.
    fn users(&self, unit: UnitId, running: &[UnitId], others: &[UnitId]) -> Vec<String> {
        let rule = |id: &UnitId| &self.registry.unit(*id).rule;
        let stays = |name: &String| others.iter().any(|other| rule(other).serves(name));
        let uses = |id: &&UnitId| {
            let all = rule(id).requires.iter().chain(&rule(id).needs);
            **id != unit && all.into_iter().any(|name| rule(&unit).serves(name) && !stays(name))
        };
        running.iter().filter(uses).map(|id| self.registry.unit(*id).name().to_owned()).collect()
    }

    /// These, and what of `running` only they require, the last started first.
    fn stop_order(&self, these: &BTreeSet<UnitId>, running: &[UnitId]) -> Vec<UnitId> {
        let mut stop = these.clone();
        loop {
            let rest: Vec<UnitId> = running.iter().copied().filter(|id| !stop.contains(id)).collect();
            let required = |id: UnitId| {
                let rule = &self.registry.unit(id).rule;
                let by = |other: &UnitId| stop.contains(other) && self.requires(*other, rule);
                running.iter().any(by) && !rest.iter().any(|other| *other != id && self.uses(*other, rule))
            };
            let idle = |id: &&UnitId| !self.asked.contains(id) && self.loaded.contains(id) && required(**id);
            let Some(more) = rest.iter().find(idle) else { break };
            stop.insert(*more);
        }
        self.loaded.iter().rev().copied().filter(|id| stop.contains(id)).collect()
    }

    fn requires(&self, id: UnitId, rule: &super::Rule) -> bool {
        self.registry.unit(id).rule.requires.iter().any(|name| rule.serves(name))
    }

    /// Whether one requires or needs what another provides.
    fn uses(&self, id: UnitId, rule: &super::Rule) -> bool {
        self.requires(id, rule) || self.registry.unit(id).rule.needs.iter().any(|name| rule.serves(name))
    }

    /// Takes over what was started and stopped.
    pub fn enter(&mut self, change: &Change) {
        self.loaded.extend(change.start.iter().flatten());
        self.loaded.retain(|id| !change.stop.contains(id));
        self.asked.extend(&change.asked);
        self.asked.retain(|id| !change.stop.contains(id));
    }

    /// Makes the services of templates for this name too.
    pub fn make(&mut self, instance: &str) {
        // Places in the table move when services are added to it.
        let name = |registry: &Registry, id: &UnitId| registry.unit(*id).name().to_owned();
        let loaded: Vec<String> = self.loaded.iter().map(|id| name(&self.registry, id)).collect();
        let asked: Vec<String> = self.asked.iter().map(|id| name(&self.registry, id)).collect();
        self.registry.make([instance.to_owned()]);
        self.loaded = loaded.iter().filter_map(|name| self.registry.find(name)).collect();
        self.asked = asked.iter().filter_map(|name| self.registry.find(name)).collect();
    }
}
