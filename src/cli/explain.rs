//! `sluice explain`.

use super::diagnostic::Failure;
use super::exit::{EXIT_STATUS, Exit};
use super::query::{self, StateArgs, answer, hosts, json_span, json_time, more, nodes, span, when};
use crate::graph::Graph;
use crate::replay::state::State;
use crate::replay::words;
use crate::site::{Blocker, Counted, HeldBack, JobReport, Note, Place, QueueReport, Span, TargetReport, Usage};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::fmt::Write;

const EXAMPLES: &str = "\
EXAMPLES:
    sluice explain job 9003 --scenario graph-fixtures/weekend-dat --at 'Tue 03:00'
    sluice explain node tern050 --scenario graph-fixtures/weekend-dat --at 'Fri 18:50'
    sluice explain queue pdat --scenario graph-fixtures/weekend-dat --at 'Fri 18:10' --json
";

/// So many of those in the way are shown.
const SHOWN: usize = 12;

/// What is asked for.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"))]
pub(super) struct ExplainArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Why a job waits, who is in its way, when that changes, and what was said about it before
    #[command(after_help = EXIT_STATUS)]
    Job {
        /// Its id
        id: String,
        #[command(flatten)]
        state: StateArgs,
    },
    /// Who has a node, who holds it, who gets it next, and which rule applies
    #[command(after_help = EXIT_STATUS)]
    Node {
        /// Its name
        name: String,
        #[command(flatten)]
        state: StateArgs,
    },
    /// How a queue stands, why its jobs wait, and what it waits for
    #[command(after_help = EXIT_STATUS)]
    Queue {
        /// Its name
        name: String,
        #[command(flatten)]
        state: StateArgs,
    },
}

pub(super) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let (What::Job { state, .. } | What::Node { state, .. } | What::Queue { state, .. }) = &args.what;
    // What cannot be an id is said before the replay.
    let id = if let What::Job { id, .. } = &args.what { Some(query::job_id(id)?) } else { None };
    let as_json = state.json;
    let state = state.state()?;
    let (site, usage) = (&state.site, Usage::of(&state.site));
    let unknown = |what: String| Failure::new(what, None);
    let (text, json) = match &args.what {
        What::Job { id: text, .. } => {
            let report = id.and_then(|id| site.explain_job(id, &site.forecast_by(&usage, None), &usage));
            let report = report.ok_or_else(|| unknown(format!("job {text} is not known at that time")))?;
            (job_text(&state, &report), job_json(&state, &report))
        }
        What::Node { name, .. } => {
            let targets = query::targets(site, name)?;
            let (Some(target), 1) = (targets.first(), targets.len()) else {
                return Err(Failure::new(format!("expected one node, found {}", targets.len()), None));
            };
            let forecast = site.forecast_by(&usage, Some(target));
            let report = site.explain_target(target, &forecast, &usage);
            let report = report.ok_or_else(|| unknown(format!("node {name} is not in the inventory at that time")))?;
            (node_text(&state, name, &report), node_json(&state, name, &report))
        }
        What::Queue { name, .. } => {
            query::check_queue(site, name)?;
            let report = site.explain_queue(name, &site.forecast_by(&usage, None), &usage);
            let report = report.ok_or_else(|| unknown(format!("no queue {name} at that time")))?;
            (queue_text(&state, &report), queue_json(&state, &report))
        }
    };
    answer(&state, as_json, &text, &json)
}

fn place_word(place: &Place) -> String {
    match place {
        Place::Free => "free".to_owned(),
        Place::Held => "held by jobs".to_owned(),
        Place::Arriving => "on their way here".to_owned(),
        Place::Leaving => "on their way from here".to_owned(),
        Place::Elsewhere(queue) => format!("with queue {queue}"),
        Place::Unowned => "with nobody".to_owned(),
        Place::Drained => "drained".to_owned(),
        Place::Offline => "not answering".to_owned(),
    }
}

