//! A second pair of eyes: it is told events and effects only, and keeps its own account of them.
//!
//! Decides nothing, asks the site nothing, shares no state with ledger or schedulers, so that a fault in them shows.
//! Checked, in the order in which things happen: a target is up in one queue at most, and work starts only where it is
//! up (I1); nothing is granted twice or beyond what there is (I2); nothing goes up while a job of another queue holds
//! it (I3); a job is killed only on demand, and runs until it is told to have ended (I4); every job that came in is in
//! one place (I6); ups and downs of a target have ever newer stamps, also across restarts (I8). [`Observer::compare`] holds the account against the site's own.

use super::event::{Denial, Effect, Event, Found, Outcome, Submission};
use super::job::{Counts, JobState};
use super::state::{Site, size_of};
use super::violation::{Invariant, Violation};
use crate::base::{Epoch, FastMap, JobId, TargetId, TargetSet};
use crate::config::Preempted;
use crate::graph::Graph;
use crate::matcher::{Extent, Freed, Selection, Units};
use std::sync::Arc;

/// One run of a job that still holds something.
#[derive(Clone, Debug)]
struct Run {
    /// In which queue its targets were up when it started; `None` for found jobs.
    up_in: Option<Arc<str>>,
    selection: Arc<Selection>,
    left: TargetSet,
    running: bool,
    /// It was found on what others hold: overlaps are known.
    quarantined: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    state: JobState,
    cancelled: bool,
    /// Told to give way, and what becomes of it then.
    preempted: Option<Preempted>,
    runs: Vec<Run>,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    up_in: Option<Arc<str>>,
    /// Stamp of the newest up or down.
    epoch: Epoch,
    cores: u32,
    gpus: u32,
    /// Who has what of it.
    held: Vec<(JobId, Extent)>,
}

/// An account of a site, from events and effects.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    cells: Vec<Cell>,
    jobs: FastMap<JobId, Entry>,
    counts: Counts,
    violations: Vec<Violation>,
}

impl Observer {
    /// An account of a site in which nothing has happened yet.
    pub fn new(graph: &Graph) -> Self {
        let mut observer = Self::default();
        observer.learn(graph);
        observer
    }

    /// Learns the sizes of targets.
    fn learn(&mut self, graph: &Graph) {
        for target in graph.targets().iter() {
            if self.cells.len() <= target.index() {
                self.cells.resize_with(target.index() + 1, Cell::default);
            }
            let size = size_of(graph, target);
            let cell = &mut self.cells[target.index()];
            (cell.cores, cell.gpus) = (size.cores, size.gpus);
        }
    }

    /// What was found wrong, oldest first; it is forgotten.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }

    fn wrong(&mut self, invariant: Invariant, text: String) {
        self.violations.push(Violation::new(invariant, text));
    }

    /// An event that the site accepted, and the effects that [`Site::apply`] gave.
    pub fn event(&mut self, event: &Event, effects: &[Effect], graph: &Graph) {
        match event {
            Event::Submit(submission) => self.submitted(submission, effects),
            Event::Cancel { job } => {
                if let Some(entry) = self.jobs.get_mut(job) {
                    entry.cancelled = true;
                }
            }
            Event::End { job, .. } if effects.contains(&Effect::Requeued { job: *job }) => self.put_back(*job, event),
            Event::End { job, outcome } => self.ended(*job, *outcome),
            Event::Requeue { job } => self.requeued(*job),
            Event::Free { job, freed } => self.freed(*job, freed),
            Event::Hello(found) => self.hello(found, effects),
            _ => {}
        }
        self.effects(effects, graph);
    }

    fn submitted(&mut self, submission: &Submission, effects: &[Effect]) {
        let taken = Effect::Denied { job: submission.id, reason: Denial::DuplicateId };
        if effects.contains(&taken) {
            return;
        }
        let entry = Entry { state: JobState::Pending, cancelled: false, preempted: None, runs: Vec::new() };
        if self.jobs.insert(submission.id, entry).is_some() {
            self.wrong(Invariant::I6, format!("job {} was accepted twice", submission.id));
            return;
        }
        self.counts.submitted += 1;
        self.counts.pending += 1;
    }

