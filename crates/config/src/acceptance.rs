//! Which settings of a configuration take effect: those that the operator accepted, and the harmless
//! ones. It does not know where the accepted text is kept or who is asked.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::command_text::{shell_command, shell_word};
use toml::{Table, Value};

use super::config_error::ConfigError;
use super::keys::HARMLESS_SETTINGS;
use super::redact::redact_text;
use super::{Agent, Config, Kind, Scheduler, Target};

/// A configuration as far as it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedConfig {
    /// The settings in effect.
    pub config: Config,
    /// The settings of the file that wait for acceptance; empty if the whole file is in effect.
    pub pending: Vec<SettingChange>,
}

/// A setting that differs from the accepted configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// The setting, such as `agents.fixer.command`.
    pub name: String,
    /// The accepted value, as TOML; `None` if the setting is new.
    pub before: Option<String>,
    /// The value in the file, as TOML; `None` if the setting was removed.
    pub after: Option<String>,
}

impl AcceptedConfig {
    /// Compares a file with the text that was accepted last, `None` if none was. The environment
    /// variables of the operator apply to both and need no acceptance.
    pub fn read(
        file: &str,
        accepted: Option<&str>,
        variables: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let wanted = Config::read(file, variables.iter().cloned())?;
        let config = read_accepted(accepted.unwrap_or_default(), variables);
        let config = config.with_harmless_settings(&wanted);
        let pending = if config == wanted { vec![] } else { setting_changes(file, accepted) };
        Ok(Self { config, pending })
    }

    /// Takes the whole file as accepted.
    pub fn whole(file: &str, variables: &[(String, String)]) -> Result<Self, ConfigError> {
        Ok(Self { config: Config::read(file, variables.iter().cloned())?, pending: vec![] })
    }

    /// Returns the names of the settings that wait for acceptance.
    pub fn pending_names(&self) -> Vec<String> {
        self.pending.iter().map(|change| change.name.clone()).collect()
    }
}

/// Reads the accepted text. Variables for agents and rules that it does not have are left out, and a
/// text that this version cannot read counts as empty.
fn read_accepted(text: &str, variables: &[(String, String)]) -> Config {
    let is_named =
        |name: &str| ["ADJUTANT_AGENTS_", "ADJUTANT_NOTIFY_"].iter().any(|p| name.starts_with(p));
    let fixed: Vec<_> = variables.iter().filter(|(name, _)| !is_named(name)).cloned().collect();
    let tries = [(text, variables), (text, &fixed), ("", &fixed)];
    let mut read = tries.iter().map(|(text, vars)| Config::read(text, vars.iter().cloned()));
    read.find_map(Result::ok).unwrap_or_default()
}

impl Config {
    /// Returns these settings with the harmless ones of `other`.
    #[must_use]
    fn with_harmless_settings(self, other: &Self) -> Self {
        let Scheduler { concurrency, poll, attempts_max, backoff, heartbeat_ttl, grace, .. } =
            other.scheduler.clone();
        let own = self.scheduler;
        let numbers =
            Scheduler { concurrency, poll, attempts_max, backoff, heartbeat_ttl, grace, ..own };
        Self { scheduler: numbers, log: other.log.clone(), ..self }
    }

    /// Returns every command that the configuration can run, with what it is for.
    pub fn commands(&self) -> Vec<(String, String)> {
        let mut commands = Vec::new();
        for (name, agent) in &self.agents {
            commands.push((format!("agent {name}"), agent_command(agent)));
            let checks = agent.checks.iter().flatten().cloned();
            commands.extend(checks.map(|check| (format!("check of {name}"), check)));
        }
        let project = &self.project;
        let of = |what: &str, lines: &[String]| -> Vec<(String, String)> {
            lines.iter().map(|line| (what.to_owned(), line.clone())).collect()
        };
        commands.extend(of("check", &project.checks));
        commands.extend(project.test_command.iter().map(|line| ("tests".to_owned(), line.clone())));
        commands.extend(of("setup", &project.setup));
        commands.extend(of("teardown", &project.teardown));
        let notify = self.notify().filter(|(_, rule)| rule.target == Target::Command);
        commands.extend(notify.map(|(name, rule)| {
            (format!("notify {name}"), shell_command(rule.command.iter().map(String::as_str)))
        }));
        commands
    }
}

