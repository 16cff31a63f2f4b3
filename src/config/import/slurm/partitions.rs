//! Lines that begin with `PartitionName`: queues.

use super::nodes::{Effective, Nodes, number, with_defaults};
use super::words::{On, tell};
use super::{Import, Lines};
use crate::base::Duration;
use crate::config::import::book::Id;
use crate::formats::hostlist::Hostlist;
use crate::formats::slurm::time;
use std::collections::BTreeSet;

const OVERLAP: &str = "start and stop queues, by hand or by [calendar], as the nodes should be used";
const MOST: &str = "policy.limits.job-size.max.nnodes";
const LEAST: &str = "policy.limits.job-size.min.nnodes";
const PRECEDENCE: &str = "policy.scheduler.precedence";

/// A queue: keys below `queues.NAME`, each with its value as TOML writes it and the key that it comes from.
#[derive(Debug)]
pub(super) struct Partition {
    pub name: String,
    pub head: Id,
    pub keys: Vec<(&'static str, String, Id)>,
    pub default: Option<Id>,
    members: Members,
    nodes: Id,
    tier: i32,
}

pub(super) fn read(lines: &Lines, nodes: &Nodes, import: &mut Import) -> Vec<Partition> {
    let mut found: Vec<Partition> = Vec::new();
    for line in with_defaults(&lines.partitions, import) {
        let written = import.book.value(line.head).to_owned();
        let plain = |c: char| if super::odd_character(c.encode_utf8(&mut [0; 4])).is_some() { '-' } else { c };
        let name: String = written.chars().map(plain).collect();
        if name.is_empty() {
            import.error(line.head, "PartitionName: expected a name, found nothing");
            continue;
        }
        if name != written {
            let why = format!("no queue can be called {written:?}: here it is {name}");
            import.book.look(line.head, why, "let jobs name the queue so, or choose another name");
        }
        if let Some(before) = found.iter().find(|known| known.name == name) {
            let message = format!("partition {name} is described twice, first at {}", import.book.place(before.head));
            import.error(line.head, message);
            continue;
        }
        found.extend(partition(name, &line, nodes, import));
    }
    overlaps(&mut found, nodes, import);
    let mut defaults = found.iter().filter_map(|partition| partition.default);
    if let Some(first) = defaults.next() {
        let others: Vec<Id> = defaults.collect();
        import.book.became(first, "policy.jobspec.defaults.system.queue");
        for other in others {
            import.book.look(other, "another partition is the default already", "say `Default=YES` once");
        }
    }
    found
}

fn partition(name: String, line: &Effective, nodes: &Nodes, import: &mut Import) -> Option<Partition> {
    let hosts = match line.keys.get("nodes").copied() {
        Some(id) if import.book.value(id).eq_ignore_ascii_case("all") => Some((Members::All, id)),
        Some(id) => nodes.resolve(id, import).filter(|hosts| !hosts.is_empty()).map(|hosts| (Members::Some(hosts), id)),
        None => None,
    };
    let none_at_all = nodes.list.iter().all(|node| node.future);
    let Some((hosts, id)) = hosts.filter(|_| !none_at_all) else {
        let (why, advice) =
            ("the partition has no nodes: left out", "give it `Nodes`; a queue without `hosts` would cover all");
        import.book.look(line.head, why, advice);
        line.keys.values().for_each(|id| import.book.look(*id, why, ""));
        return None;
    };
    let mut keys = vec![("hosts", hosts.toml(), id)];
    import.book.became(id, "queues.*.hosts");
    import.book.became(line.head, "queues");
    let mut default = None;
    for (key, &id) in &line.keys {
        let value = import.book.value(id).to_owned();
        match key.as_str() {
            "nodes" => {}
            "default" if value.eq_ignore_ascii_case("yes") => default = Some(id),
            "default" => import.book.aside(id, "so it is without the key"),
            "maxtime" | "defaulttime" => keys.extend(times(key, &value, id, line, import)),
            "maxnodes" | "minnodes" => keys.extend(sizes(key, &value, id, import)),
            "prioritytier" => keys.extend(precedence(&value, id, import)),
            // The older name, and what is said with both.
            "priority" if !line.keys.contains_key("prioritytier") => keys.extend(precedence(&value, id, import)),
            "priority" => {
                import.book.look(id, "priorities are not computed; `PriorityTier` counts", "give jobs a `priority`")
            }
            "allowgroups" if value.eq_ignore_ascii_case("all") => import.book.aside(id, "so it is without the key"),
            "allowgroups" => {
                keys.push(("policy.access.allow-group", list(value.split(',')), id));
                import.book.became(id, "queues.*.policy.access.allow-group");
                let why = "who is in these groups does not stand in slurm.conf: nobody is let in until it is said";
                import.book.look(id, why, "make a table [groups] with their members, or take the key out");
            }
            "allowaccounts" | "allowqos" if value.eq_ignore_ascii_case("all") => {
                import.book.aside(id, "so it is without the key");
            }
            "state" if value.eq_ignore_ascii_case("up") => import.book.aside(id, "so it is without the key"),
            "state" => {
                let why = format!("whether a queue is {value} is state, not configuration");
                import.book.look(id, why, "in a replay: `stopped` of [site], `queue-stop`, `queue-disable`");
            }
            "oversubscribe" | "shared" => keys.extend(sharing(&value, id, import)),
            other if matches!(value.to_ascii_lowercase().as_str(), "no" | "off" | "none") && off_is_so(other) => {
                import.book.aside(id, "so it is without the key");
            }
            other => tell(import, other, id, On::Partition),
        }
    }
    let size =
        |key: &str| keys.iter().find(|(known, ..)| *known == key).and_then(|(_, value, _)| value.parse::<u64>().ok());
    if let (Some(least), Some(most)) = (size(LEAST), size(MOST))
        && least > most
    {
        import.error(line.head, format!("expected MinNodes up to MaxNodes, found {least} and {most}"));
    }
    let tier =
        keys.iter().find(|(key, ..)| *key == PRECEDENCE).and_then(|(_, value, _)| value.parse().ok()).unwrap_or(0);
    Some(Partition { name, head: line.head, keys, default, members: hosts, nodes: id, tier })
}

/// Partitions of one tier that share nodes: here one of them has a node, and it is to be the smaller one.
fn overlaps(partitions: &mut [Partition], nodes: &Nodes, import: &mut Import) {
    let members: Vec<BTreeSet<String>> = partitions.iter().map(|partition| partition.members.names(nodes)).collect();
    let mut takers: BTreeSet<usize> = BTreeSet::new();
    for later in 0..partitions.len() {
        for earlier in 0..later {
            let shared: Hostlist = members[earlier].intersection(&members[later]).map(String::as_str).collect();
            if shared.is_empty() {
                continue;
            }
            if partitions[earlier].tier != partitions[later].tier {
                let (above, below) = match partitions[earlier].tier > partitions[later].tier {
                    true => (earlier, later),
                    false => (later, earlier),
                };
                let why = format!(
                    "{shared}: also in partition {}, of a higher tier: here the nodes are that queue's alone while it is started",
                    partitions[above].name
                );
                import.book.look(partitions[below].nodes, why, OVERLAP);
                continue;
            }
            let later_is_smaller = members[later].len() <= members[earlier].len();
            let (taker, other) = if later_is_smaller { (later, earlier) } else { (earlier, later) };
            let why = format!(
                "{shared}: also in partition {}, of the same tier: here a node is one queue's at a time, and {} takes it when it starts",
                partitions[other].name, partitions[taker].name
            );
            import.book.look(partitions[taker].nodes, why, OVERLAP);
            takers.insert(taker);
        }
    }
    for taker in takers {
        let partition = &mut partitions[taker];
        partition.keys.push(("policy.scheduler.overlap", "\"take\"".to_owned(), partition.nodes));
        import.book.became(partition.nodes, "queues.*.policy.scheduler.overlap");
    }
}

/// Whether a key that says no says what holds here anyway.
fn off_is_so(key: &str) -> bool {
    matches!(key, "lln" | "exclusiveuser" | "exclusivetopo" | "reqresv" | "rootonly" | "preemptmode")
}

#[derive(Debug)]
enum Members {
    All,
    Some(Hostlist),
}

impl Members {
    fn names(&self, nodes: &Nodes) -> BTreeSet<String> {
        match self {
            Self::All => nodes.list.iter().flat_map(|node| node.hosts.iter()).collect(),
            Self::Some(hosts) => hosts.iter().collect(),
        }
    }

