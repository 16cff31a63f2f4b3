//! A part of a graph as a graph of its own: what a job holds, for the instance that it runs.
//!
//! Whole targets come with all that is in them; of a target that is held in part come the cores and gpus held and what
//! contains them. What contains the targets comes along, what else is in it does not. Of what is outside of targets comes
//! so much as is held: such a vertex has the amount as its size. Names, ids, ranks, hosts, paths, pairs and the edges of
//! other subsystems stay; targets are numbered anew from 0, in depth-first order, so that what is kept by target is as
//! small as the part. Costs what the part costs, and a step for each edge of other subsystems.

use super::build::{Builder, Draft, DraftTarget, Numbering, Record};
use super::ranks::Ranks;
use super::store::{Graph, NONE};
use super::{GraphError, Ids, KindId, Properties, Share};
use crate::base::{FastMap, VertexId};
use crate::formats::idset::Idset;
use std::collections::BTreeMap;

impl Graph {
    /// The graph of some shares and amounts of vertices outside of targets, with its properties.
    ///
    /// # Errors
    /// [`GraphError::UnknownTarget`], [`GraphError::UnknownIds`].
    pub fn extract(
        &self,
        shares: &[Share],
        amounts: &[(VertexId, u64)],
        properties: &Properties,
    ) -> Result<(Graph, Properties), GraphError> {
        let mut kept: BTreeMap<VertexId, Option<u64>> = BTreeMap::new();
        for share in shares {
            self.keep(share, &mut kept)?;
        }
        for &(v, amount) in amounts {
            kept.insert(v, Some(amount));
            self.keep_above(v, &mut kept);
        }
        let mut builder = Builder::with_names(self.names.clone());
        builder.reserve(kept.len())?;
        let mut drafts: FastMap<VertexId, u32> = FastMap::default();
        let mut numbers = Vec::with_capacity(kept.len());
        for (&v, amount) in &kept {
            let look = self.look(v);
            let record = Record {
                id: self.id_at.get(v.index()),
                basename: look.basename,
                name: self.named.get(v).copied().unwrap_or(super::names::Symbol::EMPTY),
                unit: look.unit,
                properties: self.pairs.get(v).cloned(),
            };
            let size = amount.unwrap_or(look.size);
            let draft = builder.add_unlinked(Draft { kind: look.kind, size, record })?;
            if self.is_contained(v) {
                let parent = self.parent(v).and_then(|parent| drafts.get(&parent).copied());
                builder.link(draft, parent);
            } else {
                builder.leave_loose(draft);
            }
            drafts.insert(v, draft);
            numbers.push(self.uniq_id(v));
            if !self.paths.is_empty() {
                let given = self.subsystems().filter_map(|s| Some((s, self.paths.get(&(v, s))?.clone())));
                builder.paths.extend(given.map(|(subsystem, path)| (draft, subsystem, path)));
            }
        }
        builder.numbering = Numbering::Given(numbers);
        for (from, to, subsystem) in self.edges_beside_tree() {
            if let (Some(&from), Some(&to)) = (drafts.get(&from), drafts.get(&to)) {
                builder.edges.push((from, to, subsystem));
            }
        }
        for share in shares {
            let target = self.target(share.target).ok_or(GraphError::UnknownTarget(share.target))?;
            let draft = drafts.get(&target.vertex).copied().unwrap_or(NONE);
            builder.targets.push(DraftTarget { draft, rank: target.rank, host: target.host.clone(), id: None });
        }
        let built = builder.finish()?;
        let mut graph = built.graph;
        let ranks = kept.keys().zip(&built.places).map(|(v, place)| (*place, self.given_rank(*v)));
        graph.ranks = Ranks::of(&graph, ranks);
        let mut own = Properties::new();
        for (name, targets) in properties.iter() {
            let ranks = shares.iter().filter(|s| targets.contains(s.target)).filter_map(|s| self.target(s.target));
            own.set_all(name, &ranks.filter_map(|target| graph.target_by_rank(target.rank)).collect());
        }
        Ok((graph, own))
    }

    fn keep_above(&self, v: VertexId, kept: &mut BTreeMap<VertexId, Option<u64>>) {
        for above in self.ancestors(v) {
            if kept.contains_key(&above) {
                break;
            }
            kept.insert(above, None);
        }
    }

    fn keep(&self, share: &Share, kept: &mut BTreeMap<VertexId, Option<u64>>) -> Result<(), GraphError> {
        let target = self.target(share.target).ok_or(GraphError::UnknownTarget(share.target))?;
        kept.insert(target.vertex, None);
        self.keep_above(target.vertex, kept);
        if share.cores == Ids::All && share.gpus == Ids::All {
            kept.extend(self.subtree(target.vertex).map(|v| (VertexId(v), None)));
            return Ok(());
        }
        let parts = [
            ("core", KindId::CORE, &target.core_ids, target.core_range.clone(), &share.cores),
            ("gpu", KindId::GPU, &target.gpu_ids, target.gpu_range.clone(), &share.gpus),
        ];
        for (kind, id, ids, range, held) in parts {
            let vertices = &self.of_kind(id)[range.start as usize..range.end as usize];
            let holds = |id: u32| match held {
                Ids::None => false,
                Ids::All => true,
                Ids::Some(some) => some.contains(id),
            };
            if let Ids::Some(asked) = held {
                let has: Idset = ids.iter().copied().collect();
                if !asked.is_subset(&has) {
                    let (has, asked) = (has.to_string(), asked.to_string());
                    return Err(GraphError::UnknownIds { target: target.id, kind, has, asked });
                }
            }
            for (v, _) in vertices.iter().zip(ids.iter()).filter(|(_, id)| holds(**id)) {
                kept.insert(*v, None);
                self.keep_above(*v, kept);
            }
        }
        Ok(())
    }
}
