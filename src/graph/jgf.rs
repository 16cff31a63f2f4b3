//! From JGF to a graph: a vertex and an edge at a time, so that the text need not be held.

use super::build::{Builder, Built, Draft, DraftTarget, Numbering};
use super::names::SubsystemId;
use super::numbers::Numbers;
use super::ranks::Ranks;
use super::store::{Graph, NONE};
use super::{GraphError, Properties};
use crate::base::{FastMap, TargetSet, VertexId};
use crate::formats::idset::MAX_ID;
use crate::formats::jgf::{CONTAINMENT, Jgf, JgfEdge, JgfError, JgfNode, JgfSink, JgfStatus};
use std::sync::Arc;

/// Why a text is no graph.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is no JGF.
    #[error(transparent)]
    Jgf(#[from] JgfError),
    /// The JGF is no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// What a JGF says of a machine.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// The property names of its targets.
    pub properties: Properties,
    /// The targets that it marks down.
    pub down: TargetSet,
}

impl Graph {
    /// The graph of a JGF, with the property names of its targets beside.
    ///
    /// Containment edges make the tree, in their order; one that leads from a vertex to one above it by path (as in
    /// graphs with edges both ways) is passed over, and so are repeats. Vertices with no containment path and no
    /// containing vertex are only in other subsystems. Targets are the vertices of kind `node` and `storage_node`
    /// that have a rank and are not inside another target; where no vertex has a rank, all nodes are, numbered in
    /// depth-first order. Fluxion's `exclusive` and `status` say nothing about the graph; for the latter see
    /// [`Graph::down_in`].
    ///
    /// # Errors
    /// Any of [`GraphError`] that concerns vertices and edges.
    pub fn from_jgf(jgf: &Jgf) -> Result<(Graph, Properties), GraphError> {
        let mut loader = Loader::new();
        loader.builder.reserve(jgf.nodes.len())?;
        jgf.nodes.iter().try_for_each(|node| loader.add_node(node).map(|_| ()))?;
        jgf.edges.iter().for_each(|edge| loader.add_edge(edge));
        let Loaded { graph, properties, .. } = loader.finish()?;
        Ok((graph, properties))
    }

    /// The same from a text that is read piece by piece. Of the text only ids and paths are held, until the graph
    /// stands.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read_jgf(source: impl std::io::Read) -> Result<Loaded, ReadError> {
        let mut loader = Loader::new();
        Jgf::stream(source, &mut loader)?;
        Ok(loader.finish()?)
    }

    /// The targets that a JGF marks down, found by rank or else by path.
    pub fn down_in(&self, jgf: &Jgf) -> TargetSet {
        let of = |node: &JgfNode| {
            let by_rank = u32::try_from(node.rank).ok().and_then(|rank| self.target_by_rank(rank));
            by_rank.or_else(|| self.target_of(self.by_path(node.paths.get(CONTAINMENT)?)?))
        };
        let down = jgf.nodes.iter().filter(|node| node.status == JgfStatus::Down && is_target_kind(&node.kind));
        down.filter_map(of).collect()
    }
}

fn is_target_kind(kind: &str) -> bool {
    matches!(kind, "node" | "storage_node")
}

fn draft_of(builder: &mut Builder, node: &JgfNode) -> Draft {
    let kind = builder.names.kind(&node.kind);
    let basename = builder.names.symbol(&node.basename);
    let mut draft = Draft::new(kind, basename, node.num);
    draft.size = node.size;
    draft.record.unit = builder.names.symbol(&node.unit);
    builder.set_name(&mut draft.record, &node.name);
    if !node.properties.is_empty() {
        draft.record.properties = Some(Arc::new(node.properties.clone()));
    }
    draft
}

/// Edges whose ends from here on are positions in a list of ids.
const UNKNOWN: u32 = 1 << 31;

/// A graph as it is read.
struct Loader {
    builder: Builder,
    /// Drafts by id, where that is a number as numbers are written; and the others.
    by_number: FastMap<i64, u32>,
    by_word: FastMap<Box<str>, u32>,
    /// Edges, their ends as drafts, or as ids that were not known when they were met.
    edges: Vec<(u32, u32, SubsystemId)>,
    unknown: Vec<Box<str>>,
    /// Paths in containment.
    paths: Texts,
    numbers: Vec<i64>,
    ranks: Numbers,
    /// Drafts that only have paths in other subsystems.
    elsewhere: Vec<u32>,
    candidates: Vec<Candidate>,
    properties: Vec<(u32, String)>,
    down: Vec<u32>,
}

/// A vertex that may be a target.
struct Candidate {
    draft: u32,
    rank: Option<u32>,
    is_node: bool,
    host: Arc<str>,
}

