//! The rights of a run over HTTP, and the log of its output.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::project::{HttpProject, HttpReply, ListeningDaemon, PATIENCE};

/// An agent that writes its run token to a file, and works until it is told to end.
const AGENT: &str = r#"
[scheduler]
poll = "1h"
grace = "300ms"

[agents.worker]
kind = "command"
command = ["sh", "-c", "echo begun; printf %s $ADJUTANT_RUN_TOKEN > $ADJUTANT_TASK_ID.token; mv $ADJUTANT_TASK_ID.token $ADJUTANT_TASK_ID.ready; while [ ! -e $ADJUTANT_TASK_ID.end ]; do sleep 0.1; done; echo ended"]
slots = 4
"#;

struct WorkerProject {
    stage: HttpProject,
    up: ListeningDaemon,
}

impl WorkerProject {
    fn new() -> Self {
        let stage = HttpProject::with_settings(AGENT);
        let up = stage.up();
        Self { stage, up }
    }

    /// Starts a run, and returns its task and run token.
    fn run(&self, title: &str) -> (String, String) {
        let id = self.stage.add(&[title, "--status", "ready"]);
        let path = self.stage.path(&format!("../{id}.ready"));
        let until = Instant::now() + PATIENCE;
        loop {
            if let Ok(token) = std::fs::read_to_string(&path) {
                return (id, token);
            }
            assert!(Instant::now() < until, "{id} was not started");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(&self, id: &str) {
        std::fs::write(self.stage.path(&format!("../{id}.end")), "").expect("written");
    }
}

fn report(id: &str, outcome: &str) -> String {
    json!({
        "protocol": "aof", "version": 1, "type": "completion.report", "taskId": id,
        "fromAgent": "worker", "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": {"outcome": outcome, "summaryRef": "outputs/summary.md", "deliverables": [],
            "tests": {"total": 0, "passed": 0, "failed": 0}, "blockers": [], "notes": "fine"},
    })
    .to_string()
}

#[test]
fn run_token_reports_own_task_and_reads_no_other() {
    let crew = WorkerProject::new();
    let (own, token) = crew.run("Own");
    let (other, others) = crew.run("Other");
    assert_ne!(token, others);
    let up = &crew.up;
    let as_run = |method: &str, path: &str, body: &str| up.call_as(&token, method, path, body);
    // The run may read its own task.
    assert_eq!(as_run("GET", &format!("/v1/tasks/{own}"), "").json()["id"], own);
    assert_eq!(as_run("GET", "/v1/tasks", "").json().as_array().map(Vec::len), Some(1));
    assert_eq!(as_run("GET", &format!("/v1/tasks/{own}/log"), "").text(), "begun\n");
    let events = as_run("GET", "/v1/events", "").json();
    assert!(
        events.as_array().expect("a list").iter().all(|event| event["taskId"] == own),
        "{events}"
    );
    let beat = as_run("POST", &format!("/v1/tasks/{own}/beat"), "");
    assert_eq!((beat.status, &beat.json()["taskId"]), (200, &json!(own)), "{beat:?}");
    // The run may not read another task.
    for rest in ["", "/why", "/runs", "/log", "/events"] {
        as_run("GET", &format!("/v1/tasks/{other}{rest}"), "").assert_problem(403, "not_your_task");
    }
    as_run("GET", &format!("/v1/events?task={other}"), "").assert_problem(403, "not_your_task");
    as_run("POST", &format!("/v1/tasks/{other}/beat"), "").assert_problem(403, "not_your_task");
    // The run may not call operator routes, for any task.
    for (path, body) in [
        (format!("/v1/tasks/{own}/approve"), "{}"),
        (format!("/v1/tasks/{other}/cancel"), "{}"),
        (format!("/v1/tasks/{own}/move"), r#"{"to": "done"}"#),
        ("/v1/tasks".to_owned(), r#"{"title": "More"}"#),
    ] {
        as_run("POST", &path, body).assert_problem(403, "operator_only");
    }
    as_run("PATCH", &format!("/v1/tasks/{own}"), r#"{"title": "x"}"#)
        .assert_problem(403, "operator_only");
    for path in ["/v1/inbox", "/v1/status", "/v1/agents", "/v1/stories", "/v1/runs", "/metrics"] {
        as_run("GET", path, "").assert_problem(403, "operator_only");
    }
    for path in ["/v1/stories", "/v1/stories/US-1/approve", "/v1/stories/US-1/hook"] {
        as_run("POST", path, r#"{"story": "US-1"}"#).assert_problem(403, "operator_only");
    }
    assert_eq!(crew.stage.events("command.refused").len(), 5);
    // The sender named in the message does not matter: the token decides.
    let forged = as_run("POST", "/v1/messages", &report(&other, "done"));
    assert_eq!((forged.status, &forged.json()["result"]), (200, &json!("rejected")), "{forged:?}");
    let shown = crew.stage.json(&["task", "show", &other]);
    assert_eq!((&shown["status"], &shown["title"]), (&json!("in-progress"), &json!("Other")));
    let said = as_run("POST", "/v1/messages", &report(&own, "needs_review"));
    assert_eq!(
        (&said.json()["result"], &said.json()["status"]),
        (&json!("applied"), &json!("review"))
    );
    // A repeated report, as after a lost answer, is harmless.
    assert_eq!(
        as_run("POST", "/v1/messages", &report(&own, "needs_review")).json()["result"],
        "noop"
    );
    let refused = crew.stage.wait_for("access.refused", 2);
    let reasons: Vec<&Value> = refused.iter().map(|event| &event["payload"]["reason"]).collect();
    assert!(
        reasons.contains(&&json!("not_your_task")) && reasons.contains(&&json!("operator_only"))
    );
    assert!(refused.iter().all(|event| event["actor"] == "worker" && event["taskId"] == own));
    crew.end(&own);
    crew.end(&other);
}

#[test]
fn flooding_run_is_rate_limited_alone() {
    let crew = WorkerProject::new();
    let (own, token) = crew.run("Own");
    let (other, others) = crew.run("Other");
    let call =
        |id: &str, token: &str| crew.up.call_as(token, "GET", &format!("/v1/tasks/{id}"), "");
    let look = |id: &str, token: &str| call(id, token).status;
    // Several threads, so that even a busy machine exceeds the limit.
    let until = Instant::now() + PATIENCE;
    let flood = || {
        std::iter::repeat_with(|| call(&own, &token))
            .find(|reply| reply.status != 200 || Instant::now() > until)
    };
    let held_up = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8).map(|_| scope.spawn(flood)).collect();
        callers.into_iter().filter_map(|caller| caller.join().expect("it ends")).collect::<Vec<_>>()
    });
    for reply in held_up {
        reply.assert_problem(429, "too_many_requests");
    }
    assert_eq!(look(&other, &others), 200);
    assert_eq!(crew.up.get("/v1/tasks").status, 200);
    assert_eq!(
        crew.stage.wait_for("access.refused", 1)[0]["payload"]["reason"],
        "too_many_requests"
    );
    crew.end(&own);
    crew.end(&other);
}

#[test]
fn run_log_is_read_by_byte_range_and_followed_to_its_end() {
    let crew = WorkerProject::new();
    let (id, _) = crew.run("Print");
    let path = format!("/v1/tasks/{id}/log");
    let mut stream = crew.up.connect();
    let head = format!(
        "GET {path}?follow=true HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        crew.up.authority(),
        crew.up.token
    );
    stream.write_all(head.as_bytes()).expect("it listens");
    // The run writes its token before its output arrives in the log.
    let until = Instant::now() + PATIENCE;
    while crew.up.get(&path).text().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let whole = crew.up.get(&path);
    assert_eq!((whole.text().as_str(), whole.header("adjutant-run")), ("begun\n", Some("running")));
    let ranged = |range: &str| {
        let bearer = format!("Bearer {}", crew.up.token);
        crew.up.call_with("GET", &path, &[("Authorization", &bearer), ("Range", range)], b"")
    };
    let part = ranged("bytes=1-3");
    assert_eq!((part.status, part.text().as_str()), (206, "egu"));
    assert_eq!(part.header("content-range"), Some("bytes 1-3/6"));
    assert_eq!(ranged("bytes=-2").text(), "n\n");
    ranged("bytes=6-").assert_problem(416, "range_not_satisfiable");
    crew.end(&id);
    let followed = HttpReply::read(&mut stream);
    assert_eq!(followed.text(), "begun\nended\n");
    assert_eq!(followed.header("content-type"), Some("text/plain; charset=utf-8"));
    let runs = crew.up.get(&format!("/v1/tasks/{id}/runs")).json();
    assert_eq!(
        (&runs[0]["attempt"], &runs[0]["agent"], &runs[0]["state"]),
        (&json!(1), &json!("worker"), &json!("over"))
    );
    assert_eq!(crew.up.get(&format!("{path}?attempt=1")).text(), "begun\nended\n");
    crew.up.get(&format!("{path}?attempt=7")).assert_problem(404, "no_log");
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).ok(), Some(0));
}

#[test]
fn late_report_is_kept_and_applied_by_http_call() {
    let crew = WorkerProject::new();
    let (id, token) = crew.run("Late");
    crew.stage.ok(&["task", "move", &id, "ready", "--reason", "again"]);
    let until = Instant::now() + PATIENCE;
    while crew.stage.json(&["task", "show", &id])["lease"]["attempt"] != 2 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(50));
    }
    let bearer = format!("Bearer {token}");
    let late = crew.up.call_with(
        "POST",
        "/v1/messages",
        &[("Authorization", &bearer), ("Adjutant-Task", &id)],
        report(&id, "done").as_bytes(),
    );
    assert_eq!(
        (&late.json()["result"], &late.json()["reason"]),
        (&json!("rejected"), &json!("stale_run")),
        "{late:?}"
    );
    let inbox = crew.up.get("/v1/inbox").json();
    let item = inbox
        .as_array()
        .expect("a list")
        .iter()
        .find(|item| item["kind"] == "salvage")
        .expect("an item")
        .clone();
    let name = item["actions"][0]
        .as_str()
        .and_then(|action| action.split(' ').next_back())
        .expect("a name")
        .to_owned();
    let applied = crew.up.call("POST", &format!("/v1/tasks/{id}/salvage/{name}/apply"), "");
    assert_eq!((applied.status, &applied.json()["status"]), (200, &json!("review")), "{applied:?}");
    crew.end(&id);
}
