//! The services of a replay: who makes them, and which of them a scenario asks for.

use super::{ANONYMOUS_QUEUE, Assembly, AssemblyError, RunOptions};
use crate::config::{Config, Members};
use crate::replay::events::EventLog;
use crate::replay::export::{JobsCsv, Starts};
use crate::replay::metrics;
use crate::replay::scenario::{GraphFormat, GraphSource, PassRule, Scenario, Workload};
use crate::services::{Make, Makers, Rule, Surroundings, Wanted};
use crate::site::{Site, SiteOptions};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// The services that are compiled in, with who makes them. Their rules stand in `services/built-in.toml`.
pub const COMPILED_IN: &[(&str, Make<Assembly, AssemblyError>)] = &[
    ("replay", |_, _| Ok(())),
    ("configuration-toml", |a, _| a.config_toml()),
    ("graph-config", |a, _| a.graph_config()),
    ("graph-text", |a, _| a.graph_text()),
    ("graph-r", |a, _| a.graph_r()),
    ("graph-jgf", |a, _| a.graph_jgf()),
    ("graph-grug", |a, _| a.graph_grug()),
    ("graph-hwloc", |a, _| a.graph_hwloc()),
    ("graph-uniform", |a, _| a.graph_uniform()),
    ("graph-swf-header", |a, _| a.graph_swf_header()),
    ("workloads", |a, _| a.read_workloads()),
    ("workload-swf@", |a, number| a.workload(number, Assembly::workload_swf)),
    ("workload-jobs@", |a, number| a.workload(number, Assembly::workload_jobs)),
    ("workload-generate@", |a, number| a.workload(number, Assembly::workload_generate)),
    ("node-log@", Assembly::node_log),
    ("actions", |a, _| a.actions()),
    ("sched-builtin@", |a, queue| a.scheduler(queue, None)),
    ("coordinator", |a, _| site(a)),
    ("clock-timestamp", |a, _| clock(a, PassRule::Timestamp)),
    ("clock-event", |a, _| clock(a, PassRule::Event)),
    ("job-metrics", |a, _| {
        a.metrics = Some(metrics::figures);
        Ok(())
    }),
    ("starts", |a, _| starts(a)),
    ("jobs-csv", |a, _| jobs_csv(a)),
    ("events", |a, _| events(a)),
];

/// Who makes the services of a replay.
pub(super) fn makers() -> Makers<Assembly, AssemblyError> {
    let program = |a: &mut Assembly, rule: &Rule, queue: Option<&str>| a.scheduler(queue, Some(rule));
    Makers { compiled_in: COMPILED_IN, program }
}

/// What a scenario and a run ask for, and where that is to run.
pub fn wanted(scenario: &Scenario, run: &RunOptions) -> (Wanted, Surroundings) {
    let mut attrs: BTreeSet<String> = BTreeSet::new();
    let graph = scenario.graph.as_ref().map(|graph| match graph {
        GraphSource::Text { .. } | GraphSource::File { format: GraphFormat::Text, .. } => "graph.text",
        GraphSource::File { format: GraphFormat::R, .. } => "graph.r",
        GraphSource::File { format: GraphFormat::Jgf, .. } => "graph.jgf",
        GraphSource::File { format: GraphFormat::Grug, .. } => "graph.grug",
        GraphSource::Hwloc { .. } => "graph.hwloc",
        GraphSource::Uniform(_) => "graph.uniform",
        GraphSource::SwfHeader(_) => "graph.swf-header",
    });
    attrs.extend(graph.into_iter().flat_map(|graph| ["graph".to_owned(), graph.to_owned()]));
    attrs.insert(match scenario.settings.pass {
        PassRule::Timestamp => "pass.timestamp".to_owned(),
        PassRule::Event => "pass.event".to_owned(),
    });
    let mut names = vec!["replay".to_owned()];
    for (number, work) in (1..).zip(&scenario.workloads) {
        let kind = match work {
            Workload::Swf(_) => "swf",
            Workload::Jobs(_) => "jobs",
            Workload::Generate(_) => "generate",
        };
        attrs.insert(format!("workload.{kind}@{number}"));
        names.push(format!("workload@{number}"));
    }
    names.extend((!scenario.workloads.is_empty()).then(|| "workloads".to_owned()));
    names.extend((1..=scenario.node_events.len()).map(|number| format!("node-log@{number}")));
    names.extend((!scenario.actions.is_empty()).then(|| "actions".to_owned()));
    names.extend(own_queues(&scenario.config).map(|queue| format!("sched@{queue}")));
    let files = [(&run.starts, "export-starts"), (&run.jobs_csv, "export-jobs"), (&run.events, "export-events")];
    names.extend(files.into_iter().filter(|(path, _)| path.is_some()).map(|(_, part)| part.to_owned()));
    let wanted = Wanted { names, force: run.services.force.clone() };
    (wanted, Surroundings { attrs, ..run.services.here.clone() })
}

