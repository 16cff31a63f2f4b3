//! skeleton
mod policy;
mod types;
pub use policy::{Horizon, Overlap};
pub use types::*;

use crate::base::{Epoch, GroupId, QueueId, TargetId, TargetSet, Timestamp, Windows};
use serde::{Deserialize, Serialize};

/// skeleton: bodies follow; signatures are what others code against.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Coordinator {}

#[allow(missing_docs, unused_variables, clippy::todo)]
impl Coordinator {
    pub fn new() -> Self { todo!() }
    pub fn add_targets(&mut self, targets: &TargetSet) { todo!() }
    /// They leave the inventory from Free: see `Order::Removed`.
    pub fn remove_targets(&mut self, targets: &TargetSet) { todo!() }
    pub fn set_online(&mut self, targets: &TargetSet, online: bool) { todo!() }
    pub fn add_queue(&mut self, queue: QueueId, spec: QueueSpec) { todo!() }
    /// A queue that is gone but may still have jobs (hello of a removed queue).
    pub fn add_tombstone(&mut self, queue: QueueId, spec: QueueSpec) { todo!() }
    /// False if there is no such queue.
    pub fn change_queue(&mut self, queue: QueueId, spec: QueueSpec) -> bool { todo!() }
    pub fn remove_queue(&mut self, now: Timestamp, queue: QueueId) -> bool { todo!() }
    pub fn start(&mut self, now: Timestamp, queue: QueueId, options: &StartOptions) -> Result<Started, StartError> { todo!() }
    pub fn stop(&mut self, now: Timestamp, queue: QueueId, release: bool) -> bool { todo!() }
    pub fn switch(&mut self, now: Timestamp, request: &SwitchRequest) -> Result<(), StartError> { todo!() }
    /// What `switch` would say; changes nothing.
    pub fn check_switch(&self, now: Timestamp, request: &SwitchRequest) -> Result<(), StartError> { todo!() }
    pub fn plan_switch(&mut self, at: Timestamp, request: SwitchRequest) -> PlanId { todo!() }
    pub fn cancel_plan(&mut self, plan: PlanId) -> bool { todo!() }
    pub fn lend(&mut self, now: Timestamp, target: TargetId, borrower: QueueId, until: Timestamp) -> Result<(), LoanError> { todo!() }
    pub fn end_loan(&mut self, target: TargetId) -> bool { todo!() }
    pub fn found(&mut self, now: Timestamp, target: TargetId, queue: QueueId) -> Result<(), FoundError> { todo!() }
    /// True if it made something movable: reconcile again.
    pub fn acknowledge(&mut self, queue: QueueId, targets: &TargetSet, epoch: Epoch) -> bool { todo!() }
    pub fn connection_closed(&mut self, queue: QueueId) { todo!() }
    /// Sends what is up again at the next reconcile. Queues are connected when added.
    pub fn connection_opened(&mut self, queue: QueueId) { todo!() }
    /// Call again after the schedulers acknowledged, until it returns nothing.
    pub fn reconcile(&mut self, now: Timestamp, holders: &dyn Holders) -> Vec<Order> { todo!() }
    /// Fresh downs and ups; from now on reconcile returns nothing until `end_recovery`.
    pub fn begin_recovery(&mut self) -> Vec<Order> { todo!() }
    pub fn end_recovery(&mut self) { todo!() }

    pub fn ownership(&self, target: TargetId) -> Option<Ownership> { todo!() }
    pub fn inventory(&self) -> &TargetSet { todo!() }
    pub fn online(&self) -> &TargetSet { todo!() }
    pub fn free(&self) -> &TargetSet { todo!() }
    pub fn owned(&self, queue: QueueId) -> &TargetSet { todo!() }
    pub fn up(&self, queue: QueueId) -> TargetSet { todo!() }
    pub fn leaving(&self, queue: QueueId) -> &TargetSet { todo!() }
    pub fn arriving(&self, queue: QueueId) -> TargetSet { todo!() }
    pub fn desired(&self, target: TargetId) -> Option<QueueId> { todo!() }
    pub fn wanted(&self, target: TargetId) -> Option<QueueId> { todo!() }
    pub fn is_claiming(&self, queue: QueueId) -> bool { todo!() }
    pub fn is_started(&self, queue: QueueId) -> bool { todo!() }
    pub fn take(&self, queue: QueueId) -> Option<TakeStamp> { todo!() }
    pub fn blocked(&self, queue: QueueId) -> Option<Blocked> { todo!() }
    /// Live queues and tombstones.
    pub fn spec(&self, queue: QueueId) -> Option<&QueueSpec> { todo!() }
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + '_ { std::iter::empty() }
    pub fn tombstones(&self) -> impl Iterator<Item = QueueId> + '_ { std::iter::empty() }
    /// All that is Leaving.
    pub fn leaving_targets(&self) -> &TargetSet { todo!() }
    /// Leaving, and what a gathering group waits for: a release of any other target needs no reconcile. Use THIS to skip.
    pub fn watched_targets(&self) -> &TargetSet { todo!() }
    pub fn donations(&self) -> impl Iterator<Item = Donation> + '_ { std::iter::empty() }
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &Group)> + '_ { std::iter::empty() }
    pub fn plans(&self) -> impl Iterator<Item = (PlanId, &Plan)> + '_ { std::iter::empty() }
    pub fn loans(&self) -> impl Iterator<Item = (TargetId, Loan)> + '_ { std::iter::empty() }
    /// The latest message about a target: an older grant is refused.
    pub fn epoch(&self, target: TargetId) -> Epoch { todo!() }
    /// Down in the queue's scheduler, not acknowledged yet.
    pub fn awaiting(&self, queue: QueueId) -> TargetSet { todo!() }
    pub fn windows(&self, now: Timestamp, queue: QueueId) -> Windows { todo!() }
    pub fn windows_version(&self) -> u64 { todo!() }
    pub fn next_wakeup(&self, now: Timestamp) -> Option<Timestamp> { todo!() }
}
