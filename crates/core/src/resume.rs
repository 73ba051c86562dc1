//! Whether an attempt goes on with the conversation of the one before, or begins anew.
//!
//! A conversation is gone on with by the agent whose it is, where it is, and once: one that comes to nothing
//! again may itself be what is wrong, and whoever comes next has a work order that says all of it.

use crate::account::Told;
use crate::name::AgentId;
use crate::run::Exit;
use crate::task::Task;

/// Returns the conversation that a run of this agent goes on with; none if it begins anew.
pub fn goes_on<'t>(task: &'t Task, agent: &AgentId) -> Option<&'t str> {
    // Each step of a story is a conversation of its own, and reads what the one before left.
    if task.story().is_some() {
        return None;
    }
    let session = task.trials.account()?.session.as_ref()?;
    let is_here = session.node == task.trials.node;
    (session.agent == *agent && is_here).then_some(&*session.id)
}

/// Returns the conversation that the attempt after this one goes on with, of a run that ended
/// before a report of it counted. One that was gone on with is still kept where a report came of
/// it: then it is no longer known by the time its run ends.
pub(crate) fn kept<'t>(
    task: &Task,
    agent: &AgentId,
    exit: &Exit,
    told: &'t Told,
) -> Option<&'t str> {
    let named = told.session.as_deref()?;
    let was_gone_on_with = goes_on(task, agent) == Some(named);
    // What stopped these was no fault of the conversation.
    let was_interrupted = told.trouble.is_some() || *exit == Exit::Stopped;
    (!was_gone_on_with || was_interrupted).then_some(named)
}
