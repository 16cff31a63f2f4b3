//! The rules one by one: what a fragment may say, and what follows.

use sluice::services::{Fragment, Registry, Running, Surroundings, Wanted};

fn registry(text: &str) -> Registry {
    Registry::of(&[Fragment::parse(text, "s.toml").unwrap_or_else(|e| panic!("{e}"))]).unwrap_or_else(|e| panic!("{e}"))
}

fn wanted(names: &[&str]) -> Wanted {
    Wanted { names: names.iter().map(|n| (*n).to_owned()).collect(), force: vec![] }
}

/// The levels of a plan, or why there is none.
fn plan(registry: &Registry, wanted: &Wanted) -> String {
    match registry.plan(wanted, &[]) {
        Ok(plan) => {
            let name = |id: &sluice::services::UnitId| registry.unit(*id).name().to_owned();
            let level = |level: &Vec<_>| level.iter().map(name).collect::<Vec<_>>().join(" ");
            let left = plan.left.iter().map(|l| format!(" -{}: {}", l.service, l.why)).collect::<String>();
            plan.levels.iter().map(level).collect::<Vec<_>>().join(" | ") + &left
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_fragment_says_what_is_wrong_with_it() {
    let cases = [
        ("[[services]]\nprovides = [\"a\"]", "s.toml:1:1: services[0]: expected a name, found none"),
        (
            "[[services]]\nname = \"a\"\nneed = []",
            "s.toml:3:1: services[0]: unknown key `need` (did you mean `needs`?)",
        ),
        (
            "[[services]]\nname = \"a\"\nranks = \">x\"",
            "s.toml:3:9: services[0].ranks: expected a rank after < or >, found \"x\"",
        ),
        (
            "[[services]]\nname = \"a\"\ndisabled = 1",
            "s.toml:3:12: services[0].disabled: expected true or false, found an integer",
        ),
        ("[a]\npriority = 1", "s.toml:1:1: a: there is no service \"a\" to change"),
        ("[[services]]\nname = \"a\"\n[alternatives]\nx = \"a\"", "s.toml:4:1: alternatives: a does not provide x"),
        (
            "[[services]]\nname = \"a\"\nrequires = [\"b@\"]",
            "s.toml:1:1: a.requires: b@ is a template: name one that is made of it, as b@batch",
        ),
        (
            "[[services]]\nname = \"a\"\nbefore = [\"*\"]\nafter = [\"b\"]",
            "s.toml:1:1: a.before: \"*\" stands alone, and without `after`",
        ),
    ];
    for (text, expected) in cases {
        let error = match Fragment::parse(text, "s.toml") {
            Err(error) => error.to_string(),
            Ok(fragment) => Registry::of(&[fragment]).expect_err(text).to_string(),
        };
        assert_eq!(error, expected, "{text}");
    }
}

#[test]
fn later_fragments_change_what_is_there_key_by_key() {
    let first = "[[services]]\nname = \"a\"\nprovides = [\"x\"]\npriority = 7\n[[services]]\nname = \"b\"\nprovides = [\"x\"]\npriority = 7";
    let parse = |text| Fragment::parse(text, "s.toml").expect("sound");
    let all = Registry::of(&[parse(first), parse("[[modules]]\nname = \"a\"\nargs = [\"-v\"]")]).expect("sound");
    let rule = all.rule_of("a").expect("there");
    assert_eq!((rule.priority, rule.args.as_slice()), (7, ["-v".to_owned()].as_slice()));
    assert_eq!(plan(&all, &wanted(&["x"])), "b");
    // A table named as a service changes who provides it.
    let all = Registry::of(&[parse(first), parse("x.priority = 3")]).expect("sound");
    assert_eq!((all.rule_of("b").expect("there").priority, plan(&all, &wanted(&["x"])).as_str()), (3, "a"));
}

#[test]
fn what_is_wanted_is_planned_or_refused_with_the_reason() {
    let text = r#"
        [[services]]
        name = "a"
        provides = ["x"]
        requires = ["y"]
        after = ["y"]
        [[services]]
        name = "b"
        provides = ["x", "y"]
        priority = 50
        [[services]]
        name = "c"
        provides = ["y"]
        priority = 40
        [[services]]
        name = "d"
        requires = ["e", "f"]
        after = ["e"]
        [[services]]
        name = "e"
        needs-env = ["HOME", "!AWAY"]
        after = ["d"]
        [[services]]
        name = "f"
        needs = ["g"]
        requires = ["c"]
        [[services]]
        name = "g"
        ranks = ">0"
        [[services]]
        name = "h"
        requires = ["nobody"]
        [[services]]
        name = "sched-in@"
        provides = ["sched@"]
        requires = ["c"]
        after = ["c"]
        [[services]]
        name = "sched-out@"
        provides = ["sched@"]
        priorities."sched@debug" = 200
        needs-attrs = ["here@"]
        [[services]]
        name = "last"
        after = ["sched@"]
    "#;
    let mut all = registry(text);
    all.make(["batch".to_owned(), "debug".to_owned()]);
    let home = Surroundings { env: ["HOME".to_owned()].into(), ..Surroundings::default() };
    let attrs = ["here@batch".to_owned(), "here@debug".to_owned()].into();
    let attrs = Surroundings { attrs, ..Surroundings::default() };
    let cases: &[(&Surroundings, &[&str], &[&str], &str)] = &[
        (&Surroundings::default(), &["x"], &[], "a and b both provide x: take one of them, or swap one for the other"),
        (
            &Surroundings::default(),
            &["y", "c"],
            &[],
            "b and c both provide y: take one of them, or swap one for the other",
        ),
        (&Surroundings::default(), &["b"], &[], "b"),
        (&Surroundings::default(), &["x"], &["c"], "c | a"),
        (
            &Surroundings::default(),
            &["d"],
            &[],
            "d -e: the environment variable HOME is not set -f: it needs g, which does not run",
        ),
        (&home, &["d"], &[], "services wait for each other: d after e after d"),
        (&Surroundings::default(), &["f"], &[], "f cannot run: it needs g, which does not run"),
        (&Surroundings::default(), &["g"], &[], "g cannot run: it runs on rank >0, and this is rank 0"),
        (&Surroundings { rank: 1, ..Surroundings::default() }, &["g", "f"], &[], "c f g"),
        // Nobody asks for g: f needs it, and is not started because of it; neither is c.
        (&Surroundings { rank: 1, ..Surroundings::default() }, &["f"], &[], "f cannot run: it needs g"),
        (&Surroundings::default(), &["g"], &["g"], "g"),
        (&Surroundings::default(), &["h"], &[], "h requires nobody: nothing is named nobody or provides it"),
        (&Surroundings::default(), &["lost"], &[], "nothing is named lost or provides it (did you mean last?)"),
        (&attrs, &["last", "sched@batch", "sched@debug"], &[], "sched-out@batch sched-out@debug | last"),
        (&Surroundings::default(), &["sched@batch", "last"], &[], "c | sched-in@batch | last"),
        (&Surroundings::default(), &["sched@batch"], &["sched-out@batch"], "sched-out@batch"),
    ];
    for (here, names, force, expected) in cases {
        let all = all.clone().here((*here).clone());
        let wanted = Wanted { force: force.iter().map(|n| (*n).to_owned()).collect(), ..wanted(names) };
        let found = plan(&all, &wanted);
        assert!(found == *expected || found.starts_with(&format!("{expected}, which")), "{names:?}: {found}");
    }
    let only_debug = Surroundings { attrs: ["here@debug".to_owned()].into(), ..Surroundings::default() };
    let both = plan(&all.here(only_debug), &wanted(&["sched@batch", "sched@debug"]));
    assert_eq!(both, "c sched-out@debug | sched-in@batch");
}

#[test]
fn what_runs_is_used_and_not_stopped_below_others() {
    let text = r#"
        [[services]]
        name = "store"
        [[services]]
        name = "old"
        provides = ["sched"]
        requires = ["store"]
        after = ["store"]
        [[services]]
        name = "new"
        provides = ["sched"]
        priority = 1
        [[services]]
        name = "front"
        requires = ["sched"]
        after = ["sched"]
    "#;
    let all = registry(text);
    let mut running = Running::new(all);
    let names = |running: &Running, ids: &[sluice::services::UnitId]| {
        ids.iter().map(|id| running.registry().unit(*id).name().to_owned()).collect::<Vec<_>>().join(" ")
    };
    running.enter(&running.load(&wanted(&["front"])).expect("a plan"));
    assert_eq!(names(&running, running.loaded()), "store old front");
    assert_eq!(
        running.unload("sched").unwrap_err().to_string(),
        "old is in use by front: stop that first, or swap another in"
    );
    let error = running.load(&wanted(&["new"])).unwrap_err().to_string();
    assert_eq!(error, "old and new both provide sched: take one of them, or swap one for the other");
    assert_eq!(running.swap("sched", "front").unwrap_err().to_string(), "front does not provide sched");
    let swap = running.swap("sched", "new").expect("a swap");
    assert_eq!(
        (names(&running, &swap.start.concat()), names(&running, &swap.stop)),
        ("new".into(), "old store".into())
    );
    running.enter(&swap);
    assert_eq!(names(&running, running.loaded()), "front new");
    let stop = running.unload("front").expect("nobody uses it");
    assert_eq!(names(&running, &stop.stop), "new front");
    running.enter(&stop);
    assert!(running.loaded().is_empty() && running.unload("front").expect("gone").is_empty());
}
