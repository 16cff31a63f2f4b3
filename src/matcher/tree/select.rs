//! Selection: one walk over the graph at one time, from the root down, that finds what fits best.
//!
//! At every vertex: does its type fit the request here, does its state rule it out, what is found below, is that
//! enough. What is chosen is kept as marks on edges; marks below vertices that are not chosen are never looked at.

use super::engine::Engine;
use super::options::{Policy, Traverser};
use super::outcome::Visits;
use super::score::{Edge, Group, MET, Order, Scoring, Shares, UNMET};
use super::types::{Spec, Ty};
use crate::base::{FastMap, FastSet, VertexId};
use crate::formats::constraint::Constraint;
use std::collections::BTreeMap;

/// The leading subsystem among those of an engine.
pub(super) const LEAD: usize = 0;
/// Others are walked up no further than this, though the graph may go round in circles there.
const MAX_UPWALK: u32 = 64;

/// What a request is matched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// To hold it from now on, or to say whether that could be done.
    Now,
    /// To hold it later.
    Later,
    /// To say whether it could ever be; marks as down do not count.
    Ever,
}

/// A request at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    pub(super) now: i64,
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) purpose: Purpose,
    pub(super) constraint: Option<&'a Constraint>,
    /// Types of which every chosen vertex is taken whole, by [`Ty::index`].
    pub(super) whole: &'a [bool],
}

/// What was chosen of a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) from: VertexId,
    pub(super) needs: u64,
    pub(super) exclusive: bool,
}

/// What one walk chose.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) root_needs: u64,
    pub(super) root_exclusive: bool,
    /// By the vertex that the edge leads to.
    pub(super) marks: BTreeMap<VertexId, Mark>,
    pub(super) labels: FastMap<VertexId, String>,
}

