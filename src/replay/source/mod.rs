//! Where jobs and node events come from: traces, lists of jobs, generators, event logs of nodes.
//!
//! Decides how what a scenario names becomes [`TraceJob`]s and node events. Opens no file: it
//! is handed bytes and texts.

mod generate;
mod list;
mod nodelog;
mod trace;

pub use generate::{GenerateError, generate};
pub use list::{ListError, Spec, list};
pub use nodelog::{NodeEvent, NodeLogError, NodeState, read_node_log};
pub use trace::{TraceError, trace};

use super::workload::TraceJob;
use crate::base::{FastMap, JobId};

/// Jobs with the names of their queues, not yet in order.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    /// The jobs, in the order of their source.
    pub jobs: Vec<TraceJob>,
    /// What their queue numbers mean.
    pub queues: QueueNames,
    /// Jobs that run an instance, with its name.
    pub instances: Vec<(JobId, String)>,
}

/// Queue names, numbered as they are first seen.
#[derive(Clone, Debug, Default)]
pub struct QueueNames {
    names: Vec<String>,
    numbers: FastMap<String, u16>,
}

impl QueueNames {
    /// The number of a name. From the 65,535th name on all names have one number; a workload with so many is refused.
    pub fn number(&mut self, name: &str) -> u16 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len().min(usize::from(u16::MAX)) as u16;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The names, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names, by number.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }
}
