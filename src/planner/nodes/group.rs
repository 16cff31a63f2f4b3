//! A set of positions that is mostly small and sometimes the whole machine.

use roaring::RoaringBitmap;
use smallvec::SmallVec;

/// Up to how many positions a list is kept.
const FEW: usize = 8;

/// Positions, ascending.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Group {
    Few(SmallVec<[u32; 4]>),
    Many(RoaringBitmap),
}

impl Group {
    pub(super) fn new() -> Self {
        Self::Few(SmallVec::new())
    }

    pub(super) fn insert(&mut self, at: u32) {
        match self {
            Self::Few(few) => {
                let Err(place) = few.binary_search(&at) else { return };
                if few.len() < FEW {
                    few.insert(place, at);
                } else {
                    let mut many: RoaringBitmap = few.iter().copied().collect();
                    many.insert(at);
                    *self = Self::Many(many);
                }
            }
            Self::Many(many) => drop(many.insert(at)),
        }
    }

    /// Whether nothing is left.
    pub(super) fn remove(&mut self, at: u32) -> bool {
        match self {
            Self::Few(few) => {
                if let Ok(place) = few.binary_search(&at) {
                    few.remove(place);
                }
                few.is_empty()
            }
            Self::Many(many) => {
                many.remove(at);
                many.is_empty()
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few(few) => few.len(),
            Self::Many(many) => many.len() as usize,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (few, many) = match self {
            Self::Few(few) => (Some(few), None),
            Self::Many(many) => (None, Some(many)),
        };
        few.into_iter().flatten().copied().chain(many.into_iter().flatten())
    }
}
