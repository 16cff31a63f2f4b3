use super::*;
use crate::formats::jgf::Jgf;
use std::path::{Path, PathBuf};

/// Where the shared data is, or none with a word.
pub(super) fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SLUICE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let there = path.join("data").is_dir();
    if !there {
        eprintln!("skipped: no shared data at {}", path.display());
    }
    there.then_some(path)
}

#[test]
fn reads_real_graphs() {
    let Some(shared) = shared() else { return };
    // file, vertices, targets, cores and GPUs in targets, vertices outside; counted from the paths in the files.
    let cases = [
        ("fluxion/t/data/resource/jgfs/tiny.json", 100, 2, 72, 4, 0),
        ("fluxion/t/data/resource/jgfs/power.json", 4042, 72, 2592, 144, 509),
        ("fluxion/t/data/resource/jgfs/rabbit.json", 70, 21, 42, 0, 4),
        ("fluxion/t/data/resource/jgfs/4node.rank1230.nid0123.mod.json", 166, 4, 144, 8, 0),
        ("fluxion/t/data/resource/jgfs/4node.rank0123.nid0123.mod.json", 166, 4, 144, 8, 0),
        ("fluxion/t/data/resource/jgfs/4node.rank0123.nid0123.orig.json", 166, 4, 144, 8, 0),
        ("fluxion/t/data/resource/jgfs/dyn_explore.json", 23, 4, 8, 0, 9),
        ("fluxion/t/data/resource/jgfs/hwloc_4core.json", 7, 1, 4, 0, 0),
        ("fluxion/t/data/resource/jgfs/issue1260.json", 88, 2, 11, 0, 73),
        ("fluxion/t/data/resource/jgfs/issue1284.json", 86, 1, 10, 0, 73),
        ("fluxion/t/data/resource/jgfs/tiny_storage.json", 86, 1, 10, 0, 73),
        ("fluxion/t/data/resource/jgfs/elastic/add-remove-node-test.json", 41, 1, 36, 0, 0),
        ("fluxion/t/data/resource/jgfs/elastic/node-1-partial-cancel.json", 49, 1, 36, 2, 0),
        ("fluxion/t/data/resource/jgfs/elastic/node-1-partial-cancel-invalid.json", 49, 1, 36, 2, 0),
        ("fluxion/t/data/resource/jgfs/elastic/node-add-gpu-test.json", 4, 1, 0, 1, 0),
        ("fluxion/t/data/resource/jgfs/elastic/node-add-test-random.json", 41, 1, 36, 0, 0),
        ("fluxion/t/data/resource/jgfs/elastic/node-add-test.json", 41, 1, 36, 0, 0),
        ("fluxion/t/data/resource/jgfs/elastic/node-test.json", 41, 1, 36, 0, 0),
        ("fluxion/t/data/resource/jgfs/elastic/node-widget-test.json", 4, 1, 0, 0, 0),
        ("fluxion/t/data/resource/jgfs/elastic/tiny-partial-cancel.json", 100, 2, 72, 4, 0),
        ("machines/flux-coral2/t/data/dws2jgf/expected-compute-01-04.jgf", 99, 4, 20, 0, 72),
        ("machines/flux-coral2/t/data/dws2jgf/expected-compute-01-nodws.jgf", 135, 10, 50, 0, 72),
        ("machines/flux-coral2/t/data/dws2jgf/expected-compute-01.jgf", 77, 1, 1, 0, 73),
        ("machines/flux-coral2/t/data/dws2jgf/expected-configfile.jgf", 81, 1, 5, 0, 73),
        ("machines/flux-coral2/t/data/dws2jgf/expected-properties.jgf", 86, 1, 10, 0, 73),
    ];
    for (file, vertices, targets, cores, gpus, outside) in cases {
        let jgf = Jgf::parse(std::fs::read(shared.join("data").join(file)).unwrap()).unwrap();
        let (graph, properties) = Graph::from_jgf(&jgf).unwrap_or_else(|e| panic!("{file}: {e}"));
        let all: Vec<&Target> = graph.targets().iter().filter_map(|id| graph.target(id)).collect();
        let sum = |count: fn(&Target) -> u32| all.iter().map(|target| count(target)).sum::<u32>();
        let found = (graph.len(), all.len(), sum(Target::cores), sum(Target::gpus), graph.outside().count());
        assert_eq!(found, (vertices, targets, cores, gpus, outside), "{file}");
        for node in jgf.nodes.iter() {
            if let Some(path) = node.paths.get("containment") {
                let v = graph.by_path(path).unwrap_or_else(|| panic!("{file}: no {path}"));
                assert_eq!(graph.vertex(v).name(), node.name, "{file}");
            }
        }
        let text = graph.to_text(&properties);
        let (again, named) = Graph::from_text(&text).unwrap_or_else(|e| panic!("{file}: {e}\n{text}"));
        assert_eq!(describe(&again, &named), describe(&graph, &properties), "{file}");
    }
}

