//! A power cut: the journal is there, and any part of the files that was not yet synced is lost,
//! empty or old. Afterwards everything that was answered is there, and edits by people after the
//! folder came to rest stay as they are.
#![expect(clippy::print_stdout, reason = "the seed is worth knowing")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use adjutant_engine::Engine;
use adjutant_model::command::InitialStatus;
use adjutant_model::{Command as Operation, Status, TaskId};
use adjutant_store::FileStore;
use adjutant_store::file::{DataFolder, synced_paths};
use adjutant_test_support::soak::{CaseSample, is_soak};
use adjutant_testkit::audit::{self, EventLogScope};
use adjutant_testkit::crash::CrashMatrix;
use adjutant_testkit::folder_operation::FolderOperation;
use adjutant_testkit::folder_operation::given::{
    AGENT, BLOCKED_TASK, IN_PROGRESS_TASK, READY_TASK, REVIEW_TASK, set_up_project,
};
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::power_cut::{self, with_another_boot};
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};
use adjutant_testkit::random_request::random_request;
use adjutant_testkit::seeded_rng::SeededRng;
use adjutant_testkit::snapshot::{FolderSnapshot, fast_temp_folder};
use adjutant_testkit::{ManualClock, TestProject, crash_child};

const CHILD: &str = env!("CARGO_BIN_EXE_crash_operation");

/// Operations that come to rest on the way, so that none of their work can be lost.
const SYNCED: [&str; 3] = ["rest", "cut_the_journal", "cut_the_journal_only"];

#[test]
fn power_cut_loses_no_commit() {
    let seed = SeededRng::seed_from_env();
    println!("ADJUTANT_SEED={seed}");
    let times = if is_soak() { 500 } else { 5 };
    let operations = FolderOperation::all()
        .filter(|operation| operation.prepare.is_some() && !SYNCED.contains(&operation.name));
    let sample = CaseSample::one_in(3, seed);
    for (_, operation) in (0..).zip(operations).filter(|(number, _)| sample.includes(*number)) {
        CrashMatrix::for_operation(operation.name, CHILD)
            .cut_the_power(&mut SeededRng::from_seed(seed), times);
    }
}

#[test]
fn power_cut_after_a_long_day_without_rest_loses_nothing() {
    let seed = SeededRng::seed_from_env();
    println!("ADJUTANT_SEED={seed}");
    let days = if is_soak() { 300 } else { 5 };
    for day in 0..days {
        let mut rng = SeededRng::from_seed(seed.wrapping_add(day));
        let (project, _) = project_at_rest();
        let before = long_day(&project, &mut rng);
        let after = FolderSnapshot::of_folder(project.folder().root());
        for cut in 0..8 {
            let left = power_cut::cut_power(&before, &after, &mut rng);
            expect_as_it_was(&left, &after, &format!("seed {seed}, day {day}, cut {cut}"));
        }
    }
}

/// Sends random requests into the next day, with some edits by hand. Returns what is safe from a
/// power cut: the files from before, and the edits by hand.
fn long_day(project: &TestProject, rng: &mut SeededRng) -> FolderSnapshot {
    let mut before = FolderSnapshot::of_folder(project.folder().root());
    let mut engine = project.open_engine();
    for number in 0..30 {
        let tasks: Vec<TaskId> = engine.world().tasks().map(|task| task.id.clone()).collect();
        let count = 1 + rng.below(3);
        let wishes: Vec<_> =
            (0..count).map(|_| random_request(rng, &tasks, AGENT, number)).collect();
        engine.submit(&wishes).expect("answers");
        project.clock.advance_ms(30 * 60 * 1_000);
        if rng.below(8) == 0 {
            edit_by_hand(project, &engine, rng.choose(&tasks), &mut before);
            engine.check_all_files().expect("a look around");
        }
    }
    before
}

