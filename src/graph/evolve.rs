//! New versions of a graph: what is added, what is taken away, and where the rest went.

use super::build::{Builder, Built, Draft, DraftTarget, Numbering, Record};
use super::names::{KindId, SubsystemId, Symbol};
use super::ranks::Ranks;
use super::store::{Graph, NONE};
use super::{GraphError, Properties};
use crate::base::{FastMap, FastSet, TargetSet, VertexId};
use std::collections::VecDeque;

/// Where the vertices of one version are in the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VertexMap {
    new: Vec<u32>,
}

impl VertexMap {
    /// The number of a vertex in the new version; none if it was taken away, or was never there.
    #[inline]
    pub fn get(&self, old: VertexId) -> Option<VertexId> {
        let new = *self.new.get(old.index())?;
        (new != NONE).then_some(VertexId(new))
    }

    /// All vertices of the old version with their numbers in the new one, ascending by both.
    pub fn iter(&self) -> impl Iterator<Item = (VertexId, Option<VertexId>)> + '_ {
        (0..self.new.len() as u32).map(|old| (VertexId(old), self.get(VertexId(old))))
    }

    /// Whether every vertex kept its number.
    pub fn is_identity(&self) -> bool {
        self.new.iter().enumerate().all(|(old, &new)| old as u32 == new)
    }

    /// How many vertices the old version had.
    pub fn len(&self) -> usize {
        self.new.len()
    }

    /// Whether the old version had none.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty()
    }
}

/// A graph with another laid over it.
#[derive(Clone, Debug)]
pub struct Extended {
    /// The new version.
    pub graph: Graph,
    /// From the version before to the new one; nothing is missing.
    pub old: VertexMap,
    /// From the graph that was laid over to the new version; nothing is missing.
    pub added: VertexMap,
}

impl Extended {
    /// The properties of `addition`, the graph that was laid over, by the numbers that its targets have now.
    pub fn translate(&self, addition: &Graph, properties: &Properties) -> Properties {
        let number = |id| self.graph.target_of(self.added.get(addition.target(id)?.vertex)?);
        let mut translated = Properties::new();
        for (name, targets) in properties.iter() {
            translated.set_all(name, &targets.iter().filter_map(number).collect());
        }
        translated
    }
}

impl Graph {
    /// A new version with another graph laid over this one. `addition` may be built from R, JGF or text.
    ///
    /// Trees are compared from the top: a vertex of `addition` is one of this graph if both have the same containing
    /// vertex, kind, name and rank (or were given none); else it is added after the children that are there. Siblings that
    /// are alike are paired in order. Two single roots of one kind are the same vertex whatever they are called,
    /// since R always says `cluster0`. Of vertices that are there nothing changes; a target may gain vertices. New
    /// targets get new numbers in depth-first order, and ranks if they were given none. Edges of other subsystems and vertices outside containment are
    /// added where they are new; of the latter kind and name decide.
    ///
    /// # Errors
    /// [`GraphError::DuplicateRank`] where a new target has the rank of another, [`GraphError::NestedTarget`],
    /// [`GraphError::TooManyVertices`], [`GraphError::SizeOverflow`].
    pub fn extend(&self, addition: &Graph) -> Result<Extended, GraphError> {
        self.extend_with(addition, false)
    }

    /// As [`Graph::extend`], but a new vertex that would be a target with the rank of one that is there becomes no
    /// target. It keeps its [given rank](Graph::given_rank).
    ///
    /// # Errors
    /// As [`Graph::extend`], but for that.
    pub fn extend_sharing_ranks(&self, addition: &Graph) -> Result<Extended, GraphError> {
        self.extend_with(addition, true)
    }

