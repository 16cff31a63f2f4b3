//! Why a job waits: judged when somebody asks, or when a job leaves or re-enters the reservation window.

use super::core::Core;
use super::jobs::{Slot, Standing};
use super::message::Output;
use crate::base::{Duration, Timestamp};
use crate::matcher::{Reason, Request, Shape, Shortage};
use crate::planner::Bits;

impl Core {
    /// Why the members can never serve a request. Filters leave out the targets that are too small for it; here they
    /// count, so that it comes out what they are short of.
    pub(super) fn never(&self, request: &Request) -> Reason {
        let res = &self.res;
        let mut members = res.members.clone();
        if let Some(constraint) = &request.constraint {
            let allowed = res.graph.resolve(&res.properties, constraint).unwrap_or_default();
            members.and(&Bits::from_set(&allowed, res.graph.target_bound()));
        }
        let shortage = Shortage { resource: "node".into(), level: "queue".into(), asked: 1, available: 0 };
        self.possible(request, &members).err().unwrap_or(Reason::Unsatisfiable(shortage))
    }

    /// Whether the job would fit, now or when a window opens, if nothing ran.
    pub(super) fn would_fit(&self, slot: Slot, now: Timestamp) -> bool {
        let job = self.jobs.get(slot);
        let filter = self.filters.get(job.filter);
        let classes = &self.res.classes;
        let serves = |at: Timestamp| {
            let mut targets = Bits::new(self.res.graph.target_bound());
            for class in filter.classes.iter().filter(|c| self.admits(**c, at, at + job.span())) {
                let mut some = classes.targets(*class).clone();
                if classes.arrives(*class, now).is_none_or(|arrival| arrival > at) {
                    some.and(&self.res.up);
                }
                targets.or(&some);
            }
            self.possible(&job.request, &targets).is_ok()
        };
        serves(now) || classes.bounded() && classes.openings(now).into_iter().any(serves)
    }

    /// When next a window of targets that may serve the job opens for it, or ends too early for it.
    pub(super) fn next_turn(&self, slot: Slot, now: Timestamp) -> Timestamp {
        let job = self.jobs.get(slot);
        let time = job.span() + self.settings.release_margin;
        let windows = |class: &u32| self.res.classes.windows(*class).unwrap_or_default();
        let bounds = self.filters.get(job.filter).classes.iter().flat_map(windows);
        let turns = bounds.flat_map(|w| [w.from, (w.until - time) + Duration::from_micros(1)]);
        turns.filter(|at| *at > now).min().unwrap_or(Timestamp::NEVER)
    }

    /// Whether anything planned may let the job fit. Never false when it may; costs a sum over classes.
    pub(super) fn may_fit(&self, slot: Slot) -> bool {
        let job = self.jobs.get(slot);
        let arriving = |c: u32| if self.res.classes.bounded() { self.res.not_up[c as usize] } else { 0 };
        let classes = self.filters.get(job.filter).classes.iter();
        classes.map(|c| u64::from(self.res.finite[*c as usize] + arriving(*c))).sum::<u64>() >= u64::from(job.min)
    }

    /// Which kind of hopeless a job is that has no finite start.
    pub(super) fn hopeless(&self, slot: Slot, now: Timestamp) -> Standing {
        let limit = self.jobs.get(slot).span() + self.settings.release_margin;
        match self.longest_window(slot, now) {
            Some(longest) if longest < limit => Standing::ExceedsWindow,
            _ => Standing::NoFiniteStart,
        }
    }

    /// Takes the jobs that are longer than every window out of the order, whoever is before them, so that they tell nothing
    /// apart and count for no depth; whether there was any.
    pub(super) fn park_exceeding(&mut self, now: Timestamp, out: &mut Vec<Output>) -> bool {
        let classes = &self.res.classes;
        let longest = |class: u32| (classes.longest_from(class, now), classes.targets(class).len());
        let longest: Vec<(Duration, usize)> = (0..classes.len() as u32).map(longest).collect();
        let (mut at, mut any) = (0, false);
        while let Some(slot) = self.jobs.order().get(at).copied() {
            let job = self.jobs.get(slot);
            let limit = job.span() + self.settings.release_margin;
            let inside = self.filters.get(job.filter).classes.iter().map(|c| longest[*c as usize]);
            let members: usize = inside.filter(|(time, _)| *time >= limit).map(|(_, n)| n).sum();
            if members >= job.min as usize || self.hopeless(slot, now) != Standing::ExceedsWindow {
                at += 1;
                continue;
            }
            drop(self.unreserve(slot));
            self.stand(slot, now, Standing::ExceedsWindow, out);
            self.jobs.park(at);
            any = true;
        }
        any
    }

