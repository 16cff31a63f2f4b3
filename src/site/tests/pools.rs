//! Shared pools under several queues.

use super::super::ledger::{Ledger, Size};
use super::*;
use crate::config::PoolConfig;
use crate::planner::{PoolId, PoolShare, PoolTable};

/// Two racks of two nodes with 10 of storage each; three licences; queue `a` on the first nodes of the racks, `b` on the
/// others.
fn pools() -> Bed {
    let text = "cluster c
  rack
    node n[0-1] cores=2
    ssd size=10
  rack
    node n[2-3] cores=2
    ssd size=10
";
    let graph = Arc::new(Graph::from_text(text).expect("a small graph").0);
    let mut config = Config::default();
    config.resource.pools = vec![PoolConfig { name: "app".to_owned(), kind: "licence".to_owned(), size: 3 }];
    let options = SiteOptions { check_ledger: true, annotate: false };
    let mut bed = Bed { site: Site::empty(graph, Arc::new(Properties::new()), Arc::new(config), options) };
    bed.step(0, "create a hosts=n[0,2] policy=easy; create b hosts=n[1,3] policy=easy; online 0-3; start a; start b");
    bed
}

fn starts(lines: &[String]) -> Vec<&str> {
    lines.iter().filter(|l| l.starts_with("start")).map(String::as_str).collect()
}

