//! Which positions a constraint means, by words of bits: from the sets of nodes that have each property.

use super::{Fast, NOWHERE};
use crate::base::{FastMap, VertexId};
use crate::formats::constraint::{Constraint, PropertyTerm};
use crate::graph::Graph;
use crate::planner::nodes::Positions;

/// The nodes that have each property.
pub(super) type ByProperty = FastMap<Box<str>, Positions>;

impl Fast {
    /// A node has a property now, or no longer. Of other vertices nothing is kept.
    pub(in crate::matcher::tree) fn tell_property(&mut self, graph: &Graph, v: VertexId, name: &str, has: bool) {
        let Some(node) = self.position_of(graph, v) else { return };
        if has {
            self.set_property(node, name);
        } else if let Some(nodes) = self.by_property.get_mut(name) {
            nodes.remove(node);
        }
        self.kept = super::Kept::default();
    }

    pub(super) fn set_property(&mut self, node: u32, name: &str) {
        let bound = self.nodes.len();
        match self.by_property.get_mut(name) {
            Some(nodes) => nodes.insert(node),
            None => {
                let mut nodes = Positions::new(bound);
                nodes.insert(node);
                self.by_property.insert(name.into(), nodes);
            }
        }
    }

    fn position_of(&self, graph: &Graph, v: VertexId) -> Option<u32> {
        let target = graph.target_of(v).and_then(|id| graph.target(id)).filter(|target| target.vertex == v)?;
        self.position.get(target.id.index()).copied().filter(|&at| at != NOWHERE)
    }

    /// The nodes that satisfy a constraint, as [`Constraint::matches`] says it of each.
    pub(super) fn satisfying(&self, graph: &Graph, constraint: &Constraint) -> Positions {
        match constraint {
            Constraint::All => Positions::all(self.nodes.len()),
            Constraint::Properties(terms) => {
                let mut nodes = Positions::all(self.nodes.len());
                terms.iter().for_each(|term| nodes.keep(&self.having(graph, term)));
                nodes
            }
            Constraint::Hostlist(hosts) => {
                let mut nodes = Positions::new(self.nodes.len());
                hosts.iter().for_each(|host| self.add_named(graph, &host, &mut nodes));
                nodes
            }
            Constraint::Ranks(ranks) => {
                let has = |v: VertexId| ranks.contains(graph.vertex(v).rank().unwrap_or(u32::MAX));
                let mut nodes = Positions::new(self.nodes.len());
                self.nodes.iter().zip(0..).filter(|(v, _)| has(**v)).for_each(|(_, at)| nodes.insert(at));
                nodes
            }
            Constraint::And(members) => self.all_of(graph, members),
            Constraint::Or(members) if members.is_empty() => Positions::all(self.nodes.len()),
            Constraint::Or(members) => {
                let mut nodes = Positions::new(self.nodes.len());
                members.iter().for_each(|member| nodes.add_all(&self.satisfying(graph, member)));
                nodes
            }
            Constraint::Not(members) => self.all_of(graph, members).inverted(self.nodes.len()),
        }
    }

    fn all_of(&self, graph: &Graph, members: &[Constraint]) -> Positions {
        let mut nodes = Positions::all(self.nodes.len());
        members.iter().for_each(|member| nodes.keep(&self.satisfying(graph, member)));
        nodes
    }

    /// The nodes that have, or do not have, a property. The name of a node counts as one of its properties.
    fn having(&self, graph: &Graph, term: &PropertyTerm) -> Positions {
        let mut nodes = self.by_property.get(&*term.name).cloned().unwrap_or_else(|| Positions::new(self.nodes.len()));
        self.add_named(graph, &term.name, &mut nodes);
        if term.negated { nodes.inverted(self.nodes.len()) } else { nodes }
    }

    fn add_named(&self, graph: &Graph, name: &str, to: &mut Positions) {
        for &id in graph.targets_by_host(name) {
            let known = self.position.get(id.index()).copied().filter(|&at| at != NOWHERE);
            if let Some(at) = known {
                to.insert(at);
            }
        }
    }
}
