//! Traces in the Standard Workload Format.

use std::fmt::Write;

/// A job of a trace; times in seconds.
pub struct SwfJob {
    pub submit: u64,
    pub run: u64,
    pub nodes: u64,
    pub limit: u64,
    pub user: u64,
    pub queue: u64,
}

/// The trace, its jobs in the order of their submission and numbered from 1. `header` is printed as comments.
pub fn write(header: &str, mut jobs: Vec<SwfJob>) -> String {
    jobs.sort_by_key(|job| job.submit);
    let mut text = String::new();
    for line in header.lines() {
        let _ = writeln!(text, "; {line}");
    }
    for (index, job) in jobs.iter().enumerate() {
        let SwfJob { submit, run, nodes, limit, user, queue } = job;
        let id = index + 1;
        let _ = writeln!(
            text,
            "{id:>5} {submit:>7} -1 {run:>6} {nodes:>3} -1 -1 {nodes:>3} {limit:>6} -1 1 {user:>3} 1 -1 {queue} -1 -1 -1"
        );
    }
    text
}
