//! Virtual queues that are confined: their jobs wait in the parent's order, but may have the nodes of their own queue alone.
//!
//! So one scheduler serves many queues of different nodes, each with a constraint, which is the architecture to compare
//! ours with. Decides what a job asks for in its scheduler, not what the job asked for: that stays as it was submitted.

use super::event::Effect;
use super::state::Site;
use crate::base::{QueueId, Timestamp};
use crate::formats::constraint::Constraint;
use crate::formats::idset::Idset;
use crate::matcher::Request;
use std::sync::Arc;

impl Site {
    /// Confines the jobs of each virtual queue to the nodes that its own configuration covers. To be said before anything
    /// happens.
    #[must_use]
    pub fn with_confined_queues(mut self) -> Self {
        self.confined = Some(Default::default());
        for index in 0..self.queues.len() {
            self.note_confines(QueueId(index as u32));
        }
        self
    }

    /// Looks up anew what a virtual queue covers; whether that has changed.
    fn note_confines(&mut self, id: QueueId) -> bool {
        let queue = self.queue(id);
        if self.confined.is_none() || queue.parent.is_none() || queue.removed {
            return false;
        }
        let members = self.members(&queue.config);
        let ranks = members.iter().filter_map(|t| self.graph.target(t)).map(|t| t.rank);
        let constraint = Constraint::Ranks(ranks.fold(Idset::new(), |mut all, rank| {
            all.insert(rank);
            all
        }));
        let Some(confined) = &mut self.confined else { return false };
        confined.insert(id, constraint.clone()) != Some(constraint)
    }

    /// A virtual queue, or the inventory, has changed: its waiting jobs are confined anew.
    pub(super) fn renew_confines(&mut self, now: Timestamp, id: QueueId, effects: &mut Vec<Effect>) {
        if !self.note_confines(id) {
            return;
        }
        let mine = |job: &super::job::Job| job.queue == id && job.in_scheduler;
        let waiting: Vec<u32> = self.jobs.iter().filter(|(_, j)| mine(j)).map(|(slot, _)| slot).collect();
        for slot in waiting {
            self.withdraw(now, slot, effects);
            self.enqueue(now, slot, effects);
        }
    }

    /// What a job of a queue asks its scheduler for.
    pub(super) fn confine(&self, queue: QueueId, request: Arc<Request>) -> Arc<Request> {
        let Some(bounds) = self.confined.as_ref().and_then(|all| all.get(&queue)) else { return request };
        let constraint = match &request.constraint {
            None | Some(Constraint::All) => bounds.clone(),
            Some(own) => Constraint::And(vec![own.clone(), bounds.clone()]),
        };
        Arc::new(Request { constraint: Some(constraint), ..Request::clone(&request) })
    }
}
