//! One scheduler alone under random messages: after each, the invariants that concern it (I2, I6 to I10) are checked
//! against a ledger fed by messages and answers only, against a second scheduler that was told the same, and against
//! one that was rebuilt on the way. `PROPTEST_CASES` sets the number of cases of each test.

mod scheduler_kit;

use proptest::prelude::*;
use scheduler_kit::{Bench, Only, cases, cores, d, graph, set, started};
use sluice::base::{Duration, JobId, QueueId, TargetId, TargetSet, Timeline, Timestamp, Window, Windows};
use sluice::config::{MatchPolicy, PoolConfig, QueuePolicy, SchedulerSettings};
use sluice::formats::count::{Count, Step};
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, PoolNeed, PoolNeeds, Reason, Shape, Within};
use sluice::planner::{PoolId, PoolShare, PoolSpan, PoolTable};
use sluice::scheduler::{Input, Output, PreemptRule, PreemptRules, Scheduler};
use std::collections::BTreeMap;
use std::sync::Arc;

const QUEUE_POLICIES: [QueuePolicy; 5] = [
    QueuePolicy::Fcfs,
    QueuePolicy::Easy,
    QueuePolicy::Hybrid,
    QueuePolicy::Conservative,
    QueuePolicy::ConservativeCompress,
];

/// What a world may have besides whole nodes of one kind.
#[derive(Clone, Copy, Debug)]
struct Spice {
    partial: bool,
    constraints: bool,
    windows: bool,
    changes: bool,
    depth: bool,
    match_policies: bool,
    pools: bool,
    preemption: bool,
}

#[derive(Clone, Debug)]
enum Op {
    Submit {
        size: u8,
        limit: u8,
        run: u8,
        kind: u8,
        only: u8,
        priority: u8,
    },
    Advance(u8),
    Finish(u8),
    FreePart(u8, u32),
    Cancel(u8),
    Prioritize(u8, u8),
    Expiration(u8, u8),
    Down(u32),
    Up(u32),
    Members(u32),
    Properties(u32),
    Graph(u8),
    Windows(u32, u8, u8),
    OwnWindows,
    Policy(u8),
    Rebuild,
    Budget(u8),
    Partly(u8),
    /// Somebody else takes of a pool, for so long and perhaps longer.
    OtherTakes(u8, u8, u8, bool),
    /// Somebody else gives back early.
    OtherFrees(u8),
    /// Pools have other sizes.
    Sizes(u8),
    /// Other rules of preemption.
    Rules(u8),
    /// Something outside makes a job give way.
    Preempt(u8, u8),
    /// A job's processes are gone.
    Ended(u8),
    /// A job is to wait again.
    Requeue(u8),
}

fn op(spice: Spice) -> BoxedStrategy<Op> {
    let any8 = any::<u8>;
    let submit = (1u8..=255, any8(), any8(), any8(), any8(), any8())
        .prop_map(|(size, limit, run, kind, only, priority)| Op::Submit { size, limit, run, kind, only, priority });
    let w = |on: bool, n: u32| u32::from(on) * n;
    let mut all: Vec<(u32, BoxedStrategy<Op>)> = vec![
        (30, submit.boxed()),
        (20, any8().prop_map(Op::Advance).boxed()),
        (8, any8().prop_map(Op::Finish).boxed()),
        (3, (any8(), any::<u32>()).prop_map(|(k, m)| Op::FreePart(k, m)).boxed()),
        (3, any8().prop_map(Op::Cancel).boxed()),
        (4, any8().prop_map(Op::Budget).boxed()),
        (2, any8().prop_map(Op::Partly).boxed()),
        (3, Just(Op::Rebuild).boxed()),
        (w(spice.changes, 3), (any8(), any8()).prop_map(|(k, p)| Op::Prioritize(k, p)).boxed()),
        (w(spice.changes, 3), (any8(), any8()).prop_map(|(k, p)| Op::Expiration(k, p)).boxed()),
        (w(spice.changes, 4), any::<u32>().prop_map(Op::Down).boxed()),
        (w(spice.changes, 5), any::<u32>().prop_map(Op::Up).boxed()),
        (w(spice.changes, 1), any::<u32>().prop_map(Op::Members).boxed()),
        (w(spice.changes && spice.constraints, 2), any::<u32>().prop_map(Op::Properties).boxed()),
        (w(spice.changes, 1), any8().prop_map(Op::Graph).boxed()),
        (w(spice.changes, 1), any8().prop_map(Op::Policy).boxed()),
        (w(spice.windows, 4), (any::<u32>(), any8(), any8()).prop_map(|(m, a, b)| Op::Windows(m, a, b)).boxed()),
        (w(spice.windows, 3), Just(Op::OwnWindows).boxed()),
        (
            w(spice.pools, 8),
            (any8(), any8(), any8(), any::<bool>()).prop_map(|(p, n, t, late)| Op::OtherTakes(p, n, t, late)).boxed(),
        ),
        (w(spice.pools, 6), any8().prop_map(Op::OtherFrees).boxed()),
        (w(spice.pools && spice.changes, 1), any8().prop_map(Op::Sizes).boxed()),
    ];
    all.extend([
        (w(spice.preemption, 2), any8().prop_map(Op::Rules).boxed()),
        (w(spice.preemption, 2), (any8(), any8()).prop_map(|(k, s)| Op::Preempt(k, s)).boxed()),
        (w(spice.preemption, 2), any8().prop_map(Op::Ended).boxed()),
        (w(spice.preemption, 3), any8().prop_map(Op::Requeue).boxed()),
    ]);
    all.retain(|(weight, _)| *weight > 0);
    proptest::strategy::Union::new_weighted(all).boxed()
}

