//! All state of a site as a value that can be stored, and a site made from it again.
//!
//! Decides what has to be on record: ownership, claims, take stamps, overrides, epochs, jobs and what they hold. The
//! schedulers are not stored: they are rebuilt by our own hello, with freed targets, pending jobs in order, planned
//! starts and overrun counts, and decide the same (I8). The graph and its properties are kept by who keeps the
//! inventory, and given at the restore.
//!
//! A restored site neither reconciles nor schedules until [`Event::HelloDone`](super::Event::HelloDone): running jobs
//! are reported before ([`Event::Hello`](super::Event::Hello)); those on record need not be, and go on either way.

use super::calendar::{PlannedDrain, PlannedSwitch};
use super::event::Effect;
use super::job::{Counts, Holding, HoldingKind, Job, JobTable};
use super::lending::Lent;
use super::nodes::Drained;
use super::preempt::Preemptions;
use super::queue::{Places, Queue};
use super::rules::Rules;
use super::state::{Site, SiteOptions};
use super::step::Held;
use super::timetable::Timetable;
use super::undo::DoneSwitch;
use super::violation::Violation;
use crate::base::{Epoch, JobId, QueueId, TargetId, TargetSet, Timestamp, Windows};
use crate::config::{Config, QueueConfig, QueuePolicy};
use crate::coordinator::Coordinator;
use crate::graph::{Graph, Properties};
use crate::matcher::Taken;
use crate::planner::{PoolShare, PoolSpan, PoolTable};
use crate::scheduler::{HelloJob, Input, JobRequest, Scheduler};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The version that is written.
pub const SNAPSHOT_VERSION: u32 = 1;

/// A site on record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SNAPSHOT_VERSION`] of the program that wrote it.
    pub version: u32,
    now: Timestamp,
    config: Config,
    queues: Vec<QueueRecord>,
    coordinator: Coordinator,
    jobs: Vec<Job>,
    holdings: Vec<HoldingRecord>,
    promises: Vec<Promise>,
    /// The shared pools, by number, and what queues have reserved of them.
    #[serde(default)]
    pools: PoolTable,
    #[serde(default)]
    pool_plans: Vec<(QueueId, Vec<PoolSpan>)>,
    /// Queues whose schedulers had yet to look at something that was released or came up.
    reconsider: Vec<QueueId>,
    names_used: u32,
    counts: Counts,
    answering: TargetSet,
    drained: BTreeMap<TargetId, Drained>,
    planned_drains: Vec<PlannedDrain>,
    planned_switches: BTreeMap<String, PlannedSwitch>,
    #[serde(default)]
    done_switches: Vec<DoneSwitch>,
    #[serde(default)]
    timetable: Timetable,
    #[serde(default)]
    lent: Lent,
    preemptions: Preemptions,
    violations: Vec<Violation>,
    checked: u64,
}

/// A reservation that its scheduler keeps from pass to pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Promise {
    queue: QueueId,
    job: JobId,
    at: Timestamp,
    place: Vec<(TargetId, Taken)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pools: Vec<PoolShare>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct QueueRecord {
    id: QueueId,
    config: QueueConfig,
    parent: Option<QueueId>,
    enabled: bool,
    disable_reason: String,
    started: bool,
    stop_reason: String,
    removed: bool,
    gone: bool,
    members: TargetSet,
    epoch: Epoch,
    places: Places,
    has_scheduler: bool,
    windows: Windows,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct HoldingRecord {
    holding: Holding,
    overruns: u32,
}

/// Why a site cannot be restored.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RestoreError {
    /// Written by a program that knows more.
    #[error("expected a snapshot of version {SNAPSHOT_VERSION} or earlier, found version {0}")]
    Version(u32),
    /// The inventory is not that of the snapshot.
    #[error("expected a graph with targets {expected}, as in the snapshot; found {found}")]
    Inventory {
        /// The targets on record.
        expected: TargetSet,
        /// The targets of the graph.
        found: TargetSet,
    },
    /// The snapshot contradicts itself.
    #[error("the snapshot contradicts itself: {0}")]
    Broken(String),
}

