//! What happens to targets and to the jobs on them: failures, housekeeping, the events of a node log.
//!
//! A failed target holds nothing any more: what ran there is gone (unless jobs run on), and so is its housekeeping.

use super::Engine;
use super::timed::targets_of_ranks;
use crate::base::{Duration, TargetId, TargetSet, Timestamp};
use crate::formats::idset::Idset;
use crate::matcher::Freed;
use crate::replay::book::JobState;
use crate::replay::clock::{Due, DueKind};
use crate::replay::preemptions::Ended;
use crate::replay::random::Stream;
use crate::replay::scenario::{Housekeeping, OnNodeFail, OnPreempt};
use crate::replay::source::NodeState;
use crate::site::{Event, Outcome};

/// What happens to jobs and targets apart from scheduling.
#[derive(Clone, Debug)]
pub struct NodeRules {
    /// What becomes of a job on a node that fails.
    pub on_node_fail: OnNodeFail,
    /// How long targets are held after a job.
    pub housekeeping: Housekeeping,
    /// What jobs do that are told to give way.
    pub on_preempt: OnPreempt,
}

/// What a node log has said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct LogState {
    drained: TargetSet,
    excluded: TargetSet,
}

/// How long housekeeping takes on one target; `None`: for ever.
fn housekeeping_on(rules: &Housekeeping, job: u64, run: u32, target: TargetId) -> Option<Duration> {
    // Drawn from the job, its run and the target, so that one more job elsewhere changes nothing here.
    let name = format!("housekeeping {job} {run} {target}");
    let mut stream = Stream::named(rules.seed, &name);
    let stuck = stream.chance(rules.stuck);
    let jitter = (rules.jitter.micros() as f64 * stream.unit()) as i64;
    let time = rules.duration + Duration::from_micros(jitter);
    match stuck {
        false => Some(time),
        true if rules.stuck_for.is_infinite() => None,
        true => Some(time + rules.stuck_for),
    }
}

