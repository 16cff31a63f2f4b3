//! A second pair of eyes for `--check`: what events and effects say, checked against each other alone.
//!
//! The site checks itself against its own ledger; this knows nothing but what went in and what came out, so that a
//! fault in the ledger shows too. It checks I1 (up in one queue, and work only where a target is up), I2 (nothing granted
//! twice), I3 (nothing goes up while held by a job of another queue), I4 (no kill
//! without a cancellation, and what runs keeps what it was given), I6 (the sums agree). Where targets are in common, I1 and I3
//! have no meaning and are left out, but that work starts only where a target is up.

use super::book::Book;
use crate::base::{FastMap, FastSet, JobId, TargetId};
use crate::graph::Graph;
use crate::matcher::{Extent, Freed, Selection, Units};
use crate::site::{Effect, Event, Invariant, Site};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that does not hold.
type Finding = (Invariant, String);

/// What a job has of a target.
#[derive(Clone, Debug)]
struct Hold {
    job: JobId,
    /// The queue in which the target was up when it was granted.
    up_in: Option<Arc<str>>,
    extent: Extent,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    /// One queue at most, unless targets are in common.
    up_in: Vec<Arc<str>>,
    cores: u32,
    gpus: u32,
    holds: Vec<Hold>,
}

/// Follows a replay from outside.
#[derive(Debug)]
pub(crate) struct Audit {
    /// Whether several queues may have a target up.
    common: bool,
    cells: Vec<Cell>,
    /// The targets that each job holds, those of former runs included.
    held: FastMap<JobId, Vec<TargetId>>,
    /// What each running job was given.
    running: BTreeMap<JobId, Arc<Selection>>,
    cancelled: FastSet<JobId>,
    /// Running jobs that were told to give way.
    signalled: FastSet<JobId>,
    findings: Vec<Finding>,
}

impl Audit {
    pub fn new(graph: &Graph, common: bool) -> Self {
        let mut audit = Self {
            common,
            cells: Vec::new(),
            held: FastMap::default(),
            running: BTreeMap::new(),
            cancelled: FastSet::default(),
            signalled: FastSet::default(),
            findings: Vec::new(),
        };
        audit.grow(graph);
        audit
    }

    /// Takes over targets that are new in the graph.
    fn grow(&mut self, graph: &Graph) {
        let known = self.cells.len();
        self.cells.resize_with(graph.target_bound().max(known), Cell::default);
        for target in (known..self.cells.len()).map(|t| TargetId(t as u32)) {
            let sizes = graph.target(target).map_or((0, 0), |t| (t.cores(), t.gpus()));
            (self.cells[target.index()].cores, self.cells[target.index()].gpus) = sizes;
        }
    }

