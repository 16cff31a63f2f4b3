//! Which texts count, and in what order: directories, names, files, settings, and what each of them includes.

use super::key;
use super::sources::{Layer, Sources};
use crate::config::ConfigError;
use crate::config::error::nearest;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Where texts come from: the file system, or what a test makes up.
pub trait Library {
    /// The text of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// What the system says when the file is there and cannot be read.
    fn read(&self, file: &Path) -> Result<Option<String>, String>;

    /// The files of a directory, in any order; none if there is no such directory.
    ///
    /// # Errors
    /// What the system says when the directory is there and cannot be read.
    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, String>;
}

/// A directory of configurations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directory {
    /// What people call it: `system`, `user`, or its path.
    pub label: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The configuration of a scenario: it takes the place of `default/*.toml`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Base {
    /// Its file.
    pub file: PathBuf,
    /// What the file says.
    pub text: String,
    /// The top-level keys that are configuration; all, where there are none.
    pub only: Vec<String>,
}

/// Which configuration is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Where named configurations are, later ones over earlier ones.
    pub directories: Vec<Directory>,
    /// What lies over the built-in defaults: `default/*.toml` of the directories, or this.
    pub base: Option<Base>,
    /// Named configurations, later ones over earlier ones.
    pub names: Vec<String>,
    /// Files by path.
    pub files: Vec<PathBuf>,
    /// Settings as `a.b.c=value`.
    pub sets: Vec<String>,
}

/// A text that counts: its first byte among the sources, and the key of the table that includes it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) below: Vec<String>,
    /// The top-level keys that count; all, where there are none.
    pub(super) only: Vec<String>,
}

pub(super) struct Loader<'l> {
    library: &'l dyn Library,
    directories: &'l [Directory],
    pub(super) sources: Sources,
    /// Lowest first.
    pub(super) parts: Vec<Part>,
    pub(super) errors: Vec<ConfigError>,
    /// What was read, and where it was put: nothing counts twice.
    seen: BTreeSet<(PathBuf, Vec<String>)>,
    /// The files that are being read, each included by the one before.
    stack: Vec<PathBuf>,
}

/// A text on its way in.
struct Text<'t> {
    file: String,
    path: Option<PathBuf>,
    layer: Layer,
    text: String,
    below: &'t [String],
    only: &'t [String],
}

/// Who includes what.
struct Include {
    below: Vec<String>,
    name: String,
    span: Range<usize>,
}

impl<'l> Loader<'l> {
    pub(super) fn load(wanted: &'l Wanted, library: &'l dyn Library, built_in: &str) -> Self {
        let mut loader = Self {
            library,
            directories: &wanted.directories,
            sources: Sources::default(),
            parts: Vec::new(),
            errors: Vec::new(),
            seen: BTreeSet::new(),
            stack: Vec::new(),
        };
        loader.made_up("built-in defaults", Layer::BuiltIn, built_in.to_owned());
        match &wanted.base {
            Some(base) => loader.take(Text {
                file: base.file.to_string_lossy().into_owned(),
                path: Some(normal(&base.file)),
                layer: Layer::Scenario,
                text: base.text.clone(),
                below: &[],
                only: &base.only,
            }),
            None => wanted.directories.iter().for_each(|directory| loader.defaults(directory)),
        }
        for name in &wanted.names {
            if let Err(message) = loader.named(name, &[]) {
                loader.errors.push(ConfigError::unplaced("", message));
            }
        }
        for file in &wanted.files {
            if let Err(message) = loader.file(file, Layer::File, &[]) {
                loader.errors.push(ConfigError::unplaced("", message));
            }
        }
        for (index, set) in wanted.sets.iter().enumerate() {
            let name = if index == 0 { "--set".to_owned() } else { format!("--set ({})", index + 1) };
            match key::assignment(set) {
                Ok(line) => loader.made_up(&name, Layer::Set, line),
                Err(message) => loader.errors.push(ConfigError::unplaced("", format!("--set: {message}"))),
            }
        }
        loader
    }

    fn made_up(&mut self, file: &str, layer: Layer, text: String) {
        self.take(Text { file: file.to_owned(), path: None, layer, text, below: &[], only: &[] });
    }

    fn defaults(&mut self, directory: &Directory) {
        let path = directory.path.join("default");
        let mut files = match self.library.list(&path) {
            Ok(files) => files,
            Err(message) => {
                let message = format!("cannot read {}: {message}", path.display());
                return self.errors.push(ConfigError::unplaced("", message));
            }
        };
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        for file in files {
            if let Err(message) = self.file(&file, Layer::Default(directory.label.clone()), &[]) {
                self.errors.push(ConfigError::unplaced("", message));
            }
        }
    }

    /// Takes a named configuration: of each directory that has one.
    fn named(&mut self, name: &str, below: &[String]) -> Result<(), String> {
        if name.is_empty() || name.contains(['/', ',']) {
            return Err(format!("expected the name of a configuration, found {name:?}"));
        }
        let mut found = false;
        for directory in self.directories {
            let file = directory.path.join(format!("{name}.toml"));
            let layer = Layer::Named { name: name.to_owned(), directory: directory.label.clone() };
            if let Some(text) = self.read(&file)? {
                found = true;
                self.take_file(&file, layer, text, below)?;
            }
        }
        if found {
            return Ok(());
        }
        let places: Vec<_> = self.directories.iter().map(|directory| directory.path.display().to_string()).collect();
        let near = self.names();
        let near = nearest(name, near.iter().map(String::as_str)).map(|near| format!(" (did you mean `{near}`?)"));
        Err(match places.as_slice() {
            [] => format!("no configuration {name:?}: there is no directory to look in"),
            _ => format!("no configuration {name:?} in {}{}", places.join(" or "), near.unwrap_or_default()),
        })
    }

