//! The graph itself and the index of its containment tree.
//!
//! A structure of arrays in depth-first order: what a vertex is (its *look*: kind, basename, size, unit), its logical
//! id, the vertex above it, the end of what is below it, its target. Vertices that are alike share one look, so a vertex
//! costs 24 bytes, and 4 more where the input numbers vertices otherwise than by place. Names, pairs and paths that do
//! not follow from these are kept apart for the vertices that have them.

use super::beside::{Beside, Sparse};
use super::names::{KindId, Names, SubsystemId, Symbol};
use super::numbers::Numbers;
use super::ranks::Ranks;
use super::target::Targets;
use crate::base::VertexId;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Stands for "no vertex" and "no target" in dense arrays.
pub(super) const NONE: u32 = u32::MAX;

/// What vertices that are alike have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Look {
    pub(super) kind: KindId,
    pub(super) basename: Symbol,
    pub(super) unit: Symbol,
    pub(super) size: u64,
}

/// Name and value pairs of the input.
pub(super) type Pairs = Arc<BTreeMap<String, String>>;

/// The sums of the sizes before each vertex of a kind.
#[derive(Clone)]
pub(super) enum Sums {
    /// All sizes are this.
    Equal(u64),
    /// One longer than the list of vertices.
    Listed(Vec<u64>),
}

/// The vertices of one kind, in depth-first order.
#[derive(Clone)]
pub(super) struct KindIndex {
    pub(super) vertices: Vec<VertexId>,
    pub(super) sums: Sums,
}

/// One version of the resource graph. Immutable; see the module for its invariants.
#[derive(Clone)]
pub struct Graph {
    pub(super) version: u64,
    pub(super) names: Names,
    pub(super) looks: Vec<Look>,
    pub(super) look_at: Vec<u32>,
    pub(super) id_at: Numbers,
    pub(super) parent_at: Vec<u32>,
    pub(super) end_at: Vec<u32>,
    pub(super) target_at: Vec<u32>,
    pub(super) uniq_at: Numbers,
    pub(super) ranks: Ranks,
    /// Names that are not the basename followed by the id.
    pub(super) named: Sparse<Symbol>,
    pub(super) pairs: Sparse<Pairs>,
    pub(super) by_kind: Vec<KindIndex>,
    /// Vertices from here on are in no containment tree.
    pub(super) contained: u32,
    pub(super) beside: Beside,
    /// Paths that differ from names joined with slashes, and all of other subsystems.
    pub(super) paths: BTreeMap<(VertexId, SubsystemId), Arc<str>>,
    pub(super) targets: Targets,
    pub(super) target_bound: u32,
}

/// The range of `sorted` that lies in `range`.
#[inline]
pub(super) fn slice_in(sorted: &[VertexId], range: Range<u32>) -> Range<usize> {
    let start = sorted.partition_point(|v| v.0 < range.start);
    // No more of them than there are numbers in the range.
    let most = sorted.len().min(start + range.len());
    start..start + sorted[start..most].partition_point(|v| v.0 < range.end)
}

