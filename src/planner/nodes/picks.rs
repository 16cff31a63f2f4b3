//! Nodes of an answer, and what of them.

use super::Cores;
use smallvec::SmallVec;

/// A node of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Its position.
    pub node: u32,
    /// Which of its cores; none: all of the node.
    pub cores: Option<Cores>,
}

/// Nodes of an answer: those taken whole in order of preference, then those taken in part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Nodes {
    whole: SmallVec<[u32; 4]>,
    parts: SmallVec<[(u32, Cores); 1]>,
}

impl Nodes {
    /// None, with room for so many whole ones.
    pub(super) fn with_capacity(whole: usize) -> Self {
        Self { whole: SmallVec::with_capacity(whole), parts: SmallVec::new() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.whole.len() + self.parts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether some are taken whole.
    pub fn has_whole(&self) -> bool {
        !self.whole.is_empty()
    }

    /// Adds one.
    pub fn push(&mut self, Taken { node, cores }: Taken) {
        match cores {
            None => self.whole.push(node),
            Some(cores) => self.parts.push((node, cores)),
        }
    }

    pub(super) fn push_whole(&mut self, node: u32) {
        self.whole.push(node);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Taken> + '_ {
        let whole = self.whole.iter().map(|&node| Taken { node, cores: None });
        whole.chain(self.parts.iter().map(|&(node, cores)| Taken { node, cores: Some(cores) }))
    }

    /// The nodes taken whole.
    pub fn whole(&self) -> &[u32] {
        &self.whole
    }

    /// The nodes taken in part, with their cores.
    pub fn parts(&self) -> &[(u32, Cores)] {
        &self.parts
    }
}

impl FromIterator<Taken> for Nodes {
    fn from_iter<I: IntoIterator<Item = Taken>>(all: I) -> Self {
        let mut nodes = Self::default();
        all.into_iter().for_each(|taken| nodes.push(taken));
        nodes
    }
}
