//! The layers go one way: reads every file under `src` and refuses what the table of the design does not allow.
//!
//! It reads the text, not the compiler's mind: every `crate::…` path outside of comments and strings counts, in `use` and
//! inline, `super::…` paths that leave their module too, and so do the names that a `use crate::{…}` takes. A module that
//! the table does not know fails as well, so that a new one must be placed before it can be used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each module and what it may use. What is not listed is not allowed, in test code either.
const LAYERS: [(&str, &[&str]); 12] = [
    ("base", &[]),
    ("formats", &["base"]),
    ("config", &["base", "formats"]),
    ("graph", &["base", "formats"]),
    ("planner", &["base", "formats", "config", "graph"]),
    ("matcher", &["base", "formats", "config", "graph", "planner"]),
    ("scheduler", &["base", "formats", "config", "graph", "planner", "matcher"]),
    ("coordinator", &["base", "graph", "config"]),
    ("site", &["base", "formats", "config", "graph", "planner", "matcher", "scheduler", "coordinator"]),
    ("services", &["base", "formats", "config", "graph", "planner", "matcher", "scheduler", "coordinator", "site"]),
    (
        "replay",
        &["base", "formats", "config", "graph", "planner", "matcher", "scheduler", "coordinator", "site", "services"],
    ),
    (
        "cli",
        &[
            "base",
            "formats",
            "config",
            "graph",
            "planner",
            "matcher",
            "scheduler",
            "coordinator",
            "site",
            "services",
            "replay",
        ],
    ),
];

/// A use of a module of the crate.
#[derive(Debug, PartialEq, Eq)]
struct Use {
    module: String,
    line: usize,
}

fn allowed(module: &str) -> Option<&'static [&'static str]> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, uses)| *uses)
}

/// The text with comments, strings and characters blank; line breaks stay.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = comment(rest).or_else(|| string(rest)).or_else(|| character(rest));
        match length {
            Some(length) => {
                code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                rest = &rest[length..];
            }
            None if first.is_alphanumeric() || first == '_' => {
                // A word as a whole, so that the r of `for"…"` begins no raw string.
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                code.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            None => {
                code.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    code
}

/// The length of the comment at the start of the text.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.starts_with("/*").then_some(())?;
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match &text.as_bytes()[at..text.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    Some(text.len())
}

/// The length of the string literal at the start of the text.
fn string(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - body.len();
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        raw[hashes..].starts_with('"').then_some(())?;
        let end = format!("\"{}", "#".repeat(hashes));
        let inside = &raw[hashes + 1..];
        let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
        return Some(prefix + 1 + hashes + 1 + length);
    }
    body.starts_with('"').then_some(())?;
    let mut escaped = false;
    for (at, c) in body.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(prefix + at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// The length of the character literal at the start of the text; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    if inside.starts_with('\\') {
        let end = inside.char_indices().skip(2).find(|(_, c)| *c == '\'')?.0;
        return Some(end + 2);
    }
    let first = inside.chars().next()?;
    inside[first.len_utf8()..].starts_with('\'').then_some(first.len_utf8() + 2)
}

/// The names right after `at` in `code`: one, or those at the top level of braces.
fn names_after(code: &str) -> Vec<String> {
    let word =
        |text: &str| -> String { text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let trimmed = code.trim_start();
    let Some(group) = trimmed.strip_prefix('{') else { return vec![word(trimmed)] };
    let (mut depth, mut names, mut begin) = (1, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => begin = true,
            c if depth == 1 && begin && !c.is_whitespace() => {
                names.push(word(&group[at..]));
                begin = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// What a file uses of the crate's modules. `depth`: how many `super::` lead from the file's module to the crate's root.
fn uses(text: &str, depth: usize) -> Vec<Use> {
    let code = code_only(text);
    let mut found = Vec::new();
    let mut push = |names: Vec<String>, at: usize| {
        let line = 1 + code[..at].matches('\n').count();
        found.extend(names.into_iter().filter(|n| !n.is_empty()).map(|module| Use { module, line }));
    };
    let starts_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    for (at, found) in code.match_indices("crate::").filter(|(at, _)| starts_word(*at)) {
        push(names_after(&code[at + found.len()..]), at);
    }
    for (at, _) in code.match_indices("super::").filter(|(at, _)| starts_word(*at)) {
        let after = &code[at..];
        let rest = after.trim_start_matches("super::");
        // An inner module of the file may say `super::` once more without leaving the file.
        if (after.len() - rest.len()) / "super::".len() == depth && depth > 0 {
            let names = names_after(rest).into_iter().filter(|n| allowed(n).is_some()).collect();
            push(names, at);
        }
    }
    found.sort_by_key(|u| u.line);
    found
}

/// The module of the first level that a file of `src` belongs to; `None` for the roots.
fn module_of(path: &Path) -> Option<String> {
    let first = path.components().next()?.as_os_str().to_string_lossy().into_owned();
    match first.strip_suffix(".rs") {
        Some("lib" | "main") => None,
        Some(name) => Some(name.to_owned()),
        None => Some(first),
    }
}

/// How many `super::` lead from the module of a file to the crate's root: `a.rs`, `a/mod.rs` 1; `a/b.rs`, `a/b/mod.rs` 2.
fn depth_of(path: &Path) -> usize {
    let levels = path.components().count();
    if path.file_name().is_some_and(|n| n == "mod.rs") { levels - 1 } else { levels }
}

/// What is wrong with one file.
fn violations(path: &Path, text: &str) -> Vec<String> {
    let Some(module) = module_of(path) else { return Vec::new() };
    let Some(may_use) = allowed(&module) else {
        return vec![format!("{}: module `{module}` is not in the table of layers", path.display())];
    };
    let wrong = |u: &Use| u.module != module && !may_use.contains(&u.module.as_str());
    let report = |u: &Use| format!("{}:{}: `{module}` must not use `{}`", path.display(), u.line, u.module);
    uses(text, depth_of(path)).iter().filter(|u| wrong(u)).map(report).collect()
}

fn rust_files(directory: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display())) {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.insert(path);
        }
    }
}

fn sources() -> BTreeMap<PathBuf, String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeSet::new();
    rust_files(&src, &mut files);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path.strip_prefix(&src).expect("below src").to_owned(), text)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn imports_go_downward_only() {
    let sources = sources();
    assert!(sources.len() > 20, "only {} files found", sources.len());
    let wrong: Vec<String> = sources.iter().flat_map(|(path, text)| violations(path, text)).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// What the pure core has no business with: files, clocks, threads, the environment, output.
const IMPURE: [&str; 11] = [
    "std::fs",
    "std::net",
    "std::thread",
    "std::env",
    "std::process",
    "SystemTime",
    "Instant",
    "println!",
    "print!",
    "RandomState",
    "thread_rng",
];

/// The lines of a file that break purity. A file of tests, or what follows `#[cfg(test)]`, may.
fn impurities(path: &Path, text: &str) -> Vec<String> {
    let code = code_only(text);
    let tests = code.find("#[cfg(test)]").unwrap_or(code.len());
    if path.components().any(|c| matches!(c.as_os_str().to_str(), Some("tests.rs" | "tests"))) {
        return Vec::new();
    }
    let whole_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let find = |word: &&'static str| {
        let places = code[..tests].match_indices(*word).filter(|(at, _)| whole_word(*at));
        let report = |(at, _)| format!("{}:{}: `{word}`", path.display(), 1 + code[..at].matches('\n').count());
        places.map(report).collect::<Vec<_>>()
    };
    IMPURE.iter().flat_map(find).collect()
}

#[test]
fn the_core_is_pure() {
    let pure = |path: &Path| module_of(path).is_some_and(|m| !matches!(m.as_str(), "services" | "replay" | "cli"));
    let sources = sources();
    let wrong: Vec<String> =
        sources.iter().filter(|(path, _)| pure(path)).flat_map(|(path, text)| impurities(path, text)).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    let planted = impurities(Path::new("site/mod.rs"), "fn f() { let t = std::time::Instant::now(); }\n// Instant");
    assert_eq!(planted, ["site/mod.rs:1: `Instant`"]);
}

#[test]
fn the_table_has_no_cycle() {
    for (index, (module, may_use)) in LAYERS.iter().enumerate() {
        for used in *may_use {
            let at = LAYERS.iter().position(|(name, _)| name == used).expect("a module of the table");
            assert!(at < index, "`{module}` may use `{used}`, which stands above it");
        }
    }
}

#[test]
fn no_empty_layer_is_promised() {
    let modules: BTreeSet<String> = sources().keys().filter_map(|path| module_of(path)).collect();
    let missing: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).filter(|name| !modules.contains(*name)).collect();
    assert!(missing.is_empty(), "in the table, but not under src: {missing:?}");
}

