//! The task that a person names on the command line: by its id, by an id of its origin, or by the
//! end of its id, such as `057`.
//!
//! Programs that call over HTTP or MCP give whole ids: what an end of an id stands for changes as
//! tasks are added.

use adjutant_core::World;
use adjutant_model::{Task, TaskId};
use adjutant_store::file::{DataFolder, read_world};

use crate::failure::{CommandFailure, FailureKind};
use crate::task::task_path;

/// How many candidates a refusal lists.
const CANDIDATES_SHOWN: usize = 10;

/// Returns the id of the task that `text` names; `None` if it names no task. The end of several ids
/// is refused with the candidates. Reads the tasks only if no task file has this id.
pub fn find_task_id(folder: &DataFolder, text: &str) -> Result<Option<TaskId>, CommandFailure> {
    let own = TaskId::parse(text).ok();
    if own.as_ref().is_some_and(|own| task_path(folder, own).is_some()) {
        return Ok(own);
    }
    let Ok(world) = read_world(folder) else { return Ok(own) };
    if let Some(id) = world.resolve(text) {
        return Ok(Some(id));
    }
    match &ids_ending_with(&world, text)[..] {
        [] => Ok(None),
        [only] => Ok(Some((*only).clone())),
        several => Err(ambiguous(text, several, &world)),
    }
}

/// Returns the ids that end with `text`. Ids in which `text` is one or more whole parts win over
/// those in which it is a piece of one: `001` is not the end of `…-1001` if there is a `…-001`.
fn ids_ending_with<'w>(world: &'w World, text: &str) -> Vec<&'w TaskId> {
    if text.is_empty() {
        return vec![];
    }
    let all = || world.tasks().map(|task| &task.id).chain(world.unreadable());
    let part = format!("-{text}");
    let mut found: Vec<&TaskId> = all().filter(|id| id.as_str().ends_with(&part)).collect();
    if found.is_empty() {
        found = all().filter(|id| id.as_str().ends_with(text)).collect();
    }
    found.sort_unstable();
    found
}

fn ambiguous(text: &str, found: &[&TaskId], world: &World) -> CommandFailure {
    let message = format!("{text:?} is the end of {} task ids", found.len());
    let mut failure = CommandFailure::new(FailureKind::Refused, "ambiguous_id", message);
    // The newest are the ones a person is likely to mean.
    let shown = found.iter().rev().take(CANDIDATES_SHOWN);
    failure.causes = shown.map(|id| describe(id, world.task(id))).collect();
    if found.len() > CANDIDATES_SHOWN {
        failure.causes.push(format!("and {} more", found.len() - CANDIDATES_SHOWN));
    }
    let newest = found.last().map_or(text, |id| id.as_str());
    failure.with_hint(format!("give more of the id: {:?} or the whole id", longer_end(newest)))
}

fn describe(id: &TaskId, task: Option<&Task>) -> String {
    match task {
        Some(task) => format!("{id} ({}): {}", task.status(), task.title),
        None => format!("{id} (its file cannot be read)"),
    }
}

/// Returns the month, the day and the number of an id, which are enough for a year of tasks.
fn longer_end(id: &str) -> &str {
    id.get("TASK-YYYY-".len()..).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use adjutant_model::{Actor, EventId, Time};

    use super::*;

    fn world(ids: &[&str]) -> World {
        let now = Time::from_millis(1_770_000_000_000);
        let task = |text: &&str| {
            let id = TaskId::parse(text).expect("an id");
            Task::new(id, "Mend it", &Actor::human("alice"), now)
        };
        World::load(ids.iter().map(task), EventId::default())
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let world = world(&[
            "TASK-2026-02-09-001",
            "TASK-2026-02-09-057",
            "TASK-2026-02-10-001",
            "TASK-2026-02-10-1001",
            "TASK-2026-02-10-aB3_x-9z",
        ]);
        let found: Vec<&str> =
            ids_ending_with(&world, text).into_iter().map(TaskId::as_str).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn task_reference_is_any_end_of_an_id() {
        check("057", &["TASK-2026-02-09-057"]);
        check("57", &["TASK-2026-02-09-057"]);
        check("10-001", &["TASK-2026-02-10-001"]);
        check("aB3_x-9z", &["TASK-2026-02-10-aB3_x-9z"]);
        check("1001", &["TASK-2026-02-10-1001"]);
        check("058", &[]);
        check("", &[]);
    }

    #[test]
    fn task_reference_that_is_a_whole_part_wins() {
        check("001", &["TASK-2026-02-09-001", "TASK-2026-02-10-001"]);
    }
}
