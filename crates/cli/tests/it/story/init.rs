//! `adjutant story init`.

use serde_json::{Value, json};

use crate::story::support::{Project, place};

#[test]
fn a_project_is_made_ready_and_nothing_is_overwritten() {
    let project = Project::empty();
    project.write("PROJECT_MEMORY.md", "mine\n");
    let made = project.json(&["init"]);
    assert_eq!(made["kept"], json!(["PROJECT_MEMORY.md"]));
    for name in [
        "PROJECT_CONTEXT.md",
        "docs/sdd.md",
        "docs/constitution.md",
        "docs/nfr.md",
        "docs/bdd",
        "docs/deltas",
        "docs/api",
        "docs/ddd",
        ".ai/STATE.json",
    ] {
        assert!(project.path(name).exists(), "{name}");
    }
    assert_eq!(project.read("PROJECT_MEMORY.md"), "mine\n");
    assert_eq!(place(&project.state()), "bootstrap 1 pending");
    project.json(&["start", "US-001"]);
    assert_eq!(project.json(&["init"])["made"], json!([]));
    assert_eq!(place(&project.state()), "bdd 1 pending");
}

#[test]
fn the_answer_has_what_scripts_rely_on() {
    let project = Project::empty();
    project.in_git();
    let made = project.json(&["init", "--claude", "--git"]);
    let fields: Vec<&str> =
        made.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "result",
            "made",
            "kept",
            "story",
            "step",
            "attempt",
            "max_attempts",
            "status",
            "reason",
            "next_step",
            "caller_instruction",
        ]
    );
    assert_eq!((&made["result"], &made["kept"]), (&json!("made"), &json!([])));
    let names: Vec<&str> =
        made["made"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    for name in [
        "PROJECT_CONTEXT.md",
        "PROJECT_MEMORY.md",
        "docs/sdd.md",
        "docs/constitution.md",
        "docs/nfr.md",
        ".ai/STATE.json",
        ".claude/settings.json",
        ".git/hooks/post-commit",
    ] {
        assert!(names.contains(&name) && project.path(name).exists(), "{name}: {made}");
    }
    for nothing in ["story", "step", "attempt", "max_attempts", "status", "reason", "next_step"] {
        assert_eq!(made[nothing], Value::Null, "{nothing}: there is no story yet");
    }
    let next = made["caller_instruction"].as_str().expect("a text");
    assert!(next.contains("`adjutant story start ID`"), "{next}");
    let again = project.json(&["init", "--claude", "--git"]);
    assert_eq!(again["made"], json!([]), "{again}");
    assert_eq!(again["kept"].as_array().map(Vec::len), Some(names.len()), "{again}");
}

#[test]
fn the_hook_is_added_to_what_claude_code_has() {
    let project = Project::empty();
    let before = json!({
        "model": "opus",
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
            "PreToolUse": [],
        },
        "permissions": {"allow": ["Bash(ls)"]},
    });
    project.write(".claude/settings.json", &before.to_string());
    project.json(&["init", "--claude"]);
    let text = project.read(".claude/settings.json");
    let mut expected = before;
    let ours = json!({"hooks": [{"type": "command", "command": "adjutant story hook"}]});
    expected["hooks"]["Stop"].as_array_mut().expect("a list").push(ours);
    let after: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(after, expected);
    let keys: Vec<&String> = after.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["model", "hooks", "permissions"]);
    project.json(&["init", "--claude"]);
    assert_eq!(project.read(".claude/settings.json"), text, "once is enough");
    for bad in ["{", "[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}"] {
        project.write(".claude/settings.json", bad);
        assert_eq!(project.refused(&["init", "--claude"]), (1, "hook_not_installed".to_owned()));
    }
}

#[test]
fn the_hook_is_added_to_what_git_has() {
    let project = Project::empty();
    assert_eq!(project.run(&["init", "--git"]).0, 1, "it is no repository");
    project.in_git();
    project.write(".git/hooks/post-commit", "#!/bin/sh\necho mine");
    project.json(&["init", "--git"]);
    let text = project.read(".git/hooks/post-commit");
    let line = "adjutant story hook --if-handed-over >/dev/null 2>&1 || true\n";
    assert_eq!(text, format!("#!/bin/sh\necho mine\n{line}"));
    project.json(&["init", "--git"]);
    assert_eq!(project.read(".git/hooks/post-commit"), text);
    project.write(".git/hooks/post-commit", "#!/usr/bin/env python3\n");
    assert_eq!(project.refused(&["init", "--git"]), (1, "hook_not_installed".to_owned()));
}
