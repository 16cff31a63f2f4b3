//! `[calendar.NAME]`: the keys of an entry.

use super::entry::{Days, End, Entry};
use super::rule::Rule;
use super::zone::Zone;
use crate::config::error::nearest;
use crate::config::reader::{Item, Section};
use crate::formats::error::quote;
use jiff::civil::{Date, DateTime, Time, Weekday};
use std::collections::BTreeSet;

/// What a rule begins with where nothing says it: a Monday, and the first day of a month and of a year.
const FIRST: Date = Date::constant(1900, 1, 1);

/// Reads the entries of the table that `item` is. `queues`: the names that there are.
pub(in crate::config) fn read(item: &Item<'_, '_>, queues: &[&str]) -> Vec<Entry> {
    let Some(table) = item.section() else { return Vec::new() };
    table.items().iter().filter_map(|item| read_entry(item, queues)).collect()
}

fn read_entry(item: &Item<'_, '_>, queues: &[&str]) -> Option<Entry> {
    let mut section = item.section()?;
    let (named, place) = read_queues(&mut section, queues).unzip();
    let zone = need(&mut section, "zone").and_then(|item| item.parse::<Zone>());
    let from = match section.take("from") {
        Some(item) => read_clock(&item, false).map(|(time, _)| time),
        None => Some(Time::midnight()),
    };
    let end = read_end(&mut section);
    let first = section.take("first").map(|item| read_date(&item));
    let except = section.take("except").map(|item| read_dates(&item));
    let mut except: BTreeSet<Date> = except.unwrap_or_default();
    let days = read_days(&mut section, first.flatten(), (from, zone.as_ref()), &mut except);
    section.finish();
    Some(Entry {
        name: item.name.clone(),
        queues: named?,
        zone: zone?,
        days: days?,
        from: from?,
        end: end?,
        except,
        place: place?,
    })
}

fn need<'r, 'a>(section: &mut Section<'r, 'a>, name: &'static str) -> Option<Item<'r, 'a>> {
    let item = section.take(name);
    if item.is_none() {
        section.reader.error(&section.key, section.span.clone(), format_args!("key `{name}` is missing"));
    }
    item
}

/// The names, and where they stand.
fn read_queues(section: &mut Section<'_, '_>, known: &[&str]) -> Option<(Vec<String>, String)> {
    let item = need(section, "queues")?;
    let mut named: Vec<String> = Vec::new();
    for item in item.one_or_more() {
        let name = item.string()?;
        if !known.contains(&name) {
            let near = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            let help = near.unwrap_or_else(|| format!("known are {}", known.join(", ")));
            item.error_help(format_args!("no queue {} is configured", quote(name)), help);
        } else if named.iter().any(|n| n == name) {
            item.error(format_args!("queue {} stands there twice", quote(name)));
        }
        named.push(name.to_owned());
    }
    if named.is_empty() {
        item.error("expected at least one queue");
        return None;
    }
    Some((named, section.reader.place(item.span())))
}

/// `HH:MM` or `HH:MM:SS`; with `midnight` also `24:00`, which is 00:00 of the next day.
fn read_clock(item: &Item<'_, '_>, midnight: bool) -> Option<(Time, bool)> {
    let text = item.moment()?;
    if midnight && matches!(text.as_str(), "24:00" | "24:00:00") {
        return Some((Time::midnight(), true));
    }
    let parts: Vec<&str> = text.split(':').collect();
    let digits = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    let number = |part: Option<&&str>| part.map_or(Some(0), |part| part.parse::<i8>().ok());
    let time = match parts.len() {
        2 | 3 if parts.iter().all(digits) => {
            let (hour, minute, second) = (number(parts.first()), number(parts.get(1)), number(parts.get(2)));
            hour.zip(minute).zip(second).and_then(|((h, m), s)| Time::new(h, m, s, 0).ok())
        }
        _ => None,
    };
    if time.is_none() {
        let last = if midnight { "24:00" } else { "23:59:59" };
        item.error(format_args!("expected a time of the day, \"00:00\" to \"{last}\", found {}", quote(&text)));
    }
    time.map(|time| (time, false))
}

/// `to` or `length`; neither: to the end of the day.
fn read_end(section: &mut Section<'_, '_>) -> Option<End> {
    match (section.take("to"), section.take("length")) {
        (None, None) => Some(End::At(Time::midnight())),
        (Some(to), None) => read_clock(&to, true).map(|(time, _)| End::At(time)),
        (None, Some(length)) => {
            let seconds = length.duration()?.micros() / 1_000_000;
            if !(1..=366 * 86_400).contains(&seconds) {
                length.error("expected a length from 1 s to 366 days");
                return None;
            }
            Some(End::After(seconds))
        }
        (Some(_), Some(length)) => {
            let message = "to and length exclude each other";
            section.reader.error_help(&length.key, length.key_span.clone(), message, "take one of them out");
            None
        }
    }
}

fn read_date(item: &Item<'_, '_>) -> Option<Date> {
    let text = item.moment()?;
    let day = if text.contains(['T', 't', ' ', ':']) { None } else { text.parse::<Date>().ok() };
    if day.is_none() {
        item.error(format_args!("expected a date as 2026-12-25, found {}", quote(&text)));
    }
    day
}

