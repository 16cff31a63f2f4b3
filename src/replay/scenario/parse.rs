//! From TOML to a [`Scenario`].

use super::error::{ScenarioError, ScenarioErrors};
use super::fields::{Fields, Item, Source};
use super::settings::read_site;
use super::{ConfigText, Scenario, action, expect, machine, workload};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Tables that are configuration, not scenario.
const CONFIG_TABLES: [&str; 3] = ["queues", "policy", "resource"];

impl Scenario {
    /// Reads a scenario: a file, or `scenario.toml` in a directory, and the configuration files that it names.
    pub fn load(path: &Path) -> Result<Scenario, ScenarioErrors> {
        let file = if path.is_dir() { path.join("scenario.toml") } else { path.to_owned() };
        let read = |file: &Path| {
            fs::read_to_string(file)
                .map_err(|e| ScenarioErrors(vec![ScenarioError::Io { file: file.to_owned(), message: e.to_string() }]))
        };
        let (mut scenario, files) = parse(&read(&file)?, &file)?;
        let own = scenario.config.split_off(0);
        for file in files {
            let file = scenario.directory.join(file);
            scenario.config.push(ConfigText { text: read(&file)?, file });
        }
        scenario.config.extend(own);
        Ok(scenario)
    }

    /// Reads a scenario from a text; it must not name configuration files. `file` names it in errors.
    pub fn parse(text: &str, file: &Path) -> Result<Scenario, ScenarioErrors> {
        let (scenario, files) = parse(text, file)?;
        match files.first() {
            None => Ok(scenario),
            Some(first) => {
                let message = "a text by itself cannot name configuration files".to_owned();
                Err(ScenarioErrors(vec![ScenarioError::Io { file: first.clone(), message }]))
            }
        }
    }
}

/// The scenario and the configuration files that are still to be read.
fn parse(text: &str, file: &Path) -> Result<(Scenario, Vec<PathBuf>), ScenarioErrors> {
    let src = Source::new(file, text);
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let line = src.line(error.span().map_or(0, |s| s.start));
            let (file, message) = (file.to_owned(), error.message().to_owned());
            return Err(ScenarioErrors(vec![ScenarioError::Toml { file, line, message }]));
        }
    };
    let scenario = read_document(&src, document.get_ref());
    let errors = src.into_errors();
    match scenario {
        Some(scenario) if errors.is_empty() => Ok(scenario),
        _ => Err(ScenarioErrors(errors)),
    }
}

fn read_document(src: &Source<'_>, document: &DeTable<'_>) -> Option<(Scenario, Vec<PathBuf>)> {
    let top = Fields::new(src, "the scenario", document, 1);
    // The epoch first: other times need it.
    let settings = read_site(src, top.get("site"));
    let name = top.get("name").and_then(|i| i.name());
    let title = top.get("title").and_then(|i| i.text().map(str::to_owned));
    let files = top.get("config").and_then(|i| i.names()).unwrap_or_default();
    let graph = top.get("graph").and_then(|i| machine::read_graph(&i));
    let workloads = all(top.get("workload"), workload::read_workload);
    let node_events = all(top.get("node-events"), workload::read_node_events);
    let mut number = 0;
    let actions = all(top.get("action"), |item| {
        number += 1;
        action::read_action(item, number)
    });
    let expectations = all(top.get("expect"), expect::read_expectation);
    let mut config = Vec::new();
    if CONFIG_TABLES.iter().filter(|key| top.get(key).is_some()).count() > 0 {
        config.extend(config_text(src, document));
    }
    if !top.has("graph") && !top.has("resource") && files.is_empty() {
        top.missing::<()>("graph` or `resource");
    }
    top.finish();
    let stem = if src.file.file_name().is_some_and(|n| n == "scenario.toml") {
        src.file.parent().and_then(Path::file_name)
    } else {
        src.file.file_stem()
    };
    let scenario = Scenario {
        name: name.unwrap_or_else(|| stem.map_or_else(|| "scenario".into(), |s| s.to_string_lossy().into_owned())),
        title: title.unwrap_or_default(),
        file: src.file.to_owned(),
        directory: src.file.parent().unwrap_or(Path::new("")).to_owned(),
        graph,
        config,
        settings: settings?,
        workloads,
        node_events,
        actions,
        expectations,
    };
    Some((scenario, files.into_iter().map(PathBuf::from).collect()))
}

/// Reads every element of an array of tables. One that is wrong is reported and left out.
fn all<'s, 't, T>(item: Option<Item<'s, 't>>, mut read: impl FnMut(&Item<'s, 't>) -> Option<T>) -> Vec<T> {
    let items = item.and_then(|i| i.items()).unwrap_or_default();
    items.iter().filter_map(&mut read).collect()
}

/// The text with everything blank that is not a configuration table.
///
/// A header line begins a section; what it names decides whether the section stays. Lines inside strings, arrays and
/// inline tables are no headers, whatever they look like.
fn config_text(src: &Source<'_>, document: &DeTable<'_>) -> Option<ConfigText> {
    let mut inner = Vec::new();
    for value in document.values() {
        collect_values(src.text, value, &mut inner);
    }
    let mut text = String::with_capacity(src.text.len());
    let mut keep = None;
    let mut start = 0;
    for line in src.text.split_inclusive('\n') {
        let begin = start + (line.len() - line.trim_start().len());
        let is_header = line.trim_start().starts_with('[') && !inner.iter().any(|s| s.start < begin && begin < s.end);
        if is_header {
            let first = line.trim_start().trim_start_matches('[').trim_start();
            let end = first.find(['.', ']', ' ', '\t']).unwrap_or(first.len());
            keep = Some(CONFIG_TABLES.contains(&first[..end].trim_matches(['"', '\''])));
        }
        text.push_str(if keep == Some(true) { line } else { "\n" });
        start += line.len();
    }
    for (key, _) in document.iter().filter(|(key, _)| CONFIG_TABLES.contains(&key.get_ref().as_ref())) {
        let before = &src.text[..key.span().start];
        if !before.trim_end_matches([' ', '\t']).ends_with('[') && !before.ends_with(['"', '\'']) {
            let line = src.line(key.span().start);
            src.conflict(line, format!("`{}` must stand in a table of its own, [{0}…]", key.get_ref()));
            return None;
        }
    }
    Some(ConfigText { file: src.file.to_owned(), text })
}

/// The places of all strings, arrays and inline tables.
fn collect_values(text: &str, value: &Spanned<DeValue<'_>>, into: &mut Vec<Range<usize>>) {
    let written = |span: Range<usize>, with: char| text[span].starts_with(with);
    match value.get_ref() {
        DeValue::Table(table) if !written(value.span(), '{') => {
            table.values().for_each(|v| collect_values(text, v, into));
        }
        DeValue::Array(items)
            if items.iter().all(|v| matches!(v.get_ref(), DeValue::Table(_)) && !written(v.span(), '{')) =>
        {
            items.iter().for_each(|v| collect_values(text, v, into));
        }
        _ => into.push(value.span()),
    }
}
