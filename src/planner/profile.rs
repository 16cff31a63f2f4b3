//! How many targets of each class are free over time.
//!
//! A step function: from one breakpoint to the next the numbers are constant, and the last ones hold for ever. Decides
//! where an amount fits; knows no jobs. Windows are asked for through a callback, so that a bound costs nothing where
//! there is none. Numbers may go below zero where capacity was lost under a plan; nothing fits there.

use super::classes::ClassId;
use crate::base::{Duration, Timestamp};
use smallvec::SmallVec;

/// How many targets of which classes a job takes.
pub type Claim = SmallVec<[(ClassId, u32); 2]>;

/// What is looked for in a profile.
pub struct Wanted<'a> {
    /// At least so many targets.
    pub min: u32,
    /// Of these classes, in the order in which they are taken.
    pub classes: &'a [ClassId],
    /// For so long.
    pub duration: Duration,
}

/// Free targets per class over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    width: usize,
    times: Vec<Timestamp>,
    /// One row of `width` numbers per breakpoint.
    free: Vec<i32>,
    /// Possible starts though nothing changes then, ascending.
    pinned: Vec<Timestamp>,
}

impl Profile {
    /// Starts anew: from `now` on, `free` targets of each class.
    pub fn reset(&mut self, now: Timestamp, free: impl IntoIterator<Item = i32>) {
        self.times.clear();
        self.free.clear();
        self.pinned.clear();
        self.times.push(now);
        self.free.extend(free);
        self.width = self.free.len();
    }

    /// Whether it was never started ([`Profile::reset`]).
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// From `at` on there are `n` more of a class. Faster than [`Profile::vacate`] when called in ascending order.
    pub fn gain(&mut self, at: Timestamp, class: ClassId, n: u32) {
        let first = self.breakpoint(at);
        for row in first..self.times.len() {
            self.free[row * self.width + class as usize] += n as i32;
        }
    }

    /// Makes `at` a possible start, whether anything changes then or not.
    pub fn pin(&mut self, at: Timestamp) {
        self.breakpoint(at);
        let place = self.pinned.partition_point(|t| *t < at);
        self.pinned.insert(place, at);
    }

    /// Makes `at` a breakpoint; its row.
    fn breakpoint(&mut self, at: Timestamp) -> usize {
        if *self.times.last().expect("a profile is reset before use") < at {
            self.times.push(at);
            self.free.extend_from_within(self.free.len() - self.width..);
            return self.times.len() - 1;
        }
        let row = self.times.partition_point(|t| *t < at);
        if self.times[row] != at {
            // Before the first breakpoint the first row holds.
            let source = row.saturating_sub(1) * self.width;
            self.times.insert(row, at);
            let copy: SmallVec<[i32; 4]> = self.free[source..source + self.width].into();
            self.free.splice(row * self.width..row * self.width, copy);
        }
        row
    }

    /// Forgets what is before `now`.
    pub fn trim(&mut self, now: Timestamp) {
        let keep = self.times.partition_point(|t| *t <= now).saturating_sub(1);
        if keep > 0 {
            self.times.drain(..keep);
            self.free.drain(..keep * self.width);
        }
        self.times[0] = self.times[0].max(now);
    }

    /// Takes a claim out of what is free from `from` to `until`.
    pub fn occupy(&mut self, claim: &[(ClassId, u32)], from: Timestamp, until: Timestamp) {
        self.change(claim, from, until, -1);
    }

    /// Gives a claim back from `from` to `until`.
    pub fn vacate(&mut self, claim: &[(ClassId, u32)], from: Timestamp, until: Timestamp) {
        self.change(claim, from, until, 1);
    }

