//! Agents of the Agent Client Protocol, well behaved and misbehaving.
//!
//! The agent is `tests/acp/agent.py`, which uses the protocol's official Python package.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::commands::support::{CliProject, run, until};

const VERSION: &str = "0.12.1";

fn packages() -> PathBuf {
    let provided = format!("../../target/tools/acp-python-{VERSION}");
    let provided = Path::new(env!("CARGO_MANIFEST_DIR")).join(provided);
    let named = std::env::var_os("ADJUTANT_ACP_PYTHON").map(PathBuf::from);
    let folder = named.unwrap_or(provided);
    assert!(folder.is_dir(), "{} is missing: `cargo xtask tools` brings it", folder.display());
    folder
}

/// Makes a project with one agent that plays `part`, and a task for it.
fn project(part: &str, more: &str) -> (CliProject, String) {
    let project = CliProject::new();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/agent.py");
    let config = format!(
        "[scheduler]\nattempts_max = 1\ngrace = \"4s\"\nbackoff = \"1s\"\n\
         [agents.friend]\nkind = \"acp\"\nsandbox = \"none\"\ncommand = [\"python3\", \"{}\", {part:?}]\n\
         env = {{ PYTHONPATH = \"{}\" }}\n{more}\n",
        agent.display(),
        packages().display()
    );
    fs::write(project.path("adjutant.toml"), config).expect("written");
    let id = project.add(["Make it", "--status", "ready", "--agent", "friend", "--review", "none"]);
    (project, id)
}

fn told(project: &CliProject, id: &str) -> String {
    project.adjutant(["events"]).out + &project.adjutant(["logs", id]).out
}

/// Runs the daemon until it is idle, and returns the status of the task and the reason for it.
fn up(project: &CliProject, id: &str) -> (String, String) {
    project.does(["up", "--until-idle"]);
    let task = project.json(["task", "show", id]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert!(is_gone(project), "the agent is left: {}", told(project, id));
    (text(&task["status"]), text(&task["metadata"]["statusReason"]))
}

fn is_gone(project: &CliProject) -> bool {
    let Ok(pid) = fs::read_to_string(project.home().join("pid")) else { return true };
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw).expect("a number of a process");
    test_kill_process(pid).is_err()
}

fn left(project: &CliProject, name: &str) -> String {
    fs::read_to_string(project.home().join(name)).unwrap_or_default()
}

/// Expects a failed attempt whose reason contains `words`.
fn comes_to_nothing(part: &str, more: &str, words: &str) -> CliProject {
    let (project, id) = project(part, more);
    let (status, reason) = up(&project, &id);
    assert_eq!(status, "deadletter", "{}", told(&project, &id));
    assert!(reason.contains(words), "{words:?} is not in {reason:?}\n{}", told(&project, &id));
    project
}

#[test]
fn acp_agent_reports_through_our_mcp_server() {
    let (project, id) = project("work", "permissions = [{ answer = \"allow\" }]");
    let (status, _) = up(&project, &id);
    assert_eq!(status, "done", "{}", told(&project, &id));
    assert!(project.home().join("made.txt").is_file());
    assert_eq!(left(&project, "outcome"), "selected:yes", "the narrower choice");
    let offered = left(&project, "offered");
    assert!(!offered.contains("fs") && !offered.contains("terminal"), "{offered}");
    assert!(left(&project, "prompt").starts_with("# Work order: Make it\n"));
    let log = project.does(["logs", &id]);
    assert!(log.contains("{\"type\":\"message\",\"text\":\"I will do it.\"}"), "{log}");
    assert!(log.contains("\"answer\":\"allowed\",\"choice\":\"yes\""), "{log}");
    let usage = &project.json(["task", "show", &id])["metadata"]["usage"][0];
    let used = |key: &str| usage[key].as_u64().unwrap_or_default();
    let all = (used("inputTokens"), used("outputTokens"), used("cachedTokens"));
    assert_eq!(all, (1_200, 50, 1_000), "{usage}");
}

