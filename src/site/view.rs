//! What people and programs may ask: queues, donations, targets, jobs, and why things are as they are.
//!
//! Decides nothing; everything is computed when it is asked.

use super::calendar::{PlannedDrain, PlannedSwitch};
use super::job::{HoldingKind, Job, JobState, NO_HOLDING, Why};
use super::nodes::Drained;
use super::queue::{Places, Queue};
use super::state::Site;
use super::step::Held;
use crate::base::{GroupId, JobId, QueueId, TargetId, TargetSet, Timestamp};
use crate::config::QueueConfig;
use crate::coordinator::{Blocked, Cause, Coordinator, Donation, Group, Ownership};
use crate::matcher::{Reason, Selection};
use std::cmp::Reverse;
use std::sync::Arc;

/// A queue with all its states.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueView {
    /// Its id.
    pub id: QueueId,
    /// Its name.
    pub name: Arc<str>,
    /// The queue in whose scheduler its jobs live, if it is virtual.
    pub parent: Option<Arc<str>>,
    /// Whether it takes submissions.
    pub enabled: bool,
    /// Why not; empty if it does.
    pub disable_reason: String,
    /// Whether it schedules; of a virtual queue: whether it would, see `parent_stopped`.
    pub started: bool,
    /// Why not; empty if it does.
    pub stop_reason: String,
    /// It is virtual and its parent is stopped, so that none of its jobs start (RFC 33: blocked by the parent).
    pub parent_stopped: bool,
    /// Whether it claims its members; a stopped queue may, a virtual one never does.
    pub claiming: bool,
    /// Who comes before it for some of its members.
    pub blocked: Option<Blocked>,
    /// The start that waits for its targets.
    pub group: Option<(GroupId, Group)>,
    /// What its configuration covers.
    pub members: TargetSet,
    /// What it owns.
    pub owned: TargetSet,
    /// What of it takes work.
    pub up: TargetSet,
    /// What of it is held by jobs, epilog or housekeeping.
    pub allocated: TargetSet,
    /// What it gives away.
    pub leaving: TargetSet,
    /// What is on its way to it.
    pub arriving: TargetSet,
    /// Members that take no work: they do not answer, or are drained.
    pub offline: TargetSet,
    /// Where the jobs stand that were submitted to it.
    pub jobs: Places,
}

/// Who holds a target that somebody waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HolderView {
    /// The job, as it was submitted.
    pub job: JobId,
    /// What is going on: `running`, `giving way` while it is being preempted, `housekeeping` after its end, or `requeued`.
    pub what: &'static str,
    /// Which of the targets in question it holds.
    pub targets: TargetSet,
    /// When it is expected to end; never if it has no limit.
    pub planned_end: Timestamp,
}

/// One donation: targets on their way from one donor, begun at one instant for one cause.
#[derive(Clone, PartialEq, Debug)]
pub struct DonationView {
    /// Who gives.
    pub donor: Arc<str>,
    /// Who gets, as things stand.
    pub recipient: Option<Arc<str>>,
    /// Why.
    pub cause: Cause,
    /// When it began.
    pub since: Timestamp,
    /// How many targets it began with.
    pub total: usize,
    /// How many of them have moved.
    pub moved: usize,
    /// What is still on its way.
    pub left: TargetSet,
    /// Who holds the rest, by job.
    pub holders: Vec<HolderView>,
    /// When the last holder is expected to end; never if that is not known.
    pub eta: Timestamp,
}

/// A target with all its states.
#[derive(Clone, PartialEq, Debug)]
pub struct TargetView {
    /// Which.
    pub target: TargetId,
    /// Who has it, by name; `None`: nobody.
    pub owner: Option<Arc<str>>,
    /// Whether it is on its way from that owner.
    pub leaving: bool,
    /// Who gets it next, if that is another.
    pub next: Option<Arc<str>>,
    /// Whether it answers.
    pub answering: bool,
    /// Whether it is drained, or draining while something holds it.
    pub drained: Option<Drained>,
    /// Who holds it.
    pub holders: Vec<HolderView>,
}

impl QueueView {
    /// Whether its jobs may start: a virtual queue and its parent have to be started both.
    pub fn eligible(&self) -> bool {
        self.started && !self.parent_stopped
    }

    /// Why it schedules less than it was told to, in the words of RFC 33: `parent` where its parent is stopped,
    /// `overlap` where others come first for some of its members.
    pub fn blocked_by(&self) -> Option<&'static str> {
        if self.parent_stopped { Some("parent") } else { self.blocked.as_ref().map(|_| "overlap") }
    }
}

