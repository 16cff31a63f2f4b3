//! Allocations that come from outside: from a graph, or from R.

use super::commit::{Allocation, Kind};
use super::engine::Engine;
use super::error::UpdateError;
use super::find_vertex::Finder;
use super::outcome::{Grant, Matched, Mode, Source};
use super::select::{Choice, LEAD, Mark};
use crate::base::{Duration, FastMap, FastSet, JobId, Timestamp, VertexId};
use crate::formats::jgf::Jgf;
use crate::formats::r::R;
use crate::graph::KindId;
use crate::planner::vertex::Part;
use std::collections::BTreeSet;

/// What a source says.
#[derive(Default)]
struct Taken {
    choice: Choice,
    /// Whether the root of the leading subsystem is in it.
    has_root: bool,
    /// Vertices that are taken whole.
    pools: BTreeSet<VertexId>,
    /// Vertices that must be free, though they are not taken.
    shared: BTreeSet<VertexId>,
}

/// A vertex of a source.
#[derive(Clone, Copy)]
struct Node {
    v: VertexId,
    size: u64,
    exclusive: bool,
    is_root: bool,
}

impl Engine {
    /// Takes over an allocation that comes from outside, from `at` on.
    ///
    /// # Errors
    /// See [`UpdateError`]; then nothing is changed.
    pub fn update(
        &mut self,
        job: JobId,
        at: Timestamp,
        duration: Duration,
        source: Source<'_>,
    ) -> Result<Matched, UpdateError> {
        if self.knows(job) {
            return Err(UpdateError::KnownJob(job));
        }
        self.enter_all();
        let from = self.ticks(at);
        let length = self.ticks(Timestamp::from_micros(duration.micros()));
        if from < 0 || length <= 0 {
            return Err(UpdateError::Time { at: at.to_string(), duration: duration.to_string() });
        }
        let until = from.saturating_add(length);
        let taken = match source {
            Source::Jgf(jgf) => self.read_jgf(jgf, false)?,
            Source::JgfShorthand(jgf) => self.read_jgf(jgf, true)?,
            Source::R(r) => self.read_r(r)?,
        };
        let takes = |v: VertexId| UpdateError::Taken { vertex: self.graph.vertex(v).name().into_owned() };
        for &v in taken.pools.iter().chain(&taken.shared) {
            if self.free(v, from, until) < self.graph.size(v)
                || (!self.options.compat && self.is_inside_taken(v, from, until))
            {
                return Err(takes(v));
            }
        }
        let allocation = Allocation { job, now: None, from, until, kind: Kind::Allocation, planned: true };
        for &v in &taken.pools {
            let amount = self.graph.size(v) as i64;
            self.plan_mut(v).take_pool(job, Part { from, until, amount }, false, false);
        }
        self.record(allocation, taken.pools.clone());
        let mut grant = Grant::default();
        if taken.has_root {
            let mut whole = vec![false; self.types.len()];
            let node = super::types::Ty::NODE.index();
            whole[node] = self.options.compat && self.options.policy.is_node_exclusive();
            grant = self.commit(&taken.choice, allocation, &whole);
        }
        self.tell_index(job);
        let mode = if from == 0 { Mode::Allocated } else { Mode::Reserved };
        Ok(Matched { at, end: self.timestamp(until), mode, grant, visits: self.visits })
    }

    /// Whether a vertex goes with one above that another job has.
    fn is_inside_taken(&self, v: VertexId, from: i64, until: i64) -> bool {
        self.graph.ancestors(v).any(|above| self.free(above, from, until) == 0)
    }

    fn read_jgf(&self, jgf: &Jgf, shorthand: bool) -> Result<Taken, UpdateError> {
        let lead = &self.options.subsystems[LEAD];
        let mut finder = Finder::default();
        let mut nodes: FastMap<&str, Node> = FastMap::default();
        let mut taken = Taken::default();
        for node in &jgf.nodes {
            let bad = |found| UpdateError::Vertex { vertex: node.id.clone(), found };
            let v = finder.find(self, node).map_err(bad)?;
            let is_root = node.paths.get(lead).is_some_and(|path| path.matches('/').count() == 1);
            nodes.insert(&node.id, Node { v, size: node.size, exclusive: node.exclusive, is_root });
            if !node.exclusive {
                taken.shared.insert(v);
                continue;
            }
            let twice = || bad("named twice, or inside of what is named".to_owned());
            // Fluxion does not take what stands for itself in the short form, too.
            let strict = shorthand && self.options.compat;
            if !taken.pools.insert(v) && strict {
                return Err(twice());
            }
            for below in self.graph.subtree(v).skip(1).map(VertexId).filter(|_| shorthand) {
                if !taken.pools.insert(below) && strict {
                    return Err(twice());
                }
                if let Some(from) = self.graph.parent(below) {
                    let mark = Mark { from, needs: self.graph.size(below), exclusive: true };
                    taken.choice.marks.insert(below, mark);
                }
            }
        }
        for edge in &jgf.edges {
            let unknown = || UpdateError::Edge { source_id: edge.source.clone(), target_id: edge.target.clone() };
            let (source, target) = nodes.get(&*edge.source).zip(nodes.get(&*edge.target)).ok_or_else(unknown)?;
            if source.is_root {
                taken.has_root = true;
                taken.choice.root_needs = source.size;
                taken.choice.root_exclusive = source.exclusive;
            }
            if !self.is_edge(source.v, target.v) {
                return Err(unknown());
            }
            let mark = Mark { from: source.v, needs: target.size, exclusive: target.exclusive };
            taken.choice.marks.insert(target.v, mark);
        }
        Ok(taken)
    }

