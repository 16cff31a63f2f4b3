//! The step: reconcile ownership until nothing changes, let the queues schedule, check each grant, merge the effects.
//!
//! Decides the order in which the parts speak: ownership before scheduling, queues in the order of their ids. Which
//! queue gets a target is the coordinator's decision, which job starts is its scheduler's. Queues that have work run
//! side by side; what they answer is read in queue order, so that threads leave no trace (I7).

use super::event::{Denial, Effect};
use super::history::Note;
use super::job::{Holding, HoldingKind, JobState, JobTable, Why};
use super::ledger::Ledger;
use super::queue::Queue;
use super::state::Site;
use super::violation::{Invariant, Violation};
use crate::base::{Epoch, JobId, QueueId, TargetId, TargetSet, Timestamp};
use crate::coordinator::{Holders, Order};
use crate::matcher::{Reason, Selection};
use crate::scheduler::{Input, Output, PassEnd, Scheduler};
use rayon::prelude::*;
use std::sync::Arc;

/// How a call of [`Site::schedule`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use = "if there is more to do, schedule has to be called again"]
pub struct ScheduleEnd {
    /// The work budget was used up before every queue was done.
    pub more: bool,
    /// How many jobs were examined.
    pub examined: usize,
    /// How many passes were run.
    pub passes: usize,
}

/// How often in one step ownership and scheduling may take turns; what is left then is done in the next.
const MAX_ROUNDS: usize = 8;

impl Site {
    /// Reconciles ownership, then lets every started queue with something to do schedule, examining at most
    /// `work_budget` jobs in all (each queue at least one).
    ///
    /// A `now` before the time of the last event counts as that time.
    pub fn schedule(&mut self, now: Timestamp, work_budget: usize, effects: &mut Vec<Effect>) -> ScheduleEnd {
        let now = now.max(self.now);
        self.now = now;
        let mut end = ScheduleEnd::default();
        if self.recovering {
            return end;
        }
        // Only what a pass has unsettled gives cause for another round.
        for _ in 0..MAX_ROUNDS {
            self.settle(now, effects);
            if self.end_loans_early(now) {
                self.settle(now, effects);
            }
            self.put_off_pools(now);
            self.stir(now, effects);
            self.review_shares(now, effects);
            let ready = self.queues.iter().filter(|q| has_work(q, now)).count();
            let left = work_budget.saturating_sub(end.examined);
            if ready == 0 && left > 0 && self.give_loans(now, effects) {
                continue;
            }
            if ready == 0 || left == 0 {
                end.more |= ready > 0;
                break;
            }
            if self.options.check_ledger {
                self.excuse_overruns(now);
                let found = self.check_promise(now);
                self.violations.extend(found);
            }
            let budget = if left == usize::MAX { left } else { (left / ready).max(1) };
            let in_turn = self.overlaps();
            if in_turn {
                self.run_in_turn(now, budget, &mut end, effects);
            } else {
                self.run_passes(now, budget);
                (0..self.queues.len()).for_each(|index| self.read_pass(now, index, budget, &mut end, effects));
            }
            // What one queue started in its turn is news for those before it.
            let stirred = self.stir(now, effects) | self.review_shares(now, effects) | in_turn;
            if end.more || !(self.unsettled || stirred || self.give_loans(now, effects)) {
                break;
            }
        }
        self.settle(now, effects);
        self.kill_due(now, effects);
        self.review_shares(now, effects);
        self.look_at_loans(now);
        self.loans_at = self.loans_wakeup(now);
        if self.options.check_ledger {
            self.checked += 1;
            self.jobs.advance_settled();
            let found = super::audit::audit(self);
            self.violations.extend(found);
            let found = self.check_progress(now);
            self.violations.extend(found);
            let found = self.check_plans(now);
            self.violations.extend(found);
            let found = self.check_pool_plans(now);
            self.violations.extend(found);
            let found = self.check_loans(now);
            self.violations.extend(found);
            self.check_kept(now);
        }
        end
    }