fn job_text(state: &State, report: &JobReport) -> String {
    let (job, epoch, graph) = (&report.job, state.epoch, state.site.graph());
    let mut text = String::new();
    let home = report.home.as_ref().map_or(String::new(), |h| format!(" (scheduled by {h})"));
    let _ =
        writeln!(text, "Job {} of user {} in queue {}{home}: {}", job.id, report.user, report.queue, job.state.word());
    let limit =
        if job.limit.is_infinite() { "unlimited".to_owned() } else { crate::formats::duration::format(job.limit) };
    let priority = match report.order.0 - job.priority.0 {
        0 => job.priority.to_string(),
        boost => format!("{} ({} and {boost:+} of its queue)", report.order, job.priority),
    };
    let _ = writeln!(text, "Submitted    {}, priority {priority}, limit {limit}", when(job.submitted, epoch));
    if !job.started.is_never() {
        let _ = writeln!(text, "Started      {}", when(job.started, epoch));
    }
    if !job.ended.is_never() {
        let _ = writeln!(text, "Ended        {}", when(job.ended, epoch));
    }
    if !report.held.is_empty() {
        let _ = writeln!(text, "Holds        {}", nodes(graph, &report.held));
    }
    if let Some(victim) = &report.gives_way {
        let how = if victim.killed { "killed" } else { "to be killed" };
        let _ = writeln!(text, "Gives way    to {}, {how} {}", victim.by, when(victim.kill_at, epoch));
    }
    let why = words::why(&report.why);
    if !why.is_empty() {
        let _ = writeln!(text, "Why          {why}");
    }
    if let Some(ahead) = report.ahead {
        let _ = writeln!(text, "Order        {ahead} before it");
    }
    if let Some(start) = report.start {
        let _ = writeln!(text, "Starts       {}", span(start, epoch));
    }
    if !report.places.is_empty() {
        let all: usize = report.places.values().map(|t| t.len()).sum();
        let _ = writeln!(text, "\nThe {all} nodes that its queue covers and its constraint allows");
        for (place, targets) in &report.places {
            let _ = writeln!(text, "{:>6}  {}: {}", targets.len(), place_word(place), hosts(graph, targets));
        }
    }
    in_the_way(&mut text, &report.blockers, graph, epoch);
    if !report.changes.is_never() {
        let _ = writeln!(text, "\nThe first of that changes {}", when(report.changes, epoch));
    }
    if !job.history.is_empty() {
        let _ = writeln!(text, "\nWhat was said about it");
        for (at, note) in job.history.notes() {
            let _ = writeln!(text, "  {}  {}", when(*at, epoch), note_text(note, epoch));
        }
    }
    text
}

fn note_text(note: &Note, epoch: Option<i64>) -> String {
    match note {
        Note::Why(why) => words::why(why),
        Note::Planned(at) => format!("planned to start {}", when(*at, epoch)),
        Note::Unplanned => "no plan any more".to_owned(),
        Note::Moved { from, to } => format!("moved from queue {from} to {to}"),
        Note::Requeued => "it ran, and waits again".to_owned(),
        Note::Preempted { by } => format!("told to give way for {by}"),
    }
}

fn in_the_way(text: &mut String, blockers: &[Blocker], graph: &Graph, epoch: Option<i64>) {
    if blockers.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nIn the way");
    for blocker in blockers.iter().take(SHOWN) {
        let _ = writeln!(text, "  {}", blocker_text(blocker, graph, epoch));
    }
    more(text, "  ", blockers.len(), SHOWN);
}

