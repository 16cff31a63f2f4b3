//! Commands: they change claims, configuration and inventory, and move nothing; the next reconcile does.

use super::claims::rank;
use super::policy::Overlap;
use super::state::{Claim, Coordinator, Queue};
use super::types::{
    Group, GroupFailure, GroupPhase, GroupRequest, Order, Plan, PlanId, QueueSpec, StartError, StartOptions, Started,
    SwitchId, SwitchRequest, TakeStamp,
};
use crate::base::{GroupId, QueueId, TargetSet, Timestamp};

impl Coordinator {
    /// Adds targets to the inventory: free, and offline until [`set_online`](Self::set_online) says otherwise. One
    /// that is being removed stays.
    pub fn add_targets(&mut self, targets: &TargetSet) {
        let new = targets - &self.inventory;
        self.inventory |= &new;
        self.free |= &new;
        self.removing -= targets;
        self.update_desired();
    }

    /// Takes targets out of the inventory, each from when it is free: see [`Order::Removed`].
    pub fn remove_targets(&mut self, targets: &TargetSet) {
        self.removing |= &(targets & &self.inventory);
        self.update_desired();
    }

    /// Says which targets are usable, that is neither offline nor drained. Ignores what is not in the inventory.
    pub fn set_online(&mut self, targets: &TargetSet, online: bool) {
        if online {
            self.online |= &(targets & &self.inventory);
        } else {
            self.online -= targets;
        }
    }

    /// Adds a queue, stopped and without claim. False, and nothing changed, if the id was used before and is known.
    pub fn add_queue(&mut self, queue: QueueId, spec: QueueSpec) -> bool {
        if self.queues.contains_key(&queue) {
            return false;
        }
        self.queues.insert(queue, Queue::new(spec));
        self.bump();
        true
    }

    /// Adds a queue that was removed long ago and of which jobs turn up (R8). It goes with the next reconcile unless
    /// [`found`](Self::found) gives it a target before. False if the id is known.
    pub fn add_tombstone(&mut self, queue: QueueId, spec: QueueSpec) -> bool {
        let added = self.add_queue(queue, spec);
        if let Some(queue) = self.queues.get_mut(&queue).filter(|_| added) {
            queue.removed = true;
        }
        added
    }

    /// Sets a queue's name, members, precedence and policies. False if there is no such queue. Conflicts that arise
    /// are not refused: the order of claims decides, and the loser is blocked.
    pub fn change_queue(&mut self, queue: QueueId, spec: QueueSpec) -> bool {
        let Some(known) = self.live_mut(queue) else { return false };
        known.spec = spec;
        self.update_desired();
        true
    }

    /// Removes a queue: it gives up everything that it claims, and is a tombstone until its last target is released
    /// ([`Order::QueueGone`]). False if there is no such queue.
    pub fn remove_queue(&mut self, now: Timestamp, queue: QueueId) -> bool {
        if self.live(queue).is_none() {
            return false;
        }
        self.release_claim(now, queue);
        self.queue_mut(queue).removed = true;
        self.update_desired();
        true
    }

    /// Starts a queue. One that claims already only schedules again: never refused, its take not renewed. One that
    /// waits as a group takes a new group request over, or, started without one, claims at once.
    pub fn start(&mut self, now: Timestamp, queue: QueueId, options: &StartOptions) -> Result<Started, StartError> {
        let started = self.start_as_of(now, now, queue, options, false)?;
        self.queue_mut(queue).commands += 1;
        if started != Started::Resumed {
            self.update_desired();
        }
        Ok(started)
    }

    /// Stops a queue: it schedules no more. With `release` it gives up its claim, its group and its loans as well.
    /// False if there is no such queue.
    pub fn stop(&mut self, now: Timestamp, queue: QueueId, release: bool) -> bool {
        let Some(known) = self.live_mut(queue) else { return false };
        known.started = false;
        known.commands += 1;
        if release {
            self.release_claim(now, queue);
        }
        if release || self.takes_in_waves() {
            self.update_desired();
        }
        true
    }

