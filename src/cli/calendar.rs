//! `sluice calendar`: what comes next, and what is odd about it.

use super::args::{CalendarArgs, CalendarNextArgs};
use super::diagnostic::Failure;
use super::exit::Exit;
use super::summary::Look;
use crate::base::{Duration, TargetId, TargetSet, Timestamp};
use crate::config::calendar::check::{Covers, Finding, check};
use crate::config::calendar::{Boundary, Zone};
use crate::config::{Calendar, Config, Members};
use crate::formats::hostlist::Hostlist;
use crate::replay::assembly::{RunOptions, assemble};
use crate::replay::scenario::Scenario;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// What stands in scenarios and never in configuration.
const SCENARIO_KEYS: [&str; 8] = ["name", "title", "config", "graph", "site", "workload", "action", "expect"];

/// How far `next` looks for boundaries.
const NEXT: Duration = Duration::from_secs(10 * 366 * 86_400);

/// What was given: configuration, and with a scenario the machine.
struct Given {
    file: PathBuf,
    config: Config,
    scenario: Option<Scenario>,
}

impl Given {
    fn read(path: &Path) -> Result<Self, Failure> {
        let file = if path.is_dir() { path.join("scenario.toml") } else { path.to_owned() };
        let text = std::fs::read_to_string(&file)
            .map_err(|e| Failure::new(format!("cannot read {}: {e}", file.display()), None))?;
        let is_scenario =
            DeTable::parse(&text).is_ok_and(|t| SCENARIO_KEYS.iter().any(|k| t.get_ref().contains_key(*k)));
        let (config, scenario) = if is_scenario {
            let scenario = Scenario::load(path)?;
            (scenario.config.clone(), Some(scenario))
        } else {
            let config = Config::parse(&text, &file.to_string_lossy());
            let help = Some("docs/configuration.md describes all keys".to_owned());
            (config.map_err(|e| Failure::new(e.to_string(), help))?, None)
        };
        if config.calendar.is_empty() {
            let help = Some("docs/calendar.md describes [calendar.NAME]".to_owned());
            return Err(Failure::new(format!("{} has no calendar", file.display()), help));
        }
        Ok(Given { file, config, scenario })
    }

    /// The instant at which to begin: as told, else time 0 of the scenario, else now. Makes instants those of the Unix
    /// epoch.
    fn begin(&self, at: Option<i64>) -> Timestamp {
        let epoch = self.scenario.as_ref().and_then(|s| s.settings.epoch);
        let now = || {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            since.map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX))
        };
        Timestamp::from_secs(at.or(epoch).unwrap_or_else(now))
    }
}

/// Reads an instant: RFC 3339 with an offset, or a date, or a date and time, in UTC. Seconds since 1970.
pub(super) fn instant(text: &str) -> Result<i64, String> {
    let utc = |wall: jiff::civil::DateTime| jiff::tz::TimeZone::UTC.to_timestamp(wall);
    let parsed = text.parse::<jiff::Timestamp>().or_else(|e| {
        let wall = text.parse::<jiff::civil::DateTime>();
        wall.map_err(|_| e).and_then(utc)
    });
    let expected = "expected an instant as 2026-03-08T10:00Z, or a date and time in UTC";
    parsed.map(|at| at.as_second()).map_err(|_| expected.to_owned())
}

/// An instant in UTC.
fn utc(at: Timestamp) -> String {
    match jiff::Timestamp::from_second(at.micros().div_euclid(1_000_000)) {
        Ok(at) => at.to_string(),
        Err(_) => "never".to_owned(),
    }
}

/// An instant on the wall clock of a zone.
fn local(at: Timestamp, zone: &Zone) -> String {
    let seconds = at.micros().div_euclid(1_000_000);
    let Some(wall) = zone.wall(seconds) else { return "never".to_owned() };
    let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][wall.weekday().to_monday_zero_offset() as usize];
    let clock = if wall.second() == 0 { wall.strftime("%H:%M") } else { wall.strftime("%H:%M:%S") };
    format!("{day} {} {clock} {}", wall.date(), zone.abbreviation(seconds))
}

/// The zone in which a boundary is told: that of the entry that makes it.
fn zone_of<'c>(calendar: &'c Calendar, boundary: &Boundary) -> Option<&'c Zone> {
    let named = calendar.entries.iter().find(|e| boundary.entries.contains(&e.name));
    named.or(calendar.entries.first()).map(|e| &e.zone)
}

