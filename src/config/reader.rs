//! Strict reading of TOML tables: every value knows its key and its place, every error is kept and reading goes on.
//!
//! A section is read by taking its keys one by one; [`Section::finish`] then reports the keys that nobody took, with
//! the nearest of those that were asked for.

use super::error::{ConfigError, nearest};
use super::layers::Sources;
use crate::base::Duration;
use crate::formats::duration;
use crate::formats::error::quote;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text being read, and what is wrong in it so far.
pub(crate) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// Where the document was merged from several texts: these, instead.
    sources: Option<&'a Sources>,
    errors: RefCell<Vec<(usize, ConfigError)>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, sources: None, errors: RefCell::default() }
    }

    /// A reader of what was merged from `sources`.
    pub(crate) fn of_layers(sources: &'a Sources) -> Self {
        Self { file: "", text: "", sources: Some(sources), errors: RefCell::default() }
    }

    /// File and line of a span, as `site.toml:12`.
    pub(crate) fn place(&self, span: Range<usize>) -> String {
        let (file, text, start) = match self.sources.and_then(|sources| sources.find(&span)) {
            Some((source, local)) => (source.file.as_str(), source.text.as_str(), local.start),
            None => (self.file, self.text, span.start),
        };
        format!("{file}:{}", crate::formats::error::Position::in_text(text, start).line)
    }

    /// Reports an error at `span`, about `key`.
    pub(crate) fn error(&self, key: &str, span: Range<usize>, message: impl Display) {
        self.push(ConfigError::unplaced(key, message.to_string()), span);
    }

    /// Reports an error at `span`, about `key`, with a way out.
    pub(crate) fn error_help(&self, key: &str, span: Range<usize>, message: impl Display, help: impl Into<String>) {
        self.push(ConfigError { help: Some(help.into()), ..ConfigError::unplaced(key, message.to_string()) }, span);
    }

    fn push(&self, error: ConfigError, span: Range<usize>) {
        let start = span.start;
        let placed = match self.sources.and_then(|sources| sources.find(&span)) {
            Some((source, local)) => error.placed(&source.file, &source.text, local),
            None => error.placed(self.file, self.text, span),
        };
        self.errors.borrow_mut().push((start, placed));
    }

    /// How many errors there are so far.
    pub(crate) fn error_count(&self) -> usize {
        self.errors.borrow().len()
    }

    /// Everything that was reported, in the order of the text.
    pub(crate) fn into_errors(self) -> Vec<ConfigError> {
        let mut errors = self.errors.into_inner();
        errors.sort_by_key(|(start, error)| (*start, error.span.end));
        errors.into_iter().map(|(_, error)| error).collect()
    }

    /// The top of a document; `None` where it is not TOML, which is reported.
    pub(crate) fn document(&self) -> Option<Spanned<DeTable<'a>>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            self.error("", error.span().unwrap_or(0..0), format_args!("invalid TOML: {}", error.message()));
        }
        errors.is_empty().then_some(table)
    }
}

/// A table whose keys are being taken.
pub(crate) struct Section<'r, 'a> {
    pub(crate) reader: &'r Reader<'a>,
    pub(crate) key: String,
    /// Where the table stands; for a table without header of its own, where its first key does.
    pub(crate) span: Range<usize>,
    table: &'r DeTable<'a>,
    known: BTreeSet<&'static str>,
}

/// A value with its key.
pub(crate) struct Item<'r, 'a> {
    pub(crate) reader: &'r Reader<'a>,
    pub(crate) key: String,
    pub(crate) name: String,
    /// Where the key stands.
    pub(crate) key_span: Range<usize>,
    value: &'r Spanned<DeValue<'a>>,
}

impl<'r, 'a> Section<'r, 'a> {
    pub(crate) fn new(reader: &'r Reader<'a>, key: String, span: Range<usize>, table: &'r DeTable<'a>) -> Self {
        Self { reader, key, span, table, known: BTreeSet::new() }
    }

    fn child_key(&self, name: &str) -> String {
        let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        let name = if plain { name.to_owned() } else { format!("{name:?}") };
        if self.key.is_empty() { name } else { format!("{}.{name}", self.key) }
    }

    /// The value of a key, which is known from now on.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Item<'r, 'a>> {
        self.known.insert(name);
        let (key, value) = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        Some(Item {
            reader: self.reader,
            key: self.child_key(name),
            name: name.to_owned(),
            key_span: key.span(),
            value,
        })
    }

    /// All keys with their values, in the order of the text: for a table whose keys are names.
    pub(crate) fn items(&self) -> Vec<Item<'r, 'a>> {
        let mut items: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                Item { reader: self.reader, key: self.child_key(&name), name, key_span: key.span(), value }
            })
            .collect();
        items.sort_by_key(|item| item.key_span.start);
        items
    }

    /// Reports the keys that nobody took. `ours_not` maps keys that exist elsewhere to the reason why not here.
    pub(crate) fn finish_except(self, others: &[&str], ours_not: &[(&str, &str)]) {
        for (key, _) in self.table {
            let name: &str = key.get_ref();
            if self.known.contains(name) || others.contains(&name) {
                continue;
            }
            let message = format!("unknown key {}", quote(name));
            let known = || self.known.iter().copied().chain(others.iter().copied());
            let help = if let Some((_, why)) = ours_not.iter().find(|(other, _)| *other == name) {
                (*why).to_owned()
            } else if let Some(near) = nearest(name, known()) {
                format!("did you mean `{near}`?")
            } else {
                format!("known are {}", known().collect::<Vec<_>>().join(", "))
            };
            self.reader.error_help(&self.key, key.span(), message, help);
        }
    }

    /// Reports the keys that nobody took.
    pub(crate) fn finish(self) {
        self.finish_except(&[], &[]);
    }
}

