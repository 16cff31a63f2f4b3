//! The `[resource]` table: which hosts there are and what they have.

use super::error::ConfigError;
use super::reader::{Item, Section};
use crate::formats::error::quote;
use crate::formats::hostlist::Hostlist;
use crate::formats::idset::Idset;
use crate::formats::r::{MAX_RANKS, R, RankEntry, banned_character};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Keys of flux-core's `[resource]` that mean nothing here.
const FLUX_ONLY: [(&str, &str); 8] = {
    const WHY: &str = "flux-core has this key, but it has no effect here: take it out";
    [
        ("scheduling", WHY),
        ("verify", WHY),
        ("noverify", WHY),
        ("norestrict", WHY),
        ("rediscover", WHY),
        ("journal-max", WHY),
        ("history", WHY),
        ("no-update-watch", WHY),
    ]
};

/// Where resources come from.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ResourceConfig {
    /// Descriptions of hosts (`[[resource.config]]`); where there are any, `path` is not used.
    pub entries: Vec<ResourceEntry>,
    /// A file in R version 1.
    pub path: Option<PathBuf>,
    /// What is withheld, as an idset of ranks or a hostlist.
    pub exclude: Option<String>,
    /// What all queues share and no node has (`[[resource.pool]]`), as licences; names are unique.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolConfig>,
}

/// A pool that belongs to the whole cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PoolConfig {
    /// Its name; the type, where none is said.
    pub name: String,
    /// The type that a request names.
    pub kind: String,
    /// How much there is, at least 1, in the unit in which jobs ask for it.
    pub size: u64,
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

impl ResourceConfig {
    /// The resources that the entries describe, less what is excluded. A host's rank is the number of other hosts that
    /// were named before it, in any entry; exclusion leaves ranks as they are.
    ///
    /// # Errors
    /// A host without any core or gpu, more hosts than a set of resources may have, an exclusion of what is not there,
    /// or no entries but a `path`: reading the file is the caller's, who then uses [`ResourceConfig::withhold`].
    pub fn to_r(&self) -> Result<R, ConfigError> {
        if let (true, Some(path)) = (self.entries.is_empty(), &self.path) {
            let message = format!("the resources are in file {}, which has not been read", path.display());
            return Err(ConfigError::unplaced("resource.path", message));
        }
        let mut hosts: IndexMap<String, (usize, RankEntry)> = IndexMap::new();
        let mut r = R::default();
        for (index, entry) in self.entries.iter().enumerate() {
            let key = || format!("resource.config[{index}].hosts");
            if entry.hosts.len() > MAX_RANKS {
                return Err(ConfigError::unplaced(key(), format!("more than {MAX_RANKS} hosts")));
            }
            for host in entry.hosts.iter() {
                let next = hosts.len() as u32;
                let fresh = || (index, RankEntry { rank: next, host: Some(host.clone()), ..RankEntry::default() });
                let (_, known) = hosts.entry(host.clone()).or_insert_with(fresh);
                known.cores = &known.cores | &entry.cores;
                known.gpus = &known.gpus | &entry.gpus;
                for property in &entry.properties {
                    r.properties.entry(property.clone()).or_default().insert(known.rank);
                }
            }
            if hosts.len() > MAX_RANKS {
                return Err(ConfigError::unplaced(key(), format!("more than {MAX_RANKS} hosts")));
            }
        }
        for (index, entry) in hosts.values() {
            if entry.cores.is_empty() && entry.gpus.is_empty() {
                let host = entry.host.as_deref().unwrap_or_default();
                let message = format!("host {} has no cores and no gpus, here or in another entry", quote(host));
                return Err(ConfigError::unplaced(format!("resource.config[{index}].hosts"), message));
            }
        }
        r.ranks = hosts.into_values().map(|(_, entry)| entry).collect();
        self.withhold(r)
    }

    /// `r` without what is excluded.
    ///
    /// # Errors
    /// An exclusion that is neither an idset nor a hostlist, or names a rank or host that `r` does not have.
    pub fn withhold(&self, mut r: R) -> Result<R, ConfigError> {
        let Some(exclude) = &self.exclude else { return Ok(r) };
        let wrong = |message| Err(ConfigError::unplaced("resource.exclude", message));
        let excluded = match Idset::parse(exclude) {
            Ok(ranks) => {
                let unknown = &ranks - &r.rank_ids();
                if !unknown.is_empty() {
                    return wrong(format!("there is no rank {unknown}"));
                }
                ranks
            }
            Err(_) => {
                let hosts = match Hostlist::parse(exclude) {
                    Ok(hosts) => hosts,
                    Err(error) => return wrong(format!("expected an idset or a hostlist: {error}")),
                };
                let named = |entry: &&RankEntry| entry.host.as_ref().is_some_and(|host| hosts.contains(host));
                let found: Hostlist = r.ranks.iter().filter(named).filter_map(|entry| entry.host.as_deref()).collect();
                if let Some(unknown) = hosts.iter().find(|host| !found.contains(host)) {
                    return wrong(format!("there is no host {}", quote(&unknown)));
                }
                r.ranks.iter().filter(named).map(|entry| entry.rank).collect()
            }
        };
        r.ranks.retain(|entry| !excluded.contains(entry.rank));
        r.properties.values_mut().for_each(|ranks| *ranks = &*ranks - &excluded);
        r.properties.retain(|_, ranks| !ranks.is_empty());
        Ok(r)
    }

