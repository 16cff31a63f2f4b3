//! The same commands on our engine in this process: jobspecs read before; R written where the row asks for it, since
//! otherwise nobody reads it.

use crate::rows::Case;
use sluice::base::{JobId, Timestamp};
use sluice::formats::grug::Grug;
use sluice::formats::jobspec::Jobspec;
use sluice::graph::Graph;
use sluice::matcher::tree::{Engine, Format, Matched, Operation, Options, Status, Written};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Mean seconds of the matches that are measured.
pub(crate) fn per_match(graph: &Path, case: &Case) -> Result<f64, Box<dyn Error>> {
    let (graph, _) = Graph::from_grug(&Grug::parse(std::fs::read(graph)?)?)?;
    let options = Options { policy: case.policy.parse()?, ..Options::default() };
    let mut engine = Engine::new(Arc::new(graph), options)?;
    let mut specs = BTreeMap::new();
    for (file, text) in &case.jobspecs {
        specs.insert(file.display().to_string(), Jobspec::from_yaml_str(text)?);
    }
    let (mut job, mut done, mut measured, mut total) = (0, 0, 0u32, Duration::ZERO);
    for command in &case.commands {
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["match", operation, file] => {
                let operation = Operation::from_word(operation).ok_or("an operation that there is")?;
                let spec = specs.get(file).ok_or("a jobspec of the case")?;
                job += 1;
                let started = Instant::now();
                let answer = engine.match_job(operation, JobId(job), Timestamp::from_secs(0), spec);
                if let (true, Ok(matched)) = (case.writes_r(), &answer) {
                    std::hint::black_box(r_of(&engine, matched));
                }
                let took = started.elapsed();
                std::hint::black_box(answer.is_ok());
                done += 1;
                if done > case.unmeasured {
                    measured += 1;
                    total += took;
                }
            }
            ["cancel", id] => {
                // A job that did not fit holds nothing.
                let _ = engine.cancel(JobId(id.parse()?));
            }
            ["set-property", path, property] => {
                let (name, value) = property.split_once('=').ok_or("a property with a value")?;
                for v in engine.vertices_at(path) {
                    engine.set_property(v, name, value);
                }
            }
            ["set-status", path, _] => engine.set_status(path, Status::Down)?,
            _ => return Err(format!("expected a command of a row, found {command}").into()),
        }
    }
    Ok(total.as_secs_f64() / f64::from(measured.max(1)))
}

fn r_of(engine: &Engine, matched: &Matched) -> String {
    let properties = |v| engine.properties(v);
    let written = Written {
        format: Format::Rv1Nosched,
        graph: engine.graph(),
        grant: &matched.grant,
        properties: &properties,
        start: matched.at,
        end: matched.end,
        queue: None,
    };
    written.to_string()
}
