//! Forecast of all starts, and a plan (two forecasts and the difference), on 10,000 nodes with 20 conservative queues and
//! 50,000 waiting jobs. A further queue covers nodes of two of them and is stopped; to start it is what is planned.

use criterion::{Criterion, criterion_group, criterion_main};
use sluice::base::{Duration, JobId, Priority, Timestamp};
use sluice::config::{Config, Members, PolicyConfig, QueueConfig, QueuePolicy};
use sluice::formats::count::Count;
use sluice::formats::hostlist::Hostlist;
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, Request, Shape};
use sluice::site::{Configure, Event, Site, SiteOptions, StartMode, Submission, Usage};
use std::sync::Arc;

const NODES: u32 = 10_000;
const QUEUES: u32 = 20;
const WAITING: u64 = 50_000;

/// A stream of numbers from a seed (splitmix64).
struct Stream(u64);

impl Stream {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

fn queue(name: String, from: u32, to: u32, precedence: i32) -> (String, QueueConfig) {
    let mut policy = PolicyConfig::default();
    policy.scheduler.queue_policy = QueuePolicy::Conservative;
    policy.scheduler.precedence = precedence;
    let hosts = Hostlist::parse(&format!("node[{from}-{}]", to - 1)).expect("a hostlist");
    (
        name.clone(),
        QueueConfig { name, members: Members::Hosts(hosts), parent: None, policy, lending: Default::default() },
    )
}

fn config() -> Config {
    let each = NODES / QUEUES;
    let mut queues: Vec<_> = (0..QUEUES).map(|q| queue(format!("q{q}"), q * each, (q + 1) * each, 0)).collect();
    queues.push(queue("dat".into(), each / 2, each + each / 2, 10));
    Config { queues: queues.into_iter().collect(), ..Config::default() }
}

fn site() -> Site {
    let graph = Arc::new(Graph::uniform(NODES, 48, 0).expect("a graph"));
    let options = SiteOptions::default();
    let mut site = Site::new(graph, Arc::new(Properties::new()), Arc::new(config()), options).expect("a site");
    let (now, mut effects) = (Timestamp::ZERO, Vec::new());
    let tell = |site: &mut Site, event, effects: &mut Vec<_>| site.apply(now, event, effects).expect("it is taken");
    let online = Event::Online { targets: site.inventory().clone() };
    tell(&mut site, online, &mut effects);
    for q in 0..QUEUES {
        let start = Event::QueueStart { queue: format!("q{q}"), mode: StartMode::default() };
        tell(&mut site, start, &mut effects);
    }
    let mut random = Stream(7);
    let mut id = 0;
    // First as many as fill the machine, then those that wait.
    while site.counts().pending < WAITING {
        for _ in 0..1_000 {
            id += 1;
            let nodes = 1 << random.below(7);
            let shape = Shape::Whole { nodes: Count::fixed(nodes), at_least: Amount::default(), slots_per_node: 1 };
            tell(
                &mut site,
                Event::Submit(Box::new(Submission {
                    id: JobId(id),
                    queue: Some(format!("q{}", random.below(QUEUES.into()))),
                    priority: Priority(16),
                    userid: random.below(200) as u32,
                    limit: Some(Duration::from_secs(600 * (1 + random.below(144)) as i64)),
                    request: Ok(Arc::new(Request { shape, constraint: None, shared: Default::default() })),
                })),
                &mut effects,
            );
        }
        if id <= 5_000 {
            while site.schedule(now, usize::MAX, &mut effects).more {}
        }
    }
    while site.schedule(now, usize::MAX, &mut effects).more {}
    site
}

fn forecast(c: &mut Criterion) {
    let site = site();
    let mut random = Stream(8);
    let usage = Usage::learn((0..20_000).map(|_| (random.below(200) as u32, random.below(1_000) as f32 / 1_000.0)));
    let waiting = site.counts().pending;
    let forecast = site.forecast_by(&usage, None);
    let known = forecast.jobs.iter().filter(|j| !j.start.worst.is_never() && !j.start.likely.is_never()).count();
    assert_eq!(known as u64, waiting, "every waiting job has both starts");
    eprintln!("{} jobs run, {waiting} wait", site.counts().running);
    let mut group = c.benchmark_group("forecast");
    group.sample_size(10);
    group.bench_function("all starts", |b| b.iter(|| site.forecast_by(&usage, None).jobs.len()));
    let start = [Event::QueueStart { queue: "dat".into(), mode: StartMode::default() }];
    group.bench_function("plan of a start", |b| {
        b.iter(|| site.preview(&start, &usage).expect("it can start").starts.len());
    });
    let mut other = config();
    let moved = queue("q0".into(), 0, 400, 0);
    other.queues.insert(moved.0, moved.1);
    let configure = [Event::Configure(Box::new(Configure { config: other, pending: None }))];
    group.bench_function("plan of a configuration", |b| {
        b.iter(|| site.preview(&configure, &usage).expect("it is sound").starts.len());
    });
    group.finish();
}

criterion_group!(benches, forecast);
criterion_main!(benches);
