//! Schedulers in other processes: one is told the same as one of ours, and answers later.
//!
//! Of a queue whose scheduler is elsewhere, ours stays as a *mirror*: it is told everything, runs no passes, and is what a
//! successor is made of. What an instance says counts when the site takes it: a grant is refused, and the refusal said, where
//! the job does not wait, the targets are not up here or were down since, or what is given is not what was asked. Each
//! instance has a number; what one says that is no more is void. One that is lost acknowledges every down, and another is
//! launched from the mirror; after several in a row the queue is blocked, with the reason.
//!
//! Does not start processes: effects say what is to be started, told and ended.

use super::error::EventError;
use super::event::Effect;
use super::queue::Queue;
use super::state::Site;
use crate::base::{Duration, Epoch, JobId, QueueId, TargetSet, Timeline, Timestamp};
use crate::config::{Profiles, SchedulerSettings};
use crate::matcher::{Freed, Reason};
use crate::scheduler::wire::{self, JobInfo, Said, Told, WindowInfo};
use crate::scheduler::{HelloJob, Input, JobRequest, Output, Scheduler};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many instances in a row may be lost before they have done a pass.
const MOST_LOST: u32 = 3;

/// A scheduler in another process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Remote {
    pub instance: u64,
    pub phase: Phase,
    /// Something was told since the last pass that it was asked for.
    pub stale: bool,
    /// It was asked for a pass that is not over.
    pub asked: bool,
    /// For which instant it was asked last.
    asked_at: Timestamp,
    /// When it wants a pass even if nothing happens.
    pub wakeup: Timestamp,
    /// How many were lost in a row.
    pub lost: u32,
    /// The downs that it was told and has not acknowledged.
    pub downs: BTreeSet<Epoch>,
}

/// How far an instance is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// To be launched.
    Absent,
    /// Launched; it is being told what there is.
    Starting,
    /// It schedules.
    Ready,
    /// There is none, and none is launched: why.
    Out(String),
}

/// One that takes over once it is ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Heir {
    pub remote: Remote,
    pub settings: SchedulerSettings,
}

impl Remote {
    pub fn new(phase: Phase) -> Self {
        Self {
            instance: 0,
            phase,
            stale: true,
            asked: false,
            asked_at: Timestamp::MIN,
            wakeup: Timestamp::NEVER,
            lost: 0,
            downs: BTreeSet::new(),
        }
    }

    /// Whether it is told what happens.
    fn listens(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Ready)
    }

    /// Whether a pass is to be asked for.
    fn wants_pass(&self, now: Timestamp) -> bool {
        self.phase == Phase::Ready && !self.asked && (self.stale || self.wakeup <= now)
    }
}

impl Queue {
    /// The scheduler of this queue, if it is one of ours that decides.
    pub fn own_scheduler(&self) -> Option<&Scheduler> {
        self.scheduler.as_ref().filter(|_| self.remote.is_none())
    }

    /// When what is elsewhere has to be looked at.
    pub fn remote_wakeup(&self, now: Timestamp) -> Option<Timestamp> {
        let launch = self.heir.as_ref().map(|h| &h.remote).filter(|r| r.phase == Phase::Absent).map(|_| now);
        let own = self.remote.as_ref().and_then(|remote| match &remote.phase {
            Phase::Absent => Some(now),
            Phase::Ready if self.started && remote.wants_pass(now) => Some(now),
            Phase::Ready if self.started && !remote.asked && !remote.wakeup.is_never() => Some(remote.wakeup),
            Phase::Ready | Phase::Starting | Phase::Out(_) => None,
        });
        launch.into_iter().chain(own).min()
    }
}

impl Site {
    /// The first instance elsewhere that has to answer before the present is over.
    pub fn awaited_scheduler(&self) -> Option<(Arc<str>, u64)> {
        let waits =
            |r: &&Remote| r.asked || r.phase == Phase::Starting || r.phase == Phase::Ready && !r.downs.is_empty();
        let of = |queue: &Queue| {
            let both = queue.remote.iter().chain(queue.heir.as_ref().map(|h| &h.remote));
            both.into_iter().find(waits).map(|remote| (queue.name.clone(), remote.instance))
        };
        self.queues.iter().find_map(of)
    }

    /// The profiles that a queue may choose from.
    pub fn profiles(&self) -> &Profiles {
        &self.config.profiles
    }

