//! What all queue policies share: the jobs, the targets, a plan of the future, and the act of starting a job.
//!
//! A plan is made in one of two ways. While every job asks for whole targets, counts per class of equal targets are
//! enough ([`Profile`]), and identical processors give the textbook schedules. As soon as a job asks for parts of
//! targets, every target has a timeline of its own ([`TargetPlans`]). Reservations are carried over in either direction
//! without moving any start.

use super::filters::{Filter, Filters};
use super::groups::{Entered, Groups};
use super::jobs::{Jobs, Run, Slot};
use super::plan::{Plan, PlanClaim, Reserved};
use super::pooled::Pooled;
use super::resources::{Resources, add_to, take_from};
use crate::base::{Epoch, TargetId, Timestamp};
use crate::config::{QueuePolicy, SchedulerSettings};
use crate::matcher::{self, Extent, Holdings, Placement, Selection, Shape, Share, TargetOrder};
use crate::planner::{Capacity, Claim, NO_CLASS, Profile, Take, TargetPlans, Wanted, cut};
use std::sync::Arc;

use super::message::Output;
use super::preempt::PreemptRules;

/// Jobs, targets, plan.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub settings: SchedulerSettings,
    pub jobs: Jobs,
    /// Who may be preempted, and by whom.
    pub rules: Arc<PreemptRules>,
    pub filters: Filters,
    /// Shared pools, and what is reserved of them.
    pub shared: Pooled,
    pub res: Resources,
    /// Which classes the plan tells apart.
    pub groups: Groups,
    pub plan: Plan,
    pub order: TargetOrder,
    /// Which cores and gpus are held; kept only while some job asks for parts of targets.
    pub holdings: Option<Holdings>,
    pub epoch: Epoch,
    /// Whether a filter cuts the members into classes that no waiting job needs any more.
    pub stale_classes: bool,
    /// conservative-compress: whether the plan of the last pass still holds.
    pub plan_kept: bool,
    /// conservative-compress: something was released early since the last sweep.
    pub sweep: bool,
    /// The instant of the last message.
    pub now: Timestamp,
}

impl Core {
    /// Plans anew from what runs; reservations have to be entered again.
    pub fn rebuild_plan(&mut self, now: Timestamp) {
        self.plan_kept = self.settings.queue_policy == QueuePolicy::ConservativeCompress;
        self.shared.clear();
        if self.jobs.any_partial() && !self.replans() {
            self.plan = Plan::Targets(Box::new(self.target_plans(now)));
            return;
        }
        if matches!(self.plan, Plan::Targets(_)) {
            self.plan = Plan::Counts(Profile::default());
        }
        self.fill_profile(now);
    }

    /// Enters the targets that other queues will hand over, and the instants at which windows open. `shared`: how many of
    /// each class come later, since jobs hold parts of them.
    pub fn plan_arrivals(&self, profile: &mut Profile, shared: &Claim, now: Timestamp) {
        for opening in self.res.classes.openings(now) {
            profile.pin(opening);
        }
        for class in 0..self.res.classes.len() as u32 {
            if let Some(from) = self.res.classes.arrives(class, now) {
                let shared = shared.iter().find(|(c, _)| *c == class).map_or(0, |(_, n)| *n);
                profile.gain(from, self.groups.of(class), self.res.arriving(class) - shared);
            }
        }
    }

    /// The plan does not hold any more: reservations are kept in mind and entered in the next one.
    pub fn drop_plan(&mut self) {
        if !self.plan_kept {
            return;
        }
        self.plan_kept = false;
        self.shared.clear();
        if !self.jobs.any_reserved() {
            return;
        }
        for (slot, place) in self.places() {
            if let Some(reserved) = &mut self.jobs.get_mut(slot).reserved {
                reserved.claim = None;
                reserved.place = place;
            }
        }
    }

    /// Forgets all reservations.
    pub fn forget_reservations(&mut self) {
        for at in 0..self.jobs.order().len() {
            let slot = self.jobs.order()[at];
            self.jobs.set_reserved(slot, None);
        }
    }

