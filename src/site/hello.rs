//! Jobs that are found running (R8), and the end of a recovery.
//!
//! Decides where a found job belongs: in the scheduler of its queue; of a tombstone made for it when the queue is gone;
//! in quarantine when its targets are held by others or unknown. Targets on which a job is found without its queue
//! owning them leave: the coordinator takes them down before anybody else gets them.

use super::error::EventError;
use super::event::{Effect, Found};
use super::history::History;
use super::job::{Holding, HoldingKind, Job, JobState, NO_HOLDING, Why};
use super::queue::{Places, Queue};
use super::rules::Rules;
use super::state::Site;
use crate::base::{Epoch, QueueId, TargetId, TargetSet, Timestamp, Windows};
use crate::config::{Members, QueueConfig};
use crate::coordinator::Ownership;
use crate::matcher::Selection;
use crate::scheduler::{HelloJob, Input, JobRequest, Scheduler};
use std::sync::Arc;

impl Site {
    pub(super) fn hello(&mut self, now: Timestamp, found: Found, effects: &mut Vec<Effect>) -> Result<(), EventError> {
        if found.id.0 >= super::job::FIRST_RESERVED_ID {
            return Err(EventError::ReservedId(found.id));
        }
        let slot = match self.jobs.slot(found.id) {
            Some(slot) => match self.jobs.job(slot).state {
                // Known already; what it holds is on record.
                JobState::Running => return Ok(()),
                JobState::Pending | JobState::Held => {
                    self.withdraw(now, slot, effects);
                    // Held since its queue was removed: it runs in a queue that lives, or in a tombstone.
                    if self.queue(self.jobs.job(slot).queue).removed {
                        let to = self.queue_found(now, &found, effects);
                        self.rehome(now, slot, to);
                    }
                    slot
                }
                state @ (JobState::Ended(_) | JobState::Denied | JobState::Cancelled) => {
                    return Err(EventError::JobState {
                        job: found.id,
                        expected: "running, pending, held or unknown",
                        found: state.word(),
                    });
                }
            },
            None => self.adopt(now, &found, effects),
        };
        self.place(now, slot, found, effects);
        Ok(())
    }

    /// Enters a job that the site did not know, as pending.
    fn adopt(&mut self, now: Timestamp, found: &Found, effects: &mut Vec<Effect>) -> u32 {
        let queue = self.queue_found(now, found, effects);
        let slot = self.jobs.add(Job {
            id: found.id,
            state: JobState::Pending,
            queue,
            home: self.home(queue),
            in_scheduler: false,
            userid: found.userid,
            priority: found.priority,
            submitted: found.submitted,
            late: None,
            limit: found.limit,
            planned: Timestamp::NEVER,
            started: found.started,
            ended: Timestamp::NEVER,
            why: Why::Nothing,
            request: Some(found.request.clone()),
            history: History::default(),
            requeues: 0,
            holding: NO_HOLDING,
        });
        self.count(queue, JobState::Pending, |n| *n += 1);
        slot
    }

    /// The queue in which a found job says that it runs, or a tombstone under that name.
    fn queue_found(&mut self, now: Timestamp, found: &Found, effects: &mut Vec<Effect>) -> QueueId {
        match self.names.get(found.queue.as_str()) {
            Some(id) => *id,
            None => self.tombstone(now, &found.queue, effects),
        }
    }

