//! `[instances.*]`: what jobs run that run an instance of their own.

use super::fields::{Item, Source};
use super::parse::{all, file_base};
use super::workload::{Workload, read_workload};
use crate::config::layers::{Base, Layers, Wanted};
use crate::config::{Config, ResourceConfig, nearest};
use crate::replay::library::Files;

/// An instance: its configuration and its work. It has what the job holds that runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// What it is called.
    pub name: String,
    /// The file that `config` names, under the configurations that `config-name` names, under the keys of `set` and `sched`.
    pub config: Config,
    /// `stopped`: queues that do not start with it.
    pub stopped: Vec<String>,
    /// `workload`, in order; times count from the start of its job.
    pub workloads: Vec<Workload>,
    /// The line where it stands (counted from 1).
    pub line: usize,
}

impl Instance {
    /// The instances that its jobs run.
    fn runs(&self) -> impl Iterator<Item = &str> {
        self.workloads.iter().flat_map(instances_of)
    }
}

/// The instances that the jobs of a workload run.
fn instances_of(workload: &Workload) -> Vec<&str> {
    match workload {
        Workload::Jobs(jobs) => jobs.iter().filter_map(|job| job.instance.as_deref()).collect(),
        Workload::Swf(_) | Workload::Generate(_) => Vec::new(),
    }
}

pub(super) fn read_instances(src: &Source<'_>, item: Option<Item<'_, '_>>, above: &Wanted) -> Vec<Instance> {
    // No wall clock: nobody knows when its job starts.
    let epoch = src.epoch.replace(None);
    let entries = item.and_then(|item| item.entries()).unwrap_or_default();
    let instances = entries.into_iter().filter_map(|(name, item)| read_instance(name, &item, above)).collect();
    src.epoch.set(epoch);
    instances
}

fn read_instance(name: String, item: &Item<'_, '_>, above: &Wanted) -> Option<Instance> {
    let src = item.src;
    let named_before = src.queues_named();
    let fields = item.fields(format!("[instances.{name}]"))?;
    let base = match fields.get("config") {
        Some(item) => item.name().and_then(|name| file_base(src, &name)),
        None => Some(Base { file: src.file.to_owned(), text: String::new(), only: Vec::new() }),
    };
    let names = fields.get("config-name").map_or(Some(Vec::new()), |item| item.names());
    let sets = fields.get("set").map_or(Some(Vec::new()), |item| item.names());
    let sched = fields.get("sched").map_or(Some(None), |item| item.name().map(Some));
    let stopped = fields.get("stopped").map_or(Some(Vec::new()), |item| item.queues());
    let workloads = all(fields.get("workload"), read_workload);
    if !fields.has("workload") {
        fields.missing::<()>("workload");
    }
    fields.finish();
    let sched = sched?.map(|name| format!("sched={}", toml::Value::String(name)));
    let sets = sets?.into_iter().chain(sched).collect();
    let directories = above.directories.clone();
    let wanted = Wanted { base: Some(base?), directories, names: names?, sets, ..Wanted::default() };
    let config = match Layers::gather(&wanted, &Files).config() {
        Ok(config) => config,
        Err(errors) => {
            errors.0.into_iter().for_each(|error| src.push(error.into()));
            return None;
        }
    };
    if config.resource != ResourceConfig::default() {
        src.conflict(
            item.line(),
            format!("[instances.{name}]: it has what its job holds: take [resource] out of its configuration"),
        );
    }
    if !config.calendar.is_empty() {
        src.conflict(
            item.line(),
            format!("[instances.{name}]: it has no wall clock: take [calendar] out of its configuration"),
        );
    }
    src.check_queues_of(&config, &format!("the instance {name}"), &[], named_before);
    Some(Instance { name, config, stopped: stopped?, workloads, line: item.line() })
}

/// Reports instances that are named and not there, and those that would run themselves.
pub(super) fn check_instances(src: &Source<'_>, instances: &[Instance]) {
    let known: Vec<&str> = instances.iter().map(|instance| instance.name.as_str()).collect();
    for (span, name) in src.instances.borrow().iter().filter(|(_, name)| !known.contains(&name.as_str())) {
        let near =
            nearest(name, known.iter().copied()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let expected = match known.is_empty() {
            true => "an instance of this scenario (there are none: make a table [instances.NAME])".to_owned(),
            false => format!("an instance of this scenario (there are {}{near})", known.join(", ")),
        };
        src.wrong(span.clone(), "instance", expected, format!("{name:?}"));
    }
    for instance in instances {
        let mut chain = Vec::new();
        if leads_back(instance, instances, &mut chain) {
            let message = format!("[instances.{}] runs itself: {}, {}", instance.name, chain.join(", "), instance.name);
            src.conflict(instance.line, message);
        }
    }
}

/// Whether an instance is among those that the last of the chain, or it, runs.
fn leads_back<'a>(to: &'a Instance, instances: &'a [Instance], chain: &mut Vec<&'a str>) -> bool {
    let last = chain.last().copied().unwrap_or(&to.name);
    let Some(from) = instances.iter().find(|instance| instance.name == last) else { return false };
    for name in from.runs() {
        if name == to.name {
            if chain.is_empty() {
                chain.push(&to.name);
            }
            return true;
        }
        if !chain.contains(&name) {
            chain.push(name);
            if leads_back(to, instances, chain) {
                return true;
            }
            chain.pop();
        }
    }
    false
}
