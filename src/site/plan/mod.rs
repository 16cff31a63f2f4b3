//! What a change would do: the site as it is, and a copy in which the change is made, both forecast and compared.
//!
//! Decides nothing. The copy takes the events as the site would, so that what is refused here is refused there; the site
//! stays as it is. What a move costs is for how long its targets are held before they arrive, against how long they would
//! be held until then without the change.

mod configure;
mod drains;
mod index;

pub use drains::Drain;

use super::error::EventError;
use super::event::{Denial, Effect, Event};
use super::forecast::{Arrival, Basis, Forecast, Played, Span, Until, Usage, play};
use super::job::JobState;
use super::state::Site;
use crate::base::{FastMap, JobId, TargetId, TargetSet, Timestamp};
use crate::coordinator::Ownership;
use crate::matcher::Selection;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Targets that go from one queue to another because of a change.
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    /// Which.
    pub targets: TargetSet,
    /// Who has them; `None`: nobody.
    pub from: Option<Arc<str>>,
    /// Who gets them; `None`: nobody.
    pub to: Option<Arc<str>>,
    /// When the first of them is there.
    pub first: Span,
    /// When the last of them is there; never, if one never comes.
    pub last: Span,
}

/// A waiting job whose start would change.
#[derive(Clone, PartialEq, Debug)]
pub struct StartChange {
    /// Which.
    pub job: JobId,
    /// Its queue, after the change.
    pub queue: Arc<str>,
    /// When it starts as things are.
    pub before: Span,
    /// When it starts after the change; of one that starts at once: now.
    pub after: Span,
}

/// What a change would do.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The state that was looked at, see [`Site::state_index`].
    pub index: u64,
    /// What is said about queues: which, the word, details.
    pub queues: Vec<(Arc<str>, &'static str, String)>,
    /// Switches and drains that are planned after the change and were not before, or the other way round.
    pub plans: Vec<String>,
    /// What queues give at known times because of the change, and since when that bounds their jobs.
    pub drains: Vec<Drain>,
    /// Targets that move because of the change.
    pub moves: Vec<Move>,
    /// Targets that would move otherwise, and do not after the change.
    pub stays: Vec<Move>,
    /// Targets that take work after the change and did not before, or the other way round: in nobody's hands otherwise.
    pub up: TargetSet,
    /// See `up`.
    pub down: TargetSet,
    /// Running jobs that would be killed, at once or later, but for those that are preempted.
    pub killed: Vec<JobId>,
    /// Running or waiting jobs that would be made to give way, at once or later, and would not be otherwise.
    pub preempted: Vec<JobId>,
    /// Waiting jobs that would be cancelled.
    pub cancelled: Vec<JobId>,
    /// Waiting jobs that would be held outside of all queues, and why.
    pub held: Vec<(JobId, String)>,
    /// Waiting jobs that could never run any more, and why.
    pub denied: Vec<(JobId, Denial)>,
    /// Waiting jobs that had a start and would have none.
    pub stuck: Vec<StartChange>,
    /// Waiting jobs whose start changes.
    pub starts: Vec<StartChange>,
    /// How many waiting jobs were compared.
    pub compared: usize,
    /// Node-seconds for which the targets that move are idle before they arrive and would not be without the change: at
    /// worst, likely.
    pub idle: (f64, f64),
}

impl Preview {
    /// Whether anything would change.
    pub fn changes(&self) -> bool {
        let Preview {
            queues,
            plans,
            drains,
            moves,
            stays,
            up,
            down,
            killed,
            preempted,
            cancelled,
            held,
            denied,
            stuck,
            starts,
            ..
        } = self;
        !(queues.is_empty() && plans.is_empty() && drains.is_empty() && moves.is_empty() && stays.is_empty())
            || !(up.is_empty() && down.is_empty() && killed.is_empty() && preempted.is_empty() && cancelled.is_empty())
            || !(held.is_empty() && denied.is_empty() && stuck.is_empty() && starts.is_empty())
    }
}

/// A site with what is to come of it.
struct Side {
    site: Site,
    worst: Played,
    forecast: Forecast,
}

impl Side {
    fn of(site: Site, mut forecast: Forecast, until: Option<Timestamp>) -> Self {
        let until = until.map_or(Until::Moved, Until::At);
        let worst = forecast.worst.take().unwrap_or_else(|| play(&site, Basis::Limits, until, None));
        Side { site, worst, forecast }
    }

    fn played(&self, likely: bool) -> &Played {
        if likely { &self.forecast.likely } else { &self.worst }
    }
}