struct Machine {
    bench: Bench,
    spice: Spice,
    next_id: u64,
    ends: BTreeMap<JobId, Timestamp>,
    /// How long a job really runs; never: until somebody ends it.
    runs: BTreeMap<JobId, Duration>,
    /// What was promised and may not move later.
    promises: BTreeMap<JobId, Timestamp>,
    overruns: BTreeMap<JobId, u32>,
    kinds: Vec<(u32, u32)>,
    /// How many of them are in the first of two racks.
    first: Option<usize>,
    /// The uses of pools by others that go on once after their planned end.
    late: Vec<PoolSpan>,
    /// How much of the log was read.
    read: usize,
    /// How many jobs were made to give way.
    preempted: usize,
}

fn settings(choice: u8, policy: QueuePolicy, spice: Spice) -> SchedulerSettings {
    let match_policy = match choice / 16 % 8 {
        1 if spice.match_policies => MatchPolicy::Hinode,
        2 if spice.match_policies => MatchPolicy::Low,
        3 if spice.match_policies => MatchPolicy::High,
        4 if spice.match_policies => MatchPolicy::Firstnodex,
        _ => MatchPolicy::First,
    };
    SchedulerSettings {
        queue_policy: policy,
        queue_depth: if spice.depth { [None, Some(1), Some(3), None][choice as usize % 4] } else { None },
        reservation_depth: [1, 2, 64][choice as usize / 4 % 3],
        match_policy,
        overrun_slack: d(3),
        release_margin: if spice.windows && choice % 2 == 1 { d(2) } else { Duration::ZERO },
        ..SchedulerSettings::default()
    }
}

fn shape(kind: u8, size: u8, n: u32, partial: bool) -> Shape {
    let size = u64::from(size) % u64::from(n + 1) + 1;
    let range = |min: u64, max: u64| Count::range(min, Some(max), Step::Add(1)).expect("a range");
    let amount = |kind: u8| Amount { cores: 1 + u32::from(kind / 64), gpus: u32::from(kind % 64 > 55) };
    let at_least = if partial && kind.is_multiple_of(7) { cores(3) } else { Amount::NONE };
    match kind % 8 {
        0 | 1 if partial => {
            Shape::Nodes { nodes: Count::fixed(1 + size / 2), slots: Count::fixed(1), slot: amount(kind) }
        }
        2 if partial => Shape::Nodes { nodes: range(1, size + 1), slots: range(1, 3), slot: cores(1) },
        3 if partial => Shape::Slots { slots: Count::fixed(size), slot: amount(kind) },
        4 if partial => Shape::Slots { slots: range(1, size + 2), slot: amount(kind) },
        5 => Shape::Whole { nodes: range(1 + size / 2, size + 2), at_least, slots_per_node: 2 },
        _ => Shape::Whole { nodes: Count::fixed(size), at_least, slots_per_node: 1 },
    }
}

impl Machine {
    fn new(n: u32, pattern: u32, policy: QueuePolicy, choice: u8, spice: Spice) -> Self {
        let mixed = spice.partial;
        let kind = |i: u32| match pattern >> (i % 16) & 3 {
            0 if mixed => (2, 1),
            1 if mixed => (1, 0),
            _ => (4, 0),
        };
        let kinds: Vec<(u32, u32)> = (0..n).map(kind).collect();
        let first = spice.pools.then_some(n as usize / 2);
        let mut machine = Self {
            bench: Bench::new(machine_of(&kinds, first), Properties::new(), settings(choice, policy, spice)),
            spice,
            next_id: 1,
            ends: BTreeMap::new(),
            runs: BTreeMap::new(),
            promises: BTreeMap::new(),
            overruns: BTreeMap::new(),
            kinds,
            first,
            late: Vec::new(),
            read: 0,
            preempted: 0,
        };
        if spice.preemption {
            machine.bench.rules(rules(choice));
        }
        if spice.pools {
            let table = pools(&machine.bench.ledger.graph, 3);
            machine.bench.pools(table);
        }
        if spice.constraints {
            machine.bench.properties(properties(n, pattern));
        }
        machine
    }

