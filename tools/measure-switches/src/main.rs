//! What a planned switch costs on a job trace, in idle nodes and in waiting.
//!
//! The machine of the trace's header has one queue, `batch` (EASY), over all its nodes. At a number of instants, drawn
//! from a seed, a queue `dat` with a higher precedence gets all of them for a while. Each instant T is replayed on its own,
//! in four ways that all have the nodes together at T:
//!
//! - *none*: there is no switch;
//! - *horizon*: the switch is announced the longest limit before T, and jobs start only if they end by T;
//! - *drain*: everything is told to leave the longest limit before T, as one does who knows no better;
//! - *known*: as *horizon*, by a scheduler to which each job's limit is its true run time: what the workload permits.
//!
//! *Idle* is the node-time that is not used in the last longest limit before T. What of it the switch has caused is that
//! of *none* taken off (which knows the true run times where the way does), but not below zero. The saving is the share of
//! a drain's that horizons avoid.

use clap::Parser;
use rayon::prelude::*;
use sluice::base::{Duration, Timestamp};
use sluice::formats::duration;
use sluice::replay::assembly::{Finished, RunOptions, assemble};
use sluice::replay::scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What planned switches cost on a job trace, in idle nodes and in waiting.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The trace, in the Standard Workload Format, plain or gzip
    #[arg(long, value_name = "FILE")]
    swf: PathBuf,

    /// So many switches
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    switches: u32,

    /// The seed of their instants
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How long the other queue has the nodes
    #[arg(long, default_value = "1h", value_parser = duration::parse)]
    length: Duration,

    /// The longest limit, and so how long before a drain begins [default: the longest of the trace]
    #[arg(long, value_parser = duration::parse)]
    longest: Option<Duration>,

    /// Print a line for each switch
    #[arg(long)]
    each: bool,
}

/// How a switch is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    None,
    NoneKnown,
    Horizon,
    Drain,
    Known,
}

