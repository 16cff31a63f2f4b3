//! `sluice config`.

use super::config_args::{ConfigCommand, LayerArgs};
use super::diagnostic::Failure;
use super::exit::Exit;
use super::query::pretty;
use crate::config::layers::{Deed, Directory, Layers, Leaf, Place, Say, Wanted, key};
use crate::config::{SchedulerSettings, nearest, schema};
use crate::replay::library::Files;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

pub(super) fn run(command: &ConfigCommand) -> Result<Exit, Failure> {
    let (text, exit) = match command {
        ConfigCommand::Show { key, origin, json, layers } => (show(key.as_deref(), *origin, *json, layers)?, Exit::Ok),
        ConfigCommand::Check { layers } => (check(layers)?, Exit::Ok),
        ConfigCommand::Diff { a, b, layers } => diff(a, b, layers)?,
        ConfigCommand::Explain { key, layers } => (explain(key, layers)?, Exit::Ok),
        ConfigCommand::Schema => (pretty(&schema::json_schema())?, Exit::Ok),
        ConfigCommand::Reference => (crate::config::reference::markdown(), Exit::Ok),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(exit)
}

impl LayerArgs {
    /// What is asked for.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            directories: self.directories(),
            base: None,
            names: self.config_name.iter().filter(|name| !name.is_empty()).cloned().collect(),
            files: self.config_files.clone(),
            sets: self.sets.iter().cloned().chain(self.sched.as_ref().map(|name| sched(name))).collect(),
        }
    }

    /// Whether this command line asks for any, beside what the environment does.
    pub(super) fn asked(&self) -> bool {
        let by_environment = std::env::var_os("SLUICE_CONFIG").is_some_and(|names| !names.is_empty());
        !self.config_files.is_empty() || !self.sets.is_empty() || !(self.config_name.is_empty() || by_environment)
    }

    fn directories(&self) -> Vec<Directory> {
        if let Some(paths) = self.config_path.as_ref().filter(|paths| !paths.is_empty()) {
            let directory = |path: PathBuf| Directory { label: path.to_string_lossy().into_owned(), path };
            return std::env::split_paths(paths).map(directory).collect();
        }
        let named = |label: &str, path| Directory { label: label.to_owned(), path };
        let home = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
        let user = home.map(|home| named("user", home.join("sluice/configs")));
        [named("system", PathBuf::from("/etc/sluice/configs"))].into_iter().chain(user).collect()
    }
}

/// The settings of a scheduler of which nobody says more than what is asked for here.
pub(super) fn settings(layers: &LayerArgs) -> Result<SchedulerSettings, Failure> {
    let layers = Layers::gather(&layers.wanted(), &Files);
    let config = layers.config().map_err(|errors| Failure::of_config(&errors, layers.sources()))?;
    Ok(config.common_settings())
}

/// The key that `--sched` sets.
fn sched(name: &str) -> String {
    format!("sched={}", toml::Value::String(name.to_owned()))
}

/// What is asked for, if nothing is wrong with it.
fn gather(wanted: &Wanted) -> Result<Layers, Failure> {
    let layers = Layers::gather(wanted, &Files);
    match layers.config() {
        Ok(_) => Ok(layers),
        Err(errors) => Err(Failure::of_config(&errors, layers.sources())),
    }
}

fn names(key: &str) -> Result<Vec<String>, Failure> {
    key::parse(key).map_err(|message| Failure::new(message, None).with(Exit::Usage))
}

/// That a key is nowhere, with the nearest that is there or could be.
fn nowhere(key: &str, names: &[String], layers: &Layers) -> Failure {
    let there: Vec<String> = layers
        .leaves(&[], false)
        .iter()
        .flat_map(|leaf| (1..=leaf.names.len()).map(|end| key::join(&leaf.names[..end])).collect::<Vec<_>>())
        .collect();
    let near = nearest(key, there.iter().map(String::as_str)).map(str::to_owned).or_else(|| schema::near(names));
    let help = near.filter(|near| near != key).map(|near| format!("did you mean `{near}`?"));
    Failure::new(format!("nothing is set at {key}"), help)
}

