//! Who has a target, who holds it, who gets it next, and by which rule.

use super::Blocker;
use crate::base::{JobId, TargetId, TargetSet};
use crate::coordinator::{Cause, Ownership};
use crate::site::forecast::{Forecast, NextUse, Span, Usage};
use crate::site::{Site, TargetView};
use std::sync::Arc;

/// The rules of ownership (R1–R8), as far as one applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Nothing is to be done: who has it is who should.
    Settled,
    /// R1: it leaves with the next step.
    Leaves,
    /// R2: it waits for its holders, or for the acknowledgement of its down.
    WaitsForRelease,
    /// R3: it goes to its new owner with the next step.
    Arrives,
    /// R4: its owner gets it back once no job of another holds it.
    ComesBack,
    /// R6: it takes no work, whoever has it.
    Down,
    /// R7: its owner was removed.
    Tombstone,
    /// R8: a job was found on it that should not be there.
    Found,
}

impl Rule {
    /// Its name, as docs/architecture.md has it, and what it says.
    pub fn text(self) -> (&'static str, &'static str) {
        match self {
            Rule::Settled => ("none", "who has it is who should have it"),
            Rule::Leaves => ("R1", "another should have it: it is taken down in its owner"),
            Rule::WaitsForRelease => ("R2", "it is down, and free once nothing holds it and its down is acknowledged"),
            Rule::Arrives => ("R3", "it is free, and goes to who should have it"),
            Rule::ComesBack => ("R4", "its owner is to have it again, once no job of another queue holds it"),
            Rule::Down => ("R6", "it does not answer or is drained: down in its owner, who keeps it"),
            Rule::Tombstone => ("R7", "its queue was removed: what runs there runs on, then it goes"),
            Rule::Found => ("R8", "a job was found on it: it stays down until that is gone"),
        }
    }
}

/// All there is to say about a target.
#[derive(Clone, PartialEq, Debug)]
pub struct TargetReport {
    /// Its states.
    pub view: TargetView,
    /// The queues that cover it, whether they claim it or not.
    pub members: Vec<Arc<str>>,
    /// Who should have it.
    pub wanted: Option<Arc<str>>,
    /// Which rule applies.
    pub rule: Rule,
    /// What stands in the way of new work on it.
    pub blockers: Vec<Blocker>,
    /// When what holds it now is gone.
    pub free: Span,
    /// Who likely gets it next. Needs a forecast that watched it.
    pub next: Option<NextUse>,
}

/// No job has this id.
const NOBODY: JobId = JobId(u64::MAX);

impl Site {
    /// Everything about a target; `None` if it is not in the inventory.
    pub fn explain_target(&self, target: TargetId, forecast: &Forecast, usage: &Usage) -> Option<TargetReport> {
        let view = self.target_view(target)?;
        let one = TargetSet::single(target);
        let mut blockers = self.holders(&one, usage);
        blockers.extend(self.held_for_others(NOBODY, &one));
        blockers.extend(self.on_the_way(&one, usage));
        blockers.extend(self.drains(&one));
        if !view.answering {
            blockers.push(Blocker::Offline(one.clone()));
        }
        blockers.extend(self.drains_to_come(&one));
        let covers = |q: &&super::super::queue::Queue| q.is_live() && q.members.contains(target);
        Some(TargetReport {
            members: self.queues.iter().filter(covers).map(|q| q.name.clone()).collect(),
            wanted: self.coordinator.wanted(target).map(|q| self.queue(q).name.clone()),
            rule: self.rule(target, &view),
            blockers,
            free: self.forecast_targets(&one, usage).first().map_or(Span::NEVER, |f| f.free),
            next: forecast.next_use().cloned(),
            view,
        })
    }

    fn rule(&self, target: TargetId, view: &TargetView) -> Rule {
        let wanted = self.coordinator.wanted(target);
        let down = !view.answering || view.drained.is_some();
        match self.coordinator.ownership(target) {
            Some(Ownership::Leaving(donor)) => {
                let found = |d: &crate::coordinator::Donation| d.targets.contains(target) && d.cause == Cause::Found;
                if self.coordinator.donations().any(|d| found(&d)) {
                    Rule::Found
                } else if self.queue(donor).removed {
                    Rule::Tombstone
                } else if wanted == Some(donor) {
                    Rule::ComesBack
                } else {
                    Rule::WaitsForRelease
                }
            }
            Some(Ownership::Owned(owner)) if wanted != Some(owner) => Rule::Leaves,
            Some(Ownership::Free) if wanted.is_some() => Rule::Arrives,
            Some(Ownership::Owned(_) | Ownership::Free) | None if down => Rule::Down,
            Some(Ownership::Owned(_) | Ownership::Free) | None => Rule::Settled,
        }
    }
}
