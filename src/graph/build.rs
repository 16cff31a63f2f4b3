//! From drafts in any order to a graph in depth-first order. All ways to make a graph end here.

use super::GraphError;
use super::names::{KindId, Names, SubsystemId, Symbol};
use super::ranks::Ranks;
use super::store::{Graph, KindIndex, NONE, Record};
use super::target::{Target, Targets};
use super::uniq::UniqIds;
use crate::base::{FastMap, TargetId, VertexId};
use crate::formats::idset::MAX_ID;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The most vertices that a graph takes: some twenty times those of the largest machine today.
pub(super) const MAX_VERTICES: usize = 1 << 25;

/// A vertex before it has a place.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) kind: KindId,
    pub(super) size: u64,
    pub(super) record: Record,
}

impl Draft {
    /// A vertex of size 1 called after its kind and id.
    pub(super) fn new(kind: KindId, basename: Symbol, id: i64) -> Self {
        let record = Record { id, basename, name: Symbol::EMPTY, unit: Symbol::EMPTY, properties: None };
        Self { kind, size: 1, record }
    }
}

/// A target before its vertex has a place.
#[derive(Clone, Debug)]
pub(super) struct DraftTarget {
    pub(super) draft: u32,
    pub(super) rank: u32,
    pub(super) host: Arc<str>,
    /// Its number, if it had one already.
    pub(super) id: Option<TargetId>,
}

/// Where the numbers of vertices come from that [`Graph::uniq_id`] tells.
#[derive(Clone, Debug, Default)]
pub(super) enum Numbering {
    /// Their places.
    #[default]
    Place,
    /// The order of the drafts.
    Draft,
    /// One for each draft.
    Given(Vec<i64>),
}

/// Collects vertices, edges and targets in any order.
pub(super) struct Builder {
    pub(super) names: Names,
    pub(super) drafts: Vec<Draft>,
    pub(super) parents: Vec<u32>,
    /// Contained drafts in the order in which siblings are to stand.
    links: Vec<u32>,
    /// Drafts that are in no containment tree, in order.
    loose: Vec<u32>,
    /// Edges of other subsystems, and those of containment that are not in the tree.
    pub(super) edges: Vec<(u32, u32, SubsystemId)>,
    pub(super) paths: Vec<(u32, SubsystemId, Arc<str>)>,
    pub(super) targets: Vec<DraftTarget>,
    pub(super) numbering: Numbering,
    pub(super) version: u64,
    pub(super) target_bound: u32,
}

