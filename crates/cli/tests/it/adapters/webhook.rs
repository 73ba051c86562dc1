//! Agents that are called by HTTP, well behaved and misbehaving.
//!
//! The agent is `tests/webhook/runner.py`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::commands::support::{CliProject, until};

const SECRET: &str = "a secret";

/// A runner process that is killed at the end of the test.
struct RunnerProcess(Child);

impl Drop for RunnerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a project whose agent is a runner that plays `part`, and a task for it.
fn project(part: &str, more: &str) -> (CliProject, String, RunnerProcess) {
    let project = CliProject::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhook/runner.py");
    let mut command = Command::new("python3");
    command.arg(script).args([part, SECRET]).current_dir(project.home());
    let runner = RunnerProcess(command.stdin(Stdio::null()).spawn().expect("python3"));
    let file = project.home().join("port");
    until("it listens", || file.is_file());
    let number = fs::read_to_string(file).expect("a port");
    configure(&project, &format!("http://127.0.0.1:{number}/hand/on"), more);
    let id = project.add(["Do it", "--status", "ready", "--agent", "far", "--review", "none"]);
    (project, id, runner)
}

fn configure(project: &CliProject, url: &str, more: &str) {
    let config = format!(
        "[scheduler]\nattempts_max = 1\ngrace = \"2s\"\n[server]\nlisten = \"127.0.0.1:0\"\n\
         [agents.far]\nkind = \"webhook\"\nurl = {url:?}\nsecret_env = \"FAR_SECRET\"\n{more}\n"
    );
    fs::write(project.path("adjutant.toml"), config).expect("written");
}

fn up(project: &CliProject) {
    let mut command = project.command(["up", "--until-idle"]);
    let ran = crate::commands::support::run(command.env("FAR_SECRET", SECRET));
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn posts(project: &CliProject) -> Vec<Value> {
    let text = fs::read_to_string(project.home().join("posts")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn told(project: &CliProject, id: &str) -> String {
    project.adjutant(["events"]).out + &project.adjutant(["logs", id]).out
}

/// Expects a failed attempt whose reason contains `words`.
fn comes_to_nothing(part: &str, more: &str, words: &str) -> (CliProject, RunnerProcess) {
    let (project, id, runner) = project(part, more);
    up(&project);
    let task = project.json(["task", "show", &id]);
    assert_eq!(task["status"], "deadletter", "{}", told(&project, &id));
    let reason = task["metadata"]["statusReason"].as_str().unwrap_or_default();
    assert!(reason.contains(words), "{words:?} is not in {reason:?}\n{}", told(&project, &id));
    assert!(!reason.contains("hand/on"), "an address may be a secret: {reason}");
    (project, runner)
}

#[test]
fn webhook_response_body_can_be_the_report() {
    let (project, id, _runner) = project("answer", "");
    up(&project);
    assert_eq!(project.status_of(&id), "done", "{}", told(&project, &id));
    let posts = posts(&project);
    assert_eq!(posts.len(), 1);
    assert_eq!((&posts[0]["id"], &posts[0]["signed"]), (&format!("{id}-1").into(), &true.into()));
    let order = &posts[0]["body"];
    assert_eq!((&order["type"], &order["agent"]), (&"work_order".into(), &"far".into()));
    let text = order["order"].as_str().unwrap_or_default();
    assert!(text.starts_with("# Work order: Do it\n") && text.contains("reportTo"), "{text}");
}

#[test]
fn webhook_report_can_come_later_with_heartbeats_until_then() {
    let (project, id, _runner) = project("later", "idle_timeout = \"3s\"");
    up(&project);
    assert_eq!(project.status_of(&id), "done", "{}", told(&project, &id));
    let kinds: Vec<Value> =
        posts(&project).iter().map(|post| post["body"]["type"].clone()).collect();
    assert_eq!(kinds, ["work_order"], "one that has reported is not told to stop");
}

#[test]
fn webhook_busy_runner_is_retried_under_same_id() {
    let (project, id, _runner) = project("busy", "");
    up(&project);
    assert_eq!(project.status_of(&id), "done", "{}", told(&project, &id));
    let ids: Vec<Value> = posts(&project).iter().map(|post| post["id"].clone()).collect();
    let same: Value = format!("{id}-1").into();
    assert_eq!(ids, [same.clone(), same.clone(), same]);
}

#[test]
fn webhook_http_errors_are_explained() {
    let _down = comes_to_nothing("down", "", "answered 500 (4 attempts)");
    let _away = comes_to_nothing("redirect", "", "answered 302: redirects are not followed");
    let _huge = comes_to_nothing("huge", "", "a reply larger than 1 MiB");
    let _closed = comes_to_nothing("closed", "", "answered 401: access denied");
    let _bad = comes_to_nothing("bad", "", "answered 422: no such agent here");
}

#[test]
fn webhook_silent_runner_is_stopped_and_gets_cancel() {
    let (project, _runner) = comes_to_nothing("silent", "idle_timeout = \"2s\"", "printed nothing");
    let kinds: Vec<Value> =
        posts(&project).iter().map(|post| post["body"]["type"].clone()).collect();
    assert_eq!(kinds, ["work_order", "cancel"]);
}

#[test]
fn webhook_missing_secret_and_refused_connection_differ() {
    let project = CliProject::new();
    configure(&project, "http://127.0.0.1:1/x", "timeout = \"2m\"");
    let id = project.add(["Do it", "--status", "ready", "--agent", "far"]);
    project.does(["up", "--until-idle"]);
    let task = project.json(["task", "show", &id]);
    let reason = task["metadata"]["statusReason"].as_str().unwrap_or_default();
    assert!(reason.contains("the environment variable FAR_SECRET is not set"), "{reason}");
    let again = project.add(["Do it", "--status", "ready", "--agent", "far"]);
    up(&project);
    let task = project.json(["task", "show", &again]);
    let reason = task["metadata"]["statusReason"].as_str().unwrap_or_default();
    assert!(reason.contains("cannot reach http://127.0.0.1:1/…"), "{reason}");
}

#[test]
fn webhook_invalid_url_is_refused_without_being_shown() {
    let project = CliProject::new();
    for (url, words) in [("ftp://x/secret", "must begin with https://"), ("", "is not an address")]
    {
        configure(&project, url, "");
        let (code, error) = project.error(["agents"]);
        let said = error.to_string();
        assert!(code != 0 && said.contains(words) && !said.contains("secret/"), "{said}");
    }
}