    /// The site is told an event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Cancel { job } => {
                self.cancelled.insert(*job);
            }
            Event::End { job, .. } | Event::Requeue { job } => {
                self.signalled.remove(job);
                self.running.remove(job);
            }
            Event::Free { job, freed } => {
                let targets = match freed {
                    Freed::Rest => self.held.remove(job).unwrap_or_default(),
                    Freed::Targets(targets) => {
                        if let Some(held) = self.held.get_mut(job) {
                            for target in targets.iter() {
                                if let Some(at) = held.iter().position(|t| *t == target) {
                                    held.remove(at);
                                }
                            }
                        }
                        targets.iter().collect()
                    }
                };
                for target in targets {
                    let Some(cell) = self.cells.get_mut(target.index()) else { continue };
                    if let Some(at) = cell.holds.iter().position(|h| h.job == *job) {
                        cell.holds.remove(at);
                    }
                }
            }
            _ => {}
        }
    }

    /// The site has answered an effect.
    pub fn effect(&mut self, effect: &Effect, graph: &Graph) {
        match effect {
            Effect::Up { queue, targets, .. } => targets.iter().for_each(|t| self.up(queue, t)),
            Effect::Down { queue, targets, .. } => {
                for target in targets.iter() {
                    if let Some(cell) = self.cells.get_mut(target.index()) {
                        cell.up_in.retain(|up| up != queue);
                    }
                }
            }
            Effect::Start { job, selection, .. } => {
                self.grant(*job, selection);
                self.running.insert(*job, selection.clone());
            }
            Effect::Preempt { job, .. } => {
                self.signalled.insert(*job);
            }
            Effect::Kill { job } if !self.cancelled.contains(job) && !self.signalled.contains(job) => {
                self.findings.push((Invariant::I4, format!("job {job} is killed, and nobody has cancelled it")));
            }
            Effect::Inventory { joined: true, .. } => self.grow(graph),
            _ => {}
        }
    }

    fn up(&mut self, queue: &Arc<str>, target: TargetId) {
        let Some(cell) = self.cells.get_mut(target.index()) else {
            return self
                .findings
                .push((Invariant::I1, format!("target {target}, which is unknown, goes up in {queue}")));
        };
        if let Some(other) = cell.up_in.iter().find(|other| *other != queue && !self.common) {
            let text = format!("target {target} goes up in {queue} while it is up in {other}");
            self.findings.push((Invariant::I1, text));
        }
        let other = |h: &&Hold| h.up_in.as_ref().is_some_and(|other| other != queue);
        let strange = cell.holds.iter().find(other).filter(|_| !self.common);
        if let Some(hold) = strange {
            let text = format!("target {target} goes up in {queue} while job {} of another queue holds it", hold.job);
            self.findings.push((Invariant::I3, text));
        }
        if !self.common {
            cell.up_in.clear();
        }
        if !cell.up_in.contains(queue) {
            cell.up_in.push(queue.clone());
        }
    }

    fn grant(&mut self, job: JobId, selection: &Selection) {
        for share in &selection.shares {
            let target = share.target;
            let Some(cell) = self.cells.get_mut(target.index()) else {
                self.findings.push((Invariant::I2, format!("job {job} gets target {target}, which is unknown")));
                continue;
            };
            if cell.up_in.is_empty() {
                self.findings.push((Invariant::I1, format!("job {job} starts on target {target}, which is down")));
            }
            if let Some(other) = cell.holds.iter().find(|h| overlap(&h.extent, &share.extent)) {
                let text = format!("job {job} gets of target {target} what job {} holds", other.job);
                self.findings.push((Invariant::I2, text));
            }
            if let Extent::Part(part) = &share.extent
                && (beyond(&part.cores, cell.cores) || beyond(&part.gpus, cell.gpus))
            {
                self.findings.push((Invariant::I2, format!("job {job} gets more of target {target} than there is")));
            }
            let up_in = cell.up_in.first().cloned();
            cell.holds.push(Hold { job, up_in, extent: share.extent.clone() });
        }
        self.held.entry(job).or_default().extend(selection.targets());
    }

    /// What was found since the last step, and whether the sums agree now.
    pub fn step(&mut self, site: &Site, book: &Book) -> Vec<Finding> {
        let mut findings = std::mem::take(&mut self.findings);
        let (here, there) = (book.counts(), site.counts());
        let ends = |c: [u64; 5]| c.map(|n| n.to_string()).join("/");
        let ours = [here.completed, here.failed, here.cancelled, here.denied, here.running];
        let theirs = [there.completed, there.failed, there.cancelled, there.denied, there.running];
        let waiting = (here.pending + here.held, there.pending + there.held);
        if here.submitted != there.submitted
            || ours != theirs
            || waiting.0 != waiting.1
            || there.sum() != there.submitted
        {
            let text = format!(
                "submitted, waiting, completed/failed/cancelled/denied/running: by effects {}, {}, {}; by the site {}, {}, {}",
                here.submitted,
                waiting.0,
                ends(ours),
                there.submitted,
                waiting.1,
                ends(theirs)
            );
            findings.push((Invariant::I6, text));
        }
        for (job, given) in &self.running {
            if !site.selection(*job).is_some_and(|has| Arc::ptr_eq(has, given) || *has == *given) {
                findings.push((Invariant::I4, format!("job {job} does not run on what it was given any more")));
            }
        }
        findings
    }

    /// The targets that any job holds.
    #[cfg(test)]
    fn held_targets(&self) -> crate::base::TargetSet {
        let held = self.cells.iter().enumerate().filter(|(_, c)| !c.holds.is_empty());
        held.map(|(t, _)| TargetId(t as u32)).collect()
    }
}

