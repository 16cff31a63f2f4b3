//! Forecasts and plans against what comes.

mod site_kit;

use site_kit::{Bed, at, config, nodes, queue, queue_with, set};
use sluice::base::{Duration, JobId, Timestamp};
use sluice::config::QueuePolicy;
use sluice::site::{Blocker, Configure, Event, GroupMode, JobState, Place, Rule, Span, StartMode, SwitchSpec, Usage};
use std::collections::BTreeMap;

const POLICIES: [QueuePolicy; 5] = [
    QueuePolicy::Fcfs,
    QueuePolicy::Easy,
    QueuePolicy::Hybrid,
    QueuePolicy::Conservative,
    QueuePolicy::ConservativeCompress,
];

fn start_of(bed: &Bed, id: u64) -> Span {
    bed.site.forecast().job(JobId(id)).unwrap_or_else(|| panic!("job {id} does not wait"))
}

fn start(queue: &str, group: Option<i64>) -> Event {
    let group = group.map(|give_up| GroupMode { min: None, give_up: at(give_up) });
    Event::QueueStart { queue: queue.into(), mode: StartMode { group, ..StartMode::default() } }
}

/// Three queues that share nodes, a switch that is to come, and forty jobs of mixed sizes.
fn busy(policy: QueuePolicy) -> Bed {
    let queues =
        [queue_with("a", "0-5", 0, policy), queue_with("b", "4-9", 1, policy), queue_with("night", "2-7", 2, policy)];
    let mut bed = Bed::new(10, &queues, &["a", "b"]);
    let mut seed = 42u64;
    let mut random = move |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    for id in 1..=40 {
        let name = ["a", "b", "night"][random(3) as usize];
        let most = if name == "a" { 4 } else { 6 };
        bed.submit_as(id, name, nodes(1 + random(most)), 10 + random(90) as i64);
    }
    let switch = SwitchSpec { release: vec![], start: vec![("night".into(), StartMode::default())] };
    bed.tell(Event::Planned { at: at(300), name: "evening".into(), switch });
    let switch = SwitchSpec { release: vec!["night".into()], start: vec![] };
    bed.tell(Event::Planned { at: at(900), name: "morning".into(), switch });
    bed.step();
    bed
}

/// If all jobs run to their limits and nobody does anything, the worst case is what comes, start by start.
#[test]
fn the_worst_case_is_what_comes_when_all_run_to_their_limits() {
    for policy in POLICIES {
        let mut bed = busy(policy);
        let forecast = bed.site.forecast();
        assert!(forecast.jobs.len() > 25, "{policy}: most wait");
        let mut starts: BTreeMap<JobId, Timestamp> = BTreeMap::new();
        let mut ends: BTreeMap<(Timestamp, u64), ()> = BTreeMap::new();
        for _ in 0..10_000 {
            for job in bed.site.all_jobs().filter(|j| j.state == JobState::Running) {
                starts.entry(job.id).or_insert(job.started);
                ends.insert((job.started + job.limit, job.id.0), ());
            }
            let end = ends.keys().next().map(|(at, _)| *at);
            let Some(next) = end.into_iter().chain(bed.site.next_wakeup(bed.now)).min() else { break };
            bed.now = next;
            while let Some(((_, id), ())) =
                ends.first_key_value().map(|(k, v)| (*k, *v)).filter(|((at, _), ())| *at <= next)
            {
                ends.pop_first();
                bed.tell(Event::End { job: JobId(id), outcome: sluice::site::Outcome::Completed });
                bed.tell(Event::Free { job: JobId(id), freed: sluice::matcher::Freed::Rest });
            }
            bed.step();
        }
        let exact = |policy| matches!(policy, QueuePolicy::Fcfs | QueuePolicy::Easy | QueuePolicy::Hybrid);
        for job in &forecast.jobs {
            let came = starts.get(&job.job).copied().unwrap_or(Timestamp::NEVER);
            if exact(policy) {
                assert_eq!(job.start.worst, came, "{policy}: job {}", job.job);
            } else {
                // A plan that is made anew may find an earlier place.
                assert!(job.start.worst >= came, "{policy}: job {}: {} {came}", job.job, job.start.worst);
            }
        }
    }
}

