//! From a jobspec (RFC 14) to a [`Request`].
//!
//! Decides which shapes are understood and what each means. Anything else is refused with the path of the vertex that
//! is not understood; nothing is guessed, and nothing of a request is passed over in silence (keys that no RFC knows
//! excepted, which Flux passes over too).
//!
//! | resources | means |
//! |---|---|
//! | `node` with `slot` with `core`, `gpu` | [`Shape::Nodes`]; whole nodes if node or slot say `exclusive: true` |
//! | `node` with `core`, `gpu` | the same with one slot on each node |
//! | `node` alone | whole nodes, since there is nothing smaller that it could mean; `exclusive: false` is refused |
//! | `slot` with `core`, `gpu` | [`Shape::Slots`] |
//! | `slot` with one `node` with `core`, `gpu` or nothing | as many nodes as slots, with one slot each, whole unless the node says `exclusive: false` |
//! | any of these beside other types with nothing inside | so much of [shared pools](PoolNeeds) of these types, anywhere |
//! | a number of vertices of another type, as `rack`, with one of these inside, beside other types with nothing inside | in each of so many racks all that is inside; `exclusive: true`: and nobody else in them |
//!
//! - Exclusive is, by RFC 14, what is not said for slots and below, so the last row gives whole nodes. `exclusive` on
//!   a slot on a node means the node, as RFC 25 has it; on a slot without a node above or below, `true` says what is
//!   so anyway: the cores are the job's own.
//! - Whole nodes with a range of slots have the least number of slots; they get all of the node in any case.
//! - Cores and gpus in a slot have one number, not a range, and each may stand there once.
//! - Pools are counted in the unit of the pool, one number for the whole job, and are shared with other jobs.
//! - An exclusive rack is all of it: every node inside, and every pool.
//! - A slot that takes several nodes is refused: R could not say how many slots there are per node.

use super::policy::whole_nodes;
use super::{Amount, PoolNeed, PoolNeeds, Reason, Request, Shape, Within};
use crate::formats::constraint::Constraint;
use crate::formats::count::Count;
use crate::formats::jobspec::{Jobspec, Resource};

type Compiled<T> = Result<T, Reason>;

impl Request {
    /// What of a jobspec decides a match: resources and constraint.
    ///
    /// # Errors
    /// [`Reason::Invalid`] with the path of the first vertex that is not understood, and what was expected there.
    pub fn from_jobspec(jobspec: &Jobspec) -> Result<Request, Reason> {
        let all = jobspec.resources.iter().enumerate();
        let all = all.map(|(i, resource)| Place { path: format!("resources[{i}]"), resource });
        let mut shared = PoolNeeds::default();
        let shape = match &with_pools(all, false, &mut shared)?[..] {
            [only] if only.contains_node() => container(only, &mut shared)?,
            [only] => top(only)?,
            other => return invalid(format!("resources: expected exactly one, found {}", other.len())),
        };
        let constraint = jobspec.attributes.system.constraints.clone().filter(|c| *c != Constraint::All);
        Ok(Request { shape, constraint, shared })
    }
}

/// Notes the pools among some vertices, and gives the others.
fn with_pools<'a>(
    places: impl Iterator<Item = Place<'a>>,
    within: bool,
    shared: &mut PoolNeeds,
) -> Compiled<Vec<Place<'a>>> {
    let (pools, others): (Vec<Place<'a>>, Vec<Place<'a>>) = places.partition(Place::is_pool);
    if others.is_empty()
        && let Some(first) = pools.first()
    {
        return first.refuse("node or slot", "another type");
    }
    for pool in pools {
        if let Some(unit) = pool.resource.unit.as_deref().filter(|unit| !unit.is_empty()) {
            return pool.refuse("a count in the unit of the pool, and no unit", format_args!("the unit {unit:?}"));
        }
        if pool.says(true) {
            return pool.refuse("a part of a pool that others share", "exclusive: true");
        }
        let count = &pool.resource.count;
        if !count.is_fixed() || count.min() == 0 {
            return pool.refuse("one number above 0", format_args!("the count {count}"));
        }
        shared.needs.push(PoolNeed { kind: pool.kind().to_owned(), amount: count.min(), within });
    }
    Ok(others)
}

/// Vertices that contain nodes and pools, as racks.
fn container(place: &Place<'_>, shared: &mut PoolNeeds) -> Compiled<Shape> {
    place.counted()?;
    let count = &place.resource.count;
    if !count.is_fixed() || count.min() == 0 {
        return place.refuse("one number above 0", format_args!("the count {count}"));
    }
    let inside = with_pools(place.inside(), true, shared)?;
    let [only] = &inside[..] else {
        return place.refuse("one node or slot inside, beside pools", format_args!("{} other", inside.len()));
    };
    shared.within = Some(Within { kind: place.kind().to_owned(), count: count.min(), exclusive: place.says(true) });
    top(only)
}

fn invalid<T>(what: String) -> Compiled<T> {
    Err(Reason::Invalid { what })
}

/// A vertex and where it stands.
struct Place<'a> {
    path: String,
    resource: &'a Resource,
}

