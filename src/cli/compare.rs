//! `sluice replay --architecture all`: one scenario in every architecture, side by side.
//!
//! Each is replayed twice, on one thread and on all: the schedules must be equal, the times need not. With `--check` once
//! more.

use super::args::ReplayArgs;
use super::diagnostic::Failure;
use super::exit::Exit;
use super::replay::tell_warnings;
use super::summary::{Look, STATES, length};
use crate::replay::assembly::{Architecture, Finished, RunOptions, assemble_in};
use crate::replay::compare::{Comparison, Row};
use crate::replay::metrics::{Figures, SchedulingFigures};
use crate::replay::scenario::Scenario;
use comfy_table::Table;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::Instant;

/// A line of a table: its name, and how its value is found.
type Line = (&'static str, fn(&SchedulingFigures) -> String);

/// Nanoseconds since this was first asked.
fn stopwatch() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(BEGAN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Replays a scenario in all architectures.
pub(super) fn run(args: &ReplayArgs, scenario: &Scenario, options: &RunOptions) -> Result<Exit, Failure> {
    let files = args.starts.is_some() || args.jobs_csv.is_some() || args.events.is_some();
    if files || args.measure_forecast.is_some() {
        let message = "--starts, --jobs-csv, --events and --measure-forecast are of one replay, and `all` are several";
        let help = "name one architecture: --architecture donation";
        return Err(Failure::new(message, Some(help.to_owned())).with(Exit::Usage));
    }
    let mut rows = Comparison::new();
    let mut broken = None;
    for architecture in Architecture::ALL {
        // Checks take time of their own: what is measured goes without.
        let unchecked = RunOptions { check: false, ..options.clone() };
        let mut serial = on_threads(1, architecture, scenario, &unchecked)?;
        let parallel = on_threads(0, architecture, scenario, &unchecked)?;
        tell_warnings(&format!("{architecture}: "), &serial);
        if options.check {
            let checked = on_threads(0, architecture, scenario, options)?.outcome;
            serial.outcome.report.invariants = checked.report.invariants;
            serial.outcome.broken = checked.broken;
        }
        let (one, all) = (&serial.outcome.report, &parallel.outcome.report);
        if let Some(first) = serial.outcome.broken.first() {
            broken.get_or_insert(format!(
                "{architecture}: at {} {} does not hold: {}",
                first.at, first.invariant, first.text
            ));
        } else if one.digest != all.digest {
            broken.get_or_insert(format!(
                "{architecture}: I7 does not hold: the schedule depends on the number of threads"
            ));
        }
        let refused = serial.outcome.refusals.len() as u64;
        rows.insert(architecture.name(), Row::new(one.clone(), all.scheduling, refused));
    }
    let text = if args.json {
        let json = serde_json::to_string_pretty(&rows);
        json.map_err(|e| Failure::new(format!("cannot write the result as JSON: {e}"), None))? + "\n"
    } else {
        text(scenario, &rows, Look::of_stdout())
    };
    std::io::stdout().write_all(text.as_bytes())?;
    match broken {
        None => Ok(Exit::Ok),
        Some(message) => Err(Failure::new(message, None).with(Exit::Failed)),
    }
}

/// One replay with so many threads; 0: as many as there are.
fn on_threads(
    threads: usize,
    architecture: Architecture,
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<Finished, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Failure::new(format!("cannot start threads: {e}"), None))?;
    pool.install(|| {
        let mut replay = assemble_in(architecture, scenario.clone(), options.clone())?;
        replay.time_passes(stopwatch);
        let began = Instant::now();
        let mut finished = replay.run()?;
        finished.outcome.report.measured(began.elapsed().as_secs_f64());
        Ok(finished)
    })
}

/// The whole text.
fn text(scenario: &Scenario, rows: &Comparison, look: Look) -> String {
    let title = if scenario.title.is_empty() { String::new() } else { format!(": {}", scenario.title) };
    let mut text = format!("{}{title}\n", scenario.name);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\nWhat came of it\n{}", results(rows, look));
    let _ = writeln!(text, "\nMean, median and 90th percentile of the wait\n{}", waits(rows, look));
    let _ = writeln!(text, "\nWhat switches cost\n{}", costs(rows, look));
    let _ = writeln!(text, "\nWhat scheduling took\n{}", times(rows, look));
    text
}

/// A table with a column per architecture.
fn table(rows: &Comparison, look: Look, first: &str) -> Table {
    let mut header = vec![first];
    header.extend(rows.keys());
    look.table(&header, 1)
}

fn add(table: &mut Table, rows: &Comparison, name: &str, of: impl Fn(&Row) -> String) {
    let mut cells = vec![name.to_owned()];
    cells.extend(rows.values().map(of));
    table.add_row(cells);
}

fn results(rows: &Comparison, look: Look) -> Table {
    let mut table = table(rows, look, "");
    let [(_, completed), others @ ..] = STATES;
    add(&mut table, rows, "jobs completed", |r| completed(&r.report.total).to_string());
    for (name, of) in others.iter().filter(|(_, of)| rows.values().any(|r| of(&r.report.total) > 0)) {
        add(&mut table, rows, name, |r| of(&r.report.total).to_string());
    }
    add(&mut table, rows, "longest wait", |r| length(r.report.total.wait_s.max));
    add(&mut table, rows, "bounded slowdown", |r| format!("{:.2}", r.report.total.bounded_slowdown.mean));
    add(&mut table, rows, "utilization", |r| format!("{:.1}%", r.report.total.utilization * 100.0));
    add(&mut table, rows, "makespan", |r| length(r.report.total.makespan_s));
    add(&mut table, rows, "fairness between queues", |r| format!("{:.3}", r.fairness));
    if rows.values().any(|r| r.refused > 0) {
        add(&mut table, rows, "actions refused", |r| r.refused.to_string());
    }
    add(&mut table, rows, "invariants violated", |r| r.report.invariants.violated.to_string());
    look.fit(table, &[])
}

fn waits(rows: &Comparison, look: Look) -> Table {
    let mut table = table(rows, look, "queue");
    let wait = |f: &Figures| {
        let started = f.jobs.submitted - f.jobs.denied - f.jobs.pending - f.jobs.held;
        if started == 0 {
            return "none started".to_owned();
        }
        format!("{} {} {}", length(f.wait_s.mean), length(f.wait_s.median), length(f.wait_s.p90))
    };
    let mut queues: Vec<&String> = rows.values().flat_map(|r| r.report.queues.keys()).collect();
    queues.sort_unstable();
    queues.dedup();
    for queue in queues {
        let of = |r: &Row| r.report.queues.get(queue).map_or_else(String::new, &wait);
        if rows.values().any(|r| r.report.queues.get(queue).is_some_and(|f| f.jobs.submitted > 0)) {
            add(&mut table, rows, queue, of);
        }
    }
    add(&mut table, rows, "all", |r| wait(&r.report.total));
    look.fit(table, &[])
}

fn costs(rows: &Comparison, look: Look) -> Table {
    let mut table = table(rows, look, "");
    add(&mut table, rows, "nodes moved", |r| r.report.donations.moved.to_string());
    add(&mut table, rows, "idle node-seconds", |r| format!("{:.0}", r.report.donations.drain_idle_target_s));
    add(&mut table, rows, "lost node-seconds", |r| format!("{:.0}", r.report.donations.lost_target_s));
    add(&mut table, rows, "request to last node, mean", |r| length(r.report.donations.took_mean_s));
    let late = |r: &Row| r.report.switches.iter().map(|s| s.drained_s).fold(0.0, f64::max);
    add(&mut table, rows, "instant to last node, longest", |r| length(late(r)));
    look.fit(table, &[])
}

fn times(rows: &Comparison, look: Look) -> Table {
    let mut table = table(rows, look, "");
    add(&mut table, rows, "passes", |r| r.report.passes.to_string());
    let kinds: [Line; 3] = [
        ("per pass", |s| format!("{:.1} us", s.per_pass_us)),
        ("longest step", |s| format!("{:.2} ms", s.step_max_ms)),
        ("in all", |s| format!("{:.2} s", s.total_s)),
    ];
    for (name, of) in kinds {
        let serial = |r: &Row| r.report.scheduling.as_ref().map_or_else(String::new, of);
        let parallel = |r: &Row| r.parallel.as_ref().map_or_else(String::new, of);
        add(&mut table, rows, &format!("{name}, one thread"), serial);
        add(&mut table, rows, &format!("{name}, all threads"), parallel);
    }
    look.fit(table, &[])
}
