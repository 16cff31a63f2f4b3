//! The timeline of one pool of a consumable resource: how much of it is in use at every instant.
//!
//! Decides what is free over an interval and when an amount is first free for long enough. Does not decide who gets
//! it, nor refuse what cannot be undone: when the pool shrinks below what is promised ([`Pool::resize`]), the spans
//! stay and less than nothing is free for a while.
//!
//! Intervals include their first instant and exclude their last; [`Timestamp::NEVER`] as an end means for ever.
//! A question about an interval that is empty is a question about its first instant.
//!
//! Invariants: usage at t is the sum of the amounts of the spans around t; two neighbouring steps differ in usage, so
//! that the number of steps is at most twice the number of spans plus one; the first step begins at
//! [`Timestamp::MIN`].
//!
//! Cost: the steps stand in blocks of some hundred, each with its extremes and a pending addend, so that an addition,
//! a removal and a query touch the blocks of the interval and the steps of the outer two only.

mod steps;

use crate::base::{Duration, Timestamp};
use std::collections::BTreeMap;
use std::fmt;
use steps::Steps;
use thiserror::Error;

/// One span of a pool, as [`Pool::add`] named it. Never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SpanId(u64);

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An amount in use over an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// First instant.
    pub from: Timestamp,
    /// First instant after it; [`Timestamp::NEVER`] for no end.
    pub until: Timestamp,
    /// How much, at least 1.
    pub amount: i64,
}

/// Why a pool refused a change; it is then as it was before.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PoolError {
    /// A size below zero.
    #[error("pool size: expected 0 or more, found {found}")]
    Size {
        /// The size asked for.
        found: i64,
    },
    /// An amount below one, or more than the span has.
    #[error("span amount: expected 1 to {most}, found {found}")]
    Amount {
        /// The largest amount that can be.
        most: i64,
        /// The amount asked for.
        found: i64,
    },
    /// An interval without an instant.
    #[error("span from {from} until {until}: expected an end after the start")]
    Empty {
        /// Its start.
        from: Timestamp,
        /// Its end.
        until: Timestamp,
    },
    /// Too little is free in the interval.
    #[error("span from {from} until {until}: expected at most {available}, found {amount}")]
    Exceeds {
        /// Start of the interval.
        from: Timestamp,
        /// End of the interval.
        until: Timestamp,
        /// What is free throughout.
        available: i64,
        /// What was asked for.
        amount: i64,
    },
    /// There is no such span (any more).
    #[error("span {span}: expected a span of this pool, found none")]
    Unknown {
        /// The span named.
        span: SpanId,
    },
}

/// The timeline of one pool.
///
/// ```
/// use sluice::base::{Duration, Timestamp};
/// use sluice::planner::Pool;
/// let (t, d) = (Timestamp::from_secs, Duration::from_secs);
/// let mut pool = Pool::new(10).unwrap();
/// pool.add(t(5), t(8), 7).unwrap();
/// assert_eq!(pool.available_during(t(0), t(6)), 3);
/// assert_eq!(pool.earliest(4, d(5), t(0)), Some(t(0)));
/// assert_eq!(pool.earliest(4, d(6), t(0)), Some(t(8)));
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    total: i64,
    steps: Steps,
    spans: BTreeMap<SpanId, Span>,
    next: u64,
}

impl Pool {
    /// A pool of `total` units, all free at all times.
    ///
    /// # Errors
    /// [`PoolError::Size`].
    pub fn new(total: i64) -> Result<Self, PoolError> {
        if total < 0 {
            return Err(PoolError::Size { found: total });
        }
        Ok(Self { total, steps: Steps::new(), spans: BTreeMap::new(), next: 0 })
    }

    /// The size.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// Changes the size. Spans stay: where they now need more than there is, what is available is below zero.
    ///
    /// # Errors
    /// [`PoolError::Size`].
    pub fn resize(&mut self, total: i64) -> Result<(), PoolError> {
        if total < 0 {
            return Err(PoolError::Size { found: total });
        }
        self.total = total;
        Ok(())
    }

    /// Puts `amount` in use from `from` until `until`.
    ///
    /// # Errors
    /// An amount below 1, an empty interval, too little free.
    pub fn add(&mut self, from: Timestamp, until: Timestamp, amount: i64) -> Result<SpanId, PoolError> {
        self.check(from, until, amount)?;
        let available = self.available_during(from, until);
        if amount > available {
            return Err(PoolError::Exceeds { from, until, available, amount });
        }
        self.force(from, until, amount)
    }

    fn check(&self, from: Timestamp, until: Timestamp, amount: i64) -> Result<(), PoolError> {
        if amount < 1 {
            return Err(PoolError::Amount { most: self.total, found: amount });
        }
        if until <= from {
            return Err(PoolError::Empty { from, until });
        }
        Ok(())
    }

    /// Puts `amount` in use whether it is free or not, as for somebody who holds it longer than planned: where more is
    /// in use than there is, what is available is below zero.
    ///
    /// # Errors
    /// An amount below 1, an empty interval.
    pub fn force(&mut self, from: Timestamp, until: Timestamp, amount: i64) -> Result<SpanId, PoolError> {
        self.check(from, until, amount)?;
        let id = SpanId(self.next);
        self.next += 1;
        self.steps.add(from, until, amount);
        self.spans.insert(id, Span { from, until, amount });
        Ok(id)
    }