#[test]
fn knows_the_power_subsystem() {
    let Some(shared) = shared() else { return };
    let file = shared.join("data/fluxion/t/data/resource/jgfs/power.json");
    let (graph, _) = Graph::from_jgf(&Jgf::parse(std::fs::read(file).unwrap()).unwrap()).unwrap();
    let power = graph.subsystem_id("power").unwrap();
    let pdu = graph.by_path("/power0/rack0/pdu0").unwrap();
    assert_eq!(graph.path_in(pdu, power).as_deref(), Some("/powerpanel0/pdu0"));
    let fed: Vec<String> = graph.successors(pdu, power).map(|v| graph.path(v)).collect();
    assert_eq!(fed.iter().filter(|path| path.contains("/node")).count(), 18);
    assert!(fed.contains(&"/power0/rack0/node17".to_owned()));
    let panel = graph.predecessors(pdu, power).next().unwrap();
    assert!(!graph.is_contained(panel) && graph.target_of(panel).is_none());
}

#[test]
fn says_what_is_down() {
    let Some(shared) = shared() else { return };
    let file = shared.join("data/fluxion/t/data/resource/jgfs/4node.rank1230.nid0123.mod.json");
    let mut jgf = Jgf::parse(std::fs::read(file).unwrap()).unwrap();
    let (graph, _) = Graph::from_jgf(&jgf).unwrap();
    for node in &mut jgf.nodes {
        let down = node.kind == "node" && node.rank == 2;
        node.status = if down { crate::formats::jgf::JgfStatus::Down } else { crate::formats::jgf::JgfStatus::Up };
    }
    assert_eq!(graph.down_in(&jgf), TargetSet::single(graph.target_by_rank(2).unwrap()));
}

#[test]
fn refuses_graphs_that_are_none() {
    let node = |id: &str, kind: &str, rank: i64, path: &str| {
        format!(
            r#"{{"id": "{id}", "metadata": {{"type": "{kind}", "rank": {rank}, "paths": {{"containment": "{path}"}}}}}}"#
        )
    };
    let (a, b, c) = (node("1", "rack", -1, "/a"), node("2", "node", 4, "/b"), node("3", "node", 4, "/c"));
    let cases = [
        (
            format!("[{a}], \"edges\": [{{\"source\": \"1\", \"target\": \"9\"}}]"),
            "edge 0: expected the id of a vertex, found \"9\"",
        ),
        (format!("[{b}, {c}]"), "expected each rank once, found rank 4 on /b and on /c"),
        (
            format!("[{}]", node("1", "node", -2, "/a")),
            "vertex \"1\": expected -1 or a rank up to 2147483647, found -2",
        ),
        (
            format!("[{b}, {}], \"edges\": [{{\"source\": \"2\", \"target\": \"3\"}}]", node("3", "node", 5, "/b/c")),
            "expected no target inside another, found /b/c below /b",
        ),
        (
            format!(
                "[{a}, {b}, {c}], \"edges\": [{{\"source\": \"1\", \"target\": \"2\"}}, {{\"source\": \"3\", \"target\": \"2\"}}]"
            ),
            "expected one containing vertex for \"2\", found \"1\" and \"3\"",
        ),
        (
            format!(
                "[{a}, {b}], \"edges\": [{{\"source\": \"1\", \"target\": \"2\"}}, {{\"source\": \"2\", \"target\": \"1\"}}]"
            ),
            "expected containment to be a tree, found a circle through \"node2\"",
        ),
        (
            format!(
                "[{}, {}]",
                node("1", "x", -1, "/a").replace("\"paths\"", "\"size\": 18446744073709551615, \"paths\""),
                node("2", "x", -1, "/b")
            ),
            "expected sizes of kind x to add up to less than 2^64, found more",
        ),
    ];
    for (text, expected) in cases {
        let jgf = Jgf::parse(format!("{{\"graph\": {{\"nodes\": {text}}}}}")).unwrap();
        assert_eq!(Graph::from_jgf(&jgf).unwrap_err().to_string(), expected, "{text}");
    }
}
