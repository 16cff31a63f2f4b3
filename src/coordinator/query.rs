//! Answers: who has, wants, claims what. Desired and wanted owners are those after the last command; ownership is that
//! after the last reconcile.

use super::state::Coordinator;
use super::types::{Blocked, Group, GroupPhase, Loan, Ownership, Plan, PlanId, QueueSpec, TakeStamp};
use super::windows::LOOK_AHEAD;
use crate::base::{Epoch, GroupId, QueueId, TargetId, TargetSet, Timestamp};
use std::num::NonZeroU32;

static NONE: std::sync::LazyLock<TargetSet> = std::sync::LazyLock::new(TargetSet::new);

impl Coordinator {
    /// Who has a target; `None` outside the inventory.
    pub fn ownership(&self, target: TargetId) -> Option<Ownership> {
        if self.free.contains(target) {
            return Some(Ownership::Free);
        }
        self.queues.iter().find_map(|(id, queue)| {
            if queue.owned.contains(target) {
                Some(Ownership::Owned(*id))
            } else {
                queue.leaving.contains(target).then_some(Ownership::Leaving(*id))
            }
        })
    }

    /// All targets, those included that are to be removed.
    pub fn inventory(&self) -> &TargetSet {
        &self.inventory
    }

    /// The targets that leave the inventory once they are free.
    pub fn removing(&self) -> &TargetSet {
        &self.removing
    }

    /// The usable targets of the inventory.
    pub fn online(&self) -> &TargetSet {
        &self.online
    }

    /// What nobody owns and nobody holds.
    pub fn free(&self) -> &TargetSet {
        &self.free
    }

    /// What a queue owns, online or not; empty if it is not known.
    pub fn owned(&self, queue: QueueId) -> &TargetSet {
        self.queues.get(&queue).map_or(&NONE, |q| &q.owned)
    }

    /// What is up in a queue.
    pub fn up(&self, queue: QueueId) -> TargetSet {
        self.owned(queue) & &self.online
    }

    /// What a queue or tombstone gives away.
    pub fn leaving(&self, queue: QueueId) -> &TargetSet {
        self.queues.get(&queue).map_or(&NONE, |q| &q.leaving)
    }

    /// What is on its way to a queue.
    pub fn arriving(&self, queue: QueueId) -> TargetSet {
        self.queues.get(&queue).map_or_else(TargetSet::new, |q| &q.wanted - &q.owned)
    }

    /// Who should own a target by the claims.
    pub fn desired(&self, target: TargetId) -> Option<QueueId> {
        self.queues.iter().find(|(_, q)| q.desired.contains(target)).map(|(id, _)| *id)
    }

    /// Who should have a target: its borrower, else the desired owner.
    pub fn wanted(&self, target: TargetId) -> Option<QueueId> {
        self.queues.iter().find(|(_, q)| q.wanted.contains(target)).map(|(id, _)| *id)
    }

    /// Whether a queue claims its members. A group claims once it committed.
    pub fn is_claiming(&self, queue: QueueId) -> bool {
        self.queues.get(&queue).is_some_and(|q| q.claim.is_some())
    }

    /// Whether a queue schedules (RFC 33); also while its group gathers.
    pub fn is_started(&self, queue: QueueId) -> bool {
        self.queues.get(&queue).is_some_and(|q| q.started)
    }

    /// When a claiming queue took; `None` if it did not.
    pub fn take(&self, queue: QueueId) -> Option<TakeStamp> {
        self.queues.get(&queue).and_then(|q| q.claim).and_then(|claim| claim.take)
    }

    /// How many targets at a time leave others for a claiming queue; `None`: all, or it does not claim.
    pub fn max_leaving(&self, queue: QueueId) -> Option<NonZeroU32> {
        self.queues.get(&queue).and_then(|q| q.claim).and_then(|claim| claim.max_leaving)
    }

    /// Who comes before a claiming queue for some of its members (`blocked: overlap`).
    pub fn blocked(&self, queue: QueueId) -> Option<Blocked> {
        self.compute_blocked(queue, &self.claim_order())
    }

    /// The claiming queues in the order of their claims, the first first.
    pub fn claims(&self) -> Vec<QueueId> {
        self.claim_order()
    }

    /// The configuration of a queue or tombstone.
    pub fn spec(&self, queue: QueueId) -> Option<&QueueSpec> {
        self.queues.get(&queue).map(|q| &q.spec)
    }

    /// The queues, without tombstones.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.queues.iter().filter(|(_, q)| !q.removed).map(|(id, _)| *id)
    }

    /// Removed queues with targets still to be released or acknowledged (R7).
    pub fn tombstones(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.queues.iter().filter(|(_, q)| q.removed).map(|(id, _)| *id)
    }

    /// All that is leaving.
    pub fn leaving_targets(&self) -> &TargetSet {
        &self.leaving
    }

    /// What is leaving, and what gathering groups wait for, as of the last reconcile: the release of any other target
    /// moves nothing.
    pub fn watched_targets(&self) -> &TargetSet {
        &self.watched
    }

    /// The groups that wait.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &Group)> + '_ {
        self.groups.iter().map(|(id, group)| (*id, group))
    }

    /// The planned switches, in the order in which they were planned.
    pub fn plans(&self) -> impl Iterator<Item = (PlanId, &Plan)> + '_ {
        self.plans.iter().map(|(id, plan)| (*id, plan))
    }

    /// The loans on record.
    pub fn loans(&self) -> impl Iterator<Item = (TargetId, Loan)> + '_ {
        self.loans.iter().map(|(target, loan)| (*target, *loan))
    }

    /// The number of the latest message about a target: a grant made on an older one is refused.
    pub fn epoch(&self, target: TargetId) -> Epoch {
        self.epochs.get(target.index()).copied().unwrap_or_default()
    }

    /// What a queue's scheduler was, or is to be, told to take down and has not acknowledged.
    pub fn awaiting(&self, queue: QueueId) -> TargetSet {
        let mut set = TargetSet::new();
        if let Some(queue) = self.queues.get(&queue) {
            queue.add_unacknowledged(&mut set);
        }
        set
    }

    /// The epoch of the down that a queue's scheduler has yet to acknowledge for a target; `Epoch(0)` if it has not
    /// been sent yet, `None` if there is none.
    pub fn awaited(&self, queue: QueueId, target: TargetId) -> Option<Epoch> {
        let queue = self.queues.get(&queue)?;
        if queue.fresh_down.contains(target) {
            return Some(Epoch(0));
        }
        queue.awaiting.iter().find(|(_, waiting)| waiting.contains(target)).map(|(epoch, _)| *epoch)
    }

    /// A number that changes whenever the windows of any queue may have changed.
    pub fn windows_version(&self) -> u64 {
        self.version
    }

    /// When to reconcile again if nothing happens before: planned switches, also when they come into view, expected
    /// and give-up times of groups, ends of loans. Never before `now`.
    pub fn next_wakeup(&self, now: Timestamp) -> Option<Timestamp> {
        let plans = self.plans.values().map(|p| if p.in_view { p.at } else { p.at - LOOK_AHEAD });
        let groups = self.groups.values().map(|g| match g.phase {
            GroupPhase::Gathering { expected } => expected.min(g.request.give_up),
            GroupPhase::Waiting | GroupPhase::Committed => g.request.give_up,
        });
        let loans = self.loans.values().map(|l| l.until);
        plans.chain(groups).chain(loans).min().filter(|t| !t.is_never()).map(|t| t.max(now))
    }
}
