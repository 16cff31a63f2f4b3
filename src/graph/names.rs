//! Interned words: resource kinds, subsystems, and the many repeated strings of vertices.

use crate::base::FastMap;
use std::sync::Arc;

/// A resource kind (RFC 4 *type*), such as `node`. The same number in every version of one graph; the constants are
/// the same in all graphs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KindId(pub(super) u32);

impl KindId {
    /// `cluster`
    pub const CLUSTER: KindId = KindId(0);
    /// `core`
    pub const CORE: KindId = KindId(1);
    /// `socket`
    pub const SOCKET: KindId = KindId(2);
    /// `gpu`
    pub const GPU: KindId = KindId(3);
    /// `node`
    pub const NODE: KindId = KindId(4);
    /// `rack`
    pub const RACK: KindId = KindId(5);
    /// `ssd`
    pub const SSD: KindId = KindId(6);
    /// `storage_node`
    pub const STORAGE_NODE: KindId = KindId(7);
    /// `memory`
    pub const MEMORY: KindId = KindId(8);

    const WELL_KNOWN: [&str; 9] = ["cluster", "core", "socket", "gpu", "node", "rack", "ssd", "storage_node", "memory"];

    /// The number as an index into a dense array of [`super::Graph::kind_bound`] entries.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A subsystem (RFC 4): a set of edges with one meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubsystemId(pub(super) u32);

impl SubsystemId {
    /// `containment`: the tree that vertices are numbered by.
    pub const CONTAINMENT: SubsystemId = SubsystemId(0);
}

/// An interned string; 0 is the empty one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Symbol(pub(super) u32);

impl Symbol {
    pub(super) const EMPTY: Symbol = Symbol(0);
}

/// Strings by number and numbers by string, in order of first use.
#[derive(Clone, Default)]
pub(super) struct Table {
    texts: Vec<Arc<str>>,
    index: FastMap<Arc<str>, u32>,
}

impl Table {
    fn of(words: &[&str]) -> Self {
        let mut table = Self::default();
        for word in words {
            table.intern(word);
        }
        table
    }

    pub(super) fn intern(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.index.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.index.insert(text, number);
        number
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.index.get(text).copied()
    }

    pub(super) fn text(&self, number: u32) -> &Arc<str> {
        &self.texts[number as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }
}

/// All words of one graph.
#[derive(Clone)]
pub(super) struct Names {
    pub(super) kinds: Table,
    pub(super) subsystems: Table,
    pub(super) symbols: Table,
}

impl Names {
    pub(super) fn new() -> Self {
        Self {
            kinds: Table::of(&KindId::WELL_KNOWN),
            subsystems: Table::of(&[crate::formats::jgf::CONTAINMENT]),
            symbols: Table::of(&[""]),
        }
    }

    pub(super) fn kind(&mut self, text: &str) -> KindId {
        KindId(self.kinds.intern(text))
    }

    pub(super) fn subsystem(&mut self, text: &str) -> SubsystemId {
        SubsystemId(self.subsystems.intern(text))
    }

    pub(super) fn symbol(&mut self, text: &str) -> Symbol {
        Symbol(self.symbols.intern(text))
    }
}
