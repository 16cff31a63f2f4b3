//! Configuration that lies over a scenario's.

use sluice::config::QueuePolicy;
use sluice::config::layers::{Directory, Wanted};
use sluice::replay::scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Replays the weekend on the command line; the start of each job.
fn starts(name: &str, more: &[&str]) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.starts"));
    let output = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(["replay", "graph-fixtures/weekend-dat", "--check", "--config-path", "tests/configs/system", "--starts"])
        .arg(&file)
        .args(more)
        .env_remove("SLUICE_CONFIG")
        .current_dir(root())
        .output()
        .expect("it runs");
    // What the scenario expects of EASY need not hold otherwise: 3.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}\n{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(file).expect("the starts")
}

#[test]
fn a_name_alone_changes_a_replay() {
    let easy = starts("easy", &[]);
    let conservative = starts("conservative", &["--config-name", "conservative"]);
    assert_eq!(easy.lines().count(), conservative.lines().count(), "the same jobs");
    assert_ne!(easy, conservative);
    // Set key by key it is the same.
    let set = |queue: &str| format!("queues.{queue}.policy.scheduler.queue-policy=conservative");
    let sets = ["pbatch", "pdebug", "pdat"].map(set);
    let args: Vec<&str> = sets.iter().flat_map(|set| ["--set", set.as_str()]).collect();
    assert_eq!(starts("set", &args), conservative);
}

/// The third of easy, conservative and a program; without Python it cannot be run.
#[test]
fn a_name_alone_puts_a_program_in_charge() {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no python3");
        return;
    }
    let (easy, external) = (starts("easy2", &[]), starts("external", &["--config-name", "external"]));
    assert_eq!(easy.lines().count(), external.lines().count(), "the same jobs");
    assert_ne!(easy, external);
    assert_eq!(external, starts("external2", &["--config-name", "external"]), "the same again");
    // A provider that is none is an error with its place.
    let output = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(["replay", "graph-fixtures/weekend-dat", "--set", "queues.pdat.policy.scheduler.provider=sched-lost"])
        .current_dir(root())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("queues.pdat.policy.scheduler.provider: there is no service"), "{said}");
}

#[test]
fn defaults_of_the_system_are_no_part_of_a_scenario() {
    let directory = Directory { label: "system".into(), path: root().join("tests/configs/system") };
    let above = Wanted { directories: vec![directory], names: vec!["conservative".into()], ..Wanted::default() };
    let path = root().join("graph-fixtures/weekend-dat");
    let (own, under) = (Scenario::load(&path), Scenario::load_under(&path, &above));
    let (own, under) = (own.expect("it reads").config, under.expect("it reads").config);
    assert_eq!(under.policy, own.policy);
    assert_eq!(own.queues["pbatch"].policy.scheduler.queue_policy, QueuePolicy::Easy);
    assert_eq!(under.queues["pbatch"].policy.scheduler.queue_policy, QueuePolicy::Conservative);
    assert_eq!(under.queues["pall"], own.queues["pall"]);
}

#[test]
fn errors_stand_in_the_file_that_lies_above() {
    let path = root().join("graph-fixtures/weekend-dat");
    let above = Wanted { files: vec![PathBuf::from("tests/configs/user/wrong.toml")], ..Wanted::default() };
    let errors = Scenario::load_under(&path, &above).expect_err("it is wrong").to_string();
    assert!(errors.contains("tests/configs/user/wrong.toml:2:1: queues.batch: unknown key `host`"), "{errors}");
}
