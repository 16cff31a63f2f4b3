//! Which requests are about nodes alone.

use super::options::Policy;
use crate::formats::count::Count;
use crate::formats::jobspec::Resource;

/// Where a slot of cores comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SlotsFrom {
    /// From the first node that has enough.
    FirstNode,
    /// One core: the best of all nodes.
    BestCore,
    /// That is not so simple.
    Anywhere,
}

/// A request of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// How many nodes.
    pub(super) nodes: u32,
    /// How many cores of each; none: all of the node.
    pub(super) cores: Option<u32>,
    /// How many cores each must have.
    pub(super) least: u32,
    /// One core, the best of all nodes.
    pub(super) best_core: bool,
    /// So many slots of `cores` cores, on as few nodes as come first, instead of so many nodes.
    pub(super) slots: Option<u32>,
}

impl Shape {
    /// Whole nodes: `node` taken whole, alone or with slots of cores or cores in it, or slots of one such node.
    /// Parts: `node` with slots of cores in it; or slots of cores, as far as each comes from the first node that has
    /// room. Counts are fixed.
    pub(super) fn of(resources: &[Resource], policy: &Policy, slots: SlotsFrom) -> Option<Shape> {
        let [top] = resources else { return None };
        let nodex = policy.is_node_exclusive();
        match (&*top.kind, &top.with[..]) {
            ("node", _) => Self::of_nodes(top, fixed(&top.count)?, nodex),
            ("slot", [inside]) if is_sound(top) => match &*inside.kind {
                "node" if fixed(&inside.count)? == 1 => {
                    let bare = inside.with.iter().all(|part| part.kind != "slot");
                    let shape = Self::of_nodes(inside, fixed(&top.count)?, nodex)?;
                    (bare && shape.cores.is_none()).then_some(shape)
                }
                "core" => {
                    let (many, cores) = (fixed(&top.count)?, leaf_cores(inside)?);
                    let nodes = Shape { nodes: 1, cores: (!nodex).then_some(cores), ..Shape::whole(cores) };
                    match slots {
                        SlotsFrom::FirstNode if many == 1 => Some(nodes),
                        SlotsFrom::FirstNode if !nodex => Some(Shape { nodes: many, slots: Some(many), ..nodes }),
                        SlotsFrom::FirstNode => None,
                        SlotsFrom::BestCore if many == 1 && cores == 1 && !nodex => {
                            Some(Shape { best_core: true, ..nodes })
                        }
                        SlotsFrom::BestCore | SlotsFrom::Anywhere => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// One whole node with so many cores.
    fn whole(least: u32) -> Shape {
        Shape { nodes: 1, cores: None, least, best_core: false, slots: None }
    }

    fn of_nodes(node: &Resource, nodes: u32, nodex: bool) -> Option<Shape> {
        if !is_sound(node) || node.label.as_ref().is_some_and(|label| !label.is_empty()) {
            return None;
        }
        let whole = nodex || node.exclusive == Some(true);
        let shape = |cores, least| Shape { nodes, cores, ..Shape::whole(least) };
        match &node.with[..] {
            [] if whole => Some(shape(None, 0)),
            [core] if whole && core.kind == "core" => Some(shape(None, leaf_cores(core)?)),
            [slot] if slot.kind == "slot" && is_sound(slot) => {
                let [core] = &slot.with[..] else { return None };
                let least = fixed(&slot.count)?.checked_mul(leaf_cores(core)?)?;
                Some(shape((!whole).then_some(least), least))
            }
            _ => None,
        }
    }
}

/// How many cores, if nothing else is said of them.
fn leaf_cores(core: &Resource) -> Option<u32> {
    let plain = core.kind == "core" && core.with.is_empty() && core.label.as_ref().is_none_or(String::is_empty);
    if plain && is_sound(core) { fixed(&core.count) } else { None }
}

fn is_sound(resource: &Resource) -> bool {
    resource.exclusive != Some(false)
}

/// A count that is one number above 0.
fn fixed(count: &Count) -> Option<u32> {
    if !count.is_fixed() {
        return None;
    }
    u32::try_from(count.min()).ok().filter(|&count| count > 0)
}
