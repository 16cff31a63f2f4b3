//! What Fluxion's own expected outputs say about graphs, as far as no matcher is needed: every vertex that one of them
//! names is where it says, and holds as much.

use super::fixtures::shared;
use super::*;
use crate::formats::grug::Grug;
use crate::formats::hwloc::{AllowList, Hwloc};
use crate::formats::jgf::Jgf;
use crate::formats::r::R;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut open = vec![directory.to_owned()];
    let mut found = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The allocations in an output of the writer `simple`: level, name and need of each vertex, the root first.
fn allocations(text: &str) -> Vec<Vec<(usize, &str, u64)>> {
    let vertex = |line: &'_ str| -> Option<(usize, String, u64)> {
        let rest = line.strip_prefix("      -")?;
        let dashes = 1 + rest.len() - rest.trim_start_matches('-').len();
        let (name, need) = rest.trim_start_matches('-').split_once('[')?;
        let need = need.strip_suffix(":s]").or_else(|| need.strip_suffix(":x]"))?;
        Some((dashes / 3, name.to_owned(), need.parse().ok()?))
    };
    let mut all = Vec::new();
    let mut open = Vec::new();
    for line in text.lines() {
        let Some((level, name, need)) = vertex(line) else { continue };
        let at = line.find(&name).unwrap();
        open.push((level, &line[at..at + name.len()], need));
        if level == 1 {
            open.reverse();
            all.push(std::mem::take(&mut open));
        }
    }
    all
}

/// Follows the names of an allocation down the containment edges of a graph. Gives what it does not find.
fn missing(graph: &Graph, allocation: &[(usize, &str, u64)]) -> Option<String> {
    let mut path: Vec<VertexId> = Vec::new();
    for &(level, name, need) in allocation {
        path.truncate(level - 1);
        let named = |v: &VertexId| graph.vertex(*v).name() == name && graph.size(*v) >= need;
        let found = match path.last() {
            None => graph.roots().find(named),
            Some(&above) => graph.successors(above, SubsystemId::CONTAINMENT).find(named),
        };
        match found {
            Some(v) => path.push(v),
            None => return Some(format!("{name}[{need}] at level {level}")),
        }
    }
    None
}

#[test]
fn expected_outputs_name_vertices_that_recipes_make() {
    let Some(shared) = shared() else { return };
    let data = shared.join("data/fluxion/t/data/resource");
    let mut by_root: BTreeMap<String, Graph> = BTreeMap::new();
    for file in files(&data.join("grugs"), ".graphml") {
        let (graph, _) = Graph::from_grug(&Grug::parse(std::fs::read(file).unwrap()).unwrap()).unwrap();
        let root = graph.vertex(graph.roots().next().unwrap()).name().into_owned();
        by_root.insert(root, graph);
    }
    let mut checked: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files(&data.join("expected"), ".out") {
        let text = std::fs::read_to_string(&file).unwrap();
        for allocation in allocations(&text) {
            let Some((root, graph)) = by_root.get_key_value(allocation[0].1) else { continue };
            assert_eq!(missing(graph, &allocation), None, "{} of {}", allocation[0].1, file.display());
            *checked.entry(root).or_default() += allocation.len();
        }
    }
    eprintln!("vertices checked: {checked:?}");
    assert!(checked.values().sum::<usize>() > 10_000 && checked.len() >= 8, "{checked:?}");
}

