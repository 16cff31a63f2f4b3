//! `--events`: everything that a replay tells the site and everything that the site answers, as JSON Lines.
//!
//! One object per line: `t` (seconds, a number), then `event` or `effect` with a word, then what belongs to it. Targets are
//! idsets of target numbers, queues and plans names, durations seconds (`null`: unlimited). A refused event is followed by
//! a line `refused` with the reason. The order of lines is the order of things.

use super::observer::Observer;
use super::words::{denial, mode};
use crate::base::{Duration, TargetSet, Timestamp};
use crate::matcher::{Freed, Selection};
use crate::site::{Effect, Event, Outcome, PendingFate, PreemptedFor, SwitchSpec};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes events and effects.
pub struct EventLog<W> {
    to: W,
    /// The first failure; what follows is not written.
    failed: Option<io::Error>,
}

impl<W: Write> EventLog<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, failed: None }
    }

    fn line(&mut self, now: Timestamp, kind: &str, word: &str, rest: Value) {
        if self.failed.is_some() {
            return;
        }
        let mut line = Map::new();
        line.insert("t".into(), time(now));
        line.insert(kind.into(), word.into());
        if let Value::Object(rest) = rest {
            line.extend(rest);
        }
        let written = serde_json::to_writer(&mut self.to, &line).map_err(io::Error::from);
        if let Err(error) = written.and_then(|()| self.to.write_all(b"\n")) {
            self.failed = Some(error);
        }
    }
}

impl<W: Write> Observer for EventLog<W> {
    fn event(&mut self, now: Timestamp, event: &Event) {
        let (word, rest) = event_line(event);
        self.line(now, "event", word, rest);
    }

    fn refused(&mut self, now: Timestamp, error: &str) {
        self.line(now, "refused", error, Value::Null);
    }

    fn effect(&mut self, now: Timestamp, effect: &Effect) {
        let (word, rest) = effect_line(effect);
        self.line(now, "effect", word, rest);
    }

    fn finish(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush(),
        }
    }
}

fn time(at: Timestamp) -> Value {
    if at.is_never() {
        Value::Null
    } else if at.micros() % 1_000_000 == 0 {
        json!(at.micros() / 1_000_000)
    } else {
        json!(at.secs_f64())
    }
}

fn length(duration: Duration) -> Value {
    if duration.is_infinite() { Value::Null } else { time(Timestamp::from_micros(duration.micros())) }
}

fn set(targets: &TargetSet) -> Value {
    targets.to_string().into()
}

fn placed(selection: &Selection) -> Value {
    set(&selection.target_set())
}

fn switch(spec: &SwitchSpec) -> Value {
    let start: Vec<String> = spec.start.iter().map(|(queue, m)| format!("{queue}{}", mode(m))).collect();
    json!({"release": spec.release, "start": start})
}

fn event_line(event: &Event) -> (&'static str, Value) {
    match event {
        Event::Submit(s) => {
            ("submit", json!({"job": s.id.0, "queue": s.queue, "user": s.userid, "limit": s.limit.map(length)}))
        }
        Event::Cancel { job } => ("cancel", json!({"job": job.0})),
        Event::Prioritize { jobs } => {
            let jobs: Vec<(u64, i64)> = jobs.iter().map(|(job, priority)| (job.0, priority.0)).collect();
            ("prioritize", json!({ "jobs": jobs }))
        }
        Event::Relimit { job, limit } => ("relimit", json!({"job": job.0, "limit": length(*limit)})),
        Event::MoveJob { job, queue } => ("move", json!({"job": job.0, "queue": queue})),
        Event::End { job, outcome } => {
            let outcome = match outcome {
                Outcome::Completed => "completed",
                Outcome::Failed => "failed",
                Outcome::Cancelled => "cancelled",
            };
            ("end", json!({"job": job.0, "outcome": outcome}))
        }
        Event::Requeue { job } => ("requeue", json!({"job": job.0})),
        Event::Free { job, freed } => {
            let targets = match freed {
                Freed::Rest => "rest".into(),
                Freed::Targets(targets) => set(targets),
            };
            ("free", json!({"job": job.0, "targets": targets}))
        }
        Event::QueueCreate { config } => ("queue-create", json!({"queue": config.name})),
        Event::QueueChange { config } => ("queue-change", json!({"queue": config.name})),
        Event::Configure(new) => ("configure", json!({"queues": new.config.queues.keys().collect::<Vec<_>>()})),
        Event::QueueRemove { queue, pending } => {
            let pending = pending.as_ref().map(|p| match p {
                PendingFate::Move(to) => format!("move={to}"),
                PendingFate::Hold => "hold".to_owned(),
                PendingFate::Cancel => "cancel".to_owned(),
            });
            ("queue-remove", json!({"queue": queue, "pending": pending}))
        }
        Event::QueueEnable { queue } => ("queue-enable", json!({"queue": queue})),
        Event::QueueDisable { queue, reason } => ("queue-disable", json!({"queue": queue, "reason": reason})),
        Event::QueueStart { queue, mode: m } => ("queue-start", json!({"queue": queue, "mode": mode(m).trim()})),
        Event::QueueStop { queue, release, reason } => {
            ("queue-stop", json!({"queue": queue, "release": release, "reason": reason}))
        }
        Event::Switch(spec) => ("switch", switch(spec)),
        Event::Planned { at, name, switch: spec } => {
            ("planned", json!({"at": time(*at), "name": name, "switch": switch(spec)}))
        }
        Event::Abort { plan } => ("abort", json!({ "plan": plan })),
        Event::Preempting(event) => {
            let (word, mut fields) = event_line(event);
            if let Value::Object(fields) = &mut fields {
                fields.insert("preempt".into(), true.into());
            }
            (word, fields)
        }
        Event::CancelPlanned { name } => ("cancel-planned", json!({"name": name})),
        Event::Offline { targets } => ("offline", json!({"targets": set(targets)})),
        Event::Online { targets } => ("online", json!({"targets": set(targets)})),
        Event::Drain { targets, reason, at } => {
            ("drain", json!({"targets": set(targets), "reason": reason, "at": at.map(time)}))
        }
        Event::Recall { targets } => ("recall", json!({"targets": set(targets)})),
        Event::Undrain { targets } => ("undrain", json!({"targets": set(targets)})),
        Event::AddTargets { addition, online } => {
            ("add", json!({"ranks": addition.rank_ids().to_string(), "online": online}))
        }
        Event::RemoveTargets { targets } => ("remove", json!({"targets": set(targets)})),
        Event::Hello(_) => ("hello", Value::Null),
        Event::HelloDone => ("hello-done", Value::Null),
    }
}

