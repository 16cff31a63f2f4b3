//! From items to a graph.

use super::TextError;
use super::scan::{At, Item, Line, RankWord, Scanner, Step};
use crate::base::{FastMap, VertexId};
use crate::formats::idset::MAX_ID;
use crate::formats::jgf::trailing_number;
use crate::graph::Properties;
use crate::graph::build::{Builder, Draft, DraftTarget};
use crate::graph::names::{KindId, SubsystemId};
use crate::graph::store::Graph;
use std::str::FromStr;
use std::sync::Arc;

impl Graph {
    /// Reads the text form that [`crate::graph::text`] describes.
    ///
    /// ```
    /// use sluice::graph::{Graph, KindId};
    /// let (graph, properties) = Graph::from_text("cluster / rack*2 / node*3 cores=4 properties=batch").unwrap();
    /// let rack = graph.of_kind(KindId::RACK)[1];
    /// assert_eq!(graph.path(rack), "/cluster0/rack1");
    /// assert_eq!(graph.count_in(rack, KindId::CORE), 12);
    /// assert_eq!(properties.get("batch").unwrap().to_string(), "0-5");
    /// assert_eq!(Graph::from_text("node*x").unwrap_err().to_string(),
    ///     "line 1, column 6: expected a count from 1 to 4294967295, found \"x\"");
    /// ```
    ///
    /// # Errors
    /// [`TextError`] with line and column.
    pub fn from_text(text: &str) -> Result<(Graph, Properties), TextError> {
        let Outline { items, below, top, loose, edges } = Outline::read(text)?;
        let mut builder = Builder::new();
        builder.reserve(total(&items, &below, top.iter().chain(&loose)))?;
        let mut growth = Growth {
            builder,
            items: &items,
            below: &below,
            next_id: FastMap::default(),
            next_id_in_target: FastMap::default(),
            next_rank: 0,
            properties: Vec::new(),
        };
        growth.grow(&top)?;
        for &item in &loose {
            for k in 0..items[item].count {
                growth.vertex(item, k, None, Place::Loose)?;
            }
        }
        let Growth { builder, properties: named, .. } = growth;
        let built = builder.finish()?;
        let mut graph = built.graph;
        for Edge { at, subsystem, ends } in &edges {
            let from = find(&graph, at[0], &ends[0])?;
            let to = find(&graph, at[1], &ends[1])?;
            let subsystem = SubsystemId(graph.names.subsystems.intern(subsystem));
            graph.beside.add(from, to, subsystem);
        }
        let mut properties = Properties::new();
        for (draft, name) in named {
            if let Some(target) = graph.target_of(built.places[draft as usize]) {
                properties.set(name, target);
            }
        }
        Ok((graph, properties))
    }
}

impl FromStr for Graph {
    type Err = TextError;

    /// The text form, less the properties.
    fn from_str(text: &str) -> Result<Self, TextError> {
        Ok(Self::from_text(text)?.0)
    }
}

struct Edge {
    at: [At; 2],
    subsystem: String,
    ends: [String; 2],
}

/// The items of a text and how they stand to each other.
#[derive(Default)]
struct Outline {
    items: Vec<Item>,
    below: Vec<Vec<usize>>,
    top: Vec<usize>,
    loose: Vec<usize>,
    edges: Vec<Edge>,
}

