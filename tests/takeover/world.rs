//! A site, those who schedule elsewhere, and an account of events and effects.

use super::Op;
use super::elsewhere::Elsewhere;
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use sluice::base::{Duration, JobId, Priority, TargetId, TargetSet, Timestamp};
use sluice::config::{Config, Members, PolicyConfig, QueueConfig, QueuePolicy, SchedulerSettings};
use sluice::formats::count::Count;
use sluice::formats::hostlist::Hostlist;
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, Freed, Request, Shape};
use sluice::scheduler::wire::Told;
use sluice::site::{
    Effect, Event, EventError, JobState, Observer, Outcome, SchedulerChange, Site, SiteOptions, Snapshot, StartMode,
    Submission,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

pub const QUEUES: [&str; 2] = ["batch", "debug"];
const NODES: u32 = 6;

/// How often what has happened.
#[derive(Clone, Debug, Default)]
pub struct Seen(BTreeMap<&'static str, u32>);

impl Seen {
    fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub fn add(&mut self, other: &Seen) {
        other.0.iter().for_each(|(what, often)| *self.0.entry(what).or_default() += often);
    }

    /// How often this has happened.
    pub fn of(&self, what: &str) -> u32 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All that has to be reached.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        let names = [
            "swapped",
            "swap-failed",
            "scheduler-lost",
            "scheduler-out",
            "scheduler-unloaded",
            "scheduler-loaded",
            "refused",
            "granted elsewhere",
            "granted here",
            "moved",
            "restarted",
            "swapped under load",
        ];
        names.into_iter().map(|name| (name, self.0.get(name).copied().unwrap_or(0)))
    }
}

pub struct World {
    site: Site,
    now: Timestamp,
    observer: Observer,
    elsewhere: BTreeMap<(String, u64), Elsewhere>,
    graph: Arc<Graph>,
    next_job: u64,
    runs: BTreeMap<JobId, Duration>,
    ends: BTreeMap<JobId, Timestamp>,
    broken: u8,
    program: Option<PathBuf>,
    lost: Vec<(String, u64)>,
    pub seen: Seen,
}

fn queue(name: &str, hosts: &str, precedence: i32) -> QueueConfig {
    let mut policy = PolicyConfig::default();
    policy.scheduler.precedence = precedence;
    let members = Members::Hosts(Hostlist::parse(hosts).expect("a hostlist"));
    QueueConfig { name: name.to_owned(), members, parent: None, lending: Default::default(), policy }
}

impl World {
    pub fn new() -> Self {
        let graph = Arc::new(Graph::uniform(NODES, 2, 0).expect("a graph"));
        let queues = [queue(QUEUES[0], "node[0-5]", 0), queue(QUEUES[1], "node[3-5]", 1)];
        let queues = queues.iter().map(|q| (q.name.clone(), q.clone())).collect();
        let config = Arc::new(Config { queues, ..Config::default() });
        let options = SiteOptions { check_ledger: true, annotate: true };
        let site = Site::new(graph.clone(), Arc::new(Properties::new()), config, options).expect("a site");
        let observer = Observer::new(&graph);
        let mut world = Self {
            site,
            now: Timestamp::ZERO,
            observer,
            elsewhere: BTreeMap::new(),
            graph: graph.clone(),
            next_job: 1,
            runs: BTreeMap::new(),
            ends: BTreeMap::new(),
            broken: 0,
            program: None,
            lost: Vec::new(),
            seen: Seen::default(),
        };
        world.must(Event::Online { targets: graph.targets().clone() });
        world.must(Event::QueueStart { queue: QUEUES[0].into(), mode: StartMode::default() });
        world.step();
        world
    }

    /// Those elsewhere are this program.
    pub fn with_program(file: PathBuf) -> Self {
        Self { program: Some(file), ..Self::new() }
    }

    /// Who provides the scheduler of a queue; `None`: it is ours.
    pub fn who(&self, queue: &str) -> Option<String> {
        self.site.queue_config(queue).and_then(|config| config.policy.scheduler.provider.clone())
    }

    /// How many jobs have completed.
    pub fn completed(&self) -> u64 {
        self.site.counts().completed
    }

    fn tell(&mut self, event: Event) -> Result<(), EventError> {
        let mut effects = Vec::new();
        let told = self.site.apply(self.now, event.clone(), &mut effects);
        if told.is_ok() {
            self.observer.event(&event, &effects, &self.graph);
        } else {
            assert!(effects.is_empty(), "a refused event has effects: {effects:?}");
        }
        self.act(&effects);
        told
    }

    fn must(&mut self, event: Event) {
        self.tell(event.clone()).unwrap_or_else(|e| panic!("{event:?}: {e}"));
    }

    fn step(&mut self) {
        loop {
            let mut effects = Vec::new();
            let more = self.site.schedule(self.now, usize::MAX, &mut effects).more;
            self.observer.effects(&effects, &self.graph);
            self.act(&effects);
            let lost = std::mem::take(&mut self.lost);
            for (queue, instance) in &lost {
                let why = "it cannot be started".to_owned();
                self.must(Event::SchedulerLost { queue: queue.clone(), instance: *instance, why });
            }
            if !more && lost.is_empty() {
                break;
            }
        }
    }

    fn act(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Start { job, .. } => {
                    let end = self.now + self.runs[job];
                    self.ends.insert(*job, end);
                }
                Effect::Kill { job } => {
                    self.ends.insert(*job, self.now);
                }
                Effect::SchedulerLaunch { queue, instance, .. } => {
                    if self.broken > 0 {
                        self.broken -= 1;
                        self.lost.push((queue.to_string(), *instance));
                    } else {
                        let one = match &self.program {
                            Some(file) => Elsewhere::program(self.graph.clone(), file),
                            None => Elsewhere::new(self.graph.clone()),
                        };
                        self.elsewhere.insert((queue.to_string(), *instance), one);
                    }
                }
                Effect::SchedulerTell { queue, instance, told } => {
                    if matches!(**told, Told::Refused { .. }) {
                        self.seen.note("refused");
                    }
                    if let Some(one) = self.elsewhere.get_mut(&(queue.to_string(), *instance)) {
                        one.inbox.push_back(Told::clone(told));
                    }
                }
                Effect::SchedulerEnd { queue, instance } => {
                    self.elsewhere.remove(&(queue.to_string(), *instance));
                }
                Effect::QueueChanged { what, queue, .. } => {
                    self.seen.note(what);
                    let waits = self.site.queue_view(queue).is_some_and(|q| q.jobs.pending > 0 && q.jobs.running > 0);
                    if *what == "swapped" && waits {
                        self.seen.note("swapped under load");
                    }
                }
                Effect::DonationEnded { .. } => self.seen.note("moved"),
                _ => {}
            }
        }
    }

    fn settings(&self, queue: usize, to: usize) -> SchedulerSettings {
        let before = self.site.queue_config(QUEUES[queue]).expect("there").policy.scheduler.clone();
        match QueuePolicy::NAMES.get(to) {
            Some(name) => SchedulerSettings { provider: None, queue_policy: name.parse().expect("a policy"), ..before },
            None => {
                let queue_policy = if to.is_multiple_of(2) { QueuePolicy::Easy } else { QueuePolicy::Conservative };
                SchedulerSettings { provider: Some(format!("elsewhere{to}")), queue_policy, ..before }
            }
        }
    }

    pub(super) fn perform(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Submit { queue, nodes, parts, limit, run } => {
                let id = JobId(self.next_job);
                self.next_job += 1;
                self.runs.insert(id, Duration::from_secs(i64::from(*run)));
                let n = Count::fixed(u64::from(*nodes));
                let shape = match parts {
                    true => Shape::Slots { slots: n, slot: Amount { cores: 1, gpus: 0 } },
                    false => Shape::Whole { nodes: n, at_least: Amount::NONE, slots_per_node: 1 },
                };
                self.must(Event::Submit(Box::new(Submission {
                    id,
                    queue: Some(QUEUES[*queue].into()),
                    priority: Priority(16),
                    userid: 1,
                    limit: Some(Duration::from_secs(i64::from(*limit))),
                    request: Ok(Arc::new(Request { shape, constraint: None, shared: Default::default() })),
                })));
            }
            Op::Pass(seconds) => self.pass(self.now + Duration::from_secs(i64::from(*seconds))),
            Op::Cancel(which) => {
                let open: Vec<JobId> = self.site.all_jobs().filter(|j| !j.state.is_final()).map(|j| j.id).collect();
                if let Some(job) = open.get(usize::from(*which) % open.len().max(1)) {
                    self.must(Event::Cancel { job: *job });
                }
            }
            Op::Swap(queue, to) => {
                let change = SchedulerChange::Swap(Box::new(self.settings(*queue, *to)));
                self.must(Event::Scheduler { queue: QUEUES[*queue].into(), change });
            }
            Op::Change(queue, to) => {
                let mut config = self.site.queue_config(QUEUES[*queue]).expect("there").clone();
                config.policy.scheduler = self.settings(*queue, *to);
                self.must(Event::QueueChange { config: Box::new(config) });
            }
            Op::Deliver(there, back) => self.deliver(usize::from(*there), usize::from(*back)),
            Op::Settle => self.settle()?,
            Op::Hold => self.deliver(usize::MAX, 0),
            Op::Crash(which) => {
                let all: Vec<(String, u64)> = self.elsewhere.keys().cloned().collect();
                if let Some((queue, instance)) = all.get(usize::from(*which) % all.len().max(1)) {
                    self.elsewhere.remove(&(queue.clone(), *instance));
                    let (queue, instance, why) = (queue.clone(), *instance, "it ended".to_owned());
                    self.must(Event::SchedulerLost { queue, instance, why });
                }
            }
            Op::Broken(n) => self.broken = *n,
            Op::Start(queue) => {
                self.must(Event::QueueStart { queue: QUEUES[*queue].into(), mode: StartMode::default() });
            }
            Op::Stop(queue, release) => {
                let (queue, reason) = (QUEUES[*queue].into(), String::new());
                self.must(Event::QueueStop { queue, release: *release, reason });
            }
            Op::Flip(which) => {
                let target = TargetId(u32::from(*which) % NODES);
                let targets = TargetSet::single(target);
                let online = self.site.coordinator().online().contains(target);
                self.must(if online { Event::Offline { targets } } else { Event::Online { targets } });
            }
            Op::Unload(queue) => {
                self.must(Event::Scheduler { queue: QUEUES[*queue].into(), change: SchedulerChange::Unload });
            }
            Op::Load(queue) => {
                self.must(Event::Scheduler { queue: QUEUES[*queue].into(), change: SchedulerChange::Load });
            }
            Op::Restart => self.restart()?,
        }
        self.step();
        Ok(())
    }

    /// Time goes on; what ends on the way ends.
    fn pass(&mut self, until: Timestamp) {
        loop {
            let due = self.ends.iter().map(|(job, at)| (*at, *job)).min().filter(|(at, _)| *at <= until);
            let wakeup = self.site.next_wakeup(self.now).filter(|at| *at <= until && *at > self.now);
            match (due, wakeup) {
                (None, None) => break,
                (Some((at, job)), wakeup) if wakeup.is_none_or(|w| at <= w) => {
                    self.now = self.now.max(at);
                    self.ends.remove(&job);
                    self.must(Event::End { job, outcome: Outcome::Completed });
                    self.must(Event::Free { job, freed: Freed::Rest });
                }
                (_, Some(at)) => self.now = at,
                (Some(_), None) => unreachable!("the case before"),
            }
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Messages move: so many to each, so many from each.
    fn deliver(&mut self, there: usize, back: usize) {
        let all: Vec<(String, u64)> = self.elsewhere.keys().cloned().collect();
        for key in all {
            for _ in 0..there {
                if !self.elsewhere.get_mut(&key).is_some_and(Elsewhere::read) {
                    break;
                }
            }
            for _ in 0..back {
                let Some(said) = self.elsewhere.get_mut(&key).and_then(|one| one.outbox.pop_front()) else { break };
                let (queue, instance) = key.clone();
                let before = self.site.counts().running;
                self.must(Event::SchedulerSays { queue, instance, said });
                if self.site.counts().running > before {
                    self.seen.note("granted elsewhere");
                }
            }
        }
    }

    fn restart(&mut self) -> Result<(), TestCaseError> {
        let text = serde_json::to_string(&self.site.snapshot()).expect("a snapshot is JSON");
        let snapshot: Snapshot = serde_json::from_str(&text).expect("it reads back");
        let options = SiteOptions { check_ledger: true, annotate: true };
        let mut effects = Vec::new();
        let properties = self.site.properties().clone();
        let restored = Site::restore(snapshot, self.graph.clone(), properties, options, &mut effects);
        self.site = restored.map_err(|e| TestCaseError::fail(e.to_string()))?;
        self.elsewhere.clear();
        self.observer.effects(&effects, &self.graph);
        self.must(Event::HelloDone);
        self.seen.note("restarted");
        Ok(())
    }

    /// Until nothing moves: all messages, all wakeups of the present.
    pub fn settle(&mut self) -> Result<(), TestCaseError> {
        self.broken = 0;
        for _ in 0..200 {
            self.step();
            self.deliver(usize::MAX, usize::MAX);
            let idle = self.elsewhere.values().all(|one| one.inbox.is_empty() && one.outbox.is_empty());
            if idle && self.site.next_wakeup(self.now).is_none_or(|at| at > self.now) {
                return Ok(());
            }
            self.check()?;
        }
        Err(TestCaseError::fail("messages move for ever"))
    }

    pub fn check(&mut self) -> Result<(), TestCaseError> {
        self.observer.compare(&self.site);
        let violations = self.observer.take_violations();
        prop_assert!(violations.is_empty(), "{violations:?}");
        let violations = self.site.violations();
        prop_assert!(violations.is_empty(), "{violations:?}");
        if self.site.counts().running > 0 && self.elsewhere.is_empty() {
            self.seen.note("granted here");
        }
        Ok(())
    }

    /// When nothing moves, those elsewhere know what the site knows (I6, I8), nothing could start (I10), and all downs
    /// are acknowledged, so that what is to move moves once it is free (I3).
    pub fn check_quiet(&mut self) -> Result<(), TestCaseError> {
        for ((queue, _), one) in self.elsewhere.iter().filter(|(_, one)| !one.is_program()) {
            let home = |name: &str| name == queue;
            let of = |state: JobState| -> BTreeSet<JobId> {
                let jobs = self.site.all_jobs().filter(|j| j.state == state);
                jobs.filter(|j| self.site.queue_name(j.home).is_some_and(|n| home(n))).map(|j| j.id).collect()
            };
            prop_assert_eq!(one.waiting(), of(JobState::Pending), "who waits in {}", queue);
            let running: BTreeSet<JobId> = one.running().into_iter().map(|(job, _)| job).collect();
            prop_assert_eq!(running, of(JobState::Running), "who runs in {}", queue);
            if self.site.queue_view(queue).is_some_and(|q| q.started) {
                let more = one.would_start(self.now);
                prop_assert!(more.is_empty(), "another pass of {} starts {:?}", queue, more);
            }
        }
        Ok(())
    }
}
