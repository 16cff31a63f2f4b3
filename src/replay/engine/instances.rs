//! Jobs that run instances: they are run when their jobs start, and end their jobs when they are over.

use super::{Broken, Engine, ReplayError};
use crate::base::{Duration, Timestamp};
use crate::replay::book::JobState;
use crate::replay::clock::{Due, DueKind};
use crate::replay::nested::{self, Ended, Holding, Level, Order, Ran};
use crate::site::{Event, Invariant, Outcome};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The instances of a replay.
#[derive(Default)]
pub(super) struct Instances<'a> {
    /// Slots of jobs that have just started.
    fresh: Vec<u32>,
    /// Those that go on, by slot.
    running: BTreeMap<u32, Instance<'a>>,
    /// What those that are over came to, the level below this first.
    levels: Vec<Level>,
    checked: u64,
    /// What this one may grant, if it is an instance itself and is checked.
    holding: Option<Holding>,
    most_pending: u64,
}

struct Instance<'a> {
    start: Timestamp,
    /// What it was given then, to be run again with.
    order: Order<'a>,
    ran: Ran,
}

impl Instance<'_> {
    fn end(&self) -> Timestamp {
        if self.ran.lasts.is_infinite() { Timestamp::NEVER } else { self.start + self.ran.lasts }
    }
}

impl<'a> Engine<'a> {
    /// Says what this may grant, as an instance.
    pub(crate) fn confine(&mut self, holding: Option<Holding>) {
        self.instances.holding = holding;
    }

    /// A job has started; whether it runs an instance.
    pub(super) fn starts_instance(&mut self, slot: u32) -> bool {
        let nested = self.workload.nested(self.workload.jobs()[slot as usize].id).is_some();
        if nested {
            self.instances.fresh.push(slot);
        }
        nested
    }

    /// Looks at what was granted, as an instance.
    pub(super) fn check_confined(&mut self, slot: usize, selection: &crate::matcher::Selection) {
        let Some(holding) = &self.instances.holding else { return };
        self.checks += 1;
        if let Some(what) = holding.exceeded(self.site.graph(), selection) {
            let text = format!("job {} was granted {what}", self.workload.jobs()[slot].id);
            self.broken.push(Broken { at: self.now, invariant: Invariant::I2, text });
        }
    }

    /// Counts what waits, before it is looked at.
    pub(super) fn count_pending(&mut self) {
        self.instances.most_pending = self.instances.most_pending.max(self.book.counts().pending);
    }

