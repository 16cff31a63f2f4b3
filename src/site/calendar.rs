//! What is planned: switches and drains at later instants, and the windows that they cut into the schedulers' plans.
//!
//! Decides how a planned drain bounds plans: no job may run on a drained target from that instant on, whatever the
//! queue's horizon, and nothing says when the target returns. Planned switches are kept by the coordinator; here they
//! have the names that people gave them.

use super::error::EventError;
use super::event::{Effect, GroupMode, StartMode, SwitchSpec};
use super::queue::Queue;
use super::state::{Site, listed};
use crate::base::{QueueId, TargetSet, Timeline, Timestamp, Window, Windows};
use crate::coordinator::{GroupRequest, PlanId, StartOptions, SwitchId, SwitchRequest};
use crate::scheduler::Input;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A drain that is to come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedDrain {
    /// When.
    pub at: Timestamp,
    /// Which targets.
    pub targets: TargetSet,
    /// Why.
    pub reason: String,
}

/// A switch that is to come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedSwitch {
    /// When.
    pub at: Timestamp,
    /// What.
    pub switch: SwitchSpec,
    pub(super) plan: PlanId,
    pub(super) virtual_release: Vec<QueueId>,
    pub(super) virtual_start: Vec<QueueId>,
}

/// A switch with its queues looked up, virtual ones apart.
#[derive(Default)]
pub(super) struct Resolved {
    pub request: SwitchRequest,
    pub virtual_release: Vec<QueueId>,
    pub virtual_start: Vec<QueueId>,
}

impl Site {
    /// Looks up the queues of a switch.
    ///
    /// # Errors
    /// An unknown queue, one that stands there twice, a virtual one as a group.
    pub(super) fn resolve(&self, switch: &SwitchSpec) -> Result<Resolved, EventError> {
        let mut resolved = Resolved::default();
        let mut seen = Vec::new();
        for name in &switch.release {
            let id = self.queue_id(name)?;
            seen.push(id);
            match self.queue(id).parent {
                Some(_) => resolved.virtual_release.push(id),
                None => resolved.request.release.push(id),
            }
        }
        for (name, mode) in &switch.start {
            let id = self.queue_id(name)?;
            seen.push(id);
            match self.queue(id).parent {
                Some(_) if mode.group.is_some() || mode.max_leaving.is_some() => {
                    return Err(EventError::VirtualGroup(name.clone()));
                }
                Some(_) => resolved.virtual_start.push(id),
                None => resolved.request.start.push((id, start_options(mode))),
            }
        }
        seen.sort_unstable();
        match seen.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(EventError::RepeatedQueue(self.queue(pair[0]).name.to_string())),
            None => Ok(resolved),
        }
    }

    pub(super) fn plan(
        &mut self,
        now: Timestamp,
        at: Timestamp,
        name: String,
        switch: SwitchSpec,
    ) -> Result<(), EventError> {
        if at <= now {
            return Err(EventError::PlanPassed { name, at, now });
        }
        let Resolved { request, virtual_release, virtual_start } = self.resolve(&switch)?;
        if let Some(old) = self.planned_switches.remove(&name) {
            self.coordinator.cancel_plan(old.plan);
        }
        let plan = self.coordinator.plan_switch(at, request);
        self.planned_switches.insert(name, PlannedSwitch { at, switch, plan, virtual_release, virtual_start });
        self.unsettled = true;
        Ok(())
    }

    pub(super) fn cancel_plan(&mut self, name: &str) -> Result<(), EventError> {
        let Some(old) = self.planned_switches.remove(name) else {
            let known = listed(self.planned_switches.keys().map(String::as_str));
            return Err(EventError::UnknownPlan { name: name.to_owned(), known });
        };
        self.coordinator.cancel_plan(old.plan);
        self.unsettled = true;
        Ok(())
    }

    /// The coordinator has come to a planned switch.
    pub(super) fn plan_done(
        &mut self,
        now: Timestamp,
        plan: PlanId,
        request: &SwitchRequest,
        done: Result<SwitchId, String>,
        effects: &mut Vec<Effect>,
    ) {
        if self.turned(now, plan, &done, effects) {
            return;
        }
        let name = self.planned_switches.iter().find(|(_, p)| p.plan == plan).map(|(name, _)| name.clone());
        let Some((name, planned)) = name.and_then(|n| self.planned_switches.remove_entry(&n)) else { return };
        if let Ok(switch) = done {
            let resolved = Resolved {
                request: request.clone(),
                virtual_release: planned.virtual_release,
                virtual_start: planned.virtual_start,
            };
            self.note_switch(now, switch, Some(&name), &resolved);
            self.switched(now, &resolved, &format!("planned switch {name}"), effects);
        }
        effects.push(Effect::PlanDue { name, refused: done.err() });
    }

    /// Drains whose time has come.
    pub(super) fn due_drains(&mut self, now: Timestamp) {
        if self.planned_drains.iter().all(|d| d.at > now) {
            return;
        }
        let (due, later) = std::mem::take(&mut self.planned_drains).into_iter().partition(|d| d.at <= now);
        self.planned_drains = later;
        self.windows_stale = true;
        for PlannedDrain { at, targets, reason } in due {
            self.drain_now(at, &targets, &reason);
        }
    }

    /// Windows of a queue that end where drains are planned.
    pub(super) fn cut_by_drains(&self, queue: &Queue, mut windows: Windows) -> Windows {
        for drain in &self.planned_drains {
            let cut = &drain.targets & &queue.members;
            if !cut.is_empty() {
                windows = cut_at(windows, &cut, drain.at);
            }
        }
        windows
    }

    /// Tells each scheduler its windows if they have changed.
    pub(super) fn tell_windows(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let version = self.coordinator.windows_version();
        if version == self.windows_version && !self.windows_stale {
            return;
        }
        self.windows_version = version;
        self.windows_stale = false;
        let mut all = self.coordinator.all_windows(now);
        for index in 0..self.queues.len() {
            let queue = &self.queues[index];
            if queue.scheduler.is_none() {
                continue;
            }
            let id = queue.id;
            let windows = self.cut_by_drains(queue, all.remove(&id).unwrap_or_default());
            if *queue.windows != windows {
                let windows = Arc::new(windows);
                self.queue_mut(id).windows = windows.clone();
                self.tell(now, id, Input::Windows(windows), effects);
            }
        }
    }
}

