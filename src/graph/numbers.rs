//! Numbers by vertex in as little memory as they allow: logical ids, and the number that the input gives each vertex,
//! Fluxion's `uniq_id`, by which JGF names vertices and Fluxion breaks ties.

use super::store::Graph;
use crate::base::VertexId;

/// A list of numbers that is small while they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Numbers {
    /// So many numbers, each its own position.
    Place(usize),
    /// Numbers of 32 bits.
    Small(Vec<i32>),
    /// Any numbers.
    Wide(Vec<i64>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Place(0)
    }
}

impl Numbers {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self::Small(Vec::with_capacity(capacity))
    }

    pub(super) fn push(&mut self, number: i64) {
        match self {
            Self::Place(len) if number == *len as i64 => *len += 1,
            Self::Place(len) => {
                *self = Self::Small((0..*len as i32).collect());
                self.push(number);
            }
            Self::Small(small) => match i32::try_from(number) {
                Ok(number) => small.push(number),
                Err(_) => {
                    let mut wide: Vec<i64> = Vec::with_capacity(small.capacity());
                    wide.extend(small.iter().map(|&number| i64::from(number)));
                    wide.push(number);
                    *self = Self::Wide(wide);
                }
            },
            Self::Wide(wide) => wide.push(number),
        }
    }

    /// Adds `count` numbers from `first` on, `stride` apart; none may leave 64 bits.
    pub(super) fn push_run(&mut self, first: i64, stride: i64, count: u32) {
        let last = first + stride * i64::from(count.saturating_sub(1));
        match self {
            Self::Small(small) if i32::try_from(first).is_ok() && i32::try_from(last).is_ok() => {
                small.extend((0..i64::from(count)).map(|i| (first + stride * i) as i32));
            }
            Self::Wide(wide) => wide.extend((0..i64::from(count)).map(|i| first + stride * i)),
            _ => (0..i64::from(count)).for_each(|i| self.push(first + stride * i)),
        }
    }

    pub(super) fn reserve(&mut self, more: usize) {
        match self {
            Self::Place(0) => *self = Self::with_capacity(more),
            Self::Place(_) => {}
            Self::Small(small) => small.reserve(more),
            Self::Wide(wide) => wide.reserve(more),
        }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> i64 {
        match self {
            Self::Place(_) => at as i64,
            Self::Small(small) => small[at].into(),
            Self::Wide(wide) => wide[at],
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }

    fn len(&self) -> usize {
        match self {
            Self::Place(len) => *len,
            Self::Small(small) => small.len(),
            Self::Wide(wide) => wide.len(),
        }
    }

    /// The same numbers in less memory if each is its own position.
    pub(super) fn compact(self) -> Self {
        let in_place = self.iter().enumerate().all(|(place, number)| place as i64 == number);
        if in_place { Self::Place(self.len()) } else { self }
    }

    /// Whether each is its own position.
    pub(super) fn is_place(&self) -> bool {
        matches!(self, Self::Place(_))
    }
}

impl Graph {
    /// The number that the input gave the vertex: of a recipe the order of generation, of JGF its `uniq_id`; where the
    /// input gives none, the position in depth-first order. A vertex keeps it in later versions. Those of one input
    /// are different; those of a graph and of what was laid over it need not be.
    #[inline]
    pub fn uniq_id(&self, v: VertexId) -> i64 {
        self.uniq_at.get(v.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_gives_back_what_was_put_in(
            runs in prop::collection::vec((prop_oneof![-3..3i64, any::<i32>().prop_map(i64::from)], -2..3i64, 0..5u32), 0..8),
            odd in prop::option::of(any::<i64>()),
            start in any::<bool>(),
        ) {
            let mut numbers = if start { Numbers::default() } else { Numbers::with_capacity(3) };
            let mut plain = Vec::new();
            for (i, &(first, stride, count)) in runs.iter().enumerate() {
                numbers.push_run(first, stride, count);
                plain.extend((0..i64::from(count)).map(|i| first + stride * i));
                if let Some(odd) = odd.filter(|_| i == 1) {
                    numbers.push(odd);
                    plain.push(odd);
                }
            }
            prop_assert_eq!(numbers.iter().collect::<Vec<_>>(), plain.clone());
            let is_place = plain.iter().enumerate().all(|(i, &n)| i as i64 == n);
            let compact = numbers.compact();
            prop_assert_eq!(compact.is_place(), is_place);
            prop_assert_eq!(compact.iter().collect::<Vec<_>>(), plain);
        }
    }
}
