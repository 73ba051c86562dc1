//! The stories of a project, read from its files.

use std::path::Path;

use adjutant_config::Config;
use adjutant_model::AgentId;
use adjutant_model::story::StoryId;
use adjutant_process::clock::SystemClock;
use adjutant_stories::{StoryCommandAnswer, StoryProject};

use crate::failure::CommandFailure;

/// Opens the stories of the project in a folder.
pub fn open_project(workspace: &Path) -> Result<StoryProject<'static>, CommandFailure> {
    static CLOCK: SystemClock = SystemClock;
    Ok(StoryProject::at(workspace, &CLOCK)?)
}

/// Returns every story; none if the project is not set up for stories.
pub fn list_stories(workspace: &Path) -> Result<Vec<StoryCommandAnswer>, CommandFailure> {
    if !workspace.join(".ai").is_dir() {
        return Ok(vec![]);
    }
    Ok(open_project(workspace)?.list()?)
}

/// Returns a story by its id.
pub fn find_story(workspace: &Path, id: &str) -> Result<StoryCommandAnswer, CommandFailure> {
    let parsed = parse_id(id)?;
    let mut stories = list_stories(workspace)?.into_iter();
    let found = stories.find(|story| story.state.story.as_ref() == Some(&parsed));
    found.ok_or_else(|| unknown_story(id))
}

/// Returns a story with the prompt for the executor of its current step.
pub fn story_prompt(workspace: &Path, id: &str) -> Result<StoryCommandAnswer, CommandFailure> {
    let id = parse_id(id)?;
    Ok(open_project(workspace)?.prompt(Some(&id))?)
}

/// Returns the agent that is to do the steps of a story. Fails if the configuration does not have
/// it, or has none at all.
pub fn configured_agent(
    config: &Config,
    named: Option<&str>,
) -> Result<Option<AgentId>, CommandFailure> {
    let wrong = |message: String| {
        CommandFailure::report_usage_error(message).with_hint("`adjutant agents` lists them")
    };
    match named {
        _ if config.agents.is_empty() => Err(wrong("no agent is configured".to_owned())),
        None => Ok(None),
        Some(name) => match AgentId::parse(name) {
            Ok(agent) if config.agents.contains_key(name) => Ok(Some(agent)),
            _ => Err(wrong(format!("no agent named {name:?} is configured"))),
        },
    }
}

fn parse_id(text: &str) -> Result<StoryId, CommandFailure> {
    StoryId::parse(text).map_err(|_| unknown_story(text))
}

fn unknown_story(id: &str) -> CommandFailure {
    let message = format!("there is no story {id:?}");
    CommandFailure::story_refused("story_not_found", message, "no state file names it")
}