impl Site {
    /// What some events would do, if they came now, one after the other.
    ///
    /// # Errors
    /// The first that would be refused.
    pub fn preview(&self, events: &[Event], usage: &Usage) -> Result<Preview, EventError> {
        let mut after = self.clone();
        after.options.check_ledger = false;
        let mut effects = Vec::new();
        for event in events {
            after.apply(self.now, event.clone(), &mut effects)?;
        }
        while after.schedule(self.now, usize::MAX, &mut effects).more {}
        let (now, later) = rayon::join(|| self.forecast_by(usage, None), || after.forecast_by(usage, None));
        let after = Side::of(after, later, None);
        // What is held without the change matters until the last target has come.
        let last = after.worst.arrivals.last().map_or(self.now, |a| a.at);
        let before = Side::of(self.clone(), now, Some(last));
        let mut preview = Preview { index: self.state_index(), ..Preview::default() };
        preview.note(effects);
        preview
            .killed
            .extend(after.forecast.likely.killed.iter().filter(|j| !before.forecast.likely.killed.contains(j)));
        let new = after.forecast.likely.preempted.iter().filter(|j| !before.forecast.likely.preempted.contains(j));
        preview.preempted.extend(new);
        preview.preempted.sort_unstable();
        preview.preempted.dedup();
        let told = |j: &JobId| preview.preempted.contains(j) || self.victims().contains_key(j);
        preview.killed.retain(|j| !told(j));
        preview.killed.sort_unstable();
        preview.killed.dedup();
        (preview.moves, preview.stays) = moves(&before, &after);
        let taking = |site: &Site| {
            let mut up = TargetSet::new();
            site.coordinator.queues().for_each(|q| up |= &site.coordinator.up(q));
            up
        };
        let (up, still) = (taking(&before.site), taking(&after.site));
        let moved = preview.moves.iter().fold(TargetSet::new(), |set, m| &set | &m.targets);
        (preview.up, preview.down) = (&(&still - &up) - &moved, &(&up - &still) - &moved);
        preview.plans = plans(&before.site, &after.site);
        preview.drains = drains::drains(&before.site, &after.site);
        preview.compare_starts(&before, &after);
        let cost = |likely: bool| {
            let arrivals = first_arrivals(&before, &after, likely);
            let held = |side: &Side| held_before(&side.played(likely).work, &arrivals);
            (held(&before) - held(&after)).max(0.0)
        };
        preview.idle = (cost(false), cost(true));
        let (old, new) = (&before.site, &after.site);
        preview.queues.retain(|(queue, _, _)| differs(old, new, queue));
        Ok(preview)
    }
}

impl Preview {
    fn note(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::QueueChanged { queue, what, detail } => self.queues.push((queue, what, detail)),
                Effect::Kill { job } => self.killed.push(job),
                Effect::Preempt { job, .. } => self.preempted.push(job),
                Effect::Cancelled { job } => self.cancelled.push(job),
                Effect::Held { job, reason } => self.held.push((job, reason)),
                Effect::Denied { job, reason } => self.denied.push((job, reason)),
                _ => {}
            }
        }
    }

    fn compare_starts(&mut self, before: &Side, after: &Side) {
        let then: FastMap<JobId, Span> = after.forecast.jobs.iter().map(|j| (j.job, j.start)).collect();
        let now = after.site.now;
        self.compared = before.forecast.jobs.len();
        for job in &before.forecast.jobs {
            let start = match then.get(&job.job) {
                Some(start) => *start,
                None if after.site.job(job.job).is_some_and(|j| j.state == JobState::Running) => Span::at(now),
                // It stands in one of the other lists.
                None => continue,
            };
            if start == job.start {
                continue;
            }
            let queue = after.site.job(job.job).map_or(job.queue, |j| j.queue);
            let queue = after.site.queue(queue).name.clone();
            let change = StartChange { job: job.job, queue, before: job.start, after: start };
            if start == Span::NEVER { self.stuck.push(change) } else { self.starts.push(change) }
        }
    }
}

/// Whether anything about a queue that people set or see is otherwise: not what it has or who waits, which is told apart.
fn differs(before: &Site, after: &Site, queue: &str) -> bool {
    let look = |site: &Site| {
        let view = site.queue_view(queue)?;
        let config = site.queue_config(queue).cloned();
        let words = (view.disable_reason, view.stop_reason);
        Some((
            view.id,
            view.enabled,
            view.started,
            view.claiming,
            view.blocked,
            view.group,
            view.members,
            words,
            config,
        ))
    };
    look(before) != look(after)
}

/// When each target that moves because of the change comes where it goes first. What never comes is left out.
fn first_arrivals(before: &Side, after: &Side, likely: bool) -> FastMap<TargetId, Timestamp> {
    let of = |side: &Side| ways(&before.site, &side.site, &side.played(likely).arrivals);
    let (old, new) = (of(before), of(after));
    let ours = |key: &(TargetId, u32), way: &Way| key.1 == 0 && old.get(key).is_none_or(|(w, _)| w != way);
    new.iter().filter(|(key, (way, _))| ours(key, way)).map(|(key, (_, at))| (key.0, *at)).collect()
}

