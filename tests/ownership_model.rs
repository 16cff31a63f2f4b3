//! Every reachable state of small worlds under the ownership rules: breadth first over real coordinators, jobs that
//! come and go as they like, one scheduler that answers late, crashes at the worst moment.
//!
//! After every step: I1 (no target up in two schedulers, in the eyes of the schedulers themselves), I3 (up only when
//! nobody else holds it), I5 (three states, every target in one), who owns a target is who is wanted for it, an
//! expected time of a group never moves later, a complete group has its targets, no two queues' windows (all strict
//! here) count on a target at one time. From every state: once jobs end
//! and answers arrive, nothing waits any more. The same step twice gives the same orders.
//!
//! States are told apart by a key in which clocks, epochs, take stamps and queue ids are relative. Each world is
//! explored up to a number of states; `SLUICE_MODEL_STATES` sets another for all (0: no bound).

use sluice::base::{Epoch, GroupId, QueueId, TargetId, TargetSet, Timestamp, Window};
use sluice::coordinator::*;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::num::NonZeroU32;

/// What a world has and which of its ways it may go.
#[derive(Clone, Copy)]
struct World {
    name: &'static str,
    targets: u32,
    /// Members of queues a, b, c..., as bits of targets, with their precedence.
    queues: &'static [(u32, i32)],
    /// Whether queue a's scheduler answers late and may be lost.
    external: bool,
    crashes: bool,
    groups: bool,
    loans: bool,
    removal: bool,
    found: bool,
    offline: bool,
    switches: bool,
    members: bool,
    plans: bool,
    /// Starts, switches and plans in waves of one.
    waves: bool,
    /// Switches are taken back.
    undo: bool,
    /// States to explore by default.
    bound: usize,
}

const PLAIN: World = World {
    name: "",
    targets: 2,
    queues: &[(0b11, 0), (0b11, 0)],
    external: false,
    crashes: false,
    groups: false,
    loans: false,
    removal: false,
    found: false,
    offline: false,
    switches: false,
    members: false,
    plans: false,
    waves: false,
    undo: false,
    bound: 4_500,
};

/// One thing that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Start(usize, bool),
    Group(usize, Option<u32>),
    Waves(usize),
    /// A switch in waves, now or in a while.
    SwitchInWaves(usize, usize, bool),
    Undo,
    Stop(usize, bool),
    Switch(usize, usize, bool),
    /// The same, in a while.
    Plan(usize, usize, bool),
    Cancel,
    Remove(usize),
    Create(usize),
    Members(usize, u32),
    Online(u32, bool),
    RemoveTarget(u32),
    Job(QueueId, u32),
    End(QueueId, u32),
    Found(QueueId, u32),
    Lend(u32, usize),
    EndLoan(u32),
    Tick,
    /// The late scheduler reads its next message; its acknowledgement is on the way.
    Read,
    /// The oldest acknowledgement arrives.
    Arrive,
    Close,
    Open,
    /// A crash with the state on record and everything under way lost; after a command, with its orders lost as well.
    Crash,
    CrashStart(usize),
    CrashStop(usize),
}

#[derive(Clone, PartialEq)]
enum Message {
    Up(TargetSet),
    Down(TargetSet, Epoch),
}

#[derive(Clone)]
struct State {
    c: Coordinator,
    now: i64,
    /// Per slot (a, b, c...) the live queue and the tombstone.
    live: Vec<Option<QueueId>>,
    tombs: Vec<Option<QueueId>>,
    members: Vec<u32>,
    next: u32,
    /// Which queues hold each target.
    jobs: Vec<BTreeSet<QueueId>>,
    /// What schedulers believe to be up.
    views: BTreeMap<QueueId, TargetSet>,
    late: Option<QueueId>,
    connected: bool,
    inbox: VecDeque<Message>,
    acks: VecDeque<(TargetSet, Epoch)>,
}

struct Held<'a>(&'a State);

impl Holders for Held<'_> {
    fn is_held(&self, target: TargetId) -> bool {
        !self.0.jobs[target.index()].is_empty()
    }
    fn held_by_other(&self, target: TargetId, queue: QueueId) -> bool {
        self.0.jobs[target.index()].iter().any(|q| *q != queue)
    }
    fn planned_end(&self, target: TargetId) -> Timestamp {
        Timestamp::from_secs(if self.is_held(target) { self.0.now + 1 } else { self.0.now })
    }
}

