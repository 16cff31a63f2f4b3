//! What happens to jobs: they come in, are cancelled, changed, moved, end, and release what they hold.
//!
//! Decides where a job goes; when it starts is decided by its scheduler. A job that waits in a virtual queue which is
//! stopped, or is held back by a limit of its user, is pending and in no scheduler; it goes there when the queue is
//! started, or the limit lets it.

use super::error::EventError;
use super::event::{Denial, Effect, Outcome, Submission};
use super::history::{History, Note};
use super::job::{FIRST_RESERVED_ID, HoldingKind, Job, JobState, NO_HOLDING, Why};
use super::rules::Place;
use super::shares::is_parked;
use super::state::Site;
use super::violation::{Invariant, Violation};
use crate::base::{Duration, JobId, Priority, QueueId, TargetSet, Timestamp};
use crate::matcher::Freed;
use crate::scheduler::{HelloJob, Input, JobRequest};

impl Site {
    pub(super) fn submit(
        &mut self,
        now: Timestamp,
        s: Submission,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        if s.id.0 >= FIRST_RESERVED_ID {
            return Err(EventError::ReservedId(s.id));
        }
        if self.jobs.slot(s.id).is_some() {
            effects.push(Effect::Denied { job: s.id, reason: Denial::DuplicateId });
            return Ok(());
        }
        let named = match &s.queue {
            Some(name) => self.names.get(name.as_str()).copied(),
            None => self.default_queue(),
        };
        let verdict = self.admission(named, &s);
        let queue = named.unwrap_or(NO_QUEUE);
        let (limit, state, why, request) = match verdict {
            Ok(limit) => (limit, JobState::Pending, Why::Nothing, s.request.ok()),
            Err(denial) => {
                let limit = s.limit.unwrap_or(Duration::INFINITE);
                effects.push(Effect::Denied { job: s.id, reason: denial.clone() });
                (limit, JobState::Denied, Why::Denied(Box::new(denial)), None)
            }
        };
        let slot = self.jobs.add(Job {
            id: s.id,
            state,
            queue,
            home: named.map_or(NO_QUEUE, |q| self.home(q)),
            in_scheduler: false,
            userid: s.userid,
            priority: s.priority,
            submitted: now,
            late: None,
            limit,
            planned: Timestamp::NEVER,
            started: Timestamp::NEVER,
            ended: Timestamp::NEVER,
            why,
            request,
            history: History::default(),
            requeues: 0,
            holding: NO_HOLDING,
        });
        self.count(queue, state, |n| *n += 1);
        if state == JobState::Pending {
            self.enqueue(now, slot, effects);
        }
        Ok(())
    }

    /// Whether a submission may come in, and its time limit.
    fn admission(&self, named: Option<QueueId>, s: &Submission) -> Result<Duration, Denial> {
        let Some(id) = named else {
            return Err(s.queue.clone().map_or(Denial::NoQueue, Denial::UnknownQueue));
        };
        let queue = self.queue(id);
        if !queue.enabled {
            return Err(Denial::Disabled(queue.disable_reason.clone()));
        }
        let request = s.request.as_ref().map_err(|reason| Denial::Reason(reason.clone()))?;
        let asked = s.limit.filter(|limit| *limit > Duration::ZERO);
        let limit = asked.or(queue.rules.default_duration).unwrap_or(Duration::INFINITE);
        queue.rules.admit(&Place::of(&queue.name, &self.config), s.userid, limit, request, &self.graph)?;
        self.admit_user(id, s.userid, request)?;
        Ok(limit)
    }

    /// The queue whose scheduler serves the jobs of a queue.
    pub(super) fn home(&self, queue: QueueId) -> QueueId {
        self.queue(queue).parent.unwrap_or(queue)
    }

    /// What a job's place in the order of its scheduler goes by: its priority, and the boost of its queue.
    pub fn order_priority(&self, job: &Job) -> Priority {
        let boost = self.queues.get(job.queue.index()).map_or(0, |q| q.config.policy.priority_boost);
        Priority(job.priority.0 + i64::from(boost))
    }

