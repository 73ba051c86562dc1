//! Every refusal is in the event log: the actor, the command, the task and the reason.

use serde_json::json;

use crate::commands::support::CliProject;

/// The id of a task that does not exist.
const MISSING: &str = "TASK-2026-02-09-999";

/// Runs a command that must be refused, and checks that the refusal is the last event.
fn check(project: &CliProject, args: &[&str], command: &str, reason: &str) {
    let before = project.digest();
    let (code, error) = project.error(args);
    assert_eq!((code, &error["code"]), (1, &json!(reason)), "{args:?}");
    let last = project.events().pop().expect("an event");
    let about = args.iter().find(|arg| arg.starts_with("TASK-"));
    assert_eq!(last["type"], "command.refused", "{args:?}");
    assert_eq!(last["actor"], "human:alice", "{args:?}");
    assert_eq!(last["taskId"].as_str(), about.copied(), "{args:?}");
    assert_eq!(last["payload"], json!({"command": command, "reason": reason}), "{args:?}");
    assert_eq!(project.digest(), before, "{args:?} changed something");
}

#[test]
fn refused_operator_command_is_in_event_log() {
    let project = CliProject::new();
    let first = project.add(["first", "--status", "ready"]);
    let second = project.add(["second", "--depends-on", &first, "--parent", &first]);
    let wrong = "invalid_transition";
    check(&project, &["task", "move", &first, "done"], "task move", wrong);
    check(&project, &["approve", &first], "approve", wrong);
    check(&project, &["reject", &first, "--reason", "no"], "reject", wrong);
    check(&project, &["task", "retry", &first], "task retry", wrong);
    check(&project, &["answer", &first, "yes"], "answer", wrong);
    let apply = ["inbox", "apply", &first, "1-message.json"];
    check(&project, &apply, "salvage apply", "salvage_not_found");
    let cycle = "dependency_cycle";
    check(&project, &["task", "edit", &first, "--depends-on", &first], "task edit", cycle);
    check(&project, &["task", "edit", &first, "--depends-on", &second], "task edit", cycle);
    check(&project, &["task", "edit", &first, "--parent", &second], "task edit", cycle);
    project.does(["task", "cancel", &first]);
    check(&project, &["task", "cancel", &first], "task cancel", wrong);
    check(&project, &["task", "move", &first, "ready"], "task move", wrong);
}

#[test]
fn refused_command_on_missing_task_is_in_event_log() {
    let project = CliProject::new();
    for (args, command) in [
        (&["task", "move", MISSING, "ready"][..], "task move"),
        (&["task", "edit", MISSING, "--title", "x"], "task edit"),
        (&["task", "cancel", MISSING], "task cancel"),
        (&["task", "retry", MISSING], "task retry"),
        (&["approve", MISSING], "approve"),
        (&["reject", MISSING, "--reason", "no"], "reject"),
        (&["answer", MISSING, "yes"], "answer"),
        (&["inbox", "apply", MISSING, "1-message.json"], "salvage apply"),
    ] {
        check(&project, args, command, "task_not_found");
    }
}
