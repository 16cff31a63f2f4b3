//! What happens to jobs by themselves: they are submitted, they end.

use super::{Engine, ReplayError};
use crate::base::{TargetSet, Timestamp};
use crate::replay::book::JobState;
use crate::replay::clock::{Due, DueKind};
use crate::replay::preemptions::Ended;
use crate::replay::workload::{Asked, Fate};
use crate::site::{Event, Outcome, Submission};

impl Engine<'_> {
    /// When the next job is submitted.
    #[inline]
    pub(super) fn next_submit(&self) -> Option<Timestamp> {
        self.workload.jobs().get(self.next_job).map(|j| j.submit)
    }

    /// Submits the next job.
    #[inline]
    pub(super) fn submit_next(&mut self) {
        let slot = self.next_job;
        self.next_job += 1;
        let job = &self.workload.jobs()[slot];
        let request = match &job.asked {
            Asked::Request(request) => Ok(request.clone()),
            Asked::Refused(reason) => Err((**reason).clone()),
        };
        self.book.set_state(slot, JobState::Pending);
        self.book.queue[slot] = job.queue.map_or(self.default_number, |q| self.queue_numbers[usize::from(q)]);
        let submission = Submission {
            id: job.id,
            queue: self.workload.queue_of(job).map(str::to_owned),
            priority: job.priority,
            userid: job.userid,
            limit: job.limit,
            request,
        };
        self.must_tell(Event::Submit(Box::new(submission)));
    }

    /// Something of a job's own is due.
    #[inline]
    pub(super) fn do_due(&mut self, due: Due) {
        match due.kind {
            DueKind::End if self.is_current(&due) && !self.is_moved_end(&due) => {
                // Who was signalled and ends before its time has heeded that.
                let early = || {
                    let job = &self.workload.jobs()[due.slot as usize];
                    self.preemptions.is_open(due.slot) && self.now < self.book.start[due.slot as usize] + job.run
                };
                let outcome = if early() || !self.killed.is_empty() && self.killed.contains(&due.slot) {
                    Outcome::Cancelled
                } else {
                    let by_fate = || match self.workload.jobs()[due.slot as usize].fate {
                        Fate::Completes => Outcome::Completed,
                        Fate::Fails => Outcome::Failed,
                    };
                    self.outcome_by_instance(due.slot).unwrap_or_else(by_fate)
                };
                self.killed.remove(&due.slot);
                self.end_job(due.slot, outcome, None);
            }
            DueKind::End => {}
            DueKind::Release(target) => self.housekeeping_done(target, due.slot, due.run),
        }
    }

    /// Whether the run that this belongs to is still running.
    #[inline]
    pub(super) fn is_current(&self, due: &Due) -> bool {
        let slot = due.slot as usize;
        self.book.state[slot] == JobState::Running && self.book.runs[slot] == due.run
    }

    /// A running job ends.
    #[inline]
    pub(super) fn end_job(&mut self, slot: u32, outcome: Outcome, gone: Option<&TargetSet>) {
        self.settle_instance(slot, true);
        let job = self.workload.jobs()[slot as usize].id;
        let state = match outcome {
            Outcome::Completed => JobState::Completed,
            Outcome::Failed => JobState::Failed,
            Outcome::Cancelled => JobState::Cancelled,
        };
        self.digest.entry(self.now, b'a' + outcome as u8);
        self.digest.word(job.0);
        self.must_tell(Event::End { job, outcome });
        let back = self.put_back.take() == Some(job);
        let how = match outcome {
            Outcome::Completed => Ended::Completed,
            Outcome::Failed | Outcome::Cancelled if back => Ended::Requeued,
            Outcome::Failed | Outcome::Cancelled => Ended::Cancelled,
        };
        self.count_preempted(slot, how);
        if back {
            return self.goes_back(slot, gone);
        }
        self.book.ended(slot as usize, self.now, state);
        self.let_go(slot, gone);
    }

    /// Counts the end of a run, if it was signalled.
    pub(super) fn count_preempted(&mut self, slot: u32, how: Ended) {
        if self.preemptions.is_open(slot) {
            let nodes = self.book.selection[slot as usize].as_deref().map_or(0, |s| s.shares.len());
            self.preemptions.ended(slot, how, nodes, self.book.start[slot as usize], self.now);
        }
    }

    /// Tells the site what must be accepted: refusing it would mean that replay and site disagree about the past.
    #[inline]
    pub(super) fn must_tell(&mut self, event: Event) {
        if self.failed.is_some() {
            return;
        }
        self.observers.iter_mut().for_each(|o| o.event(self.now, &event));
        if let Some(audit) = &mut self.audit {
            audit.event(&event);
        }
        let mut effects = std::mem::take(&mut self.effects);
        let kind = event_name(&event);
        let told = self.site.apply(self.now, event, &mut effects);
        self.take_effects(&mut effects);
        self.effects = effects;
        if let Err(source) = told {
            self.failed = Some(ReplayError::Refused { at: self.now, what: kind.into(), source });
        }
    }

    /// Tells the site what it may refuse.
    ///
    /// # Errors
    /// Why it was refused.
    pub(super) fn try_tell(&mut self, event: Event) -> Result<(), String> {
        if self.failed.is_some() {
            return Ok(());
        }
        self.observers.iter_mut().for_each(|o| o.event(self.now, &event));
        if let Some(audit) = &mut self.audit {
            audit.event(&event);
        }
        let mut effects = std::mem::take(&mut self.effects);
        // A kill that answers no cancellation is the site's own wish.
        self.cancelling = matches!(event, Event::Cancel { .. });
        let told = self.site.apply(self.now, event, &mut effects);
        self.take_effects(&mut effects);
        self.cancelling = false;
        self.effects = effects;
        told.map_err(|e| {
            let error = e.to_string();
            self.observers.iter_mut().for_each(|o| o.refused(self.now, &error));
            error
        })
    }
}

/// A word for an event.
fn event_name(event: &Event) -> &'static str {
    match event {
        Event::Submit(_) => "the submission of a job",
        Event::End { .. } => "the end of a job",
        Event::Requeue { .. } => "the requeue of a job",
        Event::Free { .. } => "the release of resources",
        Event::Offline { .. } => "that targets do not answer",
        Event::Online { .. } => "that targets answer",
        _ => "a command",
    }
}
