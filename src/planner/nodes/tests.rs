//! Against a search through all nodes and all times.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    Advance(i64),
    Now {
        nodes: u32,
        cores: Option<u32>,
        length: i64,
        within: Option<u32>,
        take: bool,
    },
    Core {
        length: i64,
        within: Option<u32>,
        take: bool,
    },
    Later {
        nodes: u32,
        length: i64,
        within: Option<u32>,
        take: bool,
    },
    GiveBack(prop::sample::Index),
    GiveBackOn(prop::sample::Index, u32),
    Extend(prop::sample::Index, i64),
    Up(prop::sample::Index, bool),
    /// All nodes but every so many.
    DownBut(usize),
}

fn any_op() -> impl Strategy<Value = Op> {
    let within = || prop::option::weighted(0.3, 0..3u32);
    prop_oneof![
        1 => (0..6i64).prop_map(Op::Advance),
        6 => (1..4u32, prop::option::of(1..5u32), 1..20i64, within(), prop::bool::weighted(0.9))
            .prop_map(|(nodes, cores, length, within, take)| Op::Now { nodes, cores, length, within, take }),
        3 => (1..20i64, within(), prop::bool::weighted(0.9))
            .prop_map(|(length, within, take)| Op::Core { length, within, take }),
        6 => (1..7u32, 1..20i64, within(), prop::bool::weighted(0.9))
            .prop_map(|(nodes, length, within, take)| Op::Later { nodes, length, within, take }),
        3 => any::<prop::sample::Index>().prop_map(Op::GiveBack),
        1 => (any::<prop::sample::Index>(), 0..2u32).prop_map(|(job, rest)| Op::GiveBackOn(job, rest)),
        1 => (any::<prop::sample::Index>(), 0..30i64).prop_map(|(job, until)| Op::Extend(job, until)),
        2 => (any::<prop::sample::Index>(), prop::bool::weighted(0.6)).prop_map(|(node, up)| Op::Up(node, up)),
    ]
}

/// One thing that a job has on a node.
#[derive(Clone, Debug)]
struct Has {
    job: JobId,
    node: u32,
    from: i64,
    until: i64,
    reserved: bool,
    cores: Option<Cores>,
}

#[derive(Debug)]
struct Naive {
    now: i64,
    sizes: Vec<usize>,
    up: Vec<bool>,
    all: Vec<Has>,
}

impl Naive {
    fn end(&self, has: &Has) -> i64 {
        if has.reserved { has.until } else { has.until.max(self.now + 1) }
    }

    /// The cores that are free on a node all through an interval; none if the node is down.
    fn free(&self, node: u32, from: i64, until: i64) -> Option<Cores> {
        let mut free = Cores::first(self.sizes[node as usize]);
        for has in self.all.iter().filter(|has| has.node == node && has.from < until && from < self.end(has)) {
            free = free.without(&has.cores?);
        }
        self.up[node as usize].then_some(free)
    }

    fn is_idle(&self, node: u32, from: i64, until: i64) -> bool {
        let meets = |has: &Has| has.node == node && has.from < until && from < self.end(has);
        self.up[node as usize] && !self.all.iter().any(meets)
    }

    fn at(&self, ask: &Ask<'_>, from: i64) -> Option<Nodes> {
        let until = from.saturating_add(ask.length);
        let nodes = (0..self.sizes.len() as u32).filter(|&node| ask.within.is_none_or(|within| within.contains(node)));
        let fit = |node| match ask.cores {
            None => self.is_idle(node, from, until).then_some(Taken { node, cores: None }),
            Some(cores) => {
                let free = self.free(node, from, until)?;
                (free.len() >= cores as usize).then(|| Taken { node, cores: Some(free.lowest(cores as usize)) })
            }
        };
        let found: Nodes = nodes.filter_map(fit).take(ask.nodes as usize).collect();
        (found.len() == ask.nodes as usize).then_some(found)
    }

    fn earliest(&self, ask: &Ask<'_>) -> Option<(i64, Nodes)> {
        let mut times: Vec<i64> = self.all.iter().map(|has| self.end(has)).filter(|&at| at > self.now).collect();
        times.push(self.now);
        times.sort_unstable();
        times.into_iter().find_map(|at| Some((at, self.at(ask, at)?)))
    }
}

fn within(rest: Option<u32>, nodes: usize) -> Option<Positions> {
    let rest = rest?;
    let mut within = Positions::new(nodes);
    (0..nodes as u32).filter(|node| node % 3 == rest).for_each(|node| within.insert(node));
    Some(within)
}

