//! Fuzz target: `run_result.json`, which an agent leaves for the end of its session.

use adjutant_core::protocols::aof::parse_run_result;
use adjutant_engine::Request;
use adjutant_model::completion::RunResult;
use adjutant_model::{AnswerVerdict, TaskId};
use adjutant_store::document_paths;
use serde_json::{Value, json};

use crate::fixture;

/// A result is read completely or refused with problems, and a session end handles both.
pub fn run_result(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let task = TaskId::parse(fixture::LEASED).expect("a good id");
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        check_reading(&task, &value);
    }
    check_session_end(&task, text);
}

/// A result that is read, written and read again is the same.
fn check_reading(task: &TaskId, value: &Value) {
    match parse_run_result(task, value) {
        Err(problems) => assert!(!problems.is_empty(), "a refusal says what is wrong"),
        Ok(result) => {
            let written = json!(result);
            assert_eq!(parse_run_result(task, &written).as_ref(), Ok(&result));
            assert_eq!(serde_json::from_value::<RunResult>(written).expect("its own form"), result);
        }
    }
}

/// A repeated session end finds nothing left to do.
fn check_session_end(task: &TaskId, text: &str) {
    let store = fixture::store();
    store.write(&document_paths::run_result_file(task), text);
    let mut engine = fixture::engine(&store);
    let mut end = || engine.submit_one(Request::SessionEnd(None)).expect("memory does not fail");
    end();
    let status = |verdict| {
        matches!(verdict, AnswerVerdict::Applied | AnswerVerdict::Noop | AnswerVerdict::Rejected)
    };
    let again = end();
    assert!(status(again.answer.verdict), "{again:?}");
    let found = store.clone().open().world;
    assert_eq!(found.task(task), engine.world().task(task), "the files say what was decided");
}
