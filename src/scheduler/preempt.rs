//! Preemption: whether a waiting job makes running ones give way, which, and on what it will start then.
//!
//! Decides by the rules that it was told ([`PreemptRules`]). Only the first job in order that cannot start now preempts,
//! under every queue policy; one that was set aside, since nothing planned lets it fit, counts as well. It has to ask
//! for whole targets and take of no shared pool. A job may be made to give way if the rules let it, it has run as long
//! as it is protected, and its processes are not gone. What jobs that are being preempted already will free is used
//! first. Nobody is preempted if all together do not suffice, nor if the job would start as early without.
//!
//! What was decided is carried out in `holds`.

use super::core::Core;
use super::jobs::{Job, NO_SLOT, Run, Slot};
use super::resources::SHARED;
use super::victims::{Candidate, choose};
use crate::base::{Duration, QueueId, TargetId, Timestamp};
use crate::matcher::Shape;
use crate::planner::{Bits, NO_CLASS};
use std::collections::BTreeMap;

/// What holds for the jobs of one queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PreemptRule {
    /// Whether they may be preempted.
    pub preemptible: bool,
    /// How long they run undisturbed.
    pub protected: Duration,
    /// From the signal to the kill.
    pub grace: Duration,
    /// Whose jobs they may preempt, if these are preemptible.
    pub over: Vec<QueueId>,
}

/// Who may be preempted, and by whom: by the queue that a job was submitted to, which may be a virtual one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PreemptRules {
    /// By queue; who is missing neither preempts nor is preempted.
    pub queues: BTreeMap<QueueId, PreemptRule>,
}

impl PreemptRules {
    /// Whether any job may ever be preempted.
    pub fn any(&self) -> bool {
        self.queues.values().any(|rule| rule.preemptible)
    }
}

/// Who gives way, and what for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Preemption {
    /// The jobs, with the instants by which they will be gone.
    pub victims: Vec<(Slot, Timestamp)>,
    /// What the waiting job starts on: idle now, or freed by them or by jobs that are being preempted already.
    pub targets: Vec<TargetId>,
}

/// What came of the question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Preempt(Preemption),
    /// Not now; before then nothing about it changes by itself.
    Not {
        /// When a job loses its protection, or the waiting one should have started.
        until: Timestamp,
    },
}

impl Core {
    /// Whether a waiting job that cannot start preempts. `planned`: when it would start without; never if nothing
    /// planned lets it.
    pub fn preempt(&self, slot: Slot, now: Timestamp, planned: Timestamp) -> Verdict {
        let never = Verdict::Not { until: Timestamp::NEVER };
        let job = self.jobs.get(slot);
        let Some(rule) = self.rules.queues.get(&job.class).filter(|rule| !rule.over.is_empty()) else { return never };
        if !matches!(job.request.shape, Shape::Whole { .. }) || job.pooled() {
            return never;
        }
        let over = |job: &Job| {
            let rule = self.rules.queues.get(&job.class).filter(|_| rule.over.contains(&job.class))?;
            rule.preemptible.then_some(rule)
        };
        let longest = self.rules.queues.values().map(|rule| rule.grace).max().unwrap_or(Duration::ZERO);
        let usable = self.usable(slot, now, now + longest);
        let idle = usable.and_len(&self.res.idle) as u32;
        let mut need = job.min.saturating_sub(idle);
        let mut until = Timestamp::NEVER;
        let (mut dying, mut candidates) = (Vec::new(), Vec::new());
        for (other, running) in self.jobs.running().filter(|(_, job)| job.hold.is_none()) {
            let run = running.run.as_ref().expect("it runs");
            let frees = self.frees(other, run, &usable);
            if frees == 0 || run.ended {
                continue;
            }
            if run.cut.is_some() {
                if !self.res.classes.bounded() || run.planned_end <= now + longest {
                    dying.push((other, run.planned_end));
                    need = need.saturating_sub(frees);
                }
            } else if let Some(rule) = over(running) {
                let from = run.started + rule.protected;
                if from > now {
                    until = until.min(from);
                    continue;
                }
                let nodes = run.targets().count() as i128;
                let lost = nodes * i128::from(now.since(run.started).micros());
                let (priority, started) = (running.priority, run.started);
                // Nobody is gone at the very instant.
                let until = run.planned_end.min(now + rule.grace.max(Duration::from_micros(1)));
                candidates.push((other, until, Candidate { frees, lost, priority, started }));
            }
        }
        if need == 0 {
            // What jobs free that are being preempted is in its plan already.
            return Verdict::Not { until: until.min(planned) };
        }
        candidates.sort_by_key(|(other, _, _)| self.jobs.get(*other).id);
        let weights: Vec<Candidate> = candidates.iter().map(|(_, _, candidate)| *candidate).collect();
        let Some(chosen) = choose(&weights, need) else { return Verdict::Not { until } };
        let victims: Vec<(Slot, Timestamp)> = chosen.iter().map(|i| (candidates[*i].0, candidates[*i].1)).collect();
        let start = victims.iter().chain(&dying).map(|(_, at)| *at).max().unwrap_or(now);
        if planned <= start {
            return Verdict::Not { until: until.min(planned) };
        }
        let targets = self.targets_of_hold(job.min as usize, &usable, &dying, &victims);
        Verdict::Preempt(Preemption { victims, targets })
    }

    /// The targets that may serve a job which starts between now and `latest`, whoever has them now.
    fn usable(&self, slot: Slot, now: Timestamp, latest: Timestamp) -> Bits {
        let (job, filter) = (self.jobs.get(slot), self.filter(slot));
        let mut usable = filter.targets.clone();
        usable.and(&self.res.up);
        if self.res.classes.bounded() {
            let end = latest + job.span();
            let outside = |t: &TargetId| {
                let class = self.res.classes.of(*t);
                class == NO_CLASS || !self.admits(class, now, end)
            };
            let outside: Vec<TargetId> = usable.iter().filter(outside).collect();
            outside.into_iter().for_each(|t| usable.remove(t));
        }
        usable
    }

    /// How many usable targets a running job frees as a whole.
    fn frees(&self, slot: Slot, run: &Run, usable: &Bits) -> u32 {
        run.targets().filter(|t| usable.contains(*t) && self.res.holder(*t) == slot).count() as u32
    }

    /// `n` of what is idle, of what dying jobs free and of what victims free, in this order, each in the order of the
    /// match policy.
    fn targets_of_hold(
        &self,
        n: usize,
        usable: &Bits,
        dying: &[(Slot, Timestamp)],
        victims: &[(Slot, Timestamp)],
    ) -> Vec<TargetId> {
        let rank = |t: TargetId| match self.res.holder(t) {
            NO_SLOT if self.res.idle.contains(t) => Some(0),
            NO_SLOT | SHARED => None,
            holder if dying.iter().any(|(slot, _)| *slot == holder) => Some(1),
            holder if victims.iter().any(|(slot, _)| *slot == holder) => Some(2),
            _ => None,
        };
        let mut targets: Vec<(u8, TargetId)> =
            self.order.iter(usable).filter_map(|t| rank(t).map(|rank| (rank, t))).collect();
        targets.sort_by_key(|(rank, _)| *rank);
        let mut targets: Vec<TargetId> = targets.into_iter().take(n).map(|(_, t)| t).collect();
        targets.sort_unstable();
        targets
    }
}
