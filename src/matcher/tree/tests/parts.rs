//! Giving back parts, taking over from outside, vertices that come and go, and looking things up.

use super::*;
use crate::formats::idset::Idset;
use crate::formats::jgf::{CONTAINMENT, Jgf, JgfEdge, JgfNode};
use crate::formats::r::R;
use crate::matcher::tree::{CancelError, CancelPart, EngineError, Find, Source, UpdateError};

/// A graph as JGF, with numbers of vertices from `first`.
fn jgf_of(graph: &Graph, first: u32) -> Jgf {
    let id = |v: VertexId| (first + v.0).to_string();
    let node = |v: VertexId| {
        let vertex = graph.vertex(v);
        JgfNode {
            basename: vertex.basename().to_owned(),
            name: vertex.name().into_owned(),
            num: vertex.id(),
            uniq_id: (first + v.0).into(),
            rank: graph.given_rank(v),
            size: vertex.size(),
            paths: [(CONTAINMENT.to_owned(), vertex.path())].into(),
            ..JgfNode::new(id(v), graph.kind_name(vertex.kind()))
        }
    };
    let edge = |v: VertexId| {
        let source = id(graph.parent(v)?);
        Some(JgfEdge { source, target: id(v), subsystem: CONTAINMENT.to_owned() })
    };
    Jgf { nodes: graph.vertices().map(node).collect(), edges: graph.vertices().filter_map(edge).collect() }
}

fn ranks(text: &str) -> Idset {
    text.parse().unwrap()
}

fn found(world: &World, text: &str) -> Vec<String> {
    let find: Find = text.parse().unwrap();
    let grant = world.engine.find(&find, Timestamp::ZERO);
    let graph = world.engine.graph();
    grant.vertices.iter().map(|g| graph.vertex(g.vertex).name().into_owned()).collect()
}

#[test]
fn ranks_are_given_back_one_by_one() {
    let mut world = World::new(MACHINE, "low");
    assert_eq!(world.allocate(0, 60, "node*3! / slot / core"), "0 n0 n1 n2");
    let job = JobId(1);
    let part = world.engine.cancel_part(job, CancelPart::Ranks(&ranks("0"))).unwrap();
    assert!(!part.full);
    world.check();
    assert_eq!(world.allocate(0, 60, "node*2! / slot / core"), "0 n0 n3");
    let again = world.engine.cancel_part(job, CancelPart::Ranks(&ranks("0"))).unwrap_err();
    assert!(matches!(again, CancelError::NotHeld { .. }));
    assert!(world.engine.cancel_part(job, CancelPart::Ranks(&ranks("1-2"))).unwrap().full);
    assert_eq!(world.engine.cancel(job), Err(CancelError::UnknownJob(job)));
    world.check();
}

#[test]
fn what_has_no_rank_goes_with_the_last_rank() {
    let graph = "cluster c\n  rack\n    node n[0-1] cores=1\n    ssd*2 size=10\n";
    let mut world = World::new(graph, "low");
    assert_eq!(world.allocate(0, 60, "rack / node*2! + ssd*10!"), "0 n0 n1 ssd0");
    assert!(!world.engine.cancel_part(JobId(1), CancelPart::Ranks(&ranks("1"))).unwrap().full);
    assert_eq!(world.allocate(0, 60, "rack / slot / ssd*20"), "busy");
    assert!(world.engine.cancel_part(JobId(1), CancelPart::Ranks(&ranks("0"))).unwrap().full);
    assert_eq!(world.allocate(0, 60, "rack / slot / ssd*20"), "0 ssd0 ssd1");
}

#[test]
fn parts_of_whole_nodes_are_given_back() {
    let mut world = World::new("cluster c\n  node n[0-1] cores=2\n", "low");
    assert_eq!(world.allocate(0, 60, "node*2! / slot / core"), "0 n0 n1");
    let core = |path: &str| {
        let json = format!(
            r#"{{"graph": {{"nodes": [{{"id": "2", "metadata": {{"type": "core", "id": 0, "rank": 0,
            "paths": {{"containment": "{path}"}}}}}}], "edges": []}}}}"#
        );
        Jgf::parse(json)
    };
    let jgf = core("/c/n0/core0").unwrap();
    assert!(!world.engine.cancel_part(JobId(1), CancelPart::Vertices(&jgf)).unwrap().full);
    world.check();
    assert_eq!(world.allocate(0, 60, "slot / core"), "0 n0.core0");
    assert_eq!(world.allocate(0, 60, "slot / core"), "busy");
    world.cancel(1);
    assert_eq!(world.allocate(0, 60, "slot*3 / core"), "0 n0.core1 n1.core0 n1.core1");
}