    fn is_edge(&self, from: VertexId, to: VertexId) -> bool {
        self.graph.parent(to) == Some(from)
            || self.graph.subsystems().any(|s| self.graph.successors(from, s).any(|child| child == to))
    }

    fn read_r(&self, r: &R) -> Result<Taken, UpdateError> {
        let graph = &self.graph;
        let root = self.topology.roots[LEAD];
        let mut finder = Finder::default();
        let mut taken = Taken { has_root: true, ..Taken::default() };
        taken.choice.root_needs = graph.size(root);
        let root_path = graph.path(root);
        for entry in &r.ranks {
            let host = entry.host.clone().unwrap_or_default();
            let lacks = |what: &str| UpdateError::Vertex {
                vertex: what.to_owned(),
                found: format!("not in the graph on rank {}", entry.rank),
            };
            let by_path = finder.at(self, &format!("{root_path}/{host}"));
            let by_rank = || graph.target_by_rank(entry.rank).and_then(|id| graph.target(id)).map(|t| t.vertex);
            let right = |v: &VertexId| graph.kind(*v) == KindId::NODE && graph.given_rank(*v) == i64::from(entry.rank);
            // Several ranks may be on one host.
            let same_host = |v: &VertexId| (host.is_empty() && !self.options.compat) || graph.vertex(*v).name() == host;
            let node = by_path.filter(right).or_else(|| by_rank().filter(same_host).filter(right));
            let node = node.ok_or_else(|| lacks(&host))?;
            taken.shared.insert(node);
            let mut children: FastSet<VertexId> = FastSet::default();
            for (kind, ids) in [("core", &entry.cores), ("gpu", &entry.gpus)] {
                for id in ids.iter() {
                    let name = format!("{kind}{id}");
                    let child = self.part_of(&mut finder, node, kind, id).ok_or_else(|| lacks(&name))?;
                    children.insert(child);
                }
            }
            let all = self.parts_on_rank(node, entry.rank) == children.len();
            for &child in &children {
                taken.pools.insert(child);
                for v in std::iter::once(child).chain(graph.ancestors(child)).take_while(|&v| v != node) {
                    let Some(from) = graph.parent(v) else { continue };
                    let mark = Mark { from, needs: graph.size(v), exclusive: v == child };
                    taken.choice.marks.entry(v).and_modify(|known| known.exclusive |= mark.exclusive).or_insert(mark);
                }
            }
            if all {
                taken.pools.insert(node);
            }
            // Fluxion marks the node as taken for itself even if not all of it is.
            let exclusive = all || self.options.compat;
            if let Some(from) = graph.parent(node) {
                taken.choice.marks.insert(node, Mark { from, needs: graph.size(node), exclusive });
            }
        }
        Ok(taken)
    }

    /// A core or GPU of a node: a child by name, or, where the graph has levels between, the one with the logical id.
    fn part_of(&self, finder: &mut Finder, node: VertexId, kind: &str, id: u32) -> Option<VertexId> {
        let graph = &self.graph;
        if let Some(child) = finder.child(self, Some(node), &format!("{kind}{id}")) {
            return Some(child).filter(|&v| graph.size(v) == 1);
        }
        if self.options.compat {
            return None;
        }
        let target = graph.target(graph.target_of(node)?)?;
        let (ids, vertices) = match kind {
            "core" => (target.core_ids(), graph.core_vertices(target)),
            _ => (target.gpu_ids(), graph.gpu_vertices(target)),
        };
        ids.iter().position(|&known| known == id).map(|at| vertices[at])
    }

    /// How many vertices a rank has besides the node itself; of kinds that R names, unless as Fluxion counts.
    fn parts_on_rank(&self, node: VertexId, rank: u32) -> usize {
        let graph = &self.graph;
        let below = graph.subtree(node).skip(1).map(VertexId);
        if self.options.compat {
            below.filter(|&v| graph.given_rank(v) == i64::from(rank)).count()
        } else {
            below.filter(|&v| matches!(graph.kind(v), KindId::CORE | KindId::GPU)).count()
        }
    }
}
