//! Random numbers that can be repeated: every random test prints its seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// The environment variable that sets the seed, to repeat a run.
pub const SEED_VARIABLE: &str = "ADJUTANT_SEED";

/// A random number generator (splitmix64); a seed always gives the same numbers.
#[derive(Debug, Clone)]
pub struct SeededRng(u64);

impl SeededRng {
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the seed from the environment, or a new one.
    pub fn seed_from_env() -> u64 {
        let given = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        given.unwrap_or(u64::from(now.subsec_nanos()) ^ now.as_secs().rotate_left(32))
    }

    /// Returns a number below `sides`.
    pub fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = (number ^ (number >> 31)) % (sides.max(1) as u64);
        usize::try_from(number).unwrap_or(0)
    }

    pub fn choose<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Returns a number between the two, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let sides = usize::try_from(high.saturating_sub(low)).unwrap_or(0).saturating_add(1);
        low.saturating_add(i64::try_from(self.below(sides)).unwrap_or(0))
    }

    /// Returns true once in `times` calls on average; never if that is 0.
    pub fn one_in(&mut self, times: usize) -> bool {
        times > 0 && self.below(times) == 0
    }

    /// Makes an independent generator.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(self.below(usize::MAX) as u64)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.below(usize::MAX) as u64
    }
}