    pub fn target_plans(&self, now: Timestamp) -> TargetPlans {
        let graph = &self.res.graph;
        let capacity = |t: u32| {
            let target = graph.target(TargetId(t));
            target.map_or(Capacity::NONE, |x| Capacity { cores: x.cores(), gpus: x.gpus() })
        };
        let mut plans = TargetPlans::new((0..graph.target_bound() as u32).map(capacity));
        plans.advance(now);
        for t in self.res.members.iter().filter(|t| self.res.up.contains(*t)) {
            plans.set_usable(t, true).expect("members are below the bound");
        }
        plans.set_windows(&self.res.windows, self.settings.release_margin);
        for (slot, job) in self.jobs.running() {
            let run = job.run.as_ref().expect("it runs");
            for share in &run.selection.shares {
                // What is held for another is planned for that one.
                let mine = share.extent != Extent::Whole || self.res.holder(share.target) == slot;
                if mine && run.freed.as_ref().is_none_or(|f| !f.contains(share.target)) {
                    let end = run.planned_end.max(now);
                    plans.occupy(share.target, now, end, take_of(share)).expect("held targets are below the bound");
                }
            }
        }
        plans
    }

    /// Whether the plan is of the kind that the jobs need.
    pub fn plan_fits_jobs(&self) -> bool {
        self.replans() || matches!(self.plan, Plan::Targets(_)) == self.jobs.any_partial()
    }

    /// Whether each pass makes all reservations anew. Its plan begins by counts, coarsely, and becomes finer as the jobs
    /// need it (`groups`).
    pub fn replans(&self) -> bool {
        matches!(self.settings.queue_policy, QueuePolicy::Hybrid | QueuePolicy::Conservative)
    }

    pub(super) fn filter(&self, slot: Slot) -> &Filter {
        self.filters.get(self.jobs.get(slot).filter)
    }

    /// The earliest start of a waiting job under the plan, and what is free for it then.
    pub fn earliest(&self, slot: Slot, now: Timestamp) -> Option<(Timestamp, PlanClaim)> {
        let (job, filter) = (self.jobs.get(slot), self.filter(slot));
        match &self.plan {
            Plan::Counts(profile) => {
                let admits = |g, s, e| self.admits(self.groups.class(g), s, e);
                let found = |classes: &[u32]| {
                    profile.earliest(&Wanted { min: job.min, classes, duration: job.span() }, now, admits)
                };
                let found = if self.groups.active() { found(&self.groups_of(slot)) } else { found(&filter.classes) };
                found.map(|(start, claim)| (start, PlanClaim::Counts(claim)))
            }
            Plan::Targets(plans) if job.pooled() => self.earliest_pooled(slot, plans, now),
            Plan::Targets(plans) => {
                let shape = &job.request.shape;
                let found = matcher::earliest(plans, shape, &filter.targets, &self.order, job.span(), now)?;
                let start = found.start;
                Some((start, PlanClaim::Targets { placement: found, slot: slot_of(shape), shares: Vec::new() }))
            }
        }
    }

    /// What is free for a waiting job from exactly `at` on, if enough.
    pub fn fits(&self, slot: Slot, at: Timestamp) -> Option<PlanClaim> {
        let (job, filter) = (self.jobs.get(slot), self.filter(slot));
        match &self.plan {
            Plan::Counts(profile) => {
                let admits = |g, s, e| self.admits(self.groups.class(g), s, e);
                let found =
                    |classes: &[u32]| profile.fits(&Wanted { min: job.min, classes, duration: job.span() }, at, admits);
                let found = if self.groups.active() { found(&self.groups_of(slot)) } else { found(&filter.classes) };
                found.map(PlanClaim::Counts)
            }
            Plan::Targets(plans) if job.pooled() => self.fits_pooled(slot, plans, at),
            Plan::Targets(plans) => {
                let shape = &job.request.shape;
                let placement = matcher::fits(plans, shape, &filter.targets, &self.order, at, at + job.span())?;
                Some(PlanClaim::Targets { placement, slot: slot_of(shape), shares: Vec::new() })
            }
        }
    }

