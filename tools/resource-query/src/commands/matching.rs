//! Commands that give resources to jobs.

use super::{SEPARATOR, complain, malformed, say};
use crate::load;
use crate::number::leading;
use crate::output::Outputs;
use crate::session::{Flow, Job, JobState, Session};
use sluice::base::{Duration, JobId, Timestamp};
use sluice::formats::jobspec::Jobspec;
use sluice::matcher::tree::{MatchError, Matched, Mode, Operation, Source};
use std::io;
use std::path::Path;
use std::time::Instant;

/// What became of a jobspec.
enum Answer {
    Matched(Matched),
    /// It does not fit, now or at all; the job used up its id.
    Failed {
        satisfiable: bool,
    },
    /// It was not even tried, or the search broke off.
    Refused,
}

pub(super) fn match_one(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, operation, file] = words else { return malformed(outputs) };
    let Some(operation) = Operation::from_word(operation) else {
        return complain(outputs, format_args!("ERROR: unknown subcmd {operation}"));
    };
    session.match_file(operation, file, outputs)?;
    Ok(Flow::Continue)
}

pub(super) fn match_many(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, operation, files @ ..] = words else { return malformed(outputs) };
    if files.len() < 2 {
        return malformed(outputs);
    }
    let Some(operation) = Operation::from_word(operation) else {
        return complain(outputs, format_args!("ERROR: unknown subcmd {operation}"));
    };
    for file in files {
        if !session.match_file(operation, file, outputs)? {
            break;
        }
    }
    Ok(Flow::Continue)
}

impl Session {
    /// Matches the jobspec of a file. Says whether to go on with the next.
    fn match_file(&mut self, operation: Operation, file: &str, outputs: &mut Outputs<'_>) -> io::Result<bool> {
        let Ok(text) = std::fs::read(file) else {
            say(outputs, format_args!("ERROR: can't open {file}"))?;
            return Ok(true);
        };
        let job = self.next_job;
        let started = Instant::now();
        let mut queue = None;
        let answer = match self.read_jobspec(&String::from_utf8_lossy(&text)) {
            Ok(spec) => {
                queue.clone_from(&spec.attributes.system.queue);
                self.match_spec(operation, &spec, outputs)?
            }
            Err(message) => {
                say(outputs, format_args!("match_allocate: ERROR: Jobspec error for {job}: {message}"))?;
                Answer::Refused
            }
        };
        if let Answer::Matched(matched) = &answer
            && operation != Operation::Satisfiability
        {
            let text = self.engine.written(self.options.format, matched, queue.as_deref());
            outputs.results().write_all(text.as_bytes())?;
        }
        let took = match answer {
            Answer::Refused => 0.0,
            _ => started.elapsed().as_secs_f64(),
        };
        if took > 0.0 {
            self.times.add(took);
        }
        let go_on = matches!(answer, Answer::Matched(_));
        if !operation.is_question() && !matches!(answer, Answer::Refused) {
            self.next_job += 1;
        }
        if operation == Operation::Satisfiability {
            self.print_satisfiability(!matches!(answer, Answer::Failed { satisfiable: false }), took, outputs)?;
        } else {
            self.print_answer(job, file, &answer, took, outputs)?;
        }
        Ok(go_on)
    }

    /// A jobspec, if all its types are known.
    fn read_jobspec(&self, text: &str) -> Result<Jobspec, String> {
        let spec = Jobspec::from_yaml_str(text).map_err(|error| error.to_string())?;
        let mut open: Vec<_> = spec.resources.iter().collect();
        while let Some(resource) = open.pop() {
            if !self.knows_type(&resource.kind) {
                return Err("Value of \"type\" must be a resource type known to fluxion".to_owned());
            }
            open.extend(&resource.with);
        }
        Ok(spec)
    }

    fn match_spec(&mut self, operation: Operation, spec: &Jobspec, outputs: &mut Outputs<'_>) -> io::Result<Answer> {
        let failure = match self.engine.match_job(operation, JobId(self.next_job), Timestamp::from_secs(0), spec) {
            Ok(matched) => {
                self.visits = matched.visits;
                return Ok(Answer::Matched(matched));
            }
            Err(failure) => failure,
        };
        self.visits = failure.visits;
        if !failure.complaint.is_empty() {
            say(outputs, format_args!("match_allocate: ERROR: {}", failure.complaint))?;
        }
        Ok(match failure.error {
            MatchError::Busy => Answer::Failed { satisfiable: true },
            MatchError::Unsatisfiable { .. } => Answer::Failed { satisfiable: false },
            MatchError::Invalid { reason } => {
                if failure.complaint.is_empty() {
                    say(outputs, format_args!("match_allocate: ERROR: {reason}"))?;
                }
                Answer::Refused
            }
        })
    }

