//! The site: all state of the pure core in one value.
//!
//! Decides nothing here: this file holds what the parts share, the making of a site, and the one place through which a
//! job changes its state.

use super::calendar::{PlannedDrain, PlannedSwitch};
use super::error::EventError;
use super::event::{Effect, Event};
use super::job::{Counts, JobState, JobTable};
use super::ledger::{Ledger, Size};
use super::lending::Lent;
use super::nodes::Drained;
use super::pools::Pools;
use super::queue::Queue;
use super::shares::Shares;
use super::timetable::Timetable;
use super::undo::DoneSwitch;
use super::violation::Violation;
use crate::base::{FastMap, QueueId, TargetId, TargetSet, Timestamp};
use crate::config::{Config, Members, QueueConfig};
use crate::coordinator::Coordinator;
use crate::formats::constraint::Constraint;
use crate::graph::{Graph, Properties};
use crate::planner::PoolTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The queue of a configuration without queues.
pub(super) const ANONYMOUS: &str = "default";

/// What a driver may choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SiteOptions {
    /// In each step compare all state with first principles (I1–I6), and passes with passes on copies (I9, I10); what
    /// does not hold is kept, see [`Site::violations`]. Costs time in proportion to all jobs that are not over, and to
    /// all targets. A grant is checked in any case.
    pub check_ledger: bool,
    /// Tell why jobs wait and when they are planned to start ([`Effect::Annotated`], [`Effect::PlannedStart`]).
    /// The last of each is kept with the job in any case.
    pub annotate: bool,
}

/// The whole pure core: it is told events with a time and answers effects.
#[derive(Clone)]
pub struct Site {
    pub(super) options: SiteOptions,
    /// From how many nanoseconds on, as estimated, a queue's pass is worth a thread of its own.
    pub(super) threads_from: u64,
    pub(super) now: Timestamp,
    pub(super) graph: Arc<Graph>,
    pub(super) properties: Arc<Properties>,
    pub(super) config: Arc<Config>,
    /// By id; never shrinks.
    pub(super) queues: Vec<Queue>,
    /// The live queues.
    pub(super) names: FastMap<Arc<str>, QueueId>,
    pub(super) coordinator: Coordinator,
    /// What jobs of virtual queues are confined to, if they are.
    pub(super) confined: Option<BTreeMap<QueueId, Constraint>>,
    pub(super) ledger: Ledger,
    pub(super) pools: Pools,
    pub(super) jobs: JobTable,
    pub(super) shares: Shares,
    /// Targets that answer, drained or not.
    pub(super) answering: TargetSet,
    pub(super) drained: BTreeMap<TargetId, Drained>,
    pub(super) planned_drains: Vec<PlannedDrain>,
    pub(super) planned_switches: BTreeMap<String, PlannedSwitch>,
    pub(super) done_switches: Vec<DoneSwitch>,
    pub(super) timetable: Timetable,
    pub(super) lent: Lent,
    /// When loans have to be looked at again even if nothing happens; never if not.
    pub(super) loans_at: Timestamp,
    /// Something that ownership depends on has changed.
    pub(super) unsettled: bool,
    /// When ownership has to be looked at again even if nothing happens; never if not.
    pub(super) settle_at: Timestamp,
    /// When a window that a scheduler was told next begins or ends.
    pub(super) boundary: Timestamp,
    /// Planned drains have changed since the schedulers were told their windows.
    pub(super) windows_stale: bool,
    /// The version of the coordinator's windows that the schedulers were told.
    pub(super) windows_version: u64,
    /// After a restore, until all running jobs have been reported.
    pub(super) recovering: bool,
    pub(super) violations: Vec<Violation>,
    /// Grants and steps that were checked.
    pub(super) checked: u64,
}

