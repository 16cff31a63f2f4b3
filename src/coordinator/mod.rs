//! Who has which target: claims, desired and wanted owners, donations, groups, loans, planned switches, windows.
//!
//! Declare, then reconcile: commands only change what queues claim; [`Coordinator::reconcile`] compares who should
//! have a target with who has it, and moves what differs by safe steps (rules R1–R8 of the design). It is a pure
//! state machine: no clock, no I/O; the same calls give the same orders (I7).
//!
//! Decides ownership. Does not decide what a job uses inside a target, what queues do with their jobs, or when a loan
//! is worth while; it asks [`Holders`] whether a target is held and believes the answer.
//!
//! Invariants, checked over all reachable states of a small model in `tests/ownership_model.rs`:
//! - I1: a target is up in at most one queue, and a queue is told so only after every other queue that had it up
//!   acknowledged its latest down (or lost its connection);
//! - I3: a target becomes up in a recipient only when nothing of another queue holds it;
//! - I5: owned, leaving and free are a partition of the inventory;
//! - after `reconcile`, who owns a target is who is wanted for it.
//!
//! | file | holds |
//! |---|---|
//! | `types` | requests, orders, answers, errors |
//! | `policy` | the two settings that ownership depends on |
//! | `state` | the state, and what keeps it whole |
//! | `claims` | the order of claims; desired, wanted, blocked |
//! | `commands` | start, stop, switch, plan; inventory and queues |
//! | `reconcile` | the step: R1–R4, R7 |
//! | `messages` | ups, downs, epochs, acknowledgements, recovery; R6, R8 |
//! | `groups` | starts that want their targets all at once |
//! | `waves` | starts that take their targets a few at a time |
//! | `undo` | a switch taken back |
//! | `loans` | targets lent until an instant |
//! | `donations` | what is on its way, for reports and arrival times |
//! | `windows` | ownership windows per queue |
//! | `query` | answers for reports |

mod claims;
mod commands;
mod donations;
mod groups;
mod loans;
mod messages;
mod policy;
mod query;
mod reconcile;
mod state;
mod types;
mod undo;
mod waves;
mod windows;

#[cfg(test)]
mod tests;

pub use policy::{Horizon, Overlap};
pub use state::Coordinator;
pub use types::{
    Blocked, Cause, Conflict, Donation, FoundError, Group, GroupFailure, GroupPhase, GroupRequest, Holders, Loan,
    LoanEnd, LoanError, Order, Ownership, Plan, PlanId, QueueSpec, StartError, StartOptions, Started, SwitchId,
    SwitchRequest, TakeStamp, UndoError,
};
pub use undo::MAX_UNDO;
pub use windows::LOOK_AHEAD;
