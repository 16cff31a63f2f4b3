//! That an instance grants only what its job holds.
//!
//! Compares by rank and logical ids, as R names them: what the instance calls its targets and how it numbers cores is
//! its own affair, and so is how its graph was made.

use crate::base::FastMap;
use crate::formats::idset::Idset;
use crate::graph::{Graph, Ids, Share, Target};
use crate::matcher::{Extent, Selection, Units};

/// The shares of a selection, with logical ids.
pub(crate) fn shares(graph: &Graph, selection: &Selection) -> Vec<Share> {
    let share = |share: &crate::matcher::Share| match &share.extent {
        Extent::Whole => Share::whole(share.target),
        Extent::Part(part) => {
            let target = graph.target(share.target);
            let ids = |of: fn(&Target) -> &[u32], units: &Units| {
                let all = target.map_or(&[][..], of);
                Ids::Some(units.iter().filter_map(|at| all.get(at as usize).copied()).collect())
            };
            let (cores, gpus) = (ids(Target::core_ids, &part.cores), ids(Target::gpu_ids, &part.gpus));
            Share { target: share.target, cores, gpus }
        }
    };
    selection.shares.iter().map(share).collect()
}

/// What a job holds, by rank.
#[derive(Debug, Default)]
pub(crate) struct Holding(FastMap<u32, (Idset, Idset)>);

impl Holding {
    pub fn new(graph: &Graph, selection: &Selection) -> Self {
        Self(ids(graph, selection).collect())
    }

    /// What of a selection of an instance is not held by its job.
    pub fn exceeded(&self, graph: &Graph, selection: &Selection) -> Option<String> {
        ids(graph, selection).find_map(|(rank, (cores, gpus))| {
            let Some((has_cores, has_gpus)) = self.0.get(&rank) else {
                return Some(format!("rank {rank}, of which its job holds nothing"));
            };
            if cores.is_subset(has_cores) && gpus.is_subset(has_gpus) {
                return None;
            }
            Some(format!(
                "cores {cores} and gpus {gpus} of rank {rank}, of which its job holds {has_cores} and {has_gpus}"
            ))
        })
    }
}

fn ids(graph: &Graph, selection: &Selection) -> impl Iterator<Item = (u32, (Idset, Idset))> {
    let chosen = |has: &[u32], ids: &Ids| match ids {
        Ids::None => Idset::new(),
        Ids::All => has.iter().copied().collect(),
        Ids::Some(some) => some.clone(),
    };
    shares(graph, selection).into_iter().filter_map(move |share| {
        let target = graph.target(share.target)?;
        let (cores, gpus) = (chosen(target.core_ids(), &share.cores), chosen(target.gpu_ids(), &share.gpus));
        Some((target.rank, (cores, gpus)))
    })
}
