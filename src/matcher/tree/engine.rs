//! The engine itself: the graph, what changes beside it, and what is planned.

use super::error::EngineError;
use super::fast::Fast;
use super::filters::Filters;
use super::options::Options;
use super::outcome::{Status, Visits};
use super::select::Trace;
use super::topology::Topology;
use super::types::{Ty, Types};
use crate::base::{FastMap, JobId, Timestamp, VertexId};
use crate::graph::{Graph, Properties};
use crate::planner::vertex::VertexPlan;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Fluxion plans for a hundred years.
const COMPAT_HORIZON: i64 = 3_153_600_000;
/// No end in sight, with room to add to it.
const HORIZON: i64 = i64::MAX / 4;
const MICROS: i64 = 1_000_000;

/// A time after all that is planned.
pub(super) const fn after_all() -> i64 {
    HORIZON
}

/// A resource graph with everything that is planned on it.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(super) graph: Arc<Graph>,
    pub(super) options: Options,
    pub(super) types: Types,
    pub(super) topology: Topology,
    pub(super) filters: Filters,
    /// Only of vertices on which something is planned.
    pub(super) plans: FastMap<VertexId, Box<VertexPlan>>,
    pub(super) jobs: BTreeMap<JobId, JobRecord>,
    /// Allocations by the tick at which they should end.
    pub(super) ends: BTreeSet<(i64, JobId)>,
    pub(super) weights: Weights,
    /// Vertices marked as down.
    pub(super) down: BTreeSet<VertexId>,
    /// Fluxion's count of nodes that are up, which drifts; used for compatibility only.
    pub(super) nodes_up: i64,
    /// All properties of vertices that differ from those of the graph.
    pub(super) properties: FastMap<VertexId, BTreeMap<String, String>>,
    /// Labels of requests on vertices, which Fluxion leaves there; used for compatibility only.
    pub(super) labels: FastMap<VertexId, String>,
    /// How much more is free at a time than Fluxion's index of the root knows: it does not hear of vertices that come.
    /// Used for compatibility only.
    pub(super) unheard: BTreeMap<i64, i64>,
    /// What the last search complained of.
    pub(super) trace: Trace,
    /// Visits of the last walks that counted.
    pub(super) visits: Visits,
    /// Answers what it can without a walk. What it granted may not be in the plans yet.
    pub(super) fast: Option<Box<Fast>>,
    /// Whether there may be one.
    pub(super) indexed: bool,
}

/// What a job holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct JobRecord {
    /// The vertices on which it has a [`crate::planner::vertex::Hold`], each once.
    pub(super) vertices: BTreeSet<VertexId>,
    pub(super) end: i64,
    /// How often its end was put off.
    pub(super) overruns: u32,
    pub(super) reserved: bool,
}

/// The order in which `first` walks down: by what is free below, for vertices on which something is planned.
#[derive(Clone, Debug, Default)]
pub(super) struct Weights {
    /// By where the edge comes from and where it leads.
    pub(super) of: FastMap<(VertexId, VertexId), u64>,
}

impl Engine {
    /// An engine in which everything is up and free.
    ///
    /// # Errors
    /// [`EngineError::NoRoot`] where the graph lacks a subsystem.
    pub fn new(graph: Arc<Graph>, options: Options) -> Result<Self, EngineError> {
        let mut types = Types::new(&graph);
        let topology = Topology::new(&graph, &options)?;
        let filters = Filters::new(&graph, &mut types, &topology, &options.prune);
        let nodes_up = graph.of_kind(crate::graph::KindId::NODE).len() as i64;
        let mut engine = Self {
            graph,
            options,
            types,
            topology,
            filters,
            plans: FastMap::default(),
            jobs: BTreeMap::new(),
            ends: BTreeSet::new(),
            weights: Weights::default(),
            down: BTreeSet::new(),
            nodes_up,
            properties: FastMap::default(),
            labels: FastMap::default(),
            unheard: BTreeMap::new(),
            trace: Trace::None,
            visits: Visits::default(),
            fast: None,
            indexed: true,
        };
        engine.fast = Fast::new(&engine);
        Ok(engine)
    }

