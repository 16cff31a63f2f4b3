//! Text formats: parse and print, with positions in errors. Knows no graph, no time, no queue.

pub mod count;
mod found;
