//! The way to what is below: everywhere, or until there is enough.

use super::score::{Edge, Group, Scoring, Shares};
use super::select::{LEAD, Trace, Walk};
use super::types::{Spec, Ty};
use crate::base::VertexId;
use std::collections::BTreeMap;

/// Others are walked up no further than this, though the graph may go round in circles there.
const MAX_UPWALK: u32 = 64;

/// What is looked for below a vertex.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'r> {
    pub(super) specs: &'r [Spec],
    /// Whether nothing was matched above.
    pub(super) pristine: bool,
    /// Whether it is taken for itself.
    pub(super) alone: bool,
    /// For how many slots it has to suffice.
    pub(super) shares: u64,
}

impl Walk<'_> {
    /// Looks for what is wanted below, in all subsystems.
    pub(super) fn explore_all(&mut self, v: VertexId, wanted: Wanted<'_>, found: &mut Scoring) {
        for subsystem in 0..self.engine.topology.subsystems.len() {
            self.explore(v, subsystem, wanted, found);
        }
    }

    /// Looks for what is wanted below, in one subsystem: everywhere, or until there is enough for so many shares.
    /// Whether anything was found.
    pub(super) fn explore(&mut self, v: VertexId, subsystem: usize, wanted: Wanted<'_>, found: &mut Scoring) -> bool {
        let Wanted { specs, pristine, alone, shares } = wanted;
        let engine = self.engine;
        let id = engine.topology.subsystems[subsystem];
        let stop = self.stops_on_first();
        let mut children = engine.topology.children(&engine.graph, v, id);
        if stop {
            engine.sort_by_weight(v, &mut children, subsystem == LEAD);
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
            let mut exclusive = alone;
            let ok = if subsystem == LEAD {
                self.down(child, specs, pristine, &mut exclusive, found)
            } else {
                self.up(child, subsystem, wanted)
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
    fn up(&mut self, v: VertexId, subsystem: usize, wanted: Wanted<'_>) -> bool {
        let engine = self.engine;
        if self.upwalk >= MAX_UPWALK || !self.may_enter(v, engine.ty(v), wanted.alone, subsystem, wanted.specs) {
            self.trace = Trace::Busy;
            return false;
        }
        if v != engine.topology.roots[subsystem] {
            let mut found = Scoring::default();
            self.upwalk += 1;
            self.explore(v, subsystem, Wanted { shares: 1, ..wanted }, &mut found);
            self.upwalk -= 1;
        }
        // Nothing is scored on this way, so there is nothing to hand on.
        engine.free(v, self.query.from, self.query.until) > 0
    }
}
