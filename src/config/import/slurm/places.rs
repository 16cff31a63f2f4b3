//! Lines that begin with `SwitchName` (topology.conf): what is below a switch, as a property of the nodes.

use super::nodes::{Nodes, hosts};
use super::{Import, Line};
use crate::config::import::book::Id;
use crate::formats::hostlist::Hostlist;
use indexmap::IndexMap;

/// The nodes below a switch.
#[derive(Debug)]
pub(super) struct Place {
    pub property: String,
    pub hosts: Hostlist,
    pub head: Id,
}

pub(super) fn read(lines: &[Line], nodes: &Nodes, import: &mut Import) -> Vec<Place> {
    let mut below = Below::new();
    for line in lines {
        let Some((_, head)) = line.keys.first() else { continue };
        let name = import.book.value(*head).to_owned();
        let (mut members, mut ids, mut inner) = (Hostlist::new(), vec![*head], Vec::new());
        for (key, id) in line.keys.iter().skip(1) {
            match key.as_str() {
                "nodes" => {
                    if let Some(named) = nodes.resolve(*id, import) {
                        members.append(&named);
                    }
                    ids.push(*id);
                }
                "switches" => {
                    inner.extend(hosts(import, *id).iter().flat_map(|names| names.iter().collect::<Vec<_>>()));
                    ids.push(*id);
                }
                "linkspeed" => import.book.aside(*id, "not about scheduling, but about the network"),
                _ => import.book.look(
                    *id,
                    "no key of that name is known of a switch",
                    "see whether it concerns scheduling",
                ),
            }
        }
        if below.insert(name.clone(), (*head, members, ids, inner)).is_some() {
            import.error(*head, format!("switch {name} is described twice"));
        }
    }
    let total: usize = nodes.list.iter().map(|node| node.hosts.len()).sum();
    let mut found = Vec::new();
    for (name, (head, _, ids, _)) in &below {
        let mut members = Hostlist::new();
        collect(name, &below, &mut Vec::new(), &mut members);
        let members = members.unique();
        let say = |import: &mut Import, why: &str, advice: &str| {
            ids.iter().for_each(|id| import.book.look(*id, why, advice));
        };
        if members.is_empty() {
            say(import, "no node below the switch is described", "name the slurm.conf that describes them as well");
        } else if members.len() == total {
            ids.iter()
                .for_each(|id| import.book.aside(*id, "all nodes are below this switch: there is nothing to ask for"));
        } else if super::odd_character(name).is_some() {
            say(import, "a property of that name cannot be", "choose another name");
        } else {
            ids.iter().for_each(|id| import.book.became(*id, "resource.config.properties"));
            found.push(Place { property: format!("switch-{name}"), hosts: members, head: *head });
        }
    }
    found
}

type Below = IndexMap<String, (Id, Hostlist, Vec<Id>, Vec<String>)>;

fn collect<'a>(name: &'a str, below: &'a Below, open: &mut Vec<&'a str>, into: &mut Hostlist) {
    let Some((_, members, _, inner)) = below.get(name) else { return };
    if open.contains(&name) {
        return;
    }
    into.append(members);
    open.push(name);
    for name in inner {
        collect(name, below, open, into);
    }
    open.pop();
}