    /// The present version of the graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// What the engine was built with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a job holds or has reserved something.
    pub fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job) || self.fast.as_ref().is_some_and(|fast| fast.knows(job))
    }

    /// On how many vertices something is planned.
    pub fn planned_vertices(&self) -> usize {
        self.entered().plans.len()
    }

    /// All vertices with a path, of any subsystem, in order.
    pub fn vertices_at(&self, path: &str) -> Vec<VertexId> {
        self.topology.vertices_at(&self.graph, path)
    }

    /// The properties of a vertex: those of the graph, and those set since.
    pub fn properties(&self, v: VertexId) -> BTreeMap<String, String> {
        match self.properties.get(&v) {
            Some(all) => all.clone(),
            None => self.graph.vertex(v).properties().clone(),
        }
    }

    pub(super) fn has_property(&self, v: VertexId, name: &str) -> bool {
        match self.properties.get(&v) {
            Some(all) => all.contains_key(name),
            None => self.graph.vertex(v).properties().contains_key(name),
        }
    }

    /// Gives a vertex a property.
    pub fn set_property(&mut self, v: VertexId, name: &str, value: &str) {
        let own = || self.graph.vertex(v).properties().clone();
        self.properties.entry(v).or_insert_with(own).insert(name.to_owned(), value.to_owned());
        if let Some(fast) = &mut self.fast {
            fast.tell_property(&self.graph, v, name, true);
        }
    }

    /// Takes a property from a vertex; false if it did not have it.
    pub fn remove_property(&mut self, v: VertexId, name: &str) -> bool {
        let has = self.has_property(v, name);
        if has {
            let own = || self.graph.vertex(v).properties().clone();
            self.properties.entry(v).or_insert_with(own).remove(name);
            if let Some(fast) = &mut self.fast {
                fast.tell_property(&self.graph, v, name, false);
            }
        }
        has
    }

    /// Gives the vertices of targets their properties, with the empty value where they have none yet.
    pub fn add_properties(&mut self, properties: &Properties) {
        for (name, targets) in properties.iter() {
            for v in targets.iter().filter_map(|id| self.graph.target(id)).map(|t| t.vertex).collect::<Vec<_>>() {
                if !self.has_property(v, name) {
                    self.set_property(v, name, "");
                }
            }
        }
    }

    /// The mark of the vertex itself; what contains it may be down all the same.
    pub fn status(&self, v: VertexId) -> Status {
        if self.down.contains(&v) { Status::Down } else { Status::Up }
    }

    #[inline]
    pub(super) fn ty(&self, v: VertexId) -> Ty {
        self.types.of(self.graph.kind(v))
    }

    #[inline]
    pub(super) fn plan(&self, v: VertexId) -> Option<&VertexPlan> {
        self.plans.get(&v).map(|plan| &**plan)
    }

    pub(super) fn plan_mut(&mut self, v: VertexId) -> &mut VertexPlan {
        self.plans.entry(v).or_default()
    }

    /// How much of a vertex is free all through an interval.
    #[inline]
    pub(super) fn free(&self, v: VertexId, from: i64, until: i64) -> u64 {
        let size = self.graph.size(v);
        self.plan(v).map_or(size, |plan| size.saturating_sub(plan.pool.most(from, until).max(0) as u64))
    }

    /// Whether no job uses a vertex, or what is below, at any time of an interval.
    #[inline]
    pub(super) fn is_idle(&self, v: VertexId, from: i64, until: i64) -> bool {
        self.plan(v).is_none_or(|plan| plan.jobs.most(from, until) == 0)
    }

    /// Ticks in a second: Fluxion plans in whole seconds, we in microseconds.
    pub(super) fn ticks(&self, t: Timestamp) -> i64 {
        if self.options.compat { t.micros().div_euclid(MICROS) } else { t.micros().clamp(-HORIZON, HORIZON) }
    }

    pub(super) fn timestamp(&self, ticks: i64) -> Timestamp {
        if self.options.compat {
            Timestamp::from_secs(ticks)
        } else if ticks >= HORIZON {
            Timestamp::NEVER
        } else {
            Timestamp::from_micros(ticks)
        }
    }

    /// The tick at which planning ends.
    pub(super) fn horizon(&self) -> i64 {
        if self.options.compat { COMPAT_HORIZON } else { HORIZON }
    }

    /// Forgets a job on a vertex where it has nothing left.
    pub(super) fn tidy(&mut self, v: VertexId, job: JobId) {
        let Some(plan) = self.plans.get_mut(&v) else { return };
        if plan.tidy(job) {
            self.plans.remove(&v);
        } else if plan.holds.contains_key(&job) {
            return;
        }
        if let Some(record) = self.jobs.get_mut(&job) {
            record.vertices.remove(&v);
        }
    }
}