    fn change(&mut self, claim: &[(ClassId, u32)], from: Timestamp, until: Timestamp, sign: i32) {
        if from >= until {
            return;
        }
        let first = self.breakpoint(from);
        let last = if until.is_never() { self.times.len() } else { self.breakpoint(until) };
        for row in first..last {
            for (class, n) in claim {
                self.free[row * self.width + *class as usize] += sign * *n as i32;
            }
        }
        if !until.is_never() {
            self.merge(last);
        }
        self.merge(first);
    }

    /// Drops a breakpoint at which nothing changes.
    fn merge(&mut self, row: usize) {
        let w = self.width;
        if self.pinned.binary_search(&self.times[row]).is_ok() {
            return;
        }
        if row > 0 && self.free[(row - 1) * w..row * w] == self.free[row * w..(row + 1) * w] {
            self.times.remove(row);
            self.free.drain(row * w..(row + 1) * w);
        }
    }

    #[inline]
    fn row_at(&self, t: Timestamp) -> usize {
        self.times.partition_point(|x| *x <= t).saturating_sub(1)
    }

    /// The earliest start at or after `now` from which at least `wanted.min` targets of the wanted classes stay free
    /// for the duration, and how many of each class do. `admits` says whether a class may be used from start to end.
    pub fn earliest(
        &self,
        wanted: &Wanted<'_>,
        now: Timestamp,
        admits: impl Fn(ClassId, Timestamp, Timestamp) -> bool,
    ) -> Option<(Timestamp, Claim)> {
        if let [class] = *wanted.classes {
            return self.earliest_of_one(wanted, class, now, admits);
        }
        for row in self.row_at(now)..self.times.len() {
            let start = self.times[row].max(now);
            if let Some(claim) = self.free_from(wanted, row, start, &admits) {
                return Some((start, claim));
            }
        }
        None
    }

    /// How many targets of the wanted classes are free from exactly `start` on for the duration; `None` if too few.
    pub fn fits(
        &self,
        wanted: &Wanted<'_>,
        start: Timestamp,
        admits: impl Fn(ClassId, Timestamp, Timestamp) -> bool,
    ) -> Option<Claim> {
        self.free_from(wanted, self.row_at(start), start, &admits)
    }

    /// Whether a claim is free from `start` until `end`.
    pub fn has(&self, claim: &[(ClassId, u32)], start: Timestamp, end: Timestamp) -> bool {
        let first = self.row_at(start);
        let rows = first..self.times.len();
        rows.take_while(|row| *row == first || self.times[*row] < end).all(|row| {
            claim.iter().all(|(class, n)| i64::from(self.free[row * self.width + *class as usize]) >= i64::from(*n))
        })
    }

    fn free_from(
        &self,
        wanted: &Wanted<'_>,
        row: usize,
        start: Timestamp,
        admits: &impl Fn(ClassId, Timestamp, Timestamp) -> bool,
    ) -> Option<Claim> {
        let end = start + wanted.duration;
        let enough = |claim: &Claim| claim.iter().map(|(_, n)| u64::from(*n)).sum::<u64>() >= u64::from(wanted.min);
        let at = |row: usize, class: ClassId| self.free[row * self.width + class as usize].max(0) as u32;
        let mut claim: Claim = wanted.classes.iter().map(|c| (*c, at(row, *c))).collect();
        if !enough(&claim) {
            return None;
        }
        claim.retain(|(class, _)| admits(*class, start, end));
        let mut next = row + 1;
        while enough(&claim) {
            if next >= self.times.len() || self.times[next] >= end {
                claim.retain(|(_, n)| *n > 0);
                return Some(claim);
            }
            claim.iter_mut().for_each(|(class, n)| *n = (*n).min(at(next, *class)));
            next += 1;
        }
        None
    }