    fn extend_with(&self, addition: &Graph, share_ranks: bool) -> Result<Extended, GraphError> {
        let mut builder = self.copy_without(&|_| false)?.0;
        let images = overlay(self, addition, &mut builder)?;
        self.number_added(addition, &images, &mut builder);
        let known: FastSet<(u32, u32, SubsystemId)> = builder.edges.iter().copied().collect();
        for (from, to, subsystem) in addition.edges_beside_tree() {
            let subsystem = builder.names.subsystem(addition.subsystem_name(subsystem));
            let edge = (images[from.index()], images[to.index()], subsystem);
            if !known.contains(&edge) {
                builder.edges.push(edge);
            }
        }
        for (&(v, subsystem), path) in &addition.paths {
            let image = images[v.index()];
            if image as usize >= self.len() {
                let subsystem = builder.names.subsystem(addition.subsystem_name(subsystem));
                builder.paths.push((image, subsystem, path.clone()));
            }
        }
        let ranks =
            |graph: &Graph| graph.targets_in_order().iter().filter_map(|&id| Some(graph.target(id)?.rank)).max();
        let mut free_rank = ranks(self).max(ranks(addition)).map_or(0, |most| most.saturating_add(1));
        for target in addition.targets_in_order().iter().filter_map(|&id| addition.target(id)) {
            let draft = images[target.vertex.index()];
            let given = addition.given_rank(target.vertex) >= 0;
            let shared = share_ranks && given && self.target_by_rank(target.rank).is_some();
            if draft as usize >= self.len() && !shared {
                let mut rank = target.rank;
                if !given {
                    rank = free_rank;
                    free_rank = free_rank.saturating_add(1);
                }
                builder.targets.push(DraftTarget { draft, rank, host: target.host.clone(), id: None });
            }
        }
        let Built { mut graph, places } = builder.finish()?;
        let old = VertexMap { new: places[..self.len()].iter().map(|v| v.0).collect() };
        let added = VertexMap { new: images.iter().map(|&draft| places[draft as usize].0).collect() };
        let kept = self.vertices().map(|v| (VertexId(old.new[v.index()]), self.given_rank(v)));
        let came = addition.vertices().zip(&images).filter(|(_, draft)| **draft as usize >= self.len());
        let came = came.map(|(v, &draft)| (places[draft as usize], addition.given_rank(v)));
        graph.ranks = Ranks::of(&graph, kept.chain(came));
        Ok(Extended { graph, old, added })
    }

    /// A new version without some targets and all that is in them. What contained them stays, even if nothing is
    /// left in it. Targets that this version does not have are passed over.
    pub fn without(&self, gone: &TargetSet) -> (Graph, VertexMap) {
        self.without_where(&|v| self.target_of(v).is_some_and(|id| gone.contains(id)))
    }

    /// A new version without some vertices and all that is in them.
    pub fn without_subtrees(&self, roots: &[VertexId]) -> (Graph, VertexMap) {
        self.without_where(&|v| roots.iter().any(|&root| self.is_in(v, root)))
    }

    /// A new version without the vertices of which `gone` is true, which is true too of what is in them.
    fn without_where(&self, gone: &dyn Fn(VertexId) -> bool) -> (Graph, VertexMap) {
        let removed = self.copy_without(gone).and_then(|(builder, new)| Ok((builder.finish()?, new)));
        match removed {
            Ok((Built { mut graph, places }, drafts)) => {
                let place = |draft: u32| if draft == NONE { NONE } else { places[draft as usize].0 };
                let map = VertexMap { new: drafts.into_iter().map(place).collect() };
                let ranks = self.vertices().filter_map(|v| Some((map.get(v)?, self.given_rank(v))));
                graph.ranks = Ranks::of(&graph, ranks);
                (graph, map)
            }
            // Less of a valid graph is a valid graph.
            Err(error) => unreachable!("{error}"),
        }
    }

    /// New vertices keep the numbers of their own graph if that was given some, else they get the next free ones.
    fn number_added(&self, addition: &Graph, images: &[u32], builder: &mut Builder) {
        let drafts = builder.len();
        let Numbering::Given(numbers) = &mut builder.numbering else { return };
        let first_free = numbers.iter().max().map_or(0, |most| most.saturating_add(1));
        let has_own = !addition.uniq_at.is_place();
        let base = numbers.len() as i64;
        numbers.resize(drafts, 0);
        for (v, &draft) in addition.vertices().zip(images).filter(|(_, draft)| i64::from(**draft) >= base) {
            let next = first_free.saturating_add(i64::from(draft) - base);
            numbers[draft as usize] = if has_own { addition.uniq_id(v) } else { next };
        }
    }

