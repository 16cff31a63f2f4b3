//! The short way: requests of whole nodes, or of cores of one node, are answered from an index of nodes
//! ([`NodeTimes`]) instead of a walk.
//!
//! Decides which requests the index can answer, and keeps the index right: whatever else plans something on a node
//! tells it. What is granted by the index is entered in the plans of vertices only when somebody is about to walk
//! (`Engine::enter_all`); until then the index alone knows it.
//!
//! The index is there if nothing but a containment tree is walked, by numbers of nodes ([`Policy::Id`]), simply, and not
//! as Fluxion does; if the numbers of nodes are unique, `first` meets nodes in the order of their numbers, and cores
//! are directly in nodes.
//!
//! Invariants: the answer is the one that the walk would give (a test asks both); of two jobs entered, the index
//! forgets none and knows none that the plans do not have.

mod constraints;
mod grant;
mod order;

use super::commit::{Allocation, Kind};
use super::engine::Engine;
use super::error::MatchError;
use super::options::{Policy, Traverser};
use super::outcome::{Matched, Mode, Operation, Visits};
use super::select::LEAD;
use super::shape::{Shape, SlotsFrom};
use super::types::Ty;
use crate::base::{FastMap, JobId, Timestamp, VertexId};
use crate::formats::constraint::Constraint;
use crate::formats::jobspec::Jobspec;
use crate::graph::{Graph, KindId};
use crate::planner::nodes::{Ask, Cores, NodeTimes, Nodes, Positions, Taken};
use constraints::ByProperty;
use order::{cores_in_order, have_same_cores, nodes_in_order, scores_tell_nodes_apart};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// No node.
const NOWHERE: u32 = u32::MAX;
/// Sets of positions that are kept; if there are more constraints, all are made anew.
const MAX_KEPT: usize = 256;

/// The index and what it needs to speak of vertices.
#[derive(Clone, Debug)]
pub(super) struct Fast {
    pub(super) times: NodeTimes,
    /// The nodes by position.
    nodes: Vec<VertexId>,
    /// What contains each, and whether it contains something itself.
    homes: Vec<(VertexId, bool)>,
    /// The position of each target.
    position: Vec<u32>,
    /// The cores of a node in order of preference, as places in depth-first order.
    orders: Vec<Arc<[u16]>>,
    order_of: Vec<u32>,
    least_cores: u32,
    slots: SlotsFrom,
    /// Marks as down inside of nodes, which the index does not know.
    down_inside: usize,
    by_property: ByProperty,
    kept: Kept,
    /// Jobs that only the index knows, and others that are gone since.
    unentered: Vec<JobId>,
    /// When the allocations of such jobs should end.
    pub(super) ends: BinaryHeap<Reverse<(i64, JobId)>>,
    /// How often the end of such a job was put off.
    pub(super) overruns: FastMap<JobId, u32>,
}

/// Sets of positions that were asked for: by constraint and number of cores.
#[derive(Clone, Debug)]
struct Kept {
    by_constraint: FastMap<Constraint, usize>,
    /// The first without a constraint.
    sets: Vec<SmallVec<[(u32, Positions); 1]>>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { by_constraint: FastMap::default(), sets: vec![SmallVec::new()] }
    }
}

