//! Fragments: TOML texts that describe services, and change what others have described.
//!
//! Decides what a text may say. The keys are those of `flux modprobe`; `[[services]]` and `[[modules]]` are the same. A text
//! is read strictly: unknown keys and wrong kinds are errors, all of them, each with its place.

use super::rule::{Ranks, Rule};
use crate::config::{ConfigError, ConfigErrors, Item, Reader, Section};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The rules that are compiled in.
pub const BUILT_IN: &str = include_str!("built-in.toml");

/// What one text says.
#[derive(Clone, Debug, Default)]
pub struct Fragment {
    /// In the order of the text.
    pub(super) says: Vec<Say>,
    /// The service, who is to provide it, and where that stands.
    pub(super) alternatives: Vec<(String, String, String)>,
}

/// What is said of one service: only what is said replaces what was known.
#[derive(Clone, Debug, Default)]
pub(super) struct Say {
    pub name: String,
    /// Whether it makes a rule of this name; else there must be one.
    pub makes: bool,
    pub place: String,
    pub directory: PathBuf,
    module: Option<String>,
    exec: Option<bool>,
    args: Option<Vec<String>>,
    provides: Option<Vec<String>>,
    priority: Option<i64>,
    priorities: Option<BTreeMap<String, i64>>,
    requires: Option<Vec<String>>,
    needs: Option<Vec<String>>,
    before: Option<Vec<String>>,
    after: Option<Vec<String>>,
    disabled: Option<bool>,
    ranks: Option<Ranks>,
    config: Option<Vec<String>>,
    env: Option<Vec<String>>,
    attrs: Option<Vec<String>>,
}

impl Fragment {
    /// Reads a text. `file` names it in errors; programs are looked for in its directory.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        let reader = Reader::new(file, text);
        let mut fragment = Fragment::default();
        if let Some(document) = reader.document() {
            let top = Section::new(&reader, String::new(), 0..0, document.get_ref());
            for item in top.items() {
                fragment.item(&reader, &item);
            }
        }
        let directory = Path::new(file).parent().unwrap_or(Path::new(""));
        fragment.says.iter_mut().for_each(|say| directory.clone_into(&mut say.directory));
        match reader.into_errors() {
            errors if errors.is_empty() => Ok(fragment),
            errors => Err(ConfigErrors(errors)),
        }
    }

    fn item(&mut self, reader: &Reader<'_>, item: &Item<'_, '_>) {
        match item.name.as_str() {
            "services" | "modules" => {
                for mut section in item.sections() {
                    let Some(name) = section.take("name").map(|name| name.string()) else {
                        reader.error(&section.key, section.span.clone(), "expected a name, found none");
                        continue;
                    };
                    let Some(name) = name else { continue };
                    let place = reader.place(section.span.clone());
                    self.says.push(Say { name: name.to_owned(), makes: true, place, ..Say::read(section) });
                }
            }
            "alternatives" => {
                for item in item.section().iter().flat_map(Section::items) {
                    if let Some(name) = item.string() {
                        let place = reader.place(item.key_span.clone());
                        self.alternatives.push((item.name.clone(), name.to_owned(), place));
                    }
                }
            }
            name => {
                let Some(section) = item.section() else { return };
                let place = reader.place(item.key_span.clone());
                self.says.push(Say { name: name.to_owned(), place, ..Say::read(section) });
            }
        }
    }
}

impl Say {
    fn read(mut section: Section<'_, '_>) -> Self {
        let mut say = Say::default();
        let list = |section: &mut Section<'_, '_>, key| section.take(key).and_then(|item| item.strings(|_| Ok(())));
        say.module = section.take("module").and_then(|item| item.string().map(str::to_owned));
        say.exec = section.take("exec").and_then(|item| item.boolean());
        say.args = list(&mut section, "args");
        say.provides = list(&mut section, "provides");
        say.priority = section.take("priority").and_then(|item| item.integer(i64::MIN..=i64::MAX));
        say.priorities = section.take("priorities").and_then(|item| item.section()).map(|table| {
            let number = |item: &Item<'_, '_>| Some((item.name.clone(), item.integer(i64::MIN..=i64::MAX)?));
            table.items().iter().filter_map(number).collect()
        });
        say.requires = list(&mut section, "requires");
        say.needs = list(&mut section, "needs");
        say.before = list(&mut section, "before");
        say.after = list(&mut section, "after");
        say.disabled = section.take("disabled").and_then(|item| item.boolean());
        say.ranks = section.take("ranks").and_then(|item| item.parse());
        say.config = list(&mut section, "needs-config");
        say.env = list(&mut section, "needs-env");
        say.attrs = list(&mut section, "needs-attrs");
        section.finish();
        say
    }

    /// Changes a rule.
    pub fn apply(&self, rule: &mut Rule) {
        fn put<T: Clone>(said: &Option<T>, into: &mut T) {
            if let Some(said) = said {
                said.clone_into(into);
            }
        }
        if self.module.is_some() {
            (rule.module, rule.directory) = (self.module.clone(), self.directory.clone());
        }
        put(&self.exec, &mut rule.exec);
        put(&self.args, &mut rule.args);
        put(&self.provides, &mut rule.provides);
        put(&self.priority, &mut rule.priority);
        put(&self.priorities, &mut rule.priorities);
        put(&self.requires, &mut rule.requires);
        put(&self.needs, &mut rule.needs);
        put(&self.before, &mut rule.before);
        put(&self.after, &mut rule.after);
        put(&self.disabled, &mut rule.conditions.disabled);
        put(&self.ranks, &mut rule.conditions.ranks);
        put(&self.config, &mut rule.conditions.config);
        put(&self.env, &mut rule.conditions.env);
        put(&self.attrs, &mut rule.conditions.attrs);
    }
}

/// An error about a place that is known as text only.
pub(super) fn misplaced(place: &str, key: &str, message: String) -> ConfigErrors {
    let error = ConfigError::unplaced(key, message);
    let (file, line) = place.rsplit_once(':').unwrap_or((place, "0"));
    let (file, line) = (file.to_owned(), line.parse().unwrap_or(0));
    ConfigErrors(vec![ConfigError { file, line, column: 1, ..error }])
}