fn edit_by_hand(
    project: &TestProject,
    engine: &Engine<FileStore>,
    id: &TaskId,
    before: &mut FolderSnapshot,
) {
    let status = engine.world().task(id).expect("a task").status();
    let path = format!("tasks/{status}/{id}.md");
    let text = project.read(&path) + "\nBy hand.\n";
    project.write(&path, &text);
    before.files.retain(|path, _| !path.ends_with(&format!("{id}.md")));
    before.files.insert(path, text.into_bytes());
}

fn expect_as_it_was(left: &FolderSnapshot, after: &FolderSnapshot, when: &str) {
    let home = fast_temp_folder();
    let root = home.path().join(".adjutant");
    left.write_to(&root);
    let folder = DataFolder::at(&root).expect("a data folder");
    let engine = crash_child::open_engine(&folder, &ManualClock::at("2026-02-11T00:00:00.000Z"));
    let mut now = FolderSnapshot::of_folder(&root).without("journal/");
    now.files.retain(|path, bytes| !path.starts_with("events/") || !bytes.is_empty());
    let differences = after.clone().without("journal/").differences(&now);
    assert!(differences.is_empty(), "{when}:\n{}", differences.join("\n"));
    let problems = audit::find_problems(&folder, engine.world(), EventLogScope::Complete);
    assert!(problems.is_empty(), "{when}: {problems:#?}");
}

/// Simulates a reboot.
fn reboot(project: &TestProject) {
    let path = project.path("journal/state");
    let marker = fs::read(&path).expect("a marker");
    fs::write(&path, with_another_boot(&marker)).expect("a marker");
}

/// Opens a folder after a reboot, checks that it is sound, and returns the new events.
fn events_after_reboot(project: &TestProject, before: usize) -> Vec<String> {
    reboot(project);
    let engine = project.open_engine();
    let problems = audit::find_problems(project.folder(), engine.world(), EventLogScope::Complete);
    assert!(problems.is_empty(), "{problems:#?}");
    project.event_types().split_off(before)
}

fn project_at_rest() -> (TestProject, usize) {
    let project = TestProject::new();
    set_up_project(&project);
    let events_before = project.events().len();
    (project, events_before)
}

fn ready_task_file(project: &TestProject) -> PathBuf {
    project.path(&format!("tasks/ready/{READY_TASK}.md"))
}

#[test]
fn file_removed_at_rest_stays_removed_after_reboot() {
    let (project, before) = project_at_rest();
    fs::remove_file(ready_task_file(&project)).expect("a file");
    assert_eq!(events_after_reboot(&project, before), ["task.removed"]);
    assert_eq!(project.status_folders_of(READY_TASK), []);
}

#[test]
fn file_moved_at_rest_stays_moved_after_reboot() {
    let (project, before) = project_at_rest();
    let to = project.path(&format!("tasks/blocked/{READY_TASK}.md"));
    fs::rename(ready_task_file(&project), to).expect("moved");
    assert_eq!(events_after_reboot(&project, before), ["task.transitioned"]);
    assert_eq!(project.status_folders_of(READY_TASK), [Status::Blocked]);
}

#[test]
fn file_edited_at_rest_stays_edited_after_reboot() {
    let (project, before) = project_at_rest();
    let text =
        fs::read_to_string(ready_task_file(&project)).expect("a task").replace("Mend", "Paint");
    fs::write(ready_task_file(&project), &text).expect("a task");
    assert_eq!(events_after_reboot(&project, before), ["task.edited"]);
    assert_eq!(fs::read_to_string(ready_task_file(&project)).expect("a task"), text);
}

#[test]
fn task_added_and_removed_without_rest_stays_removed() {
    let (project, _) = project_at_rest();
    let mut engine = project.open_engine();
    let id = task_id_of(
        &engine.submit_one(add_request("Short-lived", InitialStatus::Ready)).expect("added"),
    );
    fs::remove_file(project.path(&format!("tasks/ready/{id}.md"))).expect("a file");
    engine.check_all_files().expect("a look around");
    drop(engine);
    let before = project.events().len();
    assert_eq!(events_after_reboot(&project, before), [""; 0]);
    assert_eq!(project.status_folders_of(id.as_str()), []);
}

