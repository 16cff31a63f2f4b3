//! What each user has in the queues that limit it: what runs, what waits in a scheduler, what is held back.
//!
//! Decides which waiting jobs of a user a scheduler is told of where `policy.limits.user` bounds what runs: in the order
//! of the user's jobs (priority, submit time, id) as many as would keep the limit if all of them ran at once, with those
//! that run. The first that does not fit ends it, so that a large job does not starve behind small ones of its own user.
//! Schedulers know nothing of users; still no plan of theirs breaks a limit, and who is held back is in nobody's way.
//! A job that was held back stands in the order of its scheduler from when it came into it, not from its submission: no
//! promise to others is broken by it.
//!
//! Invariants, which the audit recomputes: what runs and what waits in a scheduler keep the limits together, unless what
//! runs alone breaks them (I9); nobody is held back who would keep them (I10).

use super::event::{Denial, Effect};
use super::history::Note;
use super::job::{Job, JobState, NO_HOLDING, Why};
use super::queue::Queue;
use super::rules::{Place, most_nodes};
use super::state::Site;
use crate::base::{FastMap, JobId, Priority, QueueId, Timestamp};
use crate::config::UserLimits;
use crate::matcher::{Reason, Request};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A user in a queue.
type At = (QueueId, u32);

/// The order of a user's jobs; the slot is the last.
type Key = (Reverse<Priority>, Timestamp, JobId, u32);

/// The key that bounds the number of running jobs.
pub(super) const RUNNING_JOBS: &str = "limits.user.max-running-jobs";
/// The key that bounds the number of their nodes.
pub(super) const RUNNING_NODES: &str = "limits.user.max-running-nodes";
/// The key that bounds the number of waiting jobs.
const PENDING_JOBS: &str = "limits.user.max-pending-jobs";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Standing {
    /// With the most nodes that it may get, and whether its scheduler knows it.
    Waiting { key: Key, nodes: u64, inside: bool },
    /// With the nodes that it has.
    Running { nodes: u64 },
}

/// What one user has in one queue.
#[derive(Clone, Debug, Default)]
struct Share {
    waiting: BTreeMap<Key, u64>,
    /// Those of them that the scheduler knows.
    inside: BTreeSet<Key>,
    running: BTreeMap<u32, u64>,
    running_nodes: u64,
}

/// What all users have in the queues with such limits.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    by: BTreeMap<At, Share>,
    entries: FastMap<u32, (At, Standing)>,
    /// What has changed since it was last looked at.
    stale: BTreeSet<At>,
    /// Jobs that came to wait since then: who of them is held back has to be told.
    fresh: Vec<u32>,
}

impl Shares {
    /// Whether everything has been looked at.
    pub fn is_settled(&self) -> bool {
        self.stale.is_empty()
    }

    /// Enters where a job stands; `None`: nowhere that counts.
    fn set(&mut self, slot: u32, entry: Option<(At, Standing)>) {
        let before = match entry {
            Some(entry) => self.entries.insert(slot, entry),
            None => self.entries.remove(&slot),
        };
        if before == entry {
            return;
        }
        if let Some((at, standing)) = before {
            self.stale.insert(at);
            let share = self.by.entry(at).or_default();
            match standing {
                Standing::Waiting { key, .. } => {
                    share.waiting.remove(&key);
                    share.inside.remove(&key);
                }
                Standing::Running { nodes } => {
                    share.running.remove(&slot);
                    share.running_nodes -= nodes;
                }
            }
            if share.waiting.is_empty() && share.running.is_empty() {
                self.by.remove(&at);
            }
        }
        if let Some((at, standing)) = entry {
            self.stale.insert(at);
            let share = self.by.entry(at).or_default();
            match standing {
                Standing::Waiting { key, nodes, inside } => {
                    share.waiting.insert(key, nodes);
                    if inside {
                        share.inside.insert(key);
                    }
                }
                Standing::Running { nodes } => {
                    share.running.insert(slot, nodes);
                    share.running_nodes += nodes;
                }
            }
        }
    }
}