impl Site {
    /// All state as of now.
    pub fn snapshot(&self) -> Snapshot {
        let planned = self.plans();
        let (promises, reconsider) = self.promises();
        let mut jobs: Vec<Job> = self.jobs.iter().map(|(_, job)| job.clone()).collect();
        for job in jobs.iter_mut().filter(|j| j.in_scheduler) {
            job.planned = planned.get(&job.id).copied().unwrap_or(Timestamp::NEVER);
        }
        let overruns: BTreeMap<(QueueId, JobId), u32> = self
            .queues
            .iter()
            .flat_map(|q| q.scheduler.iter().flat_map(|s| s.running()).map(|r| ((q.id, r.job.id), r.overruns)))
            .collect();
        let record = |(_, holding): (u32, &Holding)| HoldingRecord {
            overruns: overruns.get(&(holding.queue, holding.name)).copied().unwrap_or(0),
            holding: holding.clone(),
        };
        Snapshot {
            version: SNAPSHOT_VERSION,
            now: self.now,
            config: Config::clone(&self.config),
            queues: self.queues.iter().map(record_of).collect(),
            coordinator: self.coordinator.clone(),
            jobs,
            holdings: self.jobs.holdings().map(record).collect(),
            promises,
            pools: PoolTable::clone(&self.pools.table),
            pool_plans: self.pools.reservations(),
            reconsider,
            names_used: self.jobs.names_used,
            counts: self.jobs.counts,
            answering: self.answering.clone(),
            drained: self.drained.clone(),
            planned_drains: self.planned_drains.clone(),
            planned_switches: self.planned_switches.clone(),
            done_switches: self.done_switches.clone(),
            timetable: self.timetable.clone(),
            lent: self.lent.clone(),
            preemptions: self.preemptions.clone(),
            violations: self.violations.clone(),
            checked: self.checked,
        }
    }

    /// The reservations that schedulers keep from pass to pass, and the queues that have yet to reconsider them.
    fn promises(&self) -> (Vec<Promise>, Vec<QueueId>) {
        let (mut promises, mut reconsider) = (Vec::new(), Vec::new());
        for (queue, scheduler) in self.queues.iter().filter_map(|q| Some((q.id, q.scheduler.as_ref()?))) {
            for input in scheduler.handover() {
                match input {
                    Input::Planned { job, at, place, pools } => {
                        promises.push(Promise { queue, job, at, place, pools });
                    }
                    Input::Reconsider => reconsider.push(queue),
                    // The rest of what is handed over stands in the snapshot in the site's own words.
                    _ => {}
                }
            }
        }
        (promises, reconsider)
    }

    /// The planned starts that the schedulers hold.
    pub(super) fn plans(&self) -> BTreeMap<JobId, Timestamp> {
        let waiting = self.queues.iter().flat_map(|q| q.scheduler.iter().flat_map(Scheduler::waiting));
        waiting.filter_map(|w| w.planned.map(|at| (w.job.id, at))).collect()
    }

