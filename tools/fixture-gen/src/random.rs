//! Random numbers in whole numbers only, so that every machine draws the same.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream `name` of `seed`; streams do not disturb each other.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a keeps names apart.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random { state: name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, mix) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// One of the entries, by its weight.
    pub fn pick<'a, T>(&mut self, entries: &'a [(u64, T)]) -> &'a T {
        let total: u64 = entries.iter().map(|(weight, _)| weight).sum();
        let mut left = self.next() % total;
        for (weight, entry) in entries {
            if left < *weight {
                return entry;
            }
            left -= weight;
        }
        unreachable!("the weights sum up to more than what was drawn")
    }
}
