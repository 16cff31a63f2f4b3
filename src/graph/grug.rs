//! From a GRUG recipe to a graph.
//!
//! The recipe is walked depth first, relations in the order of the file. A relation is carried out as a whole, for all
//! vertices of its source, before the walk goes on to the pool that it leads to; so the vertices of one pool are
//! made one after the other. That order is what [`Graph::uniq_id`] tells, and what ids, ranks and the order of
//! siblings follow. It is Fluxion's, as are the rules for ids, down to a level that an association takes from the
//! ones that scopes are counted in.

use super::build::{Builder, Built, Draft, DraftTarget, Numbering};
use super::multiply::tree_of;
use super::names::{KindId, SubsystemId, Symbol};
use super::ranks::Ranks;
use super::store::{Graph, NONE};
use super::{GraphError, Properties};
use crate::base::{FastMap, FastSet};
use crate::formats::grug::{Grug, IdRule, Method, Pool, Relation};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most edges that associations may make.
const MAX_ASSOCIATIONS: usize = 1 << 24;

impl Graph {
    /// The graph that a recipe makes. Vertices of kind `node` are the targets, with ranks in order of generation.
    /// Recipes give no properties.
    ///
    /// A vertex is where the first containment edge to it leads; an association in containment from further vertices
    /// gives an edge each ([`Graph::successors`]), no second place. A vertex to which no containment edge leads is at
    /// the top of a tree if it is the root of containment or contains something, else in no tree.
    ///
    /// # Errors
    /// [`GraphError::TooManyVertices`], [`GraphError::TooManyEdges`], [`GraphError::IdOutOfRange`],
    /// [`GraphError::SizeOverflow`], [`GraphError::NestedTarget`], [`GraphError::Circle`].
    pub fn from_grug(grug: &Grug) -> Result<(Graph, Properties), GraphError> {
        let mut graph = match tree_of(grug) {
            Some(tree) => tree.grow()?,
            None => Self::by_relations(grug)?,
        };
        graph.ranks = Ranks::Targets;
        Ok((graph, Properties::new()))
    }

    /// The graph of any recipe.
    pub(super) fn by_relations(grug: &Grug) -> Result<Graph, GraphError> {
        let mut expansion = Expansion::new(grug);
        let by_source = grug.relations_by_source();
        for (at, pool) in grug.pools().iter().enumerate().filter(|(_, pool)| pool.root) {
            expansion.make_root(at, pool)?;
            expansion.walk(at, &by_source)?;
        }
        expansion.finish()
    }
}

/// A step of a path: the vertex, and the path of what is above.
#[derive(Clone, Copy)]
struct Step {
    above: u32,
    draft: u32,
}

struct Expansion<'g> {
    grug: &'g Grug,
    builder: Builder,
    /// Drafts of each pool: those made for it, or those that associations lead to.
    members: Vec<Vec<u32>>,
    /// How many vertices are made per vertex above, from the current pool upwards.
    scales: VecDeque<u32>,
    /// Drafts of the kinds that associations look for.
    by_kind: FastMap<KindId, Vec<u32>>,
    in_tree: Vec<bool>,
    /// The first steps are the paths in which drafts were made, in their order; the others belong to associations.
    steps: Vec<Step>,
    /// Where drafts of a pool begin, and the subsystem of their paths.
    made_in: Vec<(u32, SubsystemId)>,
    /// Numbers of the last steps of paths that associations gave.
    given: FastMap<(u32, SubsystemId), u32>,
    given_steps: Vec<Step>,
    associations: usize,
    ranks: u32,
}

/// Steps from here on are in `given_steps`.
const GIVEN: u32 = 1 << 31;

impl<'g> Expansion<'g> {
    fn new(grug: &'g Grug) -> Self {
        let mut builder = Builder::new();
        builder.numbering = Numbering::Draft;
        let looked_for = grug.relations().iter().filter(|r| !matches!(r.method, Method::Multiply { .. }));
        let by_kind = looked_for.map(|r| (builder.names.kind(&grug.pools()[r.target].kind), Vec::new())).collect();
        Self {
            grug,
            builder,
            members: vec![Vec::new(); grug.pools().len()],
            scales: VecDeque::new(),
            by_kind,
            in_tree: Vec::new(),
            steps: Vec::new(),
            made_in: Vec::new(),
            given: FastMap::default(),
            given_steps: Vec::new(),
            associations: 0,
            ranks: 0,
        }
    }

