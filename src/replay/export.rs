//! Files that are written after a replay: starts of jobs, and one row per job.

use super::assembly::Finished;
use super::book::JobState;
use crate::base::{Duration, TargetSet, Timestamp};
use std::io::{self, Write};

/// Writes something down once a replay is over.
pub trait Exporter {
    /// Writes it.
    ///
    /// # Errors
    /// What could not be written, and why.
    fn export(&mut self, finished: &Finished) -> Result<(), (String, io::Error)>;
}

/// `--starts`: comment lines with `;`, then id and start of each job that started, in the order of ids. A job that
/// was requeued stands there with its last start.
pub struct Starts<W> {
    to: W,
}

impl<W: Write> Starts<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to }
    }

    fn write(&mut self, finished: &Finished) -> io::Result<()> {
        let (book, jobs) = (&finished.outcome.book, finished.workload.jobs());
        writeln!(self.to, "; {}", finished.scenario.name)?;
        writeln!(self.to, "; job_id start_time (seconds, same origin as the submit times)")?;
        let mut starts: Vec<(u64, Timestamp)> =
            jobs.iter().zip(&book.start).filter(|(_, s)| !s.is_never()).map(|(j, s)| (j.id.0, *s)).collect();
        starts.sort_unstable();
        for (id, start) in starts {
            writeln!(self.to, "{id} {start}")?;
        }
        self.to.flush()
    }
}

impl<W: Write> Exporter for Starts<W> {
    fn export(&mut self, finished: &Finished) -> Result<(), (String, io::Error)> {
        self.write(finished).map_err(|e| ("the starts of jobs".into(), e))
    }
}

/// `--jobs-csv`: a row for each job that started and ended, in the columns of Batsim that evalys reads, in the order of
/// ids. There is no second id and no energy here: `hacky_job_id` repeats the id, `consumed_energy` is -1.
/// `allocated_resources` are target numbers; `stretch` is turnaround over execution time, as Batsim has it.
pub struct JobsCsv<W> {
    to: W,
}

/// The columns.
const COLUMNS: &str = "job_id,hacky_job_id,workload_name,submission_time,requested_number_of_resources,requested_time,\
                       success,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,\
                       consumed_energy,allocated_resources";

impl<W: Write> JobsCsv<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to }
    }

    fn write(&mut self, finished: &Finished) -> io::Result<()> {
        let (book, jobs) = (&finished.outcome.book, finished.workload.jobs());
        writeln!(self.to, "{COLUMNS}")?;
        let mut slots: Vec<usize> = (0..jobs.len()).filter(|s| !book.end[*s].is_never()).collect();
        slots.sort_unstable_by_key(|s| jobs[*s].id);
        for slot in slots {
            let (job, start, end) = (&jobs[slot], book.start[slot], book.end[slot]);
            let workload = book.queues.get(usize::from(book.queue[slot])).map_or("", |q| &**q);
            let (run, turnaround) = (end.since(start), end.since(job.submit));
            let limit = finished.outcome.site.job(job.id).map_or(job.limit, |j| Some(j.limit));
            let limit = limit.filter(|l| !l.is_infinite()).map_or(-1.0, Duration::secs_f64);
            let stretch = if run > Duration::ZERO { turnaround.secs_f64() / run.secs_f64() } else { 1.0 };
            let targets: TargetSet = book.selection[slot].iter().flat_map(|s| s.targets()).collect();
            writeln!(
                self.to,
                "{id},{id},{workload},{submit:.6},{size},{limit:.6},{success},{start:.6},{run:.6},{end:.6},{wait:.6},{turnaround:.6},{stretch:.6},-1,{targets}",
                id = job.id,
                submit = job.submit.secs_f64(),
                size = job.size,
                success = u8::from(book.state[slot] == JobState::Completed),
                start = start.secs_f64(),
                run = run.secs_f64(),
                end = end.secs_f64(),
                wait = start.since(job.submit).secs_f64(),
                turnaround = turnaround.secs_f64(),
                // Ranges with spaces between them, since commas separate columns.
                targets = targets.to_string().replace(',', " "),
            )?;
        }
        self.to.flush()
    }
}

impl<W: Write> Exporter for JobsCsv<W> {
    fn export(&mut self, finished: &Finished) -> Result<(), (String, io::Error)> {
        self.write(finished).map_err(|e| ("the table of jobs".into(), e))
    }
}
