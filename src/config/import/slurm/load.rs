//! The lines of all files, includes in their place.

use super::{Import, ImportError};
use crate::config::import::book::{Book, Id};
use crate::config::layers::Library;
use crate::formats::slurm::{Statement, parse};
use std::path::{Path, PathBuf};

/// One line: the ids of its keys, with these in small letters.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub keys: Vec<(String, Id)>,
}

impl Line {
    /// The key of this name, in small letters; of several the last.
    pub fn find(&self, name: &str) -> Option<Id> {
        self.keys.iter().rev().find(|(key, _)| key == name).map(|(_, id)| *id)
    }
}

/// Reads a file and what it includes into lines; `open` are the files that are being read.
pub(super) fn read(file: &Path, library: &dyn Library, open: &mut Vec<PathBuf>, into: &mut Import) -> Vec<Line> {
    let name = file.to_string_lossy().into_owned();
    let text = match library.read(file) {
        Ok(Some(text)) => text,
        Ok(None) => {
            into.errors.push(ImportError { file: name, line: 0, message: "there is no such file".into() });
            return Vec::new();
        }
        Err(error) => {
            into.errors.push(ImportError { file: name, line: 0, message: format!("cannot read it: {error}") });
            return Vec::new();
        }
    };
    let (statements, errors) = parse(&text);
    into.errors.extend(errors.into_iter().map(|error| ImportError {
        file: name.clone(),
        line: error.line,
        message: format!("expected {}, found {:?}", error.expected, error.found),
    }));
    open.push(file.to_owned());
    let mut lines = Vec::new();
    for statement in statements {
        match statement {
            Statement::Pairs(pairs) => {
                let keys = pairs.iter().map(|p| (p.key.to_lowercase(), add(&mut into.book, &name, p))).collect();
                lines.push(Line { keys });
            }
            Statement::Include { file: included, line } => {
                let path = file.parent().unwrap_or(Path::new("")).join(&included);
                if open.contains(&path) {
                    let chain: Vec<_> = open.iter().map(|path| path.to_string_lossy()).collect();
                    let message = format!("{} includes itself: {}", path.display(), chain.join(", "));
                    into.errors.push(ImportError { file: name.clone(), line, message });
                } else if included.contains('%') {
                    let message =
                        format!("expected the name of a file, found {included:?}: write out what stands for it");
                    into.errors.push(ImportError { file: name.clone(), line, message });
                } else {
                    lines.extend(read(&path, library, open, into));
                }
            }
        }
    }
    open.pop();
    lines
}

fn add(book: &mut Book, file: &str, pair: &crate::formats::slurm::Pair) -> Id {
    book.add(file, pair.line, &pair.key, &pair.value)
}
