//! A report from a run that has been replaced.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::up::project::{DaemonProject, document, until, wait_for};

/// Sends a message from outside the run, as an escaped process would.
fn send(stage: &DaemonProject, message: &Value) -> Value {
    let mut command = stage.command(["send", "--json"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("it has an input");
    stdin.write_all(message.to_string().as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    document(&String::from_utf8(output.stdout).expect("text"))
}

fn token_of(pid: i32) -> String {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).expect("it is alive");
    let text = String::from_utf8(environ).expect("text");
    let token = text.split('\0').find_map(|each| each.strip_prefix("ADJUTANT_RUN_TOKEN="));
    token.expect("a run has a token").to_owned()
}

#[test]
fn report_of_replaced_run_changes_nothing_until_person_applies_it() {
    let script = "attempts: {1: [hang], 2: [hang]}\nsteps: []";
    let stage = DaemonProject::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    let token = token_of(agent.pid);
    shim.send_signal(Signal::KILL);
    let (_, second) = stage.run(&id, 2);
    let late = json!({
        "protocol": "aof", "version": 1, "type": "completion.report", "taskId": id,
        "fromAgent": "actor", "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "runToken": token,
        "payload": {
            "outcome": "done", "summaryRef": "outputs/summary.md", "deliverables": [],
            "tests": {"total": 1, "passed": 1, "failed": 0}, "blockers": [], "notes": "All of it.",
        },
    });
    let answer = send(&stage, &late);
    assert_eq!((&answer["result"], &answer["reason"]), (&"rejected".into(), &"stale_run".into()));
    assert_eq!(stage.status(&id), "in-progress");
    assert!(second.is_alive(), "the run that replaced it goes on");
    assert!(stage.events_of(&id, "task.completed").is_empty());
    let refused = stage.events_of(&id, "protocol.message.rejected").pop().expect("an event");
    assert_eq!(refused["payload"]["reason"], "stale_run");
    assert_eq!(stage.events_of(&id, "run.salvaged").len(), 1);
    let inbox = stage.json(&["inbox"]);
    let item = inbox.as_array().and_then(|items| items.iter().find(|one| one["kind"] == "salvage"));
    let action = item.expect("it is in the inbox")["actions"][0].as_str().expect("an action");
    stage.run_ok(action.split(' '));
    assert_eq!(stage.status(&id), "done");
    let exited = until("the run is stopped", || {
        stage.events_of(&id, "run.exited").into_iter().find(|one| one["payload"]["fence"] == 2)
    });
    assert_eq!(exited["payload"]["attempt"], 2, "{exited}");
    assert_eq!(stage.events_of(&id, "task.completed").len(), 1);
    let inbox = stage.json(&["inbox"]);
    assert_eq!(inbox, json!([]), "what was applied waits no more");
    up.kill();
    stage.until_idle();
}

#[test]
fn token_stays_invalid_when_task_file_comes_back() {
    let stage = DaemonProject::new("").with_agent("actor", "attempts: {1: [hang]}\nsteps: []");
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    let token = token_of(agent.pid);
    up.kill();
    let file = stage.path(&format!("tasks/in-progress/{id}.md"));
    let text = std::fs::read_to_string(&file).expect("the task is in progress");
    assert!(text.contains("  fence: 1\n"), "{text}");
    std::fs::remove_file(&file).expect("removed");
    wait_for("the removal is noticed", || {
        stage.run_ok(["tick", "--json"]);
        !stage.events_of(&id, "task.removed").is_empty()
    });
    std::fs::write(&file, text).expect("it is back");
    let progress = json!({
        "protocol": "aof", "version": 1, "type": "status.update", "taskId": id,
        "fromAgent": "actor", "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "runToken": token, "payload": {"taskId": id, "agentId": "actor", "progress": "half"},
    });
    let answer = send(&stage, &progress);
    assert_eq!((&answer["result"], &answer["reason"]), (&"rejected".into(), &"stale_run".into()));
    for process in [agent, shim] {
        process.send_signal(Signal::KILL);
    }
    stage.run_ok(["task", "cancel", &id]);
    stage.until_idle();
}
