//! Scripted sessions. A line that begins with `@` gives the time in seconds and events, separated by `;`; the lines
//! below it that begin with `>` are the effects of these events and of the step that follows, in order. Lines with `#`
//! are for the reader. An event that is refused stands as `> refused: …`.
//!
//! ```text
//! submit ID [q=QUEUE] [n=NODES | slots=N | n=NODES c=CORES] [t=LIMIT] [p=PRIORITY] [u=USER] [lic=LICENCES] [ssd=SSD OF ONE RACK] [racks=N: all of them]
//! end|fail|requeue|cancel ID…   free ID [TARGETS]   move ID QUEUE   relimit ID LIMIT   prioritize ID PRIORITY
//! create|change NAME [hosts=LIST] [parent=Q] [policy=P] [precedence=N] [overlap=take] [horizon=H] [max=NODES] [each=NODES OF ONE USER]
//! remove NAME [move=Q|hold|cancel]   enable|disable NAME   start NAME [take] [group=GIVEUP] [min=N] [waves=N]
//!     [lend=QUEUE,…] [floor=N] [longest=SECONDS] [idle=SECONDS] [home=SECONDS] [cap=N] [kept=N: its own floor] [from=QUEUE,…]
//! recall TARGETS
//! stop NAME   release NAME   switch -NAME… +NAME…   plan NAME AT -NAME… +NAME…   unplan NAME   abort [NAME]
//! online|offline|undrain TARGETS   drain TARGETS [AT]   add HOST   drop TARGETS   found ID QUEUE TARGETS   recovered
//! ```

mod calendar;
mod jobs;
mod ledger;
mod lending;
mod moves;
mod nodes;
mod pools;
mod queues;

use super::*;
use crate::base::{Duration, JobId, Priority, TargetId, TargetSet, Timestamp};
use crate::config::{Borrow, Config, Lend, Lending, Members, PolicyConfig, QueueConfig};
use crate::formats::count::Count;
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use crate::formats::r::R;
use crate::graph::{Graph, Properties};
use crate::matcher::{Amount, Extent, Freed, PoolNeed, Request, Selection, Shape, Within};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// A site under test.
pub(super) struct Bed {
    pub site: Site,
}

/// Four nodes with two cores each, no queue but those created.
pub(super) fn bed() -> Bed {
    bed_of(4)
}

pub(super) fn bed_of(nodes: u32) -> Bed {
    let graph = Arc::new(Graph::uniform(nodes, 2, 0).expect("a small graph"));
    let options = SiteOptions { check_ledger: true, annotate: false };
    let site = Site::empty(graph, Arc::new(Properties::new()), Arc::new(Config::default()), options);
    Bed { site }
}

/// Runs a session and compares all effects.
pub(super) fn check(bed: &mut Bed, script: &str) {
    let mut actual = String::new();
    let mut expected = String::new();
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        expected.push_str(line);
        expected.push('\n');
        if let Some(step) = line.strip_prefix('@') {
            let _ = writeln!(actual, "@{step}");
            let (at, events) = step.split_once(' ').unwrap_or((step, ""));
            for effect in bed.step(at.parse().expect("a time"), events) {
                let _ = writeln!(actual, "> {effect}");
            }
        }
    }
    assert_eq!(actual, expected, "left: what happened; right: what the session says\n{actual}");
    assert_eq!(bed.site.violations(), []);
}

impl Bed {
    pub fn step(&mut self, at: i64, events: &str) -> Vec<String> {
        let now = Timestamp::from_secs(at);
        let mut effects = Vec::new();
        let mut lines = Vec::new();
        for event in events.split(';').map(str::trim).filter(|e| !e.is_empty()) {
            for event in parse(event, &self.site) {
                let before = effects.len();
                if let Err(error) = self.site.apply(now, event, &mut effects) {
                    assert_eq!(effects.len(), before, "a refused event has no effect");
                    lines.push(format!("refused: {error}"));
                }
            }
        }
        let end = self.site.schedule(now, usize::MAX, &mut effects);
        assert!(!end.more);
        lines.extend(effects.iter().map(show));
        lines
    }