    fn order(&self, slot: u32) -> Option<Order<'a>> {
        let workload = self.workload;
        let job = workload.jobs()[slot as usize].id;
        let nested = workload.nested(job)?;
        let selection = self.book.selection[slot as usize].clone()?;
        let pools =
            selection.pools.iter().filter_map(|share| Some((self.site.pool(share.pool)?.clone(), share.amount)));
        Some(Order {
            nested,
            job,
            graph: self.site.graph().clone(),
            properties: self.site.properties().clone(),
            pools: pools.collect(),
            selection,
            limit: self.site.job(job).map_or(Duration::INFINITE, |job| job.limit),
            cut: None,
            options: self.options.clone(),
        })
    }

    /// Runs the instances of the jobs that have just started, side by side.
    pub(super) fn run_instances(&mut self) {
        if self.instances.fresh.is_empty() || self.failed.is_some() {
            return;
        }
        let mut fresh = std::mem::take(&mut self.instances.fresh);
        // A job that was started and killed within the step runs nothing.
        fresh.retain(|slot| self.book.state[*slot as usize] == JobState::Running);
        let orders: Vec<Option<Order<'a>>> = fresh.iter().map(|slot| self.order(*slot)).collect();
        let ran: Vec<Option<Result<Ran, ReplayError>>> =
            orders.par_iter().map(|order| order.as_ref().map(nested::run)).collect();
        for ((slot, order), ran) in fresh.into_iter().zip(orders).zip(ran) {
            match (order, ran) {
                (Some(order), Some(Ok(ran))) => self.expect_end(slot, Instance { start: self.now, order, ran }),
                (_, Some(Err(error))) => self.failed = self.failed.take().or(Some(error)),
                (_, None) | (None, _) => {}
            }
        }
    }

    fn expect_end(&mut self, slot: u32, instance: Instance<'a>) {
        let (job, run) = (self.workload.jobs()[slot as usize].id, self.book.runs[slot as usize]);
        if !instance.end().is_never() {
            self.clock.push(Due { at: instance.end(), kind: DueKind::End, job, slot, run });
        }
        self.instances.running.insert(slot, instance);
    }

    /// The time limit of a running job has changed: its instance ends at another time.
    pub(super) fn instance_relimited(&mut self, slot: u32) {
        let Some(mut instance) = self.instances.running.remove(&slot) else { return };
        let job = self.workload.jobs()[slot as usize].id;
        let limit = self.site.job(job).map_or(Duration::INFINITE, |job| job.limit);
        // One that has passed ends it now.
        let limit = if limit.is_infinite() { limit } else { limit.max(self.now.since(instance.start)) };
        instance.order.limit = limit;
        match nested::run(&instance.order) {
            Ok(ran) => self.expect_end(slot, Instance { ran, ..instance }),
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }

    /// Whether what is due is the end of an instance that another limit has moved.
    pub(super) fn is_moved_end(&self, due: &Due) -> bool {
        let moved = |instance: &Instance<'_>| instance.end() != due.at && !self.killed.contains(&due.slot);
        self.instances.running.get(&due.slot).is_some_and(moved)
    }

    /// How a job ends by the instance that it runs, if it does.
    pub(super) fn outcome_by_instance(&self, slot: u32) -> Option<Outcome> {
        let instance = self.instances.running.get(&slot)?;
        matches!(instance.ran.ended, Ended::Limit).then_some(Outcome::Failed)
    }

    /// A job is over, or waits again, or the replay is over: so is its instance, and its figures count. `ends`: what it
    /// has not done is cancelled.
    pub(super) fn settle_instance(&mut self, slot: u32, ends: bool) {
        let Some(instance) = self.instances.running.remove(&slot) else { return };
        let (end, Instance { start, mut order, mut ran }) = (instance.end(), instance);
        if self.now < end {
            order.cut = Some((self.now.since(start), ends));
            match nested::run(&order) {
                Ok(again) => ran = again,
                Err(error) => self.failed = self.failed.take().or(Some(error)),
            }
        }
        let job = self.workload.jobs()[slot as usize].id;
        self.digest.entry(self.now, b'I');
        self.digest.word(job.0);
        self.digest.word(ran.digest);
        for (depth, level) in ran.levels.iter().enumerate() {
            if self.instances.levels.len() <= depth {
                self.instances.levels.push(Level::default());
            }
            self.instances.levels[depth].add(level, start);
        }
        self.instances.checked += ran.checked;
        let within = ran.broken.into_iter().map(|broken| Broken {
            at: start + broken.at.since(Timestamp::ZERO),
            text: format!("in the instance of job {job}: {}", broken.text),
            ..broken
        });
        self.broken.extend(within);
    }

    /// The replay is over with instances that go on.
    pub(super) fn settle_all(&mut self) {
        for slot in self.instances.running.keys().copied().collect::<Vec<_>>() {
            self.settle_instance(slot, false);
        }
    }

    /// How often instances were checked.
    pub(super) fn checked_below(&self) -> u64 {
        self.instances.checked
    }

    /// The figures of this level and those below; none if no job runs an instance.
    pub(super) fn levels(&self) -> Vec<nested::LevelFigures> {
        if !self.workload.has_nested() {
            return Vec::new();
        }
        [self.own_level()].iter().chain(&self.instances.levels).map(Level::figures).collect()
    }

    fn own_level(&self) -> Level {
        let jobs = self.workload.jobs();
        let mut level = Level { instances: 1, jobs: self.book.counts(), passes: self.passes, ..Level::default() };
        level.most_pending = self.instances.most_pending;
        level.unsubmitted = jobs.len() as u64 - level.jobs.submitted;
        for (slot, job) in jobs.iter().enumerate() {
            let (start, end) = (self.book.start[slot], self.book.end[slot]);
            if self.book.state[slot] != JobState::Unsubmitted {
                level.first = level.first.or(Some(job.submit));
            }
            if start.is_never() {
                continue;
            }
            let wait = start.since(job.submit);
            level.started += 1;
            level.wait_micros += i128::from(wait.micros());
            level.wait_max = level.wait_max.max(wait);
            if !end.is_never() {
                level.last = level.last.max(Some(end));
                level.core_micros += i128::from(self.cores[slot]) * i128::from(end.since(start).micros());
            }
        }
        level.core_micros += self.book.lost.iter().sum::<i128>();
        level
    }

    /// Runs to `stop`, or until there is nothing left to do; then ends what is not over if `cancel` says so. Whether all
    /// work was done, and when the last of it happened.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub(crate) fn run_until(&mut self, stop: Timestamp, cancel: bool) -> Result<(bool, Timestamp), ReplayError> {
        self.begin()?;
        self.go(stop)?;
        let counts = self.book.counts();
        let open = counts.pending + counts.held + counts.running;
        let done = open == 0 && self.next_job == self.workload.jobs().len();
        let last = self.last_own;
        if !done && !stop.is_never() {
            self.now = self.now.max(stop);
            if cancel {
                self.cancel_all();
            }
        }
        self.failed.take().map_or(Ok((done, last)), Err)
    }

    /// Cancels all jobs that are not over: those that wait first, so that none of them starts where another ends.
    fn cancel_all(&mut self) {
        let running = (0..self.next_job).filter(|slot| self.book.state[*slot] == JobState::Running);
        let slots: Vec<usize> = self.waiting().chain(running).collect();
        for slot in slots {
            self.must_tell(Event::Cancel { job: self.workload.jobs()[slot].id });
        }
        self.instant();
        self.check();
    }

    /// What this came to, as an instance.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub(crate) fn come_to(mut self, lasts: Duration, ended: Ended) -> Result<Ran, ReplayError> {
        self.settle_all();
        let counts = self.book.counts();
        let open = counts.pending + counts.held + counts.running;
        if open > 0 && matches!(ended, Ended::Done | Ended::Limit | Ended::Cut) {
            let text = format!("the instance is over, but {open} of its jobs are not");
            self.broken.push(Broken { at: self.now, invariant: Invariant::I6, text });
        }
        let mut own = self.own_level();
        match ended {
            Ended::Done => own.done = 1,
            Ended::Limit => own.limited = 1,
            Ended::Cut => own.cut = 1,
            Ended::Open => {}
        }
        let levels = std::iter::once(own).chain(std::mem::take(&mut self.instances.levels)).collect();
        let outcome = self.finish()?;
        let checked = outcome.report.invariants.checked;
        let digest = u64::from_str_radix(&outcome.report.digest, 16).unwrap_or_default();
        Ok(Ran { lasts, ended, levels, digest, checked, broken: outcome.broken })
    }
}
