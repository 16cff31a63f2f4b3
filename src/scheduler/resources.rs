//! The targets of one scheduler: who is a member, who is up, who holds what, and how many of each class are free.
//!
//! Decides nothing; keeps the numbers that every pass needs, so that none is recomputed. Invariants: `idle` = members
//! that are up and held by nobody; `free[c]` = idle targets of class c; `finite[c]` = `free[c]` plus the up targets of
//! class c held by jobs with a finite planned end.

use super::filters::Filters;
use super::jobs::{Jobs, NO_SLOT, Slot};
use crate::base::{TargetId, TargetSet, Windows};
use crate::graph::{Graph, Properties};
use crate::planner::{Bits, Classes, NO_CLASS};
use std::sync::Arc;

/// More than one job, or a part of the target only.
pub(super) const SHARED: Slot = NO_SLOT - 1;

/// The targets of one scheduler.
#[derive(Clone, Debug)]
pub(super) struct Resources {
    pub graph: Arc<Graph>,
    pub properties: Arc<Properties>,
    pub windows: Arc<Windows>,
    pub members: Bits,
    pub up: Bits,
    /// Up members that nobody holds.
    pub idle: Bits,
    pub classes: Classes,
    /// Idle targets per class.
    pub free: Vec<u32>,
    /// Idle targets and those that return by a known time, per class.
    pub finite: Vec<u32>,
    /// Members that are not up, per class.
    pub not_up: Vec<u32>,
    /// Of these, how many a job holds whole.
    pub held_down: Vec<u32>,
    /// Who holds a target: a slot, [`NO_SLOT`] or [`SHARED`].
    holder: Vec<Slot>,
    /// For shared targets: how many jobs hold a part.
    sharers: Vec<u16>,
}

impl Resources {
    pub fn new(graph: Arc<Graph>, properties: Arc<Properties>, members: &TargetSet, up: &TargetSet) -> Self {
        let bound = graph.target_bound();
        let members = Bits::from_set(members, bound);
        let up = Bits::from_set(up, bound);
        let mut idle = members.clone();
        idle.and(&up);
        Self {
            windows: Arc::default(),
            classes: Classes::default(),
            free: vec![],
            finite: vec![],
            not_up: vec![],
            held_down: vec![],
            holder: vec![NO_SLOT; bound],
            sharers: vec![0; bound],
            graph,
            properties,
            members,
            up,
            idle,
        }
    }

    /// Room for the targets of a new version of the graph.
    pub fn set_graph(&mut self, graph: Arc<Graph>) {
        let bound = graph.target_bound();
        self.members.grow(bound);
        self.up.grow(bound);
        self.idle.grow(bound);
        self.holder.resize(bound, NO_SLOT);
        self.sharers.resize(bound, 0);
        self.graph = graph;
    }

    /// Reads members anew.
    pub fn set_members(&mut self, members: &TargetSet) {
        self.members = Bits::from_set(members, self.graph.target_bound());
        self.idle.clear();
        for t in self.members.iter() {
            if self.up.contains(t) && self.holder[t.index()] == NO_SLOT {
                self.idle.insert(t);
            }
        }
    }

    /// Divides the members into classes anew and counts everything from scratch.
    pub fn reclassify(&mut self, filters: &mut Filters, jobs: &mut Jobs) {
        self.classes = Classes::build(&self.members, self.graph.target_bound(), &self.windows, filters.bitmaps());
        filters.assign_classes(&self.classes);
        self.recount(jobs);
    }

    /// Splits the classes by a new filter, counting anew where that changed any.
    pub fn split(&mut self, filter: &Bits, filters: &mut Filters, jobs: &mut Jobs) {
        if self.classes.split(filter) {
            self.recount(jobs);
        }
        filters.assign_classes(&self.classes);
    }

    /// Counts free and held targets per class from scratch.
    pub fn recount(&mut self, jobs: &mut Jobs) {
        self.free = vec![0; self.classes.len()];
        for t in self.idle.iter() {
            self.free[self.classes.of(t) as usize] += 1;
        }
        self.finite = self.free.clone();
        let not_up = |c: u32| {
            let targets = self.classes.targets(c);
            (targets.len() - targets.and_len(&self.up)) as u32
        };
        self.not_up = (0..self.classes.len() as u32).map(not_up).collect();
        self.held_down = vec![0; self.classes.len()];
        let running: Vec<Slot> = jobs.running().map(|(slot, _)| slot).collect();
        for slot in running {
            let run = jobs.get_mut(slot).run.as_mut().expect("a running job");
            run.held.clear();
            run.held_down.clear();
            let targets: Vec<TargetId> = run.targets().collect();
            for t in targets {
                let class = self.classes.of(t);
                if class == NO_CLASS || self.holder[t.index()] != slot {
                    continue;
                }
                if !self.up.contains(t) {
                    add_to(&mut run.held_down, class, 1);
                    self.held_down[class as usize] += 1;
                    continue;
                }
                add_to(&mut run.held, class, 1);
                self.finite[class as usize] += u32::from(!run.planned_end.is_never());
            }
        }
    }

