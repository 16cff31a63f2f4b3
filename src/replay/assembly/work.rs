//! Jobs and node events: what the scenario names, opened and read.

use super::{Assembly, AssemblyError};
use crate::formats::jobspec::Jobspec;
use crate::matcher::Request;
use crate::replay::engine::{Deed, Timed};
use crate::replay::scenario::{JobWork, Workload};
use crate::replay::source::{self, Spec};
use std::path::Path;

impl Assembly {
    /// The next `[[workload]]`.
    fn next_workload(&mut self) -> Result<Workload, AssemblyError> {
        let next = self.scenario.workloads.get(self.next_workload).cloned();
        self.next_workload += 1;
        next.ok_or(AssemblyError::Incomplete("a workload"))
    }

    pub(super) fn workload_swf(&mut self) -> Result<(), AssemblyError> {
        let Workload::Swf(work) = self.next_workload()? else { return Err(AssemblyError::Incomplete("a trace")) };
        let path = self.path(&work.file);
        let swf = self.trace(&path)?;
        if self.epoch.is_none() && work.start.is_none() {
            self.epoch = swf.header.unix_start_time;
        }
        self.add_jobs(source::trace(&swf, &work)?);
        Ok(())
    }

    pub(super) fn workload_jobs(&mut self) -> Result<(), AssemblyError> {
        let Workload::Jobs(jobs) = self.next_workload()? else {
            return Err(AssemblyError::Incomplete("a list of jobs"));
        };
        let directory = self.scenario.directory.clone();
        let mut read = |work: &JobWork| jobspec(work, &directory);
        let jobs = source::list(&jobs, self.highest_id.saturating_add(1), &mut read)?;
        self.add_jobs(jobs);
        Ok(())
    }

    pub(super) fn workload_generate(&mut self) -> Result<(), AssemblyError> {
        let Workload::Generate(generator) = self.next_workload()? else {
            return Err(AssemblyError::Incomplete("a generator"));
        };
        self.add_jobs(source::generate(&generator, self.highest_id.saturating_add(1))?);
        Ok(())
    }

    pub(super) fn node_log(&mut self) -> Result<(), AssemblyError> {
        let log = self.scenario.node_events.get(self.next_log).cloned();
        let log = log.ok_or(AssemblyError::Incomplete("a node log"))?;
        self.next_log += 1;
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
