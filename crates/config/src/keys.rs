//! The list of known settings, and the check for unknown ones.

use toml::de::{DeTable, DeValue};

use super::config_error::{ConfigError, line_at, nearest};

/// How an environment variable, which has no quotes, gives a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueSyntax {
    /// The value as it is, without quotes.
    Text,
    /// The value in TOML, as in the file.
    Toml,
}

pub(super) type SettingKeys = &'static [(&'static str, ValueSyntax)];

/// The tables with fixed names; the empty name is the top level.
pub(super) const TABLES: [(&str, SettingKeys); 8] = [
    (
        "",
        &[
            ("protocol", ValueSyntax::Toml),
            ("scheduler", ValueSyntax::Toml),
            ("agents", ValueSyntax::Toml),
            ("server", ValueSyntax::Toml),
            ("project", ValueSyntax::Toml),
            ("notify", ValueSyntax::Toml),
            ("log", ValueSyntax::Toml),
            ("otlp", ValueSyntax::Toml),
            ("store", ValueSyntax::Text),
            ("nats", ValueSyntax::Toml),
        ],
    ),
    ("log", &[("format", ValueSyntax::Text), ("level", ValueSyntax::Text)]),
    ("otlp", &[("endpoint", ValueSyntax::Text)]),
    (
        "server",
        &[
            ("listen", ValueSyntax::Text),
            ("token_file", ValueSyntax::Text),
            ("hosts", ValueSyntax::Toml),
            ("tls_cert", ValueSyntax::Text),
            ("tls_key", ValueSyntax::Text),
        ],
    ),
    (
        "nats",
        &[
            ("prefix", ValueSyntax::Text),
            ("node", ValueSyntax::Text),
            ("labels", ValueSyntax::Toml),
            ("accepted_keys", ValueSyntax::Toml),
            ("node_key", ValueSyntax::Text),
            ("nkey", ValueSyntax::Text),
            ("credentials", ValueSyntax::Text),
            ("ca", ValueSyntax::Text),
            ("cert", ValueSyntax::Text),
            ("key", ValueSyntax::Text),
            ("durability", ValueSyntax::Text),
            ("term", ValueSyntax::Text),
        ],
    ),
    (
        "protocol",
        &[("require_token", ValueSyntax::Toml), ("delegation_depth_max", ValueSyntax::Toml)],
    ),
    (
        "scheduler",
        &[
            ("concurrency", ValueSyntax::Toml),
            ("poll", ValueSyntax::Text),
            ("attempts_max", ValueSyntax::Toml),
            ("backoff", ValueSyntax::Text),
            ("heartbeat_ttl", ValueSyntax::Text),
            ("grace", ValueSyntax::Text),
            ("budget_usd_day", ValueSyntax::Toml),
            ("budget_tokens_day", ValueSyntax::Toml),
            ("budget_usd_task", ValueSyntax::Toml),
            ("budget_tokens_task", ValueSyntax::Toml),
        ],
    ),
    (
        "project",
        &[
            ("base", ValueSyntax::Text),
            ("checks", ValueSyntax::Toml),
            ("test_command", ValueSyntax::Text),
            ("check_timeout", ValueSyntax::Text),
            ("check_sandbox", ValueSyntax::Text),
            ("setup", ValueSyntax::Toml),
            ("teardown", ValueSyntax::Toml),
            ("copy", ValueSyntax::Toml),
            ("merge", ValueSyntax::Text),
            ("workspace", ValueSyntax::Text),
        ],
    ),
];

/// The settings that take effect without acceptance, by table: no command, program, address or right
/// depends on them. Every other setting is accepted by the operator first.
pub const HARMLESS_SETTINGS: &[(&str, &[&str])] = &[
    ("scheduler", &["concurrency", "poll", "attempts_max", "backoff", "heartbeat_ttl", "grace"]),
    ("log", &["format", "level"]),
];

pub(super) const AGENT: SettingKeys = &[
    ("kind", ValueSyntax::Text),
    ("mode", ValueSyntax::Text),
    ("role", ValueSyntax::Text),
    ("tags", ValueSyntax::Toml),
    ("slots", ValueSyntax::Toml),
    ("command", ValueSyntax::Toml),
    ("args", ValueSyntax::Toml),
    ("model", ValueSyntax::Text),
    ("budget_usd", ValueSyntax::Toml),
    ("budget_tokens", ValueSyntax::Toml),
    ("budget_usd_day", ValueSyntax::Toml),
    ("budget_tokens_day", ValueSyntax::Toml),
    ("script", ValueSyntax::Text),
    ("prompt", ValueSyntax::Text),
    ("dialect", ValueSyntax::Text),
    ("on_exit_ok", ValueSyntax::Text),
    ("stdout_messages", ValueSyntax::Text),
    ("tasks_max", ValueSyntax::Toml),
    ("timeout", ValueSyntax::Text),
    ("idle_timeout", ValueSyntax::Text),
    ("env", ValueSyntax::Toml),
    ("env_deny", ValueSyntax::Toml),
    ("env_pass", ValueSyntax::Toml),
    ("workspace", ValueSyntax::Text),
    ("checks", ValueSyntax::Toml),
    ("url", ValueSyntax::Text),
    ("secret_env", ValueSyntax::Text),
    ("permissions", ValueSyntax::Toml),
    ("merge", ValueSyntax::Text),
    ("sandbox", ValueSyntax::Text),
    ("sandbox_read", ValueSyntax::Toml),
    ("sandbox_write", ValueSyntax::Toml),
    ("network", ValueSyntax::Toml),
    ("processes_max", ValueSyntax::Toml),
    ("memory_max", ValueSyntax::Text),
];

