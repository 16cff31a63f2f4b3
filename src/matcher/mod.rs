//! From a request and what is free to a selection of targets, cores and gpus.

mod compile;
mod request;
mod selection;

mod policy;

mod holdings;
mod place;

mod reason;
mod satisfy;

pub mod tree;

pub use holdings::{HoldError, Holdings, realise};
pub use place::{Placement, Taken, earliest, fits, reserve};
pub use policy::{End, TargetOrder, apply_policy, is_exclusive};
pub use reason::{Reason, Shortage};
pub use request::{Amount, PoolNeed, PoolNeeds, Request, Shape, Within};
pub use satisfy::{capacity, satisfiable, why_not, why_not_now};
pub use selection::{Extent, Freed, Part, Selection, Share, Units};
