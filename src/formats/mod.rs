//! The text formats: parse and print, with positions in errors.
//!
//! Decides what a text means and which texts are refused; knows neither graph, time nor queues.

pub mod jgf;
