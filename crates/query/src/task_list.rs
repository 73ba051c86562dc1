//! Which tasks to list, and in which order.

use std::collections::BTreeSet;

use adjutant_core::World;
use adjutant_model::mission::EpicId;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{AgentId, Priority, Status, Task, TaskId};

use crate::failure::CommandFailure;

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only these statuses; empty means all.
    pub statuses: Vec<Status>,
    /// Only tasks that this agent works on or that are assigned to it.
    pub agent: Option<AgentId>,
    pub epic: Option<EpicId>,
    /// Only tasks that have all these tags.
    pub tags: Vec<String>,
    /// Only tasks with all these words in their title, or with this text in one of their ids.
    pub text: Option<String>,
    /// Only tasks that are neither done nor cancelled.
    pub is_open: bool,
    /// Only the first tasks, up to this number.
    pub limit: Option<usize>,
    pub order: TaskOrder,
    /// Only tasks after this one; works only when sorted by id.
    pub after: Option<TaskId>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskOrder {
    /// By status, then priority, then id: for people.
    #[default]
    StatusThenPriority,
    /// By id, which never changes: for paging.
    Id,
    IdDescending,
}

impl TaskQuery {
    /// Parses the filters of a caller that has them as text.
    pub fn parse(
        statuses: &[String],
        agent: Option<&str>,
        limit: usize,
    ) -> Result<Self, CommandFailure> {
        let wrong = |text: &str, problem: String| {
            CommandFailure::report_usage_error("cannot list tasks")
                .with_hint(format!("{text:?} {problem}"))
        };
        let status = |text: &String| parse_status(text).map_err(|problem| wrong(text, problem));
        let statuses: Result<Vec<Status>, _> = statuses.iter().map(status).collect();
        let parse_agent =
            |text| AgentId::parse(text).map_err(|error| wrong(text, error.to_string()));
        let (statuses, agent) = (statuses?, agent.map(parse_agent).transpose()?);
        Ok(Self { statuses, agent, limit: Some(limit), ..Self::default() })
    }

    /// Says whether a few tasks are found by id alone. Any other query searches all tasks.
    pub(crate) fn is_quick(&self, tasks_max: usize) -> bool {
        self.limit.is_some_and(|limit| limit <= tasks_max)
            && self.order != TaskOrder::StatusThenPriority
            && self.text.is_none()
            && self.agent.is_none()
            && self.tags.is_empty()
            && !self.is_open
    }

    /// Says whether the query is for all tasks.
    pub fn is_unfiltered(&self) -> bool {
        let Self { statuses, agent, epic, tags, text, is_open, limit: _, order: _, after: _ } =
            self;
        statuses.is_empty()
            && agent.is_none()
            && epic.is_none()
            && tags.is_empty()
            && text.is_none()
            && !is_open
    }

    /// Returns the matching tasks, in the order that is asked for.
    pub fn select<'w>(&self, world: &'w World) -> Vec<&'w Task> {
        let text = self.text.as_deref().unwrap_or_default().trim().to_lowercase();
        let wants = |task: &&Task| self.matches(task) && contains_text(task, &text);
        let (limit, after) = (self.limit.unwrap_or(usize::MAX), self.after.as_ref());
        // Each status yields up to `limit` tasks; the merged list is sorted and cut below.
        let statuses: BTreeSet<Status> = self.statuses.iter().copied().collect();
        let mut tasks: Vec<&Task> = match self.order {
            TaskOrder::StatusThenPriority => world.tasks().filter(wants).collect(),
            TaskOrder::Id if statuses.is_empty() => {
                world.tasks_after(after).filter(wants).take(limit).collect()
            }
            TaskOrder::IdDescending if statuses.is_empty() => {
                world.tasks_before(after).filter(wants).take(limit).collect()
            }
            TaskOrder::Id => {
                let of = |at| world.with_status_after(at, after).filter(wants).take(limit);
                statuses.into_iter().flat_map(of).collect()
            }
            TaskOrder::IdDescending => {
                let of = |at| world.with_status_before(at, after).filter(wants).take(limit);
                statuses.into_iter().flat_map(of).collect()
            }
        };
        match self.order {
            TaskOrder::StatusThenPriority => tasks.sort_by_key(|&task| list_sort_key(task)),
            TaskOrder::Id => tasks.sort_by(|a, b| a.id.cmp(&b.id)),
            TaskOrder::IdDescending => tasks.sort_by(|a, b| b.id.cmp(&a.id)),
        }
        tasks.truncate(limit);
        tasks
    }

    fn matches(&self, task: &Task) -> bool {
        let agent = task.lease().map(|lease| &lease.agent).or(task.routing.agent.as_ref());
        let epic = task.origin.as_deref().and_then(TaskOrigin::epic);
        (self.statuses.is_empty() || self.statuses.contains(&task.status()))
            && (self.epic.is_none() || epic == self.epic.as_ref())
            && (self.agent.is_none() || agent == self.agent.as_ref())
            && self.tags.iter().all(|tag| task.routing.tags.iter().any(|own| **own == **tag))
            && !(self.is_open && task.status().is_closed())
    }
}

