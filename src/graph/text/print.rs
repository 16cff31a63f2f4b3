//! From a graph to text: equal neighbours share a line.

use crate::base::VertexId;
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use crate::formats::jgf::trailing_number;
use crate::graph::Properties;
use crate::graph::names::SubsystemId;
use crate::graph::store::Graph;
use std::fmt::Write;

/// One line to be, with all that stands below it.
struct Group {
    kind: String,
    attributes: String,
    body: Vec<String>,
    ids: Vec<i64>,
    /// Names that a hostlist can hold and whose ids they say themselves; or one name, quoted, with its id beside.
    names: Names,
    /// What only the first of the group may say.
    rank: String,
}

enum Names {
    None,
    Listed(Vec<String>),
    Quoted(String),
}

impl Graph {
    /// The graph in the text form, with the properties of its targets. Numbers of targets, those of
    /// [`Graph::uniq_id`] and the version are not in it.
    pub fn to_text(&self, properties: &Properties) -> String {
        // From the last vertex to the first, so that what is below a vertex is there before the vertex.
        let mut bodies: Vec<Vec<String>> = vec![Vec::new(); self.len()];
        for v in self.vertices().rev().filter(|&v| self.is_contained(v)) {
            if self.children(v).next().is_some() {
                bodies[v.index()] = self.lines(self.children(v), properties, &mut bodies);
            }
        }
        let mut text = String::new();
        for line in self.lines(self.roots(), properties, &mut bodies) {
            text.push_str(&line);
            text.push('\n');
        }
        let loose = self.vertices().filter(|&v| !self.is_contained(v));
        for line in self.lines(loose, properties, &mut bodies) {
            let _ = writeln!(text, "@loose {line}");
        }
        for (from, to, subsystem) in self.edges_beside_tree() {
            let _ = writeln!(text, "@edge {} {from} {to}", word(self.subsystem_name(subsystem)));
        }
        text
    }

    /// Siblings as lines, without indentation of their own. Takes their bodies.
    fn lines(
        &self,
        siblings: impl Iterator<Item = VertexId>,
        properties: &Properties,
        bodies: &mut [Vec<String>],
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let mut open: Option<Group> = None;
        for v in siblings {
            let body = std::mem::take(&mut bodies[v.index()]);
            let next = self.group(v, properties, body);
            open = Some(match open {
                None => next,
                Some(mut group) => match group.absorb(next) {
                    None => group,
                    Some(next) => {
                        group.print(&mut lines);
                        next
                    }
                },
            });
        }
        if let Some(group) = open {
            group.print(&mut lines);
        }
        lines
    }

    fn group(&self, v: VertexId, properties: &Properties, body: Vec<String>) -> Group {
        let vertex = self.vertex(v);
        let (kind, name, id) = (self.kind_name(vertex.kind()), vertex.name(), vertex.id());
        let mut attributes = String::new();
        if vertex.basename() != kind {
            let _ = write!(attributes, " basename={}", word(vertex.basename()));
        }
        match (vertex.size(), vertex.unit()) {
            (1, "") => {}
            (size, unit) if unit.starts_with(|c: char| c.is_ascii_digit()) => {
                let _ = write!(attributes, " size={size} unit={}", word(unit));
            }
            (size, "") => {
                let _ = write!(attributes, " size={size}");
            }
            (size, unit) => {
                let _ = write!(attributes, " size={size}{}", word(unit));
            }
        }
        let rank = self.target_words(v, &name, properties, &mut attributes);
        for (key, value) in vertex.properties() {
            let _ = write!(attributes, " set.{}={}", word(key), word(value));
        }
        for (&(_, subsystem), path) in self.paths.range((v, SubsystemId(0))..=(v, SubsystemId(u32::MAX))) {
            let _ = write!(attributes, " path.{}={}", word(self.subsystem_name(subsystem)), word(path));
        }
        let names = if name == format!("{}{id}", vertex.basename()) {
            Names::None
        } else if trailing_number(&name) == Some(id) && is_listable(&name) {
            Names::Listed(vec![name.into_owned()])
        } else {
            Names::Quoted(name.into_owned())
        };
        Group { kind: kind_word(kind), attributes, body, ids: vec![id], names, rank }
    }

