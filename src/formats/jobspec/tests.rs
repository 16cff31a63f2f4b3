//! Jobspecs: refused inputs with their words, round trips, bounds, and Fluxion's sample files.

use super::*;
use crate::formats::count::tests::any_count;
use proptest::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Applies `change` to a jobspec of version 1 and answers what is said about it.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut value = Jobspec::nodes_slots(2, 1, 4, 1).to_json();
    change(&mut value);
    match Jobspec::from_value(&value).and_then(|jobspec| jobspec.validate_v1()) {
        Ok(()) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Sets or, with null, removes the value at a JSON pointer.
fn at(pointer: &str, new: Value) -> String {
    changed(|value| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match value.pointer_mut(parent).unwrap() {
            Value::Object(object) if new.is_null() => assert!(object.remove(key).is_some(), "{pointer}"),
            Value::Object(object) => drop(object.insert(key.to_owned(), new)),
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = new,
            other => panic!("{pointer}: {other}"),
        }
    })
}

#[test]
fn reads_everything() {
    let text = r#"{"version": 1, "resources": [{"type": "node", "count": {"min": 2}, "exclusive": true, "unit": "u",
        "id": "i", "x": [1], "with": [{"type": "slot", "count": 1, "label": "a", "with": [{"type": "core", "count": 4}]}]}],
        "tasks": [{"command": ["app", "-v"], "slot": "a", "count": {"total": 3}, "distribution": "d"},
            {"command": ["b"], "slot": "a", "count": {"per_resource": {"type": "core", "count": 2}}}],
        "attributes": {"user": {"k": null}, "system": {"duration": 90.5, "queue": "q", "bank": "b", "project": "p",
            "constraints": {"and": [{"properties": ["^x"]}, {"ranks": [0, "2-3"]}]}, "cwd": "/", "environment": {"A": "1"},
            "dependencies": [{"scheme": "afterok", "value": "f1", "t": 1}], "preemptible-after": 0,
            "job": {"name": "n", "y": 2}, "shell": {"options": {}}}}, "z": {}}"#;
    let jobspec = Jobspec::from_json_str(text).unwrap();
    let node = &jobspec.resources[0];
    assert_eq!((node.kind.as_str(), node.count.min(), node.count.max()), ("node", 2, None));
    assert_eq!((node.exclusive, node.unit.as_deref(), node.id.as_deref()), (Some(true), Some("u"), Some("i")));
    assert!(node.with[0].is_slot() && !node.is_slot());
    assert_eq!(node.with[0].with[0], Resource::new("core", Count::fixed(4)));
    assert_eq!(jobspec.tasks[0].command, ["app", "-v"]);
    assert_eq!(jobspec.tasks[1].count, TaskCount::PerResource { kind: "core".to_owned(), count: 2 });
    let system = &jobspec.attributes.system;
    assert_eq!(system.duration, Some(Duration::from_micros(90_500_000)));
    assert_eq!(system.preemptible_after, Some(Duration::ZERO));
    assert_eq!((system.queue.as_deref(), system.job_name.as_deref()), (Some("q"), Some("n")));
    assert_eq!(system.dependencies[0].scheme, "afterok");
    let constraint = json!({"and": [{"properties": ["^x"]}, {"ranks": ["0,2-3"]}]});
    assert_eq!(system.constraints.as_ref().map(Constraint::to_json), Some(constraint.clone()));
    // Everything comes back, but for the one place that is written otherwise.
    let mut expected: Value = serde_json::from_str(text).unwrap();
    expected["attributes"]["system"]["constraints"] = constraint;
    assert_eq!(jobspec.to_json(), expected);
    assert_eq!(Jobspec::from_yaml_str(&jobspec.to_yaml()).unwrap(), jobspec);
}

#[test]
fn durations() {
    let read = |duration: Value| {
        let mut value = Jobspec::nodes(1).to_json();
        value["attributes"]["system"]["duration"] = duration;
        Jobspec::from_value(&value).unwrap().attributes.system
    };
    assert_eq!((read(json!(0)).duration, read(json!(0)).zero_duration), (None, true));
    assert_eq!((read(json!(0.0)).duration, read(json!(0.0)).zero_duration), (None, true));
    assert_eq!(read(json!(3600.0)).duration, Some(Duration::from_secs(3600)));
    // What is above zero must not become "no limit".
    assert_eq!(read(json!(1e-9)).duration, Some(Duration::from_micros(1)));
    let largest = 9_223_372_036_853_i64;
    assert_eq!(read(json!(largest)).duration, Some(Duration::from_secs(largest)));
}