fn spec(slot: usize, members: u32, precedence: i32) -> QueueSpec {
    QueueSpec {
        name: char::from(b'a' + slot as u8).to_string(),
        precedence,
        overlap: Overlap::Refuse,
        horizon: Horizon::Strict,
        members: (0..32).filter(|t| members >> t & 1 == 1).map(TargetId).collect(),
    }
}

fn in_waves() -> StartOptions {
    StartOptions { take: true, group: None, max_leaving: NonZeroU32::new(1) }
}

impl State {
    fn new(world: &World) -> State {
        let mut c = Coordinator::new();
        let all = TargetSet::from_range(0..world.targets);
        c.add_targets(&all);
        c.set_online(&all, true);
        for (slot, (members, precedence)) in world.queues.iter().enumerate() {
            assert!(c.add_queue(QueueId(slot as u32), spec(slot, *members, *precedence)));
        }
        let slots = world.queues.len();
        let mut state = State {
            c,
            now: 0,
            live: (0..slots as u32).map(|id| Some(QueueId(id))).collect(),
            tombs: vec![None; slots],
            members: world.queues.iter().map(|q| q.0).collect(),
            next: slots as u32,
            jobs: vec![BTreeSet::new(); world.targets as usize],
            views: BTreeMap::new(),
            late: world.external.then_some(QueueId(0)),
            connected: true,
            inbox: VecDeque::new(),
            acks: VecDeque::new(),
        };
        state.settle();
        state
    }

    fn at(&self, after: i64) -> Timestamp {
        Timestamp::from_secs(self.now + after)
    }

    /// Reconciles until nothing changes; returns what was said.
    fn settle(&mut self) -> Vec<Order> {
        let mut said = Vec::new();
        for _ in 0..12 {
            let mut c = std::mem::take(&mut self.c);
            let orders = c.reconcile(self.at(0), &Held(self));
            self.c = c;
            if orders.is_empty() {
                return said;
            }
            self.deliver(&orders);
            said.extend(orders);
        }
        panic!("reconcile does not come to rest");
    }

    /// Asks for nothing but what is released; then asks for everything, to no avail.
    fn settle_release(&mut self, target: TargetId) -> Vec<Order> {
        let mut said = Vec::new();
        let mut released = TargetSet::single(target);
        loop {
            let mut c = std::mem::take(&mut self.c);
            let orders = c.reconcile_released(self.at(0), &released, &Held(self));
            self.c = c;
            if orders.is_empty() {
                break;
            }
            self.deliver(&orders);
            said.extend(orders);
            released.clear();
        }
        assert_eq!(self.settle(), [], "a release moves no more than what it lets move");
        said
    }

    fn deliver(&mut self, orders: &[Order]) {
        let mut answers = Vec::new();
        for order in orders {
            match order {
                Order::Down { queue, targets, epoch } if Some(*queue) == self.late => {
                    self.inbox.push_back(Message::Down(targets.clone(), *epoch));
                }
                Order::Down { queue, targets, epoch } => {
                    *self.views.entry(*queue).or_default() -= targets;
                    answers.push((*queue, targets.clone(), *epoch));
                }
                Order::Up { queue, targets, .. } => self.up(*queue, targets),
                Order::QueueGone { queue } => {
                    assert!(self.jobs.iter().all(|jobs| !jobs.contains(queue)), "R7: {queue} went before its last job");
                    self.views.remove(queue);
                    self.tombs.iter_mut().filter(|t| **t == Some(*queue)).for_each(|t| *t = None);
                    if self.late == Some(*queue) {
                        self.late = None;
                        self.inbox.clear();
                        self.acks.clear();
                    }
                }
                Order::GroupReady { queue, targets, .. } => {
                    assert!(targets.is_subset(self.c.owned(*queue)), "a complete group has its targets at once");
                }
                _ => {}
            }
        }
        self.check_views();
        for (queue, targets, epoch) in answers {
            self.c.acknowledge(queue, &targets, epoch);
        }
    }

    fn up(&mut self, queue: QueueId, targets: &TargetSet) {
        for target in targets.iter() {
            let held = self.jobs[target.index()].iter().any(|q| *q != queue);
            assert!(!held, "I3: {target} up in {queue} while another queue's job holds it");
        }
        if Some(queue) == self.late {
            self.inbox.push_back(Message::Up(targets.clone()));
        } else {
            *self.views.entry(queue).or_default() |= targets;
        }
    }