    /// A job takes a whole idle target; its class, unless it is no member.
    #[inline]
    pub fn take(&mut self, t: TargetId, slot: Slot, finite: bool) {
        self.holder[t.index()] = slot;
        self.idle.remove(t);
        let class = self.classes.of(t);
        if class == NO_CLASS {
            return;
        }
        if self.up.contains(t) {
            self.free[class as usize] -= 1;
            self.finite[class as usize] -= u32::from(!finite);
        } else {
            self.held_down[class as usize] += 1;
        }
    }

    /// Who holds a target: a slot, [`NO_SLOT`] or [`SHARED`].
    pub fn holder(&self, t: TargetId) -> Slot {
        self.holder[t.index()]
    }

    /// A target counts as held by a job, whoever still is on it. The sums have to be made anew.
    pub fn hand_over(&mut self, t: TargetId, slot: Slot) {
        self.holder[t.index()] = slot;
        if slot != NO_SLOT {
            self.idle.remove(t);
        } else if self.members.contains(t) && self.up.contains(t) {
            self.idle.insert(t);
        }
    }

    /// How many targets of a class are to arrive that nobody holds.
    #[inline]
    pub fn arriving(&self, class: u32) -> u32 {
        self.not_up[class as usize] - self.held_down[class as usize]
    }

    /// A job takes a part of a target.
    pub fn share(&mut self, t: TargetId) {
        let idle = self.holder[t.index()] == NO_SLOT;
        self.sharers[t.index()] += 1;
        self.holder[t.index()] = SHARED;
        if idle && self.idle.contains(t) {
            self.idle.remove(t);
            let class = self.classes.of(t) as usize;
            self.free[class] -= 1;
            self.finite[class] -= 1;
        }
    }

    /// A job gives a whole target back.
    #[inline]
    pub fn give_back(&mut self, t: TargetId, finite: bool) {
        let class = self.classes.of(t);
        if class != NO_CLASS && !self.up.contains(t) {
            self.held_down[class as usize] -= 1;
        }
        self.vacate(t, finite);
    }

    /// Nobody holds a target any more.
    fn vacate(&mut self, t: TargetId, finite: bool) {
        self.holder[t.index()] = NO_SLOT;
        let class = self.classes.of(t);
        if class != NO_CLASS && self.up.contains(t) {
            self.idle.insert(t);
            self.free[class as usize] += 1;
            self.finite[class as usize] += u32::from(!finite);
        }
    }

    /// A job gives its part of a target back.
    pub fn unshare(&mut self, t: TargetId) {
        self.sharers[t.index()] -= 1;
        if self.sharers[t.index()] == 0 {
            // A shared target counts as held without an end.
            self.vacate(t, false);
        }
    }

    /// A target may take work, or may not any more; who holds it whole, if anybody does.
    pub fn set_up(&mut self, t: TargetId, up: bool, jobs: &mut Jobs) {
        if t.index() >= self.holder.len() || self.up.contains(t) == up {
            return;
        }
        if up {
            self.up.insert(t)
        } else {
            self.up.remove(t)
        }
        let class = self.classes.of(t);
        if class == NO_CLASS {
            return;
        }
        let change = |n: &mut u32| if up { *n += 1 } else { *n -= 1 };
        if up {
            self.not_up[class as usize] -= 1
        } else {
            self.not_up[class as usize] += 1
        }
        match self.holder[t.index()] {
            NO_SLOT => {
                if up {
                    self.idle.insert(t)
                } else {
                    self.idle.remove(t)
                }
                change(&mut self.free[class as usize]);
                change(&mut self.finite[class as usize]);
            }
            SHARED => {}
            slot => {
                let run = jobs.get_mut(slot).run.as_mut().expect("a holder runs");
                if up {
                    add_to(&mut run.held, class, 1);
                    take_from(&mut run.held_down, class, 1);
                    self.held_down[class as usize] -= 1;
                } else {
                    take_from(&mut run.held, class, 1);
                    add_to(&mut run.held_down, class, 1);
                    self.held_down[class as usize] += 1;
                }
                if !run.planned_end.is_never() {
                    change(&mut self.finite[class as usize]);
                }
            }
        }
    }
}

/// Adds to the number of a class.
#[inline]
pub(super) fn add_to(claim: &mut crate::planner::Claim, class: u32, n: u32) {
    match claim.iter_mut().find(|(c, _)| *c == class) {
        Some((_, have)) => *have += n,
        None => claim.push((class, n)),
    }
}

/// Takes from the number of a class.
#[inline]
pub(super) fn take_from(claim: &mut crate::planner::Claim, class: u32, n: u32) {
    if let Some((_, have)) = claim.iter_mut().find(|(c, _)| *c == class) {
        *have -= n;
    }
    claim.retain(|(_, n)| *n > 0);
}
