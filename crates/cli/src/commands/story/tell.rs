//! What a person does to a story by way of the daemon: what the commands of the same names do.

use adjutant_api::office::StoryDeed;
use adjutant_core::pipeline::StoryId;
use adjutant_runtime::story::{Answer, Ask, Drive, Project};

use super::{accepted, auto, failure};
use crate::data::Data;
use crate::error::Failure;

/// Does it, and returns where the story stands then.
pub(crate) fn tell(
    project: &Project<'_>,
    story: &StoryId,
    deed: &StoryDeed,
    data: &Data,
) -> Result<Answer, Failure> {
    // Who is to do the steps must be there before anything is changed.
    match deed {
        StoryDeed::Start { auto: true, .. } => drop(auto::agent(None, data)?),
        StoryDeed::Drive(Drive::Agents(agent)) => {
            drop(auto::agent(agent.as_ref().map(adjutant_core::AgentId::as_str), data)?);
        }
        _ => {}
    }
    let own = Some(story);
    let (done, attempt) = match deed {
        StoryDeed::Start { blocked_by, auto, force } => {
            let started = project.start(story, blocked_by, *force);
            let started = started.and_then(|answer| match auto {
                true => project.drive(own, &Drive::Agents(None)),
                false => Ok(answer),
            });
            (started, "cannot start the story")
        }
        StoryDeed::Next { note } => (project.next(own, note.clone()), "cannot go on"),
        StoryDeed::Approve { note } => (project.approve(own, note.clone()), "cannot approve"),
        StoryDeed::Reject { reason, note } => {
            (project.reject(own, *reason, note.clone()), "cannot reject")
        }
        StoryDeed::Rollback { step, note } => {
            (project.rollback(own, *step, note.clone()), "cannot put the story back")
        }
        StoryDeed::Reopen { step, note } => {
            (project.reopen(story, *step, note.clone()), "cannot take the story up again")
        }
        StoryDeed::Drive(drive) => (project.drive(own, drive), "cannot say who does the steps"),
        StoryDeed::Hook => (project.hook(own, Ask::Ended), "cannot take in what an executor left"),
        StoryDeed::Broke { error } => {
            (project.report_error(own, error), "cannot take note of the error")
        }
    };
    let answer = done.map_err(failure)?;
    accepted(&answer, attempt)?;
    Ok(answer)
}
