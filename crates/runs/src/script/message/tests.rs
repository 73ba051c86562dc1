//! Golden files of the script agent's messages, with times masked.

use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::json_lines;
use serde_json::Value;

use super::super::document::{attempt_document, result_document};
use super::super::step::ScriptStep;
use super::super::tests::steps;
use super::RunIdentity;

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

/// Returns the message or document of a step; `None` if the step sends none.
fn said(run: &RunIdentity, step: &ScriptStep) -> Option<Value> {
    let mut said = match step {
        ScriptStep::Progress(text) => run.progress(text),
        ScriptStep::Report(report) => run.report(report),
        ScriptStep::Delegate(delegate) => run.delegate(delegate),
        ScriptStep::Lie(lie) => run.lie(lie),
        ScriptStep::Result(told) => Value::Object(result_document(told, "T1")),
        ScriptStep::AttemptCompletion(told) => Value::Object(attempt_document(told, "A-1")),
        ScriptStep::Work(_)
        | ScriptStep::Print(_)
        | ScriptStep::Complain(_)
        | ScriptStep::Flood(_)
        | ScriptStep::Write(_)
        | ScriptStep::Hang
        | ScriptStep::Exit(_)
        | ScriptStep::Die(_)
        | ScriptStep::IgnoreTerm
        | ScriptStep::CloseStdin
        | ScriptStep::ReadStdin
        | ScriptStep::Suspend
        | ScriptStep::Fork(_)
        | ScriptStep::Adjutant(_) => return None,
    };
    mask_times(&mut said);
    Some(said)
}

#[test]
fn script_messages_match_golden_files() {
    let run = RunIdentity {
        task: "TASK-2026-02-09-001".into(),
        agent: "swe".into(),
        token: "1-ab".into(),
        attempt: 1,
    };
    let mut golden = GoldenFolder::new("ipc/script-messages");
    let messages = steps().iter().filter_map(|step| said(&run, step)).collect::<Vec<_>>();
    golden.add("messages.jsonl", json_lines(messages));
    golden.check();
}
