//! The `[resource]` table: which hosts there are and what they have.

use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where resources come from.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ResourceConfig {
    /// Descriptions of hosts (`[[resource.config]]`); where there are any, `path` is not used.
    pub entries: Vec<ResourceEntry>,
    /// A file in R version 1.
    pub path: Option<PathBuf>,
    /// What is withheld, as an idset of ranks or a hostlist.
    pub exclude: Option<String>,
}

/// What some hosts have. Entries that name the same host add up.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ResourceEntry {
    /// The hosts.
    pub hosts: Hostlist,
    /// Their cores.
    pub cores: Idset,
    /// Their gpus.
    pub gpus: Idset,
    /// Their properties.
    pub properties: Vec<String>,
}
