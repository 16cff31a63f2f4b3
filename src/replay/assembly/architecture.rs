//! The architectures that a scenario can be replayed in.
//!
//! | name | schedulers | which nodes a queue may use |
//! |---|---|---|
//! | `donation` | one per queue | those that it owns; they move between queues by donation |
//! | `shared` | one for all queues | its members; one order over all jobs, each with a constraint |
//! | `split` | one per queue | its part of its members, for good ([`division`](super::division)) |
//! | `managers` | one per queue, one after the other | its members, whoever else may use them too |
//!
//! Decides what a configuration and the events of a scenario become in each. Queues start and stop as the scenario says
//! in all of them. Outside of `donation` no start is refused or waits for nodes, nothing is donated, and a switch
//! stops some queues and starts others, without a look ahead.

use super::division::Division;
use super::{Assembly, AssemblyError};
use crate::config::{Lending, Members, QueueConfig};
use crate::formats::idset::Idset;
use crate::replay::engine::{Deed, Timed};
use crate::site::{Event, Site, StartMode};
use std::fmt;
use std::str::FromStr;

/// How queues share a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Architecture {
    /// A scheduler per queue; nodes change the queue while they run.
    #[default]
    Donation,
    /// One scheduler over all queues, with a constraint per queue.
    Shared,
    /// A scheduler per queue, each with nodes of its own for good.
    Split,
    /// A scheduler per queue over nodes that several may use.
    Managers,
}

impl Architecture {
    /// All of them; ours first.
    pub const ALL: [Architecture; 4] =
        [Architecture::Donation, Architecture::Shared, Architecture::Split, Architecture::Managers];

    /// Their names.
    pub const NAMES: [&'static str; 4] = ["donation", "shared", "split", "managers"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Donation => "donation",
            Architecture::Shared => "shared",
            Architecture::Split => "split",
            Architecture::Managers => "managers",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Architecture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Architecture::ALL.into_iter().find(|a| a.name() == text);
        found.ok_or_else(|| format!("expected one of {}, found {text}", Architecture::NAMES.join(", ")))
    }
}

/// The queue whose scheduler serves all others.
const SHARED: &str = "shared";

impl Assembly {
    /// One scheduler: every queue becomes a virtual one of a queue over the whole machine, confined to its members.
    pub(super) fn share(&mut self) -> Result<(), AssemblyError> {
        if self.config.queues.is_empty() {
            return Ok(());
        }
        let real: Vec<&QueueConfig> = self.config.queues.values().filter(|q| !q.is_virtual()).collect();
        let mut shared = QueueConfig {
            name: SHARED.to_owned(),
            members: Members::All,
            parent: None,
            policy: self.config.policy.clone(),
            lending: Lending::default(),
        };
        while self.config.queues.contains_key(&shared.name) {
            shared.name.push('-');
        }
        if let Some(first) = real.first() {
            shared.policy.scheduler = first.policy.scheduler.clone();
            let way = |q: &QueueConfig| {
                let s = &q.policy.scheduler;
                (s.queue_policy, s.match_policy, s.queue_depth, s.reservation_depth)
            };
            if let Some(other) = real.iter().find(|q| way(q) != way(first)) {
                let (first, other) = (&first.name, &other.name);
                self.warnings.push(format!(
                    "one scheduler has one policy: it is that of queue {first}, though that of {other} is another"
                ));
            }
        }
        let name = shared.name.clone();
        let mut config = self.config.clone();
        // A job that names no queue goes to the only one, also when there is one more for all.
        if config.queues.len() == 1 {
            let only = config.queues.keys().next().cloned();
            config.policy.defaults.queue = config.policy.defaults.queue.or(only);
        }
        config.queues.insert(name.clone(), shared);
        for queue in config.queues.values_mut().filter(|q| q.name != name) {
            // Nothing is lent where all is in one hand.
            queue.lending = Lending::default();
            if let Some(parent) = queue.parent.replace(name.clone()) {
                let queue = &queue.name;
                self.warnings.push(format!("queue {queue} starts and stops for itself, not with {parent}"));
            }
        }
        config.queues.move_index(config.queues.len() - 1, 0);
        self.config = config;
        self.shared_by = Some(name);
        Ok(())
    }

    /// Nodes that several queues cover are divided between them for good.
    pub(super) fn split(&mut self) -> Result<(), AssemblyError> {
        // Without any queue there is one for all.
        if self.config.queues.is_empty() {
            return Ok(());
        }
        let (graph, properties) = self.graph.take().ok_or(AssemblyError::Incomplete("resources"))?;
        let division = Division::new(self, &graph, &properties);
        let properties = std::sync::Arc::new(division.mark(&properties));
        for queue in self.config.queues.values_mut() {
            queue.members = division.members_of(queue);
        }
        self.graph = Some((graph, properties));
        self.division = Some(division);
        Ok(())
    }

    /// Builds the site of an architecture from one that was just made.
    pub(super) fn arrange(&self, site: Site) -> Site {
        match self.architecture {
            Architecture::Donation => site,
            Architecture::Shared => site.with_confined_queues(),
            Architecture::Split | Architecture::Managers => site.with_targets_in_common(),
        }
    }

    /// Makes of what a scenario does what it means in an architecture.
    pub(super) fn adapt(&mut self) {
        let mut timed = std::mem::take(&mut self.timed);
        for Timed { deed, .. } in &mut timed {
            if let Deed::Tell(event) = deed
                && self.architecture != Architecture::Donation
            {
                self.adapt_event(event);
            }
        }
        self.timed = timed;
    }

    fn adapt_event(&mut self, event: &mut Event) {
        match event {
            Event::QueueCreate { config } | Event::QueueChange { config } => self.adapt_queue(config),
            Event::QueueStart { mode, .. } => *mode = StartMode::default(),
            Event::Switch(switch) | Event::Planned { switch, .. } => {
                switch.start.iter_mut().for_each(|(_, mode)| *mode = StartMode::default());
            }
            Event::AddTargets { addition, .. } => {
                let Some(division) = &self.division else { return };
                for (queue, ranks) in division.of_addition(addition) {
                    let ranks = ranks.into_iter().fold(Idset::new(), |mut all, rank| {
                        all.insert(rank);
                        all
                    });
                    addition.properties.insert(Division::mark_of(&queue), ranks);
                }
            }
            _ => {}
        }
    }

    fn adapt_queue(&mut self, config: &mut QueueConfig) {
        if let Some(division) = &self.division {
            config.members = division.members_of(config);
        }
        if let Some(shared) = &self.shared_by {
            // A virtual queue has the members of its parent already.
            config.parent = Some(shared.clone());
        }
    }
}
