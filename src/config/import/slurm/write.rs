//! The configuration as text, each value with the line that it comes from.

use super::Book;
use super::cluster::Cluster;
use super::nodes::{Node, Nodes};
use super::partitions::Partition;
use super::places::Place;
use crate::config::import::book::Id;
use crate::config::layers::key;
use crate::formats::hostlist::Hostlist;
use std::fmt::Write as _;

/// A text as TOML writes it.
pub(super) fn text_of(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

pub(super) fn text(
    cluster: &Cluster,
    nodes: &Nodes,
    places: &[Place],
    partitions: &[Partition],
    book: &Book,
) -> String {
    let mut text = String::from("# Made by `sluice import`. Behind each value stands where it comes from.\n");
    let mut policy = cluster.policy.clone();
    if let Some((partition, id)) = partitions.iter().find_map(|p| Some((p, p.default?))) {
        policy.push(("jobspec.defaults.system.queue", text_of(&partition.name), id));
    }
    if !policy.is_empty() {
        text += "\n[policy]\n";
        policy.iter().for_each(|(key, value, id)| line(&mut text, key, value, *id, book));
    }
    let future: Hostlist = nodes.list.iter().filter(|node| node.future).flat_map(|node| node.hosts.iter()).collect();
    if !future.is_empty() {
        text += "\n[resource]\n";
        // Writing to a string does not fail.
        let _ = writeln!(text, "exclude = {}", text_of(&future.to_string()));
    }
    nodes.list.iter().for_each(|node| entry(&mut text, node, book));
    for place in places {
        text += "\n[[resource.config]]\n";
        line(&mut text, "hosts", &text_of(&place.hosts.to_string()), place.head, book);
        let _ = writeln!(text, "properties = [{}]", text_of(&place.property));
    }
    for (name, size, id) in &cluster.pools {
        text += "\n[[resource.pool]]\n";
        line(&mut text, "type", &text_of(name), *id, book);
        let _ = writeln!(text, "size = {size}");
    }
    for partition in partitions {
        let _ = writeln!(text, "\n[{}]", key::join(&["queues", &partition.name]));
        partition.keys.iter().for_each(|(key, value, id)| line(&mut text, key, value, *id, book));
    }
    text
}

fn line(text: &mut String, key: &str, value: &str, id: Id, book: &Book) {
    let _ = writeln!(text, "{key} = {value}  # {} {}", book.place(id), book.get(id).key);
}

fn entry(text: &mut String, node: &Node, book: &Book) {
    *text += "\n[[resource.config]]\n";
    line(text, "hosts", &text_of(&node.hosts.to_string()), node.head, book);
    let range = |count: u64| if count == 1 { "\"0\"".to_owned() } else { format!("\"0-{}\"", count - 1) };
    let _ = writeln!(text, "cores = {}", range(node.cores));
    if node.gpus > 0 {
        let _ = writeln!(text, "gpus = {}", range(node.gpus));
    }
    if !node.properties.is_empty() {
        let names: Vec<String> = node.properties.iter().map(|name| text_of(name)).collect();
        let _ = writeln!(text, "properties = [{}]", names.join(", "));
    }
}
