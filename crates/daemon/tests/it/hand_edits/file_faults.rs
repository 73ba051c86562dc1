//! A fault with the files of one task puts that task on hold, and nothing else.

use std::fs;

use adjutant_core::schedule::{AttentionKind, inbox};
use adjutant_engine::{EngineRequest, Request};
use adjutant_model::command::InitialStatus;
use adjutant_model::{AnswerVerdict, Command, Reason, Status, TaskId, Time};
use adjutant_store::file::doctor::{self, FindingCode};
use adjutant_testkit::TestProject;
use adjutant_testkit::locked_path::LockedPath;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add_request, message_request, operator_request};

use super::{HandEditFixture, ID, OTHER, file};

fn id() -> TaskId {
    TaskId::parse(ID).expect("a good id")
}

fn two_tasks() -> HandEditFixture {
    HandEditFixture::open(|project| {
        project.write_task(ID, Status::InProgress, "");
        project.write_task(OTHER, Status::InProgress, "");
        project.write(&format!("tasks/in-progress/{ID}/outputs/summary.md"), "mine\n");
        project.write(&format!("runs/{ID}/attempts/1/output.log"), "a line\n");
    })
}

fn report(id: &str) -> EngineRequest {
    message_request(&completion(id, "a", "done"))
}

fn codes(project: &TestProject) -> Vec<FindingCode> {
    let findings = doctor::examine(project.folder()).expect("a look");
    findings.into_iter().map(|finding| finding.code).collect()
}

fn is_on_hold(desk: &mut HandEditFixture) -> bool {
    let world = desk.engine().world();
    let items = inbox(world, Time::from_millis(0));
    let listed = items.iter().any(|item| item.kind == AttentionKind::OnHold && item.task == id());
    assert_eq!(listed, world.file_fault(&id()).is_some(), "the inbox shows every hold");
    listed
}

/// Checks that both reports of one batch count although the files of one task cannot be changed at
/// `path`, that the rest of the project continues, also after a restart, and that the task's files
/// catch up once the fault is gone.
fn check_reports_with_locked(path: &str) {
    let mut desk = two_tasks();
    let Some(lock) = LockedPath::new(&desk.project.path(path)) else { return };
    let answers = desk.engine().submit(&[report(ID), report(OTHER)]).expect("two answers");
    for answered in &answers {
        assert_eq!(answered.answer.verdict, AnswerVerdict::Applied, "{path}");
    }
    assert_eq!(desk.project.status_folders_of(OTHER), [Status::Review], "{path}");
    assert_eq!(desk.project.status_folders_of(ID), [Status::InProgress], "{path}: it stays");
    assert!(is_on_hold(&mut desk), "{path}");
    for rest in [false, true] {
        if rest {
            desk.engine().rest().expect("at rest");
        }
        desk.engine = None;
        assert!(is_on_hold(&mut desk), "{path}: after a restart");
        let added = desk.engine().submit_one(add_request("Another", InitialStatus::Ready));
        assert_eq!(added.expect("an answer").answer.verdict, AnswerVerdict::Applied, "{path}");
        desk.engine().check_all_files().expect("a look around");
        assert_eq!(desk.status(ID), Some(Status::Review), "{path}: the report counts");
    }
    let later = message_request(&progress(ID, "a", "one more thing"));
    desk.engine().submit_one(later).expect("an answer");
    assert_eq!(codes(&desk.project), [FindingCode::TaskOnHold], "{path}");
    let read = adjutant_store::file::read_world(desk.project.folder()).expect("a reader");
    assert_eq!(read.task(&id()), desk.engine().world().task(&id()), "{path}: readers see it");
    assert!(read.file_fault(&id()).is_some(), "{path}: readers see the hold");
    drop(lock);
    desk.engine().check_all_files().expect("a look around");
    assert!(!is_on_hold(&mut desk), "{path}: the cause is gone");
    assert_eq!(desk.project.status_folders_of(ID), [Status::Review], "{path}");
    let text = desk.project.read(&file(Status::Review, ID));
    assert!(text.contains("one more thing"), "{path}: {text}");
    let result = desk.project.read(&format!("runs/{ID}/run_result.json"));
    assert!(result.contains("\"done\""), "{path}: {result}");
    let summary = desk.project.read(&format!("tasks/review/{ID}/outputs/summary.md"));
    assert_eq!(summary, "mine\n", "{path}");
    desk.engine().rest().expect("at rest");
    assert_eq!(codes(&desk.project), [], "{path}");
    let told = desk.new_events_short();
    let by_hand = told.iter().filter(|told| told.contains("by hand") || told.contains("edited"));
    assert_eq!(by_hand.count(), 0, "{path}: nothing looks like an edit: {told:?}");
}

