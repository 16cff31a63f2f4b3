//! The registry of services: flux-core's own rules, random rules against brute force, and what a replay is made of.

#[path = "services/fluxion.rs"]
mod fluxion;
#[path = "services/random.rs"]
mod random;
#[path = "services/replay.rs"]
mod replay;
#[path = "services/rules.rs"]
mod rules;
