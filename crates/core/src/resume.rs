//! Decides whether an attempt resumes the session of the previous attempt or starts a new one.
//!
//! A session is resumed by its own agent, on the node that has it, and only once. If it fails
//! again, the session itself may be at fault, and a new session gets a complete work order.

use adjutant_model::actor::AgentId;
use adjutant_model::run::RunExit;
use adjutant_model::task::Task;
use adjutant_model::usage::AgentTelemetry;

/// Returns the session that a run of this agent resumes; `None` starts a new session.
pub fn session_to_resume<'t>(task: &'t Task, agent: &AgentId) -> Option<&'t str> {
    // Each step of a story has its own session, and reads what the previous step left.
    if task.story().is_some() {
        return None;
    }
    let session = task.history.account()?.session.as_ref()?;
    let is_here = session.node == task.history.node;
    (session.agent == *agent && is_here).then_some(&*session.id)
}

/// Returns the session that the next attempt resumes, after a run that ended before its report
/// counted. A session that was already resumed is dropped, unless its run reported: the report
/// clears the stored session, so the session counts as new.
pub(crate) fn session_to_keep<'t>(
    task: &Task,
    agent: &AgentId,
    exit: &RunExit,
    telemetry: &'t AgentTelemetry,
) -> Option<&'t str> {
    let named = telemetry.session.as_deref()?;
    let was_gone_on_with = session_to_resume(task, agent) == Some(named);
    // The session was not at fault for these interruptions.
    let was_interrupted = telemetry.trouble.is_some() || *exit == RunExit::Stopped;
    (!was_gone_on_with || was_interrupted).then_some(named)
}
