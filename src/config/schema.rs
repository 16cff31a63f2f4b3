//! Every key that a configuration may have, once: its kind, default and meaning.
//!
//! The reference in docs/configuration.md, the JSON schema, the built-in defaults and the words of `config explain` are
//! made from this table. The reader (`parse`, `policy`, `resource`) is not: a test compares the two in both directions.
//! A new key is one line here.

use super::error::nearest;
use super::layers::key;
use super::policy::MOST_BOOST;
use super::profiles::BUILT_IN;
use super::{Horizon, MatchPolicy, Overlap, Preempted, QueuePolicy};
use serde_json::{Map, Value, json};

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any string.
    Text,
    /// A hostlist (RFC 29).
    Hosts,
    /// An idset (RFC 22).
    Ids,
    /// A length of time with its unit, in quotes.
    Length,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number from, to.
    Number(i64, i64),
    /// A whole number from, to, or this word.
    NumberOr(i64, i64, &'static str),
    /// An array of strings.
    Texts,
    /// A string, or an array of strings.
    TextOrTexts,
    /// An array of tables, whose keys have `[]` behind this one's name.
    Tables,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its names below its table; `*` stands for any name, `[]` for the elements of an array.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without it, as TOML writes it; empty where nothing does.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// A value that is right, as TOML writes it.
    pub example: &'static str,
}

const fn key(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, kind, default, meaning, example }
}

/// Numbers without a bound of their own.
const LARGEST: i64 = u32::MAX as i64;

/// The keys of a queue, but for its policy.
pub const QUEUE: &[Key] = &[
    key(
        "hosts",
        Kind::Hosts,
        "",
        "'node[1-64]'",
        "the nodes it covers, or `\"all\"`; without `hosts` and `requires`: all",
    ),
    key("requires", Kind::Texts, "", "['batch']", "instead of `hosts`: the nodes that have all of these properties"),
    key(
        "parent",
        Kind::Text,
        "",
        "'batch'",
        "makes it a virtual queue: its jobs live in the scheduler of that queue, on its nodes. It has no `hosts`, `requires` or `policy.scheduler`",
    ),
];

/// The keys above all tables.
pub const TOP: &[Key] = &[key(
    "sched",
    Kind::Text,
    "",
    "'easy'",
    "the profile of the anonymous queue, and of every queue that names none; `--sched` sets it",
)];

/// The key of a profile beside those of `policy.scheduler`.
pub const PROFILE: &[Key] = &[key(
    "inherits",
    Kind::Text,
    "",
    "'easy'",
    "the profile that lies below this one; chains are fine, loops are not",
)];

/// The keys of `lend` in a queue.
pub const LEND: &[Key] = &[
    key("to", Kind::Texts, "", "['standby']", "needed: the queues that may borrow its idle nodes"),
    key("floor", Kind::Number(0, LARGEST), "0", "4", "so many of its nodes that answer are never lent"),
    key("max-duration", Kind::Length, "\"4h\"", "'12h'", "no loan is longer; 1s or more"),
    key(
        "idle-for",
        Kind::Length,
        "\"1m\"",
        "'10m'",
        "a node is lent after it has been idle so long, and goes back after so long unused",
    ),
    key("min-home", Kind::Length, "\"5m\"", "'15m'", "after a loan a node stays at home for so long; 1s or more"),
    key(
        "return",
        Kind::Word(&["drain"]),
        "\"drain\"",
        "'drain'",
        "how lent nodes come back when its jobs would start on them: as soon as no job is on them",
    ),
];

/// The keys of `borrow` in a queue.
pub const BORROW: &[Key] = &[
    key(
        "from",
        Kind::Texts,
        "",
        "['batch']",
        "the lenders, in the order in which they are asked; without it: whoever lends to it, by name",
    ),
    key("cap", Kind::Number(0, LARGEST), "", "16", "it has so many borrowed nodes at most; without it: no bound"),
    key(
        "floor",
        Kind::Number(0, LARGEST),
        "0",
        "2",
        "of what its lenders can lend, other borrowers leave it so many, less what it has borrowed",
    ),
];

