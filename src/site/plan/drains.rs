//! When planned switches begin to bound the jobs of those who give.
//!
//! Decides nothing: reads the windows that a queue has. From `from` on the longest jobs of the queue start on these
//! targets no more; whoever drains by hand would have to begin then, and leave the targets idle from there. Shorter jobs
//! go on starting until they would not end in time.

use crate::base::{Duration, QueueId, TargetSet, Timestamp};
use crate::site::Site;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Targets of a queue that it will give at an instant known beforehand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drain {
    /// Who gives.
    pub queue: Arc<str>,
    /// What.
    pub targets: TargetSet,
    /// When jobs have to be gone.
    pub at: Timestamp,
    /// The longest time limit that a job of the queue has, or may have; infinite if one has none.
    pub longest: Duration,
    /// When draining begins: `at` less the longest limit and the queue's release margin; now if that is past.
    pub from: Timestamp,
}

/// What queues give at known times in one site and not in the other.
pub(super) fn drains(before: &Site, after: &Site) -> Vec<Drain> {
    let (old, new) = (drains_of(before), drains_of(after));
    new.into_iter().filter(|drain| !old.contains(drain)).collect()
}

fn drains_of(site: &Site) -> Vec<Drain> {
    let mut all = Vec::new();
    let mut windows = site.coordinator.all_windows(site.now);
    for id in site.coordinator.queues() {
        let owned = site.coordinator.owned(id);
        let mut ends: BTreeMap<Timestamp, TargetSet> = BTreeMap::new();
        for timeline in windows.remove(&id).unwrap_or_default().timelines {
            let has = &timeline.targets & owned;
            let end = timeline.windows.first().map(|w| w.until).filter(|end| !end.is_never() && *end > site.now);
            if let Some(end) = end.filter(|_| !has.is_empty()) {
                *ends.entry(end).or_default() |= &has;
            }
        }
        if ends.is_empty() {
            continue;
        }
        let longest = longest_limit(site, id);
        let margin = site.queue(id).config.policy.scheduler.release_margin;
        for (at, targets) in ends {
            let from = if longest.is_infinite() { site.now } else { (at - longest - margin).max(site.now) };
            all.push(Drain { queue: site.queue(id).name.clone(), targets, at, longest, from });
        }
    }
    all
}

/// The longest limit that the queue allows, else that any of its jobs has.
fn longest_limit(site: &Site, id: QueueId) -> Duration {
    if let Some(most) = site.queue(id).config.policy.limits.duration {
        return most;
    }
    let live = site.all_jobs().filter(|job| job.home == id && !job.state.is_final());
    live.map(|job| job.limit).max().unwrap_or(Duration::ZERO)
}
