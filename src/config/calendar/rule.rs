//! Recurrence rules: the dates of RFC 5545, section 3.3.10.
//!
//! Accepted are `FREQ` (`DAILY`, `WEEKLY`, `MONTHLY`, `YEARLY`), `INTERVAL`, `COUNT`, `UNTIL`, `WKST`, `BYMONTH`,
//! `BYMONTHDAY`, `BYDAY` and `BYSETPOS`. What decides about times of the day (`BYHOUR` and the like, `FREQ=HOURLY`) is
//! refused, since the entry says when it begins; so are `BYWEEKNO` and `BYYEARDAY`.
//!
//! What a part does in a period, by frequency (the table of the RFC):
//!
//! | | daily | weekly | monthly | yearly |
//! |---|---|---|---|---|
//! | `BYMONTH` | limits | limits | limits | the months |
//! | `BYMONTHDAY` | limits | refused | the days | the days, of these months or of all |
//! | `BYDAY` | limits | the days | the days; limits `BYMONTHDAY` | the same, in these months or in the year |
//!
//! Where nothing says which days, those of the first one. A day that a month does not have is left out.

use super::entry::after;
use super::zone::Zone;
use jiff::Span;
use jiff::civil::{Date, DateTime, Weekday};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How often.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Frequency {
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month.
    Monthly,
    /// Every year.
    Yearly,
}

/// When a rule ends; the last that may be is included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// A day.
    Day(Date),
    /// A time of the wall clock.
    Wall(DateTime),
    /// An instant, in seconds since 1970 UTC.
    Utc(i64),
}

/// A weekday, and which of them in the month or year: from 1, from the end from -1, all of them 0.
type Nth = (i16, Weekday);

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rule {
    pub(super) frequency: Frequency,
    pub(super) interval: u32,
    /// The first day that may be; intervals and the count start here.
    pub(super) first: Date,
    pub(super) count: Option<u32>,
    pub(super) until: Option<Until>,
    #[serde(with = "weekday")]
    pub(super) week_start: Weekday,
    pub(super) months: BTreeSet<i8>,
    pub(super) month_days: BTreeSet<i8>,
    #[serde(with = "nths")]
    pub(super) weekdays: Vec<Nth>,
    pub(super) places: BTreeSet<i16>,
}

