use super::*;
use proptest::prelude::*;

fn pool(id: &str, root: bool) -> Pool {
    Pool { root, ..Pool::new(id) }
}

/// A document with the given content of `graph` and two keys beside those that matter.
fn document(graph: &str) -> String {
    format!(
        r#"<graphml>
<key id="t" for="node" attr.name="type" attr.type="string"/>
<key id="r" for="node" attr.name="root" attr.type="int"><default>0</default></key>
<key id="s" for="node" attr.name="size" attr.type="long"/>
<key id="m" for="edge" attr.name="gen_method" attr.type="string"/>
<key id="n" for="edge" attr.name="multi_scale" attr.type="int"><default>3</default></key>
<key id="u" for="edge" attr.name="as_tgt_uplvl" attr.type="int"/>
<graph id="g" edgedefault="directed">
{graph}</graph></graphml>"#
    )
}

const ROOT: &str = r#"<node id="a"><data key="t">cluster</data><data key="r">1</data></node>"#;

#[test]
fn reads_pools_and_relations() {
    let text = document(&format!(
        r#"{ROOT}<node id="b"><data key="t"> rack </data><data key="s">7</data></node><node id="c"><data key="t">pdu</data></node>
<edge source="a" target="b"/><edge id="e" source="b" target="c"><data key="m">ASSOCIATE_BY_PATH_IN</data><data key="u">2</data></edge>"#
    ));
    let grug = Grug::parse(text).unwrap();
    assert_eq!(grug.name(), "g");
    let mut pools = [pool("cluster", true), pool("rack", false), pool("pdu", false)];
    for (pool, id) in pools.iter_mut().zip(["a", "b", "c"]) {
        pool.id = id.to_owned();
    }
    pools[1].size = 7;
    assert_eq!(grug.pools(), pools);
    let method = Method::AssociateByPathIn { subsystem: "containment".to_owned(), target_up: 2, source_up: 1 };
    let second = Relation { id: "e".to_owned(), method, ..Relation::multiply(1, 2, 1) };
    assert_eq!(grug.relations(), [Relation::multiply(0, 1, 3), second]);
    assert_eq!(grug.relations_by_source()[1], [&grug.relations()[1]]);
    assert_eq!(Grug::parse(grug.to_graphml()).unwrap(), grug);
}

#[test]
fn refuses_what_makes_no_graph() {
    let second = r#"<node id="b"><data key="t">rack</data></node>"#;
    let edge = r#"<edge source="a" target="b"/>"#;
    let cases = [
        (String::new(), "not refused".to_owned()),
        (format!("{ROOT}\n{ROOT}"), "line 10, column 1: expected each pool once, found \"a\" twice".to_owned()),
        (
            format!("{ROOT}\n{second}"),
            "line 10, column 1: expected a way from a root to pool \"b\", found none".to_owned(),
        ),
        (
            format!("{ROOT}{second}{edge}\n{edge}"),
            "line 10, column 1: expected one relation to pool \"b\", found a second; give it a pool of its own".to_owned(),
        ),
        (
            format!("{ROOT}{second}<edge source=\"b\" target=\"b\"/>"),
            "line 9, column 71: expected a way from a root to pool \"b\", found none".to_owned(),
        ),
        (
            format!("{ROOT}{second}<edge source=\"b\" target=\"a\"/>"),
            "line 9, column 116: pool \"a\": expected no relation to a root, found one".to_owned(),
        ),
        (
            format!("{ROOT}{}", ROOT.replace("\"a\"", "\"b\"")),
            "line 9, column 71: expected one root in subsystem \"containment\", found \"a\" and \"b\"".to_owned(),
        ),
        (
            ROOT.replace("cluster", "a/b"),
            "line 9, column 1: pool \"a\": expected a type that is not empty and has no slash, found \"a/b\"".to_owned(),
        ),
        ("<node id=\"a\"/>".to_owned(), "expected a type, found none at line 9, column 1".to_owned()),
        ("<node/>".to_owned(), "expected a type, found none at line 9, column 1".to_owned()),
        (
            "<node><data key=\"t\">x</data></node>".to_owned(),
            "expected an attribute `id` of <node>, found none at line 9, column 1".to_owned(),
        ),
        (
            "<node id=\"a\"><data key=\"q\">x</data></node>".to_owned(),
            "expected a key for <node>, found `q` at line 9, column 14".to_owned(),
        ),
        (
            "<node id=\"a\"><data key=\"m\">x</data></node>".to_owned(),
            "expected a key for <node>, found `m` at line 9, column 14".to_owned(),
        ),
        (
            "<node id=\"a\"><data key=\"t\">x</data><data key=\"t\">y</data></node>".to_owned(),
            "expected type once, found it twice at line 9, column 36".to_owned(),
        ),
        (
            "<node id=\"a\"><data key=\"t\">x</data><data key=\"s\">-1</data></node>".to_owned(),
            "expected size from 0 to 9223372036854775807, found `-1` at line 9, column 36".to_owned(),
        ),
        (
            "<node id=\"a\"><data key=\"t\">x</data><data key=\"s\"/></node>".to_owned(),
            "expected size from 0 to 9223372036854775807, found nothing at line 9, column 36".to_owned(),
        ),
        (
            format!("{ROOT}{second}<edge source=\"a\" target=\"b\"><data key=\"m\">SPLIT</data></edge>"),
            "expected gen_method `MULTIPLY`, `ASSOCIATE_IN` or `ASSOCIATE_BY_PATH_IN`, found `SPLIT` at line 9, column 144"
                .to_owned(),
        ),
        (
            format!("{ROOT}{second}<edge source=\"a\" target=\"c\"/>"),
            "expected the id of a node as target, found `c` at line 9, column 116".to_owned(),
        ),
        (
            format!("{ROOT}{second}<edge source=\"a\" target=\"b\" directed=\"false\"/>"),
            "expected directed `true`, found `false` at line 9, column 116".to_owned(),
        ),
        ("<hyperedge/>".to_owned(), "expected <node> or <edge>, found `hyperedge` at line 9, column 1".to_owned()),
        (
            "<node id=\"a\"><graph/></node>".to_owned(),
            "expected no graph in a graph, found one at line 9, column 14".to_owned(),
        ),
    ];
    for (graph, message) in cases {
        let found = Grug::parse(document(&graph)).map_or_else(|e| e.to_string(), |_| "not refused".to_owned());
        assert_eq!(found, message);
    }
}

