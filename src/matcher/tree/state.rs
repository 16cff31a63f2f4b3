//! What walks ask of the state: filters, weights, constraints, classes.

use super::engine::Engine;
use super::topology::Children;
use crate::base::VertexId;
use crate::formats::constraint::Constraint;

/// The worst class, and that of vertices without one.
const WORST_CLASS: i64 = 9999;

impl Engine {
    /// How much of the counted type at a position is free below a vertex all through an interval.
    pub(super) fn free_below(&self, v: VertexId, position: usize, from: i64, until: i64) -> i64 {
        let total = self.filters.total(&self.graph, &self.types, v, position);
        let used = self.plan(v).and_then(|plan| plan.below.get(position)).map_or(0, |steps| steps.most(from, until));
        total - used
    }

    /// Notes that Fluxion's index of the root learns what is free in an interval.
    pub(super) fn hear(&mut self, from: i64, until: i64) {
        if !self.unheard.is_empty() {
            self.unheard.retain(|&at, _| at < from || at >= until);
        }
    }

    /// Notes that there is more below the root than Fluxion's index of it knows, from every time on at which something
    /// starts or ends.
    pub(super) fn miss(&mut self, root: VertexId, more: i64) {
        let points: Vec<i64> = self
            .plan(root)
            .and_then(|plan| plan.below.first())
            .map_or(Vec::new(), |steps| steps.points_from(i64::MIN).collect());
        for at in points {
            *self.unheard.entry(at).or_default() += more;
        }
    }

    /// Whether Fluxion's index of the root gives a time for so much of the first counted type. What it gives it
    /// looks at, and then knows.
    pub(super) fn index_gives(&mut self, root: VertexId, at: i64, need: i64) -> bool {
        let Some(&unheard) = self.unheard.get(&at) else { return true };
        let gives = self.free_below(root, 0, at, at) - unheard >= need;
        if gives {
            self.unheard.remove(&at);
        }
        gives
    }

    /// Whether a vertex has a filter.
    pub(super) fn has_filter(&self, v: VertexId) -> bool {
        !self.filters.at(self.ty(v)).is_empty() && !self.topology.is_leaf(&self.graph, v)
    }

    /// The highest number first. For Fluxion those come before that were never used, then those with most left.
    pub(super) fn sort_by_weight(&self, parent: VertexId, children: &mut Children, lead: bool) {
        let uniq = |v: VertexId| self.graph.uniq_id(v);
        if !children.is_sorted_by_key(|&v| uniq(v)) {
            children.sort_by_key(|&v| uniq(v));
        }
        children.reverse();
        if lead && self.options.compat && !self.weights.of.is_empty() {
            let weight = |v: &VertexId| self.weights.of.get(&(parent, *v)).copied().unwrap_or(u64::MAX);
            if children.iter().any(|v| self.weights.of.contains_key(&(parent, *v))) {
                children.sort_by_key(|v| std::cmp::Reverse(weight(v)));
            }
        }
    }

    /// Notes how much is free below a vertex for which something was just planned. Fluxion looks at its time of the
    /// request, and never again when a job ends.
    pub(super) fn weigh(&mut self, parent: VertexId, v: VertexId, now: Option<i64>) {
        if !self.options.compat || !self.options.policy.stops_on_first() || !self.has_filter(v) {
            return;
        }
        let last = self.filters.at(self.ty(v)).len() - 1;
        let free = now.map_or(0, |now| self.free_below(v, last, now, now));
        let spans = self.plan(v).is_some_and(|plan| plan.holds.values().any(|hold| hold.below.is_some()));
        if free == 0 && now.is_some() && !spans {
            return;
        }
        self.weights.of.insert((parent, v), free.max(0) as u64);
    }

    /// Whether a constraint is satisfied. The host counts as a property, and nothing named in `or` is satisfied, but
    /// not for Fluxion.
    pub(super) fn satisfies(&self, v: VertexId, constraint: &Constraint) -> bool {
        if !self.options.compat {
            let vertex = self.graph.vertex(v);
            let rank = vertex.rank().unwrap_or(u32::MAX);
            return constraint.matches(&|name| self.has_property(v, name), &vertex.name(), rank);
        }
        match constraint {
            Constraint::All => true,
            Constraint::Properties(terms) => terms.iter().all(|term| self.has_property(v, &term.name) != term.negated),
            Constraint::Hostlist(hosts) => hosts.contains(&self.graph.vertex(v).name()),
            Constraint::Ranks(ranks) => self.graph.vertex(v).rank().is_some_and(|rank| ranks.contains(rank)),
            Constraint::And(all) => all.iter().all(|member| self.satisfies(v, member)),
            Constraint::Or(any) => any.iter().any(|member| self.satisfies(v, member)),
            Constraint::Not(all) => !all.iter().all(|member| self.satisfies(v, member)),
        }
    }

    /// The class of a vertex, 0 being the best.
    pub(super) fn performance_class(&self, v: VertexId) -> i64 {
        let own = self.properties.get(&v).unwrap_or_else(|| self.graph.vertex(v).properties());
        let class = own.get("perf_class").and_then(|text| leading_number(text));
        class.filter(|class| (0..=WORST_CLASS).contains(class)).unwrap_or(WORST_CLASS)
    }
}

/// The number that a text starts with.
fn leading_number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    text[..text.len() - digits.len() + end].parse().ok()
}
