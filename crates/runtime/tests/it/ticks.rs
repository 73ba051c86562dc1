//! Ticks through the engine, on a real folder.

use adjutant_core::command::Start;
use adjutant_core::effect::Stop;
use adjutant_core::policy::{AgentPolicy, Policy};
use adjutant_core::run::{Exit, Life};
use adjutant_core::{AgentId, Command, Effect, Status, TaskId, Verdict};
use adjutant_runtime::{Engine, NobodyKnows, Request};
use adjutant_store::{FileStore, Store};
use adjutant_testkit::Project;
use adjutant_testkit::project::{add, id_of, operator};

/// Opens a project with one agent that has one slot.
fn start(project: &Project) -> Engine<FileStore> {
    let swe = AgentId::parse("swe").expect("a good name");
    let policy = Policy { agents: [(swe, AgentPolicy::default())].into(), ..Policy::default() };
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    let clock = Box::new(project.clock.clone());
    Engine::start(store, loaded, clock, policy).expect("the engine starts")
}

fn ready(engine: &mut Engine<FileStore>, title: &str) -> TaskId {
    id_of(&engine.submit_one(add(title, Start::Ready)).expect("an answer"))
}

fn owed(engine: &mut Engine<FileStore>) -> Vec<Effect> {
    engine.store().owed().into_iter().map(|owed| owed.effect).collect()
}

#[test]
fn what_was_given_out_is_owed_until_it_is_done_whoever_comes_next() {
    let project = Project::new();
    let mut engine = start(&project);
    let task = ready(&mut engine, "one");
    let ticked = engine.tick(&NobodyKnows).expect("a tick");
    assert_eq!(ticked.executed(), 1);
    let agent = AgentId::parse("swe").expect("a good name");
    let begin = Effect::StartRun { task: task.clone(), agent, attempt: 1, fence: 1 };
    assert_eq!(ticked.answered.owed.len(), 1);
    assert!(project.has(&format!("runs/{task}/run.json")));
    drop(engine);
    let mut engine = start(&project);
    assert_eq!(owed(&mut engine), [begin]);
    assert_eq!(engine.tick(&NobodyKnows).expect("a tick").actions, [], "it is not given out twice");
    engine.settle(&[ticked.answered.owed[0].id]).expect("it is done");
    let cancel = operator(Command::Cancel { id: task.clone(), reason: "no".into() });
    engine.submit_one(cancel).expect("an answer");
    let end = Effect::StopRun { task, fence: 1, reason: Stop::Cancelled };
    assert_eq!(owed(&mut engine), [end]);
}

#[test]
fn a_file_that_somebody_moved_is_not_given_out_on_its_old_word() {
    let project = Project::new();
    let mut engine = start(&project);
    let task = ready(&mut engine, "one");
    let file = |status: Status| format!("tasks/{status}/{task}.md");
    let (from, to) = (project.path(&file(Status::Ready)), project.path(&file(Status::Backlog)));
    std::fs::rename(from, to).expect("a person moves it");
    let ticked = engine.tick(&NobodyKnows).expect("a tick");
    assert_eq!(ticked.actions, []);
    assert_eq!(project.folders_of(task.as_str()), [Status::Backlog]);
}

#[test]
fn a_run_that_is_gone_is_recovered_at_once_and_one_that_lives_is_left_alone() {
    let project = Project::new();
    let mut engine = start(&project);
    let task = ready(&mut engine, "one");
    engine.tick(&NobodyKnows).expect("a tick");
    // An hour asleep: the process is the life sign, not the clock.
    project.clock.advance_ms(3_600_000);
    let tick = |life| Request::Tick { lives: [(task.clone(), life)].into() };
    engine.submit_one(tick(Life::Alive)).expect("an answer");
    assert_eq!(project.folders_of(task.as_str()), [Status::InProgress]);
    assert_eq!(project.event_types().last().map(String::as_str), Some("run.heartbeat"));
    engine.submit_one(tick(Life::Gone)).expect("an answer");
    assert_eq!(project.folders_of(task.as_str()), [Status::Ready]);
    let last: Vec<String> = project.event_types().split_off(4);
    assert_eq!(last, ["run.exited", "run.failed", "task.transitioned"]);
}

#[test]
fn the_end_of_a_run_is_told_once() {
    let project = Project::new();
    let mut engine = start(&project);
    let task = ready(&mut engine, "one");
    engine.tick(&NobodyKnows).expect("a tick");
    let exited = || Request::RunExited {
        task: task.clone(),
        fence: 1,
        exit: Exit::Code(1),
        tail: "no such key".to_owned(),
        told: Box::default(),
    };
    let beat = || Request::Beat { task: task.clone(), fence: 1 };
    let verdict = |engine: &mut Engine<FileStore>, request| {
        engine.submit_one(request).expect("an answer").answer.verdict
    };
    assert_eq!(verdict(&mut engine, beat()), Verdict::Noop, "the lease is young");
    assert_eq!(verdict(&mut engine, exited()), Verdict::Applied);
    assert_eq!(verdict(&mut engine, exited()), Verdict::Noop);
    assert_eq!(verdict(&mut engine, beat()), Verdict::Noop);
    assert!(project.has(&format!("runs/{task}/attempts/1/run.json")));
    let text = project.read(&format!("tasks/ready/{task}.md"));
    assert!(text.contains("reason: \"exit code 1: no such key\""), "{text}");
}