/// Recovery repeats only the recorded move, and leaves a later run's files in that place alone.
#[test]
fn files_of_a_later_run_are_not_archived_again_after_reboot() {
    let (project, _) = project_at_rest();
    let mut engine = project.open_engine();
    let id = TaskId::parse(REVIEW_TASK).expect("a good id");
    let reject = operator_request(Operation::Reject { id, reason: "Not yet.".into() });
    engine.submit_one(reject).expect("an answer");
    drop(engine);
    let runs = format!("runs/{REVIEW_TASK}");
    let aside = format!("{runs}/attempts/1/run_result.json");
    let old = project.read(&aside);
    project.write(&format!("{runs}/run.json"), "{}\n");
    let events_before = project.events().len();
    assert_eq!(events_after_reboot(&project, events_before), [""; 0]);
    assert_eq!(project.read(&format!("{runs}/run.json")), "{}\n");
    assert_eq!(project.read(&aside), old);
    // If the move was lost, recovery moves the file again.
    fs::rename(project.path(&aside), project.path(&format!("{runs}/run_result.json")))
        .expect("moved");
    assert_eq!(events_after_reboot(&project, events_before), [""; 0]);
    assert_eq!(project.read(&aside), old);
}

/// The journal lacks the text before an edit, so it could not tell a power cut from an edit.
#[test]
fn edits_by_people_are_synced_before_they_are_recorded() {
    let (project, _) = project_at_rest();
    let mut engine = project.open_engine();
    let text = fs::read_to_string(ready_task_file(&project)).expect("a task");
    fs::write(ready_task_file(&project), text + "By hand.\n").expect("a task");
    fs::remove_file(project.path(&format!("tasks/blocked/{BLOCKED_TASK}.md"))).expect("a file");
    let already = synced_paths().len();
    engine.check_all_files().expect("a look around");
    let synced = synced_paths().split_off(already);
    for path in [&format!("tasks/ready/{READY_TASK}.md"), "tasks/ready", "tasks/blocked"] {
        assert!(synced.contains(&project.path(path)), "{path} is not in {synced:?}");
    }
}

/// Everything else is restored from the journal, so a commit is synced before it is answered. The
/// first commit also syncs what other processes may have written.
#[test]
fn journal_is_synced_before_every_answer() {
    let (project, _) = project_at_rest();
    let mut engine = project.open_engine();
    for text in ["first", "second", "third"] {
        let already = synced_paths().len();
        submit_progress(&mut engine, text);
        let synced = synced_paths().split_off(already);
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "wal");
        assert!(synced.iter().any(is_journal), "{text}: the journal is not in {synced:?}");
    }
}

#[test]
fn imported_runs_are_synced_at_once() {
    let project = TestProject::new();
    project.write(&format!("state/runs/{READY_TASK}/run_result.json"), "{}\n");
    let already = synced_paths().len();
    drop(project.open_engine());
    assert!(project.exists(&format!("runs/{READY_TASK}/run_result.json")));
    let synced = synced_paths().split_off(already);
    for folder in ["runs", "state/runs"] {
        assert!(synced.contains(&project.path(folder)), "{folder} is not in {synced:?}");
    }
}

fn submit_progress(engine: &mut Engine<FileStore>, text: &str) {
    engine
        .submit_one(message_request(&progress(IN_PROGRESS_TASK, AGENT, text)))
        .expect("an answer");
}