#[test]
fn refused() {
    const SLOT: &str = "/resources/0/with/0";
    let cases = [
        (at("/version", Value::Null), "jobspec: expected the key `version`, found none"),
        (at("/version", json!(2)), "version: expected 1 or 9999, found the number 2"),
        (at("/version", json!("1")), "version: expected 1 or 9999, found the string `1`"),
        (at("/resources", json!({})), "resources: expected an array, found an object of 0"),
        (at("/resources", json!([])), "resources: expected at least one resource, found none"),
        (at("/resources/0", json!([])), "resources[0]: expected an object, found an array of 0"),
        (at("/resources/0/type", Value::Null), "resources[0]: expected the key `type`, found none"),
        (at(&format!("{SLOT}/label"), Value::Null), "resources[0].with[0]: expected the key `label`, found none"),
        (
            at(&format!("{SLOT}/with/1/count"), json!("2-")),
            "resources[0].with[0].with[1].count: `2-` at byte 2: expected a number from 1 on without leading zeros, found the end",
        ),
        (
            at("/resources/0/exclusive", json!("yes")),
            "resources[0].exclusive: expected true or false, found the string `yes`",
        ),
        (at("/resources/0/unit", json!([])), "resources[0].unit: expected a string, found an array of 0"),
        (at("/resources/0/with", json!(1)), "resources[0].with: expected an array, found the number 1"),
        (at("/tasks/0/command", json!("app")), "tasks[0].command: expected an array, found the string `app`"),
        (at("/tasks/0/command", json!([])), "tasks[0].command: expected at least one word, found none"),
        (at("/tasks/0/command", json!(["a", 1])), "tasks[0].command[1]: expected a string, found the number 1"),
        (at("/tasks/0/slot", Value::Null), "tasks[0]: expected the key `slot`, found none"),
        (
            at("/tasks/0/count", json!({"per_slot": 1, "total": 1})),
            "tasks[0].count: expected one of per_slot, total, per_resource, found 2 keys",
        ),
        (
            at("/tasks/0/count", json!({"each": 1})),
            "tasks[0].count: expected one of per_slot, total, per_resource, found the key `each`",
        ),
        (
            at("/tasks/0/count", json!({"total": 0})),
            "tasks[0].count.total: expected a whole number of at least 1, found the number 0",
        ),
        (
            at("/tasks/0/count", json!({"per_resource": {"type": "a", "count": 1, "x": 1}})),
            "tasks[0].count.per_resource: expected type or count, found the key `x`",
        ),
        (at("/attributes", json!(1)), "attributes: expected an object, found the number 1"),
        (at("/attributes/foo", json!(1)), "attributes: expected system or user, found the key `foo`"),
        (at("/attributes/user", json!(1)), "attributes.user: expected an object, found the number 1"),
        (at("/attributes/system", json!([])), "attributes.system: expected an object, found an array of 0"),
        (
            at("/attributes/system/duration", json!(-1)),
            "attributes.system.duration: expected a number of seconds from 0 to 9223372036853, found the number -1",
        ),
        (
            at("/attributes/system/duration", json!(1e30)),
            "attributes.system.duration: expected a number of seconds from 0 to 9223372036853, found the number 1e+30",
        ),
        (at("/attributes/system/queue", json!(1)), "attributes.system.queue: expected a string, found the number 1"),
        (
            at("/attributes/system/constraints", json!({"and": [{"rank": []}]})),
            "attributes.system.constraints: invalid constraint at .and[0]: unknown operator `rank`; known are \
                properties, hostlist, ranks, and, or, not",
        ),
        (
            at("/attributes/system/constraints", json!({"not": [{"properties": ["^f^oo"]}]})),
            "attributes.system.constraints: expected `^` only in front of a property, found the property `f^oo`",
        ),
        (
            at("/attributes/system/dependencies", json!([{"scheme": "afterok"}])),
            "attributes.system.dependencies[0]: expected the key `value`, found none",
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
}

#[test]
fn version_1() {
    const SLOT: &str = "/resources/0/with/0";
    let core = json!({"type": "core", "count": 1});
    assert_eq!(changed(|_| {}), "accepted");
    for jobspec in [Jobspec::nodes(3), Jobspec::slots(3, 1, 0), Jobspec::slots(3, 2, 1)] {
        assert_eq!(jobspec.validate_v1(), Ok(()));
    }
    let cases = [
        (at("/version", json!(9999)), "version: expected 1, found the number 9999"),
        (at("/resources", json!([core, core])), "resources: expected exactly one resource, found 2"),
        (at("/resources/0/type", json!("rack")), "resources[0].type: expected node or slot, found the string `rack`"),
        (
            at("/resources/0/count", json!("1-2")),
            "resources[0].count: expected one number in version 1, found the count 1-2",
        ),
        (at("/resources/0/id", json!("a")), "resources[0]: expected only keys of version 1, found the key `id`"),
        (at("/resources/0/label", json!("a")), "resources[0]: expected only keys of version 1, found the key `label`"),
        (at("/resources/0/x", json!("a")), "resources[0]: expected only keys of version 1, found the key `x`"),
        (at("/resources/0/with", json!([])), "resources[0].with: expected exactly one slot, found 0"),
        (at("/resources/0/with", json!([core])), "resources[0].with[0].type: expected slot, found the string `core`"),
        (
            at(&format!("{SLOT}/with"), json!([])),
            "resources[0].with[0].with: expected cores and at most gpus beside them, found nothing",
        ),
        (
            at(&format!("{SLOT}/with/0/type"), json!("memory")),
            "resources[0].with[0].with: expected cores and at most gpus beside them, found gpu, memory",
        ),
        (
            at(&format!("{SLOT}/with"), json!([core, core])),
            "resources[0].with[0].with: expected cores and at most gpus beside them, found core, core",
        ),
        (
            at(&format!("{SLOT}/with/0/with"), json!([core])),
            "resources[0].with[0].with[0]: expected only keys of version 1, found the key `with`",
        ),
        (
            at(&format!("{SLOT}/with/1/exclusive"), json!(false)),
            "resources[0].with[0].with[1]: expected only keys of version 1, found the key `exclusive`",
        ),
        (at("/tasks", json!([])), "tasks: expected exactly one task, found 0"),
        (at("/tasks/0/slot", json!("b")), "tasks[0].slot: expected the label of the slot, found the string `b`"),
        (
            at("/tasks/0/count/per_slot", json!(2)),
            "tasks[0].count: expected per_slot of 1, or total, found per_slot of 2",
        ),
        (at("/tasks/0/x", json!(2)), "tasks[0]: expected only keys of version 1, found the key `x`"),
        (at("/attributes/system/duration", Value::Null), "attributes.system: expected the key `duration`, found none"),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
}

#[test]
fn refused_text() {
    let json = |text: &str| Jobspec::from_json_str(text).unwrap_err().to_string();
    assert_eq!(json("{\n  \"version\" 1}"), "invalid JSON at line 2, column 13: expected `:`");
    assert_eq!(json(""), "invalid JSON at line 1, column 0: EOF while parsing a value");
    let yaml = |text: &str| Jobspec::from_yaml_str(text).unwrap_err().to_string();
    assert_eq!(yaml("version: 1"), "jobspec: expected the key `resources`, found none");
    assert_eq!(yaml(""), "jobspec: expected an object, found null");
    for (text, place) in [
        ("a: 1\nb: `", "invalid YAML at line 2, column 4: "),
        ("a: 1\na: 2", "invalid YAML at line 2, column 1: "),
        ("a: 1\n---\nb: 2", "invalid YAML at line 2, column 1: "),
        ("a: .inf", "invalid YAML at line 1, column 4: "),
    ] {
        let said = yaml(text);
        assert!(said.starts_with(place) && said.lines().count() == 1, "{text:?}: {said}");
    }
}

/// A jobspec with `depth` resources inside each other.
fn nested(depth: usize) -> Value {
    let leaf = json!({"type": "a", "count": 1});
    let tree = (1..depth).fold(leaf, |inner, _| json!({"type": "a", "count": 1, "with": [inner]}));
    json!({"version": 1, "resources": [tree], "tasks": [], "attributes": null})
}

#[test]
fn depth_is_bounded() {
    assert!(Jobspec::from_value(&nested(MAX_DEPTH)).is_ok());
    let error = Jobspec::from_value(&nested(MAX_DEPTH + 1)).unwrap_err();
    let path = format!("resources[0]{}", ".with[0]".repeat(MAX_DEPTH));
    assert_eq!(error, JobspecError::Depth { path });
    assert_eq!(Jobspec::from_value(&nested(200)), Err(JobspecError::Nesting));
    assert_eq!(JobspecError::Nesting.to_string(), "jobspec: expected at most 232 levels of nesting, found more");
    // Text of any depth is refused by its reader, on a stack of 2 MiB.
    let deep = |open: &str| open.repeat(100_000);
    for text in [deep("["), deep("{\"a\":"), deep("- "), deep("{a: ")] {
        assert!(Jobspec::from_json_str(&text).is_err());
        assert!(matches!(Jobspec::from_yaml_str(&text), Err(JobspecError::Yaml(_))));
    }
    let indented: String = (0..2000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(matches!(Jobspec::from_yaml_str(&indented), Err(JobspecError::Yaml(_))));
    // 60 resources are less than any text reader's limit.
    let text = nested(60).to_string();
    let jobspec = Jobspec::from_json_str(&text).unwrap();
    assert_eq!(Jobspec::from_yaml_str(&jobspec.to_yaml()), Ok(jobspec));
}

#[test]
fn alias_bombs_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(matches!(Jobspec::from_yaml_str(&bomb), Err(JobspecError::Yaml(_))));
    let fine = "version: 1\nresources: [{type: slot, count: 1, label: &l a}]\n\
        tasks: [{command: [x], slot: *l, count: {total: 1}}]\nattributes:\n";
    assert_eq!(Jobspec::from_yaml_str(fine).unwrap().tasks[0].slot, "a");
}

fn samples() -> Option<PathBuf> {
    let root = std::env::var_os("SLUICE_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")));
    let path = root.join("data/fluxion/t/data/resource/jobspecs");
    if !path.is_dir() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn read_file(path: &Path) -> Result<Jobspec, JobspecError> {
    let text = std::fs::read_to_string(path).unwrap();
    let json = path.extension().is_some_and(|extension| extension == "json");
    if json { Jobspec::from_json_str(&text) } else { Jobspec::from_yaml_str(&text) }
}

fn files(path: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, all) } else { all.push(path) }
    }
}

