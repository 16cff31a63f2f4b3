//! The planner against a slow oracle: one number per tick.
//!
//! `PROPTEST_CASES` sets the number of random cases. The long run takes a million operations, some two seconds;
//! `SLUICE_POOL_OPERATIONS` sets another number.

use proptest::prelude::*;
use sluice::base::{Duration, Timestamp};
use sluice::planner::{Pool, PoolError, Span, SpanId};

/// A pool as one number per tick. Tick `ticks` stands for all time after; times are ticks in microseconds.
struct Oracle {
    total: i64,
    used: Vec<i64>,
    spans: Vec<(SpanId, Span)>,
}

fn instant(tick: usize) -> Timestamp {
    Timestamp::from_micros(tick as i64)
}

impl Oracle {
    fn new(total: i64, ticks: usize) -> Self {
        Self { total, used: vec![0; ticks + 1], spans: Vec::new() }
    }

    /// The ticks of an interval; never is past the last.
    fn ticks(&self, from: Timestamp, until: Timestamp) -> std::ops::Range<usize> {
        let end = if until.is_never() { self.used.len() } else { until.micros() as usize };
        from.micros() as usize..end.max(from.micros() as usize + 1)
    }

    fn change(&mut self, span: Span, amount: i64) {
        let ticks = self.ticks(span.from, span.until);
        self.used[ticks].iter_mut().for_each(|used| *used += amount);
    }

    fn available(&self, from: Timestamp, until: Timestamp) -> i64 {
        self.total - self.used[self.ticks(from, until)].iter().max().unwrap()
    }

    fn earliest(&self, amount: i64, duration: usize, not_before: usize) -> Option<Timestamp> {
        // Nothing changes after the last tick, so an interval that reaches it may end there.
        let free = |tick: usize| self.total - self.used[tick.min(self.used.len() - 1)] >= amount;
        (not_before..self.used.len()).find(|s| (*s..s + duration.max(1)).all(free)).map(instant)
    }
}

#[derive(Clone, Debug)]
enum Op {
    Add { from: usize, length: Option<usize>, amount: i64 },
    Remove(usize),
    Reduce(usize, i64),
    Resize(i64),
}

fn op(ticks: usize) -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..ticks, prop::option::weighted(0.9, 0..ticks / 3), 0i64..6)
            .prop_map(|(from, length, amount)| Op::Add { from, length, amount }),
        3 => any::<usize>().prop_map(Op::Remove),
        2 => (any::<usize>(), 0i64..4).prop_map(|(k, n)| Op::Reduce(k, n)),
        1 => (-1i64..14).prop_map(Op::Resize),
    ]
}

/// Does the same to both and compares the answers.
fn apply(pool: &mut Pool, oracle: &mut Oracle, op: &Op) {
    let ticks = oracle.used.len() - 1;
    match *op {
        Op::Add { from, length, amount } => {
            let until = length.map_or(Timestamp::NEVER, |length| instant((from + length).min(ticks)));
            let span = Span { from: instant(from), until, amount };
            let result = pool.add(span.from, span.until, amount);
            if amount < 1 {
                assert_eq!(result, Err(PoolError::Amount { most: oracle.total, found: amount }));
            } else if until <= span.from {
                assert_eq!(result, Err(PoolError::Empty { from: span.from, until }));
            } else if oracle.available(span.from, until) < amount {
                let available = oracle.available(span.from, until);
                assert_eq!(result, Err(PoolError::Exceeds { from: span.from, until, available, amount }));
            } else {
                oracle.change(span, amount);
                oracle.spans.push((result.unwrap(), span));
            }
        }
        Op::Remove(k) if !oracle.spans.is_empty() => {
            let k = k % oracle.spans.len();
            let (id, span) = oracle.spans.remove(k);
            assert_eq!(pool.remove(id), Ok(span));
            assert_eq!(pool.remove(id), Err(PoolError::Unknown { span: id }));
            oracle.change(span, -span.amount);
        }
        Op::Reduce(k, amount) if !oracle.spans.is_empty() => {
            let k = k % oracle.spans.len();
            let (id, span) = oracle.spans[k];
            let result = pool.reduce(id, amount);
            if !(1..=span.amount).contains(&amount) {
                assert_eq!(result, Err(PoolError::Amount { most: span.amount, found: amount }));
                return;
            }
            assert_eq!(result, Ok(()));
            oracle.change(span, -amount);
            oracle.spans[k].1.amount -= amount;
            oracle.spans.retain(|(_, span)| span.amount > 0);
        }
        Op::Resize(total) => {
            let result = pool.resize(total);
            assert_eq!(result.is_ok(), total >= 0);
            if total >= 0 {
                oracle.total = total;
            }
        }
        Op::Remove(_) | Op::Reduce(..) => {}
    }
}