    fn walk(&mut self, root: usize, by_source: &[Vec<&Relation>]) -> Result<(), GraphError> {
        let mut open = vec![(root, 0)];
        while let Some((pool, next)) = open.last_mut() {
            match by_source[*pool].get(*next) {
                Some(relation) => {
                    *next += 1;
                    self.carry_out(relation)?;
                    open.push((relation.target, 0));
                }
                None => {
                    // Also after an association, which put none there.
                    self.scales.pop_front();
                    open.pop();
                }
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, relation: &Relation) -> Result<(), GraphError> {
        match &relation.method {
            Method::Multiply { scale, ids } => self.multiply(relation, *scale, ids),
            Method::AssociateIn => self.associate(relation, None),
            Method::AssociateByPathIn { subsystem, target_up, source_up } => {
                let subsystem = self.builder.names.subsystem(subsystem);
                self.associate(relation, Some((subsystem, *target_up, *source_up)))
            }
        }
    }

    fn make_root(&mut self, at: usize, pool: &Pool) -> Result<(), GraphError> {
        let subsystem = self.builder.names.subsystem(&pool.subsystem);
        let mut maker = Maker::new(self, pool);
        let draft = maker.make(self, 0, NONE)?;
        if subsystem == SubsystemId::CONTAINMENT {
            self.builder.link(draft, None);
            self.in_tree[draft as usize] = true;
        }
        self.members[at].push(draft);
        Ok(())
    }

    fn multiply(&mut self, relation: &Relation, scale: u32, ids: &IdRule) -> Result<(), GraphError> {
        let pool = &self.grug.pools()[relation.target];
        let sources = std::mem::take(&mut self.members[relation.source]);
        let made = sources.len().saturating_mul(scale as usize);
        self.builder.reserve(self.builder.len().saturating_add(made))?;
        self.steps.reserve(made);
        self.in_tree.reserve(made);
        let edges = self.builder.names.subsystem(&relation.subsystem);
        let paths = self.builder.names.subsystem(&pool.subsystem);
        let mut targets = Vec::with_capacity(made);
        let mut maker = Maker::new(self, pool);
        // Within how many sources ids do not repeat.
        let scope = usize::try_from(ids.scope).unwrap_or(0).min(self.scales.len());
        let within = self.scales.iter().take(scope).fold(1u64, |product, &scale| product.saturating_mul(scale.into()));
        for (position, &source) in sources.iter().enumerate() {
            let above = self.step_in(source, paths);
            let first = (position as u64 % within.max(1)).saturating_mul(scale.into());
            for i in 0..scale {
                let id = id_of(ids, first, i).ok_or_else(|| GraphError::IdOutOfRange { pool: pool.id.clone() })?;
                let draft = maker.make(self, id, above)?;
                if edges == SubsystemId::CONTAINMENT {
                    self.builder.link(draft, Some(source));
                    self.in_tree[draft as usize] = true;
                } else {
                    self.builder.edges.push((source, draft, edges));
                }
                targets.push(draft);
            }
        }
        self.members[relation.source] = sources;
        self.members[relation.target] = targets;
        self.scales.push_front(scale);
        Ok(())
    }

    /// Edges to vertices that are there; with a place given, only where the shortened paths there agree.
    fn associate(&mut self, relation: &Relation, place: Option<(SubsystemId, u32, u32)>) -> Result<(), GraphError> {
        let kind = self.builder.names.kind(&self.grug.pools()[relation.target].kind);
        let edges = self.builder.names.subsystem(&relation.subsystem);
        let sources = std::mem::take(&mut self.members[relation.source]);
        let candidates = self.by_kind.get(&kind).cloned().unwrap_or_default();
        let mut prefixes = Prefixes::default();
        let mut groups: FastMap<u32, Vec<u32>> = FastMap::default();
        let mut targets = Vec::new();
        let mut known: FastSet<(u32, u32)> = FastSet::default();
        match place {
            None => drop(groups.insert(0, candidates)),
            Some((subsystem, up, _)) => {
                for &target in &candidates {
                    let prefix = prefixes.of(self, target, subsystem, up);
                    groups.entry(prefix).or_default().push(target);
                }
            }
        }
        let wanted: Vec<u32> = match place {
            None => vec![0; sources.len()],
            Some((subsystem, _, up)) => sources.iter().map(|&s| prefixes.of(self, s, subsystem, up)).collect(),
        };
        let pairs = wanted.iter().filter_map(|wanted| groups.get(wanted)).map(Vec::len);
        self.associations = pairs.fold(self.associations, usize::saturating_add);
        if self.associations > MAX_ASSOCIATIONS {
            return Err(GraphError::TooManyEdges { limit: MAX_ASSOCIATIONS });
        }
        for (&source, wanted) in sources.iter().zip(wanted) {
            let above = self.step_in(source, edges);
            for &target in groups.get(&wanted).into_iter().flatten() {
                self.given.insert((target, edges), GIVEN + self.given_steps.len() as u32);
                self.given_steps.push(Step { above, draft: target });
                if known.insert((source, target)) {
                    self.connect(source, target, edges);
                }
                targets.push(target);
            }
        }
        self.members[relation.source] = sources;
        self.members[relation.target] = targets;
        Ok(())
    }

    fn connect(&mut self, source: u32, target: u32, edges: SubsystemId) {
        if edges != SubsystemId::CONTAINMENT {
            self.builder.edges.push((source, target, edges));
        } else if !std::mem::replace(&mut self.in_tree[target as usize], true) {
            self.builder.link(target, Some(source));
        } else if self.builder.parents[target as usize] != source {
            self.builder.edges.push((source, target, edges));
        }
    }

    /// The subsystem in which a draft got its path when it was made.
    fn own_subsystem(&self, draft: u32) -> SubsystemId {
        let after = self.made_in.partition_point(|&(start, _)| start <= draft);
        self.made_in[..after].last().map_or(SubsystemId::CONTAINMENT, |&(_, subsystem)| subsystem)
    }

    /// The number of the last step of the path of a draft in a subsystem, or none.
    fn step_in(&self, draft: u32, subsystem: SubsystemId) -> u32 {
        match self.given.get(&(draft, subsystem)) {
            Some(&step) => step,
            None if self.own_subsystem(draft) == subsystem => draft,
            None => NONE,
        }
    }

    fn step(&self, number: u32) -> Option<Step> {
        match number {
            NONE => None,
            given if given >= GIVEN => self.given_steps.get((given - GIVEN) as usize).copied(),
            made => self.steps.get(made as usize).copied(),
        }
    }

    /// The drafts of a path, the last first.
    fn path(&self, step: Step) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(step), |step| self.step(step.above)).map(|step| step.draft)
    }