impl Graph {
    /// Counts the versions: 0 for a graph as built, one more for each change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.look_at.len()
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.look_at.is_empty()
    }

    /// All vertices in depth-first order. Those in no containment tree come last, each on its own.
    pub fn vertices(&self) -> impl DoubleEndedIterator<Item = VertexId> + ExactSizeIterator + use<> {
        (0..self.look_at.len() as u32).map(VertexId)
    }

    /// The vertices at the top of containment trees, in order; mostly one.
    pub fn roots(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.siblings(0, self.contained)
    }

    /// Whether a vertex is in the containment tree; others are only in other subsystems.
    pub fn is_contained(&self, v: VertexId) -> bool {
        v.0 < self.contained
    }

    /// The attributes of a vertex.
    ///
    /// # Panics
    /// Like indexing, here and below, for a vertex of another graph that is out of range.
    pub fn vertex(&self, v: VertexId) -> Vertex<'_> {
        Vertex { graph: self, look: self.look(v), at: v }
    }

    #[inline]
    pub(super) fn look(&self, v: VertexId) -> &Look {
        &self.looks[self.look_at[v.index()] as usize]
    }

    /// The kind of a vertex.
    #[inline]
    pub fn kind(&self, v: VertexId) -> KindId {
        self.look(v).kind
    }

    /// The size of a vertex, in its unit: how much of it there is to give.
    #[inline]
    pub fn size(&self, v: VertexId) -> u64 {
        self.look(v).size
    }

    /// The numbers of the vertex and all below it.
    #[inline]
    pub fn subtree(&self, v: VertexId) -> Range<u32> {
        v.0..self.end_at[v.index()]
    }

    /// The vertex that contains this one.
    #[inline]
    pub fn parent(&self, v: VertexId) -> Option<VertexId> {
        let raw = self.parent_at[v.index()];
        (raw != NONE).then_some(VertexId(raw))
    }

    /// The vertices that contain this one, the nearest first.
    pub fn ancestors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        std::iter::successors(self.parent(v), |&v| self.parent(v))
    }

    /// What the vertex contains directly, in the order of the input. Costs one step per child.
    pub fn children(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.siblings(v.0 + 1, self.end_at[v.index()])
    }

    fn siblings(&self, start: u32, end: u32) -> impl Iterator<Item = VertexId> + '_ {
        let mut next = start;
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let v = VertexId(next);
                next = self.end_at[v.index()];
                v
            })
        })
    }

    /// How many vertices contain this one. Costs a step for each.
    pub fn depth(&self, v: VertexId) -> u32 {
        self.ancestors(v).count() as u32
    }

    /// Whether `v` is `above` or below it.
    #[inline]
    pub fn is_in(&self, v: VertexId, above: VertexId) -> bool {
        self.subtree(above).contains(&v.0)
    }

    /// One past the largest [`KindId`].
    pub fn kind_bound(&self) -> usize {
        self.names.kinds.len()
    }

    /// All kinds that the graph has words for, well-known ones first.
    pub fn kinds(&self) -> impl Iterator<Item = KindId> + use<> {
        (0..self.names.kinds.len() as u32).map(KindId)
    }

    /// The number of a kind, if the graph knows the word.
    pub fn kind_id(&self, name: &str) -> Option<KindId> {
        self.names.kinds.find(name).map(KindId)
    }

    /// The word of a kind.
    pub fn kind_name(&self, kind: KindId) -> &str {
        self.names.kinds.text(kind.0)
    }

    fn kind_index(&self, kind: KindId) -> Option<&KindIndex> {
        self.by_kind.get(kind.index())
    }

    /// All vertices of a kind, in depth-first order.
    pub fn of_kind(&self, kind: KindId) -> &[VertexId] {
        self.kind_index(kind).map_or(&[], |index| &index.vertices)
    }

    /// The vertices of a kind at and below `v`, in depth-first order. Two binary searches.
    pub fn of_kind_in(&self, v: VertexId, kind: KindId) -> &[VertexId] {
        let all = self.of_kind(kind);
        &all[slice_in(all, self.subtree(v))]
    }

    /// How many vertices of a kind there are at and below `v`. Two binary searches.
    pub fn count_in(&self, v: VertexId, kind: KindId) -> u64 {
        self.of_kind_in(v, kind).len() as u64
    }

    /// The sum of the sizes of the vertices of a kind at and below `v`. Two binary searches.
    pub fn size_in(&self, v: VertexId, kind: KindId) -> u64 {
        let Some(index) = self.kind_index(kind) else { return 0 };
        let range = slice_in(&index.vertices, self.subtree(v));
        match &index.sums {
            Sums::Listed(sums) => sums[range.end] - sums[range.start],
            // The sum over all was looked at when the graph was built.
            Sums::Equal(size) => size * range.len() as u64,
        }
    }

    /// The number of a subsystem, if the graph knows the word.
    pub fn subsystem_id(&self, name: &str) -> Option<SubsystemId> {
        self.names.subsystems.find(name).map(SubsystemId)
    }

    /// The word of a subsystem.
    pub fn subsystem_name(&self, subsystem: SubsystemId) -> &str {
        self.names.subsystems.text(subsystem.0)
    }

    /// All subsystems, containment first.
    pub fn subsystems(&self) -> impl Iterator<Item = SubsystemId> + use<> {
        (0..self.names.subsystems.len() as u32).map(SubsystemId)
    }

    /// The path of a vertex in the containment tree: names joined with slashes, unless the input said otherwise.
    pub fn path(&self, v: VertexId) -> String {
        let mut names = Vec::new();
        let mut prefix = "";
        for above in std::iter::once(v).chain(self.ancestors(v)) {
            if let Some(path) = self.paths.get(&(above, SubsystemId::CONTAINMENT)) {
                prefix = path;
                break;
            }
            names.push(self.vertex(above).name());
        }
        let mut path = prefix.to_owned();
        for name in names.iter().rev() {
            path.push('/');
            path.push_str(name);
        }
        path
    }

    /// Whether the path of a vertex is its names joined with slashes.
    pub(super) fn has_plain_path(&self, v: VertexId) -> bool {
        self.paths.is_empty()
            || std::iter::once(v)
                .chain(self.ancestors(v))
                .all(|v| !self.paths.contains_key(&(v, SubsystemId::CONTAINMENT)))
    }

    /// The path of a vertex in another subsystem, if the input gave one.
    pub fn path_in(&self, v: VertexId, subsystem: SubsystemId) -> Option<Cow<'_, str>> {
        match self.paths.get(&(v, subsystem)) {
            Some(path) => Some(Cow::Borrowed(path)),
            None if subsystem == SubsystemId::CONTAINMENT && self.is_contained(v) => Some(Cow::Owned(self.path(v))),
            None => None,
        }
    }

    /// The first vertex with this path in the containment tree. Costs a step per sibling on the way.
    pub fn by_path(&self, path: &str) -> Option<VertexId> {
        self.all_by_path(path).first().copied()
    }

    /// All vertices with this path in the containment tree, in order: several where siblings have one name.
    pub fn all_by_path(&self, path: &str) -> Vec<VertexId> {
        let mut open: Vec<(VertexId, &str)> = Vec::new();
        for (&(v, subsystem), given) in &self.paths {
            if subsystem == SubsystemId::CONTAINMENT
                && let Some(rest) = path.strip_prefix(&**given)
            {
                open.push((v, rest));
            }
        }
        let children = |above: Option<VertexId>, rest| -> Vec<(VertexId, &str)> {
            let below: Box<dyn Iterator<Item = VertexId>> = match above {
                Some(v) => Box::new(self.children(v)),
                None => Box::new(self.roots()),
            };
            below
                .filter(|v| !self.paths.contains_key(&(*v, SubsystemId::CONTAINMENT)))
                .filter_map(|v| Some((v, self.vertex(v).strip_name(rest)?)))
                .collect()
        };
        if let Some(rest) = path.strip_prefix('/') {
            open.extend(children(None, rest));
        }
        let mut found = Vec::new();
        while let Some((v, rest)) = open.pop() {
            if rest.is_empty() {
                found.push(v);
            } else if let Some(rest) = rest.strip_prefix('/') {
                open.extend(children(Some(v), rest));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("version", &self.version)
            .field("vertices", &self.len())
            .field("targets", &self.targets.all)
            .finish_non_exhaustive()
    }
}

/// The attributes of one vertex.
#[derive(Clone, Copy)]
pub struct Vertex<'g> {
    graph: &'g Graph,
    look: &'g Look,
    at: VertexId,
}

