//! Which target has which property (RFC 20): bitmaps beside the graph, since they change while it stands.

use crate::base::{TargetId, TargetSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Properties by name. A clone shares everything until one of the two is changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Properties {
    by_name: Arc<BTreeMap<String, TargetSet>>,
}

impl Properties {
    /// No target has any.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a property to a target; false if it had it.
    pub fn set(&mut self, name: &str, target: TargetId) -> bool {
        let by_name = Arc::make_mut(&mut self.by_name);
        match by_name.get_mut(name) {
            Some(targets) => targets.insert(target),
            None => by_name.insert(name.to_owned(), TargetSet::single(target)).is_none(),
        }
    }

    /// Gives a property to many targets.
    pub fn set_all(&mut self, name: &str, targets: &TargetSet) {
        if !targets.is_empty() {
            *Arc::make_mut(&mut self.by_name).entry(name.to_owned()).or_default() |= targets;
        }
    }

    /// Takes a property from a target; false if it did not have it. A property that nobody has is forgotten.
    pub fn unset(&mut self, name: &str, target: TargetId) -> bool {
        if !self.has(name, target) {
            return false;
        }
        let by_name = Arc::make_mut(&mut self.by_name);
        if let Some(targets) = by_name.get_mut(name) {
            targets.remove(target);
            if targets.is_empty() {
                by_name.remove(name);
            }
        }
        true
    }

    /// Takes all properties from some targets, as when they leave the inventory.
    pub fn remove_targets(&mut self, gone: &TargetSet) {
        if self.by_name.values().any(|targets| !targets.is_disjoint(gone)) {
            Arc::make_mut(&mut self.by_name).retain(|_, targets| {
                *targets -= gone;
                !targets.is_empty()
            });
        }
    }

    /// Adds all properties of another, as those of targets that came in ([`super::Extended::translate`]).
    pub fn merge(&mut self, other: &Properties) {
        for (name, targets) in other.iter() {
            self.set_all(name, targets);
        }
    }

    /// Whether a target has a property.
    pub fn has(&self, name: &str, target: TargetId) -> bool {
        self.get(name).is_some_and(|targets| targets.contains(target))
    }

    /// The targets that have a property; none where nobody has it.
    pub fn get(&self, name: &str) -> Option<&TargetSet> {
        self.by_name.get(name)
    }

    /// The properties of a target, by name.
    pub fn of(&self, target: TargetId) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(_, targets)| targets.contains(target)).map(|(name, _)| name)
    }

    /// All properties by name, with the targets that have them; never an empty set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TargetSet)> {
        self.by_name.iter().map(|(name, targets)| (name.as_str(), targets))
    }
}