    /// Launches what is to be launched.
    pub(super) fn launch_schedulers(&mut self, effects: &mut Vec<Effect>) {
        for index in 0..self.queues.len() {
            let id = self.queues[index].id;
            let absent = |r: &Remote| r.phase == Phase::Absent;
            if self.queues[index].remote.as_ref().is_some_and(absent) {
                let settings = self.queue(id).config.policy.scheduler.clone();
                let instance = self.launch(id, &settings, effects);
                if let Some(remote) = &mut self.queue_mut(id).remote {
                    (remote.instance, remote.phase) = (instance, Phase::Starting);
                    (remote.stale, remote.asked) = (true, false);
                }
            }
            if let Some(heir) = self.queues[index].heir.clone().filter(|h| absent(&h.remote)) {
                let instance = self.launch(id, &heir.settings, effects);
                if let Some(heir) = &mut self.queue_mut(id).heir {
                    (heir.remote.instance, heir.remote.phase) = (instance, Phase::Starting);
                }
            }
        }
    }

    /// Starts an instance and tells it all that its predecessor knows.
    fn launch(&mut self, id: QueueId, settings: &SchedulerSettings, effects: &mut Vec<Effect>) -> u64 {
        let queue = self.queue_mut(id);
        queue.instances += 1;
        let (instance, name) = (queue.instances, queue.name.clone());
        let provider = settings.provider.clone().unwrap_or_default();
        effects.push(Effect::SchedulerLaunch { queue: name.clone(), instance, provider });
        let inputs = self.queue(id).scheduler.as_ref().map(Scheduler::handover).unwrap_or_default();
        let told = inputs.iter().filter_map(|input| match input {
            Input::Acquire { graph, properties, members, up, epoch } => Some(Told::Acquire {
                version: wire::WIRE_VERSION,
                queue: name.to_string(),
                settings: Box::new(settings.clone()),
                targets: wire::targets_of(graph, properties),
                members: members.clone(),
                up: up.clone(),
                epoch: *epoch,
            }),
            input => self.told(id, input),
        });
        let told: Vec<Told> = told.chain([Told::Ready]).collect();
        effects.extend(told.into_iter().map(|told| self.telling(id, instance, told)));
        instance
    }

    fn telling(&self, id: QueueId, instance: u64, told: Told) -> Effect {
        Effect::SchedulerTell { queue: self.queue(id).name.clone(), instance, told: Box::new(told) }
    }

    /// The words of a message to a scheduler elsewhere; `None` for what it need not know.
    pub(super) fn told(&self, id: QueueId, input: &Input) -> Option<Told> {
        Some(match input {
            Input::Hello(hello) => Told::Running {
                job: Box::new(self.job_info(&hello.job)?),
                shares: wire::shares_of(&hello.selection),
                freed: hello.freed.clone(),
                started: hello.started,
            },
            Input::Up { targets, epoch } => Told::Up { targets: targets.clone(), epoch: *epoch },
            Input::Down { targets, epoch } => Told::Down { targets: targets.clone(), epoch: *epoch },
            Input::Members(targets) => Told::Members { targets: targets.clone() },
            Input::Windows(windows) => {
                let bound = |t: Timestamp| (t != Timestamp::MIN && !t.is_never()).then_some(t);
                let info = |line: &Timeline| WindowInfo {
                    targets: line.targets.clone(),
                    windows: line.windows.iter().map(|w| (bound(w.from), bound(w.until))).collect(),
                };
                Told::Windows { windows: windows.timelines.iter().map(info).collect() }
            }
            Input::Alloc(job) => Told::Alloc(Box::new(self.job_info(job)?)),
            Input::Cancel(job) => Told::Cancel { job: *job },
            Input::Free { job, freed, last } => {
                let targets = match freed {
                    Freed::Targets(targets) => targets.clone(),
                    Freed::Rest => self.held_in_mirror(id, *job),
                };
                Told::Free { job: *job, targets, last: *last }
            }
            Input::Prioritize(jobs) => Told::Prioritize { jobs: jobs.clone() },
            Input::Expiration { job, limit } => Told::Limit { job: *job, limit: finite(*limit) },
            Input::Acquire { .. }
            | Input::Planned { .. }
            | Input::Shrink { .. }
            | Input::Graph(_)
            | Input::Properties(_)
            | Input::Policy(_)
            | Input::Reconsider
            | Input::Pass { .. }
            | Input::Pools(_)
            | Input::Resume { .. } => return None,
        })
    }

