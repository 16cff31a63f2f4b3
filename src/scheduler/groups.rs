//! Which classes a plan tells apart: those that some job so far in the pass tells apart, and no others.
//!
//! Classes are cut by the filters of all who wait. In a plan by counts a finer cut may leave no room where a coarser one
//! has some, so that a filter of a job behind would move the starts of jobs before it (I9). A plan by counts is
//! therefore kept per *group* of classes. Groups begin as coarse as the windows allow and are cut by the filter of each
//! job as its turn comes. Reservations that stand by then keep their starts, and are divided among the parts.
//!
//! In the same way the first job that asks for parts of targets turns the plan into one by target: reservations that stand
//! by then keep their starts and are given targets.
//!
//! Invariants: the classes of a group share their windows; groups depend on the windows and on the filters of the jobs
//! that were looked at, not on classes. A job that starts later, beside all reservations, changes neither their starts
//! nor how they are divided: what it leaves free contains what they take. So a scheduler that is rebuilt after that
//! start plans the same (I8). While every class is a group of its own there is nothing to do.

use super::core::Core;
use super::filters::FilterId;
use super::jobs::Slot;
use super::plan::{Plan, PlanClaim};
use super::resources::add_to;
use crate::base::{Duration, TargetId, Timestamp};
use crate::matcher::Extent;
use crate::planner::{Bits, Claim, ClassId, Classes, NO_CLASS, Profile, Take, Wanted, cut};
use std::collections::BTreeMap;

/// The number of a group.
pub(super) type GroupId = u32;

/// A reservation in a plan by groups.
#[derive(Clone, Debug)]
pub(super) struct Entered {
    pub start: Timestamp,
    pub span: Duration,
    pub claim: Claim,
}

/// The groups of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// The group of each class; empty: every class is its own group.
    of: Vec<GroupId>,
    /// The classes of each group.
    classes: Vec<Vec<ClassId>>,
    /// The filters of the jobs that were looked at.
    seen: Vec<FilterId>,
    /// Jobs that have made the plan finer.
    cutters: Vec<Slot>,
    /// One of them has left the order: a pass that begins anew would not see it.
    pub stale: bool,
    /// Reservations in the order in which they were made.
    pub entered: Vec<Entered>,
}

impl Groups {
    /// Every class is its own group, and no job has made the plan finer.
    pub fn clear(&mut self) {
        self.ungroup();
        self.cutters.clear();
        self.stale = false;
    }

    /// Targets are told apart from now on, because of a job.
    fn dissolve(&mut self, slot: Slot) {
        self.ungroup();
        self.cutters.push(slot);
    }

    fn ungroup(&mut self) {
        self.of.clear();
        self.classes.clear();
        self.seen.clear();
        self.entered.clear();
    }

    /// As coarse as the windows allow.
    fn coarsest(&mut self, classes: &Classes) {
        self.clear();
        for class in 0..classes.len() as ClassId {
            let same = |group: &Vec<ClassId>| classes.windows(group[0]) == classes.windows(class);
            let group = self.classes.iter().position(same).unwrap_or_else(|| {
                self.classes.push(Vec::new());
                self.classes.len() - 1
            });
            self.classes[group].push(class);
            self.of.push(group as GroupId);
        }
        if self.classes.len() == classes.len() {
            self.clear();
        }
    }

    /// Whether there are groups of several classes.
    pub fn active(&self) -> bool {
        !self.of.is_empty()
    }

    /// The group of a class.
    #[inline]
    pub fn of(&self, class: ClassId) -> GroupId {
        self.of.get(class as usize).copied().unwrap_or(class)
    }

    /// A class of a group, for what all of them share.
    #[inline]
    pub fn class(&self, group: GroupId) -> ClassId {
        self.classes.get(group as usize).map_or(group, |classes| classes[0])
    }

    /// All classes of a group.
    pub fn classes(&self, group: GroupId) -> &[ClassId] {
        &self.classes[group as usize]
    }

    /// How many groups there are, of so many classes.
    pub fn len(&self, classes: usize) -> usize {
        if self.active() { self.classes.len() } else { classes }
    }