/// How a vertex fits a request.
enum Fit<'r> {
    /// Its type is asked for here; that is wanted below.
    Resource(&'r [Spec]),
    /// Slots are made of what is directly below.
    Slot(&'r [Spec], u64),
    /// Nothing was matched above, so that this level may be left out of the request.
    Passed(&'r [Spec]),
    /// It does not.
    None,
}

/// One walk.
pub(super) struct Walk<'e> {
    pub(super) engine: &'e Engine,
    pub(super) query: Query<'e>,
    pub(super) visits: Visits,
    pub(super) complaint: String,
    pub(super) choice: Choice,
    /// Entered and not ruled out; only where a vertex can be reached twice.
    seen: FastSet<VertexId>,
    /// The share in the score of the nodes above.
    node_score: i64,
    last_node_score: i64,
    upwalk: u32,
}

impl<'e> Walk<'e> {
    pub(super) fn new(engine: &'e Engine, query: Query<'e>) -> Self {
        Self {
            engine,
            query,
            visits: Visits::default(),
            complaint: String::new(),
            choice: Choice::default(),
            seen: FastSet::default(),
            node_score: 0,
            last_node_score: 0,
            upwalk: 0,
        }
    }

    /// Whether the request fits; then [`Walk::choice`] is what was chosen.
    pub(super) fn select(&mut self, specs: &[Spec]) -> bool {
        let root = self.engine.topology.roots[LEAD];
        let ty = self.engine.ty(root);
        let exclusive = asks_exclusively(specs, ty);
        let mut found = Scoring::default();
        let mut passed_exclusive = exclusive;
        if !self.down(root, specs, true, &mut passed_exclusive, &mut found) {
            return false;
        }
        let edge = Edge { from: root, to: root, count: found.avail, exclusive };
        let group = Group { is_root: true, ..Group::single(found.score, edge) };
        found.add(LEAD, ty, group);
        if !self.finish_graph(specs, &mut found) {
            return false;
        }
        let mut needs = 1;
        for spec in specs.iter().filter(|spec| spec.ty == ty) {
            needs = spec.choose(found.avail);
            if needs == 0 {
                return false;
            }
        }
        if found.all().any(|candidates| candidates.qualified == 0) {
            return false;
        }
        self.settle(&found, true);
        self.choice.root_needs = needs;
        self.choice.root_exclusive = passed_exclusive;
        true
    }

    fn stops_on_first(&self) -> bool {
        self.engine.options.policy.stops_on_first()
    }

    fn compat(&self) -> bool {
        self.engine.options.compat
    }

    /// Enters a vertex of the leading subsystem. What it offers is added to `up`.
    fn down(&mut self, v: VertexId, specs: &[Spec], pristine: bool, exclusive: &mut bool, up: &mut Scoring) -> bool {
        let engine = self.engine;
        let ty = engine.ty(v);
        let wants_all = *exclusive || asks_exclusively(specs, ty);
        let fit = self.fit(v, ty, specs, pristine);
        self.visits.preorder += 1;
        let (next, pristine) = match &fit {
            Fit::None => return false,
            Fit::Resource(next) | Fit::Slot(next, _) => (*next, false),
            Fit::Passed(next) => (*next, pristine),
        };
        if !self.may_enter(v, ty, wants_all, LEAD, specs) || !self.add_node_score(v, ty) {
            return false;
        }
        if !engine.topology.is_tree {
            self.seen.insert(v);
        }
        let mut found = Scoring::default();
        let whole = specs.iter().any(|spec| spec.ty == ty && self.fits_whole(v, ty, &spec.with));
        if !whole {
            match fit {
                Fit::Slot(_, slots) if engine.options.traverser == Traverser::Simple => {
                    self.slots(v, next, slots, &mut found);
                }
                Fit::Slot(_, slots) => self.mixed_slots(v, next, slots, &mut found),
                _ => self.explore_all(v, next, pristine, wants_all, &mut found),
            }
        }
        *exclusive = wants_all;
        let free = engine.free(v, self.query.from, self.query.until);
        if whole {
            found.score = self.score(v, ty, MET);
        } else if !self.finish_vertex(v, ty, specs, &mut found) {
            return false;
        }
        let score = found.score;
        if score > UNMET && !whole {
            if found.settled {
                self.settle(&found, false);
            } else {
                up.merge(found);
            }
        }
        up.avail = free;
        up.score = score;
        self.visits.postorder += 1;
        for spec in specs.iter().filter(|spec| spec.ty == ty && !spec.label.is_empty()) {
            if self.choice.labels.insert(v, spec.label.clone()).is_some() {
                self.visits.postorder -= 1;
                return false;
            }
        }
        true
    }

    fn fit<'r>(&mut self, v: VertexId, ty: Ty, specs: &'r [Spec], pristine: bool) -> Fit<'r> {
        match self.engine.options.traverser {
            Traverser::Simple => self.fit_simply(v, ty, specs, pristine),
            Traverser::Flexible => self.fit_flexibly(v, ty, specs, pristine),
        }
    }

    fn fit_simply<'r>(&mut self, v: VertexId, ty: Ty, specs: &'r [Spec], pristine: bool) -> Fit<'r> {
        let (mut slot, mut resource): (Option<&Spec>, Option<&Spec>) = (None, None);
        let mut matched = false;
        for spec in specs {
            if spec.ty != ty && spec.ty != Ty::SLOT {
                continue;
            }
            if std::mem::replace(&mut matched, true) {
                return self.ambiguous(ty);
            }
            if spec.ty == ty {
                resource = Some(spec);
                slot = spec.with.iter().rfind(|below| below.ty == Ty::SLOT).or(slot);
            } else {
                slot = Some(spec);
            }
        }
        match (slot, resource) {
            (Some(slot), _) if self.has_parts_of(v, slot) => Fit::Slot(&slot.with, slot.most()),
            (_, Some(resource)) => Fit::Resource(&resource.with),
            _ if pristine => Fit::Passed(specs),
            _ => Fit::None,
        }
    }

    fn fit_flexibly<'r>(&mut self, v: VertexId, ty: Ty, specs: &'r [Spec], pristine: bool) -> Fit<'r> {
        let mut slots: Option<(&[Spec], u64)> = None;
        let mut resource: Option<&Spec> = None;
        let (mut matched, mut slot_matched) = (false, false);
        for spec in specs {
            if spec.ty == ty {
                if matched || slot_matched {
                    return self.ambiguous(ty);
                }
                matched = true;
                resource = Some(spec);
                if let Some(below) = spec.with.iter().rfind(|below| below.ty == Ty::SLOT) {
                    slots = Some((&spec.with, below.most()));
                }
            } else if spec.ty == Ty::SLOT {
                if matched {
                    return self.ambiguous(ty);
                }
                slots = Some((specs, spec.most()));
                slot_matched = true;
            }
        }
        match (slots, resource) {
            (Some((siblings, slots)), resource) => {
                if siblings.iter().any(|slot| self.has_parts_of(v, slot)) {
                    Fit::Slot(siblings, slots)
                } else if !self.compat() && resource.is_some() {
                    Fit::Resource(siblings)
                } else if pristine {
                    Fit::Passed(specs)
                } else {
                    Fit::None
                }
            }
            (None, Some(resource)) => Fit::Resource(&resource.with),
            _ if pristine => Fit::Passed(specs),
            _ => Fit::None,
        }
    }

    fn ambiguous<'r>(&mut self, ty: Ty) -> Fit<'r> {
        self.complaint.push_str("test: siblings in jobspec request same resource type : ");
        self.complaint.push_str(self.engine.types.name(ty));
        self.complaint.push_str(".\n");
        Fit::None
    }

    /// Whether there is at least one vertex of each part of a slot directly below.
    fn has_parts_of(&self, v: VertexId, slot: &Spec) -> bool {
        let engine = self.engine;
        let has =
            |part: &Spec| engine.types.kind(part.ty).is_some_and(|k| engine.topology.has_child(&engine.graph, v, k));
        slot.with.iter().all(has)
    }

    /// Whether marks, the constraint, or what is planned leave anything to look for at and below a vertex.
    fn may_enter(&self, v: VertexId, ty: Ty, wants_all: bool, subsystem: usize, specs: &[Spec]) -> bool {
        let (engine, query) = (self.engine, &self.query);
        if query.purpose != Purpose::Ever && engine.down.contains(&v) {
            return false;
        }
        if let Some(constraint) = query.constraint
            && (ty == Ty::NODE || ty == Ty::STORAGE_NODE)
            && !engine.satisfies(v, constraint)
        {
            return false;
        }
        if engine.free(v, query.from, query.until) == 0 {
            return false;
        }
        // Below a vertex that is taken whole for this request nothing of another may be.
        if !self.compat() && query.whole[ty.index()] && !self.is_unused(v) {
            return false;
        }
        let mixed = engine.options.traverser == Traverser::Flexible;
        // Of slots side by side one suffices; Fluxion asks the last.
        let mut slots = None;
        for spec in specs.iter().filter(|spec| spec.ty == ty || spec.ty == Ty::SLOT) {
            if spec.ty != Ty::SLOT && !self.is_unused_if_asked(v, wants_all, spec) {
                return false;
            }
            let enough = self.has_below(v, ty, subsystem, spec);
            if mixed && spec.ty == Ty::SLOT {
                slots = Some(enough || (slots == Some(true) && !self.compat()));
            } else if !enough {
                return false;
            } else if self.compat() {
                slots = None;
            }
        }
        slots != Some(false)
    }

    fn is_unused_if_asked(&self, v: VertexId, wants_all: bool, spec: &Spec) -> bool {
        if wants_all && spec.exclusive == Some(false) {
            return false;
        }
        !(wants_all || spec.exclusive == Some(true)) || self.is_unused(v)
    }

    /// Whether nobody uses a vertex, also beyond the time that was planned for.
    fn is_unused(&self, v: VertexId) -> bool {
        let (engine, query) = (self.engine, &self.query);
        let overdue = query.purpose == Purpose::Now
            && query.from == query.now
            && engine.plan(v).is_some_and(|plan| plan.is_allocated());
        !overdue && engine.is_idle(v, query.from, query.until)
    }

    /// Whether the filter of a vertex has what one of a resource needs.
    fn has_below(&self, v: VertexId, ty: Ty, subsystem: usize, spec: &Spec) -> bool {
        if spec.below.is_empty() {
            return true;
        }
        let (engine, query) = (self.engine, &self.query);
        if subsystem != LEAD {
            let Some((types, totals)) = engine.filters.aside(subsystem, v) else { return true };
            return types.iter().zip(totals).all(|(ty, total)| spec.below.get(ty).is_none_or(|need| need <= total));
        }
        if engine.topology.is_leaf(&engine.graph, v) {
            return true;
        }
        engine.filters.at(ty).iter().enumerate().all(|(position, counted)| {
            spec.below.get(counted).is_none_or(|&need| engine.free_below(v, position, query.from, query.until) >= need)
        })
    }

    /// Whether the vertex is taken with all below, and its structure alone says that this is enough.
    fn fits_whole(&self, v: VertexId, ty: Ty, next: &[Spec]) -> bool {
        let engine = self.engine;
        let graph = &engine.graph;
        if self.compat() || !engine.topology.plain || !self.query.whole[ty.index()] {
            return false;
        }
        let below = graph.subtree(v);
        if engine.down.range(VertexId(below.start + 1)..VertexId(below.end)).next().is_some() {
            return false;
        }
        let leaves = |specs: &[Spec]| {
            specs.iter().try_fold(u64::MAX, |least, spec| {
                let kind = engine.types.kind(spec.ty)?;
                let plain = spec.with.is_empty() && spec.label.is_empty() && spec.exclusive != Some(false);
                let there = graph.count_in(v, kind);
                let simple = plain && there == graph.size_in(v, kind);
                let shares = there / spec.choose(there).max(1);
                let enough = spec.choose(there) > 0;
                (simple && engine.topology.only_below(kind, graph.kind(v))).then_some(if enough {
                    least.min(shares)
                } else {
                    0
                })
            })
        };
        match next {
            [slot] if slot.ty == Ty::SLOT => leaves(&slot.with).is_some_and(|slots| slot.choose(slots) > 0),
            specs => specs.iter().all(|spec| spec.ty != Ty::SLOT) && leaves(specs).is_some_and(|shares| shares > 0),
        }
    }

    fn add_node_score(&mut self, v: VertexId, ty: Ty) -> bool {
        if ty != Ty::NODE || !matches!(self.engine.options.policy, Policy::Id { node_centric: true, .. }) {
            return true;
        }
        let (id, uniq) = (self.engine.graph.vertex(v).id(), self.engine.graph.uniq_id(v));
        if id < -1 || uniq < 0 {
            return false;
        }
        let tie = (uniq % 10_000 - 1).abs();
        self.last_node_score = id.saturating_add(2).saturating_mul(10_000).saturating_add(tie);
        self.node_score = self.node_score.saturating_add(self.last_node_score);
        true
    }

    /// Tests what was found below against the request, and chooses.
    fn finish_vertex(&mut self, v: VertexId, ty: Ty, specs: &[Spec], found: &mut Scoring) -> bool {
        let order = self.order();
        let mut score = MET;
        for spec in specs.iter().filter(|spec| spec.ty == ty) {
            for below in &spec.with {
                let count = below.choose(found.of(LEAD, below.ty).qualified);
                if count == 0 {
                    score = UNMET;
                    break;
                }
                found.choose(LEAD, below.ty, count, order, !self.compat());
            }
        }
        found.score = self.score(v, ty, score);
        score == MET
    }

    fn order(&self) -> Order {
        match self.engine.options.policy {
            Policy::Id { low: true, .. } | Policy::Variation => Order::Least,
            Policy::Id { .. } | Policy::Locality => Order::Greatest,
        }
    }

    /// The score of a vertex that is left; takes back what the node gave to those below.
    fn score(&mut self, v: VertexId, ty: Ty, met: i64) -> i64 {
        let own = match self.engine.options.policy {
            Policy::Variation => self.engine.performance_class(v),
            Policy::Locality => self.engine.graph.vertex(v).id().saturating_add(1),
            Policy::Id { node_centric, .. } => {
                if node_centric && ty == Ty::NODE {
                    self.node_score = self.node_score.saturating_sub(self.last_node_score);
                }
                self.node_score.saturating_add(self.engine.graph.vertex(v).id()).saturating_add(1)
            }
        };
        if met == MET { own.saturating_add(MET) } else { met }
    }

    fn finish_graph(&mut self, specs: &[Spec], found: &mut Scoring) -> bool {
        let order = self.order();
        let mut runs = Runs::default();
        for spec in specs {
            let count = spec.choose(found.of(LEAD, spec.ty).qualified);
            if count == 0 {
                return false;
            }
            if self.engine.options.policy == Policy::Locality {
                runs.add(found.of(LEAD, spec.ty).groups.iter().map(|group| group.score), self.compat());
                found.choose_by(LEAD, spec.ty, count, !self.compat(), &|group| runs.key(group.score));
            } else {
                found.choose(LEAD, spec.ty, count, order, !self.compat());
            }
        }
        true
    }

    /// Marks what was chosen here. At the root also what lies between and is not chosen among.
    fn settle(&mut self, found: &Scoring, at_root: bool) {
        for (_, candidates) in found.types(LEAD) {
            if candidates.chosen == 0 {
                continue;
            }
            for group in candidates.groups[..candidates.chosen_groups].iter().filter(|group| !group.is_root) {
                for edge in &group.edges {
                    let mark = Mark { from: edge.from, needs: edge.count, exclusive: edge.exclusive };
                    self.choice.marks.insert(edge.to, mark);
                    if at_root {
                        self.settle_above(found, edge.from);
                    }
                }
            }
        }
    }

    fn settle_above(&mut self, found: &Scoring, mut v: VertexId) {
        let engine = self.engine;
        while let Some(parent) = engine.topology.parent(&engine.graph, v) {
            if self.choice.marks.get(&v).is_some_and(|mark| mark.from == parent) {
                break;
            }
            let passed = found.get(LEAD, engine.ty(v)).is_some_and(|candidates| candidates.chosen == 0);
            if passed {
                let mark = Mark { from: parent, needs: engine.graph.size(v), exclusive: false };
                self.choice.marks.insert(v, mark);
            }
            v = parent;
        }
    }

    /// Looks for what is wanted below, in all subsystems.
    fn explore_all(&mut self, v: VertexId, specs: &[Spec], pristine: bool, wants_all: bool, found: &mut Scoring) {
        for subsystem in 0..self.engine.topology.subsystems.len() {
            self.explore(v, subsystem, specs, pristine, wants_all, found, 1);
        }
    }

    /// Looks for what is wanted below, in one subsystem: everywhere, or until there is enough for so many shares.
    /// Whether anything was found.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn explore(
        &mut self,
        v: VertexId,
        subsystem: usize,
        specs: &[Spec],
        pristine: bool,
        wants_all: bool,
        found: &mut Scoring,
        shares: u64,
    ) -> bool {
        let engine = self.engine;
        let id = engine.topology.subsystems[subsystem];
        let stop = self.stops_on_first();
        let mut children = engine.topology.children(&engine.graph, v, id);
        if stop {
            engine.sort_by_weight(&mut children, subsystem == LEAD);
        }
        let mut tallies: BTreeMap<Ty, Shares> = BTreeMap::new();
        if stop {
            tallies.extend(specs.iter().map(|spec| (spec.ty, Shares::of(spec.most()))));
        }
        let mut enough: Vec<Ty> = Vec::new();
        let mut any = false;
        for child in children {
            let ty = engine.ty(child);
            if (subsystem == LEAD && self.seen.contains(&child)) || enough.contains(&ty) {
                continue;
            }
            let mut exclusive = wants_all;
            let ok = if subsystem == LEAD {
                self.down(child, specs, pristine, &mut exclusive, found)
            } else {
                self.up(child, subsystem, specs, pristine, wants_all, found)
            };
            if !ok {
                continue;
            }
            any = true;
            let edge = Edge { from: v, to: child, count: found.avail, exclusive };
            found.add(subsystem, ty, Group::single(found.score, edge));
            if stop {
                for (&ty, tally) in &mut tallies {
                    let total = found.of(subsystem, ty).total;
                    if total > tally.seen {
                        tally.add(total - tally.seen);
                        tally.seen = total;
                    }
                    if tally.suffice(shares) && !enough.contains(&ty) {
                        enough.push(ty);
                    }
                }
                if tallies.values().all(|tally| tally.suffice(shares)) {
                    break;
                }
            }
        }
        any
    }

    /// Enters a vertex of another subsystem, upward.
    fn up(
        &mut self,
        v: VertexId,
        subsystem: usize,
        specs: &[Spec],
        pristine: bool,
        wants_all: bool,
        _to: &mut Scoring,
    ) -> bool {
        let engine = self.engine;
        if self.upwalk >= MAX_UPWALK || !self.may_enter(v, engine.ty(v), wants_all, subsystem, specs) {
            return false;
        }
        if v != engine.topology.roots[subsystem] {
            let mut found = Scoring::default();
            self.upwalk += 1;
            self.explore(v, subsystem, specs, pristine, wants_all, &mut found, 1);
            self.upwalk -= 1;
        }
        // Nothing is scored on this way, so there is nothing to hand on.
        engine.free(v, self.query.from, self.query.until) > 0
    }
}

