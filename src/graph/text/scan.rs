//! From characters to items: one line at a time, no graph yet.

use super::TextError;
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::{Idset, MAX_ID};
use crate::graph::build::MAX_VERTICES;
use std::collections::{BTreeMap, BTreeSet};

/// Where something stands, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct At {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl At {
    pub(super) fn expected<T>(self, expected: impl Into<String>, found: impl Into<String>) -> Result<T, TextError> {
        let At { line, column } = self;
        Err(TextError::Unexpected { line, column, expected: expected.into(), found: found.into() })
    }
}

/// What an item says about its rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RankWord {
    Unsaid,
    NoTarget,
    From(u32),
}

/// One vertex, or many alike.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) at: At,
    pub(super) kind: String,
    pub(super) count: usize,
    pub(super) ids: Option<Vec<u32>>,
    pub(super) names: Option<Vec<String>>,
    pub(super) id: Option<i64>,
    pub(super) basename: Option<String>,
    pub(super) size: u64,
    pub(super) unit: String,
    pub(super) cores: u32,
    pub(super) gpus: u32,
    pub(super) rank: RankWord,
    pub(super) host: Option<String>,
    pub(super) properties: Vec<String>,
    pub(super) pairs: BTreeMap<String, String>,
    pub(super) paths: BTreeMap<String, String>,
}

impl Item {
    pub(super) fn new(at: At, kind: String) -> Self {
        Self {
            at,
            kind,
            count: 1,
            ids: None,
            names: None,
            id: None,
            basename: None,
            size: 1,
            unit: String::new(),
            cores: 0,
            gpus: 0,
            rank: RankWord::Unsaid,
            host: None,
            properties: Vec::new(),
            pairs: BTreeMap::new(),
            paths: BTreeMap::new(),
        }
    }
}

/// How an item stands to the one before it in the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Below,
    Beside,
}

/// What a line says.
pub(super) enum Line {
    Empty,
    /// The first item, and the others with their steps.
    Vertices {
        indent: usize,
        loose: bool,
        first: Box<Item>,
        rest: Vec<(Step, Item)>,
    },
    Edge {
        at: [At; 2],
        subsystem: String,
        ends: [String; 2],
    },
}

/// A cursor in one line.
pub(super) struct Scanner<'t> {
    rest: &'t str,
    at: At,
}

