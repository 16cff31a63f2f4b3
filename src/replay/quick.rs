//! A scenario from a trace alone, as `sluice replay --swf` wants it: one queue over one machine.
//!
//! The machine is what the trace's header says, each processor a node of its own (so a job of 5 processors gets 5 whole nodes);
//! or, with a number of nodes, nodes of so many cores, where a job of 5 processors gets 5 slots of one core anywhere.

use super::scenario::{
    FileRef, GraphSource, LimitRule, PassRule, QueueField, Scenario, Settings, SwfUnit, SwfWork, Uniform, Workload,
};
use crate::base::Timestamp;
use crate::config::{Config, MatchPolicy, QueuePolicy};
use std::path::PathBuf;

/// What is replayed, and how.
#[derive(Clone, Debug)]
pub struct Quick {
    /// The trace.
    pub swf: PathBuf,
    /// The machine, if it is not that of the header: nodes, and cores on each.
    pub machine: Option<(u32, u32)>,
    /// The queue's policy.
    pub queue_policy: QueuePolicy,
    /// How many pending jobs a pass looks at.
    pub queue_depth: Option<u32>,
    /// How many reservations `hybrid` makes.
    pub reservation_depth: Option<u32>,
    /// Which resources are taken.
    pub match_policy: MatchPolicy,
    /// Which time is the limit.
    pub limit: LimitRule,
    /// When schedulers run.
    pub pass: PassRule,
    /// How many jobs one call of `schedule` may examine.
    pub work_budget: Option<usize>,
    /// When the replay stops.
    pub until: Timestamp,
}

impl Quick {
    /// The scenario.
    pub fn scenario(self) -> Scenario {
        let mut config = Config::default();
        let scheduler = &mut config.policy.scheduler;
        scheduler.queue_policy = self.queue_policy;
        scheduler.match_policy = self.match_policy;
        scheduler.queue_depth = self.queue_depth.or(scheduler.queue_depth);
        scheduler.reservation_depth = self.reservation_depth.unwrap_or(scheduler.reservation_depth);
        let file = FileRef::Own(self.swf.clone());
        let (graph, unit) = match self.machine {
            None => (GraphSource::SwfHeader(file.clone()), SwfUnit::Node { procs_per_node: 1 }),
            Some((nodes, cores)) => {
                (GraphSource::Uniform(Uniform { nodes, cores, gpus: 0, properties: Vec::new() }), SwfUnit::Core)
            }
        };
        let name =
            self.swf.file_name().map_or_else(|| self.swf.to_string_lossy(), |n| n.to_string_lossy()).into_owned();
        let work = SwfWork {
            file,
            by: QueueField::Queue,
            map: Vec::new(),
            others: None,
            unit,
            limit: self.limit,
            start: None,
            first: None,
        };
        Scenario {
            title: format!("{}, match policy {}", self.queue_policy, self.match_policy),
            name,
            file: self.swf,
            directory: PathBuf::new(),
            graph: Some(graph),
            config,
            settings: Settings {
                pass: self.pass,
                work_budget: self.work_budget,
                until: self.until,
                ..Settings::default()
            },
            workloads: vec![Workload::Swf(work)],
            instances: Vec::new(),
            node_events: Vec::new(),
            actions: Vec::new(),
            expectations: Vec::new(),
        }
    }
}