    /// Whether a window of the class holds a run from `start` to `end` and the release after it.
    #[inline]
    pub fn admits(&self, class: u32, start: Timestamp, end: Timestamp) -> bool {
        self.res.classes.admits(class, start, end + self.settings.release_margin)
    }

    /// Enters a reservation for a waiting job, taking no more than it needs.
    pub fn occupy(&mut self, slot: Slot, start: Timestamp, claim: PlanClaim) -> PlanClaim {
        let claim = match claim {
            PlanClaim::Counts(free) => PlanClaim::Counts(cut(free, self.jobs.get(slot).min)),
            PlanClaim::Targets { placement, slot: size, shares } => {
                let placement = self.least(slot, start, &placement).unwrap_or(placement);
                PlanClaim::Targets { placement, slot: size, shares }
            }
        };
        let span = self.jobs.get(slot).span();
        self.enter(slot, start, &claim);
        if let PlanClaim::Counts(claim) = &claim
            && self.replans()
        {
            self.groups.entered.push(Entered { start, span, claim: claim.clone() });
        }
        claim
    }

    /// Enters a reservation in the plan, and what it takes of shared pools.
    fn enter(&mut self, slot: Slot, start: Timestamp, claim: &PlanClaim) {
        let end = start + self.jobs.get(slot).span();
        self.plan.occupy(claim, start, end);
        if let PlanClaim::Targets { shares, .. } = claim {
            self.shared.reserve(slot, start, end, shares);
        }
    }

    /// Where a reservation that was found at `found` holds its place from `start` on, in a plan by target.
    fn least(&self, slot: Slot, start: Timestamp, found: &Placement) -> Option<Placement> {
        let job = self.jobs.get(slot);
        let Plan::Targets(plans) = &self.plan else { return None };
        let end = start + job.span();
        if job.pooled() {
            return self.least_pooled(slot, plans, found, start, end);
        }
        matcher::reserve(plans, &job.request.shape, &self.filter(slot).targets, &self.order, start, end)
    }

    /// Enters a reservation that is kept for later passes.
    pub fn reserve(&mut self, slot: Slot, start: Timestamp, claim: PlanClaim) {
        let claim = self.occupy(slot, start, claim);
        self.keep(slot, start, claim);
    }

    /// Enters a reservation at exactly the place that it had.
    pub fn reserve_again(&mut self, slot: Slot, start: Timestamp, claim: PlanClaim) {
        self.enter(slot, start, &claim);
        self.keep(slot, start, claim);
    }

    fn keep(&mut self, slot: Slot, start: Timestamp, claim: PlanClaim) {
        let until = start + self.jobs.get(slot).span();
        let shares = match &claim {
            PlanClaim::Counts(_) => Vec::new(),
            PlanClaim::Targets { shares, .. } => shares.clone(),
        };
        let reserved = Reserved { start, until, claim: Some(claim), place: Box::default(), shares };
        self.jobs.set_reserved(slot, Some(reserved));
    }

    /// Takes a waiting job's reservation out of the plan.
    pub fn unreserve(&mut self, slot: Slot) -> Option<Reserved> {
        self.shared.unreserve(slot);
        let reserved = self.jobs.set_reserved(slot, None)?;
        if let Some(claim) = &reserved.claim {
            self.plan.vacate(claim, reserved.start, reserved.until);
        }
        Some(reserved)
    }

