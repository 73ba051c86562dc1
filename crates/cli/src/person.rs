//! Who is at the keyboard, or which run a command was called from.

use std::path::Path;

use adjutant_core::command::Caller;
use adjutant_core::{Actor, AgentId};
use adjutant_runtime::process::inside::{self, Whence};
use adjutant_runtime::shim::files::Folder;

/// Returns who gives a command on a data folder. Whoever is inside one of its runs is that, whatever
/// they did to their environment.
pub(crate) fn caller_on(root: &Path) -> Caller {
    match caller() {
        Caller::Operator(_) if let Whence::Inside(attempt) = inside::own(root) => {
            let record = Folder::at(&attempt).record().ok().flatten();
            let agent = record.and_then(|record| AgentId::parse(&record.agent).ok());
            Caller::InsideRun(agent.map_or(Actor::System, known))
        }
        told => told,
    }
}

/// Returns who gives a command: a person, or somebody inside a run.
pub(crate) fn caller() -> Caller {
    if std::env::var_os("ADJUTANT_RUN_TOKEN").is_some_and(|token| !token.is_empty()) {
        return Caller::InsideRun(agent());
    }
    Caller::Operator(operator())
}

/// Returns the person at the keyboard.
pub(crate) fn operator() -> Actor {
    let name = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    Actor::human(&name.or_else(login).unwrap_or_default())
}

/// Looks the user up where the machine keeps its users.
fn login() -> Option<String> {
    let own = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let of_user = |line: &str| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == own).then(|| name.to_owned())
    };
    users.lines().find_map(of_user)
}

fn agent() -> Actor {
    let name = std::env::var("ADJUTANT_AGENT").unwrap_or_default();
    AgentId::parse(&name).map_or(Actor::System, known)
}

fn known(agent: AgentId) -> Actor {
    if agent.is_reserved() { Actor::System } else { Actor::Agent(agent) }
}
