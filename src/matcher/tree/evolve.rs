//! Vertices that come and go, and everything that is planned moves along.

use super::engine::Engine;
use super::error::EngineError;
use super::filters::Filters;
use super::outcome::Visits;
use super::select::LEAD;
use super::topology::{Topology, root_in};
use super::types::Types;
use crate::base::{FastMap, JobId, VertexId};
use crate::formats::idset::Idset;
use crate::formats::jgf::{CONTAINMENT, Jgf, JgfStatus};
use crate::graph::{Graph, VertexMap};
use crate::planner::vertex::{Steps, VertexPlan};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Engine {
    /// Lays a graph over the present one.
    ///
    /// # Errors
    /// [`EngineError::Graph`], [`EngineError::NoRoot`], for Fluxion [`EngineError::SecondRoot`]; then nothing is
    /// changed.
    pub fn attach(&mut self, addition: &Jgf) -> Result<(), EngineError> {
        self.enter_all();
        let (added, _) = Graph::from_jgf(addition)?;
        let known = self.graph.len();
        let extended = if self.options.compat {
            self.refuse_second_root(addition)?;
            self.graph.extend_sharing_ranks(&added)?
        } else {
            self.graph.extend(&added)?
        };
        self.move_to(extended.graph, &extended.old)?;
        let new: BTreeSet<VertexId> = {
            let old: BTreeSet<VertexId> = (0..known as u32).filter_map(|v| extended.old.get(VertexId(v))).collect();
            self.graph.vertices().filter(|v| !old.contains(v)).collect()
        };
        for node in addition.nodes.iter().filter(|node| node.status == JgfStatus::Down) {
            let path = node.paths.get(CONTAINMENT).map_or("", |path| path);
            self.down.extend(self.graph.by_path(path).filter(|v| new.contains(v)));
        }
        self.rebuild_index();
        Ok(())
    }

    /// A vertex is one of ours if it has one of its paths and the rank; else no path of it may be that of a root.
    fn refuse_second_root(&self, addition: &Jgf) -> Result<(), EngineError> {
        for node in &addition.nodes {
            let mut roots = node.paths.iter().filter(|(_, path)| path.matches('/').count() == 1).peekable();
            if roots.peek().is_none() {
                continue;
            }
            let is_ours =
                |path: &String| self.vertices_at(path).into_iter().any(|v| self.graph.given_rank(v) == node.rank);
            if node.paths.values().any(is_ours) {
                continue;
            }
            let known = |subsystem: &str| self.graph.subsystem_id(subsystem).and_then(|s| root_in(&self.graph, s));
            if let Some((subsystem, _)) = roots.find(|(subsystem, _)| known(subsystem).is_some()) {
                return Err(EngineError::SecondRoot { subsystem: subsystem.clone() });
            }
        }
        Ok(())
    }

    /// Takes the vertex with a path away, and all inside. Jobs keep what they hold elsewhere.
    ///
    /// # Errors
    /// [`EngineError::UnknownPath`], [`EngineError::RemovesRoot`].
    pub fn remove(&mut self, path: &str) -> Result<(), EngineError> {
        let unknown = || EngineError::UnknownPath { path: path.to_owned() };
        let v = self.vertices_at(path).into_iter().next_back().ok_or_else(unknown)?;
        if self.topology.parent(&self.graph, v).is_none() {
            return Err(EngineError::RemovesRoot { path: path.to_owned() });
        }
        self.take_away(&[v])
    }

    /// Takes ranks away, and with them what jobs hold there.
    ///
    /// # Errors
    /// [`EngineError::UnknownRank`]; then nothing is changed.
    pub fn remove_ranks(&mut self, ranks: &Idset) -> Result<(), EngineError> {
        let vertex = |rank| self.graph.target_by_rank(rank).and_then(|id| self.graph.target(id)).map(|t| t.vertex);
        let vertices = ranks.iter().map(|rank| vertex(rank).ok_or(EngineError::UnknownRank { rank }));
        let vertices: Vec<VertexId> = vertices.collect::<Result<_, _>>()?;
        self.visits = Visits::default();
        self.take_away(&vertices)
    }

    fn take_away(&mut self, roots: &[VertexId]) -> Result<(), EngineError> {
        self.enter_all();
        for &v in roots {
            let range = self.graph.subtree(v);
            let inside = |at: &VertexId| range.contains(&at.0);
            let jobs: Vec<JobId> = self.jobs.keys().copied().collect();
            for job in jobs {
                self.divide_above(job, v);
                let held = self.jobs.get(&job).into_iter().flat_map(|record| record.vertices.iter().copied());
                let held: BTreeSet<VertexId> = held.filter(inside).collect();
                if !held.is_empty() {
                    self.give_back(job, &held);
                }
            }
        }
        let (graph, map) = self.graph.without_subtrees(roots);
        self.move_to(graph, &map)?;
        self.rebuild_index();
        Ok(())
    }

    /// Goes over to another version of the graph.
    fn move_to(&mut self, graph: Graph, map: &VertexMap) -> Result<(), EngineError> {
        let mut types = self.types.clone();
        types.extend(&graph);
        let topology = Topology::new(&graph, &self.options)?;
        let filters = Filters::new(&graph, &mut types, &topology, &self.options.prune);
        let plans = std::mem::take(&mut self.plans);
        for (old, mut plan) in plans {
            let Some(v) = map.get(old) else { continue };
            let ty = self.types.of(self.graph.kind(old));
            let places: Vec<Option<usize>> =
                filters.at(ty).iter().map(|counted| self.filters.at(ty).iter().position(|c| c == counted)).collect();
            rearrange(&mut plan, &places);
            self.plans.insert(v, plan);
        }
        for record in self.jobs.values_mut() {
            record.vertices = record.vertices.iter().filter_map(|&v| map.get(v)).collect();
        }
        self.down = self.down.iter().filter_map(|&v| map.get(v)).collect();
        let weights = std::mem::take(&mut self.weights.of).into_iter();
        let weights = weights.filter_map(|((from, to), weight)| Some(((map.get(from)?, map.get(to)?), weight)));
        self.weights.of = weights.collect();
        self.properties = moved(std::mem::take(&mut self.properties), map);
        self.labels = moved(std::mem::take(&mut self.labels), map);
        let total = |filters: &Filters, types: &Types, graph: &Graph, root| {
            let here = filters.at(types.of(graph.kind(root)));
            if here.is_empty() { 0 } else { filters.total(graph, types, root, 0) }
        };
        let before = total(&self.filters, &self.types, &self.graph, self.topology.roots[LEAD]);
        let after = total(&filters, &types, &graph, topology.roots[LEAD]);
        self.graph = Arc::new(graph);
        self.types = types;
        self.topology = topology;
        self.filters = filters;
        if self.options.compat && after > before {
            self.miss(self.topology.roots[LEAD], after - before);
        }
        Ok(())
    }
}

fn moved<T>(map: FastMap<VertexId, T>, to: &VertexMap) -> FastMap<VertexId, T> {
    map.into_iter().filter_map(|(v, value)| Some((to.get(v)?, value))).collect()
}

/// Puts what is used below in the order of another list of types: for each its place in the present one.
fn rearrange(plan: &mut VertexPlan, places: &[Option<usize>]) {
    if places.iter().enumerate().all(|(at, place)| *place == Some(at)) {
        return;
    }
    let old = std::mem::take(&mut plan.below);
    let take = |place: &Option<usize>| place.and_then(|at| old.get(at)).cloned().unwrap_or_else(Steps::default);
    plan.below = places.iter().map(take).collect();
    for hold in plan.holds.values_mut() {
        if let Some(below) = &mut hold.below {
            let amount = |place: &Option<usize>| place.and_then(|at| below.amounts.get(at).copied().flatten());
            below.amounts = places.iter().map(amount).collect();
        }
    }
}