impl Engine<'_> {
    fn has_housekeeping(&self) -> bool {
        let rules = &self.options.nodes.housekeeping;
        rules.duration > Duration::ZERO || rules.jitter > Duration::ZERO || rules.stuck > 0.0
    }

    /// A run of a job is over: what it holds is released, at once or after housekeeping. Targets of `gone` are
    /// released at once.
    pub(super) fn let_go(&mut self, slot: u32, gone: Option<&TargetSet>) {
        let Some(selection) = self.book.selection[slot as usize].clone() else { return };
        let job = &self.workload.jobs()[slot as usize];
        let run = self.book.runs[slot as usize];
        if !self.has_housekeeping() {
            if self.track_holders {
                selection.targets().for_each(|t| self.donations.release(self.now, t));
            }
            // Where former runs of the job hold something too, the site has to be told which targets are meant.
            let freed = if run > 1 { Freed::Targets(selection.target_set()) } else { Freed::Rest };
            self.must_tell(Event::Free { job: job.id, freed });
            return self.book.released(slot as usize);
        }
        let mut at_once = TargetSet::new();
        for target in selection.targets() {
            let time = housekeeping_on(&self.options.nodes.housekeeping, job.id.0, run, target);
            if gone.is_some_and(|g| g.contains(target)) || time == Some(Duration::ZERO) {
                at_once.insert(target);
                continue;
            }
            self.hanging.entry(target).or_default().push((slot, run));
            if let Some(time) = time {
                let kind = DueKind::Release(target);
                self.clock.push(Due { at: self.now + time, kind, job: job.id, slot, run });
            }
        }
        self.book.released(slot as usize);
        self.release(slot, at_once);
    }

    /// Housekeeping of a run on one target is over, unless it was cut short before.
    pub(super) fn housekeeping_done(&mut self, target: TargetId, slot: u32, run: u32) {
        let Some(waiting) = self.hanging.get_mut(&target) else { return };
        let Some(at) = waiting.iter().position(|w| *w == (slot, run)) else { return };
        waiting.remove(at);
        if waiting.is_empty() {
            self.hanging.remove(&target);
        }
        self.release(slot, TargetSet::single(target));
    }

    fn release(&mut self, slot: u32, targets: TargetSet) {
        if targets.is_empty() {
            return;
        }
        if self.track_holders {
            targets.iter().for_each(|t| self.donations.release(self.now, t));
        }
        let job = self.workload.jobs()[slot as usize].id;
        self.must_tell(Event::Free { job, freed: Freed::Targets(targets) });
    }

    /// Targets do not answer any more; what runs there ends as the rules say.
    pub(super) fn fail_targets(&mut self, targets: TargetSet) {
        let fresh = &targets - &self.offline;
        self.offline |= &fresh;
        if fresh.is_empty() {
            return;
        }
        self.must_tell(Event::Offline { targets: fresh.clone() });
        if self.options.nodes.on_node_fail != OnNodeFail::Continue {
            for slot in self.running_on(&fresh) {
                match self.options.nodes.on_node_fail {
                    OnNodeFail::Fail => self.end_job(slot, Outcome::Failed, Some(&fresh)),
                    OnNodeFail::Requeue => self.requeue_job(slot, Some(&fresh)),
                    OnNodeFail::Continue => {}
                }
            }
        }
        for target in fresh.iter() {
            for (slot, _) in self.hanging.remove(&target).unwrap_or_default() {
                self.release(slot, TargetSet::single(target));
            }
        }
    }

    /// Targets answer again.
    pub(super) fn return_targets(&mut self, targets: TargetSet) {
        let back = &targets & &self.offline;
        self.offline -= &back;
        if !back.is_empty() {
            self.must_tell(Event::Online { targets: back });
        }
    }

    /// The running jobs that hold any of the targets, ascending by slot.
    pub(super) fn running_on(&self, targets: &TargetSet) -> Vec<u32> {
        let holds = |slot: usize| {
            let selection = self.book.selection[slot].as_deref();
            selection.is_some_and(|s| s.targets().any(|t| targets.contains(t)))
        };
        let running = (0..self.next_job).filter(|s| self.book.state[*s] == JobState::Running);
        running.filter(|s| holds(*s)).map(|s| s as u32).collect()
    }

    fn requeue_job(&mut self, slot: u32, gone: Option<&TargetSet>) {
        self.settle_instance(slot, true);
        let job = self.workload.jobs()[slot as usize].id;
        self.must_tell(Event::Requeue { job });
        self.count_preempted(slot, Ended::Requeued);
        self.goes_back(slot, gone);
    }

    /// A job waits again; what its run held is released.
    pub(super) fn goes_back(&mut self, slot: u32, gone: Option<&TargetSet>) {
        let job = self.workload.jobs()[slot as usize].id;
        self.let_go(slot, gone);
        self.book.requeued(slot as usize, self.now, u64::from(self.cores[slot as usize]));
        self.digest.entry(self.now, b'Q');
        self.digest.word(job.0);
    }

    /// One line of a node log.
    pub(super) fn node_event(&mut self, state: NodeState) -> Result<(), String> {
        let graph = self.site.graph().clone();
        let targets = |ranks: &Idset| targets_of_ranks(&graph, ranks);
        match state {
            NodeState::Online(ranks) => self.return_targets(targets(&ranks)?),
            NodeState::Offline(ranks) => self.fail_targets(targets(&ranks)?),
            NodeState::Drain(ranks, reason) => {
                let targets = targets(&ranks)?;
                self.node_log.drained |= &targets;
                self.drain(targets, reason, None)?;
            }
            NodeState::Undrain(ranks) => {
                let targets = targets(&ranks)?;
                self.node_log.drained -= &targets;
                self.undrain(&targets - &self.node_log.excluded)?;
            }
            NodeState::Restart { online, drained, excluded } => {
                let (online, excluded) = (targets(&online)?, targets(&excluded)?);
                let mut now_drained = TargetSet::new();
                let all = graph.targets();
                self.fail_targets(all - &online);
                self.return_targets(online);
                for (ranks, reason) in drained {
                    let ranks = targets(&ranks)?;
                    now_drained |= &ranks;
                    self.drain(&ranks - &self.node_log.drained, reason, None)?;
                }
                self.drain(&excluded - &self.node_log.excluded, "excluded".into(), None)?;
                let was = &self.node_log.drained | &self.node_log.excluded;
                self.undrain(&(&was - &now_drained) - &excluded)?;
                (self.node_log.drained, self.node_log.excluded) = (now_drained, excluded);
            }
        }
        Ok(())
    }

    fn drain(&mut self, targets: TargetSet, reason: String, at: Option<Timestamp>) -> Result<(), String> {
        if targets.is_empty() { Ok(()) } else { self.try_tell(Event::Drain { targets, reason, at }) }
    }

    fn undrain(&mut self, targets: TargetSet) -> Result<(), String> {
        if targets.is_empty() { Ok(()) } else { self.try_tell(Event::Undrain { targets }) }
    }
}