/// Users differ in how they use their limits, and that is learnt.
#[test]
fn what_is_likely_follows_from_how_limits_were_used() {
    let mut bed = Bed::new(2, &[queue("batch", "0-1")], &["batch"]);
    for id in 1..=6 {
        bed.submit(id, "batch", 2, 100);
        let now = bed.now;
        bed.now = now + Duration::from_secs(40);
        bed.finish(id);
    }
    let now = bed.now;
    bed.submit(7, "batch", 2, 1000);
    bed.submit(8, "batch", 2, 1000);
    bed.submit(9, "batch", 1, 1000);
    let after = |seconds| now + Duration::from_secs(seconds);
    let likely = start_of(&bed, 8).likely;
    assert!((likely.since(after(400)).secs_f64()).abs() < 0.1, "two fifths of the limit: {likely}");
    assert_eq!(start_of(&bed, 8).worst, after(1000));
    assert_eq!(start_of(&bed, 9).worst, after(2000));
    let usage = Usage::of(&bed.site);
    let free = bed.site.forecast_free(2, Some("batch"), &usage);
    assert_eq!((free.free, free.usable, free.when.worst), (0, 2, after(1000)));
    assert_eq!(free.targets, set("0-1"));
    let none = bed.site.forecast_free(3, Some("batch"), &usage);
    assert_eq!(none.when, Span::NEVER, "there are two");
}

/// A queue that plans all its jobs is believed; that it is copied and played does not change it.
#[test]
fn a_plan_is_the_worst_case() {
    let mut bed = Bed::new(4, &[queue_with("batch", "0-3", 0, QueuePolicy::Conservative)], &["batch"]);
    for id in 1..=12 {
        bed.submit(id, "batch", 1 + id % 4, 50 + 10 * id as i64);
    }
    let before = bed.site.snapshot();
    let forecast = bed.site.forecast();
    for job in &forecast.jobs {
        assert_eq!(job.start.worst, bed.site.job(job.job).expect("it waits").planned);
    }
    assert_eq!(bed.site.snapshot(), before);
}

/// A start: what moves at once and later, whose start changes, and who has none any more.
#[test]
fn a_preview_says_what_moves() {
    let queues = [queue("batch", "0-3"), queue_with("dat", "2-3", 1, QueuePolicy::Fcfs)];
    let mut bed = Bed::new(4, &queues, &["batch"]);
    bed.submit(1, "batch", 3, 100);
    bed.submit(2, "batch", 4, 100);
    bed.submit(3, "dat", 2, 50);
    let usage = Usage::of(&bed.site);
    let before = bed.site.snapshot();
    let preview = bed.site.preview(&[start("dat", None)], &usage).expect("it can start");
    assert_eq!(bed.site.snapshot(), before, "nothing has changed");
    assert!(preview.changes());
    let moves: Vec<_> = preview.moves.iter().map(|m| (m.targets.clone(), m.first.worst, m.last.worst)).collect();
    assert_eq!(moves, [(set("2-3"), at(0), at(100))], "one is idle and goes at once");
    assert_eq!((preview.moves[0].from.as_deref(), preview.moves[0].to.as_deref()), (Some("batch"), Some("dat")));
    let stuck: Vec<_> = preview.stuck.iter().map(|c| (c.job, c.before.worst)).collect();
    assert_eq!(stuck, [(JobId(2), at(100))], "it wants all four");
    let starts: Vec<_> = preview.starts.iter().map(|c| (c.job, c.before, c.after.worst)).collect();
    assert_eq!(starts, [(JobId(3), Span::NEVER, at(100))]);
    // What is foreseen comes, and the index says that the state is another one then.
    assert_eq!(preview.index, bed.site.state_index());
    bed.tell(start("dat", None));
    bed.step();
    assert_ne!(preview.index, bed.site.state_index());
    assert_eq!((bed.view("dat").owned, bed.view("dat").arriving), (set("3"), set("2")));
    // The other way round: the donation is called off.
    let stop = Event::QueueStop { queue: "dat".into(), release: true, reason: String::new() };
    let back = bed.site.preview(&[stop], &usage).expect("it can stop");
    assert_eq!(back.stays.iter().map(|m| m.targets.clone()).collect::<Vec<_>>(), [set("2")]);
    assert_eq!(back.moves.iter().map(|m| m.targets.clone()).collect::<Vec<_>>(), [set("3")]);
}