fn effect_line(effect: &Effect) -> (&'static str, Value) {
    match effect {
        Effect::Start { job, queue, selection, limit } => {
            ("start", json!({"job": job.0, "queue": queue, "targets": placed(selection), "limit": length(*limit)}))
        }
        Effect::Denied { job, reason } => ("denied", json!({"job": job.0, "reason": denial(reason)})),
        Effect::Cancelled { job } => ("cancelled", json!({"job": job.0})),
        Effect::Kill { job } => ("kill", json!({"job": job.0})),
        Effect::Preempt { job, by, kill_at, then } => {
            let by = match by {
                PreemptedFor::Job(job) => json!({"job": job.0}),
                PreemptedFor::Queue(queue) => json!({ "queue": queue }),
            };
            ("preempt", json!({"job": job.0, "for": by, "kill-at": time(*kill_at), "then": then.name()}))
        }
        Effect::Requeued { job } => ("requeued", json!({"job": job.0})),
        Effect::Held { job, reason } => ("held", json!({"job": job.0, "reason": reason})),
        Effect::Quarantined { .. } => ("quarantined", Value::Null),
        Effect::Annotated { job, reason } => ("annotated", json!({"job": job.0, "reason": reason.to_string()})),
        Effect::PlannedStart { job, at } => ("planned-start", json!({"job": job.0, "at": at.map(time)})),
        Effect::Up { queue, targets, epoch } => {
            ("up", json!({"queue": queue, "targets": set(targets), "epoch": epoch.0}))
        }
        Effect::Down { queue, targets, epoch } => {
            ("down", json!({"queue": queue, "targets": set(targets), "epoch": epoch.0}))
        }
        Effect::DonationStarted { targets, donor, recipient } => {
            ("donation-started", json!({"donor": donor, "recipient": recipient, "targets": set(targets)}))
        }
        Effect::DonationEnded { targets, donor, recipient, started, cancelled } => (
            "donation-ended",
            json!({
                "donor": donor,
                "recipient": recipient,
                "targets": set(targets),
                "started": time(*started),
                "cancelled": cancelled,
            }),
        ),
        Effect::Lent { targets, lender, borrower, until, prolonged } => (
            "lent",
            json!({
                "lender": lender,
                "borrower": borrower,
                "targets": set(targets),
                "until": time(*until),
                "prolonged": prolonged,
            }),
        ),
        Effect::LoanEnded { targets, lender, borrower, why } => (
            "loan-ended",
            json!({"lender": lender, "borrower": borrower, "targets": set(targets), "why": why.to_string()}),
        ),
        Effect::QueueChanged { queue, what, detail } => {
            ("queue", json!({"queue": queue, "what": what, "detail": detail}))
        }
        Effect::PlanDue { name, refused } => ("plan-due", json!({"name": name, "refused": refused})),
        Effect::Inventory { targets, joined } => ("inventory", json!({"targets": set(targets), "joined": joined})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{JobId, TargetId};
    use std::sync::Arc;

    #[test]
    fn one_object_per_line_in_order() {
        let mut bytes = Vec::new();
        let mut log = EventLog::new(&mut bytes);
        let now = Timestamp::from_micros(1_500_000);
        log.event(now, &Event::Cancel { job: JobId(4) });
        log.refused(now, "no such job");
        let selection = Arc::new(Selection::whole([TargetId(0), TargetId(1), TargetId(5)], 3));
        let queue = "batch".into();
        log.effect(
            Timestamp::from_secs(2),
            &Effect::Start { job: JobId(5), queue, selection, limit: Duration::INFINITE },
        );
        log.finish().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let expected = [
            r#"{"t":1.5,"event":"cancel","job":4}"#,
            r#"{"t":1.5,"refused":"no such job"}"#,
            r#"{"t":2,"effect":"start","job":5,"queue":"batch","targets":"0-1,5","limit":null}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