    /// When the site has to be looked at again even if nothing happens: now, if something is to be done already.
    pub fn next_wakeup(&self, now: Timestamp) -> Option<Timestamp> {
        if self.recovering {
            return None;
        }
        let settled = self.shares.is_settled();
        let mut next = if self.unsettled || !settled { now } else { self.settle_at.min(self.loans_at) };
        next = next.min(self.pool_wakeup().unwrap_or(next)).min(self.preemptions.next_kill());
        for queue in &self.queues {
            if let Some(scheduler) = queue.scheduler.as_ref().filter(|_| queue.started) {
                if scheduler.needs_pass(now) {
                    next = next.min(now);
                } else if let Some(at) = scheduler.next_wakeup() {
                    next = next.min(at);
                }
            }
        }
        (!next.is_never()).then(|| next.max(now))
    }

    /// Lets every queue with something to do run a pass.
    fn run_passes(&mut self, now: Timestamp, budget: usize) {
        let costs = |q: &Queue| q.scheduler.as_ref().is_some_and(|s| s.pass_cost() >= self.threads_from);
        let heavy = |q: &Queue| has_work(q, now) && costs(q);
        let run = |queue: &mut Queue| {
            if has_work(queue, now)
                && let Some(scheduler) = &mut queue.scheduler
            {
                scheduler.handle(now, Input::Pass { budget }, &mut queue.answers);
                queue.pass = Some((PassEnd::Done, 0));
            }
        };
        if rayon::current_num_threads() > 1 && self.queues.iter().filter(|q| heavy(q)).count() > 1 {
            self.queues.par_iter_mut().with_max_len(1).for_each(run);
        } else {
            self.queues.iter_mut().for_each(run);
        }
    }

    /// Reads what the pass of a queue answered, if it ran one; resumes it if it waits for a shared pool, to its end or
    /// that of its budget. To be called in queue order.
    pub(super) fn read_pass(
        &mut self,
        now: Timestamp,
        index: usize,
        budget: usize,
        end: &mut ScheduleEnd,
        effects: &mut Vec<Effect>,
    ) {
        if self.queues[index].pass.is_none() {
            return;
        }
        let id = self.queues[index].id;
        let mut left = budget;
        loop {
            self.take_answers(now, id, effects);
            let Some((how, examined)) = self.queues[index].pass.take() else { break };
            end.examined += examined;
            left = left.saturating_sub(examined);
            match how {
                PassEnd::Done => {
                    let waits = self.queues[index].scheduler.as_ref().is_some_and(Scheduler::waits_for_pools);
                    if !waits {
                        // A predecessor of this scheduler may have reserved something.
                        self.pools.plan(id, Vec::new());
                    }
                    break;
                }
                PassEnd::BudgetSpent => {
                    end.more = true;
                    break;
                }
                PassEnd::NeedsShared => {
                    self.queues[index].pass = Some((PassEnd::Done, 0));
                    self.resume(now, index, left.max(1));
                }
            }
        }
        end.passes += 1;
    }

    /// Says something to a scheduler, and acts on its answers at once.
    pub(super) fn tell(&mut self, now: Timestamp, queue: QueueId, input: Input, effects: &mut Vec<Effect>) {
        if self.options.check_ledger {
            self.excuse(queue, &input);
        }
        let record = &mut self.queues[queue.index()];
        let Some(scheduler) = &mut record.scheduler else { return };
        scheduler.handle(now, input, &mut record.answers);
        if !record.answers.is_empty() {
            self.take_answers(now, queue, effects);
        }
    }

    fn take_answers(&mut self, now: Timestamp, queue: QueueId, effects: &mut Vec<Effect>) {
        let mut answers = std::mem::take(&mut self.queue_mut(queue).answers);
        for answer in answers.drain(..) {
            self.answer(now, queue, answer, effects);
        }
        self.queue_mut(queue).answers = answers;
    }

