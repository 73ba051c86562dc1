//! Ticks through the engine, on a real folder.

use adjutant_engine::{Engine, HeartbeatsOnly, Request};
use adjutant_model::command::InitialStatus;
use adjutant_model::effect::StopReason;
use adjutant_model::policy::{AgentPolicy, Policy};
use adjutant_model::run::{RunExit, RunLiveness};
use adjutant_model::{AgentId, AnswerVerdict, Command, Effect, Status, TaskId};
use adjutant_store::{FileStore, Store};
use adjutant_testkit::TestProject;
use adjutant_testkit::project::{add_request, operator_request, task_id_of};

/// Opens a project with one agent that has one slot.
fn start(project: &TestProject) -> Engine<FileStore> {
    let swe = AgentId::parse("swe").expect("a good name");
    let policy = Policy { agents: [(swe, AgentPolicy::default())].into(), ..Policy::default() };
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    let clock = Box::new(project.clock.clone());
    Engine::start(store, loaded, clock, policy).expect("the engine starts")
}

fn add_ready_task(engine: &mut Engine<FileStore>, title: &str) -> TaskId {
    task_id_of(&engine.submit_one(add_request(title, InitialStatus::Ready)).expect("an answer"))
}

fn pending_effects(engine: &mut Engine<FileStore>) -> Vec<Effect> {
    engine.store().pending_effects().into_iter().map(|owed| owed.effect).collect()
}

#[test]
fn tick_effect_stays_pending_across_restarts_until_performed() {
    let project = TestProject::new();
    let mut engine = start(&project);
    let task = add_ready_task(&mut engine, "one");
    let ticked = engine.tick(&HeartbeatsOnly).expect("a tick");
    assert_eq!(ticked.executed(), 1);
    let agent = AgentId::parse("swe").expect("a good name");
    let nonce = engine.world().task(&task).and_then(|task| task.lease()?.nonce);
    assert!(nonce.is_some(), "every run has a nonce");
    let begin = Effect::StartRun { task: task.clone(), agent, attempt: 1, fence: 1, nonce };
    assert_eq!(ticked.answered.effects.len(), 1);
    assert!(project.exists(&format!("runs/{task}/run.json")));
    drop(engine);
    let mut engine = start(&project);
    assert_eq!(pending_effects(&mut engine), [begin]);
    assert_eq!(
        engine.tick(&HeartbeatsOnly).expect("a tick").actions,
        [],
        "it is not given out twice"
    );
    engine.settle(&[ticked.answered.effects[0].id]).expect("it is done");
    let cancel = operator_request(Command::Cancel { id: task.clone(), reason: "no".into() });
    engine.submit_one(cancel).expect("an answer");
    let end = Effect::StopRun { task, fence: 1, reason: StopReason::Cancelled };
    assert_eq!(pending_effects(&mut engine), [end]);
}

#[test]
fn tick_does_not_assign_task_that_was_moved_by_hand() {
    let project = TestProject::new();
    let mut engine = start(&project);
    let task = add_ready_task(&mut engine, "one");
    let file = |status: Status| format!("tasks/{status}/{task}.md");
    let (from, to) = (project.path(&file(Status::Ready)), project.path(&file(Status::Backlog)));
    std::fs::rename(from, to).expect("a person moves it");
    let ticked = engine.tick(&HeartbeatsOnly).expect("a tick");
    assert_eq!(ticked.actions, []);
    assert_eq!(project.status_folders_of(task.as_str()), [Status::Backlog]);
}

#[test]
fn tick_recovers_dead_run_and_leaves_live_run_alone() {
    let project = TestProject::new();
    let mut engine = start(&project);
    let task = add_ready_task(&mut engine, "one");
    engine.tick(&HeartbeatsOnly).expect("a tick");
    // An hour asleep: the process counts as alive, not the clock.
    project.clock.advance_ms(3_600_000);
    let tick = |life| Request::Tick { lives: [(task.clone(), life)].into() };
    engine.submit_one(tick(RunLiveness::Alive)).expect("an answer");
    assert_eq!(project.status_folders_of(task.as_str()), [Status::InProgress]);
    assert_eq!(project.event_types().last().map(String::as_str), Some("run.heartbeat"));
    engine.submit_one(tick(RunLiveness::Gone)).expect("an answer");
    assert_eq!(project.status_folders_of(task.as_str()), [Status::Ready]);
    let last: Vec<String> = project.event_types().split_off(4);
    assert_eq!(last, ["run.exited", "run.failed", "task.transitioned"]);
}

#[test]
fn run_exit_is_recorded_once() {
    let project = TestProject::new();
    let mut engine = start(&project);
    let task = add_ready_task(&mut engine, "one");
    engine.tick(&HeartbeatsOnly).expect("a tick");
    let exited = || Request::RunExited {
        task: task.clone(),
        fence: 1,
        exit: RunExit::Code(1),
        tail: "no such key".to_owned(),
        telemetry: Box::default(),
    };
    let beat = || Request::Beat { task: task.clone(), fence: 1 };
    let verdict = |engine: &mut Engine<FileStore>, request| {
        engine.submit_one(request).expect("an answer").answer.verdict
    };
    assert_eq!(verdict(&mut engine, beat()), AnswerVerdict::Noop, "the lease is young");
    assert_eq!(verdict(&mut engine, exited()), AnswerVerdict::Applied);
    assert_eq!(verdict(&mut engine, exited()), AnswerVerdict::Noop);
    assert_eq!(verdict(&mut engine, beat()), AnswerVerdict::Noop);
    assert!(project.exists(&format!("runs/{task}/attempts/1/run.json")));
    let text = project.read(&format!("tasks/ready/{task}.md"));
    assert!(text.contains("reason: \"exit code 1: no such key\""), "{text}");
}
