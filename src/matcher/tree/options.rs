//! What an engine is built with: policy, traverser, filters, subsystems.

use super::error::EngineError;
use crate::base::Duration;
use std::str::FromStr;

/// How matching resources are preferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// By number: the highest or the lowest first.
    Id {
        /// Whether the lowest come first.
        low: bool,
        /// Whether the number of the node comes before the numbers of what is inside.
        node_centric: bool,
        /// Whether every node is taken whole.
        node_exclusive: bool,
        /// Whether the search stops as soon as enough is found.
        stop_on_first: bool,
    },
    /// At the top those in the largest contiguous range of numbers, below the highest numbers.
    Locality,
    /// The lowest performance class first (property `perf_class`).
    Variation,
}

impl Policy {
    const fn id(low: bool, node_centric: bool, node_exclusive: bool, stop_on_first: bool) -> Policy {
        Policy::Id { low, node_centric, node_exclusive, stop_on_first }
    }

    /// Whether every node is taken whole.
    pub fn is_node_exclusive(self) -> bool {
        matches!(self, Policy::Id { node_exclusive: true, .. })
    }

    pub(super) fn stops_on_first(self) -> bool {
        matches!(self, Policy::Id { stop_on_first: true, .. })
    }
}

impl Default for Policy {
    /// `first`.
    fn default() -> Self {
        Policy::id(false, true, false, true)
    }
}

impl FromStr for Policy {
    type Err = EngineError;

    /// A name (`high`, `low`, `hinode`, `lonode`, `hinodex`, `lonodex`, `first`, `firstnodex`, `locality`,
    /// `variation`), or `policy=low|high` and switches (`node_centric`, `node_exclusive`, `stop_on_1_matches`, each
    /// `=true` or `=false`) with a blank between them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "high" => Policy::id(false, false, false, false),
            "low" => Policy::id(true, false, false, false),
            "hinode" => Policy::id(false, true, false, false),
            "lonode" => Policy::id(true, true, false, false),
            "hinodex" => Policy::id(false, true, true, false),
            "lonodex" => Policy::id(true, true, true, false),
            "first" => Policy::default(),
            "firstnodex" => Policy::id(false, true, true, true),
            "locality" => Policy::Locality,
            "variation" => Policy::Variation,
            custom => return custom_policy(custom),
        })
    }
}

fn custom_policy(text: &str) -> Result<Policy, EngineError> {
    let (mut low, mut centric, mut exclusive, mut stop) = (None, false, false, false);
    for word in text.split(' ') {
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        let switch = match option {
            "policy" => {
                low = Some(match value {
                    "low" => true,
                    "high" => false,
                    _ => return Err(EngineError::PolicyDirection { found: value.to_owned() }),
                });
                continue;
            }
            "node_centric" => &mut centric,
            "node_exclusive" => &mut exclusive,
            "stop_on_1_matches" => &mut stop,
            _ => return Err(EngineError::PolicyOption { found: option.to_owned() }),
        };
        *switch = match value {
            "true" => true,
            "false" => false,
            _ => return Err(EngineError::PolicyValue { option: option.to_owned(), found: value.to_owned() }),
        };
    }
    let low = low.ok_or(EngineError::PolicyDirection { found: String::new() })?;
    Ok(Policy::id(low, centric, exclusive, stop))
}

/// How slots are understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Traverser {
    /// One slot beside what it stands with.
    #[default]
    Simple,
    /// Slots that stand side by side are alternatives that may be mixed; of `xor_slot`s one kind is used.
    Flexible,
}

impl FromStr for Traverser {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "simple" => Ok(Traverser::Simple),
            "flexible" => Ok(Traverser::Flexible),
            _ => Err(EngineError::Traverser { found: text.to_owned() }),
        }
    }
}

/// Which counts are kept where: at every vertex of one kind (or of all), how much of another kind is free below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PruneFilters {
    /// Anchor kind (`None` for all) and counted kind, in the order given.
    pub(super) pairs: Vec<(Option<String>, String)>,
}

impl Default for PruneFilters {
    /// `ALL:core,ALL:node`.
    fn default() -> Self {
        Self { pairs: vec![(None, "core".to_owned()), (None, "node".to_owned())] }
    }
}

impl FromStr for PruneFilters {
    type Err = EngineError;

    /// `HIGH:LOW[,HIGH:LOW…]`, where `HIGH` may be `ALL`. The empty text means the default.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let pair = |pair: &str| {
            let bad = || EngineError::Filter { found: pair.to_owned() };
            let (high, low) = pair.split_once(':').ok_or_else(bad)?;
            let strip = |word: &str| word.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let (high, low) = (strip(high), strip(low));
            if high.is_empty() || low.is_empty() {
                return Err(bad());
            }
            Ok(((high != "ALL" && high != "*").then_some(high), low))
        };
        Ok(Self { pairs: text.split(',').map(pair).collect::<Result<_, _>>()? })
    }
}

/// The sets of subsystems by name, the one that leads first. Names count in lower case too.
pub const SUBSYSTEM_SETS: [(&str, &[&str]); 14] = [
    ("CA", &["containment"]),
    ("IBA", &["ibnet"]),
    ("IBBA", &["ibnetbw"]),
    ("PA", &["power"]),
    ("PFS1BA", &["pfs1bw"]),
    ("C+IBA", &["containment", "ibnet"]),
    ("C+IBBA", &["containment", "ibnetbw"]),
    ("C+PA", &["containment", "power"]),
    ("C+PFS1BA", &["containment", "pfs1bw"]),
    ("IB+IBBA", &["ibnet", "ibnetbw"]),
    ("C+P+IBA", &["containment", "power", "ibnet"]),
    ("V+PFS1BA", &["virtual1", "pfs1bw"]),
    ("VA", &["virtual1"]),
    ("ALL", &["containment", "ibnet", "ibnetbw", "pfs1bw", "power"]),
];

/// What an engine is built with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which resources are preferred.
    pub policy: Policy,
    /// How slots are understood.
    pub traverser: Traverser,
    /// Which counts are kept.
    pub prune: PruneFilters,
    /// The subsystems that are matched; the first is walked down, the others up.
    pub subsystems: Vec<String>,
    /// Whether to decide exactly as Fluxion does, faults included.
    pub compat: bool,
    /// The while that an allocation is given that is still there at its end; the next one is twice as long. Fluxion, and
    /// so `compat`, gives none.
    pub overrun_slack: Duration,
}

impl Default for Options {
    /// `first`, simple, default filters, containment only, not compatible.
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            traverser: Traverser::default(),
            prune: PruneFilters::default(),
            subsystems: vec!["containment".to_owned()],
            compat: false,
            overrun_slack: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// With a set of [`SUBSYSTEM_SETS`].
    ///
    /// # Errors
    /// [`EngineError::SubsystemSet`] for a name that is not there.
    pub fn with_subsystem_set(mut self, name: &str) -> Result<Self, EngineError> {
        let set = SUBSYSTEM_SETS.iter().find(|(set, _)| *set == name || set.to_lowercase() == name);
        let (_, subsystems) = set.ok_or_else(|| EngineError::SubsystemSet { found: name.to_owned() })?;
        self.subsystems = subsystems.iter().map(|word| (*word).to_owned()).collect();
        Ok(self)
    }
}
