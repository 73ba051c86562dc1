//! The reconciler against a real engine and the files of a real project.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use adjutant_config::{Config, SharedConfig};
use adjutant_core::World;
use adjutant_engine::engine::Engine;
use adjutant_engine::request_inspector::{InspectionPlan, ProjectFiles, RequestInspector};
use adjutant_engine::service::{EngineHandle, EngineService};
use adjutant_engine::story_requests::StoryTask;
use adjutant_model::Command;
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::policy::Policy;
use adjutant_model::request::StoryFacts;
use adjutant_model::story::{Step, StepStatus, StoryId};
use adjutant_process::clock::SystemClock;
use adjutant_store::memory::MemoryStore;

use super::story_board::{
    ReconcilerConfig, StoryBoard, TimeoutCheck, are_settled, file_signatures,
};
use crate::driver::{StepChecks, StoryAutomation, StoryProject};
use crate::files::StoryTrust;

/// Files that must not be read, because the request has its facts already.
struct UnreadFiles;

impl ProjectFiles for UnreadFiles {
    fn inspect_workspace(&self, _: &InspectionPlan) -> WorkspaceFacts {
        panic!("no run reports completion")
    }

    fn story_facts(&self) -> Vec<StoryFacts> {
        panic!("the facts were read a second time")
    }

    fn apply_story_decision(&self, _: &StoryTask, _: &Command) -> bool {
        panic!("no operator decides")
    }
}

fn start_engine() -> EngineService {
    let mut store = MemoryStore::default();
    let loaded = store.open();
    let engine = Engine::start(store, loaded, Box::new(SystemClock), Policy::default());
    let inspector = RequestInspector::new("/nowhere".into(), Arc::new(UnreadFiles));
    EngineService::start(engine.expect("an engine")).with_inspector(inspector)
}

fn config(home: &Path) -> ReconcilerConfig {
    let (home, data) = (home.to_owned(), home.join("data"));
    let settings = SharedConfig::new(Config::default());
    let checks = StepChecks::new("adjutant".into(), Some(&data), settings);
    let trust = Some(StoryTrust::Everything);
    ReconcilerConfig { home, data, poll: Duration::from_secs(30), node: None, checks, trust }
}

fn story() -> StoryId {
    StoryId::parse("US-005").expect("a name")
}

/// Makes a project with an automatic story that has passed its first step.
fn passed_project(home: &Path) -> StoryProject<'static> {
    let project = StoryProject::at(home, &SystemClock).expect("a project");
    let project = project.with_trust(Some(StoryTrust::Everything));
    project.start(&story(), &[], false).expect("started");
    project.set_automation(Some(&story()), &StoryAutomation::Agents(None)).expect("made automatic");
    set_status(home, "pending", "pass");
    project
}

fn set_status(home: &Path, from: &str, to: &str) {
    let path = home.join(".ai/STATE.json");
    let text = std::fs::read_to_string(&path).expect("a state");
    let (from, to) = (format!("\"status\": \"{from}\""), format!("\"status\": \"{to}\""));
    assert!(text.contains(&from), "{text}");
    std::fs::write(path, text.replace(&from, &to)).expect("written");
}

fn position(engine: &EngineHandle) -> (Step, StepStatus) {
    let seen = engine.view(|world| {
        let task = world.task_of_story(&story()).expect("the story has a task");
        let position = task.story().expect("it is a story");
        (position.step, position.status)
    });
    seen.expect("the engine runs")
}

#[test]
fn story_board_reports_facts_that_were_read_once() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let project = passed_project(home.path());
    let service = start_engine();
    let engine = service.handle();
    let mut board = StoryBoard::read(&config(home.path()), TimeoutCheck::Due)
        .expect("read")
        .expect("the project has stories");
    assert!(board.compare(&engine).is_ok_and(|difference| difference.has_news));
    assert!(board.report_and_advance(true, &engine).is_ok());
    assert_eq!(position(&engine), (Step::SddDelta, StepStatus::Pending));
    let state = project.status(Some(&story())).expect("a status").0.state;
    assert_eq!((state.step, state.status), (Step::SddDelta, StepStatus::Pending));
    assert!(board.compare(&engine).is_ok_and(|difference| !difference.has_news));

    // Facts that change nothing leave no event.
    let last = engine.view(World::last_event).expect("the engine runs");
    assert!(board.report_and_advance(true, &engine).is_ok());
    assert_eq!(engine.view(World::last_event).expect("the engine runs"), last);
    drop(engine);
    service.stop().expect("stopped");
}

#[test]
fn story_that_moved_since_it_was_reported_is_not_advanced() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let project = passed_project(home.path());
    let reported = project.read_stories().expect("read");
    set_status(home.path(), "pass", "failing");
    let files = project.advance_automatic(&reported).expect("read").expect("one could advance");
    assert_eq!(files.found[0].file.state.status, StepStatus::Failing);
    let reported = files;
    let files = project.advance_automatic(&reported).expect("read").expect("one could advance");
    assert_eq!(files.found[0].file.state.status, StepStatus::Pending);
    assert!(project.advance_automatic(&files).expect("read").is_none());
}

#[test]
fn file_signatures_change_with_state_and_scenarios() {
    let home = tempfile::tempdir().expect("a temporary folder");
    passed_project(home.path());
    let before = file_signatures(home.path());
    assert_eq!(file_signatures(home.path()), before);
    set_status(home.path(), "pass", "failing");
    let failing = file_signatures(home.path());
    assert_ne!(failing, before);
    std::fs::create_dir_all(home.path().join("docs/bdd")).expect("a folder");
    std::fs::write(home.path().join("docs/bdd/US-005.md"), "# Cart\n").expect("written");
    assert_ne!(file_signatures(home.path()), failing);
}

#[test]
fn story_board_overtaken_by_command_is_read_again() {
    let home = tempfile::tempdir().expect("a temporary folder");
    passed_project(home.path());
    let config = config(home.path());
    let service = start_engine();
    let engine = service.handle();
    let read = || StoryBoard::read(&config, TimeoutCheck::NotDue).expect("read").expect("a story");
    let outdated = read();
    // A command moves the story and reports that itself.
    set_status(home.path(), "pass", "running");
    read().report_and_advance(true, &engine).expect("reported");
    assert_eq!(position(&engine), (Step::Bdd, StepStatus::Running));
    let compared =
        StoryBoard::read_and_compare(&config, TimeoutCheck::NotDue, Some(outdated), &engine);
    let (mut board, difference) = compared.expect("read").expect("a story");
    assert!(!difference.has_news);
    board.report_and_advance(difference.has_news, &engine).expect("nothing to report");
    assert_eq!(position(&engine), (Step::Bdd, StepStatus::Running));
    drop(engine);
    service.stop().expect("stopped");
}

#[test]
fn file_signature_of_fresh_file_proves_nothing() {
    let home = tempfile::tempdir().expect("a temporary folder");
    passed_project(home.path());
    let (signatures, now) = (file_signatures(home.path()), SystemTime::now());
    assert!(!are_settled(&signatures, now));
    assert!(are_settled(&signatures, now + Duration::from_secs(1)));
}
