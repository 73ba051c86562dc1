//! Decides what the import of a list of tasks does: it creates all of them, or none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use adjutant_model::actor::Actor;
use adjutant_model::answer::{AnswerVerdict, FieldProblem, Reason};
use adjutant_model::command::{Command, ImportedTask, TaskImport};
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

use super::command::{check_commands, check_title, created_event, new_task, refuse};
use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::schedule::routing_warning;
use crate::world::World;

/// The most tasks that one import may have: they are one commit.
pub const IMPORT_TASKS_MAX: usize = 1000;

/// The most problems that a refusal names.
const PROBLEMS_MAX: usize = 50;

pub(super) fn decide(
    world: &World,
    mut draft: DecisionDraft,
    command: &Command,
    import: &TaskImport,
    actor: &Actor,
    now: Time,
) -> Decision {
    let mut problems = find_problems(world, &import.tasks);
    if !problems.is_empty() {
        problems.truncate(PROBLEMS_MAX);
        return refuse(draft, command, Reason::InvalidArgument, problems);
    }
    let titles = import.tasks.iter().map(|item| &*item.task.title);
    let existing =
        if import.repeat { vec![None; import.tasks.len()] } else { find_existing(world, titles) };
    let mut free_ids = world.next_ids(now);
    let mut next_id = || free_ids.next().expect("there are more numbers than tasks");
    let ids: Vec<TaskId> =
        existing.iter().map(|known| known.clone().unwrap_or_else(&mut next_id)).collect();
    let mut verdict = AnswerVerdict::Noop;
    let mut warnings = BTreeSet::new();
    for ((item, known), id) in import.tasks.iter().zip(&existing).zip(&ids) {
        if known.is_some() {
            continue;
        }
        let mut task = new_task(id.clone(), &item.task, actor, now);
        let own = item.depends_on.iter().filter_map(|place| ids.get(*place as usize));
        for dependency in own {
            if !task.depends_on.contains(dependency) {
                task.depends_on.push(dependency.clone());
            }
        }
        let own_parent = item.parent.and_then(|place| ids.get(place as usize));
        task.parent = own_parent.cloned().or(task.parent);
        draft.set_task_id(id);
        warnings.extend(routing_warning(world, &task.routing));
        draft.push(created_event(task, &item.task));
        verdict = AnswerVerdict::Applied;
    }
    let mut decision = draft.finish(verdict, None);
    // The answer is about all of them.
    decision.answer.task = None;
    decision.answer.warnings.extend(warnings);
    decision
}

/// Returns for each title the task that has it already. If several tasks have a title, the first of
/// them is the first of the list, and so on: so importing a list twice creates nothing.
pub fn find_existing<'a>(
    world: &World,
    titles: impl Iterator<Item = &'a str>,
) -> Vec<Option<TaskId>> {
    let titles: Vec<&str> = titles.map(str::trim).collect();
    let mut known: BTreeMap<&str, VecDeque<&TaskId>> =
        titles.iter().map(|title| (*title, VecDeque::new())).collect();
    for task in world.tasks() {
        if let Some(ids) = known.get_mut(&*task.title) {
            ids.push_back(&task.id);
        }
    }
    let mut take = |title: &&str| known.get_mut::<str>(title)?.pop_front().cloned();
    titles.iter().map(&mut take).collect()
}

/// Returns everything that is wrong, by the line that describes the task.
fn find_problems(world: &World, tasks: &[ImportedTask]) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    if tasks.is_empty() {
        problems.push(FieldProblem::new("", "there are no tasks in it"));
    }
    if tasks.len() > IMPORT_TASKS_MAX {
        let message = format!("has {} tasks; at most {IMPORT_TASKS_MAX} at once", tasks.len());
        problems.push(FieldProblem::new("", message));
        return problems;
    }
    for item in tasks {
        let mut report = |problem: FieldProblem| problems.push(at_line(item, problem));
        if let Err((_, problem)) = check_title(&item.task.title) {
            report(problem);
        }
        if let Err((_, problem)) = check_commands(&item.task.checks) {
            report(problem);
        }
        let links =
            [("dependsOn", &item.task.depends_on[..]), ("parentId", item.task.parent.as_slice())];
        for (field, ids) in links {
            for id in ids.iter().filter(|id| world.task(id).is_none()) {
                report(FieldProblem::new(field, format!("there is no task {id}")));
            }
        }
        for (field, places) in
            [("dependsOn", &item.depends_on[..]), ("parentId", item.parent.as_slice())]
        {
            for place in places.iter().filter(|place| **place as usize >= tasks.len()) {
                report(FieldProblem::new(field, format!("there is no task number {place}")));
            }
        }
    }
    if problems.is_empty() {
        let dependencies = |item: &ImportedTask| item.depends_on.clone();
        let parents = |item: &ImportedTask| item.parent.into_iter().collect();
        let cycle = |field: &str, links: &dyn Fn(&ImportedTask) -> Vec<u32>, what: &str| {
            let item = find_cycle(tasks, links)?;
            Some(at_line(item, FieldProblem::new(field, what)))
        };
        problems.extend(cycle("dependsOn", &dependencies, "it would wait for itself"));
        problems.extend(cycle("parentId", &parents, "it would be a part of itself"));
    }
    problems
}

fn at_line(item: &ImportedTask, problem: FieldProblem) -> FieldProblem {
    FieldProblem::new(format!("line {}: {}", item.line, problem.path), problem.message)
}

/// Returns a task that leads back to itself.
fn find_cycle<'t>(
    tasks: &'t [ImportedTask],
    links: &dyn Fn(&ImportedTask) -> Vec<u32>,
) -> Option<&'t ImportedTask> {
    // Remove what depends on nothing that is left, until nothing can be removed.
    let mut open: Vec<Vec<u32>> = tasks.iter().map(links).collect();
    let mut done = vec![false; tasks.len()];
    loop {
        let free =
            |place: &usize| !done[*place] && open[*place].iter().all(|other| done[*other as usize]);
        let freed: Vec<usize> = (0..tasks.len()).filter(free).collect();
        if freed.is_empty() {
            break;
        }
        for place in freed {
            done[place] = true;
            open[place].clear();
        }
    }
    done.iter().position(|done| !done).map(|place| &tasks[place])
}
