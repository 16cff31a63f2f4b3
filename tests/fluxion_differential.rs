//! Our `resource-query` beside Fluxion's on random machines, jobspecs and sequences of commands.
//!
//! The real tool is looked for in `SLUICE_RESOURCE_QUERY`, then on the path; without it the test says so and passes.
//! `SLUICE_DIFFERENTIAL_CASES` sets how many sequences (default 100), `SLUICE_DIFFERENTIAL_SEED` runs one of them and
//! keeps its files. What must agree: which requests match, when they start, what every command answers; and, where no
//! two vertices of one type have one number, the vertices.

mod fluxion_kit;

use fluxion_kit::{Scenario, scenario};
use resource_query::{Options, Outputs, Parsed, Session};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const DEFAULT_CASES: u64 = 100;
/// A real tool that reads on for ever, or hangs, is stopped after so long.
const PATIENCE: &str = "60";

/// Fluxion's tool; ours, which knows `--right`, does not count.
fn real_tool() -> Option<PathBuf> {
    let tool = std::env::var_os("SLUICE_RESOURCE_QUERY").map(PathBuf::from).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join("resource-query")).find(|file| file.is_file())
    })?;
    let help = Command::new(&tool).arg("--help").output().ok()?;
    let ours = String::from_utf8_lossy(&help.stderr).contains("--right");
    (!ours).then_some(tool)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Why an answer of the real tool is none to compare with. Each is known by what the tool says or how it ends; whatever
/// else goes wrong with it fails the test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum NoAnswer {
    /// It ended itself by a signal: SIGABRT, SIGFPE or SIGSEGV.
    Crash,
    /// It did not end by itself.
    Spin,
    /// `match_allocate: ERROR: traverser: …` with whatever error came before, so that its answer depends on chance.
    LeakedError,
    /// It cannot write what it has given away.
    Unwritten,
    /// It gave back a part before it refused the command.
    HalfCancelled,
}

/// What the real tool says on standard error, and what that means.
const SAYS: [(&str, NoAnswer); 3] = [
    ("match_allocate: ERROR: traverser: ", NoAnswer::LeakedError),
    (" writer emit: ", NoAnswer::Unwritten),
    ("error encountered while removing job", NoAnswer::HalfCancelled),
];

/// The answers of the real tool.
fn theirs(tool: &Path, directory: &Path, scenario: &Scenario) -> Result<String, NoAnswer> {
    let output = directory.join("theirs.out");
    let status = Command::new("timeout")
        .arg(PATIENCE)
        .arg(tool)
        .arg("-L")
        .arg(directory.join("graph"))
        .args(&scenario.options)
        .arg("-t")
        .arg(&output)
        .stdin(std::fs::File::open(directory.join("commands")).unwrap())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(directory.join("theirs.err")).unwrap())
        .status()
        .unwrap();
    // As `timeout` passes them on: its own status, or 128 and the number of the signal; or it dies likewise.
    match status.code().or_else(|| status.signal().map(|signal| 128 + signal)) {
        Some(0) => {}
        Some(124) => return Err(NoAnswer::Spin),
        Some(134 | 136 | 139) => return Err(NoAnswer::Crash),
        other => panic!("{}: expected an end that is known, found status {other:?}", directory.display()),
    }
    let errors = std::fs::read(directory.join("theirs.err")).unwrap();
    let errors = String::from_utf8_lossy(&errors);
    match SAYS.iter().find(|(text, _)| errors.contains(text)) {
        Some(&(_, why)) => Err(why),
        None => Ok(std::fs::read_to_string(&output).unwrap()),
    }
}