/// The finished graph and where each draft went.
pub(super) struct Built {
    pub(super) graph: Graph,
    pub(super) places: Vec<VertexId>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self::with_names(Names::new())
    }

    pub(super) fn with_names(names: Names) -> Self {
        Self {
            names,
            drafts: Vec::new(),
            parents: Vec::new(),
            links: Vec::new(),
            loose: Vec::new(),
            edges: Vec::new(),
            paths: Vec::new(),
            targets: Vec::new(),
            numbering: Numbering::Place,
            version: 0,
            target_bound: 0,
        }
    }

    /// Makes room for so many vertices, or refuses them before any work is done.
    pub(super) fn reserve(&mut self, vertices: usize) -> Result<(), GraphError> {
        if vertices > MAX_VERTICES {
            return Err(GraphError::TooManyVertices { limit: MAX_VERTICES });
        }
        self.drafts.reserve(vertices);
        self.parents.reserve(vertices);
        self.links.reserve(vertices);
        Ok(())
    }

    /// Adds a vertex that is not linked yet.
    pub(super) fn add_unlinked(&mut self, draft: Draft) -> Result<u32, GraphError> {
        if self.drafts.len() >= MAX_VERTICES {
            return Err(GraphError::TooManyVertices { limit: MAX_VERTICES });
        }
        self.drafts.push(draft);
        self.parents.push(NONE);
        Ok(self.drafts.len() as u32 - 1)
    }

    /// Puts a draft after the children that `parent` has; at the top if that is none.
    pub(super) fn link(&mut self, draft: u32, parent: Option<u32>) {
        self.parents[draft as usize] = parent.unwrap_or(NONE);
        self.links.push(draft);
    }

    /// Leaves a draft outside containment.
    pub(super) fn leave_loose(&mut self, draft: u32) {
        self.loose.push(draft);
    }

    /// Adds a vertex below another, or at the top.
    pub(super) fn add(&mut self, draft: Draft, parent: Option<u32>) -> Result<u32, GraphError> {
        let number = self.add_unlinked(draft)?;
        self.link(number, parent);
        Ok(number)
    }

    /// Calls a vertex `name`, unless its basename and id say so already.
    pub(super) fn set_name(&mut self, record: &mut Record, name: &str) {
        let basename = self.names.symbols.text(record.basename.0);
        let plain = name.strip_prefix(&**basename).is_some_and(|digits| digits == record.id.to_string());
        record.name = if plain { Symbol::EMPTY } else { self.names.symbol(name) };
    }

    pub(super) fn name_of(&self, draft: u32) -> String {
        let record = &self.drafts[draft as usize].record;
        if record.name == Symbol::EMPTY {
            format!("{}{}", self.names.symbols.text(record.basename.0), record.id)
        } else {
            self.names.symbols.text(record.name.0).to_string()
        }
    }

    /// Numbers everything and builds the index.
    pub(super) fn finish(mut self) -> Result<Built, GraphError> {
        let targets = std::mem::take(&mut self.targets);
        self.finish_choosing(|_, _| Ok(targets))
    }

    /// The same, with targets chosen when the tree stands.
    pub(super) fn finish_choosing(
        self,
        choose: impl FnOnce(&mut Graph, &[VertexId]) -> Result<Vec<DraftTarget>, GraphError>,
    ) -> Result<Built, GraphError> {
        let places = self.places()?;
        let (version, target_bound, contained) = (self.version, self.target_bound, self.links.len() as u32);
        let mut graph = self.arrange(&places)?;
        graph.version = version;
        graph.contained = contained;
        graph.target_bound = target_bound;
        let targets = choose(&mut graph, &places)?;
        install_targets(&mut graph, targets, &places)?;
        Ok(Built { graph, places })
    }

    /// The place of each draft in depth-first order.
    fn places(&self) -> Result<Vec<VertexId>, GraphError> {
        if self.loose.is_empty() && self.is_in_order() {
            return Ok((0..self.drafts.len() as u32).map(VertexId).collect());
        }
        let total = self.drafts.len();
        // Children of each draft, siblings together: counting sort by parent, with the roots as children of `total`.
        let slot = |parent: u32| if parent == NONE { total } else { parent as usize };
        let mut start = vec![0u32; total + 2];
        for &child in &self.links {
            start[slot(self.parents[child as usize]) + 1] += 1;
        }
        for i in 0..=total {
            start[i + 1] += start[i];
        }
        let mut cursor = start.clone();
        let mut children = vec![0u32; self.links.len()];
        for &child in &self.links {
            let at = &mut cursor[slot(self.parents[child as usize])];
            children[*at as usize] = child;
            *at += 1;
        }
        let of = |draft: usize| &children[start[draft] as usize..start[draft + 1] as usize];

        let mut places = vec![VertexId(NONE); total];
        let mut next = 0;
        let mut open: Vec<u32> = of(total).iter().rev().copied().collect();
        while let Some(draft) = open.pop() {
            places[draft as usize] = VertexId(next);
            next += 1;
            open.extend(of(draft as usize).iter().rev());
        }
        if (next as usize) < self.links.len() {
            let stuck = self.links.iter().copied().find(|&d| places[d as usize].0 == NONE).unwrap_or(0);
            return Err(GraphError::Circle { vertex: self.name_of(stuck) });
        }
        for &draft in &self.loose {
            places[draft as usize] = VertexId(next);
            next += 1;
        }
        Ok(places)
    }

    /// Whether the drafts stand in depth-first order already.
    fn is_in_order(&self) -> bool {
        let mut path: Vec<u32> = Vec::new();
        self.links.iter().enumerate().all(|(i, &draft)| {
            let parent = self.parents[draft as usize];
            while path.last().is_some_and(|&top| top != parent) {
                path.pop();
            }
            let fits = draft as usize == i && (parent == NONE || !path.is_empty());
            path.push(draft);
            fits
        })
    }

    /// The graph without its targets.
    fn arrange(self, places: &[VertexId]) -> Result<Graph, GraphError> {
        let total = self.drafts.len();
        let mut draft_at = vec![0u32; total];
        for (draft, place) in places.iter().enumerate() {
            draft_at[place.index()] = draft as u32;
        }
        let mut store = DiGraph::with_capacity(total, total + self.edges.len());
        let mut kind_at = Vec::with_capacity(total);
        let mut size_at = Vec::with_capacity(total);
        let mut parent_at = Vec::with_capacity(total);
        let mut depth_at: Vec<u32> = Vec::with_capacity(total);
        let mut drafts: Vec<Option<Draft>> = self.drafts.into_iter().map(Some).collect();
        for &draft in &draft_at {
            let Some(Draft { kind, size, record }) = drafts[draft as usize].take() else { continue };
            let parent = self.parents[draft as usize];
            let parent = if parent == NONE { NONE } else { places[parent as usize].0 };
            store.add_node(record);
            kind_at.push(kind);
            size_at.push(size);
            depth_at.push(if parent == NONE { 0 } else { depth_at[parent as usize] + 1 });
            parent_at.push(parent);
        }
        let mut end_at: Vec<u32> = (1..=total as u32).collect();
        for v in (0..total).rev() {
            let parent = parent_at[v];
            if parent != NONE {
                end_at[parent as usize] = end_at[parent as usize].max(end_at[v]);
            }
        }
        for (v, &parent) in parent_at.iter().enumerate() {
            if parent != NONE {
                store.add_edge(NodeIndex::new(parent as usize), NodeIndex::new(v), SubsystemId::CONTAINMENT);
            }
        }
        for (from, to, subsystem) in self.edges {
            let node = |draft: u32| NodeIndex::new(places[draft as usize].index());
            store.add_edge(node(from), node(to), subsystem);
        }
        let paths: BTreeMap<_, _> = self
            .paths
            .into_iter()
            .map(|(draft, subsystem, path)| ((places[draft as usize], subsystem), path))
            .collect();
        let by_kind = index_kinds(&kind_at, &size_at, &self.names)?;
        let uniq_at = match self.numbering {
            Numbering::Place => UniqIds::Place,
            Numbering::Draft => UniqIds::of_small(draft_at),
            Numbering::Given(numbers) => UniqIds::of(draft_at.iter().map(|&draft| numbers[draft as usize]).collect()),
        };
        Ok(Graph {
            version: 0,
            store,
            names: self.names,
            kind_at,
            size_at,
            parent_at,
            end_at,
            depth_at,
            target_at: vec![NONE; total],
            uniq_at,
            ranks: Ranks::default(),
            by_kind,
            contained: 0,
            paths,
            targets: Targets::default(),
            target_bound: 0,
        })
    }
}