fn why(bed: &Bed, id: u64) -> String {
    match bed.site.explain(JobId(id)) {
        Some(Why::Reason(reason)) => reason.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_pool_is_shared_by_queues_and_returns_with_the_last_release() {
    let mut bed = pools();
    let lines = bed.step(0, "submit 1 q=a n=2 t=10 lic=2; submit 2 q=b n=1 t=10 lic=2; submit 3 q=b n=1 t=20 lic=1");
    assert_eq!(starts(&lines).len(), 2, "{lines:?}");
    assert_eq!([1, 2, 3].map(|id| bed.state(id)), [JobState::Running, JobState::Pending, JobState::Running]);
    assert_eq!(why(&bed, 2), "busy: licence per cluster: asked 2, available 1; planned start 10");
    bed.step(5, "end 1; free 1 0");
    assert_eq!(bed.state(2), JobState::Pending, "one node of job 1 is held yet, and its licences with it");
    bed.step(6, "free 1");
    assert_eq!(bed.state(2), JobState::Running);
    assert_eq!(bed.site.violations(), []);
}

#[test]
fn what_one_queue_has_reserved_is_taken_by_no_other() {
    let mut bed = pools();
    bed.step(0, "submit 1 q=a n=1 t=10 lic=2; submit 2 q=a n=1 t=10 lic=3; submit 3 q=b n=1 t=20 lic=1; submit 4 q=b n=1 t=10 lic=1");
    assert_eq!([2, 3, 4].map(|id| bed.state(id)), [JobState::Pending, JobState::Pending, JobState::Running]);
    assert_eq!(why(&bed, 3), "busy: licence per cluster: asked 1, available 0; planned start 20");
    // Stopped, a queue keeps nothing reserved.
    bed.step(1, "stop a; end 4; free 4");
    assert_eq!(bed.state(3), JobState::Running);
    assert_eq!(bed.site.violations(), []);
}

#[test]
fn storage_is_taken_where_the_nodes_are() {
    let mut bed = pools();
    bed.step(0, "submit 1 q=a n=1 t=10 ssd=8; submit 2 q=b n=1 t=10 ssd=8; submit 3 q=b n=1 t=10 ssd=3; submit 4 q=b n=2 t=10 ssd=1; submit 5 q=a n=1 ssd=11");
    let targets = |id| bed.site.selection(JobId(id)).map(|s| s.target_set().to_string());
    assert_eq!([1, 2, 3].map(targets), [Some("0".to_owned()), Some("3".to_owned()), None]);
    assert_eq!(why(&bed, 3), "busy: ssd per rack: asked 3, available 2; planned start 10");
    assert_eq!([4, 5].map(|id| bed.state(id)), [JobState::Denied, JobState::Denied]);
    let Some(Why::Denied(denial)) = bed.site.explain(JobId(5)) else { panic!("denied") };
    assert_eq!(denial.to_string(), "unsatisfiable: ssd per rack: asked 11, available 10");
    assert_eq!(bed.site.violations(), []);
}

#[test]
fn the_ledger_refuses_more_than_there_is() {
    let configured = [PoolConfig { name: "app".to_owned(), kind: "licence".to_owned(), size: 3 }];
    let mut ledger = Ledger::default();
    (0..3).for_each(|t| ledger.add(TargetId(t), Size { cores: 1, gpus: 0 }));
    ledger.set_pools(&PoolTable::new(&Graph::uniform(0, 0, 0).expect("nothing"), &configured));
    let takes = |target, pool, amount| Selection {
        pools: vec![PoolShare { pool: PoolId(pool), amount }],
        ..Selection::whole([TargetId(target)], 1)
    };
    assert_eq!(ledger.found(0, &takes(0, 0, 2)), Ok(()));
    let refused = ledger.found(1, &takes(1, 0, 2)).unwrap_err();
    assert_eq!(refused.to_string(), "I2: 2 of pool 0 are granted, but of 3 are 2 in use");
    assert!(!ledger.is_held(TargetId(1)), "all or nothing");
    assert!(ledger.found(1, &takes(1, 1, 1)).is_err() && ledger.found(1, &takes(1, 0, 0)).is_err());
    assert_eq!(ledger.found(1, &takes(1, 0, 1)), Ok(()));
    ledger.release_pools(0);
    assert_eq!(ledger.found(2, &takes(2, 0, 2)), Ok(()));
    assert_eq!(ledger.pools_used().collect::<Vec<_>>(), [3]);
}

#[test]
fn who_plans_after_a_holding_plans_anew_when_its_limit_changes() {
    let mut bed = pools();
    bed.step(0, "submit 1 q=a n=1 t=10 lic=3; submit 2 q=b n=1 t=10 lic=1");
    assert_eq!(why(&bed, 2), "busy: licence per cluster: asked 1, available 0; planned start 10");
    bed.step(1, "relimit 1 20");
    assert_eq!(why(&bed, 2), "busy: licence per cluster: asked 1, available 0; planned start 20");
    bed.step(2, "relimit 1 5");
    assert_eq!(why(&bed, 2), "busy: licence per cluster: asked 1, available 0; planned start 5");
    assert_eq!(bed.site.violations(), []);
}

#[test]
fn an_exclusive_rack_is_all_of_it() {
    let mut bed = pools();
    bed.step(0, "change a policy=easy; change b hosts=n[2-3] policy=easy; stop b; release b; start a");
    let targets = |bed: &Bed, id| bed.site.selection(JobId(id)).map(|s| s.target_set().to_string());
    // A part of a node in the first rack, storage of the other: neither can be had whole.
    bed.step(0, "submit 1 q=a n=1 c=1 t=10; submit 2 q=a n=1 c=1 t=20");
    bed.step(0, "submit 3 q=a n=1 t=10 racks=1; submit 4 q=a n=1 t=10 racks=2; submit 5 q=a n=3 t=10 racks=1");
    assert_eq!([3, 4, 5].map(|id| bed.state(id)), [JobState::Running, JobState::Pending, JobState::Denied]);
    assert_eq!(targets(&bed, 3), Some("2-3".to_owned()));
    let Some(Why::Denied(denial)) = bed.site.explain(JobId(5)) else { panic!("denied") };
    assert_eq!(denial.to_string(), "unsatisfiable: rack per cluster: asked 1, available 0");
    let took = bed.site.selection(JobId(3)).map(|s| (s.pools.clone(), s.nslots));
    assert_eq!(took, Some((vec![PoolShare { pool: PoolId(1), amount: 10 }], 1)), "its storage too");
    bed.step(10, "end 1 3; free 1; free 3");
    assert_eq!(bed.state(4), JobState::Pending, "the other job of the first rack runs on");
    bed.step(20, "end 2; free 2");
    assert_eq!(targets(&bed, 4), Some("0-3".to_owned()));
    assert_eq!(bed.site.violations(), []);
}

#[test]
fn an_exclusive_rack_counts_for_limits_with_all_its_nodes() {
    let mut bed = pools();
    bed.step(0, "stop b; release b; change a policy=easy max=3 each=3; start a");
    bed.step(1, "submit 1 q=a n=1 t=10 racks=2; submit 2 q=a n=1 t=10 racks=1; submit 3 q=a n=1 t=10 racks=1");
    let Some(Why::Denied(denial)) = bed.site.explain(JobId(1)) else { panic!("denied") };
    assert_eq!(denial.to_string(), "queues.a.policy.limits.job-size.max.nnodes: asked 4, allowed at most 3");
    assert_eq!([2, 3].map(|id| bed.state(id)), [JobState::Running, JobState::Pending]);
    assert!(bed.site.held_back(JobId(3)).is_some(), "two racks are four nodes of one user");
    bed.step(11, "end 2; free 2");
    assert_eq!(bed.state(3), JobState::Running);
    assert_eq!(bed.site.violations(), []);
}

#[test]
fn a_rack_of_two_queues_is_exclusive_to_no_job() {
    let mut bed = pools();
    bed.step(0, "submit 1 q=a n=1 t=10 racks=1");
    assert_eq!(bed.state(1), JobState::Denied);
    let mut bed = pools();
    bed.step(0, "stop b; release b; change a policy=easy; offline 1; submit 1 q=a n=1 t=10 racks=2");
    assert_eq!(
        (bed.state(1), why(&bed, 1)),
        (JobState::Pending, "no finite start: rack per cluster: asked 2, available 1".to_owned())
    );
    bed.step(5, "online 1");
    assert_eq!(bed.state(1), JobState::Running);
    assert_eq!(bed.site.violations(), []);
}

#[test]
fn what_is_reserved_outlives_a_restart() {
    let mut bed = pools();
    // 1 and 2 are of the queue that comes second, 3 of the first.
    bed.step(0, "submit 1 q=b n=1 t=10 lic=2; submit 2 q=b n=1 t=10 lic=3");
    bed.step(0, "submit 3 q=a n=1 t=20 lic=1");
    assert_eq!([1, 2, 3].map(|id| bed.state(id)), [JobState::Running, JobState::Pending, JobState::Pending]);
    let (graph, properties) = (bed.site.graph().clone(), bed.site.properties().clone());
    let options = SiteOptions { check_ledger: true, annotate: false };
    let mut effects = Vec::new();
    let restored = Site::restore(bed.site.snapshot(), graph, properties, options, &mut effects);
    bed.site = restored.unwrap_or_else(|error| panic!("{error}"));
    bed.step(1, "recovered");
    assert_eq!([2, 3].map(|id| bed.state(id)), [JobState::Pending, JobState::Pending]);
    bed.step(5, "end 1; free 1");
    assert_eq!([2, 3].map(|id| bed.state(id)), [JobState::Running, JobState::Pending]);
    assert_eq!(bed.site.violations(), []);
}
