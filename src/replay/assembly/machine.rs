//! Machines and configurations: what the scenario names, opened and built.

use super::{Assembly, AssemblyError};
use crate::formats::grug::Grug;
use crate::formats::hwloc::Hwloc;
use crate::formats::r::R;
use crate::formats::swf::{self, Swf};
use crate::graph::{Graph, Properties, ReadError};
use crate::replay::engine::targets_of_hosts;
use crate::replay::scenario::{FileRef, GraphSource, Uniform};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Assembly {
    /// Where a file is.
    pub(super) fn path(&self, file: &FileRef) -> PathBuf {
        file.resolve(&self.scenario.directory, &self.run.shared)
    }

    /// A file as text.
    pub(super) fn read_text(path: &Path) -> Result<String, AssemblyError> {
        std::fs::read_to_string(path).map_err(|source| AssemblyError::Io { path: path.to_owned(), source })
    }

    fn graph_file(&self) -> Option<PathBuf> {
        match &self.scenario.graph {
            Some(GraphSource::File { file, .. }) => Some(self.path(file)),
            _ => None,
        }
    }

    fn set_graph(&mut self, graph: Graph, properties: Properties) -> Result<(), AssemblyError> {
        self.graph = Some((Arc::new(graph), Arc::new(properties)));
        Ok(())
    }

    pub(super) fn graph_text(&mut self) -> Result<(), AssemblyError> {
        let (graph, properties) = match &self.scenario.graph {
            Some(GraphSource::Text { text, line }) => {
                Graph::from_text(text).map_err(|source| AssemblyError::Text { line: *line, source })?
            }
            _ => {
                let path = self.graph_file().ok_or(AssemblyError::Incomplete("a graph file"))?;
                let text = Self::read_text(&path)?;
                Graph::from_text(&text).map_err(|e| AssemblyError::File { path, problem: e.to_string() })?
            }
        };
        self.set_graph(graph, properties)
    }

    pub(super) fn graph_r(&mut self) -> Result<(), AssemblyError> {
        let path = self.graph_file().ok_or(AssemblyError::Incomplete("a graph file"))?;
        let r = Self::read_r(&path)?;
        let (graph, properties) = Graph::from_r(&r)?;
        self.set_graph(graph, properties)
    }

    fn read_r(path: &Path) -> Result<R, AssemblyError> {
        let text = Self::read_text(path)?;
        R::parse(&text).map_err(|e| AssemblyError::File { path: path.to_owned(), problem: e.to_string() })
    }

    pub(super) fn graph_jgf(&mut self) -> Result<(), AssemblyError> {
        let path = self.graph_file().ok_or(AssemblyError::Incomplete("a graph file"))?;
        let file = std::fs::File::open(&path).map_err(|source| AssemblyError::Io { path: path.clone(), source })?;
        let loaded = Graph::read_jgf(file).map_err(|e| match e {
            ReadError::Jgf(e) => AssemblyError::File { path, problem: e.to_string() },
            ReadError::Graph(e) => e.into(),
        })?;
        self.set_graph(loaded.graph, loaded.properties)
    }

    pub(super) fn graph_grug(&mut self) -> Result<(), AssemblyError> {
        let path = self.graph_file().ok_or(AssemblyError::Incomplete("a graph file"))?;
        let text = Self::read_text(&path)?;
        let grug = Grug::parse(&text).map_err(|e| AssemblyError::File { path, problem: e.to_string() })?;
        let (graph, properties) = Graph::from_grug(&grug)?;
        self.set_graph(graph, properties)
    }

    pub(super) fn graph_hwloc(&mut self) -> Result<(), AssemblyError> {
        let Some(GraphSource::Hwloc { files, allow }) = &self.scenario.graph else {
            return Err(AssemblyError::Incomplete("topologies"));
        };
        let mut nodes = Vec::new();
        for file in files {
            let path = self.path(file);
            let text = Self::read_text(&path)?;
            nodes.push(Hwloc::parse(&text).map_err(|e| AssemblyError::File { path, problem: e.to_string() })?);
        }
        let (graph, properties) = Graph::from_hwloc((0..).zip(&nodes), allow)?;
        self.set_graph(graph, properties)
    }

    pub(super) fn graph_uniform(&mut self) -> Result<(), AssemblyError> {
        let Some(GraphSource::Uniform(uniform)) = &self.scenario.graph else {
            return Err(AssemblyError::Incomplete("a uniform graph"));
        };
        let Uniform { nodes, cores, gpus, properties: named } = uniform;
        let graph = Graph::uniform(*nodes, *cores, *gpus)?;
        let mut properties = Properties::new();
        for (property, hosts) in named {
            let problem = |problem| AssemblyError::Property { property: property.clone(), problem };
            properties.set_all(property, &targets_of_hosts(&graph, hosts).map_err(problem)?);
        }
        self.set_graph(graph, properties)
    }

    /// One node of one core per processor of the trace.
    pub(super) fn graph_swf_header(&mut self) -> Result<(), AssemblyError> {
        let Some(GraphSource::SwfHeader(file)) = self.scenario.graph.clone() else {
            return Err(AssemblyError::Incomplete("a trace for the machine"));
        };
        let path = self.path(&file);
        let swf = self.trace(&path)?;
        let size = swf.header.max_procs.or(swf.header.max_nodes).filter(|n| *n > 0);
        let size = size.and_then(|n| u32::try_from(n).ok()).ok_or(AssemblyError::NoMachine { path })?;
        let graph = Graph::uniform(size, 1, 0)?;
        self.set_graph(graph, Properties::new())
    }

    /// What the `[resource]` table says.
    pub(super) fn graph_config(&mut self) -> Result<(), AssemblyError> {
        let resource = &self.config.resource;
        let r = match &resource.path {
            Some(path) if resource.entries.is_empty() => {
                resource.withhold(Self::read_r(&self.scenario.directory.join(path))?)?
            }
            _ => resource.to_r()?,
        };
        let (graph, properties) = Graph::from_r(&r)?;
        self.set_graph(graph, properties)
    }

    /// A trace, read once however often it is named.
    pub(super) fn trace(&mut self, path: &Path) -> Result<Arc<Swf>, AssemblyError> {
        if let Some(swf) = self.traces.get(path) {
            return Ok(swf.clone());
        }
        let bytes = std::fs::read(path).map_err(|source| AssemblyError::Io { path: path.to_owned(), source })?;
        let swf = swf::read_bytes(&bytes).map_err(|source| AssemblyError::Swf { path: path.to_owned(), source })?;
        let odd = swf.warnings.len();
        if let Some(first) = swf.warnings.first() {
            let more = if odd > 1 { format!(" ({} more such lines)", odd - 1) } else { String::new() };
            self.warnings.push(format!("{}: {first}{more}", path.display()));
        }
        let swf = Arc::new(swf);
        self.traces.insert(path.to_owned(), swf.clone());
        Ok(swf)
    }

    /// All layers of the configuration as one.
    pub(super) fn config_toml(&mut self) -> Result<(), AssemblyError> {
        self.config = self.scenario.config.clone();
        let known = |queue: &String| self.config.queues.contains_key(queue);
        match self.scenario.settings.stopped.iter().find(|q| !known(q)) {
            None => Ok(()),
            Some(queue) => Err(AssemblyError::UnknownQueue {
                place: "`stopped`".into(),
                queue: queue.clone(),
                known: self.config.queues.keys().cloned().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}
