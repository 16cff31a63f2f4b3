//! How many different paths there are.
//!
//! Decides nothing else, and writes no path down that it need not: only where siblings have one name, where a name has
//! a slash, or where the input gave paths, texts are compared.

use super::store::Graph;
use crate::base::VertexId;
use std::collections::BTreeSet;

impl Graph {
    /// How many different paths vertices have in all subsystems together.
    pub fn distinct_paths(&self) -> usize {
        if !self.paths.is_empty() {
            let of = |v| self.subsystems().filter_map(move |subsystem| self.path_in(v, subsystem));
            return self.vertices().flat_map(of).map(|path| path.into_owned()).collect::<BTreeSet<_>>().len();
        }
        let mut told = 0;
        let mut written = BTreeSet::new();
        let mut open = vec![self.roots().collect::<Vec<_>>()];
        while let Some(siblings) = open.pop() {
            let mut names: Vec<_> = siblings.iter().map(|&v| (self.vertex(v).name(), v)).collect();
            names.sort_unstable();
            let clash = names.windows(2).any(|pair| pair[0].0 == pair[1].0);
            if clash || names.iter().any(|(name, _)| name.contains('/')) {
                // What is below may clash as well.
                let all = siblings.iter().flat_map(|&v| self.subtree(v)).map(VertexId);
                written.extend(all.map(|v| self.path(v)));
                continue;
            }
            told += siblings.len();
            let parents = siblings.into_iter().filter(|&v| self.subtree(v).len() > 1);
            open.extend(parents.map(|v| self.children(v).collect()));
        }
        told + written.len()
    }
}
