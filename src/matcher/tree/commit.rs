//! From a choice to a grant, and into the plans.

use super::engine::{Engine, JobRecord};
use super::outcome::{Grant, Granted};
use super::select::{Choice, LEAD};
use super::types::{Needs, Ty};
use crate::base::{JobId, VertexId};
use crate::planner::vertex::Part;
use std::collections::BTreeSet;

/// What becomes of a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It is held from now on.
    Allocation,
    /// It is held later.
    Reservation,
    /// Nothing.
    Question,
}

/// Who gets a choice, when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Allocation {
    pub(super) job: JobId,
    /// The time of the request; none for what comes from outside.
    pub(super) now: Option<i64>,
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) kind: Kind,
    /// Whether pools are planned already.
    pub(super) planned: bool,
}

/// One vertex on the way down.
#[derive(Clone, Copy)]
struct Visit {
    v: VertexId,
    needs: u64,
    exclusive: bool,
    /// Whether something above takes all that is below.
    in_whole: bool,
    exclusive_parent: bool,
    level: u32,
    parent: Option<VertexId>,
}

/// A vertex of which all below is done.
struct Left {
    visit: Visit,
    exclusive: bool,
    /// Whether all below goes with it without being entered.
    packed: bool,
    /// How many vertices below are held.
    held: u64,
    /// What they use, by counted type.
    below: Needs,
}

struct Commit<'a> {
    choice: &'a Choice,
    allocation: Allocation,
    whole: &'a [bool],
    grant: Grant,
    touched: BTreeSet<VertexId>,
}

impl Engine {
    /// Grants a choice, and plans it unless it is a question.
    pub(super) fn commit(&mut self, choice: &Choice, allocation: Allocation, whole: &[bool]) -> Grant {
        let mut commit = Commit { choice, allocation, whole, grant: Grant::default(), touched: BTreeSet::new() };
        let root = self.topology.roots[LEAD];
        let visit = Visit {
            v: root,
            needs: choice.root_needs,
            exclusive: choice.root_exclusive,
            in_whole: false,
            exclusive_parent: false,
            level: 1,
            parent: None,
        };
        commit.visit(self, visit, &mut Needs::new());
        let Commit { grant, touched, .. } = commit;
        if allocation.kind != Kind::Question && !grant.vertices.is_empty() {
            self.record(allocation, touched);
        }
        grant
    }

    /// Notes what a job holds.
    pub(super) fn record(&mut self, allocation: Allocation, touched: BTreeSet<VertexId>) {
        let Allocation { job, until, kind, .. } = allocation;
        let reserved = kind == Kind::Reservation;
        let record = self.jobs.entry(job).or_insert_with(|| JobRecord {
            vertices: BTreeSet::new(),
            end: until,
            overruns: 0,
            reserved,
        });
        record.vertices.extend(touched);
        if !reserved {
            self.ends.insert((until, job));
        }
    }
}