/// The queues that have a scheduler of their own.
pub(super) fn own_queues(config: &Config) -> impl Iterator<Item = &str> {
    let anonymous = config.queues.is_empty().then_some(ANONYMOUS_QUEUE);
    config.queues.values().filter(|q| !q.is_virtual()).map(|q| q.name.as_str()).chain(anonymous)
}

fn site(a: &mut Assembly) -> Result<(), AssemblyError> {
    let (graph, properties) = a.graph.clone().ok_or(AssemblyError::Incomplete("resources"))?;
    // What jobs wait for is told to whom it may concern: a log of events.
    let options = SiteOptions { check_ledger: a.run.check, annotate: a.run.events.is_some() };
    if !a.config.calendar.is_empty() {
        a.config.calendar.origin = a.epoch.ok_or(AssemblyError::NoEpoch)?;
    }
    if let Some(queue) = own_queues(&a.config).find(|queue| !a.schedulers.contains_key(*queue)) {
        return Err(AssemblyError::NoScheduler(queue.to_owned()));
    }
    let site = Site::new(graph, properties, Arc::new(a.config.clone()), options)?;
    for queue in a.config.queues.values() {
        let Members::Requires(names) = &queue.members else { continue };
        let empty = site.queue_view(&queue.name).is_some_and(|q| q.members.is_empty());
        if empty && !queue.is_virtual() {
            let (name, names) = (&queue.name, names.join(", "));
            a.warnings.push(format!("queue {name} requires {names}: no node has that, so it begins without any node"));
        }
    }
    a.site = Some(site);
    Ok(())
}

fn clock(a: &mut Assembly, pass: PassRule) -> Result<(), AssemblyError> {
    a.pass = pass;
    Ok(())
}

/// A file whose errors say which one it is.
struct Named {
    path: PathBuf,
    file: File,
}

impl Named {
    fn tell<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", self.path.display())))
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.tell(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.tell(flushed)
    }
}

/// Opens a file to write, at once, so that a bad path is known before the replay.
fn create(path: Option<&PathBuf>) -> Result<Option<BufWriter<Named>>, AssemblyError> {
    let open = |path: &PathBuf| {
        let file = File::create(path).map_err(|source| AssemblyError::Write { path: path.clone(), source })?;
        Ok(BufWriter::with_capacity(1 << 16, Named { path: path.clone(), file }))
    };
    path.map(open).transpose()
}

fn starts(a: &mut Assembly) -> Result<(), AssemblyError> {
    if let Some(file) = create(a.run.starts.as_ref())? {
        a.exporters.push(Box::new(Starts::new(file)));
    }
    Ok(())
}

fn jobs_csv(a: &mut Assembly) -> Result<(), AssemblyError> {
    if let Some(file) = create(a.run.jobs_csv.as_ref())? {
        a.exporters.push(Box::new(JobsCsv::new(file)));
    }
    Ok(())
}

fn events(a: &mut Assembly) -> Result<(), AssemblyError> {
    if let Some(file) = create(a.run.events.as_ref())? {
        a.observers.push(Box::new(EventLog::new(file)));
    }
    Ok(())
}
