//! What R says of a grant: cores and GPUs by rank, hosts, properties.

use super::{Written, json};
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use crate::graph::KindId;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// A grant by rank.
#[derive(Debug, Default)]
pub(super) struct Lite {
    /// Ranks by what is granted there, as the text that it is sorted by.
    groups: BTreeMap<String, Idset>,
    hosts: BTreeMap<u32, String>,
    properties: BTreeMap<String, Idset>,
}

impl Lite {
    /// What belongs to a node comes before it in a grant; cores and GPUs in no node are not told.
    pub(super) fn of(written: &Written<'_>) -> Self {
        let graph = written.graph;
        let mut lite = Self::default();
        let (mut cores, mut gpus) = (Idset::new(), Idset::new());
        for granted in &written.grant.vertices {
            let vertex = graph.vertex(granted.vertex);
            match vertex.kind() {
                KindId::CORE => cores.extend(u32::try_from(vertex.id())),
                KindId::GPU => gpus.extend(u32::try_from(vertex.id())),
                KindId::NODE | KindId::STORAGE_NODE => {
                    let Ok(rank) = u32::try_from(graph.given_rank(granted.vertex)) else { continue };
                    if cores.is_empty() && gpus.is_empty() {
                        continue;
                    }
                    let children = children(&std::mem::take(&mut cores), &std::mem::take(&mut gpus));
                    lite.groups.entry(children).or_default().insert(rank);
                    lite.hosts.insert(rank, vertex.name().into_owned());
                    for (name, value) in (written.properties)(granted.vertex) {
                        let property = if value.is_empty() { name } else { format!("{name}={value}") };
                        lite.properties.entry(property).or_default().insert(rank);
                    }
                }
                _ => {}
            }
        }
        lite
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// All hosts in the order of their ranks.
    pub(super) fn hosts(&self) -> Hostlist {
        self.hosts.values().collect()
    }

    /// The groups, ascending by the text of what is granted.
    pub(super) fn write(&self, f: &mut impl Write) -> fmt::Result {
        f.write_char('[')?;
        for (i, (children, ranks)) in self.groups.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, r#"{{"rank": "{ranks}", "children": {children}}}"#)?;
        }
        f.write_char(']')
    }

    /// The properties as a further member; nothing if there are none.
    pub(super) fn write_properties(&self, f: &mut impl Write) -> fmt::Result {
        if self.properties.is_empty() {
            return Ok(());
        }
        f.write_str(r#", "properties": "#)?;
        json::strings(f, self.properties.iter().map(|(name, ranks)| (name, ranks.to_string())))
    }
}

fn children(cores: &Idset, gpus: &Idset) -> String {
    let members = [("core", cores), ("gpu", gpus)];
    let members =
        members.into_iter().filter(|(_, ids)| !ids.is_empty()).map(|(kind, ids)| format!(r#""{kind}": "{ids}""#));
    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
}