impl Site {
    /// A job by its id.
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.slot(id).map(|slot| self.jobs.job(slot))
    }

    /// A shared pool.
    pub fn pool(&self, pool: crate::planner::PoolId) -> Option<&crate::planner::PoolSpec> {
        self.pools.table.get(pool)
    }

    /// All jobs, in the order of their submission.
    pub fn all_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().map(|(_, job)| job)
    }

    /// What a job holds: while it runs, and after its end until it is released.
    pub fn selection(&self, id: JobId) -> Option<&Arc<Selection>> {
        let held = self.job(id)?.holding;
        (held != NO_HOLDING).then(|| &self.jobs.holding(held).selection)
    }

    /// Why a job stands where it stands, as its scheduler sees it now.
    pub fn explain(&self, id: JobId) -> Option<Why> {
        let job = self.job(id)?;
        if job.in_scheduler
            && let Some(reason) = self.ask(job)
        {
            return Some(Why::Reason(Box::new(reason)));
        }
        if let Some(reason) = self.user_limit(job) {
            return Some(Why::Reason(Box::new(reason)));
        }
        if job.state == JobState::Pending && !job.in_scheduler {
            let text = format!("queue {} is stopped", self.queue(job.queue).name);
            return Some(Why::Held(text.into()));
        }
        Some(job.why.clone())
    }

    fn ask(&self, job: &Job) -> Option<Reason> {
        self.queue(job.home).scheduler.as_ref()?.explain(job.id, self.now)
    }

    /// The name of a queue, also of a removed one.
    pub fn queue_name(&self, id: QueueId) -> Option<&Arc<str>> {
        self.queues.get(id.index()).map(|q| &q.name)
    }

    /// The configuration of a live queue.
    pub fn queue_config(&self, name: &str) -> Option<&QueueConfig> {
        self.names.get(name).map(|id| &self.queue(*id).config)
    }

    /// The live queues, in the order of their creation.
    pub fn queue_views(&self) -> Vec<QueueView> {
        self.queues.iter().filter(|q| q.is_live()).map(|q| self.view(q)).collect()
    }

    /// A live queue by its name.
    pub fn queue_view(&self, name: &str) -> Option<QueueView> {
        self.names.get(name).map(|id| self.view(self.queue(*id)))
    }

    fn view(&self, queue: &Queue) -> QueueView {
        let id = queue.id;
        let owned = self.coordinator.owned(id).clone();
        let group = self.coordinator.groups().find(|(_, g)| g.queue == id).map(|(n, g)| (n, g.clone()));
        QueueView {
            id,
            name: queue.name.clone(),
            parent: queue.parent.map(|p| self.queue(p).name.clone()),
            enabled: queue.enabled,
            disable_reason: queue.disable_reason.clone(),
            started: queue.started,
            parent_stopped: queue.parent.is_some_and(|p| !self.queue(p).started),
            stop_reason: queue.stop_reason.clone(),
            claiming: self.coordinator.is_claiming(id),
            blocked: self.coordinator.blocked(id),
            group,
            members: queue.members.clone(),
            up: self.coordinator.up(id),
            allocated: owned.iter().filter(|t| self.ledger.is_held(*t)).collect(),
            owned,
            leaving: self.coordinator.leaving(id).clone(),
            arriving: self.coordinator.arriving(id),
            offline: &queue.members - self.coordinator.online(),
            jobs: queue.places,
        }
    }

    /// All donations under way.
    pub fn donation_views(&self) -> Vec<DonationView> {
        self.coordinator.donations().map(|d| self.donation_view(d)).collect()
    }

    fn donation_view(&self, donation: Donation) -> DonationView {
        let holders = self.holders_of(&donation.targets);
        let name = |id: QueueId| self.queue(id).name.clone();
        DonationView {
            donor: name(donation.donor),
            recipient: donation.recipient.map(name),
            cause: donation.cause,
            since: donation.since,
            total: donation.total,
            moved: donation.total.saturating_sub(donation.targets.len()),
            eta: holders.iter().map(|h| h.planned_end).max().unwrap_or(self.now),
            holders,
            left: donation.targets,
        }
    }

    /// Who holds any of these targets, by job.
    fn holders_of(&self, targets: &TargetSet) -> Vec<HolderView> {
        let mut views: Vec<(u32, HolderView)> = Vec::new();
        for target in targets.iter() {
            for index in self.ledger.holders(target) {
                match views.iter_mut().find(|(i, _)| *i == index) {
                    Some((_, view)) => drop(view.targets.insert(target)),
                    None => views.push((index, self.holder_view(index, target))),
                }
            }
        }
        // Former runs before the present one, oldest first: their names go down from the largest.
        views.sort_by_key(|(index, view)| (view.job, Reverse(self.jobs.holding(*index).name)));
        views.into_iter().map(|(_, view)| view).collect()
    }

    pub(super) fn holder_view(&self, index: u32, target: TargetId) -> HolderView {
        let holding = self.jobs.holding(index);
        HolderView {
            job: self.jobs.job(holding.slot).id,
            what: match holding.kind {
                HoldingKind::Running if holding.cut.is_some() => "giving way",
                HoldingKind::Running => "running",
                HoldingKind::Ended => "housekeeping",
                HoldingKind::Requeued => "requeued",
            },
            targets: TargetSet::single(target),
            planned_end: self.held().end_of(index),
        }
    }

    pub(super) fn held(&self) -> Held<'_> {
        Held { ledger: &self.ledger, jobs: &self.jobs, queues: &self.queues, now: self.now }
    }

    /// A target of the inventory.
    pub fn target_view(&self, target: TargetId) -> Option<TargetView> {
        let ownership = self.coordinator.ownership(target)?;
        let name = |id: QueueId| self.queue(id).name.clone();
        let (owner, leaving) = match ownership {
            Ownership::Owned(q) => (Some(q), false),
            Ownership::Leaving(q) => (Some(q), true),
            Ownership::Free => (None, false),
        };
        Some(TargetView {
            target,
            owner: owner.map(name),
            leaving,
            next: self.coordinator.wanted(target).filter(|q| Some(*q) != owner).map(name),
            answering: self.answering.contains(target),
            drained: self.drained.get(&target).cloned(),
            holders: self.holders_of(&TargetSet::single(target)),
        })
    }

    /// Who owns what, and who should.
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// The targets of the inventory.
    pub fn inventory(&self) -> &TargetSet {
        self.coordinator.inventory()
    }

    /// The switches that are to come, by name.
    pub fn planned_switches(&self) -> impl Iterator<Item = (&str, &PlannedSwitch)> {
        self.planned_switches.iter().map(|(name, planned)| (name.as_str(), planned))
    }

    /// The drains that are to come.
    pub fn planned_drains(&self) -> &[PlannedDrain] {
        &self.planned_drains
    }
}
