//! Objects as the hwloc library arranges them, and their logical ids.

use super::{Hwloc, Part, PartKind};

/// What an object is. Objects of equal kinds make up a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Machine,
    Package,
    Core,
    Pu,
    Group {
        depth: Option<u32>,
    },
    Cache {
        level: u8,
        instructions: bool,
    },
    NumaNode,
    MemoryCache,
    Gpu,
    Storage,
    OtherDevice,
    Io,
    /// Of the processor, but of no interest.
    Other,
}

impl Kind {
    fn role(self) -> Role {
        match self {
            Kind::NumaNode | Kind::MemoryCache => Role::Memory,
            Kind::Gpu | Kind::Storage | Kind::OtherDevice | Kind::Io => Role::Device,
            Kind::Machine
            | Kind::Package
            | Kind::Core
            | Kind::Pu
            | Kind::Group { .. }
            | Kind::Cache { .. }
            | Kind::Other => Role::Normal,
        }
    }

    /// Which of two kinds stays where one is enough; none if a kind always stays.
    fn may_go(self) -> Option<u8> {
        match self {
            Kind::Group { .. } => Some(0),
            Kind::Cache { instructions: true, .. } => Some(1),
            Kind::Cache { .. } => Some(2),
            _ => None,
        }
    }

    fn part(self) -> Option<PartKind> {
        Some(match self {
            Kind::Package => PartKind::Socket,
            Kind::Core => PartKind::Core,
            Kind::Pu => PartKind::Pu,
            Kind::Group { .. } => PartKind::Group,
            Kind::Cache { level: level @ 1..=3, instructions: false } => PartKind::Cache(level),
            Kind::NumaNode => PartKind::NumaNode,
            Kind::Gpu => PartKind::Gpu,
            Kind::Storage => PartKind::Storage,
            Kind::Machine | Kind::Cache { .. } | Kind::MemoryCache | Kind::OtherDevice | Kind::Io | Kind::Other => {
                return None;
            }
        })
    }
}

/// The three lists of children, in the order in which they are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Normal,
    Memory,
    Device,
}

pub(super) struct Object {
    kind: Kind,
    pub(super) size: Option<u64>,
    pub(super) device: Option<String>,
    /// The number that its name tells.
    pub(super) number: Option<i64>,
    logical: i64,
    parent: usize,
    /// By [`Role`].
    children: [Vec<usize>; 3],
}

impl Object {
    pub(super) fn new(kind: Kind) -> Self {
        let children = Default::default();
        Self { kind, size: Some(1), device: None, number: None, logical: 0, parent: 0, children }
    }
}

/// The objects of one machine, which is the first.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) host: Option<String>,
    objects: Vec<Object>,
}

impl Tree {
    pub(super) fn add(&mut self, mut object: Object, parent: Option<usize>) -> usize {
        let at = self.objects.len();
        if let Some(parent) = parent {
            object.parent = parent;
            self.objects[parent].children[object.kind.role() as usize].push(at);
        }
        self.objects.push(object);
        at
    }

    fn normal(&self, at: usize) -> &[usize] {
        &self.objects[at].children[Role::Normal as usize]
    }

    pub(super) fn finish(mut self) -> Hwloc {
        self.take_out_idle_levels();
        self.count();
        let mut root = Part { kind: PartKind::Group, id: 0, size: None, device: None, parts: Vec::new() };
        for child in self.children(0) {
            self.collect(child, &mut root.parts);
        }
        Hwloc { host: self.host, parts: root.parts }
    }

    fn children(&self, at: usize) -> impl Iterator<Item = usize> + use<> {
        self.objects[at].children.concat().into_iter()
    }

    /// The levels of the processor, from the machine down: each the objects of one kind that are not below others of
    /// their kind.
    fn levels(&self) -> Vec<Vec<usize>> {
        let mut levels = vec![vec![0]];
        let mut open = self.normal(0).to_vec();
        while let Some(top) = self.topmost(&open) {
            let kind = self.objects[top].kind;
            let level = open.iter().copied().filter(|&at| self.objects[at].kind == kind).collect();
            // Children stand where their parents stood.
            let below = |&at: &usize| if self.objects[at].kind == kind { self.normal(at).to_vec() } else { vec![at] };
            open = open.iter().flat_map(below).collect();
            levels.push(level);
        }
        levels
    }

