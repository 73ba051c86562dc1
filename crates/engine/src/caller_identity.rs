//! Who sends a request: a process outside all runs, or one inside a run, regardless of what the
//! request claims. The daemon asks this about the peers of its socket, and a command that commits
//! by itself about its own process.

use std::path::Path;

use adjutant_config::run_token::TokenSecret;
use adjutant_model::answer::Reason;
use adjutant_model::command::CommandCaller;
use adjutant_model::request::{MessageOrigin, RefusedAccess, Request};
use adjutant_model::{Actor, TaskId};
use adjutant_run_files::live_shims::{LiveShim, LiveShims, ProcessOrigin, ShimKind};

#[derive(Debug)]
pub enum CallerIdentity {
    /// A process outside all runs; the identity it claims counts.
    Outside,
    /// A process inside a run.
    Run {
        /// The agent of the run.
        actor: Actor,
        task: TaskId,
        token: String,
    },
    /// A process that may neither give commands nor speak for a run: it belongs to a check, or it
    /// exited or changed while it was looked at.
    WithoutRights {
        actor: Actor,
        task: Option<TaskId>,
        reason: Reason,
        /// Why it has no rights.
        cause: &'static str,
    },
}

impl CallerIdentity {
    /// Identifies this process.
    pub fn of_this_process(root: &Path) -> Self {
        Self::from_origin(LiveShims::new(root).own_origin(), TokenSecret::read(root).ok().as_ref())
    }

    /// Identifies a process by where it comes from. A run speaks with the token that `secret` makes.
    pub fn from_origin(origin: ProcessOrigin, secret: Option<&TokenSecret>) -> Self {
        match origin {
            ProcessOrigin::Outside => Self::Outside,
            ProcessOrigin::Orphan => Self::WithoutRights {
                actor: Actor::System,
                task: None,
                reason: Reason::OperatorOnly,
                cause: "the shim of the calling process was killed",
            },
            ProcessOrigin::Unknown => Self::WithoutRights {
                actor: Actor::System,
                task: None,
                reason: Reason::OperatorOnly,
                cause: "the calling process exited before it was identified",
            },
            ProcessOrigin::Inside(shim) => Self::from_shim(*shim, secret),
        }
    }

    fn from_shim(shim: LiveShim, secret: Option<&TokenSecret>) -> Self {
        let agent = shim.agent.filter(|agent| !agent.is_reserved());
        let actor = agent.map_or(Actor::System, Actor::Agent);
        match (shim.kind, shim.task, shim.fence, secret) {
            (ShimKind::Run, Some(task), Some(fence), Some(secret)) => {
                let token = secret.token(&task, fence, shim.nonce);
                Self::Run { actor, task, token }
            }
            (ShimKind::Run, task, _, _) => Self::WithoutRights {
                actor,
                task,
                reason: Reason::OperatorOnly,
                cause: "the calling process is in an unknown run",
            },
            (ShimKind::Check, task, _, _) => Self::WithoutRights {
                actor,
                task,
                reason: Reason::TokenRequired,
                cause: "a process of a check has no run token",
            },
        }
    }

    /// Rewrites a request to what this caller may ask: a process inside a run speaks for its own run,
    /// and does not become an operator by claiming to be one.
    pub fn authorize(&self, request: Request) -> Request {
        match (self, request) {
            (
                Self::Run { actor, .. } | Self::WithoutRights { actor, .. },
                Request::Command { command, .. },
            ) => Request::Command { by: CommandCaller::InsideRun(actor.clone()), command },
            (Self::WithoutRights { actor, task, reason, cause }, _) => {
                Request::Refused(RefusedAccess {
                    by: actor.clone(),
                    task: task.clone(),
                    reason: *reason,
                    detail: (*cause).to_owned(),
                    count: 1,
                })
            }
            (Self::Run { task, token, .. }, Request::Message { text, .. }) => {
                let origin = MessageOrigin::InsideRun { task: task.clone(), token: token.clone() };
                Request::Message { origin, text }
            }
            (Self::Run { actor, token, .. }, Request::LifeSign { task, .. }) => {
                Request::LifeSign { task, by: actor.clone(), token: token.clone() }
            }
            (Self::Run { actor, token, .. }, Request::PermissionAsked { task, asked, .. }) => {
                let (by, token) = (actor.clone(), token.clone());
                Request::PermissionAsked { task, by, token, asked }
            }
            (Self::Run { actor, .. }, Request::Stories { told, facts, .. }) => {
                Request::Stories { by: actor.clone(), told, facts }
            }
            (Self::Outside | Self::Run { .. }, request) => request,
        }
    }
}

