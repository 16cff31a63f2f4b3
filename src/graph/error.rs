//! Why a graph cannot be built.

use super::TargetId;

/// Why a graph cannot be built or changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GraphError {
    /// Two vertices would be the same target.
    #[error("expected each rank once, found rank {rank} on {first} and on {second}")]
    DuplicateRank {
        /// The rank.
        rank: u32,
        /// Path of the vertex that has it.
        first: String,
        /// Path of the other.
        second: String,
    },
    /// A target inside a target.
    #[error("expected no target inside another, found {inner} below {outer}")]
    NestedTarget {
        /// Path of the inner vertex.
        inner: String,
        /// Path of the outer vertex.
        outer: String,
    },
    /// A vertex that two others contain.
    #[error("expected one containing vertex for \"{vertex}\", found \"{first}\" and \"{second}\"")]
    TwoParents {
        /// Id of the vertex.
        vertex: String,
        /// Id of one container.
        first: String,
        /// Id of the other.
        second: String,
    },
    /// Containment goes round in a circle.
    #[error("expected containment to be a tree, found a circle through \"{vertex}\"")]
    Circle {
        /// Name of a vertex on it.
        vertex: String,
    },
    /// An edge that leads nowhere.
    #[error("edge {edge}: expected the id of a vertex, found \"{id}\"")]
    UnknownVertex {
        /// Position of the edge in the file, from 0.
        edge: usize,
        /// What it names.
        id: String,
    },
    /// A rank that is no rank.
    #[error("vertex \"{vertex}\": expected -1 or a rank up to {}, found {rank}", i32::MAX)]
    BadRank {
        /// Id of the vertex.
        vertex: String,
        /// What was found.
        rank: i64,
    },
    /// More vertices than the graph takes.
    #[error("expected at most {limit} vertices, found more")]
    TooManyVertices {
        /// The limit.
        limit: usize,
    },
    /// More edges from associations than the graph takes.
    #[error("expected associations to make at most {limit} edges, found more")]
    TooManyEdges {
        /// The limit.
        limit: usize,
    },
    /// An id that a recipe asks for and that is no number of 64 bits.
    #[error("pool \"{pool}\": expected ids that fit in 64 bits, found a larger one")]
    IdOutOfRange {
        /// Id of the pool.
        pool: String,
    },
    /// Storage of which the topology does not say how large it is.
    #[error("host \"{host}\": expected storage {id} to have a size, found none")]
    NoSize {
        /// The host.
        host: String,
        /// The logical id.
        id: i64,
    },
    /// Sizes that do not add up to a number.
    #[error("expected sizes of kind {kind} to add up to less than 2^64, found more")]
    SizeOverflow {
        /// The kind.
        kind: String,
    },
    /// A target that this version does not have.
    #[error("expected a target of this graph, found target {0}")]
    UnknownTarget(TargetId),
    /// Cores or GPUs that the target does not have.
    #[error("target {target}: expected {kind} ids among {has}, found {asked}")]
    UnknownIds {
        /// The target.
        target: TargetId,
        /// `core` or `gpu`.
        kind: &'static str,
        /// Idset of those that it has.
        has: String,
        /// Idset of those that were asked for.
        asked: String,
    },
}
