//! What happens to queues, at any moment: created, changed, removed, enabled, disabled, started, stopped, switched.
//!
//! Decides what becomes of the jobs of a queue that is removed (R7) and of those in a virtual queue that is stopped.
//! Who owns which targets after a start or a stop is the coordinator's decision.

use super::calendar::{Resolved, start_options};
use super::error::EventError;
use super::event::{Effect, PendingFate, StartMode, SwitchSpec};
use super::job::JobState;
use super::queue::{Places, Queue};
use super::rules::Rules;
use super::state::Site;
use crate::base::{Epoch, QueueId, TargetSet, Timestamp, Windows};
use crate::config::{self, Members, QueueConfig};
use crate::coordinator::{Horizon, Overlap, QueueSpec, Started};
use crate::scheduler::{Input, Scheduler};
use std::sync::Arc;

impl Site {
    pub(super) fn queue_create(
        &mut self,
        now: Timestamp,
        config: QueueConfig,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        if self.names.contains_key(config.name.as_str()) {
            return Err(EventError::QueueExists(config.name));
        }
        let (parent, members) = self.check_queue(&config)?;
        let id = QueueId(self.queues.len() as u32);
        let name: Arc<str> = config.name.as_str().into();
        let mut queue = Queue {
            id,
            name: name.clone(),
            rules: Rules::of(&config.policy),
            parent,
            enabled: true,
            disable_reason: String::new(),
            started: false,
            stop_reason: String::new(),
            removed: false,
            gone: false,
            members,
            epoch: Epoch(0),
            windows: Arc::new(Windows::default()),
            scheduler: None,
            places: Places::default(),
            waiting: 0,
            holdings: 0,
            answers: Vec::new(),
            pass: None,
            promises: Default::default(),
            config,
        };
        if parent.is_none() {
            self.coordinator.add_queue(id, spec_of(&queue.config, queue.members.clone()));
            queue.scheduler = Some(Scheduler::new(queue.config.policy.scheduler.clone()));
        }
        self.names.insert(name.clone(), id);
        self.queues.push(queue);
        self.acquire(now, id, effects);
        self.meet_holdings(now, id, effects);
        self.renew_confines(now, id, effects);
        self.tell_preempt_rules(now, self.home(id), effects);
        self.calendar_has_new();
        (self.unsettled, self.windows_stale) = (true, true);
        effects.push(Effect::QueueChanged { queue: name, what: "created", detail: String::new() });
        Ok(())
    }

    /// The first message to a new scheduler: nothing is up before the coordinator says so.
    pub(super) fn acquire(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        let acquire = Input::Acquire {
            graph: self.graph.clone(),
            properties: self.properties.clone(),
            members: self.queue(id).members.clone(),
            up: TargetSet::new(),
            epoch: self.queue(id).epoch,
        };
        self.tell(now, id, acquire, effects);
        self.tell_pools(now, id, effects);
    }

    /// Looks up the parent and the members of a queue.
    ///
    /// # Errors
    /// A parent that does not exist or is virtual, hosts that nobody has, members that are none.
    fn check_queue(&self, config: &QueueConfig) -> Result<(Option<QueueId>, TargetSet), EventError> {
        let bad = |problem: String| EventError::BadQueue { queue: config.name.clone(), problem };
        if config.name.is_empty() {
            return Err(bad("its name is empty, expected at least one character".to_owned()));
        }
        if let Some(parent) = &config.parent {
            let id = self.queue_id(parent)?;
            if self.queue(id).parent.is_some() || id == self.names.get(config.name.as_str()).copied().unwrap_or(NONE) {
                return Err(bad(format!("its parent {parent} is virtual, expected a queue with targets")));
            }
            return Ok((Some(id), TargetSet::new()));
        }
        if let Members::Hosts(hosts) = &config.members {
            let unknown = hosts.iter().find(|host| self.graph.targets_by_host(host).is_empty());
            if let Some(host) = unknown {
                return Err(bad(format!("host {host} is not in the inventory")));
            }
        }
        Ok((None, self.members(config)))
    }

    /// The targets that a queue covers, as the inventory stands.
    pub(super) fn members(&self, config: &QueueConfig) -> TargetSet {
        match &config.members {
            Members::All => self.graph.targets().clone(),
            Members::Hosts(hosts) => {
                hosts.iter().flat_map(|h| self.graph.targets_by_host(&h).iter().copied()).collect()
            }
            Members::Requires(names) => {
                let mut members = self.graph.targets().clone();
                for name in names {
                    match self.properties.get(name) {
                        Some(targets) => members &= targets,
                        None => members.clear(),
                    }
                }
                members
            }
        }
    }

    /// Looks up the members of a queue again, after the inventory has changed.
    pub(super) fn renew_members(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        let queue = self.queue(id);
        if queue.removed || queue.parent.is_some() {
            return self.renew_confines(now, id, effects);
        }
        let members = self.members(&queue.config);
        if members != queue.members {
            self.set_members(now, id, members, effects);
        }
    }

