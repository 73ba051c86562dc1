//! The run of a story's step: its work order is the step's prompt, and the step rules
//! limit its time.

use std::time::Duration;

use adjutant_config::Agent;
use adjutant_model::story::StoryId;
use adjutant_process::clock::SystemClock;
use adjutant_run_files::shim_spec::to_millis;
use adjutant_runs::agent::{AgentLaunch, LaunchContext};
use adjutant_store::format_error_chain;
use adjutant_stories::StoryProject;
use adjutant_stories::files::StoryFolder;

use super::process_backend::ProcessBackend;
use crate::run_manager::RunStartInput;

/// The variable that tells an executor which story it works on.
pub const STORY_VARIABLE: &str = "ADJUTANT_STORY";

impl ProcessBackend {
    /// Dispatches a step in the story's files, and returns how to start its run. Everything that
    /// can prevent the start is checked before the step counts as started.
    pub(super) fn dispatch_step(
        &self,
        start: &RunStartInput,
        story: &StoryId,
        agent: &Agent,
    ) -> Result<AgentLaunch, String> {
        let run = &start.run;
        // Hand-overs and prompts use paths relative to the project root.
        let agent = Agent { workspace: None, ..agent.clone() };
        let home = self.folder.workspace();
        let attempt = self.supervisor.folder(run);
        let context = LaunchContext {
            home: &home,
            program: &self.program,
            attempt: attempt.path(),
            name: &format!("adjutant-{}-{}", run.task, run.attempt),
            // Each step is a new session, and reads the hand-over of the step before.
            resume: None,
            budget: start.budget,
            secret_variables: &self.config.secret_variables(),
        };
        let folder = StoryFolder::at(&home);
        let project = StoryProject::open_with_data(folder, self.folder.root(), &SystemClock)
            .map_err(|error| format_error_chain(&error))?;
        let mut answer =
            project.dispatch(story, run).map_err(|error| format_error_chain(&error))?;
        let step = answer.state.step;
        // Without a prompt the step was not dispatched.
        let prompt = answer.prompt.take().ok_or_else(|| answer.caller_instruction())?;
        let mut launch = AgentLaunch::for_agent(&agent, &self.config.scheduler, &context, prompt);
        let minutes = project.rules().get(step).map_or(0, |rule| rule.timeout_min);
        if minutes > 0 {
            let limit = to_millis(Duration::from_mins(u64::from(minutes)));
            let own = launch.limits.timeout_ms.unwrap_or(limit);
            launch.limits.timeout_ms = Some(own.min(limit));
        }
        launch.environment.set.insert(STORY_VARIABLE.to_owned(), story.to_string());
        Ok(launch)
    }
}
