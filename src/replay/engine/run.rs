//! The loop over time.

use super::{Broken, Engine, Intervention, Options, Outcome, ReplayError, Snapshot, Timed};
use crate::base::{Duration, FastSet, TargetId, TargetSet, Timestamp};
use crate::graph::Graph;
use crate::replay::audit::Audit;
use crate::replay::book::{Book, JobState, NO_QUEUE};
use crate::replay::clock::{Clock, Due, DueKind};
use crate::replay::digest::Digest;
use crate::replay::donations::Donations;
use crate::replay::measure::Measure;
use crate::replay::metrics::{self, Capacity, InvariantFigures, Report, SchedulingFigures};
use crate::replay::observer::Observer;
use crate::replay::preemptions::Preemptions;
use crate::replay::scenario::PassRule;
use crate::replay::workload::Workload;
use crate::site::{Event, Invariant, JobState as SiteState, Site, StartMode};
use std::collections::BTreeMap;

/// How often the site may ask to be looked at without any effect before the replay is over.
const IDLE_WAKEUPS: u32 = 10_000;
/// How often it may do so at one instant: then it is a fault.
const ROUNDS: u32 = 1_000;
/// How long a calendar is followed for jobs that wait while nothing else happens.
const CALENDAR_ALONE: Duration = Duration::from_secs(400 * 24 * 3600);
/// Observers hear of progress after so many instants.
const PROGRESS_EVERY: u64 = 1 << 10;

/// Core-time of the machine, which may grow and shrink.
#[derive(Clone, Debug)]
pub(super) struct CapacityMeter {
    targets: TargetSet,
    cores: u64,
    /// What it was before, each until an instant.
    past: Vec<(Timestamp, u64)>,
}

impl CapacityMeter {
    /// Core-microseconds between two instants.
    fn between(&self, from: Timestamp, to: Timestamp) -> i128 {
        let mut sum = 0;
        let mut since = from;
        let pieces = self.past.iter().copied().chain([(to, self.cores)]);
        for (until, cores) in pieces {
            let until = until.clamp(since, to.max(since));
            sum += i128::from(cores) * i128::from(until.since(since).micros());
            since = until;
        }
        sum
    }
}

/// Real time that calls of the schedulers took, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Took {
    steps: u64,
    total: u64,
    longest: u64,
}

impl Took {
    fn add(&mut self, nanoseconds: u64) {
        self.steps += 1;
        self.total += nanoseconds;
        self.longest = self.longest.max(nanoseconds);
    }

    fn figures(self, passes: u64) -> SchedulingFigures {
        let (total, longest) = (self.total as f64, self.longest as f64);
        SchedulingFigures {
            steps: self.steps,
            total_s: total / 1e9,
            per_pass_us: if passes == 0 { 0.0 } else { total / 1e3 / passes as f64 },
            step_max_ms: longest / 1e6,
        }
    }
}

/// Cores of a target; one where it has none.
fn cores_of(graph: &Graph, target: TargetId) -> u32 {
    graph.target(target).map_or(1, |t| t.cores().max(1))
}

impl<'a> Engine<'a> {
    /// A replay of a workload on a site that was just made. `timed` and `probes` are sorted here by time, stably; a
    /// probe is an instant of which the state of the site is kept.
    pub fn new(
        site: Site,
        workload: &'a Workload,
        mut timed: Vec<Timed>,
        mut probes: Vec<Timestamp>,
        options: Options,
        observers: Vec<Box<dyn Observer + 'a>>,
    ) -> Self {
        timed.sort_by_key(|t| t.at);
        probes.sort_unstable();
        probes.dedup();
        let jobs = workload.jobs().len();
        let mut book = Book::new(jobs, options.keep_selections);
        let queue_numbers = workload.queues().iter().map(|q| book.queue_number(q)).collect();
        let default_number = options.default_queue.as_deref().map_or(NO_QUEUE, |q| book.queue_number(q));
        let graph = site.graph().clone();
        let target_cores: Vec<u32> = (0..graph.target_bound()).map(|t| cores_of(&graph, TargetId(t as u32))).collect();
        let all = graph.targets().clone();
        let cores = all.iter().map(|t| u64::from(target_cores[t.index()])).sum();
        Engine {
            audit: options.check.then(|| Audit::new(&graph, site.coordinator().is_common())),
            track_holders: options.check
                || options.start.len() != 1
                || !timed.is_empty()
                || !site.calendar().is_empty(),
            capacity: CapacityMeter { targets: all, cores, past: Vec::new() },
            site,
            workload,
            timed,
            probes,
            observers,
            now: Timestamp::MIN,
            next_job: 0,
            next_timed: 0,
            next_probe: 0,
            last_own: Timestamp::ZERO,
            clock: Clock::default(),
            book,
            cores: vec![0; jobs],
            target_cores,
            donations: Donations::default(),
            loans: Default::default(),
            digest: Digest::new(),
            measure: options.measure.map(|n| Measure::new(n, jobs)),
            options,
            queue_numbers,
            default_number,
            killed: FastSet::default(),
            cancelling: false,
            preemptions: Preemptions::default(),
            put_back: None,
            hanging: BTreeMap::new(),
            offline: TargetSet::new(),
            node_log: Default::default(),
            instances: Default::default(),
            next_restart: Timestamp::ZERO,
            passes: 0,
            scheduling: Took::default(),
            checks: 0,
            refusals: Vec::new(),
            switches: Vec::new(),
            groups: Vec::new(),
            broken: Vec::new(),
            broken_by_site: 0,
            snapshots: Vec::new(),
            effects: Vec::new(),
            due: Vec::new(),
            failed: None,
        }
    }

