//! Fuzz target: lines of the event log, which people and other programs can change.

use adjutant_store::event_log::{decode, encode};

/// A line that can be decoded is an event, and encoding and decoding it gives the same event.
pub fn event_line(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    match decode(line) {
        Err(bad) => assert!(!bad.to_string().is_empty(), "a refusal says what is wrong"),
        Ok(recorded) => {
            let written = encode(&recorded, None);
            assert!(!written.contains('\n'), "an event is one line: {written}");
            assert_eq!(decode(&written), Ok(recorded), "{written}");
        }
    }
}
