//! A check that a list of samples has every variant of an enum.

use std::collections::BTreeSet;

/// Checks that the samples contain every variant of an enum.
///
/// The list of variants becomes a `match` without `_`: a variant that is missing in the list fails
/// to compile, and one that has no sample fails the test.
///
/// ```
/// # use adjutant_test_support::assert_every_variant;
/// enum Light { Red, Green }
/// assert_every_variant!(&[Light::Red, Light::Green], Light { Red, Green });
/// ```
#[macro_export]
macro_rules! assert_every_variant {
    ($samples:expr, $enum:ident { $($variant:ident),+ $(,)? }) => {{
        let name = |sample: &$enum| match sample {
            $($enum::$variant { .. } => stringify!($variant),)+
        };
        let sampled = $samples.into_iter().map(name);
        $crate::variants::check_names(stringify!($enum), &[$(stringify!($variant)),+], sampled);
    }};
}

/// Compares the names of variants with those that have a sample; for `assert_every_variant`.
///
/// # Panics
///
/// Panics if a variant has no sample.
pub fn check_names(
    enum_name: &str,
    variants: &[&'static str],
    sampled: impl Iterator<Item = &'static str>,
) {
    let sampled: BTreeSet<&str> = sampled.collect();
    let missing: Vec<&&str> = variants.iter().filter(|name| !sampled.contains(**name)).collect();
    assert!(missing.is_empty(), "no sample for {enum_name}: {missing:?}");
}

#[cfg(test)]
mod tests {
    enum TrafficLight {
        Red,
        Green { _bright: bool },
        Blue(()),
    }

    #[test]
    fn variants_with_samples_pass() {
        let samples =
            [TrafficLight::Red, TrafficLight::Green { _bright: true }, TrafficLight::Blue(())];
        assert_every_variant!(&samples, TrafficLight { Red, Green, Blue });
    }

    #[test]
    #[should_panic(expected = r#"no sample for TrafficLight: ["Green", "Blue"]"#)]
    fn variant_without_sample_fails() {
        assert_every_variant!(&[TrafficLight::Red], TrafficLight { Red, Green, Blue });
    }
}
