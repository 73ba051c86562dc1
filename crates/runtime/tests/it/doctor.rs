//! `doctor` lists what is wrong, `doctor --fix` mends what can be mended, and nothing is lost.

mod journal;
mod record;
mod tasks;

use std::fs;
use std::path::Path;

use adjutant_core::command::Start;
use adjutant_core::{Command, Status};
use adjutant_runtime::Request;
use adjutant_store::file::doctor::{self, Code, Finding, Mended};
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{add, id_of, operator, send};

const ID: &str = "TASK-2026-02-09-001";
const OTHER: &str = "TASK-2026-02-09-002";

/// A project in which things have happened, at rest and in order.
fn healthy() -> Project {
    let project = Project::new();
    let mut engine = project.engine();
    for title in ["One", "Two", "Three"] {
        engine.submit_one(add(title, Start::Ready)).expect("added");
    }
    for message in [handoff(OTHER, ID, "a", "b"), progress(ID, "a", "half")] {
        engine.submit_one(send(&message)).expect("an answer");
    }
    project.clock.set("2026-02-10T09:00:00.000Z");
    let id = adjutant_core::TaskId::parse(ID).expect("a good id");
    let start = Command::Move { id, to: Status::InProgress, reason: "go".into() };
    engine.submit_one(operator(start)).expect("moved");
    for message in [completion(ID, "a", "done"), progress(ID, "a", "more")] {
        engine.submit_one(send(&message)).expect("an answer");
    }
    project.write(&format!("tasks/review/{ID}/outputs/summary.md"), "Done.\n");
    engine.rest().expect("at rest");
    project
}

fn examine(project: &Project) -> Vec<Finding> {
    doctor::examine(project.folder()).expect("a look at everything")
}

fn mend(project: &Project) -> Vec<Mended> {
    doctor::mend(project.folder()).expect("what can be mended is")
}

/// Returns code and place of every finding.
fn found(project: &Project) -> Vec<(Code, String)> {
    examine(project).into_iter().map(|finding| (finding.code, finding.path)).collect()
}

/// Lists exactly one thing, mends it, and is in order then.
fn check_mended(project: &Project, code: Code, path: &str) -> String {
    assert_eq!(found(project), [(code, path.to_owned())]);
    assert!(code.is_fixable());
    let mended = mend(project);
    assert_eq!(mended.len(), 1, "{mended:?}");
    assert_eq!((mended[0].finding.code, mended[0].finding.path.as_str()), (code, path));
    check_in_order(project);
    mended[0].done.clone()
}

/// Lists exactly one thing, cannot mend it, and leaves everything as it is.
fn check_listed(project: &Project, code: Code, path: &str) -> Finding {
    let before = everything(project);
    assert_eq!(found(project), [(code, path.to_owned())]);
    assert!(!code.is_fixable());
    assert_eq!(mend(project), []);
    assert_eq!(everything(project), before);
    examine(project).swap_remove(0)
}

/// Nothing is wrong, nothing is mended, and an engine works on it.
fn check_in_order(project: &Project) {
    assert_eq!(found(project), []);
    assert_eq!(mend(project), []);
    let mut engine = project.engine();
    let id = id_of(&engine.submit_one(add("New", Start::Ready)).expect("added"));
    engine.submit_one(send(&progress(id.as_str(), "a", "on"))).expect("an answer");
    engine.submit_one(Request::SessionEnd(None)).expect("an answer");
    engine.rest().expect("at rest");
    assert_eq!(found(project), []);
}

/// Every file in the data folder, with what it says.
fn everything(project: &Project) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    collect(project.folder().root(), &mut files);
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn a_healthy_folder_has_no_findings() {
    check_in_order(&healthy());
    check_in_order(&Project::new());
}

#[test]
fn a_look_changes_nothing() {
    let project = healthy();
    project.write("tasks/ready/notes.md", "x");
    project.write(&format!("tasks/done/{ID}.md"), "broken");
    let before = everything(&project);
    assert!(!examine(&project).is_empty());
    assert_eq!(everything(&project), before);
}

#[test]
fn several_things_are_mended_at_once() {
    let project = healthy();
    let copy = project.read(&format!("tasks/review/{ID}.md"));
    project.write(&format!("tasks/blocked/{ID}.md"), &copy.replace("status: review", "status: x"));
    project.write(&format!("tasks/blocked/{ID}/work/notes.md"), "Notes.\n");
    project.write(&format!("tasks/ready/{OTHER}.md.tmp"), "half");
    let third = "tasks/ready/TASK-2026-02-09-003.md";
    project.write(third, &project.read(third).replace("status: ready", "status: done"));
    let mut codes: Vec<Code> = mend(&project).iter().map(|mended| mended.finding.code).collect();
    codes.sort();
    let expected = [
        Code::TaskInTwoFolders,
        Code::StatusAtOdds,
        Code::OrphanCompanion,
        Code::LeftoverTemporary,
    ];
    assert_eq!(codes, expected);
    assert_eq!(project.folders_of(ID), [Status::Review]);
    let lost = |name: &str| project.read(&format!("lost+found/{name}"));
    assert!(lost(&format!("tasks-blocked-{ID}.md.1")).contains("status: x"));
    assert_eq!(lost(&format!("tasks-blocked-{ID}.1/work/notes.md")), "Notes.\n");
    assert_eq!(lost(&format!("tasks-ready-{OTHER}.md.tmp.1")), "half");
    check_in_order(&project);
}