    /// Starts a waiting job on what the plan says is free for it, and enters it in the plan.
    pub fn start_planned(&mut self, slot: Slot, now: Timestamp, claim: PlanClaim, out: &mut Vec<Output>) {
        match claim {
            PlanClaim::Counts(caps) => {
                let free = caps.iter().map(|(_, n)| n).sum();
                self.start_whole(slot, now, self.amount(slot, free), &caps, out);
                let run = self.jobs.get(slot).run.as_ref().expect("it runs");
                let (held, end) = (PlanClaim::Counts(self.groups.claim(&run.held)), run.planned_end);
                self.plan.occupy(&held, now, end);
            }
            PlanClaim::Targets { placement, slot: size, shares } => {
                let shape = &self.jobs.get(slot).request.shape;
                let holdings = self.holdings.as_ref().expect("kept while some job asks for parts");
                let selection = matcher::realise(&placement, shape, holdings, &self.order);
                let selection = selection.expect("the plan knows everything that is held");
                self.begin(slot, now, Selection { pools: shares.clone(), ..selection }, out);
                let end = self.jobs.get(slot).run.as_ref().expect("it runs").planned_end;
                self.shared.start(now, end, &shares);
                self.plan.occupy(&PlanClaim::Targets { placement, slot: size, shares }, now, end);
            }
        }
    }

    /// How many targets a job takes of so many free ones.
    #[inline]
    pub fn amount(&self, slot: Slot, free: u32) -> u32 {
        let job = self.jobs.get(slot);
        match &job.request.shape {
            Shape::Whole { nodes, .. } if job.ranged => nodes.largest_at_most(free.into()).unwrap_or(0) as u32,
            _ => job.min,
        }
    }

    /// Starts a waiting job on `n` whole idle targets, of each class (in a plan by groups: group) at most what `caps`
    /// says.
    pub fn start_whole(&mut self, slot: Slot, now: Timestamp, n: u32, caps: &Claim, out: &mut Vec<Output>) {
        let shares = self.pick(slot, n, caps);
        let job = self.jobs.get(slot);
        let per_node = match job.request.shape {
            Shape::Whole { slots_per_node, .. } => slots_per_node,
            Shape::Nodes { .. } | Shape::Slots { .. } => 1,
        };
        let selection = Selection { shares, nslots: n.saturating_mul(per_node).max(1), pools: Vec::new() };
        self.begin(slot, now, selection, out);
    }

    /// `n` idle targets that may serve the job, in the order of the match policy.
    fn pick(&self, slot: Slot, n: u32, caps: &Claim) -> Vec<Share> {
        let filter = self.filter(slot);
        let mut shares = Vec::with_capacity(n as usize);
        let share = |target| Share { target, extent: Extent::Whole };
        // A bound on what can be taken of a group of classes is one on the classes.
        let bound = filter.classes.iter().any(|c| {
            let group = self.groups.of(*c);
            let cap = caps.iter().find(|(g, _)| *g == group).map_or(0, |(_, n)| *n);
            cap < self.free_in(group)
        });
        if self.order.is_ascending() && (!bound || filter.classes.len() == 1) {
            let candidates = self.res.idle.iter_and(&filter.targets);
            shares.extend(candidates.take(n as usize).map(share));
            return shares;
        }
        let mut candidates = self.res.idle.clone();
        candidates.and(&filter.targets);
        let mut left = caps.clone();
        let allowed = self.order.iter(&candidates).filter(|t| {
            let group = self.groups.of(self.res.classes.of(*t));
            let cap = left.iter_mut().find(|(g, cap)| *g == group && *cap > 0);
            cap.map(|(_, cap)| *cap -= 1).is_some()
        });
        shares.extend(allowed.take(n as usize).map(share));
        debug_assert_eq!(shares.len(), n as usize, "the counts promised more than is idle");
        shares.sort_unstable_by_key(|s| s.target);
        shares
    }

    /// How many targets of a group are idle.
    fn free_in(&self, group: u32) -> u32 {
        if self.groups.active() {
            self.groups.classes(group).iter().map(|c| self.res.free[*c as usize]).sum()
        } else {
            self.res.free[group as usize]
        }
    }