/// A text or none for each of many vertices, one after the other.
#[derive(Default)]
struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: Option<&str>) {
        self.all.push_str(text.unwrap_or_default());
        self.ends.push(self.all.len());
    }

    /// None where there is none, or an empty one.
    fn get(&self, at: u32) -> Option<&str> {
        let start = (at as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.all[start..self.ends[at as usize]]).filter(|text| !text.is_empty())
    }
}

impl JgfSink for Loader {
    fn node(&mut self, node: JgfNode) -> Result<(), String> {
        match self.add_node(&node) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("expected unique ids, found node \"{}\" twice", node.id)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn edge(&mut self, edge: JgfEdge) -> Result<(), String> {
        self.add_edge(&edge);
        Ok(())
    }
}

impl Loader {
    fn new() -> Self {
        Self {
            builder: Builder::new(),
            by_number: FastMap::default(),
            by_word: FastMap::default(),
            edges: Vec::new(),
            unknown: Vec::new(),
            paths: Texts::default(),
            numbers: Vec::new(),
            ranks: Numbers::default(),
            elsewhere: Vec::new(),
            candidates: Vec::new(),
            properties: Vec::new(),
            down: Vec::new(),
        }
    }

    /// Whether the id is new.
    fn add_node(&mut self, node: &JgfNode) -> Result<bool, GraphError> {
        let draft = draft_of(&mut self.builder, node);
        let draft = self.builder.add_unlinked(draft)?;
        let before = match plain_number(&node.id) {
            Some(number) => self.by_number.insert(number, draft),
            None => self.by_word.insert(node.id.as_str().into(), draft),
        };
        self.numbers.push(node.uniq_id);
        self.ranks.push(node.rank);
        let path = node.paths.get(CONTAINMENT);
        self.paths.push(path.map(String::as_str));
        if path.is_none() && !node.paths.is_empty() {
            self.elsewhere.push(draft);
        }
        for (subsystem, path) in &node.paths {
            let subsystem = self.builder.names.subsystem(subsystem);
            if subsystem != SubsystemId::CONTAINMENT {
                self.builder.paths.push((draft, subsystem, path.as_str().into()));
            }
        }
        if is_target_kind(&node.kind) {
            let bad = || GraphError::BadRank { vertex: node.id.clone(), rank: node.rank };
            let rank = match node.rank {
                -1 => None,
                rank => Some(u32::try_from(rank).ok().filter(|&rank| rank <= MAX_ID).ok_or_else(bad)?),
            };
            self.candidates.push(Candidate {
                draft,
                rank,
                is_node: node.kind == "node",
                host: node.name.as_str().into(),
            });
            self.properties.extend(node.properties.keys().map(|name| (draft, name.clone())));
            if node.status == JgfStatus::Down {
                self.down.push(draft);
            }
        }
        Ok(before.is_none())
    }

    fn draft(&self, id: &str) -> Option<u32> {
        match plain_number(id) {
            Some(number) => self.by_number.get(&number).copied(),
            None => self.by_word.get(id).copied(),
        }
    }

    /// The id of a draft, for messages.
    fn id(&self, draft: u32) -> String {
        let number = self.by_number.iter().find(|(_, known)| **known == draft).map(|(number, _)| number.to_string());
        let word = || self.by_word.iter().find(|(_, known)| **known == draft).map(|(word, _)| word.to_string());
        number.or_else(word).unwrap_or_default()
    }

    fn add_edge(&mut self, edge: &JgfEdge) {
        let mut end = |id: &str| {
            self.draft(id).unwrap_or_else(|| {
                self.unknown.push(id.into());
                UNKNOWN + self.unknown.len() as u32 - 1
            })
        };
        let (source, target) = (end(&edge.source), end(&edge.target));
        let subsystem = self.builder.names.subsystem(&edge.subsystem);
        self.edges.push((source, target, subsystem));
    }

    fn finish(mut self) -> Result<Loaded, GraphError> {
        self.link()?;
        let Self { mut builder, paths, numbers, ranks, candidates, properties: named, down, .. } = self;
        builder.numbering = Numbering::Given(numbers);
        let Built { mut graph, places } = builder.finish_choosing(|graph, places| {
            keep_odd_paths(graph, &paths, places);
            Ok(choose_targets(graph, candidates, places))
        })?;
        graph.ranks = Ranks::of(&graph, places.iter().copied().zip(ranks.iter()));
        let target_at = |draft: u32| {
            let place = places[draft as usize];
            graph.target_of(place).filter(|&id| graph.target(id).is_some_and(|target| target.vertex == place))
        };
        let mut properties = Properties::new();
        for (draft, name) in &named {
            if let Some(target) = target_at(*draft) {
                properties.set(name, target);
            }
        }
        let down = down.into_iter().filter_map(|draft| graph.target_of(places[draft as usize])).collect();
        Ok(Loaded { graph, properties, down })
    }

