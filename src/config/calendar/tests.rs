//! Rules against the examples of RFC 5545; the clock changes of 2026 and 2027, worked out by hand from the rules of each
//! zone; what is refused.

use super::*;
use crate::config::Config;
use jiff::civil::Date;

fn date(text: &str) -> Date {
    text.parse().expect("a date")
}

/// Seconds since 1970 UTC of an instant written out.
fn utc(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().expect("an instant").as_second()
}

/// A calendar of entries of the queue `q`.
fn calendar(entries: &str) -> Calendar {
    let text = format!("[queues.q]\n[queues.r]\n{entries}");
    Config::parse(&text, "c.toml").unwrap_or_else(|e| panic!("{e}")).calendar
}

#[test]
fn rules_give_the_days_of_the_rfc() {
    // The rule, its first day, and its first days; all from section 3.8.5.3 of the RFC.
    let cases = [
        ("FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09-02", "1997-09-02 09-12 09-22 10-02 10-12 ."),
        ("FREQ=DAILY;UNTIL=19970905T090000", "1997-09-02", "1997-09-02 09-03 09-04 09-05 ."),
        (
            "FREQ=YEARLY;UNTIL=20000131;BYMONTH=1;BYDAY=SU",
            "1999-01-01",
            "1999-01-03 01-10 01-17 01-24 01-31 2000-01-02 01-09 01-16 01-23 01-30 .",
        ),
        ("FREQ=WEEKLY;COUNT=3", "1997-09-02", "1997-09-02 09-09 09-16 ."),
        (
            "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
            "1997-09-02",
            "1997-09-02 09-04 09-16 09-18 09-30 10-02 10-14 10-16 .",
        ),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05", "1997-08-05 08-10 08-19 08-24 ."),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05", "1997-08-05 08-17 08-19 08-31 ."),
        (
            "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
            "1997-09-05",
            "1997-09-05 10-03 11-07 12-05 1998-01-02 02-06 03-06 04-03 05-01 06-05 .",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
            "1997-09-07",
            "1997-09-07 09-28 11-02 11-30 1998-01-04 01-25 03-01 03-29 05-03 05-31 .",
        ),
        ("FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "1997-09-22", "1997-09-22 10-20 11-17 12-22 1998-01-19 02-16 ."),
        ("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28", "1997-09-28 10-29 11-28 12-29 1998-01-29 02-26"),
        (
            "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
            "1997-09-30",
            "1997-09-30 10-01 10-31 11-01 11-30 12-01 12-31 1998-01-01 01-31 02-01 .",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
            "1997-09-10",
            "1997-09-10 09-11 09-12 09-13 09-14 09-15 1999-03-10 03-11 03-12 03-13 .",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
            "1997-09-02",
            "1997-09-02 09-09 09-16 09-23 09-30 11-04 11-11 11-18 11-25 1998-01-06",
        ),
        ("FREQ=YEARLY;COUNT=4;BYMONTH=6,7", "1997-06-10", "1997-06-10 07-10 1998-06-10 07-10 ."),
        (
            "FREQ=YEARLY;INTERVAL=2;COUNT=5;BYMONTH=1,2,3",
            "1997-03-10",
            "1997-03-10 1999-01-10 02-10 03-10 2001-01-10 .",
        ),
        ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19", "1997-05-19 1998-05-18 1999-05-17"),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "1997-03-13", "1997-03-13 03-20 03-27 1998-03-05 03-12 03-19 03-26"),
        (
            "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8;COUNT=14",
            "1997-06-05",
            "1997-06-05 06-12 06-19 06-26 07-03 07-10 07-17 07-24 07-31 08-07 08-14 08-21 08-28 1998-06-04 .",
        ),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "1997-09-02", "1998-02-13 03-13 11-13 1999-08-13 2000-10-13"),
        ("FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "1997-09-13", "1997-09-13 10-11 11-08 12-13 1998-01-10"),
        (
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
            "1996-11-05",
            "1996-11-05 2000-11-07 2004-11-02",
        ),
        ("FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04", "1997-09-04 10-07 11-06 ."),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "1997-09-29", "1997-09-29 10-30 11-27 12-30 1998-01-29"),
        ("FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15", "2007-01-15 01-30 02-15 03-15 03-30 ."),
        // Not the RFC's: a day that most months do not have, a leap day, a rule that never is.
        ("FREQ=MONTHLY;COUNT=3", "2026-01-31", "2026-01-31 03-31 05-31 ."),
        ("FREQ=YEARLY;COUNT=2", "2024-02-29", "2024-02-29 2028-02-29 ."),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "2024-01-01", "."),
        ("FREQ=DAILY;BYMONTH=1;BYDAY=SA;BYMONTHDAY=-1", "2026-01-01", "2026-01-31"),
    ];
    for (text, first, expected) in cases {
        let rule = Rule::parse(text, date(first)).unwrap_or_else(|e| panic!("{text}: {e}"));
        let zone: Zone = "America/New_York".parse().expect("a zone");
        let goes_on = |day: Date| rule.begins_by_until(day.at(9, 0, 0, 0), &zone);
        let last = date(if expected.starts_with('.') { "2100-01-01" } else { "2030-01-01" });
        let all = rule.days(date(first), last, goes_on);
        let mut year = String::new();
        let mut days = Vec::new();
        for word in expected.split(' ').filter(|word| *word != ".") {
            if word.len() == 10 {
                year = word[..5].to_owned();
            }
            days.push(if word.len() == 10 { date(word) } else { date(&format!("{year}{word}")) });
        }
        let ends = expected.ends_with('.');
        assert_eq!(&all[..all.len().min(days.len())], days, "{text}");
        assert!(!ends || all.len() == days.len(), "{text}: goes on with {:?}", all.get(days.len()));
        // A later range has the same days, whether its periods were counted or jumped to.
        for from in ["1998-03-01", "2003-11-07", "2025-06-15"] {
            let tail: Vec<Date> = all.iter().copied().filter(|day| *day >= date(from)).collect();
            assert_eq!(rule.days(date(from), last, goes_on), tail, "{text} from {from}");
        }
    }
}

