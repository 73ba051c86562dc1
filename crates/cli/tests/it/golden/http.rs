//! Golden files of the answers of every HTTP route, and of the problems that refused calls get.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use adjutant_test_support::golden::GoldenFolder;
use regex::Regex;
use serde_json::Value;

use super::cases::messages::completion;
use super::markup::structure;
use super::project::{GoldenProject, with_ids};
use super::refusals::HTTP_REASONS;
use super::server::{GoldenServer, HttpCall};
use super::transcript::{OutputForm, RecordedCall, indented};
use crate::http::project::HttpReply;

/// Records calls to one server, grouped by file.
pub(super) struct HttpRecorder<'a> {
    project: &'a GoldenProject,
    server: &'a GoldenServer<'a>,
    /// The routes in the `OpenAPI` document, such as `GET /v1/tasks/{id}`.
    routes: Vec<String>,
    recorded: BTreeMap<String, Vec<String>>,
}

impl<'a> HttpRecorder<'a> {
    fn new(project: &'a GoldenProject, server: &'a GoldenServer<'a>) -> Self {
        let document = server.get("/v1/openapi.json").json();
        let paths = document["paths"].as_object().expect("paths").iter();
        let routes = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        });
        Self { project, server, routes: routes.collect(), recorded: BTreeMap::new() }
    }

    /// Calls a route as the operator, and records the call under that route.
    fn operator(&mut self, note: &str, method: &str, path: &str, body: &str) {
        self.call(note, method, path, vec![self.server.bearer()], body);
    }

    fn call(
        &mut self,
        note: &str,
        method: &str,
        path: &str,
        headers: Vec<(&str, String)>,
        body: &str,
    ) {
        let file = self.route_of(method, &with_ids(path));
        self.call_into(&file, note, method, path, headers, body);
    }

    /// Calls a route, and records the call in `file`.
    fn call_into(
        &mut self,
        file: &str,
        note: &str,
        method: &str,
        path: &str,
        headers: Vec<(&str, String)>,
        body: &str,
    ) {
        let (path, body) = (with_ids(path), with_ids(body));
        let call = HttpCall { method, path: &path, headers, body: &body };
        let text = recorded(note, &call, &self.server.call(&call));
        self.add(file, &text);
    }

    fn add(&mut self, file: &str, text: &str) {
        let text = self.project.masked(text);
        self.recorded.entry(file.to_owned()).or_default().push(text);
    }

    /// Returns the route template that a call matches.
    fn route_of(&self, method: &str, path: &str) -> String {
        let path = path.split('?').next().unwrap_or_default();
        let fits = |route: &&String| {
            let (own, template) = route.split_once(' ').expect("a method and a path");
            let (parts, named) = (path.split('/'), template.split('/'));
            own == method
                && parts.clone().count() == named.clone().count()
                && parts.zip(named).all(|(part, name)| part == name || name.starts_with('{'))
        };
        // `/v1/events/stream` also matches a task route: prefer the template with fewer parameters.
        let found = self.routes.iter().filter(fits).min_by_key(|route| route.matches('{').count());
        found.unwrap_or_else(|| panic!("{method} {path} is in no OpenAPI document")).clone()
    }

    fn check(self, folder: &str) {
        for route in &self.routes {
            assert!(self.recorded.contains_key(route), "{route} has no call in golden/http.rs");
        }
        let mut folder = GoldenFolder::new(folder);
        for (route, texts) in self.recorded {
            let file = route.to_lowercase().replace(['{', '}'], "").replace([' ', '/'], "-");
            folder.add(format!("{}.txt", file.replace("--", "-")), texts.join("\n"));
        }
        folder.check();
    }
}

