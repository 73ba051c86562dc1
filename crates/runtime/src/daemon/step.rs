//! The run of a story's step: what its agent is told is the step's prompt, and how long it may take
//! is for the step to say.

use std::time::Duration;

use adjutant_core::pipeline::StoryId;

use super::in_one_line;
use super::processes::Processes;
use crate::agent::{Here, Launch};
use crate::clock::SystemClock;
use crate::config::Agent;
use crate::crew::Wanted;
use crate::shim::spec::millis;
use crate::story::Project;

/// The variable that tells an executor which story it works on.
pub const STORY_VARIABLE: &str = "ADJUTANT_STORY";

impl Processes {
    /// Starts a step of a story in its files, and says how to start the run that does it. What keeps
    /// a run from being started is found before the step counts as started.
    pub(super) fn step(
        &self,
        wanted: &Wanted,
        story: &StoryId,
        agent: &Agent,
    ) -> Result<Launch, String> {
        let run = &wanted.run;
        // Papers and prompts name files from the root of the project.
        let agent = Agent { workspace: None, ..agent.clone() };
        let home = self.folder.workspace();
        let attempt = self.supervisor.folder(run);
        let here = Here {
            home: &home,
            program: &self.program,
            attempt: attempt.path(),
            name: &format!("adjutant-{}-{}", run.task, run.attempt),
            // Each step is a session of its own, and reads what the one before left.
            resume: None,
            budget: wanted.budget,
        };
        let project = Project::at(&home, &SystemClock).map_err(|error| in_one_line(&error))?;
        let told = project.dispatch(story, run).map_err(|error| in_one_line(&error))?;
        let step = told.state.step;
        let prompt = told.prompt.clone().filter(|_| told.result == "dispatched");
        let prompt = prompt.ok_or_else(|| told.caller_instruction())?;
        let mut launch = Launch::of(&agent, &self.config.scheduler, &here, prompt);
        let minutes = project.rules().of(step).map_or(0, |rule| rule.timeout_min);
        if minutes > 0 {
            let limit = millis(Duration::from_mins(u64::from(minutes)));
            let own = launch.limits.timeout_ms.unwrap_or(limit);
            launch.limits.timeout_ms = Some(own.min(limit));
        }
        launch.environment.set.insert(STORY_VARIABLE.to_owned(), story.to_string());
        Ok(launch)
    }
}
