use super::*;
use crate::base::Duration;
use crate::formats::hostlist::Hostlist;
use crate::formats::r::R;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn read(text: &str) -> Config {
    Config::parse(text, "f").unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn refuse(text: &str) -> String {
    Config::parse(text, "f").expect_err(text).to_string()
}

fn secs(seconds: i64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

#[test]
fn nothing_means_defaults() {
    let config = read("");
    assert_eq!(config, Config::default());
    let expected = r#"{"provider":null,"queue-policy":"fcfs","queue-depth":null,"reservation-depth":64,"match-policy":"first","precedence":0,
        "overlap":"refuse","horizon":"strict","overrun-slack":60000000,"release-margin":0}"#;
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    assert_eq!(serde_json::to_value(SchedulerSettings::default()).unwrap(), expected);
}

#[test]
fn policies_lie_over_each_other_key_by_key() {
    let config = read(
        r#"
        [queues.night]
        hosts = "n[1-4]"
        policy.limits.duration = "0"
        policy.limits.job-size.max.nnodes = -1
        policy.scheduler = { queue-policy = "hybrid", precedence = -3, queue-depth = "unlimited" }
        policy.jobspec.defaults.system.duration = "infinity"

        [queues.expedite]
        parent = "day"
        policy.limits.job-size.max.ncores = 8

        [queues.day]
        requires = ["day", "^old"]
        policy.access.allow-user = ["ann"]
        policy.limits.duration = "30m"
        policy.scheduler.queue-depth = 5

        [policy]
        jobspec.defaults.system = { duration = "1h", queue = "expedite" }
        limits = { duration = "12h", job-size.max.nnodes = 16, job-size.min.nnodes = 2 }
        access = { allow-user = ["root"], allow-group = ["staff"] }
        [policy.scheduler]
        queue-policy = "conservative-compress"
        queue-depth = 1_000
        reservation-depth = 2
        match-policy = "lonodex"
        overlap = "take"
        horizon = "soft"
        overrun-slack = "5m"
        release-margin = "90s"
        "#,
    );
    assert_eq!(config.queues.keys().collect::<Vec<_>>(), ["night", "expedite", "day"]);
    assert_eq!(config.default_queue().unwrap().name, "expedite");
    let (night, day, expedite) = (&config.queues["night"], &config.queues["day"], &config.queues["expedite"]);

    assert_eq!(night.members, Members::Hosts(Hostlist::parse("n[1-4]").unwrap()));
    assert_eq!((night.policy.limits.duration, night.policy.defaults.duration), (None, None));
    assert_eq!(night.policy.limits.job_size_max, JobSize::default());
    assert_eq!(night.policy.limits.job_size_min, JobSize { nnodes: Some(2), ..JobSize::default() });
    assert_eq!(
        night.policy.scheduler,
        SchedulerSettings {
            queue_policy: QueuePolicy::Hybrid,
            queue_depth: None,
            precedence: -3,
            ..config.policy.scheduler.clone()
        }
    );

    assert_eq!(day.members, Members::Requires(vec!["day".to_owned(), "^old".to_owned()]));
    assert_eq!((day.policy.limits.duration, day.policy.defaults.duration), (secs(1800), secs(3600)));
    assert_eq!(day.policy.access, Access { allow_user: vec!["ann".to_owned()], allow_group: vec!["staff".to_owned()] });
    assert_eq!(
        day.policy.scheduler,
        SchedulerSettings {
            queue_policy: QueuePolicy::ConservativeCompress,
            provider: None,
            queue_depth: Some(5),
            reservation_depth: 2,
            match_policy: MatchPolicy::Lonodex,
            precedence: 0,
            overlap: Overlap::Take,
            horizon: Horizon::Soft,
            overrun_slack: Duration::from_secs(300),
            release_margin: Duration::from_secs(90),
        }
    );

    assert!(expedite.is_virtual());
    assert_eq!((&expedite.members, &expedite.policy.scheduler), (&day.members, &day.policy.scheduler));
    assert_eq!(expedite.policy.limits.duration, secs(1800));
    assert_eq!(expedite.policy.limits.job_size_max, JobSize { nnodes: Some(16), ncores: Some(8), ngpus: None });
    assert_eq!(expedite.policy.defaults.queue, None);

    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
}

#[test]
fn refuses_unknown_keys_with_the_nearest() {
    for (text, message) in [
        ("[queue.a]", "f:1:2: unknown key `queue` (did you mean `queues`?)"),
        (
            "x = 1",
            "f:1:1: unknown key `x` (known are calendar, groups, policy, profiles, queues, resource, sched, users)",
        ),
        ("[queues.a]\nhost = 'n1'", "f:2:1: queues.a: unknown key `host` (did you mean `hosts`?)"),
        (
            "[queues.a]\nstarted = true",
            "f:2:1: queues.a: unknown key `started` (known are borrow, hosts, lend, parent, policy, requires)",
        ),
        ("[policy]\nlimit.duration = '1h'", "f:2:1: policy: unknown key `limit` (did you mean `limits`?)"),
        (
            "[policy.limits.job-size.max]\nnodes = 3",
            "f:2:1: policy.limits.job-size.max: unknown key `nodes` (did you mean `nnodes`?)",
        ),
        (
            "[queues.a.policy.scheduler]\n\n  queue_policy = 'easy'",
            "f:3:3: queues.a.policy.scheduler: unknown key `queue_policy` (did you mean `queue-policy`?)",
        ),
        (
            "[queues.\"a.b\"]\npolicy.jobspec.default.x = 1",
            "f:2:16: queues.\"a.b\".policy.jobspec: unknown key `default` (did you mean `defaults`?)",
        ),
        (
            "[resource]\nnoverify = true",
            "f:2:1: resource: unknown key `noverify` (flux-core has this key, but it has no effect here: take it out)",
        ),
        (
            "[[resource.config]]\nhosts = 'a'\ncore = '0'\ngpus='0'",
            "f:3:1: resource.config[0]: unknown key `core` (did you mean `cores`?)",
        ),
    ] {
        assert_eq!(refuse(text), message, "{text}");
    }
}

#[test]
fn refuses_wrong_values() {
    for (text, message) in [
        ("a = ", "f:1:5: invalid TOML: string values must be quoted, expected literal string"),
        ("policy = 1", "f:1:10: policy: expected a table, found an integer"),
        ("queues = []", "f:1:10: queues: expected a table, found an array"),
        ("queues.a = 'x'", "f:1:12: queues.a: expected a table, found a string"),
        ("queues.a.hosts = ['n1']", "f:1:18: queues.a.hosts: expected a string, found an array"),
        ("queues.a.requires = 'n1'", "f:1:21: queues.a.requires: expected an array of strings, found a string"),
        ("queues.a.requires = ['b', 1]", "f:1:27: queues.a.requires[1]: expected a string, found an integer"),
        ("queues.a.requires = ['b c']", "f:1:22: queues.a.requires[0]: character ` ` is not allowed in property `b c`"),
        ("queues.a.hosts = 'n[3-1]'", "f:1:18: queues.a.hosts: invalid hostlist: range 3-1 at byte 2 does not ascend"),
        (
            "queues.a.hosts = ''",
            "f:1:18: queues.a.hosts: expected some hosts, found an empty hostlist (write \"all\" for all hosts)",
        ),
        ("queues.a.parent = 1", "f:1:19: queues.a.parent: expected a string, found an integer"),
        ("[queues.'']", "f:1:9: queues.\"\": the name of a queue cannot be empty"),
        ("[queues.'a b']", "f:1:9: queues.\"a b\": character ` ` is not allowed in the name of a queue"),
        (
            "policy.limits.duration = '5w'",
            "f:1:26: policy.limits.duration: invalid duration: expected one of ms, s, m, h, d, found `w` at byte 1",
        ),
        (
            "policy.limits.duration = 30",
            "f:1:26: policy.limits.duration: expected a duration in quotes, found an integer \
             (write \"30s\", \"30m\" or \"30h\")",
        ),
        (
            "policy.limits.duration = 1.5",
            "f:1:26: policy.limits.duration: expected a duration in quotes, found a float",
        ),
        (
            "policy.limits.job-size.max.nnodes = -2",
            "f:1:37: policy.limits.job-size.max.nnodes: expected an integer from -1 to 4294967295, found -2",
        ),
        (
            "policy.limits.job-size.max.ngpus = '4'",
            "f:1:36: policy.limits.job-size.max.ngpus: expected an integer, found a string",
        ),
        (
            "policy.limits.job-size = {max.ncores = 3, min.ncores = 4}",
            "f:1:1: policy.limits.job-size: min.ncores 4 is more than max.ncores 3: no job fits",
        ),
        (
            "policy.limits.job-size.min.nnodes = 4\n[queues.a.policy.limits]\njob-size.max.nnodes = 3",
            "f:2:9: queues.a.policy.limits.job-size: min.nnodes 4 is more than max.nnodes 3: no job fits",
        ),
        (
            "policy.access.allow-user = 'ann'",
            "f:1:28: policy.access.allow-user: expected an array of strings, found a string",
        ),
        (
            "policy.scheduler.queue-policy = 'esay'",
            "f:1:33: policy.scheduler.queue-policy: unknown value `esay` (did you mean `easy`?)",
        ),
        (
            "policy.scheduler.match-policy = 'best'",
            "f:1:33: policy.scheduler.match-policy: unknown value `best` \
             (known are first, firstnodex, high, low, hinode, lonode, hinodex, lonodex)",
        ),
        (
            "policy.scheduler.queue-depth = 0",
            "f:1:32: policy.scheduler.queue-depth: expected an integer from 1 to 4294967295, found 0",
        ),
        (
            "policy.scheduler.queue-depth = 'all'",
            "f:1:32: policy.scheduler.queue-depth: unknown value `all` (known are unlimited)",
        ),
        (
            "policy.scheduler.precedence = 3_000_000_000",
            "f:1:31: policy.scheduler.precedence: expected an integer from -2147483648 to 2147483647, found 3000000000",
        ),
        (
            "policy.scheduler.overrun-slack = '0'",
            "f:1:34: policy.scheduler.overrun-slack: expected more than zero, found zero",
        ),
        (
            "policy.scheduler.release-margin = 'inf'",
            "f:1:35: policy.scheduler.release-margin: expected a finite duration, found infinity",
        ),
        ("resource.path = 1", "f:1:17: resource.path: expected a string, found an integer"),
        ("resource.config = {}", "f:1:19: resource.config: expected an array of tables, found a table"),
    ] {
        assert_eq!(refuse(text), message, "{text}");
    }
}

#[test]
fn refuses_contradictions() {
    for (text, message) in [
        (
            "[queues.a]\nhosts = 'n1'\nrequires = ['x']",
            "f:2:1: queues.a.hosts: hosts and requires exclude each other (take one of them out)",
        ),
        (
            "[queues.a]\n[queues.b]\nparent = 'a'\nrequires = ['x']",
            "f:4:1: queues.b.requires: a virtual queue has its parent's resources, so requires cannot be set",
        ),
        (
            "[queues.a]\n[queues.b]\nparent = 'a'\npolicy.scheduler.precedence = 1",
            "f:4:8: queues.b.policy.scheduler: a virtual queue is scheduled by its parent, so policy.scheduler cannot be set",
        ),
        (
            "[queues.a]\nlend = { floor = 1 }",
            "f:2:8: queues.a.lend: expected the queues that may borrow, found no key `to` (name them, as to = [\"standby\"])",
        ),
        ("[queues.a]\nlend.to = []", "f:2:11: queues.a.lend.to: expected at least one queue, found none"),
        ("[queues.a]\nlend.to = ['a']", "f:2:11: queues.a.lend.to: a queue cannot lend to itself"),
        (
            "[queues.a]\nlend.to = ['standbi']\n[queues.standby]",
            "f:2:11: queues.a.lend.to: no queue `standbi` is configured (did you mean `standby`?)",
        ),
        ("[queues.a]\nlend.to = ['b', 'b']\n[queues.b]", "f:2:11: queues.a.lend.to: queue `b` stands there twice"),
        (
            "[queues.a]\nlend.to = ['b']\n[queues.c]\n[queues.b]\nparent = 'c'",
            "f:2:11: queues.a.lend.to: queue `b` is virtual: it has no nodes, and its parent's jobs (name its parent)",
        ),
        (
            "[queues.a]\n[queues.b]\nparent = 'a'\nborrow.cap = 1",
            "f:4:1: queues.b.borrow: a virtual queue has no nodes of its own: it neither lends nor borrows",
        ),
        (
            "[queues.a]\n[queues.b]\nborrow.from = ['a']",
            "f:3:15: queues.b.borrow.from: queue `a` does not lend to this one (name `b` in queues.a.lend.to)",
        ),
        (
            "[queues.a]\nlend = { to = ['b'], min-home = '0s' }\n[queues.b]",
            "f:2:33: queues.a.lend.min-home: expected a finite time of 1s or more",
        ),
        (
            "[queues.a]\nlend = { to = ['b'], return = 'preempt' }\n[queues.b]",
            "f:2:31: queues.a.lend.return: loans are returned by draining only: jobs on lent nodes are not preempted \
             (write \"drain\", or leave the key out)",
        ),
        (
            "[queues.a]\nborrow = { cap = 1, floor = 2 }",
            "f:2:29: queues.a.borrow.floor: a floor of 2 is above the cap of 1",
        ),
        (
            "[queues.batch]\n[queues.b]\nparent = 'btach'",
            "f:3:10: queues.b.parent: no queue `btach` is configured (did you mean `batch`?)",
        ),
        ("[queues.b]\nparent = 'b'", "f:2:10: queues.b.parent: a queue cannot be its own parent"),
        (
            "[queues.a]\n[queues.b]\nparent = 'a'\n[queues.c]\nparent = 'b'",
            "f:5:10: queues.c.parent: queue `b` is virtual itself and cannot be a parent",
        ),
        (
            "[queues.a.policy.jobspec.defaults.system]\nqueue = 'a'",
            "f:2:9: queues.a.policy.jobspec.defaults.system.queue: the policy of a queue cannot name a default queue \
             (set it in the global policy)",
        ),
        (
            "policy.jobspec.defaults.system.queue = 'x'\n[queues.batch]\n[queues.debug]",
            "f:1:40: policy.jobspec.defaults.system.queue: no queue `x` is configured (known are batch, debug)",
        ),
        (
            "policy.jobspec.defaults.system.queue = 'x'",
            "f:1:40: policy.jobspec.defaults.system.queue: no queue `x` is configured",
        ),
        (
            "[[resource.config]]\nhosts = 'n[1-3]'\ncores = '0'\n[queues.a]\nhosts = 'n[2-12]'",
            "f:5:9: queues.a.hosts: no [[resource.config]] has host n[4-8] and 4 more",
        ),
        (
            "[[resource.config]]\nhosts = ','\ncores = '0'",
            "f:2:9: resource.config[0].hosts: expected some hosts, found an empty hostlist",
        ),
        ("[[resource.config]]\ncores = '0'", "f:1:1: resource.config[0]: expected key hosts, found none"),
        (
            "[[resource.config]]\nhosts = 'n1'\ncores = '0'\n[[resource.config]]\nhosts = 'n[1-2]'",
            "f:5:9: resource.config[1].hosts: host `n2` has no cores and no gpus, here or in another entry",
        ),
        (
            "[resource]\nexclude = '7'\n[[resource.config]]\nhosts = 'n1'\ncores = '0'",
            "f:2:11: resource.exclude: there is no rank 7",
        ),
        (
            "[resource]\nexclude = 'n2'\n[[resource.config]]\nhosts = 'n1'\ncores = '0'",
            "f:2:11: resource.exclude: there is no host `n2`",
        ),
        (
            "[resource]\nexclude = 'n['\n[[resource.config]]\nhosts = 'n1'\ncores = '0'",
            "f:2:11: resource.exclude: expected an idset or a hostlist: invalid hostlist: unbalanced bracket at byte 1",
        ),
        (
            "[[resource.config]]\nhosts = 'n1'\ncores = '3-1'\nproperties = ['a|b']",
            "f:3:9: resource.config[0].cores: invalid idset: range 3-1 at byte 0 does not ascend\n\
             f:4:15: resource.config[0].properties[0]: character `|` is not allowed in property `a|b`",
        ),
    ] {
        assert_eq!(refuse(text), message, "{text}");
    }
}

#[test]
fn reports_everything_at_once_in_order() {
    let text = "[queues.a]\nhosts = 3\nplicy = 1\n[queues.b]\nparent = 'c'\n[policy.limits]\nduration = 'x'\n";
    let errors = Config::parse(text, "site.toml").unwrap_err();
    assert_eq!(
        errors.0.iter().map(|error| (error.line, error.column)).collect::<Vec<_>>(),
        [(2, 9), (3, 1), (5, 10), (7, 12)]
    );
    assert_eq!(&text[errors.0[1].span.clone()], "plicy");
    let syntax = refuse("a = \nb = 'x\n[queues.a\n");
    assert!(syntax.lines().count() > 1 && syntax.lines().all(|line| line.contains("invalid TOML")), "{syntax}");
}

#[test]
fn one_queue_by_itself() {
    let config = read(
        "[queues.a]\nrequires = ['x']\npolicy.scheduler.precedence = 2\n[queues.v]\nparent = 'a'\n[policy.limits]\nduration = '1h'",
    );
    let queue = config.parse_queue("b", "hosts = 'n1'\npolicy.limits.job-size.max.nnodes = 3", "s").unwrap();
    assert_eq!((queue.name.as_str(), queue.policy.limits.duration), ("b", secs(3600)));
    let queue = config.parse_queue("w", "parent = 'a'", "s").unwrap();
    assert_eq!((queue.members, queue.policy.scheduler.precedence), (Members::Requires(vec!["x".to_owned()]), 2));

    for (name, text, message) in [
        ("b", "host = 'n1'", "s:1:1: queues.b: unknown key `host` (did you mean `hosts`?)"),
        ("b", "parent = 'v'", "s:1:10: queues.b.parent: queue `v` is virtual itself and cannot be a parent"),
        ("b", "parent = 'x'", "s:1:10: queues.b.parent: no queue `x` is configured (known are a, v)"),
        ("a", "parent = 'a'", "s:1:10: queues.a.parent: a queue cannot be its own parent"),
        ("", "", "s:1:1: queues.: the name of a queue cannot be empty"),
    ] {
        assert_eq!(config.parse_queue(name, text, "s").unwrap_err().to_string(), message);
    }
    let config = read("[queues.a]\n[queues.c]\n[queues.v]\nparent = 'a'");
    assert_eq!(
        config.parse_queue("a", "parent = 'c'", "s").unwrap_err().to_string(),
        "s:1:10: queues.a.parent: queue `v` has this one for parent, so it cannot be virtual"
    );
    let below = PolicyConfig::default();
    assert_eq!(QueueConfig::parse_fragment("b", "parent = 'x'", "s", &below).unwrap().parent.as_deref(), Some("x"));
    assert_eq!(
        QueueConfig::parse_fragment("b", "requires = 1", "s", &below).unwrap_err().to_string(),
        "s:1:12: queues.b.requires: expected an array of strings, found an integer"
    );
}

#[test]
fn reads_a_queue_that_stands_in_a_larger_text() {
    let text = "[[action]]\nat = 5\nqueue = { hosts = 'n1', polcy = {} }\n";
    let document = toml::de::DeTable::parse(text).unwrap();
    let table = document.get_ref()["action"].get_ref().get(0).unwrap().get_ref().get("queue").unwrap();
    let error = Config::default().read_queue("a", table, text, "s").unwrap_err();
    assert_eq!(error.to_string(), "s:3:25: queues.a: unknown key `polcy` (did you mean `policy`?)");
    let config = Config::parse_beside("[[action]]\n[queues.a]\n", "s", &["action"]).unwrap();
    assert_eq!(config.queues.len(), 1);
    let error = Config::parse_beside("[[actoin]]\n", "s", &["action"]).unwrap_err();
    assert_eq!(error.to_string(), "s:1:3: unknown key `actoin` (did you mean `action`?)");
}

#[test]
fn resources_add_up() {
    let text = r#"
        [resource]
        exclude = "test2"
        [[resource.config]]
        hosts = "test[1-3]"
        cores = "0-7"
        [[resource.config]]
        hosts = "extra,test[1,2]"
        gpus = "0-1"
        cores = "6-9"
        [[resource.config]]
        hosts = "test[1-2]"
        properties = ["batch"]
        [[resource.config]]
        hosts = "test2,extra"
        properties = ["debug", "+x"]
    "#;
    let expected = r#"{"version":1,"execution":{
        "R_lite":[{"rank":"0","children":{"core":"0-9","gpu":"0-1"}},{"rank":"2","children":{"core":"0-7"}},
            {"rank":"3","children":{"core":"6-9","gpu":"0-1"}}],
        "nodelist":["test[1,3],extra"],"properties":{"batch":"0","debug":"3","+x":"3"}}}"#;
    let mut resource = read(text).resource;
    assert_eq!(resource.to_r(), Ok(R::parse(expected).unwrap()));
    resource.exclude = Some("1".to_owned());
    assert_eq!(resource.to_r(), Ok(R::parse(expected).unwrap()));
    let file = read("resource.path = '/etc/R'").resource;
    assert_eq!(
        file.to_r().unwrap_err().to_string(),
        "resource.path: the resources are in file /etc/R, which has not been read"
    );
    assert_eq!(read("").resource.to_r(), Ok(R::default()));
}

