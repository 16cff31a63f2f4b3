//! A site under random events: every invariant is checked after every step.
//!
//! Each case drives two sites. The *twin* gets the same events in a pool of three threads, in passes of small budgets
//! where the first has unlimited ones at times; what both decide must agree (I7). At a restart the first site is
//! restored from its snapshot, through JSON, while the twin lives on: from then on their agreement says that a
//! restored site decides as the one that it replaces (I8). I1–I6 are checked by the audit inside the site and by an
//! observer of events and effects; I9 and I10 by passes on copies, and across passes by the planned starts that are
//! seen. A refused event must have changed nothing.
//!
//! `PROPTEST_CASES` sets the number of cases, 64 if not set.

use proptest::prelude::*;
use sluice::base::{Duration, JobId, Priority, TargetId, TargetSet, Timestamp};
use sluice::config::{
    Borrow, Calendar, Config, Lend, Lending, Members, PolicyConfig, PoolConfig, QueueConfig, QueuePolicy, UserLimits,
};
use sluice::formats::count::Count;
use sluice::formats::hostlist::Hostlist;
use sluice::formats::r::R;
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, Freed, PoolNeed, PoolNeeds, Reason, Request, Selection, Shape, Within};
use sluice::site::{
    Configure, Counts, Effect, Event, EventError, Found, GroupMode, Job, JobState, Observer, Outcome, PendingFate,
    QueueView, Site, SiteOptions, Snapshot, StartMode, Submission, SwitchSpec, Usage, Why,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

const NODES: u32 = 6;
const LICENCES: u64 = 3;
/// The nodes in two racks, each with two pieces of flash.
const RACKS: &str = "cluster cluster0
  rack
    node node[0-2] cores=2
    flash*2 size=2
  rack
    node node[3-5] cores=2
    flash*2 size=2
";
const NAMES: [&str; 4] = ["batch", "debug", "night", "dat"];

/// What happens; numbers pick among what there is then.
#[derive(Clone, Debug)]
enum Op {
    Submit { queue: u8, shape: u8, nodes: u8, limit: u8, priority: u8 },
    End { pick: u8, failed: bool },
    Free { pick: u8, mask: u8 },
    Requeue(u8),
    Cancel(u8),
    Prioritize(u8, u8),
    Relimit(u8, u8),
    Move(u8, u8),
    Create(u8, Setup),
    Change(u8, Setup),
    Remove(u8, u8),
    Configure(u8, Vec<(u8, Setup)>),
    Ask(u8),
    Enable(u8, bool),
    Start { queue: u8, take: bool, group: Option<(u8, Option<u8>)>, waves: u8 },
    Stop(u8, bool),
    Switch { release: u8, start: u8 },
    Plan { after: u8, name: u8, release: u8, start: u8 },
    Unplan(u8),
    Abort(Option<u8>),
    Offline(u8),
    Online(u8),
    Drain(u8, Option<u8>),
    Undrain(u8),
    Recall(u8),
    AddHost,
    RemoveTargets(u8),
    Found { queue: u8, mask: u8 },
    Restart,
    Wait(u8),
    Wake,
}

/// How a queue is configured.
#[derive(Clone, Debug)]
struct Setup {
    mask: u8,
    policy: u8,
    precedence: u8,
    take: bool,
    horizon: u8,
    parent: Option<u8>,
    boost: i8,
    user: u8,
    /// To whom it lends, as a mask (0: to nobody); floor; for how long a target is idle before; the longest loan.
    lend: (u8, u8, u8, u8),
    /// Most that it borrows, what is kept for it.
    borrow: (Option<u8>, u8),
}

fn setup() -> impl Strategy<Value = Setup> {
    let parent = prop_oneof![6 => Just(None), 1 => (0u8..4).prop_map(Some)];
    let boost = prop_oneof![3 => Just(0i8), 1 => Just(-20i8), 1 => Just(7i8)];
    let own = (boost, 0u8..6);
    let lend = prop_oneof![2 => Just((0, 0, 0, 0)), 3 => (1u8..16, 0u8..3, 0u8..4, 10u8..60)];
    let borrow = (prop_oneof![2 => Just(None), 1 => (0u8..4).prop_map(Some)], prop_oneof![3 => Just(0u8), 1 => 1u8..3]);
    let mask = prop_oneof![2 => Just(0u8), 2 => any::<u8>()];
    (mask, 0u8..5, 0u8..3, any::<bool>(), 0u8..3, parent, own, (lend, borrow)).prop_map(
        |(mask, policy, precedence, take, horizon, parent, (boost, user), (lend, borrow))| {
            let (lend, borrow) = if parent.is_some() { ((0, 0, 0, 0), (None, 0)) } else { (lend, borrow) };
            Setup { mask, policy, precedence, take, horizon, parent, boost, user, lend, borrow }
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let q = prop_oneof![12 => 0u8..4, 1 => Just(4u8)];
    let group = prop_oneof![3 => Just(None), 1 => (1u8..60, proptest::option::of(1u8..4)).prop_map(Some)];
    prop_oneof![
        30 => (q.clone(), 0u8..14, prop_oneof![4 => 1u8..4, 1 => 4u8..8], 0u8..60, 0u8..12)
            .prop_map(|(queue, shape, nodes, limit, priority)| Op::Submit { queue, shape, nodes, limit, priority }),
        20 => (any::<u8>(), any::<bool>()).prop_map(|(pick, failed)| Op::End { pick, failed }),
        20 => (any::<u8>(), any::<u8>()).prop_map(|(pick, mask)| Op::Free { pick, mask }),
        3 => any::<u8>().prop_map(Op::Requeue),
        3 => any::<u8>().prop_map(Op::Cancel),
        2 => (any::<u8>(), 0u8..32).prop_map(|(a, b)| Op::Prioritize(a, b)),
        2 => (any::<u8>(), 1u8..80).prop_map(|(a, b)| Op::Relimit(a, b)),
        2 => (any::<u8>(), q.clone()).prop_map(|(a, b)| Op::Move(a, b)),
        6 => (q.clone(), setup()).prop_map(|(a, b)| Op::Create(a, b)),
        3 => (q.clone(), setup()).prop_map(|(a, b)| Op::Change(a, b)),
        1 => (q.clone(), 0u8..8).prop_map(|(a, b)| Op::Remove(a, b)),
        2 => (0u8..8, proptest::collection::vec((0u8..4, setup()), 1..5)).prop_map(|(a, b)| Op::Configure(a, b)),
        2 => any::<u8>().prop_map(Op::Ask),
        2 => (q.clone(), 0u8..4).prop_map(|(a, b)| Op::Enable(a, b > 0)),
        14 => (q.clone(), any::<bool>(), group, prop_oneof![2 => Just(0u8), 1 => 1u8..3])
            .prop_map(|(queue, take, group, waves)| Op::Start { queue, take, group, waves }),
        3 => (q.clone(), any::<bool>()).prop_map(|(a, b)| Op::Stop(a, b)),
        3 => (q.clone(), q.clone()).prop_map(|(release, start)| Op::Switch { release, start }),
        4 => (1u8..80, 0u8..3, q.clone(), q.clone())
            .prop_map(|(after, name, release, start)| Op::Plan { after, name, release, start }),
        1 => (0u8..3).prop_map(Op::Unplan),
        2 => proptest::option::of(0u8..3).prop_map(Op::Abort),
        2 => any::<u8>().prop_map(Op::Offline),
        8 => any::<u8>().prop_map(Op::Online),
        2 => (any::<u8>(), proptest::option::of(0u8..60)).prop_map(|(a, b)| Op::Drain(a, b)),
        8 => any::<u8>().prop_map(Op::Undrain),
        2 => any::<u8>().prop_map(Op::Recall),
        2 => Just(Op::AddHost),
        1 => any::<u8>().prop_map(Op::RemoveTargets),
        1 => (q, any::<u8>()).prop_map(|(queue, mask)| Op::Found { queue, mask }),
        3 => Just(Op::Restart),
        10 => (0u8..20).prop_map(Op::Wait),
        8 => Just(Op::Wake),
    ]
}

/// A few queues to begin with, all targets up, two of the queues started.
fn prelude() -> Vec<Op> {
    let setup = |mask, policy, precedence, take, parent: Option<u8>| Setup {
        mask,
        policy,
        precedence,
        take,
        horizon: 0,
        parent,
        boost: if parent.is_some() { 7 } else { 0 },
        user: u8::from(mask != 0),
        // All but the virtual queue lend to whom they meet.
        lend: if parent.is_none() { (0b111, 1, 1, 40) } else { (0, 0, 0, 0) },
        borrow: (None, 0),
    };
    vec![
        Op::Create(0, setup(0, 1, 0, false, None)),
        Op::Create(1, setup(0b111, 3, 1, false, None)),
        Op::Create(2, setup(0, 4, 0, true, None)),
        Op::Create(3, setup(0, 0, 0, false, Some(0))),
        Op::Online(0xff),
        Op::Start { queue: 0, take: false, group: None, waves: 0 },
        Op::Start { queue: 3, take: false, group: None, waves: 0 },
    ]
}

fn queue_name(n: u8) -> String {
    NAMES.get(n as usize).map_or_else(|| format!("no{n}"), ToString::to_string)
}

fn queue_config(n: u8, setup: &Setup) -> QueueConfig {
    let mut policy = PolicyConfig::default();
    let settings = &mut policy.scheduler;
    settings.queue_policy = [
        QueuePolicy::Fcfs,
        QueuePolicy::Easy,
        QueuePolicy::Hybrid,
        QueuePolicy::Conservative,
        QueuePolicy::ConservativeCompress,
    ][setup.policy as usize];
    settings.reservation_depth = 2;
    settings.precedence = i32::from(setup.precedence);
    settings.horizon = ["strict", "soft", "off"][setup.horizon as usize].parse().expect("a horizon");
    settings.overlap = if setup.take { "take" } else { "refuse" }.parse().expect("an overlap");
    policy.priority_boost = setup.boost.into();
    let user = &mut policy.limits.user;
    match setup.user {
        1 => user.max_running_jobs = Some(1),
        2 => user.max_running_nodes = Some(3),
        3 => *user = UserLimits { max_running_jobs: Some(2), max_running_nodes: Some(4), max_pending_jobs: Some(3) },
        4 => user.max_pending_jobs = Some(2),
        _ => {}
    }
    let hosts: Vec<String> = (0..NODES).filter(|t| setup.mask >> t & 1 == 1).map(|t| format!("node{t}")).collect();
    let members = if setup.parent.is_some() || hosts.is_empty() {
        Members::All
    } else {
        Members::Hosts(Hostlist::parse(&hosts.join(",")).expect("a hostlist"))
    };
    let parent = setup.parent.map(queue_name);
    QueueConfig { name: queue_name(n), members, parent, policy, lending: lending_of(n, setup) }
}

/// How long every target stays at home after a loan.
const MIN_HOME: Duration = Duration::from_secs(3);

fn lending_of(n: u8, setup: &Setup) -> Lending {
    let (mask, floor, idle, longest) = setup.lend;
    let to: Vec<String> = (0..4).filter(|q| mask >> q & 1 == 1 && *q != n).map(queue_name).collect();
    let seconds = |n: u8| Duration::from_secs(n.into());
    let lend = (!to.is_empty()).then(|| Lend {
        floor: floor.into(),
        max_duration: seconds(longest),
        idle_for: seconds(idle),
        min_home: MIN_HOME,
        ..Lend::to(to)
    });
    let (cap, floor) = setup.borrow;
    Lending { lend, borrow: Borrow { from: None, cap: cap.map(u32::from), floor: floor.into() } }
}

/// The targets of the inventory whose places are in a mask.
fn pick_targets(site: &Site, mask: u8) -> TargetSet {
    site.inventory().iter().enumerate().filter(|(n, _)| mask >> (n % 8) & 1 == 1).map(|(_, t)| t).collect()
}

fn pick_job(site: &Site, pick: u8, is: impl Fn(JobId) -> bool) -> Option<JobId> {
    let jobs: Vec<JobId> = site.all_jobs().map(|j| j.id).filter(|id| is(*id)).collect();
    (!jobs.is_empty()).then(|| jobs[pick as usize % jobs.len()])
}

/// The same work twice over, and what is known beside it.
struct Machine {
    site: Site,
    twin: Site,
    observer: Observer,
    now: Timestamp,
    next_id: u64,
    next_rank: u32,
    steps: usize,
    /// Events told.
    told: u64,
    /// Without the twin, and without asking after each refusal whether all is as before: some ten times as fast.
    lean: bool,
    restarted: bool,
    /// How often a job was seen that a limit of its user held back.
    held_back: usize,
    loans: Loans,
}

/// Loans as they follow from effects.
#[derive(Default)]
struct Loans {
    /// Lender, borrower, end.
    live: BTreeMap<TargetId, (Arc<str>, Arc<str>, Timestamp)>,
    /// When the last loan was over.
    over: BTreeMap<TargetId, Timestamp>,
    made: u32,
    prolonged: u32,
    ended: u32,
}

static POOL: LazyLock<rayon::ThreadPool> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a thread pool"));

/// What the calendar does in the first minutes: two queues by turns and at once, and one that may not be there.
static CALENDAR: LazyLock<Calendar> = LazyLock::new(|| {
    let text = "
        [queues.night]
        [queues.dat]
        [calendar.early]
        queues = 'night'
        zone = 'UTC'
        dates = 1970-01-01
        from = '00:00:20'
        to = '00:00:45'
        [calendar.late]
        queues = ['dat', 'night']
        zone = 'UTC'
        rrule = 'FREQ=DAILY;COUNT=2'
        first = 1970-01-01
        from = '00:01:10'
        to = '00:02:30'
        [calendar.between]
        queues = 'dat'
        zone = 'UTC'
        dates = 1970-01-01
        from = '00:00:30'
        to = '00:01:10'
    ";
    Config::parse(text, "calendar").expect("a configuration").calendar
});

fn new_site(calendar: bool) -> Site {
    let mut config = Config::default();
    if calendar {
        config.calendar = CALENDAR.clone();
    }
    config.policy.scheduler.queue_policy = QueuePolicy::Easy;
    config.resource.pools = vec![PoolConfig { name: "app".to_owned(), kind: "licence".to_owned(), size: LICENCES }];
    let graph = Arc::new(Graph::from_text(RACKS).expect("a small graph").0);
    let options = SiteOptions { check_ledger: true, annotate: true };
    Site::new(graph, Arc::new(Properties::new()), Arc::new(config), options).expect("a site").with_threads_from(1)
}

impl Machine {
    fn new(calendar: bool) -> Self {
        let site = new_site(calendar);
        Self {
            twin: site.clone(),
            observer: Observer::new(site.graph()),
            site,
            now: Timestamp::ZERO,
            next_id: 1,
            next_rank: NODES,
            steps: 0,
            told: 0,
            lean: false,
            restarted: false,
            held_back: 0,
            loans: Loans::default(),
        }
    }

    fn run(&mut self, op: &Op) -> Result<(), TestCaseError> {
        if self.lean {
            return self.run_lean(op);
        }
        let (before, aside) = (self.promises(), self.aside());
        let (first_end, quiet, high) = (self.first_end(), self.quiet(), self.high_is_held_back());
        let held: Vec<JobId> =
            self.site.all_jobs().map(|j| j.id).filter(|id| self.site.held_back(*id).is_some()).collect();
        match op {
            Op::Restart => self.restart()?,
            Op::Ask(pick) => self.ask(*pick)?,
            Op::Wait(seconds) => self.now = self.now + Duration::from_secs((*seconds).into()),
            Op::Wake => {
                let at = self.site.next_wakeup(self.now);
                self.now = self.now.max(at.unwrap_or(self.now));
            }
            op => {
                for event in self.events(op) {
                    self.apply(&event)?;
                }
            }
        }
        self.step()?;
        let calm = match op {
            Op::Submit { queue, priority: 0..=8, .. } => !self.boosts(*queue),
            // Whoever has a higher priority and is let in goes before others.
            op => matches!(op, Op::End { .. } | Op::Free { .. } | Op::Wait(_) | Op::Wake) && !high,
        };
        if calm && quiet && self.quiet() && self.now < first_end {
            self.kept(&before, &aside)?;
        }
        if matches!(op, Op::End { .. } | Op::Cancel(_) | Op::Wait(_) | Op::Wake) {
            self.late_ones_go_behind(&held)?;
        }
        Ok(())
    }

    /// Who was held back and is not any more stands in the order from now on (I9).
    fn late_ones_go_behind(&self, held: &[JobId]) -> Result<(), TestCaseError> {
        for job in held.iter().filter_map(|id| self.site.job(*id)) {
            let started = self.site.queue_views().iter().any(|q| q.id == job.queue && q.started);
            let in_order = matches!(job.state, JobState::Pending | JobState::Running) && started;
            if in_order && self.site.held_back(job.id).is_none() {
                prop_assert_eq!(job.in_order_from(), self.now, "I9: job {} was let in", job.id);
            }
        }
        Ok(())
    }

    /// The same with what is checked by the site itself and by the observer alone.
    fn run_lean(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let mut effects = Vec::new();
        match op {
            Op::Restart => self.restart()?,
            Op::Ask(_) => {}
            Op::Wait(seconds) => self.now = self.now + Duration::from_secs((*seconds).into()),
            Op::Wake => self.now = self.site.next_wakeup(self.now).map_or(self.now, |at| at.max(self.now)),
            op => {
                for event in self.events(op) {
                    self.told += 1;
                    effects.clear();
                    if self.site.apply(self.now, event.clone(), &mut effects).is_ok() {
                        self.observer.event(&event, &effects, self.site.graph());
                    } else {
                        prop_assert!(effects.is_empty(), "a refused event has no effect");
                    }
                }
            }
        }
        self.steps += 1;
        effects.clear();
        while self.site.schedule(self.now, usize::MAX, &mut effects).more {}
        self.observer.effects(&effects, self.site.graph());
        self.follow_loans(&effects)?;
        self.observer.compare(&self.site);
        prop_assert_eq!(self.observer.take_violations(), vec![]);
        prop_assert_eq!(self.site.violations(), &[]);
        prop_assert_eq!(self.site.counts().sum(), self.site.counts().submitted, "I6");
        prop_assert!(self.site.next_wakeup(self.now).is_none_or(|at| at > self.now), "after a step nothing is due");
        Ok(())
    }

    /// Tells both sites; they agree, and a refusal changes nothing.
    fn apply(&mut self, event: &Event) -> Result<(), TestCaseError> {
        self.told += 1;
        let before = self.site.snapshot();
        let (mut effects, mut shadow) = (Vec::new(), Vec::new());
        let answer = self.site.apply(self.now, event.clone(), &mut effects);
        let other = self.twin.apply(self.now, event.clone(), &mut shadow);
        let text = |answer: &Result<(), EventError>| {
            answer.as_ref().map_err(|e| e.to_string().replace("held", "pending")).copied()
        };
        prop_assert_eq!(text(&answer), text(&other), "I7/I8: {:?}", event);
        prop_assert_eq!(self.plain(&effects), self.plain(&shadow), "I7/I8: {:?}", event);
        match answer {
            Ok(()) => self.observer.event(event, &effects, self.site.graph()),
            Err(error) => {
                prop_assert!(effects.is_empty());
                prop_assert!(!error.to_string().is_empty());
                prop_assert_eq!(self.site.snapshot(), before, "refused: {}", error);
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), TestCaseError> {
        self.steps += 1;
        let (mut effects, mut shadow) = (Vec::new(), Vec::new());
        for _ in 0..1000 {
            if !self.site.schedule(self.now, usize::MAX, &mut effects).more {
                break;
            }
        }
        let (twin, now) = (&mut self.twin, self.now);
        let end = POOL.install(|| twin.schedule(now, usize::MAX, &mut shadow));
        prop_assert!(!end.more);
        prop_assert_eq!(self.plain(&effects), self.plain(&shadow), "I7/I8");
        self.observer.effects(&effects, self.site.graph());
        self.limits_are_kept(&effects)?;
        self.follow_loans(&effects)?;
        self.check()
    }

    /// What hysteresis, floors, caps and ends of loans promise, by effects and configurations alone.
    fn follow_loans(&mut self, effects: &[Effect]) -> Result<(), TestCaseError> {
        let now = self.now;
        for effect in effects {
            match effect {
                Effect::Lent { targets, lender, borrower, until, prolonged } => {
                    prop_assert!(*until > now);
                    for target in targets.iter() {
                        let (between, before) =
                            ((lender.clone(), borrower.clone(), *until), self.loans.live.get(&target));
                        if *prolonged {
                            prop_assert!(before.is_some_and(|(l, b, u)| (l, b) == (lender, borrower) && u < until));
                            self.loans.prolonged += 1;
                        } else {
                            prop_assert!(before.is_none(), "target {} is lent twice", target);
                            let over = self.loans.over.get(&target);
                            prop_assert!(
                                over.is_none_or(|over| now >= *over + MIN_HOME),
                                "target {} is lent again at {}, after {:?}",
                                target,
                                now,
                                over
                            );
                            self.loans.made += 1;
                        }
                        self.loans.live.insert(target, between);
                    }
                }
                Effect::LoanEnded { targets, .. } => {
                    for target in targets.iter() {
                        prop_assert!(self.loans.live.remove(&target).is_some(), "target {} was not lent", target);
                        self.loans.over.insert(target, now);
                        self.loans.ended += 1;
                    }
                }
                Effect::Start { job, selection, limit, .. } => {
                    for target in selection.targets() {
                        // With a switch before its end the target may be the borrower's own from then on.
                        let planned = |end: &Timestamp| self.site.coordinator().plans().any(|(_, p)| p.at <= *end);
                        let live = self.loans.live.get(&target).filter(|(_, _, until)| !planned(until));
                        if let Some((_, _, until)) = live {
                            prop_assert!(now + *limit <= *until, "job {} outlives the loan of {}", job, target);
                        }
                    }
                }
                _ => {}
            }
        }
        for name in NAMES {
            let lending = self.site.queue_config(name).map(|c| c.lending.clone()).unwrap_or_default();
            let view = self.site.queue_view(name);
            let online = self.site.coordinator().online();
            let lent = self.loans.live.iter().filter(|(t, (l, ..))| **l == *name && online.contains(**t)).count();
            let desired = view.map(|q| self.site.coordinator().desired_by(q.id)).unwrap_or_default();
            let floor = lending.lend.as_ref().map_or(0, |lend| lend.floor as usize);
            let most = desired.intersection_len(online).saturating_sub(floor);
            prop_assert!(lent <= most, "queue {} has lent {} of {}", name, lent, most);
            let has = self.loans.live.values().filter(|(_, b, _)| **b == *name).count();
            prop_assert!(lending.borrow.cap.is_none_or(|cap| has <= cap as usize), "queue {} is above its cap", name);
        }
        Ok(())
    }

    /// Whatever is asked, the site stays as it is; what a preview refuses is refused, and the other way round.
    fn ask(&mut self, pick: u8) -> Result<(), TestCaseError> {
        let before = self.site.snapshot();
        let usage = Usage::of(&self.site);
        let forecast = self.site.forecast_by(&usage, self.site.inventory().first());
        prop_assert!(forecast.jobs.iter().all(|j| j.start.likely <= j.start.worst && j.start.likely >= self.now));
        let waiting = self.site.counts().pending + self.site.counts().held;
        prop_assert_eq!(forecast.jobs.len() as u64, waiting);
        for job in self.site.all_jobs() {
            let report = self.site.explain_job(job.id, &forecast, &usage);
            prop_assert!(report.is_some_and(|r| r.changes > self.site.now()));
        }
        for target in self.site.inventory().iter() {
            prop_assert!(self.site.explain_target(target, &forecast, &usage).is_some());
        }
        for view in self.site.queue_views() {
            prop_assert!(self.site.explain_queue(&view.name, &forecast, &usage).is_some());
        }
        let fate = [None, Some(PendingFate::Hold)][usize::from(pick & 1)].clone();
        let name = queue_name(pick >> 1 & 3);
        let take = StartMode { take: pick >> 4 & 1 == 1, ..StartMode::default() };
        let event = match pick >> 5 & 3 {
            0 => Event::QueueStart { queue: name, mode: take },
            1 => Event::QueueStop { queue: name, release: true, reason: "test".to_owned() },
            2 => Event::QueueRemove { queue: name, pending: fate },
            _ => Event::Drain { targets: pick_targets(&self.site, pick), reason: "test".to_owned(), at: None },
        };
        let preview = self.site.preview(std::slice::from_ref(&event), &usage);
        let index = self.site.state_index();
        prop_assert_eq!(preview.as_ref().ok().map(|p| p.index).unwrap_or(index), index);
        prop_assert_eq!(&self.site.snapshot(), &before);
        let trial = self.site.clone().apply(self.site.now(), event, &mut Vec::new());
        prop_assert_eq!(preview.err(), trial.err());
        Ok(())
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        self.observer.compare(&self.site);
        prop_assert_eq!(self.observer.take_violations(), vec![]);
        prop_assert_eq!(self.site.violations(), &[]);
        prop_assert_eq!(self.twin.violations(), &[]);
        prop_assert_eq!(waiting_as_one(self.site.counts()), waiting_as_one(self.twin.counts()));
        prop_assert_eq!(self.site.counts().sum(), self.site.counts().submitted);
        for (mine, other) in self.site.all_jobs().zip(self.twin.all_jobs()) {
            prop_assert_eq!(mine.in_order_from(), other.in_order_from(), "I7/I8: job {}", mine.id);
            let name = self.site.queue_name(mine.home).map(|n| n.to_string()).unwrap_or_default();
            if self.site.queue_view(&name).is_some_and(|q| q.started && q.id == mine.home) {
                prop_assert_eq!(mine.planned, other.planned, "I7/I8: job {}", mine.id);
            }
        }
        let queues = |site: &Site| {
            let as_one = |mut q: QueueView| {
                q.jobs.pending += std::mem::take(&mut q.jobs.held);
                q
            };
            site.queue_views().into_iter().map(as_one).collect::<Vec<_>>()
        };
        prop_assert_eq!(queues(&self.site), queues(&self.twin), "I7/I8");
        prop_assert_eq!(self.site.donation_views(), self.twin.donation_views(), "I7/I8");
        for target in self.site.inventory().iter() {
            prop_assert_eq!(self.site.target_view(target), self.twin.target_view(target), "I7/I8");
        }
        if let Some(at) = self.site.next_wakeup(self.now) {
            prop_assert!(at > self.now, "after a step there is nothing to do at once");
        }
        Ok(())
    }

    /// The first site goes on from its snapshot, read back from JSON.
    fn restart(&mut self) -> Result<(), TestCaseError> {
        // A restored scheduler runs a pass at once: so that plans can be compared, the other has one at this time too.
        let configs: Vec<QueueConfig> =
            self.site.queue_views().iter().filter_map(|q| self.site.queue_config(&q.name).cloned()).collect();
        if !self.lean {
            for config in configs {
                self.apply(&Event::QueueChange { config: Box::new(config) })?;
            }
            self.step()?;
        }
        let text = serde_json::to_string(&self.site.snapshot()).expect("a snapshot is JSON");
        let snapshot: Snapshot = serde_json::from_str(&text).expect("it reads back");
        prop_assert_eq!(&snapshot, &self.site.snapshot());
        let (graph, properties) = (self.site.graph().clone(), self.site.properties().clone());
        let options = SiteOptions { check_ledger: true, annotate: true };
        let mut effects = Vec::new();
        let restored = Site::restore(snapshot, graph, properties, options, &mut effects);
        let mut restored = restored.map_err(|e| TestCaseError::fail(e.to_string()))?.with_threads_from(1);
        prop_assert!(!restored.schedule(self.now, usize::MAX, &mut effects).more);
        prop_assert!(
            !effects.iter().any(|e| matches!(e, Effect::Start { .. })),
            "nothing starts before all is reported"
        );
        let running: Vec<Found> =
            restored.all_jobs().filter(|j| j.state == JobState::Running).map(|j| found_of(&restored, j.id)).collect();
        for found in running {
            let answer = restored.apply(self.now, Event::Hello(Box::new(found)), &mut effects);
            prop_assert_eq!(answer, Ok(()));
        }
        let answer = restored.apply(self.now, Event::HelloDone, &mut effects);
        prop_assert_eq!(answer, Ok(()));
        self.observer.effects(&effects, restored.graph());
        self.site = restored;
        self.restarted = true;
        Ok(())
    }

    /// What was started keeps the limits of its user, whoever counts: by the states of jobs and what they hold.
    fn limits_are_kept(&mut self, effects: &[Effect]) -> Result<(), TestCaseError> {
        for effect in effects {
            let Effect::Start { job, queue, .. } = effect else { continue };
            let user = self.site.job(*job).expect("it has started").userid;
            let config = self.site.queue_config(queue);
            let limits = config.map(|c| c.policy.limits.user).unwrap_or_default();
            let id = self.site.queue_view(queue).map(|q| q.id);
            let mine = |j: &&Job| j.state == JobState::Running && j.userid == user && Some(j.queue) == id;
            let running: Vec<JobId> = self.site.all_jobs().filter(mine).map(|j| j.id).collect();
            let nodes: usize =
                running.iter().filter_map(|id| self.site.selection(*id)).map(|s| s.target_set().len()).sum();
            let (jobs, nodes) = (running.len() as u64, nodes as u64);
            prop_assert!(limits.max_running_jobs.is_none_or(|most| jobs <= most), "{running:?} of {user} in {queue}");
            prop_assert!(limits.max_running_nodes.is_none_or(|most| nodes <= most), "{running:?} of {user} in {queue}");
        }
        self.held_back += self.site.all_jobs().filter(|j| self.site.held_back(j.id).is_some()).count();
        Ok(())
    }

    /// Whether a limit holds back a job that goes before those of the common priority.
    fn high_is_held_back(&self) -> bool {
        let high = |j: &&Job| self.site.order_priority(j) > Priority(16);
        self.site.all_jobs().filter(high).any(|j| self.site.held_back(j.id).is_some())
    }

    /// Whether jobs of a queue go before those of the common priority.
    fn boosts(&self, queue: u8) -> bool {
        let config = self.site.queue_config(&queue_name(queue));
        config.is_none_or(|c| c.policy.priority_boost > 0)
    }

    /// The planned starts that must not move later: all under conservative-compress, that of the head under easy.
    fn promises(&self) -> BTreeMap<JobId, Timestamp> {
        // A submission at the common priority overtakes those that were put below it.
        let common = |p: Priority| p >= Priority(16);
        let planned = self.site.all_jobs().filter(|j| !j.planned.is_never() && common(self.site.order_priority(j)));
        let firm = planned.filter(|j| {
            let name = self.site.queue_name(j.home).map(|n| n.to_string()).unwrap_or_default();
            let policy = self.site.queue_config(&name).map(|c| c.policy.scheduler.queue_policy);
            matches!(policy, Some(QueuePolicy::Easy | QueuePolicy::ConservativeCompress))
        });
        firm.map(|j| (j.id, j.planned)).collect()
    }

    /// When the first holder is expected to be gone; what holds on longer delays others.
    fn first_end(&self) -> Timestamp {
        let targets = self.site.inventory().iter().filter_map(|t| self.site.target_view(t));
        targets.flat_map(|t| t.holders).map(|h| h.planned_end).min().unwrap_or(Timestamp::NEVER)
    }

    /// Whether no windows change: nothing is planned and nothing moves.
    fn quiet(&self) -> bool {
        self.site.donation_views().is_empty()
            && self.site.planned_switches().next().is_none()
            && self.site.planned_drains().is_empty()
            && self.site.turns().is_empty()
            && self.site.coordinator().groups().next().is_none()
            && self.site.coordinator().loans().next().is_none()
    }

    /// Who was set aside, since nothing lets it start: what holds without limit, or is not there, has to go first.
    fn aside(&self) -> BTreeSet<JobId> {
        let never = |j: &&Job| matches!(&j.why, Why::Reason(r) if matches!(**r, Reason::NoFiniteStart(_)));
        self.site.all_jobs().filter(|j| j.state == JobState::Pending).filter(never).map(|j| j.id).collect()
    }

    /// I9 across passes, where nothing happened that excuses a delay. Who was set aside and can start now goes before
    /// those behind it again.
    fn kept(&self, before: &BTreeMap<JobId, Timestamp>, aside: &BTreeSet<JobId>) -> Result<(), TestCaseError> {
        let order = |j: &Job| (Reverse(self.site.order_priority(j)), j.in_order_from(), j.id);
        for (id, at) in before {
            let Some(job) = self.site.job(*id).filter(|j| j.state == JobState::Pending) else { continue };
            let back = |id: &JobId| {
                let other = self.site.job(*id).filter(|j| j.home == job.home && order(j) < order(job));
                other.is_some_and(|j| !j.planned.is_never() || j.state == JobState::Running)
            };
            if aside.iter().any(back) {
                continue;
            }
            prop_assert!(job.planned <= *at, "I9: job {} was planned for {}, now for {}", id, at, job.planned);
        }
        Ok(())
    }

    /// Effects to compare: without the stamps, which a restart moves on, and after one without what is said about jobs
    /// that wait, since a new scheduler may say it again. Plans are compared as they stand.
    fn plain(&self, effects: &[Effect]) -> Vec<String> {
        let text = |effect: &Effect| match effect {
            Effect::Up { queue, targets, .. } => Some(format!("up {queue} {targets}")),
            Effect::Down { queue, targets, .. } => Some(format!("down {queue} {targets}")),
            Effect::Annotated { .. } | Effect::Held { .. } | Effect::PlannedStart { .. } if self.restarted => None,
            other => Some(format!("{other:?}")),
        };
        effects.iter().filter_map(text).collect()
    }

    fn events(&mut self, op: &Op) -> Vec<Event> {
        let site = &self.site;
        let job = |pick: u8| pick_job(site, pick, |_| true);
        let state = |id: JobId| site.job(id).map(|j| j.state);
        let one = |event: Option<Event>| event.into_iter().collect::<Vec<_>>();
        match op {
            Op::Submit { queue, shape, nodes, limit, priority } => {
                let id = JobId(self.next_id);
                // Now and then an id that is taken.
                self.next_id += u64::from(*shape != 7 || *nodes != 6);
                vec![Event::Submit(Box::new(Submission {
                    id,
                    queue: Some(queue_name(*queue)).filter(|_| *limit != 1),
                    priority: Priority(if *priority > 8 { 16 + i64::from(*priority) } else { 16 }),
                    userid: 1000 + u32::from(limit % 2),
                    limit: Some(Duration::from_secs((*limit).into())),
                    request: Ok(request(*shape, (*nodes).into())),
                }))]
            }
            Op::End { pick, failed } => {
                let running = pick_job(site, *pick, |id| state(id) == Some(JobState::Running)).or_else(|| job(*pick));
                let outcome = if *failed { Outcome::Failed } else { Outcome::Completed };
                one(running.map(|job| Event::End { job, outcome }))
            }
            Op::Free { pick, mask } => {
                let held = pick_job(site, *pick, |id| {
                    matches!(state(id), Some(JobState::Ended(_))) && site.selection(id).is_some()
                });
                let requeued = pick_job(site, *pick, |id| site.job(id).is_some_and(|j| j.requeues > 0));
                let job = if mask % 4 == 3 { requeued.or(held) } else { held }.or_else(|| job(*pick));
                one(job.map(|job| {
                    let targets = pick_targets(site, *mask);
                    let freed = if mask % 2 == 0 || targets.is_empty() {
                        Freed::Rest
                    } else {
                        // Mostly targets that it holds.
                        let has = site.selection(job).map(|s| s.target_set()).unwrap_or_default();
                        let part = &targets & &has;
                        Freed::Targets(if part.is_empty() { targets } else { part })
                    };
                    Event::Free { job, freed }
                }))
            }
            Op::Requeue(pick) => {
                one(pick_job(site, *pick, |id| state(id) == Some(JobState::Running)).map(|job| Event::Requeue { job }))
            }
            Op::Cancel(pick) => one(job(*pick).map(|job| Event::Cancel { job })),
            Op::Prioritize(pick, p) => {
                let jobs: Vec<_> = [*pick, pick.wrapping_add(3)].into_iter().filter_map(job).collect();
                vec![Event::Prioritize { jobs: jobs.into_iter().map(|id| (id, Priority((*p).into()))).collect() }]
            }
            Op::Relimit(pick, limit) => {
                one(job(*pick).map(|job| Event::Relimit { job, limit: Duration::from_secs((*limit).into()) }))
            }
            Op::Move(pick, queue) => one(job(*pick).map(|job| Event::MoveJob { job, queue: queue_name(*queue) })),
            Op::Create(queue, setup) => {
                vec![Event::QueueCreate { config: Box::new(queue_config(*queue, setup)) }]
            }
            Op::Change(queue, setup) => {
                vec![Event::QueueChange { config: Box::new(queue_config(*queue, setup)) }]
            }
            Op::Remove(queue, fate) => {
                let pending = match fate {
                    0 | 1 => Some(PendingFate::Hold),
                    2 => Some(PendingFate::Cancel),
                    3 => None,
                    to => Some(PendingFate::Move(queue_name(to - 4))),
                };
                vec![Event::QueueRemove { queue: queue_name(*queue), pending }]
            }
            Op::Configure(fate, setups) => {
                let queues = setups.iter().map(|(n, setup)| (queue_name(*n), queue_config(*n, setup))).collect();
                let pending = match fate {
                    0 | 1 => Some(PendingFate::Hold),
                    2 => Some(PendingFate::Cancel),
                    3 => None,
                    to => Some(PendingFate::Move(queue_name(to - 4))),
                };
                let config = Config { queues, ..Config::default() };
                vec![Event::Configure(Box::new(Configure { config, pending }))]
            }
            Op::Enable(queue, true) => vec![Event::QueueEnable { queue: queue_name(*queue) }],
            Op::Enable(queue, false) => {
                vec![Event::QueueDisable { queue: queue_name(*queue), reason: "test".to_owned() }]
            }
            Op::Start { queue, take, group, waves } => {
                let group = group.map(|(after, min)| GroupMode {
                    min: min.map(u32::from),
                    give_up: self.now + Duration::from_secs(after.into()),
                });
                vec![Event::QueueStart {
                    queue: queue_name(*queue),
                    mode: StartMode { take: *take, group, max_leaving: NonZeroU32::new((*waves).into()) },
                }]
            }
            Op::Stop(queue, release) => {
                vec![Event::QueueStop { queue: queue_name(*queue), release: *release, reason: "test".to_owned() }]
            }
            Op::Switch { release, start } => vec![Event::Switch(switch(*release, *start))],
            Op::Plan { after, name, release, start } => vec![Event::Planned {
                at: self.now + Duration::from_secs((*after).into()),
                name: format!("plan{name}"),
                switch: switch(*release, *start),
            }],
            Op::Abort(name) => vec![Event::Abort { plan: name.map(|name| format!("plan{name}")) }],
            Op::Unplan(name) => vec![Event::CancelPlanned { name: format!("plan{name}") }],
            Op::Offline(mask) => vec![Event::Offline { targets: pick_targets(site, *mask) }],
            Op::Online(mask) => vec![Event::Online { targets: pick_targets(site, *mask) }],
            Op::Drain(mask, after) => vec![Event::Drain {
                targets: pick_targets(site, *mask),
                reason: "test".to_owned(),
                at: after.map(|s| self.now + Duration::from_secs(s.into())),
            }],
            Op::Undrain(mask) => vec![Event::Undrain { targets: pick_targets(site, *mask) }],
            Op::Recall(mask) => vec![Event::Recall { targets: pick_targets(site, *mask) }],
            Op::AddHost => {
                let rank = self.next_rank;
                self.next_rank += 1;
                vec![Event::AddTargets { addition: Box::new(host(rank)), online: rank.is_multiple_of(2) }]
            }
            Op::RemoveTargets(mask) => {
                let some = pick_targets(site, *mask).iter().take(1).collect();
                vec![Event::RemoveTargets { targets: some }]
            }
            Op::Found { queue, mask } => {
                let targets = pick_targets(site, *mask);
                if targets.is_empty() {
                    return Vec::new();
                }
                let id = JobId(self.next_id);
                self.next_id += 1;
                let selection = Arc::new(Selection::whole(targets.iter(), 1));
                vec![Event::Hello(Box::new(Found {
                    id,
                    queue: queue_name(*queue),
                    priority: Priority(16),
                    userid: 1000,
                    submitted: self.now,
                    started: self.now,
                    limit: Duration::from_secs(30),
                    request: request(0, targets.len() as u64),
                    selection,
                    freed: TargetSet::new(),
                }))]
            }
            Op::Restart | Op::Ask(_) | Op::Wait(_) | Op::Wake => Vec::new(),
        }
    }
}

/// Sums in which a job longer than every window counts as pending: which it is, is seen at the next pass, and a new
/// scheduler has one at once.
fn waiting_as_one(mut counts: Counts) -> Counts {
    counts.pending += std::mem::take(&mut counts.held);
    counts
}

fn switch(release: u8, start: u8) -> SwitchSpec {
    // Some of them in waves.
    let max_leaving = NonZeroU32::new(u32::from(release == 1));
    let mode = StartMode { max_leaving, ..StartMode::default() };
    SwitchSpec { release: vec![queue_name(release)], start: vec![(queue_name(start), mode)] }
}

/// Whole nodes, parts of nodes, slots; from 8 to 10 with one to three of the licences that all queues share, then with flash
/// of one rack and of any; then whole racks.
fn request(shape: u8, n: u64) -> Arc<Request> {
    let slot = Amount { cores: 1, gpus: 0 };
    let licences = match shape {
        0..=7 => 0,
        8 => 1 + n % 3,
        9 => 1,
        10 => 2,
        _ => 0,
    };
    let flash = |amount, within| PoolNeed { kind: "flash".to_owned(), amount, within };
    let need = |amount| PoolNeed { kind: "licence".to_owned(), amount, within: false };
    let needs = Some(licences).filter(|n| *n > 0).map(need).into_iter().collect();
    let shared = match shape {
        11 => PoolNeeds { needs: vec![flash(1 + n % 4, true)], within: Some(Within::one("rack")) },
        12 => PoolNeeds { needs: vec![flash(1 + 2 * (n % 4), false)], within: None },
        // All of one rack, or of both.
        13 => PoolNeeds {
            needs: vec![],
            within: Some(Within { kind: "rack".to_owned(), count: 1 + n / 3, exclusive: true }),
        },
        _ => PoolNeeds { needs, within: None },
    };
    let shape = match shape {
        9 => Shape::Nodes { nodes: Count::fixed(n.min(3)), slots: Count::fixed(1), slot },
        0..=4 | 7 | 8 | 10..=13 => {
            Shape::Whole { nodes: Count::fixed(n), at_least: Amount::default(), slots_per_node: 1 }
        }
        5 => Shape::Nodes { nodes: Count::fixed(n.min(3)), slots: Count::fixed(1), slot },
        _ => Shape::Slots { slots: Count::fixed(n), slot },
    };
    Arc::new(Request { shape, constraint: None, shared })
}

/// A host with two cores, as R.
fn host(rank: u32) -> R {
    let text = format!(
        r#"{{"version":1,"execution":{{"R_lite":[{{"rank":"{rank}","children":{{"core":"0-1"}}}}],"nodelist":["node{rank}"],"starttime":0,"expiration":0}}}}"#
    );
    R::parse(&text).expect("an R")
}

/// What a running job is reported as.
fn found_of(site: &Site, id: JobId) -> Found {
    let job = site.job(id).expect("a known job");
    Found {
        id,
        queue: site.queue_name(job.queue).expect("its queue").to_string(),
        priority: job.priority,
        userid: job.userid,
        submitted: job.submitted,
        started: job.started,
        limit: job.limit,
        request: job.request.clone().expect("it is not final"),
        selection: site.selection(id).expect("it holds something").clone(),
        freed: TargetSet::new(),
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_after_every_step(calendar in any::<bool>(), ops in proptest::collection::vec(op(), 1..80)) {
        let mut machine = Machine::new(calendar);
        for op in prelude().iter().chain(&ops) {
            machine.run(op)?;
        }
    }
}

/// The machine does what it is meant to: long runs see starts, donations, requeues, quarantine, restarts.
#[test]
fn the_machine_covers_the_site() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let ops = proptest::collection::vec(op(), 1800).new_tree(&mut runner).expect("a sequence").current();
    let mut machine = Machine::new(true);
    for op in prelude().iter().chain(&ops) {
        if let Err(error) = machine.run(op) {
            panic!("step {}: {op:?}: {error}", machine.steps);
        }
    }
    let counts = machine.site.counts();
    assert!(counts.completed > 10 && counts.failed > 5 && counts.cancelled > 0 && counts.denied > 0, "{counts:?}");
    assert!(counts.requeued > 0, "{counts:?}");
    assert!(machine.held_back > 20, "{}", machine.held_back);
}

/// A queue that lends to two others, and what changes neither that nor the machine.
fn lending(policies: (u8, u8, u8), lend: (u8, u8, u8), cap: u8) -> Vec<Op> {
    let (floor, idle, longest) = lend;
    let setup = |policy, precedence, lend, borrow| Setup {
        mask: 0,
        policy,
        precedence,
        take: false,
        horizon: policy % 3,
        parent: None,
        boost: 0,
        user: 0,
        lend,
        borrow,
    };
    let start = |queue| Op::Start { queue, take: false, group: None, waves: 0 };
    vec![
        Op::Create(0, setup(policies.0, 2, (0b110, floor, idle, longest), (None, 0))),
        Op::Create(1, setup(policies.1, 1, (0, 0, 0, 0), (Some(cap), 0))),
        Op::Create(2, setup(policies.2, 0, (0, 0, 0, 0), (None, 1))),
        Op::Online(0xff),
        start(0),
        start(1),
        start(2),
    ]
}

fn lends_on(op: &Op) -> bool {
    matches!(
        op,
        Op::Submit { .. }
            | Op::End { .. }
            | Op::Free { .. }
            | Op::Requeue(_)
            | Op::Cancel(_)
            | Op::Relimit(..)
            | Op::Move(..)
            | Op::Ask(_)
            | Op::Stop(_, false)
            | Op::Start { group: None, .. }
            | Op::Plan { .. }
            | Op::Offline(_)
            | Op::Online(_)
            | Op::Drain(..)
            | Op::Undrain(_)
            | Op::Recall(_)
            | Op::Restart
            | Op::Wait(_)
            | Op::Wake
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 4000,
        // Many events are another configuration, and left out.
        max_local_rejects: u32::MAX,
        ..ProptestConfig::default()
    })]

    #[test]
    fn loans_keep_their_terms(
        policies in (0u8..5, 0u8..5, 0u8..5),
        lend in (0u8..3, 0u8..4, 20u8..100),
        cap in 1u8..5,
        ops in proptest::collection::vec(op().prop_filter("no other configuration", lends_on), 1..120),
    ) {
        let mut machine = Machine::new(false);
        for op in lending(policies, lend, cap).iter().chain(&ops) {
            machine.run(op)?;
        }
    }
}

/// Long runs see loans that are made, prolonged and ended.
#[test]
fn the_machine_covers_lending() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    // A planned switch may stop the lender for good.
    let ops = op().prop_filter("no other configuration", |op| lends_on(op) && !matches!(op, Op::Plan { .. }));
    let ops = proptest::collection::vec(ops, 400);
    let mut sum = (0, 0, 0);
    // Runs of their own: what is drained or removed in one is there in the next.
    for _ in 0..40 {
        let ops = ops.new_tree(&mut runner).expect("a sequence").current();
        let mut machine = Machine::new(false);
        for op in lending((1, 1, 3), (1, 6, 80), 3).iter().chain(&ops) {
            if let Err(error) = machine.run(op) {
                panic!("step {}: {op:?}: {error}", machine.steps);
            }
        }
        let loans = machine.loans;
        sum = (sum.0 + loans.made, sum.1 + loans.prolonged, sum.2 + loans.ended);
    }
    let (made, prolonged, ended) = sum;
    assert!(made > 20 && prolonged > 0 && ended > 10, "{made} loans, {prolonged} prolonged, {ended} ended");
}

/// Many runs from one seed, in each of which some kinds of events are missing, so that others come together that else
/// never would. `SLUICE_SWARM_EVENTS` says how many events there are in all, `SLUICE_SWARM_SEED` which; what fails says
/// the seed of its run, with which `SLUICE_SWARM_RUN` repeats that run alone.
#[test]
fn swarms_of_events_break_nothing() {
    let number = |key: &str| std::env::var(key).ok().and_then(|n| n.parse::<u64>().ok());
    let (events, seed) = (number("SLUICE_SWARM_EVENTS").unwrap_or(20_000), number("SLUICE_SWARM_SEED").unwrap_or(1));
    if let Some(run) = number("SLUICE_SWARM_RUN") {
        swarm_run(run);
        return;
    }
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let told: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let worker = |first: u64| {
            move || {
                let (mut told, mut runs) = (0, 0);
                while told < events.div_ceil(threads) {
                    told += swarm_run(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(first + runs * threads));
                    runs += 1;
                }
                (told, runs)
            }
        };
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(worker(first))).collect();
        workers.into_iter().map(|w| w.join().expect("a run failed: its seed is above")).collect()
    });
    let (told, runs) = told.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("swarm: {told} events in {runs} runs, seed {seed}: no violation");
    assert!(told >= events);
}

/// One run: 300 events at most, of most kinds.
fn swarm_run(seed: u64) -> u64 {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    let bytes: Vec<u8> = (0..4u64).flat_map(|n| seed.rotate_left(n as u32).wrapping_add(n).to_le_bytes()).collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let strategy = op();
    let mut machine = Machine::new(seed & 1 == 1);
    machine.lean = true;
    let mut prelude = prelude().into_iter();
    while machine.steps < 300 {
        let op = match prelude.next() {
            Some(op) => op,
            None => {
                let op = strategy.new_tree(&mut runner).expect("an event").current();
                // A quarter of the kinds is missing; without submissions there is nothing to see.
                let missing = hasher.hash_one((seed, std::mem::discriminant(&op))).is_multiple_of(4);
                if missing && !matches!(op, Op::Submit { .. }) {
                    continue;
                }
                op
            }
        };
        if let Err(error) = machine.run(&op) {
            panic!("SLUICE_SWARM_RUN={seed}: step {}: {op:?}: {error}", machine.steps);
        }
    }
    machine.told
}