    fn n(&self) -> u32 {
        self.kinds.len() as u32
    }

    fn pick(&self, k: u8, running: bool) -> Option<u64> {
        let ids = if running { self.bench.ledger.running() } else { self.bench.ledger.waiting() };
        (!ids.is_empty()).then(|| ids[k as usize % ids.len()].0)
    }

    fn step(&mut self, op: &Op) {
        let n = self.n();
        let masked = |mask: u32| set((0..n).filter(|i| mask >> (i % 32) & 1 == 1));
        let bench = &mut self.bench;
        match *op {
            Op::Submit { size, limit, run, kind, only, priority } => {
                self.submit(size, limit, run, kind, only, priority)
            }
            Op::Advance(by) => self.advance(i64::from(by % 16) + 1),
            Op::Finish(k) => {
                if let Some(id) = self.pick(k, true) {
                    self.finish(id);
                    self.settle(usize::MAX);
                }
            }
            Op::FreePart(k, mask) => {
                if let Some(id) = self.pick(k, true) {
                    self.bench.free_part(id, masked(mask));
                    self.settle(usize::MAX);
                }
            }
            Op::Cancel(k) => {
                if let Some(id) = self.pick(k, false) {
                    self.bench.cancel(id);
                    self.settle(usize::MAX);
                }
            }
            Op::Prioritize(k, priority) => {
                if let Some(id) = self.pick(k, false) {
                    self.promises.clear();
                    let boosts = [0, 0, 0, -1000];
                    self.bench.prioritize(id, i64::from(priority % 3) + 15 + boosts[usize::from(priority % 4)]);
                    self.settle(usize::MAX);
                }
            }
            Op::Expiration(k, limit) => {
                if let Some(id) = self.pick(k, k % 2 == 0) {
                    self.promises.clear();
                    let limit = if limit == 255 { Duration::INFINITE } else { d(i64::from(limit % 40)) };
                    self.bench.expiration(id, limit);
                    self.settle(usize::MAX);
                }
            }
            Op::Down(mask) => {
                self.promises.clear();
                bench.down(masked(mask & mask >> 8));
                self.settle(usize::MAX);
            }
            Op::Up(mask) => {
                bench.up(&masked(mask) & &bench.ledger.members);
                self.settle(usize::MAX);
            }
            Op::Members(mask) => {
                self.promises.clear();
                // Who leaves is down first, as the coordinator has it.
                let members = masked(mask | mask >> 5);
                let leaving = &bench.ledger.up - &members;
                bench.down(leaving);
                bench.members(members);
                self.settle(usize::MAX);
            }
            Op::Properties(pattern) => {
                self.promises.clear();
                bench.properties(properties(n, pattern));
                self.settle(usize::MAX);
            }
            Op::Graph(k) if n < 30 => {
                self.promises.clear();
                self.kinds.push(if k % 2 == 0 { (4, 1) } else { (2, 0) });
                let (kinds, n) = (&self.kinds, n + 1);
                let addition = machine_of(kinds, self.first);
                let graph = bench.ledger.graph.extend(&addition).expect("an addition").graph;
                assert_eq!(graph.target_bound(), n as usize);
                bench.graph(graph.into());
                let mut members = bench.ledger.members.clone();
                members.insert(TargetId(n - 1));
                bench.members(members);
                bench.up(set([n - 1]));
                self.settle(usize::MAX);
            }
            Op::Graph(_) => {}
            Op::Windows(mask, a, b) => {
                self.promises.clear();
                let windows = timelines(bench.now, n, mask, a, b);
                bench.windows(windows);
                self.settle(usize::MAX);
            }
            Op::OwnWindows => self.own_windows(),
            Op::Policy(choice) => {
                self.promises.clear();
                let policy = QUEUE_POLICIES[choice as usize % 5];
                // A changed slack would make planned ends depend on when it was changed.
                bench.policy(settings(choice.rotate_left(3), policy, self.spice));
                self.settle(usize::MAX);
            }
            Op::Rebuild => {
                self.settle(usize::MAX);
                self.bench.heir = Some(self.bench.rebuilt());
            }
            Op::Budget(budget) => self.settle(usize::from(budget % 4) + 1),
            Op::Partly(budget) => {
                // The heir cannot stop at the same job.
                bench.heir = None;
                let (out, _) = bench.pass_once(usize::from(budget % 3));
                self.note(&started(&out));
            }
            Op::OtherTakes(pool, amount, time, late) => self.other_takes(pool, amount, time, late),
            Op::OtherFrees(k) => {
                let others = &mut bench.ledger.pools.others;
                if !others.is_empty() {
                    others.remove(k as usize % others.len());
                    self.pools_changed();
                }
            }
            Op::Sizes(size) => {
                self.promises.clear();
                let table = pools(&bench.ledger.graph, u64::from(size % 4) + 1);
                let table = bench.ledger.pools.table.renewed(table);
                bench.pools(table);
                self.settle(usize::MAX);
            }
            Op::Rules(choice) => {
                self.promises.clear();
                bench.rules(rules(choice));
                self.settle(usize::MAX);
            }
            Op::Preempt(k, secs) => {
                if let Some(id) = self.pick(k, true) {
                    self.promises.clear();
                    let until = self.bench.now + d(i64::from(secs % 8));
                    self.bench.preempt(id, until);
                    let end = self.ends.entry(JobId(id)).or_insert(Timestamp::NEVER);
                    *end = (*end).min(until + d(i64::from(secs % 3)));
                    self.settle(usize::MAX);
                }
            }
            Op::Ended(k) => {
                if let Some(id) = self.pick(k, true) {
                    self.bench.ended(id);
                    self.settle(usize::MAX);
                }
            }
            Op::Requeue(k) => {
                if let Some(id) = self.pick(k, true).filter(|id| *id < u64::MAX / 2) {
                    self.requeue(id);
                }
            }
        }
    }