    fn toml(&self) -> String {
        match self {
            Self::All => "\"all\"".to_owned(),
            Self::Some(hosts) => super::write::text_of(&hosts.to_string()),
        }
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(str::trim).filter(|name| !name.is_empty()).map(super::write::text_of).collect();
    format!("[{}]", names.join(", "))
}

type Keys = Vec<(&'static str, String, Id)>;

fn times(key: &str, value: &str, id: Id, line: &Effective, import: &mut Import) -> Keys {
    const LIMIT: &str = "policy.limits.duration";
    const DEFAULT: &str = "policy.jobspec.defaults.system.duration";
    let none = |text: &str| text.eq_ignore_ascii_case("none");
    if key == "defaulttime" && none(value) {
        import.book.became(id, format!("queues.*.{DEFAULT}"));
        return Vec::new();
    }
    let Some(duration) = time(value) else {
        let key = &import.book.get(id).key;
        let message = format!("{key}: expected a time as 90, 1:30:00 or 2-12, or UNLIMITED, found {value:?}");
        import.error(id, message);
        return Vec::new();
    };
    let text = duration.map_or_else(|| "\"inf\"".to_owned(), |duration| format!("\"{}\"", short(duration)));
    if duration.is_some_and(|duration| duration.micros() == 0) {
        import.book.look(
            id,
            "a time of 0 would be no limit here: left out",
            "choose the shortest time that makes sense",
        );
        return Vec::new();
    }
    let target = if key == "maxtime" { LIMIT } else { DEFAULT };
    let mut keys = vec![(target, text.clone(), id)];
    // A job that states no time gets the longest.
    let default_said = line.keys.get("defaulttime").is_some_and(|id| !none(import.book.value(*id)));
    if key == "maxtime" && !default_said {
        keys.push((DEFAULT, text, id));
    }
    for (target, ..) in &keys {
        import.book.became(id, format!("queues.*.{target}"));
    }
    keys
}

/// In the largest unit that is exact. Slurm's times are whole seconds.
fn short(duration: Duration) -> String {
    let seconds = duration.micros() / 1_000_000;
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let (length, unit) = units.into_iter().find(|(length, _)| seconds % length == 0).unwrap_or((1, "s"));
    format!("{}{unit}", seconds / length)
}

fn sizes(key: &str, value: &str, id: Id, import: &mut Import) -> Keys {
    let target = if key == "maxnodes" { MOST } else { LEAST };
    if value.eq_ignore_ascii_case("unlimited") || value.eq_ignore_ascii_case("infinite") {
        import.book.aside(id, "so it is without the key");
        return Vec::new();
    }
    let Some(count) = number(import, id) else { return Vec::new() };
    if key == "minnodes" && count <= 1 {
        import.book.aside(id, "so it is without the key");
        return Vec::new();
    }
    let Some(count) = u32::try_from(count).ok() else {
        import.error(id, format!("expected fewer than 2^32 nodes, found {value}"));
        return Vec::new();
    };
    import.book.became(id, format!("queues.*.{target}"));
    vec![(target, count.to_string(), id)]
}

fn precedence(value: &str, id: Id, import: &mut Import) -> Keys {
    let Some(tier) = number(import, id) else { return Vec::new() };
    let tier = i32::try_from(tier).unwrap_or(i32::MAX);
    import.book.became(id, "queues.*.policy.scheduler.precedence");
    if value != tier.to_string() {
        import.book.look(id, format!("the highest precedence is {tier}"), "choose smaller numbers");
    }
    vec![(PRECEDENCE, tier.to_string(), id)]
}

fn sharing(value: &str, id: Id, import: &mut Import) -> Keys {
    let word = value.split(':').next().unwrap_or_default().to_ascii_lowercase();
    match word.as_str() {
        "no" => import.book.aside(id, "so it is without the key"),
        "exclusive" => {
            import.book.became(id, "queues.*.policy.scheduler.match-policy");
            return vec![("policy.scheduler.match-policy", "\"firstnodex\"".to_owned(), id)];
        }
        _ => {
            import.book.look(id, "no core is given to two jobs at once", "nothing takes its place");
        }
    }
    Vec::new()
}