/// A configuration: jobs that become unsatisfiable, and nothing at all where nothing is otherwise.
#[test]
fn a_preview_of_a_configuration() {
    let queues = [queue("batch", "0-3"), queue("debug", "0-3")];
    let mut bed = Bed::new(4, &queues, &["batch"]);
    bed.submit(1, "batch", 4, 100);
    bed.submit(2, "batch", 4, 100);
    let usage = Usage::of(&bed.site);
    let event = |queues: &[_]| [Event::Configure(Box::new(Configure { config: config(queues), pending: None }))];
    let same = bed.site.preview(&event(&queues), &usage).expect("the same");
    assert!(!same.changes(), "{same:?}");
    let smaller = bed.site.preview(&event(&[queue("batch", "0-2"), queue("debug", "3")]), &usage).expect("smaller");
    assert_eq!(smaller.denied.iter().map(|(job, _)| *job).collect::<Vec<_>>(), [JobId(2)]);
    assert!(smaller.killed.is_empty(), "who runs, runs on");
    let refused = bed.site.preview(&event(&[queue("debug", "0-3")]), &usage).expect_err("a job waits there");
    assert_eq!(refused.to_string(), "queue batch has 1 pending jobs: say what becomes of them (move, hold or cancel)");
}

/// A start of all nodes at once keeps those idle that come free first: that is what it costs.
/// A switch at a known time: since when it bounds the longest jobs of who gives.
#[test]
fn a_preview_says_when_draining_starts() {
    let queues = [queue_with("batch", "0-3", 0, QueuePolicy::Easy), queue_with("dat", "2-3", 1, QueuePolicy::Easy)];
    let mut bed = Bed::new(4, &queues, &["batch"]);
    bed.submit_as(1, "batch", nodes(2), 40);
    bed.submit_as(2, "batch", nodes(4), 60);
    bed.step();
    let switch = SwitchSpec { release: vec![], start: vec![("dat".into(), StartMode::default())] };
    let planned = |seconds| Event::Planned { at: at(seconds), name: "dat".into(), switch: switch.clone() };
    let usage = Usage::of(&bed.site);
    let preview = bed.site.preview(&[planned(200)], &usage).expect("it can be planned");
    let [drain] = preview.drains.as_slice() else { panic!("one queue gives: {:?}", preview.drains) };
    assert_eq!((&*drain.queue, drain.targets.to_string().as_str()), ("batch", "2-3"));
    assert_eq!((drain.at, drain.from, drain.longest), (at(200), at(140), Duration::from_secs(60)));
    let soon = bed.site.preview(&[planned(50)], &usage).expect("it can be planned");
    assert_eq!(soon.drains[0].from, at(0), "since now");
    bed.tell(planned(200));
    bed.step();
    let again = bed.site.preview(&[planned(200)], &usage).expect("it can be planned again");
    assert!(!again.changes(), "{again:?}");
}