/// Node-seconds for which targets are held from now until each of them arrives.
fn held_before(work: &[(Timestamp, Timestamp, Arc<Selection>)], arrivals: &FastMap<TargetId, Timestamp>) -> f64 {
    if arrivals.is_empty() {
        return 0.0;
    }
    let held = |(from, end, what): &(Timestamp, Timestamp, Arc<Selection>)| -> f64 {
        let until = what.targets().filter_map(|t| arrivals.get(&t)).map(|at| (*at).min(*end));
        until.filter(|until| until > from).map(|until| until.since(*from).secs_f64()).sum()
    };
    work.iter().map(held).sum()
}

/// What goes from whom to whom, for which time: the key under which targets are gathered.
type Way = (Option<Arc<str>>, Option<Arc<str>>, u32);

/// A target, and the how-manieth of its ways this is.
type Ways = BTreeMap<(TargetId, u32), (Way, Timestamp)>;

/// The ways of targets: what has moved at once, then what arrives later.
fn ways(before: &Site, side: &Site, arrivals: &[Arrival]) -> Ways {
    let mut ways = Ways::new();
    let mut counts: BTreeMap<TargetId, u32> = BTreeMap::new();
    let mut add = |target: TargetId, from: Option<Arc<str>>, to: Option<Arc<str>>, at| {
        let nth = counts.entry(target).or_default();
        ways.insert((target, *nth), ((from, to, *nth), at));
        *nth += 1;
    };
    let owner = |site: &Site, target| match site.coordinator.ownership(target) {
        Some(Ownership::Owned(q) | Ownership::Leaving(q)) => Some(site.queue(q).name.clone()),
        Some(Ownership::Free) | None => None,
    };
    for target in (before.inventory() | side.inventory()).iter() {
        let (from, to) = (owner(before, target), owner(side, target));
        if from != to {
            add(target, from, to, side.now);
        }
    }
    for Arrival { at, targets, donor, recipient } in arrivals {
        targets.iter().for_each(|t| add(t, donor.clone(), recipient.clone(), *at));
    }
    ways
}

/// What moves after the change and not before, and the other way round.
fn moves(before: &Side, after: &Side) -> (Vec<Move>, Vec<Move>) {
    let of = |side: &Side, likely: bool| ways(&before.site, &side.site, &side.played(likely).arrivals);
    let (old, new) = ([of(before, false), of(before, true)], [of(after, false), of(after, true)]);
    (only_in(&new, &old, &after.site), only_in(&old, &new, &before.site))
}

/// The ways that stand in `these` and not in `others`; of targets that leave and never arrive too.
fn only_in(these: &[Ways; 2], others: &[Ways; 2], site: &Site) -> Vec<Move> {
    let mut moves: BTreeMap<Way, Move> = BTreeMap::new();
    let mut add = |target, way: &Way, at: Span| {
        let new = || Move {
            targets: TargetSet::new(),
            from: way.0.clone(),
            to: way.1.clone(),
            first: Span::NEVER,
            last: Span::at(Timestamp::MIN),
        };
        let entry = moves.entry(way.clone()).or_insert_with(new);
        entry.targets.insert(target);
        entry.first = entry.first.earlier(at);
        entry.last = entry.last.later(at);
    };
    let [worst, likely] = these;
    for ((target, nth), (way, at)) in likely {
        let known = |ways: &Ways| ways.get(&(*target, *nth)).is_some_and(|(w, _)| w == way);
        if !known(&others[1]) {
            let at_worst =
                worst.get(&(*target, *nth)).filter(|(w, _)| w == way).map_or(Timestamp::NEVER, |(_, at)| *at);
            add(*target, way, Span { worst: at_worst, likely: (*at).min(at_worst) });
        }
    }
    // What is on its way and arrives in no play.
    for donation in site.coordinator.donations() {
        let name = |id| site.queue(id).name.clone();
        let way = (Some(name(donation.donor)), donation.recipient.map(name), 0);
        for target in donation.targets.iter() {
            let arrives = |ways: &Ways| ways.contains_key(&(target, 0));
            if !arrives(likely) && !arrives(&others[1]) {
                add(target, &way, Span::NEVER);
            }
        }
    }
    moves.into_values().collect()
}

/// What is planned in one and not in the other.
fn plans(before: &Site, after: &Site) -> Vec<String> {
    let lines = |site: &Site| -> Vec<String> {
        let switches = site.planned_switches.iter().map(|(name, p)| format!("switch {name} at {}", p.at));
        let drains = site.planned_drains.iter().map(|d| format!("drain of targets {} at {}", d.targets, d.at));
        switches.chain(drains).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let added = new.iter().filter(|l| !old.contains(l)).map(|l| format!("planned: {l}"));
    let gone = old.iter().filter(|l| !new.contains(l)).map(|l| format!("withdrawn: {l}"));
    added.chain(gone).collect()
}
