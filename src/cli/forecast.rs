//! `sluice forecast`.

use super::diagnostic::Failure;
use super::exit::{EXIT_STATUS, Exit};
use super::query::{self, ROWS, StateArgs, hosts, instant, json_span, json_time, nodes, say, say_json, span, when};
use super::summary::Look;
use crate::replay::state::State;
use crate::site::{Forecast, Site, Span, Usage};
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use std::fmt::Write;

const EXAMPLES: &str = "\
EXAMPLES:
  When every waiting job starts, in one queue:
    sluice forecast --scenario graph-fixtures/weekend-dat --at 'Fri 17:00' --jobs --queue pbatch
  When some nodes, or any 32 nodes of a queue, are free of what runs on them now:
    sluice forecast --scenario graph-fixtures/weekend-dat --at 'Fri 17:00' --nodes 'tern[041-048]'
    sluice forecast --scenario graph-fixtures/weekend-dat --at 'Fri 17:00' --free 32 --queue pbatch
  When what a queue waits for has arrived:
    sluice forecast --scenario graph-fixtures/weekend-dat --at 'Fri 18:10' --donation pdat

  The worst case is that every job runs to its limit; likely, jobs use as much of their limits as the ended jobs of their
  user did at the median. Both hold if nobody submits or commands anything more. In Slurm: squeue --start.
";

/// What is asked for.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"), group = ArgGroup::new("what").multiple(false))]
pub(super) struct ForecastArgs {
    #[command(flatten)]
    state: StateArgs,

    /// When each waiting job starts (what is asked if nothing else is)
    #[arg(long, group = "what")]
    jobs: bool,

    /// When these nodes are free of what holds them now
    #[arg(long, value_name = "HOSTLIST", group = "what")]
    nodes: Option<String>,

    /// When so many nodes are free at once, if nothing more is started on them
    #[arg(long, value_name = "N", group = "what", value_parser = clap::value_parser!(u32).range(1..))]
    free: Option<u32>,

    /// When all that is on its way to this queue has arrived
    #[arg(long, value_name = "QUEUE", group = "what")]
    donation: Option<String>,

    /// Only this queue's jobs, or nodes
    #[arg(long, value_name = "QUEUE", conflicts_with_all = ["nodes", "donation"])]
    queue: Option<String>,
}

pub(super) fn run(args: &ForecastArgs) -> Result<Exit, Failure> {
    let state = args.state.state()?;
    let (site, usage) = (&state.site, Usage::of(&state.site));
    if let Some(queue) = args.queue.iter().chain(&args.donation).next() {
        query::check_queue(site, queue)?;
    }
    let (text, json) = if let Some(list) = &args.nodes {
        of_nodes(&state, &usage, list)?
    } else if let Some(count) = args.free {
        of_free(&state, &usage, count as usize, args.queue.as_deref())
    } else if let Some(queue) = &args.donation {
        of_donation(&state, &usage, queue)
    } else {
        of_jobs(&state, &site.forecast_by(&usage, None), args.queue.as_deref())
    };
    if args.state.json {
        say_json(&json!({"at": json_time(state.at), "epoch": state.epoch, "answer": json}))?;
    } else {
        say(&format!("At {}\n{text}", instant(state.at, state.epoch)))?;
    }
    Ok(Exit::Ok)
}

fn of_jobs(state: &State, forecast: &Forecast, queue: Option<&str>) -> (String, Value) {
    let (site, epoch) = (&state.site, state.epoch);
    let name = |id| site.queue_name(id).map_or_else(String::new, |n| n.to_string());
    let chosen: Vec<_> = forecast.jobs.iter().filter(|j| queue.is_none_or(|q| name(j.queue) == q)).collect();
    let mut table = Look::of_stdout().table(&["job", "queue", "user", "submitted", "likely", "at worst"], 4);
    for row in chosen.iter().take(ROWS) {
        let Some(job) = site.job(row.job) else { continue };
        table.add_row(vec![
            row.job.to_string(),
            name(row.queue),
            job.userid.to_string(),
            when(job.submitted, epoch),
            when(row.start.likely, epoch),
            when(row.start.worst, epoch),
        ]);
    }
    let mut text = String::new();
    let never = chosen.iter().filter(|j| j.start.likely.is_never()).count();
    let _ = writeln!(text, "{} waiting, {never} of them without a start\n", jobs(chosen.len()));
    if !chosen.is_empty() {
        let _ = writeln!(text, "{}", Look::of_stdout().fit(table, &["submitted", "user"]));
    }
    if chosen.len() > ROWS {
        let _ = writeln!(text, "and {} more; --json has all of them", chosen.len() - ROWS);
    }
    let rows: Vec<Value> =
        chosen.iter().map(|j| json!({"job": j.job.0, "queue": name(j.queue), "start": json_span(j.start)})).collect();
    (text, json!({"jobs": rows}))
}

