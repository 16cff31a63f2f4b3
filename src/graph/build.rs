//! From drafts in any order to a graph in depth-first order. All ways to make a graph end here.

use super::GraphError;
use super::beside::{Beside, Sparse};
use super::install::install_targets;
use super::names::{KindId, Names, SubsystemId, Symbol};
use super::numbers::Numbers;
use super::ranks::Ranks;
use super::store::{Graph, KindIndex, Look, NONE, Pairs, Sums};
use super::target::Targets;
use crate::base::{FastMap, TargetId, VertexId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most vertices that a graph takes: a million nodes of 64 parts, some forty times the largest machine today.
pub(super) const MAX_VERTICES: usize = 1 << 26;

/// A vertex before it has a place.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) kind: KindId,
    pub(super) size: u64,
    pub(super) record: Record,
}

/// What is said of a vertex by itself.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) id: i64,
    pub(super) basename: Symbol,
    /// Empty: the basename followed by the id.
    pub(super) name: Symbol,
    pub(super) unit: Symbol,
    pub(super) properties: Option<Pairs>,
}

impl Draft {
    /// A vertex of size 1 called after its kind and id.
    pub(super) fn new(kind: KindId, basename: Symbol, id: i64) -> Self {
        let record = Record { id, basename, name: Symbol::EMPTY, unit: Symbol::EMPTY, properties: None };
        Self { kind, size: 1, record }
    }
}

/// A target before its vertex has a place.
#[derive(Clone, Debug)]
pub(super) struct DraftTarget {
    pub(super) draft: u32,
    pub(super) rank: u32,
    pub(super) host: Arc<str>,
    /// Its number, if it had one already.
    pub(super) id: Option<TargetId>,
}

/// Where the numbers of vertices come from that [`Graph::uniq_id`] tells.
#[derive(Clone, Debug, Default)]
pub(super) enum Numbering {
    /// Their places.
    #[default]
    Place,
    /// The order of the drafts.
    Draft,
    /// One for each draft.
    Given(Vec<i64>),
}

/// The looks of vertices by number, and numbers by look.
#[derive(Default)]
pub(super) struct Looks {
    pub(super) all: Vec<Look>,
    index: FastMap<Look, u32>,
    last: u32,
}

impl Looks {
    pub(super) fn number(&mut self, look: Look) -> u32 {
        // Mostly a vertex looks like the one before.
        if self.all.get(self.last as usize) != Some(&look) {
            self.last = *self.index.entry(look).or_insert(self.all.len() as u32);
            if self.last as usize == self.all.len() {
                self.all.push(look);
            }
        }
        self.last
    }
}

/// Collects vertices, edges and targets in any order.
pub(super) struct Builder {
    pub(super) names: Names,
    looks: Looks,
    look_of: Vec<u32>,
    ids: Numbers,
    /// By draft, ascending.
    named: Vec<(u32, Symbol)>,
    pairs: Vec<(u32, Pairs)>,
    pub(super) parents: Vec<u32>,
    /// Contained drafts in the order in which siblings are to stand.
    links: Vec<u32>,
    /// Drafts that are in no containment tree, in order.
    loose: Vec<u32>,
    /// Edges of other subsystems, and those of containment that are not in the tree.
    pub(super) edges: Vec<(u32, u32, SubsystemId)>,
    pub(super) paths: Vec<(u32, SubsystemId, Arc<str>)>,
    pub(super) targets: Vec<DraftTarget>,
    pub(super) numbering: Numbering,
    pub(super) version: u64,
    pub(super) target_bound: u32,
}