#[test]
fn unmovable_companion_folder_holds_its_task_alone() {
    check_reports_with_locked(&format!("tasks/in-progress/{ID}"));
}

#[test]
fn unwritable_task_file_holds_its_task_alone() {
    check_reports_with_locked(&format!("tasks/in-progress/{ID}.md"));
}

#[test]
fn task_on_hold_refuses_commands_with_the_fix_and_starts_no_run() {
    let mut desk = HandEditFixture::open(|project| {
        project.write_task(ID, Status::Ready, "");
        project.write(&format!("tasks/ready/{ID}/inputs/notes.md"), "mine\n");
    });
    let Some(lock) = LockedPath::new(&desk.project.path(&format!("tasks/ready/{ID}"))) else {
        return;
    };
    let cancel = || {
        let reason = "no".to_owned();
        operator_request(Command::Cancel { id: id(), reason })
    };
    let refused = desk.engine().submit_one(cancel()).expect("an answer").answer;
    assert_eq!(
        (refused.verdict, refused.reason),
        (AnswerVerdict::Rejected, Some(Reason::TaskOnHold))
    );
    let texts: Vec<&str> = refused.problems.iter().map(|problem| &*problem.message).collect();
    assert_eq!(texts[0], "its folder cannot be moved");
    assert!(texts[1].contains(&format!("tasks/ready/{ID}: ")), "{texts:?}");
    assert!(texts[2].contains("`adjutant doctor --fix`"), "{texts:?}");
    assert_eq!(desk.project.status_folders_of(ID), [Status::Ready]);
    let held =
        adjutant_core::schedule::hold_reasons(desk.engine().world(), &id(), Time::from_millis(0));
    assert_eq!(held[0].code, "on_hold", "{held:?}");
    drop(lock);
    let answered = desk.engine().submit_one(cancel()).expect("an answer").answer;
    assert_eq!(answered.verdict, AnswerVerdict::Applied);
    assert_eq!(desk.project.status_folders_of(ID), [Status::Cancelled]);
}

#[test]
fn unwritable_run_folder_holds_its_task_alone() {
    let mut desk = two_tasks();
    let Some(lock) = LockedPath::new(&desk.project.path(&format!("runs/{ID}"))) else { return };
    let answers = desk.engine().submit(&[report(ID), report(OTHER)]).expect("two answers");
    assert!(answers.iter().all(|it| it.answer.verdict == AnswerVerdict::Applied));
    assert!(is_on_hold(&mut desk));
    desk.engine().submit_one(Request::SessionEnd(None)).expect("an answer");
    drop(lock);
    desk.engine().check_all_files().expect("a look around");
    assert!(!is_on_hold(&mut desk));
    assert!(desk.project.read(&format!("runs/{ID}/run_result.json")).contains("\"done\""));
}

#[test]
fn commit_that_a_crash_interrupted_opens_although_one_task_has_a_fault() {
    let mut desk = two_tasks();
    let companion = desk.project.path(&format!("tasks/in-progress/{ID}"));
    let Some(lock) = LockedPath::new(&companion) else { return };
    desk.engine().submit(&[report(ID), report(OTHER)]).expect("two answers");
    desk.engine = None;
    // As after a kill right behind the journal: nobody wrote down what the files have.
    fs::remove_file(desk.project.path("journal/state")).expect("a marker");
    fs::remove_dir_all(desk.project.path("journal/held")).expect("a folder");
    assert!(is_on_hold(&mut desk));
    assert_eq!(desk.status(ID), Some(Status::Review));
    assert_eq!(desk.project.status_folders_of(ID), [Status::InProgress]);
    assert_eq!(desk.project.status_folders_of(OTHER), [Status::Review]);
    drop(lock);
    desk.engine().check_all_files().expect("a look around");
    assert_eq!(desk.project.status_folders_of(ID), [Status::Review]);
    assert!(!is_on_hold(&mut desk));
}
