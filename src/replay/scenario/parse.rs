//! From TOML to a [`Scenario`].

use super::error::{ScenarioError, ScenarioErrors};
use super::fields::{Fields, Item, Source};
use super::settings::read_site;
use super::{Action, ActionKind, Scenario, action, expect, instance, machine, workload};
use crate::config::ResourceConfig;
use crate::config::layers::{Base, Layers, Wanted};
use crate::replay::library::Files;
use std::fs;
use std::path::Path;
use toml::de::DeTable;

/// Keys that are configuration, not scenario.
const CONFIG_KEYS: [&str; 7] = ["queues", "policy", "resource", "calendar", "users", "groups", "include"];

impl Scenario {
    /// Reads a scenario: a file, or `scenario.toml` in a directory, and the configuration file if it names one.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn load(path: &Path) -> Result<Scenario, ScenarioErrors> {
        Scenario::load_under(path, &Wanted::default())
    }

    /// Reads a scenario as [`Scenario::load`] does, with more configuration over its own. The built-in defaults lie below;
    /// `default/*.toml` of the directories has no part in it, so that a scenario means the same everywhere.
    ///
    /// # Errors
    /// Everything that is wrong with all of it.
    pub fn load_under(path: &Path, above: &Wanted) -> Result<Scenario, ScenarioErrors> {
        let file = if path.is_dir() { path.join("scenario.toml") } else { path.to_owned() };
        Scenario::read_under(&read(&file)?, &file, above)
    }

    /// Reads a scenario from a text. `file` is where the text is from: it names the text in errors, and names of files in
    /// the text are relative to its directory.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, file: &Path) -> Result<Scenario, ScenarioErrors> {
        Scenario::read_under(text, file, &Wanted::default())
    }

    fn read_under(text: &str, file: &Path, above: &Wanted) -> Result<Scenario, ScenarioErrors> {
        let src = Source::new(file, text);
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let line = src.line(error.span().map_or(0, |s| s.start));
                let (file, message) = (file.to_owned(), error.message().to_owned());
                return Err(ScenarioErrors(vec![ScenarioError::Toml { file, line, message }]));
            }
        };
        let scenario = read_document(&src, document.get_ref(), above);
        let errors = src.into_errors();
        match scenario {
            Some(scenario) if errors.is_empty() => Ok(scenario),
            _ => Err(ScenarioErrors(errors)),
        }
    }
}

impl Scenario {
    /// Reads actions that stand by themselves, with the queues and the clock of this scenario: a text of `[[action]]`
    /// tables. Whether their queues exist is for the site to say.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse_actions(&self, epoch: Option<i64>, text: &str, file: &Path) -> Result<Vec<Action>, ScenarioErrors> {
        let src = Source::new(file, text);
        src.epoch.set(epoch);
        *src.config.borrow_mut() = self.config.clone();
        let document = DeTable::parse(text).map_err(|error| {
            let line = src.line(error.span().map_or(0, |s| s.start));
            let (file, message) = (file.to_owned(), error.message().to_owned());
            ScenarioErrors(vec![ScenarioError::Toml { file, line, message }])
        })?;
        let top = Fields::new(&src, "the actions", document.get_ref(), 1);
        let mut number = 0;
        let actions = all(top.get("action"), |item| {
            number += 1;
            action::read_action(item, number)
        });
        if actions.is_empty() && !top.has("action") {
            top.missing::<()>("action");
        }
        top.finish();
        let errors = src.into_errors();
        if errors.is_empty() { Ok(actions) } else { Err(ScenarioErrors(errors)) }
    }
}

fn read(file: &Path) -> Result<String, ScenarioErrors> {
    fs::read_to_string(file)
        .map_err(|e| ScenarioErrors(vec![ScenarioError::Io { file: file.to_owned(), message: e.to_string() }]))
}

fn read_document(src: &Source<'_>, document: &DeTable<'_>, above: &Wanted) -> Option<Scenario> {
    let top = Fields::new(src, "the scenario", document, 1);
    // The epoch first: other times need it.
    let settings = read_site(src, top.get("site"));
    let name = top.get("name").and_then(|i| i.name());
    let title = top.get("title").and_then(|i| i.text().map(str::to_owned));
    read_configuration(src, &top, above);
    let graph = top.get("graph").and_then(|i| machine::read_graph(&i));
    let workloads = all(top.get("workload"), workload::read_workload);
    let instances = instance::read_instances(src, top.get("instances"), above);
    instance::check_instances(src, &instances);
    let node_events = all(top.get("node-events"), workload::read_node_events);
    let mut number = 0;
    let actions = all(top.get("action"), |item| {
        number += 1;
        action::read_action(item, number)
    });
    let expectations = all(top.get("expect"), expect::read_expectation);
    if !top.has("graph") && src.config.borrow().resource == ResourceConfig::default() {
        top.missing::<()>("graph` or `resource");
    }
    let created = actions.iter().filter_map(|a| match &a.what {
        ActionKind::QueueCreate(config) => Some(config.name.as_str()),
        _ => None,
    });
    src.check_queues(&created.collect::<Vec<_>>());
    top.finish();
    let stem = if src.file.file_name().is_some_and(|n| n == "scenario.toml") {
        src.file.parent().and_then(Path::file_name)
    } else {
        src.file.file_stem()
    };
    Some(Scenario {
        name: name.unwrap_or_else(|| stem.map_or_else(|| "scenario".into(), |s| s.to_string_lossy().into_owned())),
        title: title.unwrap_or_default(),
        file: src.file.to_owned(),
        directory: src.file.parent().unwrap_or(Path::new("")).to_owned(),
        graph,
        config: src.config.take(),
        settings: settings?,
        workloads,
        instances,
        node_events,
        actions,
        expectations,
    })
}

/// Reads the configuration: from the file that `config` names, else from the scenario's own tables; with what they
/// include, and what lies over them.
fn read_configuration(src: &Source<'_>, top: &Fields<'_, '_>, above: &Wanted) {
    let own: Vec<_> = CONFIG_KEYS.iter().filter_map(|key| top.get(key)).collect();
    let base = match top.get("config") {
        None => {
            let only = CONFIG_KEYS.iter().map(|key| (*key).to_owned()).collect();
            Base { file: src.file.to_owned(), text: src.text.to_owned(), only }
        }
        Some(item) => {
            if let Some(own) = own.first() {
                src.conflict(own.line(), format!("`{}` stands in the file that `config` names", own.key));
            }
            let Some(base) = item.name().and_then(|name| file_base(src, &name)) else { return };
            base
        }
    };
    match Layers::gather(&Wanted { base: Some(base), ..above.clone() }, &Files).config() {
        Ok(config) => *src.config.borrow_mut() = config,
        Err(errors) => errors.0.into_iter().for_each(|error| src.push(error.into())),
    }
}

/// A configuration file that the scenario names.
pub(super) fn file_base(src: &Source<'_>, name: &str) -> Option<Base> {
    let file = src.file.parent().unwrap_or(Path::new("")).join(name);
    match read(&file) {
        Ok(text) => Some(Base { file, text, only: Vec::new() }),
        Err(errors) => {
            errors.0.into_iter().for_each(|error| src.push(error));
            None
        }
    }
}

/// Reads every element of an array of tables. One that is wrong is reported and left out.
pub(super) fn all<'s, 't, T>(item: Option<Item<'s, 't>>, mut read: impl FnMut(&Item<'s, 't>) -> Option<T>) -> Vec<T> {
    let items = item.and_then(|i| i.items()).unwrap_or_default();
    items.iter().filter_map(&mut read).collect()
}
