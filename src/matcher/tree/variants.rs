//! Requests with `xor_slot`s as a list of requests without.

use super::types::{Spec, Ty};

/// The most requests that one may stand for.
const MAX_VARIANTS: usize = 1000;

/// All requests that a request stands for, in order of preference: of the `xor_slot`s that stand together each one
/// has exactly one, as a slot. `None` if there are too many.
pub(super) fn expand(specs: &[Spec]) -> Option<Vec<Vec<Spec>>> {
    let mut required: Vec<Vec<Spec>> = vec![Vec::new()];
    let mut options: Vec<Spec> = Vec::new();
    for spec in specs {
        let below = expand(&spec.with)?;
        if spec.ty == Ty::XOR_SLOT {
            options.extend(below.into_iter().map(|with| Spec { ty: Ty::SLOT, with, ..spec.clone() }));
        } else {
            required = product(&required, below.into_iter().map(|with| Spec { with, ..spec.clone() }))?;
        }
        if options.len() > MAX_VARIANTS {
            return None;
        }
    }
    if options.is_empty() { Some(required) } else { product(&required, options.into_iter()) }
}

fn product(heads: &[Vec<Spec>], tails: impl Iterator<Item = Spec> + Clone) -> Option<Vec<Vec<Spec>>> {
    let mut all = Vec::new();
    for head in heads {
        for tail in tails.clone() {
            if all.len() == MAX_VARIANTS {
                return None;
            }
            all.push(head.iter().cloned().chain([tail]).collect());
        }
    }
    Some(all)
}
