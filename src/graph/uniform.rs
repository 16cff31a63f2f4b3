//! Graphs of equal nodes.

use super::GraphError;
use super::build::{Builder, Draft, DraftTarget};
use super::names::KindId;
use super::store::Graph;

impl Graph {
    /// `cluster0` with equal nodes `node0`, `node1`, …, each with so many cores and GPUs; ranks and target numbers
    /// follow the names.
    ///
    /// # Errors
    /// [`GraphError::TooManyVertices`].
    pub fn uniform(nodes: u32, cores_per_node: u32, gpus_per_node: u32) -> Result<Graph, GraphError> {
        let mut builder = Builder::new();
        let per_node = (1 + cores_per_node as usize).saturating_add(gpus_per_node as usize);
        builder.reserve((nodes as usize).saturating_mul(per_node).saturating_add(1))?;
        let names = &mut builder.names;
        let [cluster, node, core, gpu] = ["cluster", "node", "core", "gpu"].map(|word| names.symbol(word));
        let root = builder.add(Draft::new(KindId::CLUSTER, cluster, 0), None)?;
        for rank in 0..nodes {
            let draft = builder.add(Draft::new(KindId::NODE, node, rank.into()), Some(root))?;
            for id in 0..cores_per_node {
                builder.add(Draft::new(KindId::CORE, core, id.into()), Some(draft))?;
            }
            for id in 0..gpus_per_node {
                builder.add(Draft::new(KindId::GPU, gpu, id.into()), Some(draft))?;
            }
            builder.targets.push(DraftTarget { draft, rank, host: format!("node{rank}").into(), id: None });
        }
        Ok(builder.finish()?.graph)
    }
}
