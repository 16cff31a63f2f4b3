//! Lines that begin with `NodeName`, of slurm.conf and of gres.conf, and sets of nodes.

use super::words::{On, tell};
use super::{Import, Line, Lines};
use crate::config::import::book::Id;
use crate::formats::hostlist::Hostlist;
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// Keys that count for a line: its own over those of the DEFAULT lines before it.
#[derive(Debug)]
pub(super) struct Effective {
    /// The key that names whom the line describes.
    pub head: Id,
    /// The others, in small letters.
    pub keys: IndexMap<String, Id>,
}

/// Puts DEFAULT lines over each other and under the lines behind them.
pub(super) fn with_defaults(lines: &[Line], import: &mut Import) -> Vec<Effective> {
    let mut defaults: IndexMap<String, Id> = IndexMap::new();
    let mut found = Vec::new();
    for line in lines {
        let Some((_, head)) = line.keys.first() else { continue };
        let own = line.keys.iter().skip(1).map(|(key, id)| (key.clone(), *id));
        if import.book.value(*head).eq_ignore_ascii_case("default") {
            import.book.became(*head, "what stands there holds for the lines behind it");
            defaults.extend(own);
        } else {
            let mut keys = defaults.clone();
            keys.extend(own);
            found.push(Effective { head: *head, keys });
        }
    }
    found
}

/// Nodes that one line describes.
#[derive(Debug)]
pub(super) struct Node {
    pub hosts: Hostlist,
    pub cores: u64,
    pub gpus: u64,
    pub properties: Vec<String>,
    pub weight: u64,
    weight_from: Option<Id>,
    pub future: bool,
    pub head: Id,
}

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub list: Vec<Node>,
    pub sets: BTreeMap<String, Hostlist>,
    of: BTreeMap<String, usize>,
}

/// A hostlist, or `None` with an error told.
pub(super) fn hosts(import: &mut Import, id: Id) -> Option<Hostlist> {
    match Hostlist::parse(import.book.value(id)) {
        Ok(hosts) => Some(hosts.unique()),
        Err(error) => {
            let message = format!("{}: {error}", import.book.get(id).key);
            import.error(id, message);
            None
        }
    }
}

/// A number, or `None` with an error told.
pub(super) fn number(import: &mut Import, id: Id) -> Option<u64> {
    let number = import.book.value(id).parse().ok();
    if number.is_none() {
        let key = import.book.get(id);
        let message = format!("{}: expected a whole number, found {:?}", key.key, key.value);
        import.error(id, message);
    }
    number
}

pub(super) fn read(lines: &Lines, import: &mut Import) -> Nodes {
    let mut nodes = Nodes::default();
    for line in with_defaults(&lines.nodes, import) {
        let Some(hosts) = hosts(import, line.head) else { continue };
        let mut node = node(hosts, &line, import);
        let index = nodes.list.len();
        for host in node.hosts.iter() {
            if let Some(before) = nodes.of.insert(host.clone(), index) {
                let place = nodes.list.get(before).map_or_else(|| "this line".into(), |n| import.book.place(n.head));
                import.error(line.head, format!("node {host} is described twice, first at {place}"));
            }
        }
        import.book.became(line.head, "resource.config.hosts");
        if node.future {
            import.book.became(line.head, "resource.exclude");
        }
        node.properties.dedup();
        nodes.list.push(node);
    }
    for line in &lines.gres {
        gres_line(line, &nodes, import);
    }
    for line in &lines.sets {
        set(line, &mut nodes, import);
    }
    nodes
}

fn node(hosts: Hostlist, line: &Effective, import: &mut Import) -> Node {
    let mut node = Node {
        hosts,
        cores: cores(line, import),
        gpus: 0,
        properties: Vec::new(),
        weight: 1,
        weight_from: None,
        future: false,
        head: line.head,
    };
    for (key, &id) in &line.keys {
        let value = import.book.value(id).to_owned();
        match key.as_str() {
            // Read by `cores`.
            "cpus" | "procs" | "sockets" | "boards" | "socketsperboard" | "corespersocket" | "threadspercore"
            | "corespeccount" => {}
            "feature" | "features" => value.split(',').for_each(|name| property(name.trim(), id, &mut node, import)),
            "gres" => value.split(',').for_each(|part| gres(part.trim(), id, &mut node, import)),
            "weight" => {
                node.weight = number(import, id).unwrap_or(1);
                node.weight_from = Some(id);
            }
            "state" => state(&value, id, &mut node, import),
            other => tell(import, other, id, On::Node),
        }
    }
    node
}

