//! `sluice plan` and `sluice apply`.

use super::diagnostic::Failure;
use super::exit::{EXIT_STATUS, Exit};
use super::query::{
    self, ROWS, StateArgs, hosts, instant, json_span, json_time, more, nodes, say, say_json, span, when,
};
use super::summary::Look;
use crate::base::{Duration, JobId, Timestamp};
use crate::config::Config;
use crate::replay::assembly::{RunOptions, assemble};
use crate::replay::change::{action_text, events_of};
use crate::replay::engine::Intervention;
use crate::replay::metrics::Report;
use crate::replay::scenario::Scenario;
use crate::replay::words;
use crate::site::{Configure, Effect, Event, Move, PendingFate, Preview, Site, StartChange, Usage};
use clap::{ArgGroup, Args, ValueHint};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
EXAMPLES:
  What would it do to start a queue now, or at six o'clock?
    sluice plan --scenario graph-fixtures/weekend-dat --at 'Fri 15:00' --do 'queue-start queue=pdat'
    sluice plan --scenario graph-fixtures/weekend-dat --at 'Fri 15:00' --do 'queue-start queue=pdat at=\"Fri 18:00\"'
  What would another configuration do? And then do it, if nothing has happened since:
    sluice plan --scenario graph-fixtures/weekend-dat --at 'Fri 15:00' --config new.toml
    sluice apply --scenario graph-fixtures/weekend-dat --at 'Fri 15:00' --config new.toml --check-index 0123456789abcdef

  An action is what stands in an [[action]] of a scenario (docs/scenario.md). `apply` on a scenario does it at that time,
  and replays the rest with it and without it. A change is done whole, or refused whole.
";

/// A change.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(false))]
struct ChangeArgs {
    /// A configuration that takes the place of the one in force
    #[arg(long, value_name = "FILE", group = "change", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,

    /// An action in words: VERB KEY=VALUE ...
    #[arg(long = "do", value_name = "ACTION", group = "change")]
    words: Option<String>,

    /// A file with [[action]] tables
    #[arg(long, value_name = "FILE", group = "change", value_hint = ValueHint::FilePath)]
    actions: Option<PathBuf>,

    /// What becomes of the pending jobs of queues that the configuration does not have: hold, cancel, move=QUEUE
    #[arg(long, value_name = "FATE", requires = "config", value_parser = fate)]
    pending: Option<PendingFate>,
}

fn fate(text: &str) -> Result<PendingFate, &'static str> {
    match (text, text.strip_prefix("move=")) {
        ("hold", _) => Ok(PendingFate::Hold),
        ("cancel", _) => Ok(PendingFate::Cancel),
        (_, Some(queue)) if !queue.is_empty() => Ok(PendingFate::Move(queue.to_owned())),
        _ => Err("expected hold, cancel or move=QUEUE"),
    }
}

/// What is asked for.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    state: StateArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

/// What is to be done.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"))]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    state: StateArgs,
    #[command(flatten)]
    change: ChangeArgs,

    /// Refuse if the state is not the one that `plan` looked at
    #[arg(long, value_name = "INDEX", value_parser = index)]
    check_index: Option<u64>,

    /// Check the invariants after every step
    #[arg(long)]
    check: bool,
}

fn index(text: &str) -> Result<u64, &'static str> {
    let hex = text.len() == 16;
    u64::from_str_radix(text, 16)
        .ok()
        .filter(|_| hex)
        .ok_or("expected the index that `sluice plan` prints: 16 hexadecimal digits")
}

impl ChangeArgs {
    /// The change as events, for a site.
    fn events(&self, scenario: &Scenario, epoch: Option<i64>, site: &Site) -> Result<Vec<Event>, Failure> {
        let read = |path: &Path| {
            let told = |e| Failure::new(format!("cannot read {}: {e}", path.display()), None);
            std::fs::read_to_string(path).map_err(told)
        };
        if let Some(path) = &self.config {
            let config = Config::parse(&read(path)?, &path.to_string_lossy())
                .map_err(|e| Failure::new(e.to_string(), Some("docs/configuration.md describes all keys".into())))?;
            let pending = self.pending.clone();
            return Ok(vec![Event::Configure(Box::new(Configure { config, pending }))]);
        }
        let (text, file) = match (&self.words, &self.actions) {
            (Some(words), _) => {
                let text = action_text(words, site.now());
                (text.map_err(|e| Failure::new(format!("--do: {e}"), None).with(Exit::Usage))?, PathBuf::from("--do"))
            }
            (None, Some(path)) => (read(path)?, path.clone()),
            (None, None) => return Err(Failure::new("no change", None).with(Exit::Usage)),
        };
        let actions = scenario.parse_actions(epoch, &text, &file)?;
        Ok(events_of(&actions, site)?)
    }
}

