//! Which vertices satisfy a find expression, and what their filters say.

use super::engine::Engine;
use super::find::{Find, Predicate};
use super::outcome::{FilterCount, Grant, Granted, Status};
use super::select::LEAD;
use crate::base::{FastSet, JobId, Timestamp, VertexId};
use crate::graph::SubsystemId;

/// What holds for all below a vertex because it holds for the vertex.
#[derive(Clone, Default)]
struct Above {
    down: bool,
    allocated: bool,
    reserved: bool,
    /// Jobs that have something above with all that is below, and whether that is a reservation.
    whole: Vec<(JobId, bool)>,
}

struct Search<'e> {
    engine: &'e Engine,
    find: &'e Find,
    now: i64,
    seen: FastSet<VertexId>,
    grant: Grant,
}

impl Engine {
    /// The vertices that satisfy a condition, with all that contain them. `now` is the time that counts of filters
    /// are asked for.
    pub fn find(&self, condition: &Find, now: Timestamp) -> Grant {
        let engine = &*self.entered();
        let mut search =
            Search { engine, find: condition, now: self.ticks(now), seen: FastSet::default(), grant: Grant::default() };
        search.visit(self.topology.roots[LEAD], None, 1, &Above::default());
        search.grant
    }
}

impl Search<'_> {
    /// Whether the vertex is shown.
    fn visit(&mut self, v: VertexId, edge: Option<(VertexId, SubsystemId)>, level: u32, above: &Above) -> bool {
        let engine = self.engine;
        let plan = engine.plan(v);
        let mut here = above.clone();
        here.down |= engine.status(v) == Status::Down;
        here.allocated |= plan.is_some_and(|plan| plan.is_allocated());
        here.reserved |= plan.is_some_and(|plan| plan.is_reserved());
        let whole = plan.into_iter().flat_map(|plan| &plan.holds).filter(|(_, hold)| hold.whole);
        here.whole.extend(whole.map(|(&job, hold)| (job, hold.reserved)));
        if !engine.topology.is_tree {
            self.seen.insert(v);
        }
        let lead = engine.topology.subsystems[LEAD];
        let mut shows_below = false;
        for child in engine.topology.children(&engine.graph, v, lead) {
            if !self.seen.contains(&child) {
                shows_below |= self.visit(child, Some((v, lead)), level + 1, &here);
            }
        }
        if !shows_below && !self.find.holds(|predicate| self.answer(v, predicate, above, &here)) {
            return false;
        }
        let mut counts = Vec::new();
        if self.find.wants_counts() {
            let Some(found) = self.counts(v) else { return false };
            counts = found;
        }
        let needs = engine.graph.size(v);
        self.grant.vertices.push(Granted {
            vertex: v,
            needs,
            exclusive: true,
            exclusive_parent: false,
            whole: false,
            level,
            edge,
            label: None,
            counts,
        });
        true
    }

    fn answer(&self, v: VertexId, predicate: &Predicate, above: &Above, here: &Above) -> bool {
        let engine = self.engine;
        let hold = |job: &JobId| engine.plan(v).and_then(|plan| plan.holds.get(job));
        let whole = |job: &JobId, reserved: bool| above.whole.contains(&(*job, reserved));
        let any_whole = |job: &JobId| whole(job, false) || whole(job, true);
        match predicate {
            Predicate::Up(up) => here.down != *up,
            Predicate::Allocated(yes) => here.allocated == *yes,
            Predicate::Reserved(yes) => here.reserved == *yes,
            Predicate::AllocatedBy(job) => {
                hold(job).is_some_and(|hold| hold.pool.is_some() && !hold.reserved) || whole(job, false)
            }
            Predicate::ReservedBy(job) => {
                hold(job).is_some_and(|hold| hold.pool.is_some() && hold.reserved) || whole(job, true)
            }
            Predicate::SpanOf(job) => {
                hold(job).is_some_and(|hold| hold.below.is_some()) || (any_whole(job) && engine.has_filter(v))
            }
            Predicate::TaggedBy(job) => hold(job).is_some_and(|hold| hold.tagged) || any_whole(job),
            Predicate::Counts(wanted) => *wanted,
            Predicate::Named(names) => names.contains(&engine.graph.vertex(v).name()),
            Predicate::Property(name) => engine.has_property(v, name),
        }
    }

    /// Used and total by counted type, sorted by word; none where nothing is counted, or not for the job.
    fn counts(&self, v: VertexId) -> Option<Vec<(String, FilterCount)>> {
        let engine = self.engine;
        if !engine.has_filter(v) {
            return None;
        }
        let below = match self.find.job() {
            Some(job) => Some(engine.plan(v)?.holds.get(&job)?.below.as_ref()?),
            None => None,
        };
        let mut counts: Vec<(String, FilterCount)> = Vec::new();
        for (position, &ty) in engine.filters.at(engine.ty(v)).iter().enumerate() {
            let total = engine.filters.total(&engine.graph, &engine.types, v, position);
            let used_at = |t| total - engine.free_below(v, position, t, t);
            let used = match below {
                Some(below) => below.amounts.get(position).copied().flatten().unwrap_or(0),
                // Fluxion's sessions start at 0 and have their allocations there, whatever the clock says.
                None if engine.options.compat && used_at(self.now) == 0 => used_at(0),
                None => used_at(self.now),
            };
            counts.push((engine.types.name(ty).to_owned(), FilterCount { used, total }));
        }
        counts.sort_by(|a, b| a.0.cmp(&b.0));
        Some(counts)
    }
}
