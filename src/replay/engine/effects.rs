//! What the site answers, carried out and counted.

use super::{Engine, ReplayError};
use crate::base::{Duration, JobId, TargetSet};
use crate::matcher::{Extent, Selection};
use crate::replay::book::{JobState, NO_QUEUE};
use crate::replay::clock::{Due, DueKind};
use crate::replay::donations::Wanted;
use crate::replay::random::Stream;
use crate::replay::scenario::OnPreempt;
use crate::replay::workload::TraceJob;
use crate::site::Effect;
use std::sync::Arc;

impl Engine<'_> {
    /// Takes over all effects; leaves the vector empty.
    #[inline]
    pub(super) fn take_effects(&mut self, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            self.observers.iter_mut().for_each(|o| o.effect(self.now, &effect));
            if let Some(audit) = &mut self.audit {
                audit.effect(&effect, self.site.graph());
            }
            self.take_effect(effect);
        }
    }

    fn take_effect(&mut self, effect: Effect) {
        let now = self.now;
        match effect {
            Effect::Start { job, queue, selection, .. } => self.start(job, &queue, selection),
            Effect::Denied { job, .. } => self.settle_job(job, JobState::Denied, b'D'),
            Effect::Cancelled { job } => self.settle_job(job, JobState::Cancelled, b'C'),
            Effect::Held { job, .. } => self.settle_job(job, JobState::Held, b'H'),
            Effect::Kill { job } => self.kill(job),
            Effect::Preempt { job, .. } => self.signal(job),
            Effect::Requeued { job } => self.put_back = Some(job),
            // Nobody reports running jobs to a replay, so nothing can be quarantined.
            Effect::Annotated { .. } | Effect::PlannedStart { .. } | Effect::Quarantined { .. } => {}
            Effect::Up { queue, targets, .. } => self.note(b'U', &queue, &targets),
            Effect::Down { queue, targets, .. } => self.note(b'N', &queue, &targets),
            Effect::DonationStarted { targets, donor, recipient } => {
                self.note(b'L', &donor, &targets);
                if self.loans.moves(&targets) {
                    return;
                }
                let holders = self.running_on(&targets).into_iter().map(|s| self.workload.jobs()[s as usize].id);
                let holders = holders.collect();
                let wanted = self.wanted_in(&donor);
                self.donations.started(now, &targets, (&donor, wanted), &recipient, holders);
            }
            Effect::DonationEnded { targets, donor, recipient, started, cancelled } => {
                self.note(if cancelled { b'X' } else { b'M' }, &donor, &targets);
                if let Some(recipient) = &recipient {
                    self.digest.text(recipient);
                }
                if self.loans.moved(&targets) {
                    return;
                }
                self.donations.ended(now, &targets, &recipient, started, cancelled);
            }
            Effect::Lent { targets, lender, borrower, prolonged, .. } => {
                self.note(if prolonged { b'O' } else { b'B' }, &lender, &targets);
                self.digest.text(&borrower);
                self.loans.lent(now, &targets, &borrower, prolonged);
            }
            Effect::LoanEnded { targets, lender, borrower, why } => {
                self.note(b'E', &lender, &targets);
                self.digest.text(&borrower);
                self.loans.ended(now, &targets, why);
            }
            Effect::QueueChanged { queue, what, detail } => {
                self.digest.entry(now, b'W');
                self.digest.text(&queue);
                self.digest.text(what);
                self.book.queue_number(&queue);
                match what {
                    "gathering" => self.donations.gather(now, &queue),
                    "gathered" => self.groups.push((now, queue.to_string(), None)),
                    "gave-up" => self.groups.push((now, queue.to_string(), Some(detail))),
                    _ => {}
                }
            }
            Effect::PlanDue { name, refused } => {
                self.digest.entry(now, if refused.is_some() { b'R' } else { b'P' });
                self.digest.text(&name);
                self.donations.due(now);
                self.switches.push((now, name, refused));
            }
            Effect::Inventory { targets, joined } => {
                self.digest.entry(now, if joined { b'J' } else { b'G' });
                self.digest.targets(&targets);
                self.inventory_changed(joined, &targets);
            }
        }
    }

    /// The jobs that wait in a queue; held ones wait for something else.
    fn wanted_in(&self, queue: &str) -> Option<Wanted> {
        if self.site.queue_view(queue).is_none_or(|q| q.jobs.pending == 0) {
            return None;
        }
        let number = self.book.queues.iter().position(|q| **q == *queue)?;
        let jobs = self.workload.jobs();
        let pends = |s: &usize| {
            usize::from(self.book.queue[*s]) == number
                && self.site.job(jobs[*s].id).is_some_and(|j| j.state == crate::site::JobState::Pending)
        };
        let waiting = self.waiting().filter(pends).map(|s| &jobs[s]);
        let both = |sum: Option<Wanted>, job: &TraceJob| {
            let (since, nodes) = sum.map_or((job.submit, 0), |w| (w.since, w.nodes));
            Some(Wanted { since: since.min(job.submit), nodes: nodes + u64::from(job.size) })
        };
        waiting.fold(None, both)
    }

    fn slot_of(&mut self, job: JobId) -> Option<usize> {
        let slot = self.workload.slot(job);
        if slot.is_none() && self.failed.is_none() {
            self.failed = Some(ReplayError::UnknownJob { at: self.now, job });
        }
        slot
    }

    fn note(&mut self, kind: u8, queue: &str, targets: &TargetSet) {
        self.digest.entry(self.now, kind);
        self.digest.text(queue);
        self.digest.targets(targets);
    }

    fn settle_job(&mut self, job: JobId, state: JobState, kind: u8) {
        let Some(slot) = self.slot_of(job) else { return };
        self.book.set_state(slot, state);
        self.digest.entry(self.now, kind);
        self.digest.word(job.0);
    }

    #[inline]
    fn start(&mut self, job: JobId, queue: &str, selection: Arc<Selection>) {
        let Some(slot) = self.slot_of(job) else { return };
        let mut number = self.book.queue[slot];
        if number == NO_QUEUE || *self.book.queues[usize::from(number)] != *queue {
            number = self.book.queue_number(queue);
        }
        self.digest.entry(self.now, b'S');
        self.digest.word(job.0);
        self.digest_selection(&selection);
        self.check_confined(slot, &selection);
        self.cores[slot] = self.cores_of(&selection);
        if self.track_holders {
            self.donations.hold(&selection);
        }
        self.book.started(slot, self.now, number, selection);
        if self.starts_instance(slot as u32) {
            return;
        }
        let end = self.now + self.workload.jobs()[slot].run;
        let (slot, run) = (slot as u32, self.book.runs[slot]);
        if !end.is_never() {
            self.clock.push(Due { at: end, kind: DueKind::End, job, slot, run });
        }
    }

    #[inline]
    fn digest_selection(&mut self, selection: &Selection) {
        for share in &selection.shares {
            self.digest.word(u64::from(share.target.0));
            if let Extent::Part(part) = &share.extent {
                part.cores.iter().for_each(|c| self.digest.word(u64::from(c) | 1 << 40));
                part.gpus.iter().for_each(|g| self.digest.word(u64::from(g) | 1 << 41));
            }
        }
    }

    #[inline]
    fn cores_of(&self, selection: &Selection) -> u32 {
        let of = |target: usize| self.target_cores.get(target).copied().unwrap_or(1);
        let shares = selection.shares.iter().map(|s| match &s.extent {
            Extent::Whole => of(s.target.index()),
            // A share of gpus alone takes a core's worth of nothing.
            Extent::Part(part) => part.cores.len(),
        });
        shares.sum()
    }

    fn kill(&mut self, job: JobId) {
        let Some(slot) = self.slot_of(job) else { return };
        self.digest.entry(self.now, b'K');
        self.digest.word(job.0);
        if self.book.state[slot] == JobState::Running && self.killed.insert(slot as u32) {
            let run = self.book.runs[slot];
            if !self.cancelling
                && let Some(selection) = &self.book.selection[slot]
            {
                self.donations.preempted(self.now, selection, self.book.start[slot]);
            }
            self.clock.push(Due { at: self.now, kind: DueKind::End, job, slot: slot as u32, run });
        }
    }

    /// A running job is to give way: it may end by itself, or waits for the kill.
    fn signal(&mut self, job: JobId) {
        let Some(slot) = self.slot_of(job) else { return };
        self.digest.entry(self.now, b'V');
        self.digest.word(job.0);
        if self.book.state[slot] != JobState::Running {
            return;
        }
        let queue = self.book.queues[usize::from(self.book.queue[slot])].clone();
        self.preemptions.signalled(slot as u32, &queue);
        let run = self.book.runs[slot];
        if let Some(after) = heeds(&self.options.nodes.on_preempt, job, run) {
            self.clock.push(Due { at: self.now + after, kind: DueKind::End, job, slot: slot as u32, run });
        }
    }

    /// The slots of the jobs that were submitted and wait.
    pub(super) fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        let waits = |s: &usize| matches!(self.book.state[*s], JobState::Pending | JobState::Held);
        (0..self.next_job).filter(waits)
    }
}

/// How long after its signal a job ends by itself; `None`: it waits for the kill. Drawn from the job and its run, so that
/// one more job elsewhere changes nothing here.
fn heeds(rules: &OnPreempt, job: JobId, run: u32) -> Option<Duration> {
    let mut stream = Stream::named(rules.seed, &format!("signal {} {run}", job.0));
    let heeds = stream.chance(rules.heed);
    let time = (rules.within.micros() as f64 * stream.unit()) as i64;
    heeds.then(|| Duration::from_micros(time))
}