#[test]
fn permission_without_rule_is_asked_while_run_waits() {
    let (project, id) = project("work", "idle_timeout = \"4s\"");
    project.json(["up", "--detach"]);
    let asked = || project.json(["inbox"]);
    until("it asks", || asked()[0]["kind"] == "permission");
    let since = Instant::now();
    let item = asked()[0].clone();
    assert_eq!(
        item["text"],
        "Make it: friend asks for permission: execute: Terminal: touch made.txt"
    );
    let actions = ["answer ID 1:allow", "answer ID 1:deny", "answer ID 1:ever", "task cancel ID"];
    assert_eq!(item["actions"], json!(actions.map(|action| action.replace("ID", &id))));
    let (code, error) = project.error(["answer", &id, "2:allow"]);
    assert_eq!(code, 1, "{error}");
    // A person may take longer to answer than `idle_timeout` allows an agent.
    until("the idle time-out is over", || since.elapsed() > Duration::from_millis(5_500));
    assert_eq!(project.status_of(&id), "in-progress", "{}", told(&project, &id));
    // The next daemon performs the effects that the first one left pending.
    project.does(["down"]);
    project.does(["answer", &id, "1:ever"]);
    assert_eq!(left(&project, "outcome"), "", "nobody is there to tell it");
    project.json(["up", "--detach"]);
    until("it is done", || project.status_of(&id) == "done");
    assert_eq!(left(&project, "outcome"), "selected:ever");
    let events = project.does(["events"]);
    assert!(events.contains("run.asked") && events.contains("run.answered"), "{events}");
    project.does(["down"]);
}

#[test]
fn approve_and_reject_answer_permission_request() {
    for (command, outcome) in
        [(vec!["approve"], "selected:yes"), (vec!["reject", "--reason", "no"], "selected:no")]
    {
        let (project, id) = project("work", "");
        project.json(["up", "--detach"]);
        until("it asks", || project.json(["inbox"])[0]["kind"] == "permission");
        let (first, rest) = command.split_first().expect("a command");
        project.does([*first, &id].into_iter().chain(rest.iter().copied()));
        until("it is done", || project.status_of(&id) == "done");
        assert_eq!(left(&project, "outcome"), outcome);
        project.does(["down"]);
    }
}

#[test]
fn permission_rule_denies_by_tool_and_title() {
    let rules = "permissions = [{ tool = \"execute\", title = \"touch *\", answer = \"deny\" }, \
                 { answer = \"allow\" }]";
    let (project, id) = project("work", rules);
    assert_eq!(up(&project, &id).0, "done", "{}", told(&project, &id));
    assert_eq!(left(&project, "outcome"), "selected:no");
    assert!(!project.home().join("made.txt").exists());
}

/// Kimi says only "Bash" and writes the command into a text; `OpenHands` asks about the calls that it
/// has announced.
#[test]
fn permission_rule_denies_each_command_wherever_the_agent_names_it() {
    let rules = "permissions = [{ command = \"touch *\", answer = \"deny\" }, \
                 { answer = \"allow\" }]";
    for part in ["kimi", "announced"] {
        let (project, id) = project(part, rules);
        assert_eq!(up(&project, &id).0, "done", "{}", told(&project, &id));
        assert_eq!(left(&project, "outcome"), "selected:no", "{part}");
        assert!(!project.home().join("made.txt").exists(), "{part}");
    }
}

#[test]
fn permission_request_that_shows_nothing_is_asked_although_everything_is_allowed() {
    for (rule, is_asked) in
        [("{ answer = \"allow\" }", true), ("{ answer = \"allow\", unseen = true }", false)]
    {
        let (project, id) = project("hidden", &format!("permissions = [{rule}]"));
        project.json(["up", "--detach"]);
        if is_asked {
            until("it asks", || project.json(["inbox"])[0]["kind"] == "permission");
            let text = project.json(["inbox"])[0]["text"].clone();
            assert_eq!(text, "Make it: friend asks for permission: other: Confirm Agent Actions");
            project.does(["approve", &id]);
        }
        until("it is done", || project.status_of(&id) == "done");
        assert_eq!(left(&project, "outcome"), "selected:yes");
        project.does(["down"]);
    }
}

#[test]
fn permission_for_our_own_tool_is_granted_although_everything_is_denied() {
    let (project, id) = project("own-tool", "permissions = [{ answer = \"deny\" }]");
    assert_eq!(up(&project, &id).0, "done", "{}", told(&project, &id));
    assert_eq!(left(&project, "outcome"), "selected:yes");
}

/// A request may hide anything, also while a call of one of our own tools is announced.
#[test]
fn permission_request_that_shows_nothing_is_not_taken_for_our_own_tool() {
    let (project, id) = project("forged", "permissions = [{ answer = \"deny\" }]");
    assert_eq!(up(&project, &id).0, "done", "{}", told(&project, &id));
    assert_eq!(left(&project, "outcome"), "selected:no");
}

#[test]
fn cancelled_run_answers_permission_request_as_cancelled() {
    let (project, id) = project("work", "");
    project.json(["up", "--detach"]);
    until("it asks", || project.json(["inbox"])[0]["kind"] == "permission");
    project.does(["task", "cancel", &id]);
    until("it is over", || project.does(["events"]).contains("run.exited"));
    assert_eq!(left(&project, "outcome"), "cancelled:");
    assert!(is_gone(&project));
    assert_eq!(project.json(["inbox"]), json!([]));
    project.does(["down"]);
}