#[test]
fn rules_say_what_is_wrong() {
    let cases = [
        ("INTERVAL=2", "FREQ is missing"),
        ("FREQ=HOURLY", "FREQ: expected DAILY, WEEKLY, MONTHLY or YEARLY, found \"HOURLY\""),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL: expected a number from 1 to 100000, found \"0\""),
        ("FREQ=DAILY;COUNT=2;UNTIL=20260101", "COUNT and UNTIL exclude each other"),
        ("FREQ=DAILY;FREQ=DAILY", "FREQ stands there twice"),
        ("FREQ=WEEKLY;BYDAY=2MO", "numbered weekdays go with FREQ=MONTHLY and YEARLY only"),
        ("FREQ=WEEKLY;BYMONTHDAY=2", "BYMONTHDAY does not go with FREQ=WEEKLY"),
        ("FREQ=MONTHLY;BYDAY=0MO", "BYDAY: expected weekdays as MO, 2SA or -1FR, found \"0MO\""),
        ("FREQ=MONTHLY;BYDAY=ä", "BYDAY: expected weekdays as MO, 2SA or -1FR, found \"ä\""),
        ("FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS needs another BY… to pick from"),
        ("FREQ=DAILY;BYHOUR=3", "BYHOUR is not taken: `from` says when the entry begins"),
        ("FREQ=YEARLY;BYWEEKNO=3", "BYWEEKNO is not taken: say it with BYMONTH, BYMONTHDAY and BYDAY"),
        ("FREQ=DAILY;UNTIL=soon", "UNTIL: expected a date, or a date and time, found \"soon\""),
        ("FREQ=DAILY;BYMONTH=13", "BYMONTH: expected months from 1 to 12, found \"13\""),
        ("FREQ=DAILY;RATE=1", "RATE is not taken: it is no part of a rule (RFC 5545, 3.3.10)"),
        ("weekly", "expected NAME=VALUE, found \"weekly\""),
    ];
    for (text, expected) in cases {
        assert_eq!(
            Rule::parse(text, date("2026-01-01")).map_err(|e| e.to_string()),
            Err(expected.to_owned()),
            "{text}"
        );
    }
}

