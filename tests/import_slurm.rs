//! `sluice import` on the files of real machines: what comes out is a configuration that replays, and no key is lost.

use sluice::config::layers::{Layers, Wanted};
use sluice::replay::assembly::{RunOptions, assemble};
use sluice::replay::library::Files;
use sluice::replay::scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of machines, if the data is there.
fn machines() -> Option<PathBuf> {
    let shared = std::env::var_os("SLUICE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let machines = shared.join("data/machines");
    if !machines.is_dir() {
        eprintln!("skipped: there are no machines at {}", machines.display());
        return None;
    }
    Some(machines)
}

/// The keys of a file, counted without the program: what stands before a `=` at the beginning of a word.
fn keys(file: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut keys = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let plain = line.split('#').next().unwrap_or_default().trim_end().trim_end_matches('\\');
        let named = plain.split_whitespace().filter_map(|word| word.split_once('='));
        keys.extend(named.map(|(key, _)| (number + 1, key.to_owned())));
    }
    keys
}

fn import(files: &[PathBuf]) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sluice")).args(["import", "--json"]).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Imports files together; gives the nodes, cores, gpus and queues that the result has.
fn check(files: &[PathBuf]) -> (usize, usize, usize, Vec<String>) {
    let imported = import(files);
    let mut found = imported["keys"].as_array().unwrap().iter();
    for file in files {
        for (line, key) in keys(file) {
            let told = found.next().unwrap_or_else(|| panic!("{}:{line}: {key} is not told of", file.display()));
            assert_eq!(told["file"], file.to_str().unwrap());
            assert_eq!((told["line"].as_u64(), told["key"].as_str()), (Some(line as u64), Some(key.as_str())));
            let notes = told["notes"].as_array().unwrap();
            assert!(!(told["became"].as_array().unwrap().is_empty() && notes.is_empty()), "{told}");
            assert!(notes.iter().all(|note| note["why"] != "no key of that name is known"), "{told}");
        }
    }
    assert!(found.next().is_none());

    let directory = tempfile(files);
    let made = directory.join("made.toml");
    std::fs::write(&made, imported["config"].as_str().unwrap()).unwrap();
    let layers = Layers::gather(&Wanted { files: vec![made], ..Wanted::default() }, &Files);
    let config = layers.config().unwrap_or_else(|errors| panic!("{errors}"));
    let queues: Vec<String> = config.queues.keys().cloned().collect();
    if config.resource.entries.is_empty() {
        return (0, 0, 0, queues);
    }
    // One job for each queue, and one that names none.
    let mut jobs =
        "config = \"made.toml\"\n[[workload]]\njobs = [\n{ at = 0, nodes = 1, run = 60, limit = 60 },\n".to_owned();
    queues
        .iter()
        .for_each(|queue| jobs += &format!("{{ at = 0, nodes = 1, run = 60, limit = 60, queue = \"{queue}\" }},\n"));
    let scenario = Scenario::parse(&(jobs + "]\n"), &directory.join("replay.toml")).unwrap_or_else(|e| panic!("{e}"));
    let replay =
        assemble(scenario, RunOptions { check: true, ..RunOptions::default() }).unwrap_or_else(|e| panic!("{e}"));
    let targets: Vec<_> = replay.graph.targets().iter().filter_map(|id| replay.graph.target(id).cloned()).collect();
    let (cores, gpus) =
        (targets.iter().map(|t| t.cores() as usize).sum(), targets.iter().map(|t| t.gpus() as usize).sum());
    let finished = replay.run().unwrap_or_else(|e| panic!("{e}"));
    assert!(finished.outcome.broken.is_empty());
    assert_eq!(finished.outcome.report.total.jobs.completed, 1 + queues.len() as u64);
    std::fs::remove_dir_all(&directory).unwrap();
    (targets.len(), cores, gpus, queues)
}

/// A directory of its own for each set of files.
fn tempfile(files: &[PathBuf]) -> PathBuf {
    let name: String = files[0].to_string_lossy().chars().filter(char::is_ascii_alphanumeric).collect();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("import-{name}-{}", files.len()));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn the_example_of_slurm() {
    let Some(machines) = machines() else { return };
    assert_eq!(check(&[machines.join("slurm/slurm.conf.example")]), (32, 32, 0, vec!["debug".into()]));
}

#[test]
fn the_clusters_of_the_simulator() {
    let Some(machines) = machines() else { return };
    let etc =
        |cluster: &str, file: &str| machines.join("slurm_sim_tools/tutorials").join(cluster).join("etc").join(file);
    let all = |cluster: &str| ["slurm.conf", "gres.conf", "topology.conf"].map(|file| etc(cluster, file));
    let micro = (10, 120, 2, vec!["normal".to_owned(), "debug".to_owned()]);
    assert_eq!(check(&all("micro_cluster")), micro);
    assert_eq!(check(&[etc("micro_cluster", "slurm.conf")]), micro);
    // 87 + 2 nodes of 32 cores, 8 + 96 + 24 of 40.
    let medium = (217, 89 * 32 + 128 * 40, 20, vec!["general-compute".to_owned(), "debug".to_owned()]);
    assert_eq!(check(&all("medium_cluster")), medium);
    assert_eq!(check(&[etc("medium_cluster", "slurm.conf")]), medium);
}

#[test]
fn files_that_describe_no_node() {
    let Some(machines) = machines() else { return };
    let etc =
        |cluster: &str, file: &str| machines.join("slurm_sim_tools/tutorials").join(cluster).join("etc").join(file);
    let alone =
        ["micro_cluster", "medium_cluster"].into_iter().flat_map(|c| [etc(c, "gres.conf"), etc(c, "topology.conf")]);
    let alone = alone.chain([machines.join("slurm/test_133_1_testcase1_topology.conf")]);
    for file in alone {
        assert_eq!(check(&[file]), (0, 0, 0, vec![]));
    }
}
