//! Which data folder a command works on.

use std::fs;

use serde_json::{Value, json};

use crate::commands::support::{Project, Ran, adjutant, run};

/// Two projects, each with a task that tells them apart.
fn two() -> (Project, Project) {
    let (one, other) = (Project::new(), Project::new());
    one.add(["one"]);
    other.add(["other"]);
    (one, other)
}

fn titles(ran: &Ran) -> Vec<String> {
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    let tasks: Vec<Value> = serde_json::from_str(&ran.out).expect("a list of tasks");
    tasks.iter().map(|task| task["title"].as_str().expect("a title").to_owned()).collect()
}

#[test]
fn the_option_beats_the_environment_beats_the_working_folder() {
    let (here, there) = two();
    let list = |named: Option<&Project>, environment: Option<&Project>| {
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
fn a_folder_is_found_by_walking_up() {
    let (project, _) = two();
    let deep = project.home().join("src/deep/er");
    fs::create_dir_all(&deep).expect("a folder");
    let ran = run(adjutant().current_dir(&deep).args(["task", "list", "--json"]));
    assert_eq!(titles(&ran), ["one"]);
}

#[test]
fn a_project_may_be_named_instead_of_its_data_folder() {
    let (project, _) = two();
    let ran = run(adjutant().args(["task", "list", "--json", "--data"]).arg(project.home()));
    assert_eq!(titles(&ran), ["one"]);
}

#[test]
fn an_empty_variable_names_nothing() {
    let (project, _) = two();
    let ran = run(project.command(["task", "list", "--json"]).env("ADJUTANT_DATA", ""));
    assert_eq!(titles(&ran), ["one"]);
}

#[test]
fn without_a_folder_every_command_says_how_to_make_one() {
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
             hint: `adjutant init` makes one here\n"
        );
        assert_eq!(ran, Ran { code: 2, out: String::new(), err }, "{args:?}");
    }
}

#[test]
fn a_folder_that_was_named_must_be_one() {
    let nowhere = tempfile::tempdir().expect("a temporary folder");
    let check = |data: &str, message: String| {
        let ran = run(adjutant().args(["task", "list", "--json", "--data", data]));
        let hint = "`adjutant init` makes one here";
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
