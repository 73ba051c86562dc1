//! Golden files of what a script agent says. Its times are masked.

use adjutant_test_support::golden::GoldenFolder;
use serde_json::Value;

use super::super::document::{attempt_document, result_document};
use super::super::golden_tests::steps;
use super::super::step::Step;
use super::Run;
use crate::golden_tests::json_lines;

fn mask_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    "sentAt" | "dueBy" | "timestamp" | "completed_at" => *value = "<time>".into(),
                    _ => mask_times(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns what a step says; none if it says nothing in a protocol.
fn said(run: &Run, step: &Step) -> Option<Value> {
    let mut said = match step {
        Step::Progress(text) => run.progress(text),
        Step::Report(report) => run.report(report),
        Step::Delegate(delegate) => run.delegate(delegate),
        Step::Lie(lie) => run.lie(lie),
        Step::Result(told) => Value::Object(result_document(told, "T1")),
        Step::AttemptCompletion(told) => Value::Object(attempt_document(told, "A-1")),
        Step::Work(_)
        | Step::Print(_)
        | Step::Complain(_)
        | Step::Flood(_)
        | Step::Write(_)
        | Step::Hang
        | Step::Exit(_)
        | Step::Die(_)
        | Step::IgnoreTerm
        | Step::CloseStdin
        | Step::ReadStdin
        | Step::Suspend
        | Step::Fork(_)
        | Step::Adjutant(_) => return None,
    };
    mask_times(&mut said);
    Some(said)
}

#[test]
fn script_messages_match_golden_files() {
    let run = Run { task: "TASK-2026-02-09-001".into(), agent: "swe".into(), attempt: 1 };
    let mut golden = GoldenFolder::new("ipc/script-messages");
    let messages = steps().iter().filter_map(|step| said(&run, step)).collect::<Vec<_>>();
    golden.add("messages.jsonl", json_lines(messages));
    golden.check();
}