pub(super) fn next(args: &CalendarNextArgs) -> Result<Exit, Failure> {
    let given = Given::read(&args.path)?;
    let begin = given.begin(args.at);
    let calendar = &given.config.calendar;
    let mut boundaries = Vec::new();
    // Ever farther, so that a dense calendar is not expanded for years.
    let mut ahead = Duration::from_secs(8 * 86_400);
    while boundaries.len() < args.count as usize && ahead <= NEXT {
        boundaries = calendar.boundaries(begin, begin + ahead);
        ahead = ahead.doubled();
    }
    boundaries.truncate(args.count as usize);
    let mut out = String::new();
    if args.json {
        let row = |b: &Boundary| {
            let zone = zone_of(calendar, b);
            json!({
                "at": utc(b.at),
                "local": zone.map(|z| local(b.at, z)),
                "zone": zone.map(Zone::name),
                "queue": b.queue,
                "what": if b.on { "start" } else { "stop" },
                "entries": b.entries,
            })
        };
        let rows: Vec<_> = boundaries.iter().map(row).collect();
        out = serde_json::to_string_pretty(&rows).map_err(|e| Failure::new(e.to_string(), None))? + "\n";
    } else {
        let mut table = Look::of_stdout().table(&["local time", "UTC", "queue", "", "entry"], 5);
        for b in &boundaries {
            let wall = zone_of(calendar, b).map_or_else(String::new, |z| local(b.at, z));
            let what = if b.on { "starts" } else { "stops" };
            table.add_row([wall.as_str(), &utc(b.at), &b.queue, what, &b.entries.join(", ")]);
        }
        for line in table.to_string().lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(Exit::Ok)
}

pub(super) fn check_all(args: &CalendarArgs) -> Result<Exit, Failure> {
    let given = Given::read(&args.path)?;
    let begin = given.begin(args.at);
    let until = begin + Duration::from_secs(i64::from(args.days) * 86_400);
    let (queues, hosts) = covers(&given)?;
    let found = check(&given.config.calendar, &queues, begin, until);
    let place = |queues: &[&str]| {
        let entry =
            given.config.calendar.entries.iter().find(|e| e.queues.iter().any(|q| queues.contains(&q.as_str())));
        entry.map_or_else(|| given.file.display().to_string(), |e| e.place.clone())
    };
    let names =
        |targets: &TargetSet| targets.iter().filter_map(|t| hosts.get(t.index())).collect::<Hostlist>().to_string();
    let mut text = String::new();
    if args.json {
        let rows: Vec<_> = found.iter().map(|f| as_json(f, &names)).collect();
        text = serde_json::to_string_pretty(&rows).map_err(|e| Failure::new(e.to_string(), None))? + "\n";
    } else {
        let zone = given.config.calendar.entries.first().map(|e| e.zone.clone());
        let when = |at: Timestamp| zone.as_ref().map_or_else(|| utc(at), |z| local(at, z));
        for finding in &found {
            let (queues, line) = as_line(finding, &names, &when);
            text.push_str(&format!("{}: {line}\n", place(&queues)));
        }
        if found.is_empty() {
            text = format!("nothing odd in {} days from {}\n", args.days, utc(begin));
        }
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(if found.is_empty() { Exit::Ok } else { Exit::Found })
}

fn length(duration: Duration) -> String {
    if duration.is_infinite() { "unlimited".to_owned() } else { crate::formats::duration::format(duration) }
}

/// The queues that a finding is about, and what to say.
fn as_line<'f>(
    finding: &'f Finding,
    names: &dyn Fn(&TargetSet) -> String,
    when: &dyn Fn(Timestamp) -> String,
) -> (Vec<&'f str>, String) {
    let often = |times: usize| if times == 1 { String::new() } else { format!(", the first of {times} times") };
    match finding {
        Finding::Overlap { winner, loser, targets, from, until, times } => {
            let text = format!(
                "overlap: {winner} and {loser} are on at once with one precedence, {} to {}{}: {loser} does not get {}",
                when(*from),
                when(*until),
                often(*times),
                names(targets)
            );
            (vec![loser, winner], text)
        }
        Finding::Gap { targets, from, until, times } => {
            let text =
                format!("gap: nobody has {}, {} to {}{}", names(targets), when(*from), when(*until), often(*times));
            (Vec::new(), text)
        }
        Finding::Late { donor, recipient, at, by, times } => {
            let by = if by.is_infinite() {
                "for ever, since its jobs have no limit".to_owned()
            } else {
                format!("up to {}", length(*by))
            };
            let text = format!(
                "late: jobs of {donor} may run over the switch to {recipient}, {}{}, {by} (its horizon is not strict)",
                when(*at),
                often(*times)
            );
            (vec![recipient, donor], text)
        }
        Finding::TooLong { queue, limit, window } => {
            let text = format!(
                "too long: jobs of {queue} may ask for {}, but its longest window is {}: longer ones never start",
                if limit.is_infinite() { "any time".to_owned() } else { length(*limit) },
                length(*window)
            );
            (vec![queue], text)
        }
    }
}

fn as_json(finding: &Finding, names: &dyn Fn(&TargetSet) -> String) -> serde_json::Value {
    let seconds = |d: &Duration| if d.is_infinite() { serde_json::Value::Null } else { json!(d.secs_f64()) };
    match finding {
        Finding::Overlap { winner, loser, targets, from, until, times } => json!({
            "finding": "overlap", "winner": winner, "loser": loser, "hosts": names(targets),
            "from": utc(*from), "until": utc(*until), "times": times,
        }),
        Finding::Gap { targets, from, until, times } => json!({
            "finding": "gap", "hosts": names(targets), "from": utc(*from), "until": utc(*until), "times": times,
        }),
        Finding::Late { donor, recipient, at, by, times } => json!({
            "finding": "late", "donor": donor, "recipient": recipient, "at": utc(*at), "by_s": seconds(by), "times": times,
        }),
        Finding::TooLong { queue, limit, window } => json!({
            "finding": "too-long", "queue": queue, "limit_s": seconds(limit), "window_s": seconds(window),
        }),
    }
}

/// What the queues cover, and the names of the targets. Without a machine it is the hosts that queues name.
fn covers(given: &Given) -> Result<(Vec<Covers>, Vec<String>), Failure> {
    let stopped = given.scenario.as_ref().map(|s| s.settings.stopped.clone()).unwrap_or_default();
    let real = given.config.queues.values().filter(|q| !q.is_virtual());
    let with = |name: &str, members: TargetSet| -> Option<Covers> {
        let queue = given.config.queues.get(name)?;
        let settings = &queue.policy.scheduler;
        Some(Covers {
            name: name.to_owned(),
            members,
            precedence: settings.precedence,
            horizon: settings.horizon,
            limit: queue.policy.limits.duration.unwrap_or(Duration::INFINITE),
            started: !stopped.iter().any(|s| s == name),
        })
    };
    if let Some(scenario) = &given.scenario {
        let scenario =
            Scenario { workloads: Vec::new(), node_events: Vec::new(), actions: Vec::new(), ..scenario.clone() };
        let shared = std::env::var_os("SLUICE_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
        let replay = assemble(scenario, RunOptions { shared, ..RunOptions::default() })?;
        let (graph, site) = (&replay.graph, replay.site());
        let host = |t: usize| graph.target(TargetId(t as u32)).map_or_else(String::new, |t| t.host.to_string());
        let hosts = (0..graph.target_bound()).map(host).collect();
        let members = |name: &str| site.queue_view(name).map(|q| q.members).unwrap_or_default();
        return Ok((real.filter_map(|q| with(&q.name, members(&q.name))).collect(), hosts));
    }
    let mut hosts: Vec<String> = Vec::new();
    let mut add = |list: &Hostlist| {
        list.iter().for_each(|h| {
            if !hosts.contains(&h) {
                hosts.push(h)
            }
        })
    };
    given.config.resource.entries.iter().for_each(|e| add(&e.hosts));
    for queue in real.clone() {
        match &queue.members {
            Members::Hosts(list) => add(list),
            Members::All => {}
            Members::Requires(_) => {
                let message =
                    format!("queue {} goes by properties: which nodes these are, only a scenario says", queue.name);
                return Err(Failure::new(
                    message,
                    Some("check the scenario, or a configuration with `hosts`".to_owned()),
                ));
            }
        }
    }
    if hosts.is_empty() {
        hosts.push("all".to_owned());
    }
    let members = |members: &Members| -> TargetSet {
        let covers = |host: &String| match members {
            Members::Hosts(list) => list.contains(host),
            Members::All | Members::Requires(_) => true,
        };
        hosts.iter().enumerate().filter(|(_, h)| covers(h)).map(|(n, _)| TargetId(n as u32)).collect()
    };
    Ok((real.filter_map(|q| with(&q.name, members(&q.members))).collect(), hosts.clone()))
}
