//! Why a replay cannot be put together.

use crate::config::{ConfigError, ConfigErrors};
use crate::formats::swf::SwfError;
use crate::graph::GraphError;
use crate::graph::text::TextError;
use crate::replay::source::{GenerateError, ListError, NodeLogError, TraceError};
use crate::replay::workload::WorkloadError;
use crate::services::{BuildError, PlanError};
use crate::site::EventError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a replay cannot be put together.
#[derive(Debug, Error)]
pub enum AssemblyError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A trace cannot be read.
    #[error("{}: {source}", path.display())]
    Swf {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: SwfError,
    },
    /// A trace does not say how large its machine is.
    #[error("{}: its header has neither MaxProcs nor MaxNodes, so the machine is not known", path.display())]
    NoMachine {
        /// Which.
        path: PathBuf,
    },
    /// The graph in the scenario cannot be read.
    #[error("the graph that begins in line {line} of the scenario: {source}")]
    Text {
        /// Where it begins.
        line: usize,
        /// Why not.
        source: TextError,
    },
    /// The graph cannot be built.
    #[error("the graph: {0}")]
    Graph(#[from] GraphError),
    /// Properties of nodes that are not there.
    #[error("property {property}: {problem}")]
    Property {
        /// Which.
        property: String,
        /// What is wrong.
        problem: String,
    },
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// One thing in the configuration.
    #[error(transparent)]
    ConfigOne(#[from] ConfigError),
    /// A calendar without a date at time 0.
    #[error("the calendar needs `epoch` in [site]: the date and time at time 0, in UTC")]
    NoEpoch,
    /// A queue that is not configured.
    #[error("{place} names the queue {queue}, which is not configured; there are: {known}")]
    UnknownQueue {
        /// Where it is named.
        place: String,
        /// Which.
        queue: String,
        /// The queues.
        known: String,
    },
    /// The queues of a trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A list of jobs.
    #[error(transparent)]
    List(#[from] ListError),
    /// A generator.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// A log of node events.
    #[error("{}: {source}", path.display())]
    NodeLog {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: NodeLogError,
    },
    /// An action of the scenario.
    #[error("the action in line {line}: {problem}")]
    Action {
        /// Where it stands.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The jobs as a whole.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The site refuses the configuration.
    #[error("the site cannot begin: {0}")]
    Site(Box<EventError>),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The services make no whole.
    #[error("the services: {0}")]
    Services(String),
    /// What is wanted cannot be planned.
    #[error("the services: {0}")]
    Plan(#[from] PlanError),
    /// A queue without a scheduler.
    #[error("nothing provides sched@{0}, the scheduler of the queue {0}")]
    NoScheduler(String),
    /// A part did not leave what it promised: a fault of the program.
    #[error("no part left {0} behind, though one promised to")]
    Incomplete(&'static str),
}

impl From<EventError> for AssemblyError {
    fn from(error: EventError) -> Self {
        AssemblyError::Site(Box::new(error))
    }
}

impl AssemblyError {
    /// The error of a service by itself; else what is wrong with its rule.
    pub(super) fn of_build(error: BuildError<AssemblyError>) -> Self {
        match error {
            BuildError::Make { problem, .. } => *problem,
            BuildError::NotCompiledIn { .. } => AssemblyError::Services(error.to_string()),
        }
    }

    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<String> {
        match self {
            AssemblyError::NoMachine { .. } => {
                Some("say how large it is: --nodes N, and --cores-per-node C where nodes have several".into())
            }
            AssemblyError::Io { .. } => {
                Some("check the name; in a scenario, `file` starts at its directory, `shared` at that of SLUICE_SHARED".into())
            }
            AssemblyError::Swf { source: SwfError::Gzip(_), path } => {
                Some(format!("the file is damaged or not complete (`gzip -t {}` tells): get it again", path.display()))
            }
            AssemblyError::Swf { source: SwfError::Columns { .. } | SwfError::Number { .. }, .. } => Some(
                "each line of a trace has 18 numbers with spaces between, or begins with `;`: correct it, or check that \
                 this file is a trace"
                    .into(),
            ),
            AssemblyError::UnknownQueue { .. } => {
                Some("correct the name, or configure the queue in a table [queues.NAME]".into())
            }
            AssemblyError::Site(error) if matches!(**error, EventError::BadQueue { .. }) => {
                Some("correct the table [queues.NAME], or the machine in [graph] or [resource]".into())
            }
            AssemblyError::Write { .. } => Some("name a file in a directory that exists and can be written to".into()),
            AssemblyError::Site(error) if matches!(**error, EventError::Start(_)) => {
                Some("name queues that are not to start at time 0 in `stopped`, or give them a precedence".into())
            }
            _ => None,
        }
    }
}