fn refused(what: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("refused, nothing has changed: {what}"), None)
}

pub(super) fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let state = args.state.state()?;
    let usage = Usage::of(&state.site);
    let events = args.change.events(&state.scenario, state.epoch, &state.site)?;
    let preview = state.site.preview(&events, &usage).map_err(|e| refused(&e))?;
    if args.state.json {
        say_json(&preview_json(&preview, &state.site, state.epoch))?;
    } else {
        say(&format!("At {}\n{}", instant(state.at, state.epoch), preview_text(&preview, &state.site, state.epoch)))?;
    }
    Ok(if preview.changes() { Exit::Found } else { Exit::Ok })
}

fn preview_text(preview: &Preview, site: &Site, epoch: Option<i64>) -> String {
    let (graph, mut text) = (site.graph(), String::new());
    let _ = writeln!(text, "Index {:016x}", preview.index);
    if !preview.changes() {
        let _ = writeln!(text, "\nNothing changes");
        return text;
    }
    if !preview.queues.is_empty() || !preview.plans.is_empty() {
        let _ = writeln!(text, "\nQueues");
        for (queue, what, detail) in &preview.queues {
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            let _ = writeln!(text, "  {queue} {what}{detail}");
        }
        preview.plans.iter().for_each(|line| text += &format!("  {line}\n"));
    }
    let moved = |text: &mut String, title: &str, moves: &[Move]| {
        if moves.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{title}");
        for m in moves {
            let (from, to) = (m.from.as_deref().unwrap_or("nobody"), m.to.as_deref().unwrap_or("nobody"));
            let at_once = m.last.worst <= site.now();
            let time = if at_once {
                "at once".to_owned()
            } else {
                format!("the first {}; the last {}", span(m.first, epoch), span(m.last, epoch))
            };
            let _ = writeln!(text, "  {} from {from} to {to}: {time}", nodes(graph, &m.targets));
        }
    };
    if !preview.drains.is_empty() {
        let _ = writeln!(text, "\nNodes that are given at a known time, and start draining");
        for d in &preview.drains {
            let (from, at) = (when(d.from, epoch), when(d.at, epoch));
            let longest = format!("the longest limit of its jobs is {}", limit(d.longest));
            let _ = writeln!(text, "  {} of {} from {from} on, for {at}: {longest}", nodes(graph, &d.targets), d.queue);
        }
    }
    moved(&mut text, "Nodes that move", &preview.moves);
    moved(&mut text, "Nodes that would move otherwise", &preview.stays);
    for (word, set) in [("take work", &preview.up), ("take no work", &preview.down)] {
        if !set.is_empty() {
            let _ = writeln!(text, "\nNodes that then {word}\n  {}", nodes(graph, set));
        }
    }
    jobs_text(&mut text, preview, epoch);
    if !preview.moves.is_empty() {
        let hours = |seconds: f64| seconds / 3600.0;
        let (worst, likely) = (hours(preview.idle.0), hours(preview.idle.1));
        let _ = writeln!(text, "\nNode-hours idle before they arrive: likely {likely:.1}, at worst {worst:.1}");
    }
    text
}

/// A time limit in words.
fn limit(limit: Duration) -> String {
    if limit.is_infinite() { "none".to_owned() } else { limit.to_string() }
}

