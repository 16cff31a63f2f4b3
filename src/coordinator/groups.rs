//! Groups: starts that want their targets all at once.
//!
//! A group waits behind overlapping groups that come before it, then gathers: it changes no desired owner, and bounds
//! the donors until its expected time, when the last holder should be gone. At that time, or once enough targets are
//! idle, it commits: the queue claims, the targets leave their owners, and what is free is held back until enough of
//! them are; then all arrive in one step. Invariants: the targets of gathering and committed groups are disjoint; an
//! expected time moves earlier or not at all while a group gathers; a queue has one group at most.
//!
//! A target that only the group's own queue holds (it stopped a moment ago) counts as idle, and as free.

use super::claims::{Rank, rank};
use super::state::{Claim, Coordinator, Queue};
use super::types::{Group, GroupFailure, GroupPhase, Holders, Order};
use crate::base::{GroupId, QueueId, TargetSet, Timestamp};

/// What becomes of a group in a step.
enum Next {
    Fail(GroupFailure),
    Wait,
    Gather(Timestamp),
    Commit,
}

impl Group {
    /// How many of its targets are enough now.
    fn need(&self) -> usize {
        self.request.min.map_or(self.targets.len(), |min| min.max(1) as usize)
    }
}

impl Coordinator {
    pub(super) fn group_of(&self, queue: QueueId) -> Option<GroupId> {
        self.groups.iter().find(|(_, g)| g.queue == queue).map(|(id, _)| *id)
    }

    /// The usable members for which a claim of this rank would come first. Other groups do not count: they go by
    /// their own order.
    pub(super) fn group_targets(&self, queue: &Queue, place: Rank<'_>) -> TargetSet {
        let mut targets = &(&queue.spec.members & &self.desirable()) & &self.online;
        for (id, other) in &self.queues {
            let Some(claim) = other.claim else { continue };
            if *id != place.3 && rank(*id, other, claim.take) < place && self.group_of(*id).is_none() {
                targets -= &other.spec.members;
            }
        }
        targets
    }

    /// Groups, the first in the order of claims first.
    fn group_order(&self) -> Vec<GroupId> {
        let place = |(id, g): (&GroupId, &Group)| self.queues.get(&g.queue).map(|q| (rank(g.queue, q, g.take), *id));
        let mut order: Vec<_> = self.groups.iter().filter_map(place).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// Looks at every group anew.
    pub(super) fn step_groups(&mut self, now: Timestamp, holders: &dyn Holders) {
        if self.groups.is_empty() {
            return;
        }
        let mut before = TargetSet::new();
        for id in self.group_order() {
            let Some(group) = self.groups.get(&id) else { continue };
            let Some(queue) = self.live(group.queue) else { continue };
            let targets = self.group_targets(queue, rank(group.queue, queue, group.take));
            let overlaps = !before.is_disjoint(&targets);
            let Some(group) = self.groups.get_mut(&id) else { continue };
            group.targets = targets;
            let next = next_phase(group, overlaps, now, holders);
            if !matches!(next, Next::Fail(_)) {
                before |= &group.targets;
            }
            self.enter(now, id, next);
        }
    }

    fn enter(&mut self, now: Timestamp, id: GroupId, next: Next) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let phase = match next {
            Next::Fail(why) => return self.withdraw_group(now, id, why),
            Next::Wait => GroupPhase::Waiting,
            Next::Gather(expected) => GroupPhase::Gathering { expected },
            Next::Commit => GroupPhase::Committed,
        };
        if phase == group.phase {
            return;
        }
        let claimed = group.phase == GroupPhase::Committed;
        let claims = phase == GroupPhase::Committed;
        let (queue, take) = (group.queue, group.take);
        group.phase = phase;
        self.bump();
        if claims != claimed {
            self.queue_mut(queue).claim = claims.then_some(Claim { take, max_leaving: None });
            self.update_desired();
        }
    }

    /// Withdraws a group's request, claim and windows; its queue is stopped.
    pub(super) fn withdraw_group(&mut self, now: Timestamp, id: GroupId, why: GroupFailure) {
        let Some(group) = self.groups.remove(&id) else { return };
        let queue = self.queue_mut(group.queue);
        queue.started = false;
        queue.claim = None;
        self.outbox.push(Order::GroupGaveUp { group: id, queue: group.queue, why, at: now });
        self.update_desired();
    }

    /// Queues that get nothing yet, because their group is not complete.
    pub(super) fn held_back(&self) -> Vec<QueueId> {
        self.groups.values().filter(|g| g.phase == GroupPhase::Committed).map(|g| g.queue).collect()
    }

    /// Ends the groups that are complete, and says whether there were any: their queues get what is free from now on.
    pub(super) fn complete_groups(&mut self, holders: &dyn Holders) -> bool {
        let complete: Vec<_> =
            self.groups.iter().filter_map(|(id, group)| Some((*id, self.ready_targets(group, holders)?))).collect();
        for (id, targets) in &complete {
            let Some(group) = self.groups.remove(id) else { continue };
            self.outbox.push(Order::GroupReady { group: *id, queue: group.queue, targets: targets.clone() });
            self.bump();
        }
        !complete.is_empty()
    }

    /// What a committed group can have at once, if that is enough.
    fn ready_targets(&self, group: &Group, holders: &dyn Holders) -> Option<TargetSet> {
        let queue = self.queues.get(&group.queue).filter(|_| group.phase == GroupPhase::Committed)?;
        let mut ready = &group.targets & &(&self.free | &queue.owned);
        ready |= &self.keepable(group.queue, &(&group.targets & &queue.leaving), holders);
        (ready.len() >= group.need()).then_some(ready)
    }

    /// Notes whose releases a step must follow.
    pub(super) fn update_watched(&mut self) {
        self.watched = self.leaving.clone();
        for group in self.groups.values() {
            if let GroupPhase::Gathering { .. } = group.phase {
                self.watched |= &group.targets;
            }
        }
    }
}

fn next_phase(group: &Group, overlaps: bool, now: Timestamp, holders: &dyn Holders) -> Next {
    if group.request.give_up <= now {
        return Next::Fail(GroupFailure::GaveUp);
    }
    if group.targets.is_empty() {
        return Next::Fail(GroupFailure::NoTargets);
    }
    if overlaps || group.targets.len() < group.need() {
        return Next::Wait;
    }
    let fixed = match group.phase {
        GroupPhase::Committed => return Next::Commit,
        GroupPhase::Gathering { expected } => expected,
        GroupPhase::Waiting => Timestamp::NEVER,
    };
    let mut ends: Vec<Timestamp> = group
        .targets
        .iter()
        .filter(|t| holders.held_by_other(*t, group.queue))
        .map(|t| holders.planned_end(t).max(now))
        .collect();
    let idle = group.targets.len() - ends.len();
    let Some(wait_for) = group.need().checked_sub(idle + 1) else { return Next::Commit };
    let (_, end, _) = ends.select_nth_unstable(wait_for);
    let expected = fixed.min(*end).min(group.request.give_up);
    if expected <= now { Next::Commit } else { Next::Gather(expected) }
}
