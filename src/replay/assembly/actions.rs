//! Actions of a scenario, as things to do at given times.

use super::{Assembly, AssemblyError};
use crate::base::{Priority, Timestamp};
use crate::config::{ResourceConfig, ResourceEntry};
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use crate::formats::r::R;
use crate::graph::Graph;
use crate::replay::engine::{Deed, Timed};
use crate::replay::scenario::{Action, ActionKind, Addition, Occurrence, PendingJobs, StartQueue};
use crate::site::{Event, GroupMode, PendingFate, StartMode, SwitchSpec};

impl Assembly {
    pub(super) fn actions(&mut self) -> Result<(), AssemblyError> {
        let mut translate = Translate { next_rank: self.next_rank(), line: 0 };
        for action in &self.scenario.actions {
            translate.line = action.line;
            for occurrence in action.occurrences() {
                let deed = translate.deed(action, &occurrence)?;
                let at = occurrence.told.unwrap_or(occurrence.at);
                self.timed.push(Timed { at, name: occurrence.name, deed });
            }
        }
        Ok(())
    }

    /// The rank after the last.
    fn next_rank(&self) -> u32 {
        self.graph.as_ref().map_or(0, |(graph, _)| rank_after(graph))
    }
}

/// What one action means on a machine.
pub(crate) fn deed_of(action: &Action, occurrence: &Occurrence, graph: &Graph) -> Result<Deed, AssemblyError> {
    let mut translate = Translate { next_rank: rank_after(graph), line: action.line };
    if occurrence.told.is_some() && !action.what.can_be_announced() {
        return Err(translate.problem("it takes effect at once and cannot be announced: leave out `at`"));
    }
    translate.deed(action, occurrence)
}

/// The rank after the last.
fn rank_after(graph: &Graph) -> u32 {
    let ranks = graph.targets_in_order().iter().filter_map(|t| graph.target(*t));
    ranks.map(|t| t.rank.saturating_add(1)).max().unwrap_or(0)
}

/// What is known while actions are translated, in the order of the file.
struct Translate {
    next_rank: u32,
    line: usize,
}

impl Translate {
    fn deed(&mut self, action: &Action, occurrence: &Occurrence) -> Result<Deed, AssemblyError> {
        Ok(match self.plain(action, occurrence)? {
            Deed::Tell(event) if action.preempt => Deed::Tell(Box::new(Event::Preempting(event))),
            deed => deed,
        })
    }

    fn plain(&mut self, action: &Action, occurrence: &Occurrence) -> Result<Deed, AssemblyError> {
        let at = occurrence.at;
        let planned = occurrence.told.map(|_| at);
        let tell = |event| Ok(Deed::Tell(Box::new(event)));
        // A switch now, or announced.
        let switch = |switch: SwitchSpec| match planned {
            Some(at) => tell(Event::Planned { at, name: occurrence.name.clone(), switch }),
            None => tell(Event::Switch(switch)),
        };
        match action.what.clone() {
            ActionKind::QueueCreate(config) => tell(Event::QueueCreate { config }),
            ActionKind::QueueChange(config) => tell(Event::QueueChange { config }),
            ActionKind::QueueRemove { queue, pending } => {
                let pending = pending.map(|p| match p {
                    PendingJobs::Move(queue) => PendingFate::Move(queue),
                    PendingJobs::Hold => PendingFate::Hold,
                    PendingJobs::Cancel => PendingFate::Cancel,
                });
                tell(Event::QueueRemove { queue, pending })
            }
            ActionKind::QueueEnable { queue } => tell(Event::QueueEnable { queue }),
            ActionKind::QueueDisable { queue, reason } => tell(Event::QueueDisable { queue, reason }),
            ActionKind::QueueStart(start) => {
                let (queue, mode) = mode(&start, at);
                match planned {
                    Some(_) => switch(SwitchSpec { release: vec![], start: vec![(queue, mode)] }),
                    None => tell(Event::QueueStart { queue, mode }),
                }
            }
            ActionKind::QueueStop { queue, release: true, .. } if planned.is_some() => {
                switch(SwitchSpec { release: vec![queue], start: vec![] })
            }
            ActionKind::QueueStop { queue, release, reason } => tell(Event::QueueStop { queue, release, reason }),
            ActionKind::Switch { release, start } => {
                switch(SwitchSpec { release, start: start.iter().map(|s| mode(s, at)).collect() })
            }
            ActionKind::CancelPlanned { plan } => tell(Event::CancelPlanned { name: plan }),
            ActionKind::Abort { plan } => tell(Event::Abort { plan }),
            ActionKind::Drain { nodes, reason } => Ok(Deed::Drain { nodes, reason, at: planned }),
            ActionKind::Undrain { nodes } => Ok(Deed::Undrain(nodes)),
            ActionKind::Recall { nodes } => Ok(Deed::Recall(nodes)),
            ActionKind::Fail { nodes } => Ok(Deed::Fail(nodes)),
            ActionKind::Return { nodes } => Ok(Deed::Return(nodes)),
            ActionKind::Add(addition) => {
                let online = addition.online;
                let addition = Box::new(self.addition(&addition)?);
                tell(Event::AddTargets { addition, online })
            }
            ActionKind::Remove { nodes } => Ok(Deed::Remove(nodes)),
            ActionKind::Cancel { jobs } => Ok(Deed::Cancel(jobs)),
            ActionKind::Reprioritize { jobs, priority } => Ok(Deed::Reprioritize(jobs, Priority(priority.into()))),
            ActionKind::Relimit { jobs, limit } => Ok(Deed::Relimit(jobs, limit)),
            ActionKind::Move { jobs, to } => Ok(Deed::Move(jobs, to)),
        }
    }

    fn problem(&self, problem: impl ToString) -> AssemblyError {
        AssemblyError::Action { line: self.line, problem: problem.to_string() }
    }

    /// New hosts, with the ranks after those that there are.
    fn addition(&mut self, addition: &Addition) -> Result<R, AssemblyError> {
        let first = |n: u32| n.checked_sub(1).map_or_else(Idset::new, |last| Idset::from_range(0..=last));
        let entry = ResourceEntry {
            hosts: Hostlist::parse(&addition.hosts).map_err(|e| self.problem(e))?,
            cores: first(addition.cores),
            gpus: first(addition.gpus),
            properties: addition.properties.clone(),
        };
        let resource = ResourceConfig { entries: vec![entry], ..ResourceConfig::default() };
        let mut r = resource.to_r().map_err(|e| self.problem(e))?;
        let by = self.next_rank;
        r.ranks.iter_mut().for_each(|entry| entry.rank = entry.rank.saturating_add(by));
        for ranks in r.properties.values_mut() {
            let moved = ranks.iter().fold(Idset::new(), |mut set, rank| {
                set.insert(rank.saturating_add(by));
                set
            });
            *ranks = moved;
        }
        self.next_rank = by.saturating_add(r.ranks.len() as u32);
        Ok(r)
    }
}

/// A start at `at`.
fn mode(start: &StartQueue, at: Timestamp) -> (String, StartMode) {
    let group = start.group.map(|g| GroupMode { min: g.min, give_up: at + g.give_up });
    (start.queue.clone(), StartMode { take: start.take, group, max_leaving: start.max_leaving })
}
