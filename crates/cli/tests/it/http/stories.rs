//! Stories over HTTP: what the commands can do, once, and the board follows.

use std::fs;

use serde_json::{Value, json};

use crate::http::stage::{Reply, Stage, Up};

/// An agent that nobody starts: its slots are none's business here.
const CREW: &str = "[agents.worker]\nkind = \"command\"\ncommand = [\"true\"]\n";

fn state(stage: &Stage) -> Value {
    let path = stage.path("../.ai/STATE.json");
    serde_json::from_str(&fs::read_to_string(path).expect("a state")).expect("JSON")
}

fn post(up: &Up, path: &str, body: &Value) -> Reply {
    up.call("POST", path, &body.to_string())
}

/// Returns the step and the status that an answer tells.
fn at(reply: &Reply) -> (String, String) {
    let answer = reply.json();
    let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
    (text("step"), text("status"))
}

fn place(step: &str, status: &str) -> (String, String) {
    (step.to_owned(), status.to_owned())
}

#[test]
fn a_story_goes_its_way_by_calls_and_the_board_follows() {
    let stage = Stage::new();
    let up = stage.up();
    let begun = post(&up, "/v1/stories", &json!({"story": "US-005"}));
    assert_eq!((begun.status, at(&begun)), (201, place("bdd", "pending")), "{begun:?}");
    let task = stage.wait_for("task.created", 1)[0]["taskId"].clone();
    let next = post(&up, "/v1/stories/US-005/next", &json!({"note": "mind the dates"}));
    assert_eq!((next.status, at(&next)), (200, place("bdd", "running")), "{next:?}");
    let prompt = next.json()["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.contains("mind the dates"), "{prompt}");
    assert_eq!(up.get("/v1/stories/US-005/prompt").json()["prompt"], prompt);
    let broke = post(&up, "/v1/stories/US-005/report-error", &json!({"error": "it fell over"}));
    assert_eq!(broke.json()["last_error"], "it fell over", "{broke:?}");
    let back = post(&up, "/v1/stories/US-005/rollback", &json!({"step": "contract"}));
    assert_eq!(at(&back), place("contract", "pending"), "{back:?}");
    post(&up, "/v1/stories/US-005/next", &json!({}));
    fs::write(
        stage.path("../.ai/HANDOFF.md"),
        "---\nstory: US-005\nstep: contract\nattempt: 1\nstatus: pass\nreason: null\n---\nDone.\n",
    )
    .expect("written");
    let hooked = post(&up, "/v1/stories/US-005/hook", &json!({}));
    assert_eq!((hooked.status, at(&hooked)), (200, place("contract", "pass")), "{hooked:?}");
    let review = post(&up, "/v1/stories/US-005/next", &json!({}));
    assert_eq!(at(&review), place("review", "needs_human"), "{review:?}");
    let shown = up.get(&format!("/v1/tasks/{}", task.as_str().expect("an id"))).json();
    assert_eq!(shown["status"], "review", "the board follows: {shown}");
    let no = json!({"reason": "scope_warning", "note": "too much"});
    let rejected = post(&up, "/v1/stories/US-005/reject", &no);
    assert_eq!(rejected.status, 200, "{rejected:?}");
    assert_ne!(rejected.json()["step"], "review", "{rejected:?}");
    assert_eq!(up.get("/v1/stories/US-005").json()["step"], rejected.json()["step"]);
}

#[test]
fn what_cannot_be_done_to_a_story_is_said_and_changes_nothing() {
    let stage = Stage::new();
    let up = stage.up();
    post(&up, "/v1/stories", &json!({})).is_problem(422, "invalid_argument");
    let wrong = post(&up, "/v1/stories", &json!({"story": "../x", "blocked_by": ["a b"]}));
    wrong.is_problem(422, "invalid_argument");
    assert_eq!(wrong.json()["errors"].as_array().map(Vec::len), Some(2), "{wrong:?}");
    post(&up, "/v1/stories", &json!({"story": "US-1", "auto": true})).is_problem(422, "usage");
    assert!(!stage.path("../.ai/STATE.json").exists(), "nothing was begun");
    post(&up, "/v1/stories/US-1/approve", &json!({})).is_problem(404, "story_not_found");
    assert_eq!(post(&up, "/v1/stories", &json!({"story": "US-1"})).status, 201);
    let before = state(&stage);
    post(&up, "/v1/stories", &json!({"story": "US-1"})).is_problem(409, "already_started");
    post(&up, "/v1/stories/US-1/approve", &json!({})).is_problem(409, "nothing_waits");
    post(&up, "/v1/stories/US-1/reopen", &json!({})).is_problem(409, "not_done");
    post(&up, "/v1/stories/US-1/hook", &json!({})).is_problem(409, "not_running");
    post(&up, "/v1/stories/US-2/next", &json!({})).is_problem(404, "story_not_found");
    post(&up, "/v1/stories/a%20b/next", &json!({})).is_problem(404, "story_not_found");
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
        refused.is_problem(422, "invalid_argument");
    }
    assert_eq!(state(&stage), before);
}

#[test]
fn the_same_call_about_a_story_is_done_once_even_if_the_daemon_dies() {
    let stage = Stage::with(CREW);
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
        .is_problem(422, "idempotency_key_reused");
    assert_eq!(state(&stage), after, "nothing was done twice");
}

/// The files of a story are changed before the record knows of it; who dies in between leaves the
/// mark of the call in the files.
#[test]
fn a_call_that_died_between_the_files_and_the_record_is_not_done_again() {
    let stage = Stage::new();
    let up = stage.up();
    let new = r#"{"story": "US-7"}"#;
    assert_eq!(up.post_once("/v1/stories", "s", new).status, 201);
    assert_eq!(up.post_once("/v1/stories/US-7/next", "n", "{}").status, 200);
    let after = state(&stage);
    up.kill();
    // As if the record had not been written: what is kept of calls is not in it.
    for file in fs::read_dir(stage.path("events")).expect("a record").flatten() {
        fs::remove_file(file.path()).expect("removed");
    }
    let _ = fs::remove_dir_all(stage.path("journal"));
    let up = stage.up();
    let again = up.post_once("/v1/stories/US-7/next", "n", "{}");
    assert_eq!((again.status, at(&again)), (200, place("bdd", "running")), "{again:?}");
    assert!(again.json()["prompt"].is_string(), "it is answered alike: {again:?}");
    assert_eq!(state(&stage)["attempt"], after["attempt"]);
    assert_eq!(state(&stage)["dispatches"], after["dispatches"], "it was dispatched once");
}

#[test]
fn nobody_does_anything_to_stories_without_a_token() {
    let stage = Stage::new();
    let up = stage.up();
    let refused = up.call_as(&"x".repeat(64), "POST", "/v1/stories", r#"{"story": "US-7"}"#);
    refused.is_problem(401, "unauthenticated");
    let forged = up.call_with("POST", "/v1/stories", &[], br#"{"story": "US-7"}"#);
    forged.is_problem(401, "unauthenticated");
    assert!(!stage.path("../.ai/STATE.json").exists());
}

#[test]
fn the_board_does_to_stories_what_a_person_wants_without_script() {
    let stage = Stage::with(CREW);
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
    assert!(page.contains("The story has begun."), "{page}");
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
