//! How far walks go: counted, never timed.

use super::*;

fn visits(world: &mut World, text: &str) -> (bool, u64) {
    let job = JobId(world.next);
    world.next += 1;
    let spec = spec(text).with_duration(Duration::from_secs(60));
    match world.engine.match_job(Operation::Allocate, job, Timestamp::ZERO, &spec) {
        Ok(matched) => (true, matched.visits.preorder),
        Err(failure) => (false, failure.visits.preorder),
    }
}

fn machine(racks: usize, nodes: usize) -> String {
    let mut text = "cluster c\n".to_owned();
    for rack in 0..racks {
        text += &format!("  rack\n    node n[{}-{}] cores=8\n", rack * nodes, rack * nodes + nodes - 1);
    }
    text
}

#[test]
fn a_failing_match_at_the_root_touches_nothing_below() {
    for (racks, nodes) in [(2, 2), (16, 16)] {
        let mut world = World::new(&machine(racks, nodes), "first");
        let all = racks * nodes;
        assert!(visits(&mut world, &format!("node*{all}! / slot / core")).0);
        for text in ["node! / slot / core", "slot / core", &format!("node*{}! / slot / core", all + 1)] {
            let (found, entered) = visits(&mut world, text);
            assert!(!found && entered <= 1, "{text}: {entered}");
        }
    }
}

#[test]
fn a_match_of_whole_nodes_touches_nothing_below_nodes() {
    for policy in ["first", "firstnodex"] {
        let mut world = World::new(&machine(16, 16), policy);
        world.engine = world.engine.without_index();
        let (found, entered) = visits(&mut world, "node*4! / slot / core*8");
        assert!(found);
        assert_eq!(entered, 1 + 1 + 4, "{policy}: the cluster, a rack and the nodes");
        let planned: Vec<VertexId> = world.engine.plans.keys().copied().collect();
        let cores = planned.iter().filter(|&&v| world.engine.graph.kind(v) == crate::graph::KindId::CORE).count();
        assert_eq!((cores, planned.len()), (0, 6));
        // All the same its cores are taken.
        assert_eq!(world.run(Operation::Satisfiability, 0, 60, "node*256! / slot / core*8"), "0 ");
        world.check();
    }
    let mut world = World::new(&machine(16, 16), "lonodex");
    world.engine = world.engine.without_index();
    let (found, entered) = visits(&mut world, "node*4! / slot / core*8");
    assert!(found);
    assert_eq!(entered, 1 + 16 + 256, "all nodes are compared, but nothing below");
    for policy in ["first", "firstnodex", "lonodex", "high"] {
        let mut world = World::new(&machine(16, 16), policy);
        assert_eq!(visits(&mut world, "node*4! / slot / core*8"), (true, 4), "{policy}: the index knows the nodes");
    }
}

#[test]
fn only_touched_vertices_have_plans() {
    let mut world = World::new(&machine(16, 16), "first");
    assert!(visits(&mut world, "node / slot / core").0);
    assert_eq!(world.engine.planned_vertices(), 4, "cluster, rack, node, core");
    world.cancel(1);
    assert_eq!(world.engine.planned_vertices(), 0);
}
