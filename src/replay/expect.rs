//! Expectations of a scenario, held against the result.

use super::assembly::Finished;
use super::book::{JobState, NO_QUEUE};
use super::engine::{Snapshot, targets_of_hosts};
use super::scenario::{self, Check, Expectation, Owners, Test};
use super::words;
use crate::base::{JobId, QueueId, TargetSet, Timestamp};
use crate::coordinator::Ownership;
use serde_json::Value;

/// What became of one expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Where it stands in the scenario, from 1.
    pub line: usize,
    /// What it checks.
    pub what: String,
    /// What it stands for; may be empty.
    pub why: String,
    /// What was found instead; `None`: it holds.
    pub failure: Option<String>,
}

/// All expectations, in the order of the scenario.
pub fn judge(finished: &Finished) -> Vec<Verdict> {
    let report = serde_json::to_value(&finished.outcome.report).unwrap_or(Value::Null);
    let judge = |e: &Expectation| {
        let (what, failure) = match &e.check {
            Check::Key { path, test } => (format!("{path} {}", test_words(test)), key(&report, path, test)),
            Check::Owners(owners) => (owners_words(owners), self::owners(finished, owners)),
            Check::Job { job, state, queue, starts, ends, on, reason } => {
                let check = JobCheck { job: *job, state, queue, starts, ends, on, reason };
                (format!("job {job}"), check.judge(finished))
            }
            Check::Order(jobs) => (format!("jobs {jobs:?} start in this order"), order(finished, jobs)),
        };
        Verdict { line: e.line, what, why: e.why.clone(), failure }
    };
    finished.scenario.expectations.iter().map(judge).collect()
}

fn test_words(test: &Test) -> String {
    match test {
        Test::Equal(value) => format!("= {value}"),
        Test::NotEqual(value) => format!("is not {value}"),
        Test::AtLeast(low) => format!("at least {low}"),
        Test::AtMost(high) => format!("at most {high}"),
        Test::Between(low, high) => format!("between {low} and {high}"),
    }
}

/// A value by its path. Names may have dots in them: the longest name that is there is taken. A number is a place in an array.
fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(value);
    }
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    let mut ends: Vec<usize> = ends.collect();
    ends.reverse();
    ends.into_iter().find_map(|end| {
        let name = &path[..end];
        let inner = value.get(name).or_else(|| value.get(name.parse::<usize>().ok()?))?;
        find(inner, path.get(end + 1..).unwrap_or_default())
    })
}

fn key(report: &Value, path: &str, test: &Test) -> Option<String> {
    let Some(value) = find(report, path) else { return Some(format!("the result has no {path}")) };
    let holds = match (test, value.as_f64()) {
        (Test::Equal(wanted), number) => equal(value, number, wanted),
        (Test::NotEqual(wanted), number) => !equal(value, number, wanted),
        (Test::AtLeast(low), Some(number)) => number >= *low,
        (Test::AtMost(high), Some(number)) => number <= *high,
        (Test::Between(low, high), Some(number)) => (*low..=*high).contains(&number),
        (Test::AtLeast(_) | Test::AtMost(_) | Test::Between(..), None) => false,
    };
    (!holds).then(|| format!("it is {value}"))
}

fn equal(value: &Value, number: Option<f64>, wanted: &Value) -> bool {
    match (number, wanted.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => value == wanted,
    }
}

fn owners_words(owners: &Owners) -> String {
    let mut words = vec![format!("at {}", owners.at)];
    words.extend(owners.owner.iter().map(|(queue, hosts)| format!("{queue} owns {hosts}")));
    words.extend(owners.leaving.iter().map(|(queue, hosts)| format!("{hosts} leave {queue}")));
    words.extend(owners.free.iter().map(|hosts| format!("{hosts} are free")));
    words.join(", ")
}

fn owners(finished: &Finished, owners: &Owners) -> Option<String> {
    let Some(snapshot) = finished.outcome.snapshots.iter().find(|s| s.at == owners.at) else {
        return Some("the replay ended before".to_owned());
    };
    let owned = owners.owner.iter().map(|(queue, hosts)| (hosts, "owned by", Some(queue.as_str())));
    let leaving = owners.leaving.iter().map(|(queue, hosts)| (hosts, "leaving", Some(queue.as_str())));
    let free = owners.free.iter().map(|hosts| (hosts, "free", None));
    let wrong = owned.chain(leaving).chain(free).filter_map(|(hosts, how, queue)| place(snapshot, hosts, how, queue));
    let wrong: Vec<String> = wrong.collect();
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// What is wrong with where some hosts are.
fn place(snapshot: &Snapshot, hosts: &str, how: &str, queue: Option<&str>) -> Option<String> {
    let site = &snapshot.site;
    let targets = match targets_of_hosts(site.graph(), hosts) {
        Ok(targets) => targets,
        Err(error) => return Some(error),
    };
    let name = |id: QueueId| site.queue_name(id).map_or("?", |name| name);
    let state = |ownership: Option<Ownership>| match ownership {
        Some(Ownership::Owned(q)) => ("owned by", Some(name(q))),
        Some(Ownership::Leaving(q)) => ("leaving", Some(name(q))),
        Some(Ownership::Free) => ("free", None),
        None => ("not in the inventory", None),
    };
    let strange: TargetSet =
        targets.iter().filter(|t| state(site.coordinator().ownership(*t)) != (how, queue)).collect();
    let first = strange.first()?;
    let host = site.graph().target(first).map_or_else(|| first.to_string(), |t| t.host.to_string());
    let (found, owner) = state(site.coordinator().ownership(first));
    let found = format!("{found} {}", owner.unwrap_or_default());
    Some(format!(
        "{} of {} are not {how} {}; {host} is {}",
        strange.len(),
        targets.len(),
        queue.unwrap_or_default(),
        found.trim()
    ))
}

/// A check of one job, field by field.
struct JobCheck<'a> {
    job: u64,
    state: &'a Option<scenario::JobState>,
    queue: &'a Option<String>,
    starts: &'a Option<(Timestamp, Timestamp)>,
    ends: &'a Option<(Timestamp, Timestamp)>,
    on: &'a Option<String>,
    reason: &'a Option<String>,
}

