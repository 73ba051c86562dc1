//! How long random tests go on: as long as they are written to, or many times that in a soak.

/// How many times as many cases a soak asks for; `cargo xtask soak` sets it.
pub const SOAK: &str = "ADJUTANT_SOAK";

/// Returns how many cases a test makes up that usually makes up so many.
///
/// Every test with a number of its own goes through here. What is set and is no number asks for
/// no more than usual: the long versions of tests that have no number are asked for by it too.
pub fn cases<N: From<u32> + std::ops::Mul<Output = N>>(usual: N) -> N {
    usual * N::from(times(std::env::var(SOAK).ok().as_deref()))
}

fn times(set: Option<&str>) -> u32 {
    set.and_then(|text| text.trim().parse().ok()).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soak_asks_for_many_times_as_many() {
        let times = [None, Some("40"), Some("0"), Some("yes"), Some("")].map(times);
        assert_eq!(times, [1, 40, 1, 1, 1]);
    }
}
