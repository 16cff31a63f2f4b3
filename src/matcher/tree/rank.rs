//! Scores by policy, and the choice at a vertex and at the root.

use super::options::Policy;
use super::score::{MET, Order, Scoring, UNMET};
use super::select::{LEAD, Walk};
use super::types::{Spec, Ty};
use crate::base::VertexId;

impl Walk<'_> {
    pub(super) fn add_node_score(&mut self, v: VertexId, ty: Ty) -> bool {
        if ty != Ty::NODE || !matches!(self.engine.options.policy, Policy::Id { node_centric: true, .. }) {
            return true;
        }
        let (id, uniq) = (self.engine.graph.vertex(v).id(), self.engine.graph.uniq_id(v));
        if id < -1 || uniq < 0 {
            return false;
        }
        let tie = (uniq % 10_000 - 1).abs();
        self.last_node_score = id.saturating_add(2).saturating_mul(10_000).saturating_add(tie);
        self.node_score = self.node_score.saturating_add(self.last_node_score);
        true
    }

    /// Tests what was found below against the request, and chooses.
    pub(super) fn finish_vertex(&mut self, v: VertexId, ty: Ty, specs: &[Spec], found: &mut Scoring) -> bool {
        let order = self.order();
        let mut score = MET;
        for spec in specs.iter().filter(|spec| spec.ty == ty) {
            for below in &spec.with {
                let count = below.choose(found.of(LEAD, below.ty).qualified);
                if count == 0 {
                    score = UNMET;
                    break;
                }
                found.choose(LEAD, below.ty, count, order, !self.compat());
            }
        }
        found.score = self.score(v, ty, score);
        score == MET
    }

    pub(super) fn order(&self) -> Order {
        match self.engine.options.policy {
            Policy::Id { low: true, .. } | Policy::Variation => Order::Least,
            Policy::Id { .. } | Policy::Locality => Order::Greatest,
        }
    }

    /// The score of a vertex that is left; takes back what the node gave to those below.
    pub(super) fn score(&mut self, v: VertexId, ty: Ty, met: i64) -> i64 {
        let own = match self.engine.options.policy {
            Policy::Variation => self.engine.performance_class(v),
            Policy::Locality => self.engine.graph.vertex(v).id().saturating_add(1),
            Policy::Id { node_centric, .. } => {
                if node_centric && ty == Ty::NODE {
                    self.node_score = self.node_score.saturating_sub(self.last_node_score);
                }
                self.node_score.saturating_add(self.engine.graph.vertex(v).id()).saturating_add(1)
            }
        };
        if met == MET { own.saturating_add(MET) } else { met }
    }

    pub(super) fn finish_graph(&mut self, specs: &[Spec], found: &mut Scoring) -> bool {
        let order = self.order();
        let mut runs = Runs::default();
        for spec in specs {
            let count = spec.choose(found.of(LEAD, spec.ty).qualified);
            if count == 0 {
                return false;
            }
            if self.engine.options.policy == Policy::Locality {
                runs.add(found.of(LEAD, spec.ty).groups.iter().map(|group| group.score), self.compat());
                found.choose_by(LEAD, spec.ty, count, !self.compat(), &|group| runs.key(group.score));
            } else {
                found.choose(LEAD, spec.ty, count, order, !self.compat());
            }
        }
        true
    }
}

/// Contiguous ranges of scores.
#[derive(Default)]
struct Runs {
    scores: Vec<i64>,
    /// First and last score of each range, ascending.
    ranges: Vec<(i64, i64)>,
    by_start: bool,
}

impl Runs {
    fn add(&mut self, scores: impl Iterator<Item = i64>, by_start: bool) {
        self.by_start = by_start;
        self.scores.extend(scores);
        self.scores.sort_unstable();
        self.scores.dedup();
        self.ranges.clear();
        for &score in &self.scores {
            match self.ranges.last_mut() {
                Some((_, last)) if *last + 1 == score => *last = score,
                _ => self.ranges.push((score, score)),
            }
        }
    }

    /// What is greater comes first: the longest range, and of equally long ones the highest; in it the highest score.
    /// Fluxion means that but takes the range that starts highest, and no order in it.
    fn key(&self, score: i64) -> i64 {
        let at = self.ranges.partition_point(|range| range.1 < score);
        let Some(&(first, last)) = self.ranges.get(at) else { return i64::MIN };
        if self.by_start {
            return first;
        }
        let rank = self.ranges.iter().filter(|r| (r.1 - r.0, r.0) < (last - first, first)).count() as i64;
        let place = self.scores.partition_point(|&known| known < score) as i64;
        rank * (self.scores.len() as i64 + 1) + place
    }
}