    fn requeue(&mut self, id: u64) {
        let request = self.bench.ledger.jobs[&JobId(id)].request.clone();
        let only = self.bench.ledger.jobs[&JobId(id)].only.clone();
        let name = u64::MAX - self.next_id;
        self.next_id += 1;
        self.promises.clear();
        self.bench.rename(id, name);
        self.ends.remove(&JobId(id));
        self.ends.insert(JobId(name), self.bench.now + d(1 + name as i64 % 4));
        self.bench.submit_again(request, only);
        self.settle(usize::MAX);
    }

    /// What was said about preemption: who is told to give way ends before, at or after the time for it.
    fn read_log(&mut self) {
        for (at, output) in &self.bench.log[self.read..] {
            match output {
                Output::Preempt { victims, .. } => {
                    self.promises.clear();
                    self.preempted += victims.len();
                    for (victim, until) in victims {
                        let end = match victim.0 % 4 {
                            0 => *at + d(1),
                            1 | 2 => *until,
                            _ => *until + d(victim.0 as i64 % 9),
                        };
                        let end = end.max(*at);
                        self.ends.entry(*victim).and_modify(|e| *e = end.min(*e)).or_insert(end);
                    }
                }
                Output::HoldEnded { .. } => self.promises.clear(),
                _ => {}
            }
        }
        self.read = self.bench.log.len();
    }

    fn submit(&mut self, size: u8, limit: u8, run: u8, kind: u8, only: u8, priority: u8) {
        let only = match only % 10 {
            0 if self.spice.constraints => Only::With("a"),
            1 if self.spice.constraints => Only::Without("a"),
            2 if self.spice.constraints => Only::With("b"),
            3 if self.spice.constraints => Only::Hosts(0, self.n() / 2),
            _ => Only::All,
        };
        let shape = shape(kind, size, self.n(), self.spice.partial);
        let limit = match limit {
            255 => Duration::INFINITE,
            n if n % 32 == 31 => Duration::ZERO,
            n => d(i64::from(n % 32) + 1),
        };
        let run = match run % 8 {
            0..=2 => limit,
            3 if self.spice.changes => limit + d(i64::from(run / 8)),
            _ => Duration::from_micros(limit.micros().min(30_000_000) / 100 * i64::from(run / 4 + 30)),
        };
        // A higher one, as of an expedited queue; a lower one than any of its own, as of a standby queue.
        let priority = match priority % 8 {
            1 => 17,
            2 => -984,
            _ => 16,
        };
        let ledger = &self.bench.ledger;
        let overtakes = ledger.waiting().iter().any(|id| ledger.jobs[id].request.priority.0 < priority);
        if overtakes && ledger.settings.queue_policy == QueuePolicy::Easy {
            self.promises.clear();
        }
        let id = self.next_id;
        self.next_id += 1;
        self.runs.insert(JobId(id), run);
        let needs = if self.spice.pools { needs(size ^ kind.rotate_left(3)) } else { PoolNeeds::default() };
        let class = if self.spice.preemption { u32::from(size ^ kind.rotate_left(2)) % 4 } else { 0 };
        self.bench.submit_with((id, class), priority, limit, shape, only, needs);
        if !id.is_multiple_of(3) {
            self.settle(usize::MAX);
        }
    }

    fn other_takes(&mut self, pool: u8, amount: u8, time: u8, late: bool) {
        let bench = &mut self.bench;
        let share = PoolShare { pool: PoolId(u32::from(pool) % 5), amount: u64::from(amount % 3) + 1 };
        let span = PoolSpan { share, from: bench.now, until: bench.now + d(i64::from(time % 40) + 1) };
        if bench.ledger.pools.take(&bench.scheduler, span, bench.now) && late && self.spice.changes {
            self.late.extend(bench.ledger.pools.others.last());
        }
        self.settle(usize::MAX);
    }

