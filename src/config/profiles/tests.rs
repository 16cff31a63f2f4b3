use super::*;
use crate::config::{MatchPolicy, QueuePolicy};

fn read(text: &str) -> Config {
    Config::parse(text, "f").unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn refuse(text: &str) -> String {
    Config::parse(text, "f").expect_err(text).to_string()
}

#[test]
fn built_in_profiles_are_there() {
    let profiles = Profiles::default();
    let names: Vec<&str> = profiles.names().collect();
    assert_eq!(names, ["fcfs", "easy", "hybrid", "conservative", "htc", "fluxion", "simple"]);
    let settings = |name| profiles.over(name, &SchedulerSettings::default()).expect("built in");
    for policy in ["fcfs", "easy", "hybrid", "conservative"] {
        assert_eq!(settings(policy).queue_policy.name(), policy);
    }
    assert_eq!((settings("htc").queue_policy, settings("htc").queue_depth), (QueuePolicy::Fcfs, Some(1)));
    let fluxion = settings("fluxion");
    assert_eq!((fluxion.queue_policy, fluxion.queue_depth), (QueuePolicy::Easy, Some(32)));
    assert_eq!(fluxion.match_policy, MatchPolicy::Firstnodex);
    assert_eq!((settings("simple").queue_depth, settings("simple").match_policy), (Some(8), MatchPolicy::Low));
}

#[test]
fn a_profile_lies_between_the_common_policy_and_the_queue() {
    let config = read(
        "
        sched = 'patient'
        policy.scheduler = { queue-policy = 'fcfs', queue-depth = 7, reservation-depth = 5, precedence = 2 }
        [profiles.patient]
        inherits = 'hybrid'
        queue-depth = 500
        [profiles.hurried]
        inherits = 'patient'
        queue-depth = 'unlimited'
        [queues.a]
        [queues.b]
        policy.scheduler = { profile = 'hurried', reservation-depth = 9 }
        [queues.c]
        policy.scheduler = { profile = 'easy', queue-policy = 'conservative' }
        [queues.virtual]
        parent = 'b'
        ",
    );
    let settings = |queue: &str| {
        let s = &config.queues[queue].policy.scheduler;
        (s.queue_policy.name(), s.queue_depth, s.reservation_depth, s.precedence)
    };
    assert_eq!(settings("a"), ("hybrid", Some(500), 5, 2), "the one that sched names");
    assert_eq!(settings("b"), ("hybrid", None, 9, 2), "a chain, and a key of its own");
    assert_eq!(settings("c"), ("conservative", Some(7), 5, 2), "its own keys lie over its profile");
    assert_eq!(settings("virtual"), settings("b"), "of a virtual queue: its parent's");
    assert_eq!(config.policy.scheduler.queue_policy, QueuePolicy::Fcfs);
    assert_eq!(config.common_settings().queue_policy, QueuePolicy::Hybrid);
}

#[test]
fn a_profile_of_a_built_in_name_lies_over_it() {
    let config = read("sched = 'htc'\n[profiles.htc]\nmatch-policy = 'low'\n[profiles.easy]\ninherits = 'easy'\n");
    let settings = config.common_settings();
    assert_eq!((settings.queue_depth, settings.match_policy), (Some(1), MatchPolicy::Low));
    let config = read("sched = 'htc'\n[profiles.htc]\ninherits = 'easy'\n");
    assert_eq!(config.common_settings().queue_policy, QueuePolicy::Easy, "unless it says from whom it inherits");
    assert_eq!(config.common_settings().queue_depth, None);
}

#[test]
fn queues_that_come_later_choose_as_well() {
    let config = read("sched = 'conservative'\n[profiles.mine]\ninherits = 'easy'\n");
    let queue = |text: &str| config.parse_queue("q", text, "f").map(|q| q.policy.scheduler.queue_policy);
    assert_eq!(queue(""), Ok(QueuePolicy::Conservative));
    assert_eq!(queue("policy.scheduler.profile = 'mine'"), Ok(QueuePolicy::Easy));
    assert!(queue("policy.scheduler.profile = 'yours'").is_err());
}

#[test]
fn profiles_outlive_json() {
    let config = read(
        "[profiles.a]\nqueue-depth = 'unlimited'\nprovider = 'builtin'\n[profiles.b]\nqueue-depth = 5\n[profiles.c]\n",
    );
    let text = serde_json::to_string(&config.profiles).expect("profiles are JSON");
    assert_eq!(serde_json::from_str::<Profiles>(&text).expect("it reads back"), config.profiles, "{text}");
}

#[test]
fn what_is_wrong_is_told() {
    let cases = [
        ("sched = 'esay'", "f:1:9: sched: there is no profile `esay` (did you mean `easy`?)"),
        (
            "[queues.a]\npolicy.scheduler.profile = 'qqqqqqq'",
            "f:2:28: queues.a.policy.scheduler.profile: there is no profile `qqqqqqq` (known are fcfs, easy, hybrid, \
             conservative, htc, fluxion, simple)",
        ),
        (
            "[profiles.a]\ninherits = 'b'\n[profiles.b]\ninherits = 'c'\n[profiles.c]\ninherits = 'a'",
            "f:6:12: profiles.c.inherits: profiles inherit from each other: `a`, from `b`, from `c`, from `a`",
        ),
        (
            "[profiles.a]\ninherits = 'a'",
            "f:2:12: profiles.a.inherits: profiles inherit from each other: `a`, from `a`",
        ),
        (
            "[profiles.d]\ninherits = 'a'\n[profiles.a]\ninherits = 'b'\n[profiles.b]\ninherits = 'a'",
            "f:6:12: profiles.b.inherits: profiles inherit from each other: `a`, from `b`, from `a`",
        ),
        (
            "[profiles.a]\ninherits = 'eesy'",
            "f:2:12: profiles.a.inherits: there is no profile `eesy` (did you mean `easy`?)",
        ),
        (
            "policy.scheduler.profile = 'easy'",
            "f:1:28: policy.scheduler.profile: only a queue chooses a profile here (for all queues that name none: sched = \
             \"NAME\" above all tables, or --sched NAME)",
        ),
        (
            "[profiles.a]\nqueue-polcy = 'easy'",
            "f:2:1: profiles.a: unknown key `queue-polcy` (did you mean `queue-policy`?)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refuse(text), expected, "{text}");
    }
}
