//! Commands that change nothing.

use super::{COMMANDS, SEPARATOR, complain, malformed};
use crate::output::Outputs;
use crate::session::{Flow, Session};
use sluice::base::Timestamp;
use sluice::matcher::tree::{Find, Matched, Mode, Status, Visits};
use std::io;

pub(super) fn find(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    if words.len() < 2 {
        return complain(outputs, "ERROR: malformed command: ");
    }
    let criteria = words[1..].join(" ");
    let read = if session.options.right { criteria.parse::<Find>() } else { Find::parse_lowered(&criteria) };
    let Ok(condition) = read else {
        return complain(outputs, format_args!("findfind: invalid criteria: {criteria}."));
    };
    let start = Timestamp::from_secs(0);
    let grant = session.engine.find(&condition, start);
    let found = Matched { at: start, end: start, mode: Mode::Matched, grant, visits: Visits::default() };
    outputs.results().write_all(session.engine.written(session.options.format, &found, None).as_bytes())?;
    writeln!(outputs.results(), "{SEPARATOR}\nINFO: EXPRESSION=\"{criteria}\"\n{SEPARATOR}")?;
    Ok(Flow::Continue)
}

pub(super) fn get_property(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, path] = words else { return malformed(outputs) };
    let vertices = session.engine.vertices_at(path);
    if vertices.is_empty() {
        writeln!(outputs.results(), "Could not find path {path} in resource graph.")?;
    }
    for v in vertices {
        let properties = session.engine.properties(v);
        if properties.is_empty() {
            let uniq_id = session.engine.graph().uniq_id(v);
            writeln!(outputs.results(), "No properties were found for {path} (vtx's uniq_id={uniq_id}).")?;
        }
        for (name, value) in properties {
            writeln!(outputs.results(), "{name}={value}")?;
        }
    }
    Ok(Flow::Continue)
}

pub(super) fn get_status(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, path] = words else { return malformed(outputs) };
    let vertices = session.engine.vertices_at(path);
    if vertices.is_empty() {
        writeln!(outputs.results(), "Could not find path {path} in resource graph.")?;
    }
    for v in vertices {
        let word = match session.engine.status(v) {
            Status::Up => "up",
            Status::Down => "down",
        };
        writeln!(outputs.results(), "{path} is {word}")?;
    }
    Ok(Flow::Continue)
}

pub(super) fn cat(_session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, file, ..] = words else { return malformed(outputs) };
    let console = outputs.console();
    // A file that cannot be read has no lines.
    let text = std::fs::read(file).unwrap_or_default();
    console.write_all(&text)?;
    if text.last().is_some_and(|&last| last != b'\n') {
        writeln!(console)?;
    }
    writeln!(console, "INFO: Jobspec in {file}")?;
    Ok(Flow::Continue)
}

pub(super) fn help(_session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let asked = if let [_, word] = words { Some(*word) } else { None };
    let mut found = false;
    for command in &COMMANDS {
        if asked.is_none_or(|word| word == command.name || word == command.abbreviation) {
            found = true;
            writeln!(outputs.console(), "INFO: {} ({}) -- {}", command.name, command.abbreviation, command.note)?;
        }
    }
    if let Some(word) = asked.filter(|_| !found) {
        writeln!(outputs.console(), "ERROR: unknown command: {word}")?;
    }
    Ok(Flow::Continue)
}
