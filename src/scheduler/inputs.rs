//! What a scheduler does about each message: it keeps the books and notes what the next pass has to look at again.
//!
//! Decides nothing about who starts. Invariant: before anything changes that a kept plan stands on, the plan is dropped
//! ([`Core::drop_plan`](super::core::Core)), so that every reservation remembers where it was.

use super::jobs::{Job, Run, Slot, Standing};
use super::message::{HelloJob, JobRequest, Output};
use super::plan::{Plan, Reserved};
use super::resources::Resources;
use super::{Phase, Scheduler};
use crate::base::{Duration, Epoch, JobId, Priority, TargetId, TargetSet, Timestamp};
use crate::config::{QueuePolicy, SchedulerSettings};
use crate::graph::{Graph, Properties};
use crate::matcher::{Extent, Freed, Holdings, Request, Selection, Shape, Share, Taken, TargetOrder};
use crate::matcher::{apply_policy, is_exclusive};
use crate::planner::{Claim, PoolShare};
use std::sync::Arc;

impl Scheduler {
    pub(super) fn acquire(
        &mut self,
        graph: Arc<Graph>,
        properties: Arc<Properties>,
        members: &TargetSet,
        up: &TargetSet,
        epoch: Epoch,
    ) {
        self.core.order = TargetOrder::new(self.core.settings.match_policy, &graph);
        self.core.res = Resources::new(graph, properties, members, up);
        self.core.epoch = epoch;
        let res = &self.core.res;
        self.core.filters.resolve_all(&res.graph, &res.properties, &res.members);
        self.reclassify();
        self.changed();
    }

    pub(super) fn hello(&mut self, hello: HelloJob) {
        let HelloJob { job, selection, freed, started, overruns, cut, ended } = hello;
        if self.core.jobs.slot(job.id).is_some() {
            return;
        }
        let planned_end =
            self.planned_end_of(cut.unwrap_or(started + job.limit.max(Duration::from_micros(1))), overruns);
        let run = Run {
            selection: Arc::clone(&selection),
            started,
            planned_end,
            overruns,
            cut,
            ended,
            freed: (!freed.is_empty()).then(|| Box::new(freed.clone())),
            held: Claim::new(),
            held_down: Claim::new(),
        };
        self.core.drop_plan();
        let job = self.entry(job);
        let (partial, filter) = (selection.shares.iter().any(|s| matches!(s.extent, Extent::Part(_))), job.filter);
        let slot = self.core.jobs.add_running(Job { run: Some(run), partial, ..job });
        let (held, held_down) = self.core.hold(slot, &selection, !planned_end.is_never(), |t| !freed.contains(t));
        let run = self.core.jobs.get_mut(slot).run.as_mut().expect("it runs");
        (run.held, run.held_down) = (held, held_down);
        self.core.stale_classes |= self.core.filters.release(filter);
        if partial && self.core.holdings.is_none() {
            self.track_holdings();
        }
        self.phase = Phase::Fresh;
        self.dirty = true;
    }

    /// A job as it stands in the table.
    fn entry(&mut self, job: JobRequest) -> Job {
        let match_policy = self.core.settings.match_policy;
        let request = match job.request.shape {
            Shape::Nodes { .. } if is_exclusive(match_policy) => {
                Arc::new(apply_policy(Request::clone(&job.request), match_policy))
            }
            Shape::Nodes { .. } | Shape::Whole { .. } | Shape::Slots { .. } => Arc::clone(&job.request),
        };
        let res = &self.core.res;
        let (filter, new) = self.core.filters.intern(&request, &res.graph, &res.properties, &res.members);
        if new {
            // The rows of a kept profile are per class: it has to be made anew when classes are split.
            self.core.drop_plan();
            let targets = self.core.filters.get(filter).targets.clone();
            self.core.res.split(&targets, &mut self.core.filters, &mut self.core.jobs);
            self.phase = Phase::Fresh;
        }
        let (min, ranged) = demand(&request);
        Job {
            id: job.id,
            class: job.class,
            priority: job.priority,
            submitted: job.submitted,
            limit: job.limit,
            asked: job.request,
            partial: !matches!(request.shape, Shape::Whole { .. }) || !request.shared.is_empty(),
            request,
            filter,
            min,
            ranged,
            planned: Timestamp::NEVER,
            stamp: 0,
            standing: Standing::Waiting,
            reserved: None,
            run: None,
            hold: None,
            short: None,
        }
    }

