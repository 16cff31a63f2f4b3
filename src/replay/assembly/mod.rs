//! From a scenario to a replay: opens what it names, and makes the services that the registry of [`crate::services`] plans.
//!
//! A scenario asks for `replay`, for a `workload@N` and a `node-log@N` each, for `actions`, for a `sched@QUEUE` each, and for the
//! files that are to be written. Who provides these, in which order, is said by rules: those in `services/built-in.toml`, and
//! fragments that lie over them. A service that nobody asks for is not made.
//!
//! The coordinator is made as one of several architectures has it: see [`Architecture`].

mod actions;
mod architecture;
mod division;
mod error;
mod machine;
mod nested;
mod parts;
mod sched;
mod work;

pub(crate) use actions::deed_of;
pub use architecture::Architecture;
pub use error::AssemblyError;
pub use parts::{COMPILED_IN, wanted};
pub use sched::ServiceOptions;

use division::Division;

use super::engine::{Engine, Intervention, Metrics, NodeRules, Options, Outcome, ReplayError, Stopwatch, Timed};
use super::export::Exporter;
use super::observer::Observer;
use super::scenario::{Check, PassRule, Scenario};
use super::source::{Jobs, QueueNames};
use super::workload::{TraceJob, Workload};
use crate::base::{Duration, FastMap, JobId, Timestamp};
use crate::config::Config;
use crate::formats::swf::Swf;
use crate::graph::{Graph, Properties};
use crate::services::{Built, Plan, Registry, Rule};
use crate::site::{Event, Site};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What is chosen for one run, apart from the scenario.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Where shared data is.
    pub shared: PathBuf,
    /// Check all invariants after every step.
    pub check: bool,
    /// Write the starts of jobs here.
    pub starts: Option<PathBuf>,
    /// Write a row for each job here.
    pub jobs_csv: Option<PathBuf>,
    /// Write events and effects here.
    pub events: Option<PathBuf>,
    /// What there is beside the services that are compiled in.
    pub services: ServiceOptions,
}

/// A replay under construction.
pub struct Assembly {
    /// What is replayed.
    pub scenario: Scenario,
    /// How.
    pub run: RunOptions,
    /// How queues share the machine.
    pub architecture: Architecture,
    /// Things that are odd, but no errors.
    pub warnings: Vec<String>,
    /// The wall clock at time 0, in seconds since 1970; from the scenario, or the trace.
    pub epoch: Option<i64>,
    graph: Option<(Arc<Graph>, Arc<Properties>)>,
    config: Config,
    traces: FastMap<PathBuf, Arc<Swf>>,
    sources: BTreeMap<usize, work::ReadWorkload>,
    schedulers: BTreeMap<String, Option<Rule>>,
    jobs: Vec<TraceJob>,
    queues: QueueNames,
    /// Jobs that run an instance, with its name.
    instance_of: Vec<(JobId, String)>,
    highest_id: u64,
    timed: Vec<Timed>,
    site: Option<Site>,
    /// Where one scheduler serves all queues, the queue that it belongs to.
    shared_by: Option<String>,
    /// Where nodes belong to queues for good, which to whom.
    division: Option<Division>,
    pass: PassRule,
    metrics: Option<Metrics>,
    exporters: Vec<Box<dyn Exporter>>,
    observers: Vec<Box<dyn Observer>>,
}

/// A replay that has been put together.
pub struct Replay {
    /// What is replayed.
    pub scenario: Scenario,
    /// The jobs.
    pub workload: Workload,
    /// The configuration.
    pub config: Config,
    /// The graph at the beginning.
    pub graph: Arc<Graph>,
    /// Things that are odd, but no errors.
    pub warnings: Vec<String>,
    /// The wall clock at time 0, in seconds since 1970.
    pub epoch: Option<i64>,
    /// The services that were made, in their order.
    pub services: Built,
    site: Site,
    timed: Vec<Timed>,
    options: Options,
    exporters: Vec<Box<dyn Exporter>>,
    observers: Vec<Box<dyn Observer>>,
}