/// The clock changes. America/Los_Angeles: second Sunday of March 02:00 PST (UTC-8) to 03:00 PDT (UTC-7), first Sunday of
/// November 02:00 PDT to 01:00 PST. Europe/Berlin: last Sundays of March and October at 01:00 UTC, CET (UTC+1) and CEST
/// (UTC+2). Australia/Sydney: first Sunday of October 02:00 AEST (UTC+10) to 03:00 AEDT (UTC+11), first Sunday of April
/// 03:00 AEDT to 02:00 AEST. Asia/Tokyo: UTC+9 always.
#[test]
fn clock_changes_are_right() {
    let gap = ("02:30", "04:00");
    let night = ("18:00", "08:00");
    let cases = [
        // A night is an hour shorter or longer.
        ("America/Los_Angeles", "2026-03-06", night, "2026-03-07T02:00Z", "2026-03-07T16:00Z"),
        ("America/Los_Angeles", "2026-03-07", night, "2026-03-08T02:00Z", "2026-03-08T15:00Z"),
        ("America/Los_Angeles", "2026-03-08", night, "2026-03-09T01:00Z", "2026-03-09T15:00Z"),
        ("America/Los_Angeles", "2026-10-31", night, "2026-11-01T01:00Z", "2026-11-01T16:00Z"),
        ("America/Los_Angeles", "2027-03-13", night, "2027-03-14T02:00Z", "2027-03-14T15:00Z"),
        ("America/Los_Angeles", "2027-11-06", night, "2027-11-07T01:00Z", "2027-11-07T16:00Z"),
        ("Europe/Berlin", "2026-03-28", night, "2026-03-28T17:00Z", "2026-03-29T06:00Z"),
        ("Europe/Berlin", "2026-10-24", night, "2026-10-24T16:00Z", "2026-10-25T07:00Z"),
        ("Europe/Berlin", "2027-03-27", night, "2027-03-27T17:00Z", "2027-03-28T06:00Z"),
        ("Europe/Berlin", "2027-10-30", night, "2027-10-30T16:00Z", "2027-10-31T07:00Z"),
        ("Australia/Sydney", "2026-04-04", night, "2026-04-04T07:00Z", "2026-04-04T22:00Z"),
        ("Australia/Sydney", "2026-10-03", night, "2026-10-03T08:00Z", "2026-10-03T21:00Z"),
        ("Australia/Sydney", "2027-04-03", night, "2027-04-03T07:00Z", "2027-04-03T22:00Z"),
        ("Australia/Sydney", "2027-10-02", night, "2027-10-02T08:00Z", "2027-10-02T21:00Z"),
        ("Asia/Tokyo", "2026-03-07", night, "2026-03-07T09:00Z", "2026-03-07T23:00Z"),
        ("Asia/Tokyo", "2026-11-01", night, "2026-11-01T09:00Z", "2026-11-01T23:00Z"),
        ("Asia/Tokyo", "2027-03-28", night, "2027-03-28T09:00Z", "2027-03-28T23:00Z"),
        // 02:30 is skipped: it is 03:30.
        ("America/Los_Angeles", "2026-03-08", gap, "2026-03-08T10:30Z", "2026-03-08T11:00Z"),
        ("America/Los_Angeles", "2027-03-14", gap, "2027-03-14T10:30Z", "2027-03-14T11:00Z"),
        ("Europe/Berlin", "2026-03-29", gap, "2026-03-29T01:30Z", "2026-03-29T02:00Z"),
        ("Europe/Berlin", "2027-03-28", gap, "2027-03-28T01:30Z", "2027-03-28T02:00Z"),
        ("Australia/Sydney", "2026-10-04", gap, "2026-10-03T16:30Z", "2026-10-03T17:00Z"),
        ("Australia/Sydney", "2027-10-03", gap, "2027-10-02T16:30Z", "2027-10-02T17:00Z"),
        ("Asia/Tokyo", "2026-03-29", gap, "2026-03-28T17:30Z", "2026-03-28T19:00Z"),
        // The time comes twice: it is the first of them, at both ends.
        ("America/Los_Angeles", "2026-11-01", ("01:30", "02:30"), "2026-11-01T08:30Z", "2026-11-01T10:30Z"),
        ("America/Los_Angeles", "2026-11-01", ("00:30", "01:30"), "2026-11-01T07:30Z", "2026-11-01T08:30Z"),
        ("America/Los_Angeles", "2027-11-07", ("01:30", "02:30"), "2027-11-07T08:30Z", "2027-11-07T10:30Z"),
        ("Europe/Berlin", "2026-10-25", ("02:30", "03:30"), "2026-10-25T00:30Z", "2026-10-25T02:30Z"),
        ("Europe/Berlin", "2027-10-31", ("02:30", "03:30"), "2027-10-31T00:30Z", "2027-10-31T02:30Z"),
        ("Australia/Sydney", "2026-04-05", ("02:30", "03:30"), "2026-04-04T15:30Z", "2026-04-04T17:30Z"),
        ("Australia/Sydney", "2027-04-04", ("02:30", "03:30"), "2027-04-03T15:30Z", "2027-04-03T17:30Z"),
    ];
    for (zone, day, (from, to), begins, ends) in cases {
        let seconds = |text: &str| utc(&text.replace('Z', ":00Z"));
        for days in [format!("dates = {day}"), "days = \"daily\"".to_owned()] {
            let text =
                format!("[calendar.x]\nqueues = \"q\"\nzone = \"{zone}\"\n{days}\nfrom = \"{from}\"\nto = \"{to}\"\n");
            let calendar = calendar(&text);
            let (begins, ends) = (seconds(begins), seconds(ends));
            let middle = (begins + ends) / 2;
            let found = calendar.entries[0].occurrences(middle, middle);
            assert_eq!(found, [(begins, ends)], "{zone} {day} {from}-{to} {days}");
            let at = Timestamp::from_secs;
            assert!(calendar.is_on("q", at(begins)) && calendar.is_on("q", at(ends - 1)), "{zone} {day}");
            assert!(!calendar.is_on("q", at(begins - 1)) && !calendar.is_on("q", at(ends)), "{zone} {day}");
        }
    }
}