#[test]
fn samples_of_fluxion() {
    let Some(root) = samples() else { return };
    let mut all = Vec::new();
    files(&root, &mut all);
    // Not jobspecs: R objects, a broken file, durations out of range.
    let refused_elsewhere =
        ["basics/bad.yaml", "duration/test001.yaml", "duration/test002.yaml", "duration/test004.yaml"];
    let (mut read, mut refused) = (0, 0);
    for path in &all {
        let name = path.strip_prefix(&root).unwrap();
        let expected = !(name.starts_with("validation/invalid")
            || name.starts_with("update") && path.extension().is_some_and(|extension| extension == "json")
            || refused_elsewhere.iter().any(|other| name == Path::new(other)));
        match read_file(path) {
            Ok(jobspec) => {
                assert!(expected, "{} is accepted", name.display());
                assert_eq!(Jobspec::from_value(&jobspec.to_json()).as_ref(), Ok(&jobspec), "{}", name.display());
                assert_eq!(Jobspec::from_yaml_str(&jobspec.to_yaml()).as_ref(), Ok(&jobspec), "{}", name.display());
                read += 1;
            }
            Err(error) => {
                assert!(!expected, "{}: {error}", name.display());
                refused += 1;
            }
        }
    }
    assert_eq!((read, refused), (323 - 49 - 6 - 4, 49 + 6 + 4));
}

