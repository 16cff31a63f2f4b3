//! What drivers may look at between steps.

use super::job::Job;
use super::state::Site;
use crate::base::{JobId, QueueId};
use crate::coordinator::Coordinator;
use std::sync::Arc;

impl Site {
    /// A job.
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.slot(id).map(|slot| self.jobs.job(slot))
    }

    /// The name of a queue, also of one that was removed.
    pub fn queue_name(&self, id: QueueId) -> Option<&Arc<str>> {
        self.queues.get(id.index()).map(|q| &q.name)
    }

    /// Who owns what.
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }
}
