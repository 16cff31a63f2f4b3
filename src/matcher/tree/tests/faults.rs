//! Where Fluxion is wrong (`docs/fluxion.md`), ours is right. Each test is named after the fault, and shows it with
//! `compat` where that keeps it.

use super::*;

fn compatible(graph: &str, policy: &str) -> World {
    World::with(graph, Options { policy: policy.parse().unwrap(), compat: true, ..Options::default() })
}

#[test]
fn down_is_not_the_same_as_not_a_member() {
    let all = "node*4! / slot / core";
    for (mut world, expected) in [(World::new(MACHINE, "first"), "busy"), (compatible(MACHINE, "first"), "never")] {
        world.down("/c/rack0/n0");
        assert_eq!(world.run(Operation::AllocateWithSatisfiability, 0, 60, all), expected);
        assert_eq!(world.run(Operation::Satisfiability, 0, 60, all), "0 ");
        let more = "node*5! / slot / core";
        assert_eq!(world.run(Operation::AllocateWithSatisfiability, 0, 60, more), "never");
        assert_eq!(world.run(Operation::Satisfiability, 0, 60, more), "never");
    }
}

#[test]
fn weights_return_on_cancel() {
    let core = "node / slot / core";
    for (mut world, expected) in
        [(World::new(MACHINE, "first"), "0 n3.core3"), (compatible(MACHINE, "first"), "0 n1.core3")]
    {
        assert_eq!(world.allocate(0, 60, core), "0 n3.core3");
        world.cancel(1);
        // Fluxion goes on to prefer what was never used: another rack, here.
        assert_eq!(world.allocate(0, 60, core), expected);
    }
}

#[test]
fn counts_of_what_is_up_come_from_marks() {
    let mut world = World::new(MACHINE, "first");
    world.down("/c/rack0/n0");
    world.down("/c/rack0");
    assert_eq!(world.engine.nodes_up(), 2);
    world.up("/c/rack0");
    assert_eq!(world.engine.nodes_up(), 3);
    assert_eq!(world.allocate(0, 60, "node*3! / slot / core"), "0 n1 n2 n3");
    let mut world = compatible(MACHINE, "first");
    world.down("/c/rack0/n0");
    world.down("/c/rack0");
    // Node 0 was taken away twice, so that Fluxion does not even look for two.
    assert_eq!(world.allocate(0, 60, "node*2! / slot / core"), "busy");
}

#[test]
fn nested_marks_keep_what_each_says() {
    let mut world = World::new(MACHINE, "high");
    world.down("/c/rack1");
    world.down("/c/rack1/n3");
    world.up("/c/rack1");
    assert!(!world.engine.is_up(world.engine.vertices_at("/c/rack1/n3")[0]));
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n2");
    world.down("/c/rack1");
    world.up("/c/rack1/n3");
    assert!(!world.engine.is_up(world.engine.vertices_at("/c/rack1/n3")[0]));
    assert_eq!(world.allocate(0, 60, "node! / slot / core"), "0 n1");
}

#[test]
fn overrunning_jobs_are_in_forecasts() {
    let graph = "cluster c\n  node n0 cores=2\n";
    let mut world = World::new(graph, "first");
    assert_eq!(world.allocate(0, 10, "node! / slot / core"), "0 n0");
    // Ten seconds past its end the job is still there; it is given a minute from its end.
    assert_eq!(world.allocate(20, 10, "node / slot / core"), "busy");
    assert_eq!(world.run(Operation::WithoutAllocatingFuture, 20, 10, "node / slot / core"), "70 n0.core1");
    // Then twice as long.
    assert_eq!(world.reserve(71, 10, "node / slot / core"), "190 n0.core1");
    world.cancel(1);
    assert_eq!(world.allocate(72, 10, "node! / slot / core"), "72 n0");
}

#[test]
fn what_overruns_into_a_reservation_is_counted_once() {
    // Two nodes: one job overruns into what another has reserved on the same node; the second node stays free.
    let graph = "cluster c\n  node n[0-1] cores=2\n";
    for (held, reserved) in [
        ("node! / slot / core", "node! / slot / core"),
        ("node / slot / core", "node! / slot / core"),
        ("node! / slot / core", "node / slot / core*2"),
        ("node / slot / core", "node / slot / core*2"),
    ] {
        for walks in [true, false] {
            let mut world = World::new(graph, "low");
            if walks {
                world.engine = world.engine.without_index();
            }
            world.down("/c/n1");
            assert!(world.allocate(0, 10, held).starts_with("0 n0"));
            assert!(world.reserve(0, 100, reserved).starts_with("10 n0"), "{held}, {reserved}");
            world.up("/c/n1");
            // At 20 the first is still there, until 70; node 1 is free.
            let case = format!("{held}, {reserved}, walks: {walks}");
            assert_eq!(world.allocate(20, 10, "slot*2 / core"), "20 n1.core0 n1.core1", "{case}");
            assert_eq!(world.allocate(20, 10, "node / slot / core"), "busy", "{case}");
            world.cancel(1);
            world.cancel(2);
            assert_eq!(world.allocate(20, 10, "node! / slot / core*2"), "20 n0", "{case}");
        }
    }
}

