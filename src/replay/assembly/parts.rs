//! The rows of the table.

use super::{Architecture, Assembly, AssemblyError, RunOptions};
use crate::config::Members;
use crate::replay::events::EventLog;
use crate::replay::export::{JobsCsv, Starts};
use crate::replay::metrics;
use crate::replay::scenario::{GraphFormat, GraphSource, PassRule, Scenario, Workload};
use crate::services::{Capability, Part, ServiceError, Table};
use crate::site::{Site, SiteOptions};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use Capability::{
    Clock, Commands, Configuration, Coordinator, Exporter, Metrics, NodeEvents, Resources, Schedulers, Workload as Jobs,
};

type Row = Part<Assembly, AssemblyError>;

/// What a replay must have.
const DEMANDED: &[Capability] = &[Resources, Configuration, Jobs, Coordinator, Schedulers, Clock, Metrics];

/// The names of all parts.
pub const PARTS: &[&str] = &[
    "graph-text",
    "graph-r",
    "graph-jgf",
    "graph-uniform",
    "graph-swf-header",
    "graph-grug",
    "graph-hwloc",
    "graph-config",
    "config-toml",
    "workload-swf",
    "workload-jobs",
    "workload-generate",
    "workload-none",
    "node-log",
    "actions",
    "site",
    "site-shared",
    "site-split",
    "site-managers",
    "clock-timestamp",
    "clock-event",
    "job-metrics",
    "starts",
    "jobs-csv",
    "events",
];

/// The table of all parts of a replay.
///
/// # Errors
/// Two parts of one name.
pub fn table() -> Result<Table<Assembly, AssemblyError>, ServiceError<AssemblyError>> {
    let row = |name, provides, needs, build| Row { name, provides, needs, build };
    Table::new(
        vec![
            row("graph-text", &[Resources], &[], Assembly::graph_text),
            row("graph-r", &[Resources], &[], Assembly::graph_r),
            row("graph-jgf", &[Resources], &[], Assembly::graph_jgf),
            row("graph-uniform", &[Resources], &[], Assembly::graph_uniform),
            row("graph-swf-header", &[Resources], &[], Assembly::graph_swf_header),
            row("graph-grug", &[Resources], &[], Assembly::graph_grug),
            row("graph-hwloc", &[Resources], &[], Assembly::graph_hwloc),
            row("graph-config", &[Resources], &[Configuration], Assembly::graph_config),
            row("config-toml", &[Configuration], &[], Assembly::config_toml),
            row("workload-swf", &[Jobs], &[], Assembly::workload_swf),
            row("workload-jobs", &[Jobs], &[], Assembly::workload_jobs),
            row("workload-generate", &[Jobs], &[], Assembly::workload_generate),
            row("workload-none", &[Jobs], &[], |_| Ok(())),
            row("node-log", &[NodeEvents], &[Resources], Assembly::node_log),
            row("actions", &[Commands], &[Resources, Configuration], Assembly::actions),
            row("site", &[Coordinator, Schedulers], &[Resources, Configuration], site),
            row("site-shared", &[Coordinator, Schedulers], &[Resources, Configuration], |a| {
                a.share()?;
                site(a)
            }),
            row("site-split", &[Coordinator, Schedulers], &[Resources, Configuration, Jobs], |a| {
                a.split()?;
                site(a)
            }),
            row("site-managers", &[Coordinator, Schedulers], &[Resources, Configuration], site),
            row("clock-timestamp", &[Clock], &[], |a| clock(a, PassRule::Timestamp)),
            row("clock-event", &[Clock], &[], |a| clock(a, PassRule::Event)),
            row("job-metrics", &[Metrics], &[], |a| {
                a.metrics = Some(metrics::figures);
                Ok(())
            }),
            row("starts", &[Exporter], &[], starts),
            row("jobs-csv", &[Exporter], &[], jobs_csv),
            row("events", &[Exporter], &[Resources], events),
        ],
        DEMANDED,
    )
}

/// The parts that an architecture, a scenario and a run ask for.
pub fn wanted(architecture: Architecture, scenario: &Scenario, run: &RunOptions) -> Vec<&'static str> {
    let mut parts = vec![
        match &scenario.graph {
            None => "graph-config",
            Some(GraphSource::Text { .. } | GraphSource::File { format: GraphFormat::Text, .. }) => "graph-text",
            Some(GraphSource::File { format: GraphFormat::R, .. }) => "graph-r",
            Some(GraphSource::File { format: GraphFormat::Jgf, .. }) => "graph-jgf",
            Some(GraphSource::File { format: GraphFormat::Grug, .. }) => "graph-grug",
            Some(GraphSource::Hwloc { .. }) => "graph-hwloc",
            Some(GraphSource::Uniform(_)) => "graph-uniform",
            Some(GraphSource::SwfHeader(_)) => "graph-swf-header",
        },
        "config-toml",
    ];
    parts.extend(scenario.workloads.iter().map(|w| match w {
        Workload::Swf(_) => "workload-swf",
        Workload::Jobs(_) => "workload-jobs",
        Workload::Generate(_) => "workload-generate",
    }));
    if scenario.workloads.is_empty() {
        parts.push("workload-none");
    }
    parts.extend(scenario.node_events.iter().map(|_| "node-log"));
    if !scenario.actions.is_empty() {
        parts.push("actions");
    }
    parts.push(match architecture {
        Architecture::Donation => "site",
        Architecture::Shared => "site-shared",
        Architecture::Split => "site-split",
        Architecture::Managers => "site-managers",
    });
    parts.push(match scenario.settings.pass {
        PassRule::Timestamp => "clock-timestamp",
        PassRule::Event => "clock-event",
    });
    parts.push("job-metrics");
    let files = [(&run.starts, "starts"), (&run.jobs_csv, "jobs-csv"), (&run.events, "events")];
    parts.extend(files.into_iter().filter(|(path, _)| path.is_some()).map(|(_, part)| part));
    parts
}

fn site(a: &mut Assembly) -> Result<(), AssemblyError> {
    let (graph, properties) = a.graph.clone().ok_or(AssemblyError::Incomplete("resources"))?;
    // What jobs wait for is told to whom it may concern: a log of events.
    let options = SiteOptions { check_ledger: a.run.check, annotate: a.run.events.is_some() };
    if !a.config.calendar.is_empty() {
        a.config.calendar.origin = a.epoch.ok_or(AssemblyError::NoEpoch)?;
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
    a.site = Some(a.arrange(site));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_names_is_that_of_the_table() {
        let table = table().unwrap();
        let names: Vec<&str> = table.parts().iter().map(|p| p.name).collect();
        assert_eq!(names, PARTS);
    }
}
