//! Classes of targets that no request can tell apart, and how many of each are free.
//!
//! Two members are in one class when every live filter (constraint, least amount) takes both or neither and they share
//! an ownership timeline. Within a class, whole targets are interchangeable, so that a plan needs counts only: jobs that
//! hold whole targets are intervals over time, and as long as never more than all are wanted at an instant, each can be
//! given particular targets when it starts (interval graphs are perfect). One class is the textbook machine of
//! identical processors.
//!
//! Decides nothing about jobs. Invariant: the sets of the classes are disjoint, not empty, and their union is the
//! members.

use super::Bits;
use crate::base::{Duration, TargetId, Timestamp, Window, Windows};
use std::sync::Arc;

/// The number of a class; changes whenever classes are rebuilt or split.
pub type ClassId = u32;

/// The class of a target that is not a member.
pub const NO_CLASS: ClassId = ClassId::MAX;

/// One class.
#[derive(Clone, Debug, PartialEq)]
struct Class {
    targets: Bits,
    /// `None`: no bound.
    windows: Option<Arc<[Window]>>,
}

/// The partition of a queue's members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Classes {
    of: Vec<ClassId>,
    classes: Vec<Class>,
    bounded: bool,
}

impl Classes {
    /// The coarsest partition of `members` that respects the timelines and the `filters`.
    pub fn build<'a>(members: &Bits, bound: usize, windows: &Windows, filters: impl Iterator<Item = &'a Bits>) -> Self {
        let mut classes = Classes { of: vec![NO_CLASS; bound], classes: Vec::new(), bounded: false };
        let mut rest = members.clone();
        for timeline in &windows.timelines {
            let mut targets = Bits::from_set(&timeline.targets, bound);
            targets.and(members);
            rest.and_not(&targets);
            classes.push(targets, Some(timeline.windows.as_slice().into()));
        }
        classes.push(rest, None);
        for filter in filters {
            classes.split(filter);
        }
        classes
    }

    fn push(&mut self, targets: Bits, windows: Option<Arc<[Window]>>) {
        if targets.is_empty() {
            return;
        }
        let id = self.classes.len() as ClassId;
        targets.iter().for_each(|t| self.of[t.index()] = id);
        self.bounded |= windows.is_some();
        self.classes.push(Class { targets, windows });
    }

    /// Splits every class that `filter` cuts; whether any was.
    pub fn split(&mut self, filter: &Bits) -> bool {
        let before = self.classes.len();
        for i in 0..before {
            let inside = self.classes[i].targets.and_len(filter);
            if inside == 0 || inside == self.classes[i].targets.len() {
                continue;
            }
            let mut outside = self.classes[i].targets.clone();
            outside.and_not(filter);
            self.classes[i].targets.and(filter);
            let windows = self.classes[i].windows.clone();
            self.push(outside, windows);
        }
        self.classes.len() > before
    }

    /// How many classes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there is none: the queue has no members.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The class of a target, [`NO_CLASS`] for others than members.
    #[inline]
    pub fn of(&self, t: TargetId) -> ClassId {
        self.of.get(t.index()).copied().unwrap_or(NO_CLASS)
    }

    /// The members of a class.
    pub fn targets(&self, class: ClassId) -> &Bits {
        &self.classes[class as usize].targets
    }

    /// Whether any class has a bound in time.
    #[inline]
    pub fn bounded(&self) -> bool {
        self.bounded
    }

    /// The classes inside `filter`; those it does not contain it must not cut (see [`Classes::split`]).
    pub fn within(&self, filter: &Bits) -> Vec<ClassId> {
        let inside = |c: &ClassId| self.targets(*c).and_len(filter) > 0;
        (0..self.classes.len() as ClassId).filter(inside).collect()
    }

    /// The windows of a class; `None` where there is no bound.
    pub fn windows(&self, class: ClassId) -> Option<&[Window]> {
        self.classes[class as usize].windows.as_deref()
    }

    /// Whether a job that runs from `start` to `end` (with its margin) stays within one window of the class.
    #[inline]
    pub fn admits(&self, class: ClassId, start: Timestamp, end: Timestamp) -> bool {
        match &self.classes[class as usize].windows {
            None => true,
            Some(windows) => windows.iter().any(|w| w.from <= start && end <= w.until),
        }
    }

    /// The longest window of a class from `now` on; without bound, infinite.
    pub fn longest_from(&self, class: ClassId, now: Timestamp) -> Duration {
        match self.windows(class) {
            None => Duration::INFINITE,
            Some(windows) => {
                let left = windows.iter().map(|w| w.until.since(w.from.max(now)));
                left.max().unwrap_or(Duration::ZERO)
            }
        }
    }

    /// When targets of a class that the queue does not have at `now` come: as its next window begins.
    pub fn arrives(&self, class: ClassId, now: Timestamp) -> Option<Timestamp> {
        let windows = self.classes[class as usize].windows.as_deref()?;
        windows.iter().map(|w| w.from).find(|from| *from > now)
    }

    /// The first instant after `now` at which a window begins.
    pub fn next_opening(&self, now: Timestamp) -> Option<Timestamp> {
        let windows = self.classes.iter().filter_map(|c| c.windows.as_deref()).flatten();
        windows.map(|w| w.from).filter(|from| *from > now).min()
    }

    /// All instants after `now` at which a window begins.
    pub fn openings(&self, now: Timestamp) -> Vec<Timestamp> {
        let windows = self.classes.iter().filter_map(|c| c.windows.as_deref()).flatten();
        let mut times: Vec<Timestamp> = windows.map(|w| w.from).filter(|from| *from > now).collect();
        times.sort_unstable();
        times.dedup();
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{TargetSet, Timeline};

    fn bits(ids: std::ops::Range<u32>) -> Bits {
        Bits::from_set(&TargetSet::from_range(ids), 16)
    }

    #[test]
    fn splits_along_filters_and_timelines() {
        let window = Window { from: Timestamp::from_secs(10), until: Timestamp::from_secs(20) };
        let timeline = Timeline { targets: TargetSet::from_range(8..16), windows: vec![window] };
        let mut classes =
            Classes::build(&bits(0..16), 16, &Windows { timelines: vec![timeline] }, [bits(4..12)].iter());
        assert_eq!(classes.len(), 4);
        assert!(!classes.split(&bits(4..12)));
        assert!(classes.split(&bits(0..1)));
        assert_eq!(classes.within(&bits(4..12)).len(), 2);
        let (free, bound) = (classes.of(TargetId(5)), classes.of(TargetId(9)));
        assert!(classes.admits(free, Timestamp::ZERO, Timestamp::NEVER));
        assert!(!classes.admits(bound, Timestamp::ZERO, Timestamp::from_secs(15)));
        assert!(classes.admits(bound, Timestamp::from_secs(10), Timestamp::from_secs(20)));
        assert_eq!(classes.arrives(bound, Timestamp::ZERO), Some(window.from));
        assert_eq!(classes.arrives(bound, window.from), None);
    }
}
