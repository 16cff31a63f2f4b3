//! What moved between queues, when, and for whom it had to wait: gathered from effects and from who holds what.
//!
//! One row stands for the targets that began to leave one queue for one recipient at one instant.
//!
//! *Drain idle* is what moving costs in empty targets: the target-seconds between a target's last release and its
//! arrival. Before it begins to leave they count from the announcement of the move on (a planned switch, a turn of the
//! calendar, a group that gathers), and only since a job waits in the donor that still does, on as
//! many targets as such jobs ask for: they could have used them, had they not had to end in time.
//!
//! *Lost work* is what moving costs in work to be done again: of each job that is killed without anybody having cancelled
//! it while it holds a target on its way, all its targets times how long it ran. It stands with the first of its targets'
//! moves, and only there.
//!
//! Rows that began at one instant are one *switch*: see [`SwitchFigures`]. What a switch and a queue cost is added up from the
//! rows alone, so that nothing is counted in two ways.

use super::metrics::{DonationFigures, DonorFigures, SwitchFigures};
use crate::base::{Duration, FastMap, JobId, TargetId, TargetSet, Timestamp};
use crate::matcher::Selection;
use indexmap::IndexMap;
use std::sync::Arc;

/// Targets that left a queue together.
#[derive(Clone, Debug, PartialEq)]
pub struct DonationRow {
    /// When they began to leave.
    pub started: Timestamp,
    /// Since when it was known that they would.
    pub requested: Timestamp,
    /// How long they were empty for it, added up; of those on their way up to the end of the replay.
    pub idle: Duration,
    /// Work of jobs that were preempted for it: targets times how long they ran.
    pub lost: Duration,
    /// From which queue.
    pub donor: Arc<str>,
    /// To which queue, as last known; `None`: to nobody.
    pub recipient: Option<Arc<str>>,
    /// Which.
    pub targets: TargetSet,
    /// How many arrived.
    pub moved: u32,
    /// How many went back to the donor.
    pub cancelled: u32,
    /// How many nobody wanted any more.
    pub freed: u32,
    /// When the last of them arrived or went back.
    pub last: Option<Timestamp>,
    /// The jobs that held some of them at the beginning.
    pub holders: Vec<JobId>,
}

impl DonationRow {
    /// How many are still on their way.
    pub fn open(&self) -> u32 {
        (self.targets.len() as u32).saturating_sub(self.moved + self.cancelled + self.freed)
    }

    /// From when it was asked for, of the calendar's from its beginning, to the last target; `None` while some are on
    /// their way.
    pub fn took(&self) -> Option<Duration> {
        let from = if self.requested > Timestamp::MIN { self.requested } else { self.started };
        self.last.filter(|_| self.open() == 0).map(|last| last.since(from))
    }

    /// Adds what it cost to what its donor gave before; `first`: there was nothing before.
    fn add_to(&self, donor: &mut DonorFigures, first: bool) {
        donor.targets += self.targets.len() as u64;
        donor.idle_target_s += self.idle.secs_f64();
        donor.lost_target_s += self.lost.secs_f64();
        let took = self.took().map(Duration::secs_f64);
        donor.took_s = if first { took } else { donor.took_s.zip(took).map(|(a, b)| a.max(b)) };
    }
}

/// What donors gave, by name, in the order in which they first did.
fn by_donor<'a>(rows: impl Iterator<Item = &'a DonationRow>) -> IndexMap<String, DonorFigures> {
    let mut donors: IndexMap<String, DonorFigures> = IndexMap::new();
    for row in rows {
        let first = !donors.contains_key(&*row.donor);
        row.add_to(donors.entry(row.donor.to_string()).or_default(), first);
    }
    donors
}

/// One target on its way.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    row: usize,
    idle_since: Option<Timestamp>,
}

/// Jobs of a donor that wait when targets begin to leave it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Since when the first of them waits.
    pub since: Timestamp,
    /// How many nodes they ask for in all.
    pub nodes: u64,
}