    /// Gives a pending job to its scheduler, or lets it wait for its virtual queue to be started or for the limits of its
    /// user.
    pub(super) fn enqueue(&mut self, now: Timestamp, slot: u32, effects: &mut Vec<Effect>) {
        let queue = self.queue(self.jobs.job(slot).queue);
        if is_parked(queue) {
            self.note_share(slot);
        } else if queue.config.policy.limits.user.bounds_running() {
            self.await_review(slot);
        } else {
            self.enter(now, slot, effects);
        }
    }

    /// Gives a pending job to its scheduler.
    pub(super) fn enter(&mut self, now: Timestamp, slot: u32, effects: &mut Vec<Effect>) {
        let job = self.jobs.job_mut(slot);
        let Some(request) = job.request.clone() else { return };
        job.in_scheduler = true;
        let queue = job.queue;
        let request = self.confine(queue, request);
        let job = self.jobs.job(slot);
        let (home, priority) = (job.home, self.order_priority(job));
        let alloc = JobRequest { id: job.id, priority, submitted: job.in_order_from(), limit: job.limit, request };
        self.note_share(slot);
        self.queue_mut(home).waiting += 1;
        self.tell(now, home, Input::Alloc(alloc), effects);
    }

    /// Takes a pending job out of its scheduler, if it is in one. Its plan is void.
    pub(super) fn withdraw(&mut self, now: Timestamp, slot: u32, effects: &mut Vec<Effect>) {
        let job = self.jobs.job_mut(slot);
        job.planned = Timestamp::NEVER;
        if std::mem::replace(&mut job.in_scheduler, false) {
            let (id, home) = (job.id, job.home);
            self.note_share(slot);
            self.queue_mut(home).waiting -= 1;
            self.tell(now, home, Input::Cancel(id), effects);
        }
    }

    pub(super) fn known(&self, id: JobId) -> Result<u32, EventError> {
        self.jobs.slot(id).ok_or(EventError::UnknownJob(id))
    }

    fn misplaced(&self, slot: u32, expected: &'static str) -> EventError {
        let job = self.jobs.job(slot);
        EventError::JobState { job: job.id, expected, found: job.state.word() }
    }

    pub(super) fn cancel(&mut self, now: Timestamp, id: JobId, effects: &mut Vec<Effect>) -> Result<(), EventError> {
        let slot = self.known(id)?;
        match self.jobs.job(slot).state {
            JobState::Pending | JobState::Held => {
                self.withdraw(now, slot, effects);
                self.set_state(slot, JobState::Cancelled);
                self.jobs.job_mut(slot).ended = now;
                effects.push(Effect::Cancelled { job: id });
            }
            JobState::Running => effects.push(Effect::Kill { job: id }),
            JobState::Ended(_) | JobState::Denied | JobState::Cancelled => {
                return Err(self.misplaced(slot, "pending, held or running"));
            }
        }
        Ok(())
    }

    pub(super) fn prioritize(
        &mut self,
        now: Timestamp,
        jobs: &[(JobId, Priority)],
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        for (id, _) in jobs {
            let slot = self.known(*id)?;
            if self.jobs.job(slot).state.is_final() {
                return Err(self.misplaced(slot, "pending, held or running"));
            }
        }
        let mut told: Vec<(QueueId, (JobId, Priority))> = Vec::with_capacity(jobs.len());
        for (id, priority) in jobs {
            let Some(slot) = self.jobs.slot(*id) else { continue };
            let job = self.jobs.job_mut(slot);
            job.priority = *priority;
            self.note_share(slot);
            let job = self.jobs.job(slot);
            if job.in_scheduler {
                told.push((job.home, (*id, self.order_priority(job))));
            }
        }
        told.sort_by_key(|(queue, _)| *queue);
        for group in told.chunk_by(|a, b| a.0 == b.0) {
            let list = group.iter().map(|(_, job)| *job).collect();
            self.tell(now, group[0].0, Input::Prioritize(list), effects);
        }
        Ok(())
    }

