//! Targets: the vertices that are owned, up and down as one, with what schedulers ask of them most.

use super::names::KindId;
use super::store::Graph;
use crate::base::{FastMap, TargetId, TargetSet, VertexId};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// An execution target (RFC 28): a node, with the cores and GPUs below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The number; the same in every version of the graph.
    pub id: TargetId,
    /// The vertex in this version of the graph.
    pub vertex: VertexId,
    /// The rank, unique in this version of the graph.
    pub rank: u32,
    /// The host name, or empty where R names no hosts; several targets may share one.
    pub host: Arc<str>,
    pub(super) core_ids: Arc<[u32]>,
    pub(super) gpu_ids: Arc<[u32]>,
    pub(super) core_range: Range<u32>,
    pub(super) gpu_range: Range<u32>,
}

impl Target {
    /// How many cores the target has.
    #[inline]
    pub fn cores(&self) -> u32 {
        self.core_range.end - self.core_range.start
    }

    /// How many GPUs the target has.
    #[inline]
    pub fn gpus(&self) -> u32 {
        self.gpu_range.end - self.gpu_range.start
    }

    /// Logical ids of the cores, as R writes them, in depth-first order: the ids of the vertices, or their positions
    /// 0, 1, … where those are not unique in the target (numbered by socket) or negative.
    #[inline]
    pub fn core_ids(&self) -> &[u32] {
        &self.core_ids
    }

    /// Logical ids of the GPUs, likewise.
    #[inline]
    pub fn gpu_ids(&self) -> &[u32] {
        &self.gpu_ids
    }
}

/// The targets of one version, by every key.
#[derive(Clone, Default)]
pub(super) struct Targets {
    pub(super) by_id: Vec<Option<Target>>,
    pub(super) all: TargetSet,
    pub(super) by_rank: FastMap<u32, TargetId>,
    pub(super) by_host: FastMap<Arc<str>, SmallVec<[TargetId; 1]>>,
    /// In depth-first order, with the vertices beside.
    pub(super) in_order: Vec<TargetId>,
    pub(super) vertices_in_order: Vec<VertexId>,
}

impl Targets {
    pub(super) fn reserve(&mut self, more: usize) {
        self.by_id.reserve_exact(more);
        self.by_rank.reserve(more);
        self.by_host.reserve(more);
        self.in_order.reserve_exact(more);
        self.vertices_in_order.reserve_exact(more);
    }

    pub(super) fn add(&mut self, target: Target) {
        let id = target.id;
        self.all.insert(id);
        self.by_rank.insert(target.rank, id);
        if !target.host.is_empty() {
            self.by_host.entry(target.host.clone()).or_default().push(id);
        }
        self.in_order.push(id);
        self.vertices_in_order.push(target.vertex);
        if self.by_id.len() <= id.index() {
            self.by_id.resize(id.index() + 1, None);
        }
        self.by_id[id.index()] = Some(target);
    }
}

impl Graph {
    /// The target with this number, if this version has it.
    #[inline]
    pub fn target(&self, id: TargetId) -> Option<&Target> {
        self.targets.by_id.get(id.index())?.as_ref()
    }

    /// All targets of this version.
    pub fn targets(&self) -> &TargetSet {
        &self.targets.all
    }

    /// One past the largest number ever given to a target, for dense arrays.
    pub fn target_bound(&self) -> usize {
        self.target_bound as usize
    }

    /// The targets in depth-first order of their vertices; the order of numbers, until targets are added.
    pub fn targets_in_order(&self) -> &[TargetId] {
        &self.targets.in_order
    }

    /// The targets at and below a vertex, in depth-first order. Two binary searches.
    pub fn targets_in(&self, v: VertexId) -> &[TargetId] {
        &self.targets.in_order[super::store::slice_in(&self.targets.vertices_in_order, self.subtree(v))]
    }

    /// The target of a rank.
    pub fn target_by_rank(&self, rank: u32) -> Option<TargetId> {
        self.targets.by_rank.get(&rank).copied()
    }

    /// The first target on a host, in depth-first order.
    pub fn target_by_host(&self, host: &str) -> Option<TargetId> {
        self.targets_by_host(host).first().copied()
    }

    /// All targets on a host: one, unless several brokers run on it.
    pub fn targets_by_host(&self, host: &str) -> &[TargetId] {
        self.targets.by_host.get(host).map_or(&[], |targets| targets)
    }

    /// The target that a vertex is or is inside of.
    #[inline]
    pub fn target_of(&self, v: VertexId) -> Option<TargetId> {
        let raw = self.target_at[v.index()];
        (raw != u32::MAX).then_some(TargetId(raw))
    }

    /// The vertices of a target's cores, in the order of [`Target::core_ids`].
    pub fn core_vertices(&self, target: &Target) -> &[VertexId] {
        self.ranged(KindId::CORE, &target.core_range)
    }

    /// The vertices of a target's GPUs, in the order of [`Target::gpu_ids`].
    pub fn gpu_vertices(&self, target: &Target) -> &[VertexId] {
        self.ranged(KindId::GPU, &target.gpu_range)
    }

    fn ranged(&self, kind: KindId, range: &Range<u32>) -> &[VertexId] {
        // A target of another version may not fit; then there is nothing to show.
        self.of_kind(kind).get(range.start as usize..range.end as usize).unwrap_or(&[])
    }

    /// Vertices that are neither in a target nor above one: rack storage, power, and what else targets share, in
    /// depth-first order.
    pub fn outside(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.vertices().filter(|&v| self.target_of(v).is_none() && self.targets_in(v).is_empty())
    }
}
