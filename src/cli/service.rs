//! `sluice service`: which services there are, who provides what, and what would be started.

use super::config_args::LayerArgs;
use super::diagnostic::Failure;
use super::exit::{EXIT_STATUS, Exit};
use super::query::{say, say_json, shared};
use super::summary::Look;
use crate::config::ConfigErrors;
use crate::config::layers::Layers;
use crate::replay::assembly::{RunOptions, ServiceOptions, assemble, wanted};
use crate::replay::library::{Files, fragments};
use crate::replay::scenario::Scenario;
use crate::services::{Plan, PlanError, Registry, Rule, Surroundings, UnitId, Wanted};
use clap::{Args, Subcommand, ValueHint};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
EXAMPLES:
  Who could schedule the queue batch, and who would:
    sluice service show sched@batch
  What a replay is made of, without making it:
    sluice service plan --scenario graph-fixtures/weekend-dat --dry-run
  The same with another scheduler:
    sluice service plan --scenario graph-fixtures/weekend-dat --force sched-external@pdat --dry-run
";

#[derive(Debug, Subcommand)]
pub(super) enum ServiceCommand {
    /// List the services: what each provides, its priority, whether it can run here
    #[command(after_help = EXIT_STATUS)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        here: HereArgs,
    },
    /// Show the rule of a service, or who provides it, the first choice first
    #[command(after_help = EXIT_STATUS)]
    Show {
        /// A service, or what one provides; for a template with a name, as sched@batch
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        here: HereArgs,
    },
    /// Say what would be started for services or a scenario, in which order, and what is left out; then make what the scenario asks for
    #[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"))]
    Plan {
        /// Services, or what they provide, instead of a scenario; nothing is made of them
        #[arg(required_unless_present = "scenario", conflicts_with = "scenario")]
        names: Vec<String>,
        /// Let this service provide what it can, whatever stands against it
        #[arg(long, value_name = "NAME")]
        force: Vec<String>,
        /// Let a service be provided by this one, as sched=sched-simple
        #[arg(long, value_name = "SERVICE=NAME")]
        alternative: Vec<String>,
        /// Make nothing
        #[arg(long)]
        dry_run: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        here: HereArgs,
    },
}

/// Where services are to run.
#[derive(Debug, Args)]
pub(super) struct HereArgs {
    /// The scenario whose replay is meant: a TOML file, or a directory with a scenario.toml in it
    #[arg(long, value_name = "SCENARIO", value_hint = ValueHint::AnyPath)]
    scenario: Option<PathBuf>,
    /// The rank
    #[arg(long, value_name = "N", default_value_t = 0)]
    rank: u32,
    /// An attribute that is set
    #[arg(long, value_name = "KEY")]
    attr: Vec<String>,
    #[command(flatten)]
    layers: LayerArgs,
}

impl LayerArgs {
    /// The fragments of the directories and of a scenario's own, and where services run.
    pub(super) fn services(&self, scenario: Option<&Path>) -> Result<ServiceOptions, Failure> {
        let wanted = self.wanted();
        let own = scenario.filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned);
        let directories: Vec<PathBuf> =
            wanted.directories.iter().map(|directory| directory.path.clone()).chain(own).collect();
        let layers = Layers::gather(&wanted, &Files);
        let leaves = layers.leaves(&[], false);
        let dotted = |names: &[String]| (1..=names.len()).map(|end| names[..end].join(".")).collect::<Vec<_>>();
        let config: BTreeSet<String> = leaves.iter().flat_map(|leaf| dotted(&leaf.names)).collect();
        let env = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        let here = Surroundings { config, env, ..Surroundings::default() };
        Ok(ServiceOptions { fragments: fragments(&directories)?, here, ..ServiceOptions::default() })
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Failure::new(errors.to_string(), Some("docs/services.md describes all keys of a fragment".to_owned()))
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let help = match &error {
            PlanError::Unknown { .. } => "`sluice service list` has all names",
            PlanError::Unfit { .. } => "--force NAME lets it run all the same",
            PlanError::Conflict { .. } => "`sluice service show SERVICE` says who provides it",
            PlanError::Circle(_) => "take one of these relations out of `before` or `after`",
        };
        Failure::new(error.to_string(), Some(help.to_owned()))
    }
}

