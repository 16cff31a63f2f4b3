//! conservative-compress: reservations are kept from pass to pass and only ever move earlier.
//!
//! A job is reserved once, at the earliest start that fits what runs (to its limits) and all reservations. When a job
//! ends before its planned end, each reservation that is not due is taken out and put back at its earliest start, once,
//! in queue order. Only lost capacity, changed windows and overrunning jobs move a reservation later: those that still
//! fit where they were stay, the others are put at their earliest start. Source: A. W. Mu'alem, D. G. Feitelson,
//! "Utilization, predictability, workloads, and user runtime estimates …", IEEE TPDS 12(6), 2001.

use super::jobs::Slot;
use super::message::PassEnd;
use super::pass::Pass;
use super::plan::{Plan, Reserved};
use crate::base::Timestamp;

impl Pass<'_> {
    /// One pass; `fresh`: something has changed that the kept plan does not know.
    pub(super) fn compress(&mut self, fresh: bool) -> PassEnd {
        if !self.core.shared.at_hand() && self.core.jobs.any_pooled() {
            // Reservations move in order of start and in order of jobs: all of them belong to one piece of work.
            return PassEnd::NeedsShared;
        }
        if fresh {
            self.core.rebuild_plan(self.now);
            self.keep_reservations();
        } else if let Plan::Counts(profile) = &mut self.core.plan {
            profile.trim(self.now);
        }
        let mut began = false;
        let end = loop {
            let end = self.place_all();
            self.start_due();
            if self.preempts.is_some() {
                self.forget_started();
                return PassEnd::Done;
            }
            let started = self.forget_started() > 0;
            began |= started;
            if end != PassEnd::Done || !began {
                break end;
            }
            // Who starts makes room within the depth; and it may take other targets than were planned for it, so that
            // those that were set aside are looked at again.
            if !started {
                if !self.progress.aside {
                    break end;
                }
                began = false;
                self.progress.restart();
                self.progress.looking_again = true;
            }
        };
        if end == PassEnd::Done {
            self.core.sweep = false;
        }
        end
    }

    /// Enters the reservations in a new plan where they were, those that do not fit there at their earliest start.
    fn keep_reservations(&mut self) {
        let reserved = |slot: &Slot| self.core.jobs.get(*slot).reserved.as_ref().map(|r| (r.start, *slot));
        let order = self.core.jobs.order().iter();
        let mut kept: Vec<(Timestamp, Slot)> = order.filter_map(reserved).collect();
        // All that were planned together fit again where they were. Of those for which something was lost, or whose
        // place is unknown, in order of start each finds some of equal targets.
        kept.sort_by_key(|(start, _)| *start);
        kept.retain(|(start, slot)| {
            let start = (*start).max(self.now);
            let claim = self.core.at_its_place(*slot, start);
            claim.map(|claim| self.core.reserve_again(*slot, start, claim)).is_none()
        });
        let mut displaced = Vec::new();
        for (start, slot) in kept {
            let start = start.max(self.now);
            match self.core.fits(slot, start) {
                Some(claim) => self.core.reserve(slot, start, claim),
                None => displaced.push(slot),
            }
        }
        let order = self.core.jobs.order();
        displaced.sort_by_cached_key(|slot| order.iter().position(|s| s == slot));
        for slot in displaced {
            self.core.jobs.set_reserved(slot, None);
            if let Some((start, claim)) = self.core.earliest(slot, self.now) {
                self.core.reserve(slot, start, claim);
            }
        }
    }

    /// Reserves for the jobs that have none, and sweeps the others if something was released early.
    fn place_all(&mut self) -> PassEnd {
        let depth = self.core.settings.queue_depth.unwrap_or(u32::MAX);
        loop {
            let at = self.progress.next;
            if at >= self.core.jobs.order().len() || self.progress.seen >= depth {
                if !self.progress.again {
                    self.progress.looking_again = false;
                    return PassEnd::Done;
                }
                self.progress.restart();
                self.progress.looking_again = true;
                continue;
            }
            if self.examined >= self.budget {
                return PassEnd::BudgetSpent;
            }
            let slot = self.core.jobs.order()[at];
            self.progress.next += 1;
            self.progress.seen += 1;
            self.examined += 1;
            let start = self.core.jobs.get(slot).reserved.as_ref().map(|r| r.start);
            let before = match start {
                Some(start) if start <= self.now || !self.core.sweep || self.progress.looking_again => continue,
                Some(_) => self.core.unreserve(slot),
                None => None,
            };
            if self.core.jobs.get(slot).pooled() {
                self.core.note_limit(slot, self.now);
            }
            match self.core.earliest(slot, self.now) {
                Some((start, claim)) => {
                    self.core.reserve(slot, start, claim);
                    let after = self.core.jobs.get(slot).reserved.as_ref();
                    let moved =
                        |b: &Reserved| after.is_none_or(|a: &Reserved| (a.start, &a.claim) != (b.start, &b.claim));
                    self.progress.again |= self.progress.aside && before.as_ref().is_some_and(moved);
                    self.core.stand(slot, self.now, super::jobs::Standing::Waiting, self.out);
                }
                None => {
                    self.set_aside(slot);
                    self.progress.aside = true;
                }
            }
        }
    }

    /// Starts what is due and notes what is planned. The first that is not due may preempt others.
    fn start_due(&mut self) {
        self.progress.planned.clear();
        self.progress.first_start = self.core.res.classes.next_opening(self.now).unwrap_or(Timestamp::NEVER);
        for at in 0..self.core.jobs.order().len() {
            let slot = self.core.jobs.order()[at];
            let start = self.core.jobs.get(slot).reserved.as_ref().map(|r| r.start);
            let due = start.is_some_and(|start| start <= self.now);
            let first = !due && self.progress.planned.is_empty() && at < self.progress.next;
            if first && self.preempt(slot, start.unwrap_or(Timestamp::NEVER)) {
                return;
            }
            let Some(start) = start else { continue };
            if due {
                self.core.unreserve(slot);
                if let Some(claim) = self.core.fits(slot, self.now) {
                    self.start_planned(at, slot, claim);
                    continue;
                }
                debug_assert!(false, "a due reservation fits");
            } else {
                self.until(start);
                self.progress.planned.push((slot, start));
            }
        }
    }
}