impl Outline {
    fn read(text: &str) -> Result<Self, TextError> {
        let mut outline = Self::default();
        // The lines that may still get something below them: indentation, container, last item.
        let mut open: Vec<(usize, Option<usize>, usize)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            match Scanner::new(line, number + 1).line()? {
                Line::Empty => {}
                Line::Edge { at, subsystem, ends } => {
                    outline.edges.push(Edge { at, subsystem, ends });
                }
                Line::Vertices { loose: true, first, rest, .. } => {
                    open.clear();
                    outline.add_loose(*first, rest)?;
                }
                Line::Vertices { indent, first, rest, .. } => {
                    let mut closed = None;
                    while open.last().is_some_and(|&(outer, ..)| outer > indent) {
                        closed = open.pop().map(|(outer, ..)| outer);
                    }
                    let above = match (open.last().copied(), closed) {
                        (None, None) if indent == 0 => None,
                        (Some((outer, container, _)), _) if outer == indent => {
                            open.pop();
                            container
                        }
                        (Some((.., last)), None) => Some(last),
                        (_, closed) => {
                            let expected = closed.unwrap_or(0);
                            return first.at.expected(format!("{expected} spaces of indentation"), indent.to_string());
                        }
                    };
                    let last = outline.add(above, *first, rest);
                    open.push((indent, above, last));
                }
            }
        }
        Ok(outline)
    }

    fn add_loose(&mut self, first: Item, rest: Vec<(Step, Item)>) -> Result<(), TextError> {
        for (step, item) in std::iter::once((Step::Beside, first)).chain(rest) {
            if step == Step::Below || item.cores > 0 || item.gpus > 0 {
                return item.at.expected("nothing below a loose vertex", format!("\"{}\"", item.kind));
            }
            let number = self.push(item);
            self.loose.push(number);
        }
        Ok(())
    }

    /// Adds the items of a line below `above`; gives the last.
    fn add(&mut self, above: Option<usize>, first: Item, rest: Vec<(Step, Item)>) -> usize {
        let mut container = above;
        let mut last = self.add_one(container, first);
        for (step, item) in rest {
            if step == Step::Below {
                container = Some(last);
            }
            last = self.add_one(container, item);
        }
        last
    }

    fn add_one(&mut self, container: Option<usize>, item: Item) -> usize {
        let at = item.at;
        let sugar = [("core", item.cores), ("gpu", item.gpus)];
        let number = self.push(item);
        match container {
            Some(container) => self.below[container].push(number),
            None => self.top.push(number),
        }
        for (kind, count) in sugar.into_iter().filter(|&(_, count)| count > 0) {
            let leaf = self.push(Item { count: count as usize, ..Item::new(at, kind.to_owned()) });
            self.below[number].push(leaf);
        }
        number
    }

    fn push(&mut self, item: Item) -> usize {
        self.items.push(item);
        self.below.push(Vec::new());
        self.items.len() - 1
    }
}

/// How many vertices the items make, saturating. What is below an item always comes after it.
fn total<'o>(items: &[Item], below: &[Vec<usize>], top: impl Iterator<Item = &'o usize>) -> usize {
    let mut totals = vec![0usize; items.len()];
    for (i, item) in items.iter().enumerate().rev() {
        let each = below[i].iter().fold(1usize, |sum, &child| sum.saturating_add(totals[child]));
        totals[i] = item.count.saturating_mul(each);
    }
    top.fold(0usize, |sum, &item| sum.saturating_add(totals[item]))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the tree, in no target.
    Open,
    InTarget,
    Loose,
}

/// Where the growing of a level has come to.
struct Level<'o> {
    items: &'o [usize],
    at: usize,
    instance: usize,
    parent: Option<u32>,
    place: Place,
}

/// Makes vertices of items.
struct Growth<'o> {
    builder: Builder,
    items: &'o [Item],
    below: &'o [Vec<usize>],
    next_id: FastMap<KindId, i64>,
    next_id_in_target: FastMap<KindId, i64>,
    next_rank: u32,
    properties: Vec<(u32, &'o str)>,
}

impl<'o> Growth<'o> {
    /// Depth first, with a stack of its own: a text may be deeper than a thread's.
    fn grow(&mut self, top: &'o [usize]) -> Result<(), TextError> {
        let mut levels = vec![Level { items: top, at: 0, instance: 0, parent: None, place: Place::Open }];
        while let Some(level) = levels.last_mut() {
            let Some(&item) = level.items.get(level.at) else {
                levels.pop();
                continue;
            };
            if level.instance == self.items[item].count {
                level.at += 1;
                level.instance = 0;
                continue;
            }
            let (instance, parent, place) = (level.instance, level.parent, level.place);
            level.instance += 1;
            let (draft, place) = self.vertex(item, instance, parent, place)?;
            let below = &self.below[item];
            if !below.is_empty() {
                levels.push(Level { items: below, at: 0, instance: 0, parent: Some(draft), place });
            }
        }
        Ok(())
    }

