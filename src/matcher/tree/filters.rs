//! Pruning filters: at which vertices what is counted, and how much there is of it below.
//!
//! Totals come from the index of the graph where the containment tree leads, else from one walk. Use is part of the
//! plans of vertices.

use super::options::PruneFilters;
use super::topology::Topology;
use super::types::{Ty, Types};
use crate::base::{FastMap, VertexId};
use crate::graph::Graph;
use std::collections::{BTreeMap, BTreeSet};

/// What is counted where.
#[derive(Clone, Debug)]
pub(super) struct Filters {
    /// By type of the vertex: the counted types in the leading subsystem.
    at: Vec<Vec<Ty>>,
    /// Whether a type is counted anywhere, in the leading subsystem.
    counted: Vec<bool>,
    /// Totals below vertices, where the index of the graph does not have them.
    walked: Option<FastMap<VertexId, Vec<i64>>>,
    /// For each of the other subsystems: counted types and totals at vertices.
    aside: Vec<Aside>,
}

/// Counted types and totals at vertices of a subsystem that does not lead.
type Aside = FastMap<VertexId, (Vec<Ty>, Vec<i64>)>;

/// Anchors with what is counted there; `None` is any.
type Pairs = BTreeMap<Option<Ty>, BTreeSet<Ty>>;

impl Filters {
    pub(super) fn new(graph: &Graph, types: &mut Types, topology: &Topology, prune: &PruneFilters) -> Self {
        let mut pairs = Pairs::new();
        let mut all = BTreeSet::new();
        for (anchor, counted) in &prune.pairs {
            let anchor = anchor.as_ref().map(|word| types.intern(word));
            let counted = types.intern(counted);
            add_pair(&mut pairs, anchor, counted);
            all.insert(counted);
        }
        for ty in leaf_types(graph, types, topology, 0) {
            if all.insert(ty) {
                add_pair(&mut pairs, Some(Ty::CLUSTER), ty);
            }
        }
        let at: Vec<Vec<Ty>> = (0..types.len() as u32).map(|ty| counted_at(&pairs, Ty(ty))).collect();
        let counted = (0..types.len() as u32).map(|ty| all.contains(&Ty(ty))).collect();
        let mut filters = Self { at, counted, walked: None, aside: Vec::new() };
        if !topology.is_tree {
            let mut totals = FastMap::default();
            for (v, sums) in walk_totals(graph, types, topology, 0, &|ty| filters.is_counted(ty)) {
                let here = &filters.at[types.of(graph.kind(v)).index()];
                totals.insert(v, here.iter().map(|ty| sums.get(ty).copied().unwrap_or(0)).collect());
            }
            filters.walked = Some(totals);
        }
        for subsystem in 1..topology.subsystems.len() {
            filters.aside.push(totals_aside(graph, types, topology, subsystem));
        }
        filters
    }

    #[inline]
    pub(super) fn is_counted(&self, ty: Ty) -> bool {
        self.counted.get(ty.index()).copied().unwrap_or(false)
    }

    /// All types that are counted anywhere.
    pub(super) fn all_counted(&self) -> impl Iterator<Item = Ty> + '_ {
        (0..self.counted.len() as u32).map(Ty).filter(|&ty| self.is_counted(ty))
    }

    /// The types that are counted at vertices of a type, unless they are leaves.
    #[inline]
    pub(super) fn at(&self, ty: Ty) -> &[Ty] {
        self.at.get(ty.index()).map_or(&[], |counted| counted)
    }

    /// How much there is below a vertex of the counted type at a position of [`Filters::at`].
    pub(super) fn total(&self, graph: &Graph, types: &Types, v: VertexId, position: usize) -> i64 {
        if let Some(walked) = &self.walked {
            return walked.get(&v).and_then(|totals| totals.get(position)).copied().unwrap_or(0);
        }
        let counted = self.at(types.of(graph.kind(v)))[position];
        let Some(kind) = types.kind(counted) else { return 0 };
        let own = if graph.kind(v) == kind { graph.size(v) } else { 0 };
        (graph.size_in(v, kind) - own) as i64
    }

    /// Counted types and totals at a vertex in one of the other subsystems, from 1.
    pub(super) fn aside(&self, subsystem: usize, v: VertexId) -> Option<&(Vec<Ty>, Vec<i64>)> {
        self.aside.get(subsystem - 1)?.get(&v)
    }
}

