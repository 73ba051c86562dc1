//! `STATE.json`, whoever wrote it: read, driven on, and written back.

use adjutant_core::pipeline::{Input, advance};
use adjutant_store::story::{StateFile, rules};

use crate::given::now;

/// What can be read can be written, says the same again, and loses no field; and whatever it says,
/// going on has an answer.
pub fn story_state(bytes: &[u8]) {
    let Ok(file) = StateFile::parse(bytes) else { return };
    let rules = rules::defaults();
    let same = file.text(&file.state, &rules);
    let again = StateFile::parse(same.as_bytes()).expect("what we write can be read");
    assert_eq!(again.state, file.state, "the same state: {same}");
    let next = Input::Next { now: now(), note: None, open: vec![] };
    let decision = advance(&rules, &file.state, &next);
    let text = file.text(&decision.state, &rules);
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
