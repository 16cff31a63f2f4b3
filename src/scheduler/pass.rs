//! One pass over the waiting jobs, by queue policy.
//!
//! A pass looks at the jobs in order. What it has found out stays valid until something is released, comes up, goes down,
//! changes its place or overruns: jobs that arrive meanwhile at the end of the order are then looked at alone, and a
//! pass whose budget was spent goes on where it stopped. Both are the same continuation ([`Progress`]).
//!
//! | policy | the first job that cannot start | the jobs behind it |
//! |---|---|---|
//! | fcfs | ends the pass; what it takes of shared pools is reserved | wait |
//! | easy | is reserved | may start if they do not delay it |
//! | hybrid | is reserved, and so are the next, `reservation-depth` in all | may start if they delay none |
//! | conservative | is reserved, and so are all others | may start if they delay none |
//! | conservative-compress | see `compress` | |
//!
//! A job that nothing planned will ever let fit is set aside with its reason and counts for no depth.

use super::core::Core;
use super::jobs::{Slot, Standing};
use super::message::{Output, PassEnd};
use super::plan::{Plan, PlanClaim};
use super::preempt::{Preemption, Verdict};
use super::window::Head;
use crate::base::Timestamp;
use crate::config::QueuePolicy;
use crate::planner::Claim;
use smallvec::SmallVec;

/// How far a pass has come.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// The position in the order at which it goes on.
    pub next: usize,
    /// How many jobs count for the queue-depth so far: those looked at that still wait.
    pub seen: u32,
    /// How many reservations there are.
    pub reserved: u32,
    /// The reservation of easy.
    pub head: Option<Head>,
    /// Whether nothing may start any more (fcfs).
    pub closed: bool,
    /// The earliest start that is reserved, or a window that opens: from then on nothing of this holds.
    pub first_start: Timestamp,
    /// The jobs with reservations, in order.
    pub planned: Vec<(Slot, Timestamp)>,
    /// conservative-compress: whether a job was set aside, whether a reservation moved after that, so that the job has to
    /// be looked at again, and whether that is being done.
    pub aside: bool,
    pub again: bool,
    pub looking_again: bool,
}

impl Progress {
    /// From the first job on, with the plan as it stands.
    pub fn restart(&mut self) {
        (self.next, self.seen) = (0, 0);
        (self.aside, self.again, self.looking_again) = (false, false, false);
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            next: 0,
            seen: 0,
            reserved: 0,
            head: None,
            closed: false,
            first_start: Timestamp::NEVER,
            planned: Vec::new(),
            aside: false,
            again: false,
            looking_again: false,
        }
    }
}

/// One run of a pass.
pub(super) struct Pass<'a> {
    pub core: &'a mut Core,
    pub progress: &'a mut Progress,
    pub now: Timestamp,
    pub budget: usize,
    pub out: &'a mut Vec<Output>,
    pub examined: usize,
    /// Positions of the jobs that have started, ascending.
    pub started: SmallVec<[usize; 16]>,
    /// The job that preempts others: with it the run ends, and the next begins anew.
    pub preempts: Option<(Slot, Preemption)>,
}