    /// I1: what any scheduler believes to be up, or will when it reads its messages, is up there alone.
    fn check_views(&self) {
        let mut seen = TargetSet::new();
        for (queue, view) in &self.views {
            let mut view = view.clone();
            if Some(*queue) == self.late {
                for message in &self.inbox {
                    if let Message::Up(targets) = message {
                        view |= targets;
                    }
                }
            }
            assert!(seen.is_disjoint(&view), "I1: {} up twice, second in {queue}", &seen & &view);
            seen |= &view;
        }
    }

    /// What a scheduler believes to be up once it has read its messages.
    fn believed(&self, queue: QueueId) -> TargetSet {
        let mut view = self.views.get(&queue).cloned().unwrap_or_default();
        for message in self.inbox.iter().filter(|_| Some(queue) == self.late) {
            match message {
                Message::Up(targets) => view |= targets,
                Message::Down(targets, _) => view -= targets,
            }
        }
        view
    }

    fn check(&self) {
        self.check_views();
        self.check_windows();
        for queue in self.c.queues().filter(|q| self.connected || Some(*q) != self.late) {
            let believed = self.believed(queue);
            assert_eq!(believed, self.c.up(queue), "R6: {queue} knows, or will, what is up in it");
        }
        let mut sum = self.c.free().len();
        let mut union = self.c.free().clone();
        let queues: Vec<_> = self.c.queues().chain(self.c.tombstones()).collect();
        for queue in &queues {
            sum += self.c.owned(*queue).len() + self.c.leaving(*queue).len();
            union |= self.c.owned(*queue);
            union |= self.c.leaving(*queue);
            for target in self.c.owned(*queue).iter() {
                assert_eq!(self.c.wanted(target), Some(*queue), "owned, so wanted: {target}");
                let others = self.jobs[target.index()].iter().any(|q| q != queue);
                assert!(!others, "a job of another queue on {target}, owned by {queue}");
            }
        }
        assert_eq!(sum, self.c.inventory().len(), "I5: the sums");
        assert_eq!(&union, self.c.inventory(), "I5: the states");
        for (index, jobs) in self.jobs.iter().enumerate() {
            let free = self.c.free().contains(TargetId(index as u32));
            assert!(jobs.is_empty() || !free, "free means held by nobody: {index}");
        }
        assert!(self.c.free().is_disjoint(self.c.removing()), "a removed target that is free has left");
        let leaving: TargetSet = queues.iter().flat_map(|q| self.c.leaving(*q).iter()).collect();
        assert_eq!(&leaving, self.c.leaving_targets());
        assert!(leaving.is_subset(self.c.watched_targets()));
        let told: TargetSet = self.c.donations().flat_map(|d| d.targets.iter().collect::<Vec<_>>()).collect();
        assert!(leaving.is_subset(&told), "what leaves is in a donation");
        for queue in self.c.queues() {
            let Some(most) = self.c.max_leaving(queue) else { continue };
            let (later, arriving) = (self.c.in_later_waves(queue), self.c.arriving(queue));
            let leaving = arriving.intersection_len(self.c.leaving_targets());
            assert!(later.is_empty() || leaving >= most.get() as usize, "{queue} has room in its wave");
            assert!(later.is_disjoint(&arriving), "what waits for a wave is not on its way");
        }
        for (_, group) in self.c.groups() {
            let waits = group.phase != GroupPhase::Committed;
            assert!(!waits || !self.c.is_claiming(group.queue), "a waiting group is no claim");
            assert!(self.c.owned(group.queue).is_empty(), "a group gets nothing before it gets all");
        }
    }

    /// Windows are ascending, disjoint, not empty, and of members; both sides of a switch cannot have a target.
    fn check_windows(&self) {
        let mut later: Vec<(TargetId, Window)> = Vec::new();
        for (queue, windows) in self.c.all_windows(self.at(0)) {
            assert_eq!(windows, self.c.windows(self.at(0), queue));
            let mut seen = TargetSet::new();
            for timeline in &windows.timelines {
                assert!(seen.is_disjoint(&timeline.targets), "a target stands in one timeline");
                seen |= &timeline.targets;
                assert!(timeline.windows.iter().all(|w| w.from < w.until));
                assert!(timeline.windows.is_sorted_by(|a, b| a.until <= b.from));
                later.extend(timeline.targets.iter().flat_map(|t| timeline.windows.iter().map(move |w| (t, *w))));
            }
            // What is owned and unbounded is nobody else's, ever.
            let kept = self.c.owned(queue) - &seen;
            later.extend(kept.iter().map(|t| (t, Window::ALWAYS)));
        }
        later.sort_by_key(|(target, window)| (*target, window.from));
        let apart = |a: &(TargetId, Window), b: &(TargetId, Window)| a.0 != b.0 || a.1.until <= b.1.from;
        assert!(later.is_sorted_by(apart), "two queues count on a target at one time: {later:?}");
    }