/// Whether a vertex of a type is asked for by itself and for itself.
pub(super) fn asks_exclusively(specs: &[Spec], ty: Ty) -> bool {
    specs.iter().any(|spec| spec.ty == ty && spec.exclusive == Some(true))
}

/// Contiguous ranges of scores.
#[derive(Default)]
struct Runs {
    scores: Vec<i64>,
    /// First and last score of each range, ascending.
    ranges: Vec<(i64, i64)>,
    by_start: bool,
}

impl Runs {
    fn add(&mut self, scores: impl Iterator<Item = i64>, by_start: bool) {
        self.by_start = by_start;
        self.scores.extend(scores);
        self.scores.sort_unstable();
        self.scores.dedup();
        self.ranges.clear();
        for &score in &self.scores {
            match self.ranges.last_mut() {
                Some((_, last)) if *last + 1 == score => *last = score,
                _ => self.ranges.push((score, score)),
            }
        }
    }

    /// What is greater comes first: the longest range, and of equally long ones the highest; in it the highest score.
    /// Fluxion means that but takes the range that starts highest, and no order in it.
    fn key(&self, score: i64) -> i64 {
        let at = self.ranges.partition_point(|range| range.1 < score);
        let Some(&(first, last)) = self.ranges.get(at) else { return i64::MIN };
        if self.by_start {
            return first;
        }
        let rank = self.ranges.iter().filter(|r| (r.1 - r.0, r.0) < (last - first, first)).count() as i64;
        let place = self.scores.partition_point(|&known| known < score) as i64;
        rank * (self.scores.len() as i64 + 1) + place
    }
}
