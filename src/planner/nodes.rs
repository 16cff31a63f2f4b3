//! Which nodes are free, wholly or in part, now and later, in an order of preference: answers for requests of nodes
//! that cost what the answer costs, not what the machine costs.
//!
//! Nodes are known by their *position*: the nodes of a machine in the order in which a policy prefers them, from 0.
//! The same holds for the cores of a node. Decides which positions come first among those that suit an [`Ask`], and
//! when. Does not decide the order, nor what a constraint means (it gets a set of positions), nor what a job is.
//!
//! Time counts in ticks of the caller's choice; intervals are half open; `now` never goes back. What is *held* is so
//! from its start until it is given back: its end is only what is planned on. What is *reserved* is over at its end.
//!
//! How: for every position there is the number of cores that are free now, and until when the node is wholly free
//! (nothing planned on it); [`peaks`](self) of blocks of 64 lead to the first position with enough. For later, every
//! node that is not free for good has its free intervals in ordered maps, nodes with equal ones together; what changes
//! is only entered there when somebody asks about later. Of a constraint the caller keeps the set of positions.
//!
//! Invariants: a node is *clear* if it is up and nothing is planned on it; the answers are those of a search through
//! all positions and all times at which something ends (tests compare them with one that does that).

mod cores;
mod filter;
mod future;
mod group;
mod peaks;
#[cfg(test)]
mod tests;

pub use cores::{Cores, MAX_CORES};
pub use filter::Positions;

use crate::base::{FastMap, JobId};
use future::Future;
use peaks::Peaks;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// How many nodes; above 0.
    pub nodes: u32,
    /// How many cores of each; none: all of the node, which nobody else may use then.
    pub cores: Option<u32>,
    /// Where; none: anywhere.
    pub within: Option<&'a Positions>,
    /// For how long; above 0.
    pub length: i64,
}

/// A node of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Its position.
    pub node: u32,
    /// Which of its cores; none: all of the node.
    pub cores: Option<Cores>,
}

/// Nodes of an answer, in order of preference.
pub type Nodes = SmallVec<[Taken; 1]>;

#[derive(Clone, Debug)]
struct Job {
    from: i64,
    until: i64,
    reserved: bool,
    nodes: Nodes,
}

/// What a job has on a node.
#[derive(Clone, Copy, Debug)]
struct Span {
    job: JobId,
    from: i64,
    until: i64,
    reserved: bool,
    cores: Option<Cores>,
}

impl Span {
    /// Whether it is in the way of something at `now`.
    fn is_on(&self, now: i64) -> bool {
        self.from <= now && (!self.reserved || now < self.until)
    }

    /// Whether it is in the way of something from `from`, which is not before `now`, until `until`.
    fn meets(&self, now: i64, from: i64, until: i64) -> bool {
        let end = if self.reserved { self.until } else { self.until.max(now + 1) };
        self.from < until && from < end
    }
}

/// Until when a node is wholly free that is not: always before now.
const NOT_FREE: i64 = i64::MIN;

/// The nodes of a machine over time.
#[derive(Clone, Debug)]
pub struct NodeTimes {
    now: i64,
    /// How many cores each node has.
    sizes: Vec<u16>,
    up: Positions,
    /// Up, with nothing planned.
    clear: Positions,
    /// How many cores are free now; 0 where the node is taken whole or down.
    room: Peaks<u16>,
    /// Until when the node is wholly free from now on.
    free_until: Peaks<i64>,
    spans: Vec<SmallVec<[Span; 1]>>,
    jobs: FastMap<JobId, Job>,
    /// When what is planned starts, and when reservations end, as far as that is still to come.
    edges: BTreeSet<(i64, JobId)>,
    /// How early in its order the first core stands that is free now, for nodes in another order; see
    /// [`NodeTimes::compare_cores`].
    best: Option<Best>,
    future: Future,
}

#[derive(Clone, Debug)]
struct Best {
    /// The order is that of positions backwards.
    backwards: bool,
    /// By place in that order: [`MAX_CORES`] for the first core, less for each further one, 0 for none.
    cores: Peaks<u16>,
}

impl Best {
    fn place(&self, node: u32) -> usize {
        if self.backwards { self.cores.len() - 1 - node as usize } else { node as usize }
    }
}

impl NodeTimes {
    /// Nodes with so many cores each, in order of preference, all up and free. None if one has more than
    /// [`MAX_CORES`].
    pub fn new(sizes: impl IntoIterator<Item = usize>, now: i64) -> Option<Self> {
        let all = sizes.into_iter().map(|cores| (cores <= MAX_CORES).then_some(cores as u16));
        let sizes: Vec<u16> = all.collect::<Option<_>>()?;
        let mut up = Positions::new(sizes.len());
        (0..sizes.len() as u32).for_each(|node| up.insert(node));
        let mut room = Peaks::new(sizes.len(), 0);
        sizes.iter().enumerate().for_each(|(node, &cores)| room.set(node, cores));
        Some(Self {
            now,
            clear: up.clone(),
            up,
            room,
            free_until: Peaks::new(sizes.len(), i64::MAX),
            spans: vec![SmallVec::new(); sizes.len()],
            jobs: FastMap::default(),
            edges: BTreeSet::new(),
            best: None,
            future: Future::new(sizes.len()),
            sizes,
        })
    }

