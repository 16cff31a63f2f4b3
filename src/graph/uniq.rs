//! The number that the input gives each vertex, Fluxion's `uniq_id`: by it JGF names vertices and Fluxion breaks ties.

use super::store::Graph;
use crate::base::VertexId;

/// Numbers by vertex, in as little memory as they allow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum UniqIds {
    /// The place of the vertex.
    #[default]
    Place,
    /// Small numbers.
    Small(Vec<u32>),
    /// Any numbers.
    Wide(Vec<i64>),
}

impl UniqIds {
    /// Numbers in order of place.
    pub(super) fn of(numbers: Vec<i64>) -> Self {
        if numbers.iter().enumerate().all(|(place, &number)| place as i64 == number) {
            Self::Place
        } else if numbers.iter().all(|&number| u32::try_from(number).is_ok()) {
            Self::Small(numbers.into_iter().map(|number| number as u32).collect())
        } else {
            Self::Wide(numbers)
        }
    }

    /// The same of numbers that are small.
    pub(super) fn of_small(numbers: Vec<u32>) -> Self {
        let in_place = numbers.iter().enumerate().all(|(place, &number)| place == number as usize);
        if in_place { Self::Place } else { Self::Small(numbers) }
    }
}

impl Graph {
    /// The number that the input gave the vertex: of a recipe the order of generation, of JGF its `uniq_id`; where the
    /// input gives none, the position in depth-first order. A vertex keeps it in later versions. Those of one input
    /// are different; those of a graph and of what was laid over it need not be.
    #[inline]
    pub fn uniq_id(&self, v: VertexId) -> i64 {
        match &self.uniq_at {
            UniqIds::Place => v.0.into(),
            UniqIds::Small(numbers) => numbers[v.index()].into(),
            UniqIds::Wide(numbers) => numbers[v.index()],
        }
    }
}