fn jobs(n: usize) -> String {
    format!("{n} {}", if n == 1 { "job" } else { "jobs" })
}

fn of_nodes(state: &State, usage: &Usage, list: &str) -> Result<(String, Value), Failure> {
    let (site, epoch) = (&state.site, state.epoch);
    let targets = query::targets(site, list)?;
    let all = site.forecast_targets(&targets, usage);
    let last = |of: fn(&Span) -> crate::base::Timestamp| all.iter().map(|t| of(&t.free)).max().unwrap_or(state.at);
    let last = Span { worst: last(|s| s.worst), likely: last(|s| s.likely) };
    // Nodes that come free together stand in one row.
    let mut groups: Vec<(Span, String, crate::base::TargetSet)> = Vec::new();
    for target in &all {
        let holders = holders(site, target.target);
        match groups.iter_mut().find(|(span, what, _)| *span == target.free && *what == holders) {
            Some((_, _, set)) => drop(set.insert(target.target)),
            None => groups.push((target.free, holders, crate::base::TargetSet::single(target.target))),
        }
    }
    groups.sort_by_key(|(span, _, set)| (span.worst, set.first()));
    let mut table = Look::of_stdout().table(&["nodes", "held by", "likely free", "at worst"], 2);
    for (span, what, set) in groups.iter().take(ROWS) {
        table.add_row(vec![hosts(site.graph(), set), what.clone(), when(span.likely, epoch), when(span.worst, epoch)]);
    }
    let free = all.iter().filter(|t| t.free.worst <= state.at).count();
    let text = format!(
        "{} of {} are free; all of them: {}\n\n{}\n",
        free,
        all.len(),
        span(last, epoch),
        Look::of_stdout().fit(table, &[])
    );
    let rows: Vec<Value> = groups
        .iter()
        .map(|(span, what, set)| json!({"nodes": hosts(site.graph(), set), "held_by": what, "free": json_span(*span)}))
        .collect();
    Ok((text, json!({"nodes": rows, "free_now": free, "all_free": json_span(last)})))
}

/// What holds a target, in words.
fn holders(site: &Site, target: crate::base::TargetId) -> String {
    let holders = site.target_view(target).map(|v| v.holders).unwrap_or_default();
    let all: Vec<String> = holders.iter().map(|h| format!("job {} ({})", h.job, h.what)).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

fn of_free(state: &State, usage: &Usage, count: usize, queue: Option<&str>) -> (String, Value) {
    let answer = state.site.forecast_free(count, queue, usage);
    let graph = state.site.graph();
    let mut text = format!(
        "{} of {} usable nodes are free now\n{count} at once: {}\n",
        answer.free,
        answer.usable,
        span(answer.when, state.epoch)
    );
    if !answer.when.worst.is_never() {
        let _ = writeln!(text, "first of all: {}", hosts(graph, &answer.targets));
    }
    let json = json!({
        "asked": count,
        "usable": answer.usable,
        "free_now": answer.free,
        "when": json_span(answer.when),
        "nodes": hosts(graph, &answer.targets),
    });
    (text, json)
}

fn of_donation(state: &State, usage: &Usage, queue: &str) -> (String, Value) {
    let (site, epoch) = (&state.site, state.epoch);
    let forecast = site.forecast_by(usage, None);
    let coming = site.queue_view(queue).map(|q| q.arriving).unwrap_or_default();
    let mut text = if coming.is_empty() {
        format!("Nothing is on its way to {queue}\n")
    } else {
        let all = site.forecast_arrival(&forecast, queue, &coming);
        format!("{} on their way to {queue}; all there: {}\n", nodes(site.graph(), &coming), span(all, epoch))
    };
    let mut rows = Vec::new();
    let mut table = Look::of_stdout().table(&["arrive", "from", "nodes", "at worst"], 3);
    for arrival in forecast.likely_arrivals().iter().filter(|a| a.recipient.as_deref() == Some(queue)) {
        let worst = site.forecast_arrival(&forecast, queue, &arrival.targets).worst;
        let donor = arrival.donor.as_deref().unwrap_or("nobody").to_owned();
        let list = hosts(site.graph(), &arrival.targets);
        table.add_row(vec![when(arrival.at, epoch), donor.clone(), list.clone(), when(worst, epoch)]);
        let span = Span { worst, likely: arrival.at };
        rows.push(json!({"from": donor, "nodes": list, "arrive": json_span(span)}));
    }
    if !rows.is_empty() {
        let _ = writeln!(text, "\n{}", Look::of_stdout().fit(table, &[]));
    }
    (text, json!({"queue": queue, "arriving": hosts(site.graph(), &coming), "arrivals": rows}))
}