fn show(key: Option<&str>, origin: bool, as_json: bool, args: &LayerArgs) -> Result<String, Failure> {
    let layers = gather(&args.wanted())?;
    let names = key.map_or_else(|| Ok(Vec::new()), names)?;
    let leaves = layers.leaves(&names, false);
    if leaves.is_empty() {
        return Err(nowhere(key.unwrap_or_default(), &names, &layers));
    }
    if as_json {
        let value =
            if origin { leaves.iter().map(leaf_json).collect() } else { layers.json(&names).unwrap_or_default() };
        return pretty(&value);
    }
    let lines: Vec<(String, String)> = leaves.iter().map(|leaf| (line(leaf), origins(&leaf.by))).collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).filter(|width| *width <= 72).max().unwrap_or(0);
    let mut text = String::new();
    for (line, origin_) in lines {
        // Writing to a string does not fail.
        let _ = if origin { writeln!(text, "{line:width$}  # {origin_}") } else { writeln!(text, "{line}") };
    }
    Ok(text)
}

fn line(leaf: &Leaf) -> String {
    format!("{} = {}", leaf.key(), leaf.value.as_deref().unwrap_or("(unset)"))
}

fn origin(place: &Place) -> String {
    format!("{}:{} ({})", place.file, place.line, place.layer)
}

fn origins(by: &[Say]) -> String {
    by.iter().filter_map(|say| say.place.as_ref()).map(origin).collect::<Vec<_>>().join(", ")
}

fn leaf_json(leaf: &Leaf) -> serde_json::Value {
    let place = |place: &Place| json!({ "file": place.file, "line": place.line, "column": place.column, "layer": place.layer.to_string() });
    let places: Vec<_> = leaf.by.iter().filter_map(|say| say.place.as_ref()).map(place).collect();
    json!({ "key": leaf.key(), "value": leaf.json, "origin": places })
}

fn check(args: &LayerArgs) -> Result<String, Failure> {
    let layers = gather(&args.wanted())?;
    let files = layers.sources().iter().count() - 1;
    let keys = layers.leaves(&[], false).len();
    Ok(format!("{keys} keys, defaults included, of {files} files and settings: nothing is wrong\n"))
}

fn diff(a: &str, b: &str, args: &LayerArgs) -> Result<(String, Exit), Failure> {
    let wanted = |one: &str| {
        let mut wanted = args.wanted();
        for part in one.split(',').filter(|part| !part.is_empty()) {
            if part.contains('/') || part.ends_with(".toml") {
                wanted.files.push(PathBuf::from(part));
            } else {
                wanted.names.push(part.to_owned());
            }
        }
        wanted
    };
    let (a, b) = (gather(&wanted(a))?, gather(&wanted(b))?);
    let (a, b) = (a.leaves(&[], false), b.leaves(&[], false));
    let other = |leaf: &Leaf, others: &[Leaf]| others.iter().find(|o| o.names == leaf.names).cloned();
    let mut text = String::new();
    let mut tell = |sign: char, leaf: &Leaf| {
        let _ = writeln!(text, "{sign} {}  # {}", line(leaf), origins(&leaf.by));
    };
    for leaf in &a {
        match other(leaf, &b) {
            Some(same) if same.json == leaf.json => {}
            Some(changed) => {
                tell('-', leaf);
                tell('+', &changed);
            }
            None => tell('-', leaf),
        }
    }
    b.iter().filter(|leaf| other(leaf, &a).is_none()).for_each(|leaf| tell('+', leaf));
    let exit = if text.is_empty() { Exit::Ok } else { Exit::Found };
    Ok((text, exit))
}

fn explain(key: &str, args: &LayerArgs) -> Result<String, Failure> {
    let names = names(key)?;
    let layers = gather(&args.wanted())?;
    let mut text = String::new();
    let known = schema::find(&names);
    if let Some(known) = known {
        let _ = writeln!(text, "{key}: {}, {}", crate::config::reference::kind(known), known.meaning);
    }
    let leaves = layers.leaves(&names, true);
    if leaves.is_empty() && known.is_none() {
        return Err(nowhere(key, &names, &layers));
    }
    if leaves.is_empty() {
        let _ = writeln!(text, "nobody set it");
    }
    for leaf in &leaves {
        let _ = writeln!(text, "{}", line(leaf));
        let mut says = |word: &str, say: &Say| {
            let deed = match say.deed {
                Deed::Set => format!("set to {}", say.value),
                Deed::Append => format!("appended {}", say.value),
                Deed::Unset => "unset".to_owned(),
            };
            let place = say.place.as_ref().map(|place| format!(" at {}", origin(place))).unwrap_or_default();
            let _ = writeln!(text, "  {word}{deed}{place}");
        };
        leaf.by.iter().rev().for_each(|say| says("", say));
        leaf.overridden.iter().rev().for_each(|say| says("overridden: ", say));
    }
    Ok(text)
}
