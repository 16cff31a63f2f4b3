//! A site under test, in few words: whole nodes `node0`, `node1`, …, jobs by number, queues by name.

#![allow(dead_code, reason = "each test uses its part")]

use sluice::base::{Duration, JobId, Priority, TargetId, TargetSet, Timestamp};
use sluice::config::{Config, Members, PolicyConfig, QueueConfig, QueuePolicy};
use sluice::formats::count::Count;
use sluice::formats::hostlist::Hostlist;
use sluice::formats::idset::Idset;
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, Freed, Request, Shape};
use sluice::site::{
    Configure, Effect, Event, EventError, JobState, Outcome, PendingFate, QueueView, Site, SiteOptions, Snapshot,
    StartMode, Submission,
};
use std::sync::Arc;

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

/// Targets from an idset; `""`: none.
pub fn set(text: &str) -> TargetSet {
    if text.is_empty() {
        return TargetSet::new();
    }
    Idset::parse(text).expect("an idset").iter().map(TargetId).collect()
}

/// A queue over some nodes, as `fcfs`.
pub fn queue(name: &str, nodes: &str) -> QueueConfig {
    queue_with(name, nodes, 0, QueuePolicy::Fcfs)
}

pub fn queue_with(name: &str, nodes: &str, precedence: i32, queue_policy: QueuePolicy) -> QueueConfig {
    let mut policy = PolicyConfig::default();
    policy.scheduler.precedence = precedence;
    policy.scheduler.queue_policy = queue_policy;
    let hosts: Vec<String> = set(nodes).iter().map(|t| format!("node{t}")).collect();
    let members = Members::Hosts(Hostlist::parse(&hosts.join(",")).expect("a hostlist"));
    QueueConfig { name: name.to_owned(), members, parent: None, policy, lending: Default::default() }
}

pub fn config(queues: &[QueueConfig]) -> Config {
    let queues = queues.iter().map(|q| (q.name.clone(), q.clone())).collect();
    Config { queues, ..Config::default() }
}

/// Whole nodes.
pub fn nodes(n: u64) -> Arc<Request> {
    let shape = Shape::Whole { nodes: Count::fixed(n), at_least: Amount::default(), slots_per_node: 1 };
    Arc::new(Request { shape, constraint: None, shared: Default::default() })
}

/// A site, its time, and what it has answered since it was last asked.
pub struct Bed {
    pub site: Site,
    pub now: Timestamp,
    pub effects: Vec<Effect>,
}

impl Bed {
    /// All nodes answer, all of `start` are started.
    pub fn new(count: u32, queues: &[QueueConfig], start: &[&str]) -> Self {
        Self::with(count, queues, start, Properties::new())
    }

    pub fn with(count: u32, queues: &[QueueConfig], start: &[&str], properties: Properties) -> Self {
        let graph = Arc::new(Graph::uniform(count, 2, 0).expect("a graph"));
        let options = SiteOptions { check_ledger: true, annotate: true };
        let site = Site::new(graph, Arc::new(properties), Arc::new(config(queues)), options).expect("a site");
        let mut bed = Self { site, now: at(0), effects: Vec::new() };
        bed.tell(Event::Online { targets: bed.site.inventory().clone() });
        start.iter().for_each(|queue| bed.start(queue));
        bed.step();
        bed
    }

    /// The same from the text of a configuration.
    pub fn of(count: u32, text: &str, start: &[&str]) -> Self {
        let graph = Arc::new(Graph::uniform(count, 2, 0).expect("a graph"));
        let config = Config::parse(text, "site.toml").unwrap_or_else(|e| panic!("{e}"));
        let options = SiteOptions { check_ledger: true, annotate: true };
        let site = Site::new(graph, Arc::default(), Arc::new(config), options).expect("a site");
        let mut bed = Self { site, now: at(0), effects: Vec::new() };
        bed.tell(Event::Online { targets: bed.site.inventory().clone() });
        start.iter().for_each(|queue| bed.start(queue));
        bed.step();
        bed
    }

    pub fn try_tell(&mut self, event: Event) -> Result<(), EventError> {
        self.site.apply(self.now, event, &mut self.effects)
    }

