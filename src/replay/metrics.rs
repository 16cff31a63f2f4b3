//! Figures of a replay, from what has become of each job.
//!
//! Definitions. *wait*: last start − submit, over the jobs that started. *Bounded slowdown*: max(1, (wait + run) /
//! max(10 s, run)), over the jobs that started and ended; run is what they really ran. *Makespan*: from the first submission to
//! the last end of a job. *Utilization*: core-time held by jobs from start to end (housekeeping is not counted), over
//! the core-time of the machine within the makespan; a target without cores counts as one core. A queue's utilization
//! has the machine as its denominator too, so that the queues' add up to the whole; its makespan is that of its own
//! jobs. All jobs count; nothing is cut at either end. The median is the mean of the middle two where there are two;
//! p90 and p95 are the smallest waits that are not exceeded by 90 and 95 % of the jobs.

use super::book::{Book, JobState, NO_QUEUE};
use super::measure::ForecastFigures;
use super::nested::LevelFigures;
use super::workload::Workload;
use crate::base::{Duration, Timestamp};
use indexmap::IndexMap;
use serde::Serialize;

/// Jobs shorter than this count as this long in the bounded slowdown.
const SLOWDOWN_BOUND: Duration = Duration::from_secs(10);

/// How many jobs there are, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// All that were submitted: the sum of the next seven.
    pub submitted: u64,
    /// Ran and ended by themselves.
    pub completed: u64,
    /// Ran and failed.
    pub failed: u64,
    /// Cancelled, waiting or running.
    pub cancelled: u64,
    /// Will never run.
    pub denied: u64,
    /// Wait in a scheduler.
    pub pending: u64,
    /// Kept outside the schedulers.
    pub held: u64,
    /// Run.
    pub running: u64,
    /// How often a job had to wait again: events, not jobs.
    pub requeued: u64,
}

impl JobCounts {
    /// Adds those of another group of jobs.
    pub(crate) fn add(&mut self, other: &JobCounts) {
        self.submitted += other.submitted;
        self.completed += other.completed;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.denied += other.denied;
        self.pending += other.pending;
        self.held += other.held;
        self.running += other.running;
        self.requeued += other.requeued;
    }
}

/// Waiting times, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waits {
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Longest.
    pub max: f64,
}

/// Bounded slowdown, a ratio of at least 1 (0 where no job ended).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Slowdown {
    /// Arithmetic mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// The figures of all jobs or of one queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Job counts.
    pub jobs: JobCounts,
    /// Waiting times.
    pub wait_s: Waits,
    /// Bounded slowdown.
    pub bounded_slowdown: Slowdown,
    /// From first submission to last end, in seconds.
    pub makespan_s: f64,
    /// Share of the machine's core-time that was held, 0 to 1.
    pub utilization: f64,
}

/// What a queue gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DonorFigures {
    /// How many targets began to leave.
    pub targets: u64,
    /// For how long they were empty for it, in target-seconds.
    pub idle_target_s: f64,
    /// What jobs had done that were preempted for it, in target-seconds.
    pub lost_target_s: f64,
    /// From when they were asked for to the last of them that arrived or went back, in seconds; over several switches the
    /// longest. Of the calendar's it counts from the instant of the switch. None: some are on their way at the end.
    pub took_s: Option<f64>,
}

/// What one switch cost: the targets that began to leave at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SwitchFigures {
    /// When, in seconds.
    pub at_s: f64,
    /// The name of the planned switch, or of the calendar's entries; empty: a command.
    pub name: String,
    /// When it was asked for, in seconds; of the calendar's none.
    pub requested_s: Option<f64>,
    /// How many targets began to leave.
    pub targets: u64,
    /// How many arrived in another queue.
    pub moved: u64,
    /// How many went back.
    pub cancelled: u64,
    /// How many are on their way at the end.
    pub open: u64,
    /// For how long targets were empty for it, in target-seconds.
    pub idle_target_s: f64,
    /// What jobs had done that were preempted for it, in target-seconds: all targets of such a job, from its start to its
    /// end.
    pub lost_target_s: f64,
    /// From its instant to the last target that arrived or went back, in seconds.
    pub drained_s: f64,
    /// From when it was asked for to that, in seconds; of the calendar's from its instant. None: some are on their way at
    /// the end.
    pub took_s: Option<f64>,
    /// The same by donor.
    pub donors: IndexMap<String, DonorFigures>,
}