    fn held_in_mirror(&self, id: QueueId, job: JobId) -> TargetSet {
        let running = self.queue(id).scheduler.iter().flat_map(|s| s.running());
        let held = running.filter(|run| run.job.id == job).map(|run| &run.selection.target_set() - &run.freed);
        held.fold(TargetSet::new(), |sum, one| &sum | &one)
    }

    /// A job, told; `None` if it asks for what somebody elsewhere cannot give.
    fn job_info(&self, job: &JobRequest) -> Option<JobInfo> {
        let request = wire::request_of(&job.request, &self.graph, &self.properties)?;
        let (priority, submitted, limit) = (job.priority, job.submitted, finite(job.limit));
        Some(JobInfo { job: job.id, priority, submitted, limit, request })
    }

    /// Tells something to a scheduler of ours and to one elsewhere: the former decides, or is the mirror of the latter.
    pub(super) fn tell_both(&mut self, now: Timestamp, id: QueueId, input: Input, effects: &mut Vec<Effect>) {
        let other_machine = matches!(input, Input::Graph(_) | Input::Properties(_));
        let told = self.told(id, &input);
        let unserved = match &input {
            Input::Alloc(job) if told.is_none() => Some(job.id),
            _ => None,
        };
        let queue = self.queue_mut(id);
        let acknowledges = queue.remote.as_ref().is_none_or(|r| r.phase != Phase::Ready);
        let Some(scheduler) = &mut queue.scheduler else { return };
        let mut answers = Vec::new();
        scheduler.handle(now, input, &mut answers);
        for answer in answers {
            if acknowledges || !matches!(answer, Output::DownAck { .. }) {
                self.answer(now, id, answer, effects);
            }
        }
        if other_machine {
            self.renew_instances(id, effects);
        } else {
            self.pass_on(id, told, effects);
        }
        if let Some(job) = unserved.filter(|_| self.queue(id).remote.is_some()) {
            let what = "the queue's scheduler is a program, which gives nothing of shared pools".to_owned();
            self.answer(now, id, Output::Annotate { job, reason: Reason::Told { what } }, effects);
        }
    }

    /// Passes on what a mirror was told.
    fn pass_on(&mut self, id: QueueId, told: Option<Told>, effects: &mut Vec<Effect>) {
        if let Some(Told::Alloc(job)) = &told
            && self.waiting_in(id, job.job).is_none()
        {
            return;
        }
        let queue = self.queue_mut(id);
        let mut listeners = Vec::new();
        if let Some(remote) = &mut queue.remote {
            remote.stale = true;
            listeners.extend(remote.listens().then_some(remote.instance));
        }
        listeners.extend(queue.heir.iter().filter(|h| h.remote.listens()).map(|h| h.remote.instance));
        if let Some(Told::Down { epoch, .. }) = &told {
            let both = queue.remote.iter_mut().chain(queue.heir.as_mut().map(|h| &mut h.remote));
            both.filter(|r| r.listens()).for_each(|r| {
                r.downs.insert(*epoch);
            });
        }
        if let Some(told) = told {
            effects.extend(listeners.into_iter().map(|instance| self.telling(id, instance, told.clone())));
        }
    }

    /// The machine is another one: instances are replaced by such as are told of it.
    fn renew_instances(&mut self, id: QueueId, effects: &mut Vec<Effect>) {
        self.end_instance(id, effects);
        let queue = self.queue_mut(id);
        let name = queue.name.clone();
        if let Some(heir) = queue.heir.as_mut().filter(|h| h.remote.listens()) {
            effects.push(Effect::SchedulerEnd { queue: name, instance: heir.remote.instance });
            heir.remote = Remote::new(Phase::Absent);
        }
    }

    /// Ends the instance that decides; another is launched in its place. Nothing that it says counts any more.
    pub(super) fn end_instance(&mut self, id: QueueId, effects: &mut Vec<Effect>) {
        let queue = self.queue_mut(id);
        let name = queue.name.clone();
        let Some(remote) = queue.remote.as_mut().filter(|r| r.listens()) else { return };
        effects.push(Effect::SchedulerEnd { queue: name, instance: remote.instance });
        *remote = Remote { lost: remote.lost, ..Remote::new(Phase::Absent) };
        self.void(id);
    }

    /// All downs count as acknowledged, and grants with older epochs do not count: what is up is told anew.
    fn void(&mut self, id: QueueId) {
        self.coordinator.connection_closed(id);
        self.coordinator.connection_opened(id);
        self.unsettled = true;
    }

