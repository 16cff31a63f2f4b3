//! How good forecasts are: during a replay the starts of all waiting jobs are forecast now and then, and in the end compared
//! with what has come.
//!
//! Decides when to ask: evenly over the submissions. A forecast knows nothing of what is submitted or done later, the replay
//! does it all the same; what it costs in accuracy is part of the answer. Jobs that never start are left out.

use super::book::Book;
use super::workload::Workload;
use crate::base::Timestamp;
use crate::site::{Site, Usage};
use serde::Serialize;

/// How far one kind of forecast was off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Errors {
    /// The median of the distance between forecast and start, in seconds.
    pub median_s: f64,
    /// What 90 % of the distances do not exceed, in seconds.
    pub p90_s: f64,
    /// The share of forecasts after which the job started later than was said, 0 to 1.
    pub later: f64,
}

/// How good the forecasts of a replay were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ForecastFigures {
    /// How often was asked.
    pub samples: u64,
    /// How many starts were forecast, by both ways, and came.
    pub forecasts: u64,
    /// The median time from the forecast to the start, in seconds: what the errors are to be held against.
    pub median_wait_s: f64,
    /// By time limits.
    pub worst: Errors,
    /// By how users have used their limits.
    pub likely: Errors,
}

/// One start that was forecast.
#[derive(Clone, Copy, Debug)]
struct Said {
    slot: u32,
    at: Timestamp,
    worst: Timestamp,
    likely: Timestamp,
}

/// The forecasts of a replay so far.
#[derive(Clone, Debug)]
pub struct Measure {
    every: usize,
    next: usize,
    samples: u64,
    said: Vec<Said>,
}

impl Measure {
    /// Asks about so often, at least once, while `jobs` jobs are submitted.
    pub fn new(samples: u32, jobs: usize) -> Self {
        let every = (jobs / (samples as usize + 1)).max(1);
        Self { every, next: every, samples: 0, said: Vec::new() }
    }

    /// Asks, if it is time to. `submitted`: how many jobs were.
    pub(super) fn look(&mut self, site: &Site, workload: &Workload, submitted: usize) {
        if submitted < self.next {
            return;
        }
        self.next = (submitted / self.every + 1) * self.every;
        let counts = site.counts();
        if counts.pending + counts.held == 0 {
            return;
        }
        self.samples += 1;
        let forecast = site.forecast_by(&Usage::of(site), None);
        let said = forecast.jobs.iter().filter_map(|j| {
            let known = !j.start.worst.is_never() && !j.start.likely.is_never();
            let slot = workload.slot(j.job).filter(|_| known)? as u32;
            Some(Said { slot, at: site.now(), worst: j.start.worst, likely: j.start.likely })
        });
        self.said.extend(said);
    }

    /// Compares.
    pub(super) fn figures(&self, book: &Book) -> ForecastFigures {
        let came: Vec<(&Said, Timestamp)> = self
            .said
            .iter()
            .map(|said| (said, book.start[said.slot as usize]))
            .filter(|(said, start)| !start.is_never() && *start >= said.at)
            .collect();
        let errors = |of: fn(&Said) -> Timestamp| {
            let off = |(said, start): &(&Said, Timestamp)| start.micros().abs_diff(of(said).micros());
            let later = came.iter().filter(|(said, start)| *start > of(said)).count();
            let distances: Vec<u64> = came.iter().map(off).collect();
            Errors {
                median_s: quantile(distances.clone(), 0.5),
                p90_s: quantile(distances, 0.9),
                later: if came.is_empty() { 0.0 } else { later as f64 / came.len() as f64 },
            }
        };
        let waits = came.iter().map(|(said, start)| start.since(said.at).micros().unsigned_abs()).collect();
        ForecastFigures {
            samples: self.samples,
            forecasts: came.len() as u64,
            median_wait_s: quantile(waits, 0.5),
            worst: errors(|s| s.worst),
            likely: errors(|s| s.likely),
        }
    }
}

/// The smallest value that such a share does not exceed, from microseconds to seconds; 0 of none.
fn quantile(mut values: Vec<u64>, share: f64) -> f64 {
    values.sort_unstable();
    let nth = (values.len() as f64 * share).ceil() as usize;
    values.get(nth.saturating_sub(1)).map_or(0.0, |v| *v as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_distances() {
        let mut book = Book::new(3, false);
        let at = Timestamp::from_secs;
        book.start = vec![at(100), at(50), Timestamp::NEVER];
        let said = |slot, worst, likely| Said { slot, at: at(10), worst: at(worst), likely: at(likely) };
        let said = vec![said(0, 130, 90), said(1, 50, 40), said(2, 60, 60)];
        let figures = Measure { every: 1, next: 1, samples: 1, said }.figures(&book);
        assert_eq!((figures.forecasts, figures.median_wait_s), (2, 40.0), "who never starts is left out");
        assert_eq!(figures.worst, Errors { median_s: 0.0, p90_s: 30.0, later: 0.0 });
        assert_eq!(figures.likely, Errors { median_s: 10.0, p90_s: 10.0, later: 1.0 });
    }
}
