use super::fixtures::shared;
use super::*;
use crate::formats::grug::{Grug, IdRule, Method, Pool, Relation};
use crate::formats::jgf::Jgf;
use proptest::{prop_assert, proptest};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const DATA: &str = "data/fluxion/t/data/resource";

fn samples(shared: &Path) -> Vec<PathBuf> {
    let mut open = vec![shared.join(DATA).join("grugs")];
    let mut found = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn expand(path: &Path) -> (Grug, Graph) {
    let grug = Grug::parse(std::fs::read(path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (graph, properties) = Graph::from_grug(&grug).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(properties, Properties::new());
    (grug, graph)
}

/// How many vertices of each kind a recipe makes: products along the way from the root. Associations are counted only
/// as the samples use them, to all vertices of a kind, from one each.
fn naive_counts(grug: &Grug) -> BTreeMap<String, u64> {
    let mut by_pool: Vec<Option<u64>> = grug.pools().iter().map(|pool| pool.root.then_some(1)).collect();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for pool in grug.pools().iter().filter(|pool| pool.root) {
        *counts.entry(pool.kind.clone()).or_default() += 1;
    }
    // Sources stand before targets in the samples, and what is associated before what associates it.
    for _ in grug.pools() {
        for relation in grug.relations() {
            let Some(source) = by_pool[relation.source] else { continue };
            let kind = &grug.pools()[relation.target].kind;
            if by_pool[relation.target].is_some() {
                continue;
            }
            by_pool[relation.target] = Some(match relation.method {
                Method::Multiply { scale, .. } => {
                    *counts.entry(kind.clone()).or_default() += source * u64::from(scale);
                    source * u64::from(scale)
                }
                _ => counts[kind],
            });
        }
    }
    counts
}

#[test]
fn every_sample_makes_what_its_recipe_says() {
    let Some(shared) = shared() else { return };
    let files = samples(&shared);
    assert!(files.len() >= 13);
    for path in files {
        let (grug, graph) = expand(&path);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for v in graph.vertices() {
            *counts.entry(graph.kind_name(graph.kind(v)).to_owned()).or_default() += 1;
        }
        assert_eq!(counts, naive_counts(&grug), "{}", path.display());
        let mut ids: Vec<i64> = graph.vertices().map(|v| graph.uniq_id(v)).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..graph.len() as i64), "{}", path.display());
        let ranks: Vec<u32> = graph.targets().iter().filter_map(|id| graph.target(id)).map(|t| t.rank).collect();
        assert_eq!(ranks.len() as u64, counts.get("node").copied().unwrap_or_default(), "{}", path.display());
        assert_eq!(ranks.iter().max().map_or(0, |most| most + 1) as usize, ranks.len(), "{}", path.display());
        if graph.len() < 10_000 {
            let properties = Properties::new();
            let (again, named) = Graph::from_text(&graph.to_text(&properties)).unwrap();
            assert_eq!(describe(&again, &named), describe(&graph, &properties), "{}", path.display());
        }
    }
}

/// A graph as a JGF would have it: by number, what a vertex is; and its edges by number.
type Told = (BTreeMap<i64, String>, Vec<(i64, i64, String)>);

fn told(graph: &Graph) -> Told {
    let nodes = graph.vertices().map(|v| {
        let vertex = graph.vertex(v);
        let paths: BTreeMap<&str, String> = graph
            .subsystems()
            .filter_map(|s| Some((graph.subsystem_name(s), graph.path_in(v, s)?.into_owned())))
            .collect();
        let target = graph.target_of(v).and_then(|id| graph.target(id)).filter(|t| t.vertex == v);
        let rank = target.map_or(-1, |target| i64::from(target.rank));
        let (kind, unit) = (graph.kind_name(vertex.kind()), vertex.unit());
        let said = format!("{kind} {} {} {} {unit} {rank} {paths:?}", vertex.name(), vertex.id(), vertex.size());
        (graph.uniq_id(v), said)
    });
    let nodes = nodes.collect();
    let number = |v| graph.uniq_id(v);
    let mut edges = Vec::new();
    for v in graph.vertices() {
        for s in graph.subsystems() {
            let to = graph.successors(v, s);
            edges.extend(to.map(|to| (number(v), number(to), graph.subsystem_name(s).to_owned())));
        }
    }
    edges.sort();
    (nodes, edges)
}

fn told_by(jgf: &Jgf) -> Told {
    let node = |node: &crate::formats::jgf::JgfNode| {
        // One of the dumps gives what is inside a node the rank of the node.
        let rank = if node.kind == "node" { node.rank } else { -1 };
        let (kind, unit) = (&node.kind, &node.unit);
        let said = format!("{kind} {} {} {} {unit} {rank} {:?}", node.name, node.num, node.size, node.paths);
        (node.uniq_id, said)
    };
    let edge = |edge: &crate::formats::jgf::JgfEdge| {
        (edge.source.parse().unwrap(), edge.target.parse().unwrap(), edge.subsystem.clone())
    };
    let mut edges: Vec<_> = jgf.edges.iter().map(edge).collect();
    edges.sort();
    (jgf.nodes.iter().map(node).collect(), edges)
}

#[test]
fn agrees_with_what_fluxion_makes_of_the_recipe() {
    let Some(shared) = shared() else { return };
    let data = shared.join(DATA);
    for (recipe, dump) in [("tiny", "tiny"), ("power", "power")] {
        let (_, graph) = expand(&data.join(format!("grugs/{recipe}.graphml")));
        let jgf = Jgf::parse(std::fs::read(data.join(format!("jgfs/{dump}.json"))).unwrap()).unwrap();
        let (ours, theirs) = (told(&graph), told_by(&jgf));
        for (number, said) in &theirs.0 {
            assert_eq!(ours.0.get(number), Some(said), "{recipe} {number}");
        }
        assert_eq!(ours.0.len(), theirs.0.len());
        for (a, b) in ours.1.iter().zip(&theirs.1) {
            assert_eq!(a, b, "{recipe}");
        }
        assert_eq!(ours.1.len(), theirs.1.len());
    }
}

/// A recipe from lines `KIND ABOVE SCALE SCOPE START STRIDE`; the first line has the root alone.
fn recipe(lines: &str) -> Grug {
    let mut lines = lines.split(", ");
    let mut pools = vec![Pool { root: true, ..Pool::new(lines.next().unwrap()) }];
    let mut relations = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).map_or(0, |word| word.parse::<i32>().unwrap());
        let source = pools.iter().position(|pool| pool.id == words[1]).unwrap();
        let ids = IdRule { scope: number(3), start: number(4), stride: number(5) };
        let method = Method::Multiply { scale: number(2) as u32, ids };
        relations.push(Relation { method, ..Relation::multiply(source, pools.len(), 0) });
        pools.push(Pool::new(words[0]));
    }
    Grug::new("g", pools, relations).unwrap()
}