/// Donations of targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DonationFigures {
    /// Targets that arrived in another queue.
    pub moved: u64,
    /// Targets that went back to their donor.
    pub cancelled: u64,
    /// Mean time from leaving to arriving, over those that moved, in seconds.
    pub mean_s: f64,
    /// Longest such time, in seconds.
    pub max_s: f64,
    /// Target-seconds for which moving kept targets empty: from the last release to the arrival, before the move from its
    /// announcement on and only while jobs of the donor waited.
    pub drain_idle_target_s: f64,
    /// What jobs had done that were preempted to move targets, in target-seconds.
    pub lost_target_s: f64,
    /// Mean time of a switch from when it was asked for to its last target, over the switches that came to an end, in
    /// seconds.
    pub took_mean_s: f64,
    /// Longest such time, in seconds.
    pub took_max_s: f64,
    /// The same by donor, of all switches.
    pub donors: IndexMap<String, DonorFigures>,
}

/// What a queue borrowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BorrowerFigures {
    /// How many targets were lent to it, each as often as it was.
    pub lent: u64,
    /// Most at once.
    pub most: u64,
    /// Target-seconds on loan.
    pub target_s: f64,
}

/// Why loans ended, in targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoanEnds {
    /// Their time came.
    pub expired: u64,
    /// A job of the lender started on them.
    pub wanted: u64,
    /// The borrower had nothing to run on them.
    pub unused: u64,
    /// Floor, cap or configuration allowed them no more.
    pub withdrawn: u64,
    /// Somebody ended them.
    pub recalled: u64,
    /// A switch, a stop or a removal took them from the lender or the borrower.
    pub lost: u64,
}

/// Loans of targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoanFigures {
    /// How many targets were lent, each as often as it was.
    pub lent: u64,
    /// How often the loan of one was prolonged.
    pub prolonged: u64,
    /// Most at once.
    pub most: u64,
    /// How many are on loan at the end.
    pub open: u64,
    /// Target-seconds on loan.
    pub target_s: f64,
    /// Why loans ended.
    pub ended: LoanEnds,
    /// The same by borrower.
    pub borrowers: IndexMap<String, BorrowerFigures>,
}

/// Jobs that were made to give way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PreemptedFigures {
    /// Runs of jobs that were signalled.
    pub jobs: u64,
    /// Of these, how many wait, or waited, again.
    pub requeued: u64,
    /// How many were over.
    pub cancelled: u64,
    /// How many completed before they were killed.
    pub completed: u64,
    /// For how long the others had held their nodes, in node-seconds.
    pub lost_node_s: f64,
}

/// What preemption cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PreemptionFigures {
    /// All together.
    #[serde(flatten)]
    pub total: PreemptedFigures,
    /// By the queue of the jobs that gave way.
    pub queues: IndexMap<String, PreemptedFigures>,
}

/// Checks of the invariants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InvariantFigures {
    /// How many checks were made.
    pub checked: u64,
    /// How many of them failed.
    pub violated: u64,
}

/// The real time that scheduling took, where it was taken: it stands in reports alone, no decision knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SchedulingFigures {
    /// How often the schedulers were called.
    pub steps: u64,
    /// All of it, in seconds: ownership, passes, and what follows from them.
    pub total_s: f64,
    /// The same divided by the number of passes, in microseconds.
    pub per_pass_us: f64,
    /// The longest call, in milliseconds.
    pub step_max_ms: f64,
}

