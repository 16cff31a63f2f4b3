//! From a request and what is free to a selection of targets, cores and gpus.

mod holdings;
mod place;
mod policy;
mod reason;
mod request;
mod selection;

pub use holdings::{HoldError, Holdings, realise};
pub use place::{Placement, Taken, earliest, fits};
pub use policy::{End, TargetOrder, apply_policy, is_exclusive};
pub use reason::{Reason, Shortage};
pub use request::{Amount, Request, Shape};
pub use selection::{Extent, Freed, Part, Selection, Share, Units};
