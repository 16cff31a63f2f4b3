//! The rules that flux-core ships, replayed: who schedules, in which order.

use sluice::services::{Fragment, Plan, Registry, Surroundings, Wanted};
use std::path::PathBuf;

/// Three modules with the relations and priorities of Fluxion's.
const FLUXION: &str = r#"
[[modules]]
name = "fluxion-resource"
requires = ["resource"]
after = ["resource"]
ranks = "0"
priority = 500

[[modules]]
name = "fluxion-feasibility"
provides = ["feasibility"]
requires = ["fluxion-resource"]
after = ["fluxion-resource"]
ranks = "0"
priority = 500

[[modules]]
name = "fluxion-qmanager"
provides = ["sched"]
requires = ["fluxion-resource", "job-manager"]
after = ["fluxion-resource", "job-manager"]
ranks = "0"
priority = 500
"#;

fn shipped() -> Option<Fragment> {
    let shared = std::env::var_os("SLUICE_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let file = shared.join("data/flux-core/etc/modprobe/modprobe.toml");
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("skipped: no {}", file.display());
        return None;
    };
    Some(Fragment::parse(&text, "modprobe.toml").unwrap_or_else(|e| panic!("{e}")))
}

fn plan(more: &[&str], names: &[&str]) -> Option<(Registry, Plan)> {
    let mut fragments = vec![shipped()?];
    fragments.extend(more.iter().map(|text| Fragment::parse(text, "more.toml").expect("sound")));
    let registry = Registry::of(&fragments).expect("sound").here(Surroundings::default());
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let plan = registry.plan(&Wanted { names, force: vec![] }, &[]).expect("a plan");
    Some((registry, plan))
}

/// The names in the order of the start, after a look at every relation between two of them.
fn names(registry: &Registry, plan: &Plan) -> Vec<String> {
    let units: Vec<_> = plan.order().map(|id| registry.unit(id)).collect();
    for (at, unit) in units.iter().enumerate() {
        for (other_at, other) in units.iter().enumerate().filter(|(other, _)| *other != at) {
            let named = |list: &[String]| list.iter().any(|name| other.rule.serves(name));
            assert!(!named(&unit.rule.after) || other_at < at, "{} after {}", unit.name(), other.name());
            assert!(!named(&unit.rule.before) || at < other_at, "{} before {}", unit.name(), other.name());
        }
    }
    units.iter().map(|unit| unit.name().to_owned()).collect()
}

#[test]
fn fluxion_goes_before_what_flux_core_ships() {
    let Some((registry, plan)) = plan(&[FLUXION], &["sched", "feasibility"]) else { return };
    let names = names(&registry, &plan);
    assert_eq!(
        names,
        [
            "heartbeat",
            "content",
            "content-sqlite",
            "kvs",
            "kvs-watch",
            "resource",
            "job-manager",
            "fluxion-resource",
            "fluxion-feasibility",
            "fluxion-qmanager"
        ]
    );
}

#[test]
fn an_alternative_goes_before_priorities() {
    let simple = "alternatives.sched = \"sched-simple\"";
    let Some((registry, plan)) = plan(&[FLUXION, simple], &["sched", "feasibility"]) else { return };
    let names = names(&registry, &plan);
    assert_eq!(
        names,
        ["heartbeat", "content", "content-sqlite", "kvs", "kvs-watch", "resource", "job-manager", "sched-simple"]
    );
}

#[test]
fn without_fluxion_the_highest_priority_schedules() {
    let Some((registry, shipped)) = plan(&[], &["sched"]) else { return };
    assert!(names(&registry, &shipped).contains(&"sched-simple".to_owned()));
    // Of the two with equal priority the later; one service of a rule may have a priority of its own.
    let equal = "[sched-simple]\npriority = 40";
    let (registry, equal) = plan(&[equal], &["sched"]).expect("there");
    assert!(names(&registry, &equal).contains(&"sched-backfill".to_owned()));
    let own = "[sched-fifo]\npriorities.feasibility = 60";
    let (registry, own) = plan(&[own], &["feasibility"]).expect("there");
    assert!(names(&registry, &own).contains(&"sched-fifo".to_owned()));
}

#[test]
fn what_the_configuration_does_not_ask_for_is_left_out() {
    let Some((registry, _)) = plan(&[], &["heartbeat"]) else { return };
    let wanted = Wanted { names: vec!["sdexec".into()], force: vec![] };
    let error = registry.plan(&wanted, &[]).unwrap_err().to_string();
    assert_eq!(error, "sdexec cannot run: the configuration key systemd.enable is not set");
    let config = ["systemd.enable".to_owned()].into();
    let registry = registry.here(Surroundings { config, ..Surroundings::default() });
    let plan = registry.plan(&wanted, &[]).expect("a plan");
    assert_eq!(names(&registry, &plan), ["sdbus", "sdexec"]);
    let left: Vec<String> = plan.left.iter().map(|l| format!("{} {}", l.service, l.why)).collect();
    assert_eq!(left, ["sdexec-mapper the configuration key exec.sdexec-constrain-resources is not set"]);
}