    fn set_members(&mut self, now: Timestamp, id: QueueId, members: TargetSet, effects: &mut Vec<Effect>) {
        self.queue_mut(id).members = members.clone();
        let spec = spec_of(&self.queue(id).config, members.clone());
        self.coordinator.change_queue(id, spec);
        (self.unsettled, self.windows_stale) = (true, true);
        self.tell(now, id, Input::Members(members), effects);
        self.meet_holdings(now, id, effects);
    }

    pub(super) fn queue_change(
        &mut self,
        now: Timestamp,
        config: QueueConfig,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let id = self.queue_id(&config.name)?;
        let (parent, members) = self.check_queue(&config)?;
        if parent != self.queue(id).parent {
            let problem = "its parent cannot be changed: create another queue and move its jobs".to_owned();
            return Err(EventError::BadQueue { queue: config.name, problem });
        }
        let queue = self.queue_mut(id);
        queue.rules = Rules::of(&config.policy);
        let policy = config.policy.scheduler.clone();
        let other_policy = queue.config.policy.scheduler != policy;
        let other_user_limits = queue.config.policy.limits.user != config.policy.limits.user;
        let other_boost = queue.config.policy.priority_boost != config.policy.priority_boost;
        queue.config = config;
        let name = queue.name.clone();
        if other_boost {
            self.boost(now, id, effects);
        }
        if other_user_limits {
            self.other_user_limits(now, id, effects);
        }
        if parent.is_none() {
            if other_policy {
                self.tell(now, id, Input::Policy(policy), effects);
            }
            self.set_members(now, id, members, effects);
        }
        self.renew_confines(now, id, effects);
        self.tell_preempt_rules(now, self.home(id), effects);
        effects.push(Effect::QueueChanged { queue: name, what: "changed", detail: String::new() });
        Ok(())
    }

    pub(super) fn queue_remove(
        &mut self,
        now: Timestamp,
        name: &str,
        fate: Option<&PendingFate>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let id = self.queue_id(name)?;
        let children: Vec<&str> =
            self.queues.iter().filter(|q| q.is_live() && q.parent == Some(id)).map(|q| &*q.name).collect();
        if !children.is_empty() {
            return Err(EventError::HasChildren { queue: name.to_owned(), children: children.join(", ") });
        }
        let waiting = self.waiting_jobs(id);
        let destination = match fate {
            None if !waiting.is_empty() => {
                return Err(EventError::PendingJobs { queue: name.to_owned(), jobs: waiting.len() as u64 });
            }
            Some(PendingFate::Move(to)) if to == name => {
                let problem = "its pending jobs cannot be moved to itself".to_owned();
                return Err(EventError::BadQueue { queue: name.to_owned(), problem });
            }
            Some(PendingFate::Move(to)) => Some(self.queue_id(to)?),
            Some(PendingFate::Hold | PendingFate::Cancel) | None => None,
        };
        for slot in waiting {
            match (fate, destination) {
                (Some(PendingFate::Move(_)), Some(to)) => match self.movable(slot, to) {
                    Ok(()) => self.relocate(now, slot, to, effects),
                    Err(why) => {
                        let reason =
                            format!("queue {name} was removed, and {} does not take it: {why}", self.queue(to).name);
                        self.hold(now, slot, reason, effects);
                    }
                },
                (Some(PendingFate::Cancel), _) => self.cancel(now, self.jobs.job(slot).id, effects)?,
                (_, _) => self.hold(now, slot, format!("queue {name} was removed"), effects),
            }
        }
        if self.queue(id).parent.is_none() {
            self.coordinator.remove_queue(now, id);
            self.unsettled = true;
        }
        let queue = self.queue_mut(id);
        (queue.removed, queue.started) = (true, false);
        let name = queue.name.clone();
        self.calendar_without(id);
        self.names.remove(&name);
        self.tell_preempt_rules(now, self.home(id), effects);
        effects.push(Effect::QueueChanged { queue: name, what: "removed", detail: String::new() });
        Ok(())
    }

    /// The jobs of a queue that wait for its scheduler, in the order of their submission.
    fn waiting_jobs(&self, id: QueueId) -> Vec<u32> {
        let places = self.queue(id).places;
        if places.pending + places.held == 0 {
            return Vec::new();
        }
        let waits = |state, in_scheduler| state == JobState::Pending || state == JobState::Held && in_scheduler;
        self.jobs
            .iter()
            .filter(|(_, j)| j.queue == id && waits(j.state, j.in_scheduler))
            .map(|(slot, _)| slot)
            .collect()
    }

    pub(super) fn queue_enable(
        &mut self,
        name: &str,
        disabled: Option<String>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let id = self.queue_id(name)?;
        let queue = self.queue_mut(id);
        queue.enabled = disabled.is_none();
        let what = if queue.enabled { "enabled" } else { "disabled" };
        queue.disable_reason = disabled.unwrap_or_default();
        let detail = queue.disable_reason.clone();
        effects.push(Effect::QueueChanged { queue: queue.name.clone(), what, detail });
        Ok(())
    }

