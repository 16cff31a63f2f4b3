//! From a recipe that only multiplies, all in the containment tree, straight to the arrays of the graph.
//!
//! How many vertices a pool has and how many stand below each is known before one is made; so every vertex is written
//! once, at its place, in one walk. The rules of numbers and ids are those of [`super::grug`].

use super::GraphError;
use super::beside::{Beside, Sparse};
use super::build::{DraftTarget, Looks, MAX_VERTICES, index_kinds};
use super::install::install_targets;
use super::names::{KindId, Names, Symbol};
use super::numbers::Numbers;
use super::ranks::Ranks;
use super::store::{Graph, Look, NONE};
use super::target::Targets;
use crate::base::VertexId;
use crate::formats::grug::{Grug, IdRule, Method};
use crate::formats::jgf::CONTAINMENT;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A pool that is being made.
struct Stock {
    look: u32,
    basename: Symbol,
    /// The vertices of the pool, and each with what is below it.
    count: u64,
    height: u64,
    scale: u32,
    rule: Rule,
    below: Vec<usize>,
    /// The `uniq_id` of the next vertex.
    next: u32,
    /// How many are made.
    made: u64,
    /// The rank of the first, if they are targets.
    first_rank: Option<u32>,
}

/// How ids of a pool come about, for the sources in turn.
struct Rule {
    ids: IdRule,
    /// Within how many sources ids do not repeat.
    within: u64,
}

impl Rule {
    /// The first id for the source that is the `nth` of its pool, and the distance to the next. With no more vertices
    /// than a graph takes, and starts and strides of 32 bits, ids are far from the ends of 64.
    fn start(&self, nth: u64, scale: u32) -> (i64, i64) {
        let IdRule { scope, start, stride } = self.ids;
        match scope {
            ..0 => (-1, 0),
            0 => (start.into(), 1),
            _ => {
                let before = (nth % self.within) * u64::from(scale);
                (before as i64 * i64::from(stride) + i64::from(start), stride.into())
            }
        }
    }
}

/// The pools of a recipe in the order in which they are made, if nothing but the tree comes of it.
pub(super) fn tree_of(grug: &Grug) -> Option<Tree<'_>> {
    let in_tree = |subsystem: &str| subsystem == CONTAINMENT;
    let plain = grug.pools().iter().all(|pool| in_tree(&pool.subsystem))
        && grug.relations().iter().all(|r| in_tree(&r.subsystem) && matches!(r.method, Method::Multiply { .. }));
    let root = grug.pools().iter().position(|pool| pool.root)?;
    plain.then_some(Tree { grug, root })
}

/// A recipe that makes one tree.
pub(super) struct Tree<'g> {
    grug: &'g Grug,
    root: usize,
}