    /// The names of all named configurations.
    fn names(&self) -> BTreeSet<String> {
        let files =
            self.directories.iter().flat_map(|directory| self.library.list(&directory.path).unwrap_or_default());
        files
            .filter(|file| file.extension().is_some_and(|extension| extension == "toml"))
            .filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned()))
            .collect()
    }

    fn read(&self, file: &Path) -> Result<Option<String>, String> {
        self.library.read(file).map_err(|message| format!("cannot read {}: {message}", file.display()))
    }

    fn file(&mut self, file: &Path, layer: Layer, below: &[String]) -> Result<(), String> {
        let text = self.read(file)?.ok_or_else(|| format!("no file {}", file.display()))?;
        self.take_file(file, layer, text, below)
    }

    /// Takes the text of a file, unless it counts already.
    fn take_file(&mut self, file: &Path, layer: Layer, text: String, below: &[String]) -> Result<(), String> {
        let path = normal(file);
        if let Some(first) = self.stack.iter().position(|open| *open == path) {
            let loop_: Vec<_> = self.stack[first..].iter().chain([&path]).map(|p| p.display().to_string()).collect();
            return Err(format!("files include each other: {}", loop_.join(" -> ")));
        }
        if self.seen.insert((path.clone(), below.to_vec())) {
            let file = file.to_string_lossy().into_owned();
            self.take(Text { file, path: Some(path), layer, text, below, only: &[] });
        }
        Ok(())
    }

    /// Takes a text: first what it includes, which lies below it, then itself.
    fn take(&mut self, text: Text<'_>) {
        let Text { file, path, layer, text, below, only } = text;
        let (document, mut faults) = DeTable::parse_recoverable(&text);
        faults.sort_by_key(|fault| fault.span().map(|span| span.start));
        for fault in &faults {
            let error = ConfigError::unplaced("", format!("invalid TOML: {}", fault.message()));
            self.errors.push(error.placed(&file, &text, fault.span().unwrap_or(0..0)));
        }
        if !faults.is_empty() {
            // Only to be shown with its errors.
            self.sources.add(file, layer, text);
            return;
        }
        let mut includes = Vec::new();
        let mut wrong = Vec::new();
        for (key, value) in document.get_ref() {
            let counts = only.is_empty() || only.iter().any(|only| only == key.get_ref());
            match (counts, key.get_ref().as_ref(), value.get_ref()) {
                (true, "include", _) => read_include(value, &[], &mut includes, &mut wrong),
                (true, name, DeValue::Table(table)) => {
                    find_includes(table, &mut vec![name.to_owned()], &mut includes, &mut wrong);
                }
                _ => {}
            }
        }
        for (key, span, message) in wrong {
            self.errors.push(ConfigError::unplaced(key, message).placed(&file, &text, span));
        }
        includes.sort_by_key(|include| include.span.start);
        let directory = path.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        self.stack.extend(path.clone());
        for include in includes {
            let below: Vec<String> = below.iter().chain(&include.below).cloned().collect();
            let name = &include.name;
            let taken = if name.contains('/') || name.ends_with(".toml") {
                self.file(&normal(&directory.join(name)), layer.clone(), &below)
            } else {
                self.named(name, &below)
            };
            if let Err(message) = taken {
                let key = key::join(&include.below.iter().map(String::as_str).chain(["include"]).collect::<Vec<_>>());
                self.errors.push(ConfigError::unplaced(key, message).placed(&file, &text, include.span));
            }
        }
        if path.is_some() {
            self.stack.pop();
        }
        let start = self.sources.add(file, layer, text);
        self.parts.push(Part { start, below: below.to_vec(), only: only.to_vec() });
    }
}

/// Key, place and message of what is wrong with an include.
type Wrong = (String, Range<usize>, String);

fn find_includes(table: &DeTable<'_>, path: &mut Vec<String>, found: &mut Vec<Include>, wrong: &mut Vec<Wrong>) {
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            // A queue may have this name.
            (name, DeValue::Table(table)) => {
                path.push(name.to_owned());
                find_includes(table, path, found, wrong);
                path.pop();
            }
            ("include", _) => read_include(value, path, found, wrong),
            _ => {}
        }
    }
}

fn read_include(value: &toml::Spanned<DeValue<'_>>, path: &[String], found: &mut Vec<Include>, wrong: &mut Vec<Wrong>) {
    let key = || key::join(&path.iter().map(String::as_str).chain(["include"]).collect::<Vec<_>>());
    let DeValue::Array(items) = value.get_ref() else {
        let message = "expected an array of names and files, as include = [\"site\", \"./rack.toml\"]";
        return wrong.push((key(), value.span(), message.to_owned()));
    };
    for item in items.iter() {
        match item.get_ref() {
            DeValue::String(name) => {
                found.push(Include { below: path.to_vec(), name: name.to_string(), span: item.span() });
            }
            _ => wrong.push((key(), item.span(), "expected a name or a file in quotes".to_owned())),
        }
    }
}

/// A path without `.` and, where a directory stands before it, `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if normal.components().next_back().is_some_and(|p| matches!(p, Component::Normal(_))) =>
            {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
