//! Preemption as the site carries it out: the signal at once, the kill when the grace is over, and what becomes of the job.
//!
//! Decides who is protected (I4): what a scheduler chose is signalled only if the policy of the job's queue lets it, the
//! job has run as long as it is protected, and the queue of the job that waits may preempt that queue. Whom to choose is
//! the scheduler's decision. A job that was signalled goes its way, whatever becomes of the one that it was signalled for.
//!
//! Invariants: who is being preempted runs; what is held for a waiting job is granted to no other (I9); a kill comes not
//! before the grace of the job is over.

use super::event::Effect;
use super::history::Note;
use super::job::{JobState, NO_HOLDING};
use super::state::Site;
use super::violation::{Invariant, Violation};
use crate::base::{JobId, QueueId, TargetSet, Timestamp};
use crate::config::Preempted;
use crate::scheduler::{Input, PreemptRule, PreemptRules};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// What a job is preempted for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreemptedFor {
    /// A job that waits in the same scheduler.
    Job(JobId),
    /// A queue that is to get its targets.
    Queue(Arc<str>),
}

impl fmt::Display for PreemptedFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PreemptedFor::Job(job) => write!(f, "job {job}"),
            PreemptedFor::Queue(queue) => write!(f, "queue {queue}"),
        }
    }
}

/// A job that is being preempted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Victim {
    /// What for.
    pub by: PreemptedFor,
    /// When it is killed, unless it ends before.
    pub kill_at: Timestamp,
    /// Whether it was.
    pub killed: bool,
    /// What becomes of it then.
    pub then: Preempted,
}

/// All that goes on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Preemptions {
    /// Who is being preempted.
    pub victims: BTreeMap<JobId, Victim>,
    /// Running jobs that somebody has cancelled: they do not come back, preempted or not.
    pub cancelled: BTreeSet<JobId>,
    /// What is held for jobs that wait.
    pub holds: BTreeMap<JobId, TargetSet>,
    /// Queues for which, and from which, preemptible jobs give way on what leaves.
    pub to: BTreeSet<QueueId>,
    pub from: BTreeSet<QueueId>,
    /// Planned switches that mark their queues so when they are due.
    pub plans: BTreeSet<String>,
    /// When a job on what leaves so loses its protection.
    pub again: Timestamp,
}

impl Default for Preemptions {
    fn default() -> Self {
        Self {
            victims: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            holds: BTreeMap::new(),
            to: BTreeSet::new(),
            from: BTreeSet::new(),
            plans: BTreeSet::new(),
            again: Timestamp::NEVER,
        }
    }
}

impl Preemptions {
    /// When the next job is to be killed; never if none is.
    pub fn next_kill(&self) -> Timestamp {
        let open = self.victims.values().filter(|victim| !victim.killed);
        open.map(|victim| victim.kill_at).min().unwrap_or(Timestamp::NEVER)
    }

    /// The job for which any of some targets is held, other than `job`.
    pub fn held_for_other(&self, job: JobId, targets: &TargetSet) -> Option<JobId> {
        let others = self.holds.iter().filter(|(holder, held)| **holder != job && !held.is_disjoint(targets));
        others.map(|(holder, _)| *holder).next()
    }
}

impl Site {
    /// The jobs that are being preempted.
    pub fn victims(&self) -> &BTreeMap<JobId, Victim> {
        &self.preemptions.victims
    }

    /// What is held for jobs that others give way to.
    pub fn holds(&self) -> &BTreeMap<JobId, TargetSet> {
        &self.preemptions.holds
    }

    /// Tells a scheduler by which rules its jobs, and those of its virtual queues, preempt and are preempted.
    pub(super) fn tell_preempt_rules(&mut self, now: Timestamp, home: QueueId, effects: &mut Vec<Effect>) {
        let family = || self.queues.iter().filter(|q| q.is_live() && (q.id == home || q.parent == Some(home)));
        let rule = |own: &super::queue::Queue| {
            let policy = &own.config.policy.preemption;
            let over = family().filter(|other| policy.covers(&own.name, &other.name)).map(|other| other.id);
            PreemptRule {
                preemptible: policy.preemptible,
                protected: policy.preemptible_after,
                grace: policy.grace,
                over: over.collect(),
            }
        };
        let rules = PreemptRules { queues: family().map(|queue| (queue.id, rule(queue))).collect() };
        let told = self.queue(home).scheduler.as_ref().is_none_or(|scheduler| *scheduler.preempt_rules() == rules);
        if !told {
            self.tell(now, home, Input::Preemption(Arc::new(rules)), effects);
        }
    }

