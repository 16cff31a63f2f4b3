//! Times as scenarios write them.
//!
//! | form | means |
//! |---|---|
//! | `90`, `1.5` (numbers) | seconds after time 0 |
//! | `"90"`, `"1.5h"`, `"2d"` | a Flux duration after time 0 |
//! | `"D+HH:MM"`, `"D+HH:MM:SS"` | D days and so much after time 0 |
//! | `"HH:MM"`, `"Fri HH:MM"`, each with or without `:SS` | the first such moment of the wall clock at or after time 0 |
//! | `"2026-07-03 18:00"`, `2026-07-03T18:00:00` | that moment of the wall clock |
//!
//! The last two need an `epoch`. The wall clock has neither time zone nor summer time: a day has 86,400 seconds.

use crate::base::Timestamp;
use crate::formats::duration;

const DAY: i64 = 86_400;

/// What the times of a scenario are, for errors.
pub(super) const EXPECTED: &str = "a time: seconds, a Flux duration like \"90m\", \"D+HH:MM\", or, with an epoch, \
                                   \"HH:MM\", \"Fri 18:00\" or a date and time";

/// Reads a time; the error says what would have been right.
pub(crate) fn parse_time(text: &str, epoch: Option<i64>) -> Result<Timestamp, String> {
    if let Ok(length) = duration::parse(text) {
        return if length.is_infinite() { Err(EXPECTED.into()) } else { Ok(Timestamp::ZERO + length) };
    }
    if let Some((days, clock)) = text.split_once('+') {
        let days: u32 = digits(days, 1, 5).ok_or(EXPECTED)?;
        let clock = parse_clock(clock).ok_or(EXPECTED)?;
        return Ok(Timestamp::from_secs(i64::from(days) * DAY + clock));
    }
    let needs = || format!("a time that needs no epoch, or an `epoch` in [site]; `{text}` is on the wall clock");
    if let Some(seconds) = parse_date_time(text) {
        let epoch = epoch.ok_or_else(needs)?;
        return if seconds < epoch {
            Err("a date and time at or after the epoch".into())
        } else {
            Ok(Timestamp::from_secs(seconds - epoch))
        };
    }
    let (weekday, clock) = match text.split_once(' ') {
        Some((day, clock)) => (Some(parse_weekday(day).ok_or(EXPECTED)?), clock.trim_start()),
        None => (None, text),
    };
    let clock = parse_clock(clock).ok_or(EXPECTED)?;
    let epoch = epoch.ok_or_else(needs)?;
    Ok(Timestamp::from_secs(first_after(epoch, weekday, clock)))
}

/// Seconds from `epoch` to the first moment at or after it with this weekday (0 is Monday) and time of day.
fn first_after(epoch: i64, weekday: Option<i64>, clock: i64) -> i64 {
    let period = if weekday.is_some() { 7 * DAY } else { DAY };
    // 1970-01-01 was a Thursday.
    let wanted = weekday.map_or(0, |w| (w - 3) * DAY) + clock;
    (wanted - epoch).rem_euclid(period)
}

/// Reads a date and time of the wall clock, `2026-07-03 18:00[:00]` or with a `T` between; seconds since 1970-01-01.
pub(super) fn parse_date_time(text: &str) -> Option<i64> {
    let (date, clock) = text.split_once([' ', 'T', 't'])?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let days = days_from_civil(digits(year, 4, 4)?, digits(month, 2, 2)?, digits(day, 2, 2)?)?;
    Some(days * DAY + parse_clock(clock)?)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar; `None` where there is no such date.
pub(super) fn days_from_civil(year: u32, month: u32, day: u32) -> Option<i64> {
    let leap = |y: i64| (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    let year = i64::from(year);
    let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month).ok()?.checked_sub(1)?;
    let length = *lengths.get(month)?;
    if day == 0 || day > length {
        return None;
    }
    let before: u32 = lengths[..month].iter().sum();
    // Leap years in the years 1 to y.
    let leaps = |y: i64| y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
    let years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    Some(years + i64::from(before) + i64::from(day) - 1)
}

fn parse_weekday(text: &str) -> Option<i64> {
    let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let text = text.to_ascii_lowercase();
    names.iter().position(|n| *n == text).and_then(|i| i64::try_from(i).ok())
}

/// `HH:MM` or `HH:MM:SS`, up to 23:59:59, in seconds.
fn parse_clock(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split(':').collect();
    let (hours, minutes, seconds) = match parts[..] {
        [h, m] => (digits(h, 2, 2)?, digits(m, 2, 2)?, 0),
        [h, m, s] => (digits(h, 2, 2)?, digits(m, 2, 2)?, digits(s, 2, 2)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60 && seconds < 60).then(|| i64::from(hours * 3600 + minutes * 60 + seconds))
}

fn digits(text: &str, least: usize, most: usize) -> Option<u32> {
    let fits = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Friday 2026-07-03, 12:00.
    fn epoch() -> Option<i64> {
        parse_date_time("2026-07-03T12:00")
    }

    #[test]
    fn reads_every_form() {
        let day = 86_400.0;
        let cases = [
            ("90", 90.0),
            ("1.5h", 5_400.0),
            ("250ms", 0.25),
            ("2d", 2.0 * day),
            ("0+00:00", 0.0),
            ("4+18:00", 4.0 * day + 64_800.0),
            ("4+18:00:01", 4.0 * day + 64_801.0),
            ("12:00", 0.0),
            ("18:00", 21_600.0),
            ("11:59:59", day - 1.0),
            ("Fri 18:00", 21_600.0),
            ("fri 11:00", 7.0 * day - 3_600.0),
            ("Mon 06:00", 2.75 * day),
            ("2026-07-03 12:00", 0.0),
            ("2026-07-10T12:00:30", 7.0 * day + 30.0),
        ];
        for (text, seconds) in cases {
            assert_eq!(parse_time(text, epoch()).map(|t| t.secs_f64()), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest() {
        let bad =
            ["", "-5", "5x", "inf", "5+", "+12:00", "5+24:00", "5+1:00", "Frei 12:00", "24:00", "12:60", "12:00:60"];
        for text in bad.into_iter().chain(["2026-07-03", "2026-02-29 12:00", "2026-13-01 00:00", "2026-07-03 12"]) {
            assert_eq!(parse_time(text, epoch()), Err(EXPECTED.to_owned()), "{text}");
        }
        let before = parse_time("2026-07-03 11:59", epoch());
        assert_eq!(before, Err("a date and time at or after the epoch".to_owned()));
        let missing = parse_time("Fri 18:00", None);
        assert_eq!(
            missing,
            Err("a time that needs no epoch, or an `epoch` in [site]; `Fri 18:00` is on the wall clock".to_owned())
        );
    }

    #[test]
    fn counts_days() {
        let cases = [((1970, 1, 1), 0), ((1969, 12, 31), -1), ((2000, 3, 1), 11_017), ((2026, 7, 3), 20_637)];
        for ((y, m, d), days) in cases {
            assert_eq!(days_from_civil(y, m, d), Some(days), "{y}-{m}-{d}");
        }
        assert_eq!(days_from_civil(1900, 2, 29), None);
    }
}
