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
mod groups;
mod inputs;
mod jobs;
mod message;
mod pass;
mod places;
mod plan;
mod pooled;
mod resources;
mod rooms;
mod views;
mod why;
mod window;
pub mod wire;

pub use message::{HelloJob, Input, JobRequest, Output, PassEnd};
pub use views::{Running, Waiting};

use crate::base::{Duration, Epoch, TargetSet, Timestamp};
use crate::config::{QueuePolicy, SchedulerSettings};
use crate::graph::Graph;
use crate::matcher::TargetOrder;
use crate::planner::Profile;
use core::Core;
use jobs::{Jobs, Slot};
use pass::{Pass, Progress};
use plan::Plan;
use pooled::Pooled;
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
            shared: Pooled::default(),
            groups: Default::default(),
            plan: Plan::Counts(Profile::default()),
            holdings: None,
            epoch: Epoch(0),
            sweep: false,
            now: Timestamp::MIN,
            plan_kept: false,
            stale_classes: false,
            order,
            settings,
        };
        Self { core, phase: Phase::Fresh, dirty: false, reported: Vec::new(), passes: 0 }
    }

    /// Takes one message and appends the answers to `out`. `now` never goes back.
    pub fn handle(&mut self, now: Timestamp, input: Input, out: &mut Vec<Output>) {
        self.core.now = now;
        match input {
            Input::Acquire { graph, properties, members, up, epoch } => {
                self.acquire(graph, properties, &members, &up, epoch);
            }
            Input::Hello(job) => self.hello(*job),
            Input::Planned { job, at, place, pools } => self.promise(job, at, place, pools),
            Input::Up { targets, epoch } => self.set_up(&targets, true, epoch),
            Input::Down { targets, epoch } => {
                self.set_up(&targets, false, epoch);
                out.push(Output::DownAck { targets, epoch });
            }
            Input::Shrink { targets } => self.set_up(&targets, false, self.core.epoch),
            Input::Graph(graph) => self.set_graph(graph, out),
            Input::Properties(properties) => {
                self.core.drop_plan();
                self.core.res.properties = properties;
                self.reread(out);
            }
            Input::Members(members) => {
                self.core.drop_plan();
                self.core.res.set_members(&members);
                self.reread(out);
            }
            Input::Windows(windows) => {
                if self.core.res.windows != windows {
                    self.core.drop_plan();
                    self.core.res.windows = windows;
                    self.reclassify();
                    self.changed();
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
            Input::Pools(table) => {
                self.core.shared.set_table(table);
                self.reread(out);
            }
            Input::Resume { pools, budget } => {
                let known = matches!(self.phase, Phase::Known(_));
                if !known {
                    self.core.shared.clear();
                }
                if !self.core.shared.lend(pools) {
                    self.replan();
                }
                self.pass(now, budget, out);
                self.core.shared.give_back();
            }
        }
    }

    fn pass(&mut self, now: Timestamp, budget: usize, out: &mut Vec<Output>) {
        if self.put_off_overruns(now) {
            self.changed();
        }
        let mut examined = 0;
        let end = loop {
            if !self.core.plan_fits_jobs() {
                self.replan();
                if !self.core.jobs.any_partial() {
                    self.core.plan = Plan::Counts(Profile::default());
                }
            }
            if self.core.stale_classes {
                self.reclassify();
            }
            let end = self.run(now, budget, &mut examined, out);
            // Who starts may be the last that asked for parts, or whose filter cut classes or groups: more may fit then (I10).
            if end != PassEnd::Done || self.is_settled() {
                break end;
            }
            self.phase = Phase::Fresh;
        };
        if end == PassEnd::Done {
            self.dirty = false;
        }
        if end != PassEnd::NeedsShared
            && let Some(spans) = self.core.shared.news(end == PassEnd::Done)
        {
            out.push(Output::PoolPlans { spans });
        }
        out.push(Output::PassEnded { end, examined });
    }

    /// Whether classes, groups and the kind of plan are those that the jobs need.
    fn is_settled(&self) -> bool {
        !self.core.stale_classes && !self.core.groups.stale && self.core.plan_fits_jobs()
    }

    /// One run over the jobs, from where the last one stopped if what it found out still holds.
    fn run(&mut self, now: Timestamp, budget: usize, examined: &mut usize, out: &mut Vec<Output>) -> PassEnd {
        let overtakes = self.core.settings.queue_policy != QueuePolicy::Fcfs;
        if overtakes && self.core.res.classes.bounded() && self.core.park_exceeding(now, out) {
            self.phase = Phase::Fresh;
        }
        // At an opening, what was to arrive and is not up is lost.
        let kept = self.core.plan_kept && !self.core.res.classes.bounded();
        let (mut progress, fresh) = match std::mem::replace(&mut self.phase, Phase::Fresh) {
            // A kept reservation that is due starts; a replanned one that was due and did not start holds no more.
            Phase::Known(progress) if progress.first_start > now || kept && progress.first_start == now => {
                (progress, false)
            }
            Phase::Known(_) | Phase::Fresh => {
                self.core.drop_plan();
                self.core.shared.clear();
                (Progress::default(), true)
            }
        };
        let mut pass = Pass {
            core: &mut self.core,
            progress: &mut progress,
            now,
            budget,
            out,
            examined: *examined,
            started: Default::default(),
        };
        let end = pass.run(fresh);
        *examined = pass.examined;
        if end == PassEnd::Done && self.is_settled() {
            self.report_plans(&progress, out);
        }
        // conservative-compress does nothing before it has the pools, not even a new plan.
        let yet_to_begin = fresh
            && end == PassEnd::NeedsShared
            && self.core.settings.queue_policy == QueuePolicy::ConservativeCompress;
        self.phase = if yet_to_begin { Phase::Fresh } else { Phase::Known(progress) };
        end
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
            if !any {
                self.core.drop_plan();
            }
            self.core.jobs.get_mut(slot).run.as_mut().expect("it runs").overruns += 1;
            self.core.jobs.set_end(slot, end + slack);
            any = true;
            if (end + slack).is_never() {
                self.core.res.recount(&mut self.core.jobs);
            }
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
}