/// The keys of `[policy]`, and of `policy` in a queue.
pub const POLICY: &[Key] = &[
    key(
        "jobspec.defaults.system.duration",
        Kind::Length,
        "\"inf\"",
        "'30m'",
        "time limit of a job that states none; `\"0\"` and `\"inf\"`: unlimited",
    ),
    key(
        "jobspec.defaults.system.queue",
        Kind::Text,
        "",
        "'batch'",
        "queue of a job that names none; only in `[policy]`. Without it, where there is one queue only, that",
    ),
    key(
        "limits.duration",
        Kind::Length,
        "\"inf\"",
        "'8h'",
        "a job that asks for more is denied; `\"0\"` and `\"inf\"`: no limit",
    ),
    key(
        "limits.job-size.max.nnodes",
        Kind::Number(-1, LARGEST),
        "-1",
        "64",
        "a job of more nodes is denied; -1: no limit",
    ),
    key(
        "limits.job-size.max.ncores",
        Kind::Number(-1, LARGEST),
        "-1",
        "64",
        "a job of more cores is denied; -1: no limit",
    ),
    key(
        "limits.job-size.max.ngpus",
        Kind::Number(-1, LARGEST),
        "-1",
        "64",
        "a job of more gpus is denied; -1: no limit",
    ),
    key(
        "limits.job-size.min.nnodes",
        Kind::Number(-1, LARGEST),
        "-1",
        "1",
        "a job of fewer nodes is denied; -1: no limit",
    ),
    key(
        "limits.job-size.min.ncores",
        Kind::Number(-1, LARGEST),
        "-1",
        "1",
        "a job of fewer cores is denied; -1: no limit",
    ),
    key(
        "limits.job-size.min.ngpus",
        Kind::Number(-1, LARGEST),
        "-1",
        "1",
        "a job of fewer gpus is denied; -1: no limit",
    ),
    key(
        "limits.user.max-running-jobs",
        Kind::Number(-1, LARGEST),
        "-1",
        "10",
        "so many jobs of one user run in the queue at a time, the others are held back until one ends; -1: no limit",
    ),
    key(
        "limits.user.max-running-nodes",
        Kind::Number(-1, LARGEST),
        "-1",
        "64",
        "the same for the nodes that they run on; a job that alone asks for more is denied",
    ),
    key(
        "limits.user.max-pending-jobs",
        Kind::Number(-1, LARGEST),
        "-1",
        "100",
        "a job is denied while so many of its user wait in the queue; -1: no limit",
    ),
    key(
        "access.allow-user",
        Kind::Texts,
        "",
        "['1000']",
        "who may submit: names that `[users]` has, or numbers. With both lists empty everybody may",
    ),
    key(
        "access.allow-group",
        Kind::Texts,
        "",
        "['staff']",
        "who is in one of these groups of `[groups]` may submit too",
    ),
    key(
        "priority-boost",
        Kind::Number(-MOST_BOOST, MOST_BOOST),
        "0",
        "1000",
        "added to the priority of each job, which decides the order of all jobs in the same scheduler",
    ),
    key(
        "scheduler.profile",
        Kind::Text,
        "",
        "'conservative'",
        "only in a queue: the profile of its scheduler. It lies over `[policy.scheduler]`, and below the other keys of this table",
    ),
    key(
        "scheduler.queue-policy",
        Kind::Word(QueuePolicy::NAMES),
        "\"fcfs\"",
        "'easy'",
        "in which order jobs may start: see below",
    ),
    key(
        "scheduler.queue-depth",
        Kind::NumberOr(1, LARGEST, "unlimited"),
        "\"unlimited\"",
        "1000",
        "a pass looks at so many pending jobs",
    ),
    key("scheduler.reservation-depth", Kind::Number(1, LARGEST), "64", "8", "`hybrid` makes so many reservations"),
    key(
        "scheduler.match-policy",
        Kind::Word(MatchPolicy::NAMES),
        "\"first\"",
        "'lonode'",
        "which of the nodes that fit a job gets: see below",
    ),
    key(
        "scheduler.precedence",
        Kind::Number(i32::MIN as i64, i32::MAX as i64),
        "0",
        "10",
        "of queues that claim the same node the highest number has it",
    ),
    key(
        "scheduler.overlap",
        Kind::Word(Overlap::NAMES),
        "\"refuse\"",
        "'take'",
        "when it starts while an equal claims some of its nodes: it is refused, or goes before its equals until it gives up its claim",
    ),
    key(
        "scheduler.horizon",
        Kind::Word(Horizon::NAMES),
        "\"strict\"",
        "'soft'",
        "when its nodes are to leave at a known time: jobs start only if they end before; they may run over, and the switch waits; it is not looked at",
    ),
    key("scheduler.release-margin", Kind::Length, "\"0s\"", "'5m'", "with a horizon, a job must end so long before"),
    key(
        "scheduler.overrun-slack",
        Kind::Length,
        "\"60s\"",
        "'2m'",
        "a job past its limit is expected to run so much longer, doubling each time; more than 0",
    ),
    key(
        "preemption.preemptible",
        Kind::Flag,
        "false",
        "true",
        "whether running jobs of the queue may be made to give way to others of the same scheduler",
    ),
    key(
        "preemption.preemptible-after",
        Kind::Length,
        "\"0s\"",
        "'10m'",
        "its jobs are protected so long from their start: no signal comes before",
    ),
    key(
        "preemption.grace",
        Kind::Length,
        "\"30s\"",
        "'2m'",
        "from the signal that a job of it is preempted to the kill",
    ),
    key(
        "preemption.then",
        Kind::Word(Preempted::NAMES),
        "\"requeue\"",
        "'cancel'",
        "what becomes of a preempted job of it: it waits again at the place of its submission, or it is over",
    ),
    key(
        "preemption.preempts",
        Kind::Texts,
        "",
        "['standby']",
        "the queues whose jobs its jobs may preempt, if these are preemptible; without it, those of all preemptible queues, unless the queue is preemptible itself",
    ),
];

