//! `adjutant.toml`: all of it optional, none of it misspelt in silence.

use std::path::Path;

use adjutant_core::world::Policy;
use serde::Deserialize;

use crate::error::Failure;

/// The name of the file in the data folder.
pub(crate) const FILE: &str = "adjutant.toml";

/// What `adjutant init` writes.
pub(crate) const TEMPLATE: &str = "\
# Adjutant's configuration. Everything is optional; what is commented out is the default.

[protocol]
# Whether a message must carry the token of the run it comes from.
# require_token = false
";

/// The keys each table knows; the empty name is the top.
const KEYS: [(&str, &[&str]); 2] = [("", &["protocol"]), ("protocol", &["require_token"])];

/// What the file says.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    protocol: Protocol,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Protocol {
    require_token: bool,
}

impl Config {
    /// Reads the configuration of a data folder, with what the environment says on top.
    pub(crate) fn load(root: &Path) -> Result<Self, Failure> {
        let path = root.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(Failure::broken(format!("cannot read {}", path.display()), &error));
            }
        };
        let mut config = Self::parse(&text)
            .map_err(|wrong| Failure::usage(format!("{}: {wrong}", path.display())))?;
        config.take_environment()?;
        Ok(config)
    }

    /// Reads a configuration, or says what is wrong, with the line and the nearest key.
    fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = toml::from_str(text).map_err(|error| one_line(text, &error))?;
        check_keys("", &table)?;
        for (name, value) in &table {
            if let Some(inner) = value.as_table() {
                check_keys(name, inner)?;
            }
        }
        toml::from_str(text).map_err(|error| one_line(text, &error))
    }

    /// Every setting can be given as an environment variable.
    fn take_environment(&mut self) -> Result<(), Failure> {
        const NAME: &str = "ADJUTANT_PROTOCOL_REQUIRE_TOKEN";
        if let Ok(value) = std::env::var(NAME) {
            self.protocol.require_token = value.parse().map_err(|_| {
                Failure::usage(format!("{NAME} must be true or false, not {value:?}"))
            })?;
        }
        Ok(())
    }

    /// Returns what decisions go by.
    pub(crate) fn policy(&self) -> Policy {
        Policy { require_token: self.protocol.require_token }
    }
}

fn check_keys(table: &str, found: &toml::Table) -> Result<(), String> {
    let known = KEYS.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, keys)| keys);
    let Some(unknown) = found.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let nearest =
        known.iter().max_by(|a, b| strsim::jaro(unknown, a).total_cmp(&strsim::jaro(unknown, b)));
    let place = if table.is_empty() { String::new() } else { format!(" in [{table}]") };
    let meant = nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
    Err(format!("there is no setting `{unknown}`{place}{meant}"))
}

fn one_line(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
    let message = error.message().lines().next().unwrap_or_default();
    line.map_or_else(|| message.to_owned(), |line| format!("line {line}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_the_default() {
        assert_eq!(Config::parse(TEMPLATE), Ok(Config::default()));
        let uncommented = TEMPLATE.replace("# require_token", "require_token");
        assert_eq!(Config::parse(&uncommented), Ok(Config::default()));
    }

    #[test]
    fn a_key_it_does_not_know_is_an_error_naming_the_nearest() {
        let check = |text, wrong: &str| assert_eq!(Config::parse(text), Err(wrong.to_owned()));
        check(
            "[protocol]\nrequire_tokn = true\n",
            "there is no setting `require_tokn` in [protocol]; did you mean `require_token`?",
        );
        check("[protocl]\n", "there is no setting `protocl`; did you mean `protocol`?");
        check(
            "[protocol]\nrequire_token = 1\n",
            "line 2: invalid type: integer `1`, expected a boolean",
        );
    }
}