    /// Makes the vertex `k` of an item; gives its draft and where things below it are.
    fn vertex(&mut self, item: usize, k: usize, parent: Option<u32>, place: Place) -> Result<(u32, Place), TextError> {
        let item = &self.items[item];
        let kind = self.builder.names.kind(&item.kind);
        let rank = self.rank(item, kind, k, place)?;
        let name = item.names.as_ref().and_then(|names| names.get(k)).map(String::as_str);
        let basename = self.builder.names.symbol(item.basename.as_deref().unwrap_or(&item.kind));
        let id = self.id(item, kind, k, name, place);
        let mut draft = Draft::new(kind, basename, id);
        draft.size = item.size;
        draft.record.unit = self.builder.names.symbol(&item.unit);
        if let Some(name) = name {
            self.builder.set_name(&mut draft.record, name);
        }
        if !item.pairs.is_empty() {
            draft.record.properties = Some(Arc::new(item.pairs.clone()));
        }
        let number = self.builder.add_unlinked(draft)?;
        if place == Place::Loose {
            self.builder.leave_loose(number);
        } else {
            self.builder.link(number, parent);
        }
        for (subsystem, path) in &item.paths {
            let subsystem = self.builder.names.subsystem(subsystem);
            self.builder.paths.push((number, subsystem, path.as_str().into()));
        }
        let Some(rank) = rank else { return Ok((number, place)) };
        self.next_id_in_target.clear();
        let plain = || self.builder.name_of(number);
        let host = item.host.clone().or_else(|| name.map(str::to_owned)).unwrap_or_else(plain).into();
        self.builder.targets.push(DraftTarget { draft: number, rank, host, id: None });
        self.properties.extend(item.properties.iter().map(|name| (number, name.as_str())));
        Ok((number, Place::InTarget))
    }

    /// The rank of the vertex, if it is a target.
    fn rank(&mut self, item: &Item, kind: KindId, k: usize, place: Place) -> Result<Option<u32>, TextError> {
        let rank = match item.rank {
            RankWord::From(_) if place != Place::Open => {
                let where_it_is = if place == Place::Loose { "a loose vertex" } else { "a vertex inside one" };
                return item.at.expected("a target outside of targets, in the tree", where_it_is);
            }
            RankWord::From(first) => u32::try_from(k).ok().and_then(|k| first.checked_add(k)),
            RankWord::Unsaid if kind == KindId::NODE && place == Place::Open => Some(self.next_rank),
            RankWord::Unsaid | RankWord::NoTarget => {
                if let Some(property) = item.properties.first() {
                    return item.at.expected("properties on targets only", format!("property \"{property}\""));
                }
                if item.host.is_some() {
                    return item.at.expected("a host on targets only", "host=");
                }
                return Ok(None);
            }
        };
        let Some(rank) = rank.filter(|&rank| rank <= MAX_ID) else {
            return item.at.expected(format!("ranks up to {MAX_ID}"), "a greater one");
        };
        self.next_rank = rank + 1;
        Ok(Some(rank))
    }

    fn id(&mut self, item: &Item, kind: KindId, k: usize, name: Option<&str>, place: Place) -> i64 {
        let numbers = if place == Place::InTarget { &mut self.next_id_in_target } else { &mut self.next_id };
        let next = numbers.entry(kind).or_insert(0);
        let said = item.ids.as_ref().and_then(|ids| ids.get(k)).copied().map(i64::from);
        let said = said.or(item.id.map(|first| first.saturating_add(k as i64)));
        let id = said.or_else(|| name.and_then(trailing_number)).unwrap_or(*next);
        *next = (*next).max(id.saturating_add(1));
        id
    }
}

/// The vertex that an end of an edge names.
fn find(graph: &Graph, at: At, end: &str) -> Result<VertexId, TextError> {
    let found = match end.parse::<u32>() {
        Ok(position) => Some(VertexId(position)).filter(|v| v.index() < graph.len()),
        Err(_) => {
            let path = if end.starts_with('/') { end.to_owned() } else { format!("/{end}") };
            let loose = || graph.vertices().find(|&v| !graph.is_contained(v) && graph.path(v) == path);
            let elsewhere = || graph.paths.iter().find(|(_, given)| ***given == *path).map(|((v, _), _)| *v);
            graph.by_path(&path).or_else(loose).or_else(elsewhere)
        }
    };
    match found {
        Some(v) => Ok(v),
        None => at.expected("the path or position of a vertex", format!("\"{end}\"")),
    }
}
