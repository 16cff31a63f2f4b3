//! The format as a table of cases: what is read, and what is refused with which words.

use super::*;
use crate::base::{Duration, Timestamp};
use crate::formats::hwloc::AllowList;
use proptest::prelude::*;
use std::path::Path;

fn parse(text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse(text, Path::new("x/scenario.toml"))
}

/// A scenario with the smallest machine and this in it.
fn with(text: &str) -> Result<Scenario, ScenarioErrors> {
    parse(&format!("{text}\n[graph]\nuniform = {{ nodes = 4 }}\n"))
}

/// The errors of a text, one a line.
fn errors(text: &str) -> String {
    match with(text) {
        Ok(scenario) => format!("read: {scenario:?}"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn defaults_are_filled_in() {
    let scenario = with("").unwrap();
    assert_eq!(scenario.name, "x");
    assert_eq!(scenario.settings, Settings::default());
    let uniform = Uniform { nodes: 4, cores: 1, gpus: 0, properties: vec![] };
    assert_eq!(scenario.graph, Some(GraphSource::Uniform(uniform)));
    assert!(scenario.config.queues.is_empty() && scenario.actions.is_empty());
}

const WHOLE: &str = r#"
name = "all"
title = "Everything once"
[site]
epoch = 2026-07-03T12:00:00
stopped = ["pdat"]
on-node-fail = "requeue"
housekeeping = { duration = "30s", jitter = 5, stuck = 0.25, stuck-for = "1h", seed = 3 }
pass = "event"
work-budget = 100
until = "9+00:00"

[graph]
text = """
rack0
"""

[queues.pbatch]
requires = ["batch"] # [site]
[queues.p_dat.policy.scheduler]
queue-policy = "easy"
[queues]
short = {}
long = {}
rest = {}
pdebug = {}
a = {}
b = {}
pday = {}
pnight = {}
pdat = {}

[[workload]]
swf = { shared = "a.swf.gz", by = "name", map = { q_2h = "short", "1" = "long" }, others = "rest", unit = "core", limit = "runtime", start = 0, first = 9 }
[[workload]]
queue = "pbatch"
jobs = [
  { at = "Fri 13:00", nodes = "2-8", run = "2h", limit = "4h", count = 3, every = 60, user = 7, priority = 20, properties = ["big", "^old"] },
  { id = 90, at = 0, queue = "pdebug", nodes = 1, cores = 4, gpus = 1, run = 1.5, fails = true },
  { at = 0, slots = 12, cores = 2, run = 0 },
  { at = 0, jobspec = "j.yaml", run = 3 },
]
[[workload]]
generate = { seed = 1, jobs = 10, load = 0.9, nodes = 4, sizes = { dist = "power-of-two", min = 1, max = 4 }, run = { dist = "log-normal", min = 60, max = "1d", median = "1h" }, limit = { dist = "uniform", min = 1, max = 3 }, queues = { b = 2, a = 1 }, constraint = { share = 0.2, properties = ["x"] }, daily = 0.5, users = 3 }
[[node-events]]
file = "log"
start = "0+01:00"
[policy]
limits.duration = "1d"
[[action]]
at = "20:00"
told = "18:00"
name = "night"
do = "switch"
release = ["pday"]
start = ["pnight", { queue = "pdat", take = true, group = { min = 3, give-up = "2h" } }]
every = "1d"
times = 2
[[action]]
at = 60
do = "queue-create"
queue = "new"
config = { hosts = "node[1-2]", policy.limits.duration = "1h" }
[[expect]]
why = "it moves"
key = "donations.moved"
between = [1, 5]
[[expect]]
at = "Mon 06:00"
owner = { pbatch = "node[1-3]" }
free = "node4"
[[expect]]
job = 90
state = "failed"
starts = [0, "1h"]
[[expect]]
order = [90, 91]
"#;

#[test]
fn reads_everything() {
    let scenario = parse(WHOLE).unwrap_or_else(|e| panic!("{e}"));
    let hour = |h: i64| Timestamp::from_secs(h * 3600);
    assert_eq!(scenario.settings.until, hour(9 * 24));
    assert_eq!(scenario.settings.housekeeping.stuck_for, Duration::from_secs(3600));
    let Some(GraphSource::Text { text, line }) = &scenario.graph else { panic!("{:?}", scenario.graph) };
    assert_eq!((text.as_str(), WHOLE.lines().nth(line - 1)), ("rack0\n", Some("rack0")));
    let [Workload::Swf(swf), Workload::Jobs(jobs), Workload::Generate(generator)] = &scenario.workloads[..] else {
        panic!("{:?}", scenario.workloads)
    };
    assert_eq!(swf.map, [("q_2h".to_owned(), "short".to_owned()), ("1".to_owned(), "long".to_owned())]);
    assert_eq!((jobs[0].at, jobs[0].work.clone()), (hour(1), JobWork::Whole { nodes: Size { min: 2, max: 8 } }));
    assert_eq!((jobs[0].queue.as_deref(), jobs[1].queue.as_deref()), (Some("pbatch"), Some("pdebug")));
    assert_eq!(generator.queues, [("b".to_owned(), 2.0), ("a".to_owned(), 1.0)]);
    assert_eq!(generator.interval, Interval::Load { load: 0.9, nodes: 4 });
    let night: Vec<_> = scenario.actions[0].occurrences().collect();
    assert_eq!(night[1], Occurrence { told: Some(hour(30)), at: hour(32), name: "night#2".into() });
    assert_eq!(scenario.actions[1].occurrences().map(|o| o.name).collect::<Vec<_>>(), ["action-2"]);
    let ActionKind::QueueCreate(created) = &scenario.actions[1].what else { panic!() };
    assert_eq!(created.policy.limits.duration, Some(Duration::from_secs(3600)));
    assert_eq!(scenario.config.queues.keys().take(2).collect::<Vec<_>>(), ["pbatch", "p_dat"]);
    assert_eq!(scenario.config.policy.limits.duration, Some(Duration::from_secs(86_400)));
    assert_eq!(scenario.expectations.len(), 4);
}

#[test]
fn machines_come_from_recipes_and_topologies() {
    let graph = |text: &str| parse(&format!("[graph]\n{text}")).unwrap_or_else(|e| panic!("{e}")).graph.unwrap();
    let file = |name: &str| FileRef::Own(name.into());
    let grug = GraphSource::File { file: file("big.graphml"), format: GraphFormat::Grug };
    assert_eq!(graph("file = 'big.graphml'"), grug);
    let grug = GraphSource::File { file: FileRef::Shared("big.xml".into()), format: GraphFormat::Grug };
    assert_eq!(graph("shared = 'big.xml'\nformat = 'grug'"), grug);
    let (files, allow) = (vec![file("a.xml"), file("b.xml")], AllowList::parse("node,core").unwrap());
    assert_eq!(graph("hwloc = ['a.xml', 'b.xml']\nallow = 'node,core'"), GraphSource::Hwloc { files, allow });
}

#[test]
fn machines_refused_with_these_words() {
    let cases = [
        ("[graph]\nhwloc = []", "x/scenario.toml:2: `hwloc`: expected at least one file, found an array of 0"),
        ("[graph]\nfile = 'a.graph'\nallow = 'core'", "x/scenario.toml:3: `allow` goes with `hwloc` only"),
        ("[graph]\nhwloc = ['a']\nformat = 'R'", "x/scenario.toml:3: `format` goes with a graph file only"),
        (
            "[graph]\nhwloc = ['a']\nallow = 'cores'",
            "x/scenario.toml:3: `allow`: expected a list of types among cluster, node, group, numanode, socket, L1cache, \
             L2cache, L3cache, core, pu, gpu, storage, found \"cores\"",
        ),
    ];
    for (text, words) in cases {
        assert_eq!(
            parse(text).map_or_else(|e| e.to_string(), |scenario| format!("{scenario:?}")),
            words,
            "for:\n{text}"
        );
    }
}

#[test]
fn refused_with_these_words() {
    let cases = [
        ("[site]\nstoped = []", "x/scenario.toml:2: unknown key `stoped` in [site] (did you mean `stopped`?)"),
        ("tittle = ''", "x/scenario.toml:1: unknown key `tittle` in the scenario (did you mean `title`?)"),
        (
            "[site]\npass = 'never'",
            "x/scenario.toml:2: `pass`: expected one of \"timestamp\", \"event\", found \"never\"",
        ),
        (
            "[site]\nwork-budget = 0",
            "x/scenario.toml:2: `work-budget`: expected a whole number from 1 to 4294967295, found 0",
        ),
        ("[[action]]\ndo = 'drain'\nnodes = 'a'", "x/scenario.toml:1: [[action]] needs the key `at`"),
        (
            "[[action]]\nat = 'Fri 18:00'\ndo = 'drain'\nnodes = 'a'",
            "x/scenario.toml:2: `at`: expected a time that needs no epoch, or an `epoch` in [site]; `Fri 18:00` is on the \
             wall clock, found \"Fri 18:00\"",
        ),
        (
            "[[action]]\nat = 5\ndo = 'drain'\nnodes = 'a'\nqueue = 'b'",
            "x/scenario.toml:5: unknown key `queue` in [[action]] (known are at, told, ahead, name, every, times, do, nodes, \
             ranks, reason, preempt)",
        ),
        (
            "[[action]]\nat = 5\ndo = 'drain'\nnodes = 'a'\nranks = '0'",
            "x/scenario.toml:1: [[action]] takes only one of `nodes` or `ranks`",
        ),
        (
            "[[action]]\nat = 5\ntold = 9\ndo = 'queue-stop'\nqueue = 'default'\nrelease = true",
            "x/scenario.toml:1: told at 9, after it takes effect at 5",
        ),
        (
            "[[action]]\nat = 5\ntold = 1\ndo = 'queue-stop'\nqueue = 'default'",
            "x/scenario.toml:1: only these can be announced: switch, queue-start, queue-stop with release = true, drain",
        ),
        (
            "[[action]]\nat = 5\ndo = 'undrain'\nnodes = 'a'\nevery = 5",
            "x/scenario.toml:1: [[action]] needs the key `times`",
        ),
        (
            "[[action]]\nat = 5\ndo = 'queue-remove'\nqueue = 'default'\npending = 'move='",
            "x/scenario.toml:5: `pending`: expected \"hold\", \"cancel\" or \"move=QUEUE\", found \"move=\"",
        ),
        (
            "[[workload]]\njobs = [{ at = 0, run = 1 }]",
            "x/scenario.toml:2: a job needs the key `nodes` or `slots` or `jobspec`",
        ),
        (
            "[[workload]]\njobs = [{ at = -1, nodes = 1, run = 'inf' }]",
            "x/scenario.toml:2: `at`: expected a time: seconds, a Flux duration like \"90m\", \"D+HH:MM\", or, with an epoch, \
             \"HH:MM\", \"Fri 18:00\" or a date and time, found -1\n\
             x/scenario.toml:2: `run`: expected a duration that ends, found \"inf\"",
        ),
        (
            "[[workload]]\njobs = [{ at = 0, run = 1, nodes = '8-2' }]",
            "x/scenario.toml:2: `nodes`: expected a number from 1 or a range like \"2-8\", found \"8-2\"",
        ),
        (
            "[[workload]]\ngenerate = { seed = 1, jobs = 1, interval = 5, queues = {}, run = { dist = 'uniform', min = 2, max = 1 }, \
             sizes = { dist = 'power-of-two', min = 5, max = 7 } }",
            "x/scenario.toml:2: `sizes`: there is no power of two from `min` to `max`\n\
             x/scenario.toml:2: `run`: `min` is above `max`\n\
             x/scenario.toml:2: `queues`: expected at least one queue and its weight, found a table",
        ),
        (
            "[[expect]]\nkey = 'a'",
            "x/scenario.toml:1: [[expect]] needs the key `eq` or `ne` or `ge` or `le` or `between`",
        ),
        (
            "[[expect]]\njob = 1",
            "x/scenario.toml:1: [[expect]] needs the key `state` or `queue` or `starts` or `ends` or `on` or `reason`",
        ),
        ("[[expect]]\nat = 1", "x/scenario.toml:1: [[expect]] needs the key `owner` or `leaving` or `free`"),
        ("[queues.a]\nhost = 'x'", "x/scenario.toml:2:1: queues.a: unknown key `host` (did you mean `hosts`?)"),
        (
            "[[action]]\nat = 0\ndo = 'queue-create'\nqueue = 'q'\nconfig = { parent = 'none', polcy = 1 }",
            "x/scenario.toml:5:21: queues.q.parent: no queue `none` is configured\nx/scenario.toml:5:29: queues.q: unknown key `polcy` (did you mean `policy`?)",
        ),
        (
            "[[action]]\nat = 5\ndo = 'fail'\nnodes = 'a[1'",
            "x/scenario.toml:4: `nodes`: expected a hostlist (invalid hostlist: unbalanced bracket at byte 1), found \"a[1\"",
        ),
        (
            "[queues.batch]\n[[action]]\nat = 5\ndo = 'queue-start'\nqueue = 'bathc'",
            "x/scenario.toml:5: `queue`: expected a queue of this scenario (there are batch; did you mean `batch`?), \
             found \"bathc\"",
        ),
        (
            "[[workload]]\nqueue = 'q'\njobs = []\n[[workload]]\nswf = { file = 'a', map = { 1 = 'default', 2 = 'x' } }",
            "x/scenario.toml:2: `queue`: expected a queue of this scenario (there are default), found \"q\"\n\
             x/scenario.toml:5: `map`: expected a queue of this scenario (there are default), found \"x\"",
        ),
        (
            "[[workload]]\njobz = []",
            "x/scenario.toml:1: [[workload]] needs the key `swf` or `jobs` or `generate`\n\
             x/scenario.toml:2: unknown key `jobz` in [[workload]] (did you mean `jobs`?)",
        ),
        (
            "[[action]]\nat = 5\ndo = 'quue-start'",
            "x/scenario.toml:3: `do`: expected one of \"queue-create\", \"queue-change\", \"queue-remove\", \"queue-enable\", \
             \"queue-disable\", \"queue-start\", \"queue-stop\", \"switch\", \"cancel-planned\", \"abort\", \"drain\", \"undrain\", \"recall\", \
             \"fail\", \"return\", \"add\", \"remove\", \"cancel\", \"reprioritize\", \"relimit\", \"move\" (did you mean \
             \"queue-start\"?), found \"quue-start\"",
        ),
        ("a = ", "x/scenario.toml:1: string values must be quoted, expected literal string"),
    ];
    for (text, words) in cases {
        assert_eq!(errors(text), words, "for:\n{text}");
    }
    assert_eq!(
        parse("").unwrap_err().to_string(),
        "x/scenario.toml:1: the scenario needs the key `graph` or `resource`"
    );
}

#[test]
fn announcements_do_not_reach_back_before_time_0() {
    let text = "[[action]]\nat = 50\nahead = 60\ndo = 'drain'\nnodes = 'a'\nevery = 30\ntimes = 2";
    let scenario = with(text).unwrap_or_else(|e| panic!("{e}"));
    let told: Vec<_> = scenario.actions[0].occurrences().map(|o| o.told.map(Timestamp::micros)).collect();
    assert_eq!(told, [Some(0), Some(20_000_000)]);
}

#[test]
fn all_errors_are_found() {
    let found = errors(
        "[site]\nstoped = []\npass = 1\n[[action]]\nat = 1\ndo = 'dran'\nnodes = 'a'\n[[expect]]\njob = -1\nstate = 'x'",
    );
    let lines: Vec<_> = found.lines().map(|l| l.split(':').nth(1).unwrap_or("")).collect();
    assert_eq!(lines, ["2", "3", "6", "9", "10"], "{found}");
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    /// No text brings it down: pieces of the large example, cut and mixed.
    #[test]
    fn never_panics(parts in proptest::collection::vec((0..WHOLE.len(), 0usize..80, "[\\[\\]{}=\"'.\n a-z0-9+:-]{0,6}"), 0..8)) {
        let mut text = String::new();
        for (start, length, noise) in parts {
            text.push_str(WHOLE.get(start..WHOLE.len().min(start + length)).unwrap_or(""));
            text.push_str(&noise);
        }
        let _ = parse(&text);
    }

    /// One place of the example changed: an error or a scenario, and every error on a line of the text.
    #[test]
    fn errors_point_into_the_text(at in 0..WHOLE.len(), noise in "[\\[\\]{}=\"'.\n a-z0-9+:-]{0,3}") {
        let mut text = WHOLE.to_owned();
        if text.is_char_boundary(at) {
            text.insert_str(at, &noise);
        }
        if let Err(errors) = parse(&text) {
            for error in errors.0 {
                let line = error.line().unwrap_or(1);
                prop_assert!((1..=text.lines().count() + 1).contains(&line), "{error}");
            }
        }
    }
}
