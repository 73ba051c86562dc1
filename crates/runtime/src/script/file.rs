//! The file that says how a script agent behaves.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Attempts, Step};

/// What a script agent does, by attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What it does where nothing else is said.
    #[serde(default)]
    steps: Vec<Step>,
    /// What it does in the attempt of this number.
    #[serde(default)]
    attempts: Attempts,
}

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum BadScript {
    /// It cannot be read.
    #[error("cannot read the script {}", .path.display())]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It makes no sense.
    #[error("cannot play the script: {0}")]
    Nonsense(String),
}

impl BadScript {
    pub(super) fn json(error: &serde_json::Error) -> Self {
        Self::Nonsense(error.to_string())
    }
}

impl Script {
    /// Reads a script: TOML if its name ends so, else YAML.
    pub fn load(path: &Path) -> Result<Self, BadScript> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| BadScript::Unreadable { path: path.to_owned(), source })?;
        if path.extension().is_some_and(|ending| ending == "toml") {
            Self::from_toml(&text)
        } else {
            Self::from_yaml(&text)
        }
    }

    /// Reads a script in TOML.
    pub fn from_toml(text: &str) -> Result<Self, BadScript> {
        toml::from_str(text).map_err(|error| BadScript::Nonsense(error.to_string()))
    }

    /// Reads a script in YAML.
    pub fn from_yaml(text: &str) -> Result<Self, BadScript> {
        serde_saphyr::from_str(text).map_err(|error| BadScript::Nonsense(error.to_string()))
    }

    /// Returns what it does in an attempt.
    pub fn steps(&self, attempt: u32) -> &[Step] {
        self.attempts.get(&attempt).unwrap_or(&self.steps)
    }
}