    /// Makes [`NodeTimes::find_core`] answer: cores of one position in all nodes are then equally good, and of nodes
    /// with equally good cores the first counts, or with `backwards` the last.
    pub fn compare_cores(&mut self, backwards: bool) {
        self.best = Some(Best { backwards, cores: Peaks::new(self.len(), 0) });
        (0..self.len() as u32).for_each(|node| self.refresh(node));
    }

    /// The core with the first position that is free from now on for a while, on the node that counts among those that
    /// have it free.
    pub fn find_core(&self, within: Option<&Positions>, length: i64) -> Option<Taken> {
        let until = self.now.saturating_add(length);
        let best = self.best.as_ref()?;
        let first = |taken: &Taken| taken.cores.as_ref().and_then(|cores| cores.iter().next());
        let node = |place: usize| if best.backwards { self.len() - 1 - place } else { place } as u32;
        if within.is_none() {
            let most = best.cores.most().filter(|&most| most > 0)?;
            let node = node(best.cores.first(0, most)?);
            let found = self.part(node, 1, until);
            // Something that is planned later may be in the way of that core.
            if found.as_ref().and_then(first) == Some(MAX_CORES - usize::from(most)) {
                return found;
            }
        }
        let nodes = (0..self.len()).map(node).filter(|&node| within.is_none_or(|within| within.contains(node)));
        let open = nodes.filter(|&node| self.room.get(node as usize) > 0);
        open.filter_map(|node| self.part(node, 1, until)).min_by_key(first)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The time as it was last told.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// How many nodes are up with nothing planned on them.
    pub fn clear(&self) -> usize {
        self.clear.len()
    }

    /// Whether the job has something.
    pub fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// How many jobs have something.
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// Whether what the job has is reserved.
    pub fn is_reserved(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| job.reserved)
    }

    /// What a job has: from when, until when, and on which nodes.
    pub fn job(&self, job: JobId) -> Option<(i64, i64, &[Taken])> {
        self.jobs.get(&job).map(|job| (job.from, job.until, &job.nodes[..]))
    }

    /// Time goes on: reservations may start or be over. A time before [`NodeTimes::now`] is passed over.
    pub fn advance(&mut self, now: i64) {
        if now <= self.now {
            return;
        }
        self.now = now;
        while let Some(&(at, job)) = self.edges.first()
            && at <= now
        {
            self.edges.pop_first();
            let nodes: Nodes = self.jobs.get(&job).map(|job| job.nodes.clone()).unwrap_or_default();
            nodes.iter().for_each(|taken| self.refresh(taken.node));
        }
    }

    /// The nodes that come first of those that suit an ask from now on; none if there are not enough.
    pub fn find_now(&self, ask: &Ask<'_>) -> Option<Nodes> {
        let until = self.now.saturating_add(ask.length);
        let mut found = Nodes::new();
        match (ask.within, ask.cores) {
            (None, None) => {
                let mut next = 0;
                while found.len() < ask.nodes as usize {
                    let node = self.free_until.first(next, until)?;
                    found.push(Taken { node: node as u32, cores: None });
                    next = node + 1;
                }
            }
            (None, Some(cores)) => {
                let mut next = 0;
                while found.len() < ask.nodes as usize {
                    let node = self.room.first(next, cores.max(1) as u16)?;
                    found.extend(self.part(node as u32, cores, until));
                    next = node + 1;
                }
            }
            (Some(within), None) => {
                let low = |level, block| self.free_until.peak(level, block).is_some_and(|peak| peak < until);
                let nodes = within.iter_where(|group| low(2, group), |block| !low(1, block));
                let nodes = nodes.filter(|&node| self.free_until.get(node as usize) >= until);
                found.extend(nodes.take(ask.nodes as usize).map(|node| Taken { node, cores: None }));
            }
            (Some(within), Some(cores)) => {
                let low = |level, block| self.room.peak(level, block).is_some_and(|peak| u32::from(peak) < cores);
                let nodes = within.iter_where(|group| low(2, group), |block| !low(1, block));
                let nodes = nodes.filter(|&node| u32::from(self.room.get(node as usize)) >= cores.max(1));
                let parts = nodes.filter_map(|node| self.part(node, cores, until));
                found.extend(parts.take(ask.nodes as usize));
            }
        }
        (found.len() == ask.nodes as usize).then_some(found)
    }

    /// The first so many cores of a node that are free from now on.
    fn part(&self, node: u32, cores: u32, until: i64) -> Option<Taken> {
        let mut free = Cores::first(self.sizes[node as usize].into());
        for span in self.spans[node as usize].iter().filter(|span| span.meets(self.now, self.now, until)) {
            free = free.without(span.cores.as_ref()?);
        }
        let free = free.lowest(cores as usize);
        (free.len() == cores as usize).then_some(Taken { node, cores: Some(free) })
    }

