use super::*;
use crate::config::QueuePolicy;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files that are not there.
#[derive(Default)]
struct Shelf(BTreeMap<PathBuf, String>);

impl Library for Shelf {
    fn read(&self, file: &Path) -> Result<Option<String>, String> {
        match self.0.get(file).map(String::as_str) {
            Some("(locked)") => Err("permission denied".to_owned()),
            text => Ok(text.map(str::to_owned)),
        }
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        Ok(self.0.keys().filter(|file| file.parent() == Some(directory)).cloned().collect())
    }
}

fn shelf(files: &[(&str, &str)]) -> Shelf {
    Shelf(files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect())
}

fn wanted() -> Wanted {
    let directory = |label: &str, path: &str| Directory { label: label.to_owned(), path: PathBuf::from(path) };
    Wanted { directories: vec![directory("system", "/etc"), directory("user", "/home")], ..Wanted::default() }
}

fn named(names: &[&str]) -> Wanted {
    Wanted { names: names.iter().map(|name| (*name).to_owned()).collect(), ..wanted() }
}

/// Gathers without built-in defaults, so that only what the files say is there.
fn gather(wanted: &Wanted, shelf: &Shelf) -> Layers {
    let loader = load::Loader::load(wanted, shelf, "");
    Layers { sources: loader.sources, parts: loader.parts, errors: loader.errors }
}