fn read_dates(item: &Item<'_, '_>) -> BTreeSet<Date> {
    item.one_or_more().iter().filter_map(read_date).collect()
}

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// `Mon-Fri`, `Sat`, with commas between; a range may go over the end of the week.
fn read_weekdays(item: &Item<'_, '_>) -> Option<Vec<Weekday>> {
    let day = |text: &str| {
        let index = WEEKDAYS.iter().position(|name| name.eq_ignore_ascii_case(text.trim()))?;
        Weekday::from_monday_zero_offset(index as i8).ok()
    };
    let mut days = Vec::new();
    for item in item.one_or_more() {
        for part in item.string()?.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (Some(from), Some(to)) = (day(from), day(to)) else {
                let help = "write \"Mon-Fri\", \"Sat, Sun\" or \"daily\" (Mon-Sun)";
                item.error_help(format_args!("expected weekdays, found {}", quote(part.trim())), help);
                return None;
            };
            days.extend((0..=to.since(from)).map(|n| from.wrapping_add(n)));
        }
    }
    Some(days)
}

/// Exactly one of `days`, `dates`, `rrule`.
fn read_days(
    section: &mut Section<'_, '_>,
    first: Option<Date>,
    when: (Option<Time>, Option<&Zone>),
    except: &mut BTreeSet<Date>,
) -> Option<Days> {
    let items: Vec<Item<'_, '_>> = ["days", "dates", "rrule"].into_iter().filter_map(|key| section.take(key)).collect();
    let item = match items.as_slice() {
        [item] => item,
        [] => {
            let message = "one of `days`, `dates`, `rrule` is needed";
            section.reader.error(&section.key, section.span.clone(), message);
            return None;
        }
        [_, other, ..] => {
            let message = "days, dates and rrule exclude each other";
            section.reader.error_help(&other.key, other.key_span.clone(), message, "take all but one of them out");
            return None;
        }
    };
    match item.name.as_str() {
        "days" if item.is_string() && item.string() == Some("daily") => {
            Some(Days::Rule(Rule::weekly(Weekday::Monday.cycle_forward().take(7), first.unwrap_or(FIRST))))
        }
        "days" => read_weekdays(item).map(|days| Days::Rule(Rule::weekly(days, first.unwrap_or(FIRST)))),
        "dates" => {
            let dates = read_dates(item);
            if dates.is_empty() {
                item.error("expected at least one date");
            }
            Some(Days::Dates(dates))
        }
        _ => read_rule(item, first, when, except),
    }
}

/// The value of an `RRULE`, or lines of iCalendar: `RRULE:…` and any number of `EXDATE…`.
fn read_rule(
    item: &Item<'_, '_>,
    first: Option<Date>,
    (from, zone): (Option<Time>, Option<&Zone>),
    except: &mut BTreeSet<Date>,
) -> Option<Days> {
    let mut rule = None;
    for line in item.string()?.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // A bare value begins with a part, `FREQ=…`; a line with its name, `EXDATE;TZID=…:…`.
        let is_line = |(name, _): &(&str, &str)| !name.split(';').next().unwrap_or_default().contains('=');
        let (name, value) = line.split_once(':').filter(is_line).unwrap_or(("RRULE", line));
        let word = name.split(';').next().unwrap_or_default().to_ascii_uppercase();
        match word.as_str() {
            "RRULE" if rule.is_some() => {
                item.error("expected one RRULE, found several");
                return None;
            }
            "RRULE" => match Rule::parse(value, first.unwrap_or(FIRST)) {
                Ok(read) => rule = Some(read),
                Err(error) => {
                    item.error(error);
                    return None;
                }
            },
            "EXDATE" => {
                for text in value.split(',') {
                    match read_exception(text.trim(), from?, zone?) {
                        Some(Some(day)) => drop(except.insert(day)),
                        // An instant at which the entry does not begin: nothing is taken out.
                        Some(None) => {}
                        None => {
                            item.error(format_args!(
                                "EXDATE: expected a date, or a date and time, found {}",
                                quote(text)
                            ));
                            return None;
                        }
                    }
                }
            }
            "DTSTART" => {
                item.error_help("DTSTART is not taken", "`first` says the first day, `from` when the entry begins");
                return None;
            }
            other => {
                item.error_help(format_args!("{} is not taken", quote(other)), "known are RRULE and EXDATE");
                return None;
            }
        }
    }
    let Some(rule) = rule else {
        item.error("expected an RRULE, found none");
        return None;
    };
    if rule.needs_first() && first.is_none() {
        let help = "add the first day on which it may begin, as first = \"2026-01-03\"";
        item.error_help("INTERVAL, COUNT, and a rule that names no days need `first`", help);
        return None;
    }
    Some(Days::Rule(rule))
}

/// The day that an `EXDATE` takes out, if the entry begins at that time of the day.
fn read_exception(text: &str, from: Time, zone: &Zone) -> Option<Option<Date>> {
    if let Some(wall) = text.strip_suffix(['Z', 'z']) {
        let wall: DateTime = wall.parse().ok()?;
        let at = jiff::tz::TimeZone::UTC.to_timestamp(wall).ok()?.as_second();
        let day = zone.wall(at)?.date();
        return Some((zone.instant(day.to_datetime(from)) == Some(at)).then_some(day));
    }
    if text.contains(['T', 't']) {
        let wall: DateTime = text.parse().ok()?;
        return Some((wall.time() == from).then_some(wall.date()));
    }
    text.parse().ok().map(Some)
}