    fn print_times(&self, took: f64, elapse_to_results: bool, outputs: &mut Outputs<'_>) -> io::Result<()> {
        if !self.options.elapse {
            return Ok(());
        }
        let elapse = format!("INFO: ELAPSE={took:.6}");
        if elapse_to_results {
            writeln!(outputs.results(), "{elapse}")?;
        } else {
            writeln!(outputs.console(), "{elapse}")?;
        }
        writeln!(outputs.console(), "INFO: PREORDER VISIT COUNT={}", self.visits.preorder)?;
        writeln!(outputs.console(), "INFO: POSTORDER VISIT COUNT={}", self.visits.postorder)
    }

    fn print_satisfiability(&self, satisfiable: bool, took: f64, outputs: &mut Outputs<'_>) -> io::Result<()> {
        let word = if satisfiable { "Satisfiable" } else { "Unsatisfiable" };
        writeln!(outputs.results(), "{SEPARATOR}\nINFO: {word} request\n{SEPARATOR}")?;
        self.print_times(took, false, outputs)
    }

    fn print_answer(
        &mut self,
        job: u64,
        file: &str,
        answer: &Answer,
        took: f64,
        outputs: &mut Outputs<'_>,
    ) -> io::Result<()> {
        let Answer::Matched(matched) = answer else {
            writeln!(outputs.results(), "{SEPARATOR}\nINFO: No matching resources found")?;
            if matches!(answer, Answer::Failed { satisfiable: false }) {
                writeln!(outputs.results(), "INFO: Unsatisfiable request")?;
            }
            writeln!(outputs.results(), "INFO: JOBID={job}")?;
            self.print_times(took, true, outputs)?;
            return writeln!(outputs.results(), "{SEPARATOR}");
        };
        let at = matched.at.micros().div_euclid(1_000_000);
        let state = if at == 0 { JobState::Allocated } else { JobState::Reserved };
        let mode = if matched.mode == Mode::Matched { "MATCHED" } else { state.word() };
        writeln!(outputs.results(), "{SEPARATOR}\nINFO: JOBID={job}\nINFO: RESOURCES={mode}")?;
        match at {
            0 => writeln!(outputs.results(), "INFO: SCHEDULED AT=Now")?,
            at => writeln!(outputs.results(), "INFO: SCHEDULED AT={at}")?,
        }
        self.print_times(took, false, outputs)?;
        writeln!(outputs.results(), "{SEPARATOR}")?;
        if matched.mode != Mode::Matched {
            self.jobs.insert(job, Job { state, at, file: file.to_owned(), overhead: took });
            let held = if at == 0 { &mut self.allocated } else { &mut self.reserved };
            held.insert(job);
        }
        Ok(())
    }
}

pub(super) fn update(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, mode, reader, file, job, at, duration] = words else { return malformed(outputs) };
    if !matches!(*mode, "allocate" | "reserve") {
        return complain(outputs, format_args!("ERROR: unknown subcmd {mode}"));
    }
    if !matches!(*reader, "jgf" | "rv1exec" | "jgf_shorthand") {
        return complain(outputs, format_args!("ERROR: unsupported reader {reader}"));
    }
    if !Path::new(file).is_file() {
        return complain(outputs, format_args!("ERROR: can't open {file}"));
    }
    let job = leading(job) as u64;
    if session.allocated.contains(&job) || session.reserved.contains(&job) {
        return complain(outputs, "ERROR: existing Jobid ");
    }
    let (at, duration) = (leading(at), leading(duration));
    if at < 0 || duration == 0 {
        return complain(outputs, format_args!("ERROR: invalid time ({at}, {duration})"));
    }
    let started = Instant::now();
    let answer = match session.take_over(reader, Path::new(file), job, at, duration) {
        Ok(matched) => {
            outputs.results().write_all(session.engine.written(session.options.format, &matched, None).as_bytes())?;
            Answer::Matched(matched)
        }
        Err(message) => {
            say(outputs, format_args!("ERROR: traverser run () returned error \nERROR: {message}"))?;
            Answer::Failed { satisfiable: true }
        }
    };
    let took = started.elapsed().as_secs_f64();
    session.times.add(took);
    session.next_job = job;
    session.print_answer(job, file, &answer, took, outputs)?;
    session.next_job = job.wrapping_add(1);
    Ok(Flow::Continue)
}

impl Session {
    fn take_over(
        &mut self,
        reader: &str,
        file: &Path,
        job: u64,
        at: i64,
        duration: i64,
    ) -> Result<Matched, Box<dyn std::error::Error>> {
        let (at, duration) = (Timestamp::from_secs(at), Duration::from_secs(duration));
        let job = JobId(job);
        let matched = match reader {
            "rv1exec" => self.engine.update(job, at, duration, Source::R(&load::r_of_cores_and_gpus(file)?)),
            "jgf" => self.engine.update(job, at, duration, Source::Jgf(&load::jgf(file)?)),
            _ => self.engine.update(job, at, duration, Source::JgfShorthand(&load::jgf(file)?)),
        };
        Ok(matched?)
    }
}