impl<'r, 'a> Item<'r, 'a> {
    /// A value that stands in `reader`'s text under some key.
    pub(crate) fn new(reader: &'r Reader<'a>, key: String, name: &str, value: &'r Spanned<DeValue<'a>>) -> Self {
        Self { reader, key, name: name.to_owned(), key_span: value.span(), value }
    }

    /// Where the value stands.
    pub(crate) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// Reports an error about the value.
    pub(crate) fn error(&self, message: impl Display) {
        self.reader.error(&self.key, self.span(), message);
    }

    /// Reports an error about the value, with a way out.
    pub(crate) fn error_help(&self, message: impl Display, help: impl Into<String>) {
        self.reader.error_help(&self.key, self.span(), message, help);
    }

    fn expected<T>(&self, expected: &str) -> Option<T> {
        self.error(format_args!("expected {expected}, found {}", kind(self.value.get_ref())));
        None
    }

    /// The table that the value is.
    pub(crate) fn section(&self) -> Option<Section<'r, 'a>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Some(Section::new(self.reader, self.key.clone(), self.key_span.clone(), table)),
            _ => self.expected("a table"),
        }
    }

    /// The tables of the array that the value is.
    pub(crate) fn sections(&self) -> Vec<Section<'r, 'a>> {
        let items = self.elements("an array of tables");
        items.into_iter().flatten().filter_map(|item| item.section()).collect()
    }

    fn elements(&self, expected: &str) -> Option<Vec<Item<'r, 'a>>> {
        let DeValue::Array(array) = self.value.get_ref() else { return self.expected(expected) };
        let element = |(index, value)| Item::new(self.reader, format!("{}[{index}]", self.key), &self.name, value);
        Some(array.iter().enumerate().map(element).collect())
    }

    /// A string.
    pub(crate) fn string(&self) -> Option<&'r str> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text),
            _ => self.expected("a string"),
        }
    }

    /// A string, or a date or time as TOML writes them, as text.
    pub(crate) fn moment(&self) -> Option<String> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Datetime(moment) => Some(moment.to_string()),
            _ => self.expected("a date or time"),
        }
    }

    /// The elements of an array, or the value itself where it is none.
    pub(crate) fn one_or_more(&self) -> Vec<Item<'r, 'a>> {
        match self.value.get_ref() {
            DeValue::Array(_) => self.elements("an array").unwrap_or_default(),
            _ => vec![Item::new(self.reader, self.key.clone(), &self.name, self.value)],
        }
    }

    /// An array of strings, without those that `check` finds a fault with.
    pub(crate) fn strings(&self, check: impl Fn(&str) -> Result<(), String>) -> Option<Vec<String>> {
        let mut strings = Vec::new();
        for item in self.elements("an array of strings")? {
            let Some(text) = item.string() else { continue };
            match check(text) {
                Ok(()) => strings.push(text.to_owned()),
                Err(message) => item.error(message),
            }
        }
        Some(strings)
    }

    /// A string in some format.
    pub(crate) fn parse<T: FromStr<Err: Display>>(&self) -> Option<T> {
        self.string()?.parse().map_err(|error| self.error(error)).ok()
    }

    /// One of a fixed set of words.
    pub(crate) fn word<T: FromStr>(&self, names: &[&str]) -> Option<T> {
        let text = self.string()?;
        text.parse()
            .map_err(|_| {
                let help = nearest(text, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
                let help = help.unwrap_or_else(|| format!("known are {}", names.join(", ")));
                self.error_help(format_args!("unknown value {}", quote(text)), help);
            })
            .ok()
    }

    /// A duration as a string with a unit.
    pub(crate) fn duration(&self) -> Option<Duration> {
        match self.value.get_ref() {
            DeValue::Integer(number) => {
                let help = format!("write \"{number}s\", \"{number}m\" or \"{number}h\"");
                self.error_help("expected a duration in quotes, found an integer", help);
                None
            }
            DeValue::String(text) => duration::parse(text).map_err(|error| self.error(error)).ok(),
            _ => self.expected("a duration in quotes"),
        }
    }

    /// A whole number in a range.
    pub(crate) fn integer(&self, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let DeValue::Integer(number) = self.value.get_ref() else { return self.expected("an integer") };
        let value = i64::from_str_radix(number.as_str(), number.radix()).ok().filter(|value| range.contains(value));
        if value.is_none() {
            let (low, high) = range.into_inner();
            self.error(format_args!("expected an integer from {low} to {high}, found {number}"));
        }
        value
    }

    /// True or false.
    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.expected("true or false"),
        }
    }

    /// Whether the value is a string.
    pub(crate) fn is_string(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::String(_))
    }
}

/// What kind of value this is, with its article.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