#[test]
fn a_preview_counts_what_idles() {
    let queues = [queue_with("batch", "0-3", 0, QueuePolicy::Easy), queue_with("dat", "0-3", 1, QueuePolicy::Fcfs)];
    let mut bed = Bed::new(4, &queues, &["batch"]);
    bed.submit(1, "batch", 1, 100);
    for id in 2..=4 {
        bed.submit(id, "batch", 1, 10);
    }
    for id in 5..=8 {
        bed.submit(id, "batch", 1, 200);
    }
    let usage = Usage::of(&bed.site);
    let together = bed.site.preview(&[start("dat", Some(1000))], &usage).expect("a group");
    assert_eq!(together.idle.0, 270.0, "three nodes from 10 to 100");
    let each = bed.site.preview(&[start("dat", None)], &usage).expect("a start");
    assert_eq!(each.idle.0, 0.0, "each goes over as it comes free");
}

/// Every node that could serve a job stands in one place, and what is in the way says when it goes.
#[test]
fn an_explanation_counts_every_node_once() {
    let queues = [queue("batch", "0-5"), queue_with("dat", "4-5", 1, QueuePolicy::Fcfs)];
    let mut bed = Bed::new(7, &queues, &["batch"]);
    bed.submit(1, "batch", 2, 100);
    bed.submit(2, "batch", 3, 60);
    bed.tell(start("dat", None));
    bed.tell(Event::Drain { targets: set("0"), reason: "fans".into(), at: None });
    bed.tell(Event::Offline { targets: set("1") });
    bed.step();
    bed.submit(3, "batch", 6, 100);
    let usage = Usage::of(&bed.site);
    let forecast = bed.site.forecast_by(&usage, set("4").first());
    let report = bed.site.explain_job(JobId(3), &forecast, &usage).expect("a job");
    let places: Vec<(Place, &str)> = vec![
        (Place::Held, "2-3"),
        (Place::Leaving, "4"),
        (Place::Elsewhere("dat".into()), "5"),
        (Place::Drained, "0"),
        (Place::Offline, "1"),
    ];
    let expected = places.into_iter().map(|(place, targets)| (place, set(targets))).collect();
    assert_eq!(report.places, expected);
    assert_eq!(report.changes, at(60), "then job 2 ends");
    assert!(
        report.blockers.iter().any(|b| matches!(b, Blocker::Job { job: JobId(2), until, .. } if until.worst == at(60)))
    );
    assert!(report.blockers.iter().any(|b| matches!(b, Blocker::Drain { reason, .. } if reason == "fans")));
    let node = bed.site.explain_target(set("4").first().expect("one"), &forecast, &usage).expect("a node");
    assert_eq!((node.rule, node.wanted.as_deref(), node.free.worst), (Rule::WaitsForRelease, Some("dat"), at(60)));
    let down = bed.site.explain_target(set("0").first().expect("one"), &forecast, &usage).expect("a node");
    assert_eq!(down.rule, Rule::Down);
    let dat = bed.site.explain_queue("dat", &forecast, &usage).expect("a queue");
    assert_eq!(dat.changes, at(60));
    assert_eq!(dat.arrivals.iter().map(|a| a.targets.clone()).collect::<Vec<_>>(), [set("4")]);
}

/// What was said about a job is kept, and a restart keeps it.
#[test]
fn a_history_is_kept() {
    let mut bed = Bed::new(2, &[queue("batch", "0-1"), queue_with("other", "0-1", 0, QueuePolicy::Easy)], &["batch"]);
    bed.submit(1, "batch", 2, 100);
    bed.submit(2, "batch", 1, 100);
    bed.tell(Event::MoveJob { job: JobId(2), queue: "other".into() });
    bed.step();
    bed.tell(Event::QueueRemove { queue: "other".into(), pending: Some(sluice::site::PendingFate::Hold) });
    bed.step();
    let notes = |bed: &Bed| bed.site.job(JobId(2)).expect("a job").history.clone();
    let before = notes(&bed);
    assert_eq!(before.notes().len(), 2, "{before:?}");
    bed.restart();
    assert_eq!(notes(&bed), before);
}
