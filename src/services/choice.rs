//! Who provides a service: the first in an order of all who do and can run here.
//!
//! The order: who runs already; who was made the alternative for this service, or was forced; who was made the alternative
//! for another service that it provides; the higher priority; the later rule. One whose needs nobody could meet cannot run.

use super::registry::{Registry, UnitId};
use std::collections::BTreeSet;
use thiserror::Error;

/// Why a service cannot run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Unfit {
    /// Its surroundings are not what it says.
    #[error("{0}")]
    Here(String),
    /// Nobody who could run provides what it needs.
    #[error("it needs {0}, which does not run")]
    Needs(String),
}

/// Who could run, and who is preferred.
pub(super) struct Choice<'r> {
    pub registry: &'r Registry,
    /// Those who run already.
    running: &'r [UnitId],
    forced: BTreeSet<UnitId>,
    /// By service: why it cannot run.
    unfit: Vec<Option<Unfit>>,
}

impl<'r> Choice<'r> {
    pub fn new(registry: &'r Registry, running: &'r [UnitId], forced: BTreeSet<UnitId>) -> Self {
        let runs = |id: &UnitId| forced.contains(id) || running.contains(id);
        let here = |(id, unit): (UnitId, &super::Unit)| match runs(&id) {
            true => None,
            false => unit.rule.conditions.against(&registry.here).map(Unfit::Here),
        };
        let unfit = registry.units().map(here).collect();
        let mut choice = Self { registry, running, forced, unfit };
        choice.drop_those_in_need();
        choice
    }

    /// Takes out who needs what nobody could provide, until that changes nothing.
    fn drop_those_in_need(&mut self) {
        loop {
            let lacking = |(id, unit): (UnitId, &super::Unit)| {
                let runs = self.forced.contains(&id) || self.running.contains(&id);
                let fit = self.unfit[id.index()].is_none() && !runs;
                let need = unit.rule.needs.iter().find(|need| self.best(need, &BTreeSet::new()).is_none());
                need.filter(|_| fit).map(|need| (id, need.clone()))
            };
            let lacking: Vec<(UnitId, String)> = self.registry.units().filter_map(lacking).collect();
            if lacking.is_empty() {
                return;
            }
            for (id, need) in lacking {
                self.unfit[id.index()] = Some(Unfit::Needs(need));
            }
        }
    }

    /// All who provide a service, the first choice first, whether they can run or not.
    pub fn providers(&self, service: &str) -> Vec<UnitId> {
        let mut all: Vec<UnitId> =
            self.registry.units().filter(|(_, unit)| unit.rule.serves(service)).map(|(id, _)| id).collect();
        all.sort_by_key(|id| std::cmp::Reverse((self.standing(*id, service), *id)));
        all
    }

    fn standing(&self, id: UnitId, service: &str) -> (bool, bool, bool, i64) {
        let unit = self.registry.unit(id);
        let named = |name: &String| name == unit.name() || *name == unit.template;
        let alternatives = &self.registry.alternatives;
        let template = service.find('@').map(|at| &service[..=at]);
        let here = alternatives.get(service).or_else(|| alternatives.get(template?));
        let direct = self.forced.contains(&id) || here.is_some_and(named);
        let elsewhere = here.is_none() && alternatives.values().any(named);
        (self.running.contains(&id), direct, elsewhere, unit.rule.priority_for(service))
    }

    /// Who is to provide a service, among those who can run and are not left out.
    pub fn best(&self, service: &str, out: &BTreeSet<UnitId>) -> Option<UnitId> {
        let fit = |id: &UnitId| self.unfit[id.index()].is_none() && !out.contains(id);
        self.providers(service).into_iter().find(fit)
    }

    /// Those who run already.
    pub fn running(&self) -> &[UnitId] {
        self.running
    }

    /// Whether a service runs whatever stands against it.
    pub fn is_forced(&self, id: UnitId) -> bool {
        self.forced.contains(&id)
    }

    /// Why a service cannot run.
    pub fn why_not(&self, id: UnitId) -> Option<&Unfit> {
        self.unfit[id.index()].as_ref()
    }
}
