//! Header lines: `; Key: value`, continued by lines without a key.

use super::Warning;
use std::collections::BTreeMap;

/// What the header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Keys and values in file order. Lines without a key continue the value above them, after a line feed; after an
    /// empty header line they stand under an empty key.
    fields: Vec<(String, String)>,
    /// `MaxProcs`: processors of the machine.
    pub max_procs: Option<u64>,
    /// `MaxNodes`: nodes of the machine.
    pub max_nodes: Option<u64>,
    /// `UnixStartTime`: instant zero of the submit times, in seconds since 1970.
    pub unix_start_time: Option<i64>,
    /// `Queue` lines: number and name, the first word after the number.
    pub queues: BTreeMap<i64, String>,
    /// `Partition` lines, likewise.
    pub partitions: BTreeMap<i64, String>,
}

impl Header {
    /// Keys and values in file order; continued values have line feeds, text without a key has an empty key.
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The first value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The values of the `Note` fields.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(|(key, _)| key == "Note").map(|(_, value)| value.as_str())
    }

    /// Adds a header field and takes over what it says. Text after a line feed continues the value.
    ///
    /// ```
    /// use sluice::formats::swf::Header;
    /// let mut header = Header::default();
    /// header.add("MaxProcs: 100");
    /// header.add("Queue: 1 - Normal jobs queue");
    /// assert_eq!(header.max_procs, Some(100));
    /// assert_eq!(header.queues[&1], "Normal");
    /// ```
    pub fn add(&mut self, text: &str) {
        let mut open = false;
        for line in text.lines() {
            // What it warns of, a caller that writes the field itself can see.
            let _ = self.add_line(line, &mut open);
        }
    }

    /// Adds a header line, given without its `;`. `open` tells whether a line without a key continues the value above.
    pub(super) fn add_line(&mut self, line: &str, open: &mut bool) -> Option<Warning> {
        let line = line.trim();
        if line.is_empty() {
            *open = false;
            return None;
        }
        let continues = std::mem::replace(open, true);
        let Some((key, value)) = split_key(line) else {
            match self.fields.last_mut() {
                Some((_, value)) if continues => {
                    value.push('\n');
                    value.push_str(line);
                }
                _ => self.fields.push((String::new(), line.to_owned())),
            }
            return None;
        };
        self.fields.push((key.to_owned(), value.to_owned()));
        self.take_over(key, value)
    }

    fn take_over(&mut self, key: &str, value: &str) -> Option<Warning> {
        // A number may be followed by words.
        let first = value.split_whitespace().next();
        let known = match key {
            "MaxProcs" => set(&mut self.max_procs, first.and_then(|word| word.parse().ok())),
            "MaxNodes" => set(&mut self.max_nodes, first.and_then(|word| word.parse().ok())),
            "UnixStartTime" => set(&mut self.unix_start_time, first.and_then(|word| word.parse().ok())),
            "Queue" => name(&mut self.queues, value),
            "Partition" => name(&mut self.partitions, value),
            _ => true,
        };
        (!known).then_some(Warning::HeaderValue)
    }
}

/// The first value counts: some files repeat a key for parts of the machine.
fn set<T>(field: &mut Option<T>, value: Option<T>) -> bool {
    let known = value.is_some();
    if field.is_none() {
        *field = value;
    }
    known
}

/// Reads `1 pbatch` or `1 - Normal jobs queue - …`.
fn name(names: &mut BTreeMap<i64, String>, value: &str) -> bool {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(value.len());
    let Ok(number) = value[..digits].parse() else { return false };
    let word = value[digits..]
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_'))
        .find(|word| !word.is_empty());
    if let Some(word) = word {
        names.entry(number).or_insert_with(|| word.to_owned());
    }
    word.is_some()
}

/// Splits `Key: value`. A key is one word of ASCII letters and digits; `http://…` is none.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let word = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (word && !value.starts_with("//")).then_some((key, value.trim_start()))
}