    /// As the site does where something of a pool becomes free, or does not although it was planned.
    fn pools_changed(&mut self) {
        if self.bench.scheduler.waits_for_pools() {
            self.bench.tell(Input::Reconsider);
        }
        self.settle(usize::MAX);
    }

    /// The first planned end of what others have of pools.
    fn others_end(&self) -> Timestamp {
        let others = &self.bench.ledger.pools.others;
        others.iter().map(|span| span.until).min().unwrap_or(Timestamp::NEVER)
    }

    /// What others have had of pools until now is free, or they keep it a little longer.
    fn end_others(&mut self) {
        let now = self.bench.now;
        let others = &mut self.bench.ledger.pools.others;
        if others.iter().all(|span| span.until > now) {
            return;
        }
        let mut over = Vec::new();
        others.retain(|span| {
            let ends = span.until <= now;
            over.extend(Some(*span).filter(|_| ends));
            !ends
        });
        for span in over {
            if let Some(at) = self.late.iter().position(|late| *late == span) {
                self.late.remove(at);
                self.promises.clear();
                self.bench.ledger.pools.others.push(PoolSpan { until: now + d(3), ..span });
            }
        }
        self.pools_changed();
    }

    fn finish(&mut self, id: u64) {
        self.ends.remove(&JobId(id));
        self.bench.free(id);
    }

    /// Time goes on, from event to event.
    fn advance(&mut self, secs: i64) {
        let until = self.bench.now + d(secs);
        self.settle(usize::MAX);
        loop {
            let end = self.ends.values().min().copied().unwrap_or(Timestamp::NEVER);
            let wakeup = self.bench.scheduler.next_wakeup().unwrap_or(Timestamp::NEVER);
            let next = end.min(wakeup).min(self.others_end());
            if next > until {
                break;
            }
            self.go_to(self.bench.now.max(next));
            let due: Vec<u64> = self.ends.iter().filter(|(_, e)| **e <= self.bench.now).map(|(id, _)| id.0).collect();
            due.into_iter().for_each(|id| self.finish(id));
            self.end_others();
            self.settle(usize::MAX);
            let again = self.bench.scheduler.next_wakeup();
            assert!(again.is_none_or(|at| at > self.bench.now), "a wakeup is served by a pass");
        }
        self.go_to(until);
        self.settle(usize::MAX);
    }

    /// Targets that were to come with a window and did not are lost.
    fn go_to(&mut self, now: Timestamp) {
        let opens = |w: &Window| self.bench.now < w.from && w.from <= now;
        if self.bench.ledger.windows.timelines.iter().flat_map(|t| &t.windows).any(opens) {
            self.promises.clear();
        }
        self.bench.now = now;
    }

    /// Up is what the windows say.
    fn own_windows(&mut self) {
        self.promises.clear();
        let now = self.bench.now;
        let ledger = &self.bench.ledger;
        let mine = |t: &TargetId| {
            ledger.windows.of(*t).is_none_or(|windows| windows.iter().any(|w| w.from <= now && now < w.until))
        };
        let should: TargetSet = ledger.members.iter().filter(mine).collect();
        let (up, down) = (&should - &ledger.up, &ledger.up - &should);
        self.bench.down(down);
        self.bench.up(up);
        self.settle(usize::MAX);
    }

    fn note(&mut self, started: &[JobId]) {
        for id in started {
            self.ends.insert(*id, self.bench.now + self.runs[id]);
            self.promises.remove(id);
        }
    }

    /// A pass to its end, and all that must hold after it.
    fn settle(&mut self, budget: usize) {
        let before = self.bench.clone();
        let began = self.bench.pass_by(budget);
        if budget != usize::MAX {
            self.same_as_one_pass(&before, &began);
        }
        self.note(&began);
        self.read_log();
        self.nothing_more_starts();
        self.nobody_behind_matters();
        self.promises_are_kept();
        self.the_first_cannot_start();
        self.nothing_overtakes(&began, &before);
    }

    fn same_as_one_pass(&self, before: &Bench, began: &[JobId]) {
        let mut one = before.clone();
        one.heir = None;
        let mut whole = one.pass();
        let mut began = began.to_vec();
        whole.sort();
        began.sort();
        assert_eq!(began, whole, "budgeted passes start what one pass starts");
    }