    fn answer(&mut self, now: Timestamp, queue: QueueId, answer: Output, effects: &mut Vec<Effect>) {
        match answer {
            Output::Alloc { job, selection, epoch } => self.granted(now, queue, job, selection, epoch, effects),
            Output::Annotate { job, reason } => self.annotated(now, queue, job, reason, effects),
            Output::Deny { job, reason } => {
                if let Some(slot) = self.waiting_in(queue, job) {
                    self.jobs.job_mut(slot).in_scheduler = false;
                    self.queue_mut(queue).waiting -= 1;
                    self.deny(slot, Denial::Reason(reason), effects);
                }
            }
            // The job was taken out by the site, which acted then.
            Output::Cancelled { .. } => {}
            Output::PlannedStart { job, at } => {
                if let Some(slot) = self.waiting_in(queue, job) {
                    let at_or_never = at.unwrap_or(Timestamp::NEVER);
                    // A restored scheduler says again what is on record.
                    let before = std::mem::replace(&mut self.jobs.job_mut(slot).planned, at_or_never);
                    if self.options.annotate && before != at_or_never {
                        let note = at.map_or(Note::Unplanned, Note::Planned);
                        self.jobs.job_mut(slot).history.add(now, note);
                        effects.push(Effect::PlannedStart { job, at });
                    }
                }
            }
            Output::DownAck { targets, epoch } => {
                self.unsettled |= self.coordinator.acknowledge(queue, &targets, epoch);
            }
            Output::Preempt { job, targets, victims } => self.preempts(now, queue, job, targets, victims, effects),
            Output::HoldEnded { job } => self.hold_ended(queue, job),
            Output::PoolPlans { spans } => self.pools.plan(queue, spans),
            Output::PassEnded { end, examined } => self.queue_mut(queue).pass = Some((end, examined)),
        }
    }

    /// The slot of a job that waits in a scheduler; answers about others are late and mean nothing.
    fn waiting_in(&self, queue: QueueId, job: JobId) -> Option<u32> {
        let slot = self.jobs.slot(job)?;
        let job = self.jobs.job(slot);
        (job.in_scheduler && job.home == queue).then_some(slot)
    }

    fn annotated(&mut self, now: Timestamp, queue: QueueId, id: JobId, reason: Reason, effects: &mut Vec<Effect>) {
        let Some(slot) = self.waiting_in(queue, id) else { return };
        let state = self.jobs.job(slot).state;
        if matches!(reason, Reason::ExceedsWindow { .. }) {
            if state == JobState::Pending {
                self.set_state(slot, JobState::Held);
                effects.push(Effect::Held { job: id, reason: reason.to_string() });
            }
        } else if state == JobState::Held {
            self.set_state(slot, JobState::Pending);
        }
        if matches!(&self.jobs.job(slot).why, Why::Reason(before) if **before == reason) {
            return;
        }
        // That a held job waits again is told in any case.
        if self.options.annotate || state == JobState::Held {
            effects.push(Effect::Annotated { job: id, reason: reason.clone() });
        }
        let job = self.jobs.job_mut(slot);
        job.why = Why::Reason(Box::new(reason));
        job.history.add(now, Note::Why(job.why.clone()));
    }

    /// A grant becomes an effect once the ledger agrees.
    fn granted(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        id: JobId,
        selection: Arc<Selection>,
        epoch: Epoch,
        effects: &mut Vec<Effect>,
    ) {
        self.checked += 1;
        let index = self.jobs.next_holding();
        let Some(slot) = self.waiting_in(queue, id) else {
            let text = format!("queue {} starts job {id}, which does not wait there", self.queue(queue).name);
            return self.refuse_grant(now, queue, id, Violation::new(Invariant::I6, text), effects);
        };
        if let Err(violation) = self.ledger.grant(index, queue, epoch, &selection) {
            self.jobs.job_mut(slot).in_scheduler = false;
            self.queue_mut(queue).waiting -= 1;
            let text = format!("a grant was refused: {violation}");
            self.refuse_grant(now, queue, id, violation, effects);
            return self.hold(now, slot, text, effects);
        }
        if !self.preemptions.holds.is_empty() {
            let other = self.preemptions.held_for_other(id, &selection.target_set());
            if let Some(other) = other {
                let text = format!("job {id} starts on targets that are held for job {other}");
                self.violations.push(Violation::new(Invariant::I9, text));
            }
            self.preemptions.holds.remove(&id);
        }
        let job = self.jobs.job_mut(slot);
        let Some(request) = job.request.clone() else { return };
        let (limit, name) = (job.limit, job.queue);
        self.pools.hold(index, &selection, now, now + limit);
        job.in_scheduler = false;
        job.planned = Timestamp::NEVER;
        job.started = now;
        job.why = Why::Nothing;
        job.holding = index;
        let index = self.jobs.add_holding(Holding {
            slot,
            queue,
            name: id,
            kind: HoldingKind::Running,
            left: selection.shares.len() as u32,
            request,
            selection: selection.clone(),
            freed: TargetSet::new(),
            started: now,
            limit,
            quarantined: false,
            cut: None,
        });
        if self.options.check_ledger {
            let found = self.check_start_on_loan(now, self.jobs.holding(index));
            self.violations.extend(found);
        }
        self.set_state(slot, JobState::Running);
        let record = self.queue_mut(queue);
        record.waiting -= 1;
        record.holdings += 1;
        let queue = self.queue(name).name.clone();
        effects.push(Effect::Start { job: id, queue, selection, limit });
        self.introduce(now, index, 0, effects);
    }

