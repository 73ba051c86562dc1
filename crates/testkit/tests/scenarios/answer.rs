//! Steps about answers: the router's answer, compared with parsing alone and with the files.

use adjutant_core::protocols::aof::IncomingText;
use adjutant_model::{Answer, Reason};
use serde_json::{Value, json};

use crate::scenario_state::ScenarioState;
use crate::step_arguments::StepArguments;
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("the answer is {verdict}", |scene, words| check(scene, words.captured(0), None, &[])),
    ("the answer is {verdict}, {reason}", |scene, words| {
        check(scene, words.captured(0), Some(words.captured(1)), &[]);
    }),
    ("the answer is {verdict}, {reason}:", check_errors),
    ("it is read as a {kind}", check_kind),
    ("what comes is {what...}", check_outcome),
    ("the router gives an error about {path}", check_failure),
];

/// Compares the complete answer.
fn check(scene: &ScenarioState, verdict: &str, reason: Option<&str>, errors: &[String]) {
    let answer = answer(scene);
    let problems: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
    let actual = (answer.verdict.as_str(), answer.reason.map(Reason::as_str), &problems[..]);
    assert_eq!(actual, (verdict, reason, errors));
    check_place(scene, answer);
    if let Some(read) = scene.parsed() {
        check_reading(read, answer);
    }
}

fn answer(scene: &ScenarioState) -> &Answer {
    match scene.last_result() {
        Ok(answered) => &answered.answer,
        Err(error) => panic!("an error instead of an answer: {error:?}"),
    }
}

/// The answer names the status in whose folder the task is.
fn check_place(scene: &ScenarioState, answer: &Answer) {
    if let Some(task) = answer.task.as_ref() {
        let folders = scene.project.status_folders_of(task.as_str());
        assert_eq!(answer.status.into_iter().collect::<Vec<_>>(), folders, "where {task} lies");
    }
}

/// Problems of a text itself are found by parsing it, and the router must agree.
fn check_reading(read: &IncomingText, answer: &Answer) {
    let verdict = answer.verdict.as_str();
    match read {
        IncomingText::Ignored => assert_eq!(verdict, "ignored"),
        IncomingText::Unknown { .. } => assert_eq!(verdict, "unknown"),
        IncomingText::Refused(refusal) => {
            assert_eq!(verdict, "rejected");
            assert_eq!(answer.reason, Some(refusal.reason));
            assert_eq!(answer.problems, refusal.problems);
        }
        IncomingText::Message(_) | IncomingText::Document(_) => {
            assert!(!matches!(verdict, "ignored" | "unknown"), "{verdict}");
        }
    }
}

/// Every error is in the answer and in the single new line of the event log.
fn check_errors(scene: &mut ScenarioState, words: &StepArguments) {
    let (verdict, reason) = words.captured_pair();
    let errors: Vec<String> = words.table().iter().map(|row| row.join("|")).collect();
    check(scene, verdict, Some(reason), &errors);
    let lines = scene.new_lines();
    let actual: Vec<(&Value, &Value)> =
        lines.iter().map(|line| (&line["type"], &line["payload"])).collect();
    let expected =
        (&json!("protocol.message.rejected"), &json!({"reason": reason, "errors": errors}));
    assert_eq!(actual, [expected]);
}

fn check_kind(scene: &mut ScenarioState, words: &StepArguments) {
    let Some(IncomingText::Message(envelope)) = scene.parsed() else {
        panic!("read as {:?}", scene.parsed());
    };
    let head = json!({
        "type": envelope.message.kind().as_str(),
        "taskId": envelope.task.as_str(),
        "fromAgent": envelope.from.as_str(),
        "toAgent": envelope.to.as_str(),
        "sentAt": envelope.sent_at.as_str(),
    });
    let given = ["type", "taskId", "fromAgent", "toAgent", "sentAt"]
        .map(|field| (field.to_owned(), scene.message[field].clone()));
    assert_eq!(head, Value::Object(given.into_iter().collect()));
    assert_eq!(head["type"], words.captured(0));
}

/// With an obstacle in place, the scenario can only check whether there is an answer.
fn check_outcome(scene: &mut ScenarioState, words: &StepArguments) {
    let came = scene.last_result().as_ref().map(|answered| answered.answer.verdict.as_str());
    assert_eq!(came.unwrap_or("an error"), words.captured(0));
}

fn check_failure(scene: &mut ScenarioState, words: &StepArguments) {
    let error = scene.last_result().as_ref().expect_err("an error and no answer");
    assert!(error.to_string().contains(words.captured(0)), "{error}");
}
