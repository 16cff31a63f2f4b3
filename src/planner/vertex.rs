//! What is planned on one vertex: how much of its pool is used when, by how many jobs, and what is used below it.
//!
//! Decides nothing; it adds and takes away spans. Times are ticks of the caller's choice, intervals are half open.
//!
//! Invariants: a [`Steps`] has a point wherever a span starts or ends, and nowhere else; with no span it has none.

use crate::base::JobId;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// An amount over time, as a sorted list of the instants at which spans start or end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    points: Vec<Point>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point {
    at: i64,
    /// In use from here to the next point.
    used: i64,
    /// How many spans start or end here.
    refs: u32,
}

impl Steps {
    /// Whether there is no span.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// In use at an instant.
    pub fn at(&self, t: i64) -> i64 {
        let after = self.points.partition_point(|p| p.at <= t);
        self.points[..after].last().map_or(0, |p| p.used)
    }

    /// The most that is in use at any time of an interval that starts at `from`, or at `from` if it is empty.
    pub fn most(&self, from: i64, until: i64) -> i64 {
        let after = self.points.partition_point(|p| p.at <= from);
        let first = self.points[..after].last().map_or(0, |p| p.used);
        self.points[after..].iter().take_while(|p| p.at < until).fold(first, |most, p| most.max(p.used))
    }

    /// Adds a span, of amount 0 too.
    pub fn add(&mut self, from: i64, until: i64, amount: i64) {
        let first = self.hold_point(from);
        let last = self.hold_point(until);
        self.points[first..last].iter_mut().for_each(|p| p.used += amount);
    }

    /// Takes a span away that was added with the same interval and amount (less what was [reduced](Self::reduce)).
    pub fn remove(&mut self, from: i64, until: i64, amount: i64) {
        self.reduce(from, until, amount);
        self.release_point(from);
        self.release_point(until);
    }

    /// Makes a span smaller by `amount`.
    pub fn reduce(&mut self, from: i64, until: i64, amount: i64) {
        let start = self.points.partition_point(|p| p.at < from);
        self.points[start..].iter_mut().take_while(|p| p.at < until).for_each(|p| p.used -= amount);
    }

    /// The instants from `from` on at which spans start or end, ascending.
    pub fn points_from(&self, from: i64) -> impl Iterator<Item = i64> + '_ {
        let start = self.points.partition_point(|p| p.at < from);
        self.points[start..].iter().map(|p| p.at)
    }

    fn hold_point(&mut self, at: i64) -> usize {
        let place = self.points.partition_point(|p| p.at < at);
        match self.points.get_mut(place) {
            Some(point) if point.at == at => point.refs += 1,
            _ => {
                let used = self.points[..place].last().map_or(0, |p| p.used);
                self.points.insert(place, Point { at, used, refs: 1 });
            }
        }
        place
    }

    fn release_point(&mut self, at: i64) {
        let place = self.points.partition_point(|p| p.at < at);
        if let Some(point) = self.points.get_mut(place).filter(|p| p.at == at) {
            point.refs -= 1;
            if point.refs == 0 {
                self.points.remove(place);
            }
        }
    }
}

/// An amount over one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The first tick.
    pub from: i64,
    /// The first tick after it.
    pub until: i64,
    /// How much.
    pub amount: i64,
}

/// What a job has on a vertex.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hold {
    /// The part of the vertex's own pool; none on vertices that only contain what the job has.
    pub pool: Option<Part>,
    /// Whether the pool is reserved rather than allocated.
    pub reserved: bool,
    /// Whether all that is below goes with it, without being entered there.
    pub whole: bool,
    /// Whether the job is known to have something here or below.
    pub tagged: bool,
    /// When the job counts among those that use the vertex or what is below.
    pub counted: Option<(i64, i64)>,
    /// What is used below, by counted kind; none where it was given back.
    pub below: Option<Below>,
}