fn steps_of(oracle: &Oracle) -> usize {
    // The timeline begins long before tick 0, with nothing in use.
    1 + usize::from(oracle.used[0] != 0) + oracle.used.windows(2).filter(|w| w[0] != w[1]).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), ..ProptestConfig::default() })]

    #[test]
    fn pool_equals_one_number_per_tick(
        total in 0i64..12,
        ops in prop::collection::vec(op(40), 1..60),
        queries in prop::collection::vec((0usize..41, 0usize..42, 0i64..14), 8),
    ) {
        let mut pool = Pool::new(total).unwrap();
        let mut oracle = Oracle::new(total, 40);
        for op in &ops {
            apply(&mut pool, &mut oracle, op);
            for &(a, b, amount) in &queries {
                let until = if b == 41 { Timestamp::NEVER } else { instant(b) };
                prop_assert_eq!(pool.available_at(instant(a)), oracle.available(instant(a), instant(a)));
                prop_assert_eq!(pool.available_during(instant(a), until), oracle.available(instant(a), until));
                let expect = if amount <= oracle.total { oracle.earliest(amount, b, a) } else { None };
                let duration = Duration::from_micros(b as i64);
                prop_assert_eq!(pool.earliest(amount, duration, instant(a)), expect);
            }
            prop_assert_eq!(pool.step_count(), steps_of(&oracle));
            prop_assert_eq!(pool.spans().collect::<Vec<_>>(), {
                let mut spans = oracle.spans.clone();
                spans.sort_by_key(|(id, _)| *id);
                spans
            });
        }
    }
}

/// Cases to run: `PROPTEST_CASES`, or `default`.
fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A small generator with a fixed seed (xorshift64*), so that the long run is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }
}

#[test]
fn long_run() {
    const TICKS: usize = 4000;
    let operations = std::env::var("SLUICE_POOL_OPERATIONS").ok();
    let operations: usize =
        operations.map_or(1_000_000, |text| text.parse().expect("SLUICE_POOL_OPERATIONS: a number"));
    let mut random = Random(0x5EED_0002);
    let mut pool = Pool::new(1000).unwrap();
    let mut oracle = Oracle::new(1000, TICKS);
    let mut most_steps = 0;
    for round in 0..operations {
        // Fills up to some two thousand spans (several blocks of steps), empties, and fills again.
        let filling = round / 5000 % 2 == 0;
        let op = match random.below(10) {
            0 => Op::Reduce(random.below(1 << 20), 1 + random.below(2) as i64),
            1 if random.below(50) == 0 => Op::Resize(500 + random.below(1000) as i64),
            n if (n < 7) == filling => {
                let length = (random.below(200) > 0).then(|| 1 + random.below(100));
                Op::Add { from: random.below(TICKS), length, amount: 1 + random.below(9) as i64 }
            }
            _ => Op::Remove(random.below(1 << 20)),
        };
        apply(&mut pool, &mut oracle, &op);
        most_steps = most_steps.max(pool.step_count());
        let (a, b) = (random.below(TICKS), random.below(TICKS));
        let (from, until) = (instant(a), instant(b.max(a)));
        assert_eq!(pool.available_at(from), oracle.available(from, from), "round {round}");
        if round % 4 == 0 {
            assert_eq!(pool.available_during(from, until), oracle.available(from, until), "round {round}");
            let (amount, duration) = (random.below(1000) as i64, random.below(300));
            let expect = if amount <= oracle.total { oracle.earliest(amount, duration, a) } else { None };
            let duration = Duration::from_micros(duration as i64);
            assert_eq!(pool.earliest(amount, duration, from), expect, "round {round}");
        }
    }
    assert!(most_steps > 1000, "the run must fill several blocks, had {most_steps} steps at most");
}