/// Follows donations.
#[derive(Debug, Default)]
pub(crate) struct Donations {
    rows: Vec<DonationRow>,
    leaving: FastMap<TargetId, Leaving>,
    /// When each target last arrived anywhere.
    arrived: FastMap<TargetId, Timestamp>,
    /// How many jobs (or their housekeeping) hold each target, and since when nobody does.
    holders: Vec<u32>,
    empty_since: Vec<Timestamp>,
    /// The switches that are announced: when they are due, and since when that is known; always: by the calendar.
    announced: Vec<(Timestamp, Timestamp)>,
    /// The queues that gather a group, and since when.
    gathering: Vec<(Arc<str>, Timestamp)>,
    moved: u64,
    cancelled: u64,
    total: Duration,
    longest: Duration,
}

impl Donations {
    /// A job holds these targets from now on.
    #[inline]
    pub fn hold(&mut self, selection: &Selection) {
        if let Some(last) = selection.targets().next_back()
            && last.index() >= self.holders.len()
        {
            self.holders.resize(last.index() + 1, 0);
            self.empty_since.resize(last.index() + 1, Timestamp::MIN);
        }
        for target in selection.targets() {
            self.holders[target.index()] += 1;
        }
    }

    /// A job, or its housekeeping, has left a target.
    #[inline]
    pub fn release(&mut self, now: Timestamp, target: TargetId) {
        let Some(holders) = self.holders.get_mut(target.index()) else { return };
        *holders = holders.saturating_sub(1);
        if *holders > 0 {
            return;
        }
        self.empty_since[target.index()] = now;
        if !self.leaving.is_empty()
            && let Some(leaving) = self.leaving.get_mut(&target)
        {
            leaving.idle_since = Some(now);
        }
    }

    /// A switch will be due; known from `now` on.
    pub fn announce(&mut self, now: Timestamp, due: Timestamp) {
        self.announced.retain(|(due, _)| *due >= now);
        self.announced.push((due, now));
    }

    /// A planned switch is due. One that was not announced is the calendar's, and was always known.
    pub fn due(&mut self, now: Timestamp) {
        if self.announced.iter().all(|(due, _)| *due != now) {
            self.announced.push((now, Timestamp::MIN));
        }
    }

    /// A queue begins to gather its targets.
    pub fn gather(&mut self, now: Timestamp, queue: &Arc<str>) {
        self.gathering.retain(|(q, _)| q != queue);
        self.gathering.push((queue.clone(), now));
    }

    /// Since when it has been known that targets go to a queue now.
    fn known_since(&self, now: Timestamp, recipient: &Option<Arc<str>>) -> Timestamp {
        let switches = self.announced.iter().filter(|(due, _)| *due == now).map(|(_, told)| *told);
        let groups = self.gathering.iter().filter(|(queue, _)| Some(queue) == recipient.as_ref()).map(|(_, at)| *at);
        switches.chain(groups).min().unwrap_or(now)
    }

    /// Targets begin to leave; `holders` are the jobs on them. `wanted`: the jobs of the donor that wait.
    pub fn started(
        &mut self,
        now: Timestamp,
        targets: &TargetSet,
        (donor, wanted): (&Arc<str>, Option<Wanted>),
        recipient: &Option<Arc<str>>,
        holders: Vec<JobId>,
    ) {
        let requested = self.known_since(now, recipient);
        let known = wanted.map_or(now, |wanted| requested.max(wanted.since)).min(now);
        let mut used = wanted.map_or(0, |wanted| wanted.nodes);
        let same = |r: &DonationRow| r.started == now && r.donor == *donor && r.recipient == *recipient;
        let row = match self.rows.iter().rposition(same) {
            Some(row) => {
                self.rows[row].targets |= targets;
                self.rows[row].holders.extend(holders);
                row
            }
            None => {
                self.rows.push(DonationRow {
                    started: now,
                    requested,
                    idle: Duration::ZERO,
                    lost: Duration::ZERO,
                    donor: donor.clone(),
                    recipient: recipient.clone(),
                    targets: targets.clone(),
                    moved: 0,
                    cancelled: 0,
                    freed: 0,
                    last: None,
                    holders,
                });
                self.rows.len() - 1
            }
        };
        self.rows[row].holders.sort_unstable();
        self.rows[row].holders.dedup();
        for target in targets.iter() {
            let held = self.holders.get(target.index()).is_some_and(|n| *n > 0);
            let empty = self.empty_since.get(target.index()).copied().unwrap_or(Timestamp::MIN);
            let arrived = self.arrived.get(&target).copied().unwrap_or(Timestamp::MIN);
            // No more than the waiting jobs ask for.
            let known = if used > 0 { known.max(empty).max(arrived) } else { now };
            used = used.saturating_sub(u64::from(!held));
            self.leaving.insert(target, Leaving { row, idle_since: (!held).then_some(known) });
        }
    }

