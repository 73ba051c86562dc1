//! The length of random and exhaustive tests: a sample for every change, many times that in a soak.

/// The environment variable that sets the factor; `cargo xtask soak` sets it.
pub const SOAK: &str = "ADJUTANT_SOAK";

/// Returns how many cases a test runs that runs `usual` cases for every change.
///
/// Anything that is not a number counts as a factor of one.
pub fn cases<N: From<u32> + std::ops::Mul<Output = N>>(usual: N) -> N {
    usual * N::from(factor(std::env::var(SOAK).ok().as_deref()))
}

/// Tells whether this is a soak: exhaustive tests then run every case instead of a sample.
pub fn is_soak() -> bool {
    std::env::var_os(SOAK).is_some()
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
}
