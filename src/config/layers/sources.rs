//! The texts that a merged configuration comes from, one behind the other: a byte of any of them has one number, so that
//! a span alone says in which file it stands.

use crate::formats::error::Position;
use std::fmt;
use std::ops::Range;

/// Why a text counts: what asked for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Layer {
    /// What holds where nobody says anything.
    BuiltIn,
    /// The tables of a scenario, or the file that it names.
    Scenario,
    /// `default/*.toml` of a directory, which has this label.
    Default(String),
    /// A named configuration of a directory.
    Named {
        /// Its name.
        name: String,
        /// The label of the directory.
        directory: String,
    },
    /// A file given by its path.
    File,
    /// `--set`.
    Set,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::BuiltIn => f.write_str("built in"),
            Layer::Scenario => f.write_str("scenario"),
            Layer::Default(directory) => write!(f, "default, {directory}"),
            Layer::Named { name, directory } => write!(f, "{name}, {directory}"),
            Layer::File => f.write_str("file"),
            Layer::Set => f.write_str("command line"),
        }
    }
}

/// One text.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, as errors name it.
    pub file: String,
    /// What asked for it.
    pub layer: Layer,
    /// What it says.
    pub text: String,
    start: usize,
}

/// A place in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as errors name it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What asked for the file.
    pub layer: Layer,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// All texts, in the order in which they were merged.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text; the number of its first byte.
    pub(super) fn add(&mut self, file: String, layer: Layer, text: String) -> usize {
        // One more, so that the end of a text is not the beginning of the next.
        let start = self.0.last().map_or(0, |last| last.start + last.text.len() + 1);
        self.0.push(Source { file, layer, text, start });
        start
    }

    /// The texts, in the order in which they were merged.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// The text in which a span stands, and the span in that text alone. Nothing, where there are no texts.
    pub(in crate::config) fn find(&self, span: &Range<usize>) -> Option<(&Source, Range<usize>)> {
        let index = self.0.partition_point(|source| source.start <= span.start).checked_sub(1)?;
        let source = &self.0[index];
        let local = |byte: usize| (byte - source.start).min(source.text.len());
        Some((source, local(span.start)..local(span.end.max(span.start))))
    }

    /// Where a span begins.
    pub(super) fn place(&self, span: &Range<usize>) -> Option<Place> {
        let (source, local) = self.find(span)?;
        let at = Position::in_text(&source.text, local.start);
        Some(Place { file: source.file.clone(), line: at.line, column: at.column, layer: source.layer.clone() })
    }
}