#[test]
fn allocations_come_from_outside() {
    let r = |text: &str| R::parse(text).unwrap();
    let one = r(r#"{"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {"core": "0-1"}}],
        "nodelist": ["n0"], "starttime": 0, "expiration": 0}}"#);
    let mut world = World::new("cluster c\n  node n[0-1] cores=4\n", "low");
    let (job, zero, hour) = (JobId(7), Timestamp::ZERO, Duration::from_secs(3600));
    let matched = world.engine.update(job, zero, hour, Source::R(&one)).unwrap();
    assert_eq!(world.leaves(&matched), ["n0.core0", "n0.core1"]);
    world.check();
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n1");
    assert_eq!(world.allocate(0, 60, "slot / core"), "0 n0.core2");
    let taken = world.engine.update(JobId(8), zero, hour, Source::R(&one)).unwrap_err();
    assert!(matches!(taken, UpdateError::Taken { .. }), "{taken}");
    let twice = world.engine.update(job, zero, hour, Source::R(&one)).unwrap_err();
    assert_eq!(twice, UpdateError::KnownJob(job));
    world.cancel(7);
    let other = r(r#"{"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {"core": "0-9"}}],
        "nodelist": ["n0"], "starttime": 0, "expiration": 0}}"#);
    let lacks = world.engine.update(job, zero, hour, Source::R(&other)).unwrap_err();
    assert!(matches!(lacks, UpdateError::Vertex { .. }), "{lacks}");
    world.check();
}

#[test]
fn expressions_find_vertices() {
    let mut world = World::new(MACHINE, "low");
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n0");
    assert_eq!(world.reserve(0, 60, "node*4! / slot / core"), "60 n0 n1 n2 n3");
    assert_eq!(found(&world, "sched-now=allocated"), ["core0", "core1", "core2", "core3", "n0", "rack0", "c"]);
    assert_eq!(found(&world, "sched-now=allocated names=n0"), ["n0", "rack0", "c"]);
    assert_eq!(found(&world, "jobid-reserved=2 and names=n[1-2]").len(), 5);
    world.down("/c/rack1");
    assert_eq!(found(&world, "status=down").len(), 12);
    world.engine.set_property(world.engine.vertices_at("/c/rack0/n1")[0], "big", "");
    assert_eq!(found(&world, "property=big"), ["n1", "rack0", "c"]);
    let find: Find = "names=n0 agfilter=true".parse().unwrap();
    let grant = world.engine.find(&find, Timestamp::ZERO);
    let root = grant.vertices.last().unwrap();
    assert_eq!(
        root.counts.iter().map(|(kind, c)| (kind.as_str(), c.used, c.total)).collect::<Vec<_>>(),
        [("core", 4, 16), ("node", 1, 4)]
    );
}

#[test]
fn vertices_go_with_what_is_planned_there() {
    let mut world = World::new(MACHINE, "low");
    assert_eq!(world.allocate(0, 60, "node*3! / slot / core"), "0 n0 n1 n2");
    world.engine.remove_ranks(&ranks("0")).unwrap();
    world.check();
    assert_eq!(world.run(Operation::Satisfiability, 0, 60, "node*4! / slot / core"), "never");
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n3");
    assert_eq!(world.allocate(0, 60, "slot / core"), "busy");
    world.engine.remove("/c/rack1").unwrap();
    world.check();
    assert!(!world.engine.knows(JobId(3)), "nothing is left of it");
    assert_eq!(world.allocate(0, 60, "slot / core"), "busy");
    world.cancel(1);
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n1");
    let root = world.engine.remove("/c").unwrap_err();
    assert!(matches!(root, EngineError::RemovesRoot { .. }));
    assert!(matches!(world.engine.remove("/d"), Err(EngineError::UnknownPath { .. })));
    assert_eq!(world.engine.remove_ranks(&ranks("9")), Err(EngineError::UnknownRank { rank: 9 }));
}

#[test]
fn vertices_come() {
    let mut world = World::new("cluster c\n  node n0 cores=2\n", "low");
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n0");
    let (addition, _) = Graph::from_text("cluster c\n  node n1 cores=2 rank=1\n    fpga\n").unwrap();
    let jgf = jgf_of(&addition, 100);
    world.engine.attach(&jgf).unwrap();
    world.check();
    assert_eq!(world.allocate(0, 60, "node / slot / core + fpga"), "0 n1.core0 n1.fpga0");
    assert_eq!(world.reserve(0, 60, "node*2! / slot / core"), "60 n0 n1");
    world.check();
}
