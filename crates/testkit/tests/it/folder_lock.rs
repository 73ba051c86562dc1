//! Exclusive access to the folder when the lock, the journal or the lock's holder goes away.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use adjutant_engine::{Engine, EngineRequest};
use adjutant_model::{Policy, Time};
use adjutant_process::clock::Clock;
use adjutant_store::FileStore;
use adjutant_testkit::TestProject;
use adjutant_testkit::audit::{self, EventLogScope};
use adjutant_testkit::folder_operation::given::{AGENT, IN_PROGRESS_TASK, set_up_project};
use adjutant_testkit::message::progress;
use adjutant_testkit::project::message_request;

const CHILD: &str = env!("CARGO_BIN_EXE_crash_operation");

fn project() -> TestProject {
    let project = TestProject::new();
    set_up_project(&project);
    project
}

fn progress_request(text: &str) -> EngineRequest {
    message_request(&progress(IN_PROGRESS_TASK, AGENT, text))
}

fn submit_progress(engine: &mut Engine<FileStore>, text: &str) {
    engine.submit_one(progress_request(text)).expect("an answer");
}

fn work_log_lines(project: &TestProject) -> Vec<String> {
    let text = project.read(&format!("tasks/in-progress/{IN_PROGRESS_TASK}.md"));
    let lines = text.lines().filter_map(|line| line.split_once("Progress: "));
    lines.map(|(_, progress)| progress.to_owned()).collect()
}

fn expect_sound(project: &TestProject, engine: &Engine<FileStore>, record: EventLogScope) {
    let problems = audit::find_problems(project.folder(), engine.world(), record);
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Lets another process commit, cutting the journal at every commit.
fn another_process_cuts_the_journal(project: &TestProject) {
    let mut command = Command::new(CHILD);
    command.arg(project.home()).arg("cut_the_journal_only");
    let ran = command.env("ADJUTANT_JOURNAL_BYTES_MAX", "1").output().expect("a child");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// A clock that panics once the flag is set.
struct BrokenClock(Arc<AtomicBool>);

impl Clock for BrokenClock {
    fn now(&self) -> Time {
        assert!(!self.0.load(Ordering::SeqCst), "the clock is broken");
        Time::from_millis(0)
    }
}

#[test]
fn engine_that_panics_releases_the_lock() {
    let project = project();
    let broken = Arc::new(AtomicBool::new(false));
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    let clock = Box::new(BrokenClock(Arc::clone(&broken)));
    let mut engine = Engine::start(store, loaded, clock, Policy::default()).expect("an engine");
    broken.store(true, Ordering::SeqCst);
    let panicked = thread::spawn(move || engine.submit_one(progress_request("half"))).join();
    assert!(panicked.is_err());
    let mut next = project.open_engine();
    submit_progress(&mut next, "again");
    assert_eq!(work_log_lines(&project), ["again"]);
    expect_sound(&project, &next, EventLogScope::Complete);
}

#[test]
fn engine_catches_up_after_another_process_cut_the_journal() {
    let project = project();
    let mut sleeper = project.open_engine();
    another_process_cuts_the_journal(&project);
    submit_progress(&mut sleeper, "Four");
    assert_eq!(work_log_lines(&project), ["One", "Three", "Four"]);
    expect_sound(&project, &sleeper, EventLogScope::Complete);
}

#[test]
fn removed_lock_file_does_not_allow_two_writers() {
    let project = project();
    let mut one = project.open_engine();
    fs::remove_file(project.path("journal/lock")).expect("a lock");
    let mut other = project.open_engine();
    for number in 0..5 {
        submit_progress(&mut one, &format!("one {number}"));
        submit_progress(&mut other, &format!("other {number}"));
    }
    assert_eq!(work_log_lines(&project).len(), 10);
    submit_progress(&mut one, "last");
    expect_sound(&project, &one, EventLogScope::Complete);
}

/// As `git clean` does, because git ignores the journal.
#[test]
fn removed_journal_loses_nothing() {
    let project = project();
    let mut one = project.open_engine();
    submit_progress(&mut one, "before");
    fs::remove_dir_all(project.path("journal")).expect("a journal");
    submit_progress(&mut one, "after");
    let mut other = project.open_engine();
    submit_progress(&mut other, "and then");
    submit_progress(&mut one, "last");
    assert_eq!(work_log_lines(&project), ["before", "after", "and then", "last"]);
    expect_sound(&project, &one, EventLogScope::Complete);
}

#[test]
fn removed_and_recreated_journal_is_detected() {
    let project = project();
    let mut one = project.open_engine();
    fs::remove_dir_all(project.path("journal")).expect("a journal");
    let mut other = project.open_engine();
    submit_progress(&mut other, "first");
    submit_progress(&mut one, "second");
    submit_progress(&mut other, "third");
    assert_eq!(work_log_lines(&project), ["first", "second", "third"]);
    expect_sound(&project, &other, EventLogScope::Complete);
}

/// Events that the index does not know are not edits by hand.
#[test]
fn index_older_than_the_journal_is_ignored() {
    let project = project();
    let old = fs::read(project.path("journal/index")).expect("an index");
    another_process_cuts_the_journal(&project);
    let events_before = project.events().len();
    fs::write(project.path("journal/index"), old).expect("an index");
    let mut engine = project.open_engine();
    engine.rest().expect("at rest");
    assert_eq!(project.events().len(), events_before);
    drop(engine);
    let engine = project.open_engine();
    assert_eq!(project.events().len(), events_before);
    expect_sound(&project, &engine, EventLogScope::Complete);
}

/// The clocks of two processes may disagree or go backwards.
#[test]
fn event_log_never_returns_to_an_earlier_day() {
    let project = project();
    let (mut one, mut other) = (project.open_engine(), project.open_engine());
    for day in ["2026-02-12", "2026-02-10", "2026-02-11", "2026-02-12", "2026-02-09"] {
        project.clock.set(&format!("{day}T12:00:00.000Z"));
        submit_progress(&mut one, day);
        submit_progress(&mut other, day);
    }
    drop(one);
    submit_progress(&mut project.open_engine(), "reopened");
    let days = fs::read_dir(project.path("events")).expect("a record");
    let mut days: Vec<_> = days.map(|day| day.expect("a day").file_name()).collect();
    days.sort();
    assert_eq!(days, ["2026-02-09.jsonl", "2026-02-12.jsonl"]);
    other.check_all_files().expect("a look around");
    expect_sound(&project, &other, EventLogScope::Complete);
}
