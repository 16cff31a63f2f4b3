//! One scheduler alone, without site and replay, against the published schedules of the KTH trace: not one of 28,481
//! starts may differ. Needs the shared data; skipped with a word where it is absent.

use flate2::read::GzDecoder;
use sluice::base::{Duration, Epoch, FastMap, JobId, Priority, QueueId, TargetSet, Timestamp};
use sluice::config::{QueuePolicy, SchedulerSettings};
use sluice::formats::count::Count;
use sluice::formats::swf;
use sluice::graph::Graph;
use sluice::matcher::{Amount, Freed, Request, Shape};
use sluice::scheduler::{Input, JobRequest, Output, Scheduler};
use std::collections::BinaryHeap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

fn shared(path: &str) -> Option<Vec<u8>> {
    let root = std::env::var_os("SLUICE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let bytes = std::fs::read(root.join("data").join(path)).ok();
    if bytes.is_none() {
        eprintln!("skipped: {path} is not there; set SLUICE_SHARED");
    }
    bytes
}

struct Sim {
    scheduler: Scheduler,
    now: Timestamp,
    out: Vec<Output>,
    starts: FastMap<JobId, Timestamp>,
    runs: FastMap<JobId, (Duration, Duration)>,
    /// Ends still to come: (time, submit position, id), earliest first.
    ends: BinaryHeap<std::cmp::Reverse<(Timestamp, usize, JobId)>>,
    place: FastMap<JobId, usize>,
}

impl Sim {
    fn tell(&mut self, input: Input) {
        self.scheduler.handle(self.now, input, &mut self.out);
        for output in std::mem::take(&mut self.out) {
            if let Output::Alloc { job, .. } = output {
                self.starts.insert(job, self.now);
                self.ends.push(std::cmp::Reverse((self.now + self.runs[&job].0, self.place[&job], job)));
            }
        }
    }

    fn pass(&mut self) {
        self.tell(Input::Pass { budget: usize::MAX });
    }

    fn free(&mut self, job: JobId) {
        self.tell(Input::Free { job, freed: Freed::Rest, last: true });
    }
}

fn run(policy: QueuePolicy, by_runtime: bool, per_event: bool, reference: &str) {
    let (Some(trace), Some(expected)) =
        (shared("traces/KTH-SP2-1996-2-sc15filter.swf.gz"), shared(&format!("reference/{reference}.starts.gz")))
    else {
        return;
    };
    let trace = swf::read_bytes(&trace).expect("the trace is sound");
    let graph = Arc::new(Graph::uniform(100, 1, 0).expect("a machine"));
    let mut sim = Sim {
        scheduler: Scheduler::new(SchedulerSettings { queue_policy: policy, ..Default::default() }),
        now: Timestamp::MIN,
        out: vec![],
        starts: FastMap::default(),
        runs: FastMap::default(),
        ends: BinaryHeap::new(),
        place: FastMap::default(),
    };
    let all = TargetSet::from_range(0..100);
    sim.tell(Input::Acquire { graph, properties: Arc::default(), members: all.clone(), up: all, epoch: Epoch(1) });
    let jobs: Vec<(Timestamp, JobRequest)> = trace
        .jobs
        .iter()
        .map(|job| {
            let run = job.run_time();
            let limit = if by_runtime { run } else { job.limit().unwrap_or(Duration::INFINITE) };
            sim.runs.insert(JobId(job.id), (run, limit));
            let nodes = Count::fixed(job.size().expect("a size"));
            let shape = Shape::Whole { nodes, at_least: Amount::default(), slots_per_node: 1 };
            let submitted = Timestamp::from_secs(job.submit);
            let request = Arc::new(Request { shape, constraint: None, shared: Default::default() });
            (
                submitted,
                JobRequest { id: JobId(job.id), class: QueueId(0), priority: Priority(16), submitted, limit, request },
            )
        })
        .collect();
    sim.place = jobs.iter().enumerate().map(|(i, (_, j))| (j.id, i)).collect();
    let mut next = 0;
    loop {
        let submit = jobs.get(next).map_or(Timestamp::NEVER, |j| j.0);
        let end = sim.ends.peek().map_or(Timestamp::NEVER, |e| e.0.0);
        sim.now = submit.min(end);
        if sim.now.is_never() {
            break;
        }
        let mut ending = vec![];
        while sim.ends.peek().is_some_and(|e| e.0.0 == sim.now) {
            ending.push(sim.ends.pop().expect("peeked").0.2);
        }
        let mut submissions = vec![];
        while next < jobs.len() && jobs[next].0 == sim.now {
            submissions.push(jobs[next].1.clone());
            next += 1;
        }
        if per_event {
            let at_limit = |job: &JobId| sim.starts[job] + sim.runs[job].1 == sim.now;
            let (first, rest): (Vec<JobId>, Vec<JobId>) = ending.into_iter().partition(at_limit);
            first.into_iter().for_each(|job| sim.free(job));
            let nothing_follows = rest.is_empty() && submissions.is_empty();
            for job in submissions {
                sim.tell(Input::Alloc(job));
                sim.pass();
            }
            for job in rest {
                sim.free(job);
                sim.pass();
            }
            if nothing_follows {
                sim.pass();
            }
        } else {
            ending.into_iter().for_each(|job| sim.free(job));
            submissions.into_iter().for_each(|job| sim.tell(Input::Alloc(job)));
            sim.pass();
        }
    }
    let mut text = String::new();
    GzDecoder::new(&expected[..]).read_to_string(&mut text).expect("a gzip file");
    let mut compared = 0;
    let mut different = vec![];
    for line in text.lines().filter(|l| !l.starts_with(';')) {
        let (id, start) = line.split_once(' ').expect("two columns");
        let (id, start) = (JobId(id.parse().expect("an id")), start.parse().expect("a start"));
        compared += 1;
        let ours = sim.starts.get(&id).copied();
        if ours != Some(Timestamp::from_secs(start)) {
            different.push((id, start, ours));
        }
    }
    assert_eq!(compared, 28_481);
    assert!(
        different.is_empty(),
        "{reference}: {} starts differ, first {:?}",
        different.len(),
        &different[..different.len().min(5)]
    );
}

#[test]
fn fcfs() {
    run(QueuePolicy::Fcfs, false, false, "kth-fcfs");
}

#[test]
fn easy() {
    run(QueuePolicy::Easy, false, false, "kth-easy-onepass");
}

#[test]
fn easy_clairvoyant() {
    run(QueuePolicy::Easy, true, false, "kth-easy-clairvoyant-onepass");
}

#[test]
fn easy_per_event() {
    run(QueuePolicy::Easy, false, true, "kth-easy-perevent-sc15");
}

#[test]
fn conservative() {
    run(QueuePolicy::Conservative, false, false, "kth-conservative-replan");
}

#[test]
fn conservative_clairvoyant() {
    run(QueuePolicy::Conservative, true, false, "kth-conservative-replan-clairvoyant");
}

#[test]
fn conservative_compress_per_event() {
    run(QueuePolicy::ConservativeCompress, false, true, "kth-conservative-compress");
}
