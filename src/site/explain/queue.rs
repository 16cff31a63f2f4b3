//! How a queue stands, why its jobs wait, and what it waits for.

use super::{Blocker, kind};
use crate::base::{JobId, Timestamp};
use crate::site::forecast::{Arrival, Forecast, Span, Usage};
use crate::site::job::JobState;
use crate::site::{QueueView, Site, Why};
use std::collections::BTreeMap;

/// So many waiting jobs are asked why they wait.
pub const LOOKED_AT: usize = 1_000;

/// All there is to say about a queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueReport {
    /// Its states.
    pub view: QueueView,
    /// Why its first waiting jobs wait (at most [`LOOKED_AT`]): the word, how many, the first of them.
    pub reasons: BTreeMap<String, (usize, JobId)>,
    /// How many waiting jobs were asked.
    pub asked: usize,
    /// What stands in its way.
    pub blockers: Vec<Blocker>,
    /// The first moment at which any of that changes; never: no such is known.
    pub changes: Timestamp,
    /// When the first of its waiting jobs starts, and the last; never: one does not, or none waits.
    pub first: Span,
    /// See `first`.
    pub last: Span,
    /// What likely comes to it, in order of time.
    pub arrivals: Vec<Arrival>,
}

impl Site {
    /// Everything about a live queue; `None` if there is none of that name.
    pub fn explain_queue(&self, name: &str, forecast: &Forecast, usage: &Usage) -> Option<QueueReport> {
        let view = self.queue_view(name)?;
        let (mut reasons, mut asked) = (BTreeMap::<String, (usize, JobId)>::new(), 0);
        for job in forecast.jobs.iter().filter(|j| j.queue == view.id).take(LOOKED_AT) {
            let word = match self.explain(job.job) {
                Some(Why::Reason(reason)) => kind(&reason).to_owned(),
                Some(Why::Held(_)) if self.job(job.job).is_some_and(|j| j.state == JobState::Held) => "held".to_owned(),
                Some(Why::Held(_)) => "stopped".to_owned(),
                Some(Why::Nothing | Why::Denied(_)) | None => "not looked at".to_owned(),
            };
            reasons.entry(word).or_insert((0, job.job)).0 += 1;
            asked += 1;
        }
        let starts = || forecast.jobs.iter().filter(|j| j.queue == view.id).map(|j| j.start);
        let blockers = self.in_the_way(&view, usage);
        let arrives = |a: &&Arrival| a.recipient.as_ref() == Some(&view.name);
        Some(QueueReport {
            reasons,
            asked,
            changes: self.first_change(&blockers),
            first: starts().reduce(Span::earlier).unwrap_or(Span::NEVER),
            last: starts().reduce(Span::later).unwrap_or(Span::NEVER),
            arrivals: forecast.likely_arrivals().iter().filter(arrives).cloned().collect(),
            blockers,
            view,
        })
    }

    fn in_the_way(&self, view: &QueueView, usage: &Usage) -> Vec<Blocker> {
        let mut blockers = Vec::new();
        if !view.started {
            blockers.push(Blocker::Stopped(view.name.clone(), view.stop_reason.clone()));
        }
        if let Some(parent) = view.parent.as_ref().filter(|_| view.parent_stopped) {
            let reason = self.queue_view(parent).map(|p| p.stop_reason).unwrap_or_default();
            blockers.push(Blocker::Stopped(parent.clone(), reason));
        }
        if let Some(blocked) = &view.blocked {
            for name in &blocked.by {
                let targets = self.queue_view(name).map(|q| &q.members & &blocked.targets).unwrap_or_default();
                blockers.push(Blocker::Queue { queue: name.as_str().into(), targets });
            }
        }
        if let Some((_, group)) = &view.group {
            blockers.push(Blocker::Group(view.name.clone(), group.request.give_up));
        }
        blockers.extend(self.on_the_way(&(&view.arriving | &view.leaving), usage));
        blockers.extend(self.drains(&view.members));
        let silent = &view.members - &self.answering;
        if !silent.is_empty() {
            blockers.push(Blocker::Offline(silent));
        }
        blockers.extend(self.switches_to_come(|queue| *queue == *view.name));
        blockers.extend(self.drains_to_come(&view.members));
        blockers
    }
}