impl Commit<'_> {
    /// How many vertices at and below are held. What they use by counted type is added to `up`.
    fn visit(&mut self, engine: &mut Engine, visit: Visit, up: &mut Needs) -> u64 {
        let Visit { v, level, .. } = visit;
        let whole = visit.in_whole || self.whole[engine.ty(v).index()];
        let exclusive = visit.exclusive || whole;
        let mut below = Needs::new();
        let mut held = 0;
        let packed = whole && engine.topology.plain && !engine.options.compat;
        if packed {
            below = engine.sums_below(v);
        } else {
            for (child, needs, child_exclusive) in self.children(engine, v, whole) {
                let next = Visit {
                    v: child,
                    needs,
                    exclusive: child_exclusive,
                    in_whole: whole,
                    exclusive_parent: exclusive,
                    level: level + 1,
                    parent: Some(v),
                };
                let held_there = self.visit(engine, next, &mut below);
                if held_there > 0 {
                    if self.allocation.kind != Kind::Question || engine.options.compat {
                        engine.weigh(v, child, self.allocation.now);
                    }
                    held += held_there;
                }
            }
        }
        self.leave(engine, Left { visit, exclusive, packed, held, below }, up)
    }

    /// What was chosen below a vertex, or all of it.
    fn children(&self, engine: &Engine, v: VertexId, whole: bool) -> Vec<(VertexId, u64, bool)> {
        let lead = engine.topology.subsystems[LEAD];
        let graph = &engine.graph;
        if whole {
            let all = engine.topology.children(graph, v, lead).into_iter();
            return all
                .filter(|&child| engine.topology.parent(graph, child) == Some(v))
                .map(|c| (c, graph.size(c), true))
                .collect();
        }
        let marks = &self.choice.marks;
        if engine.topology.is_tree {
            let range = graph.subtree(v);
            let (start, end) = (VertexId(range.start + 1), VertexId(range.end));
            let mine = marks.range(start..end).filter(|(_, mark)| mark.from == v);
            return mine.map(|(&child, mark)| (child, mark.needs, mark.exclusive)).collect();
        }
        let all = engine.topology.children(graph, v, lead).into_iter();
        all.filter_map(|child| {
            let mark = marks.get(&child).filter(|mark| mark.from == v)?;
            Some((child, mark.needs, mark.exclusive))
        })
        .collect()
    }

    fn leave(&mut self, engine: &mut Engine, left: Left, up: &mut Needs) -> u64 {
        let Left { visit, exclusive, packed, held, below } = left;
        let held = held + u64::from(exclusive);
        if held == 0 {
            return 0;
        }
        let Visit { v, needs, .. } = visit;
        let Allocation { job, from, until, kind, planned, .. } = self.allocation;
        if kind != Kind::Question {
            let ty = engine.ty(v);
            let amounts: Vec<i64> = if engine.has_filter(v) && !below.is_empty() {
                engine.filters.at(ty).iter().map(|ty| below.get(ty).copied().unwrap_or(0)).collect()
            } else {
                Vec::new()
            };
            let plan = engine.plan_mut(v);
            if exclusive && !planned {
                plan.take_pool(job, Part { from, until, amount: needs as i64 }, kind == Kind::Reservation, packed);
            }
            plan.count(job, from, until);
            if !amounts.is_empty() {
                plan.take_below(job, from, until, &amounts);
                if visit.parent.is_none() {
                    engine.hear(from, until);
                }
            }
            self.touched.insert(v);
            let size = engine.graph.size(v);
            let used = if exclusive { size } else { size.saturating_sub(needs) };
            add(engine, up, ty, used as i64);
            below.into_iter().for_each(|(ty, amount)| add(engine, up, ty, amount));
        }
        self.emit(engine, visit, exclusive, packed);
        held
    }

    fn emit(&mut self, engine: &mut Engine, visit: Visit, exclusive: bool, packed: bool) {
        let Visit { v, needs, exclusive_parent, level, parent, .. } = visit;
        let mut label = self.choice.labels.get(&v).cloned();
        if engine.options.compat {
            // A label stays on the vertex until it gets another, and shows when the vertex is granted without one.
            match &label {
                Some(label) => drop(engine.labels.insert(v, label.clone())),
                None => label = engine.labels.get(&v).cloned(),
            }
        }
        let edge = parent.map(|parent| (parent, engine.topology.subsystems[LEAD]));
        let (whole, counts) = (packed && engine.graph.subtree(v).len() > 1, Vec::new());
        self.grant.vertices.push(Granted {
            vertex: v,
            needs,
            exclusive,
            exclusive_parent,
            whole,
            level,
            edge,
            label,
            counts,
        });
    }
}

fn add(engine: &Engine, sums: &mut Needs, ty: Ty, amount: i64) {
    if engine.filters.is_counted(ty) {
        *sums.entry(ty).or_default() += amount;
    }
}