/// Returns the command line of an agent with its variables, quoted as for a shell. A value that looks
/// like a secret is redacted.
fn agent_command(agent: &Agent) -> String {
    let script = agent.script.clone().unwrap_or_default().display().to_string();
    let mut words: Vec<&str> = match agent.kind {
        _ if !agent.command.is_empty() => agent.command.iter().map(String::as_str).collect(),
        Kind::Script => vec!["script", &script],
        Kind::Webhook => vec!["POST", agent.url.as_deref().unwrap_or_default()],
        kind => vec![kind.as_str()],
    };
    words.extend(agent.args.iter().map(String::as_str));
    let variable = |(name, value): (&String, &String)| {
        let line = redact_text(&format!("{name}={value}")).into_owned();
        format!("{} ", shell_word(&line))
    };
    format!("{}{}", agent.env.iter().map(variable).collect::<String>(), shell_command(words))
}

/// Returns the settings in which two texts differ, without the harmless ones, ordered by name.
fn setting_changes(file: &str, accepted: Option<&str>) -> Vec<SettingChange> {
    let (before, after) = (settings(accepted.unwrap_or_default()), settings(file));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let change = |name: &String| SettingChange {
        name: name.clone(),
        before: before.get(name).cloned(),
        after: after.get(name).cloned(),
    };
    changed.map(change).collect()
}

fn settings(text: &str) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let table: Table = text.parse().unwrap_or_default();
    collect(&Value::Table(table), "", &mut settings);
    let harmless = HARMLESS_SETTINGS;
    let names = harmless.iter().flat_map(|(table, keys)| keys.iter().map(move |key| (table, key)));
    for (table, key) in names {
        settings.remove(&format!("{table}.{key}"));
    }
    settings
}

fn collect(value: &Value, name: &str, settings: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) if !table.is_empty() => {
            for (key, inner) in table {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                collect(inner, &name, settings);
            }
        }
        Value::Array(rules) if name == "notify" => {
            for (number, rule) in (1..).zip(rules) {
                collect(rule, &format!("notify.{number}"), settings);
            }
        }
        _ if name.is_empty() => {}
        value => drop(settings.insert(name.to_owned(), to_toml(value))),
    }
}

