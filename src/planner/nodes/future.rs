//! When nodes are wholly free: their free intervals by start, nodes with the same one together.

use super::group::Group;
use super::{Ask, Positions, Span, Spans};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Free from the first tick until the second one.
type Interval = (i64, i64);

type Intervals = SmallVec<[Interval; 3]>;

/// Before all times.
const EVER: i64 = i64::MIN;
/// After all times.
const NEVER: i64 = i64::MAX;
/// One class for each power of two.
const CLASSES: usize = 64;

/// The free intervals of all nodes on which something is planned. After [`Future::refresh`] all that is entered starts
/// before all times, or after now.
#[derive(Clone, Debug)]
pub(super) struct Future {
    /// Free for good, by the start.
    tails: BTreeMap<i64, Group>,
    /// Free before what is planned first, by the end.
    heads: BTreeMap<i64, Group>,
    /// Free between two things that are planned, by class of length, start and end.
    gaps: Vec<BTreeMap<Interval, Group>>,
    /// What is entered for each node; nothing as long as nobody has asked about later.
    entered: Vec<Intervals>,
    /// Nodes of which something has changed.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

fn class((from, until): Interval) -> usize {
    (until.abs_diff(from).max(1)).ilog2() as usize
}

impl Future {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            tails: BTreeMap::new(),
            heads: BTreeMap::new(),
            gaps: vec![BTreeMap::new(); CLASSES],
            entered: Vec::new(),
            touched: Vec::new(),
            is_touched: vec![false; nodes],
        }
    }

    /// A node has changed.
    #[inline]
    pub(super) fn touch(&mut self, node: u32) {
        if !std::mem::replace(&mut self.is_touched[node as usize], true) {
            self.touched.push(node);
        }
    }

    /// Enters what has changed since the last time.
    pub(super) fn refresh(&mut self, spans: &[Spans], up: &Positions, now: i64) {
        self.touch_past(now);
        let mut touched = std::mem::take(&mut self.touched);
        let mut tails: Vec<(i64, u32)> = Vec::new();
        self.entered.resize_with(spans.len(), Intervals::new);
        for &node in &touched {
            let at = node as usize;
            self.is_touched[at] = false;
            let free = if up.contains(node) { free_intervals(&spans[at], now) } else { Intervals::new() };
            let old = std::mem::take(&mut self.entered[at]);
            for interval in old.iter().filter(|interval| !free.contains(interval)) {
                self.remove(*interval, node);
            }
            for &(from, until) in free.iter().filter(|interval| !old.contains(interval)) {
                match (from, until) {
                    (EVER, _) => self.group((from, until)).insert(node),
                    (_, NEVER) => tails.push((from, node)),
                    _ => self.group((from, until)).insert(node),
                }
            }
            self.entered[at] = free;
        }
        // Mostly many are free from the same time on.
        tails.sort_unstable();
        for same in tails.chunk_by(|a, b| a.0 == b.0) {
            let group = self.tails.entry(same[0].0).or_insert_with(Group::new);
            same.iter().for_each(|&(_, node)| group.insert(node));
        }
        touched.clear();
        self.touched = touched;
    }

    /// What was to be free by now is so for good, or is put off.
    fn touch_past(&mut self, now: i64) {
        let mut past: Vec<u32> = self.tails.range(..=now).flat_map(|(_, group)| group.iter()).collect();
        for gaps in self.gaps.iter().filter(|gaps| !gaps.is_empty()) {
            past.extend(gaps.range(..=(now, NEVER)).flat_map(|(_, group)| group.iter()));
        }
        past.into_iter().for_each(|node| self.touch(node));
    }

    fn group(&mut self, interval: Interval) -> &mut Group {
        match interval {
            (EVER, until) => self.heads.entry(until).or_insert_with(Group::new),
            (from, NEVER) => self.tails.entry(from).or_insert_with(Group::new),
            interval => self.gaps[class(interval)].entry(interval).or_insert_with(Group::new),
        }
    }

    fn remove(&mut self, interval: Interval, node: u32) {
        if !self.group(interval).remove(node) {
            return;
        }
        match interval {
            (EVER, until) => drop(self.heads.remove(&until)),
            (from, NEVER) => drop(self.tails.remove(&from)),
            interval => drop(self.gaps[class(interval)].remove(&interval)),
        }
    }

    /// The earliest time from now on at which so many nodes are free long enough, and the first of them. `clear` nodes
    /// are free for good; so many of them are where they are asked for.
    pub(super) fn earliest(
        &self,
        ask: &Ask<'_>,
        clear_within: usize,
        clear: &Positions,
        now: i64,
    ) -> Option<(i64, Vec<u32>)> {
        let wanted = ask.nodes as usize;
        let mut sweep = Sweep { ask, wanted, free: clear_within, running: BinaryHeap::new(), open: Vec::new() };
        for (&until, group) in self.heads.range(now.saturating_add(ask.length)..) {
            sweep.open(until, group, now);
        }
        if sweep.free >= wanted {
            return Some((now, sweep.choose(clear, now)));
        }
        // Then as more come to be free.
        let mut tails = self.tails.iter().peekable();
        let long = (ask.length.max(1) as u64).ilog2() as usize;
        let mut gaps: SmallVec<[_; 16]> =
            self.gaps[long..].iter().filter(|gaps| !gaps.is_empty()).map(|gaps| gaps.iter().peekable()).collect();
        loop {
            let next_gap = gaps.iter_mut().filter_map(|gaps| gaps.peek().map(|((from, _), _)| *from)).min();
            let next_tail = tails.peek().map(|(from, _)| **from);
            let at = match (next_tail, next_gap) {
                (None, None) => return None,
                (Some(a), Some(b)) => a.min(b),
                (Some(at), None) | (None, Some(at)) => at,
            };
            sweep.close(at);
            while let Some((_, group)) = tails.next_if(|(from, _)| **from == at) {
                sweep.open(NEVER, group, at);
            }
            let least = at.saturating_add(ask.length);
            for gaps in &mut gaps {
                while let Some(((_, until), group)) = gaps.next_if(|((from, _), _)| *from == at) {
                    if *until >= least {
                        sweep.open(*until, group, at);
                    }
                }
            }
            if sweep.free >= wanted {
                return Some((at, sweep.choose(clear, at)));
            }
        }
    }
}

