//! The length of random and exhaustive tests: a sample for every change, many times that in a soak.

/// The environment variable that sets the factor; `cargo xtask soak` sets it.
pub const SOAK: &str = "ADJUTANT_SOAK";

/// Returns the number of cases for a test that runs `usual` cases for every change.
///
/// A value that is not a number counts as a factor of one.
pub fn cases<N: From<u32> + std::ops::Mul<Output = N>>(usual: N) -> N {
    usual * N::from(factor(std::env::var(SOAK).ok().as_deref()))
}

/// Tells whether this is a soak: exhaustive tests then run every case instead of a sample.
pub fn is_soak() -> bool {
    std::env::var_os(SOAK).is_some()
}

/// The cases of an exhaustive test that one run tries: every `stride`-th, from an offset that the
/// seed chooses, so that many runs try all of them. A soak tries them all.
#[derive(Debug, Clone, Copy)]
pub struct CaseSample {
    stride: u32,
    first: u32,
}

impl CaseSample {
    pub fn one_in(stride: u32, seed: u64) -> Self {
        let stride = if is_soak() { 1 } else { stride.max(1) };
        let first = u32::try_from(seed % u64::from(stride)).unwrap_or_default();
        Self { stride, first }
    }

    pub fn includes(self, number: u32) -> bool {
        number % self.stride == self.first
    }
}

fn factor(set: Option<&str>) -> u32 {
    set.and_then(|text| text.trim().parse().ok()).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soak_factor_multiplies_and_is_at_least_one() {
        let factors = [None, Some("40"), Some("0"), Some("yes"), Some("")].map(factor);
        assert_eq!(factors, [1, 40, 1, 1, 1]);
    }

    #[test]
    fn samples_of_all_seeds_cover_every_case_once() {
        let samples = [0, 1, 2].map(|first| CaseSample { stride: 3, first });
        for number in 0..10 {
            assert_eq!(samples.iter().filter(|sample| sample.includes(number)).count(), 1);
        }
    }
}