    fn link(&mut self) -> Result<(), GraphError> {
        let above = |upper: &str, lower: &str| {
            lower.strip_prefix(upper).is_some_and(|rest| rest.starts_with('/') || upper == "/" && !rest.is_empty())
        };
        let total = self.builder.len();
        let mut linked = vec![false; total];
        let mut links = Vec::with_capacity(total);
        let edges = std::mem::take(&mut self.edges);
        for (position, &(source, target, subsystem)) in edges.iter().enumerate() {
            let end = |end: u32| match end.checked_sub(UNKNOWN) {
                None => Ok(end),
                Some(at) => {
                    let id = &self.unknown[at as usize];
                    self.draft(id).ok_or_else(|| GraphError::UnknownVertex { edge: position, id: id.to_string() })
                }
            };
            let (source, target) = (end(source)?, end(target)?);
            if subsystem != SubsystemId::CONTAINMENT {
                self.builder.edges.push((source, target, subsystem));
                continue;
            }
            if self.paths.get(source).zip(self.paths.get(target)).is_some_and(|(from, to)| above(to, from)) {
                continue;
            }
            let parent = self.builder.parents[target as usize];
            if parent == NONE {
                self.builder.parents[target as usize] = source;
                linked[target as usize] = true;
                links.push(target);
            } else if parent != source {
                let (vertex, first, second) = (self.id(target), self.id(parent), self.id(source));
                return Err(GraphError::TwoParents { vertex, first, second });
            }
        }
        let mut elsewhere = self.elsewhere.iter().peekable();
        for draft in 0..total as u32 {
            let is_elsewhere = elsewhere.next_if(|&&next| next == draft).is_some();
            match (linked[draft as usize], is_elsewhere) {
                (true, _) => {}
                (false, false) => self.builder.link(draft, None),
                (false, true) => self.builder.leave_loose(draft),
            }
        }
        for draft in links {
            let parent = self.builder.parents[draft as usize];
            self.builder.link(draft, Some(parent));
        }
        Ok(())
    }
}

/// The number that an id is, if it is written as numbers are.
fn plain_number(id: &str) -> Option<i64> {
    let digits = id.strip_prefix('-').unwrap_or(id);
    let plain = digits == "0" && digits.len() == id.len() || !digits.starts_with(['0', '+']);
    id.parse().ok().filter(|_| plain)
}

/// The vertices that are targets; see [`Graph::from_jgf`].
fn choose_targets(graph: &Graph, mut candidates: Vec<Candidate>, places: &[VertexId]) -> Vec<DraftTarget> {
    candidates.sort_by_key(|candidate| places[candidate.draft as usize]);
    let ranked = candidates.iter().any(|candidate| candidate.rank.is_some());
    let mut chosen: Vec<DraftTarget> = Vec::new();
    let mut end = 0;
    for Candidate { draft, rank, is_node, host } in candidates {
        let place = places[draft as usize];
        let inside = place.0 < end;
        let rank = match rank {
            Some(rank) if !(inside && chosen.last().is_some_and(|outer| outer.rank == rank)) => rank,
            None if !ranked && !inside && is_node => chosen.len() as u32,
            _ => continue,
        };
        end = end.max(graph.subtree(place).end);
        chosen.push(DraftTarget { draft, rank, host, id: None });
    }
    chosen
}

/// Keeps the paths in containment that names joined with slashes would not give.
fn keep_odd_paths(graph: &mut Graph, paths: &Texts, places: &[VertexId]) {
    let mut in_order: Vec<(VertexId, u32)> = places.iter().copied().zip(0..).collect();
    in_order.sort_unstable();
    for at in 0..in_order.len() {
        let (place, draft) = in_order[at];
        let Some(path) = paths.get(draft) else { continue };
        // What is above has its path already, as the input says it or as names tell.
        let above = graph.parent(place).map(|above| paths.get(in_order[above.index()].1).ok_or(above));
        let name = graph.vertex(place).name();
        let rest = path.strip_suffix(&*name).and_then(|rest| rest.strip_suffix('/'));
        let plain = match above {
            None => rest == Some(""),
            Some(Ok(above)) => rest == Some(above),
            Some(Err(above)) => rest.is_some_and(|rest| rest == graph.path(above)),
        };
        if !plain {
            graph.paths.insert((place, SubsystemId::CONTAINMENT), path.into());
        }
    }
}
