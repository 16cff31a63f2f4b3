//! The instances that jobs run, from what the scenario says of them.

use super::{Architecture, Assembly, AssemblyError};
use crate::base::{FastMap, JobId};
use crate::replay::nested::Nested;
use crate::replay::scenario::{Scenario, Settings, Workload};
use crate::replay::workload;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Assembly {
    /// The instances that its jobs run, by job. Each is made once, however many jobs run it.
    pub(super) fn nested(
        &mut self,
        made: &mut BTreeMap<String, Arc<Nested>>,
    ) -> Result<FastMap<JobId, Arc<Nested>>, AssemblyError> {
        let mut nested = FastMap::default();
        for (job, name) in std::mem::take(&mut self.instance_of) {
            let instance = match made.get(&name) {
                Some(instance) => instance.clone(),
                None => self.make(&name, made)?,
            };
            nested.insert(job, instance);
        }
        Ok(nested)
    }

    /// Reads the work of an instance as that of a scenario. A scenario names no instance that is not there, and none that
    /// runs itself.
    fn make(&mut self, name: &str, made: &mut BTreeMap<String, Arc<Nested>>) -> Result<Arc<Nested>, AssemblyError> {
        let instance = self.scenario.instances.iter().find(|instance| instance.name == name);
        let instance = instance.ok_or(AssemblyError::Incomplete("an instance"))?.clone();
        let scenario = Scenario {
            graph: None,
            config: instance.config,
            settings: Settings { stopped: instance.stopped, pass: self.scenario.settings.pass, ..Settings::default() },
            workloads: instance.workloads,
            node_events: Vec::new(),
            actions: Vec::new(),
            expectations: Vec::new(),
            ..self.scenario.clone()
        };
        let mut own = Assembly::new(Architecture::Donation, scenario, self.run.clone());
        own.config_toml()?;
        for work in own.scenario.workloads.clone() {
            match work {
                Workload::Swf(_) => own.workload_swf(work)?,
                Workload::Jobs(_) => own.workload_jobs(work)?,
                Workload::Generate(_) => own.workload_generate(work)?,
            }
        }
        self.warnings.append(&mut own.warnings);
        let inner = own.nested(made)?;
        let queues = std::mem::take(&mut own.queues).into_names();
        let nested = Arc::new(Nested {
            name: name.to_owned(),
            start: own.starting(),
            default_queue: own.default_queue(),
            workload: workload::Workload::new(std::mem::take(&mut own.jobs), queues)?.with_nested(inner),
            config: Arc::new(own.config),
        });
        made.insert(name.to_owned(), nested.clone());
        Ok(nested)
    }
}
