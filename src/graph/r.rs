//! From R (RFC 20) to a graph, and from an allocation to R.

use super::build::{Builder, Draft, DraftTarget};
use super::hwloc::node;
use super::names::KindId;
use super::store::Graph;
use super::target::Target;
use super::{GraphError, Properties};
use crate::base::{TargetId, TargetSet};
use crate::formats::idset::{Idset, MAX_ID};
use crate::formats::r::{R, RankEntry};
use std::collections::BTreeMap;

/// Which logical ids of a target.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Ids {
    /// None of them.
    #[default]
    None,
    /// All that the target has.
    All,
    /// These.
    Some(Idset),
}

/// A part of a target that something holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Share {
    /// The target.
    pub target: TargetId,
    /// Its cores.
    pub cores: Ids,
    /// Its GPUs.
    pub gpus: Ids,
}

impl Share {
    /// The whole target.
    pub fn whole(target: TargetId) -> Self {
        Self { target, cores: Ids::All, gpus: Ids::All }
    }
}

impl Graph {
    /// `cluster0` with a node for each rank, called after its host, with cores and GPUs below; the properties of R
    /// beside. `scheduling` is not looked at: read it with [`crate::formats::jgf::Jgf`] where it holds a graph.
    ///
    /// # Errors
    /// [`GraphError::TooManyVertices`], [`GraphError::DuplicateRank`].
    pub fn from_r(r: &R) -> Result<(Graph, Properties), GraphError> {
        let mut builder = Builder::new();
        let vertices = r.ranks.iter().map(|entry| entry.cores.len().saturating_add(entry.gpus.len()).saturating_add(1));
        builder.reserve(vertices.fold(1, usize::saturating_add))?;
        let [cluster, core, gpu] = ["cluster", "core", "gpu"].map(|word| builder.names.symbol(word));
        let root = builder.add(Draft::new(KindId::CLUSTER, cluster, 0), None)?;
        for RankEntry { rank, host, cores, gpus, .. } in &r.ranks {
            let draft = node(&mut builder, host.as_deref(), *rank);
            let draft = builder.add(draft, Some(root))?;
            for id in cores.iter() {
                builder.add(Draft::new(KindId::CORE, core, id.into()), Some(draft))?;
            }
            for id in gpus.iter() {
                builder.add(Draft::new(KindId::GPU, gpu, id.into()), Some(draft))?;
            }
            let host = host.as_deref().unwrap_or_default().into();
            builder.targets.push(DraftTarget { draft, rank: *rank, host, id: None });
        }
        let graph = builder.finish()?.graph;
        let mut properties = Properties::new();
        for (name, ranks) in &r.properties {
            properties.set_all(name, &ranks.iter().filter_map(|rank| graph.target_by_rank(rank)).collect());
        }
        Ok((graph, properties))
    }

    /// The R of an allocation, ascending by rank: hosts, logical ids, and the properties of its targets less those
    /// that are local to the instance (RFC 20, leading `+`). Shares of one target are added up. Times, slots and
    /// `scheduling` are left for the caller to fill in.
    ///
    /// # Errors
    /// [`GraphError::UnknownTarget`], [`GraphError::UnknownIds`].
    pub fn to_r(&self, shares: impl IntoIterator<Item = Share>, properties: &Properties) -> Result<R, GraphError> {
        let mut entries: BTreeMap<u32, RankEntry> = BTreeMap::new();
        let mut targets = TargetSet::new();
        for Share { target, cores, gpus } in shares {
            let known = self.target(target).ok_or(GraphError::UnknownTarget(target))?;
            let cores = chosen(known, "core", known.core_ids(), cores)?;
            let gpus = chosen(known, "gpu", known.gpu_ids(), gpus)?;
            let entry = entries.entry(known.rank).or_insert_with(|| RankEntry {
                rank: known.rank,
                host: (!known.host.is_empty()).then(|| known.host.to_string()),
                cores: Idset::new(),
                gpus: Idset::new(),
            });
            entry.cores = entry.cores.union(&cores);
            entry.gpus = entry.gpus.union(&gpus);
            targets.insert(target);
        }
        let named = properties.iter().filter(|(name, _)| !name.starts_with('+')).filter_map(|(name, has)| {
            let ranks = (has & &targets).iter().filter_map(|id| self.target(id)).map(|t| t.rank).collect::<Idset>();
            (!ranks.is_empty()).then(|| (name.to_owned(), ranks))
        });
        Ok(R { ranks: entries.into_values().collect(), properties: named.collect(), ..R::default() })
    }
}

fn chosen(target: &Target, kind: &'static str, has: &[u32], ids: Ids) -> Result<Idset, GraphError> {
    debug_assert!(has.iter().all(|&id| id <= MAX_ID));
    match ids {
        Ids::None => Ok(Idset::new()),
        Ids::All => Ok(has.iter().copied().collect()),
        Ids::Some(asked) => {
            let has: Idset = has.iter().copied().collect();
            if asked.is_subset(&has) {
                Ok(asked)
            } else {
                let (has, asked) = (has.to_string(), asked.to_string());
                Err(GraphError::UnknownIds { target: target.id, kind, has, asked })
            }
        }
    }
}
