//! What happens to targets: they answer or not, are drained, join the inventory and leave it.
//!
//! Decides when a target may take work: it answers and is not drained. Whose it is, is decided by the coordinator.

use super::calendar::PlannedDrain;
use super::error::EventError;
use super::event::Effect;
use super::state::{Site, size_of};
use crate::base::{TargetSet, Timestamp};
use crate::formats::r::R;
use crate::graph::{Graph, Properties};
use crate::scheduler::Input;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A target that takes no new work by order. It is *draining* while something holds it, then *drained*.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Drained {
    /// Since when.
    pub since: Timestamp,
    /// Why.
    pub reason: String,
}

impl Site {
    /// Whether all targets are in the inventory.
    fn check_targets(&self, targets: &TargetSet) -> Result<(), EventError> {
        let known = self.coordinator.inventory();
        if targets.is_subset(known) {
            return Ok(());
        }
        Err(EventError::UnknownTargets { unknown: targets - known, known: known.clone() })
    }

    pub(super) fn set_answering(&mut self, targets: &TargetSet, answering: bool) -> Result<(), EventError> {
        self.check_targets(targets)?;
        if answering {
            self.answering |= targets;
        } else {
            self.answering -= targets;
        }
        self.set_usable(targets);
        Ok(())
    }

    /// Tells the coordinator which of the targets may take work.
    fn set_usable(&mut self, targets: &TargetSet) {
        let drained: TargetSet = targets.iter().filter(|t| self.drained.contains_key(t)).collect();
        let usable = &(targets & &self.answering) - &drained;
        let online = self.coordinator.online();
        let (gained, lost) = (&usable - online, &(targets - &usable) & online);
        for (changed, online) in [(gained, true), (lost, false)] {
            if !changed.is_empty() {
                self.coordinator.set_online(&changed, online);
                self.unsettled = true;
            }
        }
    }

    pub(super) fn drain(
        &mut self,
        now: Timestamp,
        targets: &TargetSet,
        reason: &str,
        at: Option<Timestamp>,
    ) -> Result<(), EventError> {
        self.check_targets(targets)?;
        match at.filter(|at| *at > now) {
            Some(at) => {
                self.planned_drains.push(PlannedDrain { at, targets: targets.clone(), reason: reason.to_owned() });
                self.windows_stale = true;
                self.unsettled = true;
            }
            None => self.drain_now(now, targets, reason),
        }
        Ok(())
    }

    pub(super) fn drain_now(&mut self, since: Timestamp, targets: &TargetSet, reason: &str) {
        for target in targets.iter() {
            let drained = self.drained.entry(target).or_insert(Drained { since, reason: String::new() });
            reason.clone_into(&mut drained.reason);
        }
        self.set_usable(targets);
    }

    pub(super) fn undrain(&mut self, targets: &TargetSet) -> Result<(), EventError> {
        self.check_targets(targets)?;
        targets.iter().for_each(|t| drop(self.drained.remove(&t)));
        self.withdraw_drains(targets);
        self.set_usable(targets);
        Ok(())
    }

    /// Planned drains of these targets are not to happen.
    fn withdraw_drains(&mut self, targets: &TargetSet) {
        if self.planned_drains.iter().all(|d| d.targets.is_disjoint(targets)) {
            return;
        }
        self.planned_drains.iter_mut().for_each(|d| d.targets -= targets);
        self.planned_drains.retain(|d| !d.targets.is_empty());
        self.windows_stale = true;
        self.unsettled = true;
    }

    pub(super) fn add_targets(
        &mut self,
        now: Timestamp,
        addition: &R,
        online: bool,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let refused = |error: &dyn std::fmt::Display| EventError::BadAddition(error.to_string());
        let (added, added_properties) = Graph::from_r(addition).map_err(|e| refused(&e))?;
        let crate::graph::Extended { graph, added: places, .. } = self.graph.extend(&added).map_err(|e| refused(&e))?;
        let joined = graph.targets() - self.graph.targets();
        if joined.is_empty() {
            return Err(refused(&"every host in it is in the inventory already, expected at least one that is not"));
        }
        let mut properties = Properties::clone(&self.properties);
        for target in added.targets_in_order().iter().filter_map(|id| added.target(*id)) {
            let here = places.get(target.vertex).and_then(|v| graph.target_of(v));
            if let Some(here) = here.filter(|t| joined.contains(*t)) {
                added_properties.of(target.id).for_each(|name| {
                    properties.set(name, here);
                });
            }
        }
        graph.targets().iter().for_each(|t| self.ledger.add(t, size_of(&graph, t)));
        self.coordinator.add_targets(&joined);
        if online {
            self.answering |= &joined;
        }
        self.set_usable(&joined);
        self.new_graph(now, graph, properties, effects);
        effects.push(Effect::Inventory { targets: joined, joined: true });
        Ok(())
    }

    pub(super) fn remove_targets(&mut self, targets: &TargetSet) -> Result<(), EventError> {
        self.check_targets(targets)?;
        self.coordinator.remove_targets(targets);
        self.unsettled = true;
        Ok(())
    }

    /// The coordinator has let targets go: nobody holds or owns them.
    pub(super) fn targets_gone(&mut self, now: Timestamp, targets: &TargetSet, effects: &mut Vec<Effect>) {
        self.answering -= targets;
        targets.iter().for_each(|t| drop(self.drained.remove(&t)));
        self.withdraw_drains(targets);
        let (graph, _) = self.graph.without(targets);
        let mut properties = Properties::clone(&self.properties);
        properties.remove_targets(targets);
        for index in 0..self.queues.len() {
            let id = self.queues[index].id;
            self.tell(now, id, Input::Shrink { targets: targets.clone() }, effects);
        }
        self.new_graph(now, graph, properties, effects);
        effects.push(Effect::Inventory { targets: targets.clone(), joined: false });
    }

    /// All schedulers go on with another version of the graph; queues may cover other targets.
    fn new_graph(&mut self, now: Timestamp, graph: Graph, properties: Properties, effects: &mut Vec<Effect>) {
        self.graph = Arc::new(graph);
        self.properties = Arc::new(properties);
        self.unsettled = true;
        for index in 0..self.queues.len() {
            let id = self.queues[index].id;
            self.tell(now, id, Input::Graph(self.graph.clone()), effects);
            self.tell(now, id, Input::Properties(self.properties.clone()), effects);
            self.renew_members(now, id, effects);
            self.other_sizes(now, id, effects);
        }
        self.renew_pools(now, effects);
    }
}