    pub fn tell(&mut self, event: Event) {
        let text = format!("{event:?}");
        self.try_tell(event).unwrap_or_else(|e| panic!("{text}: {e}"));
    }

    /// Lets the site act. No invariant may be broken, ever.
    pub fn step(&mut self) {
        while self.site.schedule(self.now, usize::MAX, &mut self.effects).more {}
        assert_eq!(self.site.violations(), [], "at {}", self.now);
    }

    /// Time goes on, and the site is looked at whenever it wants to be.
    pub fn to(&mut self, seconds: i64) {
        while let Some(wake) = self.site.next_wakeup(self.now).filter(|w| *w <= at(seconds)) {
            self.now = self.now.max(wake);
            self.step();
        }
        self.now = at(seconds);
        self.step();
    }

    pub fn start(&mut self, queue: &str) {
        self.tell(Event::QueueStart { queue: queue.to_owned(), mode: StartMode::default() });
    }

    pub fn submit_as(&mut self, id: u64, queue: &str, request: Arc<Request>, limit: i64) {
        self.tell(Event::Submit(Box::new(Submission {
            id: JobId(id),
            queue: Some(queue.to_owned()),
            priority: Priority(16),
            userid: 1,
            limit: Some(Duration::from_secs(limit)),
            request: Ok(request),
        })));
    }

    /// A job of `n` whole nodes.
    pub fn submit(&mut self, id: u64, queue: &str, n: u64, limit: i64) {
        self.submit_as(id, queue, nodes(n), limit);
        self.step();
    }

    /// Its processes are gone; it holds its nodes still.
    pub fn end(&mut self, id: u64) {
        self.tell(Event::End { job: JobId(id), outcome: Outcome::Completed });
        self.step();
    }

    /// Some of its nodes are released.
    pub fn free(&mut self, id: u64, targets: &str) {
        self.tell(Event::Free { job: JobId(id), freed: Freed::Targets(set(targets)) });
        self.step();
    }

    /// It ends, and all its nodes are released.
    pub fn finish(&mut self, id: u64) {
        self.end(id);
        self.tell(Event::Free { job: JobId(id), freed: Freed::Rest });
        self.step();
    }

    pub fn configure(&mut self, queues: &[QueueConfig], pending: Option<PendingFate>) {
        self.tell(Event::Configure(Box::new(Configure { config: config(queues), pending })));
        self.step();
    }

    /// The program ends and another goes on from what is on record, as JSON.
    pub fn restart(&mut self) {
        let text = serde_json::to_string(&self.site.snapshot()).expect("a snapshot is JSON");
        let snapshot: Snapshot = serde_json::from_str(&text).expect("it reads back");
        let (graph, properties) = (self.site.graph().clone(), self.site.properties().clone());
        let options = SiteOptions { check_ledger: true, annotate: true };
        self.site = Site::restore(snapshot, graph, properties, options, &mut self.effects).expect("it restores");
        self.tell(Event::HelloDone);
        self.step();
    }

    pub fn state(&self, id: u64) -> JobState {
        self.site.job(JobId(id)).unwrap_or_else(|| panic!("job {id}")).state
    }

    pub fn runs(&self, id: u64) -> bool {
        self.state(id) == JobState::Running
    }

    pub fn waits(&self, id: u64) -> bool {
        self.state(id) == JobState::Pending
    }

    pub fn held_by(&self, id: u64) -> TargetSet {
        self.site.selection(JobId(id)).map(|s| s.target_set()).unwrap_or_default()
    }

    pub fn view(&self, queue: &str) -> QueueView {
        self.site.queue_view(queue).unwrap_or_else(|| panic!("queue {queue}"))
    }

    /// What of a queue is up and held by nothing.
    pub fn free_in(&self, queue: &str) -> TargetSet {
        let view = self.view(queue);
        &view.up - &view.allocated
    }

    /// Whether no job was killed, cancelled or denied since the last look.
    pub fn nobody_harmed(&mut self) -> bool {
        let harm = |e: &Effect| {
            matches!(
                e,
                Effect::Kill { .. } | Effect::Cancelled { .. } | Effect::Denied { .. } | Effect::Quarantined { .. }
            )
        };
        !std::mem::take(&mut self.effects).iter().any(harm)
    }
}