fn blocker_text(blocker: &Blocker, graph: &Graph, epoch: Option<i64>) -> String {
    match blocker {
        Blocker::Job { job, what, targets, until } => {
            format!("job {job} ({what}) holds {} until {}", nodes(graph, targets), span(*until, epoch))
        }
        Blocker::Hold { job, targets, at } => {
            format!("{} held for job {job}, to start {}", nodes(graph, targets), when(*at, epoch))
        }
        Blocker::Ahead(job) => format!("job {job} is before it, and nothing may overtake"),
        Blocker::Reservation { job, at } => format!("job {job} is to start {}, and would be delayed", when(*at, epoch)),
        Blocker::Queue { queue, targets } => format!("queue {queue} has {}", nodes(graph, targets)),
        Blocker::Donation { donor, recipient, targets, until, .. } => format!(
            "{} on the way from {donor} to {}, the last released {}",
            nodes(graph, targets),
            recipient.as_deref().unwrap_or("nobody"),
            span(*until, epoch)
        ),
        Blocker::Switch { name, at } => format!("switch {name} is planned for {}", when(*at, epoch)),
        Blocker::Drain { targets, reason, at: None } => format!("{} drained: {reason}", nodes(graph, targets)),
        Blocker::Drain { targets, reason, at: Some(at) } => {
            format!("{} will be drained {}: {reason}", nodes(graph, targets), when(*at, epoch))
        }
        Blocker::Offline(targets) => format!("{} do not answer", nodes(graph, targets)),
        Blocker::Stopped(queue, reason) if reason.is_empty() => format!("queue {queue} is stopped"),
        Blocker::Stopped(queue, reason) => format!("queue {queue} is stopped: {reason}"),
        Blocker::Group(queue, until) => {
            format!("queue {queue} waits for all its nodes at once, until {}", when(*until, epoch))
        }
        Blocker::Limit(limit, asked, allowed) => format!("limit {limit}: asked {asked}, allowed {allowed}"),
        Blocker::UserLimit { held, until } => user_limit_text(held, *until, epoch),
    }
}

/// Who counts against a limit of a user: those that run, and those that wait before the job.
fn user_limit_text(held: &HeldBack, until: Span, epoch: Option<i64>) -> String {
    let HeldBack { limit, allowed, user, counted } = held;
    let list = |runs: bool| {
        let mine: Vec<&Counted> = counted.iter().filter(|c| c.runs == runs).collect();
        let names: Vec<String> = mine.iter().take(SHOWN).map(|c| format!("{} ({})", c.job, count(c.nodes))).collect();
        let more = if mine.len() > SHOWN { format!(" and {} more", mine.len() - SHOWN) } else { String::new() };
        names.join(", ") + &more
    };
    let mut text = format!("limit {limit} allows user {user} {allowed}");
    for (runs, word) in [(true, "running"), (false, "waiting before it")] {
        if counted.iter().any(|c| c.runs == runs) {
            let _ = write!(text, "; {word}: job {}", list(runs));
        }
    }
    if !until.worst.is_never() {
        let _ = write!(text, "; the first ends {}", span(until, epoch));
    }
    text
}

fn count(nodes: u64) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}

fn blocker_json(blocker: &Blocker, graph: &Graph) -> Value {
    match blocker {
        Blocker::Job { job, what, targets, until } => {
            json!({"kind": "job", "job": job.0, "what": what, "nodes": hosts(graph, targets), "until": json_span(*until)})
        }
        Blocker::Hold { job, targets, at } => {
            json!({"kind": "hold", "job": job.0, "nodes": hosts(graph, targets), "at": json_time(*at)})
        }
        Blocker::Ahead(job) => json!({"kind": "ahead", "job": job.0}),
        Blocker::Reservation { job, at } => json!({"kind": "reservation", "job": job.0, "at": json_time(*at)}),
        Blocker::Queue { queue, targets } => {
            json!({"kind": "queue", "queue": queue, "nodes": hosts(graph, targets)})
        }
        Blocker::Donation { donor, recipient, targets, first, until } => json!({
            "kind": "donation", "donor": donor, "recipient": recipient, "nodes": hosts(graph, targets),
            "first": json_span(*first), "until": json_span(*until),
        }),
        Blocker::Switch { name, at } => json!({"kind": "switch", "name": name, "at": json_time(*at)}),
        Blocker::Drain { targets, reason, at } => json!({
            "kind": "drain", "nodes": hosts(graph, targets), "reason": reason, "at": at.map(json_time),
        }),
        Blocker::Offline(targets) => json!({"kind": "offline", "nodes": hosts(graph, targets)}),
        Blocker::Stopped(queue, reason) => json!({"kind": "stopped", "queue": queue, "reason": reason}),
        Blocker::Group(queue, until) => json!({"kind": "group", "queue": queue, "until": json_time(*until)}),
        Blocker::Limit(limit, asked, allowed) => {
            json!({"kind": "limit", "limit": limit, "asked": asked, "allowed": allowed})
        }
        Blocker::UserLimit { held, until } => {
            let counted: Vec<Value> =
                held.counted.iter().map(|c| json!({"job": c.job.0, "running": c.runs, "nodes": c.nodes})).collect();
            json!({
                "kind": "user-limit", "limit": held.limit, "allowed": held.allowed, "user": held.user,
                "counted": counted, "until": json_span(*until),
            })
        }
    }
}