    /// Takes a span away.
    ///
    /// # Errors
    /// [`PoolError::Unknown`].
    pub fn remove(&mut self, id: SpanId) -> Result<Span, PoolError> {
        let span = self.spans.remove(&id).ok_or(PoolError::Unknown { span: id })?;
        self.steps.add(span.from, span.until, -span.amount);
        Ok(span)
    }

    /// Gives `amount` of a span back, over all its length; what has nothing left is removed.
    ///
    /// # Errors
    /// An unknown span, an amount below 1 or above that of the span.
    pub fn reduce(&mut self, id: SpanId, amount: i64) -> Result<(), PoolError> {
        let span = self.spans.get_mut(&id).ok_or(PoolError::Unknown { span: id })?;
        if !(1..=span.amount).contains(&amount) {
            return Err(PoolError::Amount { most: span.amount, found: amount });
        }
        span.amount -= amount;
        let Span { from, until, amount: rest } = *span;
        if rest == 0 {
            self.spans.remove(&id);
        }
        self.steps.add(from, until, -amount);
        Ok(())
    }

    /// What is free at `t`; below zero where the pool was shrunk under its spans.
    pub fn available_at(&self, t: Timestamp) -> i64 {
        self.total - self.steps.usage_at(t)
    }

    /// What is free at every instant from `from` until `until`.
    pub fn available_during(&self, from: Timestamp, until: Timestamp) -> i64 {
        self.total - self.steps.max_during(from, until)
    }

    /// The first instant from `not_before` on at which `amount` is free for `duration`; `None` if there is none, and
    /// for amounts below zero.
    pub fn earliest(&self, amount: i64, duration: Duration, not_before: Timestamp) -> Option<Timestamp> {
        if !(0..=self.total).contains(&amount) || not_before.is_never() {
            return None;
        }
        let most = self.total - amount;
        let mut start = not_before;
        loop {
            // The interval is never empty, see the module.
            let end = (start + duration).max(start + Duration::from_micros(1));
            let Some(blocked) = self.steps.first_above(start, most).filter(|t| *t < end) else { return Some(start) };
            start = self.steps.first_at_most(blocked, most)?;
        }
    }

    /// The spans, in the order of their addition.
    pub fn spans(&self) -> impl Iterator<Item = (SpanId, Span)> + '_ {
        self.spans.iter().map(|(id, span)| (*id, *span))
    }

    /// How many steps the timeline has: what a query costs.
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn refuses_with_the_reason_and_stays() {
        let mut pool = Pool::new(4).unwrap();
        let id = pool.add(t(0), Timestamp::NEVER, 3).unwrap();
        let refused = [
            (Pool::new(-1).map(drop), "pool size: expected 0 or more, found -1"),
            (pool.add(t(1), t(2), 0).map(drop), "span amount: expected 1 to 4, found 0"),
            (pool.add(t(2), t(2), 1).map(drop), "span from 2 until 2: expected an end after the start"),
            (pool.add(t(-1), t(2), 2).map(drop), "span from -1 until 2: expected at most 1, found 2"),
            (pool.reduce(id, 4), "span amount: expected 1 to 3, found 4"),
            (pool.remove(SpanId(9)).map(drop), "span 9: expected a span of this pool, found none"),
        ];
        for (result, text) in refused {
            assert_eq!(result.unwrap_err().to_string(), text);
        }
        assert_eq!(pool.spans().collect::<Vec<_>>(), [(id, Span { from: t(0), until: Timestamp::NEVER, amount: 3 })]);
        assert_eq!((pool.available_at(t(-1)), pool.available_at(t(9))), (4, 1));
    }

    #[test]
    fn a_pool_shrunk_below_its_spans_is_short() {
        let mut pool = Pool::new(4).unwrap();
        let id = pool.add(t(0), t(10), 4).unwrap();
        pool.resize(3).unwrap();
        assert_eq!(pool.available_at(t(5)), -1);
        assert_eq!(pool.earliest(0, Duration::from_secs(1), t(0)), Some(t(10)));
        pool.reduce(id, 2).unwrap();
        assert_eq!(pool.available_at(t(5)), 1);
        pool.reduce(id, 2).unwrap();
        assert_eq!((pool.spans().count(), pool.step_count()), (0, 1));
    }

    #[test]
    fn what_is_held_for_ever_is_never_free() {
        let mut pool = Pool::new(2).unwrap();
        pool.add(t(5), Timestamp::NEVER, 1).unwrap();
        assert_eq!(pool.earliest(2, Duration::from_secs(5), t(0)), Some(t(0)));
        assert_eq!(pool.earliest(2, Duration::from_secs(6), t(0)), None);
        assert_eq!(pool.earliest(2, Duration::ZERO, t(5)), None);
        assert_eq!(pool.earliest(1, Duration::INFINITE, t(5)), Some(t(5)));
        assert_eq!(pool.earliest(1, Duration::ZERO, Timestamp::NEVER), None);
    }
}
