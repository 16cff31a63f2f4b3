//! From a request and what is free to a selection of targets, cores and gpus.

mod reason;
mod request;
mod selection;

pub use reason::{Reason, Shortage};
pub use request::{Amount, Request, Shape};
pub use selection::{Extent, Freed, Part, Selection, Share, Units};
