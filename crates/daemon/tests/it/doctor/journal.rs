//! The journal: commits that are not in the files yet, and entries that cannot be read.

use std::fs;

use adjutant_model::{Command, Status};
use adjutant_store::file::doctor::FindingCode;
use adjutant_store::file::read_world;
use adjutant_store::{FileStore, Store as _, StoreError};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{message_request, operator_request};

use super::{ID, check_in_order, check_listed, examine, healthy_project, list_findings, mend};

const WAL: &str = "journal/00000001.wal";

#[test]
fn commit_missing_from_files_is_finished_by_opening() {
    let project = healthy_project();
    let path = format!("tasks/review/{ID}.md");
    let before = project.read(&path);
    let events = project.read("events/2026-02-10.jsonl");
    project
        .open_engine()
        .submit_one(message_request(&progress(ID, "a", "last")))
        .expect("an answer");
    let after = project.read(&path);
    // Simulates a process that died right after the commit.
    project.write(&path, &before);
    project.write("events/2026-02-10.jsonl", &events);
    fs::write(project.path("journal/state"), "").expect("a file");
    let finding = examine(&project).swap_remove(0);
    assert_eq!((finding.code, finding.path.as_str()), (FindingCode::JournalPending, "journal"));
    assert!(finding.code.is_fixable());
    assert_eq!(mend(&project), [], "by opening it, not by mending");
    drop(project.open_engine());
    assert_eq!(list_findings(&project), []);
    assert_eq!(project.read(&path), after);
    check_in_order(&project);
}

/// The text was exchanged and the file not moved yet: the difference between its status and its
/// folder is not an edit by a person.
#[test]
fn commit_half_done_is_finished_before_doctor_repairs() {
    let project = healthy_project();
    let events = project.read("events/2026-02-10.jsonl");
    let id = adjutant_model::TaskId::parse(ID).expect("a good id");
    let approve = Command::Approve { id, note: "good".into() };
    project.open_engine().submit_one(operator_request(approve)).expect("an answer");
    let (from, to) = (format!("tasks/review/{ID}"), format!("tasks/done/{ID}"));
    let text = project.read(&format!("{to}.md"));
    fs::rename(project.path(&format!("{to}.md")), project.path(&format!("{from}.md")))
        .expect("a move");
    fs::rename(project.path(&to), project.path(&from)).expect("a move");
    project.write("events/2026-02-10.jsonl", &events);
    fs::write(project.path("journal/state"), "").expect("a file");
    assert!(list_findings(&project).iter().any(|(code, _)| *code == FindingCode::JournalPending));
    assert_eq!(mend(&project), []);
    assert_eq!(project.read(&format!("{to}.md")), text);
    assert!(!project.exists(&format!("{from}.md")));
    let version = project.open_engine().store().version();
    assert_eq!(project.open_engine().store().version(), version, "nothing is taken for an edit");
    check_in_order(&project);
}

#[test]
fn journal_damaged_in_the_middle_is_listed_and_blocks_opening() {
    let project = healthy_project();
    let mut bytes = fs::read(project.path(WAL)).expect("a journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(project.path(WAL), &bytes).expect("a file");
    fs::remove_file(project.path("journal/index")).expect("an index");
    let finding = check_listed(&project, FindingCode::JournalDamaged, WAL);
    assert!(finding.text.contains("is damaged, and valid ones follow it"), "{}", finding.text);
    match FileStore::open(project.folder()) {
        Err(StoreError::Damaged { what, .. }) => {
            assert!(what.contains("adjutant doctor"), "{what}");
        }
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it opened"),
    }
    bytes[middle] ^= 1;
    fs::write(project.path(WAL), &bytes).expect("a file");
    check_in_order(&project);
}

#[test]
fn journal_torn_last_entry_is_ignored() {
    let project = healthy_project();
    let mut bytes = fs::read(project.path(WAL)).expect("a journal");
    bytes.extend(b"12345678 {\"version\":99,\"da");
    fs::write(project.path(WAL), &bytes).expect("a file");
    check_in_order(&project);
}

#[test]
fn doctor_examines_folder_that_was_never_opened() {
    let project = TestProject::new();
    project.write_task(ID, Status::Ready, "");
    fs::remove_dir_all(project.path("journal")).expect("a folder");
    assert_eq!(list_findings(&project), []);
    assert!(!project.exists("journal"), "a look changes nothing");
    assert_eq!(mend(&project), []);
    check_in_order(&project);
}

/// As in a folder that may only be read.
#[test]
fn doctor_examine_creates_no_missing_files() {
    let project = healthy_project();
    fs::remove_file(project.path("journal/state")).expect("a marker");
    fs::remove_file(project.path("journal/lock")).expect("a lock");
    assert_eq!(list_findings(&project), [(FindingCode::JournalPending, "journal".to_owned())]);
    read_world(project.folder()).expect("a look");
    assert!(!project.exists("journal/state") && !project.exists("journal/lock"));
    drop(project.open_engine());
    check_in_order(&project);
}
