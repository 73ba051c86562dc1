//! The result of a person's last action, shown above the next page.
//!
//! The address has the action and, for approvals, the tasks with the event that requested the merge.
//! The page is fetched again after each commit, so that the message becomes "merged" without a reload.

use adjutant_core::World;
use adjutant_engine::EngineAnswer;
use adjutant_model::{AgentId, Event, EventId, TaskId};
use adjutant_query::ProjectQueries;
use adjutant_query::approval::ApprovalOutcome;
use adjutant_query::failure::CommandFailure;

use super::actions::confirmation;
use crate::board::page_frame::FlashMessage;
use crate::http::SharedState;
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;

/// How many lines of the event log are searched for the end of a merge.
const LINES_MAX: usize = 20_000;
/// How many tasks a message reports on.
const TASKS_MAX: usize = 100;

/// The last action, as the address has it.
pub(super) struct DoneAction {
    word: Option<String>,
    about: Vec<(TaskId, Option<EventId>)>,
}

impl DoneAction {
    pub(super) fn read(params: &QueryParams) -> Self {
        let about = params.text("about").unwrap_or_default();
        let about = about.split(',').take(TASKS_MAX).filter_map(parse_approval).collect();
        Self { word: params.text("did"), about }
    }

    /// Returns what to tell the person.
    pub(super) async fn message(
        self,
        app: &SharedState,
    ) -> Result<Option<FlashMessage>, ApiProblem> {
        let Some(mut message) = self.word.as_deref().and_then(confirmation) else {
            return Ok(None);
        };
        let about = self.about;
        let outcomes = app
            .with_project(move |project| {
                let describe = |(id, event)| describe_outcome(&project.queries, &id, event);
                about.into_iter().map(describe).collect::<Result<Vec<_>, _>>()
            })
            .await?;
        for (text, succeeded) in outcomes {
            message.text = format!("{}\n{text}", message.text);
            message.succeeded &= succeeded;
        }
        Ok(Some(message))
    }
}

/// Returns a task and the event that requested its merge for the address.
pub(super) fn format_approval(id: &TaskId, answered: &EngineAnswer) -> String {
    let asked = |event: &Event| matches!(event, Event::MergeRequested { .. });
    let mut events = answered.events.iter();
    match events.find(|event| asked(&event.new_event.event)) {
        Some(event) => format!("{id}.{}", event.id.0),
        None => id.to_string(),
    }
}

fn parse_approval(text: &str) -> Option<(TaskId, Option<EventId>)> {
    let (id, event) = match text.split_once('.') {
        Some((id, event)) => (id, Some(EventId(event.parse().ok()?))),
        None => (text, None),
    };
    Some((TaskId::parse(id).ok()?, event))
}

/// Describes the outcome of an approval, and whether it succeeded so far.
fn describe_outcome(
    queries: &ProjectQueries,
    id: &TaskId,
    requested: Option<EventId>,
) -> Result<(String, bool), CommandFailure> {
    let outcome = match requested {
        Some(event) => ApprovalOutcome::of_merge(queries.root(), id, event, LINES_MAX)
            .map_err(|error| CommandFailure::unreadable_log(&error))?,
        None => ApprovalOutcome::Approved,
    };
    let agent = queries.with_world(|world| agent_of(world, id))?;
    let text = outcome.in_words(agent.as_ref().map(AgentId::as_str));
    Ok((format!("{id}: {text}"), !outcome.is_conflict()))
}

/// Returns the agent that gets the task back if its work cannot be merged.
fn agent_of(world: &World, id: &TaskId) -> Option<AgentId> {
    let task = world.task(id)?;
    let last = task.last_run.as_ref().map(|run| &run.agent);
    task.routing.agent.as_ref().or(last).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_in_address_names_task_and_event() {
        let id = TaskId::parse("TASK-2026-11-16-001").expect("an id");
        assert_eq!(parse_approval("TASK-2026-11-16-001"), Some((id.clone(), None)));
        assert_eq!(parse_approval("TASK-2026-11-16-001.17"), Some((id, Some(EventId(17)))));
        assert_eq!(parse_approval("TASK-2026-11-16-001.x"), None);
        assert_eq!(parse_approval("../x"), None);
    }
}
