//! What is asked of an engine and what it answers.

use crate::base::{Timestamp, VertexId};
use crate::formats::idset::Idset;
use crate::formats::jgf::Jgf;
use crate::formats::r::R;
use crate::graph::SubsystemId;

/// What to do with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Allocate now or not at all.
    Allocate,
    /// Allocate now, else reserve at the earliest time.
    AllocateOrElseReserve,
    /// Allocate now, else say whether it could ever be.
    AllocateWithSatisfiability,
    /// Say whether it could ever be.
    Satisfiability,
    /// Say what would be allocated now.
    WithoutAllocating,
    /// Say what would be allocated now or else reserved.
    WithoutAllocatingFuture,
}

impl Operation {
    /// The operation by Fluxion's word, as in `allocate_orelse_reserve`.
    pub fn from_word(word: &str) -> Option<Operation> {
        Some(match word {
            "allocate" => Operation::Allocate,
            "allocate_orelse_reserve" => Operation::AllocateOrElseReserve,
            "allocate_with_satisfiability" => Operation::AllocateWithSatisfiability,
            "satisfiability" => Operation::Satisfiability,
            "without_allocating" => Operation::WithoutAllocating,
            "without_allocating_future" => Operation::WithoutAllocatingFuture,
            _ => return None,
        })
    }

    /// Whether it leaves everything as it was.
    pub fn is_question(self) -> bool {
        matches!(self, Self::Satisfiability | Self::WithoutAllocating | Self::WithoutAllocatingFuture)
    }
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Held from now on.
    Allocated,
    /// Held from a later time on.
    Reserved,
    /// Looked up only; for [`Operation::Satisfiability`] nothing but that it can be satisfied.
    Matched,
}

/// How many vertices a walk entered and left with success.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Visits {
    /// Entered.
    pub preorder: u64,
    /// Left with success.
    pub postorder: u64,
}

/// An answered request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matched {
    /// From when on.
    pub at: Timestamp,
    /// Until when.
    pub end: Timestamp,
    /// Whether held, reserved or neither.
    pub mode: Mode,
    /// What is granted; empty for [`Operation::Satisfiability`].
    pub grant: Grant,
    /// How far the search went.
    pub visits: Visits,
}

/// Vertices, in the order in which a depth-first walk leaves them: what is inside comes before what contains it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Grant {
    /// The vertices.
    pub vertices: Vec<Granted>,
}

/// One vertex of a grant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Granted {
    /// The vertex.
    pub vertex: VertexId,
    /// How much of it, in units.
    pub needs: u64,
    /// Whether it is taken for itself.
    pub exclusive: bool,
    /// Whether what contains it in this grant is taken for itself.
    pub exclusive_parent: bool,
    /// Whether all that is inside goes with it though it is not listed; never with [`super::Options::compat`].
    pub whole: bool,
    /// How deep it stands, from 1 for the root.
    pub level: u32,
    /// Where the edge comes from that leads to it, and in which subsystem; none for the root.
    pub edge: Option<(VertexId, SubsystemId)>,
    /// The label of the resource of the jobspec that it was matched with.
    pub label: Option<String>,
    /// Used and total by counted kind, where `find` was asked for it; by name of the kind.
    pub counts: Vec<(String, FilterCount)>,
}

/// What the filter of a vertex says about one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FilterCount {
    /// How much is in use.
    pub used: i64,
    /// How much there is.
    pub total: i64,
}

/// An allocation that comes from outside.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A graph: what is marked exclusive is taken.
    Jgf(&'a Jgf),
    /// A graph in which an exclusive vertex stands for all that is inside.
    JgfShorthand(&'a Jgf),
    /// Cores and GPUs by rank.
    R(&'a R),
}

/// What is to be given back.
#[derive(Clone, Copy, Debug)]
pub enum CancelPart<'a> {
    /// These vertices.
    Vertices(&'a Jgf),
    /// All that is on these ranks.
    Ranks(&'a Idset),
}

/// What was given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cancelled {
    /// Whether nothing is left of the job.
    pub full: bool,
    /// How far the walk went.
    pub visits: Visits,
}

/// Whether a vertex takes new work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Status {
    /// It does.
    #[default]
    Up,
    /// It does not; what runs there runs on.
    Down,
}
