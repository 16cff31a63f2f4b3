//! What became of each key of an input.

use std::collections::BTreeSet;

/// Whether a remark asks anything of the reader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Concern {
    /// It concerns scheduling: look at it.
    Look,
    /// It does not: nothing to do.
    Aside,
}

/// Why a key, or part of its value, was not converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Whether anything is to do.
    pub concern: Concern,
    /// Why.
    pub why: String,
    /// What to do; empty where there is nothing.
    pub advice: String,
}

/// A key of the input. One without a place in the result has a note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportedKey {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key, as written.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The keys of the result that say the same.
    pub became: BTreeSet<String>,
    /// What was not converted, and why.
    pub notes: Vec<Note>,
}

/// The place of a key in a [`Book`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Id(usize);

/// All keys of an input.
#[derive(Debug, Default)]
pub(super) struct Book(Vec<ImportedKey>);

impl Book {
    pub fn add(&mut self, file: &str, line: usize, key: &str, value: &str) -> Id {
        let (file, key, value) = (file.to_owned(), key.to_owned(), value.to_owned());
        self.0.push(ImportedKey { file, line, key, value, became: BTreeSet::new(), notes: Vec::new() });
        Id(self.0.len() - 1)
    }

    pub fn get(&self, id: Id) -> &ImportedKey {
        &self.0[id.0]
    }

    pub fn value(&self, id: Id) -> &str {
        &self.get(id).value
    }

    /// `file:line` of a key.
    pub fn place(&self, id: Id) -> String {
        format!("{}:{}", self.get(id).file, self.get(id).line)
    }

    pub fn became(&mut self, id: Id, key: impl Into<String>) {
        self.0[id.0].became.insert(key.into());
    }

    pub fn look(&mut self, id: Id, why: impl Into<String>, advice: impl Into<String>) {
        self.note(id, Note { concern: Concern::Look, why: why.into(), advice: advice.into() });
    }

    pub fn aside(&mut self, id: Id, why: impl Into<String>) {
        self.note(id, Note { concern: Concern::Aside, why: why.into(), advice: String::new() });
    }

    fn note(&mut self, id: Id, note: Note) {
        let notes = &mut self.0[id.0].notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// All keys, in the order of the input, each with what became of it.
    pub fn finish(mut self) -> Vec<ImportedKey> {
        for key in &mut self.0 {
            if key.became.is_empty() && key.notes.is_empty() {
                let why = "nothing that follows uses it".to_owned();
                key.notes.push(Note {
                    concern: Concern::Look,
                    why,
                    advice: "take it out, or see what it was for".into(),
                });
            }
        }
        self.0
    }
}