    /// Hands a selection to a waiting job.
    fn begin(&mut self, slot: Slot, now: Timestamp, selection: Selection, out: &mut Vec<Output>) {
        let job = self.jobs.get(slot);
        let (id, span) = (job.id, job.span());
        let selection = Arc::new(selection);
        let (held, held_down) = self.hold(slot, &selection, !span.is_infinite(), |_| true);
        let run = Run {
            selection: Arc::clone(&selection),
            started: now,
            planned_end: now + span,
            overruns: 0,
            cut: None,
            ended: false,
            freed: None,
            held,
            held_down,
        };
        let filter = self.jobs.get(slot).filter;
        self.jobs.start(slot, run);
        self.groups.left(slot);
        self.stale_classes |= self.filters.release(filter);
        out.push(Output::Alloc { job: id, selection, epoch: self.epoch });
    }

    /// Marks the shares for which `still` holds as held; how many targets of each class that are, up and down.
    pub fn hold(
        &mut self,
        slot: Slot,
        selection: &Selection,
        finite: bool,
        still: impl Fn(TargetId) -> bool,
    ) -> (Claim, Claim) {
        let (mut held, mut held_down) = (Claim::new(), Claim::new());
        for share in selection.shares.iter().filter(|s| still(s.target)) {
            match &share.extent {
                Extent::Whole => {
                    self.res.take(share.target, slot, finite);
                    let class = self.res.classes.of(share.target);
                    if class != NO_CLASS {
                        let here = self.res.up.contains(share.target);
                        add_to(if here { &mut held } else { &mut held_down }, class, 1);
                    }
                }
                Extent::Part(_) => self.res.share(share.target),
            }
        }
        if let Some(holdings) = &mut self.holdings {
            let shares = selection.shares.iter().filter(|s| still(s.target)).cloned().collect();
            holdings.hold(&Selection { shares, nslots: 1, pools: Vec::new() }).expect("what is granted was free");
        }
        (held, held_down)
    }

    /// A running job gives shares back.
    pub fn give_back(&mut self, slot: Slot, now: Timestamp, shares: &[Share]) {
        let run = self.jobs.get(slot).run.as_ref().expect("it runs");
        let (finite, end, all_up) = (!run.planned_end.is_never(), run.planned_end, run.held_down.is_empty());
        if !all_up {
            // What it gives back arrives at another time than the plan knows.
            self.drop_plan();
        }
        let (mut returned, mut returned_down) = (Claim::new(), Claim::new());
        for share in shares {
            let t = share.target;
            if share.extent == Extent::Whole && self.res.holder(t) != slot {
                self.free_for_hold(slot, share);
                continue;
            }
            match &share.extent {
                Extent::Whole => {
                    let class = self.res.classes.of(t);
                    if class != NO_CLASS {
                        let here = self.res.up.contains(t);
                        add_to(if here { &mut returned } else { &mut returned_down }, class, 1);
                    }
                    self.res.give_back(t, finite);
                }
                Extent::Part(_) => self.res.unshare(t),
            }
            if let Some(holdings) = &mut self.holdings {
                holdings.release(share).expect("what is given back was held");
            }
        }
        if self.plan_kept && matches!(self.plan, Plan::Counts(_)) {
            self.plan.vacate(&PlanClaim::Counts(returned.clone()), now, end);
        }
        let run = self.jobs.get_mut(slot).run.as_mut().expect("it runs");
        for (class, n) in returned {
            take_from(&mut run.held, class, n);
        }
        for (class, n) in returned_down {
            take_from(&mut run.held_down, class, n);
        }
    }
}

/// What a share takes of its target, for the plan.
pub(super) fn take_of(share: &Share) -> Take {
    match &share.extent {
        Extent::Whole => Take::Whole,
        Extent::Part(part) => Take::Amount(Capacity { cores: part.cores.len(), gpus: part.gpus.len() }),
    }
}

/// What one slot of a request holds.
pub(super) fn slot_of(shape: &Shape) -> Capacity {
    match shape {
        Shape::Whole { at_least, .. } => *at_least,
        Shape::Nodes { slot, .. } | Shape::Slots { slot, .. } => *slot,
    }
}