/// The finished graph and where each draft went.
pub(super) struct Built {
    pub(super) graph: Graph,
    pub(super) places: Vec<VertexId>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self::with_names(Names::new())
    }

    pub(super) fn with_names(names: Names) -> Self {
        Self {
            names,
            looks: Looks::default(),
            look_of: Vec::new(),
            ids: Numbers::with_capacity(0),
            named: Vec::new(),
            pairs: Vec::new(),
            parents: Vec::new(),
            links: Vec::new(),
            loose: Vec::new(),
            edges: Vec::new(),
            paths: Vec::new(),
            targets: Vec::new(),
            numbering: Numbering::Place,
            version: 0,
            target_bound: 0,
        }
    }

    /// Makes room for so many vertices, or refuses them before any work is done.
    pub(super) fn reserve(&mut self, vertices: usize) -> Result<(), GraphError> {
        if vertices > MAX_VERTICES {
            return Err(GraphError::TooManyVertices { limit: MAX_VERTICES });
        }
        self.look_of.reserve(vertices);
        self.ids.reserve(vertices);
        self.parents.reserve(vertices);
        self.links.reserve(vertices);
        Ok(())
    }

    /// How many vertices there are.
    pub(super) fn len(&self) -> usize {
        self.look_of.len()
    }

    /// Adds a vertex that is not linked yet.
    pub(super) fn add_unlinked(&mut self, draft: Draft) -> Result<u32, GraphError> {
        if self.len() >= MAX_VERTICES {
            return Err(GraphError::TooManyVertices { limit: MAX_VERTICES });
        }
        let number = self.len() as u32;
        let Draft { kind, size, record: Record { id, basename, name, unit, properties } } = draft;
        self.look_of.push(self.looks.number(Look { kind, basename, unit, size }));
        self.ids.push(id);
        if name != Symbol::EMPTY {
            self.named.push((number, name));
        }
        if let Some(properties) = properties {
            self.pairs.push((number, properties));
        }
        self.parents.push(NONE);
        Ok(number)
    }

    /// Puts a draft after the children that `parent` has; at the top if that is none.
    pub(super) fn link(&mut self, draft: u32, parent: Option<u32>) {
        self.parents[draft as usize] = parent.unwrap_or(NONE);
        self.links.push(draft);
    }

    /// Leaves a draft outside containment.
    pub(super) fn leave_loose(&mut self, draft: u32) {
        self.loose.push(draft);
    }

    /// Adds a vertex below another, or at the top.
    pub(super) fn add(&mut self, draft: Draft, parent: Option<u32>) -> Result<u32, GraphError> {
        let number = self.add_unlinked(draft)?;
        self.link(number, parent);
        Ok(number)
    }

    /// Calls a vertex `name`, unless its basename and id say so already.
    pub(super) fn set_name(&mut self, record: &mut Record, name: &str) {
        let basename = self.names.symbols.text(record.basename.0);
        let plain = name.strip_prefix(&**basename).is_some_and(|digits| digits == record.id.to_string());
        record.name = if plain { Symbol::EMPTY } else { self.names.symbol(name) };
    }

    pub(super) fn name_of(&self, draft: u32) -> String {
        match self.named.binary_search_by_key(&draft, |&(draft, _)| draft) {
            Ok(at) => self.names.symbols.text(self.named[at].1.0).to_string(),
            Err(_) => {
                let look = self.looks.all[self.look_of[draft as usize] as usize];
                format!("{}{}", self.names.symbols.text(look.basename.0), self.ids.get(draft as usize))
            }
        }
    }

    /// Numbers everything and builds the index.
    pub(super) fn finish(mut self) -> Result<Built, GraphError> {
        let targets = std::mem::take(&mut self.targets);
        self.finish_choosing(|_, _| Ok(targets))
    }

    /// The same, with targets chosen when the tree stands.
    pub(super) fn finish_choosing(
        self,
        choose: impl FnOnce(&mut Graph, &[VertexId]) -> Result<Vec<DraftTarget>, GraphError>,
    ) -> Result<Built, GraphError> {
        let places = self.places()?;
        let (version, target_bound, contained) = (self.version, self.target_bound, self.links.len() as u32);
        let mut graph = self.arrange(&places)?;
        graph.version = version;
        graph.contained = contained;
        graph.target_bound = target_bound;
        let targets = choose(&mut graph, &places)?;
        install_targets(&mut graph, targets, |draft| places[draft as usize])?;
        Ok(Built { graph, places })
    }

    /// The place of each draft in depth-first order.
    fn places(&self) -> Result<Vec<VertexId>, GraphError> {
        if self.loose.is_empty() && self.is_in_order() {
            return Ok((0..self.len() as u32).map(VertexId).collect());
        }
        let total = self.len();
        // Children of each draft, siblings together: counting sort by parent, with the roots as children of `total`.
        let slot = |parent: u32| if parent == NONE { total } else { parent as usize };
        let mut start = vec![0u32; total + 2];
        for &child in &self.links {
            start[slot(self.parents[child as usize]) + 1] += 1;
        }
        for i in 0..=total {
            start[i + 1] += start[i];
        }
        let mut cursor = start.clone();
        let mut children = vec![0u32; self.links.len()];
        for &child in &self.links {
            let at = &mut cursor[slot(self.parents[child as usize])];
            children[*at as usize] = child;
            *at += 1;
        }
        let of = |draft: usize| &children[start[draft] as usize..start[draft + 1] as usize];

        let mut places = vec![VertexId(NONE); total];
        let mut next = 0;
        let mut open: Vec<u32> = of(total).iter().rev().copied().collect();
        while let Some(draft) = open.pop() {
            places[draft as usize] = VertexId(next);
            next += 1;
            open.extend(of(draft as usize).iter().rev());
        }
        if (next as usize) < self.links.len() {
            let stuck = self.links.iter().copied().find(|&d| places[d as usize].0 == NONE).unwrap_or(0);
            return Err(GraphError::Circle { vertex: self.name_of(stuck) });
        }
        for &draft in &self.loose {
            places[draft as usize] = VertexId(next);
            next += 1;
        }
        Ok(places)
    }

    /// Whether the drafts stand in depth-first order already.
    fn is_in_order(&self) -> bool {
        let mut path: Vec<u32> = Vec::new();
        self.links.iter().enumerate().all(|(i, &draft)| {
            let parent = self.parents[draft as usize];
            while path.last().is_some_and(|&top| top != parent) {
                path.pop();
            }
            let fits = draft as usize == i && (parent == NONE || !path.is_empty());
            path.push(draft);
            fits
        })
    }

    /// The graph without its targets.
    fn arrange(mut self, places: &[VertexId]) -> Result<Graph, GraphError> {
        let total = self.len();
        let in_place = places.iter().enumerate().all(|(draft, place)| draft == place.index());
        let mut draft_at = Vec::new();
        if !in_place {
            draft_at.resize(total, 0u32);
            for (draft, place) in places.iter().enumerate() {
                draft_at[place.index()] = draft as u32;
            }
            self.look_of = draft_at.iter().map(|&draft| self.look_of[draft as usize]).collect();
            let mut ids = Numbers::with_capacity(total);
            draft_at.iter().for_each(|&draft| ids.push(self.ids.get(draft as usize)));
            self.ids = ids;
            let place = |parent: u32| if parent == NONE { NONE } else { places[parent as usize].0 };
            self.parents = draft_at.iter().map(|&draft| place(self.parents[draft as usize])).collect();
            self.named.iter_mut().for_each(|(v, _)| *v = places[*v as usize].0);
            self.pairs.iter_mut().for_each(|(v, _)| *v = places[*v as usize].0);
        }
        let end_at = ends(&self.parents);
        let mut beside = Beside::default();
        for (from, to, subsystem) in self.edges {
            beside.add(places[from as usize], places[to as usize], subsystem);
        }
        let paths: BTreeMap<_, _> = self
            .paths
            .into_iter()
            .map(|(draft, subsystem, path)| ((places[draft as usize], subsystem), path))
            .collect();
        let by_kind = index_kinds(&self.looks.all, &self.look_of, &self.names)?;
        let uniq_at = match self.numbering {
            Numbering::Place => Numbers::Place(total),
            Numbering::Draft if in_place => Numbers::Place(total),
            Numbering::Draft => {
                let mut numbers = Numbers::with_capacity(total);
                draft_at.iter().for_each(|&draft| numbers.push(draft.into()));
                numbers
            }
            Numbering::Given(given) => {
                let mut numbers = Numbers::default();
                let draft = |place: usize| if in_place { place } else { draft_at[place] as usize };
                (0..total).for_each(|place| numbers.push(given[draft(place)]));
                numbers
            }
        };
        Ok(Graph {
            version: 0,
            names: self.names,
            looks: self.looks.all,
            look_at: self.look_of,
            id_at: self.ids,
            parent_at: self.parents,
            end_at,
            target_at: vec![NONE; total],
            uniq_at,
            ranks: Ranks::default(),
            named: Sparse::of(self.named),
            pairs: Sparse::of(self.pairs),
            by_kind,
            contained: 0,
            beside,
            paths,
            targets: Targets::default(),
            target_bound: 0,
        })
    }
}

