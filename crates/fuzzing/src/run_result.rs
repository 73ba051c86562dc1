//! `run_result.json`: what an agent may have left for the end of its session.

use adjutant_core::aof::parse_result;
use adjutant_core::{TaskId, Verdict};
use adjutant_runtime::Request;
use adjutant_store::document;
use adjutant_store::wire::RunResultWire;
use serde_json::{Value, json};

use crate::given;

/// A result is read whole or refused with reasons, and a session end copes with either.
pub fn run_result(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let task = TaskId::parse(given::LEASED).expect("a good id");
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        check_reading(&task, &value);
    }
    check_session_end(&task, text);
}

/// What is read and written again is the same result.
fn check_reading(task: &TaskId, value: &Value) {
    match parse_result(task, value) {
        Err(problems) => assert!(!problems.is_empty(), "a refusal says what is wrong"),
        Ok(result) => {
            let written = json!(RunResultWire::from(&result));
            assert_eq!(parse_result(task, &written).as_ref(), Ok(&result));
            let wire: RunResultWire = serde_json::from_value(written).expect("its own form");
            assert_eq!(wire.try_into(), Ok(result));
        }
    }
}

/// A session end that is done again finds nothing left to do.
fn check_session_end(task: &TaskId, text: &str) {
    let store = given::store();
    store.write(&document::run_result(task), text);
    let mut engine = given::engine(&store);
    let mut end = || engine.submit_one(Request::SessionEnd(None)).expect("memory does not fail");
    end();
    let status = |verdict| matches!(verdict, Verdict::Applied | Verdict::Noop | Verdict::Rejected);
    let again = end();
    assert!(status(again.answer.verdict), "{again:?}");
    let found = store.clone().open().world;
    assert_eq!(found.task(task), engine.world().task(task), "the files say what was decided");
}
