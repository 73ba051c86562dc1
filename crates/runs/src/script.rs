//! The script agent: it plays the steps of a small file, for demonstrations and tests.
//!
//! It is a process like any other agent and knows only what every agent is told about its run. It
//! works, reports, delegates, and misbehaves in every way that real agents were seen to.

mod document;
mod file;
mod message;
mod play;
mod step;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

pub use file::{AgentScript, ScriptError};
pub use step::ScriptStep;

/// Plays a script for the task and attempt named in the environment.
pub fn run(path: &Path) -> Result<ExitCode, ScriptError> {
    let script = AgentScript::load(path)?;
    let run = message::RunIdentity::from_environment();
    Ok(play::play(script.steps(&run.task, run.attempt), &run))
}

/// Plays steps given as JSON; a `fork` step starts a background process this way.
pub fn run_steps(json: &str) -> Result<ExitCode, ScriptError> {
    let steps: Vec<ScriptStep> =
        serde_json::from_str(json).map_err(|error| ScriptError::json(&error))?;
    Ok(play::play(&steps, &message::RunIdentity::from_environment()))
}

/// The steps of each attempt, by attempt number.
type AttemptSteps = BTreeMap<u32, Vec<ScriptStep>>;