fn jobs_text(text: &mut String, preview: &Preview, epoch: Option<i64>) {
    let ids = |ids: &[JobId]| {
        let more = if ids.len() > ROWS { format!(" and {} more", ids.len() - ROWS) } else { String::new() };
        format!("{}{more}", ids.iter().take(ROWS).map(JobId::to_string).collect::<Vec<_>>().join(", "))
    };
    if !preview.killed.is_empty() {
        let _ = writeln!(text, "\nRunning jobs that are ended\n  {}", ids(&preview.killed));
    }
    if !preview.preempted.is_empty() {
        let _ = writeln!(text, "\nJobs that are made to give way\n  {}", ids(&preview.preempted));
    }
    if !preview.cancelled.is_empty() {
        let _ = writeln!(text, "\nWaiting jobs that are cancelled\n  {}", ids(&preview.cancelled));
    }
    let lines = |text: &mut String, title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}");
            lines.iter().take(ROWS).for_each(|line| *text += &format!("  {line}\n"));
            more(text, "  ", lines.len(), ROWS);
        }
    };
    let held = preview.held.iter().map(|(job, why)| format!("{job}: {why}")).collect();
    lines(text, "Waiting jobs that are held", held);
    let denied = preview.denied.iter().map(|(job, why)| format!("{job}: {}", words::denial(why))).collect();
    lines(text, "Waiting jobs that become unsatisfiable, and are denied", denied);
    let stuck = preview.stuck.iter().map(|c| format!("{} in {}: before {}", c.job, c.queue, span(c.before, epoch)));
    lines(text, "Waiting jobs that had a start and have none any more", stuck.collect());
    if preview.starts.is_empty() {
        return;
    }
    let shift = |c: &StartChange| c.after.likely.micros().saturating_sub(c.before.likely.micros());
    let earlier = preview.starts.iter().filter(|c| shift(c) < 0).count();
    let later = preview.starts.iter().filter(|c| shift(c) > 0).count();
    let _ = writeln!(
        text,
        "\nStarts that change: {} of {} waiting jobs, {earlier} likely earlier, {later} later",
        preview.starts.len(),
        preview.compared
    );
    let mut starts: Vec<&StartChange> = preview.starts.iter().collect();
    starts.sort_by_key(|c| (std::cmp::Reverse(shift(c).unsigned_abs()), c.job));
    let look = Look::of_stdout();
    let header = ["job", "queue", "likely before", "likely after", "worst before", "worst after"];
    let mut table = look.table(&header, 2);
    for c in starts.iter().take(ROWS / 2) {
        let times = [c.before.likely, c.after.likely, c.before.worst, c.after.worst];
        let mut row = vec![c.job.to_string(), c.queue.to_string()];
        row.extend(times.map(|at| when(at, epoch)));
        table.add_row(row);
    }
    let _ = writeln!(text, "{}", look.fit(table, &["worst before", "worst after"]));
    more(text, "", starts.len(), ROWS / 2);
}