    /// Once everything under way arrived and jobs ended, and groups had their time, nothing waits.
    fn check_progress(&self) {
        let mut end = self.clone();
        for jobs in &mut end.jobs {
            jobs.clear();
        }
        end.settle();
        for _ in 0..4 {
            while end.read() || end.arrive() {}
            end.now += 1;
            end.settle();
        }
        assert!(end.c.leaving_targets().is_empty(), "{} wait for ever", end.c.leaving_targets());
        assert_eq!(end.c.tombstones().count(), 0);
        assert_eq!(end.c.groups().count(), 0);
        assert_eq!(end.c.donations().count(), 0);
        assert_eq!(end.c.plans().count(), 0);
        for target in end.c.inventory().iter() {
            let owner = end.c.wanted(target).map_or(Ownership::Free, Ownership::Owned);
            assert_eq!(end.c.ownership(target), Some(owner), "{target} is where it should be");
        }
    }

    fn read(&mut self) -> bool {
        let (Some(message), Some(late)) = (self.inbox.pop_front(), self.late) else { return false };
        let view = self.views.entry(late).or_default();
        match message {
            Message::Up(targets) => *view |= &targets,
            Message::Down(targets, epoch) => {
                *view -= &targets;
                self.acks.push_back((targets, epoch));
            }
        }
        true
    }

    fn arrive(&mut self) -> bool {
        let (Some((targets, epoch)), Some(late)) = (self.acks.pop_front(), self.late) else { return false };
        self.c.acknowledge(late, &targets, epoch);
        self.settle();
        true
    }

    /// The process is gone and comes back on what was on record; so are the schedulers inside it. The late one lives
    /// on with what it believes, its connection is new.
    fn crash(&mut self) {
        self.inbox.clear();
        self.acks.clear();
        let late = self.late;
        self.views.retain(|queue, _| Some(*queue) == late);
        let orders = self.c.begin_recovery();
        self.deliver(&orders);
        let mut c = std::mem::take(&mut self.c);
        assert_eq!(c.reconcile(self.at(0), &Held(self)), [], "nothing moves before jobs are reported");
        self.c = c;
        self.c.end_recovery();
        self.settle();
    }

    /// Whether a scheduler would start a job here, and the site accept it.
    fn can_start(&self, queue: QueueId, target: TargetId) -> bool {
        let pending = |m: &Message| match m {
            Message::Up(targets) | Message::Down(targets, _) => targets.contains(target),
        };
        self.views.get(&queue).is_some_and(|view| view.contains(target))
            && self.c.up(queue).contains(target)
            && self.jobs[target.index()].is_empty()
            && !(Some(queue) == self.late && self.inbox.iter().any(pending))
    }

