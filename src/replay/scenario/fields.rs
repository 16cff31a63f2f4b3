//! Strict reading of TOML tables: what is not asked for is an error, and every error has a line.
//!
//! A [`Fields`] is one table being read. Each getter names a key, which makes it known; [`Fields::finish`] reports the
//! keys that nobody asked for. Errors go to the [`Source`], so that reading goes on and all of them are found. A getter
//! that found an error answers as if the key were absent; what is built from it is thrown away in the end.

use super::error::ScenarioError;
use super::time::{self, parse_time};
use crate::base::{Duration, Timestamp};
use crate::config::{Config, nearest};
use crate::formats::duration;
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text that is read, and what was found wrong with it.
pub(super) struct Source<'t> {
    pub(super) file: &'t Path,
    pub(super) text: &'t str,
    /// The wall clock at time 0, once known.
    pub(super) epoch: Cell<Option<i64>>,
    /// What its configuration says, once known.
    pub(super) config: RefCell<Config>,
    /// Where queues are named, with their names.
    queues: RefCell<Vec<(Range<usize>, String, String)>>,
    /// Where instances are named, with their names.
    pub(super) instances: RefCell<Vec<(Range<usize>, String)>>,
    errors: RefCell<Vec<ScenarioError>>,
}

impl<'t> Source<'t> {
    pub(super) fn new(file: &'t Path, text: &'t str) -> Self {
        Source {
            file,
            text,
            epoch: Cell::new(None),
            config: RefCell::default(),
            queues: RefCell::default(),
            instances: RefCell::default(),
            errors: RefCell::default(),
        }
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, byte: usize) -> usize {
        1 + self.text.as_bytes()[..byte.min(self.text.len())].iter().filter(|b| **b == b'\n').count()
    }

    pub(super) fn push(&self, error: ScenarioError) {
        self.errors.borrow_mut().push(error);
    }

    pub(super) fn wrong(&self, span: Range<usize>, key: &str, expected: impl Into<String>, found: impl Into<String>) {
        let (file, line) = (self.file.to_owned(), self.line(span.start));
        self.push(ScenarioError::Value { file, line, key: key.into(), expected: expected.into(), found: found.into() });
    }

    pub(super) fn conflict(&self, line: usize, message: impl Into<String>) {
        self.push(ScenarioError::Conflict { file: self.file.to_owned(), line, message: message.into() });
    }

    /// A conflict inside the table that `item` is.
    pub(super) fn conflict_at<T>(&self, item: &Item<'_, '_>, message: &str) -> Option<T> {
        self.conflict(item.line(), format!("`{}`: {message}", item.key));
        None
    }

    /// Reports the queues that were named and are neither configured nor among `created`. Says nothing where the
    /// configuration could not be read.
    pub(super) fn check_queues(&self, created: &[&str]) {
        let unread = |e: &ScenarioError| matches!(e, ScenarioError::Config(_) | ScenarioError::Io { .. });
        if self.errors.borrow().iter().any(unread) {
            return;
        }
        self.check_queues_of(&self.config.borrow(), "this scenario", created, 0);
    }

    /// How many queues were named so far.
    pub(super) fn queues_named(&self) -> usize {
        self.queues.borrow().len()
    }

    /// Reports the queues named from a point on that this configuration, that of `whose`, does not have, and forgets them.
    pub(super) fn check_queues_of(&self, config: &Config, whose: &str, created: &[&str], from: usize) {
        let mut known: Vec<&str> = config.queues.keys().map(String::as_str).collect();
        if known.is_empty() {
            known.push("default");
        }
        known.extend(created);
        for (span, key, name) in
            self.queues.borrow_mut().drain(from..).filter(|(_, _, name)| !known.contains(&name.as_str()))
        {
            let near =
                nearest(&name, known.iter().copied()).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            let expected = format!("a queue of {whose} (there are {}{near})", known.join(", "));
            self.wrong(span, &key, expected, format!("{name:?}"));
        }
    }

    /// All errors, by line.
    pub(super) fn into_errors(self) -> Vec<ScenarioError> {
        let mut errors = self.errors.into_inner();
        errors.sort_by_key(ScenarioError::line);
        errors
    }
}

/// A value with the key that it stands under and its place.
#[derive(Clone, Copy)]
pub(super) struct Item<'s, 't> {
    pub(super) src: &'s Source<'t>,
    pub(super) key: &'s str,
    pub(super) value: &'s Spanned<DeValue<'t>>,
}

impl<'s, 't> Item<'s, 't> {
    pub(super) fn line(&self) -> usize {
        self.src.line(self.value.span().start)
    }

    /// Records that the value is not what was expected.
    pub(super) fn wrong<T>(&self, expected: impl Into<String>) -> Option<T> {
        self.src.wrong(self.value.span(), self.key, expected, describe(self.value.get_ref()));
        None
    }