impl<'a> Place<'a> {
    fn kind(&self) -> &'a str {
        &self.resource.kind
    }

    fn inside(&self) -> impl Iterator<Item = Place<'a>> + '_ {
        let with = self.resource.with.iter().enumerate();
        with.map(|(i, resource)| Place { path: format!("{}.with[{i}]", self.path), resource })
    }

    /// The only vertex inside, if it is of this kind.
    fn only_inside(&self, kind: &str) -> Option<Place<'a>> {
        let mut inside = self.inside();
        inside.next().filter(|place| place.kind() == kind && self.resource.with.len() == 1)
    }

    fn refuse<T>(&self, expected: &str, found: impl std::fmt::Display) -> Compiled<T> {
        let Place { path, resource: Resource { kind, .. } } = self;
        invalid(format!("{path} ({kind}): expected {expected}, found {found}"))
    }

    /// Whether its type is none that has a meaning of its own.
    fn is_other(&self) -> bool {
        !matches!(self.kind(), "node" | "slot" | "core" | "gpu")
    }

    /// Whether it can only be a pool.
    fn is_pool(&self) -> bool {
        self.is_other() && self.resource.with.is_empty()
    }

    /// Whether it is around a node or slot.
    fn contains_node(&self) -> bool {
        self.is_other() && self.inside().any(|inner| matches!(inner.kind(), "node" | "slot"))
    }

    fn says(&self, exclusive: bool) -> bool {
        self.resource.exclusive == Some(exclusive)
    }

    /// Refuses a unit: nodes, slots, cores and gpus are counted.
    fn counted(&self) -> Compiled<()> {
        match self.resource.unit.as_deref() {
            None | Some("") => Ok(()),
            Some(unit) => self.refuse("a count without a unit", format_args!("the unit {unit:?}")),
        }
    }
}

fn top(place: &Place<'_>) -> Compiled<Shape> {
    match place.kind() {
        "node" => node(place),
        "slot" => slot(place),
        _ => place.refuse("node or slot", "another type"),
    }
}

/// A node at the top.
fn node(place: &Place<'_>) -> Compiled<Shape> {
    place.counted()?;
    let nodes = place.resource.count.clone();
    if place.resource.with.is_empty() {
        if place.says(false) {
            return place.refuse("something inside a node that is shared", "nothing");
        }
        return Ok(Shape::Whole { nodes, at_least: Amount::NONE, slots_per_node: 1 });
    }
    let (slots, amount, slot_exclusive) = match place.only_inside("slot") {
        Some(slot) => {
            slot.counted()?;
            (slot.resource.count.clone(), content(&slot)?, slot.says(true))
        }
        None => (Count::fixed(1), content(place)?, false),
    };
    Ok(if place.says(true) || slot_exclusive {
        let least = slots.min();
        let needs = |each: u32| u64::from(each).saturating_mul(least);
        if needs(amount.cores.max(amount.gpus)).max(least) > u64::from(u32::MAX) {
            return place
                .refuse("at most 2^32 - 1 slots, cores and gpus in a node", needs(amount.cores.max(amount.gpus)));
        }
        whole_nodes(nodes, least, amount)
    } else {
        Shape::Nodes { nodes, slots, slot: amount }
    })
}

/// A slot at the top.
fn slot(place: &Place<'_>) -> Compiled<Shape> {
    place.counted()?;
    let count = place.resource.count.clone();
    let Some(node) = place.only_inside("node") else {
        return Ok(Shape::Slots { slots: count, slot: content(place)? });
    };
    node.counted()?;
    if node.resource.count != Count::fixed(1) {
        return node.refuse("one node in a slot", &node.resource.count);
    }
    if node.says(false) {
        return Ok(Shape::Nodes { nodes: count, slots: Count::fixed(1), slot: content(&node)? });
    }
    let at_least = if node.resource.with.is_empty() { Amount::NONE } else { content(&node)? };
    Ok(Shape::Whole { nodes: count, at_least, slots_per_node: 1 })
}

/// The cores and gpus inside a slot or node; at least one of them.
fn content(place: &Place<'_>) -> Compiled<Amount> {
    let (mut cores, mut gpus) = (None, None);
    for inner in place.inside() {
        let number = match inner.kind() {
            "core" => &mut cores,
            "gpu" => &mut gpus,
            _ => return inner.refuse("core or gpu", "another type"),
        };
        if number.is_some() {
            return inner.refuse("each type once", "it again");
        }
        inner.counted()?;
        if inner.says(false) {
            return inner.refuse("cores and gpus of the job's own", "exclusive: false");
        }
        if let Some(below) = inner.inside().next() {
            return below.refuse("nothing inside a core or gpu", "this");
        }
        let count = &inner.resource.count;
        let Some(fixed) = u32::try_from(count.min()).ok().filter(|_| count.is_fixed()) else {
            return inner.refuse("one number below 2^32", format_args!("the count {count}"));
        };
        *number = Some(fixed);
    }
    if cores.or(gpus).is_none() {
        return place.refuse("core or gpu inside", "nothing");
    }
    Ok(Amount { cores: cores.unwrap_or(0), gpus: gpus.unwrap_or(0) })
}

#[cfg(test)]
mod tests;
