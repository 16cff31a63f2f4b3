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
mod find;
mod future;
mod group;
mod peaks;
mod picks;
#[cfg(test)]
mod tests;

pub use cores::{Cores, MAX_CORES};
pub use filter::Positions;
pub use picks::{Nodes, Taken};

use crate::base::{FastMap, JobId};
use future::Future;
use peaks::Peaks;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

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

#[derive(Clone, Debug)]
struct Job {
    from: i64,
    until: i64,
    reserved: bool,
    /// Nodes, each with what the job has of it, as [`Span::cores`].
    nodes: SmallVec<[(u32, u32); 2]>,
}

/// What a job has on a node.
#[derive(Clone, Copy, Debug)]
struct Span {
    job: JobId,
    from: i64,
    until: i64,
    reserved: bool,
    /// Which of [`NodeTimes::masks`]; all of the node if [`WHOLE`].
    cores: u32,
}

/// All of a node.
const WHOLE: u32 = u32::MAX;

/// A node now.
#[derive(Clone, Copy, Debug)]
struct Present {
    /// Cores that somebody has.
    used: Cores,
    /// When the next thing starts that is planned for later.
    next: i64,
    /// How many cores there are.
    size: u16,
    /// How many have all of it.
    whole: u16,
}

type Spans = SmallVec<[Span; 2]>;

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
    present: Vec<Present>,
    up: Positions,
    /// Up, with nothing planned.
    clear: Positions,
    /// How many cores are free now; 0 where the node is taken whole or down.
    room: Peaks<u16>,
    /// Until when the node is wholly free from now on.
    free_until: Peaks<i64>,
    /// How many nodes are wholly free now.
    idle: usize,
    spans: Vec<Spans>,
    masks: Masks,
    jobs: FastMap<JobId, Job>,
    /// When what is planned starts, and when reservations end, as far as that is still to come.
    edges: BTreeSet<(i64, JobId)>,
    /// How early in its order the first core stands that is free now, for nodes in another order; see
    /// [`NodeTimes::compare_cores`].
    best: Option<Best>,
    future: Future,
}

/// Sets of cores that spans have.
#[derive(Clone, Debug, Default)]
struct Masks {
    all: Vec<Cores>,
    free: Vec<u32>,
}

