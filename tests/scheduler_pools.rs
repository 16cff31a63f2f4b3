//! Shared pools in one scheduler, each rule as a short script.

mod scheduler_kit;

use scheduler_kit::{Bench, Only, d, nodes, set, t};
use sluice::base::JobId;
use sluice::config::{PoolConfig, QueuePolicy, SchedulerSettings};
use sluice::graph::{Graph, Properties};
use sluice::matcher::{PoolNeed, PoolNeeds};
use sluice::planner::{PoolId, PoolShare, PoolSpan, PoolTable};
use sluice::scheduler::{Input, Output, PassEnd};
use std::sync::Arc;

/// Some nodes and three licences.
fn bench(n: u32, queue_policy: QueuePolicy) -> Bench {
    let graph = Arc::new(Graph::uniform(n, 4, 0).expect("a graph"));
    let licences = PoolConfig { name: "app".to_owned(), kind: "licence".to_owned(), size: 3 };
    let table = PoolTable::new(&graph, &[licences]);
    let settings = SchedulerSettings { queue_policy, ..SchedulerSettings::default() };
    let mut bench = Bench::new(graph, Properties::new(), settings);
    bench.pools(table);
    bench
}

fn span(amount: u64, from: i64, until: i64) -> PoolSpan {
    PoolSpan { share: PoolShare { pool: PoolId(0), amount }, from: t(from), until: t(until) }
}

impl Bench {
    /// A job with licences; it is told only.
    fn job(&mut self, id: u64, n: u64, secs: i64, licences: u64) -> &mut Self {
        let need = PoolNeed { kind: "licence".to_owned(), amount: licences, within: false };
        let needs = Some(need).filter(|need| need.amount > 0).into_iter().collect();
        self.submit_with((id, 0), 16, d(secs), nodes(n), Only::All, PoolNeeds { needs, within: None });
        self
    }

    fn starts(&mut self, ids: &[u64]) -> &mut Self {
        let began: Vec<u64> = self.pass().iter().map(|id| id.0).collect();
        assert_eq!(began, ids, "at {}", self.now);
        self
    }

    fn others_take(&mut self, span: PoolSpan) -> bool {
        self.ledger.pools.take(&self.scheduler, span, self.now)
    }
}

#[test]
fn the_head_of_a_fcfs_queue_is_not_starved_by_other_queues() {
    let mut b = bench(4, QueuePolicy::Fcfs);
    assert!(b.others_take(span(1, 0, 10)));
    b.job(1, 1, 5, 3).job(2, 1, 5, 0).starts(&[]);
    assert_eq!(b.ledger.pools.reserved, [span(3, 10, 15)], "what stands behind does not start, the head is reserved");
    assert!(b.others_take(span(2, 2, 10)) && !b.others_take(span(1, 2, 11)), "till then others may have them");
    b.ledger.pools.others.clear();
    b.at(10).tell(Input::Reconsider);
    b.starts(&[1, 2]);
    assert_eq!(b.ledger.pools.reserved, []);
}

#[test]
fn a_pass_that_is_not_done_gives_up_no_reservation_of_pools() {
    for policy in [QueuePolicy::Easy, QueuePolicy::Hybrid] {
        let mut b = bench(2, policy);
        b.down(set([1]));
        assert!(b.others_take(span(1, 0, 10)));
        // 1 waits for the node that is down and is set aside, 2 is the head.
        b.job(1, 2, 5, 0).job(2, 1, 5, 3).starts(&[]);
        assert_eq!((b.planned(2), b.ledger.pools.reserved.clone()), (Some(t(10)), vec![span(3, 10, 15)]));
        b.tell(Input::Reconsider);
        let (out, end) = b.pass_once(1);
        assert_eq!((end, out.iter().any(|o| matches!(o, Output::PoolPlans { .. }))), (PassEnd::BudgetSpent, false));
        assert!(!b.others_take(span(1, 0, 20)), "{policy:?}: it is promised");
        b.starts(&[]);
        assert_eq!(b.planned(2), Some(t(10)));
    }
}

#[test]
fn a_pass_yields_at_the_first_job_that_takes_of_a_pool() {
    let mut b = bench(4, QueuePolicy::Easy);
    b.job(1, 1, 5, 0).job(2, 1, 5, 1).job(3, 1, 5, 0);
    let out = b.tell(Input::Pass { budget: usize::MAX });
    assert!(matches!(
        out.as_slice(),
        [Output::Alloc { job: JobId(1), .. }, Output::PassEnded { end: PassEnd::NeedsShared, examined: 1 }]
    ));
    b.starts(&[2, 3]);
}

#[test]
fn a_job_that_takes_of_no_pool_overtakes_one_that_waits_for_it() {
    let mut b = bench(4, QueuePolicy::Easy);
    assert!(b.others_take(span(3, 0, 10)));
    // 3 would take the nodes of 1 beyond its start, 4 would take its licences.
    b.job(1, 3, 10, 1).job(2, 4, 11, 0).job(3, 2, 11, 0).job(4, 1, 11, 3).starts(&[]);
    b.job(5, 1, 100, 0).job(6, 3, 10, 0).starts(&[5, 6]);
    assert_eq!([1, 2].map(|id| b.planned(id)), [Some(t(10)), None]);
}
