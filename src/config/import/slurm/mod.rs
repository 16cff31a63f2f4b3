//! slurm.conf, with gres.conf and topology.conf, as a configuration of ours.
//!
//! Which file a line comes from does not matter: what it begins with says what it is. What a key becomes stands where it
//! is read (`nodes`, `partitions`, `cluster`); of keys that mean nothing here `words` knows why. The result says at each
//! value which line it comes from.

mod cluster;
mod load;
mod nodes;
mod partitions;
mod places;
mod words;
mod write;

use super::ImportedKey;
use super::book::Book;
use crate::config::layers::Library;
use crate::formats::r::banned_character;
use load::Line;
use std::path::PathBuf;
use thiserror::Error;

/// What an import comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imported {
    /// The configuration.
    pub text: String,
    /// Each key of the input, in its order, with what became of it.
    pub keys: Vec<ImportedKey>,
}

/// Something that Slurm would not take either.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}{}: {message}", if *line > 0 { format!(":{line}") } else { String::new() })]
pub struct ImportError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// What is being put together.
#[derive(Debug, Default)]
struct Import {
    book: Book,
    errors: Vec<ImportError>,
}

impl Import {
    fn error(&mut self, at: super::book::Id, message: impl Into<String>) {
        let key = self.book.get(at);
        self.errors.push(ImportError { file: key.file.clone(), line: key.line, message: message.into() });
    }
}

/// What no property and no queue may have in its name.
fn odd_character(name: &str) -> Option<char> {
    let odd = |c: &char| c.is_whitespace() || c.is_control() || matches!(c, ',' | '!');
    banned_character(name).or_else(|| name.chars().find(odd))
}

/// The kinds of lines, by their first key.
#[derive(Debug, Default)]
struct Lines {
    nodes: Vec<Line>,
    gres: Vec<Line>,
    sets: Vec<Line>,
    switches: Vec<Line>,
    partitions: Vec<Line>,
    down: Vec<Line>,
    cluster: Vec<Line>,
}

impl Lines {
    fn sort(lines: Vec<Line>) -> Self {
        let mut sorted = Self::default();
        for line in lines {
            let first = line.keys.first().map_or("", |(key, _)| key.as_str());
            let kind = match first {
                "nodename" if line.find("name").is_some() => &mut sorted.gres,
                "nodename" => &mut sorted.nodes,
                "name" => &mut sorted.gres,
                "nodeset" => &mut sorted.sets,
                "switchname" | "blockname" => &mut sorted.switches,
                "partitionname" => &mut sorted.partitions,
                "downnodes" => &mut sorted.down,
                _ => &mut sorted.cluster,
            };
            kind.push(line);
        }
        sorted
    }
}

/// Converts what these files say together.
///
/// # Errors
/// All that Slurm would not take: lines that are not `Key=Value`, files that are not there, nodes and partitions that are
/// described twice.
pub fn import(files: &[PathBuf], library: &dyn Library) -> Result<Imported, Vec<ImportError>> {
    let mut import = Import::default();
    let mut lines = Vec::new();
    for file in files {
        lines.extend(load::read(file, library, &mut Vec::new(), &mut import));
    }
    let lines = Lines::sort(lines);
    let mut nodes = nodes::read(&lines, &mut import);
    let switches = places::read(&lines.switches, &nodes, &mut import);
    let partitions = partitions::read(&lines, &nodes, &mut import);
    let cluster = cluster::read(&lines, &mut import);
    nodes.by_weight(&mut import.book);
    if !import.errors.is_empty() {
        import.errors.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        return Err(import.errors);
    }
    let text = write::text(&cluster, &nodes, &switches, &partitions, &import.book);
    Ok(Imported { text, keys: import.book.finish() })
}

#[cfg(test)]
mod tests;