    pub(super) fn relimit(
        &mut self,
        now: Timestamp,
        id: JobId,
        limit: Duration,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let slot = self.known(id)?;
        let job = self.jobs.job_mut(slot);
        if job.state.is_final() {
            return Err(self.misplaced(slot, "pending, held or running"));
        }
        job.limit = limit;
        let (home, held) = (job.home, job.holding);
        if job.state == JobState::Running || job.in_scheduler {
            if held != NO_HOLDING {
                self.jobs.holding_mut(held).limit = limit;
                self.unsettled = true;
            }
            let input = Input::Expiration { job: id, limit };
            self.tell_others(now, home, &input, effects);
            self.tell(now, home, input, effects);
            if held != NO_HOLDING {
                let end = self.jobs.holding(held).planned_end();
                self.end_pools_at(held, end);
            }
        }
        Ok(())
    }

    pub(super) fn move_job(
        &mut self,
        now: Timestamp,
        id: JobId,
        queue: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let slot = self.known(id)?;
        let to = self.queue_id(queue)?;
        let job = self.jobs.job(slot);
        if !matches!(job.state, JobState::Pending | JobState::Held) {
            return Err(self.misplaced(slot, "pending or held"));
        }
        if let Err(problem) = self.movable(slot, to) {
            return Err(EventError::NotAdmitted { job: id, queue: queue.to_owned(), problem });
        }
        self.relocate(now, slot, to, effects);
        Ok(())
    }

    /// Whether a queue would let a waiting job in.
    pub(super) fn movable(&self, slot: u32, to: QueueId) -> Result<(), String> {
        let (job, queue) = (self.jobs.job(slot), self.queue(to));
        if !queue.enabled {
            return Err(format!("the queue is disabled: {}", queue.disable_reason));
        }
        let Some(request) = &job.request else { return Ok(()) };
        let place = Place::of(&queue.name, &self.config);
        let admitted = queue.rules.admit(&place, job.userid, job.limit, request, &self.graph);
        // Who is there already counts as one of those that wait.
        let admitted = admitted.and_then(|()| match job.queue == to {
            true => Ok(()),
            false => self.admit_user(to, job.userid, request),
        });
        admitted.map_err(|denial| denial.to_string())
    }

    /// Moves a waiting job to another queue, where it is pending.
    pub(super) fn relocate(&mut self, now: Timestamp, slot: u32, to: QueueId, effects: &mut Vec<Effect>) {
        self.withdraw(now, slot, effects);
        self.rehome(now, slot, to);
        self.set_state(slot, JobState::Pending);
        self.enqueue(now, slot, effects);
    }

    /// Enters a job that no scheduler has under another queue.
    pub(super) fn rehome(&mut self, now: Timestamp, slot: u32, to: QueueId) {
        let home = self.home(to);
        let job = self.jobs.job_mut(slot);
        let (from, state) = (std::mem::replace(&mut job.queue, to), job.state);
        (job.home, job.why) = (home, Why::Nothing);
        let (left, joined) = (self.queue(from).name.clone(), self.queue(to).name.clone());
        self.jobs.job_mut(slot).history.add(now, Note::Moved { from: left, to: joined });
        self.count(from, state, |n| *n -= 1);
        self.count(to, state, |n| *n += 1);
    }

    /// Keeps a waiting job outside the schedulers.
    pub(super) fn hold(&mut self, now: Timestamp, slot: u32, reason: String, effects: &mut Vec<Effect>) {
        self.withdraw(now, slot, effects);
        self.set_state(slot, JobState::Held);
        let job = self.jobs.job_mut(slot);
        job.why = Why::Held(reason.as_str().into());
        job.history.add(now, Note::Why(job.why.clone()));
        effects.push(Effect::Held { job: job.id, reason });
    }

    pub(super) fn end(&mut self, now: Timestamp, id: JobId, outcome: Outcome) -> Result<(), EventError> {
        let slot = self.known(id)?;
        let job = self.jobs.job_mut(slot);
        if job.state != JobState::Running {
            return Err(self.misplaced(slot, "running"));
        }
        job.ended = now;
        let held = job.holding;
        if held != NO_HOLDING {
            self.jobs.holding_mut(held).kind = HoldingKind::Ended;
        }
        self.set_state(slot, JobState::Ended(outcome));
        Ok(())
    }

