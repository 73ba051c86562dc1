//! Arguments that make no sense, and what every command has in common.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::commands::support::{Project, Ran, adjutant, document, run};

#[test]
fn without_arguments_the_help_is_shown_and_it_is_wrong_usage() {
    let ran = run(&mut adjutant());
    assert_eq!((ran.code, &*ran.out), (2, ""));
    assert!(ran.err.contains("Usage: adjutant [OPTIONS] <COMMAND>"), "{ran:?}");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let ran = run(adjutant().arg("--version"));
    let out = concat!("adjutant ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    assert_eq!(ran, Ran { code: 0, out, err: String::new() });
    for args in [&["--help"][..], &["-h"], &["--json", "--help"], &["task", "--help"]] {
        let ran = run(adjutant().args(args));
        assert_eq!((ran.code, &*ran.err), (0, ""), "{args:?}");
        assert!(ran.out.contains("Options of every command:"), "{args:?}");
    }
}

#[test]
fn wrong_usage_goes_to_standard_error_and_ends_with_2() {
    for args in [
        &["nonsense"][..],
        &["task"],
        &["task", "add"],
        &["task", "add", "x", "--priority", "urgent"],
        &["task", "add", "x", "--agent", ""],
        &["task", "add", "x", "--depends-on", "TASK-1"],
        &["task", "add", "x", "--due", "tomorrow"],
        &["task", "add", "x", "--status", "done"],
        &["task", "add", "x", "--body", "a", "--body-file", "b"],
        &["task", "move", "TASK-2026-02-09-001"],
        &["task", "move", "TASK-2026-02-09-001", "finished"],
        &["task", "edit", "TASK-2026-02-09-001", "--agent", "a", "--no-agent"],
        &["task", "list", "--limit", "-1"],
        &["reject", "TASK-2026-02-09-001"],
        &["events", "--follow", "--limit", "3"],
        &["events", "--since", "yesterday"],
        &["check"],
        &["check", "x", "--as", "poem"],
        &["schema"],
        &["schema", "poem"],
        &["completions", "cmd"],
        &["--data"],
    ] {
        let ran = run(adjutant().args(args));
        assert_eq!((ran.code, &*ran.out), (2, ""), "{args:?}");
        assert!(ran.err.starts_with("error: ") || args == ["task"], "{args:?}: {}", ran.err);
    }
}

#[test]
fn wrong_usage_is_json_where_json_was_asked_for() {
    let check = |args: &[&str], error: serde_json::Value| {
        let ran = run(adjutant().args(args));
        assert_eq!((ran.code, &*ran.err), (2, ""), "{args:?}");
        assert_eq!(document(&ran.out), json!({ "error": error }), "{args:?}");
    };
    check(
        &["--json", "task", "list", "--stauts", "ready"],
        json!({
            "code": "usage",
            "message": "unexpected argument '--stauts' found",
            "causes": [],
            "hint": "a similar argument exists: '--status'",
        }),
    );
    check(
        &["task", "move", "--json"],
        json!({
            "code": "usage",
            "message": "the following required arguments were not provided",
            "causes": ["<ID>", "<STATUS>"],
            "hint": "`--help` shows how the command is called",
        }),
    );
    check(
        &["--json"],
        json!({
            "code": "usage",
            "message": "a command is missing",
            "causes": [],
            "hint": "`adjutant --help` lists them",
        }),
    );
    check(
        &["--json", "check", "x", "--as", "poem"],
        json!({
            "code": "usage",
            "message": "invalid value 'poem' for '--as <KIND>'",
            "causes": ["[possible values: envelope, mission, result, new_task, attempt_completion, task, state, handoff, step-rules]"],
            "hint": "`--help` shows how the command is called",
        }),
    );
}

#[test]
fn after_two_dashes_everything_is_an_argument() {
    let project = Project::new();
    let ran = project.adjutant(["task", "add", "--", "--json"]);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    assert_eq!(project.json(["task", "list"])[0]["title"], "--json");
    let ran = project.adjutant(["task", "add", "--", "--json", "--json"]);
    assert_eq!((ran.code, &*ran.out), (2, ""), "{ran:?}");
}

#[test]
fn arguments_that_are_no_text_are_wrong_usage_and_no_panic() {
    let project = Project::new();
    let odd = OsStr::from_bytes(b"\xff\xfe");
    for json in [false, true] {
        for command in [["task", "show"], ["task", "add"], ["events", "--task"]] {
            let ran = run(project.command(command).arg(odd).args(json.then_some("--json")));
            assert_eq!(ran.code, 2, "{command:?} {ran:?}");
        }
    }
    let ran = run(project.command(["send"]).arg(odd));
    assert_eq!(ran.code, 3, "a path may be any bytes, and this file is not there: {ran:?}");
}

#[test]
fn an_id_that_is_none_is_no_task_of_ours() {
    let project = Project::new();
    let expected = json!({
        "code": "task_not_found",
        "message": "there is no task \"../../etc\"",
        "causes": ["there is no such task"],
        "hint": "the id of a task must match TASK-YYYY-MM-DD-NNN, or is one others know it by",
    });
    for args in [
        &["task", "show", "../../etc"][..],
        &["task", "edit", "../../etc", "--title", "x"],
        &["task", "move", "../../etc", "ready"],
        &["task", "cancel", "../../etc"],
        &["task", "retry", "../../etc"],
        &["approve", "../../etc"],
        &["reject", "../../etc", "--reason", "x"],
        &["session-end", "../../etc"],
        &["events", "--task", "../../etc"],
    ] {
        assert_eq!(project.error(args), (1, expected.clone()), "{args:?}");
    }
    assert_eq!(project.types(), [""; 0]);
}

#[test]
fn every_help_says_what_each_argument_is() {
    let commands = [
        "init",
        "task add",
        "task list",
        "task show",
        "task edit",
        "task move",
        "task cancel",
        "task retry",
        "approve",
        "reject",
        "send",
        "session-end",
        "events",
        "check",
        "schema",
        "doctor",
        "export",
        "import",
        "demo",
        "completions",
        "man",
    ];
    for command in commands {
        let ran = run(adjutant().args(command.split(' ')).arg("--help"));
        assert_eq!((ran.code, &*ran.err), (0, ""), "{command}");
        assert!(ran.out.contains(&format!("Usage: adjutant {command}")), "{command}: {}", ran.out);
        for line in ran.out.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
            let option = line.trim_start().starts_with("--") || line.starts_with("  <");
            let described = line.trim().contains("  ");
            let long = ["check", "schema"].contains(&command);
            assert!(!option || described || long, "{command}: {line:?} says nothing");
        }
    }
}

#[test]
fn output_that_cannot_be_written_is_something_broken() {
    let project = Project::new();
    let id = project.add(["one"]);
    let show = ["task", "show", &id];
    for args in [&["task", "list"][..], &["events"], &show, &["schema", "task"]] {
        let full = std::fs::File::create("/dev/full").expect("a device that is always full");
        let output = project.command(args).stdout(full).output().expect("it starts");
        let err = String::from_utf8(output.stderr).expect("errors are text");
        let expected =
            "error: cannot write the output\n  caused by: No space left on device (os error 28)\n";
        assert_eq!((output.status.code(), &*err), (Some(3), expected), "{args:?}");
    }
}