/// The guard at work: what it must catch, and what it must let pass.
#[test]
fn an_upward_import_is_caught() {
    let cases: [(&str, &str, &[&str]); 14] = [
        ("planner/pool.rs", "use crate::site::Site;", &["planner/pool.rs:1: `planner` must not use `site`"]),
        (
            "coordinator/mod.rs",
            "\n use crate::formats::r::R;",
            &["coordinator/mod.rs:2: `coordinator` must not use `formats`"],
        ),
        (
            "coordinator/mod.rs",
            "use crate::{base::{Duration, TargetId}, scheduler, config::Config};",
            &["coordinator/mod.rs:1: `coordinator` must not use `scheduler`"],
        ),
        (
            "matcher/mod.rs",
            "fn f(s: &crate::scheduler::Core) {}",
            &["matcher/mod.rs:1: `matcher` must not use `scheduler`"],
        ),
        (
            "graph/text/parse.rs",
            "use super::super::super::config::Config;",
            &["graph/text/parse.rs:1: `graph` must not use `config`"],
        ),
        (
            "graph/text/parse.rs",
            "#[cfg(test)] mod tests { use crate::site::Event; }",
            &["graph/text/parse.rs:1: `graph` must not use `site`"],
        ),
        ("brand_new.rs", "", &["brand_new.rs: module `brand_new` is not in the table of layers"]),
        (
            "planner/pool.rs",
            "let c = '\"'; use crate::site::X; // \"",
            &["planner/pool.rs:1: `planner` must not use `site`"],
        ),
        ("planner/pool.rs", "// use crate::site::Site;\n/* crate::site /* crate::cli */ */", &[]),
        ("planner/pool.rs", "let s = \"crate::site::Site\"; let r = r#\"crate::\"cli\"#;", &[]),
        ("planner/pool.rs", "use crate::graph::Graph; use super::site; use crate::planner::bits;", &[]),
        ("planner/pool.rs", "use other_crate::site; $crate::base::X; fn f<'a>(x: &'a str) {}", &[]),
        ("site/mod.rs", "use crate::{coordinator::Coordinator, scheduler::Core};", &[]),
        ("lib.rs", "pub mod site; use crate::site::Site;", &[]),
    ];
    for (path, text, expected) in cases {
        assert_eq!(violations(Path::new(path), text), expected, "for {path}: {text}");
    }
}