    /// Keeps book of single cores and gpus from the first job on that asks for such.
    fn track_holdings(&mut self) {
        if !self.core.jobs.any_partial() {
            self.core.holdings = None;
            return;
        }
        let graph = &self.core.res.graph;
        let capacity = |t: u32| crate::matcher::capacity(graph, TargetId(t));
        let bound = graph.target_bound() as u32;
        let known = self.core.holdings.is_some();
        let holdings = self.core.holdings.get_or_insert_with(|| Holdings::new((0..bound).map(capacity)));
        (0..bound).for_each(|t| holdings.add_target(TargetId(t), capacity(t)));
        if known {
            return;
        }
        for (_, job) in self.core.jobs.running() {
            let run = job.run.as_ref().expect("it runs");
            // Of what is held for a job only what nobody is on any more.
            let open = |t| job.hold.as_ref().is_none_or(|hold| !hold.waits.contains_key(&t));
            let still = |s: &&Share| run.freed.as_ref().is_none_or(|f| !f.contains(s.target)) && open(s.target);
            let shares = run.selection.shares.iter().filter(still).cloned().collect();
            holdings.hold(&Selection { shares, nslots: 1, pools: Vec::new() }).expect("running jobs do not overlap");
        }
    }

    pub(super) fn alloc(&mut self, job: JobRequest, out: &mut Vec<Output>) {
        if self.core.jobs.slot(job.id).is_some() {
            return;
        }
        let id = job.id;
        let job = self.entry(job);
        let filter = self.core.filters.get(job.filter);
        let whole = !job.partial && filter.members >= job.min;
        if !whole && self.core.possible(&job.request, &filter.targets).is_err() {
            let reason = self.core.never(&job.request);
            self.core.stale_classes |= self.core.filters.release(job.filter);
            out.push(Output::Deny { job: id, reason });
            return;
        }
        let partial = job.partial;
        let at = self.core.jobs.add_waiting(job);
        if partial {
            self.track_holdings();
        }
        self.dirty = true;
        if let Phase::Known(progress) = &mut self.phase
            && at < progress.next
        {
            match self.core.settings.queue_policy {
                QueuePolicy::ConservativeCompress => progress.restart(),
                QueuePolicy::Fcfs | QueuePolicy::Easy | QueuePolicy::Hybrid | QueuePolicy::Conservative => {
                    self.phase = Phase::Fresh;
                }
            }
        }
    }

