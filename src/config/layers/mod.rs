//! Configuration in layers: many texts, of which later ones win key by key, become one document.
//!
//! Decides the order of the layers, how two of them become one, and who had a say in each value. Does not know what keys
//! mean: the merged document is read as any other, and its errors stand where the value that is wrong stands. Reads no
//! files: a [`Library`] does.
//!
//! Rules: tables are merged key by key; any other value replaces the one below; `"key+" = […]` appends to an array,
//! `"key-" = true` unsets a key, a table in the place of a value or the reverse is an error. A file counts once for each
//! table that includes it, where it is first asked for, and lies over what it includes.
//!
//! Invariant: merging is associative where it finds no conflict, so that a set of layers is itself a layer.

pub mod key;
mod load;
mod patch;
mod sources;
#[cfg(test)]
mod tests;
mod view;

pub use load::{Base, Directory, Library, Wanted};
pub use patch::Deed;
pub use sources::{Layer, Place, Source, Sources};
pub use view::{Leaf, Say};

use super::error::ConfigErrors;
use super::parse::{finish, read_config};
use super::reader::{Reader, Section};
use super::{Config, ConfigError};
use load::{Loader, Part};
use patch::{Content, Entry, Keys};
use toml::de::DeTable;

/// Texts that were gathered, lowest first.
#[derive(Clone, Debug)]
pub struct Layers {
    sources: Sources,
    parts: Vec<Part>,
    /// What is wrong with the texts themselves.
    errors: Vec<ConfigError>,
}

impl Layers {
    /// Gathers what is asked for. What is wrong with it is told by [`Layers::config`].
    pub fn gather(wanted: &Wanted, library: &dyn Library) -> Self {
        let loader = Loader::load(wanted, library, &super::schema::built_in());
        Self { sources: loader.sources, parts: loader.parts, errors: loader.errors }
    }

    /// The texts, lowest first.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The configuration that they make.
    ///
    /// # Errors
    /// All that is wrong: with the texts, among them, and with what they say together. Where a text is missing or is no
    /// TOML, nothing is said about the whole, which would only be guesswork.
    pub fn config(&self) -> Result<Config, ConfigErrors> {
        if !self.errors.is_empty() {
            return Err(ConfigErrors(self.errors.clone()));
        }
        let (keys, errors) = self.merged();
        let table = patch::resolve(&keys);
        let reader = Reader::of_layers(&self.sources);
        let mut top = Section::new(&reader, String::new(), 0..0, &table);
        let config = read_config(&mut top);
        top.finish();
        match finish(reader, Some(config)) {
            Ok(config) if errors.is_empty() => Ok(config),
            Ok(_) => Err(ConfigErrors(errors)),
            Err(more) => Err(ConfigErrors(errors.into_iter().chain(more.0).collect())),
        }
    }

    /// All layers as one, and where they contradict.
    fn merged(&self) -> (Keys<'_>, Vec<ConfigError>) {
        let (mut keys, mut errors, mut conflicts) = (Keys::new(), Vec::new(), Vec::new());
        for part in &self.parts {
            let Some((source, _)) = self.sources.find(&(part.start..part.start)) else { continue };
            let mut faults = Vec::new();
            let (table, _) = DeTable::parse_recoverable(&source.text);
            let counts = |name: &str| part.only.is_empty() || part.only.iter().any(|only| only == name);
            let table: DeTable<'_> = table.into_inner().into_iter().filter(|(key, _)| counts(key.get_ref())).collect();
            let mut patch = patch::patch(&table, part.start, &mut part.below.clone(), &mut faults);
            drop_includes(&mut patch);
            for fault in faults {
                let error = ConfigError::unplaced(key::join(&fault.key), fault.message);
                errors.push(error.placed(&source.file, &source.text, fault.span));
            }
            for name in part.below.iter().rev() {
                let entry = Entry::table(part.start..part.start, patch);
                patch = [(name.clone(), entry)].into_iter().collect();
            }
            keys = patch::merge(keys, patch, &mut conflicts, &mut Vec::new());
        }
        errors.extend(conflicts.into_iter().map(|conflict| self.conflict(&conflict)));
        (keys, errors)
    }

    fn conflict(&self, conflict: &patch::Conflict) -> ConfigError {
        let below = self.sources.place(&conflict.below.0).map_or_else(String::new, |place| format!(" at {place}"));
        let message = format!("{} cannot lie over {}, which stands{below}", conflict.above.1, conflict.below.1);
        let help = "the same kind in both, or unset the key first: \"key-\" = true";
        let error = ConfigError::unplaced(key::join(&conflict.key), message);
        let error = ConfigError { help: Some(help.to_owned()), ..error };
        match self.sources.find(&conflict.above.0) {
            Some((source, local)) => error.placed(&source.file, &source.text, local),
            None => error,
        }
    }
}

/// Takes out `include`, which has had its effect.
fn drop_includes(keys: &mut Keys<'_>) {
    keys.retain(|name, entry| name != "include" || matches!(entry.content, Content::Table(..)));
    for entry in keys.values_mut() {
        if let Content::Table(keys, _) = &mut entry.content {
            drop_includes(keys);
        }
    }
}