/// The settings of a notification rule.
pub(super) const NOTIFY: SettingKeys = &[
    ("on", ValueSyntax::Toml),
    ("target", ValueSyntax::Text),
    ("name", ValueSyntax::Text),
    ("agents", ValueSyntax::Toml),
    ("tags", ValueSyntax::Toml),
    ("priority", ValueSyntax::Text),
    ("quiet", ValueSyntax::Text),
    ("time_zone", ValueSyntax::Text),
    ("urgent", ValueSyntax::Toml),
    ("batch", ValueSyntax::Text),
    ("timeout", ValueSyntax::Text),
    ("backoff", ValueSyntax::Text),
    ("attempts_max", ValueSyntax::Toml),
    ("command", ValueSyntax::Toml),
    ("format", ValueSyntax::Text),
    ("url", ValueSyntax::Text),
    ("url_file", ValueSyntax::Text),
    ("url_env", ValueSyntax::Text),
    ("secret_file", ValueSyntax::Text),
    ("secret_env", ValueSyntax::Text),
];

/// Where a setting is in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingLocation<'a> {
    /// Without a line number of its own.
    Top,
    Agent(&'a str),
    /// The index of the rule.
    Notify(usize),
}

impl SettingLocation<'_> {
    /// Returns the line number; `None` if there is none to show.
    pub(super) fn line(self, text: &str, top: &DeTable<'_>) -> Option<usize> {
        match self {
            Self::Top => None,
            Self::Agent(name) => line_of_agent(text, top, name),
            Self::Notify(number) => {
                notify_tables(top).nth(number).map(|rule| line_at(text, rule.span().start))
            }
        }
    }
}

/// Refuses an unknown setting and suggests the nearest known one.
pub(super) fn check(text: &str, top: &DeTable<'_>) -> Result<(), ConfigError> {
    check_table(text, "", TABLES[0].1, top)?;
    for (name, keys) in &TABLES[1..] {
        if let Some(DeValue::Table(table)) = top.get(*name).map(toml::Spanned::get_ref) {
            check_table(text, name, keys, table)?;
        }
    }
    for (name, agent) in agents(top) {
        if let DeValue::Table(table) = agent.get_ref() {
            check_table(text, &format!("agents.{}", name.get_ref()), AGENT, table)?;
        }
    }
    for rule in notify_tables(top) {
        if let DeValue::Table(table) = rule.get_ref() {
            check_table(text, "[notify]", NOTIFY, table)?;
        }
    }
    Ok(())
}

fn notify_tables<'t, 'i>(
    top: &'t DeTable<'i>,
) -> impl Iterator<Item = &'t toml::Spanned<DeValue<'i>>> {
    let rules = match top.get("notify").map(toml::Spanned::get_ref) {
        Some(DeValue::Array(rules)) => Some(rules),
        _ => None,
    };
    rules.into_iter().flatten()
}

fn line_of_agent(text: &str, top: &DeTable<'_>, name: &str) -> Option<usize> {
    let (key, _) = agents(top).find(|(key, _)| &**key.get_ref() == name)?;
    Some(line_at(text, key.span().start))
}

fn agents<'t, 'i>(
    top: &'t DeTable<'i>,
) -> impl Iterator<Item = (&'t toml::Spanned<toml::de::DeString<'i>>, &'t toml::Spanned<DeValue<'i>>)>
{
    let agents = match top.get("agents").map(toml::Spanned::get_ref) {
        Some(DeValue::Table(table)) => Some(table),
        _ => None,
    };
    agents.into_iter().flatten()
}

fn check_table(
    text: &str,
    name: &str,
    known: SettingKeys,
    found: &DeTable<'_>,
) -> Result<(), ConfigError> {
    let is_known = |key: &str| known.iter().any(|(known, _)| *known == key);
    let keys = found.keys().map(|key| (key.span().start, &**key.get_ref()));
    let Some((at, unknown)) = keys.filter(|(_, key)| !is_known(key)).min() else {
        return Ok(());
    };
    let meant = nearest(known.iter().map(|(key, _)| *key), unknown);
    let place = if name.is_empty() { String::new() } else { format!(" in [{name}]") };
    Err(ConfigError {
        line: Some(line_at(text, at)),
        message: format!("unknown setting `{unknown}`{place}"),
        hint: meant.map(|key| format!("did you mean `{key}`?")),
    })
}