    /// Targets have arrived, or went back.
    pub fn ended(
        &mut self,
        now: Timestamp,
        targets: &TargetSet,
        recipient: &Option<Arc<str>>,
        started: Timestamp,
        cancelled: bool,
    ) {
        for target in targets.iter() {
            self.arrived.insert(target, now);
            let Some(leaving) = self.leaving.remove(&target) else { continue };
            if let Some(since) = leaving.idle_since {
                self.rows[leaving.row].idle = self.rows[leaving.row].idle + now.since(since);
            }
            let row = &mut self.rows[leaving.row];
            row.last = Some(now);
            if cancelled {
                row.cancelled += 1;
                self.cancelled += 1;
            } else if let Some(recipient) = recipient {
                row.recipient = Some(recipient.clone());
                row.moved += 1;
                self.moved += 1;
                let took = now.since(started);
                self.total = self.total + took;
                self.longest = self.longest.max(took);
            } else {
                row.freed += 1;
            }
        }
    }

    /// A running job is killed that nobody cancelled: what it did since it started is lost.
    pub fn preempted(&mut self, now: Timestamp, selection: &Selection, started: Timestamp) {
        let row = selection.targets().filter_map(|t| self.leaving.get(&t)).map(|leaving| leaving.row).min();
        let Some(row) = row.and_then(|row| self.rows.get_mut(row)) else { return };
        let targets = i64::try_from(selection.shares.len()).unwrap_or(i64::MAX);
        let lost = now.since(started).micros().saturating_mul(targets);
        row.lost = row.lost + Duration::from_micros(lost);
    }

    /// All rows, by time.
    pub fn rows(&self) -> &[DonationRow] {
        &self.rows
    }

    /// The replay ends at `now`: targets that are still on their way count as idle until then.
    pub fn close(&mut self, now: Timestamp) {
        for leaving in self.leaving.values_mut() {
            if let Some(since) = leaving.idle_since.replace(now) {
                self.rows[leaving.row].idle = self.rows[leaving.row].idle + now.since(since);
            }
        }
    }

    /// What each switch cost, by time; `names`: those of planned switches, with their instants.
    pub fn switches(&self, names: &[(Timestamp, String, Option<String>)]) -> Vec<SwitchFigures> {
        // A switch is done when all of it is, and was asked for with the first of it.
        self.rows.chunk_by(|a, b| a.started == b.started).map(|rows| switch(rows, names)).collect()
    }

    /// The figures, once [closed](Self::close).
    pub fn figures(&self) -> DonationFigures {
        let sum = |of: fn(&DonationRow) -> Duration| {
            self.rows.iter().fold(Duration::ZERO, |sum, row| sum + of(row)).secs_f64()
        };
        let switches = self.rows.chunk_by(|a, b| a.started == b.started);
        let took: Vec<f64> = switches.filter_map(|rows| switch(rows, &[]).took_s).collect();
        DonationFigures {
            donors: by_donor(self.rows.iter()),
            moved: self.moved,
            cancelled: self.cancelled,
            mean_s: if self.moved == 0 { 0.0 } else { self.total.secs_f64() / self.moved as f64 },
            max_s: self.longest.secs_f64(),
            drain_idle_target_s: sum(|row| row.idle),
            lost_target_s: sum(|row| row.lost),
            took_mean_s: if took.is_empty() { 0.0 } else { took.iter().sum::<f64>() / took.len() as f64 },
            took_max_s: took.into_iter().fold(0.0, f64::max),
        }
    }
}

