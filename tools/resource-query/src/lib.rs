//! Fluxion's `resource-query` on Sluice: the same options, commands and outputs, so that its scripts run as they are.
//!
//! A [`Session`] is one run of the tool without its terminal: made from [`Options`] and the text of a graph, it is told
//! lines and writes to [`Outputs`]. The binary adds standard input and a prompt; tests run sessions side by side in one
//! process.
//!
//! Decides what a command does, what it prints and where. Does not decide what matches: that is
//! [`sluice::matcher::tree`], with all of Fluxion's choices unless [`Options::right`] asks for the library's own.
//! `docs/fluxion.md` lists where this tool deliberately differs.

mod commands;
mod drawing;
mod load;
mod number;
mod options;
mod output;
mod session;

pub use load::LoadError;
pub use options::{GraphFormat, LoadFormat, Options, Parsed, USAGE, UsageError};
pub use output::Outputs;
pub use session::{Flow, Session, StartError};