    /// Asks for passes.
    pub(super) fn ask_schedulers(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        for index in 0..self.queues.len() {
            let queue = &mut self.queues[index];
            let (id, started) = (queue.id, queue.started);
            let Some(remote) = queue.remote.as_mut().filter(|r| started && r.wants_pass(now)) else { continue };
            (remote.asked, remote.stale, remote.wakeup) = (true, false, Timestamp::NEVER);
            remote.asked_at = now;
            let instance = remote.instance;
            effects.push(self.telling(id, instance, Told::Pass { now }));
        }
    }

    /// What an instance says.
    pub(super) fn scheduler_says(
        &mut self,
        now: Timestamp,
        queue: &str,
        instance: u64,
        said: Said,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        // Queues and instances that are no more may still speak.
        let Some(id) = self.names.get(queue).copied() else { return Ok(()) };
        if self.queue(id).heir.as_ref().is_some_and(|h| h.remote.instance == instance && h.remote.listens()) {
            match said {
                Said::Ready => self.take_over(now, id, effects),
                // It acknowledges what it was told while it was starting.
                Said::DownAck { epoch, .. } => {
                    if let Some(heir) = &mut self.queue_mut(id).heir {
                        heir.remote.downs.remove(&epoch);
                    }
                }
                Said::Alloc { .. }
                | Said::Deny { .. }
                | Said::Annotate { .. }
                | Said::Planned { .. }
                | Said::Done { .. } => {
                    let why = "it spoke before it was ready".to_owned();
                    self.lose(id, instance, why, effects);
                }
            }
            return Ok(());
        }
        let Some(remote) = &mut self.queue_mut(id).remote else { return Ok(()) };
        if remote.instance != instance || !remote.listens() {
            return Ok(());
        }
        let ready = remote.phase == Phase::Ready;
        match said {
            Said::Ready if !ready => (remote.phase, remote.stale) = (Phase::Ready, true),
            Said::DownAck { targets, epoch } => {
                remote.downs.remove(&epoch);
                self.unsettled |= self.coordinator.acknowledge(id, &targets, epoch);
            }
            Said::Ready => {}
            _ if !ready => self.lose(id, instance, "it spoke before it was ready".to_owned(), effects),
            Said::Done { wakeup } => {
                (remote.asked, remote.lost) = (false, 0);
                // One that was over when it was asked would be one for ever; one that has passed meanwhile is due.
                let since = remote.asked_at;
                remote.wakeup = wakeup.filter(|at| *at > since).unwrap_or(Timestamp::NEVER);
            }
            Said::Alloc { job, shares, epoch } => self.granted_elsewhere(now, id, (job, &shares), epoch, effects),
            Said::Deny { job, reason } => {
                self.in_mirror(now, id, Input::Cancel(job));
                let reason = Reason::Told { what: reason };
                self.answer(now, id, Output::Deny { job, reason }, effects);
            }
            Said::Annotate { job, reason } => {
                let reason = Reason::Told { what: reason };
                self.answer(now, id, Output::Annotate { job, reason }, effects);
            }
            Said::Planned { job, at } => self.answer(now, id, Output::PlannedStart { job, at }, effects),
        }
        Ok(())
    }

    /// Tells a mirror what happened elsewhere; what it answers is known.
    fn in_mirror(&mut self, now: Timestamp, id: QueueId, input: Input) {
        if let Some(mirror) = &mut self.queue_mut(id).scheduler {
            mirror.handle(now, input, &mut Vec::new());
        }
    }

    /// A grant from elsewhere counts, or is refused and said so.
    fn granted_elsewhere(
        &mut self,
        now: Timestamp,
        id: QueueId,
        (job, shares): (JobId, &[wire::ShareInfo]),
        epoch: Epoch,
        effects: &mut Vec<Effect>,
    ) {
        self.checked += 1;
        let waits = self.waiting_in(id, job);
        let index = self.jobs.next_holding();
        let entered = (|| {
            let slot = waits.ok_or("it does not wait here")?;
            let request = self.jobs.job(slot).request.clone().ok_or("it does not wait here")?;
            let selection = wire::selection_of(shares, &request, &self.graph, &self.properties)?;
            self.ledger.grant(index, id, epoch, &selection).map_err(|violation| violation.text)?;
            Ok::<_, String>((slot, Arc::new(selection), request))
        })();
        match entered {
            Ok((slot, selection, request)) => {
                let known = self.jobs.job(slot);
                let job = JobRequest {
                    id: job,
                    priority: known.priority,
                    submitted: known.submitted,
                    limit: known.limit,
                    request,
                };
                self.in_mirror(now, id, Input::Cancel(job.id));
                let hello =
                    HelloJob { job, selection: selection.clone(), freed: TargetSet::new(), started: now, overruns: 0 };
                self.in_mirror(now, id, Input::Hello(Box::new(hello)));
                self.start_granted(now, id, slot, index, selection, effects);
                self.tell_heir(id, job_started(&self.queue(id).scheduler, job_id(self, slot)), effects);
            }
            Err(reason) => {
                let Some(remote) = &mut self.queue_mut(id).remote else { return };
                remote.stale = true;
                let instance = remote.instance;
                let mut again = vec![Told::Refused { job, reason }];
                let waiting = self.queue(id).scheduler.iter().flat_map(Scheduler::waiting).find(|w| w.job.id == job);
                if let Some(info) = waits.and(waiting).and_then(|w| self.job_info(&w.job)) {
                    again.push(Told::Alloc(Box::new(info)));
                }
                effects.extend(again.into_iter().map(|told| self.telling(id, instance, told)));
            }
        }
    }