#[test]
fn stopped_run_cancels_turn_first() {
    let (project, id) = project("sleep", "");
    project.json(["up", "--detach"]);
    until("it has begun", || project.home().join("begun").is_file());
    project.does(["task", "cancel", &id]);
    until("it is over", || project.does(["events"]).contains("run.exited"));
    assert!(project.home().join("cancelled").is_file(), "{}", told(&project, &id));
    assert!(is_gone(&project));
    project.does(["down"]);
}

/// Kills the agent in its first attempt, and waits until a later attempt finishes the task.
fn killed_once(part: &str, attempts: u32) -> (CliProject, String) {
    let (project, id) = project(part, "permissions = [{ answer = \"allow\" }]");
    let config = project.path("adjutant.toml");
    let text = fs::read_to_string(&config).expect("read");
    let text = text.replace("max = 1", &format!("max = {attempts}"));
    fs::write(&config, text).expect("written");
    project.json(["up", "--detach"]);
    until("it has begun", || project.home().join("begun").is_file());
    let told_of = project.path(&format!("runs/{id}/attempts/1/told.json"));
    until("it told", || fs::read_to_string(&told_of).is_ok_and(|told| told.contains("session-1")));
    let pid = left(&project, "pid").parse().ok().and_then(Pid::from_raw).expect("a number");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    until("it is over", || ["done", "deadletter"].contains(&project.status_of(&id).as_str()));
    project.does(["down"]);
    assert_eq!(project.status_of(&id), "done", "{}", told(&project, &id));
    (project, id)
}

#[test]
fn session_of_killed_agent_is_resumed() {
    let (project, id) = killed_once("killed", 2);
    assert_eq!(left(&project, "loaded"), "session-1");
    assert!(
        left(&project, "prompt").starts_with("You were stopped"),
        "{}",
        left(&project, "prompt")
    );
    let log = project.does(["logs", &id]);
    assert!(!log.contains("This was said before."), "{log}");
}

#[test]
fn forgotten_session_starts_anew_in_same_run() {
    let (project, id) = killed_once("forgets", 2);
    assert_eq!(left(&project, "begun_anew"), "xx");
    let prompt = left(&project, "prompt");
    assert!(prompt.starts_with("# Work order: Make it\n"), "{prompt}");
    assert!(prompt.contains("## Failed attempts"), "{prompt}");
    let task = project.json(["task", "show", &id]);
    assert_eq!(task["metadata"]["lastRun"]["attempt"], 2, "no attempt is spent on it");
    let log = project.does(["logs", &id]);
    assert!(log.contains("{\"type\":\"anew\",\"message\":\"Resource not found"), "{log}");
    assert!(!log.contains("This was said before."), "{log}");
}

#[test]
fn session_that_failed_after_resume_is_not_resumed_again() {
    let (project, id) = killed_once("lost", 3);
    assert_eq!(
        (left(&project, "prompts"), left(&project, "begun_anew")),
        ("xxx".into(), "xx".into())
    );
    let order = |attempt: u32| {
        let path = project.path(&format!("runs/{id}/attempts/{attempt}/order"));
        fs::read_to_string(path).expect("an order")
    };
    assert!(order(2).starts_with("You were stopped"), "{}", order(2));
    assert!(order(3).starts_with("# Work order: Make it\n"), "{}", order(3));
    assert!(order(3).contains("it said: I have no tools."), "{}", order(3));
}

#[test]
fn agent_without_stdio_mcp_uses_our_http_server() {
    let listens = "permissions = [{ answer = \"allow\" }]\n[server]\nlisten = \"127.0.0.1:0\"";
    let (project, id) = project("http", listens);
    let (status, _) = up(&project, &id);
    assert_eq!(status, "done", "{}", told(&project, &id));
    let log = project.does(["logs", &id]);
    assert!(log.contains("\"transport\":\"http\""), "{log}");
    let started = project.path(&format!("runs/{id}/attempts/1/mcp.started"));
    assert!(started.is_file(), "{}", told(&project, &id));
    let answer = left(&project, "answer");
    assert!(answer.contains("Your report was accepted"), "{answer}");
    // Only the agent may see the token: no file of the run holds it.
    let folder = project.path(&format!("runs/{id}/attempts/1"));
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let text = fs::read(entry.path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&text).contains("Bearer "), "{:?}", entry.path());
    }
}

