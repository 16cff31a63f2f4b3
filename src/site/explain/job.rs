//! Why a job waits, who is in its way, and when that changes.

use super::Blocker;
use crate::base::{JobId, Priority, TargetId, TargetSet, Timestamp};
use crate::coordinator::Ownership;
use crate::matcher::Reason;
use crate::site::forecast::{Forecast, Span, Usage};
use crate::site::job::{Job, JobState};
use crate::site::{Denial, Site, SwitchSpec, Victim, Why};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the targets are that could serve a job. Each target stands in one of them; together they are the members of its
/// queue that its constraint allows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Up in its queue, and nothing holds it.
    Free,
    /// Up in its queue, and held whole or in part.
    Held,
    /// On its way to its queue.
    Arriving,
    /// On its way from its queue.
    Leaving,
    /// Another queue has it.
    Elsewhere(Arc<str>),
    /// Nobody has it, since no queue that claims it covers it.
    Unowned,
    /// Drained, or draining.
    Drained,
    /// It does not answer.
    Offline,
}

/// All there is to say about a job.
#[derive(Clone, PartialEq, Debug)]
pub struct JobReport {
    /// The job as the site knows it, with what was said about it so far.
    pub job: Job,
    /// Who submitted it: name and number, or the number.
    pub user: String,
    /// The queue that it was submitted to.
    pub queue: Arc<str>,
    /// The queue whose scheduler serves it, if that is another.
    pub home: Option<Arc<str>>,
    /// Why it stands where it stands.
    pub why: Why,
    /// What its place in the order goes by: its priority, and the boost of its queue.
    pub order: Priority,
    /// How many jobs are before it in the order of its scheduler; `None` if it is in none.
    pub ahead: Option<usize>,
    /// Where the targets are that could serve it; empty unless it waits.
    pub places: BTreeMap<Place, TargetSet>,
    /// What is in its way.
    pub blockers: Vec<Blocker>,
    /// The first moment at which any of that changes; never: no such is known.
    pub changes: Timestamp,
    /// When it starts, if it waits.
    pub start: Option<Span>,
    /// What it holds.
    pub held: TargetSet,
    /// Set while it is being preempted.
    pub gives_way: Option<Victim>,
}

impl Site {
    /// Everything about a job; `None` if it is not known.
    pub fn explain_job(&self, id: JobId, forecast: &Forecast, usage: &Usage) -> Option<JobReport> {
        let job = self.job(id)?;
        let waits = matches!(job.state, JobState::Pending | JobState::Held);
        let known = self.queues.get(job.queue.index());
        let why = self.explain(id)?;
        let places = if waits && known.is_some() { self.places(job) } else { BTreeMap::new() };
        let blockers = self.blockers(job, &why, &places, usage);
        let scheduler = known.and_then(|_| self.queue(job.home).scheduler.as_ref()).filter(|_| job.in_scheduler);
        let held = self.selection(id).map(|s| s.target_set()).unwrap_or_default();
        Some(JobReport {
            job: job.clone(),
            user: self.config.people.called(job.userid),
            queue: known.map_or_else(|| "none".into(), |q| q.name.clone()),
            home: known.filter(|_| job.home != job.queue).map(|_| self.queue(job.home).name.clone()),
            why,
            order: self.order_priority(job),
            ahead: scheduler.and_then(|s| s.waiting().position(|w| w.job.id == id)),
            places,
            changes: self.first_change(&blockers),
            blockers,
            start: forecast.job(id),
            held,
            gives_way: self.victims().get(&id).cloned(),
        })
    }

    /// The members of its queue that a job's constraint allows.
    fn candidates(&self, job: &Job) -> TargetSet {
        let members = &self.queue(job.home).members;
        match job.request.as_ref().and_then(|r| r.constraint.as_ref()) {
            None => members.clone(),
            Some(constraint) => members & &self.graph.resolve(&self.properties, constraint).unwrap_or_default(),
        }
    }

    fn places(&self, job: &Job) -> BTreeMap<Place, TargetSet> {
        let mut places: BTreeMap<Place, TargetSet> = BTreeMap::new();
        let arriving = self.coordinator.arriving(job.home);
        for target in self.candidates(job).iter() {
            let place = self.place_of(job, target, &arriving);
            places.entry(place).or_default().insert(target);
        }
        places
    }

