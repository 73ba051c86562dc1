//! Which requests concern stories. Their files decide, so the requests need facts from them.

use adjutant_core::World;
use adjutant_model::command::CommandCaller;
use adjutant_model::request::Request;
use adjutant_model::story::StoryId;
use adjutant_model::{Command, Status, TaskId};

/// A task that is a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryTask {
    pub story: StoryId,
    pub status: Status,
}

/// Returns the story of a task. Returns None for other tasks, and while a permission request waits.
pub fn story_task(world: &World, id: &TaskId) -> Option<StoryTask> {
    let task = world.task(id)?;
    if task.history.permit.is_some() {
        return None;
    }
    Some(StoryTask { story: task.story()?.story.clone(), status: task.status() })
}

/// Returns whether a request needs the positions from the story files.
pub fn needs_story_facts(request: &Request) -> bool {
    match request {
        Request::Stories { .. } => true,
        Request::Command { by: CommandCaller::Operator(_), command } => is_story_decision(command),
        _ => false,
    }
}

/// Returns the task of a request that may be a person's decision about a story.
pub fn decision_task(request: &Request) -> Option<&TaskId> {
    match request {
        Request::Command { by: CommandCaller::Operator(_), command }
            if is_story_decision(command) =>
        {
            command.task()
        }
        _ => None,
    }
}

/// Returns whether a command may be a person's decision about a story.
pub fn is_story_decision(command: &Command) -> bool {
    matches!(
        command,
        Command::Approve { .. }
            | Command::ApproveProtected { .. }
            | Command::Reject { .. }
            | Command::Answer { .. }
            | Command::Retry { .. }
    )
}
