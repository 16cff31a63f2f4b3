//! The shadow: a copy of a site in which jobs end when a forecast says, played on until nothing waits any more.
//!
//! Decides what would come next if nobody submitted anything and nobody commanded anything, planned switches and drains
//! apart. Ownership, windows, groups and shared pools do in it what they do in the site. Long queues of a policy whose
//! passes are dear are played as `easy`: what they plan themselves is looked up in their own plans, not here. In very long
//! queues only the first jobs are looked at for backfilling.

use super::Span;
use super::usage::{Basis, Usage};
use crate::base::{Duration, FastSet, JobId, TargetId, TargetSet, Timestamp};
use crate::config::QueuePolicy;
use crate::matcher::{Freed, Selection};
use crate::scheduler::Input;
use crate::site::job::{HoldingKind, JobState, NO_HOLDING};
use crate::site::{Effect, Event, Outcome, Site, SiteOptions};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Up to so many waiting jobs a queue is played with its own policy, whichever that is.
const OWN_POLICY: u32 = 64;
/// In a longer queue a pass looks at so many waiting jobs at most.
const DEPTH: u32 = 128;
/// So many waiting jobs make a queue very long.
const VERY_LONG: u32 = 1_000;
/// So far a forecast looks.
const FAR: Duration = Duration::from_secs(400 * 24 * 3600);

/// Targets that a queue has got, or lost to nobody.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrival {
    /// When.
    pub at: Timestamp,
    /// Which.
    pub targets: TargetSet,
    /// Who gave; `None`: nobody had them.
    pub donor: Option<Arc<str>>,
    /// Who got; `None`: nobody wants them.
    pub recipient: Option<Arc<str>>,
}

/// Who gets a target next.
#[derive(Clone, PartialEq, Debug)]
pub struct NextUse {
    /// Which job.
    pub job: JobId,
    /// In which queue.
    pub queue: Arc<str>,
    /// When.
    pub at: Timestamp,
}

/// What came of playing on.
#[derive(Clone, Debug, Default)]
pub(in crate::site) struct Played {
    /// Who has started, when, in that order.
    pub starts: Vec<(JobId, Timestamp)>,
    /// What has arrived where, in that order.
    pub arrivals: Vec<Arrival>,
    /// Jobs that were killed.
    pub killed: Vec<JobId>,
    /// Jobs that were told to give way.
    pub preempted: Vec<JobId>,
    /// Times during which targets are held: from, until, what.
    pub work: Vec<(Timestamp, Timestamp, Arc<Selection>)>,
    /// Who gets the watched target next.
    pub next: Option<NextUse>,
}

/// Something that is to end.
type Due = Reverse<(Timestamp, JobId, Timestamp, Option<TargetSetKey>)>;

/// The index of a set of targets that are released by themselves, in the shadow's list.
type TargetSetKey = u32;

struct Shadow<'a> {
    site: Site,
    basis: Basis<'a>,
    due: BinaryHeap<Due>,
    releases: Vec<TargetSet>,
    watched: Option<TargetId>,
    until: Until,
    killed: FastSet<JobId>,
    /// What has just come by a donation, and not come up yet.
    came: TargetSet,
    played: Played,
    now: Timestamp,
}

/// How long it is played on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::site) enum Until {
    /// Until nothing waits and nothing is to move.
    Empty,
    /// Until nothing is to move.
    Moved,
    /// Until an instant.
    At(Timestamp),
}

/// Plays a site on. `watched`: a target of which it is wanted who gets it next.
pub(in crate::site) fn play(site: &Site, basis: Basis<'_>, until: Until, watched: Option<TargetId>) -> Played {
    let mut shadow = Shadow {
        site: site.clone(),
        basis,
        due: BinaryHeap::new(),
        releases: Vec::new(),
        watched,
        until,
        killed: FastSet::default(),
        came: TargetSet::new(),
        played: Played::default(),
        now: site.now(),
    };
    shadow.begin();
    shadow.go();
    shadow.played
}

