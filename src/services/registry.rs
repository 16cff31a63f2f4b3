//! All rules, in order, and the services that can be made of them.
//!
//! Decides how fragments become one: a name that is described again is changed, key by key, and keeps its place. A service
//! of a template is made for each name that somebody uses with it.

use super::fragment::{BUILT_IN, Fragment, misplaced};
use super::rule::{Conditions, Rule, Surroundings};
use crate::config::{ConfigErrors, nearest};
use indexmap::IndexSet;
use std::collections::BTreeMap;

/// A service among those of its registry, by its place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitId(pub(super) u32);

impl UnitId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A service that can be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// How it is described; templates are filled in.
    pub rule: Rule,
    /// The name of the rule: ends in `@` for what a template has made.
    pub template: String,
    /// What stands for `@` in it.
    pub instance: Option<String>,
}

impl Unit {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.rule.name
    }

    /// Whether a relation of order that names `other` means this one.
    pub(super) fn is_meant(&self, other: &str) -> bool {
        self.rule.serves(other)
            || other.ends_with('@') && self.instance.is_some() && {
                let names = std::iter::once(&self.rule.name).chain(&self.rule.provides);
                names.into_iter().any(|name| name.starts_with(other))
            }
    }
}

/// All rules, and who is preferred.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    rules: Vec<Rule>,
    units: Vec<Unit>,
    /// In the order in which they were first used.
    instances: IndexSet<String>,
    /// Service to provider; for all that a template makes, both end in `@`.
    pub(super) alternatives: BTreeMap<String, String>,
    pub(super) here: Surroundings,
}

impl Registry {
    /// The rules that are compiled in, changed and added to by `fragments` in their order.
    ///
    /// # Errors
    /// What is wrong with them together.
    pub fn new(fragments: &[Fragment]) -> Result<Self, ConfigErrors> {
        let built_in = Fragment::parse(BUILT_IN, "built-in services")?;
        let all: Vec<Fragment> = std::iter::once(built_in).chain(fragments.iter().cloned()).collect();
        Self::of(&all)
    }

    /// The rules of `fragments` alone.
    ///
    /// # Errors
    /// What is wrong with them together.
    pub fn of(fragments: &[Fragment]) -> Result<Self, ConfigErrors> {
        let mut registry = Registry::default();
        for say in fragments.iter().flat_map(|fragment| &fragment.says) {
            let known = registry.rules.iter().position(|rule| rule.name == say.name);
            let at = match known {
                Some(at) => at,
                None if say.makes => {
                    registry.rules.push(Rule { place: say.place.clone(), ..Rule::new(&say.name) });
                    registry.rules.len() - 1
                }
                // A table named as a service changes who would provide that now.
                None => registry.first(&say.name).ok_or_else(|| {
                    let message = format!("there is no service {:?} to change{}", say.name, registry.near(&say.name));
                    misplaced(&say.place, &say.name, message)
                })?,
            };
            say.apply(&mut registry.rules[at]);
        }
        for rule in &registry.rules {
            registry.check(rule)?;
        }
        for (service, name, place) in fragments.iter().flat_map(|fragment| &fragment.alternatives) {
            registry.prefer(service, name).map_err(|message| misplaced(place, "alternatives", message))?;
        }
        registry.fill();
        Ok(registry)
    }

    /// The rule that provides a service first, by priority alone.
    fn first(&self, service: &str) -> Option<usize> {
        let all = self.rules.iter().enumerate().filter(|(_, rule)| rule.serves(service));
        all.max_by_key(|(at, rule)| (rule.priority_for(service), *at)).map(|(at, _)| at)
    }

    fn check(&self, rule: &Rule) -> Result<(), ConfigErrors> {
        let wrong = |key: &str, message: String| Err(misplaced(&rule.place, &format!("{}.{key}", rule.name), message));
        for (key, list) in [("provides", &rule.provides), ("requires", &rule.requires), ("needs", &rule.needs)] {
            if let Some(name) = list.iter().find(|name| name.ends_with('@')).filter(|_| !rule.is_template()) {
                return wrong(key, format!("{name} is a template: name one that is made of it, as {name}batch"));
            }
        }
        for (key, list, other, opposite) in
            [("before", &rule.before, "after", &rule.after), ("after", &rule.after, "before", &rule.before)]
        {
            if list.iter().any(|name| name == "*") && (list.len() > 1 || !opposite.is_empty()) {
                return wrong(key, format!("\"*\" stands alone, and without `{other}`"));
            }
        }
        Ok(())
    }