#[test]
fn words_are_read_and_printed() {
    for name in QueuePolicy::NAMES {
        assert_eq!(name.parse::<QueuePolicy>().unwrap().to_string(), *name);
    }
    assert_eq!(
        "conservativ".parse::<QueuePolicy>().unwrap_err().to_string(),
        "unknown queue policy `conservativ`; known are fcfs, easy, hybrid, conservative, conservative-compress"
    );
    assert_eq!(serde_json::to_string(&MatchPolicy::Firstnodex).unwrap(), "\"firstnodex\"");
}

/// The TOML in literal blocks and here-documents of a file: runs of lines between prose, cut to our tables.
fn snippets(text: &str) -> Vec<String> {
    let ours = |header: &str| {
        let name = header.trim_start_matches('[').trim_end_matches(']');
        ["queues", "policy", "resource"].contains(&name.split('.').next().unwrap_or_default())
    };
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    let mut skipping = false;
    for line in text.lines() {
        let line = line.trim();
        let header = line.starts_with('[') && line.ends_with(']') && !line.contains(['"', ' ', '{']);
        let setting = line.is_empty()
            || line.starts_with('#')
            || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        if header {
            skipping = !ours(line);
            let snippet = current.get_or_insert_default();
            if !skipping {
                *snippet += &format!("{line}\n");
            }
        } else if let Some(snippet) = &mut current {
            if setting && !skipping {
                *snippet += &format!("{line}\n");
            } else if !setting {
                found.extend(current.take());
            }
        }
    }
    found.extend(current);
    found.retain(|snippet| snippet.contains('['));
    found
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn reads_the_configurations_of_others() {
    let shared = std::env::var_os("SLUICE_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let dir = shared.join("data/config");
    if !dir.is_dir() {
        eprintln!("skipped: {} is not there", dir.display());
        return;
    }
    let (mut paths, mut queues, mut refused) = (Vec::new(), 0, Vec::new());
    files(&dir, &mut paths);
    paths.sort();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for snippet in snippets(&text) {
            match Config::parse(&snippet, "") {
                Ok(config) => queues += config.queues.len(),
                Err(errors) => {
                    refused.extend(errors.0.into_iter().map(|error| format!("{} {}", error.key, error.message)))
                }
            }
        }
    }
    // Everything else in those files is read; these are keys for flux-core alone, one example that repeats a table to
    // show alternatives, and one that leaves out the cores.
    refused.sort();
    refused.dedup();
    assert_eq!(
        refused,
        [
            " invalid TOML: duplicate key",
            "resource unknown key `history`",
            "resource unknown key `norestrict`",
            "resource unknown key `verify`",
            "resource.config[0].hosts host `test1` has no cores and no gpus, here or in another entry",
        ]
    );
    assert!(queues >= 40, "{queues} queues");
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn never_panics(text in ".*", lines in proptest::collection::vec(
        "(\\[\\[?)?(queues|policy|resource|config|a|hosts|requires|parent|limits|duration|scheduler|max)(\\.[a-z]{1,3})?( = )?['\"\\[{]?[a0-9,-]{0,4}['\"\\]}]{0,2}", 0..6))
    {
        for text in [text, lines.join("\n")] {
            if let Err(errors) = Config::parse(&text, "f") {
                prop_assert!(!errors.0.is_empty());
                for error in &errors.0 {
                    prop_assert!(error.line > 0 && text.get(error.span.clone()).is_some(), "{:?}", error);
                }
            }
        }
    }
}

#[test]
fn pools_are_read_and_refused_with_their_places() {
    let two =
        "[[resource.pool]]\ntype = 'licence'\nname = 'app'\nsize = 3\n[[resource.pool]]\ntype = 'power'\nsize = 9";
    let pool = |name: &str, kind: &str, size| PoolConfig { name: name.to_owned(), kind: kind.to_owned(), size };
    assert_eq!(read(two).resource.pools, [pool("app", "licence", 3), pool("power", "power", 9)]);
    let cases = [
        (
            "type = 'node'\nsize = 1",
            "f:2:8: resource.pool[0].type: expected a word other than node, slot, core, gpu, found `node`",
        ),
        (
            "type = ''\nsize = 1",
            "f:2:8: resource.pool[0].type: expected a word other than node, slot, core, gpu, found ``",
        ),
        (
            "type = 'a'\nsize = -1",
            "f:3:8: resource.pool[0].size: expected an integer from 1 to 9223372036854775807, found -1",
        ),
        (
            "type = 'a'\nsize = 0",
            "f:3:8: resource.pool[0].size: expected an integer from 1 to 9223372036854775807, found 0",
        ),
        ("type = 'a'\nsize = '10 TiB'", "f:3:8: resource.pool[0].size: expected an integer, found a string"),
        ("type = 'a'", "f:1:1: resource.pool[0]: expected key size, found none"),
        ("size = 1", "f:1:1: resource.pool[0]: expected key type, found none"),
        (
            "type = 'a'\nsize = 1\nunit = 'W'",
            "f:4:1: resource.pool[0]: unknown key `unit` (known are name, size, type)",
        ),
        (
            "type = 'a'\nsize = 1\nname = '/c/rack0/ssd0'",
            "f:4:8: resource.pool[0].name: expected a name that does not begin with /, found `/c/rack0/ssd0`",
        ),
        (
            "type = 'a'\nsize = 1\n[[resource.pool]]\ntype = 'a'\nsize = 2",
            "f:4:1: resource.pool[1]: expected each name once, found `a` again",
        ),
    ];
    for (text, error) in cases {
        assert_eq!(refuse(&format!("[[resource.pool]]\n{text}")), error, "{text}");
    }
    assert_eq!(refuse("resource.pool = 3"), "f:1:17: resource.pool: expected an array of tables, found an integer");
}