/// What the rows that began at one instant cost together.
fn switch(rows: &[DonationRow], names: &[(Timestamp, String, Option<String>)]) -> SwitchFigures {
    let started = rows[0].started;
    let named = names.iter().filter(|(at, _, refused)| *at == started && refused.is_none());
    let sum = |of: fn(&DonationRow) -> u64| rows.iter().map(of).sum::<u64>();
    let time = |of: fn(&DonationRow) -> Duration| rows.iter().map(|row| of(row).secs_f64()).sum::<f64>();
    let requested = rows.iter().map(|row| row.requested).filter(|at| *at > Timestamp::MIN).min();
    let last = rows.iter().filter_map(|row| row.last).max();
    let done = last.filter(|_| rows.iter().all(|row| row.open() == 0));
    SwitchFigures {
        at_s: started.secs_f64(),
        name: named.map(|(_, name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
        requested_s: requested.map(Timestamp::secs_f64),
        targets: sum(|row| row.targets.len() as u64),
        moved: sum(|row| u64::from(row.moved)),
        cancelled: sum(|row| u64::from(row.cancelled)),
        open: sum(|row| u64::from(row.open())),
        idle_target_s: time(|row| row.idle),
        lost_target_s: time(|row| row.lost),
        drained_s: last.map_or(0.0, |last| last.since(started).secs_f64()),
        took_s: done.map(|last| last.since(requested.unwrap_or(started)).secs_f64()),
        donors: by_donor(rows.iter()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_moved_and_how_long_it_idled() {
        let secs = Timestamp::from_secs;
        let (batch, debug): (Arc<str>, Option<Arc<str>>) = ("batch".into(), Some("debug".into()));
        let mut d = Donations::default();
        let job = Selection::whole([TargetId(0), TargetId(1)], 1);
        d.hold(&job);
        let targets = TargetSet::from_range(0..3);
        d.started(secs(10), &targets, (&batch, Some(Wanted { since: secs(0), nodes: 9 })), &debug, vec![JobId(7)]);
        // Target 2 idles for 5 s, target 0 for none; target 1 goes back.
        d.release(secs(15), TargetId(0));
        d.ended(secs(15), &TargetSet::from_range(0..1), &debug, secs(10), false);
        d.ended(secs(15), &TargetSet::from_range(2..3), &debug, secs(10), false);
        d.ended(secs(20), &TargetSet::from_range(1..2), &Some(batch.clone()), secs(10), true);
        d.close(secs(20));
        let f = d.figures();
        assert_eq!((f.moved, f.cancelled, f.mean_s, f.max_s, f.drain_idle_target_s), (2, 1, 5.0, 5.0, 5.0));
        let row = &d.rows()[0];
        assert_eq!((row.moved, row.cancelled, row.open(), row.last), (2, 1, 0, Some(secs(20))));
        assert_eq!(row.holders, [JobId(7)]);
    }

    #[test]
    fn counts_idling_before_an_announced_switch_while_jobs_wait() {
        let secs = Timestamp::from_secs;
        let (batch, debug): (Arc<str>, Option<Arc<str>>) = ("batch".into(), Some("debug".into()));
        let idle = |wanted: Option<(i64, u64)>| {
            let wanted = wanted.map(|(since, nodes)| Wanted { since: secs(since), nodes });
            let mut d = Donations::default();
            d.hold(&Selection::whole([TargetId(0), TargetId(1)], 1));
            d.release(secs(20), TargetId(0));
            d.announce(secs(30), secs(100));
            d.release(secs(60), TargetId(1));
            let targets = TargetSet::from_range(0..2);
            d.started(secs(100), &targets, (&batch, wanted), &debug, vec![]);
            d.ended(secs(100), &targets, &debug, secs(100), false);
            d.close(secs(100));
            let (switches, figures) = (d.switches(&[(secs(100), "move".into(), None)]), d.figures());
            assert_eq!((switches.len(), switches[0].name.as_str()), (1, "move"));
            assert_eq!((switches[0].requested_s, switches[0].took_s), (Some(30.0), Some(70.0)));
            assert_eq!(switches[0].donors["batch"].idle_target_s, figures.drain_idle_target_s);
            assert_eq!((switches[0].donors["batch"].took_s, figures.took_mean_s), (Some(70.0), 70.0));
            figures.drain_idle_target_s
        };
        // Target 0 since the announcement, target 1 since its release; both since the job waits that waits still.
        assert_eq!((idle(Some((0, 5))), idle(Some((90, 5))), idle(Some((0, 1))), idle(None)), (110.0, 20.0, 70.0, 0.0));
    }

    #[test]
    fn each_switch_and_each_queue_has_its_cost() {
        let secs = Timestamp::from_secs;
        let (batch, debug, dat): (Arc<str>, Arc<str>, Option<Arc<str>>) =
            ("batch".into(), "debug".into(), Some("dat".into()));
        let set = TargetSet::from_range;
        let mut d = Donations::default();
        // Jobs on 0, 1 and on 2; 3 is empty, and 4 and 5 are not asked for.
        let (wide, narrow) = (Selection::whole([0, 1, 4].map(TargetId), 1), Selection::whole([TargetId(2)], 1));
        d.hold(&wide);
        d.hold(&narrow);
        // At 100, by command: 0, 1 and 3 of batch, 2 of debug.
        d.started(secs(100), &set(0..2), (&batch, None), &dat, vec![JobId(1)]);
        d.started(secs(100), &set(3..4), (&batch, None), &dat, vec![]);
        d.started(secs(100), &set(2..3), (&debug, None), &dat, vec![JobId(2)]);
        d.ended(secs(100), &set(3..4), &dat, secs(100), false);
        // The wide job, which runs since 40, is killed at 130: 3 targets for 90 s. A kill of a job elsewhere costs no switch.
        d.preempted(secs(130), &wide, secs(40));
        d.preempted(secs(130), &Selection::whole([TargetId(5)], 1), secs(0));
        for target in [0, 1, 4].map(TargetId) {
            d.release(secs(130), target);
        }
        d.ended(secs(135), &set(0..2), &dat, secs(100), false);
        d.release(secs(160), TargetId(2));
        d.ended(secs(160), &set(2..3), &dat, secs(100), false);
        // At 200, asked for at 150: 5 of debug, on its way at the end.
        d.announce(secs(150), secs(200));
        d.started(secs(200), &set(5..6), (&debug, None), &dat, vec![]);
        d.close(secs(230));
        let donor = |targets, idle_target_s, lost_target_s, took_s| DonorFigures {
            targets,
            idle_target_s,
            lost_target_s,
            took_s,
        };
        let switches = d.switches(&[]);
        let [first, second] = switches.as_slice() else { panic!("two switches, found {switches:?}") };
        // 5 s on each of two targets of batch; the last target came 60 s after the command.
        assert_eq!((first.targets, first.moved, first.idle_target_s, first.lost_target_s), (4, 4, 10.0, 270.0));
        assert_eq!((first.drained_s, first.took_s), (60.0, Some(60.0)));
        assert_eq!(first.donors["batch"], donor(3, 10.0, 270.0, Some(35.0)));
        assert_eq!(first.donors["debug"], donor(1, 0.0, 0.0, Some(60.0)));
        // 30 s on one target, which has not come.
        assert_eq!((second.requested_s, second.idle_target_s, second.took_s), (Some(150.0), 30.0, None));
        let all = d.figures();
        assert_eq!((all.drain_idle_target_s, all.lost_target_s), (40.0, 270.0));
        assert_eq!((all.took_mean_s, all.took_max_s), (60.0, 60.0));
        assert_eq!(all.donors["batch"], donor(3, 10.0, 270.0, Some(35.0)));
        assert_eq!(all.donors["debug"], donor(2, 30.0, 0.0, None));
    }
}