/// What a job uses below a vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Below {
    /// The first tick.
    pub from: i64,
    /// The first tick after it.
    pub until: i64,
    /// The amounts by counted kind.
    pub amounts: SmallVec<[Option<i64>; 4]>,
}

impl Hold {
    /// Whether the job has nothing left here.
    pub fn is_empty(&self) -> bool {
        !self.tagged && self.pool.is_none() && self.counted.is_none() && self.below.is_none()
    }
}

/// Everything that is planned on one vertex.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VertexPlan {
    /// Use of the vertex's own pool.
    pub pool: Steps,
    /// How many jobs use the vertex or what is below.
    pub jobs: Steps,
    /// Use below, by counted kind.
    pub below: SmallVec<[Steps; 4]>,
    /// What each job has.
    pub holds: BTreeMap<JobId, Hold>,
}

impl VertexPlan {
    /// Whether some job has a part of the pool now, by name rather than by time.
    pub fn is_allocated(&self) -> bool {
        self.holds.values().any(|hold| hold.pool.is_some() && !hold.reserved)
    }

    /// Whether some job has a part of the pool reserved.
    pub fn is_reserved(&self) -> bool {
        self.holds.values().any(|hold| hold.pool.is_some() && hold.reserved)
    }

    /// Enters a part of the pool for a job.
    pub fn take_pool(&mut self, job: JobId, part: Part, reserved: bool, whole: bool) {
        self.pool.add(part.from, part.until, part.amount);
        let hold = self.holds.entry(job).or_default();
        if let Some(old) = hold.pool.replace(part) {
            self.pool.remove(old.from, old.until, old.amount);
        }
        hold.reserved = reserved;
        hold.whole = whole;
    }

    /// Gives the job's part of the pool back.
    pub fn free_pool(&mut self, job: JobId) -> Option<Part> {
        let hold = self.holds.get_mut(&job)?;
        let part = hold.pool.take()?;
        hold.whole = false;
        self.pool.remove(part.from, part.until, part.amount);
        Some(part)
    }

    /// Counts a job among those that use the vertex.
    pub fn count(&mut self, job: JobId, from: i64, until: i64) {
        self.uncount(job);
        self.jobs.add(from, until, 1);
        let hold = self.holds.entry(job).or_default();
        hold.counted = Some((from, until));
        hold.tagged = true;
    }

    /// Counts a job no longer; it stays [tagged](Hold::tagged).
    pub fn uncount(&mut self, job: JobId) {
        if let Some((from, until)) = self.holds.get_mut(&job).and_then(|hold| hold.counted.take()) {
            self.jobs.remove(from, until, 1);
        }
    }

    /// Enters what a job uses below; `amounts` has one for each counted kind.
    pub fn take_below(&mut self, job: JobId, from: i64, until: i64, amounts: &[i64]) {
        self.free_below(job);
        self.below.resize_with(amounts.len().max(self.below.len()), Steps::default);
        for (steps, &amount) in self.below.iter_mut().zip(amounts) {
            steps.add(from, until, amount);
        }
        let amounts = amounts.iter().map(|&amount| Some(amount)).collect();
        self.holds.entry(job).or_default().below = Some(Below { from, until, amounts });
    }

    /// Gives back what a job uses below.
    pub fn free_below(&mut self, job: JobId) {
        let Some(below) = self.holds.get_mut(&job).and_then(|hold| hold.below.take()) else { return };
        for (steps, amount) in self.below.iter_mut().zip(below.amounts) {
            if let Some(amount) = amount {
                steps.remove(below.from, below.until, amount);
            }
        }
    }

