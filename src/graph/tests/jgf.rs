use super::fixtures::shared;
use super::*;
use crate::formats::jgf::Jgf;

#[test]
fn a_stream_makes_what_the_whole_makes() {
    let Some(shared) = shared() else { return };
    let mut open = vec![shared.join("data/fluxion/t/data/resource/jgfs"), shared.join("data/machines/flux-coral2")];
    let mut read = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let whole = Jgf::parse(&bytes).map_err(|e| e.to_string());
        let streamed = Graph::read_jgf(&bytes[..]);
        match (whole, streamed) {
            (Ok(jgf), streamed) => match (Graph::from_jgf(&jgf), streamed) {
                (Ok((graph, properties)), Ok(loaded)) => {
                    assert_eq!(describe(&loaded.graph, &loaded.properties), describe(&graph, &properties));
                    assert_eq!(loaded.down, graph.down_in(&jgf), "{}", path.display());
                    read += 1;
                }
                (Err(error), Err(other)) => assert_eq!(error.to_string(), other.to_string(), "{}", path.display()),
                (whole, streamed) => panic!("{}: {whole:?} {streamed:?}", path.display()),
            },
            // Where the text is no JGF at all, the words differ.
            (Err(_), Err(_)) => {}
            (Err(error), Ok(_)) => panic!("{}: {error}", path.display()),
        }
    }
    assert!(read >= 10, "{read}");
}

#[test]
fn members_may_come_in_any_order() {
    let node = |id: &str, kind: &str, path: &str| {
        format!(r#"{{"id": "{id}", "metadata": {{"type": "{kind}", "id": 0, "paths": {{"containment": "{path}"}}}}}}"#)
    };
    let nodes = [node("x", "cluster", "/cluster0"), node("007", "node", "/cluster0/node0"), node("7", "rack", "/odd")];
    let edges =
        r#"[{"source": "x", "target": "007"}, {"source": "7", "target": "x", "metadata": {"subsystem": "power"}}]"#;
    let text = format!(r#"{{"graph": {{"edges": {edges}, "more": [1], "nodes": [{}]}}}}"#, nodes.join(","));
    let graph = Graph::read_jgf(text.as_bytes()).unwrap().graph;
    assert_eq!(describe(&graph, &Properties::new()).len(), 3 + 2);
    let at = |path: &str| graph.by_path(path).unwrap();
    assert_eq!(graph.parent(at("/cluster0/node0")), Some(at("/cluster0")));
    let power = graph.subsystem_id("power").unwrap();
    assert_eq!(graph.successors(at("/odd"), power).collect::<Vec<_>>(), [at("/cluster0")]);
    let r = format!(r#"{{"version": 1, "scheduling": {{"graph": {{"nodes": [{}]}}}}}}"#, nodes.join(","));
    assert_eq!(Graph::read_jgf(r.as_bytes()).unwrap().graph.len(), 3);
}

#[test]
fn streams_are_refused_with_the_place() {
    let node = r#"{"id": "1", "metadata": {"type": "node", "paths": {}}}"#;
    let bad_rank = node.replace("\"type\"", "\"rank\": -2, \"type\"");
    let cases = [
        (
            format!(
                r#"{{"graph": {{"nodes": [{node},
{node}]}}}}"#
            ),
            "line 2, column 55: expected unique ids, found node \"1\" twice",
        ),
        (
            r#"{"graph": {"nodes": []}, "scheduling": {"graph": {"nodes": []}}}"#.into(),
            "line 1, column 48: expected one graph, found a second",
        ),
        (r#"{"graph": {"edges": []}}"#.into(), "line 1, column 23: missing field `nodes`"),
        (r#"{"scheduling": null}"#.into(), "expected a member `graph`, alone or in `scheduling`, found neither"),
        (
            format!(r#"{{"graph": {{"nodes": [{bad_rank}]}}}}"#),
            "line 1, column 88: vertex \"1\": expected -1 or a rank up to 2147483647, found -2",
        ),
        (
            format!(r#"{{"graph": {{"nodes": [{node}], "edges": [{{"source": "1", "target": "2"}}]}}}}"#),
            "edge 0: expected the id of a vertex, found \"2\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Graph::read_jgf(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
}