#[test]
fn built() {
    let jobspec = Jobspec::nodes(4)
        .with_duration(Duration::from_secs(60))
        .with_queue("batch")
        .with_constraint(Constraint::from_json(&json!({"properties": ["big"]})).unwrap());
    let expected = json!({
        "version": 1,
        "resources": [{"type": "node", "count": 4, "exclusive": true, "with": [
            {"type": "slot", "count": 1, "label": "task", "with": [{"type": "core", "count": 1}]}]}],
        "tasks": [{"command": ["app"], "slot": "task", "count": {"per_slot": 1}}],
        "attributes": {"system": {"duration": 60, "queue": "batch", "constraints": {"properties": ["big"]}}},
    });
    assert_eq!(jobspec.to_json(), expected);
    let unlimited = jobspec.with_duration(Duration::INFINITE).to_json();
    assert_eq!(unlimited["attributes"]["system"]["duration"], json!(0));
}

/// Strings that YAML could take for something else.
fn any_string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        "true|null|~|1|0x1|1e3|yes|-|<<|.inf|012|1_0|2001-01-01|''|\\*a|&a|!b|# c|a: b| a|a ",
        ".{0,6}"
    ]
}

fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_string().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(2, 6, 3, |inner| {
        let object = proptest::collection::btree_map(any_string(), inner.clone(), 0..3);
        prop_oneof![
            proptest::collection::vec(inner, 0..3).prop_map(Value::from),
            object.prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    });
    // Keys that have no field of their own.
    proptest::collection::btree_map(any_string().prop_map(|key| format!("x{key}")), value, 0..2)
        .prop_map(|object| object.into_iter().collect())
}

