//! The calendar at work: what it starts and stops in the next thirty days stands with the coordinator as planned
//! switches, so that plans end and begin with them.
//!
//! Decides when queues of the calendar turn. Entries are levels: a queue that nobody has looked after for long is put
//! where the calendar has it now, and nothing is missed. A command in between holds until the queue's next boundary.
//! Two entries that want the same targets are no error here: the order of claims decides, and the loser is blocked.
//!
//! Invariant: every boundary of a known queue that lies after now and before `looked` has its turn on record.

use super::calendar::Resolved;
use super::event::Effect;
use super::state::Site;
use crate::base::{Duration, QueueId, Timestamp};
use crate::config::Calendar;
use crate::config::calendar::Boundary;
use crate::coordinator::{LOOK_AHEAD, PlanId, StartOptions, SwitchId, SwitchRequest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far is looked beyond the windows at a time.
const STRIDE: Duration = Duration::from_secs(24 * 3600);

/// Queues that the calendar starts and stops at one instant.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Turn {
    /// When.
    pub at: Timestamp,
    /// Queues that are started, in the order of the calendar.
    pub start: Vec<QueueId>,
    /// Queues that are stopped, and give up their claims.
    pub release: Vec<QueueId>,
    /// The entries that begin or end.
    pub entries: Vec<String>,
}

/// How far the calendar has been looked at, and what is to come.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Timetable {
    turns: BTreeMap<PlanId, Turn>,
    /// Until when each queue was looked at.
    looked: BTreeMap<QueueId, Timestamp>,
    /// When to look again; `None`: now.
    again: Option<Timestamp>,
}

impl Timetable {
    /// When the calendar has to be looked at again; never if there is nothing to look at.
    pub fn again(&self) -> Timestamp {
        self.again.unwrap_or(Timestamp::NEVER)
    }
}

impl Site {
    /// Looks at the calendar as far ahead as windows go, and a day more.
    pub(super) fn look_at_calendar(&mut self, now: Timestamp) {
        if self.config.calendar.is_empty() || self.timetable.again.is_some_and(|at| now < at) {
            return;
        }
        let (config, ahead) = (self.config.clone(), now + LOOK_AHEAD + STRIDE);
        let mut turns: BTreeMap<Timestamp, Turn> = BTreeMap::new();
        for name in config.calendar.queues() {
            let Some(id) = self.names.get(name).copied() else { continue };
            let mut turn = |boundary: Boundary| {
                let turn = turns.entry(boundary.at).or_default();
                if boundary.on {
                    turn.start.push(id)
                } else {
                    turn.release.push(id)
                };
                turn.entries.extend(boundary.entries);
            };
            let looked = self.timetable.looked.insert(id, ahead);
            let on = config.calendar.is_on(name, now);
            let level = |entries| Boundary { at: now, queue: name.to_owned(), on, entries };
            match looked {
                // A queue is created stopped.
                None if on => turn(level(config.calendar.on_at(name, now))),
                Some(at) if at < now => {
                    let missed = config.calendar.boundaries_of(name, at, now);
                    if let Some(last) = missed.into_iter().next_back() {
                        turn(level(last.entries));
                    }
                }
                None | Some(_) => {}
            }
            config.calendar.boundaries_of(name, looked.unwrap_or(now).max(now), ahead).into_iter().for_each(turn);
        }
        for (at, turn) in turns {
            self.plan_turn(Turn { at, ..turn });
        }
        self.timetable.again = Some(now + STRIDE);
    }

    fn plan_turn(&mut self, mut turn: Turn) {
        let mut seen: Vec<String> = Vec::new();
        turn.entries.retain(|name| {
            let new = !seen.contains(name);
            seen.extend(new.then(|| name.clone()));
            new
        });
        let plan = self.coordinator.plan_level(turn.at, self.request_of(&turn).request);
        self.timetable.turns.insert(plan, turn);
        self.unsettled = true;
    }

    /// What a turn asks of the coordinator, and of virtual queues.
    fn request_of(&self, turn: &Turn) -> Resolved {
        let is_virtual = |id: &QueueId| self.queue(*id).parent.is_some();
        let (virtual_release, release) = turn.release.iter().copied().partition(is_virtual);
        let (virtual_start, start): (Vec<QueueId>, Vec<QueueId>) = turn.start.iter().copied().partition(is_virtual);
        let start = start.into_iter().map(|id| (id, StartOptions::default())).collect();
        Resolved { request: SwitchRequest { release, start }, virtual_release, virtual_start }
    }

    /// Takes over another calendar, at once: what it has on is started, what only the old one had on is stopped if the new
    /// one decides about it. What it does not decide about stays as it is.
    pub(super) fn calendar_changed(&mut self, now: Timestamp, old: &Calendar) {
        for plan in std::mem::take(&mut self.timetable).turns.into_keys() {
            self.coordinator.cancel_plan(plan);
        }
        let (new, mut off) = (self.config.clone(), Turn { at: now, ..Turn::default() });
        for name in new.calendar.queues() {
            let Some(id) = self.names.get(name).copied() else { continue };
            let ended = old.on_at(name, now);
            if !ended.is_empty() && !new.calendar.is_on(name, now) {
                off.release.push(id);
                off.entries.extend(ended);
            }
        }
        if !off.release.is_empty() {
            self.plan_turn(off);
        }
        self.unsettled = true;
    }

    /// Says that a queue was created, of which the calendar may have something to say.
    pub(super) fn calendar_has_new(&mut self) {
        self.timetable.again = None;
    }

    /// Takes a removed queue out of what is to come.
    pub(super) fn calendar_without(&mut self, id: QueueId) {
        self.timetable.looked.remove(&id);
        let names = |t: &Turn| t.start.contains(&id) || t.release.contains(&id);
        let plans: Vec<PlanId> = self.timetable.turns.iter().filter(|(_, t)| names(t)).map(|(plan, _)| *plan).collect();
        for plan in plans {
            let Some(mut turn) = self.timetable.turns.remove(&plan) else { continue };
            self.coordinator.cancel_plan(plan);
            turn.start.retain(|q| *q != id);
            turn.release.retain(|q| *q != id);
            if !(turn.start.is_empty() && turn.release.is_empty()) {
                self.plan_turn(turn);
            }
        }
    }

    /// The coordinator has come to a planned switch; whether it was a turn of the calendar.
    pub(super) fn turned(
        &mut self,
        now: Timestamp,
        plan: PlanId,
        done: &Result<SwitchId, String>,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let Some(turn) = self.timetable.turns.remove(&plan) else { return false };
        let name = format!("calendar {}", turn.entries.join(", "));
        if let Ok(switch) = done {
            let resolved = self.request_of(&turn);
            self.note_switch(now, *switch, Some(&name), &resolved);
            self.switched(now, &resolved, &name, effects);
        }
        effects.push(Effect::PlanDue { name, refused: done.as_ref().err().cloned() });
        true
    }

    /// The calendar.
    pub fn calendar(&self) -> &Calendar {
        &self.config.calendar
    }

    /// What the calendar will start and stop, as far as it was looked at, by time.
    pub fn turns(&self) -> Vec<&Turn> {
        let mut turns: Vec<&Turn> = self.timetable.turns.values().collect();
        turns.sort_by_key(|t| t.at);
        turns
    }
}