    /// Takes back a grant that is not sound: the scheduler has to forget it.
    fn refuse_grant(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        job: JobId,
        violation: Violation,
        effects: &mut Vec<Effect>,
    ) {
        self.violations.push(violation);
        let free = Input::Free { job, freed: crate::matcher::Freed::Rest, last: true };
        self.tell(now, queue, free, effects);
    }

    /// Reconciles ownership until nothing changes, and tells the schedulers their windows.
    pub(super) fn settle(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if !self.unsettled && now < self.settle_at {
            return;
        }
        self.due_drains(now);
        self.look_at_calendar(now);
        // What was to arrive by now may be late.
        self.windows_stale |= now >= self.boundary;
        loop {
            self.unsettled = false;
            let holders = Held { ledger: &self.ledger, jobs: &self.jobs, queues: &self.queues, now };
            let orders = self.coordinator.reconcile(now, &holders);
            if orders.is_empty() && !self.unsettled {
                break;
            }
            for order in orders {
                self.carry_out(now, order, effects);
            }
        }
        self.sync_started();
        self.vacate_leaving(now, effects);
        self.drop_pool_plans(now, effects);
        self.ledger.watch(self.coordinator.watched_targets());
        self.tell_windows(now, effects);
        let drains = self.planned_drains.iter().map(|d| d.at).min();
        self.boundary =
            self.queues.iter().filter_map(|q| q.windows.next_boundary(now)).min().unwrap_or(Timestamp::NEVER);
        let next = self.coordinator.next_wakeup(now).into_iter().chain(drains).min();
        self.settle_at =
            next.unwrap_or(Timestamp::NEVER).min(self.boundary).min(self.timetable.again()).min(self.preemptions.again);
    }

