//! Agents elsewhere, called by HTTP: those that do what they should, and the others.
//!
//! The agent is `tests/webhook/runner.py`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::commands::support::{Project, until};

const SECRET: &str = "a secret";

/// A runner that ends with the test.
struct Runner(Child);

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a project whose agent is a runner that plays a part, and a task for it.
fn project(part: &str, more: &str) -> (Project, String, Runner) {
    let project = Project::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhook/runner.py");
    let mut command = Command::new("python3");
    command.arg(script).args([part, SECRET]).current_dir(project.home());
    let runner = Runner(command.stdin(Stdio::null()).spawn().expect("python3"));
    let file = project.home().join("port");
    until("it listens", || file.is_file());
    let number = fs::read_to_string(file).expect("a port");
    configure(&project, &format!("http://127.0.0.1:{number}/hand/on"), more);
    let id = project.add(["Do it", "--status", "ready", "--agent", "far", "--review", "none"]);
    (project, id, runner)
}

fn configure(project: &Project, url: &str, more: &str) {
    let config = format!(
        "[scheduler]\nattempts_max = 1\ngrace = \"2s\"\n[server]\nlisten = \"127.0.0.1:0\"\n\
         [agents.far]\nkind = \"webhook\"\nurl = {url:?}\nsecret_env = \"FAR_SECRET\"\n{more}\n"
    );
    fs::write(project.path("adjutant.toml"), config).expect("written");
}

fn up(project: &Project) {
    let mut command = project.command(["up", "--until-idle"]);
    let ran = crate::commands::support::run(command.env("FAR_SECRET", SECRET));
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn posts(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(project.home().join("posts")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn told(project: &Project, id: &str) -> String {
    project.adjutant(["events"]).out + &project.adjutant(["logs", id]).out
}

/// Expects an attempt without a result, in these words.
fn comes_to_nothing(part: &str, more: &str, words: &str) -> (Project, Runner) {
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
fn a_report_may_be_the_answer() {
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
fn a_report_may_come_later_and_signs_of_life_until_then() {
    let (project, id, _runner) = project("later", "idle_timeout = \"3s\"");
    up(&project);
    assert_eq!(project.status_of(&id), "done", "{}", told(&project, &id));
    let kinds: Vec<Value> =
        posts(&project).iter().map(|post| post["body"]["type"].clone()).collect();
    assert_eq!(kinds, ["work_order"], "one that has reported is not told to stop");
}

#[test]
fn one_that_is_busy_is_tried_again_under_the_same_id() {
    let (project, id, _runner) = project("busy", "");
    up(&project);
    assert_eq!(project.status_of(&id), "done", "{}", told(&project, &id));
    let ids: Vec<Value> = posts(&project).iter().map(|post| post["id"].clone()).collect();
    let same: Value = format!("{id}-1").into();
    assert_eq!(ids, [same.clone(), same.clone(), same]);
}

#[test]
fn what_goes_wrong_is_told_in_words() {
    let _down = comes_to_nothing("down", "", "answers 500; tried 4 times");
    let _away =
        comes_to_nothing("redirect", "", "answers 302: it is elsewhere, which is not followed");
    let _huge = comes_to_nothing("huge", "", "an answer of more than 1 MiB");
    let _closed = comes_to_nothing("closed", "", "answers 401: it does not let us in");
    let _bad = comes_to_nothing("bad", "", "answers 422: no such agent here");
}

#[test]
fn one_that_falls_silent_is_stopped_and_told_so() {
    let (project, _runner) = comes_to_nothing("silent", "idle_timeout = \"2s\"", "said nothing");
    let kinds: Vec<Value> =
        posts(&project).iter().map(|post| post["body"]["type"].clone()).collect();
    assert_eq!(kinds, ["work_order", "cancel"]);
}

#[test]
fn nobody_there_and_no_secret_are_told_apart() {
    let project = Project::new();
    configure(&project, "http://127.0.0.1:1/x", "timeout = \"2m\"");
    let id = project.add(["Do it", "--status", "ready", "--agent", "far"]);
    project.does(["up", "--until-idle"]);
    let task = project.json(["task", "show", &id]);
    let reason = task["metadata"]["statusReason"].as_str().unwrap_or_default();
    assert!(reason.contains("there is no variable FAR_SECRET in the environment"), "{reason}");
    let again = project.add(["Do it", "--status", "ready", "--agent", "far"]);
    up(&project);
    let task = project.json(["task", "show", &again]);
    let reason = task["metadata"]["statusReason"].as_str().unwrap_or_default();
    assert!(reason.contains("cannot reach http://127.0.0.1:1/…"), "{reason}");
}

#[test]
fn an_address_that_is_none_is_named_without_being_shown() {
    let project = Project::new();
    for (url, words) in [("ftp://x/secret", "must begin with https://"), ("", "is no address")] {
        configure(&project, url, "");
        let (code, error) = project.error(["agents"]);
        let said = error.to_string();
        assert!(code != 0 && said.contains(words) && !said.contains("secret/"), "{said}");
    }
}
