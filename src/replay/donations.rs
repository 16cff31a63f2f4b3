//! What moved between queues, when, and for whom it had to wait: gathered from effects and from who holds what.
//!
//! One row stands for the targets that began to leave one queue for one recipient at one instant.
//!
//! *Drain idle* is what moving costs in empty targets: the target-seconds between a target's last release and its
//! arrival. Before it begins to leave they count from the announcement of the move on (a planned switch, a turn of the
//! calendar, a group that gathers), and only since a job waits in the donor that still does, on as
//! many targets as such jobs ask for: they could have used them, had they not had to end in time.
//!
//! Rows that began at one instant are one *switch*: see [`SwitchFigures`].

use super::metrics::{DonationFigures, DonorFigures, SwitchFigures};
use crate::base::{Duration, FastMap, JobId, TargetId, TargetSet, Timestamp};
use crate::matcher::Selection;
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
        let mut switches: Vec<(Timestamp, SwitchFigures)> = Vec::new();
        for row in &self.rows {
            if switches.last().is_none_or(|(at, _)| *at != row.started) {
                let named = names.iter().filter(|(at, _, refused)| *at == row.started && refused.is_none());
                let name = named.map(|(_, name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
                switches
                    .push((row.started, SwitchFigures { at_s: row.started.secs_f64(), name, ..Default::default() }));
            }
            let Some((_, switch)) = switches.last_mut() else { continue };
            let idle = row.idle.secs_f64();
            switch.targets += row.targets.len() as u64;
            switch.moved += u64::from(row.moved);
            switch.cancelled += u64::from(row.cancelled);
            switch.open += u64::from(row.open());
            switch.idle_target_s += idle;
            if row.requested > Timestamp::MIN {
                switch.requested_s = Some(switch.requested_s.unwrap_or(f64::INFINITY).min(row.requested.secs_f64()));
            }
            if let Some(last) = row.last {
                switch.drained_s = switch.drained_s.max(last.since(row.started).secs_f64());
            }
            let donor = switch.donors.entry(row.donor.to_string()).or_default();
            donor.targets += row.targets.len() as u64;
            donor.idle_target_s += idle;
        }
        for (_, switch) in &mut switches {
            switch.took_s = switch.requested_s.map(|from| switch.at_s - from + switch.drained_s);
        }
        switches.into_iter().map(|(_, switch)| switch).collect()
    }

    /// The figures, once [closed](Self::close).
    pub fn figures(&self) -> DonationFigures {
        let idle: Duration = self.rows.iter().fold(Duration::ZERO, |sum, row| sum + row.idle);
        let mut donors: indexmap::IndexMap<String, DonorFigures> = indexmap::IndexMap::new();
        for row in &self.rows {
            let donor = donors.entry(row.donor.to_string()).or_default();
            donor.targets += row.targets.len() as u64;
            donor.idle_target_s += row.idle.secs_f64();
        }
        DonationFigures {
            donors,
            moved: self.moved,
            cancelled: self.cancelled,
            mean_s: if self.moved == 0 { 0.0 } else { self.total.secs_f64() / self.moved as f64 },
            max_s: self.longest.secs_f64(),
            drain_idle_target_s: idle.secs_f64(),
        }
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
            figures.drain_idle_target_s
        };
        // Target 0 since the announcement, target 1 since its release; both since the job waits that waits still.
        assert_eq!((idle(Some((0, 5))), idle(Some((90, 5))), idle(Some((0, 1))), idle(None)), (110.0, 20.0, 70.0, 0.0));
    }
}
