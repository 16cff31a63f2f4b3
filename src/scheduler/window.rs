//! The first job that cannot start: when it will, and what it leaves for the jobs behind it.
//!
//! For plans by counts with at most one reservation (fcfs, easy). Nothing is entered in a plan: what runs only ever
//! gives back, so that one walk over the planned ends finds the start (the *shadow time* of EASY) and what is left over
//! then. Source: D. A. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.

use super::core::Core;
use super::jobs::Slot;
use crate::base::Timestamp;
use crate::planner::{Claim, cut};
use smallvec::SmallVec;

/// The reservation of the first job that waits.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub start: Timestamp,
    /// For each class that it will use, how many targets it leaves from its start on.
    pub extra: Claim,
}

impl Head {
    /// How many of a class a job that runs over the head's start may take.
    #[inline]
    pub fn left(&self, class: u32) -> Option<u32> {
        self.extra.iter().find(|(c, _)| *c == class).map(|(_, n)| *n)
    }

    /// A job that runs over the head's start has taken some.
    pub fn used(&mut self, held: &Claim) {
        for (class, n) in held {
            if let Some((_, left)) = self.extra.iter_mut().find(|(c, _)| c == class) {
                *left -= n;
            }
        }
    }
}

impl Core {
    /// When a waiting job can start if nothing else starts; `None` if nothing planned lets it.
    pub fn shadow(&self, slot: Slot, now: Timestamp) -> Option<Head> {
        let job = self.jobs.get(slot);
        let classes = &self.filters.get(job.filter).classes;
        let mut free: SmallVec<[(u32, u32); 4]> = classes.iter().map(|c| (*c, self.res.free[*c as usize])).collect();
        let bounded = self.res.classes.bounded();
        let openings = if bounded { self.res.classes.openings(now) } else { Vec::new() };
        let mut arrivals: SmallVec<[(Timestamp, usize, u32); 2]> = if bounded {
            let of = |(i, c): (usize, &u32)| self.res.classes.arrives(*c, now).map(|t| (t, i, self.res.arriving(*c)));
            classes.iter().enumerate().filter_map(of).collect()
        } else {
            SmallVec::new()
        };
        let ends = self.jobs.ends();
        let (mut end, mut opening) = (0, 0);
        loop {
            let next_end = ends.get(end).map_or(Timestamp::NEVER, |e| e.0);
            let at = next_end.min(openings.get(opening).copied().unwrap_or(Timestamp::NEVER));
            if at.is_never() {
                return None;
            }
            while ends.get(end).is_some_and(|e| e.0 == at) {
                let run = self.jobs.get(ends[end].2).run.as_ref().expect("it runs");
                for (class, n) in &run.held {
                    if let Some((_, have)) = free.iter_mut().find(|(c, _)| c == class) {
                        *have += n;
                    }
                }
                for (class, n) in &run.held_down {
                    let Some(i) = classes.iter().position(|c| c == class) else { continue };
                    match self.res.classes.arrives(*class, now) {
                        Some(arrival) if arrival <= at => free[i].1 += n,
                        Some(arrival) => arrivals.push((arrival, i, *n)),
                        None => {}
                    }
                }
                end += 1;
            }
            while openings.get(opening) == Some(&at) {
                opening += 1;
                arrivals.iter().filter(|(t, _, _)| *t == at).for_each(|(_, i, n)| free[*i].1 += n);
            }
            if let Some(extra) = self.leftover(&free, at, job.min, at + job.span(), bounded) {
                return Some(Head { start: at, extra });
            }
        }
    }

    /// What is left of `free` when `min` targets are taken for the time from `at` to `end`; `None` if too few.
    fn leftover(&self, free: &[(u32, u32)], at: Timestamp, min: u32, end: Timestamp, bounded: bool) -> Option<Claim> {
        let usable = free.iter().copied().filter(|(c, n)| *n > 0 && (!bounded || self.admits(*c, at, end)));
        if let [(class, n)] = *free {
            return (n >= min && usable.count() == 1).then(|| [(class, n - min)].into_iter().collect());
        }
        let usable: Claim = usable.collect();
        if usable.iter().map(|(_, n)| u64::from(*n)).sum::<u64>() < u64::from(min) {
            return None;
        }
        let have = |class: u32| free.iter().find(|(c, _)| *c == class).map_or(0, |(_, n)| *n);
        Some(cut(usable, min).into_iter().map(|(class, taken)| (class, have(class) - taken)).collect())
    }
}
