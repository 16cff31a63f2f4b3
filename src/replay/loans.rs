//! What was lent between queues, how often, for how long, and why it went back: gathered from effects.
//!
//! A target counts each time it is lent. Its time on loan is that of the record, from when it was lent to when the loan
//! was over; a job that is on it then keeps it a little longer. What moves for a loan is no switch, and stands in no
//! figure of donations.

use super::metrics::{BorrowerFigures, LoanEnds, LoanFigures};
use crate::base::{Duration, TargetId, TargetSet, Timestamp};
use crate::coordinator::LoanEnd;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A target on loan.
#[derive(Clone, Debug)]
struct Open {
    since: Timestamp,
    borrower: Arc<str>,
}

/// Follows loans.
#[derive(Debug, Default)]
pub(crate) struct Loans {
    open: BTreeMap<TargetId, Open>,
    /// Targets that are about to move, or move, because of a loan or its end.
    moving: TargetSet,
    figures: LoanFigures,
    total: Duration,
    by_borrower: BTreeMap<Arc<str>, Duration>,
}

impl Loans {
    /// Targets are lent, or lent for longer.
    pub fn lent(&mut self, now: Timestamp, targets: &TargetSet, borrower: &Arc<str>, prolonged: bool) {
        if prolonged {
            self.figures.prolonged += targets.len() as u64;
            return;
        }
        self.moving |= targets;
        for target in targets.iter() {
            let open = Open { since: now, borrower: borrower.clone() };
            self.open.insert(target, open);
        }
        self.figures.lent += targets.len() as u64;
        self.figures.most = self.figures.most.max(self.open.len() as u64);
        let has = self.open.values().filter(|open| open.borrower == *borrower).count() as u64;
        let figures = self.figures.borrowers.entry(borrower.to_string()).or_default();
        figures.lent += targets.len() as u64;
        figures.most = figures.most.max(has);
    }

    /// Loans are over.
    pub fn ended(&mut self, now: Timestamp, targets: &TargetSet, why: LoanEnd) {
        self.moving |= targets;
        let LoanEnds { expired, wanted, unused, withdrawn, recalled, lost } = &mut self.figures.ended;
        *match why {
            LoanEnd::Expired => expired,
            LoanEnd::Ended => wanted,
            LoanEnd::Unused => unused,
            LoanEnd::Withdrawn => withdrawn,
            LoanEnd::Recalled => recalled,
            LoanEnd::LenderLost | LoanEnd::BorrowerLost => lost,
        } += targets.len() as u64;
        targets.iter().for_each(|target| self.close_one(now, target));
    }

    fn close_one(&mut self, now: Timestamp, target: TargetId) {
        let Some(open) = self.open.remove(&target) else { return };
        let time = now.since(open.since);
        self.total = self.total + time;
        let sum = self.by_borrower.entry(open.borrower).or_default();
        *sum = *sum + time;
    }

    /// Whether targets move because of a loan.
    pub fn moves(&self, targets: &TargetSet) -> bool {
        targets.is_subset(&self.moving)
    }

    /// Targets have arrived or have come back; whether they moved because of a loan.
    pub fn moved(&mut self, targets: &TargetSet) -> bool {
        let mine = self.moves(targets);
        self.moving -= targets;
        mine
    }

    /// The replay ends: what is on loan counts up to now.
    pub fn close(&mut self, now: Timestamp) {
        self.figures.open = self.open.len() as u64;
        let targets: Vec<TargetId> = self.open.keys().copied().collect();
        targets.into_iter().for_each(|target| self.close_one(now, target));
    }

    /// The figures.
    pub fn figures(&self) -> LoanFigures {
        let mut figures = self.figures.clone();
        figures.target_s = self.total.secs_f64();
        for (name, time) in &self.by_borrower {
            if let Some(BorrowerFigures { target_s, .. }) = figures.borrowers.get_mut(&**name) {
                *target_s = time.secs_f64();
            }
        }
        figures
    }
}