impl Site {
    /// A site at the beginning of time. Targets are offline until told otherwise; the configured queues are enabled
    /// and stopped. Without any configured queue there is one that is called `default` and covers everything.
    ///
    /// # Errors
    /// A queue of the configuration that cannot be created, see [`Event::QueueCreate`].
    pub fn new(
        graph: Arc<Graph>,
        properties: Arc<Properties>,
        config: Arc<Config>,
        options: SiteOptions,
    ) -> Result<Self, EventError> {
        let mut site = Site::empty(graph, properties, config, options);
        let mut effects = Vec::new();
        let config = site.config.clone();
        if config.queues.is_empty() {
            let anonymous = QueueConfig {
                name: ANONYMOUS.to_owned(),
                members: Members::All,
                parent: None,
                policy: config.common_policy(),
                lending: Default::default(),
            };
            site.queue_create(Timestamp::MIN, anonymous, &mut effects)?;
        }
        // Parents first: a virtual queue may stand before its parent in the file.
        for is_virtual in [false, true] {
            for queue in config.queues.values().filter(|q| q.is_virtual() == is_virtual) {
                site.queue_create(Timestamp::MIN, queue.clone(), &mut effects)?;
            }
        }
        Ok(site)
    }

    pub(super) fn empty(
        graph: Arc<Graph>,
        properties: Arc<Properties>,
        config: Arc<Config>,
        options: SiteOptions,
    ) -> Self {
        let mut ledger = Ledger::default();
        let mut coordinator = Coordinator::new();
        let targets = graph.targets().clone();
        targets.iter().for_each(|t| ledger.add(t, size_of(&graph, t)));
        coordinator.add_targets(&targets);
        let pools = PoolTable::new(&graph, &config.resource.pools);
        ledger.set_pools(&pools);
        Site {
            options,
            threads_from: 50_000,
            now: Timestamp::MIN,
            graph,
            properties,
            config,
            queues: Vec::new(),
            names: FastMap::default(),
            coordinator,
            confined: None,
            ledger,
            pools: Pools::new(pools),
            jobs: JobTable::default(),
            shares: Shares::default(),
            answering: TargetSet::new(),
            drained: BTreeMap::new(),
            planned_drains: Vec::new(),
            planned_switches: BTreeMap::new(),
            done_switches: Vec::new(),
            timetable: Timetable::default(),
            lent: Lent::default(),
            loans_at: Timestamp::NEVER,
            unsettled: true,
            settle_at: Timestamp::NEVER,
            boundary: Timestamp::NEVER,
            windows_stale: false,
            windows_version: 0,
            recovering: false,
            violations: Vec::new(),
            checked: 0,
        }
    }

    /// Sets from how many nanoseconds on, as estimated, a queue's pass runs on a thread of its own, if there are several
    /// such queues; 50,000 if not set. What is decided does not depend on it.
    #[must_use]
    pub fn with_threads_from(mut self, nanoseconds: u64) -> Self {
        self.threads_from = nanoseconds;
        self
    }

    /// Sets whether it is told why jobs wait and when they are planned to start, see [`SiteOptions::annotate`].
    #[must_use]
    pub fn with_annotations(mut self, annotate: bool) -> Self {
        self.options.annotate = annotate;
        self
    }

