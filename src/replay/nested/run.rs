//! One instance, from the start of its job to its end.

use super::Nested;
use super::check::{Holding, shares};
use super::level::Level;
use crate::base::{Duration, JobId, Timestamp};
use crate::config::{Config, PoolConfig};
use crate::graph::{Graph, Properties};
use crate::matcher::Selection;
use crate::planner::PoolSpec;
use crate::replay::engine::{Broken, Engine, NodeRules, Options, ReplayError};
use crate::replay::scenario::{Housekeeping, OnNodeFail, OnPreempt};
use crate::site::{Site, SiteOptions};
use std::sync::Arc;

/// What is to be run.
pub(crate) struct Order<'a> {
    pub nested: &'a Nested,
    /// The job that runs it.
    pub job: JobId,
    /// The machine of the level above.
    pub graph: Arc<Graph>,
    pub properties: Arc<Properties>,
    /// What the job holds.
    pub selection: Arc<Selection>,
    /// What it holds of pools.
    pub pools: Vec<(PoolSpec, u64)>,
    /// How long it may go on.
    pub limit: Duration,
    /// It ends with its job after so long, before it is over; and whether its jobs end too, or the replay with them as they are.
    pub cut: Option<(Duration, bool)>,
    /// How the level above goes.
    pub options: Options,
}

/// How an instance came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All its work was done.
    Done,
    /// The limit of its job came.
    Limit,
    /// Its job was ended before.
    Cut,
    /// It goes on when the replay ends.
    Open,
}

/// What an instance came to.
#[derive(Debug)]
pub(crate) struct Ran {
    /// How long it went on; infinite: nothing it waits for will ever come.
    pub lasts: Duration,
    pub ended: Ended,
    /// Its own figures, then those of the levels below.
    pub levels: Vec<Level>,
    pub digest: u64,
    pub checked: u64,
    pub broken: Vec<Broken>,
}

/// Runs an instance.
///
/// # Errors
/// A configuration that does not go with what the job holds; whatever else ends a replay.
pub(crate) fn run(order: &Order<'_>) -> Result<Ran, ReplayError> {
    let wrong =
        |problem: String| ReplayError::Instance { job: order.job, instance: order.nested.name.clone(), problem };
    let (mut amounts, mut configured) = (Vec::new(), Vec::new());
    for (pool, amount) in &order.pools {
        match order.graph.by_path(&pool.name) {
            Some(v) => amounts.push((v, *amount)),
            None => configured.push(PoolConfig { name: pool.name.clone(), kind: pool.kind.clone(), size: *amount }),
        }
    }
    let held = shares(&order.graph, &order.selection);
    let extracted = order.graph.extract(&held, &amounts, &order.properties);
    let (graph, properties) = extracted.map_err(|error| wrong(error.to_string()))?;
    let mut config: Config = (*order.nested.config).clone();
    config.resource.pools = configured;
    let check = order.options.check;
    let site_options = SiteOptions { check_ledger: check, annotate: false };
    let site = Site::new(Arc::new(graph), Arc::new(properties), Arc::new(config), site_options);
    let site = site.map_err(|error| wrong(error.to_string()))?;
    let options = Options {
        stopwatch: None,
        pass: order.options.pass,
        work_budget: order.options.work_budget,
        until: Timestamp::NEVER,
        nodes: NodeRules {
            on_node_fail: OnNodeFail::Fail,
            on_preempt: OnPreempt::default(),
            housekeeping: Housekeeping::default(),
        },
        default_queue: order.nested.default_queue.clone(),
        start: order.nested.start.clone(),
        check,
        keep_selections: false,
        metrics: order.options.metrics,
        measure: None,
        restart_every: order.options.restart_every,
    };
    let holding = check.then(|| Holding::new(&order.graph, &order.selection));
    let mut engine = Engine::new(site, &order.nested.workload, Vec::new(), Vec::new(), options, Vec::new());
    engine.confine(holding);
    let (stop, cancel) = order.cut.unwrap_or((order.limit, true));
    let stop = if stop.is_infinite() { Timestamp::NEVER } else { Timestamp::ZERO + stop };
    let (done, last) = engine.run_until(stop, cancel)?;
    let ended = match (done, order.cut) {
        (true, _) => Ended::Done,
        (false, None) if stop.is_never() => Ended::Open,
        (false, None) => Ended::Limit,
        (false, Some((_, true))) => Ended::Cut,
        (false, Some((_, false))) => Ended::Open,
    };
    let lasts = match ended {
        Ended::Done => last.since(Timestamp::ZERO),
        Ended::Open if order.cut.is_none() => Duration::INFINITE,
        Ended::Limit | Ended::Cut | Ended::Open => stop.since(Timestamp::ZERO),
    };
    engine.come_to(lasts, ended)
}