    /// Stops queues with release, then starts others, as one. If anything is refused, nothing changes. What it did can
    /// be taken back with [`undo`](Self::undo).
    pub fn switch(&mut self, now: Timestamp, request: &SwitchRequest) -> Result<SwitchId, StartError> {
        self.switch_as_of(now, now, request, false)
    }

    /// What [`switch`](Self::switch) would say at `now`; changes nothing.
    pub fn check_switch(&self, now: Timestamp, request: &SwitchRequest) -> Result<(), StartError> {
        self.clone().switch(now, request).map(|_| ())
    }

    /// Plans a switch. It is done by the first reconcile at or after `at`, before everything else, its takes stamped
    /// with `at`; if it is refused then, [`Order::PlanRefused`] says so.
    pub fn plan_switch(&mut self, at: Timestamp, request: SwitchRequest) -> PlanId {
        let id = PlanId(self.next_plan);
        self.next_plan += 1;
        self.plans.insert(id, Plan { at, request, in_view: false, level: false });
        self.bump();
        id
    }

    /// Plans a switch that nobody commands, as a calendar does: starts that share targets with claiming queues are not
    /// refused; the order of claims decides, and the loser is blocked. Else as [`plan_switch`](Self::plan_switch).
    pub fn plan_level(&mut self, at: Timestamp, request: SwitchRequest) -> PlanId {
        let id = self.plan_switch(at, request);
        if let Some(plan) = self.plans.get_mut(&id) {
            plan.level = true;
        }
        id
    }

    /// Takes a planned switch back; false if it is not there any more.
    pub fn cancel_plan(&mut self, plan: PlanId) -> bool {
        let known = self.plans.remove(&plan).is_some();
        if known {
            self.bump();
        }
        known
    }

    /// Does the plans that are due, in the order of their instants, then ids.
    pub(super) fn run_due_plans(&mut self, now: Timestamp) {
        let mut due: Vec<_> = self.plans.iter().filter(|(_, p)| p.at <= now).map(|(id, p)| (p.at, *id)).collect();
        due.sort_unstable();
        for (at, id) in due {
            let Some(plan) = self.plans.remove(&id) else { continue };
            let request = plan.request;
            let report = match self.switch_as_of(at, now, &request, plan.level) {
                Ok(switch) => Order::PlanExecuted { plan: id, request, switch },
                Err(error) => Order::PlanRefused { plan: id, request, error },
            };
            self.outbox.push(report);
            self.bump();
        }
    }

    /// A switch whose takes count from `at`, done at `now`.
    fn switch_as_of(
        &mut self,
        at: Timestamp,
        now: Timestamp,
        request: &SwitchRequest,
        level: bool,
    ) -> Result<SwitchId, StartError> {
        // On a copy: a refusal half-way must leave nothing behind, and switches are rare.
        let mut next = self.clone();
        let before = self.before(request);
        for queue in &request.release {
            if !next.stop(now, *queue, true) {
                return Err(StartError::UnknownQueue(*queue));
            }
        }
        for (queue, options) in &request.start {
            next.start_as_of(at, now, *queue, options, level)?;
            next.queue_mut(*queue).commands += 1;
        }
        next.update_desired();
        *self = next;
        Ok(self.note_done(now, before))
    }