fn to_toml(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Datetime(time) => time.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(to_toml).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) => {
            let fields = table.iter().map(|(key, value)| format!("{key} = {}", to_toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(file: &str, accepted: Option<&str>) -> Vec<String> {
        AcceptedConfig::read(file, accepted, &[]).expect("it is valid").pending_names()
    }

    #[test]
    fn harmless_settings_need_no_acceptance() {
        let sample = |key: &str| match key {
            "concurrency" | "attempts_max" => "7",
            "format" => "\"json\"",
            "level" => "\"debug\"",
            _ => "\"7s\"",
        };
        for (table, keys) in HARMLESS_SETTINGS {
            for key in *keys {
                let file = format!("[{table}]\n{key} = {}\n", sample(key));
                assert_eq!(pending(&file, None), [""; 0], "{file}");
                let read = AcceptedConfig::read(&file, Some("store = \"nats://x\""), &[]);
                let read = read.expect("it is valid");
                assert_ne!(
                    read.config,
                    Config { store: read.config.store.clone(), ..Config::default() }
                );
            }
        }
    }

    #[test]
    fn settings_that_are_as_good_as_commands_need_acceptance() {
        for (file, name) in [
            ("store = \"nats://x:1\"", "store"),
            ("[nats]\nnode = \"a\"", "nats.node"),
            ("[server]\nlisten = \"0.0.0.0:1\"", "server.listen"),
            ("[protocol]\nrequire_token = true", "protocol.require_token"),
            ("[scheduler]\nbudget_usd_day = 1000", "scheduler.budget_usd_day"),
            ("[project]\nchecks = [\"true\"]", "project.checks"),
            ("[project]\nsetup = [\"true\"]", "project.setup"),
            ("[project]\nteardown = [\"true\"]", "project.teardown"),
            ("[project]\ntest_command = \"true\"", "project.test_command"),
            ("[project]\nmerge = \"ff\"", "project.merge"),
            ("[otlp]\nendpoint = \"http://127.0.0.1:1\"", "otlp.endpoint"),
            ("[[notify]]\ntarget = \"console\"\non = [\"review\"]", "notify.1.on"),
        ] {
            assert!(pending(file, None).contains(&name.to_owned()), "{file}");
        }
        let agent = "[agents.a]\nkind = \"command\"\ncommand = [\"sh\"]\n\
                     workspace = \"worktree\"\n";
        for more in ["sandbox = \"landlock\"", "env = { A = \"1\" }", "slots = 9", "checks = []"] {
            let file = format!("{agent}{more}\n");
            assert_ne!(pending(&file, Some(agent)), [""; 0], "{more}");
        }
    }

    #[test]
    fn unaccepted_file_keeps_accepted_settings_and_adds_harmless_ones() {
        let accepted = "[project]\nchecks = [\"make\"]\n";
        let file = "[project]\nchecks = [\"curl evil\"]\n[scheduler]\nconcurrency = 9\n";
        let read = AcceptedConfig::read(file, Some(accepted), &[]).expect("it is valid");
        assert_eq!(read.config.project.checks, ["make"]);
        assert_eq!(read.config.scheduler.concurrency, 9);
        let change = SettingChange {
            name: "project.checks".into(),
            before: Some("[\"make\"]".into()),
            after: Some("[\"curl evil\"]".into()),
        };
        assert_eq!(read.pending, [change]);
    }

    #[test]
    fn removed_file_and_removed_checks_need_acceptance() {
        assert_eq!(pending("", Some("[project]\nchecks = [\"make\"]\n")), ["project.checks"]);
    }

    #[test]
    fn comments_and_layout_need_no_acceptance() {
        let accepted = "[project]\nchecks = [\"make\"]\n";
        assert_eq!(pending("# Why.\n[project]\nchecks=['make']", Some(accepted)), [""; 0]);
    }

    #[test]
    fn environment_variables_need_no_acceptance() {
        let file = "[agents.a]\nkind = \"command\"\ncommand = [\"sh\"]\n";
        let variables = [("ADJUTANT_AGENTS_A_SLOTS", "3"), ("ADJUTANT_PROJECT_MERGE", "ff")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let read = AcceptedConfig::read(file, None, &variables).expect("it is valid");
        assert_eq!(read.pending_names(), ["agents.a.command", "agents.a.kind"]);
        assert!(read.config.agents.is_empty());
        assert_eq!(read.config.project.merge, super::super::Merge::Ff);
        let read = AcceptedConfig::read(file, Some(file), &variables).expect("it is valid");
        assert_eq!((read.pending.len(), read.config.agents["a"].slots), (0, 3));
    }

    #[test]
    fn commands_of_configuration_are_listed() {
        let text = "[project]\nchecks = [\"make test\"]\nsetup = [\"npm ci\"]\n\
                    teardown = [\"make clean\"]\n[agents.a]\nkind = \"command\"\ncommand = [\"./fix.sh\", \"-c\", \"rm x; ls\"]\n\
                    env = { API_TOKEN = \"abcdefghijkl\", LEVEL = \"2 3\" }\nchecks = [\"x\"]\n\
                    [agents.b]\nkind = \"claude\"\nargs = [\"--fast\"]\n\
                    [[notify]]\ntarget = \"command\"\non = [\"review\"]\ncommand = [\"./tell.sh\"]\n";
        let config = Config::read(text, [].into_iter()).expect("it is valid");
        let listed = config.commands();
        let listed: Vec<String> = listed.iter().map(|(of, line)| format!("{of}: {line}")).collect();
        assert_eq!(
            listed,
            [
                "agent a: 'API_TOKEN=****' 'LEVEL=2 3' ./fix.sh -c 'rm x; ls'",
                "check of a: x",
                "agent b: claude --fast",
                "check: make test",
                "setup: npm ci",
                "teardown: make clean",
                "notify command: ./tell.sh"
            ]
        );
    }
}