    /// Does one thing; `None` if it cannot be done here.
    fn apply(&mut self, op: Op) -> Option<Vec<Order>> {
        let now = self.at(0);
        match op {
            Op::Start(slot, take) => {
                self.c.start(now, self.live[slot]?, &StartOptions { take, ..StartOptions::default() }).ok()?;
            }
            Op::Group(slot, min) => {
                let group = Some(GroupRequest { min, give_up: self.at(2) });
                self.c.start(now, self.live[slot]?, &StartOptions { take: true, group, max_leaving: None }).ok()?;
            }
            Op::Waves(slot) => {
                self.c.start(now, self.live[slot]?, &in_waves()).ok()?;
            }
            Op::SwitchInWaves(from, to, later) => {
                let start = vec![(self.live[to]?, in_waves())];
                let request = SwitchRequest { release: vec![self.live[from]?], start };
                match later {
                    true if self.c.plans().count() > 0 => return None,
                    true => {
                        self.c.plan_switch(self.at(1), request);
                    }
                    false => {
                        self.c.switch(now, &request).ok()?;
                    }
                }
            }
            Op::Undo => {
                let (latest, ..) = self.c.switches().last()?;
                self.c.undo(now, latest).ok()?;
            }
            Op::Stop(slot, release) => {
                let queue = self.live[slot]?;
                let idle = !self.c.is_claiming(queue) && self.c.groups().all(|(_, g)| g.queue != queue);
                if idle || !self.c.stop(now, queue, release) {
                    return None;
                }
            }
            Op::Switch(from, to, take) => {
                let start = vec![(self.live[to]?, StartOptions { take, ..StartOptions::default() })];
                self.c.switch(now, &SwitchRequest { release: vec![self.live[from]?], start }).ok()?;
            }
            Op::Plan(from, to, take) => {
                if self.c.plans().count() > 0 {
                    return None;
                }
                let start = vec![(self.live[to]?, StartOptions { take, ..StartOptions::default() })];
                let request = SwitchRequest { release: vec![self.live[from]?], start };
                self.c.plan_switch(self.at(1), request);
            }
            Op::Cancel => {
                let (plan, _) = self.c.plans().next()?;
                assert!(self.c.cancel_plan(plan));
            }
            Op::Remove(slot) => {
                let queue = self.live[slot].filter(|_| self.tombs[slot].is_none())?;
                assert!(self.c.remove_queue(now, queue));
                (self.live[slot], self.tombs[slot]) = (None, Some(queue));
            }
            Op::Create(slot) => {
                if self.live[slot].is_some() {
                    return None;
                }
                let queue = QueueId(self.next);
                self.next += 1;
                assert!(self.c.add_queue(queue, spec(slot, self.members[slot], 0)));
                self.live[slot] = Some(queue);
            }
            Op::Members(slot, members) => {
                if self.members[slot] == members {
                    return None;
                }
                self.members[slot] = members;
                let queue = self.live[slot]?;
                let precedence = self.c.spec(queue)?.precedence;
                assert!(self.c.change_queue(queue, spec(slot, members, precedence)));
            }
            Op::Online(target, online) => {
                let target = TargetId(target);
                if self.c.online().contains(target) == online || !self.c.inventory().contains(target) {
                    return None;
                }
                self.c.set_online(&TargetSet::single(target), online);
            }
            Op::RemoveTarget(target) => {
                let target = TargetId(target);
                if !self.c.inventory().contains(target) || self.c.removing().contains(target) {
                    return None;
                }
                self.c.remove_targets(&TargetSet::single(target));
            }
            Op::Job(queue, target) => {
                if !self.can_start(queue, TargetId(target)) {
                    return None;
                }
                self.jobs[target as usize].insert(queue);
            }
            Op::End(queue, target) => {
                if !self.jobs[target as usize].remove(&queue) {
                    return None;
                }
                // What a site does: it need not look when nobody waits for the target.
                if !self.c.watched_targets().contains(TargetId(target)) {
                    let before = self.clone();
                    assert_eq!(self.settle(), [], "an unwatched release moves nothing");
                    *self = before;
                    return Some(Vec::new());
                }
                return Some(self.settle_release(TargetId(target)));
            }
            Op::Found(queue, target) => {
                if self.jobs[target as usize].len() > 1 || !self.c.inventory().contains(TargetId(target)) {
                    return None;
                }
                if !self.jobs[target as usize].insert(queue) {
                    return None;
                }
                self.c.found(now, TargetId(target), queue).expect("known target, known queue");
            }
            Op::Lend(target, slot) => self.c.lend(now, TargetId(target), self.live[slot]?, self.at(1)).ok()?,
            Op::EndLoan(target) => {
                if !self.c.end_loan(now, TargetId(target)) {
                    return None;
                }
            }
            Op::Tick => {
                self.c.next_wakeup(now)?;
                self.now += 1;
            }
            Op::Read => return self.read().then(Vec::new),
            Op::Arrive => return self.arrive().then(Vec::new),
            Op::Close => {
                let late = self.late.filter(|_| self.connected)?;
                self.connected = false;
                self.c.connection_closed(late);
                self.views.remove(&late);
                self.inbox.clear();
                self.acks.clear();
            }
            Op::Open => {
                let late = self.late.filter(|_| !self.connected)?;
                self.connected = true;
                self.c.connection_opened(late);
            }
            Op::Crash => {
                self.crash();
                return Some(Vec::new());
            }
            Op::CrashStart(slot) => {
                self.c.start(now, self.live[slot]?, &StartOptions { take: true, ..StartOptions::default() }).ok()?;
                return self.lose_a_step();
            }
            Op::CrashStop(slot) => {
                let queue = self.live[slot].filter(|q| self.c.is_claiming(*q))?;
                self.c.stop(now, queue, true);
                return self.lose_a_step();
            }
        }
        Some(self.settle())
    }