impl Fast {
    /// An index of nothing planned and everything up, if the graph and the options allow one.
    pub(super) fn new(engine: &Engine) -> Option<Box<Fast>> {
        let graph = &engine.graph;
        let Policy::Id { low, node_centric, stop_on_first, .. } = engine.options.policy else { return None };
        if engine.options.compat || engine.options.traverser != Traverser::Simple || !engine.topology.plain {
            return None;
        }
        let root = engine.topology.roots[LEAD];
        let nodes = nodes_in_order(graph, root, low, stop_on_first)?;
        let mut position = vec![NOWHERE; graph.target_bound()];
        let mut orders: Vec<Arc<[u16]>> = Vec::new();
        let mut order_of = Vec::with_capacity(nodes.len());
        let mut sizes = Vec::with_capacity(nodes.len());
        for (at, &v) in nodes.iter().enumerate() {
            let target = graph.target_of(v).and_then(|id| graph.target(id)).filter(|target| target.vertex == v)?;
            position[target.id.index()] = at as u32;
            let order = cores_in_order(graph, graph.core_vertices(target), v, low, stop_on_first)?;
            sizes.push(order.len());
            if orders.last().is_none_or(|last| **last != *order) {
                orders.push(order.into());
            }
            order_of.push(orders.len() as u32 - 1);
        }
        let is_plain = |kind| graph.of_kind(kind).iter().all(|&v| graph.size(v) == 1);
        if !is_plain(KindId::NODE) || !is_plain(KindId::CORE) {
            return None;
        }
        let mut times = NodeTimes::new(sizes.iter().copied(), 0)?;
        let by_node = stop_on_first || (node_centric && scores_tell_nodes_apart(graph, &nodes));
        let in_place = if low { nodes.is_sorted() } else { nodes.is_sorted_by(|a, b| a > b) };
        // Cores beside nodes would come first, or be mixed with those in nodes.
        let only_in_nodes = graph.of_kind(KindId::CORE).len() == sizes.iter().sum::<usize>();
        let slots = if !only_in_nodes {
            SlotsFrom::Anywhere
        } else if by_node {
            SlotsFrom::FirstNode
        } else if !node_centric && in_place && have_same_cores(graph, &nodes) {
            times.compare_cores(!low);
            SlotsFrom::BestCore
        } else {
            SlotsFrom::Anywhere
        };
        let mut fast = Box::new(Fast {
            times,
            least_cores: sizes.iter().min().map_or(0, |&least| least as u32),
            homes: nodes.iter().map(|&v| (graph.parent(v).unwrap_or(root), graph.subtree(v).len() > 1)).collect(),
            nodes,
            position,
            orders,
            order_of,
            slots,
            down_inside: 0,
            by_property: ByProperty::default(),
            kept: Kept::default(),
            unentered: Vec::new(),
            ends: BinaryHeap::new(),
            overruns: FastMap::default(),
        });
        for (at, node) in (0..).zip(fast.nodes.clone()) {
            let own = engine.properties.get(&node).unwrap_or_else(|| graph.vertex(node).properties());
            own.keys().for_each(|name| fast.set_property(at, name));
        }
        Some(fast)
    }

    pub(super) fn knows(&self, job: JobId) -> bool {
        self.times.knows(job)
    }

    /// A job has nothing any more. On how many nodes it had something.
    pub(super) fn give_back(&mut self, job: JobId) -> usize {
        let nodes = self.times.nodes_of(job);
        self.times.give_back(job);
        self.overruns.remove(&job);
        if self.unentered.len() > 1024 && self.unentered.len() > 4 * self.times.jobs() {
            let times = &self.times;
            self.unentered.retain(|&job| times.knows(job));
            self.ends.retain(|Reverse((_, job))| times.knows(*job));
        }
        nodes
    }

    /// Finds out where nodes have so many cores and satisfy a constraint, and where that is kept; none if it is
    /// everywhere.
    fn keep_within(
        &mut self,
        graph: &Graph,
        constraint: Option<&Constraint>,
        least: Option<u32>,
    ) -> Option<(usize, usize)> {
        let known = match constraint {
            None => {
                least?;
                Some(0)
            }
            Some(constraint) => self.kept.by_constraint.get(constraint).copied(),
        };
        let key = least.unwrap_or(0);
        if let Some(at) = known
            && let Some(set) = self.kept.sets[at].iter().position(|(cores, _)| *cores == key)
        {
            return Some((at, set));
        }
        let mut nodes = self.satisfying(graph, constraint.unwrap_or(&Constraint::All));
        if let Some(least) = least {
            let few = |node: &u32| self.orders[self.order_of[*node as usize] as usize].len() < least as usize;
            let poor: Vec<u32> = nodes.iter().filter(few).collect();
            poor.into_iter().for_each(|node| nodes.remove(node));
        }
        let Kept { by_constraint, sets } = &mut self.kept;
        let at = match (known, constraint) {
            (Some(at), _) => at,
            (None, None) => 0,
            (None, Some(constraint)) => {
                if sets.len() >= MAX_KEPT {
                    by_constraint.clear();
                    sets.truncate(1);
                }
                by_constraint.insert(constraint.clone(), sets.len());
                sets.push(SmallVec::new());
                sets.len() - 1
            }
        };
        sets[at].push((key, nodes));
        Some((at, sets[at].len() - 1))
    }
}

impl Engine {
    /// The same engine, but every request is answered by a walk: for tests, and to compare.
    #[must_use = "the engine itself is changed only in what is given back"]
    pub fn without_index(mut self) -> Self {
        self.enter_all();
        self.fast = None;
        self.indexed = false;
        self
    }

