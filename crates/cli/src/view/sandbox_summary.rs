//! What confines the agents of a project, as `up` and `doctor` say it.

use std::collections::BTreeMap;

use adjutant_config::{Agent, Config, Kind, Sandbox};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_runs::sandbox::auto_level::tried_strongest_level;
use adjutant_runs::sandbox::resource_limits::check_process_limit;

/// Returns the level of each agent that starts a program of its own.
pub(crate) fn sandbox_levels(config: &Config) -> BTreeMap<&str, SandboxLevel> {
    let agents = config.agents.iter();
    let confined = agents.filter(|(_, agent)| starts_program(agent));
    confined.map(|(name, agent)| (name.as_str(), agent.sandbox_level())).collect()
}

fn starts_program(agent: &Agent) -> bool {
    !matches!(agent.kind, Kind::Script | Kind::Webhook) || !agent.sandbox_level().is_none()
}

/// Describes [`sandbox_levels`]; `None` if there are none.
pub(crate) fn describe_levels(levels: &BTreeMap<&str, SandboxLevel>) -> Option<String> {
    let words: Vec<_> = levels.iter().map(|(name, level)| format!("{name} {level}")).collect();
    (!words.is_empty()).then(|| format!("sandbox: {}", words.join(", ")))
}

/// Returns why `sandbox = "auto"` is weaker than `strict` here, as far as this process has tried.
pub(crate) fn weaker_than_strict(config: &Config) -> Option<String> {
    let is_auto = |agent: &Agent| agent.sandbox == Sandbox::Auto && starts_program(agent);
    let (_, why) = tried_strongest_level()?;
    config.agents.values().any(is_auto).then(|| why.map(ToString::to_string))?
}

/// Returns the limits of a `strict` sandbox that this machine does not enforce, and why not. Those
/// that the settings name are errors of the configuration instead.
pub(crate) fn limits_not_enforced(config: &Config) -> BTreeMap<&'static str, String> {
    let has_strict = config.agents.values().any(|it| it.sandbox_level() == SandboxLevel::Strict);
    let refused = has_strict.then(|| check_process_limit().err()).flatten();
    refused.into_iter().map(|why| ("processes_max", why)).collect()
}
