//! One scheduler per queue: which are compiled in, and which are programs.

use super::{Assembly, AssemblyError};
use crate::services::{Fragment, Registry, Rule, Surroundings};
use std::collections::BTreeMap;

/// What there is beside the services that are compiled in.
#[derive(Clone, Debug, Default)]
pub struct ServiceOptions {
    /// Rules, later ones over earlier ones.
    pub fragments: Vec<Fragment>,
    /// Services that are to provide what they can, whatever stands against them.
    pub force: Vec<String>,
    /// Services, and who is to provide each.
    pub alternatives: Vec<(String, String)>,
    /// Where they run, but for the attributes of the scenario.
    pub here: Surroundings,
}

/// The programs that can schedule, by the name that a queue's `provider` gives.
pub(super) fn programs(registry: &Registry) -> BTreeMap<String, Rule> {
    let schedules = |rule: &&Rule| rule.exec && rule.serves("sched@");
    let named = |rule: &Rule| (rule.name.trim_end_matches('@').to_owned(), rule.clone());
    registry.rules().iter().filter(schedules).map(named).collect()
}

impl Assembly {
    /// Notes who schedules a queue: what is compiled in, or a program.
    pub(super) fn scheduler(&mut self, queue: Option<&str>, program: Option<&Rule>) -> Result<(), AssemblyError> {
        let queue = queue.ok_or(AssemblyError::Incomplete("the name of a scheduler's queue"))?;
        // Whoever was chosen or forced is whom the site is told.
        let provider = program.map(|rule| rule.name.trim_end_matches(queue).trim_end_matches('@').to_owned());
        match self.config.queues.get_mut(queue) {
            Some(config) => config.policy.scheduler.provider = provider,
            None => self.config.policy.scheduler.provider = provider,
        }
        self.schedulers.insert(queue.to_owned(), program.cloned());
        Ok(())
    }
}