/// The result of a replay; its fields are the keys of `--json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// All jobs together.
    #[serde(flatten)]
    pub total: Figures,
    /// Each queue, in the order in which they were first seen.
    pub queues: IndexMap<String, Figures>,
    /// Donations.
    pub donations: DonationFigures,
    /// Loans.
    pub loans: LoanFigures,
    /// What each switch cost, by time.
    pub switches: Vec<SwitchFigures>,
    /// What preemption cost.
    pub preemption: PreemptionFigures,
    /// How good forecasts were, if they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ForecastFigures>,
    /// Each level of nesting, this one first; left out where no job runs an instance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelFigures>,
    /// Scheduling passes, over all queues and instants.
    pub passes: u64,
    /// How long they took, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SchedulingFigures>,
    /// Checks of the invariants.
    pub invariants: InvariantFigures,
    /// Digest of all decisions, 16 hexadecimal digits.
    pub digest: String,
    /// Real time of the replay, in seconds.
    pub wall_s: f64,
    /// Submitted jobs per second of real time.
    pub jobs_per_s: f64,
}

impl Report {
    /// Takes over how long the replay took in real time, in seconds.
    pub fn measured(&mut self, wall_s: f64) {
        self.wall_s = wall_s;
        self.jobs_per_s = self.total.jobs.submitted as f64 / wall_s.max(f64::MIN_POSITIVE);
    }
}

/// What the machine offered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    /// Core-microseconds within the makespan.
    pub core_micros: i128,
}

/// Accumulates one group of jobs.
#[derive(Default)]
struct Sums {
    counts: JobCounts,
    waits: Vec<i64>,
    slowdown: f64,
    slowdown_max: f64,
    slowed: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    held: i128,
}

impl Sums {
    fn add(&mut self, book: &Book, slot: usize, submit: Timestamp, cores: u64) {
        let counts = &mut self.counts;
        counts.submitted += 1;
        *match book.state[slot] {
            JobState::Completed => &mut counts.completed,
            JobState::Failed => &mut counts.failed,
            JobState::Cancelled => &mut counts.cancelled,
            JobState::Denied => &mut counts.denied,
            JobState::Pending | JobState::Unsubmitted => &mut counts.pending,
            JobState::Held => &mut counts.held,
            JobState::Running => &mut counts.running,
        } += 1;
        self.first = Some(self.first.map_or(submit, |f| f.min(submit)));
        let start = book.start[slot];
        if start.is_never() {
            return;
        }
        let wait = start.since(submit);
        self.waits.push(wait.micros());
        let end = book.end[slot];
        if end.is_never() {
            return;
        }
        let run = end.since(start);
        let slowdown = (wait + run).micros() as f64 / run.max(SLOWDOWN_BOUND).micros() as f64;
        self.slowdown += slowdown.max(1.0);
        self.slowdown_max = self.slowdown_max.max(slowdown.max(1.0));
        self.slowed += 1;
        self.last = self.last.max(Some(end));
        self.held += i128::from(cores) * i128::from(run.micros());
    }

    fn figures(mut self, capacity: Capacity) -> Figures {
        let makespan = match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first),
            _ => Duration::ZERO,
        };
        let mean = |sum: f64, n: u64| if n == 0 { 0.0 } else { sum / n as f64 };
        let utilization = if capacity.core_micros > 0 { self.held as f64 / capacity.core_micros as f64 } else { 0.0 };
        Figures {
            jobs: self.counts,
            wait_s: waits(&mut self.waits),
            bounded_slowdown: Slowdown { mean: mean(self.slowdown, self.slowed), max: self.slowdown_max },
            makespan_s: makespan.secs_f64(),
            utilization,
        }
    }
}

fn waits(micros: &mut [i64]) -> Waits {
    let n = micros.len();
    if n == 0 {
        return Waits::default();
    }
    let secs = |micros: i64| micros as f64 / 1e6;
    let sum: i128 = micros.iter().map(|w| i128::from(*w)).sum();
    let mut nth = |k: usize| *micros.select_nth_unstable(k).1;
    let median = (secs(nth((n - 1) / 2)) + secs(nth(n / 2))) / 2.0;
    let p90 = secs(nth((n * 90).div_ceil(100) - 1));
    let p95 = secs(nth((n * 95).div_ceil(100) - 1));
    Waits { mean: sum as f64 / n as f64 / 1e6, median, p90, p95, max: secs(nth(n - 1)) }
}