/// One past the last vertex below each, from the vertices above.
fn ends(parent_at: &[u32]) -> Vec<u32> {
    let mut end_at: Vec<u32> = (1..=parent_at.len() as u32).collect();
    for (v, &parent) in parent_at.iter().enumerate().rev() {
        if parent != NONE {
            end_at[parent as usize] = end_at[parent as usize].max(end_at[v]);
        }
    }
    end_at
}

/// The vertices of each kind, and the sums of their sizes.
pub(super) fn index_kinds(looks: &[Look], look_at: &[u32], names: &Names) -> Result<Vec<KindIndex>, GraphError> {
    let mut alike = vec![0usize; looks.len()];
    for &look in look_at {
        alike[look as usize] += 1;
    }
    let mut counts = vec![0usize; names.kinds.len()];
    let mut sizes: Vec<Option<u64>> = vec![None; names.kinds.len()];
    let mut equal = vec![true; names.kinds.len()];
    for (look, &alike) in looks.iter().zip(&alike).filter(|&(_, &alike)| alike > 0) {
        let kind = look.kind.index();
        counts[kind] += alike;
        equal[kind] &= *sizes[kind].get_or_insert(look.size) == look.size;
    }
    let mut vertices: Vec<Vec<VertexId>> = counts.iter().map(|&count| Vec::with_capacity(count)).collect();
    for (v, &look) in look_at.iter().enumerate() {
        vertices[looks[look as usize].kind.index()].push(VertexId(v as u32));
    }
    let mut by_kind = Vec::with_capacity(counts.len());
    for (kind, vertices) in vertices.into_iter().enumerate() {
        let too_much = || GraphError::SizeOverflow { kind: names.kinds.text(kind as u32).to_string() };
        let sums = if equal[kind] {
            let size = sizes[kind].unwrap_or(1);
            size.checked_mul(vertices.len() as u64).ok_or_else(too_much)?;
            Sums::Equal(size)
        } else {
            let mut sum = 0u64;
            let mut sums = Vec::with_capacity(vertices.len() + 1);
            sums.push(0);
            for v in &vertices {
                sum = sum.checked_add(looks[look_at[v.index()] as usize].size).ok_or_else(too_much)?;
                sums.push(sum);
            }
            Sums::Listed(sums)
        };
        by_kind.push(KindIndex { vertices, sums });
    }
    Ok(by_kind)
}