fn ids_of(lines: &str, kind: &str) -> Vec<i64> {
    let (graph, _) = Graph::from_grug(&recipe(lines)).unwrap();
    graph.of_kind(graph.kind_id(kind).unwrap()).iter().map(|&v| graph.vertex(v).id()).collect()
}

#[test]
fn ids_are_unique_within_their_scope() {
    let above = "a, b a 2, c b 2";
    let cases: [(&str, &[i64]); 8] = [
        ("d c 2 0 5 9", &[5, 6, 5, 6, 5, 6, 5, 6]),
        ("d c 2 1 0 1", &[0, 1, 2, 3, 0, 1, 2, 3]),
        ("d c 2 2 0 1", &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("d c 2 9 0 1", &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("d c 2 1 3 10", &[3, 13, 23, 33, 3, 13, 23, 33]),
        ("d c 2 1 0 -1", &[0, -1, -2, -3, 0, -1, -2, -3]),
        ("d c 1 -1 7 7", &[-1, -1, -1, -1]),
        ("d a 3 1 0 1", &[0, 1, 2]),
    ];
    for (last, ids) in cases {
        assert_eq!(ids_of(&format!("{above}, {last}"), "d"), ids, "{last}");
    }
}

#[test]
fn a_vertex_without_id_is_called_by_its_basename() {
    let (graph, _) = Graph::from_grug(&recipe("a, node a 1 -1")).unwrap();
    let v = graph.by_path("/a0/node").unwrap();
    assert_eq!((graph.vertex(v).id(), graph.vertex(v).name().as_ref()), (-1, "node"));
    assert_eq!(&*graph.target(graph.target_of(v).unwrap()).unwrap().host, "node");
}

#[test]
fn ranks_and_numbers_follow_generation_not_place() {
    let (graph, _) =
        Graph::from_grug(&recipe("a, rack a 2, node rack 1 1 0 1, core node 1, pdu rack 1 1 0 1")).unwrap();
    let numbers: Vec<(String, i64)> = graph.vertices().map(|v| (graph.path(v), graph.uniq_id(v))).collect();
    let expected = [
        ("/a0", 0),
        ("/a0/rack0", 1),
        ("/a0/rack0/node0", 3),
        ("/a0/rack0/node0/core0", 5),
        ("/a0/rack0/pdu0", 7),
        ("/a0/rack1", 2),
        ("/a0/rack1/node1", 4),
        ("/a0/rack1/node1/core0", 6),
        ("/a0/rack1/pdu1", 8),
    ];
    assert_eq!(numbers, expected.map(|(path, number)| (path.to_owned(), number)));
    // Kept when vertices go; new ones get the next.
    let rank0 = graph.target_by_rank(0).unwrap();
    let (less, _) = graph.without(&crate::base::TargetSet::single(rank0));
    assert_eq!(less.uniq_id(less.by_path("/a0/rack1/pdu1").unwrap()), 8);
    let (more, _) = Graph::from_text("a a0 / rack rack7 / ssd*2").unwrap();
    let more = less.extend(&more).unwrap().graph;
    let number = |path| more.uniq_id(more.by_path(path).unwrap());
    assert_eq!((number("/a0/rack1/pdu1"), number("/a0/rack7"), number("/a0/rack7/ssd1")), (8, 9, 11));
}

#[test]
fn a_vertex_has_one_place_and_all_its_edges() {
    let Some(shared) = shared() else { return };
    let (_, graph) = expand(&shared.join(DATA).join("grugs/mt-storage/mtl3.graphml"));
    let root = graph.vertex(graph.roots().next().unwrap()).name().into_owned();
    let unit = graph.by_path(&format!("/{root}/mtl2unit0")).unwrap();
    let linked: Vec<String> = graph.successors(unit, SubsystemId::CONTAINMENT).map(|v| graph.path(v)).collect();
    assert_eq!(linked, [format!("/{root}/mtl2unit0/mtl1unit0"), format!("/{root}/mtl2unit0/mtl1unit1")]);
    assert_eq!(graph.children(unit).count(), 0);
    let linked = graph.by_path(&linked[1]).unwrap();
    assert_eq!(graph.parent(linked), graph.by_path(&format!("/{root}/rack1")));
    // What is below was named before the association.
    let below = graph.children(linked).next().unwrap();
    assert_eq!(graph.path(below), format!("/{root}/rack1/mtl1unit1/ssd0"));
    assert_eq!(graph.by_path(&graph.path(below)), Some(below));
    let (next, _) = graph.without(&crate::base::TargetSet::new());
    assert_eq!(next.successors(unit, SubsystemId::CONTAINMENT).count(), 2);
}

#[test]
fn refuses_graphs_without_end() {
    let cases = [
        ("a, b a 2000000000", "expected at most 67108864 vertices, found more"),
        ("a, b a 30000, c b 30000", "expected at most 67108864 vertices, found more"),
        ("a, node a 1, node2 node 1", ""),
        ("a, b a 3 1 2000000000 2000000000", ""),
    ];
    for (lines, message) in cases {
        let found = Graph::from_grug(&recipe(lines)).err().map_or_else(String::new, |e| e.to_string());
        assert_eq!(found, message, "{lines}");
    }
    let mut pools = vec![Pool { root: true, ..Pool::new("a") }, Pool::new("b")];
    let mut relations = vec![Relation::multiply(0, 1, 10_000)];
    for at in 0..3 {
        pools.push(Pool { id: format!("b{at}"), ..Pool::new("b") });
        let subsystem = format!("s{at}");
        let method = Method::AssociateIn;
        relations.push(Relation { method, subsystem, ..Relation::multiply(at + 1, at + 2, 0) });
    }
    let grug = Grug::new("g", pools, relations).unwrap();
    let found = Graph::from_grug(&grug).unwrap_err();
    assert_eq!(found.to_string(), "expected associations to make at most 16777216 edges, found more");
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn any_recipe_makes_a_graph_or_an_error(grug in crate::formats::grug::tests::recipes()) {
        if let Ok((graph, _)) = Graph::from_grug(&grug) {
            let mut ids: Vec<i64> = graph.vertices().map(|v| graph.uniq_id(v)).collect();
            ids.sort_unstable();
            prop_assert!(ids.into_iter().eq(0..graph.len() as i64));
            for v in graph.vertices() {
                prop_assert!(!graph.is_contained(v) || graph.by_path(&graph.path(v)).is_some());
            }
        }
    }
}