    /// I10, of the scheduler itself and of one rebuilt, now and until the next wakeup.
    fn nothing_more_starts(&self) {
        let bench = &self.bench;
        let pass = |scheduler: &mut Scheduler, at| {
            let out = bench.ledger.pools.pass(scheduler, at);
            assert!(!out.iter().any(|o| matches!(o, Output::Preempt { .. })), "I10: {out:?}");
            started(&out)
        };
        let mut again = bench.scheduler.clone();
        assert_eq!(pass(&mut again, bench.now), [], "I10: a pass after a pass");
        let mut heir = bench.rebuilt();
        assert_eq!(pass(&mut heir, bench.now), [], "I10: a pass of a rebuilt scheduler");
        assert_eq!(plans(&heir), plans(&bench.scheduler), "I8: a rebuilt scheduler plans the same");
        let wakeup = bench.scheduler.next_wakeup().unwrap_or(Timestamp::NEVER);
        assert!(wakeup > bench.now, "nothing is left to do");
        let later = (wakeup.min(self.others_end()) - Duration::from_micros(1)).min(bench.now + d(60));
        if !bench.scheduler.needs_pass(later) {
            // Overruns count from the wakeup on only where there are plans: fcfs has none.
            let mut heir = bench.rebuilt();
            assert_eq!(pass(&mut heir, later), [], "nothing starts before the wakeup at {wakeup}");
        }
    }

    /// I9 within a pass.
    fn nobody_behind_matters(&self) {
        let bench = &self.bench;
        if bench.ledger.settings.queue_policy == QueuePolicy::ConservativeCompress {
            return;
        }
        let all: Vec<_> = bench.scheduler.waiting().collect();
        let planned: Vec<usize> = (0..all.len()).filter(|i| all[*i].planned.is_some()).collect();
        let Some(at) = planned.get(all.len() * 7 % planned.len().max(1)) else { return };
        let mut alone = bench.scheduler.clone();
        let mut out = Vec::new();
        let behind = all[at + 1..].iter().filter(|w| !w.held).map(|w| w.job.id);
        behind.for_each(|id| alone.handle(bench.now, Input::Cancel(id), &mut out));
        bench.ledger.pools.pass(&mut alone, bench.now);
        let alone = alone.waiting().find(|w| w.job.id == all[*at].job.id).expect("it waits");
        assert_eq!((alone.job.id, alone.planned), (all[*at].job.id, all[*at].planned), "I9");
    }

    /// I9 across passes.
    fn promises_are_kept(&mut self) {
        let overruns: BTreeMap<JobId, u32> =
            self.bench.scheduler.running().iter().map(|r| (r.job.id, r.overruns)).collect();
        if overruns.iter().any(|(id, n)| *n > self.overruns.get(id).copied().unwrap_or(0)) {
            self.promises.clear();
        }
        self.overruns = overruns;
        let policy = self.bench.ledger.settings.queue_policy;
        let planned = self.bench.scheduler.waiting().filter_map(|w| Some((w.job.id, w.planned?)));
        let planned: BTreeMap<JobId, Timestamp> = match policy {
            // A job before the head that had no finite start may have one again and is the head then.
            QueuePolicy::Easy => {
                let first = self.bench.scheduler.waiting().next();
                first.and_then(|w| Some((w.job.id, w.planned?))).into_iter().collect()
            }
            QueuePolicy::ConservativeCompress => planned.collect(),
            QueuePolicy::Fcfs | QueuePolicy::Hybrid | QueuePolicy::Conservative => BTreeMap::new(),
        };
        for (id, before) in &self.promises {
            let known = self.bench.ledger.jobs.contains_key(id);
            match planned.get(id) {
                Some(now) => assert!(now <= before, "I9: {id} was promised {before}, is planned at {now}"),
                None if policy == QueuePolicy::ConservativeCompress && known => panic!("I9: {id} lost {before}"),
                None => {}
            }
        }
        self.promises = planned;
    }

    /// Judged by whole nodes alone: the first that waits and is not set aside has too few.
    fn the_first_cannot_start(&self) {
        let bench = &self.bench;
        let ledger = &bench.ledger;
        let aside = |id: &JobId| {
            let why = bench.scheduler.explain(*id, bench.now);
            matches!(why, Some(Reason::NoFiniteStart(_) | Reason::ExceedsWindow { .. }))
        };
        let waiting = ledger.waiting();
        // Reservations that were made before a job with a higher priority came stay under conservative-compress.
        if ledger.settings.queue_policy == QueuePolicy::ConservativeCompress {
            return;
        }
        let Some(first) = waiting.iter().find(|id| !aside(id) && !ledger.holds.contains_key(id)) else { return };
        let job = &ledger.jobs[first];
        let Shape::Whole { nodes, .. } = &job.request.request.shape else { return };
        if !job.request.request.shared.is_empty() {
            return;
        }
        let free = self.could_serve(*first, true);
        assert!((free as u64) < nodes.min(), "{first} waits for {nodes} while {free} are free");
    }