    pub(super) fn text(&self) -> Option<&'s str> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text),
            _ => self.wrong("a string"),
        }
    }

    pub(super) fn name(&self) -> Option<String> {
        match self.value.get_ref() {
            DeValue::String(text) if !text.is_empty() => Some(text.to_string()),
            _ => self.wrong("a string that is not empty"),
        }
    }

    /// A user: a number, or a name that `[users]` has.
    pub(super) fn user(&self) -> Option<u32> {
        let DeValue::String(name) = self.value.get_ref() else { return self.small(0) };
        let config = self.src.config.borrow();
        config.people.number(name).or_else(|| {
            let near = nearest(name, config.people.users.keys().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            self.wrong(format!("the number of a user, or a name that [users] has{near}"))
        })
    }

    /// The name of a queue that the scenario must have.
    pub(super) fn queue(&self) -> Option<String> {
        let name = self.name()?;
        self.names_queue(&name);
        Some(name)
    }

    /// Notes that a queue is named here, which the scenario must have.
    pub(super) fn names_queue(&self, name: &str) {
        self.src.queues.borrow_mut().push((self.value.span(), self.key.to_owned(), name.to_owned()));
    }

    /// The name of an instance that the scenario must have.
    pub(super) fn instance(&self) -> Option<String> {
        let name = self.name()?;
        self.src.instances.borrow_mut().push((self.value.span(), name.clone()));
        Some(name)
    }

    pub(super) fn queues(&self) -> Option<Vec<String>> {
        self.items()?.iter().map(Item::queue).collect()
    }

    /// A hostlist (RFC 29) that is not empty, as it is written.
    pub(super) fn hosts(&self) -> Option<String> {
        let text = self.text()?;
        match Hostlist::parse(text) {
            Ok(hosts) if !hosts.is_empty() => Some(text.to_owned()),
            Ok(_) => self.wrong("a hostlist that is not empty"),
            Err(error) => self.wrong(format!("a hostlist ({error})")),
        }
    }

    /// An idset (RFC 22) that is not empty, as it is written.
    pub(super) fn ids(&self) -> Option<String> {
        let text = self.text()?;
        match Idset::parse(text) {
            Ok(ids) if !ids.is_empty() => Some(text.to_owned()),
            Ok(_) => self.wrong("an idset that is not empty"),
            Err(error) => self.wrong(format!("an idset ({error})")),
        }
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.wrong("true or false"),
        }
    }

    /// A whole number in `range`.
    pub(super) fn integer(&self, range: Range<u64>) -> Option<u64> {
        match self.value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        }
        .filter(|n| range.contains(n))
        .or_else(|| self.wrong(format!("a whole number from {} to {}", range.start, range.end - 1)))
    }

    pub(super) fn small(&self, least: u32) -> Option<u32> {
        self.integer(u64::from(least)..1 << 32).and_then(|n| u32::try_from(n).ok())
    }

    /// A number that `fits`, as `expected` says.
    pub(super) fn number(&self, expected: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
        number(self.value.get_ref()).filter(|n| n.is_finite() && fits(*n)).or_else(|| self.wrong(expected))
    }

    /// One of `words`.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let found = match self.value.get_ref() {
            DeValue::String(text) => words.iter().find(|(word, _)| *word == text.as_ref()).map(|(_, value)| *value),
            _ => None,
        };
        found.or_else(|| {
            let quoted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let near = match self.value.get_ref() {
                DeValue::String(text) => nearest(text, words.iter().map(|(word, _)| *word)),
                _ => None,
            };
            let near = near.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
            self.wrong(format!("one of {}{near}", quoted.join(", ")))
        })
    }

    pub(super) fn duration(&self) -> Option<Duration> {
        let length = match self.value.get_ref() {
            DeValue::String(text) => duration::parse(text).ok(),
            other => number(other).and_then(Duration::from_secs_f64),
        };
        length.or_else(|| self.wrong("a duration: seconds or a Flux duration like \"90m\""))
    }

    pub(super) fn time(&self) -> Option<Timestamp> {
        let parsed = match self.value.get_ref() {
            DeValue::String(text) => parse_time(text, self.src.epoch.get()),
            DeValue::Datetime(moment) => parse_time(&moment.to_string(), self.src.epoch.get()),
            other => {
                let seconds = number(other).filter(|n| *n >= 0.0 && n.is_finite());
                seconds.and_then(Timestamp::from_secs_f64).ok_or_else(|| time::EXPECTED.to_owned())
            }
        };
        parsed.map_or_else(|expected| self.wrong(expected), Some)
    }

    /// Two times, the second not before the first.
    pub(super) fn times(&self) -> Option<(Timestamp, Timestamp)> {
        let items = self.items()?;
        match items.as_slice() {
            [from, to] => {
                let (from, to) = (from.time()?, to.time()?);
                if from <= to { Some((from, to)) } else { self.wrong("the earlier time first") }
            }
            _ => self.wrong("two times, [from, to]"),
        }
    }

    pub(super) fn items(&self) -> Option<Vec<Item<'s, 't>>> {
        match self.value.get_ref() {
            DeValue::Array(values) => {
                Some(values.iter().map(|value| Item { src: self.src, key: self.key, value }).collect())
            }
            _ => self.wrong("an array"),
        }
    }

    pub(super) fn names(&self) -> Option<Vec<String>> {
        self.items()?.iter().map(Item::name).collect()
    }

    /// The value as a table to be read; `label` is what errors call it.
    pub(super) fn fields(&self, label: impl Into<String>) -> Option<Fields<'s, 't>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Some(Fields::new(self.src, label, table, self.line())),
            _ => self.wrong("a table"),
        }
    }

    /// A table from names to queues, in the order of the file.
    pub(super) fn queue_pairs(&self) -> Option<Vec<(String, String)>> {
        self.entries()?.into_iter().map(|(name, item)| Some((name, item.queue()?))).collect()
    }

    /// A table from names to hostlists, in the order of the file.
    pub(super) fn host_pairs(&self) -> Option<Vec<(String, String)>> {
        self.entries()?.into_iter().map(|(name, item)| Some((name, item.hosts()?))).collect()
    }

    /// The entries of a table whose keys are free, in the order of the file.
    pub(super) fn entries(&self) -> Option<Vec<(String, Item<'s, 't>)>> {
        let DeValue::Table(table) = self.value.get_ref() else { return self.wrong("a table") };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let item = |value| Item { src: self.src, key: self.key, value };
        Some(entries.into_iter().map(|(key, value)| (key.get_ref().to_string(), item(value))).collect())
    }
}

