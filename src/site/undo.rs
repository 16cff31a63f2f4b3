//! Abort: a switch taken back, so that everything it moved returns.
//!
//! Decides which switch is meant: a planned one that has not come yet is withdrawn, one that was done is undone. The
//! coordinator restores claims; here stand the names that people gave, and virtual queues, which claim nothing.

use super::calendar::Resolved;
use super::error::EventError;
use super::event::Effect;
use super::state::{Site, listed};
use crate::base::{QueueId, Timestamp};
use crate::coordinator::{MAX_UNDO, SwitchId, UndoError};
use serde::{Deserialize, Serialize};

/// A switch that was done and can be undone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DoneSwitch {
    /// The name under which it was planned; `None`: it was commanded.
    pub name: Option<String>,
    /// When it was done.
    pub at: Timestamp,
    switch: SwitchId,
    /// Virtual queues of it: whether each was started before and after.
    virtuals: Vec<(QueueId, bool, bool)>,
}

impl Site {
    /// The switches that [`Event::Abort`](super::Event::Abort) can undo, the oldest first.
    pub fn done_switches(&self) -> &[DoneSwitch] {
        &self.done_switches
    }

    /// Remembers a switch that the coordinator has done, before its virtual queues follow.
    pub(super) fn note_switch(&mut self, now: Timestamp, switch: SwitchId, name: Option<&str>, done: &Resolved) {
        let before = |id: &QueueId| self.queue(*id).started;
        let released = done.virtual_release.iter().map(|id| (*id, before(id), false));
        let started = done.virtual_start.iter().map(|id| (*id, before(id), true));
        let virtuals = released.chain(started).collect();
        self.done_switches.push(DoneSwitch { name: name.map(str::to_owned), at: now, switch, virtuals });
        if self.done_switches.len() > MAX_UNDO {
            self.done_switches.remove(0);
        }
    }

    /// Withdraws a planned switch, or undoes one that was done: the latest if none is named.
    pub(super) fn abort(
        &mut self,
        now: Timestamp,
        plan: Option<&str>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        if let Some(name) = plan.filter(|name| self.planned_switches.contains_key(*name)) {
            return self.cancel_plan(name);
        }
        let meant = |done: &DoneSwitch| plan.is_none() || done.name.as_deref() == plan;
        let Some(index) = self.done_switches.iter().rposition(meant) else { return Err(self.nothing_to_abort(plan)) };
        let done = self.done_switches[index].clone();
        self.check_virtuals(&done)?;
        let queues = self.coordinator.switches().find(|(id, ..)| *id == done.switch).map(|(.., queues)| queues);
        self.coordinator.undo(now, done.switch)?;
        self.done_switches.remove(index);
        self.unsettled = true;
        self.sync_started();
        let why = match &done.name {
            Some(name) => format!("abort of switch {name}"),
            None => "abort of a switch".to_owned(),
        };
        for (id, before, _) in &done.virtuals {
            if *before {
                self.virtual_start(now, *id, effects);
            } else {
                self.virtual_stop(now, *id, effects);
            }
        }
        for id in queues.unwrap_or_default().into_iter().chain(done.virtuals.iter().map(|(id, ..)| *id)) {
            let started = self.queue(id).started;
            let reason = if started { String::new() } else { why.clone() };
            let claims = self.coordinator.is_claiming(id);
            self.queue_mut(id).stop_reason = reason;
            let what = match (started, claims) {
                (true, _) => "started",
                (false, true) => "stopped",
                (false, false) => "released",
            };
            self.report(id, what, why.clone(), effects);
        }
        Ok(())
    }

    /// Virtual queues are as the switch left them.
    fn check_virtuals(&self, done: &DoneSwitch) -> Result<(), EventError> {
        for (id, _, after) in &done.virtuals {
            let queue = self.queue(*id);
            let name = queue.name.to_string();
            let switch = done.switch;
            if queue.removed {
                return Err(UndoError::Removed { switch, name }.into());
            }
            if queue.started != *after {
                return Err(UndoError::Superseded { switch, name }.into());
            }
        }
        Ok(())
    }

    fn nothing_to_abort(&self, plan: Option<&str>) -> EventError {
        let done = self.done_switches.iter().filter_map(|d| d.name.as_deref());
        let known = listed(self.planned_switches.keys().map(String::as_str).chain(done));
        match plan {
            Some(name) => EventError::UnknownSwitch { name: name.to_owned(), known },
            None => EventError::NothingToAbort { known },
        }
    }
}
