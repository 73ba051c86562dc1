//! Identifies the peer of a socket connection: a process outside all runs, or a process inside a
//! run, regardless of what the peer claims.

use std::os::unix::net::UnixStream;
use std::path::Path;

use adjutant_config::run_token::TokenSecret;
use adjutant_model::command::CommandCaller;
use adjutant_model::request::{MessageOrigin, Request};
use adjutant_model::{Actor, AgentId, TaskId};
use adjutant_process::process_table::process_origin::{ProcessOrigin, peer_origin};
use adjutant_run_files::attempt_files::AttemptFolder;

pub(super) enum PeerIdentity {
    /// A process outside all runs; the identity it claims counts.
    Outside,
    /// A process inside a run.
    Run {
        /// The agent of the run, or the system if the agent is unknown.
        actor: Actor,
        /// The task and the token of the run, if they can be determined.
        run: Option<(TaskId, String)>,
    },
}

impl PeerIdentity {
    /// Identifies the process at the other end of the connection.
    pub(super) fn identify(client: &UnixStream, root: &Path) -> Self {
        match peer_origin(client, root) {
            ProcessOrigin::Outside => Self::Outside,
            // A process that exited before it was identified does not wait for an answer.
            ProcessOrigin::Unknown => Self::Run { actor: Actor::System, run: None },
            ProcessOrigin::Inside(attempt) => Self::from_attempt_folder(&attempt, root),
        }
    }

    fn from_attempt_folder(attempt: &Path, root: &Path) -> Self {
        let record = AttemptFolder::new(attempt).record().ok().flatten();
        let agent = record.as_ref().and_then(|record| AgentId::parse(&record.agent).ok());
        let task = attempt.ancestors().nth(2).and_then(Path::file_name);
        let task = task.and_then(|name| TaskId::parse(name.to_str()?).ok());
        let token = |(record, task): (_, TaskId)| {
            let fence =
                Option::map(record, |record: adjutant_run_files::attempt_files::ShimRecord| {
                    record.fence
                })?;
            let token = TokenSecret::read(root).ok()?.token(&task, fence);
            Some((task, token))
        };
        let actor = agent.filter(|agent| !agent.is_reserved()).map_or(Actor::System, Actor::Agent);
        Self::Run { actor, run: task.and_then(|task| token((record, task))) }
    }

    /// Rewrites a request to what this peer may ask: a process inside a run speaks for its own run,
    /// and does not become an operator by claiming to be one.
    pub(super) fn authorize(&self, request: Request) -> Request {
        let Self::Run { actor, run } = self else { return request };
        match (request, run) {
            (Request::Command { by: CommandCaller::Operator(_), command }, _) => {
                Request::Command { by: CommandCaller::InsideRun(actor.clone()), command }
            }
            (Request::Message { text, .. }, Some((task, token))) => {
                let origin = MessageOrigin::InsideRun { task: task.clone(), token: token.clone() };
                Request::Message { origin, text }
            }
            (Request::LifeSign { task, by, .. }, Some((_, token))) => {
                Request::LifeSign { task, by, token: token.clone() }
            }
            (request, _) => request,
        }
    }
}

#[cfg(test)]
mod tests {
    use adjutant_model::Command;
    use adjutant_model::command::OperatorAction;

    use super::*;

    #[test]
    fn peer_inside_run_cannot_act_as_operator_or_other_run() {
        let task = TaskId::parse("TASK-2026-02-09-001").expect("an id");
        let actor = Actor::Agent(AgentId::parse("swe").expect("a name"));
        let who = PeerIdentity::Run { actor, run: Some((task.clone(), "1-own".to_owned())) };
        let by = CommandCaller::Operator(Actor::human("alice"));
        let command = || Command::Chore(OperatorAction::Down);
        let means = who.authorize(Request::Command { by: by.clone(), command: command() });
        let inside = |request: &Request| {
            matches!(
                request,
                Request::Command { by: CommandCaller::InsideRun(Actor::Agent(_)), .. }
            )
        };
        assert!(inside(&means), "{means:?}");
        let (other, token) = (TaskId::parse("TASK-2026-02-09-002").expect("an id"), "2-stolen");
        let stolen = MessageOrigin::InsideRun { task: other, token: token.to_owned() };
        let own = MessageOrigin::InsideRun { task, token: "1-own".to_owned() };
        for origin in [stolen, MessageOrigin::Outside] {
            let means = who.authorize(Request::Message { origin, text: vec![] });
            assert_eq!(means, Request::Message { origin: own.clone(), text: vec![] });
        }
        let means = PeerIdentity::Outside.authorize(Request::Command { by, command: command() });
        assert!(!inside(&means), "{means:?}");
    }
}
