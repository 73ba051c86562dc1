//! Who stands at the door: somebody outside, or a process of a run, whatever it says of itself.

use std::os::unix::net::UnixStream;
use std::path::Path;

use adjutant_core::command::Caller;
use adjutant_core::{Actor, AgentId, TaskId};

use crate::engine::Request;
use crate::process::inside::{Whence, whence};
use crate::shim::files::Folder;
use crate::token::Secret;

/// Who stands at the door.
pub(super) enum Visitor {
    /// Somebody outside: what they say they are counts.
    Outside,
    /// A process of a run.
    Run {
        /// Who works there.
        actor: Actor,
        /// Its task and its token, where they can be told.
        run: Option<(TaskId, String)>,
    },
}

impl Visitor {
    /// Finds out who it is.
    pub(super) fn of(guest: &UnixStream, root: &Path) -> Self {
        match whence(guest, root) {
            Whence::Outside => Self::Outside,
            // Whoever is gone before it is known who it was has no answer to wait for.
            Whence::Unknown => Self::Run { actor: Actor::System, run: None },
            Whence::Inside(attempt) => Self::inside(&attempt, root),
        }
    }

    fn inside(attempt: &Path, root: &Path) -> Self {
        let record = Folder::at(attempt).record().ok().flatten();
        let agent = record.as_ref().and_then(|record| AgentId::parse(&record.agent).ok());
        let task = attempt.ancestors().nth(2).and_then(Path::file_name);
        let task = task.and_then(|name| TaskId::parse(name.to_str()?).ok());
        let token = |(record, task): (_, TaskId)| {
            let fence = Option::map(record, |record: crate::shim::files::Record| record.fence)?;
            let token = Secret::read(root).ok()?.token(&task, fence);
            Some((task, token))
        };
        let actor = agent.filter(|agent| !agent.is_reserved()).map_or(Actor::System, Actor::Agent);
        Self::Run { actor, run: task.and_then(|task| token((record, task))) }
    }

    /// Returns what a request means when this one makes it: a run speaks for itself, and does not
    /// become an operator by saying so.
    pub(super) fn means(&self, request: Request) -> Request {
        let Self::Run { actor, run } = self else { return request };
        match (request, run) {
            (Request::Command { by: Caller::Operator(_), command }, _) => {
                Request::Command { by: Caller::InsideRun(actor.clone()), command }
            }
            (Request::Message(raw) | Request::Inside { raw, .. }, Some((task, token))) => {
                Request::Inside { task: task.clone(), token: token.clone(), raw }
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
    use adjutant_core::Command;
    use adjutant_core::command::Chore;

    use super::*;

    #[test]
    fn a_process_of_a_run_is_no_operator_and_nobody_else_whatever_it_says() {
        let task = TaskId::parse("TASK-2026-02-09-001").expect("an id");
        let actor = Actor::Agent(AgentId::parse("swe").expect("a name"));
        let who = Visitor::Run { actor, run: Some((task.clone(), "1-own".to_owned())) };
        let by = Caller::Operator(Actor::human("alice"));
        let command = || Command::Chore(Chore::Down);
        let means = who.means(Request::Command { by: by.clone(), command: command() });
        let inside = |request: &Request| {
            matches!(request, Request::Command { by: Caller::InsideRun(Actor::Agent(_)), .. })
        };
        assert!(inside(&means), "{means:?}");
        let (other, token) = (TaskId::parse("TASK-2026-02-09-002").expect("an id"), "2-stolen");
        let stolen = Request::Inside { task: other, token: token.to_owned(), raw: vec![] };
        for request in [stolen, Request::Message(vec![])] {
            let means = who.means(request);
            let own = matches!(&means, Request::Inside { task: of, token, .. }
                if *of == task && token == "1-own");
            assert!(own, "{means:?}");
        }
        let means = Visitor::Outside.means(Request::Command { by, command: command() });
        assert!(!inside(&means), "{means:?}");
    }
}
