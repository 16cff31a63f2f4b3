//! The graph as Graphviz or GraphML.

use crate::options::GraphFormat;
use sluice::graph::{Graph, SubsystemId, VertexId};
use sluice::matcher::tree::Engine;
use std::borrow::Cow;
use std::io::{self, Write};

/// Vertices are numbered by place, edges in the order of their source.
pub(crate) fn draw(engine: &Engine, format: GraphFormat, file: &mut impl Write) -> io::Result<()> {
    match format {
        GraphFormat::Dot => dot(engine.graph(), file),
        GraphFormat::GraphMl => graphml(engine, file),
    }
}

fn edges(graph: &Graph) -> impl Iterator<Item = (VertexId, VertexId, SubsystemId)> + '_ {
    graph.vertices().flat_map(move |v| {
        graph.subsystems().flat_map(move |subsystem| graph.successors(v, subsystem).map(move |to| (v, to, subsystem)))
    })
}

fn dot(graph: &Graph, file: &mut impl Write) -> io::Result<()> {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    writeln!(file, "digraph G {{")?;
    for v in graph.vertices() {
        writeln!(file, "{}[label=\"{}\"];", v.index(), quoted(&graph.vertex(v).name()))?;
    }
    for (from, to, subsystem) in edges(graph) {
        let label = quoted(graph.subsystem_name(subsystem));
        writeln!(file, "{}->{} [label=\"{label}\"];", from.index(), to.index())?;
    }
    writeln!(file, "}}")
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"))
}

const VERTEX_KEYS: [(&str, &str); 10] = [
    ("basename", "string"),
    ("id", "long"),
    ("member_of", "string"),
    ("name", "string"),
    ("paths", "string"),
    ("props", "string"),
    ("size", "long"),
    ("type", "string"),
    ("uniq_id", "long"),
    ("unit", "string"),
];

fn set<K: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (K, V)>) -> String {
    let pairs = pairs.into_iter().map(|(key, value)| format!("{}={}", key.as_ref(), value.as_ref()));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

fn graphml(engine: &Engine, file: &mut impl Write) -> io::Result<()> {
    let graph = engine.graph();
    writeln!(file, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(file, r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">"#)?;
    for (i, (name, kind)) in VERTEX_KEYS.iter().enumerate() {
        writeln!(file, r#"  <key id="key{i}" for="node" attr.name="{name}" attr.type="{kind}" />"#)?;
    }
    let edge_key = VERTEX_KEYS.len();
    writeln!(file, r#"  <key id="key{edge_key}" for="edge" attr.name="member_of" attr.type="string" />"#)?;
    writeln!(file, r#"  <graph id="G" edgedefault="directed" parse.nodeids="canonical" parse.edgeids="canonical">"#)?;
    for v in graph.vertices() {
        let vertex = graph.vertex(v);
        let paths: Vec<_> =
            graph.subsystems().filter_map(|s| Some((graph.subsystem_name(s), graph.path_in(v, s)?))).collect();
        let values: [Cow<'_, str>; 10] = [
            vertex.basename().into(),
            vertex.id().to_string().into(),
            set(paths.iter().map(|(name, _)| (name, name))).into(),
            vertex.name(),
            set(paths.iter().map(|(name, path)| (name, path))).into(),
            set(engine.properties(v)).into(),
            vertex.size().to_string().into(),
            graph.kind_name(vertex.kind()).into(),
            graph.uniq_id(v).to_string().into(),
            vertex.unit().into(),
        ];
        writeln!(file, r#"    <node id="n{}">"#, v.index())?;
        for (i, value) in values.iter().enumerate() {
            writeln!(file, r#"      <data key="key{i}">{}</data>"#, escaped(value))?;
        }
        writeln!(file, "    </node>")?;
    }
    for (i, (from, to, subsystem)) in edges(graph).enumerate() {
        let name = graph.subsystem_name(subsystem);
        writeln!(file, r#"    <edge id="e{i}" source="n{}" target="n{}">"#, from.index(), to.index())?;
        writeln!(file, r#"      <data key="key{edge_key}">{}</data>"#, escaped(&set([(name, name)])))?;
        writeln!(file, "    </edge>")?;
    }
    writeln!(file, "  </graph>\n</graphml>")
}