/// Parses a status; an error says which there are.
pub fn parse_status(text: &str) -> Result<Status, String> {
    let all = Status::ALL.map(Status::as_str).join(", ");
    Status::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}

/// Returns whether the title has all words of a text in lowercase, or an id the whole text.
fn contains_text(task: &Task, text: &str) -> bool {
    let title = task.title.to_lowercase();
    let has_text = |id: &str| id.to_lowercase().contains(text);
    text.split_whitespace().all(|word| title.contains(word))
        || has_text(task.id.as_str())
        || task.origin.iter().flat_map(|origin| origin.ids()).any(has_text)
}

fn list_sort_key(task: &Task) -> (Status, Priority, &TaskId) {
    (task.status(), task.priority, &task.id)
}

#[cfg(test)]
mod tests {
    use adjutant_model::task::TaskState;
    use adjutant_model::{Actor, EventId, Time};

    use super::*;

    fn task(number: u64, title: &str, tags: &[&str], status: Status) -> Task {
        let now = Time::from_millis(1_770_000_000_000);
        let by = Actor::human("alice");
        let mut task = Task::new(TaskId::numbered(now, number), title, &by, now);
        task.routing.tags = tags.iter().map(|tag| (*tag).into()).collect();
        task.state = TaskState::entered(status);
        task
    }

    #[track_caller]
    fn check(query: &TaskQuery, expected: &[u64]) {
        let world = World::load(
            [
                task(1, "Fix the login page", &["web", "rust"], Status::Ready),
                task(2, "Fix the parser", &["rust"], Status::Done),
                task(3, "Login with a token", &["web"], Status::Cancelled),
                task(4, "Page the log", &[], Status::Deadletter),
            ],
            EventId::default(),
        );
        let query = TaskQuery { order: TaskOrder::Id, ..query.clone() };
        let found: Vec<u64> =
            query.select(&world).iter().filter_map(|task| task.id.number()).collect();
        assert_eq!(found, expected, "{query:?}");
    }

    #[test]
    fn task_query_filters_by_tags_words_and_openness() {
        let all = TaskQuery::default();
        check(&all, &[1, 2, 3, 4]);
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect();
        check(&TaskQuery { tags: tags(&["rust"]), ..all.clone() }, &[1, 2]);
        check(&TaskQuery { tags: tags(&["rust", "web"]), ..all.clone() }, &[1]);
        check(&TaskQuery { tags: tags(&["rus"]), ..all.clone() }, &[]);
        let text = |text: &str| TaskQuery { text: Some(text.to_owned()), ..TaskQuery::default() };
        check(&text("LOGIN"), &[1, 3]);
        check(&text("page  login"), &[1]);
        check(&text("log page"), &[1, 4]);
        check(&text(" "), &[1, 2, 3, 4]);
        check(&text("task-2026"), &[1, 2, 3, 4]);
        check(&text("-003"), &[3]);
        check(&TaskQuery { is_open: true, ..all.clone() }, &[1, 4]);
        let done = TaskQuery { statuses: vec![Status::Done], is_open: true, ..all };
        check(&done, &[]);
    }
}
