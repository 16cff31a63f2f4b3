//! A change that somebody has in mind: an action of a scenario, or a configuration, as events for a site.
//!
//! Decides what is meant by words: an action takes effect at once, or, if it says a later time and can be announced, is
//! announced at once for that time. A time that is past is an error: nobody means it.

use super::assembly::{AssemblyError, deed_of};
use super::engine::{Deed, targets_of_hosts, targets_of_ranks};
use super::scenario::{Action, JobPick, NodeSet, Occurrence};
use crate::base::{JobId, TargetSet, Timestamp};
use crate::formats::idset::Idset;
use crate::site::{Event, JobState, Site};

/// Keys whose values are lists of names.
const LISTS: [&str; 3] = ["release", "start", "properties"];

/// `[[action]]` in TOML, from words as they are typed: `VERB KEY=VALUE …`. Within quotes and brackets blanks belong to
/// the value. A value that is not TOML by itself is taken for a
/// text; of `release`, `start` and `properties` for names with commas between, of `jobs` for numbers.
pub fn action_text(words: &str, now: Timestamp) -> Result<String, String> {
    let mut words = split(words)?.into_iter();
    let verb = words.next().ok_or("expected a verb, such as queue-start, and KEY=VALUE …")?;
    let mut text = format!("[[action]]\ndo = {}\n", quoted(&verb));
    let mut timed = false;
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("expected KEY=VALUE, found {word}"))?;
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err(format!("expected KEY=VALUE, found {word}"));
        }
        timed |= key == "at";
        let bare = value.starts_with(['[', '{', '"', '\'']) || value == "true" || value == "false";
        let number = value.parse::<f64>().is_ok_and(f64::is_finite);
        let value = if bare {
            value.to_owned()
        } else if LISTS.contains(&key) {
            format!("[{}]", value.split(',').map(quoted).collect::<Vec<_>>().join(", "))
        } else if key == "jobs" {
            format!("[{value}]")
        } else if number && !matches!(key, "ranks" | "queue" | "nodes") {
            value.to_owned()
        } else {
            quoted(value)
        };
        text += &format!("{key} = {value}\n");
    }
    if !timed {
        text += &format!("at = {}\n", now.secs_f64());
    }
    Ok(text)
}

/// Words between blanks, of which those in quotes or brackets separate nothing.
fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote, mut depth) = (Vec::new(), String::new(), None, 0usize);
    for c in text.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            (c, None) if c.is_whitespace() && depth == 0 => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            _ => {}
        }
        word.push(c);
    }
    if let Some(open) = quote {
        return Err(format!("expected {open} at the end of what begins with it, found the end: {text}"));
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    Ok(words)
}

/// A text as TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The events that actions mean, done now or announced now.
///
/// # Errors
/// Nodes that are not there, a time that is past, an action that cannot be announced.
pub fn events_of(actions: &[Action], site: &Site) -> Result<Vec<Event>, AssemblyError> {
    let now = site.now();
    let mut events = Vec::new();
    for action in actions {
        let problem = |problem: String| AssemblyError::Action { line: action.line, problem };
        if action.at < now {
            return Err(problem(format!(
                "it is of {}, which is before the time of the state, {now}: leave out `at` to do it at once, or give a time \
                 after it, with its day",
                action.at
            )));
        }
        let told = (action.at > now).then_some(now);
        let occurrence = Occurrence { told, at: action.at, name: action.name.clone() };
        let deed = deed_of(action, &occurrence, site.graph())?;
        events.extend(events_of_deed(deed, site).map_err(problem)?);
    }
    Ok(events)
}

fn events_of_deed(deed: Deed, site: &Site) -> Result<Vec<Event>, String> {
    let targets = |nodes: &NodeSet| match nodes {
        NodeSet::Hosts(hosts) => targets_of_hosts(site.graph(), hosts),
        NodeSet::Ranks(ranks) => targets_of_ranks(site.graph(), &Idset::parse(ranks).map_err(|e| e.to_string())?),
    };
    let one = |nodes: &NodeSet, event: fn(TargetSet) -> Event| Ok(vec![event(targets(nodes)?)]);
    let each = |pick: &JobPick, event: &dyn Fn(JobId) -> Event| Ok(picked(pick, site).into_iter().map(event).collect());
    match deed {
        Deed::Tell(event) => Ok(vec![*event]),
        Deed::Drain { nodes, reason, at } => Ok(vec![Event::Drain { targets: targets(&nodes)?, reason, at }]),
        Deed::Undrain(nodes) => one(&nodes, |targets| Event::Undrain { targets }),
        Deed::Remove(nodes) => one(&nodes, |targets| Event::RemoveTargets { targets }),
        Deed::Fail(nodes) => one(&nodes, |targets| Event::Offline { targets }),
        Deed::Return(nodes) => one(&nodes, |targets| Event::Online { targets }),
        Deed::Cancel(pick) => each(&pick, &|job| Event::Cancel { job }),
        Deed::Reprioritize(pick, priority) => {
            let jobs = picked(&pick, site).into_iter().map(|job| (job, priority)).collect();
            Ok(vec![Event::Prioritize { jobs }])
        }
        Deed::Relimit(pick, limit) => each(&pick, &|job| Event::Relimit { job, limit }),
        Deed::Move(pick, queue) => each(&pick, &|job| Event::MoveJob { job, queue: queue.clone() }),
        Deed::Node(_) => Err("a log of nodes cannot be planned".to_owned()),
    }
}

/// The jobs that are meant, ascending by id.
fn picked(pick: &JobPick, site: &Site) -> Vec<JobId> {
    match pick {
        JobPick::Ids(ids) => ids.iter().map(|id| JobId(*id)).collect(),
        JobPick::PendingIn(queue) => {
            let pends = |job: &&crate::site::Job| {
                job.state == JobState::Pending && site.queue_name(job.queue).is_some_and(|name| **name == **queue)
            };
            let mut jobs: Vec<JobId> = site.all_jobs().filter(pends).map(|job| job.id).collect();
            jobs.sort_unstable();
            jobs
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_toml() {
        let check = |words: &str, expected: &str| {
            assert_eq!(action_text(words, Timestamp::from_secs(5)).as_deref(), Ok(expected), "{words}");
        };
        check(
            "queue-start queue=dat take=true",
            "[[action]]\ndo = \"queue-start\"\nqueue = \"dat\"\ntake = true\nat = 5\n",
        );
        check(
            "switch release=a,b start=c at=18:00",
            "[[action]]\ndo = \"switch\"\nrelease = [\"a\", \"b\"]\nstart = [\"c\"]\nat = \"18:00\"\n",
        );
        check("drain nodes=n[1-2] at=60", "[[action]]\ndo = \"drain\"\nnodes = \"n[1-2]\"\nat = 60\n");
        check(
            "queue-start queue=c at=\"Fri 18:00\" group={ give-up = 60 }",
            "[[action]]\ndo = \"queue-start\"\nqueue = \"c\"\nat = \"Fri 18:00\"\ngroup = { give-up = 60 }\n",
        );
        check("cancel jobs=1,2", "[[action]]\ndo = \"cancel\"\njobs = [1,2]\nat = 5\n");
        for wrong in ["", "queue-start dat", "queue-start queue=\"dat", "queue-start =dat", "queue-start a.b=c"] {
            assert!(action_text(wrong, Timestamp::ZERO).is_err(), "{wrong}");
        }
    }
}