    /// How many up targets could serve a job now: all, or those that nobody holds.
    fn could_serve(&self, id: JobId, free: bool) -> usize {
        let ledger = &self.bench.ledger;
        let job = &ledger.jobs[&id];
        let Shape::Whole { at_least, .. } = &job.request.request.shape else { unreachable!("whole nodes") };
        let held = |t: TargetId| {
            ledger.jobs.values().any(|j| j.held.contains_key(&t)) || ledger.holds.values().any(|h| h.contains(t))
        };
        let time = job.request.limit.max(Duration::from_micros(1));
        let end = self.bench.now + time + ledger.settings.release_margin;
        let now = self.bench.now;
        let fits = |t: &TargetId| {
            let target = ledger.graph.target(*t).expect("a target");
            let window = |w: &Window| w.from <= now && end <= w.until;
            ledger.up.contains(*t)
                && target.cores() >= at_least.cores
                && job.only.admits(*t, &ledger.properties)
                && (!free || !held(*t) && ledger.windows.of(*t).is_none_or(|w| w.iter().any(window)))
        };
        ledger.members.iter().filter(fits).count()
    }

    /// fcfs: who starts has before it only jobs that what is up can never serve.
    fn nothing_overtakes(&self, began: &[JobId], before: &Bench) {
        let ledger = &self.bench.ledger;
        if ledger.settings.queue_policy != QueuePolicy::Fcfs || self.spice.windows {
            return;
        }
        // For whom something was held had its turn when that began.
        for late in began.iter().filter(|id| !before.ledger.holds.contains_key(id)) {
            let key = |id: &JobId| {
                let r = &ledger.jobs[id].request;
                (std::cmp::Reverse(r.priority), r.submitted, r.id)
            };
            let waits = |id: &&JobId| key(id) < key(late) && !ledger.holds.contains_key(id);
            for early in ledger.waiting().iter().filter(waits) {
                let request = &ledger.jobs[early].request.request;
                let Shape::Whole { nodes, .. } = &request.shape else { continue };
                if request.shared.within.is_some() {
                    continue;
                }
                let up = self.could_serve(*early, false) as u64;
                assert!(up < nodes.min(), "{late} overtook {early}, which {up} targets could serve");
            }
        }
    }
}

/// Nodes of some kinds, perhaps in two racks.
fn machine_of(kinds: &[(u32, u32)], first: Option<usize>) -> Arc<Graph> {
    match first {
        Some(first) => scheduler_kit::pools::racks(kinds, first),
        None => graph(kinds),
    }
}

/// The pools of a graph, and licences.
fn pools(graph: &Graph, licences: u64) -> PoolTable {
    let licences = PoolConfig { name: "app".to_owned(), kind: "licence".to_owned(), size: licences };
    PoolTable::new(graph, &[licences])
}

/// What a job takes of pools: often nothing, of one kind or of several, in one rack or anywhere.
fn needs(choice: u8) -> PoolNeeds {
    let amount = u64::from(choice / 8 % 4) + 1;
    let need = |kind: &str, amount, within| PoolNeed { kind: kind.to_owned(), amount, within };
    let racks = |count, exclusive| Some(Within { kind: "rack".to_owned(), count, exclusive });
    let (needs, within) = match choice % 10 {
        0 => (vec![need("licence", 1 + amount / 2, false)], None),
        1 => (vec![need("power", amount, false)], None),
        2 => (vec![need("flash", amount, true)], racks(1, false)),
        3 => (vec![need("flash", 2 * amount, false), need("licence", 1, false)], None),
        4 => (vec![need("flash", amount, true), need("flash", 1, false), need("power", 1, false)], racks(1, false)),
        5 if choice > 128 => (Vec::new(), racks(1, false)),
        5 => (vec![need("flash", amount, true), need("flash", 1, false)], racks(2, false)),
        6 if choice > 128 => (Vec::new(), racks(1, true)),
        6 => (vec![need("licence", 1, false), need("flash", 1, true)], racks(1 + amount % 2, true)),
        _ => (Vec::new(), None),
    };
    PoolNeeds { needs, within }
}

/// Rules of preemption among four classes: the first may preempt all that can be, the last two are standby and the like.
fn rules(choice: u8) -> PreemptRules {
    let rule = |preemptible, n: u8, over: &[u32]| PreemptRule {
        preemptible,
        protected: d(i64::from(n % 4) * 3),
        grace: d(i64::from(n / 4 % 4) * 2),
        over: over.iter().map(|n| QueueId(*n)).collect(),
    };
    let rules = [
        rule(false, choice, &[1, 2, 3]),
        rule(choice % 8 == 7, choice, if choice.is_multiple_of(2) { &[2, 3] } else { &[] }),
        rule(choice % 16 != 3, choice / 2, if choice.is_multiple_of(3) { &[3] } else { &[] }),
        rule(true, choice / 3, &[]),
    ];
    PreemptRules { queues: (0..).map(QueueId).zip(rules).collect() }
}

fn plans(scheduler: &Scheduler) -> Vec<(JobId, Option<Timestamp>)> {
    scheduler.waiting().map(|w| (w.job.id, w.planned)).collect()
}

