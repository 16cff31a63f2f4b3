//! JGF of a grant.

use super::super::outcome::Granted;
use super::{Written, json};
use crate::graph::{SubsystemId, VertexId};
use std::fmt::{self, Write};

impl Written<'_> {
    /// The graph, without an end of line. `size` is what is needed, not what there is.
    pub(super) fn jgf(&self, f: &mut impl Write, shorthand: bool) -> fmt::Result {
        let shown = || self.grant.vertices.iter().filter(move |granted| !(shorthand && granted.exclusive_parent));
        f.write_str(r#"{"graph": {"nodes": ["#)?;
        for (i, granted) in shown().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            self.node(f, granted)?;
        }
        f.write_str(r#"], "edges": ["#)?;
        let edges = shown().filter_map(|granted| Some((granted.vertex, granted.edge?)));
        for (i, (target, (source, subsystem))) in edges.enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            self.edge(f, source, target, subsystem)?;
        }
        f.write_str("]}")?;
        if shorthand && self.grant.vertices.iter().any(|granted| granted.exclusive_parent) {
            f.write_str(r#", "writer": "fluxion:jgf_shorthand""#)?;
        }
        f.write_char('}')
    }

    fn node(&self, f: &mut impl Write, granted: &Granted) -> fmt::Result {
        let v = granted.vertex;
        let vertex = self.graph.vertex(v);
        let (kind, basename, name) = (self.graph.kind_name(vertex.kind()), vertex.basename(), vertex.name());
        write!(f, r#"{{"id": "{}", "metadata": {{"type": "#, self.graph.uniq_id(v))?;
        json::string(f, kind)?;
        if basename != kind {
            f.write_str(r#", "basename": "#)?;
            json::string(f, basename)?;
        }
        if !is_made_of(&name, basename, vertex.id()) {
            f.write_str(r#", "name": "#)?;
            json::string(f, &name)?;
        }
        write!(f, r#", "id": {}, "rank": {}"#, vertex.id(), self.graph.given_rank(v))?;
        let properties = (self.properties)(v);
        if !properties.is_empty() {
            f.write_str(r#", "properties": "#)?;
            json::strings(f, &properties)?;
        }
        if !vertex.unit().is_empty() {
            f.write_str(r#", "unit": "#)?;
            json::string(f, vertex.unit())?;
        }
        if granted.exclusive {
            f.write_str(r#", "exclusive": true"#)?;
        }
        if granted.needs != 1 {
            write!(f, r#", "size": {}"#, granted.needs)?;
        }
        let graph = self.graph;
        let paths = graph.subsystems().filter_map(|s| Some((graph.subsystem_name(s), graph.path_in(v, s)?)));
        f.write_str(r#", "paths": "#)?;
        json::strings(f, paths)?;
        if let Some(label) = &granted.label {
            f.write_str(r#", "ephemeral": "#)?;
            json::strings(f, [("label", label)])?;
        }
        if !granted.counts.is_empty() {
            f.write_str(r#", "agfilter": "#)?;
            let text = |(kind, count): &(String, super::super::FilterCount)| {
                (kind.clone(), format!("used:{}, total:{}", count.used, count.total))
            };
            json::strings(f, granted.counts.iter().map(text))?;
        }
        f.write_str("}}")
    }

    fn edge(&self, f: &mut impl Write, source: VertexId, target: VertexId, subsystem: SubsystemId) -> fmt::Result {
        write!(f, r#"{{"source": "{}", "target": "{}""#, self.graph.uniq_id(source), self.graph.uniq_id(target))?;
        if subsystem != SubsystemId::CONTAINMENT {
            f.write_str(r#", "metadata": {"subsystem": "#)?;
            json::string(f, self.graph.subsystem_name(subsystem))?;
            f.write_char('}')?;
        }
        f.write_char('}')
    }
}

/// Whether a name is a basename followed by a number as it is printed.
fn is_made_of(name: &str, basename: &str, id: i64) -> bool {
    name.strip_prefix(basename).is_some_and(|rest| {
        let mut digits = String::new();
        write!(digits, "{id}").is_ok() && rest == digits
    })
}