#[test]
fn expected_outputs_name_vertices_that_topologies_have() {
    let Some(shared) = shared() else { return };
    let (data, xml) = (shared.join("data/fluxion/t/data"), shared.join("data/fluxion/t/data/hwloc-data/001N"));
    // Expected output, topology, allow-list as the tests of Fluxion give it.
    let cases = [
        ("basics/019.R.out", "amd_gpu/corona11.xml", "node,socket,core,gpu"),
        ("basics/020.R.out", "multi_gpu_types/chimera.xml", "node,socket,core,gpu"),
        ("node_local_storage/corona-full-drive.R.out", "node_local_storage/corona/0.xml", "node,socket,core,storage"),
        (
            "node_local_storage/lassen-full-drive.R.out",
            "node_local_storage/lassen/0.xml",
            "node,socket,core,gpu,storage",
        ),
        (
            "node_local_storage/catalyst-full-drive.R.out",
            "node_local_storage/catalyst/0.xml",
            "node,socket,core,gpu,storage",
        ),
        ("find-format/simple.expected.out", "exclusive/01-brokers/0.xml", "node,core"),
    ];
    for (output, topology, allowed) in cases {
        let node = Hwloc::parse(std::fs::read(xml.join(topology)).unwrap()).unwrap();
        let (graph, _) = Graph::from_hwloc([(0, &node)], &AllowList::parse(allowed).unwrap()).unwrap();
        let text = std::fs::read_to_string(data.join("resource/expected").join(output)).unwrap();
        let all = allocations(&text);
        assert!(!all.is_empty(), "{output}");
        for allocation in all {
            assert_eq!(missing(&graph, &allocation), None, "{output}");
        }
    }
    // Numbers and devices, from JGF.
    let node = Hwloc::parse(std::fs::read(xml.join("exclusive/01-brokers/0.xml")).unwrap()).unwrap();
    let (graph, _) = Graph::from_hwloc([(0, &node)], &AllowList::parse("node,core").unwrap()).unwrap();
    let jgf = std::fs::read(data.join("resource/expected/find-format/jgf.expected.json")).unwrap();
    let jgf = Jgf::parse(jgf).unwrap();
    assert_eq!(jgf.nodes.len(), graph.len());
    for told in &jgf.nodes {
        let v = graph.by_path(&told.paths["containment"]).unwrap();
        let vertex = graph.vertex(v);
        let ours = (graph.uniq_id(v), vertex.id(), vertex.basename(), graph.kind_name(vertex.kind()));
        assert_eq!(ours, (told.uniq_id, told.num, told.basename.as_str(), told.kind.as_str()));
    }
    for (name, devices) in [("catalyst", vec!["8:0", "8:16", "8:32", "8:48"]), ("lassen", vec!["259:0"])] {
        let file = xml.join("node_local_storage").join(name).join("0.xml");
        let node = Hwloc::parse(std::fs::read(file).unwrap()).unwrap();
        let (graph, _) = Graph::from_hwloc([(3, &node)], &AllowList::parse("node,storage").unwrap()).unwrap();
        let storage = graph.of_kind(graph.kind_id("storage").unwrap());
        let mut found: Vec<&str> =
            storage.iter().map(|&v| graph.vertex(v).properties()["LinuxDeviceID"].as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, devices);
        assert!(storage.iter().all(|&v| graph.vertex(v).rank() == Some(3)));
    }
}

#[test]
fn allow_lists_lift_what_is_in_types_that_they_leave_out() {
    let text = "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\"><object type=\"Core\"/>\
                <object type=\"Core\"/></object><object type=\"OSDev\" osdev_type=\"0\"/></object></topology>";
    let node = Hwloc::parse(text).unwrap();
    let graph = |allowed: &str| Graph::from_hwloc([(5, &node), (6, &node)], &AllowList::parse(allowed).unwrap());
    let (all, properties) = graph("node,core").unwrap();
    assert_eq!(all.to_text(&properties), "cluster[0]\n  node[5-6] rank=5 host=\"\"\n    core[0-1]\n");
    let (bare, _) = graph("core").unwrap();
    assert_eq!((bare.len(), bare.targets().len()), (5, 0));
    assert_eq!(graph("").unwrap_err().to_string(), "host \"\": expected storage 0 to have a size, found none");
}

