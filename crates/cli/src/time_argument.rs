//! Times on the command line, read by this machine's clock and time zone.

use adjutant_model::Time;
use adjutant_model::date_text::{self, TimePurpose};
use adjutant_process::clock::{Clock, SystemClock};
use jiff::tz::TimeZone;

/// Parses the time by which something must be done.
pub(crate) fn deadline(text: &str) -> Result<Time, String> {
    parse(text, TimePurpose::Deadline)
}

/// Parses the time from which on something is looked at.
pub(crate) fn start(text: &str) -> Result<Time, String> {
    parse(text, TimePurpose::Start)
}

fn parse(text: &str, purpose: TimePurpose) -> Result<Time, String> {
    let parsed = date_text::parse(text, purpose, SystemClock.now(), &TimeZone::system());
    parsed.map_err(|error| error.to_string())
}
