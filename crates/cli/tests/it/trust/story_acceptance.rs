//! Step rules and automatic stories run nothing before the operator accepts them.

use std::fs;

use serde_json::json;

use super::project::{CautiousProject, agent};
use crate::commands::support::document;

fn write(project: &CautiousProject, name: &str, text: &str) {
    fs::write(project.root().join(name), text).expect("written");
}

fn rules(command: &str) -> String {
    format!("steps:\n  bdd:\n    post_check: {command}\n")
}

/// Leaves what the executor of the first step hands over.
fn hand_over(project: &CautiousProject) {
    fs::create_dir_all(project.root().join("docs/bdd")).expect("a folder");
    write(project, "docs/bdd/US-005.md", "# A cart\n");
    let text = "---\nstory: US-005\nstep: bdd\nattempt: 1\nstatus: pass\nreason: null\n---\n";
    write(project, ".ai/HANDOFF.md", text);
}

#[test]
fn command_of_step_rules_waits_for_acceptance() {
    let project = CautiousProject::empty();
    project.does(&["story", "init"]);
    project.does(&["story", "start", "US-005"]);
    write(&project, ".ai/step-rules.yaml", &rules("touch obeyed"));
    project.does(&["story", "next"]);
    hand_over(&project);
    let refused = project.refused(&["story", "hook"]);
    assert_eq!(refused["code"], "unaccepted_stories", "{refused}");
    assert!(refused["causes"][0].as_str().is_some_and(|why| why.contains("touch obeyed")));
    assert_eq!(project.refused(&["trust"])["causes"], json!(["the step rules run: touch obeyed"]));
    assert!(!project.root().join("obeyed").exists());
    let accepted = project.json(&["trust", "--yes"]);
    assert_eq!(accepted["stories"], json!({"commands": ["touch obeyed"], "auto": []}));
    assert_eq!(project.json(&["story", "hook"])["status"], "pass");
    assert!(project.root().join("obeyed").exists());
    assert_eq!(project.json(&["trust"])["stories"], json!(null), "once is enough");
    // The record belongs to the commands: another one waits again.
    write(&project, ".ai/step-rules.yaml", &rules("touch another"));
    assert_eq!(project.refused(&["trust"])["code"], "unaccepted_stories");
    // Prompts and limits are no commands.
    write(&project, ".ai/step-rules.yaml", "steps:\n  bdd:\n    max_attempts: 2\n");
    project.does(&["trust"]);
}

#[test]
fn test_command_in_state_file_waits_for_acceptance() {
    let project = CautiousProject::empty();
    project.does(&["story", "init"]);
    project.does(&["story", "start", "US-005"]);
    project.does(&["story", "next"]);
    hand_over(&project);
    let path = project.root().join(".ai/STATE.json");
    let mut state = document(&fs::read_to_string(&path).expect("a state"));
    state["papers_before"]["test_command"] = json!({"line": "touch obeyed", "format": null});
    state["step"] = json!("impl");
    state["human_steps"] = json!([]);
    fs::write(&path, state.to_string()).expect("written");
    assert_eq!(project.refused(&["story", "hook"])["code"], "unaccepted_stories");
    assert!(!project.root().join("obeyed").exists());
}

#[test]
fn automatic_story_waits_for_acceptance() {
    let project = CautiousProject::new();
    project.configure(&agent("touch obeyed; exit 1"));
    project.does(&["trust", "--yes"]);
    project.does(&["story", "init"]);
    project.does(&["story", "start", "US-005"]);
    let path = project.root().join(".ai/STATE.json");
    let mut state = document(&fs::read_to_string(&path).expect("a state"));
    state["auto"] = json!(true);
    fs::write(&path, state.to_string()).expect("written");
    project.does(&["up", "--until-idle"]);
    assert!(!project.root().join("obeyed").exists());
    let items = project.inbox("config");
    assert_eq!(items.len(), 1, "{items:?}");
    assert!(items[0]["text"].as_str().is_some_and(|text| text.contains("US-005 is automatic")));
    assert_eq!(items[0]["actions"], json!(["trust"]));
    let doctor = project.adjutant(&["doctor"]);
    assert!(doctor.out.contains("config_unaccepted .ai: "), "{doctor:?}");
    let why = project.json(&["why", "US-005"]);
    assert_eq!(why["reasons"][0]["code"], "story_unaccepted", "{why}");
    project.does(&["trust", "--yes"]);
    assert_eq!(project.inbox("config"), Vec::<serde_json::Value>::new());
    project.does(&["up", "--until-idle"]);
    assert!(project.root().join("obeyed").exists());
}

#[test]
fn story_that_the_operator_makes_automatic_is_accepted() {
    let project = CautiousProject::new();
    project.configure(&agent("touch obeyed; exit 1"));
    project.does(&["trust", "--yes"]);
    project.does(&["story", "init"]);
    write(&project, ".ai/step-rules.yaml", &rules("touch checked"));
    let refused = project.refused(&["story", "start", "US-005", "--auto"]);
    assert_eq!(refused["code"], "unaccepted_stories", "{refused}");
    project.does(&["trust", "--yes"]);
    project.does(&["story", "start", "US-006", "--auto"]);
    assert_eq!(project.inbox("config"), Vec::<serde_json::Value>::new());
    project.does(&["up", "--until-idle"]);
    assert!(project.root().join("obeyed").exists());
}
