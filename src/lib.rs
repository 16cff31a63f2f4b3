//! Sluice: a partitioned resource-graph scheduler for HPC clusters.
//!
//! Every queue has its own scheduler; every scheduler knows the full resource graph, but only the targets that its
//! queue owns are up in it. A coordinator moves targets between queues without a reload. `docs/architecture.md` has the
//! map.
//!
//! # A first program
//!
//! [`site::Site`] is the whole core. It has no clock and starts no jobs: a driver tells it events with a time, lets it
//! schedule, and carries out the effects that it answers. Here two queues share two of four nodes.
//!
//! ```
//! use sluice::base::{Duration, JobId, Priority, TargetSet, Timestamp};
//! use sluice::config::Config;
//! use sluice::formats::count::Count;
//! use sluice::graph::{Graph, Properties};
//! use sluice::matcher::{Amount, Freed, Request, Shape};
//! use sluice::site::{Effect, Event, Outcome, Site, SiteOptions, StartMode, Submission};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The machine: node0 to node3, each with two cores. The queues: debug comes before batch where both want a node.
//! let graph = Arc::new(Graph::uniform(4, 2, 0)?);
//! let queues = r#"
//!     [queues.batch]
//!     hosts = "node[0-3]"
//!     policy.scheduler.queue-policy = "easy"
//!
//!     [queues.debug]
//!     hosts = "node[2-3]"
//!     policy.scheduler.precedence = 10
//! "#;
//! let config = Arc::new(Config::parse(queues, "queues.toml")?);
//! let mut site = Site::new(graph.clone(), Arc::new(Properties::new()), config, SiteOptions::default())?;
//!
//! // At 0 the nodes answer, batch is started, and a job asks for all four nodes for ten minutes.
//! let start = |queue: &str| Event::QueueStart { queue: queue.into(), mode: StartMode::default() };
//! let job = Submission {
//!     id: JobId(1),
//!     queue: Some("batch".into()),
//!     priority: Priority(16),
//!     userid: 1000,
//!     limit: Some(Duration::from_secs(600)),
//!     request: Ok(Arc::new(Request {
//!         shape: Shape::Whole { nodes: Count::fixed(4), at_least: Amount::NONE, slots_per_node: 1 },
//!         constraint: None,
//!         shared: Default::default(),
//!     })),
//! };
//! let mut now = Timestamp::from_secs(0);
//! let mut effects = Vec::new();
//! for event in [Event::Online { targets: graph.targets().clone() }, start("batch"), Event::Submit(Box::new(job))] {
//!     site.apply(now, event, &mut effects)?;
//! }
//! let _ = site.schedule(now, usize::MAX, &mut effects);
//! assert!(effects.iter().any(|e| matches!(e, Effect::Start { job: JobId(1), .. })));
//!
//! // At 60 debug is started. Its nodes leave batch, where they take no new work; job 1 runs on.
//! now = Timestamp::from_secs(60);
//! effects.clear();
//! site.apply(now, start("debug"), &mut effects)?;
//! let _ = site.schedule(now, usize::MAX, &mut effects);
//! let shared: TargetSet = graph.targets().iter().skip(2).collect();
//! let moving = |e: &Effect| matches!(e, Effect::DonationStarted { targets, .. } if *targets == shared);
//! assert!(effects.iter().any(moving));
//! assert!(!effects.iter().any(|e| matches!(e, Effect::Up { .. } | Effect::Kill { .. })));
//!
//! // At 300 job 1 ends, and nothing of it is left on its nodes: that instant the two are up in debug.
//! now = Timestamp::from_secs(300);
//! effects.clear();
//! site.apply(now, Event::End { job: JobId(1), outcome: Outcome::Completed }, &mut effects)?;
//! site.apply(now, Event::Free { job: JobId(1), freed: Freed::Rest }, &mut effects)?;
//! let _ = site.schedule(now, usize::MAX, &mut effects);
//! let arrived = |e: &Effect| matches!(e, Effect::Up { queue, targets, .. } if &**queue == "debug" && *targets == shared);
//! assert!(effects.iter().any(arrived));
//! # Ok(())
//! # }
//! ```
//!
//! [`Site::next_wakeup`](site::Site::next_wakeup) says when to call `schedule` again though nothing happens. A whole
//! replay, from a scenario to figures, is [`replay::assembly`]. All of this is there without the feature `cli`, which
//! only adds the command line.
pub mod base;
pub mod config;
pub mod coordinator;
pub mod formats;
pub mod graph;
pub mod matcher;
pub mod planner;
pub mod replay;
pub mod scheduler;
pub mod services;
pub mod site;

#[cfg(feature = "cli")]
pub mod cli;