    fn set(&mut self, job: JobId, state: JobState, from: &[JobState]) {
        let Some(entry) = self.jobs.get_mut(&job) else {
            return self.wrong(Invariant::I6, format!("job {job} becomes {state:?}, but was never submitted"));
        };
        let before = std::mem::replace(&mut entry.state, state);
        *self.counts.of(before) -= 1;
        *self.counts.of(state) += 1;
        if !from.contains(&before) {
            self.wrong(Invariant::I6, format!("job {job} becomes {state:?} from {before:?}"));
        }
    }

    fn ended(&mut self, job: JobId, outcome: Outcome) {
        self.set(job, JobState::Ended(outcome), &[JobState::Running]);
        if let Some(entry) = self.jobs.get_mut(&job) {
            let put_back = entry.preempted.take() == Some(Preempted::Requeue) && !entry.cancelled;
            entry.runs.iter_mut().for_each(|r| r.running = false);
            if put_back && outcome != Outcome::Completed {
                self.wrong(Invariant::I6, format!("job {job} was to wait again, but is over"));
            }
        }
    }

    /// The end of a preempted job that makes it wait again.
    fn put_back(&mut self, job: JobId, event: &Event) {
        let to_wait = self.jobs.get(&job).is_some_and(|e| e.preempted == Some(Preempted::Requeue) && !e.cancelled);
        if !to_wait || matches!(event, Event::End { outcome: Outcome::Completed, .. }) {
            self.wrong(Invariant::I6, format!("job {job} waits again, though it is over"));
        }
        self.requeued(job);
    }

