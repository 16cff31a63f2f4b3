use super::*;

#[test]
fn reads_the_example() {
    let text = "\
# two racks of 16 nodes, flash in the first
cluster tiny
  rack
    node pc[001-016] cores=8 gpus=2 properties=batch,fast
    ssd*4 size=739GiB
  rack / node pc[017-032] properties=batch / socket*2 / core*4 + memory size=8GB
@loose power*2 size=10KW
@edge power power0 /tiny/rack0
";
    let (graph, properties) = Graph::from_text(text).unwrap();
    let at = |path| graph.by_path(path).unwrap_or_else(|| panic!("no {path}"));
    let kind = |word| graph.kind_id(word).unwrap();
    assert_eq!(graph.targets().to_string(), "0-31");
    assert_eq!(graph.count_in(at("/tiny/rack0"), KindId::CORE), 128);
    assert_eq!(graph.size_in(at("/tiny"), KindId::SSD), 4 * 739);
    assert_eq!(graph.size_in(at("/tiny"), kind("memory")), 16 * 16);
    assert_eq!(graph.vertex(at("/tiny/rack1/pc032/socket1/core7")).rank(), Some(31));
    assert_eq!(graph.vertex(at("/tiny/rack1/pc017/socket1/memory1")).unit(), "GB");
    assert_eq!(properties.get("fast").unwrap().to_string(), "0-15");
    assert_eq!(properties.of(TargetId(31)).collect::<Vec<_>>(), ["batch"]);
    let pools: Vec<String> = graph.outside().map(|v| graph.vertex(v).name().into_owned()).collect();
    assert_eq!(pools, ["ssd0", "ssd1", "ssd2", "ssd3", "power0", "power1"]);
    let power = graph.subsystem_id("power").unwrap();
    assert_eq!(graph.successors(graph.of_kind(kind("power"))[0], power).collect::<Vec<_>>(), [at("/tiny/rack0")]);
    assert_eq!(graph.predecessors(at("/tiny/rack0"), power).count(), 1);
}

#[test]
fn prints() {
    let cases = [
        ("cluster / node*3 cores=2", "cluster[0]\n  node[0-2]\n    core[0-1]\n"),
        (
            "cluster\n node pc[08-11],login7 cores=1\n node x rank=9 properties=a,b\n node y",
            "cluster[0]\n  node pc[08-11],login7\n    core[0]\n  node[12] \"x\" rank=9 properties=a,b\n  node[13] \"y\"\n",
        ),
        ("rack / node rank=none + node*2", "rack[0]\n  node[0] rank=none\n  node[1-2]\n"),
        ("pool id=-4 size=3 unit=9x set.k=\"a b\"", "pool id=-4 size=3 unit=9x set.k=\"a b\"\n"),
        ("cluster \"a[1]\"\n@loose pdu*2\n@edge power 1 0", "cluster[0] \"a[1]\"\n@loose pdu[0-1]\n@edge power 1 0\n"),
        ("storage_node rank=4 host=\"\"", "storage_node[0] rank=4 host=\"\"\n"),
    ];
    for (text, expected) in cases {
        let (graph, properties) = Graph::from_text(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(graph.to_text(&properties), expected, "{text}");
    }
}

#[test]
fn refuses() {
    let cases = [
        ("cluster\n  node cores=x", "line 2, column 14: expected a number of cores, found \"x\""),
        ("cluster\n  node\n rack", "line 3, column 2: expected 2 spaces of indentation, found 1"),
        ("  cluster", "line 1, column 3: expected 0 spaces of indentation, found 2"),
        ("\tcluster", "line 1, column 1: expected indentation by spaces, found another blank"),
        ("node*0", "line 1, column 6: expected a count from 1 to 4294967295, found \"0\""),
        (
            "node[3-1]",
            "line 1, column 5: expected ids in brackets, found \"[3-1]\" (invalid idset: range 3-1 at byte 1 does not ascend)",
        ),
        ("core[0-2147483647]", "line 1, column 5: expected at most 67108864 ids, found 2147483648"),
        ("core[]", "line 1, column 5: expected ids in brackets, found \"[]\""),
        ("node/core", "line 1, column 5: expected a space, *COUNT or [IDS] after the kind, found \"/core\""),
        ("node /", "line 1, column 7: expected a resource kind, found the end of the line"),
        ("node pc[1-2] x", "line 1, column 14: expected KEY=VALUE, / or +, found \"x\""),
        ("node*3 pc[1-2]", "line 1, column 8: expected 3 names, found 2"),
        (
            "node color=red",
            "line 1, column 6: expected cores, gpus, size, unit, id, basename, host, rank, property, properties, set.KEY or path.SUBSYSTEM, found \"color\"",
        ),
        ("node cores=1 cores=2", "line 1, column 14: expected each attribute once, found cores again"),
        ("node \"a", "line 1, column 6: expected a closing quote, found the end of the line"),
        ("node \"\\q\"", "line 1, column 7: expected \\\", \\\\, \\n, \\r or \\t, found \"\\q\""),
        ("rack properties=a", "line 1, column 1: expected properties on targets only, found property \"a\""),
        ("node properties=a,,b", "line 1, column 17: expected names separated by commas, found \"a,,b\""),
        ("node rank=2147483648", "line 1, column 11: expected a rank up to 2147483647, found 2147483648"),
        ("node*2 rank=2147483647", "line 1, column 1: expected ranks up to 2147483647, found a greater one"),
        ("node*2 path.power=/x", "line 1, column 8: expected a path on a single vertex, found 2 vertices"),
        ("@lose x", "line 1, column 1: expected @edge or @loose, found \"@lose\""),
        ("@loose a / b", "line 1, column 12: expected nothing below a loose vertex, found \"b\""),
        (" @loose a", "line 1, column 2: expected @loose at the start of a line, found 1 spaces before it"),
        ("@edge power a", "line 1, column 14: expected where the edge ends, found the end of the line"),
        (
            "rack\n@edge power rack0 rack7",
            "line 2, column 19: expected the path or position of a vertex, found \"rack7\"",
        ),
        ("node rank=1 + node rank=1", "expected each rank once, found rank 1 on /node0 and on /node1"),
        ("a*30000 / b*30000", "expected at most 67108864 vertices, found more"),
        ("a*4294967295", "expected at most 67108864 vertices, found more"),
    ];
    for (text, expected) in cases {
        match Graph::from_text(text) {
            Ok(_) => panic!("accepted {text}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{text}"),
        }
    }
}

proptest! {
    #![proptest_config(crate::base::testing::config(96))]

    #[test]
    fn round_trip(made in any_graph(0)) {
        let text = made.graph.to_text(&made.properties);
        let (graph, properties) = Graph::from_text(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(describe(&graph, &properties), describe(&made.graph, &made.properties), "{}", text);
        prop_assert_eq!(graph.to_text(&properties), text);
    }

    #[test]
    fn no_text_panics(noise in "(\\PC|[ \n\"\\[\\]*=/+@#,0-9a-]){0,40}", words in prop::collection::vec(prop::sample::select(vec![
        "node", "cluster", "\n", "\n  ", " / ", " + ", " pc[1-3]", " cores=2", " rank=", "1", " \"x\"", "[0-2]", "*2", "@loose ", "@edge ", " set.a=", " path.p=/x", "\n#",
    ]), 0..14)) {
        let _ = Graph::from_text(&noise);
        let _ = Graph::from_text(&words.concat());
    }
}
