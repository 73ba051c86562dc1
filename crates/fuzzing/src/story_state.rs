//! Fuzz target: `STATE.json` by any writer is read, advanced and written back.

use adjutant_core::story::{StoryInput, advance_story};
use adjutant_stories::files::{StateFile, rules};

use crate::fixture::now;

/// A state that can be read can be written, reads the same again and loses no field, and advancing
/// it always gives a decision.
pub fn story_state(bytes: &[u8]) {
    let Ok(file) = StateFile::parse(bytes) else { return };
    let rules = rules::defaults();
    let same = file.to_text(&file.state, &rules);
    let again = StateFile::parse(same.as_bytes()).expect("what we write can be read");
    assert_eq!(again.state, file.state, "the same state: {same}");
    let next = StoryInput::Next { now: now(), note: None, open: vec![] };
    let decision = advance_story(&rules, &file.state, &next);
    let text = file.to_text(&decision.state, &rules);
    let after = StateFile::parse(text.as_bytes()).expect("what we write can be read");
    assert_eq!(after.state, decision.state, "{text}");
    let before: serde_json::Value =
        serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).expect("JSON");
    for name in before.as_object().expect("an object").keys() {
        assert!(
            text.contains(&serde_json::Value::from(name.as_str()).to_string()),
            "{name} is lost"
        );
    }
}