    /// Whether requests of nodes are answered from an index; see [`Engine::without_index`].
    pub fn has_index(&self) -> bool {
        self.fast.is_some()
    }

    /// Answers a request from the index. None if a walk has to do it.
    pub(super) fn match_fast(
        &mut self,
        operation: Operation,
        job: JobId,
        at: Timestamp,
        spec: &Jobspec,
    ) -> Option<Result<Matched, MatchError>> {
        let mut fast = self.fast.take()?;
        let answer = self.ask_index(&mut fast, operation, job, at, spec);
        self.fast = Some(fast);
        answer
    }

    fn ask_index(
        &mut self,
        fast: &mut Fast,
        operation: Operation,
        job: JobId,
        at: Timestamp,
        spec: &Jobspec,
    ) -> Option<Result<Matched, MatchError>> {
        let now = self.ticks(at);
        let length = match spec.attributes.system.duration {
            None => self.horizon(),
            Some(limit) if limit.is_infinite() => self.horizon(),
            Some(limit) => limit.micros().max(1),
        };
        let can =
            fast.down_inside == 0 && (fast.times.now()..self.horizon()).contains(&now) && length <= self.horizon();
        if !can || operation == Operation::Satisfiability {
            return None;
        }
        let Shape { nodes, cores, least, best_core, slots } =
            Shape::of(&spec.resources, &self.options.policy, fast.slots)?;
        if !operation.is_question() && (fast.knows(job) || self.jobs.contains_key(&job)) {
            return None;
        }
        self.put_off_all(fast, now);
        fast.times.advance(now);
        let constraint = spec.attributes.system.constraints.as_ref();
        let least_of_slot = least;
        let least = (least > fast.least_cores).then_some(least);
        let within = fast.keep_within(&self.graph, constraint, least);
        let Fast { times, kept, .. } = fast;
        let within = within.map(|(at, set)| &kept.sets[at][set].1);
        let ask = Ask { nodes, cores, within, length };
        let there = within.map_or(times.len(), Positions::len);
        let free_now = match (slots, best_core) {
            (Some(slots), _) => times.find_slots(slots, least_of_slot, within, length),
            (None, true) => times.find_core(within, length).map(|taken| Nodes::from_iter([taken])),
            (None, false) => times.find_now(&ask),
        };
        let found = match free_now {
            Some(found) => Some((now, found)),
            // Whatever is free later, there are not so many; of slots there may be several on a node.
            None if there < nodes as usize => return None,
            None => match operation {
                Operation::Allocate | Operation::WithoutAllocating | Operation::AllocateWithSatisfiability => None,
                Operation::AllocateOrElseReserve | Operation::WithoutAllocatingFuture if cores.is_none() => {
                    Some(times.find_earliest(&ask)?)
                }
                Operation::AllocateOrElseReserve | Operation::WithoutAllocatingFuture | Operation::Satisfiability => {
                    return None;
                }
            },
        };
        let Some((from, found)) = found.filter(|(from, _)| *from < self.horizon()) else {
            self.visits = Visits { preorder: 1, postorder: 0 };
            return Some(Err(MatchError::Busy));
        };
        let until = from.saturating_add(length).min(self.horizon());
        let grant = fast.grant(&self.graph, &found);
        let mode = match operation {
            _ if operation.is_question() => Mode::Matched,
            _ if from > now => Mode::Reserved,
            _ => Mode::Allocated,
        };
        self.visits = Visits { preorder: found.len() as u64, postorder: found.len() as u64 };
        if mode != Mode::Matched {
            fast.times.take(job, &found, from, until, mode == Mode::Reserved);
            fast.unentered.push(job);
            if mode == Mode::Allocated {
                fast.ends.push(Reverse((until, job)));
            }
        }
        Some(Ok(Matched { at: self.timestamp(from), end: self.timestamp(until), mode, grant, visits: self.visits }))
    }