    pub(super) fn requeue(&mut self, now: Timestamp, id: JobId, effects: &mut Vec<Effect>) -> Result<(), EventError> {
        let slot = self.known(id)?;
        let job = self.jobs.job_mut(slot);
        if job.state != JobState::Running {
            return Err(self.misplaced(slot, "running"));
        }
        job.requeues += 1;
        job.why = Why::Nothing;
        job.history.add(now, Note::Requeued);
        self.jobs.counts.requeued += 1;
        if self.jobs.job(slot).holding != NO_HOLDING {
            self.rename_holding(now, slot, effects);
        }
        self.set_state(slot, JobState::Pending);
        let job = self.jobs.job(slot);
        let queue = self.queue(job.queue);
        if queue.removed {
            let reason = format!("its queue {} was removed; move the job to another queue", queue.name);
            self.hold(now, slot, reason, effects);
        } else {
            self.enqueue(now, slot, effects);
        }
        Ok(())
    }

    /// Parts a job from its holding: the scheduler goes on with the holding under a name of its own, so that the job
    /// can be pending beside it. No pass comes between the release and the new report, so nothing is free meanwhile.
    fn rename_holding(&mut self, now: Timestamp, slot: u32, effects: &mut Vec<Effect>) {
        let job = self.jobs.job(slot);
        let (id, priority, submitted) = (job.id, self.order_priority(job), job.in_order_from());
        let index = self.jobs.part(slot);
        let holding = self.jobs.holding(index);
        if holding.quarantined {
            return;
        }
        let request = holding.request.clone();
        let overruns = self.overruns(holding.queue, id);
        let hello = HelloJob {
            job: JobRequest { id: holding.name, priority, submitted, limit: holding.limit, request },
            selection: holding.selection.clone(),
            freed: holding.freed.clone(),
            started: holding.started,
            overruns,
        };
        let queue = holding.queue;
        let free = Input::Free { job: id, freed: Freed::Rest, last: true };
        self.tell_others(now, queue, &free, effects);
        self.tell(now, queue, free, effects);
        self.tell(now, queue, Input::Hello(Box::new(hello)), effects);
        self.introduce(now, index, overruns, effects);
    }

    pub(super) fn free(
        &mut self,
        now: Timestamp,
        id: JobId,
        freed: Freed,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let slot = self.known(id)?;
        let current = self.jobs.job(slot).holding;
        let mut open: smallvec::SmallVec<[u32; 2]> = self.jobs.former(slot).iter().copied().collect();
        if current != NO_HOLDING && self.jobs.holding(current).kind == HoldingKind::Ended {
            open.push(current);
        } else if open.is_empty() && current != NO_HOLDING {
            return Err(self.misplaced(slot, "ended or requeued"));
        }
        match (freed, open.as_slice()) {
            (freed, []) => Err(self.not_held(id, &freed, &open)),
            (Freed::Rest, [one]) => {
                self.release_rest(now, *one, effects);
                Ok(())
            }
            (Freed::Rest, several) => Err(EventError::AmbiguousFree { job: id, runs: several.len() }),
            (Freed::Targets(targets), _) => {
                let parts = self.attribute(&targets, &open);
                if targets.is_empty() || parts.iter().map(|(_, t)| t.len()).sum::<usize>() != targets.len() {
                    return Err(self.not_held(id, &Freed::Targets(targets), &open));
                }
                for (holding, targets) in parts {
                    self.release(now, holding, targets, effects);
                }
                Ok(())
            }
        }
    }

    /// Which holding releases which of the targets: the oldest that holds it.
    fn attribute(&self, targets: &TargetSet, open: &[u32]) -> Vec<(u32, TargetSet)> {
        let mut rest = targets.clone();
        let mut parts = Vec::with_capacity(open.len());
        for index in open {
            let holding = self.jobs.holding(*index);
            let shares = &holding.selection.shares;
            let mine: TargetSet = rest
                .iter()
                .filter(|t| shares.binary_search_by_key(t, |s| s.target).is_ok() && !holding.freed.contains(*t))
                .collect();
            rest -= &mine;
            if !mine.is_empty() {
                parts.push((*index, mine));
            }
        }
        parts
    }

    fn not_held(&self, job: JobId, freed: &Freed, open: &[u32]) -> EventError {
        let asked = match freed {
            Freed::Rest => "the rest".to_owned(),
            Freed::Targets(targets) if targets.is_empty() => "no target".to_owned(),
            Freed::Targets(targets) => format!("targets {targets}"),
        };
        let mut held = TargetSet::new();
        for index in open {
            let holding = self.jobs.holding(*index);
            held.extend(holding.selection.targets().filter(|t| !holding.freed.contains(*t)));
        }
        let held = if held.is_empty() { "nothing".to_owned() } else { format!("targets {held}") };
        EventError::NotHeld { job, asked, held }
    }

