//! The reference scheduler in `tools/`, as a program: the same messages through pipes.

use super::world::{QUEUES, World};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Whether Python is there to run it.
pub fn python() -> bool {
    let run = Command::new("python3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

pub fn tool() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tools/external-sched.py")
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse::<u32>().ok()).map_or(8, |n| (n / 32).max(8))
    ))]
    /// The same as with those in this process, but for what only they can be asked.
    #[test]
    fn a_program_takes_part(ops in proptest::collection::vec(super::op(), 20..60)) {
        if !python() {
            eprintln!("skipped: no python3");
            return Ok(());
        }
        let mut world = World::with_program(tool());
        for op in &ops {
            world.perform(op)?;
            world.check()?;
        }
        world.settle()?;
        world.check()?;
        world.check_quiet()?;
    }
}

/// One queue goes from ours to the program and back under load, and every job ends.
#[test]
fn a_program_takes_over_and_gives_back() {
    if !python() {
        eprintln!("skipped: no python3");
        return;
    }
    let mut world = World::with_program(tool());
    let submit = |nodes, run| super::Op::Submit { queue: 0, nodes, parts: false, limit: 30, run };
    let swap = |to| super::Op::Swap(0, to);
    let elsewhere = sluice::config::QueuePolicy::NAMES.len();
    let ops = [submit(4, 20), submit(4, 20), submit(2, 10), swap(elsewhere), submit(6, 5), submit(1, 5)];
    for op in ops {
        world.perform(&op).expect("it is sound");
        world.settle().expect("it settles");
        world.check().expect("it is sound");
    }
    assert_eq!(world.who(QUEUES[0]), Some("elsewhere5".to_owned()));
    for op in [super::Op::Pass(25), swap(1), super::Op::Pass(200)] {
        world.perform(&op).expect("it is sound");
        world.settle().expect("it settles");
        world.check().expect("it is sound");
    }
    assert_eq!(world.who(QUEUES[0]), None);
    assert_eq!(world.completed(), 5);
    assert!(world.seen.of("granted elsewhere") > 0);
}