#[test]
fn lengths_are_those_of_the_wall_clock() {
    let at = |days: &str| {
        let calendar = calendar(&format!(
            "[calendar.x]\nqueues = \"q\"\nzone = \"America/Los_Angeles\"\n{days}\nfrom = \"12:00\"\nlength = \"24h\"\n"
        ));
        let found = calendar.entries[0].occurrences(utc("2026-01-01T00:00:00Z"), utc("2027-01-01T00:00:00Z"));
        found.iter().map(|(from, until)| (until - from) / 3600).collect::<Vec<_>>()
    };
    assert_eq!(at("dates = [2026-03-07, 2026-03-08, 2026-10-31]"), [23, 24, 25]);
    // Nothing is left of what lies in the hour that is skipped.
    let calendar = calendar(
        "[calendar.x]\nqueues = \"q\"\nzone = \"Europe/Berlin\"\ndates = 2026-03-29\nfrom = \"02:30\"\nto = \"03:15\"\n",
    );
    assert_eq!(calendar.entries[0].occurrences(utc("2026-03-28T00:00:00Z"), utc("2026-03-30T00:00:00Z")), []);
}

#[test]
fn entries_of_a_queue_are_one_level() {
    let mut calendar = calendar(
        "[calendar.evening]\nqueues = \"q\"\nzone = \"UTC\"\ndays = \"Mon-Fri\"\nfrom = \"18:00\"\n\
         [calendar.morning]\nqueues = [\"q\", \"r\"]\nzone = \"UTC\"\ndays = \"Tue-Sat\"\nto = \"08:00\"\n\
         except = [2026-07-04]\n",
    );
    // A Thursday, 12:00.
    calendar.origin = utc("2026-07-02T12:00:00Z");
    let hours = |n: i64| Timestamp::from_secs(n * 3600);
    let show = |b: &Boundary| (b.at.micros() / 3_600_000_000, b.queue.clone(), b.on, b.entries.join("+"));
    let all: Vec<_> = calendar.boundaries(hours(0), hours(36)).iter().map(show).collect();
    let b = |at, queue: &str, on, entries: &str| (at, queue.to_owned(), on, entries.to_owned());
    let expected = [
        b(6, "q", true, "evening"),
        b(12, "r", true, "morning"),
        b(20, "q", false, "morning"),
        b(20, "r", false, "morning"),
        b(30, "q", true, "evening"),
        b(36, "q", false, "evening"),
    ];
    assert_eq!(all, expected);
    // The same whatever the range that is asked for.
    for n in 0..36 {
        let part = calendar.boundaries(hours(n), hours(n + 1));
        let inside = all.iter().filter(|(at, ..)| n < *at && *at <= n + 1).count();
        assert_eq!(part.len(), inside, "hour {n}");
    }
}