    /// A step is on record, its orders never leave.
    fn lose_a_step(&mut self) -> Option<Vec<Order>> {
        let mut c = std::mem::take(&mut self.c);
        let _lost = c.reconcile(self.at(0), &Held(self));
        self.c = c;
        for order in &_lost {
            if let Order::QueueGone { .. } = order {
                self.deliver(std::slice::from_ref(order));
            }
        }
        self.crash();
        Some(Vec::new())
    }

    fn ops(&self, world: &World) -> Vec<Op> {
        let slots = 0..world.queues.len();
        let targets = 0..world.targets;
        let ids: Vec<_> = self.live.iter().chain(&self.tombs).flatten().copied().collect();
        let mut ops = vec![Op::Read, Op::Arrive];
        // A late scheduler that is far behind reads first; this keeps the world finite.
        if self.inbox.len() + self.acks.len() > 2 {
            return ops;
        }
        ops.push(Op::Tick);
        for slot in slots.clone() {
            ops.extend([Op::Start(slot, false), Op::Start(slot, true), Op::Stop(slot, false), Op::Stop(slot, true)]);
            if world.groups {
                ops.extend([Op::Group(slot, None), Op::Group(slot, Some(1))]);
            }
            if world.waves {
                ops.push(Op::Waves(slot));
                ops.extend(slots.clone().map(|to| Op::SwitchInWaves(slot, to, world.plans)));
            }
            if world.removal {
                ops.extend([Op::Remove(slot), Op::Create(slot)]);
            }
            if world.members {
                ops.extend([Op::Members(slot, world.queues[slot].0), Op::Members(slot, 1)]);
            }
            if world.switches {
                ops.extend(slots.clone().flat_map(|to| [Op::Switch(slot, to, false), Op::Switch(slot, to, true)]));
            }
            if world.crashes {
                ops.extend([Op::CrashStart(slot), Op::CrashStop(slot)]);
            }
            if world.loans {
                ops.extend(targets.clone().map(|t| Op::Lend(t, slot)));
            }
        }
        if world.undo {
            ops.push(Op::Undo);
        }
        if world.plans {
            ops.push(Op::Cancel);
            for from in slots.clone() {
                ops.extend(slots.clone().flat_map(|to| [Op::Plan(from, to, false), Op::Plan(from, to, true)]));
            }
        }
        for target in targets {
            for id in &ids {
                ops.extend([Op::Job(*id, target), Op::End(*id, target)]);
                if world.found {
                    ops.push(Op::Found(*id, target));
                }
            }
            if world.offline {
                ops.extend([Op::Online(target, true), Op::Online(target, false)]);
            }
            if world.removal {
                ops.push(Op::RemoveTarget(target));
            }
            if world.loans {
                ops.push(Op::EndLoan(target));
            }
        }
        if world.external {
            ops.extend([Op::Close, Op::Open]);
        }
        if world.crashes {
            ops.push(Op::Crash);
        }
        ops
    }