    /// Runs to the end. The report's real times are left at zero: there is no clock here.
    ///
    /// # Errors
    /// See [`ReplayError`]. A broken invariant is no error: it stands in the outcome, and the replay ends there.
    pub fn run(mut self) -> Result<Outcome, ReplayError> {
        self.begin()?;
        self.go(self.options.until)?;
        self.finish()
    }

    /// Runs to `at`, asks what is done then, does it as a step of its own after all that belongs to that instant, and
    /// runs to the end. Beside the outcome: the site after that step, and what it answered.
    ///
    /// # Errors
    /// See [`ReplayError`]; whatever `choose` says.
    pub fn run_with<E: From<ReplayError>>(
        mut self,
        at: Timestamp,
        choose: impl FnOnce(&mut Site) -> Result<Vec<Event>, E>,
    ) -> Result<(Intervention, Outcome), E> {
        self.begin()?;
        self.go(at)?;
        self.now = self.now.max(at);
        self.schedule();
        let events = choose(&mut self.site)?;
        let intervention = self.intervene(events)?;
        self.check();
        self.go(self.options.until)?;
        Ok((intervention, self.finish()?))
    }

    /// Runs until nothing happens any more, or until an instant, with all that belongs to it.
    pub(super) fn go(&mut self, until: Timestamp) -> Result<(), ReplayError> {
        let (mut idle, mut rounds, mut instants) = (0, 0, 0u64);
        while let Some((at, by_wakeup)) = self.next_instant() {
            if at > until || self.is_broken() {
                break;
            }
            self.probe_before(at);
            rounds = if at > self.now { 0 } else { rounds + 1 };
            if rounds > ROUNDS {
                return Err(ReplayError::Stuck { at, rounds });
            }
            self.now = at;
            self.restart_if_due()?;
            if !by_wakeup {
                self.last_own = at;
            }
            let before = self.digest.value();
            self.instant();
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.check();
            if let Some(measure) = &mut self.measure {
                measure.look(&self.site, self.workload, self.next_job);
            }
            idle = if by_wakeup && self.digest.value() == before { idle + 1 } else { 0 };
            if idle > IDLE_WAKEUPS {
                break;
            }
            instants += 1;
            if instants.is_multiple_of(PROGRESS_EVERY) {
                self.observers.iter_mut().for_each(|o| o.progress(self.now, self.next_job));
            }
        }
        Ok(())
    }

    /// Tells the site what somebody has chosen, and lets it act.
    fn intervene(&mut self, events: Vec<Event>) -> Result<Intervention, ReplayError> {
        let (mut effects, mut refused) = (Vec::new(), None);
        for event in events {
            let mut answers = Vec::new();
            self.observers.iter_mut().for_each(|o| o.event(self.now, &event));
            if let Some(audit) = &mut self.audit {
                audit.event(&event);
            }
            let told = self.site.apply(self.now, event, &mut answers);
            effects.extend(answers.iter().cloned());
            self.take_effects(&mut answers);
            if let Err(error) = told {
                refused = Some(error);
                break;
            }
        }
        let mut answers = Vec::new();
        while self.site.schedule(self.now, self.options.work_budget, &mut answers).more {}
        effects.extend(answers.iter().cloned());
        self.take_effects(&mut answers);
        self.run_instances();
        let site = Box::new(self.site.clone());
        self.failed.take().map_or(Ok(Intervention { effects, refused, site }), Err)
    }

    pub(super) fn finish(mut self) -> Result<Outcome, ReplayError> {
        self.probe_before(Timestamp::NEVER);
        if !self.options.until.is_never() {
            self.now = self.now.max(self.options.until);
        }
        self.settle_all();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        for observer in &mut self.observers {
            let written = observer.finish();
            written.map_err(|source| ReplayError::Write { what: "a report".into(), source })?;
        }
        Ok(self.outcome())
    }

