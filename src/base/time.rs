//! Instants and durations: whole microseconds, with a value for "never" and "unlimited".
//!
//! Integers, because decisions must be the same everywhere (I7); microseconds, because event logs carry fractions of
//! a second. All arithmetic saturates: nothing is ever later than [`Timestamp::NEVER`].

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

const MICROS: i64 = 1_000_000;

/// An instant in microseconds. In replays the origin is that of the trace; live it is the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// A non-negative length of time in microseconds; [`Duration::INFINITE`] means unlimited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(i64);

impl Timestamp {
    /// Before everything.
    pub const MIN: Timestamp = Timestamp(i64::MIN);
    /// Instant zero.
    pub const ZERO: Timestamp = Timestamp(0);
    /// After everything: what has no known end.
    pub const NEVER: Timestamp = Timestamp(i64::MAX);

    /// The instant `micros` microseconds after zero.
    #[inline]
    pub const fn from_micros(micros: i64) -> Self {
        Timestamp(micros)
    }

    /// The instant `seconds` after zero, saturating.
    #[inline]
    pub const fn from_secs(seconds: i64) -> Self {
        Timestamp(seconds.saturating_mul(MICROS))
    }

    /// The instant `seconds` after zero, rounded to the microsecond; `None` for NaN.
    pub fn from_secs_f64(seconds: f64) -> Option<Self> {
        // `as` saturates at both ends of the range.
        (!seconds.is_nan()).then(|| Timestamp((seconds * MICROS as f64).round() as i64))
    }

    /// Microseconds since zero.
    #[inline]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Seconds since zero, as a fraction; infinite for [`Timestamp::NEVER`].
    pub fn secs_f64(self) -> f64 {
        if self == Self::NEVER { f64::INFINITY } else { self.0 as f64 / MICROS as f64 }
    }

    /// Whether this is [`Timestamp::NEVER`].
    #[inline]
    pub const fn is_never(self) -> bool {
        self.0 == i64::MAX
    }

    /// The time from `earlier` to this instant; zero when `earlier` is later, infinite when this is never.
    #[inline]
    pub fn since(self, earlier: Timestamp) -> Duration {
        if self.is_never() { Duration::INFINITE } else { Duration(self.0.saturating_sub(earlier.0).max(0)) }
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// No limit.
    pub const INFINITE: Duration = Duration(i64::MAX);

    /// `micros` microseconds; negative values count as zero.
    #[inline]
    pub const fn from_micros(micros: i64) -> Self {
        Duration(if micros < 0 { 0 } else { micros })
    }

    /// `seconds` seconds, saturating; negative values count as zero.
    #[inline]
    pub const fn from_secs(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(MICROS))
    }

    /// `seconds` rounded to the microsecond; `None` for NaN and negative values, infinite for infinity.
    pub fn from_secs_f64(seconds: f64) -> Option<Self> {
        (seconds >= 0.0).then(|| Duration((seconds * MICROS as f64).round() as i64))
    }

    /// Microseconds.
    #[inline]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Seconds as a fraction; infinite when unlimited.
    pub fn secs_f64(self) -> f64 {
        if self.is_infinite() { f64::INFINITY } else { self.0 as f64 / MICROS as f64 }
    }

    /// Whether there is no limit.
    #[inline]
    pub const fn is_infinite(self) -> bool {
        self.0 == i64::MAX
    }

    /// Twice as long, saturating.
    #[inline]
    pub const fn doubled(self) -> Self {
        Duration(self.0.saturating_mul(2))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    #[inline]
    fn add(self, rhs: Duration) -> Timestamp {
        if rhs.is_infinite() { Timestamp::NEVER } else { Timestamp(self.0.saturating_add(rhs.0)) }
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;
    /// [`Timestamp::NEVER`] stays never; an infinite duration leads to [`Timestamp::MIN`].
    #[inline]
    fn sub(self, rhs: Duration) -> Timestamp {
        if self.is_never() {
            self
        } else if rhs.is_infinite() {
            Timestamp::MIN
        } else {
            Timestamp(self.0.saturating_sub(rhs.0))
        }
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_add(rhs.0))
    }
}

/// Writes `micros` as seconds with as many decimals as needed.
fn write_secs(f: &mut fmt::Formatter<'_>, micros: i64) -> fmt::Result {
    let sign = if micros < 0 { "-" } else { "" };
    let (secs, frac) = (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    if frac == 0 {
        write!(f, "{sign}{secs}")
    } else {
        let text = format!("{frac:06}");
        write!(f, "{sign}{secs}.{}", text.trim_end_matches('0'))
    }
}

impl fmt::Display for Timestamp {
    /// Seconds, with a fraction only where there is one; `never`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() { f.write_str("never") } else { write_secs(f, self.0) }
    }
}

impl fmt::Display for Duration {
    /// Seconds, with a fraction only where there is one; `unlimited`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_infinite() { f.write_str("unlimited") } else { write_secs(f, self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_absorbs() {
        assert_eq!(Timestamp::NEVER - Duration::from_secs(5), Timestamp::NEVER);
        assert_eq!(Timestamp::from_secs(3) + Duration::INFINITE, Timestamp::NEVER);
        assert_eq!(Timestamp::NEVER.since(Timestamp::ZERO), Duration::INFINITE);
        assert_eq!(Timestamp::from_secs(1).since(Timestamp::from_secs(2)), Duration::ZERO);
    }

    #[test]
    fn prints_seconds() {
        assert_eq!(Timestamp::from_micros(-1_500_000).to_string(), "-1.5");
        assert_eq!(Duration::from_micros(2_000_001).to_string(), "2.000001");
        assert_eq!(Duration::INFINITE.to_string(), "unlimited");
    }

    #[test]
    fn refuses_nan() {
        assert_eq!(Duration::from_secs_f64(f64::NAN), None);
        assert_eq!(Duration::from_secs_f64(-1.0), None);
        assert_eq!(Timestamp::from_secs_f64(f64::NAN), None);
        assert_eq!(Duration::from_secs_f64(f64::INFINITY), Some(Duration::INFINITE));
    }
}
