//! Which vertices are chosen.

use super::*;
use crate::matcher::tree::Traverser;

#[test]
fn by_policy() {
    let core = "node / slot / core";
    for (policy, first, second) in [
        ("high", "0 n3.core3", "0 n3.core2"),
        ("low", "0 n0.core0", "0 n0.core1"),
        ("hinode", "0 n3.core3", "0 n3.core2"),
        ("lonode", "0 n0.core0", "0 n0.core1"),
        ("hinodex", "0 n3", "0 n2"),
        ("lonodex", "0 n0", "0 n1"),
        ("first", "0 n3.core3", "0 n3.core2"),
        ("firstnodex", "0 n3", "0 n2"),
        ("locality", "0 n3.core3", "0 n3.core2"),
        ("policy=low node_exclusive=true", "0 n0", "0 n1"),
    ] {
        for index in [true, false] {
            let mut world = World::new(MACHINE, policy);
            if !index {
                world.engine = world.engine.without_index();
            }
            assert_eq!(world.allocate(0, 60, core), first, "{policy}");
            assert_eq!(world.allocate(0, 60, core), second, "{policy}");
        }
    }
}

#[test]
fn variation_prefers_the_best_class() {
    let graph =
        "cluster c\n  node n0 cores=1\n  node n1 cores=1 set.perf_class=2\n  node n2 cores=1 set.perf_class=1\n";
    let mut world = World::new(graph, "variation");
    let order: Vec<String> = (0..3).map(|_| world.allocate(0, 60, "node! / slot / core")).collect();
    assert_eq!(order, ["0 n2", "0 n1", "0 n0"]);
}

#[test]
fn levels_may_be_left_out_above_but_not_between() {
    let graph = "cluster c\n  node n[0-1] / socket*2 / core*2\n";
    let mut world = World::new(graph, "low");
    assert_eq!(world.allocate(0, 60, "slot / core*2"), "0 n0.core0 n0.core1");
    assert_eq!(world.allocate(0, 60, "socket / slot / core"), "0 n1.core0");
    assert_eq!(world.run(Operation::Satisfiability, 0, 60, "node / core"), "never");
    assert_eq!(world.allocate(0, 60, "node*2 / socket / slot / core"), "0 n0.core2 n1.core1");
}

#[test]
fn slots_take_whole_vertices() {
    let graph = "cluster c\n  node n0 cores=4\n    memory*2 size=16GB\n";
    let mut world = World::new(graph, "low");
    // One unit costs a vertex of sixteen.
    assert_eq!(world.run(Operation::Satisfiability, 0, 60, "node / slot*3 / core + memory"), "never");
    assert_eq!(world.allocate(0, 60, "node / slot*2 / core + memory"), "0 n0.core0 n0.core1 n0.memory0 n0.memory1");
    assert_eq!(world.allocate(0, 60, "node / slot / memory"), "busy");
    assert_eq!(world.allocate(0, 60, "node / slot / core"), "0 n0.core2");
    world.cancel(2);
    assert_eq!(world.allocate(0, 60, "node / slot / memory*20"), "0 n0.memory0 n0.memory1");
}

#[test]
fn counts_are_as_large_as_admitted() {
    let mut world = World::new("cluster c\n  node n0 cores=7\n", "low");
    assert_eq!(
        world.allocate(0, 60, "node / slot / core*2-10:2"),
        "0 n0.core0 n0.core1 n0.core2 n0.core3 n0.core4 n0.core5"
    );
    assert_eq!(world.allocate(0, 60, "node / slot / core*2-10:2"), "busy");
    world.cancel(1);
    assert_eq!(world.allocate(0, 60, "node / slot / core*2-16:2:*"), "0 n0.core0 n0.core1 n0.core2 n0.core3");
}

#[test]
fn exclusive_vertices_hold_all_inside() {
    let mut world = World::new(MACHINE, "low");
    assert_eq!(world.allocate(0, 60, "rack! / node / slot / core"), "0 rack0");
    assert_eq!(world.allocate(0, 60, "rack! / node / slot / core"), "0 rack1");
    assert_eq!(world.allocate(0, 60, "slot / core"), "busy");
    world.cancel(1);
    assert_eq!(world.allocate(0, 60, "slot / core"), "0 n0.core0");
    assert_eq!(world.allocate(0, 60, "rack! / node / slot / core"), "busy");
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n1");
}

