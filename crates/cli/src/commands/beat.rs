//! `adjutant beat`: sends a heartbeat for an agent that has no shim on this machine.

use std::process::ExitCode;

use adjutant_engine::Request;
use adjutant_model::Actor;

use super::send::closed_pipe_is_failure;
use crate::data::{ProjectData, submit_as_run};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::run_environment::RunEnvironment;
use crate::view::answer;

/// Send a heartbeat for the current run (for agents that run elsewhere)
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent that Adjutant started on this machine does not need this: its heartbeats are sent for it.
Environment variables identify the run, as for `adjutant report`.
Exit code: 1 if the run was replaced or has ended; then the agent should stop.

Examples:
  adjutant beat")]
pub(crate) struct BeatArgs {}

impl BeatArgs {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(
        self,
        data: impl FnOnce() -> Result<ProjectData, CommandFailure>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let inside = RunEnvironment::from_env("cannot send a heartbeat")?;
        let by = Some(inside.agent.clone()).filter(|agent| !agent.is_reserved());
        let request = Request::LifeSign {
            task: inside.task.clone(),
            by: by.map_or(Actor::System, Actor::Agent),
            token: inside.token.clone(),
        };
        let answered = submit_as_run(request, data, out)?;
        answer::print(out, &answered).map_err(closed_pipe_is_failure)?;
        Ok(ExitCode::from(u8::from(answer::is_refused(&answered))))
    }
}