/// Whether two extents of one target cannot be held together.
fn overlap(a: &Extent, b: &Extent) -> bool {
    match (a, b) {
        (Extent::Part(a), Extent::Part(b)) => !a.cores.is_disjoint(&b.cores) || !a.gpus.is_disjoint(&b.gpus),
        (Extent::Whole, _) | (_, Extent::Whole) => true,
    }
}

/// Whether a position is not below `bound`.
fn beyond(units: &Units, bound: u32) -> bool {
    units.iter().any(|position| position >= bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Duration, Epoch, TargetSet};
    use crate::matcher::{Part, Share};

    fn audit() -> (Audit, Graph) {
        let graph = Graph::uniform(3, 4, 0).unwrap();
        (Audit::new(&graph, false), graph)
    }

    fn up(queue: &str, target: u32) -> Effect {
        Effect::Up { queue: queue.into(), targets: TargetSet::single(TargetId(target)), epoch: Epoch(0) }
    }

    fn down(queue: &str, target: u32) -> Effect {
        Effect::Down { queue: queue.into(), targets: TargetSet::single(TargetId(target)), epoch: Epoch(0) }
    }

    fn start(job: u64, target: u32, cores: Option<u32>) -> Effect {
        let extent = match cores {
            None => Extent::Whole,
            Some(n) => Extent::Part(Box::new(Part { cores: [n].into_iter().collect(), gpus: Units::new() })),
        };
        let selection = Arc::new(Selection {
            shares: vec![Share { target: TargetId(target), extent }],
            nslots: 1,
            pools: Vec::new(),
        });
        Effect::Start { job: JobId(job), queue: "a".into(), selection, limit: Duration::INFINITE }
    }

    type Said = Result<Effect, Event>;

    fn findings(events: &[Said]) -> Vec<String> {
        let (mut audit, graph) = audit();
        for event in events {
            match event {
                Ok(effect) => audit.effect(effect, &graph),
                Err(event) => audit.event(event),
            }
        }
        audit.findings.iter().map(|(i, text)| format!("{i}: {text}")).collect()
    }

    #[test]
    fn finds_what_must_not_be() {
        let free = |job| Err(Event::Free { job: JobId(job), freed: Freed::Rest });
        let cases: [(&[Said], &[&str]); 8] = [
            (&[Ok(up("a", 0)), Ok(start(1, 0, None)), free(1), Ok(down("a", 0)), Ok(up("b", 0))], &[]),
            (&[Ok(up("a", 0)), Ok(up("b", 0))], &["I1: target 0 goes up in b while it is up in a"]),
            (&[Ok(start(1, 0, None))], &["I1: job 1 starts on target 0, which is down"]),
            (
                &[Ok(up("a", 0)), Ok(start(1, 0, Some(2))), Ok(start(2, 0, Some(3))), Ok(start(3, 0, Some(2)))],
                &["I2: job 3 gets of target 0 what job 1 holds"],
            ),
            (&[Ok(up("a", 0)), Ok(start(1, 0, Some(4)))], &["I2: job 1 gets more of target 0 than there is"]),
            (
                &[Ok(up("a", 0)), Ok(start(1, 0, None)), Ok(down("a", 0)), Ok(up("b", 0))],
                &["I3: target 0 goes up in b while job 1 of another queue holds it"],
            ),
            (&[Ok(Effect::Kill { job: JobId(1) })], &["I4: job 1 is killed, and nobody has cancelled it"]),
            (&[Err(Event::Cancel { job: JobId(1) }), Ok(Effect::Kill { job: JobId(1) })], &[]),
        ];
        for (events, expected) in cases {
            assert_eq!(findings(events), expected);
        }
    }

    #[test]
    fn releases_part_by_part() {
        let (mut audit, graph) = audit();
        audit.effect(&up("a", 0), &graph);
        audit.effect(&up("a", 1), &graph);
        let selection = Arc::new(Selection::whole([TargetId(0), TargetId(1)], 2));
        let start = Effect::Start { job: JobId(1), queue: "a".into(), selection, limit: Duration::INFINITE };
        audit.effect(&start, &graph);
        audit.event(&Event::Free { job: JobId(1), freed: Freed::Targets(TargetSet::single(TargetId(1))) });
        assert_eq!(audit.held_targets().to_string(), "0");
        audit.event(&Event::Free { job: JobId(1), freed: Freed::Rest });
        assert!(audit.held_targets().is_empty());
    }
}
