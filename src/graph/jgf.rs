//! From JGF to a graph.

use super::build::{Builder, Built, Draft, DraftTarget, Numbering};
use super::names::SubsystemId;
use super::ranks::Ranks;
use super::store::{Graph, NONE};
use super::{GraphError, Properties};
use crate::base::{FastMap, TargetSet, VertexId};
use crate::formats::idset::MAX_ID;
use crate::formats::jgf::{CONTAINMENT, Jgf, JgfNode, JgfStatus};
use std::sync::Arc;

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
        let mut builder = Builder::new();
        builder.reserve(jgf.nodes.len())?;
        let mut by_id: FastMap<&str, u32> = FastMap::default();
        for node in &jgf.nodes {
            let draft = draft_of(&mut builder, node);
            by_id.insert(&node.id, builder.add_unlinked(draft)?);
        }
        builder.numbering = Numbering::Given(jgf.nodes.iter().map(|node| node.uniq_id).collect());
        link(&mut builder, jgf, &by_id)?;
        let Built { mut graph, places } = builder.finish_choosing(|graph, places| {
            keep_odd_paths(graph, jgf, places);
            choose_targets(graph, jgf, places)
        })?;
        graph.ranks = Ranks::of(&graph, places.iter().copied().zip(jgf.nodes.iter().map(|node| node.rank)));
        let mut properties = Properties::new();
        for (node, &place) in jgf.nodes.iter().zip(&places) {
            if let Some(target) = graph.target_of(place).and_then(|id| graph.target(id)).filter(|t| t.vertex == place) {
                for name in node.properties.keys() {
                    properties.set(name, target.id);
                }
            }
        }
        Ok((graph, properties))
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

fn link<'j>(builder: &mut Builder, jgf: &'j Jgf, by_id: &FastMap<&'j str, u32>) -> Result<(), GraphError> {
    let path = |draft: u32| jgf.nodes[draft as usize].paths.get(CONTAINMENT).map(String::as_str);
    let above = |upper: &str, lower: &str| {
        lower.strip_prefix(upper).is_some_and(|rest| rest.starts_with('/') || upper == "/" && !rest.is_empty())
    };
    let mut linked = vec![false; jgf.nodes.len()];
    let mut links = Vec::with_capacity(jgf.nodes.len());
    for (position, edge) in jgf.edges.iter().enumerate() {
        let end = |id: &str| {
            by_id.get(id).copied().ok_or_else(|| GraphError::UnknownVertex { edge: position, id: id.to_owned() })
        };
        let (source, target) = (end(&edge.source)?, end(&edge.target)?);
        if edge.subsystem != CONTAINMENT {
            let subsystem = builder.names.subsystem(&edge.subsystem);
            builder.edges.push((source, target, subsystem));
            continue;
        }
        if path(source).zip(path(target)).is_some_and(|(from, to)| above(to, from)) {
            continue;
        }
        let parent = builder.parents[target as usize];
        if parent == NONE {
            builder.parents[target as usize] = source;
            linked[target as usize] = true;
            links.push(target);
        } else if parent != source {
            let id = |draft: u32| jgf.nodes[draft as usize].id.clone();
            return Err(GraphError::TwoParents { vertex: id(target), first: id(parent), second: id(source) });
        }
    }
    for (draft, node) in jgf.nodes.iter().enumerate().filter(|(draft, _)| !linked[*draft]) {
        let draft = draft as u32;
        if node.paths.contains_key(CONTAINMENT) || node.paths.is_empty() {
            builder.link(draft, None);
        } else {
            builder.leave_loose(draft);
        }
    }
    for draft in links {
        let parent = builder.parents[draft as usize];
        builder.link(draft, Some(parent));
    }
    Ok(())
}

/// The vertices that are targets; see [`Graph::from_jgf`].
fn choose_targets(graph: &Graph, jgf: &Jgf, places: &[VertexId]) -> Result<Vec<DraftTarget>, GraphError> {
    let mut candidates = Vec::new();
    for (draft, node) in jgf.nodes.iter().enumerate().filter(|(_, node)| is_target_kind(&node.kind)) {
        let rank = match node.rank {
            -1 => None,
            rank => {
                let bad = || GraphError::BadRank { vertex: node.id.clone(), rank };
                Some(u32::try_from(rank).ok().filter(|&rank| rank <= MAX_ID).ok_or_else(bad)?)
            }
        };
        candidates.push((places[draft], draft, rank));
    }
    candidates.sort_unstable();
    let ranked = candidates.iter().any(|(.., rank)| rank.is_some());
    let mut chosen: Vec<DraftTarget> = Vec::new();
    let mut end = 0;
    for (place, draft, rank) in candidates {
        let node = &jgf.nodes[draft];
        let inside = place.0 < end;
        let rank = match rank {
            Some(rank) if !(inside && chosen.last().is_some_and(|outer| outer.rank == rank)) => rank,
            None if !ranked && !inside && node.kind == "node" => chosen.len() as u32,
            _ => continue,
        };
        end = end.max(graph.subtree(place).end);
        chosen.push(DraftTarget { draft: draft as u32, rank, host: node.name.as_str().into(), id: None });
    }
    Ok(chosen)
}

/// Keeps the paths of other subsystems, and those that names joined with slashes would not give.
fn keep_odd_paths(graph: &mut Graph, jgf: &Jgf, places: &[VertexId]) {
    let mut in_order: Vec<_> = places.iter().zip(&jgf.nodes).collect();
    in_order.sort_unstable_by_key(|(place, _)| **place);
    for (&place, node) in in_order {
        for (subsystem, path) in &node.paths {
            let subsystem = SubsystemId(graph.names.subsystems.intern(subsystem));
            if subsystem != SubsystemId::CONTAINMENT || graph.path(place) != *path {
                graph.paths.insert((place, subsystem), path.as_str().into());
            }
        }
    }
}
