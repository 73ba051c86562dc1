//! Durations as people write them: `30s`, `5m`, `1h30m`.

use std::fmt;
use std::time::Duration;

/// The units and their milliseconds. Longer names first, so that `ms` is not read as `m`.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Parses one or more numbers with units.
pub fn parse(text: &str) -> Option<Duration> {
    let mut millis: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let (unit, factor) = UNITS.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        millis = millis.checked_add(number.parse::<u64>().ok()?.checked_mul(factor)?)?;
        rest = &after[unit.len()..];
    }
    (!text.is_empty()).then(|| Duration::from_millis(millis))
}

/// Writes a duration in the form that [`parse`] reads.
pub fn write(f: &mut impl fmt::Write, span: Duration) -> fmt::Result {
    let mut millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return f.write_str("0s");
    }
    for (unit, factor) in UNITS.into_iter().rev() {
        if millis >= factor {
            write!(f, "{}{unit}", millis / factor)?;
            millis %= factor;
        }
    }
    Ok(())
}
