//! The story routes: they do what the story commands do, once a key, and the board shows it.

use std::fs;

use serde_json::{Value, json};

use crate::http::project::{HttpProject, HttpReply, ListeningDaemon};

/// An agent that is configured, but never started by these tests.
const CREW: &str = "[agents.worker]\nkind = \"command\"\ncommand = [\"true\"]\n";

fn state(stage: &HttpProject) -> Value {
    let path = stage.path("../.ai/STATE.json");
    serde_json::from_str(&fs::read_to_string(path).expect("a state")).expect("JSON")
}

fn post(up: &ListeningDaemon, path: &str, body: &Value) -> HttpReply {
    up.call("POST", path, &body.to_string())
}

/// Returns the step and status in an answer.
fn story_position(reply: &HttpReply) -> (String, String) {
    let answer = reply.json();
    let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
    (text("step"), text("status"))
}

fn place(step: &str, status: &str) -> (String, String) {
    (step.to_owned(), status.to_owned())
}

#[test]
fn story_lifecycle_works_by_http_calls_and_shows_on_board() {
    let stage = HttpProject::new();
    let up = stage.up();
    let begun = post(&up, "/v1/stories", &json!({"story": "US-005"}));
    assert_eq!((begun.status, story_position(&begun)), (201, place("bdd", "pending")), "{begun:?}");
    let task = stage.wait_for("task.created", 1)[0]["taskId"].clone();
    let next = post(&up, "/v1/stories/US-005/next", &json!({"note": "mind the dates"}));
    assert_eq!((next.status, story_position(&next)), (200, place("bdd", "running")), "{next:?}");
    let prompt = next.json()["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.contains("mind the dates"), "{prompt}");
    assert_eq!(up.get("/v1/stories/US-005/prompt").json()["prompt"], prompt);
    let broke = post(&up, "/v1/stories/US-005/report-error", &json!({"error": "it fell over"}));
    assert_eq!(broke.json()["last_error"], "it fell over", "{broke:?}");
    let back = post(&up, "/v1/stories/US-005/rollback", &json!({"step": "contract"}));
    assert_eq!(story_position(&back), place("contract", "pending"), "{back:?}");
    post(&up, "/v1/stories/US-005/next", &json!({}));
    fs::create_dir_all(stage.path("../docs/api")).expect("a folder");
    fs::write(stage.path("../docs/api/openapi.yaml"), "openapi: 3.1.0\n").expect("written");
    fs::write(
        stage.path("../.ai/HANDOFF.md"),
        "---\nstory: US-005\nstep: contract\nattempt: 1\nstatus: pass\nreason: null\n---\nDone.\n",
    )
    .expect("written");
    let hooked = post(&up, "/v1/stories/US-005/hook", &json!({}));
    assert_eq!(
        (hooked.status, story_position(&hooked)),
        (200, place("contract", "pass")),
        "{hooked:?}"
    );
    let review = post(&up, "/v1/stories/US-005/next", &json!({}));
    assert_eq!(story_position(&review), place("review", "needs_human"), "{review:?}");
    let shown = up.get(&format!("/v1/tasks/{}", task.as_str().expect("an id"))).json();
    assert_eq!(shown["status"], "review", "the board follows: {shown}");
    let no = json!({"reason": "scope_warning", "note": "too much"});
    let rejected = post(&up, "/v1/stories/US-005/reject", &no);
    assert_eq!(rejected.status, 200, "{rejected:?}");
    assert_ne!(rejected.json()["step"], "review", "{rejected:?}");
    assert_eq!(up.get("/v1/stories/US-005").json()["step"], rejected.json()["step"]);
}

#[test]
fn refused_story_call_changes_nothing() {
    let stage = HttpProject::new();
    let up = stage.up();
    post(&up, "/v1/stories", &json!({})).assert_problem(422, "invalid_argument");
    let wrong = post(&up, "/v1/stories", &json!({"story": "../x", "blocked_by": ["a b"]}));
    wrong.assert_problem(422, "invalid_argument");
    assert_eq!(wrong.json()["errors"].as_array().map(Vec::len), Some(2), "{wrong:?}");
    post(&up, "/v1/stories", &json!({"story": "US-1", "auto": true})).assert_problem(422, "usage");
    assert!(!stage.path("../.ai/STATE.json").exists(), "nothing was begun");
    post(&up, "/v1/stories/US-1/approve", &json!({})).assert_problem(404, "story_not_found");
    assert_eq!(post(&up, "/v1/stories", &json!({"story": "US-1"})).status, 201);
    let before = state(&stage);
    post(&up, "/v1/stories", &json!({"story": "US-1"})).assert_problem(409, "already_started");
    post(&up, "/v1/stories/US-1/approve", &json!({})).assert_problem(409, "nothing_waits");
    post(&up, "/v1/stories/US-1/reopen", &json!({})).assert_problem(409, "not_done");
    post(&up, "/v1/stories/US-1/hook", &json!({})).assert_problem(409, "not_running");
    post(&up, "/v1/stories/US-2/next", &json!({})).assert_problem(404, "story_not_found");
    post(&up, "/v1/stories/a%20b/next", &json!({})).assert_problem(404, "story_not_found");
    for (deed, body) in [
        ("reject", json!({"reason": "because"})),
        ("reject", json!({})),
        ("rollback", json!({"step": "nowhere"})),
        ("rollback", json!({})),
        ("auto", json!({"agent": "worker", "off": true})),
        ("next", json!({"note": 7})),
        ("report-error", json!({})),
    ] {
        let refused = post(&up, &format!("/v1/stories/US-1/{deed}"), &body);
        refused.assert_problem(422, "invalid_argument");
    }
    assert_eq!(state(&stage), before);
}

#[test]
fn story_call_with_key_takes_effect_once_across_daemon_kill() {
    let stage = HttpProject::with_settings(CREW);
    let up = stage.up();
    let new = r#"{"story": "US-7"}"#;
    let begun = up.post_once("/v1/stories", "s", new);
    assert_eq!(begun.status, 201, "{begun:?}");
    assert_eq!(up.post_once("/v1/stories", "s", new).body, begun.body);
    let first = up.post_once("/v1/stories/US-7/next", "n", "{}");
    assert_eq!(first.json()["result"], "dispatched", "{first:?}");
    let after = state(&stage);
    up.kill();
    let up = stage.up();
    let again = up.post_once("/v1/stories", "s", new);
    assert_eq!((again.status, again.json()["story"].clone()), (201, json!("US-7")), "{again:?}");
    let again = up.post_once("/v1/stories/US-7/next", "n", "{}");
    assert_eq!(again.status, 200, "{again:?}");
    up.post_once("/v1/stories/US-7/next", "n", r#"{"note": "other"}"#)
        .assert_problem(422, "idempotency_key_reused");
    assert_eq!(state(&stage), after, "nothing was done twice");
}

/// A story's files are written before the event log. A daemon killed in between leaves the call's
/// idempotency key in those files.
#[test]
fn story_call_killed_before_event_log_write_is_not_repeated() {
    let stage = HttpProject::new();
    let up = stage.up();
    let new = r#"{"story": "US-7"}"#;
    assert_eq!(up.post_once("/v1/stories", "s", new).status, 201);
    assert_eq!(up.post_once("/v1/stories/US-7/next", "n", "{}").status, 200);
    let after = state(&stage);
    up.kill();
    // Simulates a daemon that died before it wrote the event log: no answer is kept there.
    for file in fs::read_dir(stage.path("events")).expect("a record").flatten() {
        fs::remove_file(file.path()).expect("removed");
    }
    let _ = fs::remove_dir_all(stage.path("journal"));
    let up = stage.up();
    let again = up.post_once("/v1/stories/US-7/next", "n", "{}");
    assert_eq!((again.status, story_position(&again)), (200, place("bdd", "running")), "{again:?}");
    assert!(again.json()["prompt"].is_string(), "it is answered alike: {again:?}");
    assert_eq!(state(&stage)["attempt"], after["attempt"]);
    assert_eq!(state(&stage)["dispatches"], after["dispatches"], "it was dispatched once");
}

#[test]
fn story_call_without_valid_token_is_refused() {
    let stage = HttpProject::new();
    let up = stage.up();
    let refused = up.call_as(&"x".repeat(64), "POST", "/v1/stories", r#"{"story": "US-7"}"#);
    refused.assert_problem(401, "unauthenticated");
    let forged = up.call_with("POST", "/v1/stories", &[], br#"{"story": "US-7"}"#);
    forged.assert_problem(401, "unauthenticated");
    assert!(!stage.path("../.ai/STATE.json").exists());
}

#[test]
fn board_story_forms_accept_operator_token() {
    let stage = HttpProject::with_settings(CREW);
    let up = stage.up();
    let form = |path: &str, fields: &str| {
        let bearer = format!("Bearer {}", up.token);
        let kind = "application/x-www-form-urlencoded";
        let headers = [("Authorization", &*bearer), ("Content-Type", kind)];
        up.call_with("POST", path, &headers, fields.as_bytes())
    };
    let begun = form("/stories", "story=US-9");
    assert_eq!((begun.status, begun.header("location")), (303, Some("/stories?did=begin")));
    let page = up.get("/stories?did=begin").text();
    assert!(page.contains("Story started."), "{page}");
    assert!(page.contains("action=\"/stories/US-9/auto\""), "{page}");
    assert!(!page.contains("action=\"/stories/US-9/approve\""), "nothing waits yet: {page}");
    assert_eq!(form("/stories/US-9/rollback", "step=review&text=look").status, 303);
    up.call("POST", "/v1/stories/US-9/next", "{}");
    let page = up.get("/stories").text();
    assert!(page.contains("action=\"/stories/US-9/approve\""), "{page}");
    assert!(page.contains("<option value=\"scope_warning\">scope warning"), "{page}");
    assert_eq!(form("/stories/US-9/reject", "reason=scope_warning&text=less").status, 303);
    assert_ne!(state(&stage)["step"], "review");
    let refused = form("/stories/US-9/reject", "reason=default");
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.text().contains("cannot reject"), "{refused:?}");
    assert_eq!(form("/stories", "story=%3Cscript%3E").status, 409);
    assert_eq!(form("/stories/US-9/explode", "").status, 404);
}
