//! One scheduler per queue: which are compiled in, and which are programs.

use super::{Assembly, AssemblyError};
use crate::services::{Fragment, Rule, Surroundings};

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

impl Assembly {
    /// Notes who schedules a queue: what is compiled in, or a program.
    pub(super) fn scheduler(&mut self, queue: Option<&str>, program: Option<&Rule>) -> Result<(), AssemblyError> {
        let queue = queue.ok_or(AssemblyError::Incomplete("the name of a scheduler's queue"))?;
        self.schedulers.insert(queue.to_owned(), program.cloned());
        Ok(())
    }
}