    /// A site made from a snapshot. The effects are the ups and downs that the schedulers were told again.
    ///
    /// # Errors
    /// A later version, another inventory, a snapshot whose parts do not fit each other.
    pub fn restore(
        snapshot: Snapshot,
        graph: Arc<Graph>,
        properties: Arc<Properties>,
        options: SiteOptions,
        effects: &mut Vec<Effect>,
    ) -> Result<Self, RestoreError> {
        if snapshot.version > SNAPSHOT_VERSION {
            return Err(RestoreError::Version(snapshot.version));
        }
        if snapshot.coordinator.inventory() != graph.targets() {
            let (expected, found) = (snapshot.coordinator.inventory().clone(), graph.targets().clone());
            return Err(RestoreError::Inventory { expected, found });
        }
        let now = snapshot.now;
        let mut site = Site::empty(graph, properties, Arc::new(snapshot.config), options);
        site.now = now;
        site.coordinator = snapshot.coordinator;
        if site.coordinator.is_common() {
            site.ledger.set_common();
        }
        site.answering = snapshot.answering;
        site.drained = snapshot.drained;
        site.planned_drains = snapshot.planned_drains;
        site.planned_switches = snapshot.planned_switches;
        site.done_switches = snapshot.done_switches;
        site.timetable = snapshot.timetable;
        site.lent = snapshot.lent;
        site.preemptions = snapshot.preemptions;
        site.violations = snapshot.violations;
        site.checked = snapshot.checked;
        site.recovering = true;
        site.restore_pools(snapshot.pools);
        for record in snapshot.queues {
            site.restore_queue(now, record, effects)?;
        }
        let (names_used, counts) = (snapshot.names_used, snapshot.counts);
        site.restore_jobs(snapshot.jobs, &snapshot.holdings)?;
        (site.jobs.names_used, site.jobs.counts) = (names_used, counts);
        site.report_jobs(now, &snapshot.holdings, effects)?;
        for order in site.coordinator.begin_recovery() {
            site.carry_out(now, order, effects);
        }
        site.repeat_plans(now, &snapshot.promises, effects);
        // After the ups, which else would count as news that lets reservations be moved.
        for Promise { queue, job, at, place, pools } in snapshot.promises {
            site.tell(now, queue, Input::Planned { job, at, place, pools }, effects);
        }
        site.repeat_holds(now, effects);
        for (queue, spans) in snapshot.pool_plans {
            site.pools.plan(queue, spans);
        }
        for queue in snapshot.reconsider {
            site.tell(now, queue, Input::Reconsider, effects);
        }
        (site.unsettled, site.windows_stale) = (true, true);
        Ok(site)
    }

    /// Tells the schedulers which planned starts they have reported, so that they say when those change. Where
    /// reservations are kept, the promises that follow say it.
    fn repeat_plans(&mut self, now: Timestamp, promises: &[Promise], effects: &mut Vec<Effect>) {
        let planned: Vec<u32> = self.jobs.iter().filter(|(_, j)| !j.planned.is_never()).map(|(slot, _)| slot).collect();
        for slot in planned {
            let job = self.jobs.job(slot);
            let (id, at, home) = (job.id, job.planned, job.home);
            let settings = &self.queue(home).config.policy.scheduler;
            if settings.queue_policy != QueuePolicy::ConservativeCompress {
                self.tell(now, home, Input::Planned { job: id, at, place: Vec::new(), pools: Vec::new() }, effects);
            } else if !promises.iter().any(|p| p.job == id) && !self.preemptions.holds.contains_key(&id) {
                self.jobs.job_mut(slot).planned = Timestamp::NEVER;
            }
        }
    }

    /// Tells the schedulers what is held for which jobs.
    fn repeat_holds(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        for (job, targets) in self.preemptions.holds.clone() {
            let Some(slot) = self.jobs.slot(job) else { continue };
            let (home, planned) = (self.jobs.job(slot).home, self.jobs.job(slot).planned);
            self.tell(now, home, Input::Hold { job, targets, planned }, effects);
        }
    }

    fn restore_queue(
        &mut self,
        now: Timestamp,
        record: QueueRecord,
        effects: &mut Vec<Effect>,
    ) -> Result<(), RestoreError> {
        let id = record.id;
        if id.index() != self.queues.len() {
            return Err(RestoreError::Broken(format!("queue id {id} stands at place {}", self.queues.len())));
        }
        let name: Arc<str> = record.config.name.as_str().into();
        if !record.removed {
            self.names.insert(name.clone(), id);
        }
        let settings = record.config.policy.scheduler.clone();
        self.queues.push(Queue {
            id,
            name,
            rules: Rules::of(&record.config.policy),
            config: record.config,
            parent: record.parent,
            enabled: record.enabled,
            disable_reason: record.disable_reason,
            started: record.started,
            stop_reason: record.stop_reason,
            removed: record.removed,
            gone: record.gone,
            members: record.members,
            epoch: record.epoch,
            windows: Arc::new(record.windows),
            scheduler: record.has_scheduler.then(|| Scheduler::new(settings)),
            places: record.places,
            waiting: 0,
            holdings: 0,
            answers: Vec::new(),
            pass: None,
            promises: Default::default(),
        });
        self.acquire(now, id, effects);
        let windows = self.queue(id).windows.clone();
        self.tell(now, id, Input::Windows(windows), effects);
        self.tell_preempt_rules(now, self.home(id), effects);
        Ok(())
    }