/// The keys of `[resource]`.
pub const RESOURCE: &[Key] = &[
    key("config", Kind::Tables, "", "[]", "hosts and what they have"),
    key(
        "config[].hosts",
        Kind::Hosts,
        "",
        "'node[1-64]'",
        "needed: whom it describes; a host's rank is how many hosts were named before it",
    ),
    key(
        "config[].cores",
        Kind::Ids,
        "",
        "'0-63'",
        "their cores. A host needs a core or a gpu, here or in another entry",
    ),
    key("config[].gpus", Kind::Ids, "", "'0-3'", "their gpus"),
    key("config[].properties", Kind::Texts, "", "['batch']", "their properties"),
    key("path", Kind::Text, "", "'R.json'", "a file in R version 1, read if there is no `config`"),
    key(
        "exclude",
        Kind::Text,
        "",
        "'0'",
        "what of them is left out, as idset of ranks or hostlist; ranks stay what they are",
    ),
    key("pool", Kind::Tables, "", "[]", "what all queues share and no node has, as licences"),
    key(
        "pool[].type",
        Kind::Text,
        "",
        "'licence'",
        "needed: the type that jobs name; not `node`, `slot`, `core` or `gpu`",
    ),
    key(
        "pool[].size",
        Kind::Number(1, i64::MAX),
        "",
        "8",
        "needed: how much there is, in the unit in which jobs ask for it",
    ),
    key(
        "pool[].name",
        Kind::Text,
        "",
        "'solver'",
        "what it is called, no name twice and none that begins with `/`; without it: the type",
    ),
];

/// The keys of `[users]`.
pub const USERS: &[Key] = &[key("*", Kind::Number(0, LARGEST), "", "1000", "the number of the user of this name")];

