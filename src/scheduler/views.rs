//! What can be asked of a scheduler: who waits, who runs, why, when it wants to be looked at, and the messages that
//! rebuild it. Changes nothing.

use super::filters::FilterId;
use super::jobs::{Job, Slot, Standing};
use super::message::{HelloJob, Input, JobRequest};
use super::places::Place;
use super::preempt::PreemptRules;
use super::{Phase, Scheduler};
use crate::base::{FastMap, JobId, TargetSet, Timestamp};
use crate::config::{QueuePolicy, SchedulerSettings};
use crate::matcher::{Reason, Selection};
use crate::planner::Bits;
use std::sync::Arc;

/// A waiting job, as a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The job as it was requested.
    pub job: JobRequest,
    /// When it is planned to start, if it is.
    pub planned: Option<Timestamp>,
    /// Whether targets are held for it that other jobs free.
    pub held: bool,
}

/// A running job, as a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// The job as it was requested.
    pub job: JobRequest,
    /// What it was given.
    pub selection: Arc<Selection>,
    /// What of it has been released.
    pub freed: TargetSet,
    /// When it started.
    pub started: Timestamp,
    /// When it is expected to end: by its limit, or later if it overran.
    pub planned_end: Timestamp,
    /// How often its end was put off.
    pub overruns: u32,
    /// It is being preempted: by then it was to be gone.
    pub cut: Option<Timestamp>,
    /// Its processes are gone.
    pub ended: bool,
}

impl Scheduler {
    /// Whether a pass at `now` could decide anything new.
    pub fn needs_pass(&self, now: Timestamp) -> bool {
        self.dirty || self.next_wakeup().is_some_and(|at| at <= now)
    }

