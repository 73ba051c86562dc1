//! Applies environment variables to the configuration; a variable overrides the file.
//!
//! `ADJUTANT_SCHEDULER_POLL` is `poll` in `[scheduler]`, and `ADJUTANT_AGENTS_FIXER_TIMEOUT` is
//! `timeout` in `[agents.fixer]`, if the file has such an agent. `ADJUTANT_NOTIFY_OPS_URL` is `url`
//! in the notification rule named `ops`.

use toml::{Table, Value};

use super::Config;
use super::config_error::{ConfigError, first_line, nearest};
use super::keys::{AGENT, NOTIFY, SettingKeys, TABLES, ValueSyntax};

/// A setting and the variable that overrides it.
struct VariableSetting {
    variable: String,
    path: Vec<String>,
    form: ValueSyntax,
}

/// Returns the configuration with the environment variables applied.
pub(super) fn apply_variables(
    config: Config,
    text: &str,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    let ours = |name: &str| {
        let of = |(table, _): &(&str, ValueSyntax)| name.starts_with(&prefix(table));
        TABLES[0].1.iter().any(of)
            || top_level_settings().iter().any(|setting| setting.variable == name)
    };
    let variables: Vec<(String, String)> = variables.filter(|(name, _)| ours(name)).collect();
    if variables.is_empty() {
        return Ok(config);
    }
    let settings = settings(&config);
    let mut table: Table = text.parse().map_err(|error| ConfigError::from_toml(text, &error))?;
    let mut config = config;
    for (name, value) in variables {
        let setting = find(&settings, &name)?;
        set_value(&mut table, &setting.path, parse_value(setting.form, &value));
        config =
            table.clone().try_into().map_err(|error| invalid_variable(&name, &value, &error))?;
    }
    Ok(config)
}

fn prefix(table: &str) -> String {
    format!("ADJUTANT_{}_", upper(table))
}

/// Converts a name to part of a variable: every character but letters and digits becomes `_`.
fn upper(name: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(upper).collect()
}

fn settings(config: &Config) -> Vec<VariableSetting> {
    let fixed = TABLES[1..].iter().flat_map(|(table, keys)| table_settings(&[table], keys));
    let fixed = fixed.chain(top_level_settings());
    let agents = config.agents.keys().flat_map(|name| table_settings(&["agents", name], AGENT));
    let rules = config.notify().enumerate().flat_map(|(number, (name, _))| {
        let mut settings = table_settings(&["notify", &name], NOTIFY);
        for setting in &mut settings {
            setting.path[1] = number.to_string();
        }
        settings
    });
    fixed.chain(agents).chain(rules).collect()
}

/// Returns the settings at the top level, outside any table.
fn top_level_settings() -> Vec<VariableSetting> {
    table_settings(&[], &[("store", ValueSyntax::Text)])
}

fn table_settings(path: &[&str], keys: SettingKeys) -> Vec<VariableSetting> {
    let setting = |&(key, form): &(&str, ValueSyntax)| {
        let path: Vec<String> = path.iter().chain([&key]).map(|&part| part.to_owned()).collect();
        let parts: Vec<String> = path.iter().map(|part| upper(part)).collect();
        VariableSetting { variable: format!("ADJUTANT_{}", parts.join("_")), path, form }
    };
    keys.iter().map(setting).collect()
}

fn find<'s>(
    settings: &'s [VariableSetting],
    name: &str,
) -> Result<&'s VariableSetting, ConfigError> {
    settings.iter().find(|setting| setting.variable == name).ok_or_else(|| {
        let meant = nearest(settings.iter().map(|setting| &*setting.variable), name);
        ConfigError {
            line: None,
            message: format!("the variable `{name}` belongs to no setting"),
            hint: meant.map(|variable| format!("did you mean `{variable}`?")),
        }
    })
}

/// Parses a value. A value that is not valid TOML counts as a string; the setting's own type then
/// reports the error.
fn parse_value(form: ValueSyntax, value: &str) -> Value {
    let text = || Value::String(value.to_owned());
    match form {
        ValueSyntax::Text => text(),
        ValueSyntax::Toml => {
            let table: Result<Table, _> = format!("value = {value}").parse();
            table.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(text)
        }
    }
}

fn set_value(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => drop(table.insert(key.clone(), value)),
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Table::new().into());
            match (inner, rest) {
                (Value::Table(inner), _) => set_value(inner, rest, value),
                (Value::Array(inner), [number, rest @ ..]) => {
                    let place = number.parse().ok().and_then(|place: usize| inner.get_mut(place));
                    if let Some(Value::Table(inner)) = place {
                        set_value(inner, rest, value);
                    }
                }
                _ => {}
            }
        }
    }
}

fn invalid_variable(name: &str, value: &str, error: &toml::de::Error) -> ConfigError {
    let message = first_line(error);
    let what = if message.ends_with("expected a boolean") {
        format!("{name} must be true or false, not {value:?}")
    } else {
        format!("{name}: {message}")
    };
    ConfigError { line: None, message: what, hint: None }
}