/// Formats a call with its answer. Headers that identify the caller are left out.
fn recorded(note: &str, call: &HttpCall<'_>, reply: &HttpReply) -> String {
    let mut text = format!("# {note}\n> {} {}\n", call.method, call.path);
    let shown = call.headers.iter().filter(|(name, _)| !["Authorization", "Cookie"].contains(name));
    for (name, value) in shown {
        let _ = writeln!(text, "> {name}: {value}");
    }
    if !call.body.is_empty() && call.body.len() < 10_000 {
        let _ = writeln!(text, ">\n> {}", call.body.trim_end().replace('\n', "\n> "));
    }
    let _ = writeln!(text, "{}", reply.status);
    for name in ["content-type", "location", "link", "allow", "retry-after"] {
        if let Some(value) = reply.header(name) {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    let mut body = reply.text();
    if reply.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
        body = structure(&body);
    }
    let compact = format!("{body}\n");
    let shown = indented(&compact);
    if !body.is_empty() {
        let _ = write!(text, "\n{}", if shown == compact { &body } else { &shown });
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

const SETTINGS: &str = "\
[scheduler]
concurrency = 1

[agents.actor]
kind = \"script\"
script = \"actor.yaml\"
";

/// Creates a project with several tasks: one has been worked on, another has had two runs.
fn filled() -> GoldenProject {
    let project = GoldenProject::with_settings(SETTINGS);
    let steps = "steps: [{print: hello there}, {adjutant: [report, done, --notes, All of it.]}]\n";
    project.write("actor.yaml", steps);
    project.ok("task add 'Write the parser' --agent actor --status ready --body 'In *full*.'");
    project.ok("up --until-idle");
    project.ok("task add 'Test the parser' --agent swe --status ready");
    for _ in 0..2 {
        project.fetch_task("swe");
        project.ok("task move {2} ready");
    }
    let late = RecordedCall::new("", "report done --notes 'All of it.'");
    late.with_variables(project.run_environment("{2}", "swe", 1)).run(&project, OutputForm::Json);
    project.ok("task add 'Held by a run' --agent swe --priority critical --status ready");
    project.fetch_task("swe");
    project
}

#[test]
fn openapi_document_served_matches_printed_one() {
    let project = GoldenProject::new();
    let server = GoldenServer::start(&project);
    let answer = server.get("/v1/openapi.json").text();
    let value: Value = serde_json::from_str(&answer).expect("JSON");
    // Comparing the printed text also compares the order of the keys.
    assert_eq!(value.to_string(), answer);
    assert!(format!("{value:#}\n") == project.ok("schema openapi"));
}

#[test]
fn http_answers_match_golden_files() {
    let project = filled();
    let server = GoldenServer::start(&project);
    let mut recorder = HttpRecorder::new(&project, &server);
    record_reads(&mut recorder);
    record_changes(&mut recorder);
    record_messages(&mut recorder);
    record_sign_in(&mut recorder);
    record_problems(&mut recorder);
    record_stories(&mut recorder);
    record_metrics(&mut recorder);
    recorder.check("http");
}

fn record_reads(recorder: &mut HttpRecorder<'_>) {
    for (note, path) in [
        ("alive", "/healthz"),
        ("ready", "/readyz"),
        ("the daemon", "/v1/status"),
        ("the agents", "/v1/agents"),
        ("the runs", "/v1/runs"),
        ("the inbox", "/v1/inbox"),
        ("no stories", "/v1/stories"),
        ("every task", "/v1/tasks"),
        ("a page of tasks", "/v1/tasks?status=ready&status=review&limit=1"),
        ("parameters that make no sense", "/v1/tasks?status=odd&limit=0&colour=red"),
        ("a task", "/v1/tasks/{1}"),
        ("a task that is not there", "/v1/tasks/{40}"),
        ("a task in review", "/v1/tasks/{1}/why"),
        ("the runs of a task", "/v1/tasks/{1}/runs"),
        ("no runs", "/v1/tasks/{3}/runs"),
        ("a task without changes", "/v1/tasks/{3}/changes"),
        ("what a run printed", "/v1/tasks/{1}/log"),
        ("no run printed anything", "/v1/tasks/{3}/log"),
        ("the events of a task", "/v1/tasks/{1}/events"),
        ("a page of events", "/v1/events?limit=2"),
        ("events of a type", "/v1/events?type=task.created"),
        ("a number that is none", "/v1/events?after=x"),
    ] {
        recorder.operator(note, "GET", path, "");
    }
    let range = vec![recorder.server.bearer(), ("Range", "bytes=0-4".to_owned())];
    recorder.call("a part of what a run printed", "GET", "/v1/tasks/{1}/log", range, "");
    let path = "/v1/events/stream?type=task.created&after=0";
    let headers = vec![recorder.server.bearer()];
    let call = HttpCall { method: "GET", path, headers, body: "" };
    let reply = recorder.server.call_until(&call, "\n\n\r\n", 2);
    recorder.add("GET /v1/events/stream", &recorded("events as they come", &call, &reply));
}

fn record_changes(recorder: &mut HttpRecorder<'_>) {
    for (note, method, path, body) in [
        (
            "every field",
            "POST",
            "/v1/tasks",
            r#"{"title":"Paint","body":"Blue.","priority":"high","tags":["art"],"resource":"brush","dueBy":"2031-01-01T00:00:00Z","agent":"painter","checks":["true"],"parentId":"{1}","dependsOn":["{1}"],"reviewRequired":false}"#,
        ),
        ("fields that make no sense", "POST", "/v1/tasks", r#"{"titel":"x","priority":7}"#),
        ("no title", "POST", "/v1/tasks", "{}"),
        ("no JSON", "POST", "/v1/tasks", "{"),
        (
            "a dependency that is not there",
            "POST",
            "/v1/tasks",
            r#"{"title":"x","dependsOn":["{40}"]}"#,
        ),
        ("another title", "PATCH", "/v1/tasks/{4}", r#"{"title":"Paint it","dueBy":null}"#),
        ("a task that is not there", "PATCH", "/v1/tasks/{40}", r#"{"title":"x"}"#),
        ("to ready", "POST", "/v1/tasks/{4}/move", r#"{"to":"ready"}"#),
        ("not possible", "POST", "/v1/tasks/{4}/move", r#"{"to":"done"}"#),
        ("to blocked", "POST", "/v1/tasks/{4}/move", r#"{"to":"blocked","reason":"Which blue?"}"#),
        ("an answer", "POST", "/v1/tasks/{4}/answer", r#"{"text":"Dark blue."}"#),
        ("nothing was asked", "POST", "/v1/tasks/{4}/answer", r#"{"text":"Dark blue."}"#),
        ("a task that is not stuck", "POST", "/v1/tasks/{4}/retry", ""),
        ("not in review", "POST", "/v1/tasks/{4}/approve", ""),
        ("other checks", "POST", "/v1/tasks/{4}/checks/accept", r#"{"checks":["make"]}"#),
        ("nothing to accept", "POST", "/v1/tasks/{4}/checks/accept", "{}"),
        ("no such report", "POST", "/v1/tasks/{2}/salvage/1-message.json/apply", ""),
        ("given up", "POST", "/v1/tasks/{4}/cancel", r#"{"reason":"no paint"}"#),
        ("given up already", "POST", "/v1/tasks/{4}/cancel", ""),
        ("reopened", "POST", "/v1/tasks/{4}/reopen", r#"{"reason":"new paint"}"#),
        ("not cancelled", "POST", "/v1/tasks/{4}/reopen", ""),
        ("given up again", "POST", "/v1/tasks/{4}/cancel", ""),
        (
            "one that is done and one that is refused",
            "POST",
            "/v1/inbox",
            r#"{"actions":[{"action":"cancel","taskId":"{3}"},{"action":"approve","taskId":"{3}"}]}"#,
        ),
        ("no actions", "POST", "/v1/inbox", "{}"),
    ] {
        recorder.operator(note, method, path, body);
    }
    let inbox = recorder.project.json("inbox").to_string();
    let late = inbox.split("inbox apply ").nth(1).and_then(|rest| rest.split('"').next());
    let late = late.and_then(|rest| rest.split(' ').nth(1)).expect("a late report");
    let path = format!("/v1/tasks/{{2}}/salvage/{late}/apply");
    recorder.operator("a late report", "POST", &path, "");
    recorder.operator("work in review", "POST", "/v1/tasks/{2}/approve", r#"{"note":"Fine."}"#);
    let key = vec![recorder.server.bearer(), ("Idempotency-Key", "one".to_owned())];
    let body = r#"{"title":"Once"}"#;
    recorder.call("with a key", "POST", "/v1/tasks", key.clone(), body);
    recorder.call("the same call again", "POST", "/v1/tasks", key.clone(), body);
    recorder.call("another call with the key", "POST", "/v1/tasks", key, r#"{"title":"Twice"}"#);
}

fn record_messages(recorder: &mut HttpRecorder<'_>) {
    let project = recorder.project;
    project.ok("task add 'Fetched' --agent swe --priority critical --status ready");
    project.fetch_task("swe");
    let token = |fence: u64| {
        let token = project.run_environment("{6}", "swe", fence)[3].1.clone();
        vec![("Authorization", format!("Bearer {token}"))]
    };
    recorder.call("a heartbeat", "POST", "/v1/tasks/{6}/beat", token(1), "");
    recorder.call("a heartbeat of no run", "POST", "/v1/tasks/{6}/beat", token(7), "");
    recorder.call("a run and its task", "GET", "/v1/tasks/{6}", token(1), "");
    let report = completion("{6}", "swe", "done");
    recorder.call("a report of a run", "POST", "/v1/messages", token(1), &report);
    let lines = format!("{report}\nhello\n{}", completion("{40}", "swe", "done"));
    recorder.operator("three messages", "POST", "/v1/messages", &lines);
    recorder.operator("no message", "POST", "/v1/messages", "hello");
    recorder.operator("sent back", "POST", "/v1/tasks/{6}/reject", r#"{"reason":"Shorter."}"#);
    recorder.operator("to blocked", "POST", "/v1/tasks/{6}/move", r#"{"to":"blocked"}"#);
    recorder.operator("a blocked task", "POST", "/v1/tasks/{6}/retry", "");
}

fn record_stories(recorder: &mut HttpRecorder<'_>) {
    let story = |deed: &str| format!("/v1/stories/US-005{deed}");
    recorder.operator("a new story", "POST", "/v1/stories", r#"{"story":"US-005"}"#);
    recorder.operator("a story that was started", "POST", "/v1/stories", r#"{"story":"US-005"}"#);
    recorder.operator("no story", "POST", "/v1/stories", "{}");
    for (note, method, deed, body) in [
        ("a story", "GET", "", ""),
        ("the first step", "POST", "/next", r#"{"note":"mind the dates"}"#),
        ("what the executor is told", "GET", "/prompt", ""),
        ("nothing was left", "POST", "/hook", "{}"),
        ("an executor that broke", "POST", "/report-error", r#"{"error":"it fell over"}"#),
        ("back to a step", "POST", "/rollback", r#"{"step":"contract"}"#),
        ("nothing waits for a person", "POST", "/approve", "{}"),
        ("an unknown reason", "POST", "/reject", r#"{"reason":"because"}"#),
        ("a story that is not done", "POST", "/reopen", "{}"),
        ("an unknown agent", "POST", "/auto", r#"{"agent":"unknown"}"#),
        ("by hand", "POST", "/auto", r#"{"off":true}"#),
        ("the next step", "POST", "/next", "{}"),
    ] {
        recorder.operator(note, method, &story(deed), body);
    }
    recorder.operator("a story that is not there", "GET", "/v1/stories/US-404", "");
    let hand_over =
        "---\nstory: US-005\nstep: contract\nattempt: 1\nstatus: pass\nreason: null\n---\n";
    recorder.project.write("docs/api/openapi.yaml", "openapi: 3.1.0\n");
    recorder.project.write(".ai/HANDOFF.md", hand_over);
    for (note, deed, body) in [
        ("a step that passed", "/hook", "{}"),
        ("a person is asked", "/next", "{}"),
        ("a person says no", "/reject", r#"{"reason":"scope_warning","note":"too much"}"#),
    ] {
        recorder.operator(note, "POST", &story(deed), body);
    }
    recorder.operator("stories", "GET", "/v1/stories", "");
    recorder.operator("a copy", "POST", "/v1/tasks/{4}/copy", r#"{"status":"ready"}"#);
    recorder.operator("an unknown status", "POST", "/v1/tasks/{4}/copy", r#"{"status":"done"}"#);
}

/// The golden file for calls that match no route.
const PROBLEMS: &str = "problems";

fn record_problems(recorder: &mut HttpRecorder<'_>) {
    let bearer = || vec![recorder.server.bearer()];
    let (operator, wrong) = (bearer(), vec![("Authorization", "Bearer made-up".to_owned())]);
    let mut foreign_host = bearer();
    foreign_host.push(("Host", "evil.example".to_owned()));
    let mut foreign_origin = bearer();
    foreign_origin.push(("Origin", "http://evil.example".to_owned()));
    let cookie = vec![("Cookie", recorder.server.sign_in())];
    recorder.project.ok("task cancel {6}");
    recorder.project.ok("task add 'Of a run' --agent swe --priority critical --status ready");
    recorder.project.fetch_task("swe");
    let run = recorder.project.run_environment("{7}", "swe", 1)[3].1.clone();
    let run =
        || vec![("Authorization", format!("Bearer {run}")), ("Adjutant-Task", with_ids("{7}"))];
    let large = "x".repeat((1 << 20) + 1);
    for (note, method, path, headers, body) in [
        ("nothing at this path", "GET", "/v2/tasks", operator.clone(), ""),
        ("not by this method", "DELETE", "/v1/tasks", operator.clone(), ""),
        ("no token", "GET", "/v1/tasks", vec![], ""),
        ("a token that was never given out", "GET", "/v1/tasks", wrong.clone(), ""),
        ("another server's name", "GET", "/v1/tasks", foreign_host, ""),
        ("another server's page", "POST", "/v1/tasks", foreign_origin, "{}"),
        ("a browser without proof", "POST", "/v1/tasks", cookie, "{}"),
        ("a run and another task", "GET", "/v1/tasks/{1}", run(), ""),
        ("a run and the operator's business", "GET", "/v1/inbox", run(), ""),
        ("too large", "POST", "/v1/messages", operator, &large),
    ] {
        recorder.call_into(PROBLEMS, note, method, path, headers, body);
    }
    let path = "/v1/tasks";
    let call = HttpCall { method: "GET", path, headers: wrong, body: "" };
    let often = (0..200).map(|_| recorder.server.call(&call)).find(|reply| reply.status == 429);
    let often =
        recorded("too many wrong tokens", &call, &often.expect("it is refused at some time"));
    recorder.add(PROBLEMS, &often);
    let problems = recorder.recorded[PROBLEMS].join("");
    for reason in HTTP_REASONS {
        let code = format!("\"code\": \"{reason}\"");
        assert!(problems.contains(&code), "no call is refused with {reason}");
    }
}

fn record_sign_in(recorder: &mut HttpRecorder<'_>) {
    let form = || vec![("Content-Type", "application/x-www-form-urlencoded".to_owned())];
    let token = recorder.project.read(".adjutant/operator-token").trim().to_owned();
    let token = format!("token={token}");
    for (note, method, path, headers, body) in [
        ("a page without a cookie", "GET", "/inbox", vec![], ""),
        ("a code that was never given out", "GET", "/login?code=made-up", vec![], ""),
        ("a wrong token", "POST", "/login", form(), "token=made-up"),
        ("the token", "POST", "/login", form(), &*token),
        ("without a cookie", "POST", "/logout", form(), ""),
    ] {
        recorder.call_into("sign-in", note, method, path, headers, body);
    }
    let file = recorder.project.read(".adjutant/journal/http-sessions");
    let records: Vec<Value> = serde_json::from_str(&file).expect("a list of sessions");
    let last = records.last().expect("the session of the token").to_string();
    let expires = Regex::new(r#""expires":\d{10}\b"#).expect("a good expression");
    let last = expires.replace(&last, r#""expires":<SECONDS-SINCE-1970>"#);
    recorder.add("sign-in", &format!("# a session in journal/http-sessions\n{last}\n"));
}

/// Records the names of the metrics. Their values differ between test runs.
fn record_metrics(recorder: &mut HttpRecorder<'_>) {
    let metrics = recorder.server.get("/metrics").text();
    let described = metrics.lines().filter(|line| line.starts_with('#'));
    let text: String = described.flat_map(|line| [line, "\n"]).collect();
    recorder.add("metrics", &text);
}