    /// Before a walk: enters what only the index knows.
    pub(super) fn enter_all(&mut self) {
        let Some(mut fast) = self.fast.take() else { return };
        let (mut reserved, mut late) = (false, false);
        for job in std::mem::take(&mut fast.unentered) {
            let Some((from, until, nodes)) = fast.times.job(job) else { continue };
            if self.jobs.contains_key(&job) {
                continue;
            }
            let choice = fast.choice(&self.graph, &nodes);
            let mut whole = vec![false; self.types.len()];
            whole[Ty::NODE.index()] = nodes.has_whole();
            let kind = if fast.times.is_reserved(job) { Kind::Reservation } else { Kind::Allocation };
            reserved |= kind == Kind::Reservation;
            let allocation = Allocation { job, now: Some(from), from, until, kind, planned: false };
            self.commit(&choice, allocation, &whole);
            if let Some(record) = self.jobs.get_mut(&job) {
                record.overruns = fast.overruns.remove(&job).unwrap_or(0);
                late |= record.overruns > 0;
            }
        }
        if reserved || late {
            self.count_all_once(fast.times.now());
        }
        fast.ends.clear();
        fast.overruns.clear();
        self.fast = Some(fast);
    }

    /// The engine with everything entered, for those that only look.
    pub(super) fn entered(&self) -> Cow<'_, Engine> {
        if self.fast.as_ref().is_none_or(|fast| fast.unentered.is_empty()) {
            return Cow::Borrowed(self);
        }
        let mut entered = self.clone();
        entered.enter_all();
        Cow::Owned(entered)
    }

    /// After a walk: tells the index what a job has now.
    pub(super) fn tell_index(&mut self, job: JobId) {
        let Some(mut fast) = self.fast.take() else { return };
        fast.give_back(job);
        if let Some(record) = self.jobs.get(&job) {
            let (nodes, from) = self.held_on_nodes(&fast, job);
            if let Some(from) = from.filter(|_| !nodes.is_empty()) {
                fast.times.take(job, &nodes, from, record.end, record.reserved);
            }
        }
        self.fast = Some(fast);
    }

    /// What a job has in and above nodes, and from when on.
    fn held_on_nodes(&self, fast: &Fast, job: JobId) -> (Nodes, Option<i64>) {
        let graph = &self.graph;
        let mut on: std::collections::BTreeMap<u32, Option<Cores>> = std::collections::BTreeMap::new();
        let mut start = None;
        for &v in self.jobs.get(&job).into_iter().flat_map(|record| &record.vertices) {
            let Some(hold) = self.plan(v).and_then(|plan| plan.holds.get(&job)) else { continue };
            let counted = hold.counted.map(|(from, _)| from);
            start = start.or(hold.pool.map(|part| part.from)).or(counted);
            let Some(target) = graph.target_of(v).and_then(|id| graph.target(id)) else {
                if hold.pool.is_some() {
                    for id in graph.targets_in(v) {
                        on.insert(fast.position[id.index()], None);
                    }
                }
                continue;
            };
            let node = fast.position[target.id.index()];
            let cores = on.entry(node).or_insert(Some(Cores::NONE));
            if hold.pool.is_none() {
                continue;
            }
            if v == target.vertex {
                *cores = None;
            } else if graph.kind(v) == KindId::CORE
                && let Some(cores) = cores
            {
                let place = graph.core_vertices(target).partition_point(|&core| core < v) as u16;
                let order = &fast.orders[fast.order_of[node as usize] as usize];
                if let Some(at) = order.iter().position(|&p| p == place) {
                    cores.insert(at);
                }
            }
        }
        (on.into_iter().map(|(node, cores)| Taken { node, cores }).collect(), start)
    }

    /// Makes the index anew, as after a change of the graph. Everything must be entered.
    pub(super) fn rebuild_index(&mut self) {
        if !self.indexed {
            return;
        }
        let now = self.fast.as_ref().map_or(0, |fast| fast.times.now());
        self.fast = Fast::new(self);
        if let Some(fast) = &mut self.fast {
            fast.times.advance(now);
        }
        for job in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.tell_index(job);
        }
        self.tell_index_of_marks(self.topology.roots[LEAD]);
    }

    /// After marks at and above nodes below `v` may have changed.
    pub(super) fn tell_index_of_marks(&mut self, v: VertexId) {
        let Some(mut fast) = self.fast.take() else { return };
        let graph = self.graph.clone();
        let mut tell = |id| {
            if let Some(target) = graph.target(id) {
                fast.times.set_up(fast.position[target.id.index()], self.is_up(target.vertex));
            }
        };
        match graph.targets_in(v) {
            [] => graph.target_of(v).into_iter().for_each(&mut tell),
            targets => targets.iter().copied().for_each(&mut tell),
        }
        let inside =
            |v: &&VertexId| graph.target_of(**v).and_then(|id| graph.target(id)).is_some_and(|t| t.vertex != **v);
        fast.down_inside = self.down.iter().filter(inside).count();
        self.fast = Some(fast);
    }
}
