//! Why the engine says no.

use super::outcome::Visits;
use crate::base::JobId;
use crate::graph::GraphError;
use thiserror::Error;

/// Why an engine cannot be built or changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EngineError {
    /// An option of a policy that is not there.
    #[error("expected policy, node_centric, node_exclusive or stop_on_1_matches, found \"{found}\"")]
    PolicyOption {
        /// The option.
        found: String,
    },
    /// A direction that is not there.
    #[error("expected policy=low or policy=high, found \"{found}\"")]
    PolicyDirection {
        /// The value.
        found: String,
    },
    /// A switch of a policy that is neither on nor off.
    #[error("policy option {option}: expected true or false, found \"{found}\"")]
    PolicyValue {
        /// The option.
        option: String,
        /// The value.
        found: String,
    },
    /// A traverser that is not there.
    #[error("expected traverser simple or flexible, found \"{found}\"")]
    Traverser {
        /// The word.
        found: String,
    },
    /// A filter that is no pair.
    #[error("expected a filter as HIGH:LOW, found \"{found}\"")]
    Filter {
        /// The text.
        found: String,
    },
    /// A set of subsystems that is not there.
    #[error("expected a set of subsystems such as CA or C+PA, found \"{found}\"")]
    SubsystemSet {
        /// The name.
        found: String,
    },
    /// A subsystem that the graph does not have.
    #[error("expected the graph to have a root in subsystem {subsystem}, found none")]
    NoRoot {
        /// The subsystem.
        subsystem: String,
    },
    /// No vertex with this path.
    #[error("expected the path of a vertex, found \"{path}\"")]
    UnknownPath {
        /// The path.
        path: String,
    },
    /// No target with this rank.
    #[error("expected a rank of the graph, found {rank}")]
    UnknownRank {
        /// The rank.
        rank: u32,
    },
    /// What is taken away cannot be the root.
    #[error("expected a vertex that another contains, found the root \"{path}\"")]
    RemovesRoot {
        /// The path.
        path: String,
    },
    /// A second root, in the words of Fluxion.
    #[error("add_graph_metadata: failed to add root metadata for {subsystem} subsystem. Possible duplicate root.")]
    SecondRoot {
        /// The subsystem.
        subsystem: String,
    },
    /// The changed graph is none.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Why a request is not matched.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum MatchError {
    /// Not now, or not with the operation asked for.
    #[error("no matching resources are free")]
    Busy,
    /// Never, whatever becomes free.
    #[error("the request can never be satisfied: {reason}")]
    Unsatisfiable {
        /// What is lacking.
        reason: String,
    },
    /// The request, or the time, is none that can be answered.
    #[error("invalid request: {reason}")]
    Invalid {
        /// What is wrong.
        reason: String,
    },
}

/// A request that is not matched, and how far the search went.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{error}")]
pub struct MatchFailure {
    /// Why.
    pub error: MatchError,
    /// What the search complained of, in the words of Fluxion; mostly empty.
    pub complaint: String,
    /// How many vertices were entered and left.
    pub visits: Visits,
}

/// Why an allocation from outside is not taken over.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum UpdateError {
    /// The job holds something already.
    #[error("expected a job that holds nothing, found {0}")]
    KnownJob(JobId),
    /// No time to hold anything.
    #[error("expected a time from 0 and a duration above 0, found {at} and {duration}")]
    Time {
        /// The start in seconds.
        at: String,
        /// The duration in seconds.
        duration: String,
    },
    /// A vertex that the graph does not have, or has with other attributes.
    #[error("vertex {vertex}: {found}")]
    Vertex {
        /// The vertex as the source calls it.
        vertex: String,
        /// What is wrong.
        found: String,
    },
    /// A vertex that is taken.
    #[error("expected {vertex} to be free, found it taken")]
    Taken {
        /// The name of the vertex.
        vertex: String,
    },
    /// An edge that the graph does not have.
    #[error("expected an edge of the graph, found {source_id} to {target_id}")]
    Edge {
        /// Where it starts.
        source_id: String,
        /// Where it ends.
        target_id: String,
    },
}

/// Why nothing is given back.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CancelError {
    /// The job holds nothing.
    #[error("expected a job that holds something, found {0}")]
    UnknownJob(JobId),
    /// A reservation is given back whole or not at all.
    #[error("expected an allocation, found the reservation of {0}")]
    Reserved(JobId),
    /// What is to be given back is not held.
    #[error("expected what job {job} holds, found {found}")]
    NotHeld {
        /// The job.
        job: JobId,
        /// What was named.
        found: String,
    },
}