    /// Tells the heir alone, who does not know what the one that decides has done itself.
    fn tell_heir(&self, id: QueueId, inputs: Vec<Input>, effects: &mut Vec<Effect>) {
        let Some(instance) = self.queue(id).heir.as_ref().filter(|h| h.remote.listens()).map(|h| h.remote.instance)
        else {
            return;
        };
        let told: Vec<Told> = inputs.iter().filter_map(|input| self.told(id, input)).collect();
        effects.extend(told.into_iter().map(|told| self.telling(id, instance, told)));
    }

    /// Tells an heir what a scheduler of ours has started: the job waits no more and holds what it was given.
    pub(super) fn tell_heir_of_start(&self, id: QueueId, slot: u32, effects: &mut Vec<Effect>) {
        if self.queue(id).heir.is_some() {
            self.tell_heir(id, job_started(&self.queue(id).scheduler, job_id(self, slot)), effects);
        }
    }

    /// Tells an heir that a job waits no more.
    pub(super) fn tell_heir_of_denial(&self, id: QueueId, job: JobId, effects: &mut Vec<Effect>) {
        if self.queue(id).heir.is_some() {
            self.tell_heir(id, vec![Input::Cancel(job)], effects);
        }
    }

    /// An instance is no more.
    pub(super) fn scheduler_lost(
        &mut self,
        queue: &str,
        instance: u64,
        why: String,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        if let Some(id) = self.names.get(queue).copied() {
            self.lose(id, instance, why, effects);
        }
        Ok(())
    }

    fn lose(&mut self, id: QueueId, instance: u64, why: String, effects: &mut Vec<Effect>) {
        let queue = self.queue_mut(id);
        let name = queue.name.clone();
        if queue.heir.as_ref().is_some_and(|h| h.remote.instance == instance && h.remote.listens()) {
            queue.heir = None;
            effects.push(Effect::SchedulerEnd { queue: name.clone(), instance });
            effects.push(Effect::QueueChanged { queue: name, what: "swap-failed", detail: why });
            return;
        }
        let Some(remote) = queue.remote.as_mut().filter(|r| r.instance == instance && r.listens()) else { return };
        let lost = remote.lost + 1;
        let phase = if lost > MOST_LOST { Phase::Out(why.clone()) } else { Phase::Absent };
        let what = if lost > MOST_LOST { "scheduler-out" } else { "scheduler-lost" };
        *remote = Remote { lost, ..Remote::new(phase) };
        effects.push(Effect::SchedulerEnd { queue: name.clone(), instance });
        effects.push(Effect::QueueChanged { queue: name, what, detail: why });
        self.void(id);
    }
}

/// How a start is told to somebody who has not made it.
fn job_started(mirror: &Option<Scheduler>, job: JobId) -> Vec<Input> {
    let run = mirror.iter().flat_map(|s| s.running()).find(|run| run.job.id == job);
    let hello = run.map(|run| {
        let (selection, freed, started, overruns) = (run.selection, run.freed, run.started, run.overruns);
        Input::Hello(Box::new(HelloJob { job: run.job, selection, freed, started, overruns }))
    });
    std::iter::once(Input::Cancel(job)).chain(hello).collect()
}

fn job_id(site: &Site, slot: u32) -> JobId {
    site.jobs.job(slot).id
}

fn finite(limit: Duration) -> Option<Duration> {
    (!limit.is_infinite()).then_some(limit)
}
