//! Resource sets in R version 1 (RFC 20): ranks with their hosts, cores and gpus.
//!
//! Accepted is what flux-core's C parser accepts: entries of `R_lite` in any order; a rank that occurs again adds to
//! the first if no id is in both; `nodelist` names the hosts of the ranks in ascending order, whatever its shape, and
//! may be absent; `nslots`, `starttime` and `expiration` of zero and below are unset; unknown keys are passed over,
//! as are children other than `core` and `gpu`. `scheduling` is carried and not looked into.
//!
//! Of ours, so that a short text cannot take the machine: at most [`MAX_RANKS`] ranks. An `expiration` beyond
//! [`MAX_SECONDS`] is unset as well; a `starttime` there is refused.
//!
//! Printed as flux-core prints: `R_lite` grouped by equal children, ascending by first rank; hosts compressed in the
//! order of ranks. What is unset is left out.
//!
//! Invariants of what is read: ranks ascend and occur once; every property names at least one rank, and only ranks
//! that are there; either all ranks have hosts or none.

use super::error::{json_kind, quote};
use super::hostlist::{Hostlist, HostlistError};
use super::idset::{Idset, IdsetError};
use crate::base::Timestamp;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Most ranks in a set.
pub const MAX_RANKS: usize = 1 << 20;
/// The latest time that is kept, in seconds. As JSON numbers, times up to 2^31 s keep every microsecond; later ones may
/// move by one.
pub const MAX_SECONDS: i64 = 9_000_000_000;

/// Characters that flux-core refuses in a property of a resource set.
const BANNED: [char; 8] = ['^', '&', '\'', '"', '`', '|', '(', ')'];

/// A set of resources, or an allocation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct R {
    /// The ranks, ascending, each once.
    pub ranks: Vec<RankEntry>,
    /// By property, the ranks that have it.
    pub properties: BTreeMap<String, Idset>,
    /// Slots of an allocation; at least 1.
    pub nslots: Option<u64>,
    /// Since when it is allocated.
    pub starttime: Option<Timestamp>,
    /// Until when.
    pub expiration: Option<Timestamp>,
    /// What a scheduler wrote for schedulers; opaque.
    pub scheduling: Option<Value>,
}

/// What one rank has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankEntry {
    /// The rank.
    pub rank: u32,
    /// Its host, where the set names hosts.
    pub host: Option<String>,
    /// Its cores.
    pub cores: Idset,
    /// Its gpus.
    pub gpus: Idset,
}