    pub fn state(&self, id: u64) -> JobState {
        self.site.jobs.job(self.site.jobs.slot(JobId(id)).expect("a known job")).state
    }
}

fn targets(text: &str) -> TargetSet {
    Idset::parse(text).expect("an idset").iter().map(TargetId).collect()
}

fn secs(text: &str) -> Timestamp {
    Timestamp::from_secs(text.parse().expect("seconds"))
}

/// The events of one phrase.
fn parse(text: &str, site: &Site) -> Vec<Event> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let keys: BTreeMap<&str, &str> = words.iter().filter_map(|w| w.split_once('=')).collect();
    let number = |key: &str| keys.get(key).map(|v| v.parse::<u64>().expect("a number"));
    let id = |n: usize| JobId(words[n].parse().expect("a job id"));
    let each = |event: &dyn Fn(JobId) -> Event| (1..words.len()).map(|n| event(id(n))).collect();
    let name = || words[1].to_owned();
    let one = match words[0] {
        "submit" => Event::Submit(Box::new(Submission {
            id: id(1),
            queue: keys.get("q").map(ToString::to_string),
            priority: Priority(number("p").unwrap_or(16) as i64),
            userid: number("u").unwrap_or(0) as u32,
            limit: number("t").map(|t| Duration::from_secs(t as i64)),
            request: Ok(pooled(
                request(number("n"), number("c"), number("slots")),
                number("lic"),
                number("ssd"),
                number("racks"),
            )),
        })),
        "end" => return each(&|job| Event::End { job, outcome: Outcome::Completed }),
        "fail" => return each(&|job| Event::End { job, outcome: Outcome::Failed }),
        "requeue" => return each(&|job| Event::Requeue { job }),
        "cancel" => return each(&|job| Event::Cancel { job }),
        "free" => {
            let freed = words.get(2).map_or(Freed::Rest, |t| Freed::Targets(targets(t)));
            Event::Free { job: id(1), freed }
        }
        "move" => Event::MoveJob { job: id(1), queue: words[2].to_owned() },
        "relimit" => Event::Relimit { job: id(1), limit: Duration::from_secs(words[2].parse().expect("seconds")) },
        "prioritize" => Event::Prioritize { jobs: vec![(id(1), Priority(words[2].parse().expect("a priority")))] },
        "create" => Event::QueueCreate { config: Box::new(queue(words[1], &keys)) },
        "change" => Event::QueueChange { config: Box::new(queue(words[1], &keys)) },
        "remove" => {
            let pending = match words.get(2) {
                Some(&"hold") => Some(PendingFate::Hold),
                Some(&"cancel") => Some(PendingFate::Cancel),
                _ => keys.get("move").map(|q| PendingFate::Move(q.to_string())),
            };
            Event::QueueRemove { queue: name(), pending }
        }
        "enable" => Event::QueueEnable { queue: name() },
        "disable" => Event::QueueDisable { queue: name(), reason: "closed".to_owned() },
        "start" => Event::QueueStart { queue: name(), mode: mode(&words, &keys) },
        "stop" => Event::QueueStop { queue: name(), release: false, reason: "pause".to_owned() },
        "release" => Event::QueueStop { queue: name(), release: true, reason: "over".to_owned() },
        "switch" => Event::Switch(switch(&words[1..])),
        "plan" => Event::Planned { at: secs(words[2]), name: name(), switch: switch(&words[3..]) },
        "unplan" => Event::CancelPlanned { name: name() },
        "abort" => Event::Abort { plan: words.get(1).map(ToString::to_string) },
        "recall" => Event::Recall { targets: targets(words[1]) },
        "online" => Event::Online { targets: targets(words[1]) },
        "offline" => Event::Offline { targets: targets(words[1]) },
        "drain" => Event::Drain {
            targets: targets(words[1]),
            reason: "repair".to_owned(),
            at: words.get(2).map(|at| secs(at)),
        },
        "undrain" => Event::Undrain { targets: targets(words[1]) },
        "add" => Event::AddTargets { addition: Box::new(host(words[1], site)), online: true },
        "drop" => Event::RemoveTargets { targets: targets(words[1]) },
        "found" => {
            let selection = Arc::new(Selection::whole(targets(words[3]).iter(), 1));
            Event::Hello(Box::new(Found {
                id: id(1),
                queue: words[2].to_owned(),
                priority: Priority(16),
                userid: 0,
                submitted: Timestamp::ZERO,
                started: Timestamp::ZERO,
                limit: Duration::from_secs(100),
                request: request(Some(selection.shares.len() as u64), None, None),
                selection,
                freed: TargetSet::new(),
            }))
        }
        "recovered" => Event::HelloDone,
        other => panic!("unknown word {other}"),
    };
    vec![one]
}

