//! What preemption frees is held for the job that it was done for.
//!
//! Decides nothing about who is preempted (`preempt`). A job with a hold waits, but stands among those that run: from
//! the decision on all its targets count as its own, and it is expected to end its time limit after the last of its
//! victims is expected to be gone. So no plan of any queue policy lets another in between, and plans behind it know when
//! it will be over. Who is still on a target gives it to the hold and to nobody else.
//!
//! Invariants: a target is in one hold at most; the holder of a target in a hold is the job of the hold. A hold ends when a
//! target of it goes down or a job is found there; and in the next pass, before any job is looked at, if one is no member,
//! is out of its window, or is not what the job asks for any more. The job is then decided about anew, with what its
//! victims free.

use super::Scheduler;
use super::core::Core;
use super::jobs::{NO_SLOT, Run, Slot};
use super::message::Output;
use super::preempt::Preemption;
use super::views::request_of;
use crate::base::{Duration, JobId, TargetId, TargetSet, Timestamp};
use crate::matcher::{Extent, Selection, Shape, Share};
use crate::planner::{Claim, NO_CLASS};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is held for a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Hold {
    /// The targets that are not free yet, with who is on them.
    pub waits: BTreeMap<TargetId, Slot>,
}

impl Core {
    /// When a job with a hold can start, by what is expected of those on its targets; now if nobody is.
    pub fn held_start(&self, slot: Slot, now: Timestamp) -> Timestamp {
        let hold = self.jobs.get(slot).hold.as_ref().expect("a hold");
        let end = |slot: &Slot| self.jobs.get(*slot).run.as_ref().expect("it runs").planned_end;
        hold.waits.values().map(end).max().unwrap_or(now).max(now)
    }

    /// A job releases a target that is held for another.
    pub fn free_for_hold(&mut self, slot: Slot, share: &Share) {
        let owner = self.res.holder(share.target);
        if let Some(holdings) = &mut self.holdings {
            holdings.release(share).expect("what is given back was held");
            let whole = Share { target: share.target, extent: Extent::Whole };
            holdings.hold(&Selection { shares: vec![whole], nslots: 1, pools: Vec::new() }).expect("it was released");
        }
        let hold = self.jobs.get_mut(owner).hold.as_mut().expect("who counts as the holder has a hold");
        let was = hold.waits.remove(&share.target);
        debug_assert_eq!(was, Some(slot), "a hold knows who is on its targets");
    }

    /// Enters a hold for a waiting job on targets that are idle or held whole.
    fn enter_hold(&mut self, slot: Slot, targets: &[TargetId], now: Timestamp) {
        let on = |t: &TargetId| match self.res.holder(*t) {
            NO_SLOT => None,
            holder => Some((*t, holder)),
        };
        let hold = Hold { waits: targets.iter().filter_map(on).collect() };
        let job = self.jobs.get(slot);
        let per_node = match job.request.shape {
            Shape::Whole { slots_per_node, .. } => slots_per_node,
            Shape::Nodes { .. } | Shape::Slots { .. } => 1,
        };
        let nslots = (targets.len() as u32).saturating_mul(per_node).max(1);
        let shares = targets.iter().map(|t| Share { target: *t, extent: Extent::Whole }).collect();
        let selection = Arc::new(Selection { shares, nslots, pools: Vec::new() });
        if let Some(holdings) = &mut self.holdings {
            let free = selection.shares.iter().filter(|s| !hold.waits.contains_key(&s.target)).cloned().collect();
            holdings.hold(&Selection { shares: free, nslots: 1, pools: Vec::new() }).expect("what is idle is free");
        }
        let filter = job.filter;
        let run = Run {
            selection,
            started: now,
            planned_end: Timestamp::NEVER,
            overruns: 0,
            cut: None,
            ended: false,
            freed: None,
            held: Claim::new(),
            held_down: Claim::new(),
        };
        self.jobs.hold(slot, run, hold);
        targets.iter().for_each(|t| self.res.hand_over(*t, slot));
        self.groups.left(slot);
        self.stale_classes |= self.filters.release(filter);
        self.plan_hold(slot, now);
        self.res.recount(&mut self.jobs);
    }

    /// A job with a hold is expected to start when its victims are expected to be gone. Whether that has changed.
    pub fn plan_hold(&mut self, slot: Slot, now: Timestamp) -> bool {
        let (start, job) = (self.held_start(slot, now), self.jobs.get(slot));
        let end = start + job.span();
        let run = job.run.as_ref().expect("a job with a hold");
        let other = run.planned_end != end;
        if other {
            self.jobs.set_end(slot, end);
        }
        self.jobs.get_mut(slot).run.as_mut().expect("a job with a hold").started = start;
        other
    }

    /// A running job is to be gone by then.
    pub fn cut(&mut self, slot: Slot, until: Timestamp) {
        let run = self.jobs.get_mut(slot).run.as_mut().expect("it runs");
        (run.cut, run.overruns) = (Some(until), 0);
        self.jobs.set_end(slot, until);
    }

    /// Plans anew what waits for a job whose planned end has changed.
    pub fn plan_holds(&mut self, now: Timestamp) -> bool {
        let holds = self.jobs.holds().to_vec();
        holds.into_iter().fold(false, |any, slot| self.plan_hold(slot, now) | any)
    }

