//! Finds the run that a token belongs to.

use adjutant_config::run_token::TokenSecret;
use adjutant_core::World;
use adjutant_core::input::TokenOwner;
use adjutant_model::run::RunRef;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{AgentId, Status, Task, TaskId};

/// The run a session acts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCredentials {
    pub task: TaskId,
    pub agent: AgentId,
    pub attempt: u32,
    /// The run token, which authenticates the run's messages.
    pub token: String,
}

/// The task and fence that a token was issued for.
pub(crate) struct TokenRun {
    pub(crate) task: TaskId,
    pub(crate) fence: u64,
    /// The agent and attempt; `None` if the task no longer names the run.
    pub(crate) run: Option<(AgentId, u32)>,
}

/// Finds the run that a token was issued to. Tasks in progress are tried before
/// those that ran earlier.
pub(crate) fn find_token_run(
    world: &World,
    secret: &TokenSecret,
    token: &str,
    hint: Option<&TaskId>,
) -> Option<TokenRun> {
    let hinted = hint.and_then(|id| world.task(id));
    let working = world.with_status(Status::InProgress);
    let worked = world.tasks().filter(|task| task.last_run.is_some());
    let mut tasks = hinted.into_iter().chain(working).chain(worked);
    tasks.find_map(|task| match secret.verify(Some(token), std::slice::from_ref(&task.id)) {
        TokenOwner::Run { task: id, fence, nonce } => {
            Some(TokenRun { task: id, fence, run: find_run(task, fence, nonce) })
        }
        TokenOwner::None | TokenOwner::Unknown => None,
    })
}

fn find_run(task: &Task, fence: u64, nonce: Option<RunNonce>) -> Option<(AgentId, u32)> {
    let leased = task.lease().map(RunRef::from);
    let runs = leased.into_iter().chain(task.last_run.clone());
    runs.into_iter().find(|run| run.is_of(fence, nonce)).map(|run| (run.agent, run.attempt))
}
