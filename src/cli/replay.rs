//! `sluice replay`.

use super::args::{Architectures, ReplayArgs};
use super::diagnostic::Failure;
use super::exit::Exit;
use super::output::complain;
use super::progress::Progress;
use super::summary::{Look, summary};
use crate::base::Timestamp;
use crate::config::SchedulerSettings;
use crate::replay::assembly::{Architecture, Finished, RunOptions, assemble_in};
use crate::replay::expect::{Verdict, judge};
use crate::replay::quick::Quick;
use crate::replay::scenario::{LimitRule, PassRule, Scenario, Workload};
use std::io::{IsTerminal, Write};
use std::time::Instant;

pub(super) fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let began = Instant::now();
    let scenario = scenario(args)?;
    let options = RunOptions {
        shared: super::query::shared(),
        check: args.check,
        starts: args.starts.clone(),
        jobs_csv: args.jobs_csv.clone(),
        events: args.events.clone(),
        services: args.layers.services()?,
    };
    let architecture = match args.architecture {
        Architectures::All => return super::compare::run(args, &scenario, &options),
        Architectures::One(architecture) => architecture,
    };
    let mut replay = assemble_in(architecture, scenario, options)?;
    if !args.no_progress && std::io::stderr().is_terminal() {
        replay.watch(Box::new(Progress::new(replay.workload.jobs().len())));
    }
    if let Some(samples) = args.measure_forecast {
        replay.measure_forecast(samples);
    }
    let mut finished = replay.run()?;
    finished.outcome.report.measured(began.elapsed().as_secs_f64());
    // What a scenario expects, it expects of donations.
    let verdicts = if architecture == Architecture::Donation { judge(&finished) } else { Vec::new() };
    tell_warnings("", &finished);
    let text = if args.json {
        let json = serde_json::to_string_pretty(&finished.outcome.report);
        json.map_err(|e| Failure::new(format!("cannot write the result as JSON: {e}"), None))? + "\n"
    } else {
        summary(&finished, &verdicts, Look::of_stdout())
    };
    std::io::stdout().write_all(text.as_bytes())?;
    verdict(&finished, &verdicts)
}

/// What is to be replayed.
fn scenario(args: &ReplayArgs) -> Result<Scenario, Failure> {
    let until = args.until.map_or(Timestamp::NEVER, |after| Timestamp::ZERO + after);
    let work_budget = args.work_budget.map(|n| n as usize);
    if let Some(swf) = &args.swf {
        if args.layers.asked() {
            let help = "--queue-policy and its kin do for a trace; a scenario may name the trace and be configured";
            let message =
                "a trace alone has no queues to configure: --config-name, --config and --set go with a scenario";
            return Err(Failure::new(message, Some(help.to_owned())).with(Exit::Usage));
        }
        // A profile may be one of the site's.
        let base = match args.layers.sched {
            Some(_) => super::config::settings(&args.layers)?,
            None => SchedulerSettings::default(),
        };
        let quick = Quick {
            swf: swf.clone(),
            machine: args.nodes.map(|nodes| (nodes, args.cores_per_node.unwrap_or(1))),
            queue_policy: args.queue_policy.unwrap_or(base.queue_policy),
            queue_depth: args.queue_depth.or(base.queue_depth),
            reservation_depth: args.reservation_depth.or(Some(base.reservation_depth)),
            match_policy: args.match_policy.unwrap_or(base.match_policy),
            limit: args.limit.map_or(LimitRule::Requested, LimitRule::from),
            pass: args.pass.map_or(PassRule::Timestamp, PassRule::from),
            work_budget,
            until,
        };
        return Ok(quick.scenario());
    }
    let path = args.scenario.as_deref().ok_or_else(|| Failure::new("no scenario", None).with(Exit::Usage))?;
    let mut scenario = Scenario::load_under(path, &args.layers.wanted())?;
    let settings = &mut scenario.settings;
    if let Some(pass) = args.pass {
        settings.pass = pass.into();
    }
    if let Some(limit) = args.limit {
        for workload in &mut scenario.workloads {
            if let Workload::Swf(work) = workload {
                work.limit = limit.into();
            }
        }
    }
    settings.work_budget = work_budget.or(settings.work_budget);
    settings.until = settings.until.min(until);
    Ok(scenario)
}

/// Says what is odd about a replay, each line after what it is `of`.
pub(super) fn tell_warnings(of: &str, finished: &Finished) {
    for warning in &finished.warnings {
        complain(format_args!("warning: {of}{warning}"));
    }
    for refusal in &finished.outcome.refusals {
        complain(format_args!("warning: {of}at {} {} was refused: {}", refusal.at, refusal.name, refusal.error));
    }
}

/// Broken invariants and failed expectations, and the exit code that they mean.
fn verdict(finished: &Finished, verdicts: &[Verdict]) -> Result<Exit, Failure> {
    let failed = verdicts.iter().filter(|v| v.failure.is_some()).count();
    let broken = &finished.outcome.broken;
    if let Some(first) = broken.first() {
        let message = format!("at {} {} does not hold: {}", first.at, first.invariant, first.text);
        return Err(Failure::new(message, Some(format!("to repeat it: {}", repeat_command()))).with(Exit::Failed));
    }
    if failed > 0 {
        for verdict in verdicts {
            if let Some(failure) = &verdict.failure {
                let why = if verdict.why.is_empty() { String::new() } else { format!(" ({})", verdict.why) };
                let file = finished.scenario.file.display();
                complain(format_args!("{file}:{}: expected {}{why}: {failure}", verdict.line, verdict.what));
            }
        }
        let message = format!("{failed} of {} expectations failed", verdicts.len());
        return Err(Failure::new(message, None).with(Exit::Failed));
    }
    Ok(Exit::Ok)
}

/// The command that was given, to be typed again.
fn repeat_command() -> String {
    let quote = |arg: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) { arg } else { format!("'{}'", arg.replace('\'', r"'\''")) }
    };
    let args = std::env::args_os().skip(1).map(|a| quote(a.to_string_lossy().into_owned()));
    std::iter::once("sluice".to_owned()).chain(args).collect::<Vec<_>>().join(" ")
}