/// Why a text or JSON value is not a resource set. Paths are like `.execution.R_lite[0].rank`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RError {
    /// Not JSON.
    #[error("invalid R: {message} at line {line}, column {column}")]
    Json {
        /// What the JSON parser said.
        message: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A value of another kind, or none.
    #[error("invalid R: expected {expected} at {path}, found {found}")]
    Type {
        /// Where.
        path: String,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A version other than 1.
    #[error("invalid R: expected version 1 at .version, found {0}")]
    Version(String),
    /// A bad idset.
    #[error("invalid R at {path}: {source}")]
    Idset {
        /// Where.
        path: String,
        /// What is wrong with it.
        source: IdsetError,
    },
    /// A bad hostlist.
    #[error("invalid R at {path}: {source}")]
    Hostlist {
        /// Where.
        path: String,
        /// What is wrong with it.
        source: HostlistError,
    },
    /// A rank has the same core or gpu from two entries.
    #[error("invalid R at {path}: rank {rank} has {kind} {ids} already")]
    Overlap {
        /// Where the second entry is.
        path: String,
        /// The rank.
        rank: u32,
        /// `core` or `gpu`.
        kind: &'static str,
        /// What is in both.
        ids: Idset,
    },
    /// Hosts and ranks are not as many.
    #[error("invalid R at .execution.nodelist: expected {ranks} hosts, one for each rank, found {hosts}")]
    NodelistCount {
        /// How many hosts.
        hosts: usize,
        /// How many ranks.
        ranks: usize,
    },
    /// More ranks than a set may have.
    #[error("invalid R at {path}: more than {MAX_RANKS} ranks")]
    TooManyRanks {
        /// The entry that is too much.
        path: String,
    },
    /// A property of a rank that is not there.
    #[error("invalid R at .execution.properties: property {property} names rank {ranks}, which R does not have")]
    PropertyRank {
        /// The property, quoted.
        property: String,
        /// The ranks that are missing.
        ranks: Idset,
    },
    /// A character that no property may have.
    #[error("invalid R at .execution.properties: character {character} is not allowed in property {property}")]
    PropertyName {
        /// The property, quoted.
        property: String,
        /// The character, quoted.
        character: String,
    },
    /// A time that is out of range.
    #[error("invalid R: expected at most {MAX_SECONDS} seconds at {path}, found {found}")]
    Time {
        /// Where.
        path: String,
        /// The number as written.
        found: String,
    },
}

/// The first character of `name` that flux-core refuses in a property of a resource set.
pub(crate) fn banned_character(name: &str) -> Option<char> {
    name.chars().find(|c| BANNED.contains(c))
}

impl R {
    /// Reads a resource set.
    ///
    /// ```
    /// use sluice::formats::r::R;
    /// let text = r#"{"version": 1, "execution": {"nodelist": ["n[0-1]"],
    ///     "R_lite": [{"rank": "0-1", "children": {"core": "0-3"}}], "properties": {"big": "1"}}}"#;
    /// let r = R::parse(text).unwrap();
    /// assert_eq!(r.ranks[1].host.as_deref(), Some("n1"));
    /// assert_eq!(r.ranks[1].cores.len(), 4);
    /// ```
    pub fn parse(text: &str) -> Result<Self, RError> {
        let value = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message = error.to_string();
            let message =
                message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message).to_owned();
            RError::Json { message, line, column }
        })?;
        Self::from_json(&value)
    }

    /// Reads a resource set from JSON.
    pub fn from_json(value: &Value) -> Result<Self, RError> {
        let top = object(value, ".")?;
        let version = top.get("version").unwrap_or(&Value::Null);
        match version.as_i64() {
            Some(1) => {}
            Some(other) => return Err(RError::Version(other.to_string())),
            None => return Err(mismatch(".version", "1", top.get("version"))),
        }
        let execution = member_object(top, "execution", ".execution")?;
        let mut r = R {
            ranks: ranks(execution)?,
            nslots: nslots(execution)?,
            starttime: time(execution, "starttime")?,
            expiration: time(execution, "expiration")?,
            scheduling: top.get("scheduling").filter(|value| !value.is_null()).cloned(),
            properties: BTreeMap::new(),
        };
        if let Some(nodelist) = execution.get("nodelist") {
            r.assign_hosts(nodelist)?;
        }
        if let Some(properties) = execution.get("properties") {
            r.assign_properties(object(properties, ".execution.properties")?)?;
        }
        Ok(r)
    }

    /// The set as JSON; read again it is the same.
    pub fn to_json(&self) -> Value {
        let mut groups: IndexMap<(&Idset, &Idset), Idset> = IndexMap::new();
        for entry in &self.ranks {
            groups.entry((&entry.cores, &entry.gpus)).or_default().insert(entry.rank);
        }
        let lite = groups.iter().map(|((cores, gpus), ranks)| {
            let mut children = Map::new();
            if !cores.is_empty() || gpus.is_empty() {
                children.insert("core".to_owned(), cores.to_string().into());
            }
            if !gpus.is_empty() {
                children.insert("gpu".to_owned(), gpus.to_string().into());
            }
            json!({ "rank": ranks, "children": children })
        });
        let mut execution = Map::new();
        execution.insert("R_lite".to_owned(), lite.collect());
        if let Some(hosts) = self.ranks.iter().map(|entry| entry.host.as_deref()).collect::<Option<Hostlist>>() {
            execution.insert("nodelist".to_owned(), json!([hosts]));
        }
        if !self.properties.is_empty() {
            execution.insert("properties".to_owned(), json!(self.properties));
        }
        if let Some(nslots) = self.nslots {
            execution.insert("nslots".to_owned(), nslots.into());
        }
        for (key, time) in [("starttime", self.starttime), ("expiration", self.expiration)] {
            if let Some(time) = time.filter(|time| !time.is_never()) {
                execution.insert(key.to_owned(), seconds(time));
            }
        }
        let mut top = Map::new();
        top.insert("version".to_owned(), 1.into());
        top.insert("execution".to_owned(), execution.into());
        if let Some(scheduling) = &self.scheduling {
            top.insert("scheduling".to_owned(), scheduling.clone());
        }
        top.into()
    }

    /// All ranks.
    pub fn rank_ids(&self) -> Idset {
        self.ranks.iter().map(|entry| entry.rank).collect()
    }

    fn assign_hosts(&mut self, nodelist: &Value) -> Result<(), RError> {
        let mut hosts = Hostlist::new();
        for (index, value) in array(nodelist, ".execution.nodelist")?.iter().enumerate() {
            let path = || format!(".execution.nodelist[{index}]");
            let text = value.as_str().ok_or_else(|| mismatch(path(), "a hostlist", Some(value)))?;
            hosts.append(&Hostlist::parse(text).map_err(|source| RError::Hostlist { path: path(), source })?);
            if hosts.len() > self.ranks.len() {
                break;
            }
        }
        if hosts.len() != self.ranks.len() {
            return Err(RError::NodelistCount { hosts: hosts.len(), ranks: self.ranks.len() });
        }
        for (entry, host) in self.ranks.iter_mut().zip(hosts.iter()) {
            entry.host = Some(host);
        }
        Ok(())
    }

    fn assign_properties(&mut self, properties: &Map<String, Value>) -> Result<(), RError> {
        let all = self.rank_ids();
        for (name, value) in properties {
            if let Some(character) = banned_character(name) {
                let character = quote(character.encode_utf8(&mut [0; 4]));
                return Err(RError::PropertyName { property: quote(name), character });
            }
            let ranks = idset(Some(value), || format!(".execution.properties.{name}"))?;
            if !ranks.is_subset(&all) {
                return Err(RError::PropertyRank { property: quote(name), ranks: &ranks - &all });
            }
            if !ranks.is_empty() {
                self.properties.insert(name.clone(), ranks);
            }
        }
        Ok(())
    }
}

