//! The general engine against brute force: every graph of up to seven vertices of three types, with small requests.
//!
//! The oracle knows trees, who holds what when, and the rules of requests; it tries every way to take vertices. It
//! shares no code with the engine. Compared are whether a request fits now, whether it ever does, when it first does,
//! and that what is granted is what was asked for and free. `SLUICE_TREE_GRAPHS` bounds how many graphs are looked at.

use sluice::base::{Duration, JobId, Timestamp, VertexId};
use sluice::formats::count::Count;
use sluice::formats::jobspec::{Jobspec, Resource};
use sluice::graph::Graph;
use sluice::matcher::tree::{Engine, MatchError, Matched, Operation, Options, Status};
use std::collections::BTreeSet;
use std::sync::Arc;

const TYPES: [&str; 3] = ["node", "core", "gpu"];
const POLICIES: [&str; 5] = ["first", "low", "high", "firstnodex", "lonodex"];

/// A tree below the root: parent and type of each vertex, in depth-first order. The root is vertex 0, of no type.
type Tree = Vec<(usize, usize)>;

/// All trees with so many vertices below the root; nodes are inside nothing but the root, leaves hold nothing.
fn trees(size: usize) -> Vec<Tree> {
    fn grow(tree: &mut Tree, size: usize, all: &mut Vec<Tree>) {
        if tree.len() == size {
            all.push(tree.clone());
            return;
        }
        // The next vertex hangs on the root, or on the last node.
        let last_node = tree.iter().rposition(|&(_, ty)| ty == 0).map(|at| at + 1);
        let before = tree.last().copied();
        for ty in 0..3 {
            for parent in [Some(0), last_node.filter(|_| ty > 0)].into_iter().flatten() {
                // Among leaves of one parent ascending types suffice.
                if before.is_some_and(|(p, t)| p == parent && t > 0 && ty > 0 && t > ty) {
                    continue;
                }
                // Once a vertex stands beside a node, nothing more goes inside.
                if parent != 0 && before.is_some_and(|(p, t)| p == 0 && t != 0) {
                    continue;
                }
                tree.push((parent, ty));
                grow(tree, size, all);
                tree.pop();
            }
        }
    }
    let mut all = Vec::new();
    grow(&mut Vec::new(), size, &mut all);
    all
}

fn text_of(tree: &Tree) -> String {
    let mut text = "cluster c\n".to_owned();
    for &(parent, ty) in tree {
        text += if parent == 0 { "  " } else { "    " };
        text += TYPES[ty];
        text += "\n";
    }
    text
}

/// What a request asks for: so many nodes (or none in particular), alone or not, with slots of cores and gpus in each.
#[derive(Clone, Copy, Debug)]
struct Ask {
    nodes: usize,
    alone: bool,
    slots: usize,
    cores: usize,
    gpus: usize,
}

const ASKS: [Ask; 9] = [
    Ask { nodes: 1, alone: true, slots: 1, cores: 1, gpus: 0 },
    Ask { nodes: 2, alone: true, slots: 1, cores: 1, gpus: 0 },
    Ask { nodes: 1, alone: false, slots: 1, cores: 1, gpus: 0 },
    Ask { nodes: 1, alone: false, slots: 2, cores: 1, gpus: 0 },
    Ask { nodes: 1, alone: false, slots: 1, cores: 2, gpus: 0 },
    Ask { nodes: 2, alone: false, slots: 1, cores: 1, gpus: 0 },
    Ask { nodes: 1, alone: false, slots: 1, cores: 1, gpus: 1 },
    Ask { nodes: 1, alone: true, slots: 2, cores: 1, gpus: 1 },
    Ask { nodes: 0, alone: false, slots: 2, cores: 1, gpus: 0 },
];

fn spec(ask: Ask, limit: i64) -> Jobspec {
    let fixed = |n: usize| Count::fixed(n as u64);
    let mut with = vec![Resource::new("core", fixed(ask.cores))];
    if ask.gpus > 0 {
        with.push(Resource::new("gpu", fixed(ask.gpus)));
    }
    let slot = Resource::slot("task", fixed(ask.slots), with);
    let resources = if ask.nodes == 0 {
        vec![slot]
    } else {
        let exclusive = ask.alone.then_some(true);
        vec![Resource { with: vec![slot], exclusive, ..Resource::new("node", fixed(ask.nodes)) }]
    };
    Jobspec::new(resources, "task").with_duration(Duration::from_secs(limit))
}