    /// An object of the kind that comes next: not below one of another kind.
    fn topmost(&self, open: &[usize]) -> Option<usize> {
        let not_pu = open.iter().copied().find(|&at| self.objects[at].kind != Kind::Pu);
        let mut top = not_pu.or(open.first().copied())?;
        let mut asked = vec![self.objects[top].kind];
        for &at in open {
            let kind = self.objects[at].kind;
            if !asked.contains(&kind) {
                asked.push(kind);
                if self.is_above(at, self.objects[top].kind) {
                    top = at;
                }
            }
        }
        Some(top)
    }

    fn is_above(&self, at: usize, kind: Kind) -> bool {
        let mut open = self.normal(at).to_vec();
        while let Some(at) = open.pop() {
            if self.objects[at].kind == kind {
                return true;
            }
            open.extend(self.normal(at));
        }
        false
    }

    /// Takes out groups and caches where each of them has, or is, a single child. From the bottom.
    fn take_out_idle_levels(&mut self) {
        let mut levels = self.levels();
        let mut i = levels.len();
        while i > 1 {
            i -= 1;
            let (upper, lower) = (&levels[i - 1], &levels[i]);
            let one_to_one =
                upper.len() == lower.len() && upper.iter().zip(lower).all(|(&u, &l)| self.normal(u) == [l]);
            let (above, below) = (self.objects[upper[0]].kind.may_go(), self.objects[lower[0]].kind.may_go());
            let upper_goes = match (above, below) {
                (Some(above), Some(below)) => above < below,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => continue,
            };
            if !one_to_one {
                continue;
            }
            let pairs: Vec<(usize, usize)> = upper.iter().copied().zip(lower.iter().copied()).collect();
            for (upper, lower) in pairs {
                if upper_goes {
                    self.put_lower_for_upper(upper, lower);
                } else {
                    self.merge_into_upper(upper, lower);
                }
            }
            levels.remove(if upper_goes { i - 1 } else { i });
        }
    }

    fn put_lower_for_upper(&mut self, upper: usize, lower: usize) {
        for role in [Role::Memory, Role::Device] {
            let mut moved = std::mem::take(&mut self.objects[upper].children[role as usize]);
            for &child in &moved {
                self.objects[child].parent = lower;
            }
            moved.append(&mut self.objects[lower].children[role as usize]);
            self.objects[lower].children[role as usize] = moved;
        }
        let above = self.objects[upper].parent;
        self.objects[lower].parent = above;
        for child in &mut self.objects[above].children[Role::Normal as usize] {
            if *child == upper {
                *child = lower;
            }
        }
    }

    fn merge_into_upper(&mut self, upper: usize, lower: usize) {
        self.objects[upper].children[Role::Normal as usize].clear();
        for role in [Role::Normal, Role::Memory, Role::Device] {
            let mut moved = std::mem::take(&mut self.objects[lower].children[role as usize]);
            for &child in &moved {
                self.objects[child].parent = upper;
            }
            self.objects[upper].children[role as usize].append(&mut moved);
        }
    }

    /// Gives logical ids.
    fn count(&mut self) {
        for level in self.levels() {
            for (id, at) in level.into_iter().enumerate() {
                self.objects[at].logical = id as i64;
            }
        }
        let (mut memories, mut devices) = (0, 0);
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            let counter = match self.objects[at].kind {
                Kind::NumaNode => Some(&mut memories),
                Kind::Gpu | Kind::Storage | Kind::OtherDevice => Some(&mut devices),
                _ => None,
            };
            if let Some(counter) = counter {
                self.objects[at].logical = *counter;
                *counter += 1;
            }
            let [normal, memory, device] = &self.objects[at].children;
            open.extend(memory.iter().chain(normal).chain(device).rev());
        }
    }

    /// Adds an object, or what is in it if it is of no interest. As deep as the XML is nested, and one per NUMA node.
    fn collect(&self, at: usize, parts: &mut Vec<Part>) {
        let object = &self.objects[at];
        let Some(kind) = object.kind.part() else {
            for child in self.children(at) {
                self.collect(child, parts);
            }
            return;
        };
        let id = object.number.unwrap_or(object.logical);
        let mut part = Part { kind, id, size: object.size, device: object.device.clone(), parts: Vec::new() };
        for child in self.children(at) {
            self.collect(child, &mut part.parts);
        }
        parts.push(part);
    }
}
