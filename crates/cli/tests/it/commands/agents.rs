//! Tests of `adjutant agents` and `adjutant agents test`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::commands::support::{CliProject, document, run, until};

/// Makes a folder for `PATH` with executables of these names, and a `codex` that is not executable.
fn programs(home: &Path, names: &[&str]) -> PathBuf {
    let folder = home.join("bin");
    fs::create_dir_all(&folder).expect("a folder");
    for name in names {
        let file = folder.join(name);
        fs::write(&file, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("set");
    }
    fs::write(folder.join("codex"), "not a program").expect("written");
    folder
}

fn agents(project: &CliProject, path: &Path) -> Value {
    let ran = run(project.command(["agents", "--json"]).env("PATH", path));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    document(&ran.out)
}

#[test]
fn agents_command_lists_configured_and_found_agents() {
    let more = "[agents.claude]\nkind = \"claude\"\nsandbox = \"none\"\n\
                [agents.lost]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"./no-such\"]\n\
                [agents.true]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"goose\"]\nslots = 3\n";
    let project = CliProject::with_script("swe", more, "steps: [hang]\n");
    let path = programs(project.home(), &["claude", "gemini", "goose"]);
    let id = project.add(["one", "--status", "ready", "--agent", "swe"]);
    project.json(["up", "--detach"]);
    until("it runs", || agents(&project, &path)["agents"][2]["used"] == 1);
    let listed = agents(&project, &path);
    project.does(["down", "--stop"]);
    let script = project.home().join("swe.yaml");
    let today = json!({"inputTokens": 0, "outputTokens": 0, "cachedTokens": 0, "costUsd": 0.0});
    let expected = json!({
        "agents": [
            {"name": "claude", "kind": "claude", "slots": 1, "used": 0, "today": today,
             "program": path.join("claude"), "problem": null, "warning": null,
             "hosts": ["api.anthropic.com"], "sandbox": "none"},
            {"name": "lost", "kind": "command", "slots": 1, "used": 0, "today": today, "program": null,
             "problem": "./no-such does not exist", "warning": null, "hosts": [], "sandbox": "none"},
            {"name": "swe", "kind": "script", "slots": 1, "used": 1, "today": today, "program": script,
             "problem": null, "warning": null, "hosts": [], "sandbox": "none"},
            {"name": "true", "kind": "command", "slots": 3, "used": 0, "today": today,
             "program": path.join("goose"), "problem": null, "warning": null, "hosts": [],
             "sandbox": "none"},
        ],
        "found": [
            {"kind": "gemini", "program": path.join("gemini")},
            {"kind": "goose", "program": path.join("goose")},
        ],
    });
    assert_eq!(listed, expected, "{id}");
    let said = run(project.command(["agents"]).env("PATH", &path)).out;
    assert!(said.contains("\ninstalled but not configured: gemini ("), "{said}");
}

#[test]
fn agents_test_runs_agent_and_changes_nothing() {
    let script = "steps: [print: hello, read_stdin, adjutant: [report, done]]\n";
    let bad = "[agents.bad]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"echo no oil; exit 3\"]\n\
         [agents.gone]\nkind = \"command\"\ncommand = [\"no-such-program\"]\n";
    let project = CliProject::with_script("swe", bad, script);
    let before = project.digest();
    let tried = project.json(["agents", "test", "swe"]);
    assert_eq!((&tried["ok"], &tried["status"]), (&json!(true), &json!("done")), "{tried}");
    assert!(tried["output"].as_str().is_some_and(|output| output.starts_with("hello\n")));
    let ran = project.adjutant(["agents", "test", "bad"]);
    let task = "the test task asks only for a report; an agent with `workspace = \"worktree\"` gets \
                an empty folder for it\n";
    let said = &format!(
        "bad does not work: 1 failed attempt; attempt 1: exit code 3: no oil\n{task}its output:\n\
         no oil\n"
    );
    assert_eq!((ran.code, &*ran.out), (1, &**said));
    let ran = project.adjutant(["agents", "test", "gone"]);
    let said = "gone does not work: it cannot be started: there is no program no-such-program in \
                PATH\n";
    assert_eq!((ran.code, &*ran.out), (1, said));
    let (code, error) = project.error(["agents", "test", "nobody"]);
    assert_eq!((code, &error["code"]), (2, &json!("usage")));
    let ran = run(project.command(["agents", "test", "swe"]).env("ADJUTANT_RUN_TOKEN", "t"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(project.digest(), before);
    assert_eq!(project.types(), ["command.refused"]);
}

#[test]
fn agents_test_interrupted_stops_its_agent() {
    let hangs = "echo $$ > pid.new; mv pid.new pid; trap '' TERM INT; while :; do sleep 0.1; done";
    for signal in [Signal::INT, Signal::TERM] {
        let project = CliProject::new();
        let agent = format!(
            "[agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"-c\", {hangs:?}]\n"
        );
        project.write("adjutant.toml", format!("[scheduler]\ngrace = \"200ms\"\n{agent}"));
        let mut command = project.command(["agents", "test", "swe"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let testing = command.spawn().expect("it starts");
        let said = project.home().join("pid");
        until("it works", || said.is_file());
        let agent = fs::read_to_string(said).expect("a number");
        let agent = agent.trim().parse().ok().and_then(Pid::from_raw).expect("a process");
        kill_process(Pid::from_child(&testing), signal).expect("it is told");
        let ended = testing.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(1), "{signal:?}: {ended:?}");
        let why = "error: cannot test swe\n  caused by: the test was interrupted";
        assert!(String::from_utf8_lossy(&ended.stderr).starts_with(why), "{ended:?}");
        assert!(test_kill_process(agent).is_err(), "{signal:?}: the agent is gone");
    }
}

#[test]
fn init_writes_found_agents_and_gitignore() {
    let project = CliProject::foreign();
    let path = programs(project.home(), &["claude"]);
    let ran = run(project.command(["init"]).env("PATH", &path));
    assert_eq!(ran.code, 0, "{ran:?}");
    let config = project.read("adjutant.toml");
    let lines = "# [agents.claude]\n# kind = \"claude\"\n";
    assert!(config.contains(lines) && !config.contains("agents.codex"), "{config}");
    assert_eq!(project.json(["agents"])["agents"], json!([]), "all of it is commented out");
    let bare: String =
        config.lines().map(|line| line.trim_start_matches("# ").to_owned() + "\n").collect();
    let from = bare.find("[agents.claude]").expect("it is there");
    project.write("adjutant.toml", &bare[from..]);
    assert_eq!(project.json(["agents"])["agents"][0]["name"], "claude", "and makes sense");
    for line in ["/*", "!/adjutant.toml", "!/tasks/*/*.md"] {
        assert!(project.read(".gitignore").lines().any(|written| written == line), "{line}");
    }
}
