//! How users use their time limits, learnt from the jobs that have ended.
//!
//! Decides how long a job will likely run: its limit times the median of what its user's jobs have used of theirs. Of a
//! job that runs already only those count that ran longer. A user of whom little is known is taken for the average one;
//! where nothing is known, the limit holds.

use crate::base::{Duration, FastMap, Timestamp};
use crate::site::job::{Job, JobState};
use crate::site::{Outcome, Site};

/// So many ended jobs make a user known.
const KNOWN: usize = 5;

/// Used shares of limits (0 to 1), ascending: of each user, and of all.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    users: FastMap<u32, Vec<f32>>,
    all: Vec<f32>,
}

impl Usage {
    /// What the ended jobs of a site say. Jobs that were cancelled say nothing.
    pub fn of(site: &Site) -> Self {
        Self::learn(site.all_jobs().filter_map(share))
    }

    /// From users and shares of limits, in any order.
    pub fn learn(shares: impl IntoIterator<Item = (u32, f32)>) -> Self {
        let mut usage = Self::default();
        for (user, share) in shares {
            usage.users.entry(user).or_default().push(share);
            usage.all.push(share);
        }
        usage.users.values_mut().for_each(|v| v.sort_unstable_by(f32::total_cmp));
        usage.all.sort_unstable_by(f32::total_cmp);
        usage
    }

    /// How long a job of a user will likely run in all, if it has run for `elapsed` (zero: it waits). At most its limit.
    pub fn run(&self, user: u32, limit: Duration, elapsed: Duration) -> Duration {
        if limit.is_infinite() || elapsed >= limit {
            return limit;
        }
        let own = self.users.get(&user).filter(|shares| shares.len() >= KNOWN).unwrap_or(&self.all);
        let seen = (elapsed.secs_f64() / limit.secs_f64()) as f32;
        let longer = &own[if elapsed > Duration::ZERO { own.partition_point(|s| *s <= seen) } else { 0 }..];
        let Some(median) = longer.get(longer.len() / 2) else { return limit };
        let likely = Duration::from_micros((limit.micros() as f64 * f64::from(*median)).ceil() as i64);
        likely.clamp(elapsed + Duration::from_micros(1), limit)
    }
}

/// What share of its limit a job has used, if it ended by itself.
fn share(job: &Job) -> Option<(u32, f32)> {
    let ended = matches!(job.state, JobState::Ended(Outcome::Completed | Outcome::Failed));
    let known = ended && !job.limit.is_infinite() && job.limit > Duration::ZERO && !job.started.is_never();
    known.then(|| {
        let ran = job.ended.since(job.started);
        (job.userid, (ran.secs_f64() / job.limit.secs_f64()).clamp(0.0, 1.0) as f32)
    })
}

/// On what a forecast is based.
#[derive(Clone, Copy, Debug)]
pub enum Basis<'a> {
    /// Every job runs to its time limit.
    Limits,
    /// Every job runs as long as its user's jobs usually do.
    Use(&'a Usage),
}

impl Basis<'_> {
    /// When a job will be over that starts at `start`.
    pub(super) fn end(self, user: u32, start: Timestamp, limit: Duration) -> Timestamp {
        let run = match self {
            Basis::Limits => limit,
            Basis::Use(usage) => usage.run(user, limit, Duration::ZERO),
        };
        start + run.max(Duration::from_micros(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_what_ran_longer() {
        let usage = Usage::learn([(1, 0.1), (1, 0.5), (1, 0.9), (1, 0.2), (1, 0.6), (2, 1.0)]);
        let (limit, none) = (Duration::from_secs(100), Duration::ZERO);
        let run = |user, elapsed| usage.run(user, limit, Duration::from_secs(elapsed)).secs_f64().round();
        assert_eq!(run(1, 0), 50.0);
        assert_eq!(run(1, 30), 60.0, "0.5, 0.6 and 0.9 are left");
        assert_eq!(run(1, 95), 100.0, "nobody ran so long");
        assert_eq!(run(2, 0), 60.0, "one job makes no user known: all six count");
        assert_eq!(Usage::default().run(1, limit, none), limit);
        assert_eq!(usage.run(1, Duration::INFINITE, none), Duration::INFINITE);
    }
}
