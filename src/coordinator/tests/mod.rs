//! One test per rule, and a small world to run them in.

mod claims;
mod groups;
mod loans;
mod rules;
mod undo;
mod waves;
mod windows;

use super::*;
use crate::base::{Epoch, QueueId, TargetId, TargetSet, Timestamp, Window};

/// Queues by the letters that tests name them with.
const A: QueueId = QueueId(0);
const B: QueueId = QueueId(1);
const C: QueueId = QueueId(2);
const D: QueueId = QueueId(3);

/// A coordinator, the jobs on its targets, and schedulers that acknowledge when told to.
#[derive(Clone)]
struct World {
    c: Coordinator,
    now: i64,
    jobs: Jobs,
    /// Downs that were sent and not acknowledged.
    downs: Vec<(QueueId, TargetSet, Epoch)>,
    /// What each scheduler believes to be up.
    up: Vec<TargetSet>,
    /// Everything that reconcile said, since the last look.
    said: Vec<Order>,
    /// Whether schedulers acknowledge at once.
    prompt: bool,
}

#[derive(Clone, Default)]
struct Jobs(Vec<(QueueId, TargetId, Timestamp)>);

impl Holders for Jobs {
    fn is_held(&self, target: TargetId) -> bool {
        self.0.iter().any(|j| j.1 == target)
    }
    fn held_by_other(&self, target: TargetId, queue: QueueId) -> bool {
        self.0.iter().any(|j| j.1 == target && j.0 != queue)
    }
    fn planned_end(&self, target: TargetId) -> Timestamp {
        self.0.iter().filter(|j| j.1 == target).map(|j| j.2).max().unwrap_or(Timestamp::MIN)
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn set(text: &str) -> TargetSet {
    let number = |n: &str| n.trim().parse::<u32>().expect("a number");
    let mut set = TargetSet::new();
    for part in text.split(',').filter(|p| !p.is_empty()) {
        let (low, high) =
            part.split_once('-').map_or_else(|| (number(part), number(part)), |(l, h)| (number(l), number(h)));
        set |= &TargetSet::from_range(low..high + 1);
    }
    set
}

fn spec(name: &str, members: &str) -> QueueSpec {
    QueueSpec {
        name: name.into(),
        precedence: 0,
        overlap: Overlap::Refuse,
        horizon: Horizon::Strict,
        members: set(members),
    }
}

fn take() -> StartOptions {
    StartOptions { take: true, ..StartOptions::default() }
}

fn plain() -> StartOptions {
    StartOptions::default()
}

fn group(give_up: i64, min: Option<u32>) -> StartOptions {
    StartOptions { take: true, group: Some(GroupRequest { min, give_up: at(give_up) }), max_leaving: None }
}

fn switch(release: &[QueueId], start: &[(QueueId, StartOptions)]) -> SwitchRequest {
    SwitchRequest { release: release.to_vec(), start: start.to_vec() }
}

impl World {
    /// Targets online, and queues a, b, c... with the members given.
    fn new(targets: &str, members: &[&str]) -> World {
        let mut c = Coordinator::new();
        c.add_targets(&set(targets));
        c.set_online(&set(targets), true);
        for (index, members) in members.iter().enumerate() {
            let name = char::from(b'a' + index as u8).to_string();
            assert!(c.add_queue(QueueId(index as u32), spec(&name, members)));
        }
        let up = vec![TargetSet::new(); members.len() + 4];
        World { c, now: 0, jobs: Jobs::default(), downs: Vec::new(), up, said: Vec::new(), prompt: true }
    }

    /// Reconciles until nothing changes.
    fn settle(&mut self) -> &mut Self {
        for _ in 0..20 {
            let orders = self.c.reconcile(at(self.now), &self.jobs);
            if orders.is_empty() {
                return self;
            }
            self.deliver(orders);
        }
        panic!("reconcile does not come to rest");
    }

    fn deliver(&mut self, orders: Vec<Order>) {
        for order in &orders {
            match order {
                Order::Down { queue, targets, epoch } => {
                    self.up[queue.index()] -= targets;
                    self.downs.push((*queue, targets.clone(), *epoch));
                }
                Order::Up { queue, targets, .. } => {
                    let elsewhere = self.up.iter().any(|up| !up.is_disjoint(targets));
                    assert!(!elsewhere, "I1: {targets} up twice, second in {queue}");
                    for target in targets.iter() {
                        assert!(!self.jobs.held_by_other(target, *queue), "I3: {target} up in {queue} while held");
                    }
                    self.up[queue.index()] |= targets;
                }
                _ => {}
            }
        }
        self.said.extend(orders);
        if self.prompt {
            self.acknowledge_all();
        }
    }

    fn acknowledge_all(&mut self) {
        for (queue, targets, epoch) in std::mem::take(&mut self.downs) {
            self.c.acknowledge(queue, &targets, epoch);
        }
    }

    fn start(&mut self, queue: QueueId, options: StartOptions) -> &mut Self {
        self.c.start(at(self.now), queue, &options).expect("starts");
        self.settle()
    }

    fn stop(&mut self, queue: QueueId, release: bool) -> &mut Self {
        assert!(self.c.stop(at(self.now), queue, release));
        self.settle()
    }

    fn job(&mut self, queue: QueueId, target: u32, end: i64) -> &mut Self {
        assert!(self.up[queue.index()].contains(TargetId(target)), "{target} is not up in {queue}");
        self.jobs.0.push((queue, TargetId(target), at(end)));
        self
    }

    fn end(&mut self, target: u32) -> &mut Self {
        self.jobs.0.retain(|j| j.1 != TargetId(target));
        self.settle()
    }

    fn go(&mut self, seconds: i64) -> &mut Self {
        self.now = seconds;
        self.settle()
    }

    fn owns(&self, target: u32) -> Ownership {
        self.c.ownership(TargetId(target)).expect("in the inventory")
    }

    /// What was said since the last look.
    fn said(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.said)
    }
}
