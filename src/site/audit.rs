//! The state of a site against first principles: I1–I6, recomputed from jobs, holdings, schedulers and ownership.
//!
//! Decides nothing, trusts no sum. Costs time in proportion to all jobs and targets: for tests and `--check`.

use super::job::{HoldingKind, Job, JobState, NO_HOLDING};
use super::queue::Queue;
use super::state::Site;
use super::violation::{Invariant, Violation};
use crate::base::{FastMap, JobId, QueueId, TargetId, TargetSet};
use crate::coordinator::Ownership;
use crate::matcher::{Extent, Units};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What does not hold; empty unless there is a bug.
pub fn audit(site: &Site) -> Vec<Violation> {
    let mut found = Vec::new();
    one_owner(site, &mut found);
    no_double_booking(site, &mut found);
    free_before_up(site, &mut found);
    conservation(site, &mut found);
    jobs_have_one_place(site, &mut found);
    schedulers_agree(site, &mut found);
    user_limits(site, &mut found);
    found
}

fn push(found: &mut Vec<Violation>, invariant: Invariant, text: String) {
    found.push(Violation::new(invariant, text));
}

/// I1: coordinator, ledger and schedulers agree on where a target is up, and it is up in one queue at most.
fn one_owner(site: &Site, found: &mut Vec<Violation>) {
    let mut up_in: FastMap<TargetId, QueueId> = FastMap::default();
    for queue in &site.queues {
        let Some(scheduler) = &queue.scheduler else { continue };
        let common = site.coordinator.is_common();
        for target in scheduler.up().iter() {
            if let Some(other) = up_in.insert(target, queue.id).filter(|_| !common) {
                push(found, Invariant::I1, format!("target {target} is up in queue ids {other} and {}", queue.id));
            }
            if !site.ledger.is_up(target, queue.id) {
                let text = format!("target {target} is up in the scheduler of queue {}, not in the ledger", queue.name);
                push(found, Invariant::I1, text);
            }
            if !common && site.coordinator.ownership(target) != Some(Ownership::Owned(queue.id)) {
                push(found, Invariant::I1, format!("target {target} is up in queue {}, not its owner", queue.name));
            }
        }
        let told: TargetSet = scheduler.up().to_set();
        let should = site.coordinator.up(queue.id);
        if !site.unsettled && !site.recovering && told != should {
            let text = format!("queue {} has up {told}, should have {should}", queue.name);
            push(found, Invariant::I1, text);
        }
    }
}

/// I2: what the holdings hold does not overlap, is not more than there is, and is what the ledger knows.
fn no_double_booking(site: &Site, found: &mut Vec<Violation>) {
    let bound = site.ledger.bound() as usize;
    let mut whole: Vec<Option<u32>> = vec![None; bound];
    let mut parts: FastMap<TargetId, (Units, Units)> = FastMap::default();
    let mut held = TargetSet::new();
    for (index, holding) in site.jobs.holdings() {
        let mut left = 0;
        for share in holding.selection.shares.iter().filter(|s| !holding.freed.contains(s.target)) {
            left += 1;
            let target = share.target;
            held.insert(target);
            if !site.ledger.holders(target).contains(&index) {
                let text = format!("job {} holds target {target}, which the ledger does not know", holding.name);
                push(found, Invariant::I2, text);
            }
            if holding.quarantined {
                continue;
            }
            let clash = match &share.extent {
                Extent::Whole => {
                    let before = whole[target.index()].replace(index);
                    before.is_some() || parts.contains_key(&target)
                }
                Extent::Part(part) => {
                    let size = super::state::size_of(&site.graph, target);
                    let (cores, gpus) = parts.entry(target).or_default();
                    let beyond = |units: &Units, size: u32| units.iter().any(|p| p >= size);
                    let clash = whole[target.index()].is_some()
                        || !cores.is_disjoint(&part.cores)
                        || !gpus.is_disjoint(&part.gpus)
                        || beyond(&part.cores, size.cores)
                        || beyond(&part.gpus, size.gpus);
                    cores.add_all(&part.cores);
                    gpus.add_all(&part.gpus);
                    clash
                }
            };
            if clash {
                let text = format!("job {} holds of target {target} what another holds, or is not there", holding.name);
                push(found, Invariant::I2, text);
            }
        }
        if left != holding.left || left == 0 {
            let text = format!("job {} holds {left} targets, {} on record", holding.name, holding.left);
            push(found, Invariant::I2, text);
        }
    }
    pools_are_not_overbooked(site, found);
    for target in (0..bound as u32).map(TargetId).filter(|t| site.ledger.is_held(*t) && !held.contains(*t)) {
        push(found, Invariant::I2, format!("target {target} is held in the ledger by nobody"));
    }
}