fn properties(n: u32, pattern: u32) -> Properties {
    let mut properties = Properties::new();
    properties.set_all("a", &set((0..n).filter(|i| pattern >> (i % 32) & 1 == 0)));
    properties.set_all("b", &set((0..n).filter(|i| pattern.rotate_left(7) >> (i % 32) & 1 == 0)));
    properties
}

/// Up to three timelines over parts of the targets.
fn timelines(now: Timestamp, n: u32, mask: u32, a: u8, b: u8) -> Windows {
    let (a, b) = (a % 60, b % 60);
    let at = |x: u8| now + d(i64::from(x) + 1);
    let (from, until) = (at(a.min(b)), at(a.max(b)) + d(1));
    let lists = [
        vec![Window { from: Timestamp::MIN, until: at(a) }],
        vec![Window { from, until }],
        vec![Window { from: Timestamp::MIN, until: from }, Window { from: until, until: Timestamp::NEVER }],
    ];
    let timelines = lists.into_iter().zip(1u32..).map(|(windows, group)| Timeline {
        targets: set((0..n).filter(|i| mask >> (i * 2 % 31) & 3 == group)),
        windows,
    });
    Windows { timelines: timelines.filter(|t| !t.targets.is_empty()).collect() }
}

fn run(n: u32, pattern: u32, policy: QueuePolicy, choice: u8, spice: Spice, ops: &[Op]) {
    let mut machine = Machine::new(n, pattern, policy, choice, spice);
    for op in ops {
        machine.step(op);
    }
    // In the end everything that can be served is: nothing is forgotten (I6).
    machine.advance(1);
    for _ in 0..200 {
        let Some(id) = machine.pick(0, true) else { break };
        machine.finish(id);
        machine.advance(1);
    }
}

macro_rules! machine {
    ($name:ident, $spice:expr, $policies:expr, $length:expr, $cases:expr) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: cases($cases), max_shrink_iters: 20_000, ..ProptestConfig::default() })]
            #[test]
            fn $name(
                n in 3u32..14,
                pattern in any::<u32>(),
                policy in 0usize..$policies.len(),
                choice in any::<u8>(),
                ops in prop::collection::vec(op($spice), 1..$length),
            ) {
                run(n, pattern, $policies[policy], choice, $spice, &ops);
            }
        }
    };
}

const PLAIN: Spice = Spice {
    partial: false,
    constraints: false,
    windows: false,
    changes: false,
    depth: false,
    match_policies: false,
    pools: false,
    preemption: false,
};

machine!(whole_nodes, PLAIN, QUEUE_POLICIES, 60, 60);
machine!(whole_nodes_that_change, Spice { changes: true, ..PLAIN }, QUEUE_POLICIES, 60, 60);
machine!(queue_depth, Spice { changes: true, depth: true, ..PLAIN }, QUEUE_POLICIES, 60, 40);
machine!(constraints, Spice { constraints: true, ..PLAIN }, QUEUE_POLICIES, 60, 60);
machine!(constraints_that_change, Spice { constraints: true, changes: true, ..PLAIN }, QUEUE_POLICIES, 60, 40);
machine!(windows, Spice { windows: true, ..PLAIN }, QUEUE_POLICIES, 50, 60);
machine!(windows_that_change, Spice { windows: true, changes: true, ..PLAIN }, QUEUE_POLICIES, 50, 40);
machine!(parts_of_nodes, Spice { partial: true, ..PLAIN }, QUEUE_POLICIES, 50, 40);
machine!(
    parts_that_change,
    Spice { partial: true, changes: true, match_policies: true, ..PLAIN },
    QUEUE_POLICIES,
    50,
    40
);
machine!(
    everything,
    Spice {
        partial: true,
        constraints: true,
        windows: true,
        changes: true,
        depth: true,
        match_policies: true,
        ..PLAIN
    },
    QUEUE_POLICIES,
    50,
    60
);
machine!(preemption, Spice { preemption: true, ..PLAIN }, QUEUE_POLICIES, 60, 80);
machine!(preemption_that_changes, Spice { preemption: true, changes: true, ..PLAIN }, QUEUE_POLICIES, 60, 80);
machine!(
    preemption_and_more,
    Spice { preemption: true, constraints: true, windows: true, changes: true, partial: true, depth: true, ..PLAIN },
    QUEUE_POLICIES,
    50,
    80
);
machine!(shared_pools, Spice { pools: true, ..PLAIN }, QUEUE_POLICIES, 60, 60);
machine!(shared_pools_that_change, Spice { pools: true, changes: true, depth: true, ..PLAIN }, QUEUE_POLICIES, 60, 60);
machine!(
    everything_with_pools,
    Spice {
        partial: true,
        constraints: true,
        windows: true,
        changes: true,
        depth: true,
        match_policies: true,
        pools: true,
        preemption: true,
    },
    QUEUE_POLICIES,
    50,
    60
);