fn any_resource() -> impl Strategy<Value = Resource> {
    let option = || proptest::option::of(any_string());
    let flat = (any_string(), any_count(), option(), option(), proptest::option::of(any::<bool>()), any_object())
        .prop_map(|(kind, count, unit, id, exclusive, extra)| {
            let label = (kind == "slot").then(|| "l".to_owned());
            Resource { kind, count, unit, exclusive, label, id, with: Vec::new(), extra }
        });
    flat.prop_recursive(3, 8, 3, move |inner| {
        let with = proptest::collection::vec(inner, 1..3);
        (any_string(), any_count(), with).prop_map(|(label, count, with)| Resource::slot(label, count, with))
    })
}

fn any_system() -> impl Strategy<Value = System> {
    let option = || proptest::option::of(any_string());
    // Up to 2^50 microseconds (35 years) seconds as a float tell each from the next, even when a reader is an ulp off.
    let time = || proptest::option::of((1..1_i64 << 50).prop_map(Duration::from_micros));
    let dependency = (any_string(), any_string(), any_object()).prop_map(|(scheme, value, extra)| Dependency {
        scheme,
        value,
        extra,
    });
    let words = (option(), option(), option(), option(), option());
    let rest = (proptest::collection::vec(dependency, 0..2), proptest::option::of(any_object()), any_object());
    (time(), time(), words, rest, any::<bool>()).prop_map(
        |(
            duration,
            preemptible_after,
            (queue, cwd, bank, project, job_name),
            (dependencies, environment, mut extra),
            job,
        )| {
            if job {
                extra.insert("job".to_owned(), json!({"x": 1}));
            }
            System {
                zero_duration: duration.is_none(),
                duration,
                queue,
                constraints: job.then(|| Constraint::from_json(&json!({"ranks": ["1"]})).unwrap()),
                dependencies,
                preemptible_after,
                environment,
                cwd,
                bank,
                project,
                job_name,
                extra,
            }
        },
    )
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]

    #[test]
    fn round_trip(
        resources in proptest::collection::vec(any_resource(), 1..3),
        command in proptest::collection::vec(any_string(), 1..3),
        system in any_system(),
        extra in any_object(),
    ) {
        let mut jobspec = Jobspec::new(resources, "l");
        jobspec.tasks[0].command = command;
        jobspec.attributes = Attributes { system, user: Some(extra.clone()) };
        jobspec.extra = extra;
        let json = jobspec.to_json();
        let yaml = jobspec.to_yaml();
        let expected = Ok(jobspec);
        prop_assert_eq!(&Jobspec::from_value(&json), &expected);
        prop_assert_eq!(&Jobspec::from_json_str(&json.to_string()), &expected);
        prop_assert_eq!(&Jobspec::from_yaml_str(&yaml), &expected, "{}", yaml);
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = Jobspec::from_json_str(&text);
        let _ = Jobspec::from_yaml_str(&text);
    }

    /// A jobspec's text with a piece cut out and another put in.
    #[test]
    fn no_near_text_panics(from in 0..400_usize, length in 0..12_usize, piece in "[\\[\\]{}:,\"a-z0-9 \n*&!|>%@`-]{0,6}") {
        let jobspec = Jobspec::nodes_slots(2, 1, 4, 1);
        let damage = |text: String| {
            let from = from.min(text.len());
            let to = (from + length).min(text.len());
            format!("{}{piece}{}", &text[..from], &text[to..])
        };
        let _ = Jobspec::from_json_str(&damage(jobspec.to_json().to_string()));
        let _ = Jobspec::from_yaml_str(&damage(jobspec.to_yaml()));
    }
}