    fn requeued(&mut self, job: JobId) {
        self.counts.requeued += 1;
        self.set(job, JobState::Pending, &[JobState::Running]);
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.runs.iter_mut().for_each(|r| r.running = false);
            (entry.cancelled, entry.preempted) = (false, None);
        }
    }

    /// A release names targets of the oldest run that holds them, or all that one run has left.
    fn freed(&mut self, job: JobId, freed: &Freed) {
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        let mut gone: Vec<TargetId> = Vec::new();
        for run in entry.runs.iter_mut().filter(|r| !r.running) {
            let mut part = run.left.clone();
            if let Freed::Targets(targets) = freed {
                part &= targets;
                part.iter().collect::<Vec<_>>().iter().filter(|t| gone.contains(t)).for_each(|t| {
                    part.remove(*t);
                });
            }
            run.left -= &part;
            gone.extend(part.iter());
            for target in part.iter() {
                let held = &mut self.cells[target.index()].held;
                let extent = extent(&run.selection, target);
                if let Some(at) = held.iter().position(|(j, e)| *j == job && Some(e) == extent) {
                    held.remove(at);
                }
            }
        }
        entry.runs.retain(|r| !r.left.is_empty());
        if gone.is_empty() {
            self.wrong(Invariant::I2, format!("job {job} released what it does not hold"));
        }
    }

    fn hello(&mut self, found: &Found, effects: &[Effect]) {
        if self.jobs.get(&found.id).is_some_and(|e| e.state == JobState::Running) {
            return;
        }
        let counts = &mut self.counts;
        self.jobs.entry(found.id).or_insert_with(|| {
            counts.submitted += 1;
            counts.pending += 1;
            Entry { state: JobState::Pending, cancelled: false, preempted: None, runs: Vec::new() }
        });
        self.set(found.id, JobState::Running, &[JobState::Pending, JobState::Held]);
        let quarantined = effects.iter().any(|e| matches!(e, Effect::Quarantined { job, .. } if *job == found.id));
        let mut left = &found.selection.target_set() - &found.freed;
        if quarantined {
            left = left.iter().filter(|t| t.index() < self.cells.len()).collect();
        } else {
            self.take(found.id, &found.selection, &left);
        }
        let selection = found.selection.clone();
        let run = Run { up_in: None, selection, left, running: true, quarantined };
        if let Some(entry) = self.jobs.get_mut(&found.id) {
            entry.runs.push(run);
        }
    }

    /// Enters what a job takes (I2).
    fn take(&mut self, job: JobId, selection: &Selection, targets: &TargetSet) {
        for share in selection.shares.iter().filter(|s| targets.contains(s.target)) {
            let Some(cell) = self.cells.get(share.target.index()) else {
                self.wrong(Invariant::I2, format!("job {job} gets target {}, which is unknown", share.target));
                continue;
            };
            let clash = match &share.extent {
                Extent::Whole => !cell.held.is_empty(),
                Extent::Part(part) => {
                    let beyond = |units: &Units, size: u32| units.iter().any(|p| p >= size);
                    beyond(&part.cores, cell.cores)
                        || beyond(&part.gpus, cell.gpus)
                        || cell.held.iter().any(|(_, e)| match e {
                            Extent::Whole => true,
                            Extent::Part(o) => !o.cores.is_disjoint(&part.cores) || !o.gpus.is_disjoint(&part.gpus),
                        })
                }
            };
            if clash {
                let text = format!("job {job} gets of target {} what is held by {:?}", share.target, cell.held);
                self.wrong(Invariant::I2, text);
            }
            self.cells[share.target.index()].held.push((job, share.extent.clone()));
        }
    }

    /// Effects in their order: of [`Site::schedule`], or of a restore.
    pub fn effects(&mut self, effects: &[Effect], graph: &Graph) {
        let waiting = [JobState::Pending, JobState::Held];
        for effect in effects {
            match effect {
                Effect::Start { job, queue, selection, .. } => self.started(*job, queue, selection),
                Effect::Denied { reason: Denial::DuplicateId, .. } => {}
                Effect::Denied { job, .. } => self.set(*job, JobState::Denied, &waiting),
                Effect::Cancelled { job } => self.set(*job, JobState::Cancelled, &waiting),
                Effect::Held { job, .. } => self.set(*job, JobState::Held, &waiting),
                Effect::Kill { job } => {
                    let asked = |e: &Entry| (e.cancelled || e.preempted.is_some()) && e.state == JobState::Running;
                    if !self.jobs.get(job).is_some_and(asked) {
                        self.wrong(Invariant::I4, format!("job {job} is killed, which nobody asked for"));
                    }
                }
                Effect::Preempt { job, then, .. } => match self.jobs.get_mut(job) {
                    Some(entry) if entry.state == JobState::Running => entry.preempted = Some(*then),
                    Some(_) | None => self.wrong(Invariant::I4, format!("job {job} is preempted, but does not run")),
                },
                Effect::Up { queue, targets, epoch } => {
                    self.stamped(targets, *epoch);
                    self.up(queue, targets);
                }
                Effect::Down { queue, targets, epoch } => {
                    self.stamped(targets, *epoch);
                    for target in targets.iter() {
                        if let Some(cell) =
                            self.cells.get_mut(target.index()).filter(|c| c.up_in.as_ref() == Some(queue))
                        {
                            cell.up_in = None;
                        }
                    }
                }
                Effect::Inventory { targets, joined } => {
                    if *joined {
                        self.learn(graph);
                    }
                    let busy: Vec<TargetId> =
                        targets.iter().filter(|t| !self.cells[t.index()].held.is_empty()).collect();
                    if !busy.is_empty() {
                        self.wrong(Invariant::I5, format!("targets {busy:?} join or leave while they are held"));
                    }
                }
                // It is in the event that the job was put back by.
                Effect::Requeued { .. }
                | Effect::Quarantined { .. }
                | Effect::Annotated { .. }
                | Effect::PlannedStart { .. }
                | Effect::DonationStarted { .. }
                | Effect::DonationEnded { .. }
                | Effect::Lent { .. }
                | Effect::LoanEnded { .. }
                | Effect::QueueChanged { .. }
                | Effect::PlanDue { .. } => {}
            }
        }
    }

    fn started(&mut self, job: JobId, queue: &Arc<str>, selection: &Arc<Selection>) {
        self.set(job, JobState::Running, &[JobState::Pending, JobState::Held]);
        let up_in = selection.targets().next().and_then(|t| self.cells.get(t.index())).and_then(|c| c.up_in.clone());
        let elsewhere = selection.targets().find(|t| self.cells.get(t.index()).is_none_or(|c| c.up_in != up_in));
        if up_in.is_none() || elsewhere.is_some() {
            self.wrong(
                Invariant::I1,
                format!("job {job} of queue {queue} starts on targets that are not up in one queue"),
            );
        }
        let left = selection.target_set();
        self.take(job, selection, &left);
        let run = Run { up_in, selection: selection.clone(), left, running: true, quarantined: false };
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.runs.push(run);
        }
    }

    /// What is said of a target is newer than all that was said before, also after a restart (I8): else an answer to
    /// something older would count.
    fn stamped(&mut self, targets: &TargetSet, epoch: Epoch) {
        for target in targets.iter() {
            let Some(cell) = self.cells.get_mut(target.index()) else { continue };
            let before = std::mem::replace(&mut cell.epoch, epoch);
            if before >= epoch {
                self.wrong(Invariant::I8, format!("target {target} is told with epoch {epoch}, after epoch {before}"));
            }
        }
    }

    fn up(&mut self, queue: &Arc<str>, targets: &TargetSet) {
        for target in targets.iter() {
            let Some(cell) = self.cells.get_mut(target.index()) else { continue };
            let before = cell.up_in.replace(queue.clone());
            if before.as_ref().is_some_and(|q| q != queue) {
                self.wrong(Invariant::I1, format!("target {target} goes up in queue {queue} while up in {before:?}"));
            }
            let holders: Vec<JobId> = self.cells[target.index()].held.iter().map(|(job, _)| *job).collect();
            for job in holders {
                let runs = self.jobs.get(&job).map_or(&[][..], |e| &e.runs);
                let mine = runs.iter().filter(|r| r.left.contains(target));
                let others = mine.clone().any(|r| r.quarantined || r.up_in.as_ref().is_some_and(|q| q != queue));
                if others {
                    self.wrong(Invariant::I3, format!("target {target} goes up in queue {queue}, held by job {job}"));
                }
            }
        }
    }

    /// Holds the account against the site's own.
    pub fn compare(&mut self, site: &Site) {
        // That a job longer than every window waits again is told by an annotation, which names no state.
        let (mut mine, mut theirs) = (self.counts, site.counts());
        for counts in [&mut mine, &mut theirs] {
            counts.pending += std::mem::take(&mut counts.held);
        }
        if mine != theirs {
            self.wrong(Invariant::I6, format!("by events and effects {mine:?}, the site says {theirs:?}"));
        }
        let ids: Vec<JobId> = site.all_jobs().filter(|j| j.state == JobState::Running).map(|j| j.id).collect();
        for id in ids {
            let run = self.jobs.get(&id).and_then(|e| e.runs.iter().find(|r| r.running));
            let same = match (run, site.selection(id)) {
                (Some(run), Some(selection)) => *run.selection == **selection,
                (_, _) => false,
            };
            if !same {
                self.wrong(Invariant::I4, format!("job {id} does not run on what it was given"));
            }
        }
    }
}

fn extent(selection: &Selection, target: TargetId) -> Option<&Extent> {
    let at = selection.shares.binary_search_by_key(&target, |s| s.target).ok()?;
    Some(&selection.shares[at].extent)
}