impl Masks {
    fn add(&mut self, cores: Cores) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.all[at as usize] = cores;
                at
            }
            None => {
                self.all.push(cores);
                self.all.len() as u32 - 1
            }
        }
    }

    fn drop(&mut self, at: u32) {
        if at != WHOLE {
            self.free.push(at);
        }
    }
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
        let free = |cores| Present { used: Cores::NONE, next: i64::MAX, size: cores as u16, whole: 0 };
        let all = sizes.into_iter().map(|cores| (cores <= MAX_CORES).then(|| free(cores)));
        let present: Vec<Present> = all.collect::<Option<_>>()?;
        let nodes = present.len();
        let mut up = Positions::new(nodes);
        (0..nodes as u32).for_each(|node| up.insert(node));
        let mut room = Peaks::new(nodes, 0);
        present.iter().enumerate().for_each(|(node, present)| room.set(node, present.size));
        Some(Self {
            now,
            clear: up.clone(),
            up,
            room,
            free_until: Peaks::new(nodes, i64::MAX),
            idle: nodes,
            spans: vec![SmallVec::new(); nodes],
            masks: Masks::default(),
            jobs: FastMap::default(),
            edges: BTreeSet::new(),
            best: None,
            future: Future::new(nodes),
            present,
        })
    }

    /// Makes [`NodeTimes::find_core`] answer: cores of one position in all nodes are then equally good, and of nodes
    /// with equally good cores the first counts, or with `backwards` the last.
    pub fn compare_cores(&mut self, backwards: bool) {
        self.best = Some(Best { backwards, cores: Peaks::new(self.len(), 0) });
        (0..self.len() as u32).for_each(|node| self.refresh(node));
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.present.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.present.is_empty()
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

    /// On how many nodes a job has something.
    pub fn nodes_of(&self, job: JobId) -> usize {
        self.jobs.get(&job).map_or(0, |job| job.nodes.len())
    }

    /// Until when what a job has is planned.
    pub fn end_of(&self, job: JobId) -> Option<i64> {
        self.jobs.get(&job).map(|job| job.until)
    }

    /// What a job has: from when, until when, and on which nodes.
    pub fn job(&self, job: JobId) -> Option<(i64, i64, Nodes)> {
        let Job { from, until, nodes, .. } = self.jobs.get(&job)?;
        let taken = |&(node, cores): &(u32, u32)| Taken { node, cores: self.masks.all.get(cores as usize).copied() };
        Some((*from, *until, nodes.iter().map(taken).collect()))
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
            let nodes = self.jobs.get(&job).map(|job| job.nodes.clone()).unwrap_or_default();
            nodes.iter().for_each(|&(node, _)| self.refresh(node));
        }
    }

    /// A job takes nodes: from now on if it is held, or at a later time if it is reserved. The nodes are free then, as
    /// an answer says that they are. A job that has something already gets nothing; then the answer is false.
    pub fn take(&mut self, job: JobId, nodes: &Nodes, from: i64, until: i64, reserved: bool) -> bool {
        let Entry::Vacant(entry) = self.jobs.entry(job) else { return false };
        let mut taken = SmallVec::with_capacity(nodes.len());
        taken.extend(nodes.whole().iter().map(|&node| (node, WHOLE)));
        taken.extend(nodes.parts().iter().map(|&(node, cores)| (node, self.masks.add(cores))));
        entry.insert(Job { from, until, reserved, nodes: taken.clone() });
        let span = Span { job, from, until, reserved, cores: WHOLE };
        for (node, cores) in taken {
            let span = Span { cores, ..span };
            self.spans[node as usize].push(span);
            self.begin(node, &span);
        }
        if from > self.now {
            self.edges.insert((from, job));
        }
        if reserved && until > self.now {
            self.edges.insert((until, job));
        }
        true
    }

    /// A job gives back all that it has. False if that is nothing.
    pub fn give_back(&mut self, job: JobId) -> bool {
        let Some(Job { from, until, reserved, nodes }) = self.jobs.remove(&job) else { return false };
        nodes.iter().for_each(|&(node, _)| self.drop_spans(node, job));
        if reserved || from > self.now {
            self.edges.remove(&(from, job));
            self.edges.remove(&(until, job));
        }
        true
    }

    /// A job gives back what it has on some nodes; what it has is over when nothing is left.
    pub fn give_back_on(&mut self, job: JobId, on: impl Fn(u32) -> bool) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        let gone: SmallVec<[u32; 4]> = known.nodes.iter().map(|&(node, _)| node).filter(|&node| on(node)).collect();
        known.nodes.retain(|&mut (node, _)| !on(node));
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
        for (node, _) in nodes {
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
        let masks = &mut self.masks;
        self.spans[node as usize].retain(|span| {
            let goes = span.job == job;
            if goes {
                masks.drop(span.cores);
            }
            !goes
        });
        self.refresh(node);
    }

    /// A span was added to those of a node.
    fn begin(&mut self, node: u32, span: &Span) {
        let present = &mut self.present[node as usize];
        if !span.is_on(self.now) && self.free_until.get(node as usize) == NOT_FREE {
            // What is later changes nothing now.
            if span.from > self.now {
                present.next = present.next.min(span.from);
            }
            self.future.touch(node);
            return;
        }
        if span.is_on(self.now) {
            match self.masks.all.get(span.cores as usize) {
                Some(cores) => present.used = present.used.with(cores),
                None => present.whole += 1,
            }
        } else if span.from > self.now {
            present.next = present.next.min(span.from);
        }
        self.clear.remove(node);
        self.show(node);
    }

    /// Reads what is planned on a node.
    fn refresh(&mut self, node: u32) {
        let at = node as usize;
        let present = &mut self.present[at];
        (present.used, present.next, present.whole) = (Cores::NONE, i64::MAX, 0);
        for span in &self.spans[at] {
            if !span.is_on(self.now) {
                if span.from > self.now {
                    present.next = present.next.min(span.from);
                }
            } else if let Some(cores) = self.masks.all.get(span.cores as usize) {
                present.used = present.used.with(cores);
            } else {
                present.whole += 1;
            }
        }
        if self.spans[at].is_empty() && self.up.contains(node) {
            self.clear.insert(node);
        } else {
            self.clear.remove(node);
        }
        self.show(node);
    }

    /// Puts what a node is now where it is looked for.
    fn show(&mut self, node: u32) {
        let at = node as usize;
        self.future.touch(node);
        let present = &self.present[at];
        let open = present.whole == 0 && self.up.contains(node);
        let used = present.used.len() as u16;
        // Something may be held on the node without any core.
        let on = used > 0 || (!self.spans[at].is_empty() && self.spans[at].iter().any(|span| span.is_on(self.now)));
        let until = if open && !on { present.next } else { NOT_FREE };
        self.room.set(at, if open { present.size - used } else { 0 });
        if let Some(best) = &mut self.best {
            let free = Cores::first(present.size.into()).without(&present.used);
            let first = free.iter().next().filter(|_| open);
            best.cores.set(best.place(node), first.map_or(0, |first| (MAX_CORES - first) as u16));
        }
        let before = self.free_until.get(at);
        self.idle = self.idle + usize::from(until != NOT_FREE) - usize::from(before != NOT_FREE);
        self.free_until.set(at, until);
    }
}