/// Goes through time and counts the nodes that are free long enough.
struct Sweep<'a> {
    ask: &'a Ask<'a>,
    wanted: usize,
    free: usize,
    /// The last start that fits before something that is planned, and how many nodes that is so for.
    running: BinaryHeap<Reverse<(i64, usize)>>,
    /// What was counted, with the last start that fits.
    open: Vec<(i64, &'a Group)>,
}

impl<'a> Sweep<'a> {
    fn count(&self, group: &Group) -> usize {
        match self.ask.within {
            None => group.len(),
            Some(within) => group.iter().filter(|&node| within.contains(node)).count(),
        }
    }

    fn open(&mut self, until: i64, group: &'a Group, at: i64) {
        let count = self.count(group);
        if count == 0 {
            return;
        }
        let last = if until == NEVER { NEVER } else { until - self.ask.length };
        debug_assert!(last >= at);
        self.free += count;
        self.open.push((last, group));
        if last != NEVER {
            self.running.push(Reverse((last, count)));
        }
    }

    /// What cannot start at `at` any more.
    fn close(&mut self, at: i64) {
        while let Some(&Reverse((last, count))) = self.running.peek()
            && last < at
        {
            self.free -= count;
            self.running.pop();
        }
    }

    /// The first of what is free at `at`.
    fn choose(&self, clear: &Positions, at: i64) -> Vec<u32> {
        let within = |node: &u32| self.ask.within.is_none_or(|within| within.contains(*node));
        let mut nodes: Vec<u32> = match self.ask.within {
            None => clear.iter().take(self.wanted).collect(),
            Some(within) => within.iter().filter(|&node| clear.contains(node)).take(self.wanted).collect(),
        };
        for (_, group) in self.open.iter().filter(|(last, _)| *last >= at) {
            nodes.extend(group.iter().filter(within).take(self.wanted));
        }
        nodes.sort_unstable();
        nodes.truncate(self.wanted);
        nodes
    }
}

/// When a node is free of all spans, from before all times; nothing that ended before now.
fn free_intervals(spans: &[Span], now: i64) -> Intervals {
    let mut free = SmallVec::new();
    if spans.is_empty() {
        // Clear nodes are not entered.
        return free;
    }
    let mut taken: SmallVec<[Interval; 4]> = spans
        .iter()
        .map(|span| {
            let end = if span.reserved { span.until } else { span.until.max(now + 1) };
            (if span.is_on(now) { EVER } else { span.from }, end)
        })
        .filter(|&(_, end)| end > now)
        .collect();
    taken.sort_unstable();
    let mut from = EVER;
    for (start, end) in taken {
        if start > from {
            free.push((from, start));
        }
        from = from.max(end);
    }
    if from < NEVER {
        free.push((from, NEVER));
    }
    free
}
