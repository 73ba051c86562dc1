//! Lines of the record, which people and other programs can get at.

use adjutant_store::record::{decode, encode};

/// A line that can be read is an event, and that event written and read is itself.
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
