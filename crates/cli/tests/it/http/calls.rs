//! The `/v1` routes, compared with the commands.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::http::project::{HttpProject, ListeningDaemon};

fn ids(reply: &Value) -> Vec<String> {
    let tasks = reply.as_array().expect("a list").iter();
    tasks.map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn http_reads_equal_command_output() {
    let stage = HttpProject::new();
    let first = stage.add(&["One", "--body", "Do it.", "--priority", "high", "--tag", "rust"]);
    stage.add(&["Two", "--status", "ready", "--depends-on", &first]);
    let up = stage.up();
    assert_eq!(up.get(&format!("/v1/tasks/{first}")).json(), stage.json(&["task", "show", &first]));
    assert_eq!(up.get(&format!("/v1/tasks/{first}/why")).json(), stage.json(&["why", &first]));
    let mut listed = stage.json(&["task", "list"]);
    let by_id = |task: &Value| task["id"].as_str().unwrap_or_default().to_owned();
    listed.as_array_mut().expect("a list").sort_by_key(by_id);
    assert_eq!(up.get("/v1/tasks").json(), listed);
    assert_eq!(up.get("/v1/inbox").json(), stage.json(&["inbox"]));
    assert_eq!(up.get("/v1/agents").json(), stage.json(&["agents"]));
    assert_eq!(up.get("/v1/status").json(), stage.json(&["status"]));
    let lines = stage.ok(&["events", "--json"]);
    let lines: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(up.get("/v1/events").json(), Value::Array(lines));
    assert_eq!(up.get("/v1/stories").json(), json!([]));
    assert_eq!(up.get("/v1/openapi.json").json(), stage.json(&["schema", "openapi"]));
    assert_eq!(up.get("/healthz").json(), json!({"ok": true}));
    assert_eq!(up.get("/readyz").json(), json!({"ready": true}));
}

#[test]
fn task_lifecycle_works_by_http_calls_alone() {
    let stage = HttpProject::new();
    let up = stage.up();
    let new = r#"{"title": "Paint", "body": "Blue.", "priority": "high", "tags": ["art"],
        "resource": "brush", "dueBy": "2030-01-01T00:00:00Z", "agent": "painter",
        "checks": ["grep -q blue wall.txt", "make check"]}"#;
    let made = up.call("POST", "/v1/tasks", new);
    assert_eq!(made.status, 201, "{made:?}");
    let task = made.json();
    let id = task["id"].as_str().expect("an id").to_owned();
    assert_eq!(made.header("location"), Some(&*format!("/v1/tasks/{}", id.to_lowercase())));
    assert_eq!(task["createdBy"], "human:alice");
    let warnings = task["warnings"].to_string();
    assert!(warnings.contains("no agent named \\\"painter\\\" is configured"), "{warnings}");
    assert_eq!(task["metadata"]["checks"], json!(["grep -q blue wall.txt", "make check"]));
    assert_eq!(task["path"], format!("tasks/backlog/{id}.md"));
    let path = |deed: &str| format!("/v1/tasks/{id}/{deed}");
    let edit = r#"{"title": "Paint it", "dueBy": null, "reviewRequired": true}"#;
    let edited = up.call("PATCH", &format!("/v1/tasks/{id}"), edit).json();
    assert_eq!((&edited["title"], &edited["dueBy"]), (&json!("Paint it"), &Value::Null));
    for (deed, body, status) in [
        ("move", r#"{"to": "ready"}"#, "ready"),
        ("move", r#"{"to": "in-progress", "reason": "by hand"}"#, "in-progress"),
        ("move", r#"{"to": "review"}"#, "review"),
        ("reject", r#"{"reason": "Not blue enough."}"#, "ready"),
        ("move", r#"{"to": "blocked", "reason": "Which blue?"}"#, "blocked"),
        ("answer", r#"{"text": "Dark blue."}"#, "ready"),
        ("move", r#"{"to": "blocked"}"#, "blocked"),
        ("retry", "", "ready"),
        ("move", r#"{"to": "in-progress"}"#, "in-progress"),
        ("move", r#"{"to": "review"}"#, "review"),
        ("approve", r#"{"note": "Fine."}"#, "done"),
    ] {
        let reply = up.call("POST", &path(deed), body);
        assert_eq!(reply.status, 200, "{deed}: {reply:?}");
        assert_eq!(reply.json()["status"], status, "{deed}");
    }
    up.call("POST", &path("cancel"), "").assert_problem(409, "invalid_transition");
    let actors: BTreeSet<String> = up
        .get(&path("events"))
        .json()
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| event["actor"].as_str().expect("an actor").to_owned())
        .collect();
    assert_eq!(actors, BTreeSet::from(["human:alice".to_owned()]));
}

#[test]
fn invalid_calls_report_every_problem_and_change_nothing() {
    let stage = HttpProject::new();
    let up = stage.up();
    let before = up.get("/v1/events").json();
    let errors = |reply: &crate::http::project::HttpReply| {
        let problem = reply.json();
        let named = problem["errors"].as_array().expect("a list").iter();
        named
            .map(|e| e.as_str().expect("text").split(':').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let wrong = up.call("POST", "/v1/tasks", r#"{"titel": "x", "priority": 7, "tags": "a"}"#);
    wrong.assert_problem(422, "invalid_argument");
    assert_eq!(errors(&wrong), ["titel", "priority", "tags"]);
    let wrong = r#"{"priority": "urgent", "agent": "", "dueBy": "soon", "status": "done",
        "dependsOn": ["TASK-2026-02-09-001", "nope"]}"#;
    let wrong = up.call("POST", "/v1/tasks", wrong);
    wrong.assert_problem(422, "invalid_argument");
    assert_eq!(errors(&wrong), ["title", "priority", "agent", "dueBy", "status", "dependsOn[1]"]);
    let wrong = up.call("POST", "/v1/tasks", r#"{"title": "x", "checks": ["a", 7]}"#);
    wrong.assert_problem(422, "invalid_argument");
    assert_eq!(errors(&wrong), ["checks"]);
    up.call("POST", "/v1/tasks", "{").assert_problem(400, "bad_request");
    up.call("POST", "/v1/tasks", "[]").assert_problem(422, "invalid_argument");
    up.get("/v1/tasks?status=odd&limit=0&colour=red").assert_problem(422, "invalid_argument");
    up.get("/v1/events?after=x").assert_problem(422, "invalid_argument");
    up.get("/v1/tasks/TASK-2026-02-09-001").assert_problem(404, "task_not_found");
    up.get("/v1/tasks/TASK-2026-02-09-001/log").assert_problem(404, "task_not_found");
    up.get("/v1/stories/US-1").assert_problem(404, "story_not_found");
    up.get("/v2/tasks").assert_problem(404, "not_found");
    up.call("DELETE", "/v1/tasks", "").assert_problem(405, "method_not_allowed");
    assert_eq!(up.get("/v1/events").json(), before);
    // A well-formed command that the rules refuse is recorded in the event log.
    let unknown = up.call("POST", "/v1/tasks/TASK-2026-02-09-001/approve", "");
    unknown.assert_problem(404, "task_not_found");
    assert_eq!(stage.events("command.refused").len(), 1);
    let wrong = r#"{"title": "x", "checks": ["make", " ", "a\nb"]}"#;
    let wrong = up.call("POST", "/v1/tasks", wrong);
    wrong.assert_problem(422, "invalid_argument");
    let text = wrong.json().to_string();
    assert!(text.contains(r#"these are not: \" \", \"a\\nb\""#), "{text}");
    assert_eq!(up.get("/v1/tasks").json(), json!([]));
}

fn pages(up: &ListeningDaemon, mut path: String, mut between: impl FnMut()) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let reply = up.get(&path);
        assert_eq!(reply.status, 200, "{reply:?}");
        seen.extend(ids(&reply.json()));
        between();
        // `HttpReply` lowercases header values, but task ids are upper case.
        let Some(link) = reply.header("link") else { return seen };
        let next = link.trim_start_matches('<').split('>').next().expect("a link");
        path = next.replace("task-", "TASK-");
    }
}

#[test]
fn task_paging_is_stable_while_tasks_change() {
    let stage = HttpProject::new();
    let all: Vec<String> = (0..25).map(|n| stage.add(&[&format!("Task {n}")])).collect();
    let up = stage.up();
    let mut n = 0;
    let seen = pages(&up, "/v1/tasks?limit=4".to_owned(), || {
        // Listed and unlisted tasks change their position in every order except the one by id.
        for id in [&all[n % 25], &all[(n + 11) % 25]] {
            up.call("POST", &format!("/v1/tasks/{id}/move"), r#"{"to": "ready"}"#);
            up.call("PATCH", &format!("/v1/tasks/{id}"), r#"{"priority": "critical"}"#);
        }
        up.call("POST", "/v1/tasks", r#"{"title": "New"}"#);
        n += 1;
    });
    assert_eq!(seen[..25], all, "each once, in order");
    let down = pages(&up, "/v1/tasks?limit=7&order=desc".to_owned(), || {});
    let up_again = pages(&up, "/v1/tasks?limit=1000".to_owned(), || {});
    assert_eq!(down, up_again.into_iter().rev().collect::<Vec<_>>());
    let some = ids(&up.get("/v1/tasks?status=ready&status=done&text=TASK%202").json());
    assert!(!some.is_empty() && some.len() < 12, "{some:?}");
}

#[test]
fn task_is_created_and_edited_with_checks_budgets_and_limits() {
    let stage = HttpProject::new();
    let up = stage.up();
    let new = r#"{"title": "Paint", "mode": "code", "role": "artist", "budgetUsd": 2.5,
        "budgetTokens": 9, "timeout": "1h", "idleTimeout": "off"}"#;
    let task = up.call("POST", "/v1/tasks", new).json();
    assert_eq!(task["routing"], json!({"mode": "code", "role": "artist"}));
    let limits =
        json!({"budgetUsd": 2.5, "budgetTokens": 9, "timeout": "1h", "idleTimeout": "off"});
    assert_eq!(task["metadata"], limits);
    let path = format!("/v1/tasks/{}", task["id"].as_str().expect("an id"));
    let edit = r#"{"mode": null, "role": "painter", "checks": ["make"], "budgetUsd": null,
        "budgetTokens": 10, "timeout": null, "idleTimeout": "5m"}"#;
    let task = up.call("PATCH", &path, edit).json();
    assert_eq!(task["routing"], json!({"role": "painter"}));
    let limits = json!({"budgetTokens": 10, "idleTimeout": "5m", "checks": ["make"], "acceptedChecks": ["make"]});
    assert_eq!(task["metadata"], limits);
    for wrong in [r#"{"timeout": "soon"}"#, r#"{"budgetUsd": -1}"#, r#"{"checks": [" "]}"#] {
        up.call("PATCH", &path, wrong).assert_problem(422, "invalid_argument");
    }
}

#[test]
fn cancelled_task_is_reopened_and_copied() {
    let stage = HttpProject::new();
    let id = stage.add(&["One", "--tag", "rust", "--body", "Do it."]);
    stage.ok(&["task", "cancel", &id]);
    let up = stage.up();
    let path = |deed: &str| format!("/v1/tasks/{id}/{deed}");
    let reopened = up.call("POST", &path("reopen"), r#"{"reason": "after all"}"#).json();
    assert_eq!(reopened["status"], "backlog");
    up.call("POST", &path("reopen"), "").assert_problem(409, "invalid_transition");
    let copy = up.call("POST", &path("copy"), r#"{"status": "ready"}"#).json();
    assert_eq!((&copy["status"], &copy["routing"]["tags"]), (&json!("ready"), &json!(["rust"])));
    assert_ne!(copy["id"], id);
    up.call("POST", &path("copy"), r#"{"status": "done"}"#).assert_problem(422, "invalid_argument");
}

#[test]
fn task_list_is_filtered_by_tags_and_openness() {
    let stage = HttpProject::new();
    let both = stage.add(&["Both", "--tag", "rust", "--tag", "web"]);
    let rust = stage.add(&["Rust", "--tag", "rust"]);
    stage.ok(&["task", "cancel", &rust]);
    let up = stage.up();
    assert_eq!(ids(&up.get("/v1/tasks?tag=rust").json()), [&*both, &rust]);
    assert_eq!(ids(&up.get("/v1/tasks?tag=rust&tag=web").json()), [&*both]);
    assert_eq!(ids(&up.get("/v1/tasks?open=true").json()), [&*both]);
    assert_eq!(ids(&up.get("/v1/tasks?open=false").json()), [&*both, &rust]);
    up.get("/v1/tasks?open=perhaps").assert_problem(422, "invalid_argument");
}

#[test]
fn event_pages_can_be_filtered_by_type() {
    let stage = HttpProject::new();
    let id = stage.add(&["One"]);
    for n in 0..30 {
        stage.add(&[&format!("Task {n}")]);
    }
    let up = stage.up();
    up.call("POST", &format!("/v1/tasks/{id}/move"), r#"{"to": "ready"}"#);
    let (mut seen, mut path) = (Vec::new(), "/v1/events?limit=7".to_owned());
    loop {
        let reply = up.get(&path);
        let events = reply.json();
        seen.extend(
            events
                .as_array()
                .expect("a list")
                .iter()
                .map(|e| e["eventId"].as_u64().expect("a number")),
        );
        let Some(link) = reply.header("link") else { break };
        path = link.trim_start_matches('<').split('>').next().expect("a link").to_owned();
    }
    assert_eq!(seen, (1..=32).collect::<Vec<u64>>());
    let moved = up.get("/v1/events?type=task.transitioned").json();
    assert_eq!(moved.as_array().map(Vec::len), Some(1), "{moved}");
    let of_task = up.get(&format!("/v1/events?task={id}&type=task")).json();
    assert_eq!(of_task.as_array().map(Vec::len), Some(2), "{of_task}");
    assert_eq!(up.get(&format!("/v1/tasks/{id}/events")).json(), of_task);
    assert_eq!(up.get("/v1/events?after=32").json(), json!([]));
    assert_eq!(up.get("/v1/events?after=9999").json(), json!([]));
}

#[test]
fn inbox_batch_settles_each_action_independently() {
    let stage = HttpProject::new();
    let up = stage.up();
    let ids: Vec<String> =
        (0..3).map(|n| stage.add(&[&format!("Task {n}"), "--status", "ready"])).collect();
    for id in &ids[..2] {
        for to in ["in-progress", "review"] {
            stage.ok(&["task", "move", id, to]);
        }
    }
    let body = json!({"actions": [
        {"action": "approve", "taskId": ids[0]},
        {"action": "reject", "taskId": ids[1], "reason": "again"},
        {"action": "approve", "taskId": ids[2]},
    ]});
    let reply = up.call("POST", "/v1/inbox", &body.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    let results: Vec<Value> = reply
        .json()
        .as_array()
        .expect("a list")
        .iter()
        .map(|outcome| outcome["answer"]["result"].clone())
        .collect();
    assert_eq!(results, ["applied", "applied", "rejected"]);
    assert_eq!(up.get("/v1/inbox").json(), json!([]));
    let wrong = json!({"actions": [{"action": "dance", "taskId": ids[0]}, {"action": "reject"}]});
    let wrong = up.call("POST", "/v1/inbox", &wrong.to_string());
    wrong.assert_problem(422, "invalid_argument");
    assert_eq!(wrong.json()["errors"].as_array().map(Vec::len), Some(2));
    up.call("POST", "/v1/inbox", r#"{"actions": []}"#).assert_problem(422, "invalid_argument");
}

#[test]
fn message_of_any_dialect_gets_same_answer_as_by_command() {
    let stage = HttpProject::new();
    let up = stage.up();
    let send = |text: &str| {
        let reply = up.call("POST", "/v1/messages", text);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    };
    let mission = "version: \"1\"\ntask_id: T042\nepic_id: E1\nprd_id: PRD-1\ninstruction: do it\n\
                   context:\n  epic_file: e.md\n  task_file: t.md\n";
    let made = send(mission);
    assert_eq!((&made["result"], &made["status"]), (&json!("applied"), &json!("ready")));
    assert_eq!(up.get("/v1/tasks/T042").json()["id"], made["taskId"], "found by its foreign id");
    let delegated = send(r#"{"taskId": "a-1", "delegatedToMode": "code", "objective": "Do it."}"#);
    assert_eq!(delegated["result"], "applied");
    assert_eq!(send("hello")["result"], "ignored");
    let refused = send(r#"{"protocol": "aof", "version": 2}"#);
    assert_eq!(
        (&refused["result"], &refused["reason"]),
        (&json!("rejected"), &json!("invalid_envelope"))
    );
    assert!(refused["errors"].as_array().is_some_and(|errors| errors.len() > 3), "{refused}");
    assert_eq!(stage.events("protocol.message.rejected").len(), 1);
}

#[test]
fn metrics_are_in_prometheus_format() {
    let told = "[[notify]]\nname = \"shown\"\non = [\"blocked\"]\ntarget = \"console\"\n";
    let stage = HttpProject::with_settings(told);
    let id = stage.add(&["One"]);
    let up = stage.up();
    up.call("POST", &format!("/v1/tasks/{id}/move"), r#"{"to": "blocked", "reason": "r"}"#);
    up.call("POST", "/v1/messages", r#"{"protocol": "aof"}"#);
    up.raw(b"GET /v1/tasks HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    stage.wait_for("access.refused", 1);
    let until = std::time::Instant::now() + crate::http::project::PATIENCE;
    let wanted = [
        "adjutant_tasks{status=\"blocked\"} 1\n",
        "adjutant_notifications_total{rule=\"shown\",result=\"sent\"} 1\n",
        "adjutant_messages_total{result=\"rejected\",reason=\"invalid_envelope\"} 1\n",
        "adjutant_http_refusals_total{reason=\"foreign_host\"} 1\n",
        "adjutant_events_total{type=\"access.refused\"} 1\n",
        "adjutant_stream_clients 0\n",
    ];
    loop {
        let text = up.get("/metrics").text();
        let number = |name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        let counted =
            number("adjutant_ticks_total") > 0 && number("adjutant_commit_seconds_count") > 2;
        if counted && wanted.iter().all(|line| text.contains(line)) {
            let page =
                std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md"));
            let page = page.expect("the page is there");
            for name in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
                let name = name.split(' ').next().expect("a name");
                assert!(page.contains(&format!("`{name}")), "{name} is not on the page");
            }
            return;
        }
        assert!(std::time::Instant::now() < until, "{text}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
