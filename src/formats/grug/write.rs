//! From a recipe to GraphML.

use super::{Grug, IdRule, Method, Pool, Relation};
use crate::formats::jgf::CONTAINMENT;
use crate::formats::xml::escape;
use std::fmt::Write;

/// Name, `for`, type and default of the attributes, in the order in which they are written.
const KEYS: [(&str, &str, &str, &str); 17] = [
    ("root", "node", "int", "0"),
    ("type", "node", "string", ""),
    ("basename", "node", "string", ""),
    ("unit", "node", "string", ""),
    ("size", "node", "long", "1"),
    ("subsystem", "node", "string", CONTAINMENT),
    ("e_subsystem", "edge", "string", CONTAINMENT),
    ("relation", "edge", "string", "contains"),
    ("rrelation", "edge", "string", "in"),
    ("id_scope", "edge", "int", "0"),
    ("id_start", "edge", "int", "0"),
    ("id_stride", "edge", "int", "1"),
    ("gen_method", "edge", "string", "MULTIPLY"),
    ("multi_scale", "edge", "int", "1"),
    ("as_tgt_subsystem", "edge", "string", CONTAINMENT),
    ("as_tgt_uplvl", "edge", "int", "1"),
    ("as_src_uplvl", "edge", "int", "1"),
];

pub(super) fn to_graphml(grug: &Grug) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str("<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    for (name, of, kind, default) in KEYS {
        let _ = write!(out, "  <key id=\"{name}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"");
        if default.is_empty() {
            out.push_str("/>\n");
        } else {
            let _ = writeln!(out, ">\n    <default>{default}</default>\n  </key>");
        }
    }
    let _ = writeln!(out, "  <graph id=\"{}\" edgedefault=\"directed\">", escape(&grug.name));
    for pool in &grug.pools {
        let _ = writeln!(out, "    <node id=\"{}\">", escape(&pool.id));
        write_pool(&mut out, pool);
        out.push_str("    </node>\n");
    }
    for relation in &grug.relations {
        out.push_str("    <edge");
        if !relation.id.is_empty() {
            let _ = write!(out, " id=\"{}\"", escape(&relation.id));
        }
        let id = |end: usize| escape(&grug.pools[end].id);
        let _ = writeln!(out, " source=\"{}\" target=\"{}\">", id(relation.source), id(relation.target));
        write_relation(&mut out, relation);
        out.push_str("    </edge>\n");
    }
    out.push_str("  </graph>\n</graphml>\n");
    out
}

/// One attribute, unless it is at its default. `type` and `basename` have none, so they always stand.
fn data(out: &mut String, key: &str, value: &str) {
    let default = KEYS.iter().find(|known| known.0 == key).map(|known| known.3);
    if default != Some(value) {
        let _ = writeln!(out, "      <data key=\"{key}\">{}</data>", escape(value));
    }
}

fn write_pool(out: &mut String, pool: &Pool) {
    data(out, "root", if pool.root { "1" } else { "0" });
    data(out, "type", &pool.kind);
    data(out, "basename", &pool.basename);
    data(out, "size", &pool.size.to_string());
    data(out, "unit", &pool.unit);
    data(out, "subsystem", &pool.subsystem);
}

fn write_relation(out: &mut String, relation: &Relation) {
    data(out, "e_subsystem", &relation.subsystem);
    data(out, "relation", &relation.relation);
    data(out, "rrelation", &relation.reverse);
    match &relation.method {
        Method::Multiply { scale, ids: IdRule { scope, start, stride } } => {
            for (key, value) in [("id_scope", scope), ("id_start", start), ("id_stride", stride)] {
                data(out, key, &value.to_string());
            }
            data(out, "multi_scale", &scale.to_string());
        }
        Method::AssociateIn => data(out, "gen_method", "ASSOCIATE_IN"),
        Method::AssociateByPathIn { subsystem, target_up, source_up } => {
            data(out, "gen_method", "ASSOCIATE_BY_PATH_IN");
            data(out, "as_tgt_subsystem", subsystem);
            data(out, "as_tgt_uplvl", &target_up.to_string());
            data(out, "as_src_uplvl", &source_up.to_string());
        }
    }
}