    fn place_of(&self, job: &Job, target: TargetId, arriving: &TargetSet) -> Place {
        if self.drained.contains_key(&target) {
            return Place::Drained;
        }
        if !self.answering.contains(target) {
            return Place::Offline;
        }
        match self.coordinator.ownership(target) {
            Some(Ownership::Owned(q)) if q == job.home && self.ledger.is_held(target) => Place::Held,
            Some(Ownership::Owned(q)) if q == job.home => Place::Free,
            Some(Ownership::Leaving(_)) if arriving.contains(target) => Place::Arriving,
            Some(Ownership::Leaving(q)) if q == job.home => Place::Leaving,
            Some(Ownership::Owned(q) | Ownership::Leaving(q)) => Place::Elsewhere(self.queue(q).name.clone()),
            Some(Ownership::Free) | None => Place::Unowned,
        }
    }

    fn blockers(&self, job: &Job, why: &Why, places: &BTreeMap<Place, TargetSet>, usage: &Usage) -> Vec<Blocker> {
        let mut blockers = Vec::new();
        match why {
            Why::Reason(reason) => match **reason {
                Reason::Reserved { by, at } => blockers.push(Blocker::Reservation { job: by, at }),
                Reason::Behind { job } => blockers.push(Blocker::Ahead(job)),
                Reason::ExceedsWindow { limit, longest } => {
                    let allowed = format!("at most {longest}");
                    blockers.push(Blocker::Limit("window".to_owned(), limit.to_string(), allowed));
                }
                _ => {}
            },
            Why::Denied(denial) => match &**denial {
                Denial::Limit { limit, asked, allowed } => {
                    blockers.push(Blocker::Limit(limit.clone(), asked.clone(), allowed.clone()));
                }
                Denial::Access { user, key, allowed, .. } => {
                    blockers.push(Blocker::Limit(key.clone(), format!("user {user}"), allowed.clone()));
                }
                Denial::UnknownQueue(_) | Denial::NoQueue | Denial::Disabled(_) | Denial::DuplicateId => {}
                Denial::Reason(_) => {}
            },
            Why::Held(_) | Why::Nothing => {}
        }
        if let Some(held) = self.held_back(job.id) {
            let runs = held.counted.iter().filter(|c| c.runs).filter_map(|c| Some(self.job(c.job)?.holding));
            let until = runs.map(|h| self.holding_span(h, usage)).reduce(Span::earlier).unwrap_or(Span::NEVER);
            blockers.push(Blocker::UserLimit { held, until });
        }
        if places.is_empty() {
            return blockers;
        }
        let queues = [Some(job.queue), Some(job.home).filter(|home| *home != job.queue)];
        for id in queues.into_iter().flatten() {
            let queue = self.queue(id);
            if !queue.started && !queue.removed {
                blockers.push(Blocker::Stopped(queue.name.clone(), queue.stop_reason.clone()));
            }
        }
        if let Some((_, group)) = self.coordinator.groups().find(|(_, g)| g.queue == job.home) {
            blockers.push(Blocker::Group(self.queue(job.home).name.clone(), group.request.give_up));
        }
        // What holds the nodes is in the way of a job only that stands in the order.
        let in_order = job.in_scheduler || !blockers.iter().any(|b| matches!(b, Blocker::UserLimit { .. }));
        for (place, targets) in places.iter().filter(|_| in_order) {
            if matches!(place, Place::Free | Place::Held) {
                blockers.extend(self.held_for_others(job.id, targets));
            }
            match place {
                Place::Held => blockers.extend(self.holders(targets, usage)),
                Place::Elsewhere(queue) => {
                    blockers.push(Blocker::Queue { queue: queue.clone(), targets: targets.clone() });
                }
                Place::Arriving | Place::Leaving => blockers.extend(self.on_the_way(targets, usage)),
                Place::Drained => blockers.extend(self.drains(targets)),
                Place::Offline => blockers.push(Blocker::Offline(targets.clone())),
                Place::Free | Place::Unowned => {}
            }
        }
        blockers.extend(self.to_come(job, places));
        blockers
    }

    /// The jobs that hold targets, the first to go first.
    pub(super) fn holders(&self, targets: &TargetSet, usage: &Usage) -> Vec<Blocker> {
        let mut indices: BTreeMap<u32, TargetSet> = BTreeMap::new();
        for target in targets.iter() {
            for index in self.ledger.holders(target) {
                indices.entry(index).or_default().insert(target);
            }
        }
        let mut all: Vec<Blocker> = indices
            .into_iter()
            .map(|(index, targets)| {
                let view = self.holder_view(index, targets.first().unwrap_or_default());
                Blocker::Job { job: view.job, what: view.what, targets, until: self.holding_span(index, usage) }
            })
            .collect();
        all.sort_by_key(|b| match b {
            Blocker::Job { job, until, .. } => (until.worst, *job),
            _ => (Timestamp::NEVER, JobId(0)),
        });
        all
    }