/// How many cores a node has. Where sockets and cores are said, they count; else CPUs by threads.
fn cores(line: &Effective, import: &mut Import) -> u64 {
    let mut take = |name: &str| {
        let id = line.keys.get(name).copied()?;
        let count = number(import, id)?;
        if count == 0 && name != "corespeccount" {
            let message = format!("{}: expected 1 or more, found 0", import.book.get(id).key);
            import.error(id, message);
        }
        import.book.became(id, "resource.config.cores");
        Some((id, count))
    };
    let (cpus, procs) = (take("cpus"), take("procs"));
    let (boards, per_board, sockets) = (take("boards"), take("socketsperboard"), take("sockets"));
    let (per_socket, threads, withheld) = (take("corespersocket"), take("threadspercore"), take("corespeccount"));
    let count = |one: Option<(Id, u64)>| one.map(|(_, count)| count.max(1));
    let per_core = count(threads).unwrap_or(1);
    let cpus = cpus.or(procs);
    let sockets = count(sockets).or_else(|| {
        (boards.is_some() || per_board.is_some())
            .then(|| count(boards).unwrap_or(1).saturating_mul(count(per_board).unwrap_or(1)))
    });
    let cores = match (sockets, count(per_socket), count(cpus)) {
        (Some(sockets), Some(cores), _) => sockets.saturating_mul(cores),
        (None, Some(cores), Some(cpus)) => (cpus / per_core / cores).max(1).saturating_mul(cores),
        (None, Some(cores), None) => cores,
        (_, None, Some(cpus)) => (cpus / per_core).max(1),
        (Some(sockets), None, None) => sockets,
        (None, None, None) => 1,
    };
    if let Some((id, cpus)) = cpus
        && cpus != cores
        && cpus != cores.saturating_mul(per_core)
    {
        let why = format!("it is neither the {cores} cores of sockets and boards nor their threads: the cores count");
        import.book.look(id, why, "see how many the nodes have, and correct `cores`");
    }
    if let Some((id, threads)) = threads.filter(|(_, threads)| *threads > 1) {
        let why = format!("jobs are given whole cores, not one of {threads} threads");
        import.book.look(id, why, "let jobs that ask for threads ask for as many cores");
    }
    let left = cores.saturating_sub(withheld.map_or(0, |(_, count)| count));
    if let Some((id, _)) = withheld.filter(|_| left == 0) {
        import.error(id, "CoreSpecCount: expected fewer than the cores of the node");
    }
    // What a list of core numbers can hold.
    left.clamp(1, 1 << 20)
}

fn property(name: &str, id: Id, node: &mut Node, import: &mut Import) {
    // A leading marker of changeable features is no part of the name.
    if name.is_empty() {
        return;
    }
    if let Some(banned) = super::odd_character(name) {
        import.book.look(
            id,
            format!("a property may not have {banned:?} in it: {name:?} is left out"),
            "choose another name",
        );
        return;
    }
    import.book.became(id, "resource.config.properties");
    if !node.properties.iter().any(|known| known == name) {
        node.properties.push(name.to_owned());
    }
}

/// One of `name[:type][:no_consume][:count][K…][(…)]`.
fn gres(part: &str, id: Id, node: &mut Node, import: &mut Import) {
    let part = part.split('(').next().unwrap_or_default();
    let words: Vec<&str> = part.split(':').collect();
    let Some((&name, rest)) = words.split_first().filter(|(name, _)| !name.is_empty()) else { return };
    let (count, kinds) = match rest.split_last() {
        Some((last, before)) if amount(last).is_some() => (amount(last), before),
        _ => (None, rest),
    };
    let count = count.unwrap_or(1);
    if name.eq_ignore_ascii_case("gpu") {
        node.gpus = node.gpus.saturating_add(count).min(1 << 16);
        import.book.became(id, "resource.config.gpus");
        for kind in kinds {
            property(kind, id, node, import);
        }
    } else if name.eq_ignore_ascii_case("none") {
        import.book.aside(id, "no gres: nothing to say");
    } else {
        property(name, id, node, import);
        let why =
            format!("nodes have cores and gpus, nothing else: of the {count} {name} remains a property of that name");
        import.book.look(id, why, "if all share them: [[resource.pool]]; on a node: describe the machine as a graph");
    }
}

/// A count with an ending of 1,024s.
fn amount(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1024u64.pow(power))
}

