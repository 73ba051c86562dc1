//! The settings there are, and a check for those there are not.

use toml::de::{DeTable, DeValue};

use super::wrong::{Wrong, line_at, nearest};

/// How a setting is written where there are no quotes: in an environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Text,
    /// As in the file.
    Toml,
}

/// A table of settings.
pub(super) type Keys = &'static [(&'static str, Form)];

/// The tables with a fixed name; the empty name is the top.
pub(super) const TABLES: [(&str, Keys); 8] = [
    (
        "",
        &[
            ("protocol", Form::Toml),
            ("scheduler", Form::Toml),
            ("agents", Form::Toml),
            ("server", Form::Toml),
            ("project", Form::Toml),
            ("notify", Form::Toml),
            ("log", Form::Toml),
            ("otlp", Form::Toml),
            ("store", Form::Text),
            ("nats", Form::Toml),
        ],
    ),
    ("log", &[("format", Form::Text), ("level", Form::Text)]),
    ("otlp", &[("endpoint", Form::Text)]),
    ("server", &[("listen", Form::Text), ("token_file", Form::Text), ("hosts", Form::Toml)]),
    (
        "nats",
        &[
            ("prefix", Form::Text),
            ("node", Form::Text),
            ("labels", Form::Toml),
            ("credentials", Form::Text),
            ("ca", Form::Text),
            ("cert", Form::Text),
            ("key", Form::Text),
            ("durability", Form::Text),
            ("term", Form::Text),
        ],
    ),
    ("protocol", &[("require_token", Form::Toml)]),
    (
        "scheduler",
        &[
            ("concurrency", Form::Toml),
            ("poll", Form::Text),
            ("attempts_max", Form::Toml),
            ("backoff", Form::Text),
            ("heartbeat_ttl", Form::Text),
            ("grace", Form::Text),
            ("budget_usd_day", Form::Toml),
            ("budget_tokens_day", Form::Toml),
            ("budget_usd_task", Form::Toml),
            ("budget_tokens_task", Form::Toml),
        ],
    ),
    (
        "project",
        &[
            ("base", Form::Text),
            ("checks", Form::Toml),
            ("test_command", Form::Text),
            ("check_timeout", Form::Text),
            ("setup", Form::Toml),
            ("copy", Form::Toml),
            ("merge", Form::Text),
        ],
    ),
];

/// The settings of an agent.
pub(super) const AGENT: Keys = &[
    ("kind", Form::Text),
    ("mode", Form::Text),
    ("role", Form::Text),
    ("tags", Form::Toml),
    ("slots", Form::Toml),
    ("command", Form::Toml),
    ("args", Form::Toml),
    ("model", Form::Text),
    ("budget_usd", Form::Toml),
    ("budget_tokens", Form::Toml),
    ("budget_usd_day", Form::Toml),
    ("budget_tokens_day", Form::Toml),
    ("script", Form::Text),
    ("prompt", Form::Text),
    ("dialect", Form::Text),
    ("on_exit_ok", Form::Text),
    ("timeout", Form::Text),
    ("idle_timeout", Form::Text),
    ("env", Form::Toml),
    ("env_deny", Form::Toml),
    ("workspace", Form::Text),
    ("checks", Form::Toml),
    ("url", Form::Text),
    ("secret_env", Form::Text),
    ("permissions", Form::Toml),
    ("merge", Form::Text),
    ("sandbox", Form::Text),
    ("sandbox_write", Form::Toml),
];

/// The settings of a rule who is told of what.
pub(super) const NOTIFY: Keys = &[
    ("on", Form::Toml),
    ("target", Form::Text),
    ("name", Form::Text),
    ("agents", Form::Toml),
    ("tags", Form::Toml),
    ("priority", Form::Text),
    ("quiet", Form::Text),
    ("time_zone", Form::Text),
    ("urgent", Form::Toml),
    ("batch", Form::Text),
    ("timeout", Form::Text),
    ("backoff", Form::Text),
    ("attempts_max", Form::Toml),
    ("command", Form::Toml),
    ("format", Form::Text),
    ("url", Form::Text),
    ("url_file", Form::Text),
    ("url_env", Form::Text),
    ("secret_file", Form::Text),
    ("secret_env", Form::Text),
];

/// Where something stands in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// In no place of its own.
    Top,
    /// With the agent of this name.
    Agent(&'a str),
    /// In the rule that has so many before it.
    Notify(usize),
}

impl Place<'_> {
    /// Returns the line it is in.
    pub(super) fn line(self, text: &str, top: &DeTable<'_>) -> Option<usize> {
        match self {
            Self::Top => None,
            Self::Agent(name) => line_of_agent(text, top, name),
            Self::Notify(number) => {
                rules(top).nth(number).map(|rule| line_at(text, rule.span().start))
            }
        }
    }
}

/// Refuses a setting that nobody knows, and names the nearest.
pub(super) fn check(text: &str, top: &DeTable<'_>) -> Result<(), Wrong> {
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
    for rule in rules(top) {
        if let DeValue::Table(table) = rule.get_ref() {
            check_table(text, "[notify]", NOTIFY, table)?;
        }
    }
    Ok(())
}

fn rules<'t, 'i>(top: &'t DeTable<'i>) -> impl Iterator<Item = &'t toml::Spanned<DeValue<'i>>> {
    let rules = match top.get("notify").map(toml::Spanned::get_ref) {
        Some(DeValue::Array(rules)) => Some(rules),
        _ => None,
    };
    rules.into_iter().flatten()
}

/// Returns the line an agent is named in.
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

fn check_table(text: &str, name: &str, known: Keys, found: &DeTable<'_>) -> Result<(), Wrong> {
    let is_known = |key: &str| known.iter().any(|(known, _)| *known == key);
    let keys = found.keys().map(|key| (key.span().start, &**key.get_ref()));
    let Some((at, unknown)) = keys.filter(|(_, key)| !is_known(key)).min() else {
        return Ok(());
    };
    let meant = nearest(known.iter().map(|(key, _)| *key), unknown);
    let place = if name.is_empty() { String::new() } else { format!(" in [{name}]") };
    Err(Wrong {
        line: Some(line_at(text, at)),
        what: format!("there is no setting `{unknown}`{place}"),
        hint: meant.map(|key| format!("did you mean `{key}`?")),
    })
}
