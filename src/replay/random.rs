//! Random numbers of replays: one seed, one independent stream per purpose.
//!
//! A stream is named, so that drawing more numbers for one purpose (another size distribution, say) leaves all others as
//! they were. The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
//! OOPSLA 2014): eight bytes of state, equal on every machine. Not for secrets.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// The stream `name` of `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        let mut hash = super::digest::Digest::new();
        hash.word(seed);
        hash.text(name);
        Self { state: hash.value() }
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`, in steps of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..n`; 0 for an empty range. The bias is below n / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `share`.
    #[inline]
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Uniform on a logarithmic scale in `[low, high]`; both must be positive.
    #[inline]
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.unit() * (high.ln() - low.ln())).exp()
    }

    /// An index into `weights`, each drawn with probability proportional to its weight; 0 when they add up to nothing.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut rest = self.unit() * weights.iter().sum::<f64>();
        for (i, weight) in weights.iter().enumerate() {
            if rest < *weight {
                return i;
            }
            rest -= weight;
        }
        weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let first = |seed, name| Stream::named(seed, name).bits();
        assert_eq!(first(1, "size"), first(1, "size"));
        assert_ne!(first(1, "size"), first(1, "run"));
        assert_ne!(first(1, "size"), first(2, "size"));
    }

    #[test]
    fn draws_stay_within_their_ranges_and_near_their_means() {
        let mut s = Stream::named(7, "test");
        let n = 20_000;
        let (mut exponential, mut picks) = (0.0, [0u32; 3]);
        for _ in 0..n {
            assert!(s.below(10) < 10);
            let x = s.log_uniform(2.0, 8.0);
            assert!((2.0..=8.000001).contains(&x), "{x}");
            exponential += s.exponential();
            picks[s.weighted(&[1.0, 0.0, 3.0])] += 1;
        }
        assert!((exponential / f64::from(n) - 1.0).abs() < 0.05);
        assert_eq!(picks[1], 0);
        assert!((f64::from(picks[2]) / f64::from(n) - 0.75).abs() < 0.02);
        assert_eq!((s.below(0), s.weighted(&[0.0])), (0, 0));
    }
}
