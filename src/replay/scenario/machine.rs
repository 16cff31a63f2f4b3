//! The machine of a scenario: where its graph comes from, and how nodes are named.

use super::fields::{Fields, Item};
use crate::formats::hwloc::AllowList;
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
    /// `hwloc = ["…", …]`: a node for each file, ranks in their order.
    Hwloc {
        /// The files.
        files: Vec<FileRef>,
        /// `allow = "node,core"`: which types are wanted.
        allow: AllowList,
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
    /// A recipe (`.graphml`).
    Grug,
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

/// Reads `file` or `shared`, whichever is there.
pub(super) fn read_file(fields: &Fields<'_, '_>) -> Option<FileRef> {
    let item = fields.one_of(&["file", "shared"])?;
    let path = PathBuf::from(item.name()?);
    Some(if item.key == "file" { FileRef::Own(path) } else { FileRef::Shared(path) })
}

/// Reads `nodes` or `ranks`, whichever is there.
pub(super) fn read_nodes(fields: &Fields<'_, '_>) -> Option<NodeSet> {
    let item = fields.one_of(&["nodes", "ranks"])?;
    if item.key == "nodes" { item.hosts().map(NodeSet::Hosts) } else { item.ids().map(NodeSet::Ranks) }
}

pub(super) fn read_graph(item: &Item<'_, '_>) -> Option<GraphSource> {
    let fields = item.fields("[graph]")?;
    let format = fields.get("format");
    let allow = fields.get("allow");
    let Some(source) = fields.one_of(&["file", "shared", "text", "uniform", "swf-header", "hwloc"]) else {
        fields.finish();
        return None;
    };
    let graph = match source.key {
        "text" => source.text().map(|text| {
            // The first line break after the quotes does not belong to the text.
            let opening = &source.src.text[source.value.span().start..];
            let skipped = usize::from(opening.trim_start_matches(['"', '\'']).starts_with(['\n', '\r']));
            GraphSource::Text { text: text.to_owned(), line: source.line() + skipped }
        }),
        "uniform" => read_uniform(&source).map(GraphSource::Uniform),
        "hwloc" => read_hwloc(&source, allow.as_ref()),
        "swf-header" => source.fields("swf-header").and_then(|f| {
            let file = read_file(&f);
            f.finish();
            file.map(GraphSource::SwfHeader)
        }),
        key => source.name().and_then(|name| {
            let format = match format {
                Some(item) => item.word(&[
                    ("text", GraphFormat::Text),
                    ("R", GraphFormat::R),
                    ("jgf", GraphFormat::Jgf),
                    ("grug", GraphFormat::Grug),
                ])?,
                None => match format_of(&name) {
                    Some(format) => format,
                    None => return source.wrong("a file ending in .graph, .json, .jgf or .graphml, or a `format`"),
                },
            };
            let path = PathBuf::from(name);
            let file = if key == "file" { FileRef::Own(path) } else { FileRef::Shared(path) };
            Some(GraphSource::File { file, format })
        }),
    };
    if let Some(format) = format.filter(|_| !matches!(source.key, "file" | "shared")) {
        fields.src.conflict(format.line(), "`format` goes with a graph file only");
    }
    if let Some(allow) = allow.filter(|_| source.key != "hwloc") {
        fields.src.conflict(allow.line(), "`allow` goes with `hwloc` only");
    }
    fields.finish();
    graph
}

fn format_of(name: &str) -> Option<GraphFormat> {
    let formats = [
        (".graph", GraphFormat::Text),
        (".jgf", GraphFormat::Jgf),
        (".jgf.json", GraphFormat::Jgf),
        (".json", GraphFormat::R),
        (".graphml", GraphFormat::Grug),
    ];
    formats.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format)
}

fn read_hwloc(item: &Item<'_, '_>, allow: Option<&Item<'_, '_>>) -> Option<GraphSource> {
    let files: Vec<FileRef> = item.names()?.into_iter().map(|name| FileRef::Own(name.into())).collect();
    if files.is_empty() {
        return item.wrong("at least one file");
    }
    let allow = match allow {
        None => AllowList::all(),
        Some(item) => match AllowList::parse(item.text()?) {
            Ok(allow) => allow,
            Err(_) => return item.wrong(format!("a list of types among {}", AllowList::words())),
        },
    };
    Some(GraphSource::Hwloc { files, allow })
}

fn read_uniform(item: &Item<'_, '_>) -> Option<Uniform> {
    let fields = item.fields("uniform")?;
    let nodes = fields.need("nodes").and_then(|i| i.small(1));
    let cores = fields.get("cores").map_or(Some(1), |i| i.small(1));
    let gpus = fields.get("gpus").map_or(Some(0), |i| i.small(0));
    let properties = fields.get("properties").map_or(Some(Vec::new()), |i| i.host_pairs());
    fields.finish();
    Some(Uniform { nodes: nodes?, cores: cores?, gpus: gpus?, properties: properties? })
}