/// A process that knows less must not undo what another has synced.
#[test]
fn sync_by_one_process_is_not_undone_by_another() {
    let (project, _) = project_at_rest();
    let mut one = project.open_engine();
    let mut other = project.open_engine();
    let id = TaskId::parse(READY_TASK).expect("a good id");
    let to = Status::InProgress;
    let started = Operation::Move { id, to, reason: "start".into() };
    one.submit_one(operator_request(started)).expect("started");
    one.rest().expect("at rest");
    submit_progress(&mut other, "half");
    drop((one, other));
    let before = project.events().len();
    fs::remove_file(project.path(&format!("tasks/in-progress/{READY_TASK}.md"))).expect("a file");
    assert_eq!(events_after_reboot(&project, before), ["task.removed"]);
    assert_eq!(project.status_folders_of(READY_TASK), []);
    assert!(project.read(&format!("tasks/in-progress/{IN_PROGRESS_TASK}.md")).contains("half"));
}

/// Returns everything in the folder that has changed and was not synced since.
fn unsynced(project: &TestProject, before: &FolderSnapshot, synced: &[PathBuf]) -> Vec<String> {
    let root = project.folder().root();
    let synced: BTreeSet<&Path> = synced.iter().map(PathBuf::as_path).collect();
    let after = FolderSnapshot::of_folder(root).without("journal/");
    // Files that existed before and only moved were synced then.
    let written = |(path, bytes): &(&String, &Vec<u8>)| {
        before.files.get(*path) != Some(bytes) && !before.files.values().any(|old| old == *bytes)
    };
    let changed = after.files.iter().filter(written).map(|(path, _)| path);
    let with_folders = changed.flat_map(|path| Path::new(path).ancestors());
    let there = with_folders.filter(|path| root.join(path).exists());
    let missed: BTreeSet<&Path> =
        there.filter(|path| !synced.contains(&*root.join(path))).collect();
    if synced.contains(&*root.join("*")) {
        return vec![];
    }
    missed.into_iter().map(|path| path.display().to_string()).collect()
}

fn run_in_another_process(project: &TestProject, operation: &str) {
    let ran = Command::new(CHILD).arg(project.home()).arg(operation).output().expect("a child");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Lets one process do an operation and another come to rest; returns what is not synced then.
fn left_unsynced(
    operation: &str,
    open: impl Fn(&TestProject, &dyn Fn()) -> Engine<FileStore>,
) -> Vec<String> {
    let (project, _) = project_at_rest();
    (FolderOperation::by_name(operation).edit_by_hand)(project.folder().root());
    let before = FolderSnapshot::of_folder(project.folder().root()).without("journal/");
    let mut engine = open(&project, &|| run_in_another_process(&project, operation));
    let already = synced_paths().len();
    engine.rest().expect("at rest");
    unsynced(&project, &before, &synced_paths()[already..])
}

#[test]
fn rest_syncs_what_other_processes_wrote() {
    let opened_later = |project: &TestProject, act: &dyn Fn()| {
        act();
        project.open_engine()
    };
    let open_before = |project: &TestProject, act: &dyn Fn()| {
        let engine = project.open_engine();
        act();
        engine
    };
    let operations = ["group", "handoff_accepted", "session_end", "cross_midnight_and_back"];
    for operation in operations {
        assert_eq!(left_unsynced(operation, opened_later), [""; 0], "{operation}, opened later");
        assert_eq!(left_unsynced(operation, open_before), [""; 0], "{operation}, open before");
    }
}

#[test]
fn companion_folder_that_moved_is_synced_at_its_new_place() {
    let (project, _) = project_at_rest();
    let before = FolderSnapshot::of_folder(project.folder().root()).without("journal/");
    let mut engine = project.open_engine();
    let handoff = adjutant_testkit::message::handoff(READY_TASK, IN_PROGRESS_TASK, AGENT, "swe-qa");
    engine.submit_one(message_request(&handoff)).expect("an answer");
    engine
        .submit_one(message_request(&completion(READY_TASK, "swe-qa", "blocked")))
        .expect("an answer");
    assert!(project.exists(&format!("tasks/blocked/{READY_TASK}/inputs/handoff.json")));
    let already = synced_paths().len();
    engine.rest().expect("at rest");
    assert_eq!(unsynced(&project, &before, &synced_paths()[already..]), [""; 0]);
}