fn blockers_json(blockers: &[Blocker], graph: &Graph) -> Value {
    blockers.iter().map(|b| blocker_json(b, graph)).collect()
}

fn job_json(state: &State, report: &JobReport) -> Value {
    let (job, graph) = (&report.job, state.site.graph());
    let places: Vec<Value> = report
        .places
        .iter()
        .map(|(place, targets)| json!({"where": place_word(place), "count": targets.len(), "nodes": hosts(graph, targets)}))
        .collect();
    let history: Vec<Value> = job
        .history
        .notes()
        .iter()
        .map(|(at, note)| json!({"at": json_time(*at), "what": note_text(note, None)}))
        .collect();
    json!({
        "job": job.id.0,
        "queue": report.queue,
        "scheduled_by": report.home,
        "state": job.state.word(),
        "user": job.userid,
        "priority": job.priority.0,
        "order_priority": report.order.0,
        "limit_s": if job.limit.is_infinite() { Value::Null } else { json!(job.limit.secs_f64()) },
        "submitted": json_time(job.submitted),
        "started": json_time(job.started),
        "ended": json_time(job.ended),
        "holds": hosts(graph, &report.held),
        "gives_way": report.gives_way.as_ref().map(|victim| json!({
            "to": victim.by.to_string(),
            "killed": victim.killed,
            "kill_at": json_time(victim.kill_at),
            "then": victim.then.name(),
        })),
        "why": words::why(&report.why),
        "ahead": report.ahead,
        "start": report.start.map(json_span),
        "nodes": places,
        "in_the_way": blockers_json(&report.blockers, graph),
        "changes": json_time(report.changes),
        "history": history,
    })
}

fn node_text(state: &State, name: &str, report: &TargetReport) -> String {
    let (view, epoch) = (&report.view, state.epoch);
    let mut text = String::new();
    let owner = view.owner.as_deref().unwrap_or("nobody");
    let leaving = if view.leaving { ", on its way from there" } else { "" };
    let _ = writeln!(text, "Node {name}: with {owner}{leaving}");
    let covers: Vec<&str> = report.members.iter().map(|q| &**q).collect();
    let _ =
        writeln!(text, "Covered by   {}", if covers.is_empty() { "no queue".to_owned() } else { covers.join(", ") });
    let _ = writeln!(text, "Should be    with {}", report.wanted.as_deref().unwrap_or("nobody"));
    let (rule, says) = report.rule.text();
    let _ = writeln!(text, "Rule         {rule}: {says}");
    let holders = &view.holders;
    let doing = match (&view.drained, view.answering, holders.is_empty()) {
        (_, false, _) => "does not answer".to_owned(),
        (Some(drained), true, true) => format!("drained: {}", drained.reason),
        (Some(drained), true, false) => format!("draining: {}", drained.reason),
        (None, true, true) => "free".to_owned(),
        (None, true, false) => "held".to_owned(),
    };
    let _ = writeln!(text, "State        {doing}");
    if !holders.is_empty() {
        let _ = writeln!(text, "Free         {}", span(report.free, epoch));
    }
    if let Some(next) = &report.next {
        let _ =
            writeln!(text, "Next         job {} in queue {}, likely {}", next.job, next.queue, when(next.at, epoch));
    }
    in_the_way(&mut text, &report.blockers, state.site.graph(), epoch);
    text
}

fn node_json(state: &State, name: &str, report: &TargetReport) -> Value {
    let view = &report.view;
    let (rule, says) = report.rule.text();
    json!({
        "node": name,
        "owner": view.owner,
        "leaving": view.leaving,
        "members_of": report.members,
        "wanted_by": report.wanted,
        "rule": rule,
        "rule_says": says,
        "answering": view.answering,
        "drained": view.drained.as_ref().map(|d| d.reason.clone()),
        "free": json_span(report.free),
        "next": report.next.as_ref().map(|n| json!({"job": n.job.0, "queue": n.queue, "likely": json_time(n.at)})),
        "in_the_way": blockers_json(&report.blockers, state.site.graph()),
    })
}

