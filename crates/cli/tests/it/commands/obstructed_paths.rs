//! Files and folders at paths where Adjutant wants to write.
//!
//! Agents can create them. Adjutant moves them aside, and no message can make a data folder that
//! cannot be opened any more.

use std::fs;

use adjutant_model::Status;
use serde_json::json;

use crate::commands::support::{CliProject, completion, document, example, progress};

const PARENT: &str = "TASK-2026-02-09-057";
const CHILD: &str = "TASK-2026-02-09-061";

/// Makes a folder with an obstacle, then checks that a report, a handoff and a rejection all apply.
fn check(what: &str, prepare: impl Fn(&CliProject)) {
    let project = CliProject::foreign();
    project.task(PARENT, Status::InProgress, "routing:\n  agent: swe-backend\n");
    project.task(CHILD, Status::Ready, "routing:\n  agent: swe-backend\n");
    project.does(["task", "list"]);
    prepare(&project);
    let handoff = project.send(example(5).as_bytes());
    assert_eq!((handoff.0, &handoff.1["result"]), (0, &json!("applied")), "{what}");
    let report = project.send(completion(PARENT, "swe-backend", "done").to_string().as_bytes());
    assert_eq!((report.0, &report.1["status"]), (0, &json!("review")), "{what}");
    let result = project.read(&format!("runs/{PARENT}/run_result.json"));
    assert_eq!(document(&result)["outcome"], "done", "{what}");
    let given = project.read(&format!("tasks/ready/{CHILD}/inputs/handoff.json"));
    assert_eq!(document(&given)["parentTaskId"], PARENT, "{what}");
    assert_eq!(project.does(["doctor"]), "no problems found\n", "{what}");
    project.does(["reject", PARENT, "--reason", "again"]);
    let aside = format!("runs/{PARENT}/attempts/1/run_result.json");
    assert!(project.path(&aside).is_file(), "{what}");
    let (code, _) = project.send(progress(PARENT, "swe-backend", "x").to_string().as_bytes());
    assert_eq!(code, 0, "{what}: and work goes on");
}

#[test]
fn free_paths_accept_report_and_handoff() {
    check("nothing", |_| {});
}

#[test]
fn folder_at_run_result_path_is_moved_aside() {
    check("a folder called run_result.json", |project| {
        project.write(&format!("runs/{PARENT}/run_result.json/inside"), "kept");
    });
}

#[test]
fn file_at_run_folder_path_is_moved_aside() {
    check("a file called like the task", |project| {
        project.write(&format!("runs/{PARENT}"), "kept");
    });
}

#[test]
fn file_at_companion_folder_path_is_moved_aside() {
    check("a file called like the child", |project| {
        project.write(&format!("tasks/ready/{CHILD}"), "kept");
    });
}

#[test]
fn file_at_inputs_folder_path_is_moved_aside() {
    check("a file called inputs", |project| {
        project.write(&format!("tasks/ready/{CHILD}/inputs"), "kept");
    });
}

#[test]
fn folder_at_handoff_path_is_moved_aside() {
    check("a folder called handoff.json", |project| {
        project.write(&format!("tasks/ready/{CHILD}/inputs/handoff.json/inside"), "kept");
    });
}

#[test]
fn file_at_attempts_folder_path_is_moved_aside() {
    check("a file called attempts", |project| {
        project.write(&format!("runs/{PARENT}/attempts"), "kept");
    });
}

#[test]
fn companion_folder_at_move_target_does_not_block_move() {
    check("a companion folder in review", |project| {
        project.write(&format!("tasks/review/{PARENT}/outputs/theirs"), "kept");
        project.write(&format!("tasks/in-progress/{PARENT}/outputs/own"), "kept");
    });
}

#[test]
fn obstructing_folder_is_kept_in_lost_and_found() {
    let project = CliProject::foreign();
    project.task(PARENT, Status::InProgress, "");
    project.write(&format!("runs/{PARENT}/run_result.json/inside"), "kept");
    let report = completion(PARENT, "swe-backend", "done").to_string();
    assert_eq!(project.send(report.as_bytes()).0, 0);
    let kept: Vec<String> = fs::read_dir(project.path("lost+found"))
        .expect("there is such a folder")
        .map(|entry| entry.expect("it reads").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(kept, [format!("runs-{PARENT}-run_result.json.1")]);
    let inside = format!("lost+found/{}/inside", kept[0]);
    assert_eq!(project.read(&inside), "kept");
    let inbox = project.json(["inbox"]);
    let items = inbox.as_array().expect("a list").iter();
    let lost: Vec<_> = items.filter(|item| item["kind"] == "lost_file").collect();
    let [item] = lost[..] else { panic!("one item of {inbox:#}") };
    let text = item["text"].as_str().expect("a text");
    assert!(text.contains(&kept[0]) && text.contains("less "), "{text}");
    fs::remove_dir_all(project.path(&format!("lost+found/{}", kept[0]))).expect("it goes");
    let inbox = project.json(["inbox"]).to_string();
    assert!(!inbox.contains("lost_file"), "{inbox}");
}
