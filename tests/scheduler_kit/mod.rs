//! What the tests of one scheduler alone share: small worlds, a ledger that is fed by messages and answers only, and a
//! bench that checks every answer against it. Shares no code with the scheduler beyond the types of the messages.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod pools;

use pools::World;
use sluice::base::{Duration, Epoch, JobId, Priority, QueueId, TargetId, TargetSet, Timestamp, Windows};
use sluice::config::SchedulerSettings;
use sluice::formats::constraint::{Constraint, PropertyTerm};
use sluice::formats::count::Count;
use sluice::formats::r::R;
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, Extent, Freed, PoolNeeds, Request, Selection, Shape};
use sluice::planner::PoolTable;
use sluice::scheduler::{Input, JobRequest, Output, PassEnd, PreemptRules, Scheduler};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub fn t(secs: i64) -> Timestamp {
    Timestamp::from_secs(secs)
}

pub fn d(secs: i64) -> Duration {
    Duration::from_secs(secs)
}

pub fn set(ids: impl IntoIterator<Item = u32>) -> TargetSet {
    ids.into_iter().map(TargetId).collect()
}

/// Nodes with these cores and gpus, `node0`, `node1`, … by rank.
pub fn graph(nodes: &[(u32, u32)]) -> Arc<Graph> {
    let list = |n: u32| if n == 1 { "0".to_owned() } else { format!("0-{}", n - 1) };
    let entry = |(rank, (cores, gpus)): (usize, &(u32, u32))| {
        let gpu = if *gpus > 0 { format!(r#","gpu":"{}""#, list(*gpus)) } else { String::new() };
        format!(r#"{{"rank":"{rank}","children":{{"core":"{}"{gpu}}}}}"#, list(*cores))
    };
    let ranks: Vec<String> = nodes.iter().enumerate().map(entry).collect();
    let hosts = format!("node[0-{}]", nodes.len() - 1);
    let text = format!(
        r#"{{"version":1,"execution":{{"R_lite":[{}],"nodelist":["{hosts}"],"starttime":0,"expiration":0}}}}"#,
        ranks.join(",")
    );
    Arc::new(Graph::from_r(&R::parse(&text).expect("a sound R")).expect("a sound graph").0)
}

/// A constraint in a form that the ledger judges by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Only {
    All,
    With(&'static str),
    Without(&'static str),
    Hosts(u32, u32),
}

impl Only {
    pub fn constraint(&self) -> Option<Constraint> {
        let term = |name: &str, negated| Constraint::Properties(vec![PropertyTerm { name: name.into(), negated }]);
        match self {
            Only::All => None,
            Only::With(name) => Some(term(name, false)),
            Only::Without(name) => Some(term(name, true)),
            Only::Hosts(from, to) => {
                Some(Constraint::Hostlist(format!("node[{from}-{to}]").parse().expect("a hostlist")))
            }
        }
    }

    pub fn admits(&self, target: TargetId, properties: &Properties) -> bool {
        match self {
            Only::All => true,
            Only::With(name) => properties.has(name, target),
            Only::Without(name) => !properties.has(name, target),
            Only::Hosts(from, to) => (*from..=*to).contains(&target.0),
        }
    }
}

pub fn nodes(n: u64) -> Shape {
    whole(Count::fixed(n))
}

pub fn whole(nodes: Count) -> Shape {
    Shape::Whole { nodes, at_least: Amount::NONE, slots_per_node: 1 }
}

pub fn cores(n: u32) -> Amount {
    Amount { cores: n, gpus: 0 }
}

/// What is known of a job from the messages alone.
#[derive(Clone, Debug)]
pub struct Known {
    pub request: JobRequest,
    pub only: Only,
    /// What it was given, less what it gave back.
    pub held: BTreeMap<TargetId, Extent>,
    pub started: Option<Timestamp>,
    pub selection: Option<Arc<Selection>>,
    /// It is being preempted, and was to be gone by then.
    pub cut: Option<Timestamp>,
    /// Its processes are gone.
    pub ended: bool,
}

/// The world as told.
#[derive(Clone)]
pub struct Ledger {
    pub graph: Arc<Graph>,
    pub properties: Arc<Properties>,
    pub members: TargetSet,
    pub up: TargetSet,
    pub windows: Arc<Windows>,
    pub settings: SchedulerSettings,
    pub jobs: BTreeMap<JobId, Known>,
    /// Who may be preempted, and by whom.
    pub rules: Arc<PreemptRules>,
    /// What is held for waiting jobs that others give way to.
    pub holds: BTreeMap<JobId, TargetSet>,
    /// The shared pools, and who beside the scheduler has what of them.
    pub pools: World,
}

impl Ledger {
    pub fn waiting(&self) -> Vec<JobId> {
        let mut ids: Vec<&Known> = self.jobs.values().filter(|j| j.started.is_none()).collect();
        ids.sort_by_key(|j| (std::cmp::Reverse(j.request.priority), j.request.submitted, j.request.id));
        ids.iter().map(|j| j.request.id).collect()
    }

    pub fn running(&self) -> Vec<JobId> {
        self.jobs.values().filter(|j| j.started.is_some()).map(|j| j.request.id).collect()
    }

    fn granted(&mut self, now: Timestamp, id: JobId, selection: &Arc<Selection>) {
        let job = self.jobs.get(&id).unwrap_or_else(|| panic!("alloc of {id}, which does not wait"));
        assert!(job.started.is_none(), "job {id} is granted twice");
        let end = now + job.request.limit + self.settings.release_margin;
        for (other, held) in self.holds.iter().filter(|(other, _)| **other != id) {
            let taken = selection.targets().find(|t| held.contains(*t));
            assert_eq!(taken, None, "I9: {id} gets what is held for {other}");
        }
        if let Some(held) = self.holds.remove(&id) {
            assert_eq!(selection.target_set(), held, "{id} starts on what was held for it");
        }
        let mut last = None;
        for share in &selection.shares {
            let target = share.target;
            assert!(last < Some(target), "job {id}: shares ascend");
            last = Some(target);
            assert!(self.members.contains(target) && self.up.contains(target), "job {id}: target {target} is up");
            assert!(job.only.admits(target, &self.properties), "job {id}: target {target} is admitted");
            if let Some(windows) = self.windows.of(target) {
                let inside = windows.iter().any(|w| w.from <= now && end <= w.until);
                assert!(inside, "job {id} from {now} to {end} is outside the windows {windows:?} of {target}");
            }
            for (other, held) in self.jobs.iter().filter_map(|(other, j)| Some((other, j.held.get(&target)?))) {
                let apart = match (held, &share.extent) {
                    (Extent::Part(a), Extent::Part(b)) => a.cores.is_disjoint(&b.cores) && a.gpus.is_disjoint(&b.gpus),
                    (Extent::Whole, _) | (_, Extent::Whole) => false,
                };
                assert!(apart, "I2: target {target} granted to {id} while {other} holds {held:?}");
            }
        }
        self.check_counts(id, selection);
        self.check_pools(now, id, selection);
        let job = self.jobs.get_mut(&id).expect("known");
        job.held = selection.shares.iter().map(|s| (s.target, s.extent.clone())).collect();
        job.started = Some(now);
        job.selection = Some(Arc::clone(selection));
    }

    /// Jobs are to give way: the rules let them, they are as few as can be, and with them the other can start.
    fn preempts(&mut self, now: Timestamp, id: JobId, targets: &TargetSet, victims: &[(JobId, Timestamp)]) {
        let waiting = &self.jobs[&id];
        assert!(waiting.started.is_none() && !self.holds.contains_key(&id), "{id} waits, and nothing is held for it");
        let Shape::Whole { nodes, .. } = &waiting.request.request.shape else { panic!("{id} asks for whole nodes") };
        assert_eq!(targets.len() as u64, nodes.min(), "{id} gets what it needs");
        assert!(!victims.is_empty(), "nobody gives way");
        for (victim, until) in victims {
            assert!(self.may_give_way(now, id, *victim), "I4: {victim} is preempted for {id}");
            let grace = self.rules.queues[&self.jobs[victim].request.class].grace;
            assert!(*until <= now + grace.max(Duration::from_micros(1)), "{victim} is gone by {until}");
        }
        for target in targets.iter() {
            assert!(self.up.contains(target) && self.members.contains(target), "target {target} is up");
            assert!(waiting.only.admits(target, &self.properties), "target {target} is admitted");
            assert!(!self.holds.values().any(|held| held.contains(target)), "target {target} is held for another");
            let on = self.jobs.values().filter(|j| j.held.contains_key(&target));
            let leaves = |j: &Known| j.cut.is_some() || victims.iter().any(|(v, _)| *v == j.request.id);
            assert!(on.clone().all(leaves), "who is on target {target} gives way");
        }
        // With any one of them left out, what is idle and what the others free is too little.
        if self.windows.timelines.is_empty() {
            for (left_out, _) in victims {
                let free = |t: &TargetId| {
                    let mut on = self.jobs.values().filter(|j| j.held.contains_key(t));
                    on.all(|j| {
                        let gives = j.cut.is_some() || victims.iter().any(|(v, _)| *v == j.request.id);
                        gives && j.request.id != *left_out && j.held[t] == Extent::Whole
                    })
                };
                let serves = |t: &TargetId| self.up.contains(*t) && waiting.only.admits(*t, &self.properties);
                let held = |t: &TargetId| self.holds.values().any(|held| held.contains(*t));
                let enough = |t: &TargetId| self.graph.target(*t).is_some_and(|x| x.cores() >= self.least(id));
                let n = self.members.iter().filter(|t| serves(t) && enough(t) && !held(t) && free(t)).count() as u64;
                assert!(n < nodes.min(), "{left_out} gives way for {id}, which {n} targets serve without");
            }
        }
        for (victim, until) in victims {
            self.jobs.get_mut(victim).expect("it runs").cut = Some(*until);
        }
        self.holds.insert(id, targets.clone());
    }

    fn least(&self, id: JobId) -> u32 {
        match &self.jobs[&id].request.request.shape {
            Shape::Whole { at_least, .. } => at_least.cores,
            Shape::Nodes { .. } | Shape::Slots { .. } => 0,
        }
    }

    /// Whether a running job may be preempted for a waiting one.
    pub fn may_give_way(&self, now: Timestamp, id: JobId, victim: JobId) -> bool {
        let (waiting, job) = (&self.jobs[&id].request, &self.jobs[&victim]);
        let Some(rule) = self.rules.queues.get(&job.request.class) else { return false };
        let over = self.rules.queues.get(&waiting.class).is_some_and(|own| own.over.contains(&job.request.class));
        let started = job.started.is_some_and(|started| started + rule.protected <= now);
        rule.preemptible && over && started && job.cut.is_none() && !job.ended
    }

    fn check_counts(&self, id: JobId, selection: &Selection) {
        let has = |target: TargetId| {
            let target = self.graph.target(target).expect("a target of the graph");
            (target.cores(), target.gpus())
        };
        let parts = selection.shares.iter().map(|share| {
            let (cores, gpus) = has(share.target);
            match &share.extent {
                Extent::Whole => (cores, gpus, true),
                Extent::Part(part) => {
                    assert!(part.cores.iter().all(|c| c < cores) && part.gpus.iter().all(|g| g < gpus));
                    (part.cores.len(), part.gpus.len(), false)
                }
            }
        });
        let parts: Vec<(u32, u32, bool)> = parts.collect();
        let shared = &self.jobs[&id].request.request.shared;
        let places = shared.places();
        if places > 1 || shared.within.as_ref().is_some_and(|within| within.exclusive) {
            // How many there are in each of several racks is looked at there; all that is in one may be more.
            return;
        }
        let n = parts.len() as u64;
        let nslots = u64::from(selection.nslots);
        match &self.jobs[&id].request.request.shape {
            Shape::Whole { nodes, at_least, slots_per_node } => {
                assert!(nodes.contains(n), "job {id}: {n} nodes of {nodes}");
                assert!(parts.iter().all(|p| p.2 && p.0 >= at_least.cores && p.1 >= at_least.gpus));
                assert_eq!(nslots, n * u64::from(*slots_per_node));
            }
            Shape::Nodes { nodes, slots, slot } => {
                assert!(nodes.contains(n), "job {id}: {n} nodes of {nodes}");
                assert_eq!(nslots % n, 0);
                let each = nslots / n;
                assert!(slots.contains(each), "job {id}: {each} slots of {slots}");
                let want = (slot.cores * each as u32, slot.gpus * each as u32);
                for (cores, gpus, whole) in &parts {
                    let exact = !*whole && (*cores, *gpus) == want;
                    assert!(exact || *whole && *cores >= want.0 && *gpus >= want.1, "job {id}: {cores} cores");
                }
            }
            Shape::Slots { slots, slot } => {
                assert!(slots.contains(nslots), "job {id}: {nslots} slots of {slots}");
                let fit = |p: &(u32, u32, bool)| {
                    let by = |has: u32, one: u32| has.checked_div(one).unwrap_or(u32::MAX);
                    by(p.0, slot.cores).min(by(p.1, slot.gpus))
                };
                let room: u64 = parts.iter().map(|p| u64::from(fit(p))).sum();
                assert!(room >= nslots, "job {id}: room for {room} of {nslots} slots");
                if parts.iter().all(|p| !p.2) {
                    let cores: u64 = parts.iter().map(|p| u64::from(p.0)).sum();
                    assert_eq!(cores, nslots * u64::from(slot.cores), "job {id}: exact cores");
                }
            }
        }
    }
}

/// A scheduler, its ledger, and what it was last told.
#[derive(Clone)]
pub struct Bench {
    pub scheduler: Scheduler,
    /// Fed the same from the beginning (I7).
    shadow: Scheduler,
    /// Rebuilt at some time, fed the same since (I8).
    pub heir: Option<Scheduler>,
    pub ledger: Ledger,
    pub now: Timestamp,
    pub epoch: u64,
    /// Everything answered so far.
    pub log: Vec<(Timestamp, Output)>,
}

impl Bench {
    pub fn new(graph: Arc<Graph>, properties: Properties, settings: SchedulerSettings) -> Self {
        let members = graph.targets().clone();
        Self::with(graph, properties, settings, members.clone(), members)
    }

    pub fn with(
        graph: Arc<Graph>,
        properties: Properties,
        settings: SchedulerSettings,
        members: TargetSet,
        up: TargetSet,
    ) -> Self {
        let properties = Arc::new(properties);
        let ledger = Ledger {
            graph: graph.clone(),
            properties: properties.clone(),
            members: members.clone(),
            up: up.clone(),
            windows: Arc::default(),
            settings: settings.clone(),
            jobs: BTreeMap::new(),
            rules: Arc::default(),
            holds: BTreeMap::new(),
            pools: World::default(),
        };
        let scheduler = Scheduler::new(settings);
        let shadow = scheduler.clone();
        let mut bench = Self { scheduler, shadow, heir: None, ledger, now: t(0), epoch: 1, log: vec![] };
        bench.tell(Input::Acquire { graph, properties, members, up, epoch: Epoch(1) });
        bench
    }

    /// Tells one message to all; checks the answers against the ledger and against each other.
    pub fn tell(&mut self, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.scheduler.handle(self.now, input.clone(), &mut out);
        let mut same = Vec::new();
        self.shadow.handle(self.now, input.clone(), &mut same);
        assert_eq!(out, same, "I7: a scheduler told the same answers the same");
        self.check(&input, &out);
        if let Some(heir) = &mut self.heir
            && !matches!(input, Input::Pass { .. } | Input::Resume { .. })
        {
            let mut same = Vec::new();
            heir.handle(self.now, input, &mut same);
            assert_eq!(told(&out), told(&same), "I8: the heir answers the same");
        }
        self.check_views();
        self.log.extend(out.iter().map(|o| (self.now, o.clone())));
        out
    }

    /// One pass with a budget, resumed with the pools where it asks for them.
    pub fn pass_once(&mut self, budget: usize) -> (Vec<Output>, PassEnd) {
        let mut all = self.tell(Input::Pass { budget });
        let Some(Output::PassEnded { end, examined }) = all.last() else { panic!("a pass ends: {all:?}") };
        let (mut end, examined) = (*end, *examined);
        assert!(examined <= budget, "{examined} examined of {budget}");
        if end == PassEnd::NeedsShared {
            let pools = self.ledger.pools.lent(&self.scheduler, self.now);
            let out = self.tell(Input::Resume { pools, budget: (budget - examined).max(1) });
            let Some(Output::PassEnded { end: resumed, .. }) = out.last() else { panic!("a pass ends: {out:?}") };
            assert_ne!(*resumed, PassEnd::NeedsShared, "it has the pools");
            end = *resumed;
            all.extend(out);
        }
        (all, end)
    }

    /// Passes until done, each with this budget, the heir with none; what started.
    pub fn pass_by(&mut self, budget: usize) -> Vec<JobId> {
        let mut all = Vec::new();
        let mut rounds = 0;
        loop {
            let (out, end) = self.pass_once(budget);
            all.extend(out);
            rounds += 1;
            assert!(rounds < 10_000, "budgeted passes come to an end");
            if end == PassEnd::Done {
                break;
            }
        }
        if let Some(heir) = &mut self.heir {
            let same = self.ledger.pools.pass(heir, self.now);
            let sorted = |out: &[Output]| {
                let mut told = told(out);
                told.sort_by_key(|o| format!("{o:?}"));
                told
            };
            assert_eq!(sorted(&all), sorted(&same), "I8: the heir starts the same");
            let plans = |s: &Scheduler| s.waiting().map(|w| (w.job.id, w.planned)).collect::<Vec<_>>();
            assert_eq!(plans(&self.scheduler), plans(heir), "I8: the heir plans the same");
        }
        started(&all)
    }

    pub fn pass(&mut self) -> Vec<JobId> {
        self.pass_by(usize::MAX)
    }

    pub fn submit(&mut self, id: u64, priority: i64, limit: Duration, shape: Shape, only: Only) -> Vec<Output> {
        self.submit_with((id, 0), priority, limit, shape, only, PoolNeeds::default())
    }

    /// A job of a class, of which the rules of preemption speak.
    pub fn submit_with(
        &mut self,
        (id, class): (u64, u32),
        priority: i64,
        limit: Duration,
        shape: Shape,
        only: Only,
        shared: PoolNeeds,
    ) -> Vec<Output> {
        let constraint = only.constraint();
        let request = Arc::new(Request { shape, constraint, shared });
        let (id, submitted) = (JobId(id), self.now);
        let class = QueueId(class);
        let request = JobRequest { id, class, priority: Priority(priority), submitted, limit, request };
        let known = Known {
            request: request.clone(),
            only,
            held: BTreeMap::new(),
            started: None,
            selection: None,
            cut: None,
            ended: false,
        };
        assert!(self.ledger.jobs.insert(id, known).is_none(), "job {id} is new");
        self.tell(Input::Alloc(request))
    }

    /// A job waits again, as it was.
    pub fn submit_again(&mut self, request: JobRequest, only: Only) {
        let known = Known {
            request: request.clone(),
            only,
            held: BTreeMap::new(),
            started: None,
            selection: None,
            cut: None,
            ended: false,
        };
        assert!(self.ledger.jobs.insert(request.id, known).is_none(), "job {} is new", request.id);
        self.tell(Input::Alloc(request));
    }

    pub fn free(&mut self, id: u64) {
        self.ledger.jobs.remove(&JobId(id)).expect("a job to free");
        self.tell(Input::Free { job: JobId(id), freed: Freed::Rest, last: true });
    }

    pub fn free_part(&mut self, id: u64, targets: TargetSet) {
        let job = self.ledger.jobs.get_mut(&JobId(id)).expect("a job to free of");
        job.held.retain(|t, _| !targets.contains(*t));
        self.tell(Input::Free { job: JobId(id), freed: Freed::Targets(targets), last: false });
    }

    pub fn cancel(&mut self, id: u64) {
        self.ledger.holds.remove(&JobId(id));
        let out = self.tell(Input::Cancel(JobId(id)));
        assert_eq!(out, [Output::Cancelled { job: JobId(id) }]);
    }

    pub fn prioritize(&mut self, id: u64, priority: i64) {
        let priority = Priority(priority);
        self.ledger.jobs.get_mut(&JobId(id)).expect("a job").request.priority = priority;
        self.tell(Input::Prioritize(vec![(JobId(id), priority)]));
    }

    pub fn expiration(&mut self, id: u64, limit: Duration) {
        self.ledger.jobs.get_mut(&JobId(id)).expect("a job").request.limit = limit;
        self.tell(Input::Expiration { job: JobId(id), limit });
    }

    pub fn up(&mut self, targets: TargetSet) {
        self.epoch += 1;
        self.ledger.up |= &targets;
        self.tell(Input::Up { targets, epoch: Epoch(self.epoch) });
    }

    pub fn down(&mut self, targets: TargetSet) {
        self.epoch += 1;
        self.ledger.up -= &targets;
        let epoch = Epoch(self.epoch);
        let mut out = self.tell(Input::Down { targets: targets.clone(), epoch });
        out.retain(|o| !matches!(o, Output::HoldEnded { .. }));
        assert_eq!(out, [Output::DownAck { targets, epoch }]);
    }

    pub fn rules(&mut self, rules: PreemptRules) {
        self.ledger.rules = Arc::new(rules);
        self.tell(Input::Preemption(self.ledger.rules.clone()));
    }

    /// Its processes are gone; it holds what it holds.
    pub fn ended(&mut self, id: u64) {
        self.ledger.jobs.get_mut(&JobId(id)).expect("a job").ended = true;
        self.tell(Input::Ended(JobId(id)));
    }

    /// A running job is to wait again: what it holds goes on under another name.
    pub fn rename(&mut self, id: u64, name: u64) {
        let (id, name) = (JobId(id), JobId(name));
        let mut job = self.ledger.jobs.remove(&id).expect("a job");
        job.ended = true;
        job.request.id = name;
        self.ledger.jobs.insert(name, job);
        self.tell(Input::Rename { job: id, name });
    }

    /// Something outside makes a running job give way.
    pub fn preempt(&mut self, id: u64, until: Timestamp) {
        let job = self.ledger.jobs.get_mut(&JobId(id)).expect("a job");
        let scheduler = self.scheduler.running().into_iter().find(|r| r.job.id == JobId(id)).expect("it runs");
        let until_or_next = until.min(scheduler.planned_end).max(self.now + Duration::from_micros(1));
        job.cut = job.cut.or(Some(until_or_next));
        self.tell(Input::Preempt { job: JobId(id), until });
    }

    pub fn members(&mut self, members: TargetSet) {
        self.ledger.members = members.clone();
        self.tell(Input::Members(members));
    }

    pub fn properties(&mut self, properties: Properties) {
        self.ledger.properties = Arc::new(properties);
        self.tell(Input::Properties(self.ledger.properties.clone()));
    }

    pub fn windows(&mut self, windows: Windows) {
        self.ledger.windows = Arc::new(windows);
        self.tell(Input::Windows(self.ledger.windows.clone()));
    }

    pub fn policy(&mut self, settings: SchedulerSettings) {
        self.ledger.settings = settings.clone();
        self.tell(Input::Policy(settings));
    }

    pub fn graph(&mut self, graph: Arc<Graph>) {
        self.ledger.graph = graph.clone();
        self.tell(Input::Graph(graph));
    }

    pub fn pools(&mut self, table: PoolTable) {
        self.ledger.pools.table = Arc::new(table);
        self.tell(Input::Pools(self.ledger.pools.table.clone()));
    }

    pub fn at(&mut self, secs: i64) -> &mut Self {
        assert!(t(secs) >= self.now);
        self.now = t(secs);
        self
    }

    pub fn planned(&self, id: u64) -> Option<Timestamp> {
        let mut waiting = self.scheduler.waiting();
        waiting.find(|w| w.job.id == JobId(id)).unwrap_or_else(|| panic!("job {id} waits")).planned
    }

    pub fn is_running(&self, id: u64) -> bool {
        self.ledger.jobs[&JobId(id)].started.is_some()
    }

    pub fn targets(&self, id: u64) -> Vec<u32> {
        self.ledger.jobs[&JobId(id)].held.keys().map(|t| t.0).collect()
    }

    /// A scheduler rebuilt by our own hello.
    pub fn rebuilt(&self) -> Scheduler {
        rebuild(&self.scheduler, &self.ledger, self.now, self.epoch)
    }

    fn check(&mut self, input: &Input, out: &[Output]) {
        let mut ended = 0;
        for output in out {
            match output {
                Output::Alloc { job, selection, epoch } => {
                    assert!(matches!(input, Input::Pass { .. } | Input::Resume { .. }), "jobs start in passes");
                    assert_eq!(*epoch, Epoch(self.epoch));
                    self.ledger.granted(self.now, *job, selection);
                }
                Output::Deny { job, .. } | Output::Cancelled { job } => {
                    let known = self.ledger.jobs.remove(job).unwrap_or_else(|| panic!("{job} ends twice"));
                    assert!(known.started.is_none(), "job {job} runs");
                }
                Output::PlannedStart { job, at } => {
                    let known = self.ledger.jobs.get(job).unwrap_or_else(|| panic!("{job} is gone but planned"));
                    assert!(known.started.is_none() && at.is_none_or(|at| at > self.now), "{job} planned {at:?}");
                }
                Output::Preempt { job, targets, victims } => {
                    assert!(matches!(input, Input::Pass { .. } | Input::Resume { .. }), "jobs are preempted in passes");
                    self.ledger.preempts(self.now, *job, targets, victims);
                }
                Output::HoldEnded { job } => {
                    assert!(self.ledger.holds.remove(job).is_some(), "something was held for {job}");
                }
                Output::Annotate { job, .. } => assert!(self.ledger.jobs.contains_key(job), "{job} is gone"),
                Output::PoolPlans { spans } => {
                    assert!(matches!(input, Input::Pass { .. } | Input::Resume { .. }));
                    self.ledger.pools.reserved(&self.scheduler, spans, self.now);
                }
                Output::PassEnded { .. } => ended += 1,
                Output::DownAck { .. } => assert!(matches!(input, Input::Down { .. })),
            }
        }
        assert_eq!(
            ended,
            usize::from(matches!(input, Input::Pass { .. } | Input::Resume { .. })),
            "each pass ends once"
        );
    }

    fn check_views(&self) {
        let waiting: Vec<JobId> = self.scheduler.waiting().map(|w| w.job.id).collect();
        assert_eq!(waiting, self.ledger.waiting(), "who waits, in order");
        let holds: BTreeMap<JobId, TargetSet> = self.scheduler.holds().collect();
        assert_eq!(holds, self.ledger.holds, "what is held for whom");
        for waits in self.scheduler.waiting() {
            assert_eq!(waits.held, holds.contains_key(&waits.job.id), "{}", waits.job.id);
        }
        assert_eq!(self.scheduler.waiting_len(), waiting.len());
        let running = self.scheduler.running();
        assert_eq!(running.iter().map(|r| r.job.id).collect::<Vec<_>>(), self.ledger.running());
        assert_eq!(self.scheduler.running_len(), running.len());
        for run in &running {
            let known = &self.ledger.jobs[&run.job.id];
            let held: BTreeSet<TargetId> = run.selection.targets().filter(|t| !run.freed.contains(*t)).collect();
            assert_eq!(held, known.held.keys().copied().collect(), "what {} holds", run.job.id);
            assert_eq!(run.job.limit, known.request.limit);
            assert_eq!((run.cut, run.ended), (known.cut, known.ended), "{}", run.job.id);
            assert_eq!(run.planned_end.is_never(), run.job.limit.is_infinite() && run.cut.is_none());
        }
        for id in &waiting {
            assert!(self.scheduler.explain(*id, self.now).is_some(), "why {id} waits");
        }
    }
}

/// The messages of our own hello, and the pass that is owed.
pub fn rebuild(of: &Scheduler, ledger: &Ledger, now: Timestamp, epoch: u64) -> Scheduler {
    let mut heir = Scheduler::new(of.settings().clone());
    let mut out = Vec::new();
    let inputs = of.handover();
    let Some(Input::Acquire { members, up, epoch: told, .. }) = inputs.first() else { panic!("acquire comes first") };
    assert_eq!((members, up, told), (&ledger.members, &ledger.up, &Epoch(epoch)), "what the heir is told");
    inputs.into_iter().for_each(|input| heir.handle(now, input, &mut out));
    assert_eq!(out, [], "a hello denies nothing");
    heir
}

/// The answers that two schedulers with the same past must share: annotations and plans depend on what was said before.
pub fn told(out: &[Output]) -> Vec<Output> {
    let shared = |o: &&Output| match o {
        Output::Alloc { .. } | Output::Deny { .. } | Output::Cancelled { .. } | Output::DownAck { .. } => true,
        Output::Preempt { .. } | Output::HoldEnded { .. } => true,
        Output::Annotate { .. } | Output::PlannedStart { .. } => false,
        Output::PoolPlans { .. } | Output::PassEnded { .. } => false,
    };
    out.iter().filter(shared).cloned().collect()
}

pub fn started(out: &[Output]) -> Vec<JobId> {
    out.iter().filter_map(|o| if let Output::Alloc { job, .. } = o { Some(*job) } else { None }).collect()
}

/// Cases to run: `PROPTEST_CASES`, or `default`.
pub fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