/// Windows that end at an instant for some of the targets, or earlier.
fn cut_at(windows: Windows, cut: &TargetSet, at: Timestamp) -> Windows {
    let bound = |windows: &[Window]| -> Vec<Window> {
        windows.iter().filter(|w| w.from < at).map(|w| Window { from: w.from, until: w.until.min(at) }).collect()
    };
    let mut timelines: Vec<Timeline> = Vec::with_capacity(windows.timelines.len() + 1);
    let mut add = |targets: TargetSet, windows: Vec<Window>| {
        if targets.is_empty() {
            return;
        }
        match timelines.iter_mut().find(|t| t.windows == windows) {
            Some(timeline) => timeline.targets |= &targets,
            None => timelines.push(Timeline { targets, windows }),
        }
    };
    let mut unbounded = cut.clone();
    for Timeline { targets, windows } in windows.timelines {
        add(&targets & cut, bound(&windows));
        unbounded -= &targets;
        add(&targets - cut, windows);
    }
    add(unbounded, bound(&[Window::ALWAYS]));
    timelines.sort_by_key(|t| t.targets.first());
    Windows { timelines }
}

/// The mode of a start in the coordinator's words.
pub(super) fn start_options(mode: &StartMode) -> StartOptions {
    let group = mode.group.as_ref().map(|GroupMode { min, give_up }| GroupRequest { min: *min, give_up: *give_up });
    StartOptions { take: mode.take, group, max_leaving: mode.max_leaving }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::TargetId;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    fn set(ids: &[u32]) -> TargetSet {
        ids.iter().copied().map(TargetId).collect()
    }

    #[test]
    fn a_drain_cuts_what_it_covers() {
        let window = |from, until| Window { from: at(from), until: at(until) };
        let windows = Windows {
            timelines: vec![Timeline { targets: set(&[1, 2]), windows: vec![window(0, 10), window(20, 30)] }],
        };
        let cut = cut_at(windows, &set(&[2, 3]), at(25));
        assert_eq!(cut.of(TargetId(1)), Some([window(0, 10), window(20, 30)].as_slice()));
        assert_eq!(cut.of(TargetId(2)), Some([window(0, 10), window(20, 25)].as_slice()));
        assert_eq!(cut.of(TargetId(3)), Some([Window { from: Timestamp::MIN, until: at(25) }].as_slice()));
        assert_eq!(cut.of(TargetId(4)), None);
        let none = cut_at(cut, &set(&[1]), at(0));
        assert_eq!(none.of(TargetId(1)), Some([].as_slice()));
    }
}