    /// What tells states apart that may behave differently, with everything relative.
    fn key(&self) -> Vec<u8> {
        let label = |queue: QueueId| {
            let slot = |of: &[Option<QueueId>]| of.iter().position(|q| *q == Some(queue));
            slot(&self.live).or_else(|| slot(&self.tombs).map(|s| s + 16)).map_or(255, |l| l as u8)
        };
        let relative = |t: Timestamp| (t.micros() / 1_000_000).saturating_sub(self.now).clamp(-1, 100) as u8;
        let mut takes: Vec<_> = self.c.queues().filter_map(|q| self.c.take(q)).collect();
        takes.extend(self.c.groups().filter_map(|(_, g)| g.take()));
        takes.sort_unstable();
        takes.dedup();
        let rank =
            |take: Option<TakeStamp>| take.and_then(|t| takes.binary_search(&t).ok()).map_or(255, |rank| rank as u8);
        let mut key = Vec::with_capacity(64);
        for target in (0..self.jobs.len() as u32).map(TargetId) {
            let (state, owner) = match self.c.ownership(target) {
                None => (0, 0),
                Some(Ownership::Free) => (1, 0),
                Some(Ownership::Owned(q)) => (2, label(q)),
                Some(Ownership::Leaving(q)) => (3, label(q)),
            };
            let flags = u8::from(self.c.online().contains(target)) | u8::from(self.c.removing().contains(target)) << 1;
            key.extend([state, owner, flags]);
            let mut jobs: Vec<u8> = self.jobs[target.index()].iter().map(|q| label(*q)).collect();
            jobs.sort_unstable();
            key.push(jobs.len() as u8);
            key.append(&mut jobs);
        }
        for (target, loan) in self.c.loans() {
            key.extend([200, target.0 as u8, label(loan.lender), label(loan.borrower), relative(loan.until)]);
        }
        for queue in self.live.iter().chain(&self.tombs) {
            let Some(queue) = *queue else {
                key.push(201);
                continue;
            };
            let flags = u8::from(self.c.is_claiming(queue)) | u8::from(self.c.is_started(queue)) << 1;
            let bits = |set: &TargetSet| set.iter().fold(0u8, |bits, t| bits | 1 << t.0);
            let view = self.views.get(&queue).map_or(0, bits);
            let waves = self.c.max_leaving(queue).map_or(0, NonZeroU32::get) as u8;
            key.extend([flags, rank(self.c.take(queue)), bits(&self.c.awaiting(queue)), view, waves]);
        }
        for (_, group) in self.c.groups() {
            let phase = match group.phase {
                GroupPhase::Waiting => 100,
                GroupPhase::Gathering { expected } => relative(expected),
                GroupPhase::Committed => 101,
            };
            let min = group.request.min.unwrap_or(9) as u8;
            key.extend([202, label(group.queue), phase, relative(group.request.give_up), min, rank(group.take())]);
        }
        for (_, plan) in self.c.plans() {
            key.extend([207, relative(plan.at)]);
            key.extend(plan.request.release.iter().map(|q| label(*q)));
            key.extend(plan.request.start.iter().flat_map(|(q, options)| {
                [label(*q), u8::from(options.take) | u8::from(options.max_leaving.is_some()) << 1]
            }));
        }
        // What an undo would lead to.
        if let Some((latest, ..)) = self.c.switches().last() {
            let mut undone = self.c.clone();
            key.extend([208, u8::from(undone.undo(self.at(0), latest).is_ok())]);
            for queue in self.live.iter().flatten() {
                let waves = undone.max_leaving(*queue).is_some();
                let claims = undone.is_claiming(*queue);
                key.push(u8::from(claims) | u8::from(undone.is_started(*queue)) << 1 | u8::from(waves) << 2);
            }
            key.extend(undone.claims().into_iter().map(label));
        }
        key.extend(self.members.iter().map(|m| *m as u8));
        key.extend([203, self.late.map_or(99, label), u8::from(self.connected)]);
        let counts = |targets: &TargetSet, epoch: Epoch| {
            let latest = |t: &TargetId| self.late.is_some_and(|q| self.c.awaited(q, *t) == Some(epoch));
            targets.iter().filter(latest).fold(0u8, |bits, t| bits | 1 << t.0)
        };
        let all = |targets: &TargetSet| targets.iter().fold(0u8, |bits, t| bits | 1 << t.0);
        for message in &self.inbox {
            match message {
                Message::Up(targets) => key.extend([204, all(targets), 0]),
                Message::Down(targets, epoch) => key.extend([205, all(targets), counts(targets, *epoch)]),
            }
        }
        for (targets, epoch) in &self.acks {
            key.extend([206, counts(targets, *epoch)]);
        }
        key
    }
}

/// What happened and from which state, to tell how a bad state was reached.
type Trail = Vec<(usize, Op)>;

fn path(trail: &Trail, mut index: usize) -> Vec<Op> {
    let mut ops = Vec::new();
    while index > 0 {
        ops.push(trail[index].1);
        index = trail[index].0;
    }
    ops.reverse();
    ops
}

fn expected_times(state: &State) -> BTreeMap<GroupId, Timestamp> {
    let gathering = |(id, g): (GroupId, &Group)| match g.phase {
        GroupPhase::Gathering { expected } => Some((id, expected)),
        GroupPhase::Waiting | GroupPhase::Committed => None,
    };
    state.c.groups().filter_map(gathering).collect()
}