    /// A scheduler makes jobs give way to one that waits.
    pub(super) fn preempts(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        job: JobId,
        targets: TargetSet,
        victims: Vec<(JobId, Timestamp)>,
        effects: &mut Vec<Effect>,
    ) {
        // What they free was promised to others, perhaps.
        self.queue_mut(queue).promises.excused = true;
        if let Some(other) = self.preemptions.held_for_other(job, &targets) {
            let text = format!("targets {targets} are held for job {job}, some of them for job {other} already");
            self.violations.push(Violation::new(Invariant::I9, text));
        }
        self.preemptions.holds.insert(job, targets);
        for (victim, until) in victims {
            match self.may_be_preempted(now, queue, victim, job) {
                Ok(()) => self.signal(now, victim, until, PreemptedFor::Job(job), effects),
                Err(why) => {
                    let text = format!("job {victim} is to be preempted for job {job}, but {why}");
                    self.violations.push(Violation::new(Invariant::I4, text));
                }
            }
        }
    }

    /// Whether a job in a scheduler may be preempted for another there, from configuration and record alone.
    fn may_be_preempted(&self, now: Timestamp, home: QueueId, victim: JobId, by: JobId) -> Result<(), String> {
        let (Some(slot), Some(other)) = (self.jobs.slot(victim), self.jobs.slot(by)) else {
            return Err("one of them is unknown".to_owned());
        };
        let (job, by) = (self.jobs.job(slot), self.jobs.job(other));
        let runs = job.state == JobState::Running && job.holding != NO_HOLDING;
        if !runs || self.jobs.holding(job.holding).queue != home || by.home != home || !by.in_scheduler {
            return Err("they do not run and wait in one scheduler".to_owned());
        }
        let (own, other) = (self.queue(by.queue), self.queue(job.queue));
        if !own.config.policy.preemption.covers(&own.name, &other.name) {
            return Err(format!("queue {} may not preempt queue {}", own.name, other.name));
        }
        self.is_fair_game(now, slot)
    }

    /// Whether the policy of its queue lets a running job be preempted now.
    pub(super) fn is_fair_game(&self, now: Timestamp, slot: u32) -> Result<(), String> {
        let job = self.jobs.job(slot);
        let queue = self.queue(job.queue);
        let policy = &queue.config.policy.preemption;
        if !policy.preemptible || queue.removed {
            return Err(format!("queue {} is not preemptible", queue.name));
        }
        let until = job.started + policy.preemptible_after;
        if until > now {
            return Err(format!("it is protected until {until}"));
        }
        Ok(())
    }

    /// A job that may be preempted is: it is signalled, and will be killed. `until`: when its scheduler expects it gone.
    pub(super) fn signal(
        &mut self,
        now: Timestamp,
        id: JobId,
        until: Timestamp,
        by: PreemptedFor,
        effects: &mut Vec<Effect>,
    ) {
        let Some(slot) = self.jobs.slot(id) else { return };
        if self.preemptions.victims.contains_key(&id) {
            return;
        }
        let policy = &self.queue(self.jobs.job(slot).queue).config.policy.preemption;
        let gone = self.preemptions.cancelled.contains(&id);
        let (kill_at, then) = (now + policy.grace, if gone { Preempted::Cancel } else { policy.then });
        let job = self.jobs.job_mut(slot);
        job.history.add(now, Note::Preempted { by: by.clone() });
        let holding = job.holding;
        self.jobs.holding_mut(holding).cut = Some(until);
        self.end_pools_at(holding, until);
        self.unsettled = true;
        self.preemptions.victims.insert(id, Victim { by: by.clone(), kill_at, killed: false, then });
        effects.push(Effect::Preempt { job: id, by, kill_at, then });
    }

    /// Nothing is held for a job any more.
    pub(super) fn hold_ended(&mut self, queue: QueueId, job: JobId) {
        self.preemptions.holds.remove(&job);
        self.queue_mut(queue).promises.excused = true;
    }

    /// After a recovery: signals and kills that may have been lost are told again.
    pub(super) fn repeat_signals(&mut self, effects: &mut Vec<Effect>) {
        for (job, victim) in &self.preemptions.victims {
            let Victim { by, kill_at, killed, then } = victim.clone();
            effects.push(match killed {
                true => Effect::Kill { job: *job },
                false => Effect::Preempt { job: *job, by, kill_at, then },
            });
        }
    }

    /// Kills whose grace is over.
    pub(super) fn kill_due(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if self.preemptions.victims.is_empty() {
            return;
        }
        for (job, victim) in &mut self.preemptions.victims {
            if !victim.killed && victim.kill_at <= now {
                victim.killed = true;
                effects.push(Effect::Kill { job: *job });
            }
        }
    }
}
