//! Constraints (RFC 31) to sets of targets, by bitmap operations.

use super::{Graph, Properties};
use crate::base::TargetSet;
use crate::formats::constraint::{Constraint, MAX_DEPTH, PropertyTerm};
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;

/// Why a constraint has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResolveError {
    /// Nested too deeply; a constraint that was read from text never is.
    #[error("expected a constraint nested at most {MAX_DEPTH} deep, found a deeper one")]
    TooDeep,
}

impl Graph {
    /// The targets of this version that satisfy a constraint.
    ///
    /// A host name counts as a property of the targets on it, as in flux-core. Hosts, ranks and properties that
    /// nothing has match nothing. Costs one bitmap operation per term, and one look-up per host or rank named.
    ///
    /// # Errors
    /// [`ResolveError::TooDeep`].
    pub fn resolve(&self, properties: &Properties, constraint: &Constraint) -> Result<TargetSet, ResolveError> {
        self.resolve_at(properties, constraint, 0)
    }

    fn resolve_at(
        &self,
        properties: &Properties,
        constraint: &Constraint,
        depth: usize,
    ) -> Result<TargetSet, ResolveError> {
        if depth > MAX_DEPTH {
            return Err(ResolveError::TooDeep);
        }
        let all_of = |members: &[Constraint]| {
            let mut found = self.targets().clone();
            for member in members {
                found &= &self.resolve_at(properties, member, depth + 1)?;
            }
            Ok(found)
        };
        Ok(match constraint {
            Constraint::All => self.targets().clone(),
            Constraint::Properties(terms) => self.with_properties(properties, terms),
            Constraint::Hostlist(hosts) => self.with_hosts(hosts),
            Constraint::Ranks(ranks) => self.with_ranks(ranks),
            Constraint::And(members) => all_of(members)?,
            Constraint::Or(members) if members.is_empty() => self.targets().clone(),
            Constraint::Or(members) => {
                let mut found = TargetSet::new();
                for member in members {
                    found |= &self.resolve_at(properties, member, depth + 1)?;
                }
                found
            }
            Constraint::Not(members) => self.targets() - &all_of(members)?,
        })
    }

    fn with_properties(&self, properties: &Properties, terms: &[PropertyTerm]) -> TargetSet {
        let mut found = self.targets().clone();
        for PropertyTerm { name, negated } in terms {
            let here: TargetSet = self.targets_by_host(name).iter().copied().collect();
            let named = properties.get(name);
            match (named, negated) {
                (Some(named), false) if here.is_empty() => found &= named,
                (Some(named), false) => found &= &(named | &here),
                (None, false) => found &= &here,
                (_, true) => {
                    found -= &here;
                    if let Some(named) = named {
                        found -= named;
                    }
                }
            }
        }
        found
    }

    /// Goes through the shorter side: a list may name millions of hosts.
    fn with_hosts(&self, hosts: &Hostlist) -> TargetSet {
        if hosts.len() <= self.targets().len() {
            hosts.iter().flat_map(|host| self.targets_by_host(&host).to_vec()).collect()
        } else {
            self.targets().iter().filter(|&id| self.target(id).is_some_and(|t| hosts.contains(&t.host))).collect()
        }
    }

    fn with_ranks(&self, ranks: &Idset) -> TargetSet {
        if ranks.len() <= self.targets().len() {
            ranks.iter().filter_map(|rank| self.target_by_rank(rank)).collect()
        } else {
            self.targets().iter().filter(|&id| self.target(id).is_some_and(|t| ranks.contains(t.rank))).collect()
        }
    }
}
