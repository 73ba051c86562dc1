//! Command line errors, and behaviour that all commands share.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::commands::support::{CliOutput, CliProject, adjutant, document, run};

#[test]
fn command_missing_shows_help_and_exits_with_2() {
    let ran = run(&mut adjutant());
    assert_eq!((ran.code, &*ran.out), (2, ""));
    assert!(ran.err.contains("Usage: adjutant [OPTIONS] <COMMAND>"), "{ran:?}");
}

#[test]
fn help_and_version_print_to_standard_output() {
    let ran = run(adjutant().arg("--version"));
    let out = concat!("adjutant ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    assert_eq!(ran, CliOutput { code: 0, out, err: String::new() });
    for args in [&["--help"][..], &["-h"], &["--json", "--help"], &["task", "--help"]] {
        let ran = run(adjutant().args(args));
        assert_eq!((ran.code, &*ran.err), (0, ""), "{args:?}");
        assert!(ran.out.contains("Global options:"), "{args:?}");
    }
}

#[test]
fn usage_error_prints_to_standard_error_and_exits_with_2() {
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
fn usage_error_is_json_with_json_option() {
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
            "causes": ["<ID|STATUS>..."],
            "hint": "`--help` shows the usage",
        }),
    );
    check(
        &["--json"],
        json!({
            "code": "usage",
            "message": "no command was given",
            "causes": [],
            "hint": "`adjutant --help` lists the commands",
        }),
    );
    check(
        &["--json", "check", "x", "--as", "poem"],
        json!({
            "code": "usage",
            "message": "invalid value 'poem' for '--as <KIND>'",
            "causes": ["[possible values: envelope, mission, result, new_task, attempt_completion, task, state, handoff, step-rules]"],
            "hint": "`--help` shows the usage",
        }),
    );
}

#[test]
fn arguments_after_two_dashes_are_no_options() {
    let project = CliProject::new();
    let ran = project.adjutant(["task", "add", "--", "--json"]);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    assert_eq!(project.json(["task", "list"])[0]["title"], "--json");
    let ran = project.adjutant(["task", "add", "--", "--json", "--json"]);
    assert_eq!((ran.code, &*ran.out), (2, ""), "{ran:?}");
}

#[test]
fn arguments_that_are_no_text_are_usage_errors() {
    let project = CliProject::new();
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
fn task_id_that_is_invalid_is_not_found() {
    let project = CliProject::new();
    let expected = json!({
        "code": "task_not_found",
        "message": "there is no task \"../../etc\"",
        "causes": ["there is no such task"],
        "hint": "`adjutant task list` lists the tasks",
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
fn help_describes_every_argument() {
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
fn output_to_full_device_exits_with_3() {
    let project = CliProject::new();
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