#[test]
fn refuses_other_documents() {
    let key = |attributes: &str| format!("<graphml><key {attributes}/><graph edgedefault=\"directed\"/></graphml>");
    let cases = [
        ("<graph/>".to_owned(), "expected the element <graphml>, found <graph> at line 1, column 1"),
        ("<graphml/>".to_owned(), "expected an element <graph> in <graphml>, found none at line 1, column 1"),
        (
            "<graphml><graph/></graphml>".to_owned(),
            "expected an attribute `edgedefault` of <graph>, found none at line 1, column 10",
        ),
        (
            "<graphml><graph edgedefault=\"undirected\"/></graphml>".to_owned(),
            "expected edgedefault `directed`, found `undirected` at line 1, column 10",
        ),
        ("<graphml><graph/><graph/></graphml>".to_owned(), "expected one <graph>, found a second at line 1, column 18"),
        (key("for='node'"), "expected an attribute `id` of <key>, found none at line 1, column 10"),
        (key("id='a' for='node'"), "expected an attribute `attr.name` of <key>, found none at line 1, column 10"),
        (
            key("id='a' for='node' attr.name='colour'"),
            "expected an attribute among root, type, basename, unit, size, subsystem, found `colour` at line 1, column 10",
        ),
        (
            key("id='a' for='port' attr.name='type'"),
            "expected a key for `node`, `edge` or `all`, found `port` at line 1, column 10",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(Grug::parse(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn refuses_positions_that_are_none() {
    let error = Grug::new("g", vec![pool("a", true)], vec![Relation::multiply(0, 1, 1)]).unwrap_err();
    assert_eq!(error.to_string(), "relation 0: expected a position below 1, found 1");
}

/// Recipes of up to 8 pools of all methods.
pub(crate) fn recipes() -> impl Strategy<Value = Grug> {
    let word = || "[a-z&<\"é]{1,4}";
    let method = prop_oneof![
        (0..5u32, -1..3i32, -2..3i32, -2..3i32)
            .prop_map(|(scale, scope, start, stride)| Method::Multiply { scale, ids: IdRule { scope, start, stride } }),
        Just(Method::AssociateIn),
        (word(), 0..3u32, 0..3u32).prop_map(|(subsystem, target_up, source_up)| Method::AssociateByPathIn {
            subsystem,
            target_up,
            source_up
        }),
    ];
    let part = (word(), word(), word(), 0..9u64, word(), any::<prop::sample::Index>(), method);
    prop::collection::vec(part, 1..8).prop_map(|parts| {
        let mut pools = Vec::new();
        let mut relations = Vec::new();
        for (at, (kind, basename, other, size, unit, above, method)) in parts.into_iter().enumerate() {
            let subsystem = if size % 2 == 0 { "containment".to_owned() } else { other };
            let id = format!("{kind}{at}");
            pools.push(Pool { id, root: at == 0, kind, basename, size, unit, subsystem: subsystem.clone() });
            if at > 0 {
                let relation = Relation { subsystem, method, ..Relation::multiply(above.index(at), at, 1) };
                relations.push(relation);
            }
        }
        Grug::new("g&", pools, relations).unwrap()
    })
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn a_written_recipe_reads_as_it_was(grug in recipes()) {
        prop_assert_eq!(Grug::parse(grug.to_graphml()).unwrap(), grug);
    }

    #[test]
    fn any_change_of_a_recipe_gives_a_value_or_an_error(grug in recipes(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut text = grug.to_graphml().into_bytes();
        let at = at.index(text.len());
        // What comes after the last bracket may be cut off.
        let cuts = text[at..].contains(&b'>');
        text[at] = byte;
        if let Ok(grug) = Grug::parse(&text) {
            prop_assert_eq!(Grug::parse(grug.to_graphml()).unwrap(), grug);
        }
        if cuts {
            text.truncate(at);
            prop_assert!(Grug::parse(&text).is_err());
        }
    }

    #[test]
    fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = Grug::parse(&bytes);
    }
}