    /// Gives back a part of what a job uses below; a kind that is used up is forgotten. Whether nothing is left.
    ///
    /// # Errors
    /// The position of a kind of which the job has less; what stood before it is given back.
    pub fn reduce_below(&mut self, job: JobId, amounts: &[i64]) -> Result<bool, usize> {
        let Some(below) = self.holds.get_mut(&job).and_then(|hold| hold.below.as_mut()) else { return Ok(true) };
        let (from, until) = (below.from, below.until);
        for (at, (held, &amount)) in below.amounts.iter_mut().zip(amounts).enumerate() {
            let Some(has) = held else { continue };
            if amount > *has {
                return Err(at);
            }
            if amount == *has {
                self.below[at].remove(from, until, amount);
                *held = None;
            } else {
                self.below[at].reduce(from, until, amount);
                *has -= amount;
            }
        }
        let gone = below.amounts.iter().all(Option::is_none);
        if gone && let Some(hold) = self.holds.get_mut(&job) {
            hold.below = None;
        }
        Ok(gone)
    }

    /// Forgets jobs that have nothing left. Whether none is left.
    pub fn tidy(&mut self, job: JobId) -> bool {
        if self.holds.get(&job).is_some_and(Hold::is_empty) {
            self.holds.remove(&job);
        }
        self.holds.is_empty()
    }

    /// Gives every span of a job a later end.
    pub fn extend(&mut self, job: JobId, until: i64) {
        let Some(hold) = self.holds.get_mut(&job) else { return };
        if let Some(part) = &mut hold.pool {
            self.pool.remove(part.from, part.until, part.amount);
            part.until = until;
            self.pool.add(part.from, part.until, part.amount);
        }
        if let Some((from, old)) = &mut hold.counted {
            self.jobs.remove(*from, *old, 1);
            *old = until;
            self.jobs.add(*from, until, 1);
        }
        self.end_below(job, until);
    }

    /// Gives what a job uses below another end, not before its start.
    pub fn end_below(&mut self, job: JobId, until: i64) {
        let Some(below) = self.holds.get_mut(&job).and_then(|hold| hold.below.as_mut()) else { return };
        let until = until.max(below.from);
        for (steps, amount) in self.below.iter_mut().zip(&below.amounts) {
            if let Some(amount) = *amount {
                steps.remove(below.from, below.until, amount);
                steps.add(below.from, until, amount);
            }
        }
        below.until = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::base::testing::config(64))]
        /// Against an array with one number per tick.
        #[test]
        fn agrees_with_a_bit_per_tick(ops in proptest::collection::vec((0..3u8, 0..40i64, 1..20i64, 0..5i64), 1..200)) {
            let mut steps = Steps::default();
            let mut ticks = [0i64; 64];
            let mut spans: Vec<(i64, i64, i64)> = Vec::new();
            for (op, from, length, amount) in ops {
                let until = from + length;
                if op < 2 || spans.is_empty() {
                    steps.add(from, until, amount);
                    spans.push((from, until, amount));
                    (from..until).for_each(|t| ticks[t as usize] += amount);
                } else {
                    let (from, until, amount) = spans.swap_remove(from as usize % spans.len());
                    steps.remove(from, until, amount);
                    (from..until).for_each(|t| ticks[t as usize] -= amount);
                }
                let most = (from..until).map(|t| ticks[t as usize]).max().unwrap();
                prop_assert_eq!(steps.most(from, until), most);
                prop_assert_eq!(steps.at(from), ticks[from as usize]);
            }
            let mut ends: Vec<i64> = spans.iter().flat_map(|s| [s.0, s.1]).collect();
            ends.sort_unstable();
            ends.dedup();
            prop_assert_eq!(steps.points_from(0).collect::<Vec<_>>(), ends);
        }
    }

    #[test]
    fn gives_back_in_parts() {
        let job = JobId(1);
        let mut plan = VertexPlan::default();
        plan.take_below(job, 0, 10, &[4, 0]);
        assert_eq!(plan.reduce_below(job, &[5, 0]), Err(0));
        assert_eq!(plan.reduce_below(job, &[1, 0]), Ok(false));
        assert_eq!(plan.below[0].most(0, 10), 3);
        assert_eq!(plan.reduce_below(job, &[3, 0]), Ok(true));
        assert!(plan.below.iter().all(Steps::is_empty));
        assert!(plan.tidy(job));
    }
}