fn request(nodes: Option<u64>, cores: Option<u64>, slots: Option<u64>) -> Arc<Request> {
    let slot = Amount { cores: cores.unwrap_or(1) as u32, gpus: 0 };
    let shape = match (nodes, slots, cores) {
        (_, Some(n), _) => Shape::Slots { slots: Count::fixed(n), slot },
        (Some(n), None, Some(_)) => Shape::Nodes { nodes: Count::fixed(n), slots: Count::fixed(1), slot },
        (n, None, _) => {
            Shape::Whole { nodes: Count::fixed(n.unwrap_or(1)), at_least: Amount::default(), slots_per_node: 1 }
        }
    };
    Arc::new(Request { shape, constraint: None, shared: Default::default() })
}

/// The same with licences, which may be anywhere, and storage of one rack, or with whole racks.
fn pooled(request: Arc<Request>, licences: Option<u64>, ssd: Option<u64>, racks: Option<u64>) -> Arc<Request> {
    let mut request = Request::clone(&request);
    let need = |kind: &str, amount, within| PoolNeed { kind: kind.to_owned(), amount, within };
    request.shared.needs.extend(licences.map(|n| need("licence", n, false)));
    request.shared.needs.extend(ssd.map(|n| need("ssd", n, true)));
    request.shared.within = match racks {
        Some(count) => Some(Within { count, exclusive: true, ..Within::one("rack") }),
        None => ssd.map(|_| Within::one("rack")),
    };
    Arc::new(request)
}

fn queue(name: &str, keys: &BTreeMap<&str, &str>) -> QueueConfig {
    let mut policy = PolicyConfig::default();
    let settings = &mut policy.scheduler;
    if let Some(word) = keys.get("policy") {
        settings.queue_policy = word.parse().expect("a queue policy");
    }
    if let Some(word) = keys.get("overlap") {
        settings.overlap = word.parse().expect("an overlap");
    }
    if let Some(word) = keys.get("horizon") {
        settings.horizon = word.parse().expect("a horizon");
    }
    settings.precedence = keys.get("precedence").map_or(0, |n| n.parse().expect("a number"));
    policy.limits.job_size_max.nnodes = keys.get("max").map(|n| n.parse().expect("a number"));
    policy.limits.user.max_running_nodes = keys.get("each").map(|n| n.parse().expect("a number"));
    let seconds =
        |key: &str, default| keys.get(key).map_or(default, |n| Duration::from_secs(n.parse().expect("seconds")));
    let names = |list: &&str| list.split(',').map(str::to_owned).collect::<Vec<_>>();
    let lend = keys.get("lend").map(|to| Lend {
        floor: keys.get("floor").map_or(0, |n| n.parse().expect("a number")),
        max_duration: seconds("longest", Duration::from_secs(1000)),
        idle_for: seconds("idle", Duration::ZERO),
        min_home: seconds("home", Duration::from_secs(1)),
        ..Lend::to(names(to))
    });
    let borrow = Borrow {
        from: keys.get("from").map(names),
        cap: keys.get("cap").map(|n| n.parse().expect("a number")),
        floor: keys.get("kept").map_or(0, |n| n.parse().expect("a number")),
    };
    let lending = Lending { lend, borrow };
    let members = keys.get("hosts").map_or(Members::All, |h| Members::Hosts(Hostlist::parse(h).expect("a hostlist")));
    QueueConfig { name: name.to_owned(), members, parent: keys.get("parent").map(ToString::to_string), policy, lending }
}

