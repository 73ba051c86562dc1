//! Commands that would leave a task file that cannot be read back.

use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::command::{
    Command, CommandCaller, ImportedTask, NewTask, TaskChanges, TaskImport,
};
use adjutant_model::task::{FRONT_MATTER_VALUES_MAX, TASK_FILE_BYTES_MAX, TaskRouting};
use adjutant_model::{AnswerVerdict, Event, Reason, Status};

use crate::support::{events, id, now, operator, task, world};

fn run(world: &World, command: Command) -> Decision {
    let by = CommandCaller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

/// Asserts that a command is refused because of one field, and changes nothing.
fn check_refused(world: &World, command: Command, field: &str) {
    let name = command.name();
    let decision = run(world, command);
    let answer = &decision.answer;
    assert_eq!(
        (answer.verdict, answer.reason),
        (AnswerVerdict::Rejected, Some(Reason::InvalidArgument)),
        "{name}"
    );
    assert_eq!(answer.problems.len(), 1, "{name}: {:?}", answer.problems);
    assert_eq!(answer.problems[0].path, field, "{name}: {:?}", answer.problems);
    assert!(events(&decision).starts_with("refused("), "{name}: {}", events(&decision));
    assert_eq!(decision.events.len(), 1, "{name}");
}

fn many_tags(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("t{number}")).collect()
}

fn tagged(count: usize) -> NewTask {
    let tags = many_tags(count).iter().map(|tag| tag.as_str().into()).collect();
    let routing = TaskRouting { tags, ..TaskRouting::default() };
    NewTask { title: "Tagged".to_owned(), routing, ..NewTask::default() }
}

#[test]
fn task_with_too_many_tags_is_refused_by_every_command() {
    let world = world([task(1, Status::Backlog)]);
    let many = FRONT_MATTER_VALUES_MAX * 2;
    check_refused(&world, Command::Add(Box::new(tagged(many))), "tags");
    let item = ImportedTask { line: 1, task: tagged(many), parent: None, depends_on: vec![] };
    let import = TaskImport { tasks: vec![item], repeat: false };
    check_refused(&world, Command::Import(import), "tags");
    let changes = Box::new(TaskChanges { tags: Some(many_tags(many)), ..TaskChanges::default() });
    check_refused(&world, Command::Edit { id: id(1), changes }, "tags");
    let few = run(&world, Command::Add(Box::new(tagged(1000))));
    assert_eq!(few.answer.verdict, AnswerVerdict::Applied);
}

#[test]
fn task_with_oversized_text_is_refused() {
    let world = world([task(1, Status::Backlog)]);
    let long = "x".repeat(FRONT_MATTER_VALUES_MAX * 20);
    let new = |new: NewTask| Command::Add(Box::new(NewTask { title: "Long".to_owned(), ..new }));
    let checks = vec![long.clone()];
    check_refused(&world, new(NewTask { checks, ..NewTask::default() }), "checks");
    let resource = Some(long);
    check_refused(&world, new(NewTask { resource, ..NewTask::default() }), "resource");
    let body = "x".repeat(TASK_FILE_BYTES_MAX);
    check_refused(&world, new(NewTask { body, ..NewTask::default() }), "body");
}

#[test]
fn command_with_oversized_reason_note_or_answer_is_refused() {
    let long = || "x".repeat(1 << 20);
    let world = world([task(1, Status::Review)]);
    let id = id(1);
    let to = Status::Ready;
    check_refused(&world, Command::Move { id: id.clone(), to, reason: long() }, "reason");
    check_refused(&world, Command::Reject { id: id.clone(), reason: long() }, "reason");
    check_refused(&world, Command::Cancel { id: id.clone(), reason: long() }, "reason");
    check_refused(&world, Command::Reopen { id: id.clone(), reason: long() }, "reason");
    check_refused(&world, Command::Approve { id: id.clone(), note: long() }, "note");
    check_refused(&world, Command::Answer { id, text: long() }, "text");
}

#[test]
fn task_that_was_too_large_before_can_be_made_smaller() {
    let mut large = task(1, Status::Backlog);
    large.routing = tagged(FRONT_MATTER_VALUES_MAX / 2).routing;
    let world = world([large]);
    let edit =
        |changes: TaskChanges| run(&world, Command::Edit { id: id(1), changes: Box::new(changes) });
    let tags = Some(many_tags(FRONT_MATTER_VALUES_MAX / 2 - 1));
    let smaller = edit(TaskChanges { tags, ..TaskChanges::default() });
    assert_eq!(smaller.answer.verdict, AnswerVerdict::Applied);
    assert!(matches!(smaller.events[0].event, Event::TaskEdited { .. }));
    let tags = Some(many_tags(FRONT_MATTER_VALUES_MAX / 2 + 1));
    let larger = edit(TaskChanges { tags, ..TaskChanges::default() });
    assert_eq!(larger.answer.verdict, AnswerVerdict::Rejected);
}
