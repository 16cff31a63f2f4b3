//! Profiles: named settings of a scheduler, chosen by one string.
//!
//! Decides what a profile says once those that it inherits from lie below it, and which profiles are built in. A profile
//! lies over the keys of `[policy.scheduler]`, and below the keys that a queue has of its own. One that has the name of a
//! built-in profile lies over that.

use super::parse::unknown_name;
use super::policy::SchedulerPatch;
use super::reader::{Reader, Section};
use super::{Config, PolicyConfig, SchedulerSettings};
use crate::formats::error::quote;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::LazyLock;

#[cfg(test)]
mod tests;

/// The profiles that are built in, as configuration.
pub const BUILT_IN: &str = r#"profiles.fcfs.queue-policy = "fcfs"
profiles.easy.queue-policy = "easy"
profiles.hybrid.queue-policy = "hybrid"
profiles.conservative.queue-policy = "conservative"
profiles.htc.queue-policy = "fcfs"
profiles.htc.queue-depth = 1
profiles.fluxion.queue-policy = "easy"
profiles.fluxion.queue-depth = 32
profiles.fluxion.reservation-depth = 64
profiles.fluxion.match-policy = "firstnodex"
profiles.simple.queue-policy = "fcfs"
profiles.simple.queue-depth = 8
profiles.simple.match-policy = "low"
"#;

/// Profiles with what they inherit, by name. By default those that are built in.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Profiles(IndexMap<String, SchedulerPatch>);

/// A profile as its own table says it.
struct Draft {
    patch: SchedulerPatch,
    inherits: Option<(String, Range<usize>)>,
    key: String,
}

static DEFAULT: LazyLock<Profiles> = LazyLock::new(Profiles::built_in);

impl Default for Profiles {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Profiles {
    fn built_in() -> Self {
        let reader = Reader::new("built-in profiles", BUILT_IN);
        let document = reader.document();
        let profiles = document.as_ref().map(|document| {
            let mut top = Section::new(&reader, String::new(), document.span(), document.get_ref());
            read_drafts(&mut top).into_iter().map(|(name, draft)| (name, draft.patch)).collect()
        });
        Self(profiles.unwrap_or_default())
    }

    /// Reads `[profiles]`, over those that are built in.
    pub(super) fn read(top: &mut Section<'_, '_>) -> Self {
        let built_in = Self::default();
        let mut profiles = built_in.clone();
        let drafts = read_drafts(top);
        for name in drafts.keys() {
            let mut chain = vec![name.as_str()];
            let Some(patch) = resolve(top.reader, &drafts, &built_in, &mut chain) else { continue };
            profiles.0.insert(name.clone(), patch);
        }
        profiles
    }

    /// The names, in the order of their tables, those that are built in first.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is one of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What settings become where the profile lies over them; `None` if there is none of this name.
    pub fn over(&self, name: &str, below: &SchedulerSettings) -> Option<SchedulerSettings> {
        let mut settings = below.clone();
        self.0.get(name)?.apply(&mut settings);
        Some(settings)
    }

    /// What a profile says.
    pub(super) fn get(&self, name: &str) -> Option<&SchedulerPatch> {
        self.0.get(name)
    }

    /// Looks a profile up that is named at a place.
    pub(super) fn find(
        &self,
        reader: &Reader<'_>,
        key: &str,
        name: &str,
        span: &Range<usize>,
    ) -> Option<&SchedulerPatch> {
        let found = self.0.get(name);
        if found.is_none() {
            let message = format_args!("there is no profile {}", quote(name));
            unknown_name(reader, key, span, message, name, self.names());
        }
        found
    }
}

impl Config {
    /// The settings of the anonymous queue, and of every queue that names no profile and sets nothing itself: those of
    /// `[policy.scheduler]` with the profile that `sched` names over them.
    pub fn common_settings(&self) -> SchedulerSettings {
        let below = &self.policy.scheduler;
        self.sched.as_ref().and_then(|name| self.profiles.over(name, below)).unwrap_or_else(|| below.clone())
    }

    /// The policy of the anonymous queue.
    pub fn common_policy(&self) -> PolicyConfig {
        PolicyConfig { scheduler: self.common_settings(), ..self.policy.clone() }
    }
}

fn read_drafts(top: &mut Section<'_, '_>) -> IndexMap<String, Draft> {
    let Some(section) = top.take("profiles").and_then(|item| item.section()) else { return IndexMap::new() };
    let read = |item: super::reader::Item<'_, '_>| {
        let mut table = item.section()?;
        let inherits = table.take("inherits").and_then(|item| Some((item.string()?.to_owned(), item.span())));
        let patch = SchedulerPatch::read(&mut table);
        let key = table.key.clone();
        table.finish();
        Some((item.name.clone(), Draft { patch, inherits, key }))
    };
    section.items().into_iter().filter_map(read).collect()
}

/// The last profile of `chain` over all that it inherits.
fn resolve<'d>(
    reader: &Reader<'_>,
    drafts: &'d IndexMap<String, Draft>,
    built_in: &Profiles,
    chain: &mut Vec<&'d str>,
) -> Option<SchedulerPatch> {
    let name = *chain.last()?;
    let draft = &drafts[name];
    let key = || format!("{}.inherits", draft.key);
    let below = match &draft.inherits {
        // A profile may refine the built-in one of its name, and does so if it says nothing.
        None => built_in.get(name).cloned().unwrap_or_default(),
        Some((parent, _)) if parent == name && built_in.contains(name) => built_in.get(name)?.clone(),
        Some((parent, span)) if chain.contains(&parent.as_str()) => {
            // Told once: where the loop is closed by the first of its profiles.
            let first = chain.iter().min();
            if chain.first() == Some(&parent.as_str()) && chain.first() == first {
                let names: Vec<String> =
                    chain.iter().copied().chain([parent.as_str()]).map(|name| quote(name).to_string()).collect();
                let message = format_args!("profiles inherit from each other: {}", names.join(", from "));
                reader.error(&key(), span.clone(), message);
            }
            return None;
        }
        Some((parent, span)) => match drafts.get_key_value(parent.as_str()) {
            Some((parent, _)) => {
                chain.push(parent);
                let below = resolve(reader, drafts, built_in, chain);
                chain.pop();
                below?
            }
            None => built_in.find(reader, &key(), parent, span)?.clone(),
        },
    };
    Some(draft.patch.over(&below))
}
