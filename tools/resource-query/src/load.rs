//! From files to graphs.

use crate::options::{LoadFormat, Options};
use sluice::formats::grug::Grug;
use sluice::formats::hwloc::{AllowList, Hwloc};
use sluice::formats::jgf::{CONTAINMENT, Jgf, JgfStatus};
use sluice::formats::r::R;
use sluice::graph::{Graph, Properties, VertexId};
use std::fs::File;
use std::path::Path;
use thiserror::Error;

/// Why a file gives no graph.
#[derive(Debug, Error)]
#[error("{file}: {message}")]
pub struct LoadError {
    /// The file.
    pub file: String,
    /// What is wrong with it.
    pub message: String,
}

/// A graph, and what the file says beside.
pub(crate) struct Loaded {
    pub(crate) graph: Graph,
    /// Properties that R gives to ranks.
    pub(crate) properties: Vec<(VertexId, String)>,
    /// Paths of what JGF marks down.
    pub(crate) down: Vec<String>,
}

pub(crate) fn load(options: &Options) -> Result<Loaded, LoadError> {
    let path = &options.load_file;
    let plain = |graph| Loaded { graph, properties: Vec::new(), down: Vec::new() };
    match options.load_format {
        LoadFormat::Grug => {
            let grug = Grug::parse(bytes(path)?).map_err(|error| bad(path, &error))?;
            Ok(plain(Graph::from_grug(&grug).map_err(|error| bad(path, &error))?.0))
        }
        LoadFormat::Hwloc => {
            let topology = Hwloc::parse(bytes(path)?).map_err(|error| bad(path, &error))?;
            let allowed = allow_list(options.allow_list.as_deref());
            Ok(plain(Graph::from_hwloc([(0, &topology)], &allowed).map_err(|error| bad(path, &error))?.0))
        }
        LoadFormat::Jgf | LoadFormat::JgfShorthand => {
            let mut jgf = jgf(path)?;
            if !options.right {
                // Fluxion's reader of JGF loses units.
                jgf.nodes.iter_mut().for_each(|node| node.unit.clear());
            }
            let (graph, _) = Graph::from_jgf(&jgf).map_err(|error| bad(path, &error))?;
            let down = jgf.nodes.iter().filter(|node| node.status == JgfStatus::Down);
            let down = down.filter_map(|node| node.paths.get(CONTAINMENT).cloned()).collect();
            Ok(Loaded { graph, properties: Vec::new(), down })
        }
        LoadFormat::Rv1exec | LoadFormat::Rv1execForce => {
            let r = r(path)?;
            let hosts = r.ranks.iter().filter_map(|entry| entry.host.as_deref());
            if let Some(host) = hosts.into_iter().find(|host| !has_small_number(host)) {
                return Err(bad(path, &format_args!("expected a number below 2^63 in the host, found {host}")));
            }
            let (graph, properties) = Graph::from_r(&r).map_err(|error| bad(path, &error))?;
            let properties = by_vertex(&graph, &properties);
            Ok(Loaded { graph, properties, down: Vec::new() })
        }
    }
}

fn by_vertex(graph: &Graph, properties: &Properties) -> Vec<(VertexId, String)> {
    let vertices = properties.iter().flat_map(|(name, targets)| {
        let found = targets.iter().filter_map(|id| graph.target(id));
        found.map(|target| (target.vertex, name.to_owned())).collect::<Vec<_>>()
    });
    vertices.collect()
}

/// Whether the digits at the end of a host are a number that an id can be.
fn has_small_number(host: &str) -> bool {
    let digits = &host[host.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    digits.is_empty() || digits.parse::<i64>().is_ok()
}

/// The types of a list that there are; the others can filter nothing.
fn allow_list(text: Option<&str>) -> AllowList {
    let words = text.unwrap_or_default().split(',').filter(|word| AllowList::parse(word).is_ok());
    AllowList::parse(&words.collect::<Vec<_>>().join(",")).unwrap_or_default()
}

fn bytes(path: &Path) -> Result<Vec<u8>, LoadError> {
    std::fs::read(path).map_err(|error| bad(path, &error))
}

pub(crate) fn jgf(path: &Path) -> Result<Jgf, LoadError> {
    let file = File::open(path).map_err(|error| bad(path, &error))?;
    Jgf::read(file).map_err(|error| bad(path, &error))
}

pub(crate) fn r(path: &Path) -> Result<R, LoadError> {
    let text = std::fs::read_to_string(path).map_err(|error| bad(path, &error))?;
    R::parse(&text).map_err(|error| bad(path, &error))
}

/// R as [`r`] reads it, if it names no parts but cores and GPUs. Those are all that R says of a machine, and a job
/// that holds others is not taken over by half.
pub(crate) fn r_of_cores_and_gpus(path: &Path) -> Result<R, LoadError> {
    let r = r(path)?;
    let text = std::fs::read_to_string(path).map_err(|error| bad(path, &error))?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| bad(path, &error))?;
    let entries = json["execution"]["R_lite"].as_array().into_iter().flatten();
    let mut parts = entries.filter_map(|entry| entry["children"].as_object()).flat_map(|parts| parts.keys());
    match parts.find(|part| !matches!(part.as_str(), "core" | "gpu")) {
        Some(part) => Err(bad(path, &format_args!("expected cores and GPUs, found {part}"))),
        None => Ok(r),
    }
}

fn bad(path: &Path, message: &dyn std::fmt::Display) -> LoadError {
    LoadError { file: path.display().to_string(), message: message.to_string() }
}