fn run(sizes: Vec<usize>, backwards: bool, ops: Vec<Op>) -> Result<(), TestCaseError> {
    let mut times = NodeTimes::new(sizes.iter().copied(), 0).unwrap();
    times.compare_cores(backwards);
    let mut naive = Naive { now: 0, up: vec![true; sizes.len()], sizes, all: Vec::new() };
    let mut jobs: Vec<JobId> = Vec::new();
    for (number, op) in ops.into_iter().enumerate() {
        let job = JobId(number as u64);
        let mut take = |times: &mut NodeTimes, naive: &mut Naive, nodes: Nodes, from: i64, length: i64| {
            let (until, reserved) = (from.saturating_add(length), from > naive.now);
            assert!(times.take(job, &nodes, from, until, reserved));
            jobs.push(job);
            let has = |taken: Taken| Has { job, node: taken.node, from, until, reserved, cores: taken.cores };
            naive.all.extend(nodes.iter().map(has));
        };
        match op {
            Op::Advance(by) => {
                naive.now += by;
                times.advance(naive.now);
            }
            Op::Now { nodes, cores, length, within: rest, take: does } => {
                let within = within(rest, naive.sizes.len());
                let ask = Ask { nodes, cores, within: within.as_ref(), length };
                let found = times.find_now(&ask);
                prop_assert_eq!(&found, &naive.at(&ask, naive.now));
                if let Some(nodes) = found.filter(|_| does) {
                    let now = naive.now;
                    take(&mut times, &mut naive, nodes, now, length);
                }
            }
            Op::Later { nodes, length, within: rest, take: does } => {
                let within = within(rest, naive.sizes.len());
                let ask = Ask { nodes, cores: None, within: within.as_ref(), length };
                let found = times.find_earliest(&ask);
                prop_assert_eq!(&found, &naive.earliest(&ask));
                if let Some((at, nodes)) = found.filter(|_| does) {
                    take(&mut times, &mut naive, nodes, at, length);
                }
            }
            Op::Core { length, within: rest, take: does } => {
                let within = within(rest, naive.sizes.len());
                let found = times.find_core(within.as_ref(), length);
                let mut nodes: Vec<u32> = (0..naive.sizes.len() as u32).collect();
                nodes.retain(|&node| within.as_ref().is_none_or(|within| within.contains(node)));
                if backwards {
                    nodes.reverse();
                }
                let first = |&node: &u32| {
                    let free = naive.free(node, naive.now, naive.now + length)?;
                    Some((free.iter().next()?, node))
                };
                let best = nodes.iter().filter_map(first).min_by_key(|(core, _)| *core);
                let expected = best.map(|(core, node)| {
                    let mut cores = Cores::NONE;
                    cores.insert(core);
                    Taken { node, cores: Some(cores) }
                });
                prop_assert_eq!(&found, &expected);
                if let Some(taken) = found.filter(|_| does) {
                    let now = naive.now;
                    take(&mut times, &mut naive, [taken].into_iter().collect(), now, length);
                }
            }
            Op::GiveBack(which) if !jobs.is_empty() => {
                let job = jobs.swap_remove(which.index(jobs.len()));
                let had = naive.all.iter().any(|has| has.job == job);
                naive.all.retain(|has| has.job != job);
                prop_assert_eq!(times.give_back(job), had);
            }
            Op::GiveBackOn(which, rest) if !jobs.is_empty() => {
                let job = jobs[which.index(jobs.len())];
                naive.all.retain(|has| has.job != job || has.node % 2 != rest);
                times.give_back_on(job, |node| node % 2 == rest);
            }
            Op::Extend(which, by) if !jobs.is_empty() => {
                // What is reserved is not made longer into what others have.
                let job = jobs[which.index(jobs.len())];
                let until = naive.now + by + 1;
                let mine = naive.all.iter().filter(|has| has.job == job);
                if mine.clone().all(|has| !has.reserved) {
                    times.extend(job, until);
                    naive.all.iter_mut().filter(|has| has.job == job).for_each(|has| has.until = until);
                }
            }
            Op::GiveBack(_) | Op::GiveBackOn(..) | Op::Extend(..) => {}
            Op::Up(which, up) => {
                let node = which.index(naive.sizes.len());
                naive.up[node] = up;
                times.set_up(node as u32, up);
            }
            Op::DownBut(every) => {
                for node in (0..naive.sizes.len()).filter(|node| node % every != 3) {
                    naive.up[node] = false;
                    times.set_up(node as u32, false);
                }
            }
        }
        let clear =
            (0..naive.sizes.len()).filter(|&n| naive.up[n] && naive.all.iter().all(|has| has.node as usize != n));
        prop_assert_eq!(times.clear(), clear.count());
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::base::testing::config(128))]

    #[test]
    fn answers_as_a_search_through_everything(
        sizes in prop::collection::vec(1..6usize, 1..9),
        backwards in any::<bool>(),
        ops in prop::collection::vec(any_op(), 1..80),
    ) {
        run(sizes, backwards, ops)?;
    }

    #[test]
    fn answers_so_on_more_nodes_than_a_block(ops in prop::collection::vec(any_op(), 1..60)) {
        let sizes = (0..140).map(|node| 1 + node % 4).collect();
        // Most of the nodes are down, so that the others get full.
        run(sizes, false, [Op::DownBut(19)].into_iter().chain(ops).collect())?;
    }
}
