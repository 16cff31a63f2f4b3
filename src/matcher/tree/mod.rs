//! Matching on the whole resource graph, as Fluxion does it.

mod find;

pub use find::{Find, FindError, Predicate, Step};