/// What the texts make, each over the one before, as JSON; or what is wrong.
fn merged(texts: &[&str]) -> Result<serde_json::Value, String> {
    let files: Vec<(String, &str)> = texts.iter().enumerate().map(|(i, text)| (format!("{i}.toml"), *text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    let wanted = Wanted { files: files.iter().map(|(file, _)| PathBuf::from(file)).collect(), ..Wanted::default() };
    json_of(&gather(&wanted, &shelf(&files)))
}

fn json_of(layers: &Layers) -> Result<serde_json::Value, String> {
    let (_, errors) = layers.merged();
    let all: Vec<_> = layers.errors.iter().chain(&errors).map(ToString::to_string).collect();
    if all.is_empty() { Ok(layers.json(&[]).unwrap_or_default()) } else { Err(all.join("\n")) }
}

/// What JSON means, whatever the order of its keys.
fn value(json: &str) -> serde_json::Value {
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn values_of_every_kind_are_merged() {
    for (texts, expected) in [
        (vec!["a = 1", "b = 2"], "{\"a\":1,\"b\":2}"),
        // Each kind replaces itself and each other, but for tables.
        (vec!["a = 1", "a = 2"], "{\"a\":2}"),
        (vec!["a = 1", "a = \"x\""], "{\"a\":\"x\"}"),
        (vec!["a = \"x\"", "a = 1.5"], "{\"a\":1.5}"),
        (vec!["a = 1.5", "a = true"], "{\"a\":true}"),
        (vec!["a = true", "a = 2026-12-01"], "{\"a\":\"2026-12-01\"}"),
        (vec!["a = 2026-12-01", "a = [1]"], "{\"a\":[1]}"),
        (vec!["a = [1, 2]", "a = [3]"], "{\"a\":[3]}"),
        (vec!["a = [1]", "a = 0x10"], "{\"a\":16}"),
        (vec!["[[a]]\nx = 1", "[[a]]\ny = 2"], "{\"a\":[{\"y\":2}]}"),
        // Tables are merged, however they are written.
        (vec!["[a]\nx = 1\n[a.b]\ny = 2", "a.b.z = 3\na.x = 4"], "{\"a\":{\"x\":4,\"b\":{\"y\":2,\"z\":3}}}"),
        (vec!["a = { x = 1 }", "[a]\ny = 2"], "{\"a\":{\"x\":1,\"y\":2}}"),
        (vec!["[a]", "[b]"], "{\"a\":{},\"b\":{}}"),
        // Appends.
        (vec!["a = [1]", "\"a+\" = [2]", "\"a+\" = [3, 4]"], "{\"a\":[1,2,3,4]}"),
        (vec!["\"a+\" = [1]"], "{\"a\":[1]}"),
        (vec!["\"a+\" = [1]", "a = [2]"], "{\"a\":[2]}"),
        (vec!["a = [1]\n\"a+\" = [2]"], "{\"a\":[1,2]}"),
        (vec!["[[a]]\nx = 1", "[[\"a+\"]]\ny = 2"], "{\"a\":[{\"x\":1},{\"y\":2}]}"),
        // Unsets.
        (vec!["a = 1\nb = 2", "a- = true"], "{\"b\":2}"),
        (vec!["[a]\nx = 1", "a- = true"], "{}"),
        (vec!["a.x = 1", "a.\"x-\" = true"], "{\"a\":{}}"),
        (vec!["a- = true"], "{}"),
        (vec!["a = 1", "a- = true", "a = 2"], "{\"a\":2}"),
        (vec!["a = 1", "a- = true", "a.x = 2"], "{\"a\":{\"x\":2}}"),
        (vec!["a.x = 1", "a- = true\na.y = 2"], "{\"a\":{\"y\":2}}"),
        (vec!["a.x = 1", "a = 2\na- = true"], "{\"a\":2}"),
        (vec!["a = [1]", "a- = true\n\"a+\" = [2]"], "{\"a\":[2]}"),
    ] {
        assert_eq!(merged(&texts), Ok(value(expected)), "{texts:?}");
    }
}

#[test]
fn layers_come_in_order() {
    let order = [
        ("/etc/default/a.toml", "a = 1"),
        ("/etc/default/b.toml", "a = 2"),
        ("/home/default/a.toml", "a = 3"),
        ("/etc/site.toml", "a = 4"),
        ("/home/site.toml", "a = 5"),
        ("/etc/weekend.toml", "a = 6"),
        ("file.toml", "a = 7"),
    ];
    // Whoever is last of those that are there wins.
    for last in 0..order.len() {
        let mut files = order[..=last].to_vec();
        files.extend(
            [("/etc/site.toml", ""), ("/etc/weekend.toml", ""), ("file.toml", "")]
                .iter()
                .filter(|(file, _)| !order[..=last].iter().any(|(there, _)| there == file)),
        );
        let wanted = Wanted { files: vec!["file.toml".into()], ..named(&["site", "weekend"]) };
        let layers = gather(&wanted, &shelf(&files));
        assert_eq!(json_of(&layers).map(|v| v["a"].clone()), Ok((last + 1).into()), "{}", order[last].0);
    }
    let wanted = Wanted { sets: vec!["a=8".into(), "a=9".into()], ..named(&["site", "weekend"]) };
    assert_eq!(json_of(&gather(&wanted, &shelf(&order))).map(|v| v["a"].clone()), Ok(9.into()));
}

#[test]
fn a_name_is_in_either_directory_or_both() {
    let both = [("/etc/site.toml", "a = 1\nb = 1"), ("/home/site.toml", "a = 2")];
    let of = |files: &[(&str, &str)]| json_of(&gather(&named(&["site"]), &shelf(files)));
    assert_eq!(of(&both), Ok(value("{\"a\":2,\"b\":1}")));
    assert_eq!(of(&both[..1]), Ok(value("{\"a\":1,\"b\":1}")));
    assert_eq!(of(&both[1..]), Ok(value("{\"a\":2}")));
    assert_eq!(
        of(&[("/etc/sitte.toml", "")]).unwrap_err(),
        "no configuration \"site\" in /etc or /home (did you mean `sitte`?)"
    );
}

#[test]
fn includes_lie_below_and_count_once() {
    let of = |files: &[(&str, &str)]| json_of(&gather(&named(&["top"]), &shelf(files)));
    // A chain, by name and by file relative to the one that includes.
    let chain = [
        ("/etc/top.toml", "include = [\"sub/a.toml\"]\nx = 1"),
        ("/etc/sub/a.toml", "include = [\"./b.toml\", \"../c.toml\", \"d\"]\nx = 2\ny = 2"),
        ("/etc/sub/b.toml", "y = 3\nz = 3\nb = 3"),
        ("/etc/c.toml", "z = 4"),
        ("/home/d.toml", "z = 5"),
    ];
    assert_eq!(of(&chain), Ok(value("{\"y\":2,\"z\":5,\"b\":3,\"x\":1}")));
    // A diamond appends once.
    let diamond = [
        ("/etc/top.toml", "include = [\"a\", \"b\"]"),
        ("/etc/a.toml", "include = [\"base\"]\n\"list+\" = [\"a\"]\nx = \"a\""),
        ("/etc/b.toml", "include = [\"base\"]\n\"list+\" = [\"b\"]"),
        ("/etc/base.toml", "list = [\"base\"]\nx = \"base\""),
    ];
    assert_eq!(of(&diamond), Ok(value("{\"list\":[\"base\",\"a\",\"b\"],\"x\":\"a\"}")));
    // In a table, and in two of them.
    let tables = [
        ("/etc/top.toml", "[q.a]\ninclude = [\"./limits.toml\"]\n[q.b]\ninclude = [\"./limits.toml\"]\nmax = 2"),
        ("/etc/limits.toml", "max = 1\nmin = 1"),
    ];
    let expected = "{\"q\":{\"a\":{\"max\":1,\"min\":1},\"b\":{\"max\":2,\"min\":1}}}";
    assert_eq!(of(&tables), Ok(value(expected)));
    // A queue may be called so.
    assert_eq!(of(&[("/etc/top.toml", "[q.include]\nx = 1")]), Ok(value("{\"q\":{\"include\":{\"x\":1}}}")));
}

/// All errors of the whole, as they are told.
fn told(wanted: &Wanted, files: &[(&str, &str)]) -> String {
    Layers::gather(wanted, &shelf(files)).config().expect_err("something is wrong").to_string()
}

#[test]
fn errors_say_where() {
    let queue = "[queues.a]\nhosts = \"n1\"\n";
    let cases: Vec<(&str, String)> = vec![
        ("no such name", told(&named(&["nowhere"]), &[])),
        ("no directory", told(&Wanted { names: vec!["x".into()], ..Wanted::default() }, &[])),
        ("no name", told(&named(&["a/b"]), &[])),
        ("no such file", told(&Wanted { files: vec!["x.toml".into()], ..wanted() }, &[])),
        ("locked", told(&named(&["a"]), &[("/etc/a.toml", "(locked)")])),
        ("no TOML", told(&named(&["a"]), &[("/etc/a.toml", "policy = \n[queues.b\n")])),
        ("set without value", told(&Wanted { sets: vec!["policy.limits".into(), "=1".into()], ..wanted() }, &[])),
        ("missing include", told(&named(&["a"]), &[("/etc/a.toml", "[policy]\ninclude = [\"b\", \"./c.toml\", 1]")])),
        ("include is no array", told(&named(&["a"]), &[("/etc/a.toml", "include = \"b\"")])),
        (
            "cycle",
            told(
                &named(&["a"]),
                &[
                    ("/etc/a.toml", "include = [\"./b.toml\"]"),
                    ("/etc/b.toml", "include = [\"c\"]"),
                    ("/etc/c.toml", "# again\ninclude = [\"./b.toml\"]"),
                ],
            ),
        ),
        ("itself", told(&named(&["a"]), &[("/etc/a.toml", "include = [\"a\"]")])),
        (
            "value over table, table over value",
            told(
                &named(&["a"]),
                &[
                    ("/etc/a.toml", "[policy.limits]\nduration = \"1h\"\n[policy.scheduler]\nqueue-policy = \"easy\""),
                    ("/home/a.toml", "policy.limits = 1\npolicy.scheduler.queue-policy.depth = 2\n"),
                ],
            ),
        ),
        (
            "append to no array",
            told(&named(&["a"]), &[("/etc/a.toml", queue), ("/home/a.toml", "queues.a.\"hosts+\" = [\"n2\"]")]),
        ),
        ("append and unset of the wrong kind", told(&named(&["a"]), &[("/etc/a.toml", "\"a+\" = 1\nb- = false")])),
        ("append to no array in one text", told(&named(&["a"]), &[("/etc/a.toml", "a = 1\n\"a+\" = [2]")])),
        (
            "wrong in three files",
            told(
                &Wanted { sets: vec!["queues.a.policy.limits.duration=8x".into()], ..named(&["a"]) },
                &[
                    ("/etc/a.toml", "[queues.a]\nhost = \"n1\"\n"),
                    ("/home/a.toml", "policy.scheduler.queue-policy = \"esay\""),
                ],
            ),
        ),
        ("a number without unit", told(&named(&["a"]), &[("/etc/a.toml", "policy.limits.duration = 8")])),
    ];
    let text: String = cases.iter().map(|(what, told)| format!("# {what}\n{told}\n\n")).collect();
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_built_in_changes_nothing() {
    let config = Layers::gather(&Wanted::default(), &Shelf::default()).config();
    assert_eq!(config, Ok(Config::default()));
}

#[test]
fn the_strict_reader_reads_what_was_merged() {
    let files = [
        (
            "/etc/site.toml",
            "[queues.batch]\nhosts = \"n[1-8]\"\npolicy.scheduler.queue-policy = \"easy\"\n[queues.debug]\n",
        ),
        ("/home/site.toml", "[queues.debug]\nhosts = \"n1\"\n[queues.batch]\npolicy.scheduler.reservation-depth = 3\n"),
    ];
    let wanted = Wanted { sets: vec!["queues.batch.policy.scheduler.queue-policy=hybrid".into()], ..named(&["site"]) };
    let config = Layers::gather(&wanted, &shelf(&files)).config().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(config.queues.keys().collect::<Vec<_>>(), ["batch", "debug"], "in the order of first mention");
    let scheduler = &config.queues["batch"].policy.scheduler;
    assert_eq!((scheduler.queue_policy, scheduler.reservation_depth), (QueuePolicy::Hybrid, 3));
}

#[test]
fn who_said_what_is_known() {
    let files = [
        ("/etc/site.toml", "[queues.a]\nrequires = [\"x\"]\npolicy.limits.duration = \"1h\"\n"),
        ("/home/site.toml", "[queues.a]\n\"requires+\" = [\"y\"]\npolicy.limits.\"duration-\" = true\n"),
        ("/etc/more.toml", "\n\nqueues.a.policy.limits.duration = \"2h\""),
    ];
    let layers = gather(&named(&["site", "more"]), &shelf(&files));
    let says = |says: &[Say]| -> Vec<String> {
        let tell = |say: &Say| {
            format!("{:?} {} {}", say.deed, say.value, say.place.as_ref().map_or(String::new(), ToString::to_string))
        };
        says.iter().map(tell).collect()
    };
    let leaf = |name: &str| layers.leaves(&key::parse(name).expect("a key"), true).remove(0);
    let requires = leaf("queues.a.requires");
    assert_eq!(requires.value.as_deref(), Some("[\"x\", \"y\"]"));
    assert_eq!(says(&requires.by), ["Set [\"x\"] /etc/site.toml:2:1", "Append [\"y\"] /home/site.toml:2:1"]);
    let duration = leaf("queues.a.policy.limits.duration");
    assert_eq!(says(&duration.by), ["Set \"2h\" /etc/more.toml:3:24"]);
    assert_eq!(says(&duration.overridden), ["Set \"1h\" /etc/site.toml:3:15", "Unset true /home/site.toml:3:15"]);
}

/// A text of a layer: keys of two levels, each set, appended to, unset or a table. Bits choose.
fn layer() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        (0..9u8).prop_map(|n| n.to_string()),
        (0..9u8).prop_map(|n| format!("\"{n}\"")),
        prop::collection::vec(0..9u8, 0..3).prop_map(|list| format!("{list:?}")),
    ];
    let list = prop::collection::vec(0..9u8, 0..3).prop_map(|list| format!("{list:?}"));
    let entry = prop_oneof![
        4 => value.prop_map(|value| ("", value)),
        3 => list.prop_map(|list| ("+", list)),
        2 => Just(("-", "true".to_owned())),
    ];
    let key = prop_oneof![3 => Just(""), 4 => Just("t."), 1 => Just("t.u.")];
    prop::collection::vec((key, prop::sample::select(vec!["a", "b", "t", "u"]), entry), 0..5).prop_map(|entries| {
        // What TOML itself refuses is left out.
        let mut text = String::new();
        for (table, name, (mark, value)) in entries {
            let more = format!("{text}{table}\"{name}{mark}\" = {value}\n");
            if DeTable::parse(&more).is_ok() {
                text = more;
            }
        }
        text
    })
}

/// Patches of several texts, as if they were files one behind the other.
fn patches(texts: &[String]) -> Vec<Option<Keys<'_>>> {
    let (mut start, mut patches) = (0, Vec::new());
    for text in texts {
        let mut faults = Vec::new();
        let table = DeTable::parse(text).expect("TOML").into_inner();
        let keys = patch::patch(&table, start, &mut Vec::new(), &mut faults);
        start += text.len() + 1;
        patches.push(faults.is_empty().then_some(keys));
    }
    patches
}

/// Everything about a patch that can be seen.
fn seen(keys: &Keys<'_>) -> String {
    format!("{keys:?}")
}

/// Which places are named as the origin of a value, by whoever merges.
fn over<'a>(lower: &Keys<'a>, upper: &Keys<'a>) -> (Keys<'a>, usize) {
    let mut conflicts = Vec::new();
    let keys = patch::merge(lower.clone(), upper.clone(), &mut conflicts, &mut Vec::new());
    (keys, conflicts.len())
}