/// The entries of `R_lite`, one for each rank, ascending.
fn ranks(execution: &Map<String, Value>) -> Result<Vec<RankEntry>, RError> {
    let mut ranks: BTreeMap<u32, RankEntry> = BTreeMap::new();
    let Some(lite) = execution.get("R_lite") else { return Ok(Vec::new()) };
    for (index, entry) in array(lite, ".execution.R_lite")?.iter().enumerate() {
        let path = || format!(".execution.R_lite[{index}]");
        let entry = object(entry, &path())?;
        let ids = idset(entry.get("rank"), || path() + ".rank")?;
        let children = member_object(entry, "children", &(path() + ".children"))?;
        let child = |kind: &str| match children.get(kind) {
            Some(value) => idset(Some(value), || format!("{}.children.{kind}", path())),
            None => Ok(Idset::new()),
        };
        let (cores, gpus) = (child("core")?, child("gpu")?);
        if ids.len() > MAX_RANKS {
            return Err(RError::TooManyRanks { path: path() });
        }
        for rank in ids.iter() {
            let known = ranks.entry(rank).or_insert_with(|| RankEntry { rank, ..RankEntry::default() });
            for (kind, have, more) in [("core", &mut known.cores, &cores), ("gpu", &mut known.gpus, &gpus)] {
                if !have.is_disjoint(more) {
                    return Err(RError::Overlap { path: path(), rank, kind, ids: &*have & more });
                }
                *have = &*have | more;
            }
        }
        if ranks.len() > MAX_RANKS {
            return Err(RError::TooManyRanks { path: path() });
        }
    }
    Ok(ranks.into_values().collect())
}

fn nslots(execution: &Map<String, Value>) -> Result<Option<u64>, RError> {
    let Some(value) = execution.get("nslots") else { return Ok(None) };
    match (value.as_u64(), value.as_i64()) {
        (Some(0), _) | (None, Some(_)) => Ok(None),
        (Some(nslots), _) => Ok(Some(nslots)),
        (None, None) => Err(mismatch(".execution.nslots", "an integer", Some(value))),
    }
}

fn time(execution: &Map<String, Value>, key: &str) -> Result<Option<Timestamp>, RError> {
    let Some(value) = execution.get(key) else { return Ok(None) };
    let path = || format!(".execution.{key}");
    let Some(seconds) = value.as_f64() else { return Err(mismatch(path(), "a number of seconds", Some(value))) };
    if seconds <= MAX_SECONDS as f64 {
        // A whole number need not go through a float, a fraction cannot avoid it.
        let time = value.as_i64().map(Timestamp::from_secs).or_else(|| Timestamp::from_secs_f64(seconds));
        Ok(time.filter(|&time| time > Timestamp::ZERO))
    } else if key == "expiration" {
        Ok(None)
    } else {
        Err(RError::Time { path: path(), found: value.to_string() })
    }
}

/// A time as flux-core writes it: whole seconds as an integer, else a fraction.
fn seconds(time: Timestamp) -> Value {
    if time.micros() % 1_000_000 == 0 { (time.micros() / 1_000_000).into() } else { time.secs_f64().into() }
}

fn mismatch(path: impl Into<String>, expected: &'static str, found: Option<&Value>) -> RError {
    RError::Type { path: path.into(), expected, found: found.map_or("nothing", json_kind) }
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, RError> {
    value.as_object().ok_or_else(|| mismatch(path, "an object", Some(value)))
}

fn member_object<'a>(parent: &'a Map<String, Value>, key: &str, path: &str) -> Result<&'a Map<String, Value>, RError> {
    parent.get(key).map_or_else(|| Err(mismatch(path, "an object", None)), |value| object(value, path))
}

fn array<'a>(value: &'a Value, path: &str) -> Result<&'a Vec<Value>, RError> {
    value.as_array().ok_or_else(|| mismatch(path, "an array", Some(value)))
}

fn idset(value: Option<&Value>, path: impl Fn() -> String) -> Result<Idset, RError> {
    let text = value.and_then(Value::as_str).ok_or_else(|| mismatch(path(), "an idset", value))?;
    Idset::parse(text).map_err(|source| RError::Idset { path: path(), source })
}

impl FromStr for R {
    type Err = RError;
    fn from_str(text: &str) -> Result<Self, RError> {
        Self::parse(text)
    }
}

impl fmt::Display for R {
    /// As JSON on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

#[cfg(test)]
mod tests;
