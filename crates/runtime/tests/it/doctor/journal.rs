//! The journal: what is committed and not in the files, and what cannot be read.

use std::fs;

use adjutant_core::{Command, Status};
use adjutant_store::file::doctor::Code;
use adjutant_store::file::read_world;
use adjutant_store::{FileStore, Store as _, StoreError};
use adjutant_testkit::Project;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{operator, send};

use super::{ID, check_in_order, check_listed, examine, found, healthy, mend};

const WAL: &str = "journal/00000001.wal";

#[test]
fn a_commit_that_is_not_in_the_files_is_finished_by_opening_the_folder() {
    let project = healthy();
    let path = format!("tasks/review/{ID}.md");
    let before = project.read(&path);
    let events = project.read("events/2026-02-10.jsonl");
    project.engine().submit_one(send(&progress(ID, "a", "last"))).expect("an answer");
    let after = project.read(&path);
    // As if the process had died right after the commit.
    project.write(&path, &before);
    project.write("events/2026-02-10.jsonl", &events);
    fs::write(project.path("journal/state"), "").expect("a file");
    let finding = examine(&project).swap_remove(0);
    assert_eq!((finding.code, finding.path.as_str()), (Code::JournalPending, "journal"));
    assert!(finding.code.is_fixable());
    assert_eq!(mend(&project), [], "by opening it, not by mending");
    drop(project.engine());
    assert_eq!(found(&project), []);
    assert_eq!(project.read(&path), after);
    check_in_order(&project);
}

/// The text was exchanged and the file not moved yet: that its status is at odds with its folder is
/// no deed of a person's.
#[test]
fn what_a_commit_left_half_done_is_finished_before_anything_is_mended() {
    let project = healthy();
    let events = project.read("events/2026-02-10.jsonl");
    let id = adjutant_core::TaskId::parse(ID).expect("a good id");
    let approve = Command::Approve { id, note: "good".into() };
    project.engine().submit_one(operator(approve)).expect("an answer");
    let (from, to) = (format!("tasks/review/{ID}"), format!("tasks/done/{ID}"));
    let text = project.read(&format!("{to}.md"));
    fs::rename(project.path(&format!("{to}.md")), project.path(&format!("{from}.md")))
        .expect("a move");
    fs::rename(project.path(&to), project.path(&from)).expect("a move");
    project.write("events/2026-02-10.jsonl", &events);
    fs::write(project.path("journal/state"), "").expect("a file");
    assert!(found(&project).iter().any(|(code, _)| *code == Code::JournalPending));
    assert_eq!(mend(&project), []);
    assert_eq!(project.read(&format!("{to}.md")), text);
    assert!(!project.has(&format!("{from}.md")));
    let version = project.engine().store().version();
    assert_eq!(project.engine().store().version(), version, "nothing is taken for an edit");
    check_in_order(&project);
}

#[test]
fn a_journal_damaged_in_the_middle_is_listed_and_stops_the_folder_from_opening() {
    let project = healthy();
    let mut bytes = fs::read(project.path(WAL)).expect("a journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(project.path(WAL), &bytes).expect("a file");
    fs::remove_file(project.path("journal/index")).expect("an index");
    let finding = check_listed(&project, Code::JournalDamaged, WAL);
    assert!(finding.text.contains("is damaged, and good ones follow"), "{}", finding.text);
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
fn a_last_commit_that_was_never_finished_is_nothing() {
    let project = healthy();
    let mut bytes = fs::read(project.path(WAL)).expect("a journal");
    bytes.extend(b"12345678 {\"version\":99,\"da");
    fs::write(project.path(WAL), &bytes).expect("a file");
    check_in_order(&project);
}

#[test]
fn a_folder_that_was_never_opened_can_be_looked_at() {
    let project = Project::new();
    project.task(ID, Status::Ready, "");
    fs::remove_dir_all(project.path("journal")).expect("a folder");
    assert_eq!(found(&project), []);
    assert!(!project.has("journal"), "a look changes nothing");
    assert_eq!(mend(&project), []);
    check_in_order(&project);
}

/// As in a folder that may only be read.
#[test]
fn a_look_makes_no_file_that_is_missing() {
    let project = healthy();
    fs::remove_file(project.path("journal/state")).expect("a marker");
    fs::remove_file(project.path("journal/lock")).expect("a lock");
    assert_eq!(found(&project), [(Code::JournalPending, "journal".to_owned())]);
    read_world(project.folder()).expect("a look");
    assert!(!project.has("journal/state") && !project.has("journal/lock"));
    drop(project.engine());
    check_in_order(&project);
}