    fn start_as_of(
        &mut self,
        at: Timestamp,
        now: Timestamp,
        id: QueueId,
        options: &StartOptions,
        level: bool,
    ) -> Result<Started, StartError> {
        let queue = self.live(id).ok_or(StartError::UnknownQueue(id))?;
        if let Some(request) = &options.group {
            check_give_up(id, queue, request, now)?;
            if options.max_leaving.is_some() {
                return Err(StartError::GroupInWaves { queue: id, name: queue.spec.name.clone() });
            }
        }
        let waiting = self.group_of(id);
        if let Some(started) = self.resume(now, id, options, waiting) {
            return Ok(started);
        }
        let queue = self.live(id).ok_or(StartError::UnknownQueue(id))?;
        let takes = options.take || queue.spec.overlap == Overlap::Take;
        let conflicts = self.conflicts(id, queue);
        if !takes && !level && !conflicts.is_empty() {
            return Err(StartError::Overlap { queue: id, name: queue.spec.name.clone(), conflicts });
        }
        let take = takes.then_some(TakeStamp { at, sequence: self.takes });
        let started = match &options.group {
            None => {
                self.replace_group(now, waiting);
                self.queue_mut(id).claim = Some(Claim { take, max_leaving: options.max_leaving });
                Started::Now
            }
            Some(request) => Started::Gathering(self.request_group(id, take, request)?),
        };
        self.takes += u64::from(takes);
        self.queue_mut(id).started = true;
        Ok(started)
    }

    /// The starts that cannot be refused: of a queue that claims, and of one that waits and is asked to go on waiting.
    fn resume(
        &mut self,
        now: Timestamp,
        id: QueueId,
        options: &StartOptions,
        waiting: Option<GroupId>,
    ) -> Option<Started> {
        let claims = self.queues.get(&id).is_some_and(|q| q.claim.is_some());
        let resumed = match (waiting, &options.group) {
            (Some(group), Some(request)) => {
                if let Some(group) = self.groups.get_mut(&group) {
                    group.request = request.clone();
                }
                Started::Gathering(group)
            }
            (Some(group), None) if claims => {
                self.replace_group(now, Some(group));
                Started::Resumed
            }
            (None, _) if claims => {
                if let Some(claim) = self.queue_mut(id).claim.as_mut().filter(|_| options.max_leaving.is_some()) {
                    claim.max_leaving = options.max_leaving;
                }
                Started::Resumed
            }
            (Some(_), None) | (None, _) => return None,
        };
        self.queue_mut(id).started = true;
        Some(resumed)
    }

    fn replace_group(&mut self, now: Timestamp, group: Option<GroupId>) {
        let Some((id, gone)) = group.and_then(|id| self.groups.remove_entry(&id)) else { return };
        self.outbox.push(Order::GroupGaveUp { group: id, queue: gone.queue, why: GroupFailure::Replaced, at: now });
    }

    fn request_group(
        &mut self,
        id: QueueId,
        take: Option<TakeStamp>,
        request: &GroupRequest,
    ) -> Result<GroupId, StartError> {
        let queue = self.live(id).ok_or(StartError::UnknownQueue(id))?;
        let targets = self.group_targets(queue, rank(id, queue, take));
        if targets.is_empty() {
            let members = queue.spec.members.intersection_len(&(&self.desirable() & &self.online));
            return Err(StartError::NoTargets { queue: id, name: queue.spec.name.clone(), members });
        }
        let group = GroupId(self.next_group);
        self.next_group += 1;
        let request = request.clone();
        self.groups.insert(group, Group { queue: id, request, phase: GroupPhase::Waiting, targets, take });
        Ok(group)
    }

    /// Gives up a queue's claim, with its group and the loans on either side.
    fn release_claim(&mut self, now: Timestamp, queue: QueueId) {
        if let Some(group) = self.group_of(queue) {
            self.withdraw_group(now, group, GroupFailure::Withdrawn);
        }
        let known = self.queue_mut(queue);
        known.started = false;
        known.claim = None;
        self.void_loans_of(now, queue);
    }
}

fn check_give_up(id: QueueId, queue: &Queue, request: &GroupRequest, now: Timestamp) -> Result<(), StartError> {
    if request.give_up > now {
        return Ok(());
    }
    Err(StartError::GiveUpPassed { queue: id, name: queue.spec.name.clone(), give_up: request.give_up, now })
}