    /// All targets answer, and the queues start.
    pub(super) fn begin(&mut self) -> Result<(), ReplayError> {
        let first = [self.next_submit(), self.timed.first().map(|t| t.at)].into_iter().flatten().min();
        self.now = first.map_or(Timestamp::ZERO, |t| t.min(Timestamp::ZERO));
        self.must_tell(Event::Online { targets: self.capacity.targets.clone() });
        for queue in self.options.start.clone() {
            let event = Event::QueueStart { queue: queue.clone(), mode: StartMode::default() };
            self.observers.iter_mut().for_each(|o| o.event(self.now, &event));
            let mut effects = Vec::new();
            let told = self.site.apply(self.now, event, &mut effects);
            told.map_err(|source| ReplayError::Start { queue, source })?;
            self.take_effects(&mut effects);
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// When something happens next, and whether it is only the site that wants to be looked at.
    #[inline]
    fn next_instant(&self) -> Option<(Timestamp, bool)> {
        let timed = self.timed.get(self.next_timed).map(|t| t.at);
        let own = [self.next_submit(), self.clock.next(), timed].into_iter().flatten().min();
        let wakeup = self.site.next_wakeup(self.now).map(|at| at.max(self.now));
        match (own, wakeup) {
            (Some(own), Some(wakeup)) if wakeup < own => Some((wakeup, true)),
            (Some(own), _) => Some((own, false)),
            (None, wakeup) => wakeup.filter(|at| self.goes_on(*at)).map(|at| (at, true)),
        }
    }

    /// Whether the replay goes on where only the site wants to be looked at. A calendar goes on for ever: it is followed
    /// to the time that was asked for; else while jobs wait or targets move, and not much longer than a year.
    fn goes_on(&self, at: Timestamp) -> bool {
        if self.site.turns().is_empty() || !self.options.until.is_never() {
            return true;
        }
        let counts = self.site.counts();
        let waits = counts.pending + counts.held > 0 || !self.site.coordinator().leaving_targets().is_empty();
        waits && at <= self.last_own + CALENDAR_ALONE
    }

    /// All that happens at `now`.
    pub(super) fn instant(&mut self) {
        loop {
            match self.options.pass {
                PassRule::Timestamp => self.step_at_once(),
                PassRule::Event => self.step_one_by_one(),
            }
            if self.failed.is_some() || !self.more_now() {
                return;
            }
        }
    }

    /// Whether something else happens at `now`.
    #[inline]
    fn more_now(&self) -> bool {
        let due = |at: Option<Timestamp>| at.is_some_and(|at| at <= self.now);
        due(self.next_submit()) || due(self.clock.next()) || due(self.timed.get(self.next_timed).map(|t| t.at))
    }

    #[inline]
    fn take_due(&mut self) -> Vec<Due> {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        self.clock.take(self.now, &mut due);
        due
    }

    /// Everything, then one pass.
    #[inline]
    fn step_at_once(&mut self) {
        let due = self.take_due();
        due.iter().for_each(|due| self.do_due(*due));
        self.due = due;
        while self.next_submit().is_some_and(|at| at <= self.now) {
            self.submit_next();
        }
        while let Some(timed) = self.next_timed_now() {
            self.do_timed(timed);
        }
        self.schedule();
    }

    /// One thing at a time, a pass after each (rule P).
    fn step_one_by_one(&mut self) {
        let due = self.take_due();
        let mut passes = 0;
        for due in due.iter().filter(|d| self.ends_by_limit(d)).copied().collect::<Vec<_>>() {
            self.do_due(due);
        }
        while self.next_submit().is_some_and(|at| at <= self.now) {
            self.submit_next();
            self.schedule();
            passes += 1;
        }
        // What ended by its limit is not current any more, so it is not done twice.
        for due in &due {
            if matches!(due.kind, DueKind::Release(_)) || self.is_current(due) {
                self.do_due(*due);
                self.schedule();
                passes += 1;
            }
        }
        self.due = due;
        while let Some(timed) = self.next_timed_now() {
            self.do_timed(timed);
            self.schedule();
            passes += 1;
        }
        if passes == 0 {
            self.schedule();
        }
    }

    fn ends_by_limit(&self, due: &Due) -> bool {
        let slot = due.slot as usize;
        let limit = self.site.job(due.job).map(|job| job.limit);
        due.kind == DueKind::End
            && self.is_current(due)
            && limit.is_some_and(|limit| self.book.start[slot] + limit == self.now)
    }

    fn next_timed_now(&mut self) -> Option<Timed> {
        let timed = self.timed.get(self.next_timed).filter(|t| t.at <= self.now)?.clone();
        self.next_timed += 1;
        Some(timed)
    }

    /// Lets the schedulers run until they are done.
    #[inline]
    fn schedule(&mut self) {
        if self.failed.is_some() {
            return;
        }
        self.count_pending();
        let mut effects = std::mem::take(&mut self.effects);
        loop {
            let began = self.options.stopwatch.map(|clock| clock());
            let end = self.site.schedule(self.now, self.options.work_budget, &mut effects);
            if let Some((clock, began)) = self.options.stopwatch.zip(began) {
                self.scheduling.add(clock().saturating_sub(began));
            }
            self.passes += end.passes as u64;
            self.take_effects(&mut effects);
            if !end.more {
                break;
            }
        }
        self.effects = effects;
        self.run_instances();
    }

    /// Keeps the state of the site for probes that lie before `at`.
    fn probe_before(&mut self, at: Timestamp) {
        while let Some(probe) = self.probes.get(self.next_probe).copied().filter(|p| *p < at) {
            self.next_probe += 1;
            self.snapshots.push(Snapshot { at: probe, site: Box::new(self.site.clone()) });
        }
    }

    fn is_broken(&self) -> bool {
        self.options.check && !self.broken.is_empty()
    }

    /// Looks at the invariants.
    pub(super) fn check(&mut self) {
        let known = self.site.violations().len();
        if known > self.broken_by_site {
            let new = self.site.violations()[self.broken_by_site..].iter();
            let at = self.now;
            self.broken.extend(new.map(|v| Broken { at, invariant: v.invariant, text: v.text.clone() }));
            self.broken_by_site = known;
        }
        let Some(audit) = &mut self.audit else { return };
        self.checks += 1;
        let found = audit.step(&self.site, &self.book);
        let at = self.now;
        self.broken.extend(found.into_iter().map(|(invariant, text)| Broken { at, invariant, text }));
    }

    pub(super) fn inventory_changed(&mut self, joined: bool, targets: &TargetSet) {
        let graph = self.site.graph().clone();
        self.capacity.past.push((self.now, self.capacity.cores));
        for target in targets.iter() {
            let cores = cores_of(&graph, target);
            if joined && !self.capacity.targets.contains(target) {
                if self.target_cores.len() <= target.index() {
                    self.target_cores.resize(target.index() + 1, 1);
                }
                self.target_cores[target.index()] = cores;
                self.capacity.targets.insert(target);
                self.capacity.cores += u64::from(cores);
            } else if !joined && self.capacity.targets.remove(target) {
                self.capacity.cores -= u64::from(self.target_cores[target.index()]);
            }
        }
    }

    fn outcome(mut self) -> Outcome {
        // A held job may be pending again without an effect: the site knows.
        for slot in self.waiting().collect::<Vec<_>>() {
            let job = self.workload.jobs()[slot].id;
            match self.site.job(job).map(|j| j.state) {
                Some(SiteState::Held) => self.book.set_state(slot, JobState::Held),
                Some(SiteState::Pending) => self.book.set_state(slot, JobState::Pending),
                _ => {}
            }
        }
        let capacity = match metrics::span(self.workload, &self.book) {
            Some((from, to)) => Capacity { core_micros: self.capacity.between(from, to) },
            None => Capacity::default(),
        };
        let (total, queues) = (self.options.metrics)(self.workload, &self.book, &self.cores, capacity);
        if total.jobs.submitted != self.site.counts().submitted {
            let text = format!(
                "{} jobs were submitted, the site knows {}",
                total.jobs.submitted,
                self.site.counts().submitted
            );
            self.broken.push(Broken { at: self.now, invariant: Invariant::I6, text });
        }
        let end = if self.options.until.is_never() { self.now } else { self.options.until };
        self.donations.close(end);
        self.loans.close(end);
        let report = Report {
            total,
            queues,
            donations: self.donations.figures(),
            loans: self.loans.figures(),
            switches: self.donations.switches(&self.switches),
            preemption: self.preemptions.figures(),
            forecast: self.measure.as_ref().map(|m| m.figures(&self.book)),
            levels: self.levels(),
            passes: self.passes,
            scheduling: self.options.stopwatch.map(|_| self.scheduling.figures(self.passes)),
            invariants: InvariantFigures {
                checked: self.site.checked() + self.checks + self.checked_below(),
                violated: self.broken.len() as u64,
            },
            digest: format!("{:016x}", self.digest.value()),
            wall_s: 0.0,
            jobs_per_s: 0.0,
        };
        Outcome {
            report,
            book: self.book,
            donations: self.donations.rows().to_vec(),
            refusals: self.refusals,
            switches: self.switches,
            groups: self.groups,
            broken: self.broken,
            snapshots: self.snapshots,
            site: self.site,
            end,
        }
    }
}
