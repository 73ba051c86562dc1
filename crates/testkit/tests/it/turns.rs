//! Whose turn it is, when something happens to the lock, the journal or whoever has the turn.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use adjutant_core::Policy;
use adjutant_core::Time;
use adjutant_runtime::{Clock, Engine, Request};
use adjutant_store::FileStore;
use adjutant_testkit::Project;
use adjutant_testkit::audit::{self, Record};
use adjutant_testkit::deed::given::{AGENT, WORKING, project_at_work};
use adjutant_testkit::message::progress;
use adjutant_testkit::project::send;

const CHILD: &str = env!("CARGO_BIN_EXE_hand");

fn project() -> Project {
    let project = Project::new();
    project_at_work(&project);
    project
}

fn say(text: &str) -> Request {
    send(&progress(WORKING, AGENT, text))
}

fn tell(engine: &mut Engine<FileStore>, text: &str) {
    engine.submit_one(say(text)).expect("an answer");
}

fn log(project: &Project) -> Vec<String> {
    let text = project.read(&format!("tasks/in-progress/{WORKING}.md"));
    let said = text.lines().filter_map(|line| line.split_once("Progress: "));
    said.map(|(_, said)| said.to_owned()).collect()
}

fn expect_sound(project: &Project, engine: &Engine<FileStore>, record: Record) {
    let problems = audit::problems(project.folder(), engine.world(), record);
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Has another process do something, cutting the journal at every commit.
fn another_process_cuts_the_journal(project: &Project) {
    let mut command = Command::new(CHILD);
    command.arg(project.home()).arg("cut_the_journal_only");
    let ran = command.env("ADJUTANT_JOURNAL_BYTES_MAX", "1").output().expect("a child");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// A clock that breaks when it is told to.
struct Broken(Arc<AtomicBool>);

impl Clock for Broken {
    fn now(&self) -> Time {
        assert!(!self.0.load(Ordering::SeqCst), "the clock is broken");
        Time::from_millis(0)
    }
}

#[test]
fn who_panics_in_its_turn_gives_it_back() {
    let project = project();
    let broken = Arc::new(AtomicBool::new(false));
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    let clock = Box::new(Broken(Arc::clone(&broken)));
    let mut engine = Engine::start(store, loaded, clock, Policy::default()).expect("an engine");
    broken.store(true, Ordering::SeqCst);
    let panicked = thread::spawn(move || engine.submit_one(say("half"))).join();
    assert!(panicked.is_err());
    let mut next = project.engine();
    tell(&mut next, "again");
    assert_eq!(log(&project), ["again"]);
    expect_sound(&project, &next, Record::Whole);
}

#[test]
fn who_slept_while_the_journal_was_cut_wakes_up_to_all_of_it() {
    let project = project();
    let mut sleeper = project.engine();
    another_process_cuts_the_journal(&project);
    tell(&mut sleeper, "Four");
    assert_eq!(log(&project), ["One", "Three", "Four"]);
    expect_sound(&project, &sleeper, Record::Whole);
}

#[test]
fn two_processes_do_not_write_at_once_after_the_lock_was_removed() {
    let project = project();
    let mut one = project.engine();
    fs::remove_file(project.path("journal/lock")).expect("a lock");
    let mut other = project.engine();
    for number in 0..5 {
        tell(&mut one, &format!("one {number}"));
        tell(&mut other, &format!("other {number}"));
    }
    assert_eq!(log(&project).len(), 10);
    tell(&mut one, "last");
    expect_sound(&project, &one, Record::Whole);
}

/// As `git clean` does it, for the journal is not for git.
#[test]
fn a_journal_that_was_taken_away_takes_nothing_with_it() {
    let project = project();
    let mut one = project.engine();
    tell(&mut one, "before");
    fs::remove_dir_all(project.path("journal")).expect("a journal");
    tell(&mut one, "after");
    let mut other = project.engine();
    tell(&mut other, "and then");
    tell(&mut one, "last");
    assert_eq!(log(&project), ["before", "after", "and then", "last"]);
    expect_sound(&project, &one, Record::Whole);
}

#[test]
fn a_journal_that_was_taken_away_and_made_anew_is_not_the_same() {
    let project = project();
    let mut one = project.engine();
    fs::remove_dir_all(project.path("journal")).expect("a journal");
    let mut other = project.engine();
    tell(&mut other, "first");
    tell(&mut one, "second");
    tell(&mut other, "third");
    assert_eq!(log(&project), ["first", "second", "third"]);
    expect_sound(&project, &other, Record::Whole);
}

/// What it does not know, nobody did by hand.
#[test]
fn an_index_from_before_the_journal_begins_is_not_believed() {
    let project = project();
    let old = fs::read(project.path("journal/index")).expect("an index");
    another_process_cuts_the_journal(&project);
    let told = project.events().len();
    fs::write(project.path("journal/index"), old).expect("an index");
    let mut engine = project.engine();
    engine.rest().expect("at rest");
    assert_eq!(project.events().len(), told);
    drop(engine);
    let engine = project.engine();
    assert_eq!(project.events().len(), told);
    expect_sound(&project, &engine, Record::Whole);
}

/// The clocks of two processes need not agree, nor go forward.
#[test]
fn the_record_never_goes_back_to_an_earlier_day() {
    let project = project();
    let (mut one, mut other) = (project.engine(), project.engine());
    for day in ["2026-02-12", "2026-02-10", "2026-02-11", "2026-02-12", "2026-02-09"] {
        project.clock.set(&format!("{day}T12:00:00.000Z"));
        tell(&mut one, day);
        tell(&mut other, day);
    }
    drop(one);
    tell(&mut project.engine(), "reopened");
    let days = fs::read_dir(project.path("events")).expect("a record");
    let mut days: Vec<_> = days.map(|day| day.expect("a day").file_name()).collect();
    days.sort();
    assert_eq!(days, ["2026-02-09.jsonl", "2026-02-12.jsonl"]);
    other.look_around().expect("a look around");
    expect_sound(&project, &other, Record::Whole);
}
