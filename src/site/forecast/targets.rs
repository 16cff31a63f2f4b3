//! When targets are free of what holds them now.
//!
//! Decides nothing about who gets them then: that they are free means that a queue, or a drain, could have them.

use super::play::holding_end;
use super::usage::{Basis, Usage};
use super::{Forecast, Span};
use crate::base::{TargetId, TargetSet, Timestamp};
use crate::site::Site;

/// When a target is free.
#[derive(Clone, PartialEq, Debug)]
pub struct TargetForecast {
    /// Which.
    pub target: TargetId,
    /// When the last of what holds it now is gone; now, if nothing does.
    pub free: Span,
}

/// When so many targets are free at once, if nothing more is started on them.
#[derive(Clone, PartialEq, Debug)]
pub struct FreeForecast {
    /// How many were asked for.
    pub asked: usize,
    /// How many there are: online, and members of the queue that was asked for.
    pub usable: usize,
    /// How many are free now.
    pub free: usize,
    /// When.
    pub when: Span,
    /// Those that come first at worst, as many as were asked for.
    pub targets: TargetSet,
}

impl Site {
    /// When targets are free of what holds them now.
    pub fn forecast_targets(&self, targets: &TargetSet, usage: &Usage) -> Vec<TargetForecast> {
        let free = |target: TargetId, basis: Basis<'_>| {
            let ends = self.ledger.holders(target).into_iter().map(|h| holding_end(self, h, basis));
            ends.max().unwrap_or(self.now)
        };
        let span = |target| Span { worst: free(target, Basis::Limits), likely: free(target, Basis::Use(usage)) };
        targets.iter().map(|target| TargetForecast { target, free: span(target) }).collect()
    }

    /// When `count` targets are free at once, of those that answer; of one queue's members if it is named.
    pub fn forecast_free(&self, count: usize, queue: Option<&str>, usage: &Usage) -> FreeForecast {
        let mut usable = self.coordinator.online().clone();
        if let Some(queue) = queue {
            usable &= &self.queue_view(queue).map(|q| q.members).unwrap_or_default();
        }
        let all = self.forecast_targets(&usable, usage);
        let nth = |of: fn(&Span) -> Timestamp| {
            let mut times: Vec<Timestamp> = all.iter().map(|t| of(&t.free)).collect();
            times.sort_unstable();
            count.checked_sub(1).map_or(Some(self.now), |n| times.get(n).copied()).unwrap_or(Timestamp::NEVER)
        };
        let when = Span { worst: nth(|s| s.worst), likely: nth(|s| s.likely) };
        let mut first: Vec<&super::TargetForecast> = all.iter().collect();
        first.sort_by_key(|t| (t.free.worst, t.target));
        FreeForecast {
            asked: count,
            usable: all.len(),
            free: all.iter().filter(|t| t.free.worst <= self.now).count(),
            when,
            targets: first.iter().take(count).filter(|t| !t.free.worst.is_never()).map(|t| t.target).collect(),
        }
    }

    /// When the last of some targets has come to a queue, by a forecast; never, if one of them does not.
    pub fn forecast_arrival(&self, forecast: &Forecast, queue: &str, targets: &TargetSet) -> Span {
        let last = |arrivals: &[super::Arrival]| {
            let mut left = targets.clone();
            for arrival in arrivals.iter().filter(|a| a.recipient.as_deref() == Some(queue)) {
                left -= &arrival.targets;
                if left.is_empty() {
                    return arrival.at;
                }
            }
            Timestamp::NEVER
        };
        Span { worst: last(forecast.worst_arrivals()), likely: last(forecast.likely_arrivals()) }
    }
}