    /// A queue that is no more, for jobs that are left of it: the removed one of that name if it still has a
    /// scheduler, else a new one.
    fn tombstone(&mut self, now: Timestamp, name: &str, effects: &mut Vec<Effect>) -> QueueId {
        let old = self.queues.iter().rev().find(|q| q.removed && !q.gone && &*q.name == name && q.scheduler.is_some());
        if let Some(old) = old {
            return old.id;
        }
        let id = QueueId(self.queues.len() as u32);
        let policy = self.config.common_policy();
        let config = QueueConfig {
            name: name.to_owned(),
            members: Members::Requires(Vec::new()),
            parent: None,
            policy,
            lending: Default::default(),
        };
        self.coordinator.add_tombstone(id, super::queues::spec_of(&config, TargetSet::new()));
        self.queues.push(Queue {
            id,
            name: name.into(),
            rules: Rules::of(&config.policy),
            parent: None,
            enabled: false,
            disable_reason: "it was removed".to_owned(),
            started: false,
            stop_reason: String::new(),
            removed: true,
            gone: false,
            members: TargetSet::new(),
            epoch: Epoch(0),
            windows: Arc::new(Windows::default()),
            scheduler: Some(Scheduler::new(config.policy.scheduler.clone())),
            remote: None,
            heir: None,
            instances: 0,
            places: Places::default(),
            waiting: 0,
            holdings: 0,
            answers: Vec::new(),
            pass: None,
            promises: Default::default(),
            config,
        });
        self.acquire(now, id, effects);
        id
    }

    /// Enters what a found job holds.
    fn place(&mut self, now: Timestamp, slot: u32, found: Found, effects: &mut Vec<Effect>) {
        let index = self.jobs.next_holding();
        let mut home = self.jobs.job(slot).home;
        let held = still_held(&found);
        let unknown = &held.target_set() - self.coordinator.inventory();
        let placed = if unknown.is_empty() {
            self.ledger.found(index, &held).map_err(|violation| violation.text)
        } else {
            Err(format!("targets {unknown} are not in the inventory"))
        };
        let known: Vec<TargetId> = held.targets().filter(|t| !unknown.contains(*t)).collect();
        if let Err(reason) = &placed {
            self.ledger.quarantine(index, known.iter().copied());
            effects.push(Effect::Quarantined { job: found.id, reason: reason.clone() });
            // A tombstone never gets its targets back, so that they stay down until the job is gone.
            home = self.tombstone(now, &found.queue, effects);
        }
        let left = if placed.is_ok() { held.shares.len() } else { known.len() } as u32;
        let mut freed = found.freed;
        freed.extend(unknown.iter());
        let job = self.jobs.job_mut(slot);
        (job.started, job.limit, job.holding, job.why) = (found.started, found.limit, index, Why::Nothing);
        let job = self.jobs.job(slot);
        let request = JobRequest {
            id: found.id,
            priority: self.order_priority(job),
            submitted: job.in_order_from(),
            limit: found.limit,
            request: found.request.clone(),
        };
        self.jobs.add_holding(Holding {
            slot,
            queue: home,
            name: found.id,
            kind: HoldingKind::Running,
            request: found.request,
            selection: found.selection.clone(),
            freed: freed.clone(),
            left,
            started: found.started,
            limit: found.limit,
            quarantined: placed.is_err(),
        });
        self.queue_mut(home).holdings += 1;
        self.set_state(slot, JobState::Running);
        if placed.is_ok() {
            self.pools.hold(index, &found.selection, found.started, found.started + found.limit);
            let (selection, started) = (found.selection, found.started);
            let hello = HelloJob { job: request, selection, freed, started, overruns: 0 };
            self.tell(now, home, Input::Hello(Box::new(hello)), effects);
        }
        for target in known {
            if self.coordinator.ownership(target) != Some(Ownership::Owned(home)) {
                // The target is in the inventory and the queue exists, so that there is nothing to refuse.
                let refused = self.coordinator.found(now, target, home);
                debug_assert_eq!(refused, Ok(()));
            }
        }
        self.unsettled = true;
    }

    pub(super) fn hello_done(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> Result<(), EventError> {
        if std::mem::replace(&mut self.recovering, false) {
            self.coordinator.end_recovery();
            self.unsettled = true;
            self.settle(now, effects);
        }
        Ok(())
    }
}

/// What a found job has not released.
fn still_held(found: &Found) -> Selection {
    let shares = found.selection.shares.iter().filter(|s| !found.freed.contains(s.target)).cloned().collect();
    Selection { shares, ..Selection::clone(&found.selection) }
}