#[test]
fn times_are_planned_around() {
    let mut world = World::new("cluster c\n  node n[0-1] cores=1\n", "low");
    assert_eq!(world.reserve(0, 100, "node! / slot / core"), "0 n0");
    assert_eq!(world.reserve(0, 50, "node! / slot / core"), "0 n1");
    assert_eq!(world.reserve(0, 10, "node*2! / slot / core"), "100 n0 n1");
    // Fits in front of the reservation, or only behind it.
    assert_eq!(world.reserve(0, 50, "node! / slot / core"), "50 n1");
    assert_eq!(world.reserve(0, 51, "node! / slot / core"), "110 n0");
    world.cancel(3);
    assert_eq!(world.reserve(0, 51, "node! / slot / core"), "100 n1");
}

#[test]
fn constraints_hold_for_nodes() {
    let graph = "cluster c\n  node n[0-1] cores=1 properties=fast\n  node n[2-3] cores=1\n";
    let mut world = World::new(graph, "high");
    let mut ask = |json: &str| {
        let constraint =
            crate::formats::constraint::Constraint::from_json(&serde_json::from_str(json).unwrap()).unwrap();
        let spec = spec("node! / slot / core").with_constraint(constraint).with_duration(Duration::from_secs(9));
        match world.try_match(Operation::WithoutAllocating, 0, &spec) {
            Ok(matched) => world.leaves(&matched).join(" "),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(ask(r#"{"properties": ["fast"]}"#), "n1");
    assert_eq!(ask(r#"{"not": [{"properties": ["fast"]}]}"#), "n3");
    assert_eq!(ask(r#"{"hostlist": ["n[0,2]"]}"#), "n2");
    assert_eq!(ask(r#"{"ranks": ["0"]}"#), "n0");
    assert_eq!(ask(r#"{"and": [{"properties": ["fast"]}, {"ranks": ["3"]}]}"#), "no matching resources are free");
}

#[test]
fn alternatives_are_mixed() {
    let graph = "cluster c\n  node n0 cores=5 gpus=1\n";
    let options = Options { traverser: Traverser::Flexible, policy: "low".parse().unwrap(), ..Options::default() };
    let mut world = World::with(graph, options);
    let slot = |count: &str, with: &str| Resource { with: levels(&[with]), ..resource(&format!("slot*{count}")) };
    let slots = vec![slot("1-4", "core + gpu"), slot("1-4", "core*2")];
    let node = Resource { with: slots, ..resource("node") };
    let spec = Jobspec::new(vec![node], "task").with_duration(Duration::from_secs(9));
    let matched = world.try_match(Operation::Allocate, 0, &spec).unwrap();
    assert_eq!(world.leaves(&matched).len(), 6, "one slot with the gpu, two with two cores");
    let xor = |with: &str| Resource { kind: "xor_slot".to_owned(), ..slot("1", with) };
    world.cancel(1);
    let node = Resource { with: vec![xor("gpu*2"), xor("core*3")], ..resource("node") };
    let matched = world.try_match(Operation::Allocate, 0, &Jobspec::new(vec![node], "task")).unwrap();
    assert_eq!(world.leaves(&matched), ["n0.core0", "n0.core1", "n0.core2"]);
}

#[test]
fn other_subsystems_are_walked_up() {
    let graph = "cluster c\n  node n[0-1] cores=1\n@loose power path.power=/power0 size=10\n\
                 @edge power /c/n0 4\n@edge power /c/n1 4\n";
    let graph = graph.replace(" 4\n", " 5\n");
    let options = Options { policy: "low".parse().unwrap(), ..Options::default() };
    let options = options.with_subsystem_set("C+PA").unwrap();
    let mut world = World::with(&graph, options);
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n0.core0");
    // Marked down it lets nothing through upward, but only what asks for it suffers.
    world.engine.set_status("/power0", Status::Down).unwrap();
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n1.core0");
}