#[test]
fn r_makes_the_graph_that_fluxion_makes() {
    let Some(shared) = shared() else { return };
    let data = shared.join("data/fluxion/t/data/resource/rv1exec");
    for file in files(&data, ".json") {
        let text = std::fs::read_to_string(&file).unwrap();
        let r = match R::parse(&text) {
            Ok(r) => r,
            // Rank -1, which Fluxion refuses too.
            Err(e) => {
                assert!(file.ends_with("rank1_cancel_invalid.json"), "{}: {e}", file.display());
                continue;
            }
        };
        let (graph, properties) = Graph::from_r(&r).unwrap();
        // By hand, from R_lite: cluster0, then each rank in turn with its cores and GPUs.
        let mut expected = vec!["/cluster0".to_owned()];
        for entry in &r.ranks {
            let host = entry.host.clone().unwrap_or_else(|| format!("node{}", entry.rank));
            expected.push(format!("/cluster0/{host}"));
            expected.extend(entry.cores.iter().map(|id| format!("/cluster0/{host}/core{id}")));
            expected.extend(entry.gpus.iter().map(|id| format!("/cluster0/{host}/gpu{id}")));
            let target = graph.target(graph.target_by_rank(entry.rank).unwrap()).unwrap();
            assert_eq!(graph.vertex(target.vertex).rank(), Some(entry.rank));
        }
        let paths: Vec<String> = graph.vertices().map(|v| graph.path(v)).collect();
        assert_eq!(paths, expected, "{}", file.display());
        for (name, ranks) in &r.properties {
            let has = properties.get(name).unwrap();
            assert!(ranks.iter().all(|rank| has.contains(graph.target_by_rank(rank).unwrap())));
        }
    }
}

#[test]
fn allocations_in_jgf_name_vertices_of_the_recipe() {
    let Some(shared) = shared() else { return };
    let data = shared.join("data/fluxion/t/data/resource");
    let tiny = std::fs::read(data.join("grugs/tiny.graphml")).unwrap();
    let (graph, _) = Graph::from_grug(&Grug::parse(tiny).unwrap()).unwrap();
    let all = Jgf::parse(std::fs::read(data.join("jgfs/tiny.json")).unwrap()).unwrap();
    let held = graph.held_in(&all, Detail::Full).unwrap();
    assert_eq!(held.len(), graph.len());
    // The shorthand of a node, and the same said in full.
    let node = all.nodes.iter().position(|node| node.paths["containment"] == "/tiny0/rack0/node1").unwrap();
    let is_below = |path: &str| path.starts_with("/tiny0/rack0/node1/");
    let only = |take: &dyn Fn(&str) -> bool| Jgf {
        nodes: all.nodes.iter().filter(|node| take(&node.paths["containment"])).cloned().collect(),
        edges: Vec::new(),
    };
    let mut short = only(&|path| path == "/tiny0/rack0/node1" || path == "/tiny0");
    short.nodes[1].exclusive = true;
    let mut long = only(&|path| path == "/tiny0/rack0/node1" || path == "/tiny0" || is_below(path));
    for node in &mut long.nodes[1..] {
        node.exclusive = true;
    }
    let held = graph.held_in(&short, Detail::Shorthand).unwrap();
    assert_eq!(held, graph.held_in(&long, Detail::Full).unwrap());
    assert_eq!(held, graph.held_in(&long, Detail::Shorthand).unwrap());
    assert_eq!(held.len(), 50);
    assert_eq!(graph.held_in(&short, Detail::Full).unwrap().len(), 2);
    let refused = |change: &dyn Fn(&mut crate::formats::jgf::JgfNode)| {
        let mut jgf = all.clone();
        change(&mut jgf.nodes[node]);
        graph.held_in(&jgf, Detail::Full).unwrap_err().to_string()
    };
    let at = "vertex \"3\" at /tiny0/rack0/node1: expected";
    assert_eq!(refused(&|n| n.kind = "rack".into()), format!("{at} type node, found rack"));
    assert_eq!(refused(&|n| n.name = "pc1".into()), format!("{at} name node1, found pc1"));
    assert_eq!(refused(&|n| n.num = 7), format!("{at} id 1, found 7"));
    assert_eq!(refused(&|n| n.rank = 7), format!("{at} rank 1, found 7"));
    assert_eq!(refused(&|n| n.size = 2), format!("{at} a size up to 1, found 2"));
    let unknown = "vertex \"3\": expected a containment path of this graph, found";
    assert_eq!(refused(&|n| drop(n.paths.insert("containment".into(), "/x".into()))), format!("{unknown} \"/x\""));
    assert_eq!(refused(&|n| n.paths.clear()), format!("{unknown} \"\""));
}
