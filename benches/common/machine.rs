//! The machine that speed is measured on: a cluster of racks of 64 nodes of 48 cores, as a GRUG recipe.

/// The recipe of a machine of so many nodes, a multiple of 64.
pub fn recipe(nodes: u32) -> String {
    assert!(nodes.is_multiple_of(64), "whole racks of 64 nodes");
    let node = |kind: &str, more: &str| {
        format!(
            "<node id=\"{kind}\"><data key=\"type\">{kind}</data><data key=\"basename\">{kind}</data>{more}</node>\n"
        )
    };
    let edge = |from: &str, to: &str, scale: u32, scope: i32| {
        format!(
            "<edge id=\"{from}2{to}\" source=\"{from}\" target=\"{to}\"><data key=\"multi_scale\">{scale}</data>\
             <data key=\"id_scope\">{scope}</data></edge>\n"
        )
    };
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml>\n");
    for (id, of, kind, default) in [
        ("root", "node", "int", Some("0")),
        ("type", "node", "string", None),
        ("basename", "node", "string", None),
        ("multi_scale", "edge", "int", Some("1")),
        ("id_scope", "edge", "int", Some("0")),
    ] {
        let default = default.map_or_else(String::new, |text| format!("<default>{text}</default>"));
        text += &format!("<key id=\"{id}\" for=\"{of}\" attr.name=\"{id}\" attr.type=\"{kind}\">{default}</key>\n");
    }
    text += "<graph id=\"machine\" edgedefault=\"directed\">\n";
    text += &node("cluster", "<data key=\"root\">1</data>");
    for kind in ["rack", "node", "core"] {
        text += &node(kind, "");
    }
    text += &edge("cluster", "rack", nodes / 64, 0);
    text += &edge("rack", "node", 64, 1);
    text += &edge("node", "core", 48, 0);
    text + "</graph>\n</graphml>\n"
}