proptest! {
    #[test]
    fn merging_is_associative(texts in prop::collection::vec(layer(), 3)) {
        let patches = patches(&texts);
        let [Some(a), Some(b), Some(c)] = patches.as_slice() else { return Ok(()) };
        let (ab, first) = over(a, b);
        let (left, second) = over(&ab, c);
        prop_assume!(first + second == 0);
        let (bc, first) = over(b, c);
        let (right, second) = over(a, &bc);
        prop_assert_eq!(first + second, 0);
        prop_assert_eq!(seen(&left), seen(&right));
    }

    #[test]
    fn origins_name_the_line_of_the_value(texts in prop::collection::vec(layer(), 1..4)) {
        let names: Vec<String> = (0..texts.len()).map(|i| format!("{i}.toml")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
        let wanted = Wanted { files: names.iter().map(PathBuf::from).collect(), ..Wanted::default() };
        let layers = gather(&wanted, &shelf(&files));
        prop_assume!(json_of(&layers).is_ok());
        for leaf in layers.leaves(&[], false) {
            prop_assert!(!leaf.by.is_empty(), "{}", leaf.key());
            for say in &leaf.by {
                let place = say.place.as_ref().expect("a place");
                let text = files.iter().find(|(file, _)| *file == place.file).map(|(_, text)| *text).expect("the file");
                let line = text.lines().nth(place.line as usize - 1).expect("the line");
                let name = leaf.names.last().expect("a name");
                prop_assert!(line.contains(&format!("\"{name}")), "{line} of {}", leaf.key());
                if say.value != "{}" {
                    prop_assert!(line.ends_with(&say.value), "{line} has not {}", say.value);
                }
            }
        }
    }
}
