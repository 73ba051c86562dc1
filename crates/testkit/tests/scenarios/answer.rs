//! Answers: what the router says, held against what reading alone says and what lies on disk.

use adjutant_core::aof::Incoming;
use adjutant_core::{Answer, Reason};
use serde_json::{Value, json};

use crate::scene::Scene;
use crate::steps::Known;
use crate::words::Words;

pub(crate) const STEPS: &[Known] = &[
    ("the answer is {verdict}", |scene, words| check(scene, words.at(0), None, &[])),
    ("the answer is {verdict}, {reason}", |scene, words| {
        check(scene, words.at(0), Some(words.at(1)), &[]);
    }),
    ("the answer is {verdict}, {reason}:", check_errors),
    ("it is read as a {kind}", check_kind),
    ("what comes is {what...}", check_outcome),
    ("the router gives an error about {path}", check_failure),
];

/// Compares the answer whole.
fn check(scene: &Scene, verdict: &str, reason: Option<&str>, errors: &[String]) {
    let answer = answer(scene);
    let problems: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
    let said = (answer.verdict.as_str(), answer.reason.map(Reason::as_str), &problems[..]);
    assert_eq!(said, (verdict, reason, errors));
    check_place(scene, answer);
    if let Some(read) = scene.read() {
        check_reading(read, answer);
    }
}

fn answer(scene: &Scene) -> &Answer {
    match scene.came() {
        Ok(answered) => &answered.answer,
        Err(error) => panic!("an error instead of an answer: {error:?}"),
    }
}

/// The answer names the status whose folder the task lies in.
fn check_place(scene: &Scene, answer: &Answer) {
    if let Some(task) = answer.task.as_ref() {
        let folders = scene.project.folders_of(task.as_str());
        assert_eq!(answer.status.into_iter().collect::<Vec<_>>(), folders, "where {task} lies");
    }
}

/// What is wrong with a text in itself is found by reading it, and no router may think otherwise.
fn check_reading(read: &Incoming, answer: &Answer) {
    let verdict = answer.verdict.as_str();
    match read {
        Incoming::Ignored => assert_eq!(verdict, "ignored"),
        Incoming::Unknown { .. } => assert_eq!(verdict, "unknown"),
        Incoming::Refused(refusal) => {
            assert_eq!(verdict, "rejected");
            assert_eq!(answer.reason, Some(refusal.reason));
            assert_eq!(answer.problems, refusal.problems);
        }
        Incoming::Message(_) | Incoming::Document(_) => {
            assert!(!matches!(verdict, "ignored" | "unknown"), "{verdict}");
        }
    }
}

/// Every error is in the answer, and in the one line of the record.
fn check_errors(scene: &mut Scene, words: &Words) {
    let (verdict, reason) = words.pair();
    let errors: Vec<String> = words.table().iter().map(|row| row.join("|")).collect();
    check(scene, verdict, Some(reason), &errors);
    let lines = scene.new_lines();
    let said: Vec<(&Value, &Value)> =
        lines.iter().map(|line| (&line["type"], &line["payload"])).collect();
    let expected =
        (&json!("protocol.message.rejected"), &json!({"reason": reason, "errors": errors}));
    assert_eq!(said, [expected]);
}

fn check_kind(scene: &mut Scene, words: &Words) {
    let Some(Incoming::Message(envelope)) = scene.read() else {
        panic!("read as {:?}", scene.read());
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
    assert_eq!(head["type"], words.at(0));
}

/// While something stands in the way, only whether there is an answer can be looked at.
fn check_outcome(scene: &mut Scene, words: &Words) {
    let came = scene.came().as_ref().map(|answered| answered.answer.verdict.as_str());
    assert_eq!(came.unwrap_or("an error"), words.at(0));
}

fn check_failure(scene: &mut Scene, words: &Words) {
    let error = scene.came().as_ref().expect_err("an error and no answer");
    assert!(error.to_string().contains(words.at(0)), "{error}");
}