impl Shadow<'_> {
    fn begin(&mut self) {
        self.site.options = SiteOptions::default();
        let now = self.now;
        for index in 0..self.site.queues.len() {
            let queue = &self.site.queues[index];
            let (id, mut settings) = (queue.id, queue.config.policy.scheduler.clone());
            let cheap = matches!(settings.queue_policy, QueuePolicy::Fcfs | QueuePolicy::Easy);
            let (dear, long) = (!cheap && queue.waiting > OWN_POLICY, queue.waiting > VERY_LONG);
            if queue.scheduler.is_some() && (dear || long) {
                if dear {
                    settings.queue_policy = QueuePolicy::Easy;
                }
                if long {
                    settings.queue_depth = Some(settings.queue_depth.map_or(DEPTH, |depth| depth.min(DEPTH)));
                }
                self.site.tell(now, id, Input::Policy(settings), &mut Vec::new());
            }
        }
        let holdings: Vec<u32> = self.site.jobs.holdings().map(|(index, _)| index).collect();
        for index in holdings {
            let end = holding_end(&self.site, index, self.basis);
            let holding = self.site.jobs.holding(index);
            let job = self.site.jobs.job(holding.slot);
            let mut left = holding.selection.target_set();
            left -= &holding.freed;
            let mut held = holding.selection.clone();
            if !holding.freed.is_empty() {
                Arc::make_mut(&mut held).shares.retain(|s| !holding.freed.contains(s.target));
            }
            self.played.work.push((now, end, held));
            if holding.quarantined || end.is_never() {
                continue;
            }
            let release = match holding.kind {
                HoldingKind::Running => None,
                HoldingKind::Ended | HoldingKind::Requeued => {
                    self.releases.push(left);
                    Some(self.releases.len() as u32 - 1)
                }
            };
            self.due.push(Reverse((end, job.id, job.started, release)));
        }
    }

    fn go(&mut self) {
        let far = match self.until {
            Until::At(at) => at,
            Until::Empty | Until::Moved => self.now + FAR,
        };
        let counts = self.site.counts();
        let mut steps = 20_000 + 4 * (counts.pending + counts.held + counts.running);
        self.schedule();
        while steps > 0 && self.waits() {
            steps -= 1;
            let due = self.due.peek().map(|Reverse(due)| due.0);
            let Some(at) = due.into_iter().chain(self.site.next_wakeup(self.now)).min() else { break };
            if at > far {
                break;
            }
            self.now = self.now.max(at);
            while let Some(Reverse((_, job, started, release))) = self.next_due() {
                self.end(job, started, release);
            }
            self.schedule();
        }
    }

    /// Whether anything is to come that somebody may want to know.
    fn waits(&self) -> bool {
        let counts = self.site.counts();
        counts.pending + counts.held > 0 && self.until != Until::Moved
            || self.site.coordinator.donations().next().is_some()
            || self.site.planned_switches().next().is_some()
            || self.site.coordinator.groups().next().is_some()
    }

    fn next_due(&mut self) -> Option<Due> {
        let due = self.due.peek().is_some_and(|Reverse(due)| due.0 <= self.now);
        if due { self.due.pop() } else { None }
    }

    fn end(&mut self, job: JobId, started: Timestamp, release: Option<TargetSetKey>) {
        let effects = &mut Vec::new();
        let now = self.now;
        if let Some(release) = release {
            let freed = Freed::Targets(std::mem::take(&mut self.releases[release as usize]));
            // Who was killed or requeued meanwhile has released it already.
            let _ = self.site.apply(now, Event::Free { job, freed }, effects);
            return self.take(std::mem::take(effects));
        }
        let current = self.site.job(job).filter(|j| j.state == JobState::Running && j.started == started);
        let Some(holding) = current.map(|j| j.holding).filter(|h| *h != NO_HOLDING) else { return };
        let held = self.site.jobs.holding(holding);
        let mut left = held.selection.target_set();
        left -= &held.freed;
        let outcome = if self.killed.remove(&job) { Outcome::Cancelled } else { Outcome::Completed };
        let told = self.site.apply(now, Event::End { job, outcome }, effects);
        let freed = self.site.apply(now, Event::Free { job, freed: Freed::Targets(left) }, effects);
        debug_assert!(told.is_ok() && freed.is_ok(), "{told:?} {freed:?}");
        self.take(std::mem::take(effects));
    }

    fn schedule(&mut self) {
        let mut effects = Vec::new();
        while self.site.schedule(self.now, usize::MAX, &mut effects).more {}
        self.take(effects);
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start { job, queue, selection, limit } => {
                    let user = self.site.job(job).map_or(0, |j| j.userid);
                    let end = self.basis.end(user, self.now, limit);
                    self.played.starts.push((job, self.now));
                    if self.played.next.is_none() && self.watched.is_some_and(|t| selection.targets().any(|s| s == t)) {
                        self.played.next = Some(NextUse { job, queue, at: self.now });
                    }
                    if !end.is_never() {
                        self.due.push(Reverse((end, job, self.now, None)));
                    }
                    self.played.work.push((self.now, end, selection));
                }
                Effect::DonationEnded { targets, cancelled: true, .. } => self.came |= &targets,
                Effect::DonationEnded { targets, donor, recipient, cancelled: false, .. } => {
                    self.came |= &targets;
                    let donor = Some(donor);
                    self.played.arrivals.push(Arrival { at: self.now, targets, donor, recipient });
                }
                Effect::Up { queue, targets, .. } => {
                    // Nobody comes back here, so that what comes up by no donation was nobody's.
                    let taken = &targets - &self.came;
                    self.came -= &targets;
                    if !taken.is_empty() {
                        let recipient = Some(queue);
                        self.played.arrivals.push(Arrival { at: self.now, targets: taken, donor: None, recipient });
                    }
                }
                Effect::Preempt { job, .. } => self.played.preempted.push(job),
                Effect::Kill { job } if self.killed.insert(job) => {
                    self.played.killed.push(job);
                    let started = self.site.job(job).map_or(Timestamp::NEVER, |j| j.started);
                    self.due.push(Reverse((self.now, job, started, None)));
                }
                _ => {}
            }
        }
    }
}

impl Site {
    /// When what is held will be released, on both bases.
    pub(in crate::site) fn holding_span(&self, index: u32, usage: &Usage) -> Span {
        let end = |basis| holding_end(self, index, basis);
        Span { worst: end(Basis::Limits), likely: end(Basis::Use(usage)) }
    }
}

/// When what is held will be released.
fn holding_end(site: &Site, index: u32, basis: Basis<'_>) -> Timestamp {
    let holding = site.jobs.holding(index);
    let (now, by_limit) = (site.now(), site.held().end_of(index));
    let soon = now + Duration::from_micros(1);
    match (basis, holding.kind) {
        (Basis::Limits, _) => by_limit.max(soon),
        // Its processes are gone: what is left of it is short work.
        (Basis::Use(_), HoldingKind::Ended | HoldingKind::Requeued) => by_limit.min(soon),
        (Basis::Use(usage), HoldingKind::Running) => {
            let user = site.jobs.job(holding.slot).userid;
            let elapsed = now.since(holding.started);
            if elapsed >= holding.limit {
                by_limit.max(soon)
            } else {
                (holding.started + usage.run(user, holding.limit, elapsed)).clamp(soon, by_limit.max(soon))
            }
        }
    }
}