impl JobCheck<'_> {
    fn judge(&self, finished: &Finished) -> Option<String> {
        let (book, site) = (&finished.outcome.book, &finished.outcome.site);
        let Some(slot) = finished.workload.slot(JobId(self.job)) else {
            return Some("there is no such job".to_owned());
        };
        let mut wrong = Vec::new();
        if self.state.is_some_and(|wanted| state(book.state[slot]) != Some(wanted)) {
            wrong.push(format!("it is {}", state_word(book.state[slot])));
        }
        let queue = book.queue[slot];
        let queue = if queue == NO_QUEUE { "" } else { &book.queues[usize::from(queue)] };
        if self.queue.as_deref().is_some_and(|wanted| wanted != queue) {
            wrong.push(format!("its queue is {queue}"));
        }
        for (range, at, what) in [(self.starts, book.start[slot], "starts"), (self.ends, book.end[slot], "ends")] {
            if let Some((from, to)) = range
                && !(*from..=*to).contains(&at)
            {
                wrong.push(format!("it {what} at {at}, expected {from} to {to}"));
            }
        }
        if let Some(hosts) = self.on {
            wrong.extend(self.outside(finished, slot, hosts));
        }
        if let Some(wanted) = self.reason {
            let said = site.job(JobId(self.job)).map(|j| words::why(&j.why)).unwrap_or_default();
            if !said.contains(wanted.as_str()) {
                wrong.push(format!("what is said of it is: {said}"));
            }
        }
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }

    /// What the job got outside the hosts that it should have been on.
    fn outside(&self, finished: &Finished, slot: usize, hosts: &str) -> Option<String> {
        let graph = finished.outcome.site.graph();
        let allowed = match targets_of_hosts(graph, hosts) {
            Ok(allowed) => allowed,
            Err(error) => return Some(error),
        };
        let Some(selection) = &finished.outcome.book.selection[slot] else { return Some("it got nothing".to_owned()) };
        let stray = selection.targets().find(|t| !allowed.contains(*t))?;
        let host = graph.target(stray).map_or_else(|| stray.to_string(), |t| t.host.to_string());
        Some(format!("it got {host}"))
    }
}

fn state(state: JobState) -> Option<scenario::JobState> {
    Some(match state {
        JobState::Unsubmitted => return None,
        JobState::Pending => scenario::JobState::Pending,
        JobState::Held => scenario::JobState::Held,
        JobState::Running => scenario::JobState::Running,
        JobState::Completed => scenario::JobState::Completed,
        JobState::Failed => scenario::JobState::Failed,
        JobState::Cancelled => scenario::JobState::Cancelled,
        JobState::Denied => scenario::JobState::Denied,
    })
}

fn state_word(state: JobState) -> &'static str {
    match state {
        JobState::Unsubmitted => "not submitted",
        JobState::Pending => "pending",
        JobState::Held => "held",
        JobState::Running => "running",
        JobState::Completed => "completed",
        JobState::Failed => "failed",
        JobState::Cancelled => "cancelled",
        JobState::Denied => "denied",
    }
}

fn order(finished: &Finished, jobs: &[u64]) -> Option<String> {
    let start = |id: &u64| finished.workload.slot(JobId(*id)).map(|slot| finished.outcome.book.start[slot]);
    let mut before: Option<(u64, Timestamp)> = None;
    for id in jobs {
        let Some(at) = start(id).filter(|at| !at.is_never()) else { return Some(format!("job {id} does not start")) };
        if let Some((earlier, above)) = before.filter(|(_, above)| at < *above) {
            return Some(format!("job {id} starts at {at}, job {earlier} at {above}"));
        }
        before = Some((*id, at));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_names_with_dots() {
        let value = json!({"queues": {"a.b": {"jobs": {"denied": 3}}, "a": {"b": 1}}});
        assert_eq!(find(&value, "queues.a.b.jobs.denied"), Some(&json!(3)));
        assert_eq!(find(&value, "queues.a.c"), None);
    }

    #[test]
    fn numbers_compare_as_numbers() {
        let report = json!({"n": 2, "digest": "ff", "x": 0.5});
        let cases = [
            ("n", Test::Equal(json!(2.0)), None),
            ("n", Test::Equal(json!(3)), Some("it is 2")),
            ("digest", Test::NotEqual(json!("ff")), Some("it is \"ff\"")),
            ("x", Test::Between(0.5, 1.0), None),
            ("x", Test::AtMost(0.4), Some("it is 0.5")),
            ("digest", Test::AtLeast(1.0), Some("it is \"ff\"")),
            ("m", Test::AtLeast(1.0), Some("the result has no m")),
        ];
        for (path, test, expected) in cases {
            assert_eq!(key(&report, path, &test).as_deref(), expected, "{path} {test:?}");
        }
    }
}