/// A table being read.
pub(super) struct Fields<'s, 't> {
    pub(super) src: &'s Source<'t>,
    pub(super) label: String,
    /// Where the table begins.
    pub(super) line: usize,
    table: &'s DeTable<'t>,
    known: RefCell<Vec<&'static str>>,
}

impl<'s, 't> Fields<'s, 't> {
    pub(super) fn new(src: &'s Source<'t>, label: impl Into<String>, table: &'s DeTable<'t>, line: usize) -> Self {
        Fields { src, label: label.into(), line, table, known: RefCell::default() }
    }

    /// Whether the key is there. Does not make it known.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn get(&self, key: &'static str) -> Option<Item<'s, 't>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.table.get(key).map(|value| Item { src: self.src, key, value })
    }

    /// Like [`Fields::get`], for a key that must be there.
    pub(super) fn need(&self, key: &'static str) -> Option<Item<'s, 't>> {
        self.get(key).or_else(|| self.missing(key))
    }

    pub(super) fn missing<T>(&self, key: &str) -> Option<T> {
        let (file, table) = (self.src.file.to_owned(), self.label.clone());
        self.src.push(ScenarioError::Missing { file, line: self.line, table, key: key.into() });
        None
    }

    pub(super) fn conflict<T>(&self, message: impl Into<String>) -> Option<T> {
        self.src.conflict(self.line, message);
        None
    }

    /// Which of `keys` are there; an error unless it is exactly one.
    pub(super) fn one_of(&self, keys: &[&'static str]) -> Option<Item<'s, 't>> {
        let mut found: Vec<_> = keys.iter().filter_map(|key| self.get(key)).collect();
        let list = || keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" or ");
        match found.len() {
            0 => self.missing(&keys.join("` or `")),
            1 => found.pop(),
            _ => self.conflict(format!("{} takes only one of {}", self.label, list())),
        }
    }

    /// Reports the keys that were never asked for.
    pub(super) fn finish(self) {
        let known = self.known.into_inner();
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let help = match nearest(key.get_ref(), known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", known.join(", ")),
            };
            let (file, line) = (self.src.file.to_owned(), self.src.line(key.span().start));
            let (key, table) = (key.get_ref().to_string(), self.label.clone());
            self.src.push(ScenarioError::UnknownKey { file, line, key, table, help });
        }
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64),
        DeValue::Float(n) => n.as_str().parse().ok(),
        _ => None,
    }
}

/// A value as errors show it.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() <= 40 => format!("{:?}", text.as_ref()),
        DeValue::String(_) => "a longer string".into(),
        DeValue::Integer(n) => n.to_string(),
        DeValue::Float(n) => n.as_str().to_owned(),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(items) => format!("an array of {}", items.len()),
        DeValue::Table(_) => "a table".into(),
    }
}

/// A value of one of the simple kinds, without its place; `None` for arrays, tables and dates.
pub(super) fn plain(value: &DeValue<'_>) -> Option<serde_json::Value> {
    match value {
        DeValue::String(text) => Some(text.as_ref().into()),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(Into::into),
        DeValue::Float(n) => n.as_str().parse::<f64>().ok().filter(|n| n.is_finite()).map(Into::into),
        DeValue::Boolean(b) => Some((*b).into()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