impl Way {
    fn knows(self) -> bool {
        matches!(self, Way::Known | Way::NoneKnown)
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("measure-switches: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The scenario of one way to do one switch.
fn scenario(args: &Args, way: Way, at: i64, longest: i64) -> String {
    let swf = args.swf.canonicalize().unwrap_or_else(|_| args.swf.clone());
    let swf = format!("{:?}", swf.to_string_lossy());
    let limit = if way.knows() { "runtime" } else { "requested" };
    let mut text = format!(
        "[site]\nstopped = [\"dat\"]\n[graph]\nswf-header = {{ file = {swf} }}\n\
         [queues.batch]\npolicy.scheduler.queue-policy = \"easy\"\n[queues.dat]\npolicy.scheduler.precedence = 1\n\
         [[workload]]\nswf = {{ file = {swf}, map = {{}}, others = \"batch\", limit = \"{limit}\" }}\n"
    );
    let until = at + args.length.micros() / 1_000_000;
    let begin = at - longest;
    let start = match way {
        Way::None | Way::NoneKnown => return text,
        Way::Horizon | Way::Known => format!("told = {begin}\nat = {at}\n"),
        Way::Drain => format!("at = {begin}\n"),
    };
    text += &format!("[[action]]\n{start}do = \"queue-start\"\nqueue = \"dat\"\n");
    text += &format!("[[action]]\nat = {until}\ndo = \"switch\"\nrelease = [\"dat\"]\n");
    text
}

fn replay(args: &Args, way: Way, at: i64, longest: i64) -> Result<Finished, Failure> {
    let scenario = Scenario::parse(&scenario(args, way, at, longest), Path::new("switch.toml"))?;
    Ok(assemble(scenario, RunOptions::default())?.run()?)
}

/// What one way to do a switch has led to.
#[derive(Clone, Copy)]
struct Measured {
    /// Node-seconds that were not used in the last longest limit before the switch.
    idle: f64,
    /// Mean wait of all jobs, in seconds.
    wait: f64,
    /// From the instant of the switch to its last node, in seconds.
    late: f64,
}

fn measure(finished: &Finished, at: i64, longest: i64) -> Measured {
    let (book, jobs) = (&finished.outcome.book, finished.workload.jobs());
    let (from, to) = (Timestamp::from_secs(at - longest), Timestamp::from_secs(at));
    let used = |slot: usize| {
        let (start, end) = (book.start[slot].max(from), book.end[slot].min(to));
        if book.start[slot].is_never() || start >= end {
            0.0
        } else {
            end.since(start).secs_f64() * f64::from(jobs[slot].size)
        }
    };
    let nodes = finished.outcome.site.graph().targets().len() as f64;
    let busy: f64 = (0..jobs.len()).map(used).sum();
    let arrived = finished.outcome.donations.iter().filter(|d| d.recipient.as_deref() == Some("dat"));
    let late = arrived.filter_map(|d| d.last).map(|last| last.since(to).secs_f64()).fold(0.0, f64::max);
    Measured { idle: nodes * longest as f64 - busy, wait: finished.outcome.report.total.wait_s.mean, late }
}

/// All ways of one switch.
struct Case {
    at: i64,
    idle: f64,
    horizon: Measured,
    drain: Measured,
    known: Measured,
    horizon_cost: f64,
    drain_cost: f64,
    known_cost: f64,
}

impl Case {
    fn saving(&self) -> f64 {
        1.0 - self.horizon_cost / self.drain_cost.max(1.0)
    }

    fn possible(&self) -> f64 {
        1.0 - self.known_cost / self.drain_cost.max(1.0)
    }
}

/// SplitMix64: the same instants everywhere.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn run(args: &Args) -> Result<(), Failure> {
    let (none, none_known) = rayon::join(|| replay(args, Way::None, 0, 0), || replay(args, Way::NoneKnown, 0, 0));
    let (none, none_known) = (none?, none_known?);
    let jobs = none.workload.jobs();
    let seconds = |d: Duration| d.micros() / 1_000_000;
    let limits = jobs.iter().filter_map(|j| j.limit).filter(|limit| !limit.is_infinite());
    let longest = args.longest.or(limits.max()).map(seconds).ok_or("no job of the trace has a limit: say --longest")?;
    let first = jobs.first().map_or(0, |j| j.submit.micros() / 1_000_000) + longest;
    let last = jobs.last().map_or(0, |j| j.submit.micros() / 1_000_000);
    let span =
        u64::try_from(last - first).ok().filter(|n| *n > 0).ok_or("the trace is shorter than its longest limit")?;
    let mut state = args.seed;
    let mut instants: Vec<i64> =
        (0..args.switches).map(|_| first + i64::try_from(random(&mut state) % span).unwrap_or(0)).collect();
    instants.sort_unstable();
    let case = |at: &i64| -> Result<Case, Failure> {
        let at = *at;
        let one = |way| Ok::<_, Failure>(measure(&replay(args, way, at, longest)?, at, longest));
        let (horizon, drain, known) = (one(Way::Horizon)?, one(Way::Drain)?, one(Way::Known)?);
        let (idle, idle_known) = (measure(&none, at, longest).idle, measure(&none_known, at, longest).idle);
        let cost = |way: Measured, idle: f64| (way.idle - idle).max(0.0);
        Ok(Case {
            at,
            idle,
            horizon_cost: cost(horizon, idle),
            drain_cost: cost(drain, idle),
            known_cost: cost(known, idle_known),
            horizon,
            drain,
            known,
        })
    };
    let cases: Vec<Case> = instants.par_iter().map(case).collect::<Result<_, _>>()?;
    report(args, &none, longest, &cases);
    Ok(())
}

/// The middle value, and the lowest and highest.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    (median, values[0], values[values.len() - 1])
}

fn report(args: &Args, none: &Finished, longest: i64, cases: &[Case]) {
    let nodes = none.outcome.site.graph().targets().len();
    let base = none.outcome.report.total.wait_s.mean;
    println!(
        "{}: {nodes} nodes, {} jobs, longest limit {}, {} switches, seed {}",
        args.swf.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
        none.workload.jobs().len(),
        duration::format(Duration::from_secs(longest)),
        cases.len(),
        args.seed
    );
    if args.each {
        println!(
            "{:>12} {:>14} {:>14} {:>14} {:>14} {:>8} {:>8}",
            "at", "idle anyway", "drain", "horizon", "known", "saving", "possible"
        );
        for c in cases {
            println!(
                "{:>12} {:>14.0} {:>14.0} {:>14.0} {:>14.0} {:>7.1}% {:>7.1}%",
                c.at,
                c.idle,
                c.drain_cost,
                c.horizon_cost,
                c.known_cost,
                c.saving() * 100.0,
                c.possible() * 100.0
            );
        }
    }
    let line = |what: &str, unit: &str, (median, low, high): (f64, f64, f64)| {
        println!("{what:<44} median {median:>14.1}{unit}  lowest {low:>14.1}{unit}  highest {high:>14.1}{unit}");
    };
    line("idle node-seconds caused, drain", "", spread(cases.iter().map(|c| c.drain_cost)));
    line("idle node-seconds caused, horizon", "", spread(cases.iter().map(|c| c.horizon_cost)));
    line("idle node-seconds caused, run times known", "", spread(cases.iter().map(|c| c.known_cost)));
    line("saving of horizons", "%", spread(cases.iter().map(|c| c.saving() * 100.0)));
    line("saving, run times known", "%", spread(cases.iter().map(|c| c.possible() * 100.0)));
    let all = |of: fn(&Case) -> &Measured| {
        spread(cases.iter().map(|c| 1.0 - of(c).idle / c.drain.idle.max(1.0)).map(|s| s * 100.0))
    };
    line("saving of all idling, horizon", "%", all(|c| &c.horizon));
    line("saving of all idling, run times known", "%", all(|c| &c.known));
    let wait = |of: fn(&Case) -> &Measured| spread(cases.iter().map(|c| of(c).wait - base));
    line("mean wait above that without a switch, drain", " s", wait(|c| &c.drain));
    line("the same, horizon", " s", wait(|c| &c.horizon));
    line("nodes late, drain", " s", spread(cases.iter().map(|c| c.drain.late)));
    line("nodes late, horizon", " s", spread(cases.iter().map(|c| c.horizon.late)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_measured() {
        let file = std::env::temp_dir().join(format!("measure-switches-{}.swf", std::process::id()));
        // Four nodes; two jobs of 100 s, limit 400 s; two of 100 s, limit 100 s, which fit before a switch at 500.
        let job = |id: u32, submit: u32, procs: u32, limit: u32| {
            format!("{id} {submit} -1 100 {procs} -1 -1 {procs} {limit} -1 1 1 1 1 1 -1 -1 -1\n")
        };
        let text = format!("; MaxProcs: 4\n{}{}{}", job(1, 0, 4, 400), job(2, 150, 4, 100), job(3, 600, 4, 100));
        std::fs::write(&file, text).expect("a file");
        let args = Args {
            swf: file.clone(),
            switches: 1,
            seed: 1,
            length: Duration::from_secs(50),
            longest: None,
            each: false,
        };
        let idle = |way| measure(&replay(&args, way, 500, 400).expect("it runs"), 500, 400);
        // From 100 to 500: job 2 runs from 150 to 250, unless the drain keeps it out.
        assert_eq!((idle(Way::None).idle, idle(Way::Horizon).idle, idle(Way::Drain).idle), (1200.0, 1200.0, 1600.0));
        assert_eq!((idle(Way::Horizon).late, idle(Way::Drain).late), (0.0, 0.0));
        std::fs::remove_file(&file).expect("it was there");
    }
}
