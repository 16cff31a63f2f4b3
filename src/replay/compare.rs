//! One scenario in several architectures, side by side.
//!
//! Decides how fair a result is between queues; everything else was counted by the replays. *Fairness* is Jain's index
//! (Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination", DEC TR-301, 1984) over the queues' mean
//! bounded slowdowns: (Σx)² / (n Σx²), 1 where all queues are slowed down alike, 1/n where one bears it all. Queues of
//! which no job ran to its end do not count.

use super::metrics::{Report, SchedulingFigures};
use indexmap::IndexMap;
use serde::Serialize;

/// What came of a scenario in one architecture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Jain's index over the queues' mean bounded slowdowns, 0 to 1.
    pub fairness: f64,
    /// The figures; the time that scheduling took is that on one thread.
    #[serde(flatten)]
    pub report: Report,
    /// The time that scheduling took with all threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<SchedulingFigures>,
    /// Actions that were refused.
    pub refused: u64,
}

/// What came of a scenario, by architecture.
pub type Comparison = IndexMap<&'static str, Row>;

impl Row {
    /// A row from what two replays, on one thread and on all, said.
    pub fn new(serial: Report, parallel: Option<SchedulingFigures>, refused: u64) -> Self {
        let slowdowns: Vec<f64> =
            serial.queues.values().map(|q| q.bounded_slowdown.mean).filter(|mean| *mean > 0.0).collect();
        Self { fairness: jain(&slowdowns), report: serial, parallel, refused }
    }
}

/// Jain's index; 1 of nothing.
fn jain(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_that_of_its_definition() {
        assert_eq!((jain(&[]), jain(&[3.0]), jain(&[2.0, 2.0, 2.0])), (1.0, 1.0, 1.0));
        // One of four has it all: 1/4; 1 and 3: 16 / (2 * 10).
        assert_eq!((jain(&[8.0, 0.0, 0.0, 0.0]), jain(&[1.0, 3.0])), (0.25, 0.8));
    }
}