impl Tree<'_> {
    /// The graph that the recipe makes.
    pub(super) fn grow(&self) -> Result<Graph, GraphError> {
        let (names, looks, stocks) = self.stocks()?;
        let total = stocks[0].height as usize;
        let mut growth = Growth {
            names: &names,
            look_at: Vec::with_capacity(total),
            id_at: Numbers::with_capacity(total),
            parent_at: Vec::with_capacity(total),
            end_at: Vec::with_capacity(total),
            uniq_at: Vec::with_capacity(total),
            named: Vec::new(),
            targets: Vec::with_capacity(
                stocks.iter().filter(|s| s.first_rank.is_some()).map(|s| s.count as usize).sum(),
            ),
            stocks,
        };
        growth.grow();
        let Growth { look_at, id_at, parent_at, end_at, uniq_at, named, targets, .. } = growth;
        let by_kind = index_kinds(&looks.all, &look_at, &names)?;
        let mut graph = Graph {
            version: 0,
            names,
            looks: looks.all,
            look_at,
            id_at,
            parent_at,
            end_at,
            target_at: vec![NONE; total],
            uniq_at: Numbers::Small(uniq_at).compact(),
            ranks: Ranks::default(),
            named: Sparse::of(named),
            pairs: Sparse::default(),
            by_kind,
            contained: total as u32,
            beside: Beside::default(),
            paths: BTreeMap::new(),
            targets: Targets::default(),
            target_bound: 0,
        };
        install_targets(&mut graph, targets, VertexId)?;
        Ok(graph)
    }

    /// The pools, those above first, each with its numbers.
    fn stocks(&self) -> Result<(Names, Looks, Vec<Stock>), GraphError> {
        let (mut names, mut looks) = (Names::new(), Looks::default());
        let by_source = self.grug.relations_by_source();
        let root = Rule { ids: IdRule::default(), within: 1 };
        let mut stocks = vec![self.stock(self.root, 1, 1, root, &mut names, &mut looks)];
        // The stocks from the root down to where the walk is, each with the relations that are still to be gone.
        let mut open = vec![(0, by_source[self.root].iter())];
        let mut total: u64 = 1;
        while let Some((above, relations)) = open.last_mut() {
            let above = *above;
            let Some(relation) = relations.next() else {
                open.pop();
                continue;
            };
            // Recipes with other relations do not get here.
            let Method::Multiply { scale, ids } = relation.method else { continue };
            let scope = usize::try_from(ids.scope).unwrap_or(0);
            // The root was not multiplied.
            let scales = open.iter().skip(1).rev().take(scope).map(|&(at, _)| u64::from(stocks[at].scale));
            let within = scales.fold(1, u64::saturating_mul).max(1);
            let count = stocks[above].count.saturating_mul(scale.into());
            total = total.saturating_add(count);
            if total > MAX_VERTICES as u64 {
                return Err(GraphError::TooManyVertices { limit: MAX_VERTICES });
            }
            let rule = Rule { ids, within };
            let at = stocks.len();
            stocks.push(self.stock(relation.target, count, scale, rule, &mut names, &mut looks));
            stocks[above].below.push(at);
            open.push((at, by_source[relation.target].iter()));
        }
        let (mut next, mut ranks) = (0, 0);
        for stock in &mut stocks {
            stock.next = next;
            next += stock.count as u32;
            if let Some(first) = &mut stock.first_rank {
                *first = ranks;
                ranks += stock.count as u32;
            }
        }
        for at in (0..stocks.len()).rev() {
            let below = stocks[at].below.iter().map(|&b| u64::from(stocks[b].scale) * stocks[b].height);
            stocks[at].height = 1 + below.sum::<u64>();
        }
        Ok((names, looks, stocks))
    }

    fn stock(&self, pool: usize, count: u64, scale: u32, rule: Rule, names: &mut Names, looks: &mut Looks) -> Stock {
        let pool = &self.grug.pools()[pool];
        let kind = names.kind(&pool.kind);
        let (basename, unit) = (names.symbol(&pool.basename), names.symbol(&pool.unit));
        let look = looks.number(Look { kind, basename, unit, size: pool.size });
        let first_rank = (kind == KindId::NODE).then_some(0);
        Stock { look, basename, count, height: 1, scale, rule, below: Vec::new(), next: 0, made: 0, first_rank }
    }
}

struct Growth<'n> {
    names: &'n Names,
    stocks: Vec<Stock>,
    look_at: Vec<u32>,
    id_at: Numbers,
    parent_at: Vec<u32>,
    end_at: Vec<u32>,
    uniq_at: Vec<i32>,
    named: Vec<(u32, Symbol)>,
    targets: Vec<DraftTarget>,
}

/// A vertex below which vertices are being made.
struct Level {
    stock: usize,
    place: u32,
    /// Which of its kind it is.
    nth: u64,
    /// Which of the pools below, and how many of that are made.
    below: usize,
    done: u32,
}

