//! What is done at given times, apart from jobs.

use super::Engine;
use crate::base::{Duration, JobId, Priority, TargetSet, Timestamp};
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use crate::graph::Graph;
use crate::replay::scenario::{JobPick, NodeSet};
use crate::replay::source::NodeState;
use crate::site::{Event, JobState};

/// Something that is done at a given time.
#[derive(Clone, Debug)]
pub struct Timed {
    /// When.
    pub at: Timestamp,
    /// A name for reports.
    pub name: String,
    /// What.
    pub deed: Deed,
}

/// What is done.
#[derive(Clone, Debug)]
pub enum Deed {
    /// The site is told this.
    Tell(Box<Event>),
    /// Nodes are drained, now or at a later time that is announced now.
    Drain {
        /// Which.
        nodes: NodeSet,
        /// Why.
        reason: String,
        /// When, if announced.
        at: Option<Timestamp>,
    },
    /// Nodes are undrained.
    Undrain(NodeSet),
    /// Loans of nodes end.
    Recall(NodeSet),
    /// Nodes fail.
    Fail(NodeSet),
    /// Nodes come back.
    Return(NodeSet),
    /// Nodes leave the inventory.
    Remove(NodeSet),
    /// Jobs are cancelled.
    Cancel(JobPick),
    /// Jobs get another priority.
    Reprioritize(JobPick, Priority),
    /// Jobs get another limit.
    Relimit(JobPick, Duration),
    /// Jobs go to another queue.
    Move(JobPick, String),
    /// A node log says so.
    Node(NodeState),
}

impl Engine<'_> {
    /// Does what is due; a refusal is noted and the replay goes on.
    pub(super) fn do_timed(&mut self, timed: Timed) {
        let Timed { name, deed, .. } = timed;
        let done = match deed {
            Deed::Tell(event) => {
                let plain = if let Event::Preempting(inner) = &*event { inner } else { &event };
                if let Event::Planned { at, .. } = **plain {
                    self.donations.announce(self.now, at);
                }
                self.try_tell(*event)
            }
            Deed::Drain { nodes, reason, at } => {
                self.with_targets(&nodes, |targets| Event::Drain { targets, reason, at })
            }
            Deed::Undrain(nodes) => self.with_targets(&nodes, |targets| Event::Undrain { targets }),
            Deed::Recall(nodes) => self.with_targets(&nodes, |targets| Event::Recall { targets }),
            Deed::Remove(nodes) => self.with_targets(&nodes, |targets| Event::RemoveTargets { targets }),
            Deed::Fail(nodes) => self.resolve(&nodes).map(|targets| self.fail_targets(targets)),
            Deed::Return(nodes) => self.resolve(&nodes).map(|targets| self.return_targets(targets)),
            Deed::Cancel(pick) => self.with_jobs(&pick, |job| Event::Cancel { job }),
            Deed::Reprioritize(pick, priority) => {
                let jobs = self.pick(&pick).into_iter().map(|job| (job, priority)).collect();
                self.try_tell(Event::Prioritize { jobs })
            }
            Deed::Relimit(pick, limit) => {
                let jobs = self.pick(&pick);
                let done = self.with_jobs(&pick, |job| Event::Relimit { job, limit });
                let slots = jobs.into_iter().filter_map(|job| self.workload.slot(job));
                slots.for_each(|slot| self.instance_relimited(slot as u32));
                done
            }
            Deed::Move(pick, queue) => self.with_jobs(&pick, |job| Event::MoveJob { job, queue: queue.clone() }),
            Deed::Node(state) => self.node_event(state),
        };
        if let Err(error) = done {
            self.refusals.push(super::Refusal { at: self.now, name, error });
        }
    }

    fn with_targets(&mut self, nodes: &NodeSet, event: impl FnOnce(TargetSet) -> Event) -> Result<(), String> {
        let targets = self.resolve(nodes)?;
        self.try_tell(event(targets))
    }

    /// One event per job; the first refusal ends it.
    fn with_jobs(&mut self, pick: &JobPick, event: impl Fn(JobId) -> Event) -> Result<(), String> {
        self.pick(pick).into_iter().try_for_each(|job| self.try_tell(event(job)))
    }

    fn resolve(&self, nodes: &NodeSet) -> Result<TargetSet, String> {
        match nodes {
            NodeSet::Hosts(hosts) => targets_of_hosts(self.site.graph(), hosts),
            NodeSet::Ranks(ranks) => {
                let ranks = Idset::parse(ranks).map_err(|e| e.to_string())?;
                targets_of_ranks(self.site.graph(), &ranks)
            }
        }
    }

    fn pends_in(&self, job: JobId, queue: &str) -> bool {
        let Some(job) = self.site.job(job).filter(|j| j.state == JobState::Pending) else { return false };
        self.site.queue_name(job.queue).is_some_and(|name| **name == *queue)
    }

    /// The jobs that are meant, ascending by id.
    fn pick(&self, pick: &JobPick) -> Vec<JobId> {
        match pick {
            JobPick::Ids(ids) => ids.iter().map(|id| JobId(*id)).collect(),
            JobPick::PendingIn(queue) => {
                let mut jobs: Vec<JobId> = self
                    .waiting()
                    .map(|slot| self.workload.jobs()[slot].id)
                    .filter(|id| self.pends_in(*id, queue))
                    .collect();
                jobs.sort_unstable();
                jobs
            }
        }
    }
}

/// The targets of a hostlist.
pub(crate) fn targets_of_hosts(graph: &Graph, hosts: &str) -> Result<TargetSet, String> {
    let hosts = Hostlist::parse(hosts).map_err(|e| e.to_string())?;
    let mut targets = TargetSet::new();
    for host in hosts.iter() {
        let found = graph.targets_by_host(&host);
        if found.is_empty() {
            return Err(format!("no host {host} in the graph"));
        }
        targets.extend(found.iter().copied());
    }
    Ok(targets)
}

/// The targets of a set of ranks.
pub(crate) fn targets_of_ranks(graph: &Graph, ranks: &Idset) -> Result<TargetSet, String> {
    let target = |rank| graph.target_by_rank(rank).ok_or_else(|| format!("no rank {rank} in the graph"));
    ranks.iter().map(target).collect()
}