/// All services here, and what the scenario asks for.
struct Open {
    registry: Registry,
    wanted: Vec<String>,
    scenario: Option<(Scenario, RunOptions)>,
}

impl HereArgs {
    fn open(&self, force: &[String], names: &[String]) -> Result<Open, Failure> {
        let scenario = match &self.scenario {
            Some(path) => Some(Scenario::load_under(path, &self.layers.wanted())?),
            None => None,
        };
        let mut services = self.layers.services(scenario.as_ref().map(|s| s.directory.as_path()))?;
        services.force = force.to_vec();
        services.here.rank = self.rank;
        services.here.attrs.extend(self.attr.iter().cloned());
        let run = RunOptions { shared: shared(), services, ..RunOptions::default() };
        let (asked, here) = match &scenario {
            Some(scenario) => wanted(scenario, &run),
            None => (Wanted::default(), run.services.here.clone()),
        };
        let mut registry = Registry::new(&run.services.fragments)?.here(here);
        let all = asked.names.iter().chain(names).chain(force);
        registry.make(all.filter_map(|name| name.split_once('@')).map(|(_, one)| one.to_owned()));
        Ok(Open { registry, wanted: asked.names, scenario: scenario.map(|scenario| (scenario, run)) })
    }
}

pub(super) fn run(command: &ServiceCommand) -> Result<Exit, Failure> {
    match command {
        ServiceCommand::List { json, here } => list(*json, &here.open(&[], &[])?)?,
        ServiceCommand::Show { name, json, here } => {
            show(name, *json, &here.open(&[], std::slice::from_ref(name))?.registry)?;
        }
        ServiceCommand::Plan { names, force, alternative, dry_run, json, here } => {
            plan(names, force, alternative, *dry_run, *json, here.open(force, names)?)?;
        }
    }
    Ok(Exit::Ok)
}

/// Whether it can run here.
fn state(rule: &Rule, registry: &Registry) -> Result<(), String> {
    let unit = registry.units().find(|(_, unit)| unit.template == rule.name);
    let conditions = unit.map_or(&rule.conditions, |(_, unit)| &unit.rule.conditions);
    registry.unfit(conditions).map_or(Ok(()), Err)
}

fn list(as_json: bool, open: &Open) -> Result<(), Failure> {
    let registry = &open.registry;
    if as_json {
        let all = registry.rules().iter().map(|rule| {
            let why = state(rule, registry).err();
            json!({
                "name": rule.name, "provides": rule.provides, "priority": rule.priority, "program": rule.exec,
                "runs": why.is_none(), "why": why, "place": rule.place,
            })
        });
        return say_json(&all.collect());
    }
    let look = Look::of_stdout();
    let mut table = look.table(&["service", "provides", "priority", "runs here", "stands at"], 5);
    for rule in registry.rules() {
        let runs = state(rule, registry).err().map_or_else(|| "yes".to_owned(), |why| format!("no: {why}"));
        let (provides, priority) = (rule.provides.join(", "), rule.priority.to_string());
        table.add_row([&rule.name, &provides, &priority, &runs, &rule.place]);
    }
    say(&format!("{table}\n"))
}

fn rule_json(rule: &Rule) -> Value {
    let conditions = &rule.conditions;
    json!({
        "name": rule.name, "module": rule.module, "exec": rule.exec, "args": rule.args, "provides": rule.provides,
        "priority": rule.priority, "priorities": rule.priorities, "requires": rule.requires, "needs": rule.needs,
        "before": rule.before, "after": rule.after, "disabled": conditions.disabled,
        "ranks": conditions.ranks.to_string(), "needs-config": conditions.config, "needs-env": conditions.env,
        "needs-attrs": conditions.attrs, "place": rule.place,
    })
}