    /// What a vertex says as a target: the rank, unless it follows from the one before.
    fn target_words(&self, v: VertexId, name: &str, properties: &Properties, attributes: &mut String) -> String {
        let target = self.target_of(v).and_then(|id| self.target(id));
        let is_node = self.kind(v) == crate::graph::KindId::NODE;
        let target = match target {
            Some(target) if target.vertex == v => target,
            None if is_node && self.is_contained(v) => return " rank=none".to_owned(),
            _ => return String::new(),
        };
        if *target.host != *name {
            let _ = write!(attributes, " host={}", word(&target.host));
        }
        let (plain, odd): (Vec<&str>, Vec<&str>) =
            properties.of(target.id).partition(|name| !name.is_empty() && !name.contains(','));
        if !plain.is_empty() {
            let _ = write!(attributes, " properties={}", word(&plain.join(",")));
        }
        for name in odd {
            let _ = write!(attributes, " property={}", word(name));
        }
        let position = self.targets.vertices_in_order.partition_point(|&w| w < v);
        let before = position.checked_sub(1).and_then(|i| self.target(self.targets.in_order[i])).map(|t| t.rank);
        let follows = target.rank == before.map_or(0, |rank| rank + 1);
        if follows && is_node { String::new() } else { format!(" rank={}", target.rank) }
    }
}

impl Group {
    /// Takes in the next sibling if one line can say both; else gives it back.
    fn absorb(&mut self, mut next: Group) -> Option<Group> {
        let alike = self.kind == next.kind
            && self.attributes == next.attributes
            && self.body == next.body
            && !self.attributes.contains(" path.")
            && (next.rank.is_empty() || next.rank == " rank=none" && self.rank == next.rank)
            // Only with nodes does a rank run on to the next vertex; without one, others are no targets.
            && (next.kind == "node" || self.rank.is_empty() || !next.rank.is_empty())
            && (self.rank != " rank=none" || !next.rank.is_empty());
        if !alike {
            return Some(next);
        }
        match (&mut self.names, &mut next.names) {
            (Names::Listed(mine), Names::Listed(others)) => mine.append(others),
            (Names::None, Names::None) if are_ascending_ids(self.ids.last(), next.ids.first()) => {}
            _ => return Some(next),
        }
        self.ids.append(&mut next.ids);
        None
    }

    fn print(self, lines: &mut Vec<String>) {
        let Group { kind, attributes, body, ids, names, rank } = self;
        let ids = || match &ids[..] {
            [id] if !is_plain_id(*id) => format!(" id={id}"),
            ids => format!("[{}]", ids.iter().filter_map(|&id| u32::try_from(id).ok()).collect::<Idset>()),
        };
        let head = match names {
            Names::Listed(names) => format!("{kind} {}", names.iter().collect::<Hostlist>()),
            Names::None => format!("{kind}{}", ids()),
            Names::Quoted(name) => {
                let ids = ids();
                let (before, after) = if ids.starts_with('[') { (ids.as_str(), "") } else { ("", ids.as_str()) };
                format!("{kind}{before} {}{after}", quoted(&name))
            }
        };
        lines.push(format!("{head}{rank}{attributes}"));
        lines.extend(body.into_iter().map(|line| format!("  {line}")));
    }
}

fn is_plain_id(id: i64) -> bool {
    u32::try_from(id).is_ok_and(|id| id <= crate::formats::idset::MAX_ID)
}

fn are_ascending_ids(last: Option<&i64>, next: Option<&i64>) -> bool {
    last.zip(next).is_some_and(|(&last, &next)| last < next && is_plain_id(last) && is_plain_id(next))
}

/// Whether a name stands for itself in a hostlist.
fn is_listable(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    plain && Hostlist::parse(name).is_ok_and(|hosts| hosts.iter().eq([name]))
}

/// A kind as it stands at the start of an item.
fn kind_word(kind: &str) -> String {
    if kind.starts_with('@') || kind.contains(['[', '*', '=', '/', '+']) { quoted(kind) } else { word(kind) }
}

/// A word or value, in quotes where it needs them.
fn word(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '#' | '=' | '\\'));
    if plain && !matches!(text, "/" | "+") { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
