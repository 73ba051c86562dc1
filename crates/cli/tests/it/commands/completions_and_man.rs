//! Tests of `adjutant completions` and `adjutant man`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use adjutant_model::Status;
use serde_json::json;

use crate::commands::support::{CliProject, adjutant, document, run, run_with};

#[test]
fn completions_exist_for_every_shell() {
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
fn completions_for_bash_are_valid_bash() {
    let script = run(adjutant().args(["completions", "bash"])).out;
    let mut bash = std::process::Command::new("bash");
    let bash = bash.args(["-n"]).stdin(Stdio::piped());
    let ran = run_with(bash, script.as_bytes());
    assert_eq!((ran.code, &*ran.err), (0, ""));
}

/// Completes the last word in a real bash, as the key does.
fn complete_in_bash(project: &CliProject, words: &[&str]) -> Vec<String> {
    let script = run(adjutant().args(["completions", "bash"])).out;
    let file = project.home().join("completions.bash");
    fs::write(&file, script).expect("a file");
    let program = Path::new(env!("CARGO_BIN_EXE_adjutant"));
    // The completion function of `adjutant` is found by its name, as bash finds it.
    let test = r#"source completions.bash
        complete=$(complete -p adjutant)
        [[ $complete =~ -F\ ([^ ]+) ]] || exit 1
        COMP_WORDS=(adjutant "$@")
        COMP_CWORD=$#
        "${BASH_REMATCH[1]}" adjutant "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = std::process::Command::new("bash");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = program.parent().expect("a folder").to_owned();
    let path = std::env::join_paths([own].into_iter().chain(std::env::split_paths(&path)));
    bash.env("PATH", path.expect("a path")).env_remove("ADJUTANT_DATA");
    bash.current_dir(project.home()).args(["--norc", "-c", test, "bash"]).args(words);
    let ran = run(crate::with_trust(&mut bash).stdin(Stdio::null()));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{words:?}");
    ran.out.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

#[test]
fn completions_for_bash_complete_task_ids_and_agents() {
    let project = CliProject::with_script("swe", "", "steps: [wait: 1s]\n");
    for (id, status) in [
        ("TASK-2026-02-09-001", Status::Review),
        ("TASK-2026-02-09-057", Status::Ready),
        ("TASK-2026-02-10-001", Status::Cancelled),
    ] {
        project.task(id, status, "");
    }
    let complete = |words: &[&str]| complete_in_bash(&project, words);
    assert_eq!(complete(&["approve", ""]), ["TASK-2026-02-09-001"], "only what is in review");
    assert_eq!(complete(&["task", "reopen", "T"]), ["TASK-2026-02-10-001"]);
    assert_eq!(
        complete(&["task", "show", "TASK-2026-02-09"]),
        ["TASK-2026-02-09-001", "TASK-2026-02-09-057"]
    );
    assert_eq!(complete(&["task", "show", "05"]), ["057"]);
    assert_eq!(complete(&["task", "show", "02"]), ["02-09-001", "02-10-001"]);
    assert_eq!(complete(&["task", "add", "New", "--depends-on", "05"]), ["057"]);
    assert_eq!(complete(&["task", "move", "057", "rea"]), ["ready"]);
    assert_eq!(complete(&["task", "list", "--agent", ""]), ["swe"]);
    assert_eq!(complete(&["task", "list", "--agent", "=", "s"]), ["swe"]);
    assert_eq!(complete(&["appr"]), ["approve"]);
    assert_eq!(complete(&["approve", "--no"]), ["--note", "--no-wait"]);
    let other = CliProject::foreign();
    assert_eq!(complete_in_bash(&other, &["approve", "T"]), Vec::<String>::new());
    let data = project.path("").display().to_string();
    let elsewhere = complete_in_bash(&other, &["--data", &data, "approve", "T"]);
    assert_eq!(elsewhere, ["TASK-2026-02-09-001"]);
}

#[test]
fn completions_for_zsh_and_fish_ask_for_candidates() {
    let zsh = run(adjutant().args(["completions", "zsh"])).out;
    assert!(zsh.contains("_adjutant_tasks()") && zsh.contains(":_adjutant_tasks' "), "{zsh}");
    assert!(zsh.contains(":_adjutant_agents' ") && !zsh.contains("_email_addresses"));
    let fish = run(adjutant().args(["completions", "fish"])).out;
    assert!(fish.ends_with("complete -c adjutant -a \"(__adjutant_values)\"\n"), "{fish}");
}

#[test]
fn man_pages_exist_for_program_and_every_command() {
    let ran = run(adjutant().arg("man"));
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert!(
        ran.out.contains(".SH NAME\nadjutant \\- Supervise a crew of coding agents"),
        "{}",
        ran.out
    );
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
        "adjutant-agents-allow",
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
        "adjutant-fleet-key",
        "adjutant-fleet-restore",
        "adjutant-fleet-status",
        "adjutant-help",
        "adjutant-import",
        "adjutant-inbox",
        "adjutant-inbox-apply",
        "adjutant-init",
        "adjutant-logs",
        "adjutant-man",
        "adjutant-mcp",
        "adjutant-mission",
        "adjutant-open",
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
        "adjutant-story-diff",
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
        "adjutant-story-why",
        "adjutant-task",
        "adjutant-task-add",
        "adjutant-task-cancel",
        "adjutant-task-copy",
        "adjutant-task-diff",
        "adjutant-task-edit",
        "adjutant-task-import",
        "adjutant-task-list",
        "adjutant-task-move",
        "adjutant-task-reopen",
        "adjutant-task-retry",
        "adjutant-task-show",
        "adjutant-tick",
        "adjutant-top",
        "adjutant-trust",
        "adjutant-undo",
        "adjutant-up",
        "adjutant-version",
        "adjutant-why",
    ];
    assert_eq!(pages, commands.map(|command| format!("{command}.1")).into());
    let ran = run(adjutant().args(["man", "--json", "--dir"]).arg(&dir));
    assert_eq!(document(&ran.out), json!({"dir": dir.display().to_string()}));
}