    fn path_text(&self, step: Step) -> String {
        let mut names: Vec<String> = self.path(step).map(|draft| self.builder.name_of(draft)).collect();
        names.push(String::new());
        names.reverse();
        names.join("/")
    }

    fn finish(mut self) -> Result<Graph, GraphError> {
        let beside: Vec<u32> = (0..self.in_tree.len() as u32).filter(|&d| !self.in_tree[d as usize]).collect();
        if !beside.is_empty() {
            let holding: FastSet<u32> = self.builder.parents.iter().copied().collect();
            for draft in beside {
                if holding.contains(&draft) {
                    self.builder.link(draft, None);
                } else {
                    self.builder.leave_loose(draft);
                }
            }
        }
        let odd = self.keep_paths();
        let Built { mut graph, places } = std::mem::replace(&mut self.builder, Builder::new()).finish()?;
        for (draft, path) in odd {
            let place = places[draft as usize];
            if graph.path(place) != *path {
                graph.paths.insert((place, SubsystemId::CONTAINMENT), path);
            }
        }
        Ok(graph)
    }

    /// Gives the builder the paths of other subsystems. Gives back those of containment that names may not tell, the
    /// upper before the lower.
    fn keep_paths(&mut self) -> Vec<(u32, Arc<str>)> {
        let mut paths: Vec<(u32, SubsystemId, Step)> = Vec::new();
        let mut odd: FastSet<u32> = FastSet::default();
        for (&(draft, subsystem), &number) in &self.given {
            if subsystem == SubsystemId::CONTAINMENT {
                odd.insert(draft);
            } else if let Some(step) = self.step(number) {
                paths.push((draft, subsystem, step));
            }
        }
        let mut in_order = Vec::new();
        for draft in 0..self.steps.len() as u32 {
            let (own, parent) = (self.own_subsystem(draft), self.builder.parents[draft as usize]);
            let step = self.steps[draft as usize];
            if own != SubsystemId::CONTAINMENT {
                if !self.given.contains_key(&(draft, own)) {
                    paths.push((draft, own, step));
                }
            } else if step.above != parent || odd.contains(&parent) || odd.contains(&draft) {
                // What is below an odd path is made after it, and may be odd too.
                odd.insert(draft);
                let step = self.step(self.step_in(draft, own)).unwrap_or(step);
                in_order.push((draft, self.path_text(step).into()));
            }
        }
        paths.sort_unstable_by_key(|&(draft, subsystem, _)| (draft, subsystem));
        for (draft, subsystem, step) in paths {
            let path = self.path_text(step).into();
            self.builder.paths.push((draft, subsystem, path));
        }
        in_order
    }
}