    /// The longest time for which the queue has, or will have, enough of the targets that may serve a job; `None` if
    /// there is no bound.
    fn longest_window(&self, slot: Slot, now: Timestamp) -> Option<Duration> {
        let job = self.jobs.get(slot);
        // Classes by their longest window, longest first: as many of them as the job needs.
        let mut spans: Vec<(Duration, usize)> = Vec::new();
        for class in &self.filters.get(job.filter).classes {
            let members = self.res.classes.targets(*class).len();
            let longest = self.res.classes.longest_from(*class, now);
            spans.push((longest, members));
        }
        spans.sort_unstable_by(|a, b| b.cmp(a));
        let mut members = 0;
        let enough = spans.iter().find(|(_, n)| {
            members += n;
            members >= job.min as usize
        });
        enough.or(spans.last()).map(|(longest, _)| *longest).filter(|longest| !longest.is_infinite())
    }

    /// Notes how a waiting job stands and says so when that has changed.
    pub(super) fn stand(&mut self, slot: Slot, now: Timestamp, standing: Standing, out: &mut Vec<Output>) {
        if self.jobs.get(slot).standing != standing {
            self.jobs.get_mut(slot).standing = standing;
            let reason = self.reason(slot, now);
            out.push(Output::Annotate { job: self.jobs.get(slot).id, reason });
        }
    }

    /// Why a waiting job does not start.
    pub(super) fn reason(&self, slot: Slot, now: Timestamp) -> Reason {
        let job = self.jobs.get(slot);
        match job.standing {
            Standing::NoFiniteStart => {
                Reason::NoFiniteStart(self.shortage(slot, |core, c| core.res.finite[c as usize]))
            }
            Standing::Held => {
                let hold = job.hold.as_ref().expect("what stands as held has a hold");
                let mut jobs: Vec<Slot> = hold.waits.values().copied().collect();
                jobs.sort_unstable();
                jobs.dedup();
                Reason::Preempting { jobs: jobs.len() as u64, at: self.held_start(slot, now) }
            }
            Standing::ExceedsWindow => {
                let longest = self.longest_window(slot, now).unwrap_or(Duration::INFINITE);
                Reason::ExceedsWindow { limit: job.limit, longest }
            }
            Standing::Waiting => {
                let shortage = self.shortage(slot, |core, c| core.res.free[c as usize]);
                Reason::Busy { shortage, start: (!job.planned.is_never()).then_some(job.planned) }
            }
        }
    }

    /// What is asked and how much of it there is by some count per class.
    fn shortage(&self, slot: Slot, count: impl Fn(&Core, u32) -> u32) -> Shortage {
        let job = self.jobs.get(slot);
        if let Some(short) = &job.short {
            return Shortage::clone(short);
        }
        let classes = &self.filters.get(job.filter).classes;
        let available = classes.iter().map(|c| u64::from(count(self, *c))).sum();
        let (resource, asked) = match &job.request.shape {
            Shape::Whole { nodes, .. } | Shape::Nodes { nodes, .. } => ("node", nodes.min()),
            Shape::Slots { slots, .. } => ("slot", slots.min()),
        };
        Shortage { resource: resource.into(), level: "queue".into(), asked, available }
    }

    /// Which job stands in front of a waiting one, and when that is planned, if a reservation is what keeps it waiting.
    pub(super) fn kept_by(&self, slot: Slot, now: Timestamp) -> Option<Reason> {
        let job = self.jobs.get(slot);
        let classes = &self.filters.get(job.filter).classes;
        let free: u64 = classes.iter().map(|c| u64::from(self.res.free[*c as usize])).sum();
        if self.jobs.any_partial() || free < u64::from(job.min) {
            return None;
        }
        let ahead = self.jobs.order().iter().take_while(|s| **s != slot);
        let mut planned = ahead.map(|s| self.jobs.get(*s)).filter(|j| j.planned > now && !j.planned.is_never());
        planned.next().map(|j| Reason::Reserved { by: j.id, at: j.planned })
    }
}
