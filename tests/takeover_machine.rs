//! Schedulers take over from each other at random moments, also from and to one elsewhere that answers late, is refused and
//! dies in any step: I1–I10 hold, and nothing is lost.
//!
//! The one elsewhere is in this process for speed: one of our schedulers behind the messages of the protocol, with a queue of
//! messages in each direction that move only when the test says so. A few cases run the program in `tools/`.

#[path = "takeover/elsewhere.rs"]
mod elsewhere;
#[path = "takeover/program.rs"]
mod program;
#[path = "takeover/world.rs"]
mod world;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use sluice::config::QueuePolicy;
use world::{QUEUES, World};

/// Something that happens.
#[derive(Clone, Debug)]
enum Op {
    Submit {
        queue: usize,
        nodes: u8,
        parts: bool,
        limit: u8,
        run: u8,
    },
    Pass(u16),
    Cancel(u8),
    /// The policies, then those elsewhere.
    Swap(usize, usize),
    /// The same as a change of the configuration.
    Change(usize, usize),
    /// So many messages reach those elsewhere, and so many come back.
    Deliver(u8, u8),
    /// All messages arrive.
    Settle,
    /// All that was told arrives, and nothing comes back: grants are on their way.
    Hold,
    /// One elsewhere is gone.
    Crash(u8),
    /// The next so many cannot be started.
    Broken(u8),
    Start(usize),
    Stop(usize, bool),
    Flip(u8),
    Unload(usize),
    Load(usize),
    /// All is restored from what was written down; nobody elsewhere is left.
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let queue = 0..QUEUES.len();
    let ours = QueuePolicy::NAMES.len();
    let who = prop_oneof![0..ours, ours..ours + 2];
    prop_oneof![
        12 => (queue.clone(), 1..5u8, any::<bool>(), 1..40u8, 0..40u8)
            .prop_map(|(queue, nodes, parts, limit, run)| Op::Submit { queue, nodes, parts, limit, run }),
        6 => (1..30u16).prop_map(Op::Pass),
        4 => any::<u8>().prop_map(Op::Cancel),
        4 => Just(Op::Settle),
        5 => Just(Op::Hold),
        3 => (queue.clone(), who.clone()).prop_map(|(queue, to)| Op::Swap(queue, to)),
        1 => (queue.clone(), who).prop_map(|(queue, to)| Op::Change(queue, to)),
        3 => (1..12u8).prop_map(|there| Op::Deliver(there, 0)),
        3 => (1..6u8).prop_map(|back| Op::Deliver(0, back)),
        2 => (1..12u8, 1..6u8).prop_map(|(there, back)| Op::Deliver(there, back)),
        1 => any::<u8>().prop_map(Op::Crash),
        1 => (1..9u8).prop_map(Op::Broken),
        3 => queue.clone().prop_map(Op::Start),
        1 => (queue.clone(), any::<bool>()).prop_map(|(queue, release)| Op::Stop(queue, release)),
        2 => any::<u8>().prop_map(Op::Flip),
        1 => queue.clone().prop_map(Op::Unload),
        3 => queue.prop_map(Op::Load),
        1 => Just(Op::Restart),
    ]
}

fn play(ops: &[Op]) -> Result<World, TestCaseError> {
    let mut world = World::new();
    for op in ops {
        world.perform(op)?;
        world.check()?;
    }
    world.settle()?;
    world.check()?;
    world.check_quiet()?;
    Ok(world)
}

proptest! {
    #[test]
    fn nobody_is_forgotten_when_schedulers_change(ops in prop::collection::vec(op(), 1..60)) {
        play(&ops)?;
    }
}

/// Random cases do reach what they are for.
#[test]
fn the_machine_covers_what_happens() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, TestRunner};
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let mut seen = world::Seen::default();
    for _ in 0..300 {
        let ops = prop::collection::vec(op(), 30..60).new_tree(&mut runner).expect("a case").current();
        let world = play(&ops).unwrap_or_else(|e| panic!("{e}: {ops:?}"));
        seen.add(&world.seen);
    }
    let rare: Vec<_> = seen.all().filter(|(_, often)| *often < 5).collect();
    assert!(rare.is_empty(), "{rare:?} of {seen:?}");
}
