//! Types of resources in Fluxion's order, and requests in their terms.

use super::error::MatchError;
use crate::formats::count::Count;
use crate::formats::jobspec::Resource;
use crate::graph::{Graph, KindId};
use std::collections::BTreeMap;

/// A type of resource. The order is that in which Fluxion comes to know the words; some of its decisions follow it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Ty(pub(super) u32);

impl Ty {
    pub(super) const CLUSTER: Ty = Ty(0);
    pub(super) const NODE: Ty = Ty(4);
    pub(super) const SLOT: Ty = Ty(6);
    pub(super) const XOR_SLOT: Ty = Ty(7);
    pub(super) const STORAGE_NODE: Ty = Ty(9);

    const WELL_KNOWN: [&str; 10] =
        ["cluster", "core", "socket", "gpu", "node", "rack", "slot", "xor_slot", "ssd", "storage_node"];

    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// All types that an engine knows.
#[derive(Clone, Debug)]
pub(super) struct Types {
    names: Vec<String>,
    kinds: Vec<Option<KindId>>,
    of_kind: Vec<Ty>,
}

impl Types {
    pub(super) fn new(graph: &Graph) -> Self {
        let names: Vec<String> = Ty::WELL_KNOWN.iter().map(|&name| name.to_owned()).collect();
        let mut types = Self { kinds: vec![None; names.len()], names, of_kind: Vec::new() };
        types.extend(graph);
        types
    }

    /// Takes in the kinds of a graph: those not well known by their first vertex.
    pub(super) fn extend(&mut self, graph: &Graph) {
        let first = |kind| graph.of_kind(kind).iter().map(|&v| graph.uniq_id(v)).next().unwrap_or(i64::MAX);
        let mut kinds: Vec<(i64, KindId)> = graph.kinds().map(|kind| (first(kind), kind)).collect();
        kinds.sort_unstable();
        self.of_kind.resize(graph.kind_bound(), Ty(u32::MAX));
        for (first, kind) in kinds {
            let name = graph.kind_name(kind);
            let ty = match self.find(name) {
                Some(ty) => ty,
                None if first == i64::MAX => continue,
                None => self.intern(name),
            };
            self.kinds[ty.index()] = Some(kind);
            self.of_kind[kind.index()] = ty;
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Ty> {
        self.names.iter().position(|known| known == name).map(|at| Ty(at as u32))
    }

    pub(super) fn intern(&mut self, name: &str) -> Ty {
        self.find(name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.kinds.push(None);
            Ty(self.names.len() as u32 - 1)
        })
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn name(&self, ty: Ty) -> &str {
        &self.names[ty.index()]
    }

    pub(super) fn kind(&self, ty: Ty) -> Option<KindId> {
        self.kinds[ty.index()]
    }

    #[inline]
    pub(super) fn of(&self, kind: KindId) -> Ty {
        self.of_kind[kind.index()]
    }
}

/// A resource of a jobspec.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) ty: Ty,
    pub(super) count: Count,
    pub(super) exclusive: Option<bool>,
    pub(super) label: String,
    pub(super) with: Vec<Spec>,
    /// The least that one of it needs below, by counted type.
    pub(super) below: Needs,
}

/// The least that is needed, by counted type.
pub(super) type Needs = BTreeMap<Ty, i64>;

impl Spec {
    /// The number to take where `there` are; 0 if too few.
    pub(super) fn choose(&self, there: u64) -> u64 {
        self.count.largest_at_most(there).unwrap_or(0)
    }

    /// The largest number that is ever taken.
    pub(super) fn most(&self) -> u64 {
        self.choose(u32::MAX.into())
    }
}

/// The resources of a jobspec, with `counted` saying which types filters count.
pub(super) fn compile(types: &Types, resources: &[Resource], compat: bool) -> Result<Vec<Spec>, MatchError> {
    let spec = |resource: &Resource| {
        let ty = types.find(&resource.kind).ok_or_else(|| unknown(&resource.kind, compat))?;
        Ok(Spec {
            ty,
            count: resource.count.clone(),
            exclusive: resource.exclusive,
            label: resource.label.clone().unwrap_or_default(),
            with: compile(types, &resource.with, compat)?,
            below: Needs::new(),
        })
    };
    resources.iter().map(spec).collect()
}

fn unknown(word: &str, compat: bool) -> MatchError {
    if compat {
        let reason = "Value of \"type\" must be a resource type known to fluxion".to_owned();
        MatchError::Invalid { reason }
    } else {
        MatchError::Unsatisfiable { reason: format!("there is no resource of type {word}") }
    }
}

/// Fills in [`Spec::below`] and adds the needs of all to `up`. With `mixed` slots are alternatives, of which the least
/// counts.
pub(super) fn prime(specs: &mut [Spec], counted: &dyn Fn(Ty) -> bool, mixed: bool, up: &mut Needs) {
    for spec in specs {
        let least = spec.count.min() as i64;
        if counted(spec.ty) {
            *up.entry(spec.ty).or_default() += least;
        }
        spec.below.clear();
        prime(&mut spec.with, counted, mixed, &mut spec.below);
        if mixed && (spec.ty == Ty::SLOT || spec.ty == Ty::XOR_SLOT) {
            for (&ty, &amount) in &spec.below {
                let amount = least.saturating_mul(amount);
                up.entry(ty).and_modify(|known| *known = (*known).min(amount)).or_insert(amount);
            }
            for (ty, known) in up.iter_mut() {
                if !spec.below.contains_key(ty) {
                    *known = (*known).min(0);
                }
            }
        } else {
            for (&ty, &amount) in &spec.below {
                let known = up.entry(ty).or_default();
                *known = known.saturating_add(least.saturating_mul(amount));
            }
        }
    }
}
