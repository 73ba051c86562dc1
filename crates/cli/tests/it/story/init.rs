//! `adjutant story init`: creates a story project and installs the hooks.

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, story_position_text};

#[test]
fn story_init_creates_files_and_overwrites_none() {
    let project = StoryTestProject::empty();
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
    assert_eq!(story_position_text(&project.state()), "bootstrap 1 pending");
    project.json(&["start", "US-001"]);
    assert_eq!(project.json(&["init"])["made"], json!([]));
    assert_eq!(story_position_text(&project.state()), "bdd 1 pending");
}

#[test]
fn story_init_answer_has_the_promised_fields() {
    let project = StoryTestProject::empty();
    project.init_git();
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
fn story_init_adds_hook_to_existing_claude_settings() {
    let project = StoryTestProject::empty();
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
    let ours =
        json!({"hooks": [{"type": "command", "command": "adjutant story hook --if-handed-over"}]});
    expected["hooks"]["Stop"].as_array_mut().expect("a list").push(ours);
    let after: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(after, expected);
    let keys: Vec<&String> = after.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["model", "hooks", "permissions"]);
    project.json(&["init", "--claude"]);
    assert_eq!(project.read(".claude/settings.json"), text, "once is enough");
    for bad in ["{", "[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}"] {
        project.write(".claude/settings.json", bad);
        assert_eq!(
            project.run_refused(&["init", "--claude"]),
            (1, "hook_not_installed".to_owned())
        );
    }
}

#[test]
fn story_init_adds_hook_to_existing_git_hook() {
    let project = StoryTestProject::empty();
    assert_eq!(project.run(&["init", "--git"]).0, 1, "it is no repository");
    project.init_git();
    project.write(".git/hooks/post-commit", "#!/bin/sh\necho mine");
    project.json(&["init", "--git"]);
    let text = project.read(".git/hooks/post-commit");
    let line = "adjutant story hook --if-handed-over >/dev/null 2>&1 || true\n";
    assert_eq!(text, format!("#!/bin/sh\necho mine\n{line}"));
    project.json(&["init", "--git"]);
    assert_eq!(project.read(".git/hooks/post-commit"), text);
    project.write(".git/hooks/post-commit", "#!/usr/bin/env python3\n");
    assert_eq!(project.run_refused(&["init", "--git"]), (1, "hook_not_installed".to_owned()));
}

#[test]
fn story_init_replaces_hook_of_older_versions() {
    let project = StoryTestProject::empty();
    let hook = |command: &str| json!({"hooks": [{"type": "command", "command": command}]});
    let settings = |hooks: &[Value]| json!({"hooks": {"Stop": hooks}});
    let old = settings(&[hook("say done"), hook("adjutant story hook")]);
    project.write(".claude/settings.json", &old.to_string());
    project.json(&["init", "--claude"]);
    let after: Value = serde_json::from_str(&project.read(".claude/settings.json")).expect("JSON");
    let new = settings(&[hook("say done"), hook("adjutant story hook --if-handed-over")]);
    assert_eq!(after, new);
}

#[test]
fn hook_of_every_turn_changes_nothing_before_there_is_a_hand_over() {
    let project = StoryTestProject::with_story();
    let turn = || project.json(&["hook", "--if-handed-over"]);
    assert_eq!(turn()["result"], "nothing", "no step runs");
    project.json(&["next"]);
    for _ in 0..3 {
        assert_eq!(story_position_text(&turn()), "bdd 1 running");
    }
    project.hand_over("pass");
    assert_eq!(story_position_text(&turn()), "bdd 1 pass");
    assert_eq!(turn()["result"], "nothing", "the same hand-over counts once");
    project.json(&["next"]);
    assert_eq!(story_position_text(&turn()), "sdd-delta 1 running");
}

#[test]
fn project_is_set_up_before_its_first_story() {
    let project = StoryTestProject::empty();
    project.json(&["init"]);
    assert_eq!(story_position_text(&project.step("pass")), "bootstrap 1 pass");
    let before = project.read(".ai/STATE.json");
    let next = project.json(&["next"]);
    assert_eq!((&next["result"], &next["prompt"]), (&json!("nothing"), &json!(null)), "{next}");
    let instruction = next["caller_instruction"].as_str().expect("a text");
    assert!(instruction.contains("`adjutant story start ID`"), "{instruction}");
    assert_eq!(project.read(".ai/STATE.json"), before);
    project.json(&["start", "US-1"]);
    let next = project.json(&["next"]);
    assert_eq!((&next["story"], &next["step"]), (&json!("US-1"), &json!("bdd")));
    assert!(!next["prompt"].as_str().expect("a prompt").contains("{story}"));
}

#[test]
fn first_story_that_was_started_during_bootstrap_is_found() {
    let project = StoryTestProject::empty();
    project.json(&["init"]);
    project.json(&["next"]);
    project.json(&["start", "US-1"]);
    project.hand_over("pass");
    assert_eq!(story_position_text(&project.json(&["hook"])), "bootstrap 1 pass");
    let next = project.json(&["next"]);
    assert_eq!((&next["story"], &next["step"]), (&json!("US-1"), &json!("bdd")));
}