fn ours(directory: &Path, scenario: &Scenario) -> String {
    let graph = directory.join("graph").to_string_lossy().into_owned();
    let arguments = ["-L".to_owned(), graph].into_iter().chain(scenario.options.iter().cloned());
    let Ok(Parsed::Run { options, .. }) = Options::parse(arguments) else { panic!("options that are understood") };
    let mut session = Session::new(*options).unwrap();
    let (mut results, mut console, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut outputs = Outputs::new(Some(&mut results), &mut console, &mut errors);
    session.lines(&scenario.commands, &mut outputs).unwrap();
    std::fs::write(directory.join("ours.err"), errors).unwrap();
    String::from_utf8(results).unwrap()
}

/// Where two answers part; with ties the lines of resources do not count.
fn difference(scenario: &Scenario, theirs: &str, ours: &str) -> Option<String> {
    let counts = |line: &&str| scenario.unique_ids || line.starts_with("INFO") || line.contains(" is ");
    let (mut theirs, mut ours) = (theirs.lines().filter(counts), ours.lines().filter(counts));
    for line in 1.. {
        match (theirs.next(), ours.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => return Some(format!("line {line}: Fluxion {a:?}, here {b:?}")),
        }
    }
    None
}

enum Outcome {
    Agrees,
    Differs(String),
    /// The real tool has no answer to compare with.
    None(NoAnswer),
}

/// Runs one sequence; its files stay if the two differ.
fn compare(tool: &Path, seed: u64, keep: bool) -> Outcome {
    let directory = std::env::temp_dir().join(format!("sluice-differential-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let scenario = scenario(seed, directory.to_str().unwrap());
    std::fs::write(directory.join("graph"), &scenario.graph).unwrap();
    std::fs::write(directory.join("commands"), &scenario.commands).unwrap();
    for (file, text) in &scenario.files {
        std::fs::write(file, text).unwrap();
    }
    let ours = ours(&directory, &scenario);
    std::fs::write(directory.join("ours.out"), &ours).unwrap();
    let found = theirs(tool, &directory, &scenario).map(|theirs| difference(&scenario, &theirs, &ours));
    if !keep && !matches!(found, Ok(Some(_))) {
        std::fs::remove_dir_all(&directory).unwrap();
    }
    match found {
        Ok(Some(what)) => {
            Outcome::Differs(format!("seed {seed} ({}), {}: {what}", scenario.options.join(" "), directory.display()))
        }
        Ok(None) => Outcome::Agrees,
        Err(why) => Outcome::None(why),
    }
}

#[test]
fn random_sequences_agree() {
    let Some(tool) = real_tool() else {
        eprintln!("skipped: no resource-query of Fluxion in SLUICE_RESOURCE_QUERY or on the path");
        return;
    };
    if let Some(seed) = number("SLUICE_DIFFERENTIAL_SEED") {
        if let Outcome::Differs(what) = compare(&tool, seed, true) {
            panic!("{what}");
        }
        return;
    }
    let cases = number("SLUICE_DIFFERENTIAL_CASES").unwrap_or(DEFAULT_CASES);
    let (next, agree) = (AtomicU64::new(0), AtomicU64::new(0));
    let unanswered = Mutex::new(BTreeMap::<NoAnswer, Vec<u64>>::new());
    let differences = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= cases {
                        break;
                    }
                    match compare(&tool, seed, false) {
                        Outcome::Agrees => drop(agree.fetch_add(1, Ordering::Relaxed)),
                        Outcome::None(why) => unanswered.lock().unwrap().entry(why).or_default().push(seed),
                        Outcome::Differs(what) => differences.lock().unwrap().push(what),
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    for difference in &differences {
        println!("{difference}");
    }
    let agree = agree.into_inner();
    println!("{agree} of {cases} sequences agree; the rest has no answer of Fluxion's tool to compare with:");
    for (why, mut seeds) in unanswered.into_inner().unwrap() {
        seeds.sort_unstable();
        println!("{why:?}: {} (first seeds {:?})", seeds.len(), &seeds[..seeds.len().min(5)]);
    }
    assert!(differences.is_empty(), "{} of {cases} sequences differ", differences.len());
    assert!(agree > cases / 2, "most sequences are compared");
}