impl Assembly {
    fn new(architecture: Architecture, scenario: Scenario, run: RunOptions) -> Self {
        Self {
            architecture,
            epoch: scenario.settings.epoch,
            scenario,
            run,
            warnings: Vec::new(),
            graph: None,
            config: Config::default(),
            traces: FastMap::default(),
            sources: BTreeMap::new(),
            schedulers: BTreeMap::new(),
            jobs: Vec::new(),
            queues: QueueNames::default(),
            instance_of: Vec::new(),
            highest_id: 0,
            timed: Vec::new(),
            site: None,
            shared_by: None,
            division: None,
            pass: PassRule::Timestamp,
            metrics: None,
            exporters: Vec::new(),
            observers: Vec::new(),
        }
    }

    /// Takes over jobs of one source.
    fn add_jobs(&mut self, jobs: Jobs) {
        let map: Vec<u16> = jobs.queues.into_names().iter().map(|name| self.queues.number(name)).collect();
        let straight = map.iter().enumerate().all(|(old, new)| old == usize::from(*new));
        self.instance_of.extend(jobs.instances);
        let highest = jobs.jobs.iter().map(|j| j.id.0).max().unwrap_or(0);
        self.highest_id = self.highest_id.max(highest);
        let mut jobs = jobs.jobs;
        if !straight {
            for job in &mut jobs {
                job.queue = job.queue.map(|q| map[usize::from(q)]);
            }
        }
        if self.jobs.is_empty() {
            self.jobs = jobs;
        } else {
            self.jobs.append(&mut jobs);
        }
    }

    /// The queue of jobs that name none.
    fn default_queue(&self) -> Option<String> {
        match self.config.default_queue() {
            Some(queue) => Some(queue.name.clone()),
            None if self.config.queues.is_empty() => Some(ANONYMOUS_QUEUE.to_owned()),
            None if self.config.queues.len() == 1 => self.config.queues.keys().next().cloned(),
            None => None,
        }
    }

    /// Queues that start with the replay, in the order of the configuration.
    fn starting(&self) -> Vec<String> {
        let stopped = &self.scenario.settings.stopped;
        // The calendar starts its own.
        let calendar = &self.config.calendar;
        let all = self.config.queues.values().map(|q| q.name.clone()).filter(|name| !calendar.decides(name));
        if self.config.queues.is_empty() {
            return vec![ANONYMOUS_QUEUE.to_owned()];
        }
        // A virtual queue starts after its parent.
        let (own, virtual_queues): (Vec<_>, Vec<_>) =
            all.filter(|name| !stopped.contains(name)).partition(|name| !self.config.queues[name].is_virtual());
        own.into_iter().chain(virtual_queues).collect()
    }
}

/// The queue of a configuration without queues.
const ANONYMOUS_QUEUE: &str = "default";

/// Puts a replay together.
///
/// # Errors
/// Whatever is wrong with what the scenario names.
pub fn assemble(scenario: Scenario, run: RunOptions) -> Result<Replay, AssemblyError> {
    assemble_in(Architecture::Donation, scenario, run)
}

/// Puts a replay in an architecture together.
///
/// # Errors
/// Whatever is wrong with what the scenario names.
pub fn assemble_in(architecture: Architecture, scenario: Scenario, run: RunOptions) -> Result<Replay, AssemblyError> {
    let mut a = Assembly::new(architecture, scenario, run);
    let (registry, plan) = planned(&a.scenario, &a.run)?;
    let services = parts::makers().build(&registry, &plan, &mut a).map_err(AssemblyError::of_build)?;
    let nested = a.nested(&mut BTreeMap::new())?;
    a.adapt();
    let workload = Workload::new(std::mem::take(&mut a.jobs), std::mem::take(&mut a.queues).into_names())?;
    let workload = workload.with_nested(nested);
    let settings = &a.scenario.settings;
    let default_queue = a.default_queue();
    let options = Options {
        pass: a.pass,
        work_budget: settings.work_budget.unwrap_or(usize::MAX),
        until: settings.until,
        nodes: NodeRules {
            on_node_fail: settings.on_node_fail,
            housekeeping: settings.housekeeping.clone(),
            on_preempt: settings.on_preempt.clone(),
        },
        default_queue,
        start: a.starting(),
        check: a.run.check,
        keep_selections: a.run.jobs_csv.is_some() || wants_places(&a.scenario),
        metrics: a.metrics.ok_or(AssemblyError::Incomplete("metrics"))?,
        stopwatch: None,
        measure: None,
        restart_every: None,
    };
    let (graph, _) = a.graph.ok_or(AssemblyError::Incomplete("resources"))?;
    Ok(Replay {
        scenario: a.scenario,
        workload,
        config: a.config,
        graph,
        warnings: a.warnings,
        epoch: a.epoch,
        services,
        site: a.site.ok_or(AssemblyError::Incomplete("schedulers"))?,
        timed: a.timed,
        options,
        exporters: a.exporters,
        observers: a.observers,
    })
}