fn show(name: &str, as_json: bool, registry: &Registry) -> Result<(), Failure> {
    let standings = registry.standings(name, &[]);
    let rule = registry.find(name).map(|id| &registry.unit(id).rule).or_else(|| registry.rule_of(name));
    let rule = rule.filter(|rule| registry.find(name).is_some() || rule.name == name);
    if standings.is_empty() && rule.is_none() {
        let unknown = PlanError::Unknown { service: name.to_owned(), by: String::new(), near: registry.near(name) };
        return Err(unknown.into());
    }
    let first = standings.iter().find(|(_, unfit)| unfit.is_none()).map(|(id, _)| registry.unit(*id).name());
    if as_json {
        let providers: Vec<Value> = standings
            .iter()
            .map(|(id, unfit)| {
                let unit = registry.unit(*id);
                let why = unfit.as_ref().map(ToString::to_string);
                json!({"name": unit.name(), "priority": unit.rule.priority_for(name), "runs": why.is_none(), "why": why})
            })
            .collect();
        let json = json!({
            "name": name, "provider": first, "providers": providers, "rule": rule.map(rule_json),
        });
        return say_json(&json);
    }
    let mut text = String::new();
    if let Some(rule) = rule {
        let all = rule_json(rule);
        for (key, value) in all.as_object().into_iter().flatten() {
            let empty = value.is_null()
                || *value == Value::Bool(false)
                || *value == json!("all")
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(serde_json::Map::is_empty);
            if !empty {
                text += &format!("{key} = {value}\n");
            }
        }
    }
    if standings.len() > 1 || rule.is_none() {
        text += &match first {
            Some(first) => format!("{name} is provided by {first}, first of\n"),
            None => format!("nobody can provide {name} here:\n"),
        };
        for (id, unfit) in &standings {
            let unit = registry.unit(*id);
            let why = unfit.as_ref().map_or_else(String::new, |why| format!(", which cannot run: {why}"));
            let priority = unit.rule.priority_for(name);
            text += &format!("  {}, priority {priority}{why} ({})\n", unit.name(), unit.rule.place);
        }
    } else if let Some((_, Some(why))) = standings.first() {
        text += &format!("it cannot run here: {why}\n");
    }
    say(&text)
}

fn plan(
    names: &[String],
    force: &[String],
    alternatives: &[String],
    dry_run: bool,
    as_json: bool,
    mut open: Open,
) -> Result<(), Failure> {
    let mut preferred = Vec::new();
    for alternative in alternatives {
        let usage = |message: String| Failure::new(message, None).with(Exit::Usage);
        let (service, name) = alternative
            .split_once('=')
            .ok_or_else(|| usage(format!("--alternative {alternative}: expected SERVICE=NAME")))?;
        open.registry.prefer(service, name).map_err(usage)?;
        preferred.push((service.to_owned(), name.to_owned()));
    }
    let wanted = Wanted { names: open.wanted.iter().chain(names).cloned().collect(), force: force.to_vec() };
    let plan = open.registry.plan(&wanted, &[])?;
    let made = match open.scenario {
        Some((scenario, mut run)) if !dry_run => {
            run.services.alternatives = preferred;
            Some(assemble(scenario, run)?.services.0)
        }
        Some(_) | None => None,
    };
    match as_json {
        true => say_json(&plan_json(&open.registry, &plan, made.as_deref())),
        false => say(&told(&open.registry, &plan, made.as_deref())),
    }
}

fn plan_json(registry: &Registry, plan: &Plan, made: Option<&[String]>) -> Value {
    let name = |id: &UnitId| registry.unit(*id).name();
    let levels: Vec<Vec<&str>> = plan.levels.iter().map(|level| level.iter().map(name).collect()).collect();
    let left = plan.left.iter().map(|left| json!({"service": left.service, "by": left.by, "why": left.why}));
    json!({
        "levels": levels,
        "stop": plan.stop_order().map(|id| registry.unit(id).name()).collect::<Vec<_>>(),
        "left-out": left.collect::<Vec<_>>(), "made": made,
    })
}

fn told(registry: &Registry, plan: &Plan, made: Option<&[String]>) -> String {
    let mut text = String::new();
    for (number, level) in (1..).zip(&plan.levels) {
        let names: Vec<&str> = level.iter().map(|id| registry.unit(*id).name()).collect();
        text += &format!("{number}. {}\n", names.join(", "));
    }
    for left in &plan.left {
        text += &format!("left out: {}, which {} requires: {}\n", left.service, left.by, left.why);
    }
    if plan.levels.is_empty() {
        text += "nothing is to be started\n";
    }
    if let Some(made) = made {
        text += &format!("made: {} services\n", made.len());
    }
    text
}