/// Who holds what, as the oracle sees it: vertices from and until when.
struct World<'t> {
    tree: &'t Tree,
    whole_nodes: bool,
    held: Vec<(BTreeSet<usize>, i64, i64)>,
    down: BTreeSet<usize>,
}

impl World<'_> {
    fn children(&self, of: usize) -> impl Iterator<Item = usize> + '_ {
        (1..=self.tree.len()).filter(move |&v| self.tree[v - 1].0 == of)
    }

    fn is_free(&self, v: usize, from: i64, until: i64) -> bool {
        self.held.iter().all(|(vertices, start, end)| !vertices.contains(&v) || until <= *start || *end <= from)
    }

    fn is_up(&self, v: usize) -> bool {
        v == 0 || (!self.down.contains(&v) && self.is_up(self.tree[v - 1].0))
    }

    /// Whether a vertex can be had: nobody has it, or the node that it is in, and it is up.
    fn usable(&self, v: usize, at: Option<(i64, i64)>, marks: bool) -> bool {
        (!marks || self.is_up(v)) && at.is_none_or(|(from, until)| self.is_free(v, from, until))
    }

    /// How many slots the parts directly below a vertex make.
    fn slots(&self, of: usize, ask: Ask, at: Option<(i64, i64)>, marks: bool) -> usize {
        let there = |ty| self.children(of).filter(|&v| self.tree[v - 1].1 == ty && self.usable(v, at, marks)).count();
        let cores = there(1) / ask.cores;
        there(2).checked_div(ask.gpus).map_or(cores, |gpus| cores.min(gpus))
    }

    /// Whether a node serves: enough slots, and if it is taken whole, nobody inside.
    fn node_serves(&self, v: usize, ask: Ask, at: Option<(i64, i64)>, marks: bool) -> bool {
        let whole = ask.alone || self.whole_nodes;
        let inside_free = || self.children(v).all(|c| at.is_none_or(|(from, until)| self.is_free(c, from, until)));
        self.usable(v, at, marks) && (!whole || inside_free()) && self.slots(v, ask, at, marks) >= ask.slots
    }

    fn fits(&self, ask: Ask, at: Option<(i64, i64)>, marks: bool) -> bool {
        if ask.nodes > 0 {
            let nodes = self.children(0).filter(|&v| self.tree[v - 1].1 == 0);
            return nodes.filter(|&v| self.node_serves(v, ask, at, marks)).count() >= ask.nodes;
        }
        // Slots without a node: of what is directly below the root if that has any of it, else of what nodes have.
        let direct = self.children(0).any(|v| self.tree[v - 1].1 == 1);
        if direct {
            return self.slots(0, ask, at, marks) >= ask.slots;
        }
        let nodes = self.children(0).filter(|&v| self.tree[v - 1].1 == 0 && self.usable(v, at, marks));
        let inside_free = |v| {
            !self.whole_nodes || self.children(v).all(|c| at.is_none_or(|(from, until)| self.is_free(c, from, until)))
        };
        nodes.filter(|&v| inside_free(v)).map(|v| self.slots(v, ask, at, marks)).sum::<usize>() >= ask.slots
    }

    /// The first second from `now` on at which it fits.
    fn earliest(&self, ask: Ask, now: i64, limit: i64) -> Option<i64> {
        let ends = self.held.iter().map(|(_, _, end)| *end).filter(|&end| end > now);
        let mut times: Vec<i64> = std::iter::once(now).chain(ends).collect();
        times.sort_unstable();
        times.into_iter().find(|&t| self.fits(ask, Some((t, t + limit)), true))
    }

    /// Enters a grant; it must be free, and what was asked for.
    fn enter(&mut self, matched: &Matched, ask: Ask, graph: &Graph, from: i64, until: i64) {
        let mut taken = BTreeSet::new();
        for granted in matched.grant.vertices.iter().filter(|granted| granted.exclusive) {
            taken.insert(granted.vertex.index());
            if granted.whole {
                taken.extend(graph.subtree(granted.vertex).map(|v| v as usize));
            }
        }
        let of = |ty: usize| taken.iter().filter(|&&v| v > 0 && self.tree[v - 1].1 == ty).count();
        for &v in &taken {
            assert!(self.is_free(v, from, until), "vertex {v} is given twice");
            // Who takes a node whole has the parts that are down too, but does not count them.
            let inside = v > 0 && taken.contains(&self.tree[v - 1].0);
            assert!(inside || self.is_up(v), "vertex {v} is down");
        }
        let whole = ask.alone || self.whole_nodes;
        let nodes = ask.nodes.max(1);
        if whole {
            assert!(of(0) >= ask.nodes, "{ask:?}: {taken:?}");
            assert!(of(1) >= nodes * ask.slots * ask.cores || ask.nodes == 0, "{ask:?}: {taken:?}");
        } else {
            assert_eq!(of(0), 0, "{ask:?}: {taken:?}");
            assert_eq!(of(1), nodes * ask.slots * ask.cores, "{ask:?}: {taken:?}");
            assert_eq!(of(2), nodes * ask.slots * ask.gpus, "{ask:?}: {taken:?}");
        }
        self.held.push((taken, from, until));
    }
}