/// The services that a scenario and a run ask for, among all that there are.
///
/// # Errors
/// What is wrong with their rules, or what cannot be planned.
pub fn planned(scenario: &Scenario, run: &RunOptions) -> Result<(Registry, Plan), AssemblyError> {
    let (wanted, here) = wanted(scenario, run);
    let mut registry = Registry::new(&run.services.fragments)?.here(here);
    let instance = |name: &String| name.split_once('@').map(|(_, one)| one.to_owned());
    registry.make(wanted.names.iter().filter_map(instance));
    for (service, name) in &run.services.alternatives {
        registry.prefer(service, name).map_err(AssemblyError::Services)?;
    }
    let plan = registry.plan(&wanted, &[])?;
    Ok((registry, plan))
}

/// Whether an expectation asks where a job ran.
fn wants_places(scenario: &Scenario) -> bool {
    scenario.expectations.iter().any(|e| matches!(&e.check, Check::Job { on: Some(_), .. }))
}

impl Replay {
    /// The site before anything happens.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// One more that watches.
    pub fn watch(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
    }

    /// Makes forecasts about so often, and compares them with what comes.
    pub fn measure_forecast(&mut self, samples: u32) {
        self.options.measure = Some(samples);
    }

    /// Lets the site end and go on from its own record about so often, and those of all instances: a rehearsal of crashes.
    pub fn restart_every(&mut self, every: Duration) {
        self.options.restart_every = Some(every);
    }

    /// Measures how long the schedulers take, by a clock of the caller's: it stands in the report alone.
    pub fn time_passes(&mut self, clock: Stopwatch) {
        self.options.stopwatch = Some(clock);
    }

    /// Lets the site say why jobs wait and when they are planned to start, and keep it with the jobs.
    pub fn annotate(&mut self) {
        self.site = self.site.clone().with_annotations(true);
    }

    /// Replays. The real times of the report are left at zero.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub fn run(self) -> Result<Finished, ReplayError> {
        Ok(self.run_by(|engine| engine.run().map(|outcome| ((), outcome)))?.1)
    }

    /// Replays to `at`, asks what is done then, does it, and goes on to the end: see [`Engine::run_with`].
    ///
    /// # Errors
    /// See [`ReplayError`]; whatever `choose` says.
    pub fn run_with<E: From<ReplayError>>(
        self,
        at: Timestamp,
        choose: impl FnOnce(&mut Site) -> Result<Vec<Event>, E>,
    ) -> Result<(Intervention, Finished), E> {
        self.run_by(|engine| engine.run_with(at, choose))
    }

    fn run_by<T, E: From<ReplayError>>(
        mut self,
        run: impl FnOnce(Engine<'_>) -> Result<(T, Outcome), E>,
    ) -> Result<(T, Finished), E> {
        let probe = |check: &Check| match check {
            Check::Owners(owners) => Some(owners.at),
            Check::Key { .. } | Check::Job { .. } | Check::Order(_) => None,
        };
        let probes: Vec<Timestamp> = self.scenario.expectations.iter().filter_map(|e| probe(&e.check)).collect();
        let engine = Engine::new(
            self.site,
            &self.workload,
            self.timed,
            probes,
            self.options,
            std::mem::take(&mut self.observers),
        );
        let (value, outcome) = run(engine)?;
        let finished = Finished {
            scenario: self.scenario,
            workload: self.workload,
            config: self.config,
            epoch: self.epoch,
            warnings: self.warnings,
            outcome,
        };
        for exporter in &mut self.exporters {
            exporter.export(&finished).map_err(|(what, source)| ReplayError::Write { what, source })?;
        }
        Ok((value, finished))
    }
}

/// A replay and its result.
pub struct Finished {
    /// What was replayed.
    pub scenario: Scenario,
    /// The jobs.
    pub workload: Workload,
    /// The configuration.
    pub config: Config,
    /// The wall clock at time 0, in seconds since 1970.
    pub epoch: Option<i64>,
    /// Things that are odd, but no errors.
    pub warnings: Vec<String>,
    /// The result.
    pub outcome: Outcome,
}
