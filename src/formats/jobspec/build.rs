//! Jobspecs put together by programs: generators, trace readers, tests.

use super::{Attributes, Jobspec, Resource, System, Task, TaskCount};
use crate::base::Duration;
use crate::formats::constraint::Constraint;
use crate::formats::count::Count;
use serde_json::Map;

/// The slot's label in jobspecs that are made here.
const SLOT: &str = "task";

impl Resource {
    /// `count` of a type, and nothing more.
    pub fn new(kind: impl Into<String>, count: Count) -> Resource {
        Resource {
            kind: kind.into(),
            count,
            unit: None,
            exclusive: None,
            label: None,
            id: None,
            with: Vec::new(),
            extra: Map::new(),
        }
    }

    /// `count` slots with a label, each of which contains `with`.
    pub fn slot(label: impl Into<String>, count: Count, with: Vec<Resource>) -> Resource {
        Resource { label: Some(label.into()), with, ..Resource::new("slot", count) }
    }
}

impl Jobspec {
    /// A jobspec of version 1 for `resources`, with one task `app` in each of the slots with the label `slot`, and
    /// no time limit.
    pub fn new(resources: Vec<Resource>, slot: impl Into<String>) -> Jobspec {
        let command = vec!["app".to_owned()];
        let tasks = vec![Task { command, slot: slot.into(), count: TaskCount::PerSlot(1), extra: Map::new() }];
        let system = System { zero_duration: true, ..System::default() };
        Jobspec { version: 1, resources, tasks, attributes: Attributes { system, user: None }, extra: Map::new() }
    }

    /// `nodes` whole nodes: exclusive, with a slot of one core in each.
    ///
    /// # Panics
    /// If `nodes` is 0.
    pub fn nodes(nodes: u64) -> Jobspec {
        let mut jobspec = Jobspec::nodes_slots(nodes, 1, 1, 0);
        jobspec.resources[0].exclusive = Some(true);
        jobspec
    }

    /// `nodes` nodes, shared, with `slots_per_node` slots in each, of so many cores and gpus (none if 0).
    ///
    /// # Panics
    /// If `nodes`, `slots_per_node` or `cores` is 0.
    pub fn nodes_slots(nodes: u64, slots_per_node: u64, cores: u64, gpus: u64) -> Jobspec {
        let with = vec![slot(slots_per_node, cores, gpus)];
        Jobspec::new(vec![Resource { with, ..Resource::new("node", Count::fixed(nodes)) }], SLOT)
    }

    /// `slots` slots wherever they fit, of so many cores and gpus (none if 0).
    ///
    /// # Panics
    /// If `slots` or `cores` is 0.
    pub fn slots(slots: u64, cores: u64, gpus: u64) -> Jobspec {
        Jobspec::new(vec![slot(slots, cores, gpus)], SLOT)
    }

    /// With a time limit; none for zero and for an infinite one.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Jobspec {
        let limit = (duration > Duration::ZERO && !duration.is_infinite()).then_some(duration);
        self.attributes.system.duration = limit;
        self.attributes.system.zero_duration = limit.is_none();
        self
    }

    /// With a queue.
    #[must_use]
    pub fn with_queue(mut self, queue: impl Into<String>) -> Jobspec {
        self.attributes.system.queue = Some(queue.into());
        self
    }

    /// With a constraint.
    #[must_use]
    pub fn with_constraint(mut self, constraint: Constraint) -> Jobspec {
        self.attributes.system.constraints = Some(constraint);
        self
    }
}

fn slot(slots: u64, cores: u64, gpus: u64) -> Resource {
    let mut with = vec![Resource::new("core", Count::fixed(cores))];
    if gpus > 0 {
        with.push(Resource::new("gpu", Count::fixed(gpus)));
    }
    Resource::slot(SLOT, Count::fixed(slots), with)
}
