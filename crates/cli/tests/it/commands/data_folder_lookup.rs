//! How a command finds its data folder.

use std::fs;

use serde_json::{Value, json};

use crate::commands::support::{CliOutput, CliProject, adjutant, run};

/// Makes two projects that their tasks tell apart.
fn two() -> (CliProject, CliProject) {
    let (one, other) = (CliProject::new(), CliProject::new());
    one.add(["one"]);
    other.add(["other"]);
    (one, other)
}

fn titles(ran: &CliOutput) -> Vec<String> {
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    let tasks: Vec<Value> = serde_json::from_str(&ran.out).expect("a list of tasks");
    tasks.iter().map(|task| task["title"].as_str().expect("a title").to_owned()).collect()
}

#[test]
fn data_option_beats_environment_beats_working_folder() {
    let (here, there) = two();
    let list = |named: Option<&CliProject>, environment: Option<&CliProject>| {
        let mut command = here.command(["task", "list", "--json"]);
        if let Some(project) = named {
            command.arg("--data").arg(project.path(""));
        }
        if let Some(project) = environment {
            command.env("ADJUTANT_DATA", project.path(""));
        }
        titles(&run(&mut command))
    };
    assert_eq!(list(None, None), ["one"]);
    assert_eq!(list(None, Some(&there)), ["other"]);
    assert_eq!(list(Some(&here), Some(&there)), ["one"]);
}

#[test]
fn data_folder_is_found_by_walking_up() {
    let (project, _) = two();
    let deep = project.home().join("src/deep/er");
    fs::create_dir_all(&deep).expect("a folder");
    let ran = run(adjutant().current_dir(&deep).args(["task", "list", "--json"]));
    assert_eq!(titles(&ran), ["one"]);
}

#[test]
fn data_option_accepts_project_folder() {
    let (project, _) = two();
    let ran = run(adjutant().args(["task", "list", "--json", "--data"]).arg(project.home()));
    assert_eq!(titles(&ran), ["one"]);
}

#[test]
fn data_variable_that_is_empty_is_ignored() {
    let (project, _) = two();
    let ran = run(project.command(["task", "list", "--json"]).env("ADJUTANT_DATA", ""));
    assert_eq!(titles(&ran), ["one"]);
}

#[test]
fn data_folder_missing_makes_every_command_suggest_init() {
    let nowhere = tempfile::tempdir().expect("a temporary folder");
    let commands: [&[&str]; 11] = [
        &["task", "add", "x"],
        &["task", "list"],
        &["task", "show", "TASK-2026-02-09-001"],
        &["task", "edit", "TASK-2026-02-09-001", "--title", "x"],
        &["task", "move", "TASK-2026-02-09-001", "ready"],
        &["approve", "TASK-2026-02-09-001"],
        &["reject", "TASK-2026-02-09-001", "--reason", "x"],
        &["send"],
        &["session-end"],
        &["events"],
        &["doctor"],
    ];
    for args in commands {
        let ran = run(adjutant().current_dir(nowhere.path()).args(args));
        let folder = nowhere.path().display();
        let err = format!(
            "error: there is no .adjutant folder in {folder} or above it\n\
             hint: `adjutant init` creates one here\n"
        );
        assert_eq!(ran, CliOutput { code: 2, out: String::new(), err }, "{args:?}");
    }
}

#[test]
fn data_option_must_name_data_folder() {
    let nowhere = tempfile::tempdir().expect("a temporary folder");
    let check = |data: &str, message: String| {
        let ran = run(adjutant().args(["task", "list", "--json", "--data", data]));
        let hint = "`adjutant init` creates one here";
        let error = json!({
            "code": "no_data_folder", "message": message, "causes": [], "hint": hint,
        });
        assert_eq!((ran.code, &*ran.err), (2, ""), "{ran:?}");
        assert_eq!(crate::commands::support::document(&ran.out), json!({ "error": error }));
    };
    let data = nowhere.path().display().to_string();
    check(&data, format!("{data} is not a data folder: it has no tasks folder"));
    check(&format!("{data}/no"), format!("there is no data folder at {data}/no"));
}
