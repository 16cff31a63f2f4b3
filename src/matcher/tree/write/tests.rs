use super::super::{Engine, Matched, Operation, Options};
use super::{Format, json};
use crate::base::{JobId, Timestamp};
use crate::formats::jgf::Jgf;
use crate::formats::jobspec::Jobspec;
use crate::formats::r::R;
use crate::graph::Graph;
use std::sync::Arc;

const MACHINE: &str = r#"{"version": 1, "execution": {"R_lite": [
    {"rank": "0", "children": {"core": "0-1"}}, {"rank": "1", "children": {"core": "0-1", "gpu": "0"}}],
    "nodelist": ["n0", "login"]}}"#;

/// Both nodes, exclusively; `login` has a property with a value, `n0` one without.
fn machine_and_match() -> (Engine, Matched) {
    let (graph, _) = Graph::from_r(&R::parse(MACHINE).unwrap()).unwrap();
    let options = Options { policy: "lonode".parse().unwrap(), compat: true, ..Options::default() };
    let mut engine = Engine::new(Arc::new(graph), options).unwrap();
    for (path, name, value) in [("/cluster0/n0", "fast", ""), ("/cluster0/login", "fast", "very")] {
        let v = engine.vertices_at(path)[0];
        engine.set_property(v, name, value);
    }
    let spec = "
        version: 9999
        resources: [{type: slot, count: 2, label: x, with: [
            {type: node, count: 1, exclusive: true, with: [{type: core, count: 1}]}]}]
        attributes: {system: {duration: 60}}
        tasks: [{command: [a], slot: x, count: {per_slot: 1}}]";
    let spec = Jobspec::from_yaml_str(spec).unwrap();
    let matched = engine.match_job(Operation::Allocate, JobId(1), Timestamp::from_secs(0), &spec).unwrap();
    (engine, matched)
}

fn write(engine: &Engine, matched: &Matched, format: Format, queue: Option<&str>) -> String {
    engine.written(format, matched, queue)
}

const SIMPLE: &str = "      ---------core0[1:x]
      ---------core1[1:x]
      ------n0[1:x]
      ---------core0[1:x]
      ---------core1[1:x]
      ---------gpu0[1:x]
      ------login[1:x]
      ---cluster0[1:s]
";

const PRETTY: &str = "      ---cluster0[1:shared]
      ------login[1:exclusive]
      ---------gpu0[1:exclusive]
      ---------core1[1:exclusive]
      ---------core0[1:exclusive]
      ------n0[1:exclusive]
      ---------core1[1:exclusive]
      ---------core0[1:exclusive]
";

const SHORTHAND: &str = concat!(
    r#"{"graph": {"nodes": [{"id": "1", "metadata": {"type": "node", "basename": "n", "id": 0, "rank": 0, "#,
    r#""properties": {"fast": ""}, "exclusive": true, "paths": {"containment": "/cluster0/n0"}}}, "#,
    r#"{"id": "4", "metadata": {"type": "node", "basename": "login", "name": "login", "id": -1, "rank": 1, "#,
    r#""properties": {"fast": "very"}, "exclusive": true, "paths": {"containment": "/cluster0/login"}}}, "#,
    r#"{"id": "0", "metadata": {"type": "cluster", "id": 0, "rank": -1, "paths": {"containment": "/cluster0"}}}], "#,
    r#""edges": [{"source": "0", "target": "1"}, {"source": "0", "target": "4"}]}, "#,
    r#""writer": "fluxion:jgf_shorthand"}"#,
);

const LITE: &str = concat!(
    r#"[{"rank": "1", "children": {"core": "0-1", "gpu": "0"}}, "#,
    r#"{"rank": "0", "children": {"core": "0-1"}}]"#,
);

#[test]
fn every_format_is_that_of_fluxion() {
    let (engine, matched) = machine_and_match();
    let check = |format, queue, expected: &str| assert_eq!(write(&engine, &matched, format, queue), expected);
    check(Format::Simple, None, SIMPLE);
    check(Format::PrettySimple, None, PRETTY);
    check(Format::JgfShorthand, None, &format!("{SHORTHAND}\n"));
    check(Format::Rlite, None, &format!("{LITE}\n"));
    let execution = format!(r#"{{"version": 1, "execution": {{"R_lite": {LITE}, "nodelist": ["n0,login"], "#)
        + r#""properties": {"fast": "0", "fast=very": "1"}, "starttime": 0, "expiration": 60}"#;
    check(Format::Rv1Nosched, Some("batch"), &format!("{execution}}}\n"));
    check(Format::Rv1Shorthand, None, &format!("{execution}, \"scheduling\": {SHORTHAND}}}\n"));
    let queue = r#", "attributes": {"system": {"scheduler": {"queue": "batch"}}}"#;
    check(Format::Rv1Shorthand, Some("batch"), &format!("{execution}, \"scheduling\": {SHORTHAND}{queue}}}\n"));
    let jgf = write(&engine, &matched, Format::Jgf, None);
    check(Format::Rv1, None, &format!("{execution}, \"scheduling\": {}}}\n", jgf.trim_end()));
}

#[test]
fn our_readers_take_what_is_written() {
    let (engine, matched) = machine_and_match();
    let graph = engine.graph();
    let jgf = Jgf::parse(write(&engine, &matched, Format::Jgf, None)).unwrap();
    assert_eq!((jgf.nodes.len(), jgf.edges.len()), (8, 7));
    for (node, granted) in jgf.nodes.iter().zip(&matched.grant.vertices) {
        let vertex = graph.vertex(granted.vertex);
        assert_eq!(node.name, vertex.name());
        assert_eq!((node.num, node.rank), (vertex.id(), graph.given_rank(granted.vertex)));
        assert_eq!(node.exclusive, granted.exclusive);
        assert_eq!(node.paths["containment"], vertex.path());
        assert_eq!(node.properties, engine.properties(granted.vertex));
    }
    let (again, _) = Graph::from_jgf(&jgf).unwrap();
    assert_eq!(again.len(), graph.len());
    let r = R::parse(&write(&engine, &matched, Format::Rv1, None)).unwrap();
    assert_eq!(r.ranks, R::parse(MACHINE).unwrap().ranks);
    assert_eq!(r.expiration, Some(Timestamp::from_secs(60)));
}

#[test]
fn nothing_is_written_of_nothing() {
    let (engine, mut matched) = machine_and_match();
    matched.grant.vertices.clear();
    for (word, format) in Format::WORDS {
        assert_eq!(write(&engine, &matched, format, None), "", "{word}");
        assert_eq!(Format::from_word(word), Some(format));
    }
    assert_eq!(Format::from_word("xml"), None);
}

#[test]
fn strings_are_escaped_as_little_as_may_be() {
    let mut text = String::new();
    json::string(&mut text, "a/ƒ\"\\\n\t\r\u{8}\u{c}\u{1f}").unwrap();
    assert_eq!(text, r#""a/ƒ\"\\\n\t\r\b\f\u001F""#);
}
