//! From nodes to what a walk would choose and grant.

use super::Fast;
use crate::base::VertexId;
use crate::graph::{Graph, SubsystemId};
use crate::matcher::tree::outcome::{Grant, Granted};
use crate::matcher::tree::select::{Choice, Mark};
use crate::planner::nodes::{Cores, Nodes};
use smallvec::SmallVec;

impl Fast {
    /// The vertices of some cores of a node, ascending.
    fn cores(&self, graph: &Graph, node: u32, cores: &Cores) -> SmallVec<[VertexId; 8]> {
        let target = graph.target_of(self.nodes[node as usize]).and_then(|id| graph.target(id));
        let all = target.map_or(&[][..], |target| graph.core_vertices(target));
        let order = &self.orders[self.order_of[node as usize] as usize];
        let places = cores.iter().filter_map(|core| order.get(core));
        let mut cores: SmallVec<[VertexId; 8]> = places.filter_map(|&at| all.get(usize::from(at)).copied()).collect();
        cores.sort_unstable();
        cores
    }

    /// What a job has on the nodes of a choice, in the order in which a walk leaves it.
    pub(super) fn grant(&self, graph: &Graph, nodes: &Nodes) -> Grant {
        let vertex = |node: u32| self.nodes[node as usize];
        let mut order: SmallVec<[(VertexId, u32, Option<u32>); 4]> = SmallVec::with_capacity(nodes.len());
        order.extend(nodes.whole().iter().map(|&node| (vertex(node), node, None)));
        order.extend(nodes.parts().iter().zip(0..).map(|(&(node, _), at)| (vertex(node), node, Some(at))));
        order.sort_unstable();
        let mut grant = Grant { vertices: Vec::with_capacity(nodes.len() + 4) };
        let mut open: SmallVec<[VertexId; 8]> = SmallVec::new();
        for (v, node, part) in order {
            let (home, has_parts) = self.homes[node as usize];
            while let Some(&top) = open.last()
                && top != home
                && !graph.is_in(v, top)
            {
                open.pop();
                grant.vertices.push(container(graph, top, open.len() as u32 + 1));
            }
            let known = open.len();
            let stop = open.last().copied();
            let mut above = Some(home);
            while above != stop
                && let Some(next) = above
            {
                open.push(next);
                above = graph.parent(next);
            }
            open[known..].reverse();
            let level = open.len() as u32 + 1;
            if let Some((node, cores)) = part.map(|at| nodes.parts()[at as usize]) {
                let of = |core| Granted { exclusive: true, ..plain(core, v, level + 1) };
                grant.vertices.extend(self.cores(graph, node, &cores).into_iter().map(of));
            }
            let whole = part.is_none();
            grant.vertices.push(Granted { exclusive: whole, whole: whole && has_parts, ..plain(v, home, level) });
        }
        while let Some(top) = open.pop() {
            grant.vertices.push(container(graph, top, open.len() as u32 + 1));
        }
        grant
    }

    /// The same as a walk would choose it.
    pub(super) fn choice(&self, graph: &Graph, nodes: &Nodes) -> Choice {
        let mut choice = Choice { root_needs: 1, root_exclusive: false, ..Choice::default() };
        for taken in nodes.iter() {
            let v = self.nodes[taken.node as usize];
            for core in taken.cores.iter().flat_map(|cores| self.cores(graph, taken.node, cores)) {
                choice.marks.insert(core, Mark { from: v, needs: 1, exclusive: true });
            }
            let mut below = v;
            for above in graph.ancestors(v) {
                let mark = Mark { from: above, needs: graph.size(below), exclusive: false };
                if choice.marks.insert(below, mark).is_some() {
                    break;
                }
                below = above;
            }
        }
        choice
    }
}

/// One of a vertex of size 1, shared.
fn plain(vertex: VertexId, parent: VertexId, level: u32) -> Granted {
    Granted {
        vertex,
        needs: 1,
        exclusive: false,
        exclusive_parent: false,
        whole: false,
        level,
        edge: Some((parent, SubsystemId::CONTAINMENT)),
        label: None,
        counts: Vec::new(),
    }
}

/// A vertex around nodes.
fn container(graph: &Graph, vertex: VertexId, level: u32) -> Granted {
    let edge = graph.parent(vertex).map(|parent| (parent, SubsystemId::CONTAINMENT));
    Granted { needs: graph.size(vertex), edge, ..plain(vertex, vertex, level) }
}
