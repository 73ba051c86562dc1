//! `adjutant.toml`: all of it optional, none of it misspelt in silence.

use std::path::Path;

use adjutant_core::world::Policy;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

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

/// What `adjutant.toml` says. Everything is optional.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    protocol: Protocol,
}

/// How messages are taken.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Protocol {
    /// Whether a message must carry the token of the run it comes from.
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
        let mut config = Self::parse(&text).map_err(|wrong| wrong.into_failure(&path))?;
        config.take_environment()?;
        Ok(config)
    }

    /// Reads a configuration, or says what is wrong, with the line and the nearest key.
    fn parse(text: &str) -> Result<Self, Wrong> {
        let table = DeTable::parse(text).map_err(|error| Wrong::toml(text, &error))?;
        check_keys(text, "", table.get_ref())?;
        for (name, value) in table.get_ref() {
            if let DeValue::Table(inner) = value.get_ref() {
                check_keys(text, name.get_ref(), inner)?;
            }
        }
        toml::from_str(text).map_err(|error| Wrong::toml(text, &error))
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

/// What is wrong with a configuration, and what was perhaps meant.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    line: Option<usize>,
    what: String,
    hint: Option<String>,
}

impl Wrong {
    fn toml(text: &str, error: &toml::de::Error) -> Self {
        let what = error.message().lines().next().unwrap_or_default().to_owned();
        Self { line: error.span().map(|span| line_at(text, span.start)), what, hint: None }
    }

    fn into_failure(self, path: &Path) -> Failure {
        let place = self.line.map_or_else(String::new, |line| format!("line {line}: "));
        let failure = Failure::config(path, format!("{place}{}", self.what));
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure.hint("`adjutant schema config` lists every setting"),
        }
    }
}

fn check_keys(text: &str, table: &str, found: &DeTable<'_>) -> Result<(), Wrong> {
    let known = KEYS.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, keys)| keys);
    let keys = found.keys().map(|key| (key.span().start, &**key.get_ref()));
    let Some((at, unknown)) = keys.filter(|(_, key)| !known.contains(key)).min() else {
        return Ok(());
    };
    let nearest =
        known.iter().max_by(|a, b| strsim::jaro(unknown, a).total_cmp(&strsim::jaro(unknown, b)));
    let hint = nearest.map(|key| format!("did you mean `{key}`?"));
    let place = if table.is_empty() { String::new() } else { format!(" in [{table}]") };
    let what = format!("there is no setting `{unknown}`{place}");
    Err(Wrong { line: Some(line_at(text, at)), what, hint })
}

fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
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
        let check = |text, line, what: &str, hint: Option<&str>| {
            let (what, hint) = (what.to_owned(), hint.map(str::to_owned));
            assert_eq!(Config::parse(text), Err(Wrong { line: Some(line), what, hint }));
        };
        check(
            "[protocol]\nrequire_tokn = true\n",
            2,
            "there is no setting `require_tokn` in [protocol]",
            Some("did you mean `require_token`?"),
        );
        check(
            "\n\n[protocl]\n",
            3,
            "there is no setting `protocl`",
            Some("did you mean `protocol`?"),
        );
        check(
            "[protocol]\nrequire_token = 1\n",
            2,
            "invalid type: integer `1`, expected a boolean",
            None,
        );
        check("protocol = 3\n", 1, "invalid type: integer `3`, expected struct Protocol", None);
        check("[protocol\n", 1, "unclosed table, expected `]`", None);
    }
}