fn preview_json(preview: &Preview, site: &Site, epoch: Option<i64>) -> Value {
    let graph = site.graph();
    let moves = |moves: &[Move]| -> Value {
        let one = |m: &Move| {
            json!({
                "nodes": hosts(graph, &m.targets), "count": m.targets.len(), "from": m.from, "to": m.to,
                "first": json_span(m.first), "last": json_span(m.last),
            })
        };
        moves.iter().map(one).collect()
    };
    let starts = |starts: &[StartChange]| -> Value {
        let one = |c: &StartChange| json!({"job": c.job.0, "queue": c.queue, "before": json_span(c.before), "after": json_span(c.after)});
        starts.iter().map(one).collect()
    };
    let queue = |(queue, what, detail): &(std::sync::Arc<str>, &'static str, String)| json!({"queue": queue, "what": what, "detail": detail});
    json!({
        "at": json_time(site.now()),
        "epoch": epoch,
        "index": format!("{:016x}", preview.index),
        "changes": preview.changes(),
        "queues": preview.queues.iter().map(queue).collect::<Value>(),
        "plans": preview.plans,
        "drains": preview.drains.iter().map(|d| json!({
            "queue": d.queue, "nodes": hosts(graph, &d.targets), "at": json_time(d.at), "from": json_time(d.from),
            "longest_limit_s": (!d.longest.is_infinite()).then(|| d.longest.secs_f64()),
        })).collect::<Value>(),
        "moves": moves(&preview.moves),
        "stays": moves(&preview.stays),
        "up": hosts(graph, &preview.up),
        "down": hosts(graph, &preview.down),
        "killed": preview.killed.iter().map(|j| j.0).collect::<Vec<_>>(),
        "preempted": preview.preempted.iter().map(|j| j.0).collect::<Vec<_>>(),
        "cancelled": preview.cancelled.iter().map(|j| j.0).collect::<Vec<_>>(),
        "held": preview.held.iter().map(|(j, why)| json!({"job": j.0, "why": why})).collect::<Value>(),
        "unsatisfiable": preview.denied.iter()
            .map(|(j, why)| json!({"job": j.0, "why": words::denial(why)})).collect::<Value>(),
        "stuck": starts(&preview.stuck),
        "starts": starts(&preview.starts),
        "compared": preview.compared,
        "idle_node_s": {"likely": preview.idle.1, "worst": preview.idle.0},
    })
}

pub(super) fn apply(args: &ApplyArgs) -> Result<Exit, Failure> {
    let (scenario, at) = args.state.open()?;
    let options = || RunOptions { shared: query::shared(), check: args.check, ..RunOptions::default() };
    let without = assemble(scenario.clone(), options())?.run()?;
    let replay = assemble(scenario.clone(), options())?;
    let epoch = replay.epoch;
    let choose = |site: &mut Site| -> Result<Vec<Event>, Failure> {
        let index = site.state_index();
        if let Some(expected) = args.check_index.filter(|expected| *expected != index) {
            let what =
                format!("the state has index {index:016x}, not {expected:016x}: it has moved on since it was planned");
            return Err(refused(&what));
        }
        let events = args.change.events(&scenario, epoch, site)?;
        // Refused as a whole before anything is done.
        let mut trial = site.clone();
        for event in &events {
            trial.apply(site.now(), event.clone(), &mut Vec::new()).map_err(|e| refused(&e))?;
        }
        Ok(events)
    };
    let (done, with) = replay.run_with(at, choose)?;
    if let Some(error) = &done.refused {
        return Err(refused(error));
    }
    let broken = with.outcome.broken.first().or(without.outcome.broken.first());
    if let Some(broken) = broken {
        let what = format!("at {} {} does not hold: {}", broken.at, broken.invariant, broken.text);
        return Err(Failure::new(what, None).with(Exit::Failed));
    }
    let (with, without) = (&with.outcome.report, &without.outcome.report);
    if args.state.json {
        say_json(&applied_json(&done, with, without, at, epoch))?;
    } else {
        say(&applied_text(&done, with, without, at, epoch))?;
    }
    Ok(Exit::Ok)
}

/// What the site answered, in words; ups and downs are part of what moved.
fn effect_text(effect: &Effect, site: &Site) -> Option<String> {
    let graph = site.graph();
    let or_nobody = |q: &Option<std::sync::Arc<str>>| q.as_deref().unwrap_or("nobody").to_owned();
    Some(match effect {
        Effect::Start { job, queue, selection, .. } => {
            format!("job {job} starts in {queue} on {}", nodes(graph, &selection.target_set()))
        }
        Effect::Denied { job, reason } => format!("job {job} is denied: {}", words::denial(reason)),
        Effect::Cancelled { job } => format!("job {job} is cancelled"),
        Effect::Kill { job } => format!("job {job} is killed"),
        Effect::Preempt { job, by, .. } => format!("job {job} is to give way for {by}"),
        Effect::Held { job, reason } => format!("job {job} is held: {reason}"),
        Effect::DonationStarted { targets, donor, recipient } => {
            format!("{} leave {donor} for {}", nodes(graph, targets), or_nobody(recipient))
        }
        Effect::DonationEnded { targets, donor, cancelled: true, .. } => {
            format!("{} stay with {donor}", nodes(graph, targets))
        }
        Effect::DonationEnded { targets, recipient, .. } => {
            format!("{} are with {}", nodes(graph, targets), or_nobody(recipient))
        }
        Effect::Lent { targets, lender, borrower, prolonged, .. } => {
            let how = if *prolonged { "stay lent" } else { "are lent" };
            format!("{} {how} by {lender} to {borrower}", nodes(graph, targets))
        }
        Effect::LoanEnded { targets, lender, borrower, why } => {
            format!("{} go back from {borrower} to {lender}: {why}", nodes(graph, targets))
        }
        Effect::QueueChanged { queue, what, detail } if detail.is_empty() => format!("queue {queue} {what}"),
        Effect::QueueChanged { queue, what, detail } => format!("queue {queue} {what}: {detail}"),
        Effect::Inventory { targets, joined } => {
            format!("{} {}", nodes(graph, targets), if *joined { "join" } else { "leave" })
        }
        _ => return None,
    })
}

/// Figures of the whole replay that a change may move.
fn figures(report: &Report) -> [(&'static str, f64); 8] {
    let total = &report.total;
    [
        ("jobs completed", total.jobs.completed as f64),
        ("jobs cancelled or failed", (total.jobs.cancelled + total.jobs.failed) as f64),
        ("jobs denied, pending or held", (total.jobs.denied + total.jobs.pending + total.jobs.held) as f64),
        ("mean wait, s", total.wait_s.mean),
        ("longest wait, s", total.wait_s.max),
        ("utilization", total.utilization),
        ("nodes moved", report.donations.moved as f64),
        ("idle by moving, node-s", report.donations.drain_idle_target_s),
    ]
}

fn applied_text(done: &Intervention, with: &Report, without: &Report, at: Timestamp, epoch: Option<i64>) -> String {
    let mut text = format!("At {}\n", instant(at, epoch));
    let lines: Vec<String> = done.effects.iter().filter_map(|e| effect_text(e, &done.site)).collect();
    let _ = writeln!(text, "\nWhat was done");
    if lines.is_empty() {
        let _ = writeln!(text, "  nothing that shows at once");
    }
    lines.iter().take(ROWS).for_each(|line| text += &format!("  {line}\n"));
    more(&mut text, "  ", lines.len(), ROWS);
    let look = Look::of_stdout();
    let header = ["queue", "state", "members", "owned", "allocated", "leaving", "arriving", "running", "pending"];
    let mut table = look.table(&header, 2);
    for q in done.site.queue_views() {
        let state = if q.started { "started" } else { "stopped" };
        let sets = [&q.members, &q.owned, &q.allocated, &q.leaving, &q.arriving];
        let mut row = vec![q.name.to_string(), state.to_owned()];
        row.extend(sets.iter().map(|set| set.len().to_string()));
        row.extend([q.jobs.running.to_string(), (q.jobs.pending + q.jobs.held).to_string()]);
        table.add_row(row);
    }
    let _ = writeln!(text, "\nThe queues after it\n{}", look.fit(table, &["allocated"]));
    let mut table = look.table(&["the whole replay", "without it", "with it"], 1);
    for ((name, without), (_, with)) in figures(without).into_iter().zip(figures(with)) {
        table.add_row(vec![name.to_owned(), number(without), number(with)]);
    }
    let _ = writeln!(text, "\nWhat comes of it\n{}", look.fit(table, &[]));
    let _ = writeln!(text, "Index {:016x}", done.site.state_index());
    text
}

/// A number with as many digits as it needs.
fn number(n: f64) -> String {
    if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.3}") }
}

fn applied_json(done: &Intervention, with: &Report, without: &Report, at: Timestamp, epoch: Option<i64>) -> Value {
    let graph = done.site.graph();
    let queues: Vec<Value> = done
        .site
        .queue_views()
        .iter()
        .map(|q| {
            json!({
                "queue": q.name, "started": q.started, "members": hosts(graph, &q.members), "owned": hosts(graph, &q.owned),
                "allocated": hosts(graph, &q.allocated), "leaving": hosts(graph, &q.leaving),
                "arriving": hosts(graph, &q.arriving), "running": q.jobs.running, "pending": q.jobs.pending, "held": q.jobs.held,
            })
        })
        .collect();
    json!({
        "at": json_time(at),
        "epoch": epoch,
        "effects": done.effects.iter().filter_map(|e| effect_text(e, &done.site)).collect::<Vec<_>>(),
        "queues": queues,
        "index": format!("{:016x}", done.site.state_index()),
        "without": without,
        "with": with,
    })
}