    pub(super) fn queue_start(
        &mut self,
        now: Timestamp,
        name: &str,
        mode: &StartMode,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let id = self.queue_id(name)?;
        if self.queue(id).parent.is_some() {
            if mode.group.is_some() || mode.max_leaving.is_some() {
                return Err(EventError::VirtualGroup(name.to_owned()));
            }
            self.virtual_start(now, id, effects);
            self.report(id, "started", String::new(), effects);
            return Ok(());
        }
        let started = self.coordinator.start(now, id, &start_options(mode))?;
        self.unmark(id);
        self.unsettled = true;
        self.sync_started();
        self.queue_mut(id).stop_reason.clear();
        let (what, detail) = match started {
            Started::Now => ("started", ""),
            Started::Resumed => ("started", "it kept its claim"),
            Started::Gathering(_) => ("gathering", ""),
        };
        self.report(id, what, detail.to_owned(), effects);
        Ok(())
    }

    pub(super) fn queue_stop(
        &mut self,
        now: Timestamp,
        name: &str,
        release: bool,
        reason: String,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let id = self.queue_id(name)?;
        self.unmark(id);
        if self.queue(id).parent.is_some() {
            self.virtual_stop(now, id, effects);
        } else {
            self.coordinator.stop(now, id, release);
            self.unsettled = true;
            self.sync_started();
        }
        self.queue_mut(id).stop_reason.clone_from(&reason);
        self.report(id, if release { "released" } else { "stopped" }, reason, effects);
        Ok(())
    }

    pub(super) fn switch(
        &mut self,
        now: Timestamp,
        switch: &SwitchSpec,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let resolved = self.resolve(switch)?;
        let done = self.coordinator.switch(now, &resolved.request)?;
        self.note_switch(now, done, None, &resolved);
        self.switched(now, &resolved, "switch", effects);
        Ok(())
    }

    /// What follows from a switch that the coordinator has done.
    pub(super) fn switched(&mut self, now: Timestamp, done: &Resolved, why: &str, effects: &mut Vec<Effect>) {
        self.unsettled = true;
        self.sync_started();
        let named = done.request.start.iter().map(|(id, _)| id).chain(&done.request.release);
        named.for_each(|id| self.unmark(*id));
        for id in &done.virtual_release {
            self.virtual_stop(now, *id, effects);
        }
        for id in done.request.release.iter().chain(&done.virtual_release) {
            why.clone_into(&mut self.queue_mut(*id).stop_reason);
            self.report(*id, "released", why.to_owned(), effects);
        }
        for id in &done.virtual_start {
            if !self.queue(*id).removed {
                self.virtual_start(now, *id, effects);
            }
        }
        for (id, options) in &done.request.start {
            self.queue_mut(*id).stop_reason.clear();
            let what = if options.group.is_some() { "gathering" } else { "started" };
            self.report(*id, what, why.to_owned(), effects);
        }
        for id in &done.virtual_start {
            self.report(*id, "started", why.to_owned(), effects);
        }
    }

    pub(super) fn virtual_start(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        let queue = self.queue_mut(id);
        queue.stop_reason.clear();
        if !std::mem::replace(&mut queue.started, true) {
            for slot in self.waiting_jobs(id) {
                if !self.jobs.job(slot).in_scheduler {
                    self.enqueue(now, slot, effects);
                }
            }
        }
    }

    /// The jobs of the queue leave the parent's scheduler; they stay pending.
    pub(super) fn virtual_stop(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.queue_mut(id).started, false) {
            return;
        }
        for slot in self.waiting_jobs(id) {
            self.withdraw(now, slot, effects);
            // Held for a window of the parent, which does not matter while the queue is stopped.
            self.set_state(slot, JobState::Pending);
        }
    }

    /// Tells the scheduler where the jobs of a queue stand in its order, after the boost of the queue has changed.
    fn boost(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        let waiting = self.waiting_jobs(id).into_iter().map(|slot| self.jobs.job(slot)).filter(|j| j.in_scheduler);
        let jobs: Vec<_> = waiting.map(|j| (j.id, self.order_priority(j))).collect();
        if !jobs.is_empty() {
            self.tell(now, self.home(id), Input::Prioritize(jobs), effects);
        }
    }

    pub(super) fn report(&self, id: QueueId, what: &'static str, detail: String, effects: &mut Vec<Effect>) {
        effects.push(Effect::QueueChanged { queue: self.queue(id).name.clone(), what, detail });
    }
}

/// No queue has this id.
const NONE: QueueId = QueueId(u32::MAX);

/// What the coordinator has to know of a queue.
pub(super) fn spec_of(config: &QueueConfig, members: TargetSet) -> QueueSpec {
    let settings = &config.policy.scheduler;
    QueueSpec {
        name: config.name.clone(),
        precedence: settings.precedence,
        overlap: match settings.overlap {
            config::Overlap::Refuse => Overlap::Refuse,
            config::Overlap::Take => Overlap::Take,
        },
        horizon: match settings.horizon {
            config::Horizon::Strict => Horizon::Strict,
            config::Horizon::Soft => Horizon::Soft,
            config::Horizon::Off => Horizon::Off,
        },
        members,
    }
}