/// One step with all its checks.
fn step(state: &State, op: Op, twice: bool) -> Option<State> {
    let mut next = state.clone();
    let said = next.apply(op)?;
    if twice {
        let mut again = state.clone();
        assert_eq!(again.apply(op).as_ref(), Some(&said), "I7: the same step says the same");
        assert_eq!(again.c, next.c, "I7: the same step leads to the same state");
    }
    next.check();
    let before = expected_times(state);
    for (group, expected) in expected_times(&next) {
        assert!(before.get(&group).is_none_or(|earlier| expected <= *earlier), "an expected time moved later");
    }
    Some(next)
}

fn explore(world: &World) -> usize {
    let bound = std::env::var("SLUICE_MODEL_STATES").ok().and_then(|n| n.parse().ok()).unwrap_or(world.bound);
    let first = State::new(world);
    let mut seen = HashSet::from([first.key()]);
    let mut trail: Trail = vec![(0, Op::Tick)];
    let mut queue = VecDeque::from([(0, first)]);
    let mut steps = 0u64;
    while let Some((index, state)) = queue.pop_front() {
        if bound > 0 && seen.len() > bound {
            break;
        }
        for op in state.ops(world) {
            let twice = steps.is_multiple_of(16);
            let run = std::panic::AssertUnwindSafe(|| {
                let next = step(&state, op, twice)?;
                let key = next.key();
                if !seen.contains(&key) {
                    next.check_progress();
                }
                Some((next, key))
            });
            let Ok(result) = std::panic::catch_unwind(run) else {
                panic!("world {}: after {:?}, {op:?}", world.name, path(&trail, index));
            };
            let Some((next, key)) = result else { continue };
            steps += 1;
            if seen.insert(key) {
                trail.push((index, op));
                queue.push_back((trail.len() - 1, next));
            }
        }
    }
    let rest = if queue.is_empty() { "all" } else { "bounded" };
    println!("world {}: {} states, {steps} steps, {rest}", world.name, seen.len());
    assert!(seen.len() > 50, "a world that goes nowhere checks nothing");
    seen.len()
}

#[test]
fn ownership_holds_in_every_reachable_state() {
    let worlds = [
        World { name: "plain", switches: true, plans: true, ..PLAIN },
        World { name: "nodes come and go", offline: true, removal: true, ..PLAIN },
        World { name: "members change", members: true, found: true, ..PLAIN },
        World { name: "late scheduler", external: true, ..PLAIN },
        World {
            name: "late scheduler, one target",
            external: true,
            crashes: true,
            offline: true,
            removal: true,
            found: true,
            targets: 1,
            queues: &[(1, 0), (1, 0)],
            ..PLAIN
        },
        World { name: "crashes", crashes: true, found: true, external: true, ..PLAIN },
        World { name: "groups", groups: true, ..PLAIN },
        World {
            name: "three groups, one target",
            groups: true,
            offline: true,
            targets: 1,
            queues: &[(1, 0), (1, 0), (1, 1)],
            ..PLAIN
        },
        World {
            name: "groups over three targets",
            groups: true,
            targets: 3,
            queues: &[(0b111, 0), (0b011, 0), (0b110, 0)],
            ..PLAIN
        },
        World { name: "loans", loans: true, removal: true, queues: &[(0b11, 0), (0b11, 1)], ..PLAIN },
        World { name: "three queues", removal: true, queues: &[(0b11, 0), (0b01, 0), (0b11, 1)], ..PLAIN },
        World { name: "plans", plans: true, groups: true, loans: true, ..PLAIN },
        World { name: "waves", waves: true, offline: true, targets: 3, queues: &[(0b111, 0), (0b111, 0)], ..PLAIN },
        World { name: "waves, planned, lent, undone", waves: true, plans: true, loans: true, undo: true, ..PLAIN },
        World {
            name: "undo",
            undo: true,
            switches: true,
            groups: true,
            removal: true,
            queues: &[(0b11, 0), (0b11, 0), (0b10, 1)],
            ..PLAIN
        },
        World {
            name: "everything",
            plans: true,
            external: true,
            crashes: true,
            groups: true,
            loans: true,
            removal: true,
            found: true,
            offline: true,
            switches: true,
            members: true,
            waves: true,
            undo: true,
            targets: 3,
            queues: &[(0b111, 0), (0b011, 0), (0b110, 1)],
            ..PLAIN
        },
    ];
    let total: usize = worlds.iter().map(explore).sum();
    println!("{total} states of {} worlds", worlds.len());
}
