//! One queue's scheduler: pending jobs in order, what runs, what is reserved, by which queue policy.
//!
//! Decides which of its jobs start now and when the others are planned to. Knows no other queue: the targets that it
//! may use are told to it as *up*, and what it will gain and lose as *windows*. Everything goes through
//! [`Scheduler::handle`]; the messages are those of [`Input`] and [`Output`].
//!
//! Invariants: a target is granted only while it is up here and nothing that was granted here holds it (I2); the same
//! inputs give the same outputs (I7); within a pass no job changes the plan of one before it (I9); a pass that ended
//! with [`PassEnd::Done`] would start nothing more if repeated at once (I10).

mod compress;
mod core;
mod filters;
mod jobs;
mod message;
mod pass;
mod plan;
mod resources;
mod why;
mod window;

pub use message::{HelloJob, Input, JobRequest, Output, PassEnd};

use crate::base::{Duration, Epoch, JobId, Priority, TargetId, TargetSet, Timestamp};
use crate::config::{QueuePolicy, SchedulerSettings};
use crate::graph::{Graph, Properties};
use crate::matcher::{Freed, Holdings, Reason, Request, Selection, Shape, Share, TargetOrder};
use crate::matcher::{apply_policy, satisfiable};
use crate::planner::{Bits, Claim, Profile};
use core::Core;
use jobs::{Job, Jobs, NO_SLOT, Run, Slot, Standing};
use pass::{Pass, Progress};
use plan::Plan;
use resources::Resources;
use std::sync::Arc;

/// What is known from the last pass.
#[derive(Clone, Debug)]
enum Phase {
    /// Nothing: the next pass starts from the first job.
    Fresh,
    /// Up to a position in the order everything is decided.
    Known(Progress),
}

/// A waiting job, as a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The job as it was requested.
    pub job: JobRequest,
    /// When it is planned to start, if it is.
    pub planned: Option<Timestamp>,
}

/// A running job, as a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// The job as it was requested.
    pub job: JobRequest,
    /// What it was given.
    pub selection: Arc<Selection>,
    /// What of it has been released.
    pub freed: TargetSet,
    /// When it started.
    pub started: Timestamp,
    /// When it is expected to end: by its limit, or later if it overran.
    pub planned_end: Timestamp,
    /// How often its end was put off.
    pub overruns: u32,
}

/// The scheduler of one queue.
#[derive(Clone, Debug)]
pub struct Scheduler {
    core: Core,
    phase: Phase,
    /// Whether anything has changed since the last pass that was done.
    dirty: bool,
    /// The jobs whose planned start was reported.
    reported: Vec<Slot>,
    passes: u32,
}

impl Scheduler {
    /// A scheduler that has no targets yet: [`Input::Acquire`] comes first.
    pub fn new(settings: SchedulerSettings) -> Self {
        let graph = Arc::new(Graph::uniform(0, 0, 0).expect("a graph of nothing"));
        let order = TargetOrder::new(settings.match_policy, &graph);
        let none = TargetSet::new();
        let core = Core {
            res: Resources::new(graph, Arc::default(), &none, &none),
            jobs: Jobs::default(),
            filters: Default::default(),
            plan: Plan::Counts(Profile::default()),
            holdings: None,
            boundary: Timestamp::NEVER,
            epoch: Epoch(0),
            sweep: false,
            plan_kept: false,
            stale_classes: false,
            order,
            settings,
        };
        Self { core, phase: Phase::Fresh, dirty: false, reported: Vec::new(), passes: 0 }
    }

