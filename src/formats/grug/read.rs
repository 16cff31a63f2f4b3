//! From GraphML to a recipe.

use super::{Grug, GrugError, IdRule, Method, Pool, RecipeError, Relation};
use crate::formats::error::{ParseError, quote};
use crate::formats::jgf::CONTAINMENT;
use crate::formats::xml::{Document, Element};
use std::collections::{BTreeMap, HashMap};

/// The attributes of nodes and edges that a recipe knows.
const OF_NODES: [&str; 6] = ["root", "type", "basename", "unit", "size", "subsystem"];
const OF_EDGES: [&str; 11] = [
    "e_subsystem",
    "relation",
    "rrelation",
    "id_scope",
    "id_start",
    "id_stride",
    "gen_method",
    "multi_scale",
    "as_tgt_subsystem",
    "as_tgt_uplvl",
    "as_src_uplvl",
];

pub(super) fn parse(text: &[u8]) -> Result<Grug, GrugError> {
    let document = Document::parse(text, "graphml")?;
    let root = &document.root;
    let mut graphs = root.all("graph");
    let none = || document.unexpected(root, "an element <graph> in <graphml>", "none");
    let graph = graphs.next().ok_or_else(none)?;
    if let Some(second) = graphs.next() {
        return Err(document.unexpected(second, "one <graph>", "a second").into());
    }
    check_graph(&document, graph)?;
    let keys = Keys::read(&document)?;

    let elements: Vec<&Element> = graph.all("node").collect();
    let edges: Vec<&Element> = graph.all("edge").collect();
    let pools = elements.iter().map(|element| pool(&document, &keys, element)).collect::<Result<Vec<_>, _>>()?;
    // Asked by id only, never iterated.
    let by_id: HashMap<&str, usize> = pools.iter().enumerate().rev().map(|(at, pool)| (pool.id.as_str(), at)).collect();
    let relations = edges.iter().map(|edge| relation(&document, &keys, &by_id, edge)).collect::<Result<Vec<_>, _>>()?;
    drop(by_id);
    let name = graph.attribute("id").unwrap_or_default();
    Grug::new(name, pools, relations).map_err(|why| {
        let element = match &why {
            RecipeError::SameId { at, .. }
            | RecipeError::BadName { at, .. }
            | RecipeError::SecondRoot { at, .. }
            | RecipeError::Unreached { at, .. } => elements.get(*at),
            RecipeError::NoPool { at, .. }
            | RecipeError::SecondRelation { at, .. }
            | RecipeError::RelationToRoot { at, .. } => edges.get(*at),
        };
        GrugError::Recipe { at: document.position(element.copied().unwrap_or(graph)), why }
    })
}

fn check_graph(document: &Document<'_>, graph: &Element) -> Result<(), ParseError> {
    let directed = document.required(graph, "edgedefault")?;
    if directed != "directed" {
        return Err(document.unexpected(graph, "edgedefault `directed`", quote(directed)));
    }
    for child in &graph.children {
        if !matches!(child.name.as_str(), "node" | "edge" | "data" | "desc") {
            return Err(document.unexpected(child, "<node> or <edge>", quote(&child.name)));
        }
        if let Some(inner) = child.all("graph").next() {
            return Err(document.unexpected(inner, "no graph in a graph", "one"));
        }
        if let Some(other) = child.attribute("directed").filter(|&directed| directed != "true") {
            return Err(document.unexpected(child, "directed `true`", quote(other)));
        }
    }
    Ok(())
}

/// What the keys of a document mean.
struct Keys<'d> {
    document: &'d Document<'d>,
    nodes: HashMap<&'d str, &'static str>,
    edges: HashMap<&'d str, &'static str>,
    node_defaults: BTreeMap<&'static str, &'d Element>,
    edge_defaults: BTreeMap<&'static str, &'d Element>,
}

impl<'d> Keys<'d> {
    fn read(document: &'d Document<'d>) -> Result<Self, ParseError> {
        let mut keys = Keys {
            document,
            nodes: HashMap::new(),
            edges: HashMap::new(),
            node_defaults: BTreeMap::new(),
            edge_defaults: BTreeMap::new(),
        };
        for key in document.root.all("key") {
            let id = document.required(key, "id")?;
            let (node, edge) = match key.attribute("for").unwrap_or("all") {
                "node" => (true, false),
                "edge" => (false, true),
                "all" => (true, true),
                "graph" | "graphml" => continue,
                other => return Err(document.unexpected(key, "a key for `node`, `edge` or `all`", quote(other))),
            };
            let name = document.required(key, "attr.name")?;
            let of_node = OF_NODES.into_iter().find(|known| node && *known == name);
            let of_edge = OF_EDGES.into_iter().find(|known| edge && *known == name);
            if of_node.is_none() && of_edge.is_none() {
                let known = match (node, edge) {
                    (true, false) => OF_NODES.join(", "),
                    (false, true) => OF_EDGES.join(", "),
                    _ => [OF_NODES.join(", "), OF_EDGES.join(", ")].join(", "),
                };
                return Err(document.unexpected(key, format!("an attribute among {known}"), quote(name)));
            }
            let default = key.all("default").next();
            for (known, name, defaults) in [
                (&mut keys.nodes, of_node, &mut keys.node_defaults),
                (&mut keys.edges, of_edge, &mut keys.edge_defaults),
            ] {
                let Some(name) = name else { continue };
                if known.insert(id, name).is_some() {
                    return Err(document.unexpected(key, format!("key {} once", quote(id)), "it twice"));
                }
                if let Some(default) = default {
                    defaults.insert(name, default);
                }
            }
        }
        Ok(keys)
    }