fn mode(words: &[&str], keys: &BTreeMap<&str, &str>) -> StartMode {
    let group = keys
        .get("group")
        .map(|at| GroupMode { min: keys.get("min").map(|n| n.parse().expect("a number")), give_up: secs(at) });
    StartMode {
        take: words.contains(&"take"),
        group,
        max_leaving: keys.get("waves").map(|n| n.parse().expect("a number above 0")),
    }
}

fn switch(words: &[&str]) -> SwitchSpec {
    let mut spec = SwitchSpec::default();
    for word in words {
        match word.split_at(1) {
            ("-", name) => spec.release.push(name.to_owned()),
            ("+", name) => spec.start.push((name.to_owned(), StartMode::default())),
            _ => panic!("expected -QUEUE or +QUEUE, found {word}"),
        }
    }
    spec
}

/// A host with two cores that joins the site, as R.
fn host(name: &str, site: &Site) -> R {
    let rank = site.graph.target_bound();
    let text = format!(
        r#"{{"version":1,"execution":{{"R_lite":[{{"rank":"{rank}","children":{{"core":"0-1"}}}}],"nodelist":["{name}"],"starttime":0,"expiration":0}}}}"#
    );
    R::parse(&text).expect("an R")
}

fn selection(what: &Selection) -> String {
    let mut text = String::new();
    if what.shares.iter().all(|s| s.extent == Extent::Whole) {
        return what.target_set().to_string();
    }
    for share in &what.shares {
        let separator = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{separator}{}", share.target);
        if let Extent::Part(part) = &share.extent {
            let cores: TargetSet = part.cores.iter().map(TargetId).collect();
            let _ = write!(text, "[{cores}]");
        }
    }
    text
}

/// An effect in few words.
pub(super) fn show(effect: &Effect) -> String {
    let or_nobody = |q: &Option<Arc<str>>| q.as_deref().unwrap_or("nobody").to_owned();
    match effect {
        Effect::Start { job, queue, selection: what, .. } => format!("start {job} {queue} {}", selection(what)),
        Effect::Denied { job, reason } => format!("denied {job}: {reason}"),
        Effect::Cancelled { job } => format!("cancelled {job}"),
        Effect::Kill { job } => format!("kill {job}"),
        Effect::Held { job, reason } => format!("held {job}: {reason}"),
        Effect::Quarantined { job, reason } => format!("quarantined {job}: {reason}"),
        Effect::Annotated { job, reason } => format!("annotated {job}: {reason}"),
        Effect::PlannedStart { job, at } => format!("planned {job} {at:?}"),
        Effect::Up { queue, targets, .. } => format!("up {queue} {targets}"),
        Effect::Down { queue, targets, .. } => format!("down {queue} {targets}"),
        Effect::DonationStarted { targets, donor, recipient } => {
            format!("leaving {donor} {targets} to {}", or_nobody(recipient))
        }
        Effect::DonationEnded { targets, donor, recipient, started, cancelled } => {
            let how = if *cancelled { " (cancelled)" } else { "" };
            format!("donated {donor} {targets} to {} since {started}{how}", or_nobody(recipient))
        }
        Effect::Lent { targets, lender, borrower, until, prolonged } => {
            format!("{} {targets} {lender} to {borrower} until {until}", if *prolonged { "prolonged" } else { "lent" })
        }
        Effect::LoanEnded { targets, lender, borrower, why } => {
            format!("back {targets} {borrower} to {lender}: {why}")
        }
        Effect::QueueChanged { queue, what, detail } if detail.is_empty() => format!("{what} {queue}"),
        Effect::QueueChanged { queue, what, detail } => format!("{what} {queue}: {detail}"),
        Effect::SchedulerLaunch { queue, instance, provider } => format!("launch {provider} {instance} for {queue}"),
        Effect::SchedulerTell { queue, instance, told } => {
            format!("tell {instance} of {queue} {}", serde_json::to_string(told).expect("it writes"))
        }
        Effect::SchedulerEnd { queue, instance } => format!("end {instance} of {queue}"),
        Effect::PlanDue { name, refused: None } => format!("due {name}"),
        Effect::PlanDue { name, refused: Some(why) } => format!("due {name}, refused: {why}"),
        Effect::Inventory { targets, joined: true } => format!("joined {targets}"),
        Effect::Inventory { targets, joined: false } => format!("left {targets}"),
    }
}
