//! From hwloc topologies to a graph.

use super::build::{Builder, Draft, DraftTarget};
use super::names::{KindId, Symbol};
use super::ranks::Ranks;
use super::store::Graph;
use super::{GraphError, Properties};
use crate::formats::hwloc::{AllowList, Hwloc, Part, PartKind};
use crate::formats::jgf::trailing_number;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Graph {
    /// `cluster0` with a node for each rank, called after its host, and in it what the topology says and the list
    /// allows. Where the list does not allow nodes, what is in them is in the cluster, and there is no target.
    /// Topologies give no properties of targets; storage has `LinuxDeviceID` ([`super::Vertex::properties`]).
    ///
    /// # Errors
    /// [`GraphError::NoSize`], [`GraphError::TooManyVertices`], [`GraphError::DuplicateRank`].
    pub fn from_hwloc<'t>(
        nodes: impl IntoIterator<Item = (u32, &'t Hwloc)>,
        allowed: &AllowList,
    ) -> Result<(Graph, Properties), GraphError> {
        let mut builder = Builder::new();
        let cluster = builder.names.symbol("cluster");
        let root = builder.add(Draft::new(KindId::CLUSTER, cluster, 0), None)?;
        for (rank, topology) in nodes {
            let host = topology.host.as_deref();
            let mut top = root;
            if allowed.allows("node") {
                let draft = node(&mut builder, host, rank);
                top = builder.add(draft, Some(root))?;
                let host = host.unwrap_or_default().into();
                builder.targets.push(DraftTarget { draft: top, rank, host, id: None });
            }
            let mut open: Vec<(&Part, u32)> = topology.parts.iter().rev().map(|part| (part, top)).collect();
            while let Some((part, above)) = open.pop() {
                let mut below = above;
                if allowed.allows(part.kind.word()) {
                    let no_size = || GraphError::NoSize { host: host.unwrap_or_default().to_owned(), id: part.id };
                    let size = part.size.ok_or_else(no_size)?;
                    let draft = draft_of(&mut builder, part, size);
                    below = builder.add(draft, Some(above))?;
                }
                open.extend(part.parts.iter().rev().map(|part| (part, below)));
            }
        }
        let mut graph = builder.finish()?.graph;
        graph.ranks = Ranks::Targets;
        Ok((graph, Properties::new()))
    }
}

/// A node by its host: the basename is the host without the number at its end, the id that number, or -1. Without a
/// host it is `node` with the rank.
pub(super) fn node(builder: &mut Builder, host: Option<&str>, rank: u32) -> Draft {
    let Some(host) = host else {
        let word = builder.names.symbol("node");
        return Draft::new(KindId::NODE, word, rank.into());
    };
    let digits = host.trim_end_matches(|c: char| c.is_ascii_digit());
    let id = trailing_number(host);
    let basename = builder.names.symbol(if id.is_none() || digits.is_empty() { host } else { digits });
    let mut draft = Draft::new(KindId::NODE, basename, id.unwrap_or(-1));
    builder.set_name(&mut draft.record, host);
    draft
}

fn draft_of(builder: &mut Builder, part: &Part, size: u64) -> Draft {
    let kind = builder.names.kind(part.kind.kind());
    let basename: Symbol = builder.names.symbol(part.kind.word());
    let mut draft = Draft::new(kind, basename, part.id);
    draft.size = size;
    if let (PartKind::Storage, Some(device)) = (part.kind, &part.device) {
        let properties = BTreeMap::from([("LinuxDeviceID".to_owned(), device.clone())]);
        draft.record.properties = Some(Arc::new(properties));
    }
    draft
}
