//! Every setting can be given as an environment variable, which counts more than the file.
//!
//! `ADJUTANT_SCHEDULER_POLL` is `poll` in `[scheduler]`, and `ADJUTANT_AGENTS_FIXER_TIMEOUT` is
//! `timeout` in `[agents.fixer]`, if the file has such an agent. `ADJUTANT_NOTIFY_OPS_URL` is `url`
//! in the rule that is called `ops`.

use toml::{Table, Value};

use super::Config;
use super::keys::{AGENT, Form, Keys, NOTIFY, TABLES};
use super::wrong::{Wrong, first_line, nearest};

/// A setting, and the variable that sets it.
struct Setting {
    variable: String,
    path: Vec<String>,
    form: Form,
}

/// Returns the configuration with what the environment says on top.
pub(super) fn take(
    config: Config,
    text: &str,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Config, Wrong> {
    let ours = |name: &str| {
        let of = |(table, _): &(&str, Form)| name.starts_with(&prefix(table));
        TABLES[0].1.iter().any(of) || alone().iter().any(|setting| setting.variable == name)
    };
    let variables: Vec<(String, String)> = variables.filter(|(name, _)| ours(name)).collect();
    if variables.is_empty() {
        return Ok(config);
    }
    let settings = settings(&config);
    let mut table: Table = text.parse().map_err(|error| Wrong::toml(text, &error))?;
    let mut config = config;
    for (name, value) in variables {
        let setting = find(&settings, &name)?;
        put(&mut table, &setting.path, parsed(setting.form, &value));
        config = table.clone().try_into().map_err(|error| unfit(&name, &value, &error))?;
    }
    Ok(config)
}

fn prefix(table: &str) -> String {
    format!("ADJUTANT_{}_", upper(table))
}

/// Writes a name as part of a variable: what is no letter or digit becomes `_`.
fn upper(name: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(upper).collect()
}

fn settings(config: &Config) -> Vec<Setting> {
    let fixed = TABLES[1..].iter().flat_map(|(table, keys)| of(&[table], keys));
    let fixed = fixed.chain(alone());
    let agents = config.agents.keys().flat_map(|name| of(&["agents", name], AGENT));
    let rules = config.notify().enumerate().flat_map(|(number, (name, _))| {
        let mut settings = of(&["notify", &name], NOTIFY);
        for setting in &mut settings {
            setting.path[1] = number.to_string();
        }
        settings
    });
    fixed.chain(agents).chain(rules).collect()
}

/// The settings that are in no table.
fn alone() -> Vec<Setting> {
    of(&[], &[("store", Form::Text)])
}

fn of(path: &[&str], keys: Keys) -> Vec<Setting> {
    let setting = |&(key, form): &(&str, Form)| {
        let path: Vec<String> = path.iter().chain([&key]).map(|&part| part.to_owned()).collect();
        let parts: Vec<String> = path.iter().map(|part| upper(part)).collect();
        Setting { variable: format!("ADJUTANT_{}", parts.join("_")), path, form }
    };
    keys.iter().map(setting).collect()
}

fn find<'s>(settings: &'s [Setting], name: &str) -> Result<&'s Setting, Wrong> {
    settings.iter().find(|setting| setting.variable == name).ok_or_else(|| {
        let meant = nearest(settings.iter().map(|setting| &*setting.variable), name);
        Wrong {
            line: None,
            what: format!("there is no setting for the variable `{name}`"),
            hint: meant.map(|variable| format!("did you mean `{variable}`?")),
        }
    })
}

/// Reads a value. One that cannot be read as TOML is a text, and the setting says what it wants.
fn parsed(form: Form, value: &str) -> Value {
    let text = || Value::String(value.to_owned());
    match form {
        Form::Text => text(),
        Form::Toml => {
            let table: Result<Table, _> = format!("value = {value}").parse();
            table.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(text)
        }
    }
}

fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => drop(table.insert(key.clone(), value)),
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Table::new().into());
            match (inner, rest) {
                (Value::Table(inner), _) => put(inner, rest, value),
                (Value::Array(inner), [number, rest @ ..]) => {
                    let place = number.parse().ok().and_then(|place: usize| inner.get_mut(place));
                    if let Some(Value::Table(inner)) = place {
                        put(inner, rest, value);
                    }
                }
                _ => {}
            }
        }
    }
}

fn unfit(name: &str, value: &str, error: &toml::de::Error) -> Wrong {
    let message = first_line(error);
    let what = if message.ends_with("expected a boolean") {
        format!("{name} must be true or false, not {value:?}")
    } else {
        format!("{name}: {message}")
    };
    Wrong { line: None, what, hint: None }
}