    /// Enters jobs and holdings; the references between them are made anew.
    fn restore_jobs(&mut self, jobs: Vec<Job>, holdings: &[HoldingRecord]) -> Result<(), RestoreError> {
        let mut table = JobTable::default();
        let queues = self.queues.len();
        for mut job in jobs {
            let homeless = job.queue == super::jobs::NO_QUEUE && job.state.is_final();
            if !homeless && (job.queue.index() >= queues || job.home.index() >= queues) {
                return Err(RestoreError::Broken(format!("job {} is in queue id {}", job.id, job.queue)));
            }
            job.holding = super::job::NO_HOLDING;
            if table.slot(job.id).is_some() {
                return Err(RestoreError::Broken(format!("job {} is there twice", job.id)));
            }
            table.add(job);
        }
        for HoldingRecord { holding, .. } in holdings {
            if holding.slot as usize >= table.len() || holding.queue.index() >= queues {
                return Err(RestoreError::Broken(format!("holding {} has no job or no queue", holding.name)));
            }
            table.restore_holding(holding.clone());
        }
        self.jobs = table;
        let open = self.jobs.iter().filter(|(_, j)| !j.state.is_final());
        for slot in open.map(|(slot, _)| slot).collect::<Vec<_>>() {
            self.note_share(slot);
        }
        Ok(())
    }

    /// Tells ledger and schedulers what is held and who waits.
    fn report_jobs(
        &mut self,
        now: Timestamp,
        holdings: &[HoldingRecord],
        effects: &mut Vec<Effect>,
    ) -> Result<(), RestoreError> {
        // What is in quarantine lies beside the rest, which comes first.
        let mut entries: Vec<(u32, &HoldingRecord)> = (0..).zip(holdings).collect();
        entries.sort_by_key(|(_, record)| record.holding.quarantined);
        for (index, HoldingRecord { holding, overruns }) in entries {
            let mut held = crate::matcher::Selection::clone(&holding.selection);
            held.shares.retain(|s| !holding.freed.contains(s.target));
            self.queue_mut(holding.queue).holdings += 1;
            if holding.quarantined {
                self.ledger.quarantine(index, held.targets());
                continue;
            }
            self.ledger.found(index, &held).map_err(|violation| RestoreError::Broken(violation.text))?;
            let job = self.jobs.job(holding.slot);
            let hello = HelloJob {
                job: JobRequest {
                    id: holding.name,
                    class: job.queue,
                    priority: self.order_priority(job),
                    submitted: job.in_order_from(),
                    limit: holding.limit,
                    request: holding.request.clone(),
                },
                selection: holding.selection.clone(),
                freed: holding.freed.clone(),
                started: holding.started,
                overruns: *overruns,
                cut: holding.cut,
                ended: holding.kind != HoldingKind::Running,
            };
            self.tell(now, holding.queue, Input::Hello(Box::new(hello)), effects);
            self.introduce(now, index, *overruns, effects);
            let held = Held { ledger: &self.ledger, jobs: &self.jobs, queues: &self.queues, now };
            let end = held.end_of(index);
            self.pools.hold(index, &holding.selection, holding.started, end);
        }
        let waiting: Vec<u32> = self.jobs.iter().filter(|(_, j)| j.in_scheduler).map(|(slot, _)| slot).collect();
        for slot in waiting {
            self.enter(now, slot, effects);
        }
        Ok(())
    }
}

fn record_of(queue: &Queue) -> QueueRecord {
    QueueRecord {
        id: queue.id,
        config: queue.config.clone(),
        parent: queue.parent,
        enabled: queue.enabled,
        disable_reason: queue.disable_reason.clone(),
        started: queue.started,
        stop_reason: queue.stop_reason.clone(),
        removed: queue.removed,
        gone: queue.gone,
        members: queue.members.clone(),
        epoch: queue.epoch,
        places: queue.places,
        has_scheduler: queue.scheduler.is_some(),
        windows: Windows::clone(&queue.windows),
    }
}
