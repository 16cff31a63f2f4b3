use super::*;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const TWO: &str = r#"{"graph": {"directed": false, "nodes": [
  {"id": "3", "metadata": {"type": "node", "name": "pc07", "rank": 1, "status": 1, "paths": {"containment": "/pc07"}}},
  {"id": "x", "metadata": {"type": "ssd", "unit": "GiB", "size": 793, "properties": {"a": "b"}, "paths": {}}}],
  "edges": [{"source": "3", "target": "x"}, {"source": "x", "target": "3", "metadata": {"subsystem": "power"}}]}}"#;

#[test]
fn fills_in_the_defaults() {
    let jgf = Jgf::parse(TWO).unwrap();
    let node = &jgf.nodes[0];
    assert_eq!((node.num, node.uniq_id, node.rank, node.size), (7, 3, 1, 1));
    assert_eq!((node.basename.as_str(), node.status, node.exclusive), ("node", JgfStatus::Down, false));
    let ssd = &jgf.nodes[1];
    // No number in the id: the position in the file stands in.
    assert_eq!((ssd.num, ssd.uniq_id, ssd.rank, ssd.size), (1, 1, -1, 793));
    assert_eq!((ssd.name.as_str(), ssd.unit.as_str(), ssd.properties["a"].as_str()), ("ssd1", "GiB", "b"));
    assert_eq!(jgf.edges[0].subsystem, "containment");
    assert_eq!(jgf.edges[1].subsystem, "power");
}

