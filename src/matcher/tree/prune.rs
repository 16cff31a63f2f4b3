//! What rules a vertex out, and all below: marks, the constraint, what is planned, too little below. And what needs no
//! look below.

use super::options::Traverser;
use super::select::{LEAD, Purpose, Walk};
use super::types::{Spec, Ty};
use crate::base::VertexId;

impl Walk<'_> {
    /// Whether marks, the constraint, or what is planned leave anything to look for at and below a vertex.
    pub(super) fn may_enter(&self, v: VertexId, ty: Ty, wants_all: bool, subsystem: usize, specs: &[Spec]) -> bool {
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

    pub(super) fn is_unused_if_asked(&self, v: VertexId, wants_all: bool, spec: &Spec) -> bool {
        if wants_all && spec.exclusive == Some(false) {
            return false;
        }
        !(wants_all || spec.exclusive == Some(true)) || self.is_unused(v)
    }

    /// Whether nobody uses a vertex, also beyond the time that was planned for.
    pub(super) fn is_unused(&self, v: VertexId) -> bool {
        let (engine, query) = (self.engine, &self.query);
        let overdue = query.purpose == Purpose::Now
            && query.from == query.now
            && engine.plan(v).is_some_and(|plan| plan.is_allocated());
        !overdue && engine.is_idle(v, query.from, query.until)
    }

    /// Whether the filter of a vertex has what one of a resource needs.
    pub(super) fn has_below(&self, v: VertexId, ty: Ty, subsystem: usize, spec: &Spec) -> bool {
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
    pub(super) fn fits_whole(&self, v: VertexId, ty: Ty, next: &[Spec]) -> bool {
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
}
