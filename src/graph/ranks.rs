//! The rank that the input gives each vertex, which JGF and Fluxion's commands tell.
//!
//! A target has its rank; what is inside has the same rank, or none (-1), by the kind of input; JGF may say anything.

use super::store::Graph;
use crate::base::{FastMap, VertexId};

/// Which vertices have a rank, in as little memory as they allow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Ranks {
    /// Targets and all that is inside of them, as in R.
    #[default]
    Inside,
    /// Targets only, as in recipes.
    Targets,
    /// As the first, but for these.
    InsideBut(FastMap<VertexId, i64>),
    /// As the second, but for these.
    TargetsBut(FastMap<VertexId, i64>),
}

impl Ranks {
    /// The shortest way to say these ranks of the vertices of `graph`.
    pub(super) fn of(graph: &Graph, ranks: impl Iterator<Item = (VertexId, i64)>) -> Self {
        let (mut inside, mut targets) = (FastMap::default(), FastMap::default());
        for (v, rank) in ranks {
            if graph.rank_by_rule(v, true) != rank {
                inside.insert(v, rank);
            }
            if graph.rank_by_rule(v, false) != rank {
                targets.insert(v, rank);
            }
        }
        match (inside.is_empty(), targets.is_empty()) {
            (true, _) => Self::Inside,
            (_, true) => Self::Targets,
            _ if inside.len() <= targets.len() => Self::InsideBut(inside),
            _ => Self::TargetsBut(targets),
        }
    }
}

impl Graph {
    /// The rank that the input gives the vertex, -1 for none: of a target its rank ([`super::Target::rank`]); of what
    /// is inside the same if the input is R, none if it is a recipe or hwloc's, and of JGF what it says.
    pub fn given_rank(&self, v: VertexId) -> i64 {
        let (inside, but) = match &self.ranks {
            Ranks::Inside => (true, None),
            Ranks::Targets => (false, None),
            Ranks::InsideBut(but) => (true, Some(but)),
            Ranks::TargetsBut(but) => (false, Some(but)),
        };
        match but.and_then(|but| but.get(&v)) {
            Some(&rank) => rank,
            None => self.rank_by_rule(v, inside),
        }
    }

    fn rank_by_rule(&self, v: VertexId, inside: bool) -> i64 {
        let target = self.target_of(v).and_then(|id| self.target(id));
        target.filter(|target| inside || target.vertex == v).map_or(-1, |target| target.rank.into())
    }
}