impl CallerIdentity {
    /// Describes a request of this caller that is refused.
    pub(crate) fn refused_access(&self, detail: &str) -> RefusedAccess {
        let (by, task) = match self {
            Self::Outside => (Actor::System, None),
            Self::Run { actor, task, .. } => (actor.clone(), Some(task.clone())),
            Self::WithoutRights { actor, task, .. } => (actor.clone(), task.clone()),
        };
        let (reason, detail) = (Reason::OperatorOnly, detail.to_owned());
        RefusedAccess { by, task, reason, detail, count: 1 }
    }

    /// Returns the refusal that the engine will answer an authorized request with, if it is clear
    /// before any decision: the caller has no right to ask it.
    pub(crate) fn refusal_of(&self, authorized: &Request) -> Option<RefusedAccess> {
        match authorized {
            Request::Command { by: CommandCaller::InsideRun(_), command } => {
                Some(self.refused_access(command.name()))
            }
            Request::Refused(refused) => Some(refused.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use adjutant_model::command::OperatorAction;
    use adjutant_model::request::AskedPermission;
    use adjutant_model::{AgentId, Command};

    use super::*;

    fn own_task() -> TaskId {
        TaskId::parse("TASK-2026-02-09-001").expect("an id")
    }

    fn command() -> Request {
        let by = CommandCaller::Operator(Actor::human("alice"));
        Request::Command { by, command: Command::Chore(OperatorAction::Down) }
    }

    fn is_inside(request: &Request) -> bool {
        matches!(request, Request::Command { by: CommandCaller::InsideRun(_), .. })
    }

    /// Every request that a client may send, but commands, with the identity of another run.
    fn forged_requests() -> Vec<Request> {
        let other = TaskId::parse("TASK-2026-02-09-002").expect("an id");
        let (by, token) = (Actor::human("alice"), "2-stolen".to_owned());
        let stolen = MessageOrigin::InsideRun { task: other.clone(), token: token.clone() };
        let asked = AskedPermission { number: 1, text: "rm".to_owned(), choices: vec![] };
        let (task, sender) = (other.clone(), by.clone());
        vec![
            Request::Message { origin: stolen, text: vec![] },
            Request::Message { origin: MessageOrigin::Outside, text: vec![] },
            Request::LifeSign { task: other, by: sender.clone(), token: token.clone() },
            Request::PermissionAsked { task, by: sender, token, asked },
            Request::Stories { by, told: None, facts: vec![] },
        ]
    }

    #[test]
    fn caller_inside_run_cannot_act_as_operator_or_other_run() {
        let shim = LiveShim {
            agent: AgentId::parse("swe").ok(),
            task: Some(own_task()),
            fence: Some(1),
            ..LiveShim::new(ShimKind::Run)
        };
        let home = tempfile::tempdir().expect("a folder");
        let secret = TokenSecret::open(home.path()).expect("a secret");
        let origin = ProcessOrigin::Inside(Box::new(shim));
        let caller = CallerIdentity::from_origin(origin, Some(&secret));
        let token = secret.token(&own_task(), 1, None);
        assert!(is_inside(&caller.authorize(command())));
        let own = MessageOrigin::InsideRun { task: own_task(), token };
        for request in forged_requests() {
            let authorized = caller.authorize(request);
            let text = format!("{authorized:?}");
            assert!(!text.contains("stolen") && !text.contains("alice"), "{text}");
            if let Request::Message { origin, .. } = authorized {
                assert_eq!(origin, own);
            }
        }
    }

    #[test]
    fn caller_of_check_unknown_run_or_that_exited_has_no_rights() {
        let shim = |kind, task| LiveShim { task, ..LiveShim::new(kind) };
        let origins = [
            ProcessOrigin::Unknown,
            ProcessOrigin::Inside(Box::new(shim(ShimKind::Check, Some(own_task())))),
            ProcessOrigin::Inside(Box::new(shim(ShimKind::Check, None))),
            ProcessOrigin::Inside(Box::new(shim(ShimKind::Run, None))),
        ];
        for origin in origins {
            let caller = CallerIdentity::from_origin(origin, None);
            assert!(is_inside(&caller.authorize(command())), "{caller:?}");
            for request in forged_requests() {
                let authorized = caller.authorize(request);
                assert!(matches!(authorized, Request::Refused(_)), "{caller:?}: {authorized:?}");
            }
        }
    }

    #[test]
    fn caller_outside_all_runs_speaks_for_itself() {
        let caller = CallerIdentity::from_origin(ProcessOrigin::Outside, None);
        for request in forged_requests().into_iter().chain([command()]) {
            assert_eq!(caller.authorize(request.clone()), request);
        }
    }
}
