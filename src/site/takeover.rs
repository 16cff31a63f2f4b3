//! A scheduler takes over from another while the queue runs.
//!
//! Decides when: one of ours at once, within the event; one elsewhere once it says that it is ready, and until then the old one
//! goes on as if nothing had been. The new one is told what the old one knows: what is up, who runs on what and what of
//! that is freed, who waits, windows and members. If it fails before, nothing has changed.
//!
//! Invariants: at any instant one scheduler decides; no job is lost, and none is granted by both (I2, I6): the old one is void
//! in the step in which the new one begins.

use super::error::EventError;
use super::event::{Effect, SchedulerChange};
use super::history::Note;
use super::queue::Queue;
use super::remote::{Heir, Phase, Remote};
use super::state::Site;
use crate::base::{JobId, QueueId, Timestamp};
use crate::config::{QueuePolicy, SchedulerSettings};
use crate::scheduler::{Input, Scheduler};

impl Site {
    pub(super) fn change_scheduler(
        &mut self,
        now: Timestamp,
        name: &str,
        change: SchedulerChange,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let id = self.queue_id(name)?;
        if let Some(parent) = self.queue(id).parent {
            let problem =
                format!("it has no scheduler of its own: its jobs are in that of {}", self.queue(parent).name);
            return Err(EventError::BadQueue { queue: name.to_owned(), problem });
        }
        match change {
            SchedulerChange::Swap(settings) => self.swap_scheduler(now, id, *settings, effects),
            SchedulerChange::Unload => {
                self.drop_heir(id, effects);
                let out = Phase::Out("it was unloaded".to_owned());
                if self.queue(id).remote.as_ref().is_some_and(|r| matches!(r.phase, Phase::Out(_))) {
                    return Ok(());
                }
                self.end_current(id, effects);
                self.forget_plans(now, id, effects);
                self.queue_mut(id).remote = Some(Remote::new(out));
                self.scheduler_changed(id, "scheduler-unloaded", String::new(), effects);
            }
            SchedulerChange::Load => {
                let queue = self.queue_mut(id);
                if !queue.remote.as_ref().is_some_and(|r| matches!(r.phase, Phase::Out(_))) {
                    return Ok(());
                }
                let elsewhere = queue.config.policy.scheduler.provider.is_some();
                queue.remote = elsewhere.then(|| Remote::new(Phase::Absent));
                self.scheduler_changed(id, "scheduler-loaded", String::new(), effects);
                self.unsettled = true;
            }
        }
        Ok(())
    }

    fn scheduler_changed(&self, id: QueueId, what: &'static str, detail: String, effects: &mut Vec<Effect>) {
        effects.push(Effect::QueueChanged { queue: self.queue(id).name.clone(), what, detail });
    }

    /// Begins a take-over; by one of ours it is done at once.
    pub(super) fn swap_scheduler(
        &mut self,
        now: Timestamp,
        id: QueueId,
        settings: SchedulerSettings,
        effects: &mut Vec<Effect>,
    ) {
        self.drop_heir(id, effects);
        let queue = self.queue(id);
        let out = queue.remote.as_ref().is_some_and(|r| matches!(r.phase, Phase::Out(_)));
        if queue.config.policy.scheduler == settings && !out {
            return;
        }
        if settings.provider.is_some() {
            let remote = Remote::new(Phase::Absent);
            self.queue_mut(id).heir = Some(Heir { remote, settings });
            self.unsettled = true;
            return;
        }
        let before = described(self.queue(id));
        self.end_current(id, effects);
        self.renew_own(now, id, &settings, effects);
        self.queue_mut(id).remote = None;
        self.use_settings(now, id, settings);
        let detail = format!("{} takes over from {before}", described(self.queue(id)));
        self.scheduler_changed(id, "swapped", detail, effects);
    }

    /// An heir is ready: the old one is void from here on.
    pub(super) fn take_over(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        let Some(Heir { mut remote, settings }) = self.queue_mut(id).heir.take() else { return };
        let before = described(self.queue(id));
        self.end_current(id, effects);
        self.forget_plans(now, id, effects);
        (remote.phase, remote.stale) = (Phase::Ready, true);
        self.queue_mut(id).remote = Some(remote);
        self.use_settings(now, id, settings);
        let detail = format!("{} takes over from {before}", described(self.queue(id)));
        self.scheduler_changed(id, "swapped", detail, effects);
    }

