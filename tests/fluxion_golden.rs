//! Fluxion's golden cases: its command files, run in a session of our `resource-query`, against its expected outputs.
//!
//! `tests/fluxion_golden/cases.toml` says what goes with what. With `SLUICE_FLUX_SCHED` naming a checkout of
//! flux-sched the full set runs, else what the shared data has of it. A case whose output differs must stand in
//! `docs/fluxion.md` with its reason, as a row that begins with its name in backquotes.

use resource_query::{Options, Outputs, Parsed, Session};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the table's paths begin.
const PLACEHOLDER: &str = "@TEST_SRCDIR@";

#[derive(Deserialize)]
struct Table {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The file in `t/` and the number of the case in it.
    test: String,
    commands: Option<String>,
    script: Option<String>,
    args: Vec<String>,
    output: Option<String>,
    errors: Option<String>,
    both: Option<String>,
    /// The file in `t/` takes the numbers of vertices out before it compares.
    #[serde(default)]
    without_uniq_ids: bool,
}

enum Verdict {
    Matched,
    Differs(String),
    /// A file of the case is not there.
    Absent,
}

/// The directory `t` of a checkout, or what the shared data has of it.
fn suite() -> Option<PathBuf> {
    if let Some(checkout) = std::env::var_os("SLUICE_FLUX_SCHED") {
        return Some(Path::new(&checkout).join("t"));
    }
    let shared = std::env::var_os("SLUICE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    Some(shared.join("data/fluxion/t")).filter(|t| t.is_dir())
}

fn repository(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// A file, or, where a copy has made a link into a file with the name of another, that other.
fn read_linked(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let linked =
        (text.lines().count() == 1).then(|| file.with_file_name(text.trim_end())).filter(|file| file.is_file());
    match linked {
        Some(linked) => std::fs::read_to_string(linked).ok(),
        None => Some(text),
    }
}

/// The cases that `docs/fluxion.md` lists as different.
fn listed() -> BTreeSet<String> {
    let document = repository("docs/fluxion.md");
    let names = document.lines().filter_map(|line| line.strip_prefix("| `t30")?.split_once('`'));
    names.map(|(name, _)| format!("t30{name}")).collect()
}

/// The line where two texts part, with what each has there.
fn first_difference(expected: &str, found: &str) -> String {
    let (mut expected, mut found) = (expected.lines(), found.lines());
    for line in 1.. {
        match (expected.next(), found.next()) {
            (None, None) => return "the ends of the last lines".to_owned(),
            (a, b) if a == b => {}
            (a, b) => {
                let show = |line: Option<&str>| line.map_or("nothing".to_owned(), |l| l.chars().take(160).collect());
                return format!("line {line}: expected {}, found {}", show(a), show(b));
            }
        }
    }
    unreachable!("texts are finite")
}

impl Case {
    fn commands(&self, suite: &Path) -> Option<String> {
        let text = match (&self.commands, &self.script) {
            (Some(file), _) => std::fs::read_to_string(suite.join("data/resource/commands").join(file)).ok()?,
            (None, script) => script.clone().unwrap_or_default(),
        };
        Some(text.replace(PLACEHOLDER, suite.to_str()?))
    }

    fn run(&self, suite: &Path) -> Verdict {
        let expected = |file: &str| read_linked(&suite.join("data/resource/expected").join(file));
        let wanted: Vec<(&str, Option<String>)> =
            [("output", &self.output), ("errors", &self.errors), ("both", &self.both)]
                .into_iter()
                .filter_map(|(what, file)| Some((what, expected(file.as_deref()?))))
                .collect();
        assert!(!wanted.is_empty(), "{}: a case compares something", self.test);
        let Some(commands) = self.commands(suite) else { return Verdict::Absent };
        let is_there = |argument: &&String| !argument.starts_with("data/") || suite.join(argument).exists();
        if wanted.iter().any(|(_, text)| text.is_none()) || !self.args.iter().all(|a| is_there(&a)) {
            return Verdict::Absent;
        }
        let (output, errors) = match self.session(suite, &commands) {
            Ok(texts) => texts,
            Err(error) => return Verdict::Differs(format!("the session does not start: {error}")),
        };
        for (what, expected) in wanted {
            let mut found = match what {
                "output" => output.clone(),
                "errors" => errors.clone(),
                _ => format!("{output}{errors}"),
            };
            if self.without_uniq_ids {
                found = without_uniq_ids(&found);
            }
            let expected = expected.unwrap_or_default();
            if found != expected {
                return Verdict::Differs(format!("{what}, {}", first_difference(&expected, &found)));
            }
        }
        Verdict::Matched
    }

    /// What goes to the file of `-t` and to standard error.
    fn session(&self, suite: &Path, commands: &str) -> Result<(String, String), String> {
        let in_suite = |argument: &String| match argument.strip_prefix("data/") {
            Some(_) => suite.join(argument).to_string_lossy().into_owned(),
            None => argument.clone(),
        };
        let Parsed::Run { options, .. } =
            Options::parse(self.args.iter().map(in_suite)).map_err(|error| error.to_string())?
        else {
            return Err("expected options to run with".to_owned());
        };
        let mut session = Session::new(*options).map_err(|error| error.to_string())?;
        let (mut output, mut console, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut outputs = Outputs::new(Some(&mut output), &mut console, &mut errors);
        session.lines(commands, &mut outputs).map_err(|error| error.to_string())?;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|error| error.to_string());
        Ok((text(output)?, text(errors)?))
    }
}

fn without_uniq_ids(text: &str) -> String {
    const MARK: &str = " (vtx's uniq_id=";
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        kept.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    kept + rest
}

#[test]
fn golden_cases() {
    let Some(suite) = suite() else {
        eprintln!("skipped: neither SLUICE_FLUX_SCHED nor the shared data is there");
        return;
    };
    let table: Table = toml::from_str(&repository("tests/fluxion_golden/cases.toml")).unwrap();
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = table.case.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = case.run(&suite);
                    verdicts.lock().unwrap().insert(case.test.clone(), verdict);
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap();
    assert_eq!(verdicts.len(), table.case.len(), "a session panicked, or two cases have one name");
    let golden: BTreeSet<&str> =
        table.case.iter().filter(|case| case.commands.is_some()).map(|case| &*case.test).collect();
    report(&verdicts, &golden);
}

/// `golden` are the cases whose commands stand in a file of the suite.
fn report(verdicts: &BTreeMap<String, Verdict>, golden: &BTreeSet<&str>) {
    let listed = listed();
    let mut by_file: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    // Golden cases first, then those whose commands stand in the table.
    let (mut matched, mut run, mut absent) = ([0, 0], [0, 0], 0);
    let mut unexplained = Vec::new();
    for (name, verdict) in verdicts {
        let file = name.split_once('.').map_or(name.as_str(), |(file, _)| file);
        let count = by_file.entry(file).or_default();
        let group = usize::from(!golden.contains(&**name));
        match verdict {
            Verdict::Absent => {
                absent += 1;
                continue;
            }
            Verdict::Matched => {
                matched[group] += 1;
                count.0 += 1;
                if listed.contains(name) {
                    println!("{name} matches, though docs/fluxion.md lists it");
                }
            }
            Verdict::Differs(how) => {
                let known = if listed.contains(name) { "listed" } else { "NOT listed" };
                println!("{name} differs ({known}): {how}");
                if !listed.contains(name) {
                    unexplained.push(name);
                }
            }
        }
        run[group] += 1;
        count.1 += 1;
    }
    for (file, (matched, run)) in by_file {
        println!("{file}: {matched}/{run}");
    }
    println!("{}/{} golden cases match; files of {absent} more are not there", matched[0], run[0]);
    println!("{}/{} cases match whose commands stand in the table", matched[1], run[1]);
    assert!(run[0] > 0, "no case has its files");
    assert!(unexplained.is_empty(), "{} cases differ that docs/fluxion.md does not list", unexplained.len());
}