    pub(super) fn cancel(&mut self, id: JobId, out: &mut Vec<Output>) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        if self.core.jobs.get(slot).hold.is_some() {
            self.take_hold(slot);
        } else if self.core.jobs.get(slot).run.is_some() {
            return;
        } else {
            self.withdraw(slot);
        }
        out.push(Output::Cancelled { job: id });
    }

    /// Takes a waiting job out.
    fn withdraw(&mut self, slot: Slot) {
        self.core.unreserve(slot);
        let job = self.core.jobs.remove_waiting(slot);
        self.core.stale_classes |= self.core.filters.release(job.filter);
        self.released(true);
    }

    pub(super) fn free(&mut self, now: Timestamp, id: JobId, freed: Freed, last: bool) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        let Some(run) = self.core.jobs.get(slot).run.as_ref() else { return };
        let early = run.planned_end > now;
        let held = |s: &&Share| run.freed.as_ref().is_none_or(|f| !f.contains(s.target));
        let named = |s: &&Share| match &freed {
            Freed::Rest => true,
            Freed::Targets(targets) => last || targets.contains(s.target),
        };
        let all = run.freed.is_none() && (last || freed == Freed::Rest);
        let selection = Arc::clone(&run.selection);
        let some: Vec<Share>;
        let shares: &[Share] = if all {
            &selection.shares
        } else {
            some = selection.shares.iter().filter(held).filter(named).cloned().collect();
            &some
        };
        self.core.give_back(slot, now, shares);
        let run = self.core.jobs.get_mut(slot).run.as_mut().expect("it runs");
        if last || freed == Freed::Rest {
            self.core.jobs.remove_running(slot);
        } else {
            let freed = run.freed.get_or_insert_default();
            freed.extend(shares.iter().map(|s| s.target));
        }
        self.released(early);
    }

    pub(super) fn set_up(&mut self, targets: &TargetSet, up: bool, epoch: Epoch) {
        self.core.drop_plan();
        for t in targets.iter() {
            self.core.res.set_up(t, up, &mut self.core.jobs);
        }
        self.core.epoch = self.core.epoch.max(epoch);
        self.changed();
    }

    pub(super) fn set_graph(&mut self, graph: Arc<Graph>, out: &mut Vec<Output>) {
        self.core.drop_plan();
        self.core.order = TargetOrder::new(self.core.settings.match_policy, &graph);
        self.core.res.set_graph(graph);
        if let Some(holdings) = &mut self.core.holdings {
            let graph = &self.core.res.graph;
            let bound = graph.target_bound() as u32;
            (0..bound).for_each(|t| holdings.add_target(TargetId(t), crate::matcher::capacity(graph, TargetId(t))));
        }
        self.reread(out);
    }

    /// Members, properties or the graph have changed: who may serve is judged anew, and who can never be served is denied.
    pub(super) fn reread(&mut self, out: &mut Vec<Output>) {
        let res = &self.core.res;
        self.core.filters.resolve_all(&res.graph, &res.properties, &res.members);
        self.reclassify();
        self.changed();
        for slot in self.core.jobs.waiting() {
            let job = self.core.jobs.get(slot);
            let targets = &self.core.filters.get(job.filter).targets;
            if self.core.possible(&job.request, targets).is_err() {
                let (id, reason) = (job.id, self.core.never(&job.request));
                self.withdraw(slot);
                out.push(Output::Deny { job: id, reason });
            }
        }
    }

    /// Divides the members into classes anew, by the filters of who waits.
    pub(super) fn reclassify(&mut self) {
        self.core.drop_plan();
        self.core.filters.tidy();
        self.core.stale_classes = false;
        self.core.res.reclassify(&mut self.core.filters, &mut self.core.jobs);
        self.core.jobs.unpark();
        self.replan();
    }

    pub(super) fn set_policy(&mut self, settings: SchedulerSettings, out: &mut Vec<Output>) {
        self.core.drop_plan();
        if is_exclusive(settings.match_policy) != is_exclusive(self.core.settings.match_policy) {
            // What is held may be other than what is asked for then.
            self.core.jobs.holds().to_vec().into_iter().for_each(|slot| self.end_hold(slot, out));
        }
        let before = std::mem::replace(&mut self.core.settings, settings);
        let SchedulerSettings { match_policy, queue_policy, overrun_slack, .. } = self.core.settings;
        if match_policy != before.match_policy {
            self.core.order = TargetOrder::new(match_policy, &self.core.res.graph);
        }
        if queue_policy != QueuePolicy::ConservativeCompress {
            self.core.forget_reservations();
        }
        if is_exclusive(match_policy) != is_exclusive(before.match_policy) {
            self.reinterpret();
        }
        if overrun_slack != before.overrun_slack {
            self.reschedule_overruns();
        }
        self.core.jobs.unpark();
        self.changed();
    }

    /// What waits is asked for in other terms under another match policy.
    fn reinterpret(&mut self) {
        let waiting = self.core.jobs.waiting();
        let taken: Vec<Job> = waiting.into_iter().map(|slot| self.core.jobs.remove_waiting(slot)).collect();
        self.reported.clear();
        for old in taken {
            self.core.stale_classes |= self.core.filters.release(old.filter);
            let new = self.entry(super::views::request_of(&old));
            let job = Job { planned: old.planned, standing: old.standing, ..new };
            let partial = job.partial;
            let id = job.id;
            self.core.jobs.add_waiting(job);
            let slot = self.core.jobs.slot(id).expect("just added");
            self.core.jobs.set_reserved(slot, old.reserved);
            self.reported.push(slot);
            if partial {
                self.track_holdings();
            }
        }
    }

    /// The planned ends of jobs past their limit follow from how often they were put off.
    fn reschedule_overruns(&mut self) {
        let over = |(slot, job): (Slot, &Job)| job.run.as_ref().is_some_and(|r| r.overruns > 0).then_some(slot);
        let slots: Vec<Slot> = self.core.jobs.running().filter_map(over).collect();
        for slot in slots {
            let job = self.core.jobs.get(slot);
            let run = job.run.as_ref().expect("it runs");
            let end = self.planned_end_of(run.cut.unwrap_or(run.started + job.span()), run.overruns);
            self.core.jobs.set_end(slot, end);
        }
        self.core.res.recount(&mut self.core.jobs);
    }

    /// When a job is expected to end that was to end at `first`, and whose end was put off so often.
    fn planned_end_of(&self, first: Timestamp, overruns: u32) -> Timestamp {
        (0..overruns.min(64)).fold(first, |end, n| end + self.slack(n))
    }

    pub(super) fn relimit(&mut self, id: JobId, limit: Duration, out: &mut Vec<Output>) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        let slot = if self.core.jobs.get(slot).hold.is_some() {
            self.end_hold(slot, out);
            let Some(slot) = self.core.jobs.slot(id) else { return };
            slot
        } else {
            slot
        };
        if self.core.jobs.get(slot).run.is_some() {
            self.core.drop_plan();
        } else {
            self.core.unreserve(slot);
        }
        let job = self.core.jobs.get_mut(slot);
        job.limit = limit;
        let span = job.span();
        if let Some(run) = &mut job.run {
            if run.cut.is_some() {
                // It is to be gone by then, whatever its limit.
                return;
            }
            run.overruns = 0;
            let end = run.started + span;
            self.core.jobs.set_end(slot, end);
            self.core.res.recount(&mut self.core.jobs);
        } else {
            self.core.jobs.unpark();
        }
        self.changed();
    }

    pub(super) fn prioritize(&mut self, jobs: &[(JobId, Priority)]) {
        for (id, priority) in jobs {
            let Some(slot) = self.core.jobs.slot(*id) else { continue };
            if self.core.jobs.get(slot).hold.is_some() {
                self.core.jobs.get_mut(slot).priority = *priority;
            } else if self.core.jobs.get(slot).run.is_none() {
                self.core.jobs.reprioritize(slot, *priority);
            }
        }
        self.changed();
    }

    /// What a job holds goes on under another name.
    pub(super) fn rename(&mut self, id: JobId, name: JobId) {
        let Some(slot) = self.core.jobs.slot(id).filter(|slot| self.core.jobs.get(*slot).run.is_some()) else { return };
        self.core.drop_plan();
        self.core.jobs.rename(slot, name);
        self.phase = Phase::Fresh;
        self.dirty = true;
    }

    /// A planned start that a predecessor has reported; its reservation is kept if the policy keeps reservations.
    pub(super) fn promise(&mut self, id: JobId, at: Timestamp, place: Vec<(TargetId, Taken)>, shares: Vec<PoolShare>) {
        let Some(slot) = self.core.jobs.slot(id) else { return };
        let job = self.core.jobs.get_mut(slot);
        if job.run.is_some() {
            return;
        }
        job.planned = at;
        self.reported.push(slot);
        let job = self.core.jobs.get(slot);
        if self.core.settings.queue_policy == QueuePolicy::ConservativeCompress {
            let until = at + job.span();
            self.core.unreserve(slot);
            let reserved = Reserved { start: at, until, claim: None, place: place.into(), shares };
            self.core.jobs.set_reserved(slot, Some(reserved));
            self.replan();
        }
    }

    /// Something has changed that no kept plan knows.
    pub(super) fn changed(&mut self) {
        self.core.sweep |= self.core.jobs.any_reserved();
        self.replan();
    }

    /// The next pass starts from the first job, with a new plan.
    pub(super) fn replan(&mut self) {
        self.phase = Phase::Fresh;
        self.core.drop_plan();
        self.dirty = true;
    }

    /// Something was released; `early`: before its planned end.
    pub(super) fn released(&mut self, early: bool) {
        self.dirty = true;
        if self.core.settings.queue_policy != QueuePolicy::ConservativeCompress {
            self.phase = Phase::Fresh;
            return;
        }
        self.core.sweep |= early && self.core.jobs.any_reserved();
        match (&mut self.phase, &self.core.plan) {
            (Phase::Known(progress), Plan::Counts(_)) if self.core.plan_kept => {
                progress.restart();
            }
            (Phase::Known(_) | Phase::Fresh, _) => self.replan(),
        }
    }
}

/// The least number of whole targets, and whether more may be taken.
fn demand(request: &Request) -> (u32, bool) {
    match &request.shape {
        Shape::Whole { nodes, .. } => {
            let least = nodes.min().saturating_mul(request.shared.places());
            (u32::try_from(least).unwrap_or(u32::MAX), !nodes.is_fixed())
        }
        Shape::Nodes { .. } | Shape::Slots { .. } => (1, false),
    }
}
