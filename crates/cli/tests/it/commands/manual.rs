//! `adjutant completions` and `adjutant man`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::commands::support::{adjutant, document, run, run_with};

#[test]
fn there_are_completions_for_every_shell() {
    for (shell, sign) in [
        ("bash", "complete -F _adjutant"),
        ("elvish", "set edit:completion:arg-completer[adjutant]"),
        ("fish", "complete -c adjutant"),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName 'adjutant'"),
        ("zsh", "#compdef adjutant"),
    ] {
        let ran = run(adjutant().args(["completions", shell]));
        assert_eq!((ran.code, &*ran.err), (0, ""), "{shell}");
        assert!(ran.out.contains(sign) && ran.out.contains("session-end"), "{shell}");
        let json = run(adjutant().args(["completions", shell, "--json"]));
        assert_eq!(document(&json.out), json!({"script": ran.out.trim_end()}), "{shell}");
    }
}

#[test]
fn bash_takes_its_completions() {
    let script = run(adjutant().args(["completions", "bash"])).out;
    let mut bash = std::process::Command::new("bash");
    let bash = bash.args(["-n"]).stdin(Stdio::piped());
    let ran = run_with(bash, script.as_bytes());
    assert_eq!((ran.code, &*ran.err), (0, ""));
}

#[test]
fn there_is_a_page_for_the_whole_and_one_for_every_command() {
    let ran = run(adjutant().arg("man"));
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert!(ran.out.contains(".SH NAME\nadjutant \\- The staff officer"), "{}", ran.out);
    let json = run(adjutant().args(["man", "--json"]));
    assert_eq!(document(&json.out), json!({"page": ran.out.trim_end()}));
    let home = tempfile::tempdir().expect("a temporary folder");
    let dir = home.path().join("man/man1");
    let ran = run(adjutant().args(["man", "--dir"]).arg(&dir));
    assert_eq!(ran.out, format!("wrote a page for every command to {}\n", dir.display()));
    let pages: BTreeSet<String> = fs::read_dir(&dir)
        .expect("the folder is there")
        .map(|entry| entry.expect("it reads").file_name().to_string_lossy().into_owned())
        .collect();
    let commands = [
        "adjutant",
        "adjutant-agents",
        "adjutant-agents-test",
        "adjutant-answer",
        "adjutant-approve",
        "adjutant-beat",
        "adjutant-check",
        "adjutant-completions",
        "adjutant-demo",
        "adjutant-doctor",
        "adjutant-down",
        "adjutant-events",
        "adjutant-export",
        "adjutant-fleet",
        "adjutant-fleet-restore",
        "adjutant-fleet-status",
        "adjutant-import",
        "adjutant-inbox",
        "adjutant-inbox-apply",
        "adjutant-init",
        "adjutant-logs",
        "adjutant-man",
        "adjutant-mcp",
        "adjutant-mission",
        "adjutant-reject",
        "adjutant-report",
        "adjutant-report-accept",
        "adjutant-report-blocked",
        "adjutant-report-done",
        "adjutant-report-needs-review",
        "adjutant-report-partial",
        "adjutant-report-progress",
        "adjutant-report-refuse",
        "adjutant-schema",
        "adjutant-send",
        "adjutant-session-end",
        "adjutant-status",
        "adjutant-story",
        "adjutant-story-approve",
        "adjutant-story-auto",
        "adjutant-story-hook",
        "adjutant-story-init",
        "adjutant-story-list",
        "adjutant-story-next",
        "adjutant-story-poll",
        "adjutant-story-prompt",
        "adjutant-story-reject",
        "adjutant-story-reopen",
        "adjutant-story-report-error",
        "adjutant-story-rollback",
        "adjutant-story-start",
        "adjutant-story-status",
        "adjutant-task",
        "adjutant-task-add",
        "adjutant-task-cancel",
        "adjutant-task-diff",
        "adjutant-task-edit",
        "adjutant-task-list",
        "adjutant-task-move",
        "adjutant-task-retry",
        "adjutant-task-show",
        "adjutant-tick",
        "adjutant-top",
        "adjutant-undo",
        "adjutant-up",
        "adjutant-why",
    ];
    assert_eq!(pages, commands.map(|command| format!("{command}.1")).into());
    let ran = run(adjutant().args(["man", "--json", "--dir"]).arg(&dir));
    assert_eq!(document(&ran.out), json!({"dir": dir.display().to_string()}));
}
