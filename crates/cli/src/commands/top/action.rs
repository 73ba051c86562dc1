//! The actions of `adjutant top`: each submits a command and returns its result in one line.

use adjutant_engine::EngineRequest;
use adjutant_model::{Command, Event, EventId, TaskId};

use super::screen_state::ActionResult;
use crate::data::{ProjectData, require_accepted};
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopAction {
    command: Command,
    failure_text: String,
    success_text: String,
}

impl TopAction {
    pub(super) fn approve(id: TaskId) -> Self {
        let (failure_text, success_text) =
            (format!("cannot approve {id}"), format!("{id} approved"));
        Self {
            command: Command::Approve { id, note: "approved".to_owned() },
            failure_text,
            success_text,
        }
    }

    pub(super) fn reject(id: TaskId, reason: String) -> Self {
        let (failure_text, success_text) =
            (format!("cannot reject {id}"), format!("{id} rejected"));
        Self { command: Command::Reject { id, reason }, failure_text, success_text }
    }

    pub(super) fn answer(id: TaskId, text: String) -> Self {
        let (failure_text, success_text) =
            (format!("cannot answer {id}"), format!("{id} answered"));
        Self { command: Command::Answer { id, text }, failure_text, success_text }
    }

    pub(super) fn retry(id: TaskId) -> Self {
        let (failure_text, success_text) =
            (format!("cannot retry {id}"), format!("{id} will be retried"));
        Self { command: Command::Retry { id }, failure_text, success_text }
    }

    /// Submits the command and returns the result, and the merge that it requested, if any.
    pub(super) fn perform(self, data: &ProjectData) -> (ActionResult, Option<RequestedMerge>) {
        let Self { command, failure_text: attempt, success_text: done } = self;
        match submit(data, command, &attempt) {
            Ok(None) => (ActionResult { succeeded: true, text: done }, None),
            Ok(merge) => {
                let text = format!("{done}, and is being merged");
                (ActionResult { succeeded: true, text }, merge)
            }
            Err(failure) => {
                let text = clean(&failure.message_with_causes());
                (ActionResult { succeeded: false, text }, None)
            }
        }
    }
}

/// A merge whose outcome is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestedMerge {
    pub(super) task: TaskId,
    /// The event that requested it.
    pub(super) event: EventId,
}

fn submit(
    data: &ProjectData,
    command: Command,
    attempt: &str,
) -> Result<Option<RequestedMerge>, CommandFailure> {
    let by = data.caller();
    let answered = data.submit(EngineRequest::command(by, command), &CommandOutput::new(true))?;
    let answered = require_accepted(answered, attempt)?;
    let asked = |event: &Event| matches!(event, Event::MergeRequested { .. });
    let event = answered.events.iter().find(|event| asked(&event.new_event.event));
    let merge = event.zip(answered.answer.task.clone());
    Ok(merge.map(|(event, task)| RequestedMerge { task, event: event.id }))
}