fn queue_text(state: &State, report: &QueueReport) -> String {
    let (view, epoch, graph) = (&report.view, state.epoch, state.site.graph());
    let mut text = String::new();
    let on = |yes, word: &str, other: &str| if yes { word.to_owned() } else { other.to_owned() };
    let claims = match &view.parent {
        Some(parent) if view.parent_stopped => format!("virtual, in {parent}, blocked: parent is stopped"),
        Some(parent) => format!("virtual, in {parent}"),
        None => on(view.claiming, "claiming", "claiming nothing"),
    };
    let (enabled, started) = (on(view.enabled, "enabled", "disabled"), on(view.started, "started", "stopped"));
    let _ = writeln!(text, "Queue {}: {enabled}, {started}, {claims}", view.name);
    let counts = [
        ("members", &view.members),
        ("owned", &view.owned),
        ("up", &view.up),
        ("allocated", &view.allocated),
        ("leaving", &view.leaving),
        ("arriving", &view.arriving),
        ("offline", &view.offline),
    ];
    let words: Vec<String> = counts.iter().map(|(word, set)| format!("{} {word}", set.len())).collect();
    // A virtual queue has none of its own.
    if view.parent.is_none() {
        let _ = writeln!(text, "Nodes        {}", words.join(", "));
    }
    let jobs = view.jobs;
    let _ = writeln!(text, "Jobs         {} running, {} pending, {} held", jobs.running, jobs.pending, jobs.held);
    if report.asked > 0 {
        let _ = writeln!(text, "First start  {}", span(report.first, epoch));
        let _ = writeln!(text, "Last start   {}", span(report.last, epoch));
        let _ = writeln!(text, "\nWhy they wait (of {} asked)", report.asked);
        for (reason, (count, first)) in &report.reasons {
            let _ = writeln!(text, "{count:>6}  {reason}, the first is job {first}");
        }
    }
    if !report.arrivals.is_empty() {
        let _ = writeln!(text, "\nWhat likely comes");
        for arrival in report.arrivals.iter().take(SHOWN) {
            let donor = arrival.donor.as_deref().unwrap_or("nobody");
            let _ = writeln!(text, "  {}  {} from {donor}", when(arrival.at, epoch), nodes(graph, &arrival.targets));
        }
    }
    in_the_way(&mut text, &report.blockers, graph, epoch);
    if !report.changes.is_never() {
        let _ = writeln!(text, "\nThe first of that changes {}", when(report.changes, epoch));
    }
    text
}

fn queue_json(state: &State, report: &QueueReport) -> Value {
    let (view, graph) = (&report.view, state.site.graph());
    let reasons: Vec<Value> = report
        .reasons
        .iter()
        .map(|(reason, (count, first))| json!({"reason": reason, "count": count, "first": first.0}))
        .collect();
    let arrivals: Vec<Value> = report
        .arrivals
        .iter()
        .map(|a| json!({"likely": json_time(a.at), "from": a.donor, "nodes": hosts(graph, &a.targets)}))
        .collect();
    json!({
        "queue": view.name,
        "parent": view.parent,
        "enabled": view.enabled,
        "disable_reason": view.disable_reason,
        "started": view.started,
        "stop_reason": view.stop_reason,
        "blocked": view.blocked_by(),
        "claiming": view.claiming,
        "nodes": {
            "members": hosts(graph, &view.members),
            "owned": hosts(graph, &view.owned),
            "up": hosts(graph, &view.up),
            "allocated": hosts(graph, &view.allocated),
            "leaving": hosts(graph, &view.leaving),
            "arriving": hosts(graph, &view.arriving),
            "offline": hosts(graph, &view.offline),
        },
        "jobs": {"running": view.jobs.running, "pending": view.jobs.pending, "held": view.jobs.held},
        "first_start": json_span(report.first),
        "last_start": json_span(report.last),
        "asked": report.asked,
        "reasons": reasons,
        "arrivals": arrivals,
        "in_the_way": blockers_json(&report.blockers, graph),
        "changes": json_time(report.changes),
    })
}