impl<'g> Vertex<'g> {
    /// The kind.
    pub fn kind(&self) -> KindId {
        self.look.kind
    }

    /// The name without its number; mostly the word of the kind.
    pub fn basename(&self) -> &'g str {
        self.graph.names.symbols.text(self.look.basename.0)
    }

    /// The name: the host name of a node, else mostly the basename followed by the id.
    pub fn name(&self) -> Cow<'g, str> {
        match self.graph.named.get(self.at) {
            Some(name) => Cow::Borrowed(self.graph.names.symbols.text(name.0)),
            None => Cow::Owned(format!("{}{}", self.basename(), self.id())),
        }
    }

    /// What follows the name at the start of a path.
    fn strip_name<'p>(&self, path: &'p str) -> Option<&'p str> {
        match self.graph.named.get(self.at) {
            Some(name) => path.strip_prefix(&**self.graph.names.symbols.text(name.0)),
            None => strip_number(path.strip_prefix(self.basename())?, self.id()),
        }
    }

    /// The logical id.
    pub fn id(&self) -> i64 {
        self.graph.id_at.get(self.at.index())
    }

    /// How much there is, in units.
    pub fn size(&self) -> u64 {
        self.look.size
    }

    /// The unit of the size; often empty.
    pub fn unit(&self) -> &'g str {
        self.graph.names.symbols.text(self.look.unit.0)
    }

    /// The rank of the target that the vertex is or is inside of.
    pub fn rank(&self) -> Option<u32> {
        self.graph.target_of(self.at).and_then(|id| self.graph.target(id)).map(|target| target.rank)
    }

    /// Name and value pairs of the input. What constraints ask for stands in [`super::Properties`].
    pub fn properties(&self) -> &'g BTreeMap<String, String> {
        static NO_PROPERTIES: BTreeMap<String, String> = BTreeMap::new();
        self.graph.pairs.get(self.at).map_or(&NO_PROPERTIES, |pairs| pairs)
    }

    /// The path in the containment tree.
    pub fn path(&self) -> String {
        self.graph.path(self.at)
    }
}

/// What follows the digits of `number` at the start of a text, if it has no more digits.
fn strip_number(text: &str, number: i64) -> Option<&str> {
    let sign = usize::from(text.starts_with('-'));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let (written, rest) = text.split_at(sign + digits);
    let plain = !(written[sign..].starts_with('0') && (digits > 1 || sign == 1));
    (plain && written.parse() == Ok(number)).then_some(rest)
}