    /// The earliest time from now on at which enough nodes are wholly free for as long as is asked, and the first of
    /// them; none if there will never be so many. Asks for cores are not answered.
    pub fn find_earliest(&mut self, ask: &Ask<'_>) -> Option<(i64, Nodes)> {
        if ask.cores.is_some() {
            return None;
        }
        self.future.refresh(&self.spans, &self.up, self.now);
        let clear = ask.within.map_or(self.clear.len(), |within| self.clear.and_len(within));
        let (at, nodes) = self.future.earliest(ask, clear, &self.clear, self.now)?;
        Some((at, nodes.into_iter().map(|node| Taken { node, cores: None }).collect()))
    }

    /// A job takes nodes: from now on if it is held, or at a later time if it is reserved. The nodes are free then, as
    /// an answer says that they are. A job that has something already gets nothing; then the answer is false.
    pub fn take(&mut self, job: JobId, nodes: Nodes, from: i64, until: i64, reserved: bool) -> bool {
        if self.jobs.contains_key(&job) {
            return false;
        }
        for &Taken { node, cores } in &nodes {
            self.spans[node as usize].push(Span { job, from, until, reserved, cores });
            self.refresh(node);
        }
        if from > self.now {
            self.edges.insert((from, job));
        }
        if reserved && until > self.now {
            self.edges.insert((until, job));
        }
        self.jobs.insert(job, Job { from, until, reserved, nodes });
        true
    }

    /// A job gives back all that it has. False if that is nothing.
    pub fn give_back(&mut self, job: JobId) -> bool {
        let Some(Job { from, until, reserved, nodes }) = self.jobs.remove(&job) else { return false };
        for &Taken { node, .. } in &nodes {
            self.drop_spans(node, job);
        }
        if reserved || from > self.now {
            self.edges.remove(&(from, job));
            self.edges.remove(&(until, job));
        }
        true
    }

    /// A job gives back what it has on some nodes; what it has is over when nothing is left.
    pub fn give_back_on(&mut self, job: JobId, on: impl Fn(u32) -> bool) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        let gone: SmallVec<[u32; 4]> = known.nodes.iter().map(|taken| taken.node).filter(|&node| on(node)).collect();
        known.nodes.retain(|taken| !on(taken.node));
        let empty = known.nodes.is_empty();
        gone.into_iter().for_each(|node| self.drop_spans(node, job));
        if empty {
            self.give_back(job);
        }
    }

    /// What a job has is planned to end at another time.
    pub fn extend(&mut self, job: JobId, until: i64) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        let old = std::mem::replace(&mut known.until, until);
        let nodes = known.nodes.clone();
        if known.reserved {
            self.edges.remove(&(old, job));
            if until > self.now {
                self.edges.insert((until, job));
            }
        }
        for &Taken { node, .. } in &nodes {
            let mine = self.spans[node as usize].iter_mut().filter(|span| span.job == job);
            mine.for_each(|span| span.until = until);
            self.refresh(node);
        }
    }

    /// A node takes new work or not. What is planned on it stays.
    pub fn set_up(&mut self, node: u32, up: bool) {
        if up {
            self.up.insert(node);
        } else {
            self.up.remove(node);
        }
        self.refresh(node);
    }

    fn drop_spans(&mut self, node: u32, job: JobId) {
        self.spans[node as usize].retain(|span| span.job != job);
        self.refresh(node);
    }

    /// Reads what is planned on a node.
    fn refresh(&mut self, node: u32) {
        let at = node as usize;
        let spans = &self.spans[at];
        let up = self.up.contains(node);
        self.future.touch(node);
        if spans.is_empty() && up {
            self.clear.insert(node);
            self.room.set(at, self.sizes[at]);
            self.free_until.set(at, i64::MAX);
            self.set_best(node, &Cores::NONE, false);
            return;
        }
        self.clear.remove(node);
        let (mut used, mut whole, mut until) = (Cores::NONE, !up, i64::MAX);
        for span in spans {
            if !span.is_on(self.now) {
                if span.from > self.now {
                    until = until.min(span.from);
                }
                continue;
            }
            until = NOT_FREE;
            match &span.cores {
                Some(cores) => used = used.with(cores),
                None => whole = true,
            }
            if whole {
                break;
            }
        }
        let room = if whole { 0 } else { self.sizes[at] - used.len() as u16 };
        self.room.set(at, room);
        self.free_until.set(at, if up { until } else { NOT_FREE });
        self.set_best(node, &used, whole);
    }

    fn set_best(&mut self, node: u32, used: &Cores, whole: bool) {
        let Some(best) = &mut self.best else { return };
        let free = Cores::first(self.sizes[node as usize].into()).without(used);
        let first = free.iter().next().filter(|_| !whole);
        let place = best.place(node);
        best.cores.set(place, first.map_or(0, |first| (MAX_CORES - first) as u16));
    }
}