#[test]
fn the_while_of_what_overruns_is_an_option() {
    let options = Options { overrun_slack: Duration::from_secs(5), ..Options::default() };
    let mut world = World::with("cluster c\n  node n0 cores=2\n", options);
    assert_eq!(world.allocate(0, 10, "node! / slot / core"), "0 n0");
    assert_eq!(world.run(Operation::WithoutAllocatingFuture, 11, 10, "node / slot / core"), "15 n0.core1");
    assert_eq!(world.run(Operation::WithoutAllocatingFuture, 16, 10, "node / slot / core"), "25 n0.core1");
    assert_eq!(world.run(Operation::WithoutAllocatingFuture, 26, 10, "node / slot / core"), "45 n0.core1");
}

#[test]
fn shared_pools_of_overrunning_jobs_are_not_given_away() {
    let graph = "cluster c\n  node n0 cores=2\n";
    for (mut world, expected) in [(World::new(graph, "low"), "20 n0.core1"), (compatible(graph, "low"), "20 n0.core1")]
    {
        assert_eq!(world.allocate(0, 10, "node / slot / core"), "0 n0.core0");
        assert_eq!(world.allocate(20, 10, "node / slot / core"), expected);
        assert_eq!(world.allocate(20, 10, "node / slot / core"), "busy");
    }
}

#[test]
fn what_does_not_fit_here_is_no_error() {
    // The node that is looked at last is smaller than what one slot needs.
    let graph = "cluster c\n  node big cores=4\n  node small cores=1\n";
    for policy in ["first", "low", "high", "lonodex", "firstnodex"] {
        let mut world = World::new(graph, policy);
        let slot = "node / slot / core*4";
        assert!(world.allocate(0, 60, slot).starts_with('0'), "{policy}");
        assert_eq!(world.run(Operation::AllocateWithSatisfiability, 0, 60, slot), "busy", "{policy}");
        assert!(world.reserve(0, 60, slot).starts_with("60 "), "{policy}");
        assert_eq!(world.run(Operation::AllocateWithSatisfiability, 0, 60, "node / slot / core*5"), "never");
    }
}

#[test]
fn blocked_jobs_are_answered_anew() {
    let mut world = World::new(MACHINE, "first");
    let all = "node*4! / slot / core";
    world.down("/c/rack0");
    // What waits for a mark has no start, and holds nothing.
    assert_eq!(world.reserve(0, 60, all), "busy");
    world.up("/c/rack0");
    assert_eq!(world.reserve(0, 60, all), "0 n0 n1 n2 n3");
    // Neither has what waits for a job without end; when that ends, it has.
    world.cancel(2);
    assert_eq!(world.allocate(0, 0, "node! / slot / core"), "0 n3");
    assert_eq!(world.reserve(1, 60, all), "busy");
    world.cancel(3);
    assert_eq!(world.reserve(2, 60, all), "2 n0 n1 n2 n3");
}

#[test]
fn nodes_are_not_shared_below_a_policy_that_takes_them_whole() {
    // Taken without its node being asked for, by an engine that shared nodes before.
    for policy in ["hinodex", "lonodex", "firstnodex"] {
        let mut world = World::new("cluster c\n  node n[0-1] cores=2\n", policy);
        assert!(world.allocate(0, 60, "slot / core").starts_with("0 n"), "{policy}");
        assert!(world.allocate(0, 60, "slot / core").starts_with("0 n"), "{policy}");
        assert_eq!(world.allocate(0, 60, "slot / core"), "busy", "{policy}");
    }
}

#[test]
fn locality_takes_the_longest_range() {
    let graph = "cluster c\n  node n[0-6] cores=1\n";
    let nodes = "node*2! / slot / core";
    let mut world = World::new(graph, "locality");
    world.down("/c/n4");
    assert_eq!(world.allocate(0, 60, nodes), "0 n2 n3", "of the range of four, not of the two above");
    let mut world = compatible(graph, "locality");
    world.down("/c/n4");
    assert_eq!(world.allocate(0, 60, nodes), "0 n5.core0 n6.core0");
}

#[test]
fn unknown_types_are_never_there() {
    let mut world = World::new(MACHINE, "first");
    assert_eq!(world.allocate(0, 60, "node / slot / fpga"), "never");
}

#[test]
fn alternatives_go_deeper_than_the_first_level() {
    let mut fluxion = compatible("cluster c\n  node n0 / socket*2 / core*2\n", "low");
    assert_eq!(fluxion.allocate(0, 60, "node / slot*2 / core*2"), "busy", "found, and lost on the way");
    // A slot below a node whose cores are below sockets: the simple traverser lets it sink, so does ours here.
    let graph = "cluster c\n  node n0 / socket*2 / core*2\n";
    for traverser in [crate::matcher::tree::Traverser::Simple, crate::matcher::tree::Traverser::Flexible] {
        let mut world = World::with(graph, Options { traverser, policy: "low".parse().unwrap(), ..Options::default() });
        assert_eq!(world.allocate(0, 60, "node / slot*2 / core*2"), "0 n0.core0 n0.core1 n0.core2 n0.core3");
    }
}
