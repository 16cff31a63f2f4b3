//! The machine of a scenario: where its graph comes from, and how nodes are named.

use std::path::{Path, PathBuf};

/// A file that a scenario refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRef {
    /// `file = "…"`: relative to the scenario's directory.
    Own(PathBuf),
    /// `shared = "…"`: relative to the directory of shared data (`SLUICE_SHARED`), which is not part of the project.
    Shared(PathBuf),
}

impl FileRef {
    /// The path to open, given the scenario's directory and that of the shared data.
    pub fn resolve(&self, directory: &Path, shared: &Path) -> PathBuf {
        match self {
            FileRef::Own(path) => directory.join(path),
            FileRef::Shared(path) => shared.join(path),
        }
    }
}

/// `[graph]`: where the resource graph comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphSource {
    /// A file in one of the graph formats.
    File {
        /// Which file.
        file: FileRef,
        /// In which format.
        format: GraphFormat,
    },
    /// `text = """…"""`: the text form, inline.
    Text {
        /// The text.
        text: String,
        /// The line of the scenario on which the text begins (counted from 1).
        line: usize,
    },
    /// `uniform = { nodes, cores, gpus }`: equal nodes.
    Uniform(Uniform),
    /// `swf-header = { file | shared }`: one node of one core for each processor that the header of a trace states (`MaxProcs`, else
    /// `MaxNodes`).
    SwfHeader(FileRef),
}

/// Formats of graph files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// The text form of fixtures and tests (`.graph`).
    Text,
    /// R version 1 (`.json`, RFC 20).
    R,
    /// JSON graph format (`.jgf`, `.jgf.json`).
    Jgf,
}

/// Equal nodes, called `node0`, `node1`, ….
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// How many; at least 1.
    pub nodes: u32,
    /// Cores on each; at least 1.
    pub cores: u32,
    /// Gpus on each.
    pub gpus: u32,
    /// Properties and the nodes (a hostlist) that have them, in the order of the file.
    pub properties: Vec<(String, String)>,
}

/// A set of nodes, as written; resolved against the inventory when it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSet {
    /// `nodes = "node[1-4]"`: a hostlist (RFC 29).
    Hosts(String),
    /// `ranks = "0-3"`: an idset (RFC 22) of execution targets.
    Ranks(String),
}
