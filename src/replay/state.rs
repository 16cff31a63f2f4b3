//! The state of a site at one instant of a scenario, to be asked about.
//!
//! Decides nothing: the scenario is replayed to that instant, with all that belongs to it, and what the site is then is
//! handed over. A live service has the same site at hand.

use super::assembly::{AssemblyError, RunOptions, assemble};
use super::engine::ReplayError;
use super::scenario::{Scenario, ScenarioErrors};
use super::workload::Workload;
use crate::base::Timestamp;
use crate::site::Site;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A site at one instant of a scenario.
pub struct State {
    /// The site; its time is the instant.
    pub site: Site,
    /// The instant.
    pub at: Timestamp,
    /// What was replayed.
    pub scenario: Scenario,
    /// All work, also what is submitted later.
    pub workload: Workload,
    /// The wall clock at time 0, in seconds since 1970.
    pub epoch: Option<i64>,
    /// Things that are odd, but no errors.
    pub warnings: Vec<String>,
}

/// Why there is no such state.
#[derive(Debug, Error)]
pub enum StateError {
    /// The scenario cannot be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioErrors),
    /// It cannot be put together.
    #[error(transparent)]
    Assembly(Box<AssemblyError>),
    /// It could not be replayed so far.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl From<AssemblyError> for StateError {
    fn from(error: AssemblyError) -> Self {
        StateError::Assembly(Box::new(error))
    }
}

/// The state at an instant, after all that belongs to it.
///
/// # Errors
/// The scenario is not sound, or cannot be replayed so far.
pub fn state_at(mut scenario: Scenario, shared: &Path, at: Timestamp) -> Result<State, StateError> {
    // What has to come out comes out later.
    scenario.expectations.clear();
    scenario.settings.until = at;
    let options = RunOptions { shared: PathBuf::from(shared), ..RunOptions::default() };
    let mut replay = assemble(scenario, options)?;
    replay.annotate();
    let finished = replay.run()?;
    let mut site = finished.outcome.site;
    // Nothing is due up to then: only the time goes on.
    while site.schedule(at, usize::MAX, &mut Vec::new()).more {}
    Ok(State {
        site,
        at,
        scenario: finished.scenario,
        workload: finished.workload,
        epoch: finished.epoch,
        warnings: finished.warnings,
    })
}