#[test]
fn accepts_r_and_objects_of_nodes() {
    let bare = Jgf::parse(TWO).unwrap();
    let in_r =
        format!(r#"{{"version": 1, "execution": {{}}, "scheduling": {{"writer": "fluxion:jgf", {}}}"#, &TWO[1..]);
    assert_eq!(Jgf::parse(in_r).unwrap(), bare);
    let map = r#"{"graph": {"nodes": {"7": {"label": "7", "metadata": {"type": "core", "id": "6", "paths": {}}}}}}"#;
    let jgf = Jgf::parse(map).unwrap();
    assert_eq!((jgf.nodes[0].id.as_str(), jgf.nodes[0].num, jgf.nodes[0].name.as_str()), ("7", 6, "core6"));
}

#[test]
fn refuses() {
    let cases = [
        ("", "line 1, column 0: EOF while parsing a value"),
        ("{}", "expected a member `graph`, alone or in `scheduling`, found neither"),
        (
            r#"{"scheduling": {"writer": "TreePool"}}"#,
            "expected a member `graph`, alone or in `scheduling`, found neither",
        ),
        (r#"{"graph": {}}"#, "line 1, column 12: missing field `nodes`"),
        (
            r#"{"graph": {"nodes": 3}}"#,
            "line 1, column 21: invalid type: integer `3`, expected an array of nodes, or an object from id to node",
        ),
        (r#"{"graph": {"nodes": [{"id": "0"}]}}"#, "line 1, column 32: missing field `metadata`"),
        (r#"{"graph": {"nodes": [{"id": "0", "metadata": {}}]}}"#, "line 1, column 47: missing field `type`"),
        (
            r#"{"graph": {"nodes": [{"id": "0", "metadata": {"type": "a"}}]}}"#,
            "line 1, column 58: missing field `paths`",
        ),
        (
            r#"{"graph": {"nodes": [{"id": "0", "metadata": {"type": "a", "size": -1, "paths": {}}}]}}"#,
            "line 1, column 69: invalid value: integer `-1`, expected u64",
        ),
        (
            r#"{"graph": {"nodes": [{"id": "0", "metadata": {"type": "a", "id": "z", "paths": {}}}]}}"#,
            "line 1, column 68: expected a number, or a string of one, found \"z\"",
        ),
        (
            r#"{"graph": {"nodes": [{"id": "0", "metadata": {"type": "a", "status": 2, "paths": {}}}]}}"#,
            "line 1, column 86: expected status 0 (up) or 1 (down), found 2",
        ),
        (
            r#"{"graph": {"nodes": [{"metadata": {"type": "a", "paths": {}}}]}}"#,
            "line 1, column 62: missing field `id`",
        ),
        (
            r#"{"graph": {"nodes": [{"id": "0", "metadata": {"type": "a", "paths": {}}},
{"id": "0", "metadata": {"type": "a", "paths": {}}}]}}"#,
            "line 2, column 52: expected unique ids, found node \"0\" twice",
        ),
        (r#"{"graph": {"nodes": [], "edges": [{"source": "0"}]}}"#, "line 1, column 49: missing field `target`"),
    ];
    for (text, expected) in cases {
        assert_eq!(Jgf::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

/// Where the shared data is, or none with a word.
fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SLUICE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let there = path.join("data").is_dir();
    if !there {
        eprintln!("skipped: no shared data at {}", path.display());
    }
    there.then_some(path)
}

#[test]
fn reads_real_files_and_writes_them_again() {
    let Some(shared) = shared() else { return };
    let cases = [
        ("fluxion/t/data/resource/jgfs/tiny.json", 100, 99),
        ("fluxion/t/data/resource/jgfs/power.json", 4042, 4116),
        ("fluxion/t/data/resource/jgfs/rabbit.json", 70, 69),
        ("fluxion/t/data/resource/jgfs/4node.rank1230.nid0123.mod.json", 166, 165),
        ("fluxion/t/data/resource/jgfs/4node.rank0123.nid0123.mod.json", 166, 165),
        ("fluxion/t/data/resource/jgfs/4node.rank0123.nid0123.orig.json", 166, 165),
        ("fluxion/t/data/resource/jgfs/dyn_explore.json", 23, 22),
        ("fluxion/t/data/resource/jgfs/hwloc_4core.json", 7, 6),
        ("fluxion/t/data/resource/jgfs/issue1260.json", 88, 87),
        ("fluxion/t/data/resource/jgfs/issue1284.json", 86, 85),
        ("fluxion/t/data/resource/jgfs/tiny_storage.json", 86, 85),
        ("fluxion/t/data/resource/jgfs/elastic/add-remove-node-test.json", 41, 40),
        ("fluxion/t/data/resource/jgfs/elastic/node-1-partial-cancel-invalid.json", 49, 96),
        ("fluxion/t/data/resource/jgfs/elastic/node-1-partial-cancel.json", 49, 96),
        ("fluxion/t/data/resource/jgfs/elastic/node-add-gpu-test.json", 4, 3),
        ("fluxion/t/data/resource/jgfs/elastic/node-add-test-random.json", 41, 40),
        ("fluxion/t/data/resource/jgfs/elastic/node-add-test.json", 41, 40),
        ("fluxion/t/data/resource/jgfs/elastic/node-test.json", 41, 40),
        ("fluxion/t/data/resource/jgfs/elastic/node-widget-test.json", 4, 3),
        ("fluxion/t/data/resource/jgfs/elastic/tiny-partial-cancel.json", 100, 99),
        ("machines/flux-coral2/t/data/dws2jgf/expected-compute-01-04.jgf", 99, 98),
        ("machines/flux-coral2/t/data/dws2jgf/expected-compute-01-nodws.jgf", 135, 134),
        ("machines/flux-coral2/t/data/dws2jgf/expected-compute-01.jgf", 77, 76),
        ("machines/flux-coral2/t/data/dws2jgf/expected-configfile.jgf", 81, 80),
        ("machines/flux-coral2/t/data/dws2jgf/expected-properties.jgf", 86, 85),
        ("machines/rainbow/docs/examples/scheduler/cluster-nodes.json", 44, 86),
        ("machines/rainbow/docs/examples/match-algorithms/range/spack-subsystem.json", 6, 30),
    ];
    for (file, nodes, edges) in cases {
        let jgf = Jgf::parse(std::fs::read(shared.join("data").join(file)).unwrap())
            .unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!((jgf.nodes.len(), jgf.edges.len()), (nodes, edges), "{file}");
        assert_eq!(Jgf::parse(jgf.to_json()).unwrap(), jgf, "{file}");
    }
}

fn any_node() -> impl Strategy<Value = JgfNode> {
    let words = "[a-z]{0,3}[0-9]{0,2}";
    let pairs = proptest::collection::btree_map(words, words, 0..3);
    (
        (words, words, words, words, words),
        (any::<i64>(), any::<i64>(), any::<i64>(), any::<u64>(), any::<bool>(), any::<bool>()),
        (pairs.clone(), pairs),
    )
        .prop_map(
            |((id, kind, basename, name, unit), (num, uniq_id, rank, size, exclusive, down), (paths, properties))| {
                let status = if down { JgfStatus::Down } else { JgfStatus::Up };
                JgfNode {
                    id,
                    kind,
                    basename,
                    name,
                    num,
                    uniq_id,
                    rank,
                    size,
                    unit,
                    exclusive,
                    status,
                    paths,
                    properties,
                }
            },
        )
}

proptest! {
    #![proptest_config(crate::base::testing::config(64))]

    #[test]
    fn round_trip(mut nodes in proptest::collection::vec(any_node(), 0..6), ends in proptest::collection::vec(("[a-z]", "[a-z]", "[a-z]"), 0..4)) {
        for (i, node) in nodes.iter_mut().enumerate() {
            node.id = format!("{}{i}", node.id);
        }
        let edges = ends.into_iter().map(|(source, target, subsystem)| JgfEdge { source, target, subsystem }).collect();
        let jgf = Jgf { nodes, edges };
        prop_assert_eq!(Jgf::parse(jgf.to_json()).unwrap(), jgf);
    }

    #[test]
    fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..64), at in 0..TWO.len()) {
        let _ = Jgf::parse(&bytes);
        let mut text = TWO.as_bytes().to_vec();
        text.splice(at..(at + bytes.len()).min(TWO.len()), bytes.drain(..));
        let _ = Jgf::parse(&text);
    }
}

/// Gives a text in pieces of a few bytes, then fails or ends.
struct Pieces<'t> {
    text: &'t [u8],
    largest: usize,
    fails: bool,
}

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.largest = self.largest.max(buffer.len());
        let count = self.text.len().min(7).min(buffer.len());
        if count == 0 && self.fails {
            return Err(std::io::Error::other("the line went dead"));
        }
        buffer[..count].copy_from_slice(&self.text[..count]);
        self.text = &self.text[count..];
        Ok(count)
    }
}

#[test]
fn reads_piece_by_piece() {
    // Much space between tokens: 4 MB of text, of which a buffer is all that is ever asked for.
    let text = TWO.replace(", ", &format!(",{}", " ".repeat(200_000)));
    let mut pieces = Pieces { text: text.as_bytes(), largest: 0, fails: false };
    assert_eq!(Jgf::read(&mut pieces).unwrap(), Jgf::parse(TWO).unwrap());
    assert!(text.len() > 3_000_000 && pieces.largest <= 1 << 16);
    let pieces = Pieces { text: &TWO.as_bytes()[..40], largest: 0, fails: true };
    assert_eq!(Jgf::read(pieces).unwrap_err().to_string(), "cannot read: the line went dead");
    let pieces = Pieces { text: &TWO.as_bytes()[..40], largest: 0, fails: false };
    assert!(matches!(Jgf::read(pieces).unwrap_err(), JgfError::Syntax { line: 1, column: 40, .. }));
}