    /// What of some targets is held for jobs that others give way to.
    pub(super) fn held_for_others(&self, job: JobId, targets: &TargetSet) -> Vec<Blocker> {
        let others = self.holds().iter().filter(|(other, _)| **other != job);
        let mine = others.map(|(other, held)| (*other, held & targets)).filter(|(_, targets)| !targets.is_empty());
        let planned = |job| self.plans().get(&job).copied().unwrap_or(Timestamp::NEVER);
        mine.map(|(job, targets)| Blocker::Hold { job, targets, at: planned(job) }).collect()
    }

    /// The donations that some targets are in.
    pub(super) fn on_the_way(&self, targets: &TargetSet, usage: &Usage) -> Vec<Blocker> {
        let name = |id| self.queue(id).name.clone();
        let mut all = Vec::new();
        for donation in self.coordinator.donations() {
            let mine = &donation.targets & targets;
            if mine.is_empty() {
                continue;
            }
            let frees = self.forecast_targets(&mine, usage).into_iter().map(|f| f.free);
            let now = Span::at(self.now);
            all.push(Blocker::Donation {
                donor: name(donation.donor),
                recipient: donation.recipient.map(name),
                targets: mine,
                first: frees.clone().reduce(Span::earlier).unwrap_or(now),
                until: frees.reduce(Span::later).unwrap_or(now),
            });
        }
        all
    }

    /// Drains in force, by their reason.
    pub(super) fn drains(&self, targets: &TargetSet) -> Vec<Blocker> {
        let mut reasons: BTreeMap<&str, TargetSet> = BTreeMap::new();
        for target in targets.iter() {
            if let Some(drained) = self.drained.get(&target) {
                reasons.entry(&drained.reason).or_default().insert(target);
            }
        }
        let drain =
            |(reason, targets): (&str, TargetSet)| Blocker::Drain { targets, reason: reason.to_owned(), at: None };
        reasons.into_iter().map(drain).collect()
    }

    /// Planned switches of its queue, or of those that have its targets; planned drains of its targets.
    fn to_come(&self, job: &Job, places: &BTreeMap<Place, TargetSet>) -> Vec<Blocker> {
        let home = &self.queue(job.home).name;
        let elsewhere = |name: &str| places.keys().any(|p| matches!(p, Place::Elsewhere(q) if **q == *name));
        let concerns = |name: &str| *name == **home || elsewhere(name);
        let mut targets = TargetSet::new();
        places.values().for_each(|place| targets |= place);
        self.switches_to_come(concerns).chain(self.drains_to_come(&targets)).collect()
    }

    /// Planned switches that name a queue of some kind.
    pub(super) fn switches_to_come(&self, concerns: impl Fn(&str) -> bool) -> impl Iterator<Item = Blocker> {
        let concerned = move |switch: &SwitchSpec| {
            let starts = switch.start.iter().map(|(queue, _)| queue);
            switch.release.iter().chain(starts).any(|queue| concerns(queue))
        };
        let switches = self.planned_switches.iter().filter(move |(_, planned)| concerned(&planned.switch));
        switches.map(|(name, planned)| Blocker::Switch { name: name.clone(), at: planned.at })
    }

    /// Planned drains of some of these targets.
    pub(super) fn drains_to_come(&self, targets: &TargetSet) -> impl Iterator<Item = Blocker> {
        let drains = self.planned_drains.iter().map(move |drain| (drain, &drain.targets & targets));
        drains.filter(|(_, targets)| !targets.is_empty()).map(|(drain, targets)| Blocker::Drain {
            targets,
            reason: drain.reason.clone(),
            at: Some(drain.at),
        })
    }

    /// The first moment at which any of what is in the way changes; never: no such is known.
    pub(super) fn first_change(&self, blockers: &[Blocker]) -> Timestamp {
        let changes = blockers.iter().map(Blocker::changes).filter(|at| *at > self.now);
        changes.min().unwrap_or(Timestamp::NEVER)
    }
}

impl Blocker {
    /// When it should change; never, if nobody knows.
    pub fn changes(&self) -> Timestamp {
        match self {
            Blocker::Job { until, .. } | Blocker::Donation { first: until, .. } | Blocker::UserLimit { until, .. } => {
                until.worst
            }
            Blocker::Reservation { at, .. }
            | Blocker::Hold { at, .. }
            | Blocker::Switch { at, .. }
            | Blocker::Group(_, at) => *at,
            Blocker::Drain { at, .. } => at.unwrap_or(Timestamp::NEVER),
            Blocker::Ahead(_) | Blocker::Queue { .. } | Blocker::Offline(_) => Timestamp::NEVER,
            Blocker::Stopped(..) | Blocker::Limit(..) => Timestamp::NEVER,
        }
    }
}