    fn earliest_of_one(
        &self,
        wanted: &Wanted<'_>,
        class: ClassId,
        now: Timestamp,
        admits: impl Fn(ClassId, Timestamp, Timestamp) -> bool,
    ) -> Option<(Timestamp, Claim)> {
        let at = |row: usize| self.free[row * self.width + class as usize].max(0);
        let (rows, min) = (self.times.len(), i64::from(wanted.min));
        let mut row = self.row_at(now);
        'start: while row < rows {
            if i64::from(at(row)) < min {
                row += 1;
                continue;
            }
            let start = self.times[row].max(now);
            let end = start + wanted.duration;
            if !admits(class, start, end) {
                row += 1;
                continue;
            }
            let mut least = at(row);
            let mut next = row + 1;
            while next < rows && self.times[next] < end {
                if i64::from(at(next)) < min {
                    row = next + 1;
                    continue 'start;
                }
                least = least.min(at(next));
                next += 1;
            }
            return Some((start, [(class, least as u32)].into_iter().filter(|(_, n)| *n > 0).collect()));
        }
        None
    }
}

/// Cuts what is free down to `n` targets, taking the classes in order.
pub fn cut(mut free: Claim, n: u32) -> Claim {
    let mut left = n;
    free.retain(|(_, have)| {
        *have = (*have).min(left);
        left -= *have;
        *have > 0
    });
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn s(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn finds_the_hole() {
        let mut profile = Profile::default();
        profile.reset(s(0), [4]);
        profile.occupy(&[(0, 3)], s(0), s(10));
        profile.occupy(&[(0, 4)], s(15), s(20));
        let wanted = |min, secs| Wanted { min, classes: &[0], duration: Duration::from_secs(secs) };
        let start = |w: Wanted<'_>| profile.earliest(&w, s(0), |_, _, _| true).map(|(t, _)| t);
        assert_eq!(start(wanted(1, 15)), Some(s(0)));
        assert_eq!(start(wanted(2, 5)), Some(s(10)));
        assert_eq!(start(wanted(2, 6)), Some(s(20)));
        assert_eq!(start(wanted(5, 1)), None);
        assert!(profile.fits(&wanted(4, 5), s(10), |_, _, _| true).is_some());
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        /// Against an array with one cell per second and class.
        #[test]
        fn agrees_with_a_cell_per_second(
            spans in prop::collection::vec((0u32..2, 0i64..30, 1i64..20, 1u32..4), 0..12),
            undo in 0usize..12,
            min in 0u32..8,
            duration in 1i64..15,
            now in 0i64..20,
        ) {
            let mut profile = Profile::default();
            profile.reset(s(0), [5, 3]);
            let mut cells = vec![[5i32, 3i32]; 120];
            let apply = |profile: &mut Profile, cells: &mut Vec<[i32; 2]>, span: &(u32, i64, i64, u32), sign: i32| {
                let (class, from, length, n) = *span;
                let claim = [(class, n)];
                if sign < 0 { profile.occupy(&claim, s(from), s(from + length)) } else { profile.vacate(&claim, s(from), s(from + length)) }
                for cell in &mut cells[from as usize..(from + length) as usize] {
                    cell[class as usize] += sign * n as i32;
                }
            };
            for span in &spans { apply(&mut profile, &mut cells, span, -1); }
            for span in spans.iter().take(undo) { apply(&mut profile, &mut cells, span, 1); }
            profile.trim(s(now));
            let wanted = Wanted { min, classes: &[0, 1], duration: Duration::from_secs(duration) };
            let naive = (now..100).find(|start| {
                let least = |class: usize| (*start..start + duration).map(|t| cells[t as usize][class].max(0)).min().unwrap();
                least(0) + least(1) >= min as i32
            });
            prop_assert_eq!(profile.earliest(&wanted, s(now), |_, _, _| true).map(|(t, _)| t), naive.map(s));
            let one = Wanted { min, classes: &[0], duration: Duration::from_secs(duration) };
            let naive = (now..100).find(|start| (*start..start + duration).all(|t| cells[t as usize][0].max(0) >= min as i32));
            prop_assert_eq!(profile.earliest(&one, s(now), |_, _, _| true).map(|(t, _)| t), naive.map(s));
        }
    }
}