fn index_kinds(kind_at: &[KindId], size_at: &[u64], names: &Names) -> Result<Vec<KindIndex>, GraphError> {
    let mut by_kind = vec![KindIndex::default(); names.kinds.len()];
    let mut plain = vec![true; names.kinds.len()];
    for (v, (&kind, &size)) in kind_at.iter().zip(size_at).enumerate() {
        by_kind[kind.index()].vertices.push(VertexId(v as u32));
        plain[kind.index()] &= size == 1;
    }
    for (kind, index) in by_kind.iter_mut().enumerate().filter(|(kind, _)| !plain[*kind]) {
        let mut sum = 0u64;
        let mut sums = Vec::with_capacity(index.vertices.len() + 1);
        sums.push(0);
        for v in &index.vertices {
            sum = sum
                .checked_add(size_at[v.index()])
                .ok_or_else(|| GraphError::SizeOverflow { kind: names.kinds.text(kind as u32).to_string() })?;
            sums.push(sum);
        }
        index.sums = Some(sums);
    }
    Ok(by_kind)
}

/// Gives numbers to new targets in depth-first order, and fills the tables.
fn install_targets(graph: &mut Graph, mut drafts: Vec<DraftTarget>, places: &[VertexId]) -> Result<(), GraphError> {
    drafts.sort_by_key(|target| places[target.draft as usize]);
    let mut shared = SharedIds::default();
    for DraftTarget { draft, rank, host, id } in drafts {
        let vertex = places[draft as usize];
        if let Some(other) = graph.target_of(vertex).and_then(|id| graph.target(id)) {
            return Err(GraphError::NestedTarget { inner: graph.path(vertex), outer: graph.path(other.vertex) });
        }
        if let Some(other) = graph.target_by_rank(rank).and_then(|id| graph.target(id)) {
            let (first, second) = (graph.path(other.vertex), graph.path(vertex));
            return Err(GraphError::DuplicateRank { rank, first, second });
        }
        let id = id.unwrap_or_else(|| {
            graph.target_bound += 1;
            TargetId(graph.target_bound - 1)
        });
        let subtree = graph.subtree(vertex);
        let (core_range, core_ids) = shared.of(graph, subtree.clone(), KindId::CORE);
        let (gpu_range, gpu_ids) = shared.of(graph, subtree.clone(), KindId::GPU);
        graph.targets.add(Target { id, vertex, rank, host, core_ids, gpu_ids, core_range, gpu_range });
        graph.target_at[subtree.start as usize..subtree.end as usize].fill(id.0);
    }
    Ok(())
}

/// Lists of logical ids, each kept once: most nodes are alike.
#[derive(Default)]
struct SharedIds {
    known: FastMap<Arc<[u32]>, ()>,
    scratch: Vec<u32>,
}

impl SharedIds {
    fn of(&mut self, graph: &Graph, subtree: Range<u32>, kind: KindId) -> (Range<u32>, Arc<[u32]>) {
        let all = graph.of_kind(kind);
        let range = super::store::slice_in(all, subtree);
        let vertices = &all[range.clone()];
        let range = range.start as u32..range.end as u32;
        self.scratch.clear();
        self.scratch.extend(vertices.iter().map_while(|&v| {
            let id = graph.store[NodeIndex::new(v.index())].id;
            u32::try_from(id).ok().filter(|&id| id <= MAX_ID)
        }));
        if self.scratch.len() < vertices.len() || !all_different(&self.scratch) {
            self.scratch.clear();
            self.scratch.extend(0..vertices.len() as u32);
        }
        if let Some((ids, ())) = self.known.get_key_value(self.scratch.as_slice()) {
            return (range, ids.clone());
        }
        let ids: Arc<[u32]> = self.scratch.as_slice().into();
        self.known.insert(ids.clone(), ());
        (range, ids)
    }
}

fn all_different(ids: &[u32]) -> bool {
    if ids.is_sorted_by(|a, b| a < b) {
        return true;
    }
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.is_sorted_by(|a, b| a < b)
}
