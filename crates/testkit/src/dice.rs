//! Chance that can be had again: every random test prints its seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Where a seed is taken from, if a run is to be had again.
pub const SEED: &str = "ADJUTANT_SEED";

/// A pair of dice that falls the same way for the same seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Makes dice that fall as this seed says.
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Takes the seed the environment gives, or another every time.
    pub fn seed() -> u64 {
        let given = std::env::var(SEED).ok().and_then(|text| text.parse().ok());
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

    /// Returns one of these.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Returns a number between these two.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let sides = usize::try_from(high.saturating_sub(low)).unwrap_or(0).saturating_add(1);
        low.saturating_add(i64::try_from(self.below(sides)).unwrap_or(0))
    }

    /// Says yes once in so many times; never if that is 0.
    pub fn once_in(&mut self, times: usize) -> bool {
        times > 0 && self.below(times) == 0
    }

    /// Makes dice of their own for somebody else.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(self.below(usize::MAX) as u64)
    }

    /// Returns any number.
    pub fn number(&mut self) -> u64 {
        self.below(usize::MAX) as u64
    }
}
