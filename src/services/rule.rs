//! One rule: what a service provides, pulls in, depends on, and where it may run.
//!
//! Decides whether a service fits its surroundings. Does not know other rules.

use crate::formats::idset::Idset;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The priority of a rule that states none.
pub const DEFAULT_PRIORITY: i64 = 100;

/// How a service is described.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its name; one that ends in `@` is a template.
    pub name: String,
    /// What is started; the name where nothing is said. For a program: its file.
    pub module: Option<String>,
    /// Whether it is a program of its own, which speaks over a pipe.
    pub exec: bool,
    /// What it is told at its start.
    pub args: Vec<String>,
    /// What others may ask for instead of its name.
    pub provides: Vec<String>,
    /// The highest of those that provide the same is taken.
    pub priority: i64,
    /// The same for one service that it provides.
    pub priorities: BTreeMap<String, i64>,
    /// What is started with it.
    pub requires: Vec<String>,
    /// Without these it is not started.
    pub needs: Vec<String>,
    /// It is started before these, where both are; `*`: before all that do not say so.
    pub before: Vec<String>,
    /// It is started after these, where both are; `*`: after all that do not say so.
    pub after: Vec<String>,
    /// Where it may run.
    pub conditions: Conditions,
    /// Where it stands, as `services.toml:12`.
    pub place: String,
    /// The directory of its file; relative programs start there.
    pub directory: PathBuf,
}

/// What must hold where a service is to run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conditions {
    /// It does not run unless forced.
    pub disabled: bool,
    /// On these ranks.
    pub ranks: Ranks,
    /// Keys that must be set; with `!`: must not be.
    pub config: Vec<String>,
    /// Variables of the environment, likewise.
    pub env: Vec<String>,
    /// Attributes, likewise.
    pub attrs: Vec<String>,
}

/// A set of ranks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Ranks {
    /// All.
    #[default]
    All,
    /// All above this one.
    Above(u32),
    /// All below this one.
    Below(u32),
    /// These.
    These(Idset),
}

impl FromStr for Ranks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let wrong = || format!("expected a rank after < or >, found {text:?}");
            text.trim().parse::<u32>().map_err(|_| wrong())
        };
        match text.trim() {
            "all" => Ok(Ranks::All),
            text if text.starts_with('>') => Ok(Ranks::Above(number(&text[1..])?)),
            text if text.starts_with('<') => Ok(Ranks::Below(number(&text[1..])?)),
            text => Idset::parse(text).map(Ranks::These).map_err(|e| e.to_string()),
        }
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ranks::All => f.write_str("all"),
            Ranks::Above(rank) => write!(f, ">{rank}"),
            Ranks::Below(rank) => write!(f, "<{rank}"),
            Ranks::These(ranks) => write!(f, "{ranks}"),
        }
    }
}

impl Ranks {
    fn contains(&self, rank: u32) -> bool {
        match self {
            Ranks::All => true,
            Ranks::Above(than) => rank > *than,
            Ranks::Below(than) => rank < *than,
            Ranks::These(ranks) => ranks.contains(rank),
        }
    }
}

/// Where services are to run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Surroundings {
    /// The rank.
    pub rank: u32,
    /// The keys of the configuration that are set, with the tables that they stand in.
    pub config: BTreeSet<String>,
    /// The variables that are set.
    pub env: BTreeSet<String>,
    /// The attributes that are set.
    pub attrs: BTreeSet<String>,
}

impl Conditions {
    /// Why a service may not run there; `None`: it may.
    pub fn against(&self, here: &Surroundings) -> Option<String> {
        if self.disabled {
            return Some("it is disabled".to_owned());
        }
        if !self.ranks.contains(here.rank) {
            return Some(format!("it runs on rank {}, and this is rank {}", self.ranks, here.rank));
        }
        let sorts = [
            ("configuration key", &self.config, &here.config),
            ("environment variable", &self.env, &here.env),
            ("attribute", &self.attrs, &here.attrs),
        ];
        sorts.into_iter().find_map(|(what, keys, set)| {
            keys.iter().find_map(|key| match key.strip_prefix('!') {
                Some(key) if set.contains(key) => Some(format!("the {what} {key} is set")),
                None if !set.contains(key) => Some(format!("the {what} {key} is not set")),
                _ => None,
            })
        })
    }
}

impl Rule {
    /// A rule of which only the name is known.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            module: None,
            exec: false,
            args: Vec::new(),
            provides: Vec::new(),
            priority: DEFAULT_PRIORITY,
            priorities: BTreeMap::new(),
            requires: Vec::new(),
            needs: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            conditions: Conditions::default(),
            place: String::new(),
            directory: PathBuf::new(),
        }
    }

    /// Whether services are made of it, one for each name after the `@`.
    pub fn is_template(&self) -> bool {
        self.name.ends_with('@')
    }

    /// Its priority among those that provide `service`.
    pub fn priority_for(&self, service: &str) -> i64 {
        // The priority of a template counts for all that is made of it.
        let template = service.find('@').map(|at| &service[..=at]);
        let own = [Some(service), template].into_iter().flatten().find_map(|name| self.priorities.get(name));
        own.copied().unwrap_or(self.priority)
    }

    /// Whether `service` is its name, or it provides that.
    pub fn serves(&self, service: &str) -> bool {
        self.name == service || self.provides.iter().any(|p| p == service)
    }
}