/// The logical id of the `i`-th vertex for a source before which `first` were made in its scope; none if it is too
/// large, -1 for none at all.
fn id_of(ids: &IdRule, first: u64, i: u32) -> Option<i64> {
    match ids.scope {
        ..0 => Some(-1),
        0 => Some(i64::from(ids.start) + i64::from(i)),
        _ => {
            let before = i64::try_from(first).ok()?.checked_add(i.into())?;
            before.checked_mul(ids.stride.into())?.checked_add(ids.start.into())
        }
    }
}

/// Makes the vertices of one pool.
struct Maker {
    kind: KindId,
    basename: Symbol,
    unit: Symbol,
    size: u64,
    looked_for: bool,
    word: String,
}

impl Maker {
    fn new(expansion: &mut Expansion<'_>, pool: &Pool) -> Self {
        let names = &mut expansion.builder.names;
        let kind = names.kind(&pool.kind);
        let subsystem = names.subsystem(&pool.subsystem);
        let (basename, unit) = (names.symbol(&pool.basename), names.symbol(&pool.unit));
        expansion.made_in.push((expansion.steps.len() as u32, subsystem));
        let looked_for = expansion.by_kind.contains_key(&kind);
        Self { kind, basename, unit, size: pool.size, looked_for, word: pool.basename.clone() }
    }

    fn make(&mut self, expansion: &mut Expansion<'_>, id: i64, above: u32) -> Result<u32, GraphError> {
        let mut draft = Draft::new(self.kind, self.basename, id);
        draft.size = self.size;
        draft.record.unit = self.unit;
        if id == -1 {
            draft.record.name = self.basename;
        }
        let draft = expansion.builder.add_unlinked(draft)?;
        expansion.steps.push(Step { above, draft });
        expansion.in_tree.push(false);
        if self.looked_for {
            expansion.by_kind.entry(self.kind).or_default().push(draft);
        }
        if self.kind == KindId::NODE {
            let host = if id == -1 { self.word.as_str().into() } else { format!("{}{id}", self.word).into() };
            let rank = expansion.ranks;
            expansion.ranks += 1;
            expansion.builder.targets.push(DraftTarget { draft, rank, host, id: None });
        }
        Ok(draft)
    }
}

/// Paths without some levels at their end, by number; 0 for all that have not more levels than that.
#[derive(Default)]
struct Prefixes {
    by_step: FastMap<u32, u32>,
    by_text: FastMap<String, u32>,
}

impl Prefixes {
    fn of(&mut self, expansion: &Expansion<'_>, draft: u32, subsystem: SubsystemId, up: u32) -> u32 {
        let mut last = expansion.step_in(draft, subsystem);
        for _ in 0..up {
            let Some(step) = expansion.step(last) else { return 0 };
            last = step.above;
        }
        let Some(step) = expansion.step(last) else { return 0 };
        if let Some(&known) = self.by_step.get(&last) {
            return known;
        }
        // Different vertices may have one path.
        let next = self.by_text.len() as u32 + 1;
        let number = *self.by_text.entry(expansion.path_text(step)).or_insert(next);
        self.by_step.insert(last, number);
        number
    }
}