fn add_pair(pairs: &mut Pairs, anchor: Option<Ty>, counted: Ty) {
    match anchor {
        None => pairs.values_mut().for_each(|known| {
            known.remove(&counted);
        }),
        Some(_) if pairs.get(&None).is_some_and(|known| known.contains(&counted)) => return,
        Some(_) => {}
    }
    pairs.entry(anchor).or_default().insert(counted);
}

/// First what is counted at this type in particular, then what is counted everywhere.
fn counted_at(pairs: &Pairs, ty: Ty) -> Vec<Ty> {
    let own = pairs.get(&Some(ty)).into_iter().flatten();
    let any = pairs.get(&None).into_iter().flatten().filter(|&&counted| counted != ty);
    own.chain(any).copied().collect()
}

fn leaf_types(graph: &Graph, types: &Types, topology: &Topology, subsystem: usize) -> Vec<Ty> {
    let mut is_leaf = vec![false; types.len()];
    let mut note = |v| {
        if topology.is_leaf(graph, v) {
            is_leaf[types.of(graph.kind(v)).index()] = true;
        }
    };
    if subsystem == 0 && topology.is_tree {
        graph.subtree(topology.roots[0]).map(VertexId).for_each(&mut note);
    } else {
        walk_totals(graph, types, topology, subsystem, &|_| false).into_iter().for_each(|(v, _)| note(v));
    }
    (0..types.len() as u32).map(Ty).filter(|ty| is_leaf[ty.index()]).collect()
}

/// Every vertex below the root of a subsystem with the sums of the counted types below it.
fn walk_totals(
    graph: &Graph,
    types: &Types,
    topology: &Topology,
    subsystem: usize,
    is_counted: &dyn Fn(Ty) -> bool,
) -> Vec<(VertexId, BTreeMap<Ty, i64>)> {
    struct Open {
        v: VertexId,
        children: std::vec::IntoIter<VertexId>,
        sums: BTreeMap<Ty, i64>,
    }
    let id = topology.subsystems[subsystem];
    let open = |v| Open { v, children: topology.children(graph, v, id).into_vec().into_iter(), sums: BTreeMap::new() };
    let mut seen = vec![false; graph.len()];
    let mut found = Vec::new();
    let root = topology.roots[subsystem];
    seen[root.index()] = true;
    let mut stack = vec![open(root)];
    while let Some(top) = stack.last_mut() {
        match top.children.next() {
            Some(child) if std::mem::replace(&mut seen[child.index()], true) => {}
            Some(child) => stack.push(open(child)),
            None => {
                let Some(Open { v, mut sums, .. }) = stack.pop() else { break };
                found.push((v, sums.clone()));
                let ty = types.of(graph.kind(v));
                if is_counted(ty) {
                    *sums.entry(ty).or_default() += graph.size(v) as i64;
                }
                if let Some(above) = stack.last_mut() {
                    sums.into_iter().for_each(|(ty, sum)| *above.sums.entry(ty).or_default() += sum);
                }
            }
        }
    }
    found
}

fn totals_aside(graph: &Graph, types: &Types, topology: &Topology, subsystem: usize) -> Aside {
    let leaves = leaf_types(graph, types, topology, subsystem);
    let walked = walk_totals(graph, types, topology, subsystem, &|ty| leaves.contains(&ty));
    let at_clusters = walked.into_iter().filter(|(v, _)| types.of(graph.kind(*v)) == Ty::CLUSTER);
    let totals = |sums: BTreeMap<Ty, i64>| leaves.iter().map(|ty| sums.get(ty).copied().unwrap_or(0)).collect();
    at_clusters.map(|(v, sums)| (v, (leaves.clone(), totals(sums)))).collect()
}
