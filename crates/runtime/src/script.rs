//! The script agent: an agent that does what a small file says, for demonstrations and tests.
//!
//! It is a process like any other agent, and knows of its run only what every agent is told. It
//! works, reports, hands on, and misbehaves in every way an agent was seen to misbehave.

mod document;
mod file;
mod message;
mod play;
mod step;

#[cfg(test)]
mod golden_tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

pub use file::{BadScript, Script};
pub use step::Step;

/// Plays a script for the task and the attempt that the environment names.
pub fn run(path: &Path) -> Result<ExitCode, BadScript> {
    let script = Script::load(path)?;
    let run = message::Run::from_environment();
    Ok(play::play(script.steps(&run.task, run.attempt), &run))
}

/// Plays steps given as JSON: what a step starts in the background.
pub fn run_steps(json: &str) -> Result<ExitCode, BadScript> {
    let steps: Vec<Step> = serde_json::from_str(json).map_err(|error| BadScript::json(&error))?;
    Ok(play::play(&steps, &message::Run::from_environment()))
}

/// The steps of an attempt, by its number.
type Attempts = BTreeMap<u32, Vec<Step>>;