    fn of_node(&self, element: &'d Element) -> Result<Fields<'d>, ParseError> {
        self.fields(element, &self.nodes, &self.node_defaults)
    }

    fn of_edge(&self, element: &'d Element) -> Result<Fields<'d>, ParseError> {
        self.fields(element, &self.edges, &self.edge_defaults)
    }

    fn fields(
        &self,
        element: &'d Element,
        known: &HashMap<&str, &'static str>,
        defaults: &BTreeMap<&'static str, &'d Element>,
    ) -> Result<Fields<'d>, ParseError> {
        let document = self.document;
        let mut given = BTreeMap::new();
        for data in element.all("data") {
            let key = document.required(data, "key")?;
            let unknown = || document.unexpected(data, format!("a key for <{}>", element.name), quote(key));
            let name = known.get(key).ok_or_else(unknown)?;
            if given.insert(*name, data).is_some() {
                return Err(document.unexpected(data, format!("{name} once"), "it twice"));
            }
        }
        for (name, default) in defaults {
            given.entry(name).or_insert(default);
        }
        Ok(Fields { document, given })
    }
}

/// The attributes of one node or edge.
struct Fields<'d> {
    document: &'d Document<'d>,
    given: BTreeMap<&'static str, &'d Element>,
}

impl<'d> Fields<'d> {
    fn text(&self, name: &str) -> Option<&'d str> {
        self.given.get(name).map(|element| element.text.trim())
    }

    fn text_or(&self, name: &str, default: &str) -> String {
        self.text(name).unwrap_or(default).to_owned()
    }

    /// A number between bounds.
    fn number(&self, name: &str, default: i64, least: i64, most: i64) -> Result<i64, ParseError> {
        let Some(element) = self.given.get(name) else { return Ok(default) };
        let text = element.text.trim();
        text.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            let expected = format!("{name} from {least} to {most}");
            self.document.unexpected(
                element,
                expected,
                if text.is_empty() { "nothing".to_owned() } else { quote(text) },
            )
        })
    }

    fn signed(&self, name: &str, default: i32) -> Result<i32, ParseError> {
        Ok(self.number(name, default.into(), i32::MIN.into(), i32::MAX.into())? as i32)
    }

    fn count(&self, name: &str, default: u32) -> Result<u32, ParseError> {
        Ok(self.number(name, default.into(), 0, i32::MAX.into())? as u32)
    }
}

fn pool<'d>(document: &'d Document<'d>, keys: &Keys<'d>, element: &'d Element) -> Result<Pool, ParseError> {
    let fields = keys.of_node(element)?;
    let missing = || document.unexpected(element, "a type", "none");
    let kind = fields.text("type").ok_or_else(missing)?.to_owned();
    Ok(Pool {
        id: document.required(element, "id")?.to_owned(),
        root: fields.number("root", 0, i32::MIN.into(), i32::MAX.into())? != 0,
        basename: fields.text_or("basename", &kind),
        kind,
        size: fields.number("size", 1, 0, i64::MAX)? as u64,
        unit: fields.text_or("unit", ""),
        subsystem: fields.text_or("subsystem", CONTAINMENT),
    })
}

fn relation<'d>(
    document: &'d Document<'d>,
    keys: &Keys<'d>,
    by_id: &HashMap<&str, usize>,
    element: &'d Element,
) -> Result<Relation, ParseError> {
    let fields = keys.of_edge(element)?;
    let end = |name: &str| {
        let id = document.required(element, name)?;
        let unknown = || document.unexpected(element, format!("the id of a node as {name}"), quote(id));
        by_id.get(id).copied().ok_or_else(unknown)
    };
    let ids = IdRule {
        scope: fields.signed("id_scope", 0)?,
        start: fields.signed("id_start", 0)?,
        stride: fields.signed("id_stride", 1)?,
    };
    let (scale, target_up, source_up) =
        (fields.count("multi_scale", 1)?, fields.count("as_tgt_uplvl", 1)?, fields.count("as_src_uplvl", 1)?);
    let method = match fields.text("gen_method").unwrap_or("MULTIPLY") {
        "MULTIPLY" => Method::Multiply { scale, ids },
        "ASSOCIATE_IN" => Method::AssociateIn,
        "ASSOCIATE_BY_PATH_IN" => Method::AssociateByPathIn {
            subsystem: fields.text_or("as_tgt_subsystem", CONTAINMENT),
            target_up,
            source_up,
        },
        other => {
            let place = fields.given.get("gen_method").copied().unwrap_or(element);
            let expected = "gen_method `MULTIPLY`, `ASSOCIATE_IN` or `ASSOCIATE_BY_PATH_IN`";
            return Err(document.unexpected(place, expected, quote(other)));
        }
    };
    Ok(Relation {
        id: element.attribute("id").unwrap_or_default().to_owned(),
        source: end("source")?,
        target: end("target")?,
        subsystem: fields.text_or("e_subsystem", CONTAINMENT),
        relation: fields.text_or("relation", "contains"),
        reverse: fields.text_or("rrelation", "in"),
        method,
    })
}