    /// Lets `name` provide `service`.
    ///
    /// # Errors
    /// There is no such service, or it does not provide that.
    pub fn prefer(&mut self, service: &str, name: &str) -> Result<(), String> {
        let rule = self.rule_of(name).ok_or_else(|| format!("there is no service {name:?}{}", self.near(name)))?;
        let template = service.find('@').map_or(service, |at| &service[..=at]);
        if !rule.serves(service) && !rule.serves(template) {
            return Err(format!("{name} does not provide {service}"));
        }
        self.alternatives.insert(service.to_owned(), name.to_owned());
        Ok(())
    }

    /// The rule of a name, which may be one that a template has made.
    pub fn rule_of(&self, name: &str) -> Option<&Rule> {
        let template = name.find('@').map_or(name, |at| &name[..=at]);
        let exact = self.rules.iter().find(|rule| rule.name == name);
        exact.or_else(|| self.rules.iter().find(|rule| rule.name == template))
    }

    /// Says where services are to run.
    #[must_use]
    pub fn here(mut self, here: Surroundings) -> Self {
        self.here = here;
        self
    }

    /// Makes the services of templates for these names too: `batch` of `sched@batch`.
    pub fn make(&mut self, names: impl IntoIterator<Item = String>) {
        let before = self.instances.len();
        self.instances.extend(names.into_iter().filter(|name| !name.is_empty()));
        if self.instances.len() != before {
            self.fill();
        }
    }

    fn fill(&mut self) {
        let named = |rule: &Rule| {
            let lists = [&rule.provides, &rule.requires, &rule.needs, &rule.before, &rule.after];
            let names = lists.into_iter().flatten().filter_map(|name| name.split_once('@')).map(|(_, one)| one);
            names.filter(|one| !one.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        let named: Vec<String> = self.rules.iter().flat_map(named).collect();
        self.instances.extend(named);
        let of_rule = |rule: &Rule| {
            let unit = |instance: Option<&String>| Unit {
                rule: instance.map_or_else(|| rule.clone(), |name| filled(rule, name)),
                template: rule.name.clone(),
                instance: instance.cloned(),
            };
            match rule.is_template() {
                true => self.instances.iter().map(|name| unit(Some(name))).collect(),
                false => vec![unit(None)],
            }
        };
        self.units = self.rules.iter().flat_map(of_rule).collect();
    }

    /// The rules, templates among them, in their order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// A service.
    pub fn unit(&self, id: UnitId) -> &Unit {
        &self.units[id.index()]
    }

    /// All services, in the order of their rules.
    pub fn units(&self) -> impl Iterator<Item = (UnitId, &Unit)> {
        self.units.iter().enumerate().map(|(at, unit)| (UnitId(at as u32), unit))
    }

    /// The service of this name.
    pub fn find(&self, name: &str) -> Option<UnitId> {
        self.units().find(|(_, unit)| unit.name() == name).map(|(id, _)| id)
    }

    /// Why what has these conditions cannot run here.
    pub fn unfit(&self, conditions: &Conditions) -> Option<String> {
        conditions.against(&self.here)
    }

    /// The nearest name, as an offer: ` (did you mean …?)`, or nothing.
    pub fn near(&self, name: &str) -> String {
        let names = self.units.iter().flat_map(|u| std::iter::once(&u.rule.name).chain(&u.rule.provides));
        let rules = self.rules.iter().map(|r| &r.name);
        nearest(name, names.chain(rules).map(String::as_str))
            .map(|n| format!(" (did you mean {n}?)"))
            .unwrap_or_default()
    }
}

/// A template with a name in it.
fn filled(rule: &Rule, instance: &str) -> Rule {
    let fill = |name: &String| if name.ends_with('@') { format!("{name}{instance}") } else { name.clone() };
    let all = |names: &[String]| names.iter().map(fill).collect();
    Rule {
        name: fill(&rule.name),
        provides: all(&rule.provides),
        requires: all(&rule.requires),
        needs: all(&rule.needs),
        before: all(&rule.before),
        after: all(&rule.after),
        conditions: Conditions {
            config: all(&rule.conditions.config),
            env: all(&rule.conditions.env),
            attrs: all(&rule.conditions.attrs),
            ..rule.conditions.clone()
        },
        ..rule.clone()
    }
}