/// The keys of `[groups]`.
pub const GROUPS: &[Key] =
    &[key("*", Kind::Texts, "", "['1000']", "who is in the group of this name: names that `[users]` has, or numbers")];

/// The keys of an entry of the calendar.
pub const CALENDAR: &[Key] = &[
    key("queues", Kind::TextOrTexts, "", "'batch'", "needed: the queues that are started while it is on"),
    key(
        "zone",
        Kind::Text,
        "",
        "'America/Los_Angeles'",
        "needed: the time zone of all its times, a name of the IANA database, which is part of the program",
    ),
    key(
        "days",
        Kind::TextOrTexts,
        "",
        "'Mon-Fri'",
        "one of these three is needed. The weekdays on which it begins: `\"Mon-Fri\"`, `\"Sat, Sun\"`, `\"Fri-Mon\"`, `\"daily\"`",
    ),
    key("dates", Kind::TextOrTexts, "", "['2026-07-03', '2026-07-17']", "single days, as `2026-07-03`"),
    key("rrule", Kind::Text, "", "'FREQ=MONTHLY;BYDAY=2TU'", "a recurrence rule of iCalendar (RFC 5545)"),
    key(
        "first",
        Kind::Text,
        "",
        "'2026-01-03'",
        "the first day on which it may begin; intervals and counts start there",
    ),
    key("from", Kind::Text, "\"00:00\"", "'18:00'", "when it begins on such a day, with or without seconds"),
    key(
        "to",
        Kind::Text,
        "\"24:00\"",
        "'08:00'",
        "when it ends: on the same day if that is later than `from`, else on the next",
    ),
    key("length", Kind::Length, "", "'36h'", "instead of `to`: how long it is by the wall clock, up to 366 days"),
    key("except", Kind::TextOrTexts, "", "'2026-12-25'", "days on which it does not begin"),
];

/// Where the tables stand. Whoever is named first is above.
pub const TABLES: &[(&str, &[Key])] = &[
    ("", TOP),
    ("queues.*", QUEUE),
    ("queues.*.policy", POLICY),
    ("profiles.*", PROFILE),
    ("queues.*.lend", LEND),
    ("queues.*.borrow", BORROW),
    ("policy", POLICY),
    ("resource", RESOURCE),
    ("calendar.*", CALENDAR),
    ("users", USERS),
    ("groups", GROUPS),
];

/// All keys with their full names, as `queues.*.hosts`.
pub fn keys() -> impl Iterator<Item = (String, &'static Key)> {
    let below = |table: &'static str| match table {
        "" => String::new(),
        table => format!("{table}."),
    };
    let all = TABLES.iter().flat_map(move |(table, keys)| keys.iter().map(move |key| (below(table) + key.name, key)));
    all.chain(scheduler_keys().map(|(name, key)| (format!("profiles.*.{name}"), key)))
}

/// The keys of a scheduler, which a profile may have as well.
pub fn scheduler_keys() -> impl Iterator<Item = (&'static str, &'static Key)> {
    let keys = POLICY.iter().filter_map(|key| Some((key.name.strip_prefix("scheduler.")?, key)));
    keys.filter(|(name, _)| *name != "profile")
}

/// The key with these names, where `*` stands for any.
pub fn find(names: &[String]) -> Option<&'static Key> {
    let fits = |full: &str| {
        let parts: Vec<&str> = full.split('.').collect();
        parts.len() == names.len() && parts.iter().zip(names).all(|(part, name)| *part == "*" || part == name)
    };
    keys().find(|(full, _)| fits(full)).map(|(_, key)| key)
}

/// The key nearest to one that does not exist, with the names that it shares with it.
pub fn near(names: &[String]) -> Option<String> {
    let candidates: Vec<String> = keys()
        .filter(|(full, _)| !full.contains("[]"))
        .map(|(full, _)| {
            let parts: Vec<String> = full
                .split('.')
                .enumerate()
                .map(|(i, part)| match part {
                    "*" => names.get(i).map_or_else(|| "NAME".to_owned(), |name| key::join(&[name])),
                    part => part.to_owned(),
                })
                .collect();
            parts.join(".")
        })
        .collect();
    nearest(&key::join(names), candidates.iter().map(String::as_str)).map(str::to_owned)
}

