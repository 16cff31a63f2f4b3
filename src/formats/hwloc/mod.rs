//! hwloc XML, versions 1 and 2: what is in one node, as the hwloc library and Fluxion's reader see it.
//!
//! ```text
//! <topology><object type="Machine" …><info name="HostName" value="pc7"/>
//!   <object type="Package" os_index="0" …><object type="Core" …>…
//! ```
//!
//! | object | becomes | id |
//! |---|---|---|
//! | `Package`, `Socket` | `socket` | logical |
//! | `NUMANode`, `Group`, `Core`, `PU` | `numanode`, `group`, `core`, `pu` | logical |
//! | data or unified cache of level 1 to 3 | `cache` called `L1cache`, …, in KiB | logical |
//! | `OSDev` of a coprocessor, or of a GPU by the name `rsmiN` | `gpu` | N of `cudaN`, `rsmiN`, `openclXdN`; else logical |
//! | `OSDev` of a block device | `storage`, in GB, with `LinuxDeviceID` | logical |
//!
//! Everything else (bridges, PCI devices, network) is passed over, and what is in it belongs to what it is in. Logical
//! ids are not in the file but counted as hwloc counts: for each level of the tree, or, for NUMA nodes and for all OS
//! devices but DMA channels, through the whole tree. Groups and caches that say nothing about structure, since each
//! has or is one child, are taken out; what else was in them stays. In files of version 1 what is in a NUMA node is in a
//! group, and the NUMA node beside. In each object the objects of the processor come first, then NUMA nodes, then
//! devices.
//!
//! A device that two drivers show, as `cuda0` and `opencl0d0`, is two, as with Fluxion. Decides nothing about which
//! types are wanted: see [`AllowList`].

mod read;
mod tree;

use super::error::ParseError;
use super::xml::XmlError;
use std::collections::BTreeSet;

/// One node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hwloc {
    /// The host name, if the file has it.
    pub host: Option<String>,
    /// What is in it.
    pub parts: Vec<Part>,
}

/// Something in a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// The logical id.
    pub id: i64,
    /// KiB of a cache, GB of storage, else 1. None where storage does not say.
    pub size: Option<u64>,
    /// `LinuxDeviceID` of storage, as `8:16`.
    pub device: Option<String>,
    /// What is in it.
    pub parts: Vec<Part>,
}

/// What is in nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PartKind {
    /// A group of other parts.
    Group,
    /// Memory with its distance from processors.
    NumaNode,
    /// A processor package.
    Socket,
    /// A data or unified cache of this level.
    Cache(u8),
    /// A core.
    Core,
    /// A hardware thread.
    Pu,
    /// A GPU or other coprocessor.
    Gpu,
    /// A block device.
    Storage,
}

impl PartKind {
    /// The resource type.
    pub fn kind(self) -> &'static str {
        match self {
            PartKind::Cache(_) => "cache",
            PartKind::Group
            | PartKind::NumaNode
            | PartKind::Socket
            | PartKind::Core
            | PartKind::Pu
            | PartKind::Gpu
            | PartKind::Storage => self.word(),
        }
    }

    /// The name without its number, by which an [`AllowList`] knows it.
    pub fn word(self) -> &'static str {
        match self {
            PartKind::Group => "group",
            PartKind::NumaNode => "numanode",
            PartKind::Socket => "socket",
            PartKind::Cache(1) => "L1cache",
            PartKind::Cache(2) => "L2cache",
            PartKind::Cache(_) => "L3cache",
            PartKind::Core => "core",
            PartKind::Pu => "pu",
            PartKind::Gpu => "gpu",
            PartKind::Storage => "storage",
        }
    }
}

/// The words of an [`AllowList`].
const WORDS: [&str; 12] =
    ["cluster", "node", "group", "numanode", "socket", "L1cache", "L2cache", "L3cache", "core", "pu", "gpu", "storage"];

/// The types that are wanted. What is in others belongs to what these are in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllowList {
    words: BTreeSet<&'static str>,
}

impl AllowList {
    /// All types.
    pub fn all() -> Self {
        Self::default()
    }

    /// Types as `node,socket,core`; no word at all means all of them. `cluster` is there whether said or not.
    ///
    /// # Errors
    /// [`HwlocError::UnknownType`].
    pub fn parse(text: &str) -> Result<Self, HwlocError> {
        let word = |word: &str| {
            let known = WORDS.into_iter().find(|known| *known == word);
            known.ok_or_else(|| HwlocError::UnknownType { found: word.to_owned(), known: Self::words() })
        };
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        Ok(Self { words: words.map(word).collect::<Result<_, _>>()? })
    }

    /// All words, as `cluster, node, …`.
    pub fn words() -> String {
        WORDS.join(", ")
    }

    /// Whether a type is wanted.
    pub fn allows(&self, word: &str) -> bool {
        self.words.is_empty() || self.words.contains(word)
    }
}

/// Why a text is no topology.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HwlocError {
    /// Not XML, or not that of hwloc.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// A word that is no type.
    #[error("expected a type among {known}, found \"{found}\"")]
    UnknownType {
        /// The types.
        known: String,
        /// The word.
        found: String,
    },
}

impl From<ParseError> for HwlocError {
    fn from(error: ParseError) -> Self {
        XmlError::Content(error).into()
    }
}

impl Hwloc {
    /// Reads a topology from bytes, which need not be UTF-8 (then that is the error).
    ///
    /// # Errors
    /// See [`HwlocError`].
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, HwlocError> {
        Ok(read::parse(text.as_ref())?.finish())
    }
}

#[cfg(test)]
mod tests;