    /// When this scheduler wants a pass though nothing happens: at the first planned end of a running job while jobs
    /// wait, since a job that is not over by then changes every plan, at the first planned start, and when a window
    /// opens.
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        let held = !self.core.jobs.holds().is_empty();
        if self.core.jobs.order().is_empty() && !held {
            return None;
        }
        let fcfs = self.core.settings.queue_policy == QueuePolicy::Fcfs;
        let plans = !fcfs || held || self.core.res.classes.bounded();
        let end = self.core.jobs.ends().first().map(|(end, _, _)| *end).filter(|_| plans);
        let start = match &self.phase {
            Phase::Known(progress) if !progress.first_start.is_never() => Some(progress.first_start),
            Phase::Known(_) | Phase::Fresh => None,
        };
        end.into_iter().chain(start).min()
    }

    /// Whether any job waits that takes of shared pools, so that it matters here what others do with them.
    pub fn waits_for_pools(&self) -> bool {
        self.core.jobs.any_pooled()
    }

    /// The settings in force.
    pub fn settings(&self) -> &SchedulerSettings {
        &self.core.settings
    }

    /// How many jobs wait.
    pub fn waiting_len(&self) -> usize {
        self.core.jobs.waiting_len() + self.core.jobs.holds().len()
    }

    /// How many jobs hold resources.
    pub fn running_len(&self) -> usize {
        self.core.jobs.running_len()
    }

    /// The members of the queue as this scheduler knows them.
    pub fn members(&self) -> &Bits {
        &self.core.res.members
    }

    /// The targets that are up here.
    pub fn up(&self) -> &Bits {
        &self.core.res.up
    }

    /// The waiting jobs in order.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.core.jobs.waiting_and_held().into_iter().map(|slot| {
            let job = self.core.jobs.get(slot);
            let planned = (!job.planned.is_never()).then_some(job.planned);
            Waiting { job: request_of(job), planned, held: job.hold.is_some() }
        })
    }

    /// What is held for waiting jobs that others have to give way to, with the jobs, in the order in which that began.
    pub fn holds(&self) -> impl Iterator<Item = (JobId, TargetSet)> + '_ {
        self.core.jobs.holds().iter().map(|slot| {
            let job = self.core.jobs.get(*slot);
            (job.id, job.run.as_ref().expect("a job with a hold").selection.target_set())
        })
    }

    /// Who may be preempted, and by whom.
    pub fn preempt_rules(&self) -> &PreemptRules {
        &self.core.rules
    }

    /// The messages that make a new scheduler decide as this one does from here on (I8), given that the same is told
    /// to both from then on and that the last pass was done. `Acquire` comes first, then windows, what runs, what waits
    /// in order, what is promised.
    pub fn handover(&self) -> Vec<Input> {
        let core = &self.core;
        let mut inputs = vec![
            Input::Acquire {
                graph: core.res.graph.clone(),
                properties: core.res.properties.clone(),
                members: core.res.members.to_set(),
                up: core.res.up.to_set(),
                epoch: core.epoch,
            },
            Input::Pools(core.shared.table.clone()),
            Input::Preemption(core.rules.clone()),
            Input::Windows(core.res.windows.clone()),
        ];
        inputs.extend(self.running().into_iter().map(|run| {
            let Running { job, selection, freed, started, overruns, cut, ended, planned_end: _ } = run;
            Input::Hello(Box::new(HelloJob { job, selection, freed, started, overruns, cut, ended }))
        }));
        inputs.extend(self.waiting().map(|w| Input::Alloc(w.job)));
        let mut places: FastMap<Slot, Place> = core.places().into_iter().collect();
        for slot in core.jobs.waiting() {
            let job = core.jobs.get(slot);
            if let Some(reserved) = &job.reserved {
                let place = places.remove(&slot).unwrap_or_else(|| reserved.place.clone()).into_vec();
                let pools = reserved.shares.clone();
                inputs.push(Input::Planned { job: job.id, at: reserved.start, place, pools });
            }
        }
        for slot in core.jobs.holds() {
            let job = core.jobs.get(*slot);
            let targets = job.run.as_ref().expect("a job with a hold").selection.target_set();
            inputs.push(Input::Hold { job: job.id, targets, planned: job.planned });
        }
        if core.sweep {
            inputs.push(Input::Reconsider);
        }
        inputs
    }

    /// The jobs that hold resources, by id; those that wait with a hold are not among them.
    pub fn running(&self) -> Vec<Running> {
        let view = |(_, job): (Slot, &Job)| {
            let run = job.run.as_ref().expect("it runs");
            Running {
                job: request_of(job),
                selection: Arc::clone(&run.selection),
                freed: run.freed.as_deref().cloned().unwrap_or_default(),
                started: run.started,
                planned_end: run.planned_end,
                overruns: run.overruns,
                cut: run.cut,
                ended: run.ended,
            }
        };
        let mut all: Vec<Running> = self.core.jobs.running().filter(|(_, job)| job.hold.is_none()).map(view).collect();
        all.sort_by_key(|r| r.job.id);
        all
    }

    /// About how many nanoseconds the next pass takes: enough to say whether another thread is worth its while.
    pub fn pass_cost(&self) -> u64 {
        let (waiting, running) = (self.waiting_len() as u64, self.running_len() as u64);
        let by_counts = !self.core.jobs.any_partial();
        match self.core.settings.queue_policy {
            QueuePolicy::Fcfs | QueuePolicy::Easy if by_counts => 500 + waiting,
            QueuePolicy::Hybrid | QueuePolicy::Conservative | QueuePolicy::ConservativeCompress if by_counts => {
                500 + waiting * (50 + waiting + running)
            }
            _ => 500 + (1 + waiting) * 50 * self.core.res.members.words().len() as u64,
        }
    }

    /// The targets that are up here and held by nobody.
    pub fn idle(&self) -> &Bits {
        &self.core.res.idle
    }

    /// The least number of targets that any waiting job needs, those that wait for a longer window included.
    pub fn smallest_need(&self) -> Option<u32> {
        self.core.jobs.waiting().into_iter().map(|slot| self.core.jobs.get(slot).min).min()
    }

    /// Which members waiting jobs are planned to use from when on, the first instant first: until then somebody else may
    /// have them. Jobs with the same constraints stand together. The first job of a fcfs queue, which has no reservation,
    /// counts with its earliest start; with `now` if that is not known.
    pub fn first_plans(&self, now: Timestamp) -> Vec<(Timestamp, TargetSet)> {
        let core = &self.core;
        let mut first: Vec<(Timestamp, FilterId)> = Vec::new();
        let mut add = |at: Timestamp, filter: FilterId| match first.iter_mut().find(|(_, f)| *f == filter) {
            Some((known, _)) => *known = at.min(*known),
            None => first.push((at, filter)),
        };
        for slot in core.jobs.order() {
            let job = core.jobs.get(*slot);
            if !job.planned.is_never() {
                add(job.planned, job.filter);
            } else if core.settings.queue_policy == QueuePolicy::Fcfs && job.standing == Standing::Waiting {
                let start = if core.jobs.any_partial() { None } else { core.shadow(*slot, now) };
                add(start.map_or(now, |head| head.start), job.filter);
                break;
            }
        }
        first.sort_unstable();
        first.into_iter().map(|(at, filter)| (at, core.filters.get(filter).targets.to_set())).collect()
    }

    /// Whether a running job is past its planned end, so that a pass puts that off.
    pub fn any_overdue(&self, now: Timestamp) -> bool {
        self.core.jobs.ends().first().is_some_and(|(end, _, _)| *end <= now)
    }

    /// When a running job is expected to end.
    pub fn planned_end(&self, job: JobId) -> Option<Timestamp> {
        let slot = self.core.jobs.slot(job)?;
        self.core.jobs.get(slot).run.as_ref().map(|r| r.planned_end)
    }

    /// When a running job is expected to end, as a pass at `now` would put it off.
    pub fn planned_end_at(&self, job: JobId, now: Timestamp) -> Option<Timestamp> {
        let slot = self.core.jobs.slot(job)?;
        let run = self.core.jobs.get(slot).run.as_ref()?;
        let (mut end, mut overruns) = (run.planned_end, run.overruns);
        while end <= now {
            end = end + self.slack(overruns);
            overruns += 1;
        }
        Some(end)
    }

    /// Why a waiting job does not start; `None` for others.
    pub fn explain(&self, job: JobId, now: Timestamp) -> Option<Reason> {
        let slot = self.core.jobs.slot(job)?;
        let standing = self.core.jobs.get(slot).standing;
        match (&self.core.jobs.get(slot).run, standing) {
            (_, Standing::Held) => Some(self.core.reason(slot, now)),
            (Some(_), _) => None,
            (None, Standing::Waiting) => Some(self.why_waiting(slot, now)),
            (None, _) => Some(self.core.reason(slot, now)),
        }
    }

    fn why_waiting(&self, slot: Slot, now: Timestamp) -> Reason {
        let blocks = |s: &&Slot| self.core.jobs.get(**s).standing == Standing::Waiting;
        let first = self.core.jobs.order().iter().find(blocks).copied().unwrap_or(slot);
        if self.core.settings.queue_policy == QueuePolicy::Fcfs && first != slot {
            return Reason::Behind { job: self.core.jobs.get(first).id };
        }
        let depth = self.core.settings.queue_depth.map_or(usize::MAX, |d| d as usize);
        let sound = |s: &&Slot| self.core.jobs.get(**s).standing == Standing::Waiting;
        let place = self.core.jobs.order().iter().filter(sound).position(|s| *s == slot);
        if place.is_some_and(|p| p >= depth) {
            return Reason::BeyondDepth;
        }
        self.core.kept_by(slot, now).unwrap_or_else(|| self.core.reason(slot, now))
    }
}

/// A job as it was requested.
pub(super) fn request_of(job: &Job) -> JobRequest {
    JobRequest {
        id: job.id,
        class: job.class,
        priority: job.priority,
        submitted: job.submitted,
        limit: job.limit,
        request: Arc::clone(&job.asked),
    }
}
