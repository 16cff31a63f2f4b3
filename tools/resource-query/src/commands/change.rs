//! Commands that change the graph and what stands beside it.

use super::{complain, malformed, say};
use crate::load;
use crate::output::Outputs;
use crate::session::{Flow, Session};
use sluice::formats::idset::Idset;
use sluice::formats::jgf::{CONTAINMENT, Jgf};
use sluice::matcher::tree::Status;
use std::io;
use std::path::Path;

const OTHER_ROOT: &str =
    "add_graph_metadata: failed to add root metadata for containment subsystem. Possible duplicate root.";

/// Whether a graph has a root beside that of the present one.
fn has_other_root(session: &Session, jgf: &Jgf) -> bool {
    let graph = session.engine.graph();
    let roots: Vec<String> = graph.roots().map(|root| graph.path(root)).collect();
    let paths = jgf.nodes.iter().filter_map(|node| node.paths.get(CONTAINMENT));
    let mut tops = paths.filter(|path| path.strip_prefix('/').is_some_and(|rest| !rest.contains('/')));
    tops.any(|top| !roots.contains(top))
}

pub(super) fn attach(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, file] = words else { return malformed(outputs) };
    if !Path::new(file).is_file() {
        return complain(outputs, format_args!("ERROR: can't open {file}"));
    }
    let attached = match load::jgf(Path::new(file)) {
        Ok(jgf) if has_other_root(session, &jgf) => Err(OTHER_ROOT.to_owned()),
        Ok(jgf) => session.engine.attach(&jgf).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match attached {
        Ok(()) => session.learn_types(),
        Err(message) => {
            say(outputs, "ERROR: can't attach JGF subgraph ")?;
            say(outputs, format_args!("ERROR: add_subgraph: ERROR: add subgraph error: Invalid argument"))?;
            say(outputs, format_args!("add_subgraph: ERROR: reader returned error: {message}\n\n"))?;
        }
    }
    Ok(Flow::Continue)
}

pub(super) fn remove(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, what, is_path] = words else { return malformed(outputs) };
    let removed = match *is_path {
        "true" => session.engine.remove(what),
        "false" => match what.parse::<Idset>() {
            Ok(ranks) => session.engine.remove_ranks(&ranks),
            Err(_) => return complain(outputs, "ERROR: failed to decode ranks."),
        },
        _ => return complain(outputs, "ERROR: invalid path boolean input "),
    };
    if let Err(error) = removed {
        say(outputs, "ERROR: can't remove subgraph ")?;
        say(outputs, format_args!("ERROR: {error}"))?;
    }
    Ok(Flow::Continue)
}

pub(super) fn set_property(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, path, assignment] = words else { return malformed(outputs) };
    let Some((name, value)) = assignment.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty())
    else {
        let format = "Incorrect input format. \nPlease use `set-property <resource> PROPERTY=VALUE`.";
        writeln!(outputs.results(), "{format}")?;
        return Ok(Flow::Continue);
    };
    let vertices = session.engine.vertices_at(path);
    if vertices.is_empty() {
        writeln!(outputs.results(), "Couldn't find path {path} in resource graph.")?;
    }
    for v in vertices {
        session.engine.set_property(v, name, value);
    }
    Ok(Flow::Continue)
}

pub(super) fn set_status(session: &mut Session, words: &[&str], outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    let [_, path, status] = words else { return malformed(outputs) };
    if session.engine.vertices_at(path).is_empty() {
        writeln!(outputs.results(), "Could not find path {path} in resource graph.")?;
        return Ok(Flow::Continue);
    }
    let status = match *status {
        "up" => Status::Up,
        "down" => Status::Down,
        _ => return complain(outputs, "ERROR: unrecognized status"),
    };
    // A mark that fails ends the session.
    Ok(if session.engine.set_status(path, status).is_ok() { Flow::Continue } else { Flow::End })
}
