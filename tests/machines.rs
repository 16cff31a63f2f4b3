//! Replays on machines that a recipe or hwloc files describe.

use sluice::formats::grug::{Grug, Pool, Relation};
use sluice::replay::assembly::{RunOptions, assemble};
use sluice::replay::scenario::Scenario;
use std::path::{Path, PathBuf};

/// A directory of its own with these files.
fn directory(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("a directory");
    for (file, text) in files {
        std::fs::write(directory.join(file), text).expect("a file");
    }
    directory
}

/// Submitted, completed and denied jobs of a scenario.
fn replay(directory: &Path) -> (u64, u64, u64) {
    let scenario = Scenario::load(&directory.join("scenario.toml")).unwrap_or_else(|e| panic!("{e}"));
    let shared = directory.to_owned();
    let options = RunOptions { shared, check: true, ..RunOptions::default() };
    let replay = assemble(scenario, options).unwrap_or_else(|e| panic!("{e}"));
    let outcome = replay.run().unwrap_or_else(|e| panic!("{e}")).outcome;
    assert!(outcome.broken.is_empty(), "{:?}", outcome.broken);
    let jobs = &outcome.report.total.jobs;
    (jobs.submitted, jobs.completed, jobs.denied)
}

const WORK: &str = r#"
[queues.batch]

[[workload]]
queue = "batch"
jobs = [{ at = 0, nodes = 6, run = "5m", limit = "10m" }, { at = 0, nodes = 7, run = "5m", limit = "10m" }]
"#;

#[test]
fn a_recipe_is_a_machine() {
    let pools =
        vec![Pool { root: true, ..Pool::new("cluster") }, Pool::new("rack"), Pool::new("node"), Pool::new("core")];
    let relations = vec![Relation::multiply(0, 1, 2), Relation::multiply(1, 2, 3), Relation::multiply(2, 3, 4)];
    let recipe = Grug::new("six", pools, relations).expect("a recipe").to_graphml();
    let scenario = format!("title = \"recipe\"\n{WORK}\n[graph]\nfile = \"six.graphml\"\n");
    let directory = directory("recipe", &[("six.graphml", &recipe), ("scenario.toml", &scenario)]);
    assert_eq!(replay(&directory), (2, 1, 1));
}

#[test]
fn topologies_are_a_machine() {
    let node = |n: u32| {
        format!(
            "<topology version=\"2.0\"><object type=\"Machine\"><info name=\"HostName\" value=\"pc{n}\"/>\
             <object type=\"Core\"/></object></topology>"
        )
    };
    let names: Vec<String> = (0..6).map(|n| format!("pc{n}.xml")).collect();
    let texts: Vec<String> = (0..6).map(node).collect();
    let scenario = format!("title = \"hwloc\"\n{WORK}\n[graph]\nhwloc = {names:?}\nallow = \"node,core\"\n");
    let mut files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    files.push(("scenario.toml", &scenario));
    assert_eq!(replay(&directory("hwloc", &files)), (2, 1, 1));
}