/// Why a text is no rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RuleError {
    /// A part that is not `NAME=VALUE`.
    #[error("expected NAME=VALUE, found {0:?}")]
    Part(String),
    /// A part that is not known, or not here.
    #[error("{0} is not taken: {1}")]
    Refused(String, &'static str),
    /// A part that stands twice.
    #[error("{0} stands there twice")]
    Twice(String),
    /// A value that cannot be.
    #[error("{part}: expected {expected}, found {found:?}")]
    Value {
        /// Of which part.
        part: String,
        /// What would do.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Parts that do not go together, or one that is missing.
    #[error("{0}")]
    Parts(&'static str),
}

impl Rule {
    /// On these weekdays of every week.
    pub fn weekly(weekdays: impl IntoIterator<Item = Weekday>, first: Date) -> Self {
        let weekdays = weekdays.into_iter().map(|day| (0, day)).collect();
        Rule { weekdays, ..Rule::plain(Frequency::Weekly, first) }
    }

    fn plain(frequency: Frequency, first: Date) -> Self {
        Rule {
            frequency,
            interval: 1,
            first,
            count: None,
            until: None,
            week_start: Weekday::Monday,
            months: BTreeSet::new(),
            month_days: BTreeSet::new(),
            weekdays: Vec::new(),
            places: BTreeSet::new(),
        }
    }

    /// Whether its days depend on which is the first.
    pub(super) fn needs_first(&self) -> bool {
        let open = match self.frequency {
            Frequency::Daily => false,
            Frequency::Weekly => self.weekdays.is_empty(),
            Frequency::Monthly | Frequency::Yearly => self.weekdays.is_empty() && self.month_days.is_empty(),
        };
        self.interval > 1 || self.count.is_some() || open
    }

    /// Reads the value of an `RRULE`. `first`: the day of `DTSTART`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str, first: Date) -> Result<Self, RuleError> {
        let mut seen: Vec<String> = Vec::new();
        let mut rule = Rule::plain(Frequency::Daily, first);
        for part in text.trim().split(';').filter(|p| !p.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| RuleError::Part(part.to_owned()))?;
            let name = name.trim().to_ascii_uppercase();
            if seen.contains(&name) {
                return Err(RuleError::Twice(name));
            }
            rule.set(&name, value.trim())?;
            seen.push(name);
        }
        if !seen.iter().any(|name| name == "FREQ") {
            return Err(RuleError::Parts("FREQ is missing"));
        }
        rule.check()?;
        Ok(rule)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), RuleError> {
        let wrong = |expected| RuleError::Value { part: name.to_owned(), expected, found: value.to_owned() };
        let number = || value.parse::<u32>().ok().filter(|n| (1..=100_000).contains(n));
        match name {
            "FREQ" => {
                self.frequency = match value.to_ascii_uppercase().as_str() {
                    "DAILY" => Frequency::Daily,
                    "WEEKLY" => Frequency::Weekly,
                    "MONTHLY" => Frequency::Monthly,
                    "YEARLY" => Frequency::Yearly,
                    _ => return Err(wrong("DAILY, WEEKLY, MONTHLY or YEARLY")),
                };
            }
            "INTERVAL" => self.interval = number().ok_or_else(|| wrong("a number from 1 to 100000"))?,
            "COUNT" => self.count = Some(number().ok_or_else(|| wrong("a number from 1 to 100000"))?),
            "UNTIL" => self.until = Some(read_until(value).ok_or_else(|| wrong("a date, or a date and time"))?),
            "WKST" => self.week_start = read_weekday(value).ok_or_else(|| wrong("a weekday, MO to SU"))?,
            "BYMONTH" => {
                self.months = numbers(value, 1..=12, false).ok_or_else(|| wrong("months from 1 to 12"))?;
            }
            "BYMONTHDAY" => {
                self.month_days =
                    numbers(value, 1..=31, true).ok_or_else(|| wrong("days from 1 to 31 or -31 to -1"))?;
            }
            "BYSETPOS" => {
                self.places =
                    numbers(value, 1..=366, true).ok_or_else(|| wrong("places from 1 to 366 or -366 to -1"))?;
            }
            "BYDAY" => {
                let days: Option<Vec<Nth>> = value.split(',').map(|day| read_nth(day.trim())).collect();
                self.weekdays = days.ok_or_else(|| wrong("weekdays as MO, 2SA or -1FR"))?;
            }
            "BYHOUR" | "BYMINUTE" | "BYSECOND" => {
                return Err(RuleError::Refused(name.to_owned(), "`from` says when the entry begins"));
            }
            "BYWEEKNO" | "BYYEARDAY" => {
                return Err(RuleError::Refused(name.to_owned(), "say it with BYMONTH, BYMONTHDAY and BYDAY"));
            }
            _ => return Err(RuleError::Refused(name.to_owned(), "it is no part of a rule (RFC 5545, 3.3.10)")),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), RuleError> {
        let nth = self.weekdays.iter().any(|(nth, _)| *nth != 0);
        let by = !(self.months.is_empty() && self.month_days.is_empty() && self.weekdays.is_empty());
        let fault = match self.frequency {
            _ if self.count.is_some() && self.until.is_some() => "COUNT and UNTIL exclude each other",
            _ if !self.places.is_empty() && !by => "BYSETPOS needs another BY… to pick from",
            Frequency::Weekly if !self.month_days.is_empty() => "BYMONTHDAY does not go with FREQ=WEEKLY",
            Frequency::Daily | Frequency::Weekly if nth => "numbered weekdays go with FREQ=MONTHLY and YEARLY only",
            _ => return Ok(()),
        };
        Err(RuleError::Parts(fault))
    }

    /// Whether a beginning is not after the end of the rule.
    pub(super) fn begins_by_until(&self, begin: DateTime, zone: &Zone) -> bool {
        match self.until {
            None => true,
            Some(Until::Day(day)) => begin.date() <= day,
            Some(Until::Wall(wall)) => begin <= wall,
            Some(Until::Utc(instant)) => zone.instant(begin).is_some_and(|at| at <= instant),
        }
    }

    /// Its days from `from` to `to`, both included, ascending; `goes_on` says whether a day is not beyond its end.
    pub(super) fn days(&self, from: Date, to: Date, goes_on: impl Fn(Date) -> bool) -> Vec<Date> {
        let mut found = Vec::new();
        let mut left = self.count.unwrap_or(u32::MAX);
        // What is counted is counted from the first.
        let mut number = if self.count.is_some() { 0 } else { self.period_before(from) };
        while let Some(begin) = self.period(number).filter(|begin| *begin <= to) {
            for day in self.in_period(begin) {
                if day < self.first {
                    continue;
                }
                if left == 0 || day > to || !goes_on(day) {
                    return found;
                }
                left -= 1;
                if day >= from {
                    found.push(day);
                }
            }
            number += 1;
        }
        found
    }

    /// The first day of a period; `None` beyond the years that there are.
    fn period(&self, number: i64) -> Option<Date> {
        let by = number.checked_mul(i64::from(self.interval))?;
        let first = self.first;
        match self.frequency {
            Frequency::Daily => after(first, by),
            Frequency::Weekly => {
                let back = i64::from(first.weekday().since(self.week_start));
                after(first, by.checked_mul(7)?.checked_sub(back)?)
            }
            Frequency::Monthly => first.first_of_month().checked_add(Span::new().try_months(by).ok()?).ok(),
            Frequency::Yearly => first.first_of_year().checked_add(Span::new().try_years(by).ok()?).ok(),
        }
    }

    /// A period that begins no later than a day, and not much earlier.
    fn period_before(&self, day: Date) -> i64 {
        let years = i64::from(day.year()) - i64::from(self.first.year());
        let units = match self.frequency {
            Frequency::Daily => days_between(self.first, day),
            Frequency::Weekly => days_between(self.first, day).div_euclid(7),
            Frequency::Monthly => years * 12 + i64::from(day.month()) - i64::from(self.first.month()),
            Frequency::Yearly => years,
        };
        (units.div_euclid(i64::from(self.interval)) - 1).max(0)
    }

    /// The days of the period that begins on a day, ascending.
    fn in_period(&self, begin: Date) -> Vec<Date> {
        let days: BTreeSet<Date> = match self.frequency {
            Frequency::Daily => [begin].into_iter().filter(|day| self.allows(*day)).collect(),
            Frequency::Weekly => {
                let own = [(0, self.first.weekday())];
                let weekdays = if self.weekdays.is_empty() { &own[..] } else { &self.weekdays };
                let on = |(_, weekday): &Nth| after(begin, i64::from(weekday.since(self.week_start)));
                weekdays.iter().filter_map(on).filter(|day| self.in_months(*day)).collect()
            }
            Frequency::Monthly if self.in_months(begin) => self.in_month(begin),
            Frequency::Monthly => BTreeSet::new(),
            Frequency::Yearly => self.in_year(begin),
        };
        let days: Vec<Date> = days.into_iter().collect();
        if self.places.is_empty() {
            return days;
        }
        let count = days.len() as i64;
        let index = |place: &i16| if *place > 0 { i64::from(*place) - 1 } else { count + i64::from(*place) };
        let picked: BTreeSet<i64> = self.places.iter().map(index).filter(|i| (0..count).contains(i)).collect();
        picked.into_iter().map(|i| days[i as usize]).collect()
    }

    fn in_months(&self, day: Date) -> bool {
        self.months.is_empty() || self.months.contains(&day.month())
    }

    /// Whether every part lets a single day be.
    fn allows(&self, day: Date) -> bool {
        let from_end = day.day() - day.days_in_month() - 1;
        let month_day =
            self.month_days.is_empty() || self.month_days.contains(&day.day()) || self.month_days.contains(&from_end);
        let weekday = self.weekdays.is_empty() || self.weekdays.iter().any(|(_, weekday)| *weekday == day.weekday());
        self.in_months(day) && month_day && weekday
    }

    fn in_month(&self, begin: Date) -> BTreeSet<Date> {
        let month = days_from(begin, i64::from(begin.days_in_month()));
        if self.month_days.is_empty() && self.weekdays.is_empty() {
            return month.into_iter().filter(|day| day.day() == self.first.day()).collect();
        }
        let weekdays = self.numbered(&month);
        month.into_iter().filter(|day| self.is_month_day(*day) && weekdays.contains(day)).collect()
    }

    fn in_year(&self, begin: Date) -> BTreeSet<Date> {
        let year = days_from(begin, i64::from(begin.days_in_year()));
        if self.month_days.is_empty() && self.weekdays.is_empty() {
            let months: Vec<i8> =
                if self.months.is_empty() { vec![self.first.month()] } else { self.months.iter().copied().collect() };
            let own = |day: &Date| day.day() == self.first.day() && months.contains(&day.month());
            return year.into_iter().filter(own).collect();
        }
        let weekdays = if self.months.is_empty() {
            self.numbered(&year)
        } else {
            let month = |m: &i8| year.iter().copied().filter(|day| day.month() == *m).collect::<Vec<_>>();
            self.months.iter().flat_map(|m| self.numbered(&month(m))).collect()
        };
        year.into_iter().filter(|day| self.is_month_day(*day) && weekdays.contains(day)).collect()
    }

    fn is_month_day(&self, day: Date) -> bool {
        let from_end = day.day() - day.days_in_month() - 1;
        self.month_days.is_empty() || self.month_days.contains(&day.day()) || self.month_days.contains(&from_end)
    }

    /// Which of these days the weekdays name, counted within them; all if none are named.
    fn numbered(&self, days: &[Date]) -> BTreeSet<Date> {
        if self.weekdays.is_empty() {
            return days.iter().copied().collect();
        }
        let mut found = BTreeSet::new();
        for (nth, weekday) in &self.weekdays {
            let all: Vec<Date> = days.iter().copied().filter(|day| day.weekday() == *weekday).collect();
            match usize::from(nth.unsigned_abs()) {
                0 => found.extend(all),
                n if *nth > 0 => found.extend(all.get(n - 1)),
                n => found.extend(all.len().checked_sub(n).and_then(|i| all.get(i))),
            }
        }
        found
    }
}

fn days_from(begin: Date, count: i64) -> Vec<Date> {
    (0..count).filter_map(|n| after(begin, n)).collect()
}

fn days_between(from: Date, to: Date) -> i64 {
    (to - from).get_days().into()
}

fn read_weekday(text: &str) -> Option<Weekday> {
    Some(match text.to_ascii_uppercase().as_str() {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

/// `MO`, `2SA`, `+1MO`, `-1FR`.
fn read_nth(text: &str) -> Option<Nth> {
    let at = text.len().checked_sub(2).filter(|at| text.is_char_boundary(*at))?;
    let (nth, day) = text.split_at(at);
    let day = read_weekday(day)?;
    if nth.is_empty() {
        return Some((0, day));
    }
    let nth: i16 = nth.parse().ok()?;
    (nth != 0 && nth.abs() <= 53).then_some((nth, day))
}

/// Numbers with commas between, in a range, or with a minus counted from the end.
fn numbers<T: TryFrom<i32> + Ord>(
    text: &str,
    range: std::ops::RangeInclusive<i32>,
    minus: bool,
) -> Option<BTreeSet<T>> {
    let number = |text: &str| {
        let n: i32 = text.trim().parse().ok()?;
        let fits = range.contains(&n) || minus && range.contains(&-n);
        if fits { T::try_from(n).ok() } else { None }
    };
    text.split(',').map(number).collect()
}

/// `20261231`, `20261231T180000`, `20261231T180000Z`; the same with dashes and colons.
fn read_until(text: &str) -> Option<Until> {
    if let Some(wall) = text.strip_suffix(['Z', 'z']) {
        let wall: DateTime = wall.parse().ok()?;
        return jiff::tz::TimeZone::UTC.to_timestamp(wall).ok().map(|t| Until::Utc(t.as_second()));
    }
    if text.contains(['T', 't', ' ']) { text.parse().ok().map(Until::Wall) } else { text.parse().ok().map(Until::Day) }
}

mod weekday {
    use jiff::civil::Weekday;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(day: &Weekday, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i8(day.to_monday_one_offset())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Weekday, D::Error> {
        Weekday::from_monday_one_offset(i8::deserialize(from)?).map_err(D::Error::custom)
    }
}

mod nths {
    use super::Nth;
    use jiff::civil::Weekday;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(days: &[Nth], to: S) -> Result<S::Ok, S::Error> {
        days.iter().map(|(nth, day)| (*nth, day.to_monday_one_offset())).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Nth>, D::Error> {
        let pairs = Vec::<(i16, i8)>::deserialize(from)?;
        let day = |(nth, day)| Weekday::from_monday_one_offset(day).map(|day| (nth, day)).map_err(D::Error::custom);
        pairs.into_iter().map(day).collect()
    }
}