/// I2: of no shared pool the holdings have more than there is, and they have what the ledger knows.
fn pools_are_not_overbooked(site: &Site, found: &mut Vec<Violation>) {
    let mut used = vec![0u64; site.pools.table.len()];
    for (_, holding) in site.jobs.holdings().filter(|(_, h)| !h.quarantined) {
        for share in &holding.selection.pools {
            match used.get_mut(share.pool.index()) {
                Some(used) => *used += share.amount,
                None => push(found, Invariant::I2, format!("job {} holds of pool {}", holding.name, share.pool)),
            }
        }
    }
    for ((id, pool), used) in site.pools.table.iter().zip(&used) {
        // A pool that is gone, with jobs that still have of it, is 0 large.
        if *used > pool.size && pool.size > 0 {
            push(found, Invariant::I2, format!("{used} of {} are in use of pool {}", pool.size, pool.name));
        }
        if site.ledger.pools_used().nth(id.index()) != Some(*used) {
            push(found, Invariant::I2, format!("{used} are held of pool {}, otherwise in the ledger", pool.name));
        }
    }
}

/// I3: nothing is up in a queue while a job of another holds it.
fn free_before_up(site: &Site, found: &mut Vec<Violation>) {
    for (_, holding) in site.jobs.holdings() {
        for target in holding.selection.targets().filter(|t| !holding.freed.contains(*t)) {
            if let Some(queue) = site.ledger.up_in(target).filter(|q| *q != holding.queue || holding.quarantined) {
                let text =
                    format!("target {target} is up in queue id {queue}, held by job {} of another", holding.name);
                push(found, Invariant::I3, text);
            }
        }
    }
}

/// I5: every target of the inventory is owned by one queue, leaves one queue, or is free. Where targets are in common,
/// several may own it.
fn conservation(site: &Site, found: &mut Vec<Violation>) {
    let mut seen = site.coordinator.free().clone();
    let mut count = seen.len();
    for queue in &site.queues {
        for set in [site.coordinator.owned(queue.id), site.coordinator.leaving(queue.id)] {
            count += set.len();
            seen |= set;
        }
    }
    let inventory = site.coordinator.inventory();
    if (count != seen.len() && !site.coordinator.is_common()) || seen != *inventory {
        let text = format!("{count} ownership entries for targets {seen}, the inventory is {inventory}");
        push(found, Invariant::I5, text);
    }
    if inventory != site.graph.targets() {
        push(found, Invariant::I5, format!("the graph has {}, the inventory is {inventory}", site.graph.targets()));
    }
}

/// I6: the sums are right, and each job has what belongs to its state.
fn jobs_have_one_place(site: &Site, found: &mut Vec<Violation>) {
    let (mut counts, unsettled) = site.jobs.unsettled();
    (counts.submitted, counts.requeued) = (site.jobs.len() as u64, site.jobs.counts.requeued);
    for (slot, job) in unsettled {
        *counts.of(job.state) += 1;
        let held = job.holding != NO_HOLDING;
        let kind = held.then(|| site.jobs.holding(job.holding)).map(|h| (h.slot, h.kind));
        let sound = match job.state {
            JobState::Pending => {
                // A removed queue never runs a pass again.
                let lives = !site.queue(job.queue).removed && !site.queue(job.home).removed;
                !held && lives && (job.in_scheduler || parked(site.queue(job.queue)) || bounded(site.queue(job.queue)))
            }
            JobState::Held => !held,
            JobState::Running => kind == Some((slot, HoldingKind::Running)) && !job.in_scheduler,
            JobState::Ended(_) => kind.is_none_or(|k| k == (slot, HoldingKind::Ended)) && !job.in_scheduler,
            JobState::Denied | JobState::Cancelled => !held && !job.in_scheduler,
        };
        if !sound {
            let text =
                format!("job {} is {:?}, but holds {kind:?}, in scheduler {}", job.id, job.state, job.in_scheduler);
            push(found, Invariant::I6, text);
        }
    }
    if counts != site.jobs.counts || counts.sum() != counts.submitted {
        push(found, Invariant::I6, format!("counted {counts:?}, on record {:?}", site.jobs.counts));
    }
}

/// Whether the jobs of a queue wait in no scheduler: it is virtual and stopped.
fn parked(queue: &Queue) -> bool {
    queue.parent.is_some() && queue.is_live() && !queue.started
}

