//! Commands about jobs that hold something.

use super::{SEPARATOR, complain, malformed, say};
use crate::load;
use crate::number::{general, leading};
use crate::output::Outputs;
use crate::session::{Flow, JobState, Session};
use sluice::base::JobId;
use sluice::formats::idset::Idset;
use sluice::matcher::tree::{CancelPart, Cancelled, Visits};
use std::io;
use std::path::Path;

pub(super) fn cancel(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let (job, stats) = match words {
        [_, job] => (job, false),
        [_, job, stats] => (job, *stats == "stats"),
        _ => return malformed(outputs),
    };
    let job = leading(job) as u64;
    if !session.allocated.contains(&job) && !session.reserved.contains(&job) {
        return complain(outputs, format_args!("cancel: ERROR: nonexistent job {job}"));
    }
    match session.engine.cancel(JobId(job)) {
        Ok(cancelled) => session.visits = cancelled.visits,
        Err(error) => {
            say(outputs, error)?;
            return complain(outputs, format_args!("cancel: ERROR: error encountered while removing job {job}"));
        }
    }
    session.forget(job);
    if stats {
        print_visits(session, "CANCEL", outputs)?;
    }
    Ok(Flow::Continue)
}

fn print_visits(session: &Session, what: &str, outputs: &mut Outputs<'_>) -> io::Result<()> {
    let results = outputs.results();
    writeln!(results, "{SEPARATOR}\nINFO: {what} PREORDER COUNT=\"{}\"", session.visits.preorder)?;
    writeln!(results, "INFO: {what} POSTORDER COUNT=\"{}\"\n{SEPARATOR}", session.visits.postorder)
}

impl Session {
    /// A job holds nothing any more.
    fn forget(&mut self, job: u64) {
        self.allocated.remove(&job);
        self.reserved.remove(&job);
        if let Some(job) = self.jobs.get_mut(&job) {
            job.state = JobState::Cancelled;
        }
    }

    fn cancel_file(&mut self, reader: &str, file: &Path, job: u64) -> Result<Cancelled, Box<dyn std::error::Error>> {
        let job = JobId(job);
        if reader == "jgf" {
            return Ok(self.engine.cancel_part(job, CancelPart::Vertices(&load::jgf(file)?))?);
        }
        let ranks: Idset = load::r(file)?.ranks.iter().map(|entry| entry.rank).collect();
        Ok(self.engine.cancel_part(job, CancelPart::Ranks(&ranks))?)
    }
}

pub(super) fn partial_cancel(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let (job, reader, file, stats) = match words {
        [_, job, reader, file] => (job, reader, file, false),
        [_, job, reader, file, stats] => (job, reader, file, *stats == "stats"),
        _ => return malformed(outputs),
    };
    if !matches!(*reader, "jgf" | "rv1exec") {
        return complain(outputs, format_args!("ERROR: unsupported reader {reader}"));
    }
    if !Path::new(file).exists() {
        return complain(outputs, format_args!("ERROR: can't open {file}"));
    }
    let job = leading(job) as u64;
    if session.reserved.contains(&job) && !session.allocated.contains(&job) {
        return complain(outputs, "ERROR: reservations not currently supported by partial cancel");
    }
    if !session.allocated.contains(&job) {
        return complain(outputs, format_args!("ERROR: nonexistent job {job}"));
    }
    match session.cancel_file(reader, Path::new(file), job) {
        Ok(cancelled) => {
            session.visits = cancelled.visits;
            if cancelled.full {
                session.forget(job);
            }
        }
        Err(error) => {
            session.visits = Visits::default();
            writeln!(outputs.console(), "{error}")?;
            say(outputs, format_args!("ERROR: error encountered while removing job {job}"))?;
        }
    }
    if stats {
        print_visits(session, "PARTIAL CANCEL", outputs)?;
    }
    Ok(Flow::Continue)
}

fn print_job(session: &Session, job: u64, outputs: &mut Outputs<'_>) -> io::Result<()> {
    let Some(known) = session.jobs.get(&job) else { return Ok(()) };
    let (state, overhead) = (known.state.word(), general(known.overhead));
    writeln!(outputs.console(), "INFO: {job}, {state}, {}, {}, {overhead}", known.at, known.file)
}

pub(super) fn list(session: &mut Session, _words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    for &job in session.jobs.keys() {
        print_job(session, job, outputs)?;
    }
    Ok(Flow::Continue)
}

pub(super) fn info(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, job] = words else { return malformed(outputs) };
    let job = leading(job) as u64;
    if !session.jobs.contains_key(&job) {
        return complain(outputs, format_args!("info: ERROR: nonexistent job {job}"));
    }
    print_job(session, job, outputs)?;
    Ok(Flow::Continue)
}

pub(super) fn stat(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_] = words else { return malformed(outputs) };
    let (jobs, times) = (session.jobs.len(), session.times);
    let (min, average) = if jobs == 0 { (0.0, 0.0) } else { (times.min, times.sum / jobs as f64) };
    let console = outputs.console();
    writeln!(console, "INFO: Num. of Jobs Matched: {jobs}")?;
    writeln!(console, "INFO: Min. Match Time: {}", general(min))?;
    writeln!(console, "INFO: Max. Match Time: {}", general(times.max))?;
    writeln!(console, "INFO: Avg. Match Time: {}", general(average))?;
    Ok(Flow::Continue)
}