/// The built-in defaults as a configuration: what holds where nobody says anything.
pub fn built_in() -> String {
    let lines = POLICY.iter().filter(|key| !key.default.is_empty());
    lines.map(|key| format!("policy.{} = {}\n", key.name, key.default)).chain([BUILT_IN.to_owned()]).collect()
}

/// A JSON schema (draft 2020-12) of a configuration file, from which editors complete and check.
pub fn json_schema() -> Value {
    let mut root = table();
    for (full, key) in keys() {
        let parts: Vec<&str> = full.split('.').collect();
        insert(&mut root, &parts, key);
    }
    let include = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "names of configurations and files (relative to this one) that lie below this table"
    });
    add_include(&mut root, &include);
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), "Sluice configuration".into());
    schema.append(&mut root);
    schema.into()
}

fn table() -> Map<String, Value> {
    let unset = json!({ "-$": { "const": true, "description": "unsets a key of the layers below" } });
    let object =
        json!({ "type": "object", "properties": {}, "patternProperties": unset, "additionalProperties": false });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn insert(table_: &mut Map<String, Value>, parts: &[&str], key: &Key) {
    let [first, rest @ ..] = parts else { return };
    let (name, element) = first.strip_suffix("[]").map_or((*first, false), |name| (name, true));
    if name == "*" && rest.is_empty() {
        table_.insert("additionalProperties".into(), value_schema(key));
        return;
    }
    if name == "*" {
        if !table_["additionalProperties"].is_object() {
            table_.insert("additionalProperties".into(), table().into());
        }
        if let Some(Value::Object(inner)) = table_.get_mut("additionalProperties") {
            insert(inner, rest, key);
        }
        return;
    }
    let Some(Value::Object(properties)) = table_.get_mut("properties") else { return };
    if rest.is_empty() {
        let schema = value_schema(key);
        if schema["type"] == "array" {
            properties.insert(format!("{name}+"), schema.clone());
        }
        properties.insert(name.to_owned(), schema);
        return;
    }
    let inner = properties.entry(name).or_insert_with(|| table().into());
    let inner = if element { inner.get_mut("items") } else { Some(inner) };
    if let Some(Value::Object(inner)) = inner {
        insert(inner, rest, key);
    }
    if element {
        let whole = properties[name].clone();
        properties.insert(format!("{name}+"), whole);
    }
}

fn value_schema(key: &Key) -> Value {
    let mut schema = match key.kind {
        Kind::Text | Kind::Hosts | Kind::Ids => json!({ "type": "string" }),
        Kind::Length => json!({ "type": "string", "pattern": r"^([0-9.]+(e[+-]?[0-9]+)?(ms|s|m|h|d)?|inf|infinity)$" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Number(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::NumberOr(low, high, word) => {
            json!({ "anyOf": [{ "type": "integer", "minimum": low, "maximum": high }, { "const": word }] })
        }
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::TextOrTexts => {
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
        }
        Kind::Tables => json!({ "type": "array", "items": table() }),
    };
    schema["description"] = key.meaning.into();
    if let Ok(Value::Object(mut default)) = toml::from_str::<Value>(&format!("x = {}", key.default)) {
        schema["default"] = default.remove("x").unwrap_or_default();
    }
    schema
}

/// Every table that is not an element of an array may include.
fn add_include(table: &mut Map<String, Value>, include: &Value) {
    if let Some(Value::Object(properties)) = table.get_mut("properties") {
        for inner in properties.values_mut().filter_map(Value::as_object_mut) {
            if inner.contains_key("properties") {
                add_include(inner, include);
            }
        }
        properties.insert("include".into(), include.clone());
    }
    if let Some(Value::Object(inner)) = table.get_mut("additionalProperties") {
        add_include(inner, include);
    }
}
