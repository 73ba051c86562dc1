//! The import of a list of tasks.

use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::command::{Command, CommandCaller, ImportedTask, NewTask, TaskImport};
use adjutant_model::{AnswerVerdict, Event, Reason, Status, Task};

use crate::support::{id, now, operator, task, world};

fn item(line: u32, title: &str, parent: Option<u32>, depends_on: &[u32]) -> ImportedTask {
    let task = NewTask { title: title.to_owned(), ..NewTask::default() };
    ImportedTask { line, task, parent, depends_on: depends_on.to_vec() }
}

fn import(world: &World, tasks: Vec<ImportedTask>, repeat: bool) -> Decision {
    let command = Command::Import(TaskImport { tasks, repeat });
    decide(world, &Input::Command { by: CommandCaller::Operator(operator()), command }, now())
}

fn created(decision: &Decision) -> Vec<&Task> {
    let events = decision.events.iter().map(|event| &event.event);
    let tasks = events.filter_map(|event| match event {
        Event::TaskCreated { task, .. } => Some(&**task),
        _ => None,
    });
    tasks.collect()
}

#[test]
fn import_links_tasks_of_the_list_to_each_other() {
    let world = world([task(1, Status::Done)]);
    let mut third = item(5, "Third", None, &[0]);
    third.task.depends_on = vec![id(1)];
    let list = vec![item(1, "First", None, &[1]), item(2, "Second", Some(0), &[]), third];
    let decision = import(&world, list, false);
    assert_eq!(
        (decision.answer.verdict, decision.answer.task.clone()),
        (AnswerVerdict::Applied, None)
    );
    let links: Vec<_> = created(&decision)
        .iter()
        .map(|task| (task.id.clone(), &*task.title, task.parent.clone(), task.depends_on.clone()))
        .collect();
    assert_eq!(
        links,
        [
            (id(2), "First", None, vec![id(3)]),
            (id(3), "Second", Some(id(2)), vec![]),
            (id(4), "Third", None, vec![id(1), id(2)]),
        ]
    );
}

#[test]
fn import_of_the_same_list_again_creates_nothing() {
    // Task 1 has the title "Task 1", and there is one such task for two items.
    let world = world([task(1, Status::Cancelled)]);
    let list = || vec![item(1, " Task 1 ", None, &[]), item(2, "Task 1", None, &[0])];
    let decision = import(&world, list(), false);
    let made = created(&decision);
    assert_eq!(made.len(), 1);
    assert_eq!((&made[0].id, &made[0].depends_on), (&id(2), &vec![id(1)]));
    assert_eq!(created(&import(&world, list(), true)).len(), 2);
    let first = vec![item(1, "Task 1", None, &[])];
    assert_eq!(import(&world, first, false).answer.verdict, AnswerVerdict::Noop);
}

#[test]
fn import_with_a_problem_creates_nothing_and_names_every_line() {
    let world = world([]);
    let mut unknown = item(4, "Three", None, &[9]);
    unknown.task.parent = Some(id(7));
    unknown.task.checks = vec![" ".to_owned()];
    let list = vec![item(1, "One", None, &[]), item(2, " ", None, &[]), unknown];
    let decision = import(&world, list, false);
    assert_eq!(decision.answer.reason, Some(Reason::InvalidArgument));
    assert!(created(&decision).is_empty());
    let problems: Vec<String> = decision.answer.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "line 2: title: must not be empty",
            "line 4: checks: each must be a command on one line; these are not: \" \"",
            &format!("line 4: parentId: there is no task {}", id(7)),
            "line 4: dependsOn: there is no task number 9",
        ]
    );
}

#[test]
fn import_with_a_cycle_is_refused() {
    let world = world([]);
    let problems = |list| -> Vec<String> {
        let decision = import(&world, list, false);
        decision.answer.problems.iter().map(ToString::to_string).collect()
    };
    let waits =
        vec![item(1, "One", None, &[]), item(2, "Two", None, &[2]), item(3, "Three", None, &[1])];
    assert_eq!(problems(waits), ["line 2: dependsOn: it would wait for itself"]);
    let parts = vec![item(1, "One", Some(1), &[]), item(2, "Two", Some(0), &[])];
    assert_eq!(problems(parts), ["line 1: parentId: it would be a part of itself"]);
    assert_eq!(problems(vec![]), ["there are no tasks in it"]);
}