fn walk(tree: &Tree, policy: &str, salt: usize) {
    let (graph, _) = Graph::from_text(&text_of(tree)).unwrap();
    let graph = Arc::new(graph);
    let options = Options { policy: policy.parse().unwrap(), ..Options::default() };
    let mut engine = Engine::new(graph.clone(), options).unwrap();
    let whole_nodes = policy.ends_with('x');
    let mut world = World { tree, whole_nodes, held: Vec::new(), down: BTreeSet::new() };
    let limits = [10, 20, 5];
    for step in 0..6 {
        let ask = ASKS[(salt + step * 4) % ASKS.len()];
        let limit = limits[(salt + step) % limits.len()];
        if step == 3 && salt.is_multiple_of(2) {
            let v = 1 + salt % tree.len();
            world.down.insert(v);
            engine.set_status(&graph.path(VertexId(v as u32)), Status::Down).unwrap();
            if graph.by_path(&graph.path(VertexId(v as u32))) != Some(VertexId(v as u32)) {
                return;
            }
        }
        let place = format!("{}{policy}, step {step}: {ask:?}", text_of(tree));
        let spec = spec(ask, limit);
        let mut run = |operation| {
            let result = engine.match_job(operation, JobId(step as u64), Timestamp::ZERO, &spec);
            result.map_err(|failure| failure.error)
        };
        let now = world.fits(ask, Some((0, limit)), true);
        let ever = world.fits(ask, None, false);
        assert_eq!(run(Operation::WithoutAllocating).is_ok(), now, "now? {place}");
        assert_eq!(run(Operation::Satisfiability).is_ok(), ever, "ever? {place}");
        let expected = world.earliest(ask, 0, limit);
        match run(Operation::AllocateOrElseReserve) {
            Ok(matched) => {
                let at = matched.at.micros() / 1_000_000;
                assert_eq!(Some(at), expected, "when? {place}");
                world.enter(&matched, ask, &graph, at, at + limit);
            }
            Err(MatchError::Busy) => assert!(expected.is_none() && ever, "busy? {place}"),
            Err(MatchError::Unsatisfiable { .. }) => assert!(!ever, "never? {place}"),
            Err(error) => panic!("{error}: {place}"),
        }
    }
    for job in 0..6 {
        let _ = engine.cancel(JobId(job));
    }
    assert_eq!(engine.planned_vertices(), 0, "something stays: {}", text_of(tree));
}

#[test]
fn every_small_graph() {
    let bound = std::env::var("SLUICE_TREE_GRAPHS").ok().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    // With the root that is up to seven vertices.
    let all = (1..=6).flat_map(trees).take(bound);
    let looked_at = all.enumerate().map(|(number, tree)| {
        for (at, policy) in POLICIES.iter().enumerate() {
            for salt in 0..4 {
                walk(&tree, policy, number + at + 7 * salt);
            }
        }
    });
    let looked_at = looked_at.count();
    assert!(looked_at > 1000 || bound < usize::MAX, "{looked_at} graphs");
    println!("{looked_at} graphs");
}