    /// A job has left the order.
    pub fn left(&mut self, slot: Slot) {
        self.stale |= self.cutters.contains(&slot);
    }

    /// A claim on classes as one on groups.
    pub fn claim(&self, claim: &Claim) -> Claim {
        if !self.active() {
            return claim.clone();
        }
        let mut sum = Claim::new();
        claim.iter().for_each(|(class, n)| add_to(&mut sum, self.of(*class), *n));
        sum
    }

    /// Cuts the groups along the classes of a filter; the parts of each former group, what is inside the filter first.
    fn cut(&mut self, filter: FilterId, inside: &[ClassId]) -> Vec<Vec<GroupId>> {
        self.seen.push(filter);
        let mut chosen = vec![false; self.of.len()];
        inside.iter().for_each(|c| chosen[*c as usize] = true);
        let before = self.classes.len();
        let mut parts: Vec<Vec<GroupId>> = (0..before as GroupId).map(|group| vec![group]).collect();
        for (group, parts) in parts.iter_mut().enumerate() {
            let (kept, outside): (Vec<ClassId>, Vec<ClassId>) =
                self.classes[group].iter().partition(|c| chosen[**c as usize]);
            if kept.is_empty() || outside.is_empty() {
                continue;
            }
            let new = self.classes.len() as GroupId;
            outside.iter().for_each(|c| self.of[*c as usize] = new);
            self.classes[group] = kept;
            self.classes.push(outside);
            parts.push(new);
        }
        parts
    }
}

impl Core {
    /// Begins with the coarsest groups, where reservations are made anew in each pass.
    pub fn reset_groups(&mut self) {
        if self.replans() {
            self.groups.coarsest(&self.res.classes);
        } else {
            self.groups.clear();
        }
    }

