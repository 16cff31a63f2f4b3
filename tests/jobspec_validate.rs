//! `sluice jobspec validate` on the jobspecs that Fluxion's validator is tested with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn suite() -> Option<PathBuf> {
    let root = match std::env::var_os("SLUICE_FLUX_SCHED") {
        Some(checkout) => PathBuf::from(checkout),
        None => {
            let shared = std::env::var_os("SLUICE_SHARED")
                .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
            shared.join("data/fluxion")
        }
    };
    let jobspecs = root.join("t/data/resource/jobspecs/validation");
    if !jobspecs.is_dir() {
        eprintln!("skipped: there are no jobspecs at {}", jobspecs.display());
        return None;
    }
    Some(jobspecs)
}

fn status(file: &Path) -> Option<i32> {
    let program = env!("CARGO_BIN_EXE_sluice");
    let mut run = Command::new(program);
    run.args(["jobspec", "validate"]).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    run.status().unwrap().code()
}

#[test]
fn what_fluxion_takes_and_refuses() {
    let Some(suite) = suite() else { return };
    for (directory, expected) in [("valid", 0), ("invalid", 2)] {
        let files: Vec<_> =
            std::fs::read_dir(suite.join(directory)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "{directory} has jobspecs");
        for file in files {
            assert_eq!(status(&file), Some(expected), "{}", file.display());
        }
    }
    assert_eq!(status(&suite.join("no-such-file")), Some(1));
}
