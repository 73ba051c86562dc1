//! `doctor` lists problems, `doctor --fix` repairs those it can, and no data is lost.

mod event_log;
mod journal;
mod tasks;

use std::fs;
use std::path::Path;

use adjutant_engine::Request;
use adjutant_model::command::InitialStatus;
use adjutant_model::{Command, Status};
use adjutant_store::file::doctor::{self, DoctorFinding, DoctorRepair, FindingCode};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};

const ID: &str = "TASK-2026-02-09-001";
const OTHER: &str = "TASK-2026-02-09-002";

/// A project with some history, at rest and without problems.
fn healthy_project() -> TestProject {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    for title in ["One", "Two", "Three"] {
        engine.submit_one(add_request(title, InitialStatus::Ready)).expect("added");
    }
    for message in [handoff(OTHER, ID, "a", "b"), progress(ID, "a", "half")] {
        engine.submit_one(message_request(&message)).expect("an answer");
    }
    project.clock.set("2026-02-10T09:00:00.000Z");
    let id = adjutant_model::TaskId::parse(ID).expect("a good id");
    let start = Command::Move { id, to: Status::InProgress, reason: "go".into() };
    engine.submit_one(operator_request(start)).expect("moved");
    for message in [completion(ID, "a", "done"), progress(ID, "a", "more")] {
        engine.submit_one(message_request(&message)).expect("an answer");
    }
    project.write(&format!("tasks/review/{ID}/outputs/summary.md"), "Done.\n");
    engine.rest().expect("at rest");
    project
}

fn examine(project: &TestProject) -> Vec<DoctorFinding> {
    doctor::examine(project.folder()).expect("a look at everything")
}

fn mend(project: &TestProject) -> Vec<DoctorRepair> {
    doctor::repair(project.folder()).expect("what can be mended is")
}

/// Returns code and path of every finding.
fn list_findings(project: &TestProject) -> Vec<(FindingCode, String)> {
    examine(project).into_iter().map(|finding| (finding.code, finding.path)).collect()
}

/// Expects exactly this finding, repairs it, and expects a healthy folder.
fn check_mended(project: &TestProject, code: FindingCode, path: &str) -> String {
    assert_eq!(list_findings(project), [(code, path.to_owned())]);
    assert!(code.is_fixable());
    let mended = mend(project);
    assert_eq!(mended.len(), 1, "{mended:?}");
    assert_eq!((mended[0].finding.code, mended[0].finding.path.as_str()), (code, path));
    check_in_order(project);
    mended[0].done.clone()
}

/// Expects exactly this finding, which cannot be repaired, and that nothing changes.
fn check_listed(project: &TestProject, code: FindingCode, path: &str) -> DoctorFinding {
    let before = all_files(project);
    assert_eq!(list_findings(project), [(code, path.to_owned())]);
    assert!(!code.is_fixable());
    assert_eq!(mend(project), []);
    assert_eq!(all_files(project), before);
    examine(project).swap_remove(0)
}

/// Expects no findings and no repairs, and that an engine works on the folder.
fn check_in_order(project: &TestProject) {
    assert_eq!(list_findings(project), []);
    assert_eq!(mend(project), []);
    let mut engine = project.open_engine();
    let id =
        task_id_of(&engine.submit_one(add_request("New", InitialStatus::Ready)).expect("added"));
    engine.submit_one(message_request(&progress(id.as_str(), "a", "on"))).expect("an answer");
    engine.submit_one(Request::SessionEnd(None)).expect("an answer");
    engine.rest().expect("at rest");
    assert_eq!(list_findings(project), []);
}

/// Returns every file in the data folder, with its content.
fn all_files(project: &TestProject) -> Vec<(String, Vec<u8>)> {
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
fn doctor_finds_nothing_in_healthy_folder() {
    check_in_order(&healthy_project());
    check_in_order(&TestProject::new());
}

#[test]
fn doctor_examine_changes_nothing() {
    let project = healthy_project();
    project.write("tasks/ready/notes.md", "x");
    project.write(&format!("tasks/done/{ID}.md"), "broken");
    let before = all_files(&project);
    assert!(!examine(&project).is_empty());
    assert_eq!(all_files(&project), before);
}

#[test]
fn doctor_repairs_several_problems_at_once() {
    let project = healthy_project();
    let copy = project.read(&format!("tasks/review/{ID}.md"));
    project.write(&format!("tasks/blocked/{ID}.md"), &copy.replace("status: review", "status: x"));
    project.write(&format!("tasks/blocked/{ID}/work/notes.md"), "Notes.\n");
    project.write(&format!("tasks/ready/{OTHER}.md.tmp"), "half");
    let third = "tasks/ready/TASK-2026-02-09-003.md";
    project.write(third, &project.read(third).replace("status: ready", "status: done"));
    let mut codes: Vec<FindingCode> =
        mend(&project).iter().map(|mended| mended.finding.code).collect();
    codes.sort();
    let expected = [
        FindingCode::TaskInTwoFolders,
        FindingCode::StatusAtOdds,
        FindingCode::OrphanCompanion,
        FindingCode::LeftoverTemporary,
    ];
    assert_eq!(codes, expected);
    assert_eq!(project.status_folders_of(ID), [Status::Review]);
    let lost = |name: &str| project.read(&format!("lost+found/{name}"));
    assert!(lost(&format!("tasks-blocked-{ID}.md.1")).contains("status: x"));
    assert_eq!(lost(&format!("tasks-blocked-{ID}.1/work/notes.md")), "Notes.\n");
    assert_eq!(lost(&format!("tasks-ready-{OTHER}.md.tmp.1")), "half");
    check_in_order(&project);
}