    /// A builder of the next version with all vertices but some, and the drafts of all vertices.
    fn copy_without(&self, gone: &dyn Fn(VertexId) -> bool) -> Result<(Builder, Vec<u32>), GraphError> {
        let mut builder = Builder::with_names(self.names.clone());
        builder.version = self.version + 1;
        builder.target_bound = self.target_bound;
        builder.reserve(self.len())?;
        let mut drafts = vec![NONE; self.len()];
        let mut numbers = Vec::with_capacity(self.len());
        for v in self.vertices().filter(|&v| !gone(v)) {
            let look = self.look(v);
            let record = Record {
                id: self.id_at.get(v.index()),
                basename: look.basename,
                name: self.named.get(v).copied().unwrap_or(Symbol::EMPTY),
                unit: look.unit,
                properties: self.pairs.get(v).cloned(),
            };
            let draft = builder.add_unlinked(Draft { kind: look.kind, size: look.size, record })?;
            if self.is_contained(v) {
                builder.link(draft, self.parent(v).map(|parent| drafts[parent.index()]));
            } else {
                builder.leave_loose(draft);
            }
            drafts[v.index()] = draft;
            numbers.push(self.uniq_id(v));
        }
        builder.numbering = Numbering::Given(numbers);
        for (from, to, subsystem) in self.edges_beside_tree() {
            let (from, to) = (drafts[from.index()], drafts[to.index()]);
            if from != NONE && to != NONE {
                builder.edges.push((from, to, subsystem));
            }
        }
        for (&(v, subsystem), path) in &self.paths {
            if drafts[v.index()] != NONE {
                builder.paths.push((drafts[v.index()], subsystem, path.clone()));
            }
        }
        for target in self.targets_in_order().iter().filter_map(|&id| self.target(id)) {
            let draft = drafts[target.vertex.index()];
            if draft != NONE {
                let id = Some(target.id);
                builder.targets.push(DraftTarget { draft, rank: target.rank, host: target.host.clone(), id });
            }
        }
        Ok((builder, drafts))
    }
}

/// What a vertex is looked up by among its siblings: kind, name, rank of a target.
type Key = (KindId, String, Option<u32>);

fn key_of(graph: &Graph, v: VertexId, kind: KindId) -> Key {
    let target = graph.target_of(v).and_then(|id| graph.target(id)).filter(|target| target.vertex == v);
    let target = target.filter(|_| graph.given_rank(v) >= 0);
    (kind, graph.vertex(v).name().into_owned(), target.map(|target| target.rank))
}

/// Adds the vertices of `addition` that `base`, which `builder` holds in order, does not have. Gives the draft of each
/// vertex of `addition`.
fn overlay(base: &Graph, addition: &Graph, builder: &mut Builder) -> Result<Vec<u32>, GraphError> {
    let mut images = vec![NONE; addition.len()];
    let mut siblings: FastMap<u32, FastMap<Key, VecDeque<VertexId>>> = FastMap::default();
    let single = |graph: &Graph| {
        let mut roots = graph.roots();
        roots.next().filter(|_| roots.next().is_none())
    };
    let same_root = single(base).zip(single(addition)).filter(|&(a, b)| {
        base.kind_name(base.kind(a)) == addition.kind_name(addition.kind(b))
            && base.target_of(a).is_none()
            && addition.target_of(b).is_none()
    });
    for v in addition.vertices() {
        let draft = translate(addition, v, builder);
        let parent = addition.parent(v).map(|parent| images[parent.index()]);
        // Below a new vertex everything is new.
        let may_be_there = parent.is_none_or(|parent| (parent as usize) < base.len());
        let there = match same_root {
            Some((root, other)) if other == v => Some(root),
            _ if !may_be_there => None,
            _ => {
                // Loose vertices are siblings of each other.
                let slot = if addition.is_contained(v) { parent.unwrap_or(NONE) } else { NONE - 1 };
                let known = siblings.entry(slot).or_insert_with(|| siblings_of(base, slot));
                known.get_mut(&key_of(addition, v, draft.kind)).and_then(VecDeque::pop_front)
            }
        };
        images[v.index()] = match there {
            Some(w) => w.0,
            None if addition.is_contained(v) => builder.add(draft, parent)?,
            None => {
                let draft = builder.add_unlinked(draft)?;
                builder.leave_loose(draft);
                draft
            }
        };
    }
    Ok(images)
}

fn siblings_of(base: &Graph, slot: u32) -> FastMap<Key, VecDeque<VertexId>> {
    let mut known: FastMap<Key, VecDeque<VertexId>> = FastMap::default();
    let mut add = |v: VertexId| {
        known.entry(key_of(base, v, base.kind(v))).or_default().push_back(v);
    };
    match slot {
        NONE => base.roots().for_each(&mut add),
        loose if loose == NONE - 1 => base.vertices().filter(|&v| !base.is_contained(v)).for_each(&mut add),
        parent => base.children(VertexId(parent)).for_each(&mut add),
    }
    known
}

/// A vertex of one graph in the words of another.
fn translate(from: &Graph, v: VertexId, builder: &mut Builder) -> Draft {
    let vertex = from.vertex(v);
    let kind = builder.names.kind(from.kind_name(vertex.kind()));
    let basename = builder.names.symbol(vertex.basename());
    let mut draft = Draft::new(kind, basename, vertex.id());
    draft.size = vertex.size();
    draft.record.unit = builder.names.symbol(vertex.unit());
    if let Some(name) = from.named.get(v) {
        draft.record.name = builder.names.symbol(from.names.symbols.text(name.0));
    }
    draft.record.properties = from.pairs.get(v).cloned();
    draft
}
