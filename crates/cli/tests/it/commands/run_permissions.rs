//! Inside a run, an agent may report and read, but must not use operator commands.

use serde_json::json;

use crate::commands::support::{CliProject, document, progress, run, run_with};

#[test]
fn operator_commands_inside_run_are_refused_and_recorded() {
    let project = CliProject::new();
    let id = project.add(["one", "--status", "ready"]);
    let before = project.digest();
    let commands: [&[&str]; 12] = [
        &["task", "add", "another"],
        &["task", "edit", &id, "--title", "mine"],
        &["task", "edit", &id],
        &["task", "move", &id, "in-progress"],
        &["task", "cancel", &id],
        &["task", "retry", &id],
        &["approve", &id],
        &["reject", &id, "--reason", "no"],
        &["answer", &id, "yes"],
        &["inbox", "apply", &id, "1-message.json"],
        &["task", "move", "TASK-2026-02-09-999", "ready"],
        &["export", "stolen.tar"],
    ];
    for args in commands {
        let mut command = project.command(args);
        let command =
            command.arg("--json").env("ADJUTANT_RUN_TOKEN", "t").env("ADJUTANT_AGENT", "swe");
        let ran = run(command);
        let error = &document(&ran.out)["error"];
        assert_eq!((ran.code, &error["code"]), (1, &json!("operator_only")), "{args:?}");
        let causes = ["only an operator may do this, and the command was called from inside a run"];
        assert_eq!(error["causes"], json!(causes), "{args:?}");
        assert_eq!(error["hint"], "to report from inside a run, use `adjutant report`");
    }
    assert_eq!(project.digest(), before);
    let events = project.events();
    assert_eq!(events.len(), 1 + commands.len());
    for (event, args) in events[1..].iter().zip(commands) {
        let about = args.iter().find(|arg| arg.starts_with("TASK-"));
        assert_eq!(event["taskId"].as_str(), about.copied(), "{args:?}");
        let reason = &event["payload"]["reason"];
        assert_eq!(
            (&event["type"], reason, &event["actor"]),
            (&json!("command.refused"), &json!("operator_only"), &json!("swe"))
        );
    }
}

#[test]
fn doctor_fix_inside_run_is_refused() {
    let project = CliProject::new();
    project.write("tasks/done/TASK-2026-02-09-001/outputs/x", "");
    let before = project.digest();
    let ran = run(project.command(["doctor", "--fix"]).env("ADJUTANT_RUN_TOKEN", "t"));
    assert_eq!((ran.code, &*ran.out), (1, ""));
    assert!(ran.err.starts_with("error: cannot repair the data folder\n"), "{ran:?}");
    assert_eq!(project.digest(), before);
    let refused = project.events().pop().expect("an event");
    let payload = json!({"command": "doctor --fix", "reason": "operator_only"});
    assert_eq!((&refused["type"], &refused["payload"]), (&json!("command.refused"), &payload));
}

#[test]
fn agent_inside_run_may_report_and_read() {
    let project = CliProject::new();
    let id = project.add(["one", "--agent", "swe"]);
    for args in [&["task", "list"][..], &["task", "show", &id], &["events"], &["session-end"]] {
        let ran = run(project.command(args).env("ADJUTANT_RUN_TOKEN", "t"));
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    }
    let mut command = project.command(["send"]);
    let message = progress(&id, "swe", "half way").to_string();
    let ran = run_with(command.env("ADJUTANT_RUN_TOKEN", "t"), message.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn agent_name_that_is_invalid_is_recorded_as_system() {
    let project = CliProject::new();
    for name in ["human:alice", "system", "", "two\nlines"] {
        let mut command = project.command(["task", "add", "x"]);
        run(command.env("ADJUTANT_RUN_TOKEN", "t").env("ADJUTANT_AGENT", name));
        let last = project.events().pop().expect("an event");
        assert_eq!(last["actor"], "system", "{name:?}");
    }
}

#[test]
fn run_token_that_is_empty_is_ignored() {
    let project = CliProject::new();
    let ran = run(project.command(["task", "add", "x"]).env("ADJUTANT_RUN_TOKEN", ""));
    assert_eq!(ran.code, 0, "{ran:?}");
}
