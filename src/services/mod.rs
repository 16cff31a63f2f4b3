//! A program is put together from services, which rules describe: who can do what, what pulls in whom, what comes first.
//!
//! Decides which services run, in which order they are started and stopped, and whether one may be stopped or take the
//! place of another. Rules are TOML, with the keys of `flux modprobe`: some are compiled in, and a package adds its own by
//! dropping a file into a directory. Does not know what a service does: those who drive the core ([`crate::replay`], a
//! daemon) bring the [`Makers`], one for each name. There is no second way to start.
//!
//! Invariants of a plan: it holds what was asked for, what that requires, and nothing else; every relation of order
//! between two of its services holds; it stops in the reverse of the order of the start; equal rules give equal plans.
//!
//! Rules that are ours, where `flux modprobe` leaves it open:
//!
//! - Of equal priority, the later wins: later in its fragment, or in a later fragment.
//! - A priority may be set for one service of several (`priorities`).
//! - Two services that provide the same are a conflict, unless one is swapped in for the other.
//! - What is required and cannot run here (disabled, other rank, no such configuration) is left out, with the reason; what is
//!   asked for by name is an error then.
//! - A name that ends in `@` is a template: `sched@batch` is made of it, and so are its relations.

mod rule;

mod fragment;
mod registry;

mod choice;
mod order;
mod plan;

mod makers;
mod running;

pub use choice::Unfit;
pub use fragment::{BUILT_IN, Fragment};
pub use makers::{BuildError, Built, Make, Makers};
pub use order::Loop;
pub use plan::{Left, Plan, PlanError, Wanted};
pub use registry::{Registry, Unit, UnitId};
pub use rule::{Conditions, Ranks, Rule, Surroundings};
pub use running::{Change, ChangeError, Running};