#[test]
fn exceptions_and_rules_of_icalendar() {
    let first = |when: &str| {
        let calendar = calendar(&format!(
            "[calendar.x]\nqueues = \"q\"\nzone = \"America/Los_Angeles\"\nfrom = \"18:00\"\n{when}\n"
        ));
        let found = calendar.entries[0].occurrences(utc("2026-12-01T00:00:00Z"), utc("2027-02-01T00:00:00Z"));
        let zone = &calendar.entries[0].zone;
        found
            .iter()
            .filter_map(|o| zone.wall(o.0))
            .map(|w| w.date().to_string()[5..].to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let cases = [
        ("days = \"Fri\"\nexcept = \"2026-12-25\"", "12-04 12-11 12-18 01-01 01-08 01-15 01-22 01-29"),
        ("rrule = \"FREQ=WEEKLY;INTERVAL=2;BYDAY=SA\"\nfirst = 2026-01-03", "12-05 12-19 01-02 01-16 01-30"),
        (
            "rrule = \"\"\"\nRRULE:FREQ=WEEKLY;BYDAY=FR;UNTIL=20261231T000000Z\nEXDATE:20261211,20261218T180000\n\"\"\"",
            "12-04 12-25",
        ),
        // 18:00 on 2026-12-18 is 02:00 UTC of the next day; an exception at another time takes nothing out.
        (
            "rrule = \"\"\"\nRRULE:FREQ=WEEKLY;BYDAY=FR;UNTIL=20261226T020000Z\nEXDATE;TZID=America/Los_Angeles:20261211T170000\nEXDATE:20261219T020000Z\n\"\"\"",
            "12-04 12-11 12-25",
        ),
        ("rrule = \"FREQ=MONTHLY;BYDAY=-1FR\"", "12-25 01-29"),
        (
            "days = [\"Sat-Mon\"]\nexcept = [2026-12-05, 2026-12-06, 2026-12-07]\nfirst = 2026-12-05",
            "12-12 12-13 12-14 12-19 12-20 12-21 12-26 12-27 12-28 01-02 01-03 01-04 01-09 01-10 01-11 01-16 01-17 01-18 01-23 01-24 01-25 01-30",
        ),
    ];
    for (when, expected) in cases {
        assert_eq!(first(when), expected, "{when}");
    }
}

#[test]
fn errors_say_where() {
    let cases = [
        (
            "queues = \"p\"\nzone = \"UTC\"\ndays = \"daily\"",
            "c.toml:3:10: calendar.x.queues: no queue `p` is configured (known are q)",
        ),
        (
            "queues = \"q\"\nzone = \"Europe/Berlni\"\ndays = \"daily\"",
            "c.toml:4:8: calendar.x.zone: no time zone \"Europe/Berlni\": expected a name of the IANA database, as America/Los_Angeles, Europe/Berlin or UTC",
        ),
        ("queues = \"q\"\nzone = \"UTC\"", "c.toml:2:11: calendar.x: one of `days`, `dates`, `rrule` is needed"),
        ("zone = \"UTC\"\ndays = \"daily\"", "c.toml:2:11: calendar.x: key `queues` is missing"),
        (
            "queues = \"q\"\nzone = \"UTC\"\ndays = \"Mon-Fir\"",
            "c.toml:5:8: calendar.x.days: expected weekdays, found `Mon-Fir` (write \"Mon-Fri\", \"Sat, Sun\" or \"daily\" (Mon-Sun))",
        ),
        (
            "queues = \"q\"\nzone = \"UTC\"\ndays = \"daily\"\nfrom = \"24:00\"",
            "c.toml:6:8: calendar.x.from: expected a time of the day, \"00:00\" to \"23:59:59\", found `24:00`",
        ),
        (
            "queues = \"q\"\nzone = \"UTC\"\ndays = \"daily\"\nto = \"08:00\"\nlength = \"1h\"",
            "c.toml:7:1: calendar.x.length: to and length exclude each other (take one of them out)",
        ),
        (
            "queues = \"q\"\nzone = \"UTC\"\nrrule = \"FREQ=WEEKLY;INTERVAL=2;BYDAY=SA\"",
            "c.toml:5:9: calendar.x.rrule: INTERVAL, COUNT, and a rule that names no days need `first` (add the first day on which it may begin, as first = \"2026-01-03\")",
        ),
        (
            "queues = \"q\"\nzone = \"UTC\"\ndates = \"2026-02-29\"",
            "c.toml:5:9: calendar.x.dates: expected a date as 2026-12-25, found `2026-02-29`",
        ),
        (
            "queues = \"q\"\nzone = \"UTC\"\ndays = \"daily\"\nexcepts = 2026-12-25",
            "c.toml:6:1: calendar.x: unknown key `excepts` (did you mean `except`?)",
        ),
    ];
    for (entry, expected) in cases {
        let errors = Config::parse(&format!("[queues.q]\n[calendar.x]\n{entry}\n"), "c.toml").expect_err(entry);
        assert!(errors.to_string().lines().any(|line| line == expected), "{entry}\n{errors}\n{expected}");
    }
}

#[test]
fn a_calendar_is_the_same_after_json() {
    let calendar = calendar(
        "[calendar.x]\nqueues = \"q\"\nzone = \"Australia/Sydney\"\nfrom = \"18:00\"\nto = \"08:00\"\nfirst = 2026-01-02\n\
         rrule = \"FREQ=MONTHLY;INTERVAL=2;BYDAY=-1FR,1MO;BYSETPOS=1;WKST=SU;UNTIL=20301231T000000Z\"\nexcept = 2026-12-25\n",
    );
    let text = serde_json::to_string(&calendar).expect("JSON");
    assert_eq!(serde_json::from_str::<Calendar>(&text).expect("a calendar"), calendar);
}