impl Share {
    /// How many of the waiting jobs the limits let into the scheduler, and the limit that ends it.
    fn prefix(&self, limits: &UserLimits) -> (usize, Option<(&'static str, u64)>) {
        let running = self.running.len();
        let mut nodes = self.running_nodes;
        for (n, more) in self.waiting.values().enumerate() {
            let jobs = (running + n + 1) as u64;
            nodes = nodes.saturating_add(*more);
            if let Some(most) = limits.max_running_jobs.filter(|most| jobs > *most) {
                return (n, Some((RUNNING_JOBS, most)));
            }
            if let Some(most) = limits.max_running_nodes.filter(|most| nodes > *most) {
                return (n, Some((RUNNING_NODES, most)));
            }
        }
        (self.waiting.len(), None)
    }
}

/// A job that counts against a limit of its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Which.
    pub job: JobId,
    /// Whether it runs; else it waits, before the one that is asked about.
    pub runs: bool,
    /// The nodes that it has, or the most that it may get.
    pub nodes: u64,
}

/// Why a job is held back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldBack {
    /// The key of the limit, in full.
    pub limit: String,
    /// What it allows.
    pub allowed: u64,
    /// Whose limit it is: name and number, or the number.
    pub user: String,
    /// Who counts against it, those that run first.
    pub counted: Vec<Counted>,
}

fn limits(queue: &Queue) -> &UserLimits {
    &queue.config.policy.limits.user
}