    /// Ends the instance elsewhere that decides, if there is one.
    fn end_current(&mut self, id: QueueId, effects: &mut Vec<Effect>) {
        if self.queue(id).remote.is_some() {
            self.end_instance(id, effects);
        }
    }

    pub(super) fn drop_heir(&mut self, id: QueueId, effects: &mut Vec<Effect>) {
        let queue = self.queue_mut(id);
        if let Some(heir) = queue.heir.take()
            && heir.remote.phase == Phase::Starting
        {
            let (queue, instance) = (queue.name.clone(), heir.remote.instance);
            effects.push(Effect::SchedulerEnd { queue, instance });
        }
    }

    /// What is elsewhere is ended, and the queue has no scheduler but its own again: it is about to go.
    pub(super) fn end_elsewhere(&mut self, id: QueueId, effects: &mut Vec<Effect>) {
        self.drop_heir(id, effects);
        self.end_instance(id, effects);
        self.queue_mut(id).remote = None;
    }

    fn use_settings(&mut self, now: Timestamp, id: QueueId, settings: SchedulerSettings) {
        let queue = self.queue_mut(id);
        queue.config.policy.scheduler = settings.clone();
        let spec = super::queues::spec_of(&queue.config, queue.members.clone());
        self.coordinator.change_queue(id, spec);
        (self.unsettled, self.windows_stale) = (true, true);
        if let Some(mirror) = self.queue_mut(id).scheduler.as_mut().filter(|s| *s.settings() != settings) {
            mirror.handle(now, Input::Policy(settings), &mut Vec::new());
        }
    }

    /// A scheduler of ours with these settings is told what the old one knows, and takes its place.
    fn renew_own(&mut self, now: Timestamp, id: QueueId, settings: &SchedulerSettings, effects: &mut Vec<Effect>) {
        if self.options.check_ledger {
            self.excuse(id, &Input::Policy(settings.clone()));
        }
        let queue = self.queue_mut(id);
        let Some(old) = queue.scheduler.take() else { return };
        let mut new = Scheduler::new(old.settings().clone());
        let mut known = Vec::new();
        for input in old.handover() {
            new.handle(now, input, &mut known);
        }
        // What was said of these counts until the new one says otherwise.
        if old.settings().queue_policy != QueuePolicy::ConservativeCompress {
            for (job, at) in old.waiting().filter_map(|w| Some((w.job.id, w.planned?))) {
                let planned = Input::Planned { job, at, place: Vec::new(), pools: Vec::new() };
                new.handle(now, planned, &mut known);
            }
        }
        let mut answers = Vec::new();
        new.handle(now, Input::Policy(settings.clone()), &mut answers);
        queue.scheduler = Some(new);
        for answer in answers {
            self.answer(now, id, answer, effects);
        }
    }

    /// What a scheduler that decides no more had planned does not count.
    fn forget_plans(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        let settings = self.queue(id).config.policy.scheduler.clone();
        let plain = SchedulerSettings { queue_policy: QueuePolicy::Fcfs, ..settings.clone() };
        let old: Vec<JobId> = self.queue(id).scheduler.iter().flat_map(Scheduler::waiting).map(|w| w.job.id).collect();
        if let Some(old) = self.queue(id).scheduler.clone() {
            let mut new = Scheduler::new(plain);
            let told = old.handover().into_iter().filter(|i| !matches!(i, Input::Planned { .. }));
            told.for_each(|input| new.handle(now, input, &mut Vec::new()));
            new.handle(now, Input::Policy(settings), &mut Vec::new());
            self.queue_mut(id).scheduler = Some(new);
        }
        for job in old {
            let Some(slot) = self.waiting_in(id, job) else { continue };
            let planned = std::mem::replace(&mut self.jobs.job_mut(slot).planned, Timestamp::NEVER);
            if self.options.annotate && !planned.is_never() {
                self.jobs.job_mut(slot).history.add(now, Note::Unplanned);
                effects.push(Effect::PlannedStart { job, at: None });
            }
        }
        self.pools.plan(id, Vec::new());
    }
}

/// Who schedules a queue, for people.
fn described(queue: &Queue) -> String {
    queue.config.policy.scheduler.described().to_owned()
}
