//! Standard Workload Format: job traces, one job a line in 18 columns, `-1` for unknown
//! (Parallel Workloads Archive, version 2.2).
//!
//! Decides how a file is read, plain or gzip (told apart by its first bytes), and the three rules by which a job's
//! numbers become a request: [`SwfJob::size`], [`SwfJob::limit`], [`SwfJob::run_time`]. Does not decide what happens
//! to a job without a size or larger than the machine: that is the replay's part. Opens no file.
//!
//! Traces in use deviate from the format; so does this reader:
//!
//! | in the file | here |
//! |---|---|
//! | no header, a byte order mark, header lines without a key, in other encodings, after jobs | read as they are; bytes that are not UTF-8 count as Latin-1 |
//! | leading spaces, tabs, CRLF, blank lines | as one separator, skipped |
//! | a fraction in a column of whole numbers | rounded, with a warning (column 6, average CPU time, keeps its fraction) |
//! | 17 columns | the last is unknown, with a warning; fewer are an error: such a file is cut off |
//! | 19 to 21 columns | executed nodes `{1,2}`, queue name, node specification: [`Extra`] |
//! | more columns | left out, with a warning |
//! | an id twice, submit times that go back, numbers below -1 | kept, with a warning |
//!
//! Invariants: jobs stand in file order, so a stable sort by submit time is deterministic; reading what
//! [`Swf::write`] wrote gives the same header and jobs (line numbers apart).

mod error;
mod header;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use error::{SwfError, SwfWarning, Warning};
pub use header::Header;
pub use read::{read, read_bytes};

use crate::base::Duration;

/// A job trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swf {
    /// What the lines that begin with `;` say.
    pub header: Header,
    /// The jobs in file order.
    pub jobs: Vec<SwfJob>,
    /// What was odd but readable, in file order.
    pub warnings: Vec<SwfWarning>,
}

/// One job, the columns as they stand in the file: -1 is unknown, times are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct SwfJob {
    /// Line in the (unpacked) file, from 1.
    pub line: u32,
    /// Column 1: the job's number, in most files from 1; not always unique.
    pub id: u64,
    /// Column 2: submit time, from the start of the log or, in some files, from 1970.
    pub submit: i64,
    /// Column 3: time from submission to start.
    pub wait: i64,
    /// Column 4: time from start to end.
    pub run: i64,
    /// Column 5: processors that the job had.
    pub procs: i64,
    /// Column 6: CPU time used per processor, with a fraction.
    pub avg_cpu: f64,
    /// Column 7: memory used per processor in kilobytes (some files: bytes).
    pub used_mem: i64,
    /// Column 8: processors asked for.
    pub req_procs: i64,
    /// Column 9: time asked for, the user's estimate.
    pub req_time: i64,
    /// Column 10: memory asked for per processor in kilobytes (some files: bytes).
    pub req_mem: i64,
    /// Column 11: 1 completed, 0 failed, 5 cancelled; 2 to 4 for partial executions.
    pub status: i64,
    /// Column 12: the user's number.
    pub user: i64,
    /// Column 13: the group's number.
    pub group: i64,
    /// Column 14: the executable's number.
    pub executable: i64,
    /// Column 15: the queue's number; [`Header::queues`] may name it.
    pub queue: i64,
    /// Column 16: the partition's number; [`Header::partitions`] may name it.
    pub partition: i64,
    /// Column 17: the id of a job that has to end first.
    pub preceding: i64,
    /// Column 18: time between the end of `preceding` and this job's submission.
    pub think: i64,
    /// Columns 19 to 21, if any of them stands there.
    pub extra: Option<Box<Extra>>,
}

/// Columns 19 to 21 of the variant that wagap-2013 is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// Column 19: the node of each processor that the job had; nodes repeat.
    pub executed_nodes: Vec<u64>,
    /// Column 20: the queue's name.
    pub queue_name: Option<String>,
    /// Column 21: what was asked for, as in `1:ppn=32:x86_64:nfs4`.
    pub node_spec: Option<String>,
}

impl SwfJob {
    /// A job with everything but its id unknown, to fill in.
    pub fn unknown(id: u64) -> SwfJob {
        SwfJob {
            line: 0,
            id,
            submit: -1,
            wait: -1,
            run: -1,
            procs: -1,
            avg_cpu: -1.0,
            used_mem: -1,
            req_procs: -1,
            req_time: -1,
            req_mem: -1,
            status: -1,
            user: -1,
            group: -1,
            executable: -1,
            queue: -1,
            partition: -1,
            preceding: -1,
            think: -1,
            extra: None,
        }
    }

    /// Processors that the job asks for: column 8, else column 5, else none (`no-size`: the job is denied).
    pub fn size(&self) -> Option<u64> {
        [self.req_procs, self.procs].into_iter().find(|n| *n > 0).map(i64::unsigned_abs)
    }

    /// The job's time limit: column 9 where it is positive; `None` means the queue's default, else unlimited.
    pub fn limit(&self) -> Option<Duration> {
        (self.req_time > 0).then(|| Duration::from_secs(self.req_time))
    }

    /// How long the job runs: column 4, and no time at all where that is not positive (it ends at its start instant).
    pub fn run_time(&self) -> Duration {
        Duration::from_secs(self.run)
    }

    /// The queue's name in column 20, if the file has that column.
    pub fn queue_name(&self) -> Option<&str> {
        self.extra.as_ref()?.queue_name.as_deref()
    }
}