    /// Releases all that is left of a holding.
    fn release_rest(&mut self, now: Timestamp, index: u32, effects: &mut Vec<Effect>) {
        let Some(holding) = self.jobs.drop_holding(index) else { return };
        let whole = holding.freed.is_empty();
        for share in &holding.selection.shares {
            if (whole || !holding.freed.contains(share.target)) && !self.ledger.release(index, share.target) {
                self.release_fault(holding.name, share.target);
            }
        }
        self.unsettled |= std::mem::take(&mut self.ledger.watched_release);
        self.ledger.release_pools(index);
        self.pools.release(index);
        let free = Input::Free { job: holding.name, freed: Freed::Rest, last: true };
        self.after_release(now, holding.queue, free, effects);
        self.stir(now, effects);
    }

    /// Releases some targets of a holding; all of them are held by it.
    fn release(&mut self, now: Timestamp, index: u32, targets: TargetSet, effects: &mut Vec<Effect>) {
        let holding = self.jobs.holding_mut(index);
        holding.left -= targets.len() as u32;
        if holding.left == 0 {
            return self.release_rest(now, index, effects);
        }
        holding.freed |= &targets;
        let (name, queue) = (holding.name, holding.queue);
        for target in targets.iter() {
            if !self.ledger.release(index, target) {
                self.release_fault(name, target);
            }
        }
        self.unsettled |= std::mem::take(&mut self.ledger.watched_release);
        let free = Input::Free { job: name, freed: Freed::Targets(targets), last: false };
        self.tell_others(now, queue, &free, effects);
        self.tell(now, queue, free, effects);
    }

    fn after_release(&mut self, now: Timestamp, queue: QueueId, free: Input, effects: &mut Vec<Effect>) {
        self.tell_others(now, queue, &free, effects);
        self.tell(now, queue, free, effects);
        let queue = self.queue_mut(queue);
        queue.holdings -= 1;
        if queue.gone && queue.holdings == 0 {
            queue.scheduler = None;
        }
    }

    fn release_fault(&mut self, job: JobId, target: crate::base::TargetId) {
        let text = format!("job {job} releases target {target}, which the ledger does not know as its");
        self.violations.push(Violation::new(Invariant::I2, text));
    }

    /// What the denial of a scheduler means.
    pub(super) fn deny(&mut self, slot: u32, denial: Denial, effects: &mut Vec<Effect>) {
        self.set_state(slot, JobState::Denied);
        let job = self.jobs.job_mut(slot);
        job.planned = Timestamp::NEVER;
        job.why = Why::Denied(Box::new(denial.clone()));
        effects.push(Effect::Denied { job: job.id, reason: denial });
    }

    /// The queue of submissions that name none: the configured default, else the only queue.
    fn default_queue(&self) -> Option<QueueId> {
        match self.config.default_queue() {
            Some(queue) => self.names.get(queue.name.as_str()).copied(),
            None if self.names.len() == 1 => self.names.values().next().copied(),
            None => None,
        }
    }
}

/// Stands for the queue of a job that named none that exists.
pub(super) const NO_QUEUE: QueueId = QueueId(u32::MAX);

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Denial::UnknownQueue(name) => write!(f, "queue {name} does not exist"),
            Denial::NoQueue => f.write_str("no queue is named, and there is no default queue"),
            Denial::Disabled(reason) if reason.is_empty() => f.write_str("the queue is disabled"),
            Denial::Disabled(reason) => write!(f, "the queue is disabled: {reason}"),
            Denial::Access { queue, user, key, allowed } => {
                write!(f, "user {user} may not submit to queue {queue}: {key} lets in {allowed}")
            }
            Denial::Limit { limit, asked, allowed } => write!(f, "{limit}: asked {asked}, allowed {allowed}"),
            Denial::DuplicateId => f.write_str("the job id is taken"),
            Denial::Reason(reason) => reason.fmt(f),
        }
    }
}