/// The first submission and the last end, over all submitted jobs.
pub fn span(workload: &Workload, book: &Book) -> Option<(Timestamp, Timestamp)> {
    let first = workload.jobs().first()?.submit;
    let last = book.end.iter().copied().filter(|e| !e.is_never()).max()?;
    Some((first, last))
}

/// The figures of all jobs, and of each queue. `cores` holds, by slot, how many cores the job's last run held.
pub fn figures(
    workload: &Workload,
    book: &Book,
    cores: &[u32],
    capacity: Capacity,
) -> (Figures, IndexMap<String, Figures>) {
    let mut total = Sums::default();
    let mut queues: Vec<Sums> = book.queues.iter().map(|_| Sums::default()).collect();
    let submitted = |slot: usize| book.state[slot] != JobState::Unsubmitted;
    for (slot, job) in workload.jobs().iter().enumerate().filter(|(slot, _)| submitted(*slot)) {
        let cores = u64::from(cores[slot]);
        total.add(book, slot, job.submit, cores);
        if book.queue[slot] != NO_QUEUE {
            queues[usize::from(book.queue[slot])].add(book, slot, job.submit, cores);
        }
    }
    for (queue, sums) in queues.iter_mut().enumerate() {
        sums.counts.requeued = book.requeued[queue];
        sums.held += book.lost[queue];
    }
    total.counts.requeued = book.requeued.iter().sum();
    total.held += book.lost.iter().sum::<i128>();
    let queues = queues.into_iter().zip(&book.queues).map(|(sums, name)| (name.to_string(), sums.figures(capacity)));
    let queues = queues.collect();
    (total.figures(capacity), queues)
}

#[cfg(test)]
mod tests {
    use super::super::workload::tests::job;
    use super::*;
    use crate::matcher::Selection;
    use std::sync::Arc;

    fn secs(s: i64) -> Timestamp {
        Timestamp::from_secs(s)
    }

    #[test]
    fn quantiles_of_small_sets() {
        let of = |secs: &[i64]| waits(&mut secs.iter().map(|s| s * 1_000_000).collect::<Vec<_>>());
        assert_eq!(of(&[]), Waits::default());
        assert_eq!(of(&[7]), Waits { mean: 7.0, median: 7.0, p90: 7.0, p95: 7.0, max: 7.0 });
        let twenty: Vec<i64> = (1..=20).rev().collect();
        assert_eq!(of(&twenty), Waits { mean: 10.5, median: 10.5, p90: 18.0, p95: 19.0, max: 20.0 });
    }

    #[test]
    fn figures_follow_their_definitions() {
        let workload = Workload::new(vec![job(1, 0), job(2, 0), job(3, 50)], vec![]).unwrap();
        let mut book = Book::new(3, false);
        let queue = book.queue_number("batch");
        book.started(0, secs(0), queue, Arc::new(Selection::default()));
        book.ended(0, secs(100), JobState::Completed);
        book.started(1, secs(30), queue, Arc::new(Selection::default()));
        book.ended(1, secs(35), JobState::Failed);
        book.state[2] = JobState::Denied;
        let capacity = Capacity { core_micros: 4 * 100 * 1_000_000 };
        let (total, queues) = figures(&workload, &book, &[2, 4, 0], capacity);
        assert_eq!(total.jobs.submitted, 3);
        assert_eq!((total.jobs.completed, total.jobs.failed, total.jobs.denied), (1, 1, 1));
        assert_eq!((total.wait_s.mean, total.wait_s.max), (15.0, 30.0));
        // Job 1: (0 + 100) / 100; job 2: (30 + 5) / 10.
        assert_eq!(total.bounded_slowdown, Slowdown { mean: 2.25, max: 3.5 });
        assert_eq!((total.makespan_s, total.utilization), (100.0, 220.0 / 400.0));
        assert_eq!(queues["batch"].jobs.submitted, 2);
        assert_eq!(span(&workload, &book), Some((secs(0), secs(100))));
    }
}