fn state(value: &str, id: Id, node: &mut Node, import: &mut Import) {
    match value.to_ascii_uppercase().as_str() {
        "UNKNOWN" | "IDLE" | "UP" => import.book.aside(id, "nodes are up unless somebody says otherwise"),
        "FUTURE" => {
            node.future = true;
            import.book.became(id, "resource.exclude");
        }
        "CLOUD" => import.book.look(id, "nodes are always there", "put those that are not into `resource.exclude`"),
        _ => {
            let why = format!("{value} is a state of nodes, not configuration");
            import.book.look(id, why, "drain them: `drain` or `fail` of a scenario, or `resource.exclude`");
        }
    }
}

/// A line of gres.conf. How many a node has is said in slurm.conf.
fn gres_line(line: &Line, nodes: &Nodes, import: &mut Import) {
    let name = line.find("name").map(|id| import.book.value(id).to_ascii_lowercase()).unwrap_or_default();
    let whom = line.find("nodename").and_then(|id| hosts(import, id));
    let count = line.find("count").and_then(|id| amount(import.book.value(id)));
    for (key, id) in &line.keys {
        match key.as_str() {
            "nodename" | "name" | "count" if name == "gpu" => {}
            "type" if name == "gpu" => {
                import.book.aside(*id, "the kind of a gpu is taken from `Gres` of slurm.conf");
                continue;
            }
            "nodename" | "name" | "count" | "type" => {
                import.book.look(*id, "nodes have cores and gpus, nothing else", "see what is said of `Gres`");
                continue;
            }
            "file" | "multiplefiles" | "cores" | "links" | "flags" | "autodetect" => {
                import.book.aside(*id, "not about scheduling, but about how jobs reach their devices");
                continue;
            }
            _ => {
                import.book.look(
                    *id,
                    "no key of that name is known in gres.conf",
                    "see whether it concerns scheduling",
                );
                continue;
            }
        }
        let odd = nodes.list.iter().find(|node| {
            let meant = |host: String| whom.as_ref().is_none_or(|whom| whom.contains(&host));
            node.hosts.iter().any(meant)
                && (count.is_some_and(|count| node.gpus != count) || node.gpus == 0)
                && whom.is_some()
        });
        match odd {
            Some(node) => {
                let why = format!("slurm.conf says that {} has {} gpus, and that counts", node.hosts, node.gpus);
                import.book.look(*id, why, "see which of the two is right, and correct `gpus`");
            }
            None => import.book.became(*id, "resource.config.gpus"),
        }
    }
}

fn set(line: &Line, nodes: &mut Nodes, import: &mut Import) {
    let Some((_, head)) = line.keys.first() else { return };
    let mut members = Hostlist::new();
    for (key, id) in line.keys.iter().skip(1) {
        match key.as_str() {
            "nodes" => {
                if let Some(named) = nodes.resolve(*id, import) {
                    members.append(&named);
                }
            }
            "feature" => {
                let wanted = import.book.value(*id).to_owned();
                let has = |node: &&Node| wanted.split(',').any(|name| node.properties.iter().any(|p| p == name));
                nodes.list.iter().filter(has).for_each(|node| members.append(&node.hosts));
            }
            _ => {
                import.book.look(
                    *id,
                    "no key of that name is known of a set of nodes",
                    "see whether it concerns scheduling",
                );
                continue;
            }
        }
        import.book.became(*id, "queues.*.hosts");
    }
    import.book.became(*head, "queues.*.hosts");
    let name = import.book.value(*head).to_owned();
    nodes.sets.insert(name, members.unique());
}

impl Nodes {
    pub fn has(&self, host: &str) -> bool {
        self.of.contains_key(host)
    }

    /// The hosts that a list of names and sets means; those that nobody describes are left out, with a word.
    pub fn resolve(&self, id: Id, import: &mut Import) -> Option<Hostlist> {
        let named = hosts(import, id)?;
        let mut found = Hostlist::new();
        let mut unknown = Hostlist::new();
        for name in named.iter() {
            match self.sets.get(&name) {
                Some(set) => found.append(set),
                None if self.has(&name) => found.push(&name),
                None => unknown.push(&name),
            }
        }
        if !unknown.is_empty() {
            let why = format!("no line describes {unknown}: left out");
            import.book.look(id, why, "name the file that describes them as well");
        }
        Some(found.unique())
    }

    /// Puts nodes into the order in which they are taken: those of less weight first.
    pub fn by_weight(&mut self, book: &mut super::Book) {
        let differ = self.list.iter().any(|node| self.list.first().is_some_and(|first| first.weight != node.weight));
        for id in self.list.iter().filter_map(|node| node.weight_from) {
            if differ {
                book.became(id, "the order of resource.config");
            } else {
                book.aside(id, "all nodes have the same");
            }
        }
        self.list.sort_by_key(|node| node.weight);
    }
}
