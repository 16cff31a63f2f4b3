//! How many jobs are scheduled per second of real time by one instance, and by instances in the jobs of others.
//!
//! The same jobs of one core each are all submitted at once to one machine: flat to one scheduler; in instances that
//! divide the machine among themselves (two levels); in instances of instances (three levels). Every one has fcfs of
//! depth 1, as the profile `htc`; the upper levels are conservative. The time is that of the replay, the making of the
//! workload and of the graph not counted. That the same jobs were done with the same core-time is checked.

use clap::Parser;
use sluice::replay::assembly::{Finished, RunOptions, assemble};
use sluice::replay::scenario::Scenario;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// How many jobs are scheduled per second by one, two and three levels of instances.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// So many jobs in all
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: u64,

    /// So many nodes
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,

    /// So many cores in each
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    cores: u64,

    /// So many instances in two levels; in three the same number at the bottom, in its square root above
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    instances: u64,

    /// The policy of those that have the jobs
    #[arg(long, default_value = "fcfs")]
    policy: String,

    /// How many pending jobs they look at
    #[arg(long, default_value_t = 1)]
    depth: u32,

    /// A machine in full detail: two sockets in each node, with memory in each [default: nodes and cores]
    #[arg(long)]
    fine: bool,

    /// Check all invariants after every step, at every level
    #[arg(long)]
    check: bool,

    /// So many threads [default: one for each processor]
    #[arg(long, default_value_t = 0)]
    threads: usize,

    /// So many runs of each, of which the fastest counts
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
}

/// How deep.
struct Way {
    name: &'static str,
    /// How many instances there are at each level below the first.
    levels: Vec<u64>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build_global() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let above = args.instances.isqrt();
    if !args.nodes.is_multiple_of(args.instances)
        || !args.jobs.is_multiple_of(args.instances)
        || !args.instances.is_multiple_of(above)
    {
        return Err(
            "the number of instances has to divide the nodes and the jobs, and its square root the number".into()
        );
    }
    let ways = [
        Way { name: "1 level", levels: vec![] },
        Way { name: "2 levels", levels: vec![args.instances] },
        Way { name: "3 levels", levels: vec![above, args.instances] },
    ];
    let detail = if args.fine { "nodes, sockets, memory and cores" } else { "nodes and cores" };
    println!("{} jobs of one core, {} nodes of {} cores; {detail}", args.jobs, args.nodes, args.cores);
    println!(
        "{:<10} {:>9} {:>8} {:>12} {:>8} {:>14} {:>14}",
        "", "instances", "seconds", "jobs/s", "ratio", "most pending", "core-seconds"
    );
    let mut flat: Option<(f64, f64)> = None;
    for way in &ways {
        let (seconds, finished) = fastest(args, way)?;
        let report = &finished.outcome.report;
        if let Some(broken) = finished.outcome.broken.first() {
            return Err(format!("{}: {} does not hold: {}", way.name, broken.invariant, broken.text));
        }
        let (done, held, pending) = match report.levels.last() {
            Some(level) => (level.jobs.completed, level.core_s, level.most_pending),
            None => (report.total.jobs.completed, core_seconds(&finished), finished.workload.jobs().len() as u64),
        };
        if done != args.jobs {
            return Err(format!("{}: {done} of {} jobs were done", way.name, args.jobs));
        }
        let (first, all) = *flat.get_or_insert((seconds, held));
        if (held - all).abs() > 1e-6 * all {
            return Err(format!("{}: the jobs held {held} core-seconds, those of the flat run {all}", way.name));
        }
        let instances = way.levels.last().copied().unwrap_or(1);
        println!(
            "{:<10} {instances:>9} {seconds:>8.2} {:>12.0} {:>8.2} {pending:>14} {held:>14.0}",
            way.name,
            done as f64 / seconds,
            first / seconds,
        );
    }
    Ok(())
}

fn core_seconds(finished: &Finished) -> f64 {
    let book = &finished.outcome.book;
    // Each job has one core.
    book.start.iter().zip(&book.end).map(|(start, end)| end.since(*start).secs_f64()).sum()
}

fn fastest(args: &Args, way: &Way) -> Result<(f64, Finished), String> {
    let mut best: Option<(f64, Finished)> = None;
    for _ in 0..args.runs {
        let scenario =
            Scenario::parse(&text(args, way), Path::new("measure-nesting.toml")).map_err(|e| e.to_string())?;
        let options = RunOptions { check: args.check, ..RunOptions::default() };
        let replay = assemble(scenario, options).map_err(|e| e.to_string())?;
        let began = Instant::now();
        let finished = replay.run().map_err(|e| e.to_string())?;
        let seconds = began.elapsed().as_secs_f64();
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, finished));
        }
    }
    best.ok_or_else(|| "no run".to_owned())
}

fn text(args: &Args, way: &Way) -> String {
    let Args { jobs, nodes, cores, policy, depth, .. } = args;
    let work = |jobs: u64| format!("jobs = [{{ at = 0, slots = 1, run = \"60s\", count = {jobs} }}]");
    let leaf = format!(r#"'policy.scheduler.queue-policy="{policy}"', 'policy.scheduler.queue-depth={depth}'"#);
    let upper = r#"'policy.scheduler.queue-policy="conservative"'"#;
    let mut text = if args.fine {
        let (last, half) = (nodes - 1, cores.div_ceil(2));
        format!(
            "[graph]\ntext = \"\"\"\ncluster big\n  node node[0-{last}] / socket*2 / core*{half} + memory size=64GB\n\"\"\"\n"
        )
    } else {
        format!("[graph]\nuniform = {{ nodes = {nodes}, cores = {cores} }}\n")
    };
    // Writing to a string does not fail.
    let Some(first) = way.levels.first() else {
        let _ = writeln!(
            text,
            "[policy.scheduler]\nqueue-policy = \"{policy}\"\nqueue-depth = {depth}\n[[workload]]\n{}",
            work(*jobs)
        );
        return text;
    };
    let _ = writeln!(text, "[policy.scheduler]\nqueue-policy = \"conservative\"\n[[workload]]");
    let _ = writeln!(text, "jobs = [{{ at = 0, nodes = {}, instance = \"level1\", count = {first} }}]", nodes / first);
    for (depth, count) in way.levels.iter().enumerate() {
        let name = format!("level{}", depth + 1);
        let inner = way.levels.get(depth + 1);
        let policy = if inner.is_some() { upper } else { leaf.as_str() };
        let _ = writeln!(text, "[instances.{name}]\nset = [{policy}]\n[[instances.{name}.workload]]");
        let _ = match inner {
            None => writeln!(text, "{}", work(jobs / count)),
            Some(inner) => {
                let (nodes, inside) = (nodes / inner, inner / count);
                writeln!(
                    text,
                    "jobs = [{{ at = 0, nodes = {nodes}, instance = \"level{}\", count = {inside} }}]",
                    depth + 2
                )
            }
        };
    }
    text
}