    pub(super) fn carry_out(&mut self, now: Timestamp, order: Order, effects: &mut Vec<Effect>) {
        let name = |site: &Site, queue: QueueId| site.queue(queue).name.clone();
        let changed = |site: &Site, queue: QueueId, what: &'static str, detail: String| Effect::QueueChanged {
            queue: name(site, queue),
            what,
            detail,
        };
        match order {
            Order::Down { queue, targets, epoch } => {
                self.ledger.down(&targets, queue, epoch);
                self.queue_mut(queue).epoch = epoch;
                effects.push(Effect::Down { queue: name(self, queue), targets: targets.clone(), epoch });
                if self.queue(queue).scheduler.is_some() {
                    self.tell(now, queue, Input::Down { targets, epoch }, effects);
                } else {
                    self.unsettled |= self.coordinator.acknowledge(queue, &targets, epoch);
                }
            }
            Order::Up { queue, targets, epoch } => {
                if let Err(violation) = self.ledger.up(&targets, queue, epoch) {
                    self.violations.push(violation);
                }
                let holders = Held { ledger: &self.ledger, jobs: &self.jobs, queues: &self.queues, now };
                let held = |t: &TargetId| !self.coordinator.is_common() && holders.held_by_other(*t, queue);
                if let Some(target) = targets.iter().find(held) {
                    let text = format!("target {target} goes up in queue id {queue} while held by a job of another");
                    self.violations.push(Violation::new(Invariant::I3, text));
                }
                self.queue_mut(queue).epoch = epoch;
                effects.push(Effect::Up { queue: name(self, queue), targets: targets.clone(), epoch });
                self.tell(now, queue, Input::Up { targets, epoch }, effects);
            }
            Order::Moved { .. } => {}
            Order::LoanEnded { targets, lender, borrower, why, .. } => effects.push(Effect::LoanEnded {
                targets,
                lender: name(self, lender),
                borrower: name(self, borrower),
                why,
            }),
            Order::DonationStarted { targets, donor, recipient, .. } => effects.push(Effect::DonationStarted {
                targets,
                donor: name(self, donor),
                recipient: recipient.map(|q| name(self, q)),
            }),
            Order::DonationEnded { targets, donor, recipient, started, cancelled, .. } => {
                effects.push(Effect::DonationEnded {
                    targets,
                    donor: name(self, donor),
                    recipient: recipient.map(|q| name(self, q)),
                    started,
                    cancelled,
                });
            }
            Order::GroupReady { queue, targets, .. } => {
                effects.push(changed(self, queue, "gathered", format!("targets {targets}")));
            }
            Order::GroupGaveUp { queue, why, .. } => {
                effects.push(changed(self, queue, "gave-up", why.to_string()));
            }
            Order::PlanExecuted { plan, request, switch } => self.plan_done(now, plan, &request, Ok(switch), effects),
            Order::PlanRefused { plan, request, error } => {
                self.plan_done(now, plan, &request, Err(error.to_string()), effects);
            }
            Order::Removed { targets } => self.targets_gone(now, &targets, effects),
            Order::QueueBlocked { queue, blocked } => {
                let detail = format!("overlap with {} on targets {}", blocked.by.join(", "), blocked.targets);
                effects.push(changed(self, queue, "blocked", detail));
            }
            Order::QueueUnblocked { queue } => effects.push(changed(self, queue, "unblocked", String::new())),
            Order::QueueGone { queue } => {
                let record = self.queue_mut(queue);
                record.gone = true;
                if record.holdings == 0 {
                    record.scheduler = None;
                }
            }
        }
    }

    /// Takes over which queues are started: groups and planned switches change it inside the coordinator.
    pub(super) fn sync_started(&mut self) {
        for queue in self.queues.iter_mut().filter(|q| q.parent.is_none()) {
            queue.started = !queue.removed && self.coordinator.is_started(queue.id);
        }
    }
}

/// Whether a queue has to run a pass.
pub(super) fn has_work(queue: &Queue, now: Timestamp) -> bool {
    queue.started && queue.scheduler.as_ref().is_some_and(|s| s.needs_pass(now))
}

/// Who holds targets, for the coordinator.
pub(super) struct Held<'a> {
    pub ledger: &'a Ledger,
    pub jobs: &'a JobTable,
    pub queues: &'a [Queue],
    pub now: Timestamp,
}

impl Held<'_> {
    /// When a holding is expected to end. What its scheduler expects counts, which puts off the end of a job that
    /// overruns its limit.
    pub fn end_of(&self, holding: u32) -> Timestamp {
        let holding = self.jobs.holding(holding);
        let queue = &self.queues[holding.queue.index()];
        let told = queue.scheduler.as_ref().and_then(|s| s.planned_end_at(holding.name, self.now));
        told.unwrap_or_else(|| holding.planned_end())
    }
}

impl Holders for Held<'_> {
    fn is_held(&self, target: TargetId) -> bool {
        self.ledger.is_held(target)
    }

    fn held_by_other(&self, target: TargetId, queue: QueueId) -> bool {
        // A job in quarantine belongs to no queue, since no scheduler knows it.
        let other = |h: &u32| self.jobs.holding(*h).queue != queue || self.jobs.holding(*h).quarantined;
        self.ledger.holders(target).iter().any(other)
    }

    fn planned_end(&self, target: TargetId) -> Timestamp {
        let ends = self.ledger.holders(target).into_iter().map(|h| self.end_of(h));
        ends.max().unwrap_or(self.now)
    }
}
