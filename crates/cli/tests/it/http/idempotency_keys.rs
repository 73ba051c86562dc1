//! Idempotency keys: the same call made twice takes effect once.

use std::sync::Arc;

use serde_json::json;

use crate::http::project::HttpProject;

#[test]
fn idempotency_key_repeats_answer_without_repeating_call() {
    let stage = HttpProject::new();
    let up = stage.up();
    let new = r#"{"title": "Once"}"#;
    let first = up.post_once("/v1/tasks", "k 1", new);
    assert_eq!(first.status, 201, "{first:?}");
    let again = up.post_once("/v1/tasks", "k 1", new);
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let other = up.post_once("/v1/tasks", "k 1", r#"{"title": "Other"}"#);
    other.assert_problem(422, "idempotency_key_reused");
    up.post_once("/v1/inbox", "k 1", r#"{"actions":[{"action":"retry","taskId":"x"}]}"#);
    assert_eq!(up.post_once("/v1/tasks", "k 2", new).status, 201);
    assert_eq!(stage.json(&["task", "list"]).as_array().map(Vec::len), Some(2));
    up.post_once("/v1/tasks", &"k".repeat(256), new).assert_problem(400, "bad_request");
    up.post_once("/v1/tasks", "", new).assert_problem(400, "bad_request");
}

#[test]
fn idempotency_key_survives_killed_daemon() {
    let stage = HttpProject::new();
    let up = stage.up();
    let made = up.post_once("/v1/tasks", "k", r#"{"title": "Once"}"#).json();
    let message = r#"{"taskId": "a-1", "delegatedToMode": "code", "objective": "Do it."}"#;
    let sent = up.post_once("/v1/messages", "m", message).json();
    let id = made["id"].as_str().expect("an id").to_owned();
    let actions = json!({"actions": [
        {"action": "cancel", "taskId": id, "reason": "no"},
        {"action": "approve", "taskId": sent["taskId"]},
    ]})
    .to_string();
    let settled = up.post_once("/v1/inbox", "b", &actions).json();
    assert_eq!(settled[0]["answer"]["result"], "applied");
    up.kill();
    let events = stage.events("task").len();
    let up = stage.up();
    let again = up.post_once("/v1/tasks", "k", r#"{"title": "Once"}"#);
    assert_eq!((again.status, again.json()["id"].clone()), (201, made["id"].clone()));
    assert_eq!(again.json()["status"], "cancelled", "as it stands now");
    up.post_once("/v1/tasks", "k", r#"{"title": "Other"}"#)
        .assert_problem(422, "idempotency_key_reused");
    let replayed = up.post_once("/v1/messages", "m", message).json();
    assert_eq!((&replayed["result"], &replayed["events"]), (&json!("applied"), &sent["events"]));
    let replayed = up.post_once("/v1/inbox", "b", &actions).json();
    assert_eq!(
        replayed[0],
        json!({"action": "cancel", "taskId": id,
        "answer": {"result": "applied", "reason": null, "taskId": id, "status": "cancelled",
            "events": settled[0]["answer"]["events"], "errors": []}})
    );
    assert_eq!(stage.events("task").len(), events, "nothing was done twice");
}

#[test]
fn idempotency_key_shared_by_concurrent_calls_takes_effect_once() {
    let stage = HttpProject::new();
    let up = Arc::new(stage.up());
    let callers: Vec<_> = (0..16)
        .map(|_| {
            let up = Arc::clone(&up);
            std::thread::spawn(move || up.post_once("/v1/tasks", "k", r#"{"title": "x"}"#).body)
        })
        .collect();
    let bodies: Vec<Vec<u8>> = callers.into_iter().map(|c| c.join().expect("it ends")).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(stage.json(&["task", "list"]).as_array().map(Vec::len), Some(1));
}