    /// Reads the table that `item` is.
    pub(super) fn read(item: &Item<'_, '_>) -> Self {
        let Some(mut section) = item.section() else { return Self::default() };
        let before = item.reader.error_count();
        let config = section.take("config");
        let path = section.take("path");
        let exclude = section.take("exclude");
        let pool = section.take("pool");
        section.finish_except(&[], &FLUX_ONLY);
        let sections = config.map(|item| item.sections()).unwrap_or_default();
        let mut places = Vec::new();
        let entries = sections.into_iter().map(|section| ResourceEntry::read(section, &mut places)).collect();
        let resource = Self {
            entries,
            path: path.as_ref().and_then(Item::string).map(PathBuf::from),
            exclude: exclude.as_ref().and_then(Item::string).map(str::to_owned),
            pools: pool.map(|item| PoolConfig::read_all(&item)).unwrap_or_default(),
        };
        // What only shows when all entries are put together; the error's key says where it belongs.
        if !resource.entries.is_empty()
            && item.reader.error_count() == before
            && let Err(error) = resource.to_r()
        {
            let place = places.iter().find(|(key, _)| *key == error.key).map(|(_, span)| span.clone());
            let place = place.or_else(|| exclude.map(|item| item.span())).unwrap_or_else(|| item.key_span.clone());
            item.reader.error(&error.key, place, &error.message);
        }
        resource
    }
}

/// Types that a pool cannot have, since requests mean something else by them.
const NO_POOLS: [&str; 4] = ["node", "slot", "core", "gpu"];

impl PoolConfig {
    fn read_all(item: &Item<'_, '_>) -> Vec<Self> {
        let mut pools: Vec<Self> = Vec::new();
        for section in item.sections() {
            let (reader, key, span) = (section.reader, section.key.clone(), section.span.clone());
            let Some(pool) = Self::read(section) else { continue };
            if pools.iter().any(|known| known.name == pool.name) {
                let message = format_args!("expected each name once, found {} again", quote(&pool.name));
                reader.error(&key, span, message);
                continue;
            }
            pools.push(pool);
        }
        pools
    }

    /// `None` where something is missing or wrong, which is reported.
    fn read(mut section: Section<'_, '_>) -> Option<Self> {
        let (kind, size, name) = (section.take("type"), section.take("size"), section.take("name"));
        for (key, _) in [("type", &kind), ("size", &size)].into_iter().filter(|(_, item)| item.is_none()) {
            let message = format_args!("expected key {key}, found none");
            section.reader.error(&section.key, section.span.clone(), message);
        }
        let word = |item: &Item<'_, '_>| {
            let text = item.string()?;
            if text.is_empty() || NO_POOLS.contains(&text) {
                item.error(format_args!("expected a word other than {}, found {}", NO_POOLS.join(", "), quote(text)));
                return None;
            }
            Some(text.to_owned())
        };
        let kind = kind.as_ref().and_then(word);
        let size = size.and_then(|item| item.integer(1..=i64::MAX)).and_then(|size| u64::try_from(size).ok());
        let name = match &name {
            Some(item) => item.string().and_then(|text| {
                // As a path, it could be that of a vertex.
                if text.is_empty() || text.starts_with('/') {
                    item.error(format_args!("expected a name that does not begin with /, found {}", quote(text)));
                    return None;
                }
                Some(text.to_owned())
            }),
            None => kind.clone(),
        };
        section.finish();
        Some(Self { name: name?, kind: kind?, size: size? })
    }
}

impl ResourceEntry {
    /// Reads one entry, and notes where its hosts stand.
    fn read(mut section: Section<'_, '_>, places: &mut Vec<(String, std::ops::Range<usize>)>) -> Self {
        let check = |name: &str| match banned_character(name) {
            Some(c) => Err(format!("character `{c}` is not allowed in property {}", quote(name))),
            None => Ok(()),
        };
        let entry = Self {
            hosts: match section.take("hosts") {
                Some(item) => {
                    places.push((item.key.clone(), item.span()));
                    let hosts = item.parse::<Hostlist>();
                    if hosts.as_ref().is_some_and(Hostlist::is_empty) {
                        item.error("expected some hosts, found an empty hostlist");
                    }
                    hosts.unwrap_or_default()
                }
                None => {
                    section.reader.error(&section.key, section.span.clone(), "expected key hosts, found none");
                    Hostlist::new()
                }
            },
            cores: section.take("cores").and_then(|item| item.parse()).unwrap_or_default(),
            gpus: section.take("gpus").and_then(|item| item.parse()).unwrap_or_default(),
            properties: section.take("properties").and_then(|item| item.strings(check)).unwrap_or_default(),
        };
        section.finish();
        entry
    }
}
