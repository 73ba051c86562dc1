//! Carries what a project's stories say to the engine, and what people say on the board to stories.
//!
//! It is done by whoever brings a request, before the engine is asked: the files have a lock of
//! their own, and nobody else should wait for it.

use std::path::Path;

use adjutant_core::command::Caller;
use adjutant_core::input::StoryFacts;
use adjutant_core::pipeline::{Reason, StoryId};
use adjutant_core::{Command, NodeId, Status, TaskId};

use super::answer::Answer;
use super::project::{Project, StoryError};
use crate::clock::SystemClock;
use crate::engine::Request;

/// A task that is a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryTask {
    /// The story.
    pub story: StoryId,
    /// Where the task stands.
    pub status: Status,
}

/// The project whose stories are meant.
#[derive(Debug, Clone, Copy)]
pub struct Home<'h> {
    /// The folder of the project.
    pub path: &'h Path,
    /// The node of a fleet this is; none on one machine.
    pub node: Option<&'h NodeId>,
}

/// Adds to a request what the files of the project at `home` say, if that is asked for. A command
/// that says where a story is to go is done to its files first; `find` says which task is a story.
pub fn inform(
    home: Home<'_>,
    request: Request,
    find: impl FnOnce(&TaskId) -> Option<StoryTask>,
) -> Request {
    match request {
        Request::Stories { by, told, .. } => Request::Stories { by, told, facts: facts(home) },
        Request::Keyed { key, digest, of } => {
            Request::Keyed { key, digest, of: Box::new(inform(home, *of, find)) }
        }
        Request::Command { by: Caller::Operator(by), command } => {
            let said = command.task().filter(|_| is_word(&command)).and_then(find);
            match said.map(|task| say(home.path, &task, &command)) {
                Some(Ok(answer)) if answer.refusal.is_none() => {
                    let told = command.task().cloned();
                    Request::Stories { by, told, facts: facts(home) }
                }
                // The engine says why not, and keeps it in the record.
                _ => Request::Command { by: Caller::Operator(by), command },
            }
        }
        other => other,
    }
}

/// Says whether a request is one that [`inform`] has to do with.
pub fn concerns(request: &Request) -> bool {
    match request {
        Request::Stories { .. } => true,
        Request::Keyed { of, .. } => concerns(of),
        Request::Command { by: Caller::Operator(_), command } => is_word(command),
        _ => false,
    }
}

/// Returns the task that a request is a person's word on, should it be a story.
pub fn word_on(request: &Request) -> Option<&TaskId> {
    match request {
        Request::Keyed { of, .. } => word_on(of),
        Request::Command { by: Caller::Operator(_), command } if is_word(command) => command.task(),
        _ => None,
    }
}

/// Returns what the files of a project say about its stories. What is wrong with them is said by
/// the commands that people call.
fn facts(home: Home<'_>) -> Vec<StoryFacts> {
    if !home.path.join(".ai").is_dir() {
        return vec![];
    }
    let facts = Project::at(home.path, &SystemClock).and_then(|project| project.facts());
    home.on_node(facts.unwrap_or_default())
}

impl Home<'_> {
    /// Says of facts where the files are that tell them.
    pub fn on_node(self, mut facts: Vec<StoryFacts>) -> Vec<StoryFacts> {
        for facts in &mut facts {
            facts.position.node = self.node.cloned();
        }
        facts
    }
}

/// Says whether a command may be a person's word on a story.
fn is_word(command: &Command) -> bool {
    matches!(
        command,
        Command::Approve { .. }
            | Command::Reject { .. }
            | Command::Answer { .. }
            | Command::Retry { .. }
    )
}

fn say(home: &Path, task: &StoryTask, command: &Command) -> Result<Answer, StoryError> {
    let project = Project::at(home, &SystemClock)?;
    let story = Some(&task.story);
    let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    match command {
        Command::Approve { note, .. } => project.approve(story, text(note)),
        Command::Reject { reason, .. } => {
            let (reason, note) = reason_of(reason);
            project.reject(story, reason, note)
        }
        Command::Answer { text: answer, .. } if task.status == Status::Blocked => {
            project.approve(story, text(answer))
        }
        Command::Retry { .. } if task.status == Status::Blocked => project.approve(story, None),
        _ => project.status(story).map(|(answer, _)| Answer {
            refusal: Some(adjutant_core::pipeline::Refusal::NothingWaits),
            ..answer
        }),
    }
}

/// Reads a reason of the pipeline and what is said beside it; words that are none are all note.
fn reason_of(said: &str) -> (Option<Reason>, Option<String>) {
    let said = said.trim();
    let (first, rest) = said.split_once([':', ' ']).unwrap_or((said, ""));
    let (reason, note) = match Reason::parse(first) {
        Some(reason) => (Some(reason), rest.trim()),
        None => (None, said),
    };
    (reason, Some(note.to_owned()).filter(|note| !note.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_from_what_is_said_beside_it() {
        let read = |said: &str| {
            let (reason, note) = reason_of(said);
            (reason.map(Reason::as_str), note.unwrap_or_default())
        };
        assert_eq!(read("scope_warning"), (Some("scope_warning"), String::new()));
        assert_eq!(read("scope_warning: too much"), (Some("scope_warning"), "too much".into()));
        assert_eq!(read("no way"), (None, "no way".into()));
        assert_eq!(read(" "), (None, String::new()));
    }
}
