//! Jobs that are still there past their end: they are given another while, which doubles each time, and nobody else
//! gets what they have.
//!
//! Decides until when they are planned, and how filters count them where others have reserved the same. Ends none.
//!
//! Invariant: what a job overruns into and others have reserved is counted once in every filter, so that no filter
//! says that there is less than there is. It may say more: a walk then looks at the vertices themselves.

use super::engine::{Engine, JobRecord, after_all};
use super::fast::Fast;
use crate::base::{JobId, VertexId};
use std::cmp::Reverse;

impl Engine {
    /// A later end for an allocation that is past its end.
    fn put_off(&self, end: i64, now: i64, overruns: &mut u32) -> i64 {
        let slack = self.options.overrun_slack.micros().max(1);
        let mut until = end;
        while until <= now {
            let times = 1 << (*overruns).min(32);
            until = until.saturating_add(slack.saturating_mul(times));
            *overruns = overruns.saturating_add(1);
        }
        until.min(after_all())
    }

    /// Puts off the ends of allocations in the plans. Gives back which.
    pub(super) fn put_off_overruns(&mut self, now: i64) -> Vec<JobId> {
        let mut put_off = Vec::new();
        while let Some(&(end, job)) = self.ends.first().filter(|(end, _)| *end <= now) {
            self.ends.remove(&(end, job));
            let Some(mut overruns) = self.jobs.get(&job).map(|record| record.overruns) else { continue };
            let until = self.put_off(end, now, &mut overruns);
            self.ends.insert((until, job));
            if let Some(record) = self.jobs.get_mut(&job) {
                (record.end, record.overruns) = (until, overruns);
                for v in record.vertices.clone() {
                    self.plan_mut(v).extend(job, until);
                }
            }
            put_off.push(job);
            if until <= now {
                break;
            }
        }
        for &job in &put_off {
            self.count_once(job, now);
        }
        put_off
    }

    /// Puts off the ends of allocations, whoever knows them.
    pub(super) fn put_off_all(&mut self, fast: &mut Fast, now: i64) {
        for job in self.put_off_overruns(now) {
            if let Some(record) = self.jobs.get(&job) {
                fast.times.extend(job, record.end);
            }
        }
        while let Some(&Reverse((end, job))) = fast.ends.peek()
            && end <= now
        {
            fast.ends.pop();
            let still = fast.times.end_of(job) == Some(end) && !self.jobs.contains_key(&job);
            if still {
                let overruns = fast.overruns.entry(job).or_default();
                let until = self.put_off(end, now, overruns);
                fast.times.extend(job, until);
                fast.ends.push(Reverse((until, job)));
                if until <= now {
                    break;
                }
            }
        }
    }

    /// Looks at all jobs that are past their ends, after others were entered in the plans.
    pub(super) fn count_all_once(&mut self, now: i64) {
        let late = |(&job, record): (&JobId, &JobRecord)| (record.overruns > 0).then_some(job);
        for job in self.jobs.iter().filter_map(late).collect::<Vec<_>>() {
            self.count_once(job, now);
        }
    }

    /// Lets filters count a job that overran until the first start of what others have reserved of the same.
    fn count_once(&mut self, job: JobId, now: i64) {
        let Some(record) = self.jobs.get(&job) else { return };
        let promised = record.vertices.iter().filter_map(|&v| self.promised(job, v, now)).min();
        let until = promised.map_or(record.end, |from| from.min(record.end));
        for v in record.vertices.clone() {
            self.plan_mut(v).end_below(job, until);
        }
    }

    /// When the first of those starts that have, now or later, what a job has of a vertex.
    fn promised(&self, job: JobId, v: VertexId, now: i64) -> Option<i64> {
        let plan = self.plan(v)?;
        let mine = plan.holds.get(&job)?.pool?;
        let size = i64::try_from(self.graph.size(v)).unwrap_or(i64::MAX);
        let here = plan.holds.iter().filter(|(other, _)| **other != job).filter_map(|(_, hold)| {
            let (from, until) = hold.counted.filter(|(_, until)| *until > now)?;
            let same = mine.amount >= size || (hold.pool.is_some() && plan.pool.most(from, until) > size);
            same.then_some(from)
        });
        let above = self.graph.ancestors(v).filter_map(|above| self.plan(above)).flat_map(|plan| &plan.holds);
        let whole = above.filter(|(other, hold)| **other != job && hold.whole).filter_map(|(_, hold)| hold.pool);
        here.chain(whole.filter(|part| part.until > now).map(|part| part.from)).min()
    }
}
