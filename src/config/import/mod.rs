//! Configurations of other schedulers, as ours.
//!
//! Decides what of another's configuration means what here, and says of everything else why it means nothing and what
//! to do. Nothing is left out in silence: each key of the input comes back with what became of it. Writes text and reads
//! through a [`Library`](super::layers::Library); whether the result is right is for whoever reads configurations to say.

mod book;
pub mod slurm;

pub use book::{Concern, ImportedKey, Note};
