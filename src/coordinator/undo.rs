//! Undo: a switch taken back, so that everything it moved returns.
//!
//! Restores the claims of the switch's queues, with their old takes, and whether they were started; the next reconcile
//! keeps what has not left yet (R4) and brings back what has (R1–R3). Decides nothing about jobs. A switch can be undone
//! while no other command came to one of its queues: later wishes are not overruled.

use super::state::{Claim, Coordinator};
use super::types::{GroupFailure, SwitchId, SwitchRequest, UndoError};
use crate::base::{QueueId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many switches are kept to be undone; older ones are forgotten.
pub const MAX_UNDO: usize = 64;

/// A switch, and what there was before it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Done {
    at: Timestamp,
    before: BTreeMap<QueueId, Before>,
}

/// A queue before a switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Before {
    name: String,
    started: bool,
    claim: Option<Claim>,
    /// How many commands it had with those of the switch.
    commands: u64,
}

impl Coordinator {
    /// The switches that are remembered, the oldest first, with the instant of each and its queues.
    pub fn switches(&self) -> impl Iterator<Item = (SwitchId, Timestamp, Vec<QueueId>)> + '_ {
        self.done.iter().map(|(id, done)| (*id, done.at, done.before.keys().copied().collect()))
    }

    /// Takes a switch back: its queues claim, and are started, as before it. What it gathered as a group is given up;
    /// a group that waited before it is not made anew, its queue is stopped.
    ///
    /// # Errors
    /// If the switch is not known, if a queue of it was removed or got another command since, or if a queue that
    /// started since is in the way. Nothing changes then.
    pub fn undo(&mut self, now: Timestamp, switch: SwitchId) -> Result<(), UndoError> {
        let done = self.done.get(&switch).ok_or(UndoError::Unknown(switch))?.clone();
        for (id, before) in &done.before {
            let Some(queue) = self.live(*id) else {
                return Err(UndoError::Removed { switch, name: before.name.clone() });
            };
            if queue.commands != before.commands {
                return Err(UndoError::Superseded { switch, name: queue.spec.name.clone() });
            }
        }
        self.check_newcomers(switch, &done)?;
        for (id, before) in &done.before {
            if let Some(group) = self.group_of(*id) {
                self.withdraw_group(now, group, GroupFailure::Withdrawn);
            }
            if before.claim.is_none() && self.is_claiming(*id) {
                self.void_loans_of(now, *id);
            }
            let queue = self.queue_mut(*id);
            queue.started = before.started && before.claim.is_some();
            queue.claim = before.claim;
            queue.commands += 1;
        }
        self.done.remove(&switch);
        self.update_desired();
        Ok(())
    }

    /// What a queue claims again must not be refused to it: by nobody but the queues of the switch itself.
    fn check_newcomers(&self, switch: SwitchId, done: &Done) -> Result<(), UndoError> {
        for (id, before) in &done.before {
            let Some(queue) = self.live(*id) else { continue };
            let Some(claim) = before.claim.filter(|_| queue.claim.is_none()) else { continue };
            let mut conflicts = self.conflicts(*id, queue);
            conflicts.retain(|c| !done.before.contains_key(&c.queue) && claim.take.is_none());
            if !conflicts.is_empty() {
                return Err(UndoError::Overlap { switch, name: queue.spec.name.clone(), conflicts });
            }
        }
        Ok(())
    }

    /// What there is of a switch's queues before it.
    pub(super) fn before(&self, request: &SwitchRequest) -> BTreeMap<QueueId, Before> {
        let ids = request.release.iter().chain(request.start.iter().map(|(id, _)| id));
        let state = |id: &QueueId| {
            let queue = self.live(*id)?;
            Some((
                *id,
                Before { name: queue.spec.name.clone(), started: queue.started, claim: queue.claim, commands: 0 },
            ))
        };
        ids.filter_map(state).collect()
    }

    /// Remembers a switch that was done.
    pub(super) fn note_done(&mut self, at: Timestamp, mut before: BTreeMap<QueueId, Before>) -> SwitchId {
        let id = SwitchId(self.next_switch);
        self.next_switch += 1;
        for (queue, state) in &mut before {
            state.commands = self.live(*queue).map_or(0, |q| q.commands);
        }
        self.done.insert(id, Done { at, before });
        while self.done.len() > MAX_UNDO {
            self.done.pop_first();
        }
        id
    }
}