    /// The groups inside the filter of a job whose turn has come, by their first target.
    pub fn groups_of(&self, slot: Slot) -> Vec<GroupId> {
        let classes = &self.filters.get(self.jobs.get(slot).filter).classes;
        let mut groups: Vec<GroupId> = Vec::with_capacity(classes.len());
        for class in classes {
            let group = self.groups.of(*class);
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// How many of the `n` jobs from a position on bring no filter that is new to the plan.
    pub fn told_apart(&self, from: usize, n: usize) -> usize {
        let active = self.groups.active();
        if !active && !self.jobs.any_partial() {
            return n;
        }
        let new = |slot: &Slot| {
            let job = self.jobs.get(*slot);
            job.partial || active && !self.groups.seen.contains(&job.filter)
        };
        self.jobs.order()[from..from + n].iter().position(new).unwrap_or(n)
    }

    /// A job's turn has come: from now on the plan tells apart what it does.
    pub fn tell_apart(&mut self, slot: Slot, now: Timestamp) {
        if matches!(self.plan, Plan::Targets(_)) {
            return;
        }
        if self.jobs.get(slot).partial {
            self.name_targets(slot, now);
            return;
        }
        let filter = self.jobs.get(slot).filter;
        if !self.groups.active() || self.groups.seen.contains(&filter) {
            return;
        }
        let before = self.groups.classes.len();
        let parts = self.groups.cut(filter, &self.filters.get(filter).classes);
        if self.groups.classes.len() == before {
            return;
        }
        self.groups.cutters.push(slot);
        self.fill_profile(now);
        for mut entry in std::mem::take(&mut self.groups.entered) {
            entry.claim = self.divide(&entry, &parts);
            self.plan.occupy(&PlanClaim::Counts(entry.claim.clone()), entry.start, entry.start + entry.span);
            self.groups.entered.push(entry);
        }
    }

    /// From counts to a plan by target. Each reservation takes, of each group, the first targets that are free at its
    /// start; where there are too few, since jobs change over between targets meanwhile, it keeps all of the group.
    fn name_targets(&mut self, slot: Slot, now: Timestamp) {
        let mut plans = self.target_plans(now);
        for Entered { start, span, claim } in &self.groups.entered {
            let end = *start + *span;
            for (group, n) in claim {
                let targets = self.targets_of(*group);
                let n = *n as usize;
                let free = self.order.iter(&targets).filter(|t| plans.whole_during(*t, *start, end));
                let mut named: Vec<TargetId> = free.take(n).collect();
                if named.len() < n {
                    named = targets.iter().collect();
                }
                for target in named {
                    plans.occupy(target, *start, end, Take::Whole).expect("members are below the bound");
                }
            }
        }
        self.plan = Plan::Targets(Box::new(plans));
        self.groups.dissolve(slot);
    }

    /// The targets of a group.
    fn targets_of(&self, group: GroupId) -> Bits {
        let mut targets = self.res.classes.targets(self.groups.class(group)).clone();
        if self.groups.active() {
            self.groups.classes(group).iter().for_each(|class| targets.or(self.res.classes.targets(*class)));
        }
        targets
    }

    /// What a reservation takes of the parts of its groups. What fits in no way at its start is taken of every part, so
    /// that nobody comes in its way wherever it starts.
    fn divide(&self, entry: &Entered, parts: &[Vec<GroupId>]) -> Claim {
        let Plan::Counts(profile) = &self.plan else { return entry.claim.clone() };
        let mut divided = Claim::new();
        for (group, n) in &entry.claim {
            let parts = parts[*group as usize].as_slice();
            let wanted = Wanted { min: *n, classes: parts, duration: entry.span };
            match profile.fits(&wanted, entry.start, |_, _, _| true) {
                Some(free) if parts.len() > 1 => divided.extend(cut(free, *n)),
                Some(_) | None => divided.extend(parts.iter().map(|part| (*part, *n))),
            }
        }
        divided
    }

    /// A plan by counts of what runs and arrives, without reservations.
    pub fn fill_profile(&mut self, now: Timestamp) {
        let Plan::Counts(profile) = &mut self.plan else { return };
        let mut profile = std::mem::take(profile);
        let (groups, classes) = (&self.groups, &self.res.classes);
        let mut free = vec![0; groups.len(classes.len())];
        for (class, n) in (0..).zip(&self.res.free) {
            free[groups.of(class) as usize] += *n as i32;
        }
        profile.reset(now, free);
        for (end, _, slot) in self.jobs.ends() {
            for (class, n) in &self.jobs.get(*slot).run.as_ref().expect("it runs").held {
                profile.gain((*end).max(now), groups.of(*class), *n);
            }
        }
        for (end, _, slot) in self.jobs.ends() {
            for (class, n) in &self.jobs.get(*slot).run.as_ref().expect("it runs").held_down {
                if let Some(arrival) = classes.arrives(*class, now) {
                    profile.gain((*end).max(arrival), groups.of(*class), *n);
                }
            }
        }
        let shared_down = self.plan_shared(&mut profile, now);
        if classes.bounded() {
            self.plan_arrivals(&mut profile, &shared_down, now);
        }
        self.plan = Plan::Counts(profile);
    }

    /// Enters when targets of which jobs hold parts will be wholly free; how many of each class are not up.
    fn plan_shared(&self, profile: &mut Profile, now: Timestamp) -> Claim {
        let mut down = Claim::new();
        if !self.jobs.any_partial_running() {
            return down;
        }
        let mut until: BTreeMap<TargetId, Timestamp> = BTreeMap::new();
        for (_, job) in self.jobs.running().filter(|(_, job)| job.partial) {
            let run = job.run.as_ref().expect("it runs");
            let still = |t| run.freed.as_ref().is_none_or(|freed| !freed.contains(t));
            for share in run.selection.shares.iter().filter(|s| still(s.target) && s.extent != Extent::Whole) {
                let end = until.entry(share.target).or_insert(run.planned_end);
                *end = run.planned_end.max(*end);
            }
        }
        for (target, end) in until {
            let class = self.res.classes.of(target);
            if class == NO_CLASS {
                continue;
            }
            let here = if self.res.up.contains(target) {
                Some(now)
            } else {
                add_to(&mut down, class, 1);
                self.res.classes.arrives(class, now)
            };
            if let Some(here) = here.filter(|_| !end.is_never()) {
                profile.gain(end.max(here), self.groups.of(class), 1);
            }
        }
        down
    }
}