/// I6 and I2: each scheduler waits for and runs exactly what the site says. Where targets are in common, it also knows what
/// jobs of others hold of the targets that its queue covers.
fn schedulers_agree(site: &Site, found: &mut Vec<Violation>) {
    let mut waiting: FastMap<JobId, QueueId> = FastMap::default();
    for queue in &site.queues {
        let Some(scheduler) = &queue.scheduler else { continue };
        let mut n = 0;
        for waits in scheduler.waiting() {
            n += 1;
            waiting.insert(waits.job.id, queue.id);
            let job = site.job(waits.job.id);
            if let Some(job) = job.filter(|j| site.order_priority(j) != waits.job.priority) {
                let (is, should) = (waits.job.priority, site.order_priority(job));
                push(found, Invariant::I6, format!("job {} waits with priority {is}, should with {should}", job.id));
            }
            if !job.is_some_and(|j| j.in_scheduler && j.home == queue.id) {
                let text = format!("job {} waits in the scheduler of queue {} alone", waits.job.id, queue.name);
                push(found, Invariant::I6, text);
            }
        }
        if n != queue.waiting {
            push(found, Invariant::I6, format!("queue {} has {n} waiting, {} on record", queue.name, queue.waiting));
        }
        let mut known: FastMap<JobId, (&crate::matcher::Selection, &TargetSet)> = FastMap::default();
        let mine: Vec<_> = site.jobs.holdings().filter(|(_, h)| h.queue == queue.id).map(|(_, h)| h).collect();
        known.extend(mine.iter().filter(|h| !h.quarantined).map(|h| (h.name, (&*h.selection, &h.freed))));
        let mut others: FastMap<JobId, (&crate::matcher::Selection, &TargetSet)> = FastMap::default();
        if site.coordinator.is_common() {
            let elsewhere = site.jobs.holdings().filter(|(_, h)| h.queue != queue.id && !h.quarantined);
            others.extend(elsewhere.map(|(_, h)| (h.name, (&*h.selection, &h.freed))));
        }
        if mine.len() as u32 != queue.holdings {
            push(found, Invariant::I6, format!("queue {} has {} holdings on record", queue.name, queue.holdings));
        }
        for run in scheduler.running() {
            let said = known.remove(&run.job.id).or_else(|| others.remove(&run.job.id));
            if said != Some((&*run.selection, &run.freed)) {
                let text = format!("the scheduler of queue {} runs job {} otherwise", queue.name, run.job.id);
                push(found, Invariant::I2, text);
            }
        }
        let covered = |(selection, freed): &(&crate::matcher::Selection, &TargetSet)| {
            selection.targets().any(|t| queue.members.contains(t) && !freed.contains(t))
        };
        for job in known.keys().chain(others.iter().filter(|(_, holds)| covered(holds)).map(|(job, _)| job)) {
            let text = format!("the scheduler of queue {} does not know that job {job} holds targets", queue.name);
            push(found, Invariant::I2, text);
        }
    }
    for (_, job) in site.jobs.unsettled().1.filter(|(_, j)| j.in_scheduler) {
        if waiting.get(&job.id) != Some(&job.home) {
            push(found, Invariant::I6, format!("job {} waits nowhere", job.id));
        }
    }
}

/// Whether a queue may hold jobs back.
fn bounded(queue: &Queue) -> bool {
    queue.config.policy.limits.user.bounds_running()
}

/// I9 and I10: what runs of a user and what a scheduler plans for him keep the limits of the queue together, and who is
/// held back would not.
fn user_limits(site: &Site, found: &mut Vec<Violation>) {
    let mut users: BTreeMap<(QueueId, u32), Vec<&Job>> = BTreeMap::new();
    for (_, job) in site.jobs.unsettled().1.filter(|(_, j)| !j.state.is_final()) {
        let queue = site.queue(job.queue);
        if queue.is_live() && bounded(queue) {
            users.entry((job.queue, job.userid)).or_default().push(job);
        }
    }
    for ((queue, user), mut jobs) in users {
        let queue = site.queue(queue);
        let limits = &queue.config.policy.limits.user;
        let keeps = |jobs: u64, nodes: u64| {
            limits.max_running_jobs.is_none_or(|most| jobs <= most)
                && limits.max_running_nodes.is_none_or(|most| nodes <= most)
        };
        let (mut n, mut nodes) = (0, 0u64);
        for job in jobs.iter().filter(|j| j.state == JobState::Running && j.holding != NO_HOLDING) {
            n += 1;
            nodes += site.jobs.holding(job.holding).selection.target_set().len() as u64;
        }
        jobs.retain(|j| j.state == JobState::Pending || j.state == JobState::Held && j.in_scheduler);
        jobs.sort_by_key(|j| (Reverse(j.priority), j.submitted, j.id));
        let mut open = !parked(queue);
        for job in jobs {
            let most =
                job.request.as_deref().and_then(|r| super::rules::most_nodes(r, &site.graph)).unwrap_or(u64::MAX);
            (n, nodes) = (n + 1, nodes.saturating_add(most));
            open &= keeps(n, nodes);
            let name = &queue.name;
            if job.in_scheduler && !open {
                let text = format!("queue {name} may start job {} of user {user}, beyond the limits", job.id);
                push(found, Invariant::I9, text);
            } else if open && !job.in_scheduler {
                let text = format!("queue {name} holds back job {} of user {user}, who keeps the limits", job.id);
                push(found, Invariant::I10, text);
            }
        }
    }
}
