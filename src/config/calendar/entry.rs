//! One entry of the calendar: on which days, from when to when.

use super::rule::Rule;
use super::zone::Zone;
use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The queues that are started while it is on; never empty.
    pub queues: Vec<String>,
    /// Whose wall clock its times are on.
    pub zone: Zone,
    /// The days on which it begins.
    pub days: Days,
    /// When it begins on such a day.
    pub from: Time,
    /// When it ends.
    pub end: End,
    /// Days on which it does not begin.
    pub except: BTreeSet<Date>,
    /// File and line where it says `queues`.
    pub place: String,
}

/// On which days an entry begins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Days {
    /// As a rule says.
    Rule(Rule),
    /// On these; never empty.
    Dates(BTreeSet<Date>),
}

/// When an occurrence of an entry ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// When the clock shows this: on the same day if that is later than the beginning, else on the next.
    At(Time),
    /// So many seconds of the wall clock after the beginning; above 0.
    After(i64),
}

const DAY: i64 = 86_400;

impl Entry {
    /// The longest that an occurrence is, by the wall clock, in seconds.
    pub fn length(&self) -> i64 {
        match self.end {
            End::After(seconds) => seconds,
            End::At(to) => {
                let clock = |t: Time| i64::from(t.hour()) * 3600 + i64::from(t.minute()) * 60 + i64::from(t.second());
                let length = clock(to) - clock(self.from);
                if length > 0 { length } else { length + DAY }
            }
        }
    }

    /// The beginning on a day, on the wall clock.
    fn begin(&self, day: Date) -> DateTime {
        day.to_datetime(self.from)
    }

    /// The occurrence that begins on a day, in seconds since 1970 UTC; `None` where nothing is left of it: both ends
    /// lie in what the clock skips, or outside the years that there are.
    fn on(&self, day: Date) -> Option<(i64, i64)> {
        let begin = self.begin(day);
        let end = begin.checked_add(SignedDuration::from_secs(self.length())).ok()?;
        let (from, until) = (self.zone.instant(begin)?, self.zone.instant(end)?);
        (from < until).then_some((from, until))
    }

    /// The occurrences that overlap or touch `from..until` (seconds since 1970 UTC), ascending by their beginning.
    pub(super) fn occurrences(&self, from: i64, until: i64) -> Vec<(i64, i64)> {
        // The clock may be a day off from what its seconds say, and an occurrence as long as it is before that.
        let first = self.day_of(from.saturating_sub(self.length()).saturating_sub(2 * DAY));
        let last = self.day_of(until.saturating_add(2 * DAY));
        let days: Vec<Date> = match &self.days {
            Days::Dates(dates) => dates.range(first..=last).copied().collect(),
            Days::Rule(rule) => rule.days(first, last, |day| rule.begins_by_until(self.begin(day), &self.zone)),
        };
        let days = days.into_iter().filter(|day| !self.except.contains(day));
        days.filter_map(|day| self.on(day)).filter(|o| o.1 >= from && o.0 <= until).collect()
    }

    /// The date at an instant, clamped to the years that there are.
    fn day_of(&self, seconds: i64) -> Date {
        let bound = if seconds < 0 { Date::MIN } else { Date::MAX };
        self.zone.wall(seconds).map_or(bound, DateTime::date)
    }
}

/// `days` after a date, if there is such a date.
pub(super) fn after(date: Date, days: i64) -> Option<Date> {
    date.checked_add(Span::new().try_days(days).ok()?).ok()
}