#[test]
fn agent_error_for_refused_mcp_server_is_shown() {
    let listens = "[server]\nlisten = \"127.0.0.1:0\"";
    comes_to_nothing("refuses", listens, "stdio servers are not allowed");
    comes_to_nothing("neither", listens, "no servers are allowed");
}

#[test]
fn turn_end_without_report_fails_attempt() {
    comes_to_nothing("end", "", "exited without a report");
    comes_to_nothing("refusal", "", "the agent stopped: its model refused to continue");
}

#[test]
fn agent_exit_during_request_is_reported_with_exit_code() {
    comes_to_nothing(
        "die",
        "",
        "the agent exited with code 3 before it had answered `session/prompt`",
    );
    let words = "the agent exited with code 4 before it had answered `initialize`";
    let project = comes_to_nothing("garbage", "", words);
    let log = project.does(["logs", &first(&project)]);
    assert!(log.contains(" a message {"), "{log}");
}

fn first(project: &CliProject) -> String {
    project.json(["task", "list"])[0]["id"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn agent_protocol_violation_fails_attempt_with_reason() {
    comes_to_nothing("version", "", "unsupported ACP protocol version 7");
    comes_to_nothing("huge", "", "sent a message of more than 32 MiB");
    comes_to_nothing(
        "hang",
        "idle_timeout = \"2s\"",
        "printed nothing for too long and was stopped",
    );
}

#[test]
fn missing_agent_program_is_named() {
    let (project, id) = project("work", "");
    let config = project.path("adjutant.toml");
    let text =
        fs::read_to_string(&config).expect("read").replace("\"python3\"", "\"no-such-agent\"");
    fs::write(&config, text).expect("written");
    let (status, _) = up(&project, &id);
    assert_eq!(status, "ready", "no attempt is spent");
    let missing = "there is no program no-such-agent in PATH";
    let inbox = project.does(["inbox"]);
    assert!(inbox.contains(&format!("cannot be started: {missing}")), "{inbox}");
    let listed = project.does(["agents"]);
    assert!(listed.contains(missing), "{listed}");
}

#[test]
fn agent_without_login_or_over_limit_spends_no_attempt() {
    for (part, code, words) in [
        ("auth", "agent_unusable", "run `scripted login` first"),
        ("limit", "agent_limited", "429 Too Many Requests"),
    ] {
        let (project, id) = project(part, "");
        project.json(["up", "--detach"]);
        let parked = || project.json(["task", "show", &id])["metadata"]["parked"].clone();
        until("it is parked", || parked().is_object());
        let reason = parked()["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.contains(words), "{reason}");
        let why = project.json(["why", &id]);
        assert!(why.to_string().contains(code), "{why}");
        assert_eq!(project.status_of(&id), "ready");
        project.does(["down"]);
        assert!(is_gone(&project));
    }
}

#[test]
fn client_method_not_offered_is_refused_and_turn_continues() {
    let project = comes_to_nothing("files", "", "exited without a report");
    assert_eq!(left(&project, "code"), "-32601");
}

#[test]
fn agent_that_keeps_running_after_report_is_stopped() {
    let (project, id) = project("stay", "permissions = [{ answer = \"allow\" }]");
    assert_eq!(up(&project, &id).0, "done", "{}", told(&project, &id));
}

#[test]
fn agent_that_never_answers_initialize_times_out() {
    let (project, id) = project("hang", "");
    let paper = project.home().join("acp.json");
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/agent.py");
    let text = json!({"command": ["python3", agent, "hang"], "resume": null, "graceMs": 100,
                      "permissions": [], "otherwise": "ask"});
    fs::write(&paper, text.to_string()).expect("written");
    let mut command = project.command(["acp-agent", "acp.json", "--patience", "1"]);
    command.env("ADJUTANT_TASK_ID", &id).env("ADJUTANT_AGENT", "friend");
    let ran = run(command.env("ADJUTANT_RUN_TOKEN", "none").env("ADJUTANT_ATTEMPT", "1"));
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("did not answer `initialize` within 1 seconds"), "{ran:?}");
    assert!(is_gone(&project));
}

#[test]
fn permission_rule_errors_are_named() {
    for (more, words) in [
        ("permissions = [{ tool = \"shell\", answer = \"deny\" }]", "shell"),
        ("permissions = [{ title = \"x\" }]", "answer"),
        ("permissions = [{ answer = \"maybe\" }]", "maybe"),
    ] {
        let (project, _) = project("work", "");
        let config = project.path("adjutant.toml");
        let text = fs::read_to_string(&config).expect("read");
        fs::write(&config, format!("{text}{more}\n")).expect("written");
        let (code, error) = project.error(["agents"]);
        assert!(code != 0 && error.to_string().contains(words), "{error}");
    }
}