impl Growth<'_> {
    fn grow(&mut self) {
        self.run(0, NONE, 0, 1);
        let mut open = vec![Level { stock: 0, place: 0, nth: 0, below: 0, done: 0 }];
        while let Some(level) = open.last_mut() {
            let Some(&at) = self.stocks[level.stock].below.get(level.below) else {
                open.pop();
                continue;
            };
            let (scale, place, nth) = (self.stocks[at].scale, level.place, level.nth);
            let (first, stride) = self.stocks[at].rule.start(nth, scale);
            if self.stocks[at].below.is_empty() {
                self.run_from(at, place, first, stride, scale);
                level.below += 1;
            } else if level.done < scale {
                let id = first + stride * i64::from(level.done);
                level.done += 1;
                let next =
                    Level { stock: at, place: self.look_at.len() as u32, nth: self.stocks[at].made, below: 0, done: 0 };
                self.run(at, place, id, 1);
                open.push(next);
            } else {
                level.below += 1;
                level.done = 0;
            }
        }
    }

    fn run(&mut self, at: usize, above: u32, id: i64, count: u32) {
        self.run_from(at, above, id, 0, count);
    }

    /// Makes vertices of a pool one after the other, each with room for what comes below it.
    fn run_from(&mut self, at: usize, above: u32, first: i64, stride: i64, count: u32) {
        let place = self.look_at.len() as u32;
        let stock = &mut self.stocks[at];
        let whole = self.look_at.len() + count as usize;
        self.look_at.resize(whole, stock.look);
        self.parent_at.resize(whole, above);
        self.end_at.extend((1..=count).map(|i| place + i * stock.height as u32));
        self.uniq_at.extend((stock.next..stock.next + count).map(|number| number as i32));
        self.id_at.push_run(first, stride, count);
        let made = stock.made as u32;
        stock.next += count;
        stock.made += u64::from(count);
        let (basename, first_rank) = (stock.basename, stock.first_rank);
        let id_of = |i: u32| first + stride * i64::from(i);
        if first == -1 || first < 0 && stride > 0 || stride < 0 {
            self.named.extend((0..count).filter(|&i| id_of(i) == -1).map(|i| (place + i, basename)));
        }
        let Some(first_rank) = first_rank else { return };
        let word = self.names.symbols.text(basename.0);
        for i in 0..count {
            let id = id_of(i);
            let host: Arc<str> = if id == -1 { word.clone() } else { format!("{word}{id}").into() };
            self.targets.push(DraftTarget { draft: place + i, rank: first_rank + made + i, host, id: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::describe;
    use super::super::{Graph, Properties};
    use super::*;
    use proptest::prelude::*;

    /// The same recipe, but all of it multiplies in the tree, and some pools are nodes or cores.
    fn only_tree(grug: &Grug) -> Grug {
        let mut pools = grug.pools().to_vec();
        for pool in &mut pools {
            pool.subsystem = CONTAINMENT.to_owned();
            match pool.size % 5 {
                1 => pool.kind = "node".to_owned(),
                2 => pool.kind = "core".to_owned(),
                _ => {}
            }
        }
        let mut relations = grug.relations().to_vec();
        for relation in &mut relations {
            relation.subsystem = CONTAINMENT.to_owned();
            if !matches!(relation.method, Method::Multiply { .. }) {
                relation.method = Method::Multiply { scale: 2, ids: IdRule { scope: 3, start: -2, stride: 1 } };
            }
        }
        Grug::new(grug.name(), pools, relations).unwrap()
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        #[test]
        fn a_tree_is_what_relation_after_relation_makes(grug in crate::formats::grug::tests::recipes()) {
            let grug = only_tree(&grug);
            let say = |graph: Result<Graph, GraphError>| match graph {
                Err(error) => vec![error.to_string()],
                Ok(graph) => {
                    let mut lines = describe(&graph, &Properties::new());
                    lines.extend(graph.vertices().map(|v| graph.uniq_id(v).to_string()));
                    lines
                }
            };
            let tree = tree_of(&grug).map(|tree| tree.grow()).unwrap();
            prop_assert_eq!(say(tree), say(Graph::by_relations(&grug)));
        }
    }

    #[test]
    fn recipes_with_more_than_the_tree_are_left_alone() {
        use crate::formats::grug::{Pool, Relation};
        let pools = || vec![Pool { root: true, ..Pool::new("a") }, Pool::new("b")];
        let tree = |pools, relation| tree_of(&Grug::new("g", pools, vec![relation]).unwrap()).is_some();
        assert!(tree(pools(), Relation::multiply(0, 1, 2)));
        assert!(!tree(pools(), Relation { subsystem: "s".into(), ..Relation::multiply(0, 1, 2) }));
        assert!(!tree(pools(), Relation { method: Method::AssociateIn, ..Relation::multiply(0, 1, 2) }));
        let beside = vec![pools().remove(0), Pool { subsystem: "s".into(), ..Pool::new("b") }];
        assert!(!tree(beside, Relation::multiply(0, 1, 2)));
    }
}