    /// Tells the site what has happened. Effects are appended; more of them follow from [`Site::schedule`].
    ///
    /// # Errors
    /// An event that cannot be: it says what was expected and found. The site is as before.
    pub fn apply(&mut self, now: Timestamp, event: Event, effects: &mut Vec<Effect>) -> Result<(), EventError> {
        if now < self.now {
            return Err(EventError::TimeBack { at: now, now: self.now });
        }
        match event {
            Event::Submit(submission) => self.submit(now, *submission, effects),
            Event::Cancel { job } => self.cancel(now, job, effects),
            Event::Prioritize { jobs } => self.prioritize(now, &jobs, effects),
            Event::Relimit { job, limit } => self.relimit(now, job, limit, effects),
            Event::MoveJob { job, queue } => self.move_job(now, job, &queue, effects),
            Event::End { job, outcome } => self.end(now, job, outcome),
            Event::Requeue { job } => self.requeue(now, job, effects),
            Event::Free { job, freed } => self.free(now, job, freed, effects),
            Event::QueueCreate { config } => self.queue_create(now, *config, effects),
            Event::QueueChange { config } => self.queue_change(now, *config, effects),
            Event::QueueRemove { queue, pending } => self.queue_remove(now, &queue, pending.as_ref(), effects),
            Event::Configure(new) => self.configure(now, *new, effects),
            Event::QueueEnable { queue } => self.queue_enable(&queue, None, effects),
            Event::QueueDisable { queue, reason } => self.queue_enable(&queue, Some(reason), effects),
            Event::QueueStart { queue, mode } => self.queue_start(now, &queue, &mode, effects),
            Event::QueueStop { queue, release, reason } => self.queue_stop(now, &queue, release, reason, effects),
            Event::Switch(switch) => self.switch(now, &switch, effects),
            Event::Planned { at, name, switch } => self.plan(now, at, name, switch),
            Event::CancelPlanned { name } => self.cancel_plan(&name),
            Event::Recall { targets } => self.recall(now, &targets),
            Event::Abort { plan } => self.abort(now, plan.as_deref(), effects),
            Event::Offline { targets } => self.set_answering(&targets, false),
            Event::Online { targets } => self.set_answering(&targets, true),
            Event::Drain { targets, reason, at } => self.drain(now, &targets, &reason, at),
            Event::Undrain { targets } => self.undrain(&targets),
            Event::AddTargets { addition, online } => self.add_targets(now, &addition, online, effects),
            Event::RemoveTargets { targets } => self.remove_targets(&targets),
            Event::Hello(found) => self.hello(now, *found, effects),
            Event::Scheduler { queue, change } => self.change_scheduler(now, &queue, change, effects),
            Event::SchedulerSays { queue, instance, said } => self.scheduler_says(now, &queue, instance, said, effects),
            Event::SchedulerLost { queue, instance, why } => self.scheduler_lost(&queue, instance, why, effects),
            Event::HelloDone => self.hello_done(now, effects),
        }?;
        self.now = now;
        Ok(())
    }

    /// Changes a job's state, and the sums with it.
    pub(super) fn set_state(&mut self, slot: u32, state: JobState) {
        let job = self.jobs.job_mut(slot);
        let before = std::mem::replace(&mut job.state, state);
        let queue = job.queue;
        if state.is_final() {
            job.request = None;
        }
        if before == state {
            return;
        }
        *self.jobs.counts.of(before) -= 1;
        *self.jobs.counts.of(state) += 1;
        self.count(queue, before, |n| *n -= 1);
        self.count(queue, state, |n| *n += 1);
        self.note_share(slot);
    }

    /// Changes the sum of a queue that belongs to a state, if there is one.
    pub(super) fn count(&mut self, queue: QueueId, state: JobState, change: impl FnOnce(&mut u64)) {
        let Some(queue) = self.queues.get_mut(queue.index()) else { return };
        match state {
            JobState::Pending => change(&mut queue.places.pending),
            JobState::Held => change(&mut queue.places.held),
            JobState::Running => change(&mut queue.places.running),
            JobState::Ended(_) | JobState::Denied | JobState::Cancelled => {}
        }
    }

    /// How many jobs stand where (I6).
    pub fn counts(&self) -> Counts {
        self.jobs.counts
    }

    /// The invariants that were found broken, oldest first. Empty unless there is a bug.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How many grants and steps were checked.
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// The time of the last event or step.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The newest version of the graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The properties of its targets.
    pub fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// A live queue by its name.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn queue_id(&self, name: &str) -> Result<QueueId, EventError> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| EventError::UnknownQueue { name: name.to_owned(), known: self.queue_names() })
    }

    pub(super) fn queue(&self, id: QueueId) -> &Queue {
        &self.queues[id.index()]
    }

    pub(super) fn queue_mut(&mut self, id: QueueId) -> &mut Queue {
        &mut self.queues[id.index()]
    }

    fn queue_names(&self) -> String {
        listed(self.queues.iter().filter(|q| q.is_live()).map(|q| &*q.name))
    }
}

/// The names that there are, for an error.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Cores and gpus of a target, for the ledger.
pub(super) fn size_of(graph: &Graph, target: TargetId) -> Size {
    graph.target(target).map_or(Size::default(), |t| Size { cores: t.cores(), gpus: t.gpus() })
}