impl Pass<'_> {
    /// Looks at the jobs from where the progress stands; `fresh`: from the start, with a new plan.
    pub fn run(&mut self, fresh: bool) -> PassEnd {
        let by_counts = !self.core.jobs.any_partial();
        if fresh {
            self.core.reset_groups();
        }
        if self.core.res.classes.bounded() {
            self.until(self.core.res.classes.next_opening(self.now).unwrap_or(Timestamp::NEVER));
            if self.core.settings.queue_depth.is_some() {
                // Who becomes longer than every window lets others come within the depth.
                let order = self.core.jobs.order().iter();
                self.until(order.map(|slot| self.core.next_turn(*slot, self.now)).min().unwrap_or(Timestamp::NEVER));
            }
        }
        let end = match self.core.settings.queue_policy {
            QueuePolicy::Fcfs | QueuePolicy::Easy if by_counts => self.with_head(),
            QueuePolicy::Fcfs | QueuePolicy::Easy => self.with_plan(fresh, 1),
            QueuePolicy::Hybrid => self.with_plan(fresh, self.core.settings.reservation_depth),
            QueuePolicy::Conservative => self.with_plan(fresh, u32::MAX),
            QueuePolicy::ConservativeCompress => self.compress(fresh),
        };
        self.forget_started();
        end
    }

    /// Takes the jobs that have started out of the order; how many there were.
    pub(super) fn forget_started(&mut self) -> usize {
        let started = std::mem::take(&mut self.started);
        self.core.jobs.forget_started(&started);
        self.progress.next -= started.partition_point(|at| *at < self.progress.next);
        started.len()
    }

    /// Nothing that was found out holds from this instant on.
    pub(super) fn until(&mut self, at: Timestamp) {
        self.progress.first_start = self.progress.first_start.min(at);
    }

    /// Whether the first job that cannot start preempts others, which ends the run. `planned`: when it starts without.
    pub(super) fn preempt(&mut self, slot: Slot, planned: Timestamp) -> bool {
        if !self.core.rules.any() {
            return false;
        }
        match self.core.preempt(slot, self.now, planned) {
            Verdict::Preempt(what) => {
                self.preempts = Some((slot, what));
                true
            }
            Verdict::Not { until } => {
                self.until(until);
                false
            }
        }
    }

    /// fcfs: nothing may overtake a job.
    fn close(&mut self, slot: Slot) {
        self.core.stand(slot, self.now, Standing::Waiting, self.out);
        self.progress.closed = true;
        // In time a window may end for it, so that it is in nobody's way any more.
        self.until(self.core.next_turn(slot, self.now));
    }

    /// Whether the pass ends before the next job, and how.
    fn stop(&self) -> Option<PassEnd> {
        let depth = self.core.settings.queue_depth.unwrap_or(u32::MAX);
        if self.progress.next >= self.core.jobs.order().len() || self.progress.seen >= depth || self.progress.closed {
            Some(PassEnd::Done)
        } else if self.examined >= self.budget {
            Some(PassEnd::BudgetSpent)
        } else if self.lacks_pools(self.core.jobs.order()[self.progress.next]) {
            Some(PassEnd::NeedsShared)
        } else {
            None
        }
    }

    /// Whether a job takes of shared pools and they are not at hand.
    fn lacks_pools(&self, slot: Slot) -> bool {
        !self.core.shared.at_hand() && self.core.jobs.get(slot).pooled()
    }

    /// fcfs and easy while all jobs ask for whole targets.
    fn with_head(&mut self) -> PassEnd {
        let mut idle: u32 = self.core.res.free.iter().sum();
        loop {
            if let Some(end) = self.stop() {
                return end;
            }
            let at = self.progress.next;
            if self.progress.head.is_some() && self.skip_larger(idle) {
                continue;
            }
            let slot = self.core.jobs.order()[at];
            self.progress.next += 1;
            self.examined += 1;
            self.progress.seen += 1;
            if let Some(caps) = self.free_now(slot) {
                self.start(at, slot, &caps);
                idle = self.core.res.free.iter().sum();
            } else if self.progress.head.is_none() && self.block(slot) {
                return PassEnd::Done;
            }
        }
    }

    /// Steps over the jobs that need more than all idle targets, as far as depth and budget go; whether any was.
    fn skip_larger(&mut self, idle: u32) -> bool {
        let depth = self.core.settings.queue_depth.unwrap_or(u32::MAX) - self.progress.seen;
        let most = (self.budget - self.examined).min(depth as usize);
        let need = &self.core.jobs.need()[self.progress.next..];
        let need = &need[..need.len().min(most)];
        let skipped = need.iter().position(|n| *n <= idle).unwrap_or(need.len());
        // Who is the first to bring a filter has to be looked at, whoever has started before.
        let skipped = self.core.told_apart(self.progress.next, skipped);
        self.progress.next += skipped;
        self.progress.seen += skipped as u32;
        self.examined += skipped;
        skipped > 0
    }

    /// How many targets of each class a job may take now, if that is enough.
    fn free_now(&self, slot: Slot) -> Option<Claim> {
        let job = self.core.jobs.get(slot);
        let classes = &self.core.filters.get(job.filter).classes;
        let end = self.now + job.span();
        let head = self.progress.head.as_ref().filter(|h| end > h.start);
        let bounded = self.core.res.classes.bounded();
        let mut sum = 0;
        let mut caps = Claim::new();
        for class in classes {
            let mut n = self.core.res.free[*class as usize];
            if let Some(left) = head.and_then(|h| h.left(*class)) {
                n = n.min(left);
            }
            if n > 0 && (!bounded || self.core.admits(*class, self.now, end)) {
                sum += n;
                caps.push((*class, n));
            }
        }
        (sum >= job.min).then_some(caps)
    }

    fn start(&mut self, at: usize, slot: Slot, caps: &Claim) {
        let n = self.core.amount(slot, caps.iter().map(|(_, n)| n).sum());
        self.core.start_whole(slot, self.now, n, caps, self.out);
        self.started.push(at);
        self.progress.seen -= 1;
        let run = self.core.jobs.get(slot).run.as_ref().expect("it has started");
        if let Some(head) = &mut self.progress.head
            && run.planned_end > head.start
        {
            head.used(&run.held);
        }
    }

    /// The first job that cannot start: it preempts others, which ends the run; or it is reserved, or in the way, or set
    /// aside.
    fn block(&mut self, slot: Slot) -> bool {
        let head = if self.core.may_fit(slot) { self.core.shadow(slot, self.now) } else { None };
        if self.preempt(slot, head.as_ref().map_or(Timestamp::NEVER, |head| head.start)) {
            return true;
        }
        if self.core.settings.queue_policy == QueuePolicy::Fcfs {
            if head.is_some() || self.core.would_fit(slot, self.now) {
                self.close(slot);
            } else {
                self.set_aside(slot);
            }
            return false;
        }
        match head {
            Some(head) => {
                self.plan(slot, head.start);
                self.progress.head = Some(head);
            }
            None => self.set_aside(slot),
        }
        false
    }

    /// Notes a reservation.
    pub(super) fn plan(&mut self, slot: Slot, start: Timestamp) {
        self.core.stand(slot, self.now, Standing::Waiting, self.out);
        self.progress.reserved += 1;
        self.until(start);
        self.progress.planned.push((slot, start));
    }

    /// Nothing planned will ever let the job fit: it counts for no depth. One that is longer than every window leaves
    /// the order until the windows change.
    pub(super) fn set_aside(&mut self, slot: Slot) {
        self.progress.seen -= 1;
        let standing = self.core.hopeless(slot, self.now);
        self.core.stand(slot, self.now, standing, self.out);
        if standing == Standing::ExceedsWindow {
            self.progress.next -= 1;
            // Nothing before this position has left the order yet.
            self.core.jobs.park(self.progress.next);
        }
    }

    /// All policies that enter reservations in a plan, `depth` of them.
    fn with_plan(&mut self, fresh: bool, depth: u32) -> PassEnd {
        if fresh {
            self.core.rebuild_plan(self.now);
        }
        let fcfs = self.core.settings.queue_policy == QueuePolicy::Fcfs;
        loop {
            if let Some(end) = self.stop() {
                return end;
            }
            let reserving = self.progress.reserved < depth;
            if !reserving && matches!(self.core.plan, Plan::Counts(_)) {
                let idle = self.core.res.free.iter().sum();
                if self.skip_larger(idle) {
                    continue;
                }
            }
            let at = self.progress.next;
            let slot = self.core.jobs.order()[at];
            self.progress.next += 1;
            self.examined += 1;
            self.progress.seen += 1;
            self.core.tell_apart(slot, self.now);
            let found = if reserving {
                self.core.earliest(slot, self.now)
            } else {
                self.core.fits(slot, self.now).map(|claim| (self.now, claim))
            };
            let start = found.as_ref().map_or(Timestamp::NEVER, |(start, _)| *start);
            if self.progress.reserved == 0 && start > self.now && self.preempt(slot, start) {
                return PassEnd::Done;
            }
            let pooled = self.core.jobs.get(slot).pooled();
            if pooled && found.as_ref().is_none_or(|(start, _)| *start > self.now) {
                self.core.note_limit(slot, self.now);
            }
            match found {
                Some((start, claim)) if start <= self.now => self.start_planned(at, slot, claim),
                None if !reserving => {}
                Some((start, claim)) if fcfs => {
                    if pooled {
                        // Behind it nothing starts here; but other queues would take of the pools again and again.
                        self.core.occupy(slot, start, claim);
                        self.until(start);
                    }
                    self.close(slot);
                }
                Some((start, claim)) => {
                    self.core.occupy(slot, start, claim);
                    self.plan(slot, start);
                }
                None if fcfs && self.core.would_fit(slot, self.now) => self.close(slot),
                None => self.set_aside(slot),
            }
        }
    }

    pub(super) fn start_planned(&mut self, at: usize, slot: Slot, claim: PlanClaim) {
        self.core.start_planned(slot, self.now, claim, self.out);
        self.started.push(at);
        // Who starts is no pending job any more and counts for no depth; a pass from the start would not see it.
        self.progress.seen -= u32::from(at < self.progress.next);
    }
}
