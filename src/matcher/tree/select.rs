//! Selection: one walk over the graph at one time, from the root down, that finds what fits best.
//!
//! At every vertex: does its type fit the request here, does its state rule it out, what is found below, is that
//! enough. What is chosen is kept as marks on edges; marks below vertices that are not chosen are never looked at.

use super::engine::Engine;
use super::explore::Wanted;
use super::options::Traverser;
use super::outcome::Visits;
use super::score::{Edge, Group, MET, Scoring, UNMET};
use super::types::{Spec, Ty};
use crate::base::{FastMap, FastSet, VertexId};
use crate::formats::constraint::Constraint;
use std::collections::BTreeMap;

/// The leading subsystem among those of an engine.
pub(super) const LEAD: usize = 0;

/// What a search complained of last. Fluxion keeps that in `errno`, and sometimes answers with what is left there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Trace {
    /// Nothing, so that what happened before shows.
    #[default]
    None,
    /// Something is taken, or does not fit here.
    Busy,
    /// The parts do not fit together.
    Never,
    /// The request contradicts itself, or nothing was there to choose.
    Invalid,
}

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
pub(super) enum Fit<'r> {
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
    pub(super) trace: Trace,
    /// Entered and not ruled out; only where a vertex can be reached twice.
    pub(super) seen: FastSet<VertexId>,
    /// The share in the score of the nodes above.
    pub(super) node_score: i64,
    pub(super) last_node_score: i64,
    pub(super) upwalk: u32,
}

impl<'e> Walk<'e> {
    pub(super) fn new(engine: &'e Engine, query: Query<'e>) -> Self {
        Self {
            engine,
            query,
            visits: Visits::default(),
            complaint: String::new(),
            choice: Choice::default(),
            trace: engine.trace,
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
        self.settle_all(root, ty, exclusive, passed_exclusive, specs, found).unwrap_or_else(|| {
            self.trace = Trace::Never;
            false
        })
    }

    /// Chooses at the root; none if the parts do not fit together.
    fn settle_all(
        &mut self,
        root: VertexId,
        ty: Ty,
        exclusive: bool,
        root_exclusive: bool,
        specs: &[Spec],
        mut found: Scoring,
    ) -> Option<bool> {
        let edge = Edge { from: root, to: root, count: found.avail, exclusive };
        let group = Group { is_root: true, ..Group::single(found.score, edge) };
        found.add(LEAD, ty, group);
        if !self.finish_graph(specs, &mut found) {
            return None;
        }
        let mut needs = 1;
        for spec in specs.iter().filter(|spec| spec.ty == ty) {
            needs = spec.choose(found.avail);
            if needs == 0 {
                return None;
            }
        }
        if found.all().any(|candidates| candidates.qualified == 0) {
            return None;
        }
        self.settle(&found, root, true);
        self.choice.root_needs = needs;
        self.choice.root_exclusive = root_exclusive;
        Some(true)
    }

    pub(super) fn stops_on_first(&self) -> bool {
        self.engine.options.policy.stops_on_first()
    }

    pub(super) fn compat(&self) -> bool {
        self.engine.options.compat
    }

    /// Enters a vertex of the leading subsystem. What it offers is added to `up`.
    pub(super) fn down(
        &mut self,
        v: VertexId,
        specs: &[Spec],
        pristine: bool,
        exclusive: &mut bool,
        up: &mut Scoring,
    ) -> bool {
        let engine = self.engine;
        let ty = engine.ty(v);
        let wants_all = *exclusive || asks_exclusively(specs, ty);
        let fit = self.fit(v, ty, specs, pristine);
        self.visits.preorder += 1;
        let (next, pristine) = match &fit {
            Fit::None => {
                self.trace = Trace::Busy;
                return false;
            }
            Fit::Resource(next) | Fit::Slot(next, _) => (*next, false),
            Fit::Passed(next) => (*next, pristine),
        };
        if !self.may_enter(v, ty, wants_all, LEAD, specs) {
            self.trace = if contradicts(wants_all, specs, ty) { Trace::Invalid } else { Trace::Busy };
            return false;
        }
        if !self.add_node_score(v, ty) {
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
                _ => {
                    let wanted = Wanted { specs: next, pristine, alone: wants_all, shares: 1 };
                    self.explore_all(v, wanted, &mut found);
                }
            }
        }
        *exclusive = wants_all;
        let free = engine.free(v, self.query.from, self.query.until);
        if whole {
            found.score = self.score(v, ty, MET);
        } else if !self.finish_vertex(v, ty, specs, &mut found) {
            self.trace = Trace::Busy;
            return false;
        }
        let score = found.score;
        if score > UNMET && !whole {
            if found.settled {
                self.settle(&found, v, !self.compat());
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

    /// Marks what was chosen at `top`; also what lies between and is not chosen among, which Fluxion does at the root
    /// only, so that it loses what it found.
    fn settle(&mut self, found: &Scoring, top: VertexId, between: bool) {
        for (_, candidates) in found.types(LEAD) {
            if candidates.chosen == 0 {
                continue;
            }
            for group in candidates.groups[..candidates.chosen_groups].iter().filter(|group| !group.is_root) {
                for edge in &group.edges {
                    let mark = Mark { from: edge.from, needs: edge.count, exclusive: edge.exclusive };
                    self.choice.marks.insert(edge.to, mark);
                    if between {
                        self.settle_between(found, top, edge.from);
                    }
                }
            }
        }
    }

    fn settle_between(&mut self, found: &Scoring, top: VertexId, mut v: VertexId) {
        let engine = self.engine;
        while let Some(parent) = engine.topology.parent(&engine.graph, v).filter(|_| v != top) {
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
}

/// Whether a vertex of a type is asked for by itself and for itself.
pub(super) fn asks_exclusively(specs: &[Spec], ty: Ty) -> bool {
    specs.iter().any(|spec| spec.ty == ty && spec.exclusive == Some(true))
}

/// Whether a vertex is asked for together with others inside of what is taken whole.
fn contradicts(wants_all: bool, specs: &[Spec], ty: Ty) -> bool {
    wants_all && specs.iter().any(|spec| spec.ty == ty && spec.exclusive == Some(false))
}