    /// Whether all targets of a hold are still what the job may start on, from now to `end`.
    fn hold_stands(&self, slot: Slot, now: Timestamp) -> bool {
        let job = self.jobs.get(slot);
        let run = job.run.as_ref().expect("a job with a hold");
        let end = run.planned_end.max(now + job.span());
        let bounded = self.res.classes.bounded();
        let allowed = job.request.constraint.as_ref().map(|constraint| {
            // As in a filter: what cannot be read is satisfied by nothing.
            self.res.graph.resolve(&self.res.properties, constraint).unwrap_or_default()
        });
        run.selection.targets().all(|t| {
            let class = self.res.classes.of(t);
            class != NO_CLASS
                && self.res.up.contains(t)
                && allowed.as_ref().is_none_or(|a| a.contains(t))
                && (!bounded || self.admits(class, now, end))
        })
    }
}

impl Scheduler {
    /// Preempts for a waiting job.
    pub(super) fn preempt(&mut self, slot: Slot, what: &Preemption, out: &mut Vec<Output>) {
        let now = self.core.now;
        self.core.drop_plan();
        let victims = what.victims.iter().map(|(victim, until)| (self.core.jobs.get(*victim).id, *until)).collect();
        what.victims.iter().for_each(|(victim, until)| self.core.cut(*victim, *until));
        self.core.enter_hold(slot, &what.targets, now);
        let (job, targets) = (self.core.jobs.get(slot).id, what.targets.iter().copied().collect());
        out.push(Output::Preempt { job, targets, victims });
        self.core.stand(slot, now, super::jobs::Standing::Held, out);
        self.replan();
    }

    /// Looks at all holds before a pass: who has all its targets starts, and what was lost ends a hold.
    pub(super) fn look_at_holds(&mut self, now: Timestamp, out: &mut Vec<Output>) {
        if self.core.jobs.holds().is_empty() {
            return;
        }
        if self.core.plan_holds(now) {
            self.replan();
        }
        for slot in self.core.jobs.holds().to_vec() {
            if !self.core.hold_stands(slot, now) {
                self.end_hold(slot, out);
            } else if self.core.jobs.get(slot).hold.as_ref().is_some_and(|hold| hold.waits.is_empty()) {
                self.start_held(slot, now, out);
            }
        }
    }

    fn start_held(&mut self, slot: Slot, now: Timestamp, out: &mut Vec<Output>) {
        let end = now + self.core.jobs.get(slot).span();
        let job = self.core.jobs.start_held(slot, now, end);
        let selection = Arc::clone(&job.run.as_ref().expect("it has started").selection);
        out.push(Output::Alloc { job: job.id, selection, epoch: self.core.epoch });
        self.core.res.recount(&mut self.core.jobs);
        self.replan();
    }

    /// Nothing is held for a job any more; it waits as before, or is denied if the members can never serve it.
    pub(super) fn end_hold(&mut self, slot: Slot, out: &mut Vec<Output>) {
        let job = self.take_hold(slot);
        out.push(Output::HoldEnded { job: job.id });
        let (id, planned) = (job.id, job.planned);
        self.alloc(request_of(&job), out);
        if let Some(slot) = self.core.jobs.slot(id) {
            self.core.jobs.get_mut(slot).planned = planned;
            if !planned.is_never() {
                self.reported.push(slot);
            }
        }
    }

    /// Targets are lost, of which some may be held for jobs.
    pub(super) fn end_holds_on(&mut self, lost: impl Fn(TargetId) -> bool, out: &mut Vec<Output>) {
        for slot in self.core.jobs.holds().to_vec() {
            let run = self.core.jobs.get(slot).run.as_ref().expect("a job with a hold");
            if run.selection.targets().any(&lost) {
                self.end_hold(slot, out);
            }
        }
    }

    /// Gives back what is held for a job and takes the job out.
    pub(super) fn take_hold(&mut self, slot: Slot) -> super::jobs::Job {
        self.core.drop_plan();
        let hold = self.core.jobs.get_mut(slot).hold.take().expect("a hold");
        let job = self.core.jobs.remove_held(slot);
        self.reported.retain(|s| *s != slot);
        let run = job.run.as_ref().expect("a job with a hold");
        for share in &run.selection.shares {
            let on = hold.waits.get(&share.target);
            self.core.res.hand_over(share.target, on.copied().unwrap_or(NO_SLOT));
            if let (None, Some(holdings)) = (on, &mut self.core.holdings) {
                holdings.release(share).expect("what was held free");
            }
        }
        self.core.res.recount(&mut self.core.jobs);
        self.changed();
        job
    }

    /// A hold of a predecessor.
    pub(super) fn hold(&mut self, now: Timestamp, id: JobId, targets: &TargetSet, planned: Timestamp) {
        let Some(slot) = self.core.jobs.slot(id).filter(|slot| self.core.jobs.get(*slot).run.is_none()) else { return };
        self.core.drop_plan();
        self.core.jobs.unpark();
        let targets: Vec<TargetId> = targets.iter().collect();
        self.core.enter_hold(slot, &targets, now);
        let job = self.core.jobs.get_mut(slot);
        (job.planned, job.standing) = (planned, super::jobs::Standing::Held);
        if !planned.is_never() {
            self.reported.push(slot);
        }
        self.replan();
    }

    /// A running job is being preempted for a reason from outside.
    pub(super) fn preempted(&mut self, id: JobId, until: Timestamp) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        let Some(run) = self.core.jobs.get(slot).run.as_ref() else { return };
        if self.core.jobs.get(slot).hold.is_some() || run.cut.is_some() {
            return;
        }
        let until = until.min(run.planned_end).max(self.core.now + Duration::from_micros(1));
        self.core.drop_plan();
        self.core.cut(slot, until);
        self.core.res.recount(&mut self.core.jobs);
        self.changed();
    }
}
