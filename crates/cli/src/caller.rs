//! Finds out who calls a command: the operator, or an agent inside a run.

use std::path::Path;

use adjutant_model::command::CommandCaller;
use adjutant_model::{Actor, AgentId};
use adjutant_process::test_runner::limited_command::CHECK_VARIABLE;
use adjutant_run_files::live_shims::{LiveShims, ProcessOrigin};

/// Returns who gives a command on a data folder. A process inside one of its runs or checks counts
/// as that run's agent, even if it changed its environment. So does a process that cannot be
/// identified: it may have exited.
pub(crate) fn caller_for_folder(root: &Path) -> CommandCaller {
    match (caller_from_env(), LiveShims::new(root).own_origin()) {
        (inside @ CommandCaller::InsideRun(_), _) => inside,
        (operator @ CommandCaller::Operator(_), ProcessOrigin::Outside) => operator,
        (CommandCaller::Operator(_), ProcessOrigin::Inside(shim)) => {
            CommandCaller::InsideRun(shim.agent.map_or(Actor::System, to_agent_actor))
        }
        (CommandCaller::Operator(_), ProcessOrigin::Orphan | ProcessOrigin::Unknown) => {
            CommandCaller::InsideRun(Actor::System)
        }
    }
}

/// Returns who gives a command, going only by the environment.
pub(crate) fn caller_from_env() -> CommandCaller {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("ADJUTANT_RUN_TOKEN") || is_set(CHECK_VARIABLE) {
        return CommandCaller::InsideRun(agent_from_env());
    }
    CommandCaller::Operator(operator())
}

pub(crate) fn operator() -> Actor {
    let name = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    Actor::human(&name.or_else(login_name).unwrap_or_default())
}

/// Looks the user's name up in `/etc/passwd`.
fn login_name() -> Option<String> {
    let own = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let of_user = |line: &str| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == own).then(|| name.to_owned())
    };
    users.lines().find_map(of_user)
}

fn agent_from_env() -> Actor {
    let name = std::env::var("ADJUTANT_AGENT").unwrap_or_default();
    AgentId::parse(&name).map_or(Actor::System, to_agent_actor)
}

fn to_agent_actor(agent: AgentId) -> Actor {
    if agent.is_reserved() { Actor::System } else { Actor::Agent(agent) }
}
