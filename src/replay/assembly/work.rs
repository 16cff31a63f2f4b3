//! Jobs and node events: what the scenario names, opened and read.

use super::{Assembly, AssemblyError};
use crate::formats::jobspec::Jobspec;
use crate::matcher::Request;
use crate::replay::engine::{Deed, Timed};
use crate::replay::scenario::{JobWork, Workload};
use crate::replay::source::{self, Spec};
use std::path::Path;

/// How a `[[workload]]` is read.
pub(super) type ReadWorkload = fn(&mut Assembly, Workload) -> Result<(), AssemblyError>;

impl Assembly {
    /// Notes how a `[[workload]]` is read, by its number.
    pub(super) fn workload(&mut self, number: Option<&str>, read: ReadWorkload) -> Result<(), AssemblyError> {
        let number = number.and_then(|n| n.parse().ok()).ok_or(AssemblyError::Incomplete("a workload's number"))?;
        self.sources.insert(number, read);
        Ok(())
    }

    /// Reads all of them, in the order of the scenario: ids follow each other.
    pub(super) fn read_workloads(&mut self) -> Result<(), AssemblyError> {
        for (number, read) in std::mem::take(&mut self.sources) {
            let work: usize = number;
            let work = work.checked_sub(1).and_then(|at| self.scenario.workloads.get(at)).cloned();
            read(self, work.ok_or(AssemblyError::Incomplete("a workload"))?)?;
        }
        Ok(())
    }

    pub(super) fn workload_swf(&mut self, work: Workload) -> Result<(), AssemblyError> {
        let Workload::Swf(work) = work else { return Err(AssemblyError::Incomplete("a trace")) };
        let path = self.path(&work.file);
        let swf = self.trace(&path)?;
        if self.epoch.is_none() && work.start.is_none() {
            self.epoch = swf.header.unix_start_time;
        }
        self.add_jobs(source::trace(&swf, &work)?);
        Ok(())
    }

    pub(super) fn workload_jobs(&mut self, work: Workload) -> Result<(), AssemblyError> {
        let Workload::Jobs(jobs) = work else {
            return Err(AssemblyError::Incomplete("a list of jobs"));
        };
        let directory = self.scenario.directory.clone();
        let mut read = |work: &JobWork| jobspec(work, &directory);
        let jobs = source::list(&jobs, self.highest_id.saturating_add(1), &mut read)?;
        self.add_jobs(jobs);
        Ok(())
    }

    pub(super) fn workload_generate(&mut self, work: Workload) -> Result<(), AssemblyError> {
        let Workload::Generate(generator) = work else {
            return Err(AssemblyError::Incomplete("a generator"));
        };
        self.add_jobs(source::generate(&generator, self.highest_id.saturating_add(1))?);
        Ok(())
    }

    pub(super) fn node_log(&mut self, number: Option<&str>) -> Result<(), AssemblyError> {
        let at = number.and_then(|n| n.parse::<usize>().ok()).and_then(|n| n.checked_sub(1));
        let log = at.and_then(|at| self.scenario.node_events.get(at)).cloned();
        let log = log.ok_or(AssemblyError::Incomplete("a node log"))?;
        let path = self.path(&log.file);
        let text = Self::read_text(&path)?;
        let events = source::read_node_log(&text, log.start)
            .map_err(|source| AssemblyError::NodeLog { path: path.clone(), source })?;
        let file = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
        self.timed.extend(events.into_iter().map(|event| Timed {
            at: event.at,
            name: format!("{file}:{}", event.line),
            deed: Deed::Node(event.state),
        }));
        Ok(())
    }
}

/// Reads a jobspec: JSON where it begins with a brace, else YAML.
fn jobspec(work: &JobWork, directory: &Path) -> Result<Spec, String> {
    let text = match work {
        JobWork::JobspecText(text) => text.clone(),
        JobWork::JobspecFile(file) => {
            let path = directory.join(file);
            std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?
        }
        JobWork::Whole { .. } | JobWork::Parts { .. } | JobWork::Slots { .. } => {
            return Err("it names no jobspec".into());
        }
    };
    let json = text.trim_start().starts_with('{');
    let jobspec = if json { Jobspec::from_json_str(&text) } else { Jobspec::from_yaml_str(&text) };
    let jobspec = jobspec.map_err(|e| e.to_string())?;
    let system = &jobspec.attributes.system;
    Ok(Spec { asked: Request::from_jobspec(&jobspec), limit: system.duration, queue: system.queue.clone() })
}
