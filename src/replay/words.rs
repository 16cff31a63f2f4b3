//! Words for what the site says, for reports and logs.

use crate::base::Timestamp;
use crate::site::{Denial, StartMode, Why};

/// Why a job was denied.
pub fn denial(denial: &Denial) -> String {
    match denial {
        Denial::UnknownQueue(name) => format!("no queue {name}"),
        Denial::NoQueue => "no queue named, and there is no default".to_owned(),
        Denial::Disabled(reason) if reason.is_empty() => "the queue is disabled".to_owned(),
        Denial::Disabled(reason) => format!("the queue is disabled: {reason}"),
        Denial::Limit { limit, asked, allowed } => format!("{limit}: asked {asked}, allowed {allowed}"),
        Denial::DuplicateId => "its id is taken".to_owned(),
        Denial::Reason(reason) => reason.to_string(),
    }
}

/// What there is to say about why a job stands where it stands; empty where there is nothing.
pub fn why(why: &Why) -> String {
    match why {
        Why::Nothing => String::new(),
        Why::Reason(reason) => reason.to_string(),
        Why::Held(reason) => reason.to_string(),
        Why::Denied(reason) => denial(reason),
    }
}

/// How a start is meant, to stand behind a queue's name.
pub fn mode(mode: &StartMode) -> String {
    let take = if mode.take { " take" } else { "" };
    let group = match &mode.group {
        None => String::new(),
        Some(g) => {
            let min = g.min.map_or(String::new(), |n| format!(" of at least {n}"));
            format!(" as a group{min} until {}", g.give_up)
        }
    };
    let waves = mode.max_leaving.map_or(String::new(), |n| format!(" at most {n} leaving at a time"));
    format!("{take}{group}{waves}")
}

/// An instant as people read it: seconds, and the date where the wall clock at time 0 (seconds since 1970) is known.
pub fn instant(at: Timestamp, epoch: Option<i64>) -> String {
    match epoch.and_then(|epoch| date(at, epoch)) {
        Some(date) => format!("{at} ({date})"),
        None => at.to_string(),
    }
}

/// The date and time of an instant on the wall clock; `None` where it is out of range.
pub fn date(at: Timestamp, epoch: i64) -> Option<String> {
    if at.is_never() {
        return None;
    }
    let seconds = epoch.checked_add(at.micros().div_euclid(1_000_000))?;
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days)?;
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days.rem_euclid(7) as usize];
    Some(format!("{weekday} {year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60))
}

/// Year, month and day of a number of days since 1970-01-01, in the proleptic Gregorian calendar.
fn civil(days: i64) -> Option<(i64, u32, u32)> {
    // Years from March make the leap day the last of its year; 400 years are 146,097 days.
    if !(-700_000..=2_900_000).contains(&days) {
        return None;
    }
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * from_march + 2) / 5 + 1) as u32;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 } as u32;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    Some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let cases = [
            (0, "Thu 1970-01-01 00:00:00"),
            (843_480_031, "Mon 1996-09-23 12:00:31"),
            (951_782_400, "Tue 2000-02-29 00:00:00"),
            (4_107_542_399, "Sun 2100-02-28 23:59:59"),
            (-1, "Wed 1969-12-31 23:59:59"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(date(Timestamp::from_secs(seconds), 0).unwrap(), expected);
        }
        assert_eq!(date(Timestamp::NEVER, 0), None);
        assert_eq!(instant(Timestamp::from_secs(90), Some(0)), "90 (Thu 1970-01-01 00:01:30)");
        assert_eq!(instant(Timestamp::from_secs(90), None), "90");
    }
}