    /// Takes one message and appends the answers to `out`. `now` never goes back.
    pub fn handle(&mut self, now: Timestamp, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Acquire { graph, properties, members, up, epoch } => {
                self.acquire(graph, properties, &members, &up, epoch);
            }
            Input::Hello(job) => self.hello(*job),
            Input::Planned { job, at } => self.promise(job, at),
            Input::Up { targets, epoch } => self.set_up(&targets, true, epoch),
            Input::Down { targets, epoch } => {
                self.set_up(&targets, false, epoch);
                out.push(Output::DownAck { targets, epoch });
            }
            Input::Shrink { targets } => self.set_up(&targets, false, self.core.epoch),
            Input::Graph(graph) => self.set_graph(graph, out),
            Input::Properties(properties) => {
                self.core.res.properties = properties;
                self.reread(out);
            }
            Input::Members(members) => {
                self.core.res.set_members(&members);
                self.reread(out);
            }
            Input::Windows(windows) => {
                if self.core.res.windows != windows {
                    self.core.res.windows = windows;
                    self.reclassify();
                }
            }
            Input::Policy(settings) => self.set_policy(settings),
            Input::Expiration { job, limit } => self.relimit(job, limit),
            Input::Reconsider => self.changed(),
            Input::Alloc(job) => self.alloc(job, out),
            Input::Cancel(job) => self.cancel(job, out),
            Input::Free { job, freed, last } => self.free(now, job, freed, last),
            Input::Prioritize(jobs) => self.prioritize(&jobs),
            Input::Pass { budget } => self.pass(now, budget, out),
            // No request of this scheduler touches a shared pool yet, so that no pass waits to be resumed.
            Input::Resume => self.pass(now, usize::MAX, out),
        }
    }

    fn acquire(
        &mut self,
        graph: Arc<Graph>,
        properties: Arc<Properties>,
        members: &TargetSet,
        up: &TargetSet,
        epoch: Epoch,
    ) {
        self.core.order = TargetOrder::new(self.core.settings.match_policy, &graph);
        self.core.res = Resources::new(graph, properties, members, up);
        self.core.epoch = epoch;
        let res = &self.core.res;
        self.core.filters.resolve_all(&res.graph, &res.properties, &res.members);
        self.reclassify();
        self.core.sweep = false;
    }

    fn hello(&mut self, hello: HelloJob) {
        let HelloJob { job, selection, freed, started, overruns } = hello;
        if self.core.jobs.slot(job.id).is_some() {
            return;
        }
        let planned_end = (0..overruns.min(64)).fold(started + job.limit, |end, n| end + self.slack(n));
        let run = Run {
            selection: Arc::clone(&selection),
            started,
            planned_end,
            overruns,
            freed: (!freed.is_empty()).then(|| Box::new(freed.clone())),
            held: Claim::new(),
        };
        let job = self.entry(job);
        let (partial, filter) = (job.is_partial(), job.filter);
        let slot = self.core.jobs.add_running(Job { run: Some(run), ..job });
        let held = self.core.hold(slot, &selection, !planned_end.is_never(), |t| !freed.contains(t));
        self.core.jobs.get_mut(slot).run.as_mut().expect("it runs").held = held;
        self.core.filters.release(filter);
        if partial && self.core.holdings.is_none() {
            self.track_holdings();
        }
        self.phase = Phase::Fresh;
        self.dirty = true;
    }

    /// A job as it stands in the table.
    fn entry(&mut self, job: JobRequest) -> Job {
        let request = match job.request.shape {
            Shape::Nodes { .. } if crate::matcher::is_exclusive(self.core.settings.match_policy) => {
                Arc::new(apply_policy(Request::clone(&job.request), self.core.settings.match_policy))
            }
            _ => job.request,
        };
        let res = &self.core.res;
        let (filter, new) = self.core.filters.intern(&request, &res.graph, &res.properties, &res.members);
        if new {
            let targets = self.core.filters.get(filter).targets.clone();
            self.core.res.split(&targets, &mut self.core.filters, &mut self.core.jobs);
            // The rows of a kept profile are per class: it has to be made anew when classes are split.
            self.core.drop_plan();
            self.phase = Phase::Fresh;
        }
        let (min, ranged) = demand(&request);
        Job {
            id: job.id,
            priority: job.priority,
            submitted: job.submitted,
            limit: job.limit,
            request,
            filter,
            min,
            ranged,
            planned: Timestamp::NEVER,
            stamp: 0,
            standing: Standing::Waiting,
            reserved: None,
            run: None,
        }
    }

    /// Keeps book of single cores and gpus from the first job on that asks for such.
    fn track_holdings(&mut self) {
        if !self.core.jobs.any_partial() {
            self.core.holdings = None;
            return;
        }
        let graph = &self.core.res.graph;
        let capacity = |t: u32| crate::matcher::capacity(graph, TargetId(t));
        let bound = graph.target_bound() as u32;
        let known = self.core.holdings.is_some();
        let holdings = self.core.holdings.get_or_insert_with(|| Holdings::new((0..bound).map(capacity)));
        (0..bound).for_each(|t| holdings.add_target(TargetId(t), capacity(t)));
        if known {
            return;
        }
        for (_, job) in self.core.jobs.running() {
            let run = job.run.as_ref().expect("it runs");
            let still = |s: &&Share| run.freed.as_ref().is_none_or(|f| !f.contains(s.target));
            let shares = run.selection.shares.iter().filter(still).cloned().collect();
            holdings.hold(&Selection { shares, nslots: 1 }).expect("running jobs do not overlap");
        }
    }

    fn alloc(&mut self, job: JobRequest, out: &mut Vec<Output>) {
        if self.core.jobs.slot(job.id).is_some() {
            return;
        }
        let id = job.id;
        let job = self.entry(job);
        let filter = self.core.filters.get(job.filter);
        let whole = !job.is_partial() && filter.members >= job.min;
        if !whole {
            if let Err(reason) = satisfiable(&job.request, &self.core.res.graph, &filter.targets) {
                self.core.filters.release(job.filter);
                out.push(Output::Deny { job: id, reason });
                return;
            }
        }
        let partial = job.is_partial();
        let at = self.core.jobs.add_waiting(job);
        if partial {
            self.track_holdings();
        }
        self.dirty = true;
        if let Phase::Known(progress) = &mut self.phase {
            if at < progress.next {
                match self.core.settings.queue_policy {
                    QueuePolicy::ConservativeCompress => progress.next = at,
                    _ => self.phase = Phase::Fresh,
                }
            }
        }
    }

    fn cancel(&mut self, id: JobId, out: &mut Vec<Output>) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        if self.core.jobs.get(slot).run.is_some() {
            return;
        }
        self.withdraw(slot);
        out.push(Output::Cancelled { job: id });
    }

    /// Takes a waiting job out.
    fn withdraw(&mut self, slot: Slot) {
        self.core.unreserve(slot);
        let job = self.core.jobs.remove_waiting(slot);
        self.core.stale_classes |= self.core.filters.release(job.filter);
        self.released(true);
    }

    fn free(&mut self, now: Timestamp, id: JobId, freed: Freed, last: bool) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        let Some(run) = self.core.jobs.get(slot).run.as_ref() else { return };
        let early = run.planned_end > now;
        let held = |s: &&Share| run.freed.as_ref().is_none_or(|f| !f.contains(s.target));
        let named = |s: &&Share| match &freed {
            Freed::Rest => true,
            Freed::Targets(targets) => last || targets.contains(s.target),
        };
        let all = run.freed.is_none() && (last || freed == Freed::Rest);
        let selection = Arc::clone(&run.selection);
        let some: Vec<Share>;
        let shares: &[Share] = if all {
            &selection.shares
        } else {
            some = selection.shares.iter().filter(held).filter(named).cloned().collect();
            &some
        };
        self.core.give_back(slot, now, shares);
        let run = self.core.jobs.get_mut(slot).run.as_mut().expect("it runs");
        if last || freed == Freed::Rest {
            self.core.jobs.remove_running(slot);
        } else {
            let freed = run.freed.get_or_insert_default();
            freed.extend(shares.iter().map(|s| s.target));
        }
        self.released(early);
    }

    fn set_up(&mut self, targets: &TargetSet, up: bool, epoch: Epoch) {
        for t in targets.iter() {
            self.core.res.set_up(t, up, &mut self.core.jobs);
        }
        self.core.epoch = self.core.epoch.max(epoch);
        self.changed();
    }

    fn set_graph(&mut self, graph: Arc<Graph>, out: &mut Vec<Output>) {
        self.core.order = TargetOrder::new(self.core.settings.match_policy, &graph);
        self.core.res.set_graph(graph);
        if self.core.holdings.is_some() {
            self.track_holdings();
        }
        self.reread(out);
    }

    /// Members, properties or the graph have changed: who may serve is judged anew, and who can never be served is denied.
    fn reread(&mut self, out: &mut Vec<Output>) {
        let res = &self.core.res;
        self.core.filters.resolve_all(&res.graph, &res.properties, &res.members);
        self.reclassify();
        for slot in self.core.jobs.waiting() {
            let job = self.core.jobs.get(slot);
            let targets = &self.core.filters.get(job.filter).targets;
            if let Err(reason) = satisfiable(&job.request, &self.core.res.graph, targets) {
                let id = job.id;
                self.withdraw(slot);
                out.push(Output::Deny { job: id, reason });
            }
        }
    }

    fn reclassify(&mut self) {
        self.core.filters.tidy();
        self.core.stale_classes = false;
        self.core.res.reclassify(&mut self.core.filters, &mut self.core.jobs);
        self.core.jobs.unpark();
        self.changed();
    }

    fn set_policy(&mut self, settings: SchedulerSettings) {
        let matching = settings.match_policy != self.core.settings.match_policy;
        let keeps = settings.queue_policy == QueuePolicy::ConservativeCompress;
        self.core.settings = settings;
        if matching {
            self.core.order = TargetOrder::new(self.core.settings.match_policy, &self.core.res.graph);
        }
        if !keeps {
            self.core.forget_reservations();
        }
        self.core.jobs.unpark();
        self.changed();
    }

    fn relimit(&mut self, id: JobId, limit: Duration) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        let job = self.core.jobs.get_mut(slot);
        job.limit = limit;
        if let Some(run) = &mut job.run {
            run.overruns = 0;
            let end = run.started + limit;
            self.core.jobs.set_end(slot, end);
            self.core.res.recount(&mut self.core.jobs);
        } else {
            self.core.unreserve(slot);
            self.core.jobs.unpark();
        }
        self.changed();
    }

    fn prioritize(&mut self, jobs: &[(JobId, Priority)]) {
        for (id, priority) in jobs {
            let Some(slot) = self.core.jobs.slot(*id) else { continue };
            if self.core.jobs.get(slot).run.is_none() {
                self.core.jobs.reprioritize(slot, *priority);
            }
        }
        self.changed();
    }

    /// A reservation of a predecessor: kept if the policy keeps reservations.
    fn promise(&mut self, id: JobId, at: Timestamp) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        let job = self.core.jobs.get_mut(slot);
        if job.run.is_none() && self.core.settings.queue_policy == QueuePolicy::ConservativeCompress {
            job.reserved = Some(plan::Reserved { start: at, until: at + job.limit, claim: None });
            self.phase = Phase::Fresh;
        }
    }

    /// Something has changed that no kept plan knows.
    fn changed(&mut self) {
        self.phase = Phase::Fresh;
        self.core.sweep = true;
        self.core.drop_plan();
        self.dirty = true;
    }

    /// Something was released; `early`: before its planned end.
    fn released(&mut self, early: bool) {
        self.dirty = true;
        if self.core.settings.queue_policy != QueuePolicy::ConservativeCompress {
            self.phase = Phase::Fresh;
            return;
        }
        self.core.sweep |= early;
        match (&mut self.phase, &self.core.plan) {
            (Phase::Known(progress), Plan::Counts(_)) => (progress.next, progress.seen) = (0, 0),
            _ => self.changed(),
        }
    }

    fn pass(&mut self, now: Timestamp, budget: usize, out: &mut Vec<Output>) {
        let fits = self.core.plan_fits_jobs();
        // What was to arrive at a boundary of the windows may not have come.
        let boundary = now >= self.core.boundary;
        if self.put_off_overruns(now) || !fits || boundary {
            self.changed();
        }
        if !fits {
            // Else a plan of targets that no pass has kept up would count again at the next job that asks for parts.
            self.core.plan = Plan::Counts(Profile::default());
        }
        if self.passes == 0 {
            // What a predecessor had reserved is told with `Planned`, and nothing was released since.
            self.core.sweep = false;
        }
        if self.core.stale_classes {
            let sweep = self.core.sweep;
            self.reclassify();
            self.core.sweep = sweep;
        }
        let kept = self.core.plan_kept;
        let (mut progress, fresh) = match std::mem::replace(&mut self.phase, Phase::Fresh) {
            // A kept reservation that is due starts; a replanned one that was due and did not start holds no more.
            Phase::Known(progress) if progress.first_start > now || kept && progress.first_start == now => {
                (progress, false)
            }
            Phase::Known(_) | Phase::Fresh => {
                self.core.drop_plan();
                self.core.boundary = self.core.res.windows.next_boundary(now).unwrap_or(Timestamp::NEVER);
                (Progress::default(), true)
            }
        };
        let mut pass = Pass {
            core: &mut self.core,
            progress: &mut progress,
            now,
            budget,
            out,
            examined: 0,
            started: Default::default(),
        };
        let end = pass.run(fresh);
        let examined = pass.examined;
        if end == PassEnd::Done {
            self.report_plans(&progress, out);
            self.dirty = false;
        }
        self.phase = Phase::Known(progress);
        out.push(Output::PassEnded { end, examined });
    }

    /// How much a running job is given when it overruns for the n-th time (from zero).
    fn slack(&self, n: u32) -> Duration {
        let slack = self.core.settings.overrun_slack.max(Duration::from_micros(1));
        (0..n).fold(slack, |s, _| s.doubled())
    }

    /// Jobs that should have ended are given a little more, twice as much each time; whether any was.
    fn put_off_overruns(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        while let Some((end, _, slot)) = self.core.jobs.ends().first().copied().filter(|(end, _, _)| *end <= now) {
            let slack = self.slack(self.core.jobs.get(slot).run.as_ref().expect("it runs").overruns);
            self.core.jobs.get_mut(slot).run.as_mut().expect("it runs").overruns += 1;
            self.core.jobs.set_end(slot, end + slack);
            any = true;
        }
        any
    }

    /// Says which planned starts have changed.
    fn report_plans(&mut self, progress: &Progress, out: &mut Vec<Output>) {
        self.passes = self.passes.wrapping_add(1);
        let before = std::mem::take(&mut self.reported);
        for (slot, start) in &progress.planned {
            let job = self.core.jobs.get_mut(*slot);
            job.stamp = self.passes;
            if job.planned != *start {
                job.planned = *start;
                out.push(Output::PlannedStart { job: job.id, at: Some(*start) });
            }
            self.reported.push(*slot);
        }
        for slot in before {
            let job = self.core.jobs.find_mut(slot);
            if let Some(job) = job.filter(|j| j.stamp != self.passes && !j.planned.is_never()) {
                job.planned = Timestamp::NEVER;
                out.push(Output::PlannedStart { job: job.id, at: None });
            }
        }
    }

    /// Whether a pass at `now` could decide anything new.
    pub fn needs_pass(&self, now: Timestamp) -> bool {
        self.dirty || self.next_wakeup().is_some_and(|at| at <= now)
    }

    /// When this scheduler wants a pass though nothing happens: at the first planned end of a running job while jobs
    /// wait, since a job that is not over by then changes every plan, and at the first planned start.
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        let plans = self.core.settings.queue_policy != QueuePolicy::Fcfs && !self.core.jobs.order().is_empty();
        let end = self.core.jobs.ends().first().map(|(end, _, _)| *end);
        let start = match &self.phase {
            Phase::Known(progress) if !progress.first_start.is_never() => Some(progress.first_start),
            Phase::Known(_) | Phase::Fresh => None,
        };
        end.into_iter().chain(start).min().filter(|_| plans)
    }

    /// The settings in force.
    pub fn settings(&self) -> &SchedulerSettings {
        &self.core.settings
    }

    /// How many jobs wait.
    pub fn waiting_len(&self) -> usize {
        self.core.jobs.waiting_len()
    }

    /// How many jobs hold resources.
    pub fn running_len(&self) -> usize {
        self.core.jobs.running_len()
    }

    /// The members of the queue as this scheduler knows them.
    pub fn members(&self) -> &Bits {
        &self.core.res.members
    }

    /// The targets that are up here.
    pub fn up(&self) -> &Bits {
        &self.core.res.up
    }

    /// The waiting jobs in order.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.core.jobs.waiting().into_iter().map(|slot| {
            let job = self.core.jobs.get(slot);
            Waiting { job: request_of(job), planned: (!job.planned.is_never()).then_some(job.planned) }
        })
    }

    /// The jobs that hold resources, by id.
    pub fn running(&self) -> Vec<Running> {
        let view = |(_, job): (Slot, &Job)| {
            let run = job.run.as_ref().expect("it runs");
            Running {
                job: request_of(job),
                selection: Arc::clone(&run.selection),
                freed: run.freed.as_deref().cloned().unwrap_or_default(),
                started: run.started,
                planned_end: run.planned_end,
                overruns: run.overruns,
            }
        };
        let mut all: Vec<Running> = self.core.jobs.running().map(view).collect();
        all.sort_by_key(|r| r.job.id);
        all
    }

    /// When a running job is expected to end.
    pub fn planned_end(&self, job: JobId) -> Option<Timestamp> {
        let slot = self.core.jobs.slot(job)?;
        self.core.jobs.get(slot).run.as_ref().map(|r| r.planned_end)
    }

    /// Why a waiting job does not start; `None` for others.
    pub fn explain(&self, job: JobId, now: Timestamp) -> Option<Reason> {
        let slot = self.core.jobs.slot(job)?;
        let standing = self.core.jobs.get(slot).standing;
        match (&self.core.jobs.get(slot).run, standing) {
            (Some(_), _) => None,
            (None, Standing::Waiting) => Some(self.why_waiting(slot, now)),
            (None, _) => Some(self.core.reason(slot, now)),
        }
    }

    fn why_waiting(&self, slot: Slot, now: Timestamp) -> Reason {
        let first = self.core.jobs.order().first().copied().unwrap_or(NO_SLOT);
        if self.core.settings.queue_policy == QueuePolicy::Fcfs && first != slot {
            return Reason::Behind { job: self.core.jobs.get(first).id };
        }
        let depth = self.core.settings.queue_depth.map_or(usize::MAX, |d| d as usize);
        let sound = |s: &&Slot| self.core.jobs.get(**s).standing == Standing::Waiting;
        let place = self.core.jobs.order().iter().filter(sound).position(|s| *s == slot);
        if place.is_some_and(|p| p >= depth) {
            return Reason::BeyondDepth;
        }
        self.core.kept_by(slot, now).unwrap_or_else(|| self.core.reason(slot, now))
    }
}

/// A job as it was requested.
fn request_of(job: &Job) -> JobRequest {
    JobRequest {
        id: job.id,
        priority: job.priority,
        submitted: job.submitted,
        limit: job.limit,
        request: Arc::clone(&job.request),
    }
}

/// The least number of whole targets, and whether more may be taken.
fn demand(request: &Request) -> (u32, bool) {
    match &request.shape {
        Shape::Whole { nodes, .. } => (u32::try_from(nodes.min()).unwrap_or(u32::MAX), !nodes.is_fixed()),
        Shape::Nodes { .. } | Shape::Slots { .. } => (1, false),
    }
}