impl Site {
    /// Whether a job may come in, by what its user has in the queue.
    ///
    /// # Errors
    /// The first limit that it breaks.
    pub(super) fn admit_user(&self, id: QueueId, user: u32, request: &Request) -> Result<(), Denial> {
        let (queue, place) = (self.queue(id), Place::of(&self.queue(id).name, &self.config));
        let limits = limits(queue);
        if let Some(most) = limits.max_running_jobs.filter(|most| *most < 1) {
            return Err(place.denial(RUNNING_JOBS, "1".to_owned(), format!("at most {most}")));
        }
        let nodes = most_nodes(request, &self.graph);
        if let Some(most) = limits.max_running_nodes.filter(|most| nodes.is_none_or(|nodes| nodes > *most)) {
            let asked = nodes.map_or_else(|| "any number".to_owned(), |nodes| format!("up to {nodes}"));
            return Err(place.denial(RUNNING_NODES, asked, format!("at most {most}")));
        }
        let wait = self.shares.by.get(&(id, user)).map_or(0, |share| share.waiting.len() as u64);
        match limits.max_pending_jobs {
            Some(most) if wait >= most => {
                Err(place.denial(PENDING_JOBS, format!("{}", wait + 1), format!("at most {most}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Takes down where a job stands, after that has changed.
    pub(super) fn note_share(&mut self, slot: u32) {
        let job = self.jobs.job(slot);
        let Some(queue) = self.queues.get(job.queue.index()) else { return };
        let counts = !queue.removed && *limits(queue) != UserLimits::default();
        if !counts && self.shares.entries.is_empty() {
            return;
        }
        let waiting = |inside| Standing::Waiting {
            key: (Reverse(job.priority), job.submitted, job.id, slot),
            nodes: job.request.as_deref().and_then(|r| most_nodes(r, &self.graph)).unwrap_or(u64::MAX),
            inside,
        };
        let standing = match job.state {
            JobState::Pending => Some(waiting(job.in_scheduler)),
            JobState::Held => job.in_scheduler.then(|| waiting(true)),
            JobState::Running if job.holding != NO_HOLDING => {
                Some(Standing::Running { nodes: self.jobs.holding(job.holding).selection.shares.len() as u64 })
            }
            JobState::Running | JobState::Ended(_) | JobState::Denied | JobState::Cancelled => None,
        };
        let entry = standing.filter(|_| counts).map(|standing| ((job.queue, job.userid), standing));
        self.shares.set(slot, entry);
    }

    /// A job has come to wait in a queue that bounds what runs: the next review lets it in or holds it back.
    pub(super) fn await_review(&mut self, slot: u32) {
        self.note_share(slot);
        let job = self.jobs.job(slot);
        self.shares.stale.insert((job.queue, job.userid));
        self.shares.fresh.push(slot);
    }

    /// Gives schedulers the jobs that the limits of their users let in, and takes back those that they do not; whether any.
    pub(super) fn review_shares(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> bool {
        let mut changed = false;
        while let Some(at) = self.shares.stale.pop_first() {
            let (out, into) = self.due_shares(at);
            changed |= !out.is_empty() || !into.is_empty();
            for slot in out {
                self.withdraw(now, slot, effects);
                self.set_state(slot, JobState::Pending);
                self.shares.fresh.push(slot);
            }
            for slot in into {
                self.let_in(now, slot, effects);
            }
        }
        for slot in std::mem::take(&mut self.shares.fresh) {
            self.hold_back(now, slot, effects);
        }
        changed
    }

    /// Who has to leave the scheduler, and who may come into it.
    fn due_shares(&self, at: At) -> (Vec<u32>, Vec<u32>) {
        let (queue, share) = (self.queue(at.0), self.shares.by.get(&at));
        let Some(share) = share.filter(|_| !queue.removed) else { return Default::default() };
        let limits = limits(queue);
        if !limits.bounds_running() && share.inside.len() == share.waiting.len() {
            return Default::default();
        }
        let n = if is_parked(queue) { 0 } else { share.prefix(limits).0 };
        let into = share.waiting.keys().take(n).filter(|key| !share.inside.contains(key)).map(|key| key.3).collect();
        let out = match share.waiting.keys().nth(n) {
            Some(first) => share.inside.range(first..).map(|key| key.3).collect(),
            None => Vec::new(),
        };
        (out, into)
    }

    /// Gives a job to its scheduler; one that was held back stands in the order from now on.
    fn let_in(&mut self, now: Timestamp, slot: u32, effects: &mut Vec<Effect>) {
        let job = self.jobs.job_mut(slot);
        if matches!(&job.why, Why::Reason(reason) if matches!(**reason, Reason::UserLimit { .. })) {
            job.why = Why::Nothing;
            job.late = Some(now);
        }
        self.enter(now, slot, effects);
    }

    /// Says of a job that it is held back, if it is.
    fn hold_back(&mut self, now: Timestamp, slot: u32, effects: &mut Vec<Effect>) {
        let Some(reason) = self.user_limit(self.jobs.job(slot)) else { return };
        let job = self.jobs.job_mut(slot);
        let why = Why::Reason(Box::new(reason.clone()));
        if job.why == why {
            return;
        }
        job.why = why;
        job.history.add(now, Note::Why(job.why.clone()));
        if self.options.annotate {
            effects.push(Effect::Annotated { job: job.id, reason });
        }
    }

    /// The limit that holds a job back, if one does.
    pub(super) fn user_limit(&self, job: &Job) -> Option<Reason> {
        let queue = self.queues.get(job.queue.index()).filter(|q| limits(q).bounds_running() && !is_parked(q))?;
        if job.state != JobState::Pending || job.in_scheduler {
            return None;
        }
        let share = self.shares.by.get(&(job.queue, job.userid))?;
        let (limit, allowed) = share.prefix(limits(queue)).1?;
        let limit = Place::of(&queue.name, &self.config).key(limit).into();
        Some(Reason::UserLimit { limit, allowed })
    }

    /// Why a job is held back, and who counts; `None` if it is not.
    pub fn held_back(&self, id: JobId) -> Option<HeldBack> {
        let job = self.job(id)?;
        let Reason::UserLimit { limit, allowed } = self.user_limit(job)? else { return None };
        let share = self.shares.by.get(&(job.queue, job.userid))?;
        let n = share.prefix(limits(self.queue(job.queue))).0;
        let running = share.running.iter().map(|(slot, nodes)| (*slot, true, *nodes));
        let waiting = share.waiting.iter().take(n).map(|(key, nodes)| (key.3, false, *nodes));
        let counted =
            running.chain(waiting).map(|(slot, runs, nodes)| Counted { job: self.jobs.job(slot).id, runs, nodes });
        let user = self.config.people.called(job.userid);
        Some(HeldBack { limit: limit.into(), allowed, user, counted: counted.collect() })
    }

    /// How many nodes are in a rack may be otherwise, which counts for those who want racks for themselves.
    pub(super) fn other_sizes(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        if limits(self.queue(id)).max_running_nodes.is_some() {
            self.other_user_limits(now, id, effects);
        }
    }

    /// The limits of a queue are others than before.
    pub(super) fn other_user_limits(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        let (bounds, parked) = (limits(self.queue(id)).bounds_running(), is_parked(self.queue(id)));
        let here = self.jobs.iter().filter(|(_, j)| j.queue == id && !j.state.is_final());
        let here: Vec<u32> = here.map(|(slot, _)| slot).collect();
        for slot in here {
            self.note_share(slot);
            let job = self.jobs.job(slot);
            let outside = job.state == JobState::Pending && !job.in_scheduler;
            self.shares.stale.insert((id, job.userid));
            if outside && !bounds && !parked {
                self.let_in(now, slot, effects);
            } else if outside {
                // Another limit may be the one that holds it back.
                self.shares.fresh.push(slot);
            }
        }
    }
}

/// Whether the jobs of a queue wait in no scheduler: it is virtual and stopped.
pub(super) fn is_parked(queue: &Queue) -> bool {
    queue.parent.is_some() && queue.is_live() && !queue.started
}