struct Word {
    text: String,
    quoted: bool,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, line: usize) -> Self {
        Self { rest: text, at: At { line, column: 1 } }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.at.column += 1;
        Some(c)
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.bump();
        }
    }

    /// Whether nothing but a comment is left.
    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.peek().is_none_or(|c| c == '#')
    }

    fn found(&self) -> String {
        match self.rest.split_whitespace().next() {
            Some(word) if !self.rest.starts_with(char::is_whitespace) => format!("\"{word}\""),
            Some(_) => "a space".to_owned(),
            None => "the end of the line".to_owned(),
        }
    }

    /// A word up to a blank, a comment or one of `stops`, quoted in part or in full.
    fn word(&mut self, stops: &[char]) -> Result<Word, TextError> {
        let mut word = Word { text: String::new(), quoted: false };
        while let Some(c) = self.peek() {
            if c == '"' {
                word.quoted = true;
                self.quoted(&mut word.text)?;
            } else if c.is_whitespace() || c == '#' || stops.contains(&c) {
                break;
            } else {
                self.bump();
                word.text.push(c);
            }
        }
        Ok(word)
    }

    fn quoted(&mut self, text: &mut String) -> Result<(), TextError> {
        let start = self.at;
        self.bump();
        loop {
            let at = self.at;
            match self.bump() {
                Some('"') => return Ok(()),
                Some('\\') => match self.bump() {
                    Some(c @ ('"' | '\\')) => text.push(c),
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some(c) => return at.expected("\\\", \\\\, \\n, \\r or \\t", format!("\"\\{c}\"")),
                    None => return at.expected("a character after \\", "the end of the line"),
                },
                Some(c) => text.push(c),
                None => return start.expected("a closing quote", "the end of the line"),
            }
        }
    }

    pub(super) fn line(&mut self) -> Result<Line, TextError> {
        while self.peek() == Some(' ') {
            self.bump();
        }
        let indent = self.at.column - 1;
        if self.at_end() {
            return Ok(Line::Empty);
        }
        if self.at.column - 1 != indent {
            return At { column: indent + 1, ..self.at }.expected("indentation by spaces", "another blank");
        }
        let mut loose = false;
        if self.peek() == Some('@') {
            let at = self.at;
            match self.word(&[])?.text.as_str() {
                "@edge" => return self.edge(),
                "@loose" => loose = true,
                other => return at.expected("@edge or @loose", format!("\"{other}\"")),
            }
            if indent > 0 {
                return at.expected("@loose at the start of a line", format!("{indent} spaces before it"));
            }
            self.skip_blanks();
        }
        let (first, mut step) = self.item()?;
        let mut rest = Vec::new();
        while let Some(next) = step {
            let (item, then) = self.item()?;
            rest.push((next, item));
            step = then;
        }
        Ok(Line::Vertices { indent, loose, first: Box::new(first), rest })
    }

    fn edge(&mut self) -> Result<Line, TextError> {
        let (_, subsystem) = self.end_of_edge("the subsystem of the edge")?;
        let (from_at, from) = self.end_of_edge("where the edge starts")?;
        let (to_at, to) = self.end_of_edge("where the edge ends")?;
        if !self.at_end() {
            return self.at.expected("the end of the line", self.found());
        }
        Ok(Line::Edge { at: [from_at, to_at], subsystem, ends: [from, to] })
    }

    fn end_of_edge(&mut self, what: &str) -> Result<(At, String), TextError> {
        self.skip_blanks();
        let at = self.at;
        let word = self.word(&[])?;
        if word.text.is_empty() && !word.quoted { at.expected(what, self.found()) } else { Ok((at, word.text)) }
    }

    /// One item, and the step to the next.
    fn item(&mut self) -> Result<(Item, Option<Step>), TextError> {
        self.skip_blanks();
        let at = self.at;
        let kind = self.word(&['[', '*', '=', '/', '+'])?;
        if kind.text.is_empty() && !kind.quoted {
            return at.expected("a resource kind", self.found());
        }
        let mut item = Item::new(at, kind.text);
        self.count(&mut item)?;
        let mut seen = BTreeSet::new();
        let mut first = true;
        loop {
            if self.at_end() {
                return Ok((item, None));
            }
            let at = self.at;
            let word = self.word(&['='])?;
            let is_attribute = self.peek() == Some('=');
            match (word.text.as_str(), word.quoted || is_attribute) {
                ("/", false) => return Ok((item, Some(Step::Below))),
                ("+", false) => return Ok((item, Some(Step::Beside))),
                _ if is_attribute => {
                    self.bump();
                    if word.text != "property" && !seen.insert(word.text.clone()) {
                        return at.expected("each attribute once", format!("{} again", word.text));
                    }
                    self.attribute(&mut item, at, &word.text)?;
                }
                _ if first => names(&mut item, at, word)?,
                _ => return at.expected("KEY=VALUE, / or +", format!("\"{}\"", word.text)),
            }
            first = false;
        }
    }

    fn count(&mut self, item: &mut Item) -> Result<(), TextError> {
        let at = self.at;
        match self.peek() {
            Some('*') => {
                self.bump();
                let (at, word) = (self.at, self.word(&[])?);
                item.count = number(at, &word.text, "a count from 1 to 4294967295").map(|n: u32| n as usize)?;
                if item.count == 0 {
                    return at.expected("a count from 1 to 4294967295", "\"0\"");
                }
            }
            Some('[') => {
                let word = self.word(&[])?;
                let ids = match Idset::parse(&word.text) {
                    Ok(ids) if ids.len() > MAX_VERTICES => {
                        return at.expected(format!("at most {MAX_VERTICES} ids"), ids.len().to_string());
                    }
                    Ok(ids) if word.text.ends_with(']') && !ids.is_empty() => ids,
                    Ok(_) => return at.expected("ids in brackets", format!("\"{}\"", word.text)),
                    Err(error) => return at.expected("ids in brackets", format!("\"{}\" ({error})", word.text)),
                };
                item.count = ids.len();
                item.ids = Some(ids.iter().collect());
            }
            Some(c) if !c.is_whitespace() && c != '#' => {
                return at.expected("a space, *COUNT or [IDS] after the kind", self.found());
            }
            _ => {}
        }
        Ok(())
    }

    fn attribute(&mut self, item: &mut Item, key_at: At, key: &str) -> Result<(), TextError> {
        let at = self.at;
        let value = self.word(&[])?.text;
        if let Some(name) = key.strip_prefix("set.") {
            item.pairs.insert(name.to_owned(), value);
            return Ok(());
        }
        if let Some(subsystem) = key.strip_prefix("path.") {
            if item.count > 1 {
                return key_at.expected("a path on a single vertex", format!("{} vertices", item.count));
            }
            item.paths.insert(subsystem.to_owned(), value);
            return Ok(());
        }
        match key {
            "cores" => item.cores = number(at, &value, "a number of cores")?,
            "gpus" => item.gpus = number(at, &value, "a number of GPUs")?,
            "size" => {
                let digits = value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                item.size = number(at, &value[..digits], "a size such as 2 or 2GB")?;
                if digits < value.len() {
                    item.unit = value[digits..].to_owned();
                }
            }
            "unit" => item.unit = value,
            "id" => item.id = Some(number(at, &value, "a whole number")?),
            "basename" => item.basename = Some(value),
            "host" => item.host = Some(value),
            "rank" if value == "none" => item.rank = RankWord::NoTarget,
            "rank" => {
                let rank = number(at, &value, "a rank or none")?;
                if rank > MAX_ID {
                    return at.expected(format!("a rank up to {}", MAX_ID), value);
                }
                item.rank = RankWord::From(rank);
            }
            "property" => item.properties.push(value),
            "properties" => {
                for name in value.split(',') {
                    if name.is_empty() {
                        return at.expected("names separated by commas", format!("\"{value}\""));
                    }
                    item.properties.push(name.to_owned());
                }
            }
            _ => {
                let known = "cores, gpus, size, unit, id, basename, host, rank, property, properties, set.KEY or path.SUBSYSTEM";
                return key_at.expected(known, format!("\"{key}\""));
            }
        }
        Ok(())
    }
}

fn names(item: &mut Item, at: At, word: Word) -> Result<(), TextError> {
    let names = if word.quoted {
        vec![word.text]
    } else {
        match Hostlist::parse(&word.text) {
            Ok(hosts) if !hosts.is_empty() => hosts.iter().collect(),
            Ok(_) => return at.expected("names", format!("\"{}\"", word.text)),
            Err(error) => return at.expected("names", format!("\"{}\" ({error})", word.text)),
        }
    };
    if item.count == 1 && item.ids.is_none() {
        item.count = names.len();
    } else if item.count != names.len() {
        return at.expected(format!("{} names", item.count), names.len().to_string());
    }
    item.names = Some(names);
    Ok(())
}

fn number<T: std::str::FromStr>(at: At, text: &str, expected: &str) -> Result<T, TextError> {
    // `+1` is a number to Rust.
    match text.parse() {
        Ok(number) if !text.starts_with('+') => Ok(number),
        _ => at.expected(expected, format!("\"{text}\"")),
    }
}
